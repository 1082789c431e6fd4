//! The types of configuration values and how they are written.

use anabranch_base::{Duration, units};
use anabranch_transport::congestion::{AckedGrowth, Algorithm};
use std::num::NonZeroU8;

/// A type that a configuration value can have.
pub(super) trait Value: Sized {
    const ALLOWED: &'static str;
    fn parse(text: &str) -> Option<Self>;
    fn show(&self) -> String;
}

impl Value for bool {
    const ALLOWED: &'static str = "true, false";
    fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }
    fn show(&self) -> String {
        self.to_string()
    }
}

impl Value for NonZeroU8 {
    const ALLOWED: &'static str = "a whole number of 1 to 255";
    fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }
    fn show(&self) -> String {
        self.to_string()
    }
}

/// A percentage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Percent(pub u16);

impl Value for Percent {
    const ALLOWED: &'static str = "a percentage of 100 to 1000";
    fn parse(text: &str) -> Option<Self> {
        text.parse().ok().filter(|percent| (100..=1000).contains(percent)).map(Self)
    }
    fn show(&self) -> String {
        self.0.to_string()
    }
}

impl Value for u32 {
    const ALLOWED: &'static str = "a whole number, or a size such as \"1448 B\"";
    fn parse(text: &str) -> Option<Self> {
        u64::parse(text)?.try_into().ok()
    }
    fn show(&self) -> String {
        self.to_string()
    }
}

impl Value for u64 {
    const ALLOWED: &'static str = "a size such as \"1448 B\", \"64 KiB\", \"64 kB\", \"1 MiB\"";
    fn parse(text: &str) -> Option<Self> {
        let text = text.replace('_', "");
        text.trim().parse().ok().or_else(|| units::size(&text).ok())
    }
    fn show(&self) -> String {
        format!("{self} B")
    }
}

impl Value for Option<u64> {
    const ALLOWED: &'static str = "\"unlimited\", or a size such as \"65535 B\"";
    fn parse(text: &str) -> Option<Self> {
        if text == "unlimited" { Some(None) } else { u64::parse(text).map(Some) }
    }
    fn show(&self) -> String {
        self.as_ref().map_or_else(|| "unlimited".to_owned(), Value::show)
    }
}

impl Value for Duration {
    const ALLOWED: &'static str = "a time such as \"200 ms\", \"1.5 s\", \"10 us\", \"1 min\"";
    fn parse(text: &str) -> Option<Self> {
        units::time(&text.replace('_', "")).ok()
    }
    fn show(&self) -> String {
        self.to_string()
    }
}

macro_rules! words {
    ($($type:ty),+) => {
        $(impl Value for $type {
            const ALLOWED: &'static str = <$type>::ALLOWED;
            fn parse(text: &str) -> Option<Self> {
                <$type>::parse(text)
            }
            fn show(&self) -> String {
                self.word().to_owned()
            }
        })+
    };
}

words!(AckedGrowth, Algorithm);

macro_rules! names {
    ($(#[$meta:meta])* $type:ident {
        $(#[$fmeta:meta])* $first:ident = $fname:literal,
        $( $(#[$vmeta:meta])* $variant:ident = $name:literal, )*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $type { $(#[$fmeta])* $first, $( $(#[$vmeta])* $variant, )* }

        impl Value for $type {
            const ALLOWED: &'static str = concat!($fname $(, ", ", $name )*);
            fn parse(text: &str) -> Option<Self> {
                match text { $fname => Some(Self::$first), $( $name => Some(Self::$variant), )* _ => None }
            }
            fn show(&self) -> String {
                match self { Self::$first => $fname, $( Self::$variant => $name, )* }.to_owned()
            }
        }
    };
}

names! {
    /// Reduction of the window during fast recovery.
    Reduction {
        /// To ssthresh at once (RFC 6675).
        AtOnce = "at-once",
        /// By proportional rate reduction (RFC 6937 with the slow-start bound), counted in whole segments.
        Prr = "prr",
        /// A segment for every second acknowledgement, as Linux 2.4 and 2.6 did.
        RateHalving = "rate-halving",
    }
}

names! {
    /// Loss recovery.
    LossRecovery {
        /// RFC 5681: leaves recovery on the first acknowledgement of new data.
        Reno = "reno",
        /// RFC 6582: stays until everything outstanding at its start is acknowledged.
        NewReno = "newreno",
        /// RFC 6675: pipe and NextSeg over the SACK scoreboard.
        Sack6675 = "sack6675",
        /// RFC 8985: a segment sent long enough before another one that has arrived is lost; sent by the pipe of RFC
        /// 6675.
        Rack = "rack",
        /// The pipe of ns-2's Sack1 agent: a counter, less one an ACK and two a partial ACK; go-back-N after a timeout.
        Ns2Sack1 = "ns2-sack1",
    }
}

names! {
    /// The quantity halved at a loss.
    SsthreshBase {
        /// Bytes in flight (RFC 5681, equation 4).
        Flight = "flight",
        /// The smaller of cwnd and the send limit.
        Cwnd = "cwnd",
    }
}

names! {
    /// Arithmetic that turns round-trip samples into a timeout.
    RttEstimator {
        /// RFC 6298 in nanoseconds: SRTT + max(G, 4*RTTVAR).
        Rfc6298 = "rfc6298",
        /// BSD's fixed-point arithmetic (srtt in eighths, rttvar in quarters of a tick), as ns-2 does it.
        Ticks = "ticks",
        /// Linux since 2.4: the variance term is at least rto_min, takes the largest of a round trip and sinks by and by.
        Linux = "linux",
    }
}

names! {
    /// The segments that are timed.
    RttSampling {
        /// By timestamps; without them one at a time: the next is timed once the last has been acknowledged.
        Timed = "timed",
        /// By timestamps; without them every segment that was sent once: a sample for each ACK.
        Every = "every",
        /// As Linux: the first segment sent once that an ACK reports, cumulatively or by SACK; timestamps when there is none.
        Segments = "segments",
    }
}

/// The initial window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitialWindow {
    /// So many segments.
    Segments(u32),
    /// RFC 3390: min(4*MSS, max(2*MSS, 4380 B)).
    Rfc3390,
    /// RFC 6928: min(10*MSS, max(2*MSS, 14600 B)).
    Rfc6928,
}

impl InitialWindow {
    /// Bytes for segments of `mss` bytes.
    #[must_use]
    pub fn bytes(self, mss: u64) -> u64 {
        match self {
            Self::Segments(n) => mss * u64::from(n.max(1)),
            Self::Rfc3390 => (4 * mss).min((2 * mss).max(4380)),
            Self::Rfc6928 => (10 * mss).min((2 * mss).max(14600)),
        }
    }
}

impl Value for InitialWindow {
    const ALLOWED: &'static str = "a number of segments such as \"2\", rfc3390, rfc6928";
    fn parse(text: &str) -> Option<Self> {
        match text {
            "rfc3390" => Some(Self::Rfc3390),
            "rfc6928" => Some(Self::Rfc6928),
            _ => text.trim_end_matches("segments").trim().parse().ok().filter(|n| *n > 0).map(Self::Segments),
        }
    }
    fn show(&self) -> String {
        match self {
            Self::Segments(n) => n.to_string(),
            Self::Rfc3390 => "rfc3390".to_owned(),
            Self::Rfc6928 => "rfc6928".to_owned(),
        }
    }
}

impl LossRecovery {
    /// Losses are found by a scoreboard of SACKs, and a pipe limits the segments that may be sent.
    pub(crate) const fn has_scoreboard(self) -> bool {
        matches!(self, Self::Sack6675 | Self::Rack)
    }
}
