//! Explicit congestion notification, as far as it is the association's: which packets are ECN-capable, whose marks count, and the
//! chunks that speak of them (RFC 3168; RFC 4960, appendix A; draft-stewart-tsvwg-sctpecn).

use anabranch_base::Ecn;
use anabranch_wire::chunk::{Chunk, Cwr, Ecne};
use anabranch_wire::{Chunks, Tsn};

use super::Association;
use crate::config::EcnMode;
use crate::control::Kind;
use crate::encoding::Encoding;
use crate::ids::SpaceId;
use crate::negotiation::fids::Judged;

impl Association {
    /// What packets with data leave as from now on.
    pub(super) fn adopt_ecn(&mut self, agreed: bool) {
        self.cx.ect = match self.cx.config.extensions.ecn {
            EcnMode::Classic if agreed => Ecn::Ect0,
            EcnMode::L4s if agreed => Ecn::Ect1,
            _ => Ecn::NotEct,
        };
    }

    /// A packet came that was ECN-capable, and perhaps marked: its data tells which space it belongs to. A packet has data of one
    /// subflow; what has come before, or cannot be of this association, counts for nothing (RFC 3168, 6.1.5).
    #[inline(never)]
    pub(super) fn note_ecn(&mut self, ecn: Ecn, chunks: Chunks<'_>) {
        if self.cx.ect == Ecn::NotEct || !self.cx.state.receives_data() {
            return;
        }
        let mut lowest: Option<(SpaceId, Tsn)> = None;
        for raw in chunks.map_while(Result::ok) {
            let (at, tsn) = match Chunk::parse_with(raw, &self.cx.config.subflows.codes) {
                Ok(Chunk::Data(data)) if self.encoding == Encoding::Rfc9260 => (SpaceId::FIRST, data.tsn),
                Ok(Chunk::IData(data)) if self.encoding.identifies_messages() => (SpaceId::FIRST, data.tsn),
                Ok(Chunk::SfData(data)) if self.encoding == Encoding::Sf => {
                    let Some((Judged::Open, Some(at))) = self.receiver.arrivals().judge(data.fid, data.epoch)
                    else {
                        continue;
                    };
                    (at, data.stsn)
                }
                _ => continue,
            };
            let first =
                lowest.is_none_or(|(space, lowest)| space == at && tsn.signed_distance_from(lowest) < 0);
            if self.receiver.is_new(at, tsn) && first {
                lowest = Some((at, tsn));
            }
        }
        if let Some((at, tsn)) = lowest {
            if ecn == Ecn::Ce {
                self.cx.stats.control.count_marked();
            }
            self.receiver.arrivals_mut().note_ecn(at, tsn, ecn);
        }
    }

    /// ECNE: the peer has seen marks. Of subflows with acknowledgements of their own their SF-SACKs tell.
    pub(super) fn on_ecne(&mut self, ecne: &Ecne<'_>) {
        if self.cx.ect == Ecn::Ect1 && !ecne.is_counted() {
            // A scalable response needs "feedback of the extent of CE marking" (RFC 9331, 4.2), and this peer only says that there is some.
            self.cx.ect = Ecn::Ect0;
        }
        if self.cx.ect == Ecn::NotEct {
            return;
        }
        if let Some(path) = self.sender.on_ecne(&mut self.cx, ecne.tsn, ecne.marked()) {
            self.control.ask(Kind::Cwr, path);
        }
    }

    /// CWR: the peer has reduced its window.
    pub(super) fn on_cwr(&mut self, cwr: &Cwr<'_>) {
        self.receiver.arrivals_mut().on_cwr(cwr.tsn);
    }
}
