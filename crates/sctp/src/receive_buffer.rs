//! Division of the receive buffer between subflows that have sequence spaces of their own.
//!
//! There are two limits, as in QUIC: the outstanding data of all subflows together stays within a_rwnd, that of one
//! within its a_fwnd. The second exists because of the first: a subflow that has stalled, with a hole
//! that is not filled, holds everything it sent after it. If that could be the whole buffer, no other subflow could
//! send a byte until the hole is filled. Therefore each open subflow has a floor that no other subflow gets.

/// The receive buffer of an association and its division.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Buffer {
    /// Bytes in all.
    pub(crate) size: u64,
    /// Bytes that each open subflow has for itself.
    pub(crate) floor: u64,
}

impl Buffer {
    /// The floor asked for, or less where that would take more than half of the buffer: `subflows` are open, subflow 0
    /// included.
    pub(crate) fn new(size: u32, floor: u32, subflows: usize) -> Self {
        let size = u64::from(size);
        let most = size / 2 / subflows.max(1) as u64;
        Self { size, floor: u64::from(floor).min(most) }
    }

    /// The buffer while each open subflow holds so much of it.
    pub(crate) fn in_use(&self, held: impl Iterator<Item = u64>) -> Use {
        let (mut total, mut kept) = (0_u64, 0_u64);
        for bytes in held {
            total = total.saturating_add(bytes);
            kept = kept.saturating_add(self.floor.saturating_sub(bytes));
        }
        Use { floor: self.floor, free: self.size.saturating_sub(total), kept }
    }

    /// a_fwnd of one subflow: `held` has the bytes that each open subflow holds, and `own` those of the subflow asked
    /// about.
    pub(crate) fn credit(&self, held: impl Iterator<Item = u64>, own: u64) -> u64 {
        self.in_use(held).credit(own)
    }
}

/// Free and reserved bytes of a receive buffer: computed once, then asked for each subflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Use {
    floor: u64,
    free: u64,
    /// Bytes of the floors that open subflows have not filled yet.
    kept: u64,
}

impl Use {
    /// a_fwnd of a subflow that holds `own` bytes: the free bytes, less the floors that the others have not filled.
    pub(crate) fn credit(&self, own: u64) -> u64 {
        let own_floor = self.floor.saturating_sub(own);
        // `kept` counts the subflow's own floor too: that one is free for it.
        self.free.saturating_sub(self.kept.saturating_sub(own_floor)).max(own_floor)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_idle_buffer_is_everybodys_but_for_the_floors() {
        let buffer = Buffer::new(100_000, 3000, 4);
        assert_eq!(buffer.credit([0; 4].into_iter(), 0), 100_000 - 3 * 3000);
    }

    #[test]
    fn a_stalled_subflow_leaves_the_floors_of_the_others() {
        let buffer = Buffer::new(100_000, 3000, 4);
        let stalled = 91_000;
        let held = || [stalled, 0, 0, 0].into_iter();
        assert_eq!(buffer.credit(held(), stalled), 0);
        assert_eq!(buffer.credit(held(), 0), 3000);
    }

    #[test]
    fn floors_take_half_of_the_buffer_at_most() {
        assert_eq!(Buffer::new(10_000, 3000, 4).floor, 1250);
        assert_eq!(Buffer::new(10_000, 3000, 0).floor, 3000);
    }

    proptest! {
        /// Every subflow can send, whatever the subflows hold; and the credit of one, with the bytes that all hold,
        /// fits the buffer beside the floors.
        #[test]
        fn floors_hold(
            size in 1500_u32..1 << 20,
            floor in 0_u32..20_000,
            wants in prop::collection::vec(0_u64..1 << 20, 1..20),
        ) {
            let buffer = Buffer::new(size, floor, wants.len());
            let mut held = vec![0_u64; wants.len()];
            for turn in 0..3 * wants.len() {
                let index = turn % wants.len();
                let credit = buffer.credit(held.iter().copied(), held[index]);
                let more = wants[index].min(credit);
                held[index] += more;
                prop_assert!(held.iter().sum::<u64>() <= buffer.size);
                for own in &held {
                    let credit = buffer.credit(held.iter().copied(), *own);
                    prop_assert!(credit + own >= buffer.floor, "{held:?}");
                }
            }
        }
    }
}
