//! A chunk for which there is no room, and that is sent again and again: the time of the first refusal, the number of
//! refusals, and the progress of other spaces meanwhile.

use anabranch_base::{Duration, Instant};

use crate::ids::{Id, SpaceId};

/// The chunk that a space goes on with, and that is refused.
#[derive(Debug, Default)]
pub(in crate::receiver) struct Refused {
    at: SpaceId,
    seq: u64,
    since: Instant,
    last: Instant,
    times: u32,
    /// The next number of each space when it was refused first, and now.
    before: Vec<u64>,
    now: Vec<u64>,
}

impl Refused {
    /// Counts a refusal, and returns the number so far. While one space stands still the chunks of another do not
    /// count, unless the first was not heard of for `long`.
    pub(in crate::receiver) fn is_again(
        &mut self,
        now: Instant,
        (at, seq): (SpaceId, u64),
        next: Vec<u64>,
        long: Duration,
    ) -> u32 {
        if (self.at, self.seq) != (at, seq) || self.times == 0 {
            let stands = next.get(self.at.row()) == Some(&self.seq);
            if stands && self.times > 0 && now.saturating_since(self.last) <= long {
                return 0;
            }
            *self = Self { at, seq, since: now, before: next.clone(), ..Self::default() };
        }
        (self.last, self.now) = (now, next);
        self.times = self.times.saturating_add(1);
        self.times
    }

    /// True if the chunks that it waits for cannot be under way: for `least`, no other space has brought anything, or
    /// has brought all that could be under way, as each chunk takes a byte of a window at least. If not the count
    /// begins anew.
    pub(in crate::receiver) fn is_proof(&mut self, now: Instant, least: Duration, window: u64) -> bool {
        if now.saturating_since(self.since) < least {
            return false;
        }
        let mut moved = self.now.iter().zip(&self.before).map(|(now, before)| now.saturating_sub(*before));
        let all = self.now.len() == self.before.len() && moved.all(|chunks| chunks == 0 || chunks > window);
        if !all {
            (self.since, self.times) = (now, 1);
            self.before.clone_from(&self.now);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(300);

    /// Refused once a minute, `times` times from `from` on, while the other space stands at `other`.
    fn refuse(refused: &mut Refused, from: u64, times: u64, other: impl Fn(u64) -> u64) -> bool {
        (from..from + times).any(|minute| {
            let now = Instant::ZERO + Duration::from_secs(60 * minute);
            let next = vec![other(minute), 7];
            refused.is_again(now, (SpaceId::at(1), 7), next, LONG) > 20 && refused.is_proof(now, LONG, 1000)
        })
    }

    #[test]
    fn what_others_bring_is_waited_for() {
        assert!(!refuse(&mut Refused::default(), 0, 20, |_| 5));
        assert!(refuse(&mut Refused::default(), 0, 21, |_| 5));
        // A little, at some time: it may be behind that.
        let mut one = Refused::default();
        assert!(!refuse(&mut one, 0, 40, |minute| 5 + minute / 15));
        assert!(refuse(&mut one, 40, 21, |_| 7));
        assert!(!refuse(&mut Refused::default(), 0, 1000, |minute| 5 + minute / 15));
        // More than a window holds.
        assert!(refuse(&mut Refused::default(), 0, 21, |minute| 5 + 60 * minute));
    }

    #[test]
    fn one_space_at_a_time() {
        let mut refused = Refused::default();
        assert!(!refuse(&mut refused, 0, 20, |_| 5));
        let at = |secs| Instant::ZERO + Duration::from_secs(secs);
        assert_eq!(refused.is_again(at(1150), (SpaceId::FIRST, 5), vec![5, 7], LONG), 0);
        // The chunk of the other space is not sent any more.
        assert_eq!(refused.is_again(at(1600), (SpaceId::FIRST, 5), vec![5, 7], LONG), 1);
        // The refused chunk was taken in the end.
        assert_eq!(refused.is_again(at(1601), (SpaceId::at(1), 7), vec![6, 7], LONG), 1);
    }

    #[test]
    fn quickly_is_not_enough() {
        let mut refused = Refused::default();
        let now = Instant::ZERO;
        for times in 1..100 {
            assert_eq!(refused.is_again(now, (SpaceId::FIRST, 0), vec![0], LONG), times);
        }
        assert!(!refused.is_proof(now, LONG, 1000));
    }
}
