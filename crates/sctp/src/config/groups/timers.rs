//! Timers and the round-trip time (RFC 9260, 6.3, 8.3 and 16).

use anabranch_base::Duration;

use super::entry::group;
use crate::config::values::RttSampling;
use crate::config::values::kinds::{RTT_SAMPLING, SWITCH, TIME, count};

group! {
    /// Timers and the round-trip time (RFC 9260, 6.3, 8.3 and 16).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct TimerConfig {
        /// RTO.Initial.
        rto_initial: Duration = Duration::from_secs(1) => {
            rto_initial: TIME, [live]
            "RTO.Initial" ("RFC 9260, 16")
        };
        /// RTO.Min.
        rto_min: Duration = Duration::from_secs(1) => {
            rto_min: TIME, [live]
            "RTO.Min" ("RFC 9260, 16")
        };
        /// RTO.Max.
        rto_max: Duration = Duration::from_secs(60) => {
            rto_max: TIME, [live]
            "RTO.Max" ("RFC 9260, 16")
        };
        /// The longest RTO of INIT and COOKIE ECHO where it is to be shorter than RTO.Max (RFC 6458, 5.3.1); zero leaves it to RTO.Max.
        rto_max_init: Duration = Duration::ZERO => {
            rto_max_init: TIME, [live]
            "longest RTO of INIT and COOKIE ECHO; 0 s is RTO.Max" ("RFC 6458, 5.3.1")
        };
        /// Chunks that give round-trip samples.
        rtt_sampling: RttSampling = RttSampling::OncePerRoundTrip => {
            rtt_sampling: RTT_SAMPLING, []
            "which chunks give round-trip samples" ("RFC 9260, 6.3.1")
        };
        /// HB.interval; zero turns heartbeats off.
        heartbeat_interval: Duration = Duration::from_secs(30) => {
            heartbeat_interval: TIME, [live]
            "HB.interval; 0 s turns heartbeats off" ("RFC 9260, 16")
        };
        /// Valid.Cookie.Life.
        valid_cookie_life: Duration = Duration::from_secs(60) => {
            valid_cookie_life: TIME, [live]
            "Valid.Cookie.Life" ("RFC 9260, 16")
        };
        /// T5-shutdown-guard, in multiples of RTO.Max (5 is recommended); zero turns it off.
        shutdown_guard_rto_max: u32 = 5 => {
            shutdown_guard_rto_max: count(), [live]
            "T5-shutdown-guard in RTO.Max; 0 is off" ("RFC 9260, 9.2")
        };
        /// True if COOKIE ECHO, SHUTDOWN and SHUTDOWN ACK are sent once more after two round trips without an answer
        /// (docs/reference/extensions.md), as RFC 8985, 7, has it for data. T1-cookie and T2-shutdown run on.
        control_probe: bool = false => {
            control_probe: SWITCH, []
            "COOKIE ECHO, SHUTDOWN and SHUTDOWN ACK are sent once more after two round trips without an answer (docs/reference/extensions.md)" ("docs/reference/extensions.md")
        };
    }
}

impl TimerConfig {
    /// The longest RTO of INIT and COOKIE ECHO.
    #[must_use]
    pub fn longest_init_rto(&self) -> Duration {
        if self.rto_max_init == Duration::ZERO { self.rto_max } else { self.rto_max_init.min(self.rto_max) }
    }
}
