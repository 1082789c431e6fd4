//! Explicit congestion notification, as far as it is the association's: which packets are ECN-capable, whose marks count, and the
//! chunks that speak of them (RFC 3168; RFC 4960, appendix A; draft-stewart-tsvwg-sctpecn).

use anabranch_base::Ecn;
use anabranch_wire::chunk::{Chunk, Ecne};
use anabranch_wire::{Chunks, Tsn};

use crate::config::{Config, EcnMode};
use crate::control::Kind;
use crate::encoding::Encoding;
use crate::ids::SpaceId;
use crate::negotiation::fids::Judged;
use crate::scope::Scope;

/// The field that packets with data leave with from now on.
pub(in crate::association) fn field_of_data(config: &Config, agreed: bool) -> Ecn {
    match config.extensions.ecn {
        EcnMode::Classic if agreed => Ecn::Ect0,
        EcnMode::L4s if agreed => Ecn::Ect1,
        _ => Ecn::NotEct,
    }
}

/// A packet came that was ECN-capable, and perhaps marked: its data tells which space it belongs to. A packet has data of one
/// subflow; a chunk that has come before, or cannot be of this association, does not count (RFC 3168, 6.1.5).
#[inline(never)]
pub(super) fn note_ecn(scope: &mut Scope<'_>, ecn: Ecn, chunks: Chunks<'_>) {
    if scope.cx.env.ect() == Ecn::NotEct || !scope.cx.env.state().receives_data() {
        return;
    }
    let mut lowest: Option<(SpaceId, Tsn)> = None;
    for raw in chunks.map_while(Result::ok) {
        let (at, tsn) = match Chunk::parse_with(raw, &scope.cx.env.config().subflows.codes) {
            Ok(Chunk::Data(data)) if scope.cx.env.agreed().encoding() == Encoding::Rfc9260 => {
                (SpaceId::FIRST, data.tsn)
            }
            Ok(Chunk::IData(data)) if scope.cx.env.agreed().encoding().identifies_messages() => {
                (SpaceId::FIRST, data.tsn)
            }
            Ok(Chunk::SfData(data)) if scope.cx.env.agreed().encoding() == Encoding::Sf => {
                let Some((Judged::Open, Some(at))) = scope.receiver.arrivals().judge(data.fid, data.epoch)
                else {
                    continue;
                };
                (at, data.stsn)
            }
            _ => continue,
        };
        let first = lowest.is_none_or(|(space, lowest)| space == at && tsn.signed_distance_from(lowest) < 0);
        if scope.receiver.is_new(at, tsn) && first {
            lowest = Some((at, tsn));
        }
    }
    if let Some((at, tsn)) = lowest {
        if ecn == Ecn::Ce {
            scope.cx.report.stats.control.count_marked();
        }
        scope.receiver.arrivals_mut().note_ecn(at, tsn, ecn);
    }
}

/// ECNE: the peer has seen marks. Of subflows with acknowledgements of their own their SF-SACKs tell.
pub(super) fn on_ecne(scope: &mut Scope<'_>, ecne: &Ecne<'_>) {
    if scope.cx.env.ect() == Ecn::Ect1 && !ecne.is_counted() {
        // A scalable response needs "feedback of the extent of CE marking" (RFC 9331, 4.2), and this peer only says that there is some.
        scope.cx.env.mark_data_with(Ecn::Ect0);
    }
    if scope.cx.env.ect() == Ecn::NotEct {
        return;
    }
    if let Some(path) = scope.sender.all_lanes().on_ecne(scope.cx, ecne.tsn, ecne.marked()) {
        scope.control.ask(Kind::Cwr, path);
    }
}
