//! Streams that the peer resets (RFC 6525) while data of the time before is still missing.

use anabranch_wire::Tsn;

use super::arrivals::Arrivals;

/// A reset that waits, where RE-CONFIG was agreed.
#[derive(Debug, Default)]
pub(super) struct Resets {
    /// Streams (all, where none is listed) are reset behind this number: chunks beyond it have come too early.
    boundary: Option<(u64, Vec<u16>)>,
}

impl Resets {
    /// True if a chunk counts as not received.
    // rfc6525:5.2.2-4 rfc6525:5.2.2-8
    #[inline]
    pub(super) fn comes_too_early(&self, seq: u64, stream: u16) -> bool {
        // Its stream is about to be reset, and the chunk is of the time after that (RFC 6525, 5.2.2, E2). "MUST be queued locally
        // and held" has the same effect, for a sender that keeps to A1 of 5.1.2 has not sent it.
        let boundary = self.boundary.as_ref();
        boundary
            .is_some_and(|(last, streams)| seq > *last && (streams.is_empty() || streams.contains(&stream)))
    }

    /// Streams are to be reset behind `last`. False when everything up to there has come already.
    pub(super) fn wait(&mut self, arrivals: &Arrivals, last: Tsn, streams: &[u16]) -> bool {
        let awaited = arrivals.awaited(last);
        if let Some(last) = awaited {
            self.boundary = Some((last, streams.to_vec()));
        }
        awaited.is_some()
    }

    /// Streams whose reset has become due.
    pub(super) fn take_due(&mut self, next: u64) -> Option<Vec<u16>> {
        let (_, streams) = self.boundary.take_if(|(last, _)| next > *last)?;
        Some(streams)
    }

    /// TSNs go on with `next`: a reset that waits for a TSN waits for it under the new numbering. If that TSN will never
    /// come, the streams are reset now.
    pub(super) fn renumber(&mut self, arrivals: &Arrivals, next: Tsn) -> Option<Vec<u16>> {
        let (last, _) = self.boundary.as_mut()?;
        let distance = arrivals.tsn_of(*last)?.signed_distance_from(next);
        if let Ok(last_now) = u64::try_from(distance) {
            *last = last_now;
            return None;
        }
        self.boundary.take().map(|(_, streams)| streams)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reset_waits_for_its_last_tsn() {
        let mut arrivals = Arrivals::default();
        arrivals.learn_peer(Tsn::new(100), 10_000);
        let mut resets = Resets::default();
        assert!(!resets.wait(&arrivals, Tsn::new(99), &[3]), "nothing is missing before it");
        assert!(resets.wait(&arrivals, Tsn::new(104), &[3]));
        assert!(resets.comes_too_early(5, 3) && !resets.comes_too_early(4, 3));
        assert!(!resets.comes_too_early(5, 2), "another stream");
        assert_eq!(resets.take_due(4), None);
        assert_eq!(resets.take_due(5), Some(vec![3]));
        assert!(!resets.comes_too_early(5, 3));
    }

    #[test]
    fn a_reset_goes_on_under_a_new_numbering_or_is_due() {
        let mut arrivals = Arrivals::default();
        arrivals.learn_peer(Tsn::new(100), 10_000);
        let mut resets = Resets::default();
        assert!(resets.wait(&arrivals, Tsn::new(120), &[]));
        assert_eq!(resets.renumber(&arrivals, Tsn::new(110)), None);
        assert!(resets.comes_too_early(11, 7) && !resets.comes_too_early(10, 7));
        arrivals.renumber(Tsn::new(110));
        assert_eq!(resets.renumber(&arrivals, Tsn::new(500)), Some(vec![]));
    }
}
