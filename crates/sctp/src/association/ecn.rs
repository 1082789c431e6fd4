//! Explicit congestion notification, as far as it is the association's: which packets are ECN-capable, whose marks count, and the
//! chunks that speak of them (RFC 3168; RFC 4960, appendix A; draft-stewart-tsvwg-sctpecn).

use anabranch_base::Ecn;
use anabranch_wire::chunk::{Chunk, Cwr, Ecne};
use anabranch_wire::{Chunks, Tsn};

use super::Association;
use super::control::Kind;
use crate::config::EcnMode;
use crate::encoding::Encoding;
use crate::ids::{PathId, SpaceId};
use crate::negotiation::fids::Judged;
use crate::path::Path;
use crate::sender::Next;
use crate::state::State;

impl Association {
    /// What packets with data leave as from now on.
    pub(super) fn adopt_ecn(&mut self, agreed: bool) {
        self.cx.ect = match self.cx.config.extensions.ecn {
            EcnMode::Classic if agreed => Ecn::Ect0,
            EcnMode::L4s if agreed => Ecn::Ect1,
            _ => Ecn::NotEct,
        };
    }

    /// The field of a packet whose data begins with `chosen`, if it has any. Control chunks alone are Not-ECT, as what is sent again ("TCP
    /// senders MUST NOT set either an ECT(0) or ECT(1) codepoint in the IP header for retransmitted data packets", RFC 3168, 6.1.5) and window
    /// probes (RFC 3168, 6.1.6). So is the data that rides with COOKIE ECHO: whether ECT gets through at all is to be found out by data
    /// that nothing else depends on.
    #[inline]
    pub(super) fn ecn_of(&self, path: PathId, next: &Next) -> Ecn {
        let capable = self.sender.is_ecn_capable(next) && self.cx.state != State::CookieEchoed;
        if capable && !self.cx.paths.get(path).is_none_or(Path::refuses_ect) {
            self.cx.ect
        } else {
            Ecn::NotEct
        }
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
