//! Pacing: packets spread over the round trip.

use anabranch_base::Duration;

use super::entry::group;
use crate::config::values::kinds::{GAIN, PACKETS, SWITCH, TIME};

group! {
    /// Pacing: packets spread over the round trip.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct PacingConfig {
        /// True if packets are spread over the round trip, on each lane for itself. Then the bucket of the pacer
        /// stands for [`CongestionConfig::max_burst`](crate::config::CongestionConfig::max_burst) as soon as a round
        /// trip is known.
        enabled: bool = false => {
            pacing: SWITCH, []
            "packets are spread over the round trip, each subflow's for itself; stands for `max_burst` once a round trip is known" ("RFC 9002, 7.7")
        };
        /// Pacing rate in percent of cwnd / SRTT, 100 to 1000 (RFC 9002, 7.7: 125; Linux: 120).
        gain: u16 = 120 => {
            pacing_gain: GAIN, []
            "pacing: the rate in percent of cwnd / SRTT (RFC 9002, 7.7)" ("RFC 9002, 7.7")
        };
        /// Pacing rate while cwnd is below half of ssthresh, in percent of cwnd / SRTT, 100 to 1000 (Linux: 200).
        gain_slow_start: u16 = 200 => {
            pacing_gain_slow_start: GAIN, []
            "pacing: the rate while cwnd is below half of ssthresh, in percent of cwnd / SRTT" ("Linux")
        };
        /// Full packets that may leave at once after a pause, 1 to 255.
        // As many as Max.Burst (16), which it stands for.
        burst: u8 = 4 => {
            pacing_burst: PACKETS, []
            "pacing: full packets that may leave at once after a pause" ("RFC 9002, 7.7")
        };
        /// Interval whose packets leave together, two packets at least and 64 KiB at most; zero: each packet when it
        /// is due.
        quantum: Duration = Duration::ZERO => {
            pacing_quantum: TIME, []
            "pacing: what comes due in so long leaves together, two packets at least; 0 s: each packet when it is due" ("Linux")
        };
    }
}
