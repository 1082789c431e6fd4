//! Values that exist because of what other stacks do, and their bugs as quirks.

use std::fmt;

/// What windows are counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowUnit {
    /// Path Maximum DATA Chunk Size (RFC 9260, 7.2).
    Pmdcs,
    /// The MTU of the path, IP header included (RFC 2960 and RFC 4960).
    Mtu,
}

/// Which DATA chunks ask for a SACK at once (the I bit, RFC 7053).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImmediateBit {
    /// None.
    Off,
    /// All that leave in SHUTDOWN-PENDING (RFC 9260, 6.1).
    Shutdown,
    /// All that leave in SHUTDOWN-PENDING, but for those that leave at the time of the close: a kernel has sent them
    /// before. Also when they are sent again (Linux).
    ShutdownKept,
    /// The last one before a shutdown.
    Last,
}

/// How loss is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossDetection {
    /// A number of missing reports (RFC 9260, 7.2.4).
    MissingReports,
    /// Time: what was sent a reordering window before something that has arrived is lost (RFC 8985).
    Rack,
}

macro_rules! words {
    ($kind:ident, $($variant:ident = $word:literal),+) => {
        impl $kind {
            /// The value of that name.
            #[must_use]
            pub fn parse(text: &str) -> Option<Self> {
                match text {
                    $($word => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }

        impl fmt::Display for $kind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {
                    $(Self::$variant => $word,)+
                })
            }
        }
    };
}

pub(super) use words;

words!(WindowUnit, Pmdcs = "pmdcs", Mtu = "mtu");
words!(ImmediateBit, Off = "off", Shutdown = "shutdown", ShutdownKept = "shutdown-kept", Last = "last");
words!(LossDetection, MissingReports = "missing-reports", Rack = "rack");

/// Bugs that Hurtig et al. (2006) saw in the stacks of 2006 (its sections 6 and 7). No rule asks for any of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quirks {
    /// KAME: the round trip of the handshake sets the RTO. Its packets are small, so on slow links the RTO is too short for
    /// the first DATA (Hurtig et al. 2006, 6.2.1, 6.4.1).
    pub handshake_rto: bool,
    /// KAME: "does not care if the COOKIE_ACK is lost": DATA that arrives in COOKIE-ECHOED ends the handshake (Hurtig et al. 2006, 6.2.2).
    pub cookie_ack_optional: bool,
    /// T3-rtx does not back off, so once the RTO is too short everything is sent twice. KAME: "the RTO timer did not
    /// back-off accordingly" (Hurtig et al. 2006, 6.4.1, one position only); LKSCTP: spurious retransmissions continue "throughout the entire
    /// association" (Hurtig et al. 2006, 7.2.1).
    pub faulty_recovery: bool,
    /// KAME: "when the first data packet is sent KAME waits for about 400ms [at an RTO.Min of 200 ms] and then sends three
    /// additional packets, even if no SACK has been received" (Hurtig et al. 2006, 6.4.1).
    pub burst_before_sack: bool,
    /// LKSCTP: "unable to recover a loss of the first data packet with the fast retransmit mechanism" (Hurtig et al. 2006, 6.2.2).
    pub first_chunk_by_timeout: bool,
    /// LKSCTP: "starts to spuriously retransmit packets that are in flight when the retransmission of the fifth packet is
    /// conducted", unless SACKs were delayed before (Hurtig et al. 2006, 7.2.1). A fast retransmit does not restart T3-rtx, which then expires
    /// before the answer can be there, and what is in flight is sent again; delayed SACKs in the samples make the RTO long
    /// enough. The packet logs of Linux 6.1 show the same.
    pub t3_runs_on: bool,
    /// Linux: fragments of I-DATA count from 0 with the second of a message, on the way out and on the way in. RFC 8260, 2.1 has them
    /// "starting from 0", with the first, which shows its PPID instead; so whoever follows it never has a fragmented message of his
    /// delivered by Linux, nor takes one of its.
    pub fsn_from_second: bool,
    /// "The implementation is unable to undo this exponential back-off when new acknowledgments are received" (Hurtig et al. 2006, 7.1.2).
    pub backoff_stays: bool,
}
