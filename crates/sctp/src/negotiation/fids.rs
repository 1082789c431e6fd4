//! Tables of the FIDs that are open, and their incarnations (epochs). Each direction of an association has a table of
//! its own.
//!
//! A FID that is closed and opened again gets the next epoch. Chunks under another epoch belong to a subflow that is
//! gone: they are dropped and counted, as "other epochs are dropped and counted" says.

use anabranch_wire::Tsn;

/// Answer to a request: the result codes of RFC 6525, 4.4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// 0: "Success - Nothing to do".
    Nothing,
    /// 1: "Success - Performed".
    Performed,
    /// 2: "Denied".
    Denied,
    /// 6: "In progress".
    InProgress,
}

impl Answer {
    /// The result code on the wire.
    pub(crate) const fn code(self) -> u32 {
        match self {
            Self::Nothing => 0,
            Self::Performed => 1,
            Self::Denied => 2,
            Self::InProgress => 6,
        }
    }
}

/// State of a FID.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stand {
    #[default]
    Never,
    Open {
        epoch: u8,
    },
    Closed {
        epoch: u8,
    },
}

/// Relation of a chunk with a FID and an epoch to the subflows that are open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Judged {
    /// The subflow is open in this incarnation.
    Open,
    /// Another incarnation of a FID that is or was open: dropped and counted.
    Stale,
    /// Never opened, or 0, which has no SF chunks: the peer is told.
    Unknown,
}

/// The FIDs of one direction.
#[derive(Clone, Debug)]
pub(crate) struct Fids {
    /// Subflows that may be open at once, subflow 0 included.
    limit: u8,
    /// Open ones, subflow 0 included.
    open: u8,
    table: Vec<Stand>,
}

impl Fids {
    /// Subflow 0 and those of `opens`, in epoch 0.
    pub(crate) fn new(limit: u8, opens: &[u8]) -> Self {
        let mut fids = Self { limit: limit.max(1), open: 1, table: Vec::new() };
        for fid in opens {
            fids.add(*fid, 0);
        }
        fids
    }

    /// So many from 0 on, all open for good (encoding of 2007).
    pub(crate) fn all(count: u8) -> Self {
        Self::new(count, &(1..count).collect::<Vec<u8>>())
    }

    /// Open subflows, subflow 0 included.
    pub(crate) fn open(&self) -> u8 {
        self.open
    }

    /// Subflows that may be open at once, subflow 0 included.
    pub(crate) fn limit(&self) -> u8 {
        self.limit
    }

    /// Epoch of a FID that is open; 0 for subflow 0.
    pub(crate) fn epoch(&self, fid: u8) -> Option<u8> {
        match (fid, self.stand(fid)) {
            (0, _) => Some(0),
            (_, Stand::Open { epoch }) => Some(epoch),
            _ => None,
        }
    }

