//! Association sequence numbers received (encoding of 2007). Nothing depends on them; a SACK says how far they go.

use anabranch_wire::Tsn;

use super::space::map::{Arrival, ReceiveMap};

#[derive(Debug)]
pub(super) struct AsnMap {
    base: Tsn,
    map: ReceiveMap,
}

impl AsnMap {
    pub(super) fn new(base: Tsn) -> Self {
        Self { base, map: ReceiveMap::default() }
    }

    /// Notes that a chunk with this association sequence number has arrived.
    pub(super) fn record(&mut self, asn: Tsn) {
        let near = self.map.next();
        let distance = asn.signed_distance_from(self.base.add(near as u32));
        let Some(seq) = near.checked_add_signed(i64::from(distance)) else { return };
        // A number far ahead is false: no more is outstanding than a window holds.
        if distance < 1 << 20 && self.map.classify(seq) != Arrival::Duplicate && self.map.gaps() < 4096 {
            self.map.record(seq);
        }
    }

    /// "Cumulative ASN Acknowledgment" (Fig. 3.2).
    pub(super) fn cumulative(&self) -> Tsn {
        self.base.add(self.map.next() as u32).sub(1)
    }
}
