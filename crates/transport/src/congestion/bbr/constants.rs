//! Constants of BBR (draft-ietf-ccwg-bbr-05, 2.4 to 2.13), and the value for "no bound".

use anabranch_base::Duration;

/// "The static discount factor of 1%" of the pacing rate (draft-ietf-ccwg-bbr-05, 2.4).
pub(super) const MARGIN: f64 = 0.99;
/// `StartupPacingGain`, 4 ln 2.
pub(super) const STARTUP_GAIN: f64 = 2.77;
/// `DrainPacingGain`.
pub(super) const DRAIN_GAIN: f64 = 0.5;
/// `DefaultCwndGain`, and that of `ProbeBW_UP`.
pub(super) const CWND_GAIN: f64 = 2.0;
pub(super) const CWND_GAIN_UP: f64 = 2.25;
/// The cwnd gain of a lane with a share of zero: as much as `ProbeBW_UP` needs to send a quarter more.
pub(super) const COUPLED_GAIN: f64 = 1.25;
/// `ProbeRTTCwndGain`.
pub(super) const PROBE_RTT_GAIN: f64 = 0.5;
/// `LossThresh`: losses of a round trip that are tolerated while probing.
pub(super) const LOSS_THRESH: f64 = 0.02;
/// Beta.
pub(super) const BETA: f64 = 0.7;
/// Headroom that is left to others.
pub(super) const HEADROOM: f64 = 0.15;
/// `MinPipeCwnd`, packets.
pub(super) const MIN_PIPE: u64 = 4;
/// `ProbeRTTDuration`, `ProbeRTTInterval`, `MinRTTFilterLen`.
pub(super) const PROBE_RTT_DURATION: Duration = Duration::from_millis(200);
pub(super) const PROBE_RTT_INTERVAL: Duration = Duration::from_secs(5);
pub(super) const MIN_RTT_FILTER: Duration = Duration::from_secs(10);
/// `BBRStartupFullLossCnt`.
pub(super) const STARTUP_LOSSES: u32 = 6;
/// Round trips of `ExtraAckedFilterLen`.
pub(super) const EXTRA_ACKED_ROUNDS: u64 = 10;
/// No bound.
pub(super) const NONE: u64 = u64::MAX;
/// Largest quantum: 64 KB (draft-ietf-ccwg-bbr-05, 5.6.3).
pub(super) const MOST_QUANTUM: u64 = 64 * 1024;