    /// FIDs that are open, besides 0.
    pub(crate) fn each(&self) -> impl Iterator<Item = u8> + '_ {
        (1..=u8::MAX)
            .zip(&self.table)
            .filter(|(_, stand)| matches!(stand, Stand::Open { .. }))
            .map(|(fid, _)| fid)
    }

    /// The epoch that a FID which is not open would have.
    pub(crate) fn next_epoch(&self, fid: u8) -> Option<u8> {
        match self.stand(fid) {
            Stand::Never => Some(0),
            Stand::Closed { epoch } => Some(epoch.wrapping_add(1)),
            Stand::Open { .. } => None,
        }
    }

    pub(crate) fn judge(&self, fid: u8, epoch: u8) -> Judged {
        match self.stand(fid) {
            _ if fid == 0 => Judged::Unknown,
            Stand::Never => Judged::Unknown,
            Stand::Open { epoch: now } if now == epoch => Judged::Open,
            Stand::Open { .. } | Stand::Closed { .. } => Judged::Stale,
        }
    }

    /// SF-ADD.
    pub(crate) fn add(&mut self, fid: u8, epoch: u8) -> Answer {
        if fid == 0 {
            return Answer::Denied;
        }
        if self.epoch(fid) == Some(epoch) {
            return Answer::Nothing;
        }
        if self.next_epoch(fid) != Some(epoch) || self.open >= self.limit {
            return Answer::Denied;
        }
        self.set(fid, Stand::Open { epoch });
        self.open += 1;
        Answer::Performed
    }

    /// SF-DEL, where `received` is the cumulative STSN so far and `last` the last that there will be.
    pub(crate) fn delete(&mut self, fid: u8, epoch: u8, received: Tsn, last: Tsn) -> Answer {
        match self.stand(fid) {
            _ if fid == 0 => Answer::Denied,
            Stand::Closed { epoch: was } if was == epoch => Answer::Nothing,
            Stand::Open { epoch: now } if now == epoch => {
                if received.is_after(last) {
                    // More was received than the peer says it has sent.
                    return Answer::Denied;
                }
                if received != last {
                    return Answer::InProgress;
                }
                self.set(fid, Stand::Closed { epoch });
                self.open -= 1;
                Answer::Performed
            }
            _ => Answer::Denied,
        }
    }

    fn stand(&self, fid: u8) -> Stand {
        let index = usize::from(fid).checked_sub(1);
        index.and_then(|index| self.table.get(index)).copied().unwrap_or_default()
    }

    fn set(&mut self, fid: u8, stand: Stand) {
        let Some(index) = usize::from(fid).checked_sub(1) else { return };
        if index >= self.table.len() {
            self.table.resize(index + 1, Stand::Never);
        }
        if let Some(entry) = self.table.get_mut(index) {
            *entry = stand;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tsn(raw: u32) -> Tsn {
        Tsn::new(raw)
    }

    #[test]
    fn opened_closed_and_opened_again() {
        let mut fids = Fids::new(3, &[1]);
        assert_eq!((fids.open(), fids.epoch(1), fids.epoch(2)), (2, Some(0), None));
        assert_eq!(fids.judge(1, 0), Judged::Open);
        assert_eq!(fids.judge(1, 1), Judged::Stale);
        assert_eq!(fids.judge(2, 0), Judged::Unknown);
        assert_eq!(fids.judge(0, 0), Judged::Unknown, "subflow 0 has no SF chunks");
        assert_eq!(fids.delete(1, 0, tsn(4), tsn(5)), Answer::InProgress);
        assert_eq!(fids.judge(1, 0), Judged::Open, "what is missing must still arrive");
        assert_eq!(fids.delete(1, 0, tsn(5), tsn(5)), Answer::Performed);
        assert_eq!(fids.delete(1, 0, tsn(5), tsn(5)), Answer::Nothing, "a repeated request");
        assert_eq!(fids.judge(1, 0), Judged::Stale);
        assert_eq!(fids.add(1, 0), Answer::Denied, "the epoch must be the next");
        assert_eq!(fids.add(1, 1), Answer::Performed);
        assert_eq!(fids.add(1, 1), Answer::Nothing);
        assert_eq!(fids.judge(1, 0), Judged::Stale);
        assert_eq!(fids.judge(1, 1), Judged::Open);
    }

    #[test]
    fn requests_that_contradict_what_is_open() {
        let mut fids = Fids::new(3, &[1, 2, 3]);
        assert_eq!((fids.open(), fids.epoch(3)), (3, None), "no more than agreed");
        assert_eq!((fids.add(4, 0), fids.add(0, 0)), (Answer::Denied, Answer::Denied));
        assert_eq!(fids.delete(0, 0, tsn(1), tsn(1)), Answer::Denied);
        assert_eq!(fids.delete(9, 0, tsn(1), tsn(1)), Answer::Denied);
        assert_eq!(fids.delete(2, 1, tsn(1), tsn(1)), Answer::Denied);
        assert_eq!(fids.delete(2, 0, tsn(2), tsn(1)), Answer::Denied);
        assert_eq!(fids.delete(2, 0, tsn(1), tsn(1)), Answer::Performed);
        assert_eq!(fids.next_epoch(2), Some(1));
        assert_eq!(fids.each().collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn epochs_come_round() {
        let mut fids = Fids::new(2, &[1]);
        for epoch in 0..=255_u8 {
            assert_eq!(fids.delete(1, epoch, tsn(0), tsn(0)), Answer::Performed);
            assert_eq!(fids.add(1, epoch.wrapping_add(1)), Answer::Performed);
        }
        assert_eq!(fids.epoch(1), Some(0));
    }

    proptest! {
        #[test]
        fn whatever_is_asked(
            limit: u8,
            asked in prop::collection::vec((any::<bool>(), 0_u8..6, 0_u8..4, 0_u32..3, 0_u32..3), 0..60),
        ) {
            let mut fids = Fids::new(limit, &[1, 2]);
            for (add, fid, epoch, received, last) in asked {
                if add {
                    fids.add(fid, epoch);
                } else {
                    fids.delete(fid, epoch, tsn(received), tsn(last));
                }
                prop_assert_eq!(usize::from(fids.open()), fids.each().count() + 1);
                prop_assert!(fids.open() <= limit.max(1));
                for fid in fids.each() {
                    prop_assert_eq!(fids.judge(fid, fids.epoch(fid).unwrap()), Judged::Open);
                }
            }
        }
    }
}
