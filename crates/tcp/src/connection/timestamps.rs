//! Timestamps (RFC 7323): the value echoed, the age of an echo, and segments too old to be accepted.

use crate::header::Header;
use anabranch_base::{Duration, Instant};

/// The timestamps of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timestamps {
    /// Latest TSval to echo (TS.Recent), when timestamps are in use.
    recent: Option<u32>,
    /// Added to our timestamp clock, so that it says nothing about the host.
    offset: u32,
    /// Cumulative acknowledgement that left last (Last.ACK.sent of RFC 7323).
    last_ack_sent: u64,
}

impl Timestamps {
    pub(super) fn new(offset: u32) -> Self {
        Self { recent: None, offset, last_ack_sent: 0 }
    }

    /// The peer's SYN: in use when we want them and it has one.
    pub(super) fn agree(&mut self, wanted: bool, syn: &Header) {
        self.recent = syn.options.timestamps.map(|(value, _)| value).filter(|_| wanted);
    }

    #[inline]
    pub(super) fn in_use(&self) -> bool {
        self.recent.is_some()
    }

    /// Milliseconds of our timestamp clock.
    #[inline]
    pub(super) fn at(&self, now: Instant) -> u32 {
        ((now.as_nanos() / 1_000_000) as u32).wrapping_add(self.offset)
    }

    /// The latest TSval, to echo.
    #[inline]
    pub(super) fn recent(&self) -> Option<u32> {
        self.recent
    }

    /// The option of a segment that leaves: our clock, and the echo.
    #[inline]
    pub(super) fn option(&self, now: Instant) -> Option<(u32, u32)> {
        self.recent.map(|recent| (self.at(now), recent))
    }

    /// Age of the timestamp that a segment echoes.
    #[inline]
    pub(super) fn echo_age(&self, now: Instant, header: &Header) -> Option<Duration> {
        let (_, echo) = header.options.timestamps.filter(|(_, e)| *e != 0 && self.recent.is_some())?;
        let age = self.at(now).wrapping_sub(echo);
        (age < 1 << 31).then(|| Duration::from_millis(u64::from(age)))
    }

    /// True if a segment is older than the newest that has arrived: PAWS (RFC 7323, section 5.3).
    #[inline]
    pub(super) fn is_old(&self, header: &Header) -> bool {
        match (self.recent, header.options.timestamps) {
            (Some(recent), Some((value, _))) => (value.wrapping_sub(recent) as i32) < 0,
            _ => false,
        }
    }

    /// A segment arrived; `start` gives its sequence number, unwrapped near Last.ACK.sent. RFC 7323, section 4.3, step 2:
    /// "If SEG.TSval >= TS.Recent and SEG.SEQ <= Last.ACK.sent".
    #[inline]
    pub(super) fn note(&mut self, header: &Header, start: impl FnOnce(u64) -> i64) {
        if let (Some(recent), Some((value, _))) = (&mut self.recent, header.options.timestamps) {
            let begins = start(self.last_ack_sent);
            if (value.wrapping_sub(*recent) as i32) >= 0 && begins <= self.last_ack_sent as i64 {
                *recent = value;
            }
        }
    }

    /// An acknowledgement of everything below `next` left.
    #[inline]
    pub(super) fn ack_left(&mut self, next: u64) {
        self.last_ack_sent = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::Options;

    fn segment(value: u32, echo: u32) -> Header {
        Header {
            options: Options { timestamps: Some((value, echo)), ..Options::default() },
            ..Header::default()
        }
    }

    #[test]
    fn what_is_echoed_is_the_latest_in_order() {
        let mut timestamps = Timestamps::new(100);
        timestamps.agree(false, &segment(5, 0));
        assert!(!timestamps.in_use());
        timestamps.agree(true, &segment(5, 0));
        timestamps.ack_left(10);
        timestamps.note(&segment(7, 0), |_| 11);
        assert_eq!(timestamps.recent(), Some(5), "it lies behind a hole");
        timestamps.note(&segment(7, 0), |_| 10);
        assert_eq!(timestamps.recent(), Some(7));
        assert!(timestamps.is_old(&segment(6, 0)) && !timestamps.is_old(&segment(7, 0)));
    }

    #[test]
    fn an_echo_has_an_age_and_zero_is_none() {
        let mut timestamps = Timestamps::new(100);
        timestamps.agree(true, &segment(5, 0));
        let now = Instant::ZERO + Duration::from_millis(30);
        assert_eq!(timestamps.option(now), Some((130, 5)));
        assert_eq!(timestamps.echo_age(now, &segment(6, 120)), Some(Duration::from_millis(10)));
        assert_eq!(timestamps.echo_age(now, &segment(6, 0)), None);
        assert_eq!(timestamps.echo_age(now, &segment(6, 131)), None, "it lies in the future");
    }
}
