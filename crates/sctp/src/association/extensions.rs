//! What was agreed beyond RFC 9260 takes effect here, once INIT ACK or cookie say it.

use anabranch_wire::Tsn;
use anabranch_wire::chunk::{Data, IData};

use super::Association;
use super::reconfig::Reconfig;
use super::sf::Sf;
use crate::sf::offer::Extensions;
use crate::subflow::receive::{Arrival, ReceiveMap};

/// Association sequence numbers received (encoding of the thesis). Nothing depends on them; a SACK says how far they go.
#[derive(Debug)]
pub(super) struct AsnMap {
    base: Tsn,
    map: ReceiveMap,
}

impl AsnMap {
    fn new(base: Tsn) -> Self {
        Self { base, map: ReceiveMap::default() }
    }

    /// One has arrived.
    pub(super) fn record(&mut self, asn: Tsn) {
        let near = self.map.next();
        let distance = asn.signed_distance_from(self.base.add(near as u32));
        let Some(seq) = near.checked_add_signed(i64::from(distance)) else { return };
        // What is far off is a lie: no more is outstanding than a window holds.
        if distance < 1 << 20 && self.map.classify(seq) != Arrival::Duplicate && self.map.gaps() < 4096 {
            self.map.record(seq);
        }
    }

    /// "Cumulative ASN Acknowledgment" (Fig. 3.2).
    pub(super) fn cumulative(&self) -> Tsn {
        self.base.add(self.map.next() as u32).sub(1)
    }
}

impl Association {
    /// What both sides speak from now on. Nothing was sent yet, or a peer that had to be asked again answers otherwise:
    /// then what was sent leaves again on subflow 0.
    pub(super) fn adopt_extensions(&mut self, new: Extensions) {
        self.forget_extensions();
        let Some(first) = self.spaces.first() else { return };
        let (send_base, receive_base) = (first.send_base, first.receive_base);
        self.numbering.identify(new.interleaving);
        let plain = !new.interleaving && new.thesis.is_none();
        self.chunk_header = if plain { Data::HEADER } else { IData::HEADER };
        self.reconfig = new.reconfiguration.then(|| Box::new(Reconfig::new(send_base, receive_base)));
        if let Some(agreed) = &new.sf {
            self.sf = Some(Box::new(Sf::new(agreed)));
        }
        if let Some((ours, theirs)) = new.thesis {
            self.next_asn = send_base;
            self.received_asn = Some(Box::new(AsnMap::new(receive_base)));
            self.sf = Some(Box::new(Sf::of_thesis(ours, theirs)));
        }
        self.extensions = new;
        self.open_spaces(send_base, receive_base);
    }

    /// Back to RFC 9260.
    pub(super) fn forget_extensions(&mut self) {
        if self.spaces.len() > 1 {
            self.fold_spaces();
        }
        self.extensions = Extensions::default();
        self.sf = None;
        self.reconfig = None;
        self.chunk_header = Data::HEADER;
        self.received_asn = None;
    }
}
