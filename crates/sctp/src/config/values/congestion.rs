//! Values of congestion control: controller, initial window, burst limit, and reduction.

use std::fmt;

use anabranch_transport::congestion::Algorithm;

use super::emulation::words;

/// A congestion controller, in the words that TCP has for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CongestionControl {
    /// Growth of the window in congestion avoidance, and its reduction after a loss.
    pub algorithm: Algorithm,
    /// Leaves slow start when the round trip grows (RFC 9406), before a queue overflows.
    pub hystart: bool,
}

impl CongestionControl {
    /// RFC 9260, 7.2.
    pub const RENO: Self = Self { algorithm: Algorithm::Reno, hystart: false };

    /// Values that [`CongestionControl::parse`] accepts.
    pub(super) const EXPECTED: &'static str = "\"reno\", \"bic\", \"cubic\", \"vegas\" or \"bbr\"; the first three also with \"+hystart\"; bic and vegas with coupling independent or shared";

    /// From the name of an algorithm, which `+hystart` may follow; not for Vegas and BBR, which have ways of their own.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (name, hystart) = match text.strip_suffix("+hystart") {
            Some(name) => (name, true),
            None => (text, false),
        };
        let algorithm = Algorithm::parse(name)?;
        let has_slow_start = !matches!(algorithm, Algorithm::Vegas | Algorithm::Bbr);
        (has_slow_start || !hystart).then_some(Self { algorithm, hystart })
    }
}

impl fmt::Display for CongestionControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.algorithm.word())?;
        f.write_str(if self.hystart { "+hystart" } else { "" })
    }
}

/// Rule for the initial congestion window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitialWindow {
    /// min(4 PMDCS, max(2 PMDCS, 4404)) bytes, 4344 for IPv6 (RFC 9260, 7.2.1).
    Rfc9260,
    /// min(4 MTU, max(2 MTU, 4380)) bytes (RFC 4960, 7.2.1).
    Rfc4960,
    /// A number of PMDCS or MTU, as [`EmulationConfig::window_unit`](crate::config::EmulationConfig::window_unit) has it (RFC 2960 used 2).
    Packets(u16),
    /// The user data that so many full packets hold, whatever the unit in which windows are counted later: nothing
    /// beyond them leaves at first.
    FullPackets(u16),
}

/// Limit on a burst of new packets (Max.Burst).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaxBurst {
    /// No limit.
    Off,
    /// cwnd is treated as at most flight + n PMDCS each time something may be sent (RFC 9260, 6.1 D).
    Clamp(u16),
    /// As [`MaxBurst::Clamp`], but where more has been acknowledged since new data left last, twice as much may be in its place: data that
    /// left the network at once may be followed at once, as fast as slow start grows. For sockets that hand over many packets together, so
    /// that one SACK speaks of many; n packets leave after a pause.
    Acknowledged(u16),
    /// At most n packets in answer to a SACK that acknowledges a chunk fast retransmitted earlier; no limit
    /// otherwise (the ns-2 module's reading of the implementer's guide).
    AfterRecovery(u16),
}

/// Number of window reductions that one loss event may cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FastRecovery {
    /// Every new loss indication cuts (RFC 2960: no recovery point).
    Off,
    /// None until the cumulative TSN reaches the exit point (RFC 9260, 7.2.4).
    UntilExit,
    /// A lost TSN above the recovery point cuts again even before the exit (ns-2.35).
    PerWindow,
}

/// Course of the window reduction when losses are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// To ssthresh at once: nothing leaves until less than that is in flight (RFC 9260, 7.2.4).
    AtOnce,
    /// By proportional rate reduction (RFC 9937): the data that leaves is to the data that arrives as the new window
    /// to the old one.
    Prr,
}

words!(Reduction, AtOnce = "at-once", Prr = "prr");
