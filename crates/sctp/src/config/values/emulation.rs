//! Values that exist because of the behaviour of other stacks, and their bugs as quirks.

use std::fmt;

/// Unit in which windows are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowUnit {
    /// Path Maximum DATA Chunk Size (RFC 9260, 7.2).
    Pmdcs,
    /// The MTU of the path, IP header included (RFC 2960 and RFC 4960).
    Mtu,
}

/// DATA chunks that ask for a SACK at once (the I bit, RFC 7053).
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

/// Method of loss detection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossDetection {
    /// A number of missing reports (RFC 9260, 7.2.4).
    MissingReports,
    /// Time: a chunk sent a reordering window before another one that has arrived is lost (RFC 8985).
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
