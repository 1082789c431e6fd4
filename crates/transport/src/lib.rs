//! The parts that SCTP and TCP share: sets of numbers, the clock of timers, round-trip estimates, congestion
//! controllers, the core of RACK, pacing.
//!
//! Nothing here knows a packet, and nothing asks which protocol it serves: where the two differ, or stacks of one of them,
//! the difference is a value. Times are virtual ([`anabranch_base::Instant`]), windows are bytes, and nothing on the way of a
//! packet takes memory.
//!
//! | file | question | source |
//! |---|---|---|
//! | [`ranges`] | which numbers of a sequence arrived, or are acknowledged? | |
//! | [`clock`] | when does a timer really expire? | |
//! | [`rtt`] | how long to wait for an acknowledgement? | RFC 6298; RFC 9260, 6.3.1 |
//! | [`congestion`] | how much may be in flight? | RFC 9260, 7.2; RFC 5681, 9438, 9406; BIC, Vegas |
//! | [`delivery`] | how fast does the network deliver? | draft-ietf-ccwg-bbr-05, 4.1 |
//! | [`rack`] | how late may something be before it is lost? | RFC 8985 |
//! | [`reduction`] | how does the window come down in recovery? | RFC 9937 |
//! | [`autotune`] | how large must a receive window be? | Linux |
//! | [`marking`] | how much of the sent data do routers mark? | RFC 8257, 9331 |
//! | [`pacer`] | when may the next packet leave? | RFC 9002, 7.7 |
//!
//! ```
//! use anabranch_base::Duration;
//! use anabranch_transport::rtt::{Arithmetic, BackOff, RttEstimator, RttRules};
//!
//! let mut rtt = RttEstimator::new(&RttRules {
//!     arithmetic: Arithmetic::Rfc9260,
//!     granularity: Duration::from_millis(1),
//!     initial: Duration::from_secs(1),
//!     min: Duration::from_millis(200),
//!     max: Duration::from_secs(60),
//!     slop: Duration::ZERO,
//!     back_off: BackOff::UntilSample,
//! });
//! rtt.sample(Duration::from_millis(100));
//! // The first sample: RTTVAR is half of it, and RTO = SRTT + 4 RTTVAR.
//! assert_eq!(rtt.rto(), Duration::from_millis(300));
//! // It doubles when it expires.
//! rtt.back_off();
//! assert_eq!(rtt.rto(), Duration::from_millis(600));
//! ```
#![forbid(unsafe_code)]

pub mod autotune;
pub mod clock;
pub mod congestion;
pub mod delivery;
pub mod marking;
pub mod pacer;
pub mod rack;
pub mod ranges;
pub mod reduction;
pub mod rtt;
