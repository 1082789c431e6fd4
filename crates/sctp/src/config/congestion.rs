//! Which controller a lane has.

use std::fmt;

use anabranch_transport::congestion::Algorithm;

/// A congestion controller, in the words that TCP has for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CongestionControl {
    /// How the window grows in congestion avoidance, and what a loss leaves of it.
    pub algorithm: Algorithm,
    /// Leaves slow start when the round trip grows (RFC 9406), before a queue overflows.
    pub hystart: bool,
}

impl CongestionControl {
    /// RFC 9260, 7.2.
    pub const RENO: Self = Self { algorithm: Algorithm::Reno, hystart: false };

    /// What [`CongestionControl::parse`] takes.
    pub(super) const EXPECTED: &'static str = "\"reno\", \"bic\", \"cubic\" or \"vegas\"; the first three also with \"+hystart\"; other than reno with coupling independent or shared";

    /// From the name of an algorithm, which `+hystart` may follow; not for Vegas, which has its own way.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (name, hystart) = match text.strip_suffix("+hystart") {
            Some(name) => (name, true),
            None => (text, false),
        };
        let algorithm = Algorithm::parse(name)?;
        (algorithm != Algorithm::Vegas || !hystart).then_some(Self { algorithm, hystart })
    }
}

impl fmt::Display for CongestionControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.algorithm.word())?;
        f.write_str(if self.hystart { "+hystart" } else { "" })
    }
}
