//! INITs that were answered for an association that is up: its peer has restarted, perhaps. Until its COOKIE ECHO comes the endpoint
//! would take a copy of the INIT that a NAT sends from another UDP port for that of a second client behind it, and refuse it with an
//! ABORT under the very tag with which the peer restarts.

use std::collections::VecDeque;

use anabranch_base::{Duration, Instant};

/// A copy that comes later was sent again by T1-init (RFC 9260, 16: RTO.Initial of 1 second), and its sender wants an answer.
const COPIES_COME_WITHIN: Duration = Duration::from_secs(1);

/// A stranger can have any number of INITs answered, and must not fill the memory.
const MOST: usize = 16;

/// Tags of INITs that were answered of late.
#[derive(Debug, Default)]
pub(super) struct AnsweredInits {
    /// The oldest first.
    tags: VecDeque<(Instant, u32)>,
}

impl AnsweredInits {
    /// An INIT with that tag is answered.
    pub(super) fn note(&mut self, now: Instant, tag: u32) {
        if self.tags.len() >= MOST {
            self.tags.pop_front();
        }
        self.tags.push_back((now, tag));
    }

    /// True if an INIT with that tag is a copy of one that was answered.
    pub(super) fn has(&self, now: Instant, tag: u32) -> bool {
        self.tags.iter().any(|(at, known)| *known == tag && now.saturating_since(*at) < COPIES_COME_WITHIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_sixteen_of_a_second() {
        let mut answered = AnsweredInits::default();
        let at = |ms: u64| Instant::ZERO + Duration::from_millis(ms);
        for tag in 1..=17 {
            answered.note(at(u64::from(tag)), tag);
        }
        assert!(!answered.has(at(20), 1), "the oldest has gone");
        assert!(answered.has(at(20), 2) && answered.has(at(1_001), 2) && !answered.has(at(1_002), 2));
        assert!(answered.has(at(0), 17), "a clock that has stepped back");
        assert!(!answered.has(at(20), 18));
    }
}
