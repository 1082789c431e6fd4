//! The lanes of an association together: their windows, the sizes of their packets, and marks and duplicates that the peer reports.

use anabranch_wire::chunk::EcnCounters;
use anabranch_wire::{CommonHeader, Tsn};

use super::ecn::EcnSender;
use super::lane::Lane;
use super::lane_coupling::LaneCoupling;
use super::tables::Tables;
use crate::context::Context;
use crate::event::Event;
use crate::ids::{LaneId, PathId, SpaceId};

/// The rows of all lanes, with the coupling of their windows and the ECN marks on their packets. The sender lends it for one
/// call.
pub(crate) struct AllLanes<'a> {
    pub(super) tables: &'a mut Tables,
    pub(super) coupling: &'a mut LaneCoupling,
    pub(super) ecn: &'a mut EcnSender,
}

impl AllLanes<'_> {
    /// The first windows, for traces.
    pub(crate) fn record_windows(&mut self, cx: &mut Context) {
        for id in self.tables.lanes.ids() {
            self.coupling.record_window(self.tables, cx, id);
        }
    }

    /// Largest windows count from now on.
    pub(crate) fn reset_peaks(&mut self) {
        for lane in self.tables.lanes.rows_mut() {
            lane.window.reset_peak();
        }
        self.coupling.reset_peak(self.tables);
    }

    /// Packets were lost again on a lane.
    #[cold]
    pub(super) fn suspect_black_hole(&mut self, cx: &mut Context, id: LaneId, longest: usize) {
        let Some(id) = self.tables.lanes.get(id).map(Lane::path) else { return };
        let (config, len) = (cx.env.config(), CommonHeader::LEN + longest);
        if let Some(mtu) =
            cx.paths.get_mut(id).and_then(|path| path.size_mut().packet_lost_again(config, len))
        {
            self.use_found_mtu(cx, id, mtu);
        }
    }

    /// Path MTU discovery has found the MTU of a path.
    pub(crate) fn use_found_mtu(&mut self, cx: &mut Context, id: PathId, mtu: u16) {
        self.use_mtu(cx, id, mtu);
        cx.tell_if_read(Event::PathMtu { path: id.get(), mtu });
    }

    /// A path carries IP packets of so many bytes from now on.
    pub(crate) fn use_mtu(&mut self, cx: &mut Context, id: PathId, mtu: u16) {
        let config = cx.env.config();
        if cx.paths.get_mut(id).is_some_and(|path| path.size_mut().set(config, mtu)) {
            self.coupling.resize(self.tables, cx, id);
        }
    }

    /// Duplicate TSNs of a SACK: chunks that arrived twice.
    pub(crate) fn note_duplicates(
        &mut self,
        cx: &mut Context,
        at: SpaceId,
        duplicates: impl Iterator<Item = Tsn>,
    ) {
        let Some(space) = self.tables.spaces.get(at) else { return };
        let mut needless = None;
        for tsn in duplicates {
            // `unwrap_ack` gives one past the TSN.
            let Some(seq) = space.unwrap_ack(tsn).and_then(|next| next.checked_sub(1)) else { continue };
            for (id, lane) in self.tables.lanes.iter_mut().filter(|(_, lane)| lane.space() == at) {
                if let Some(rack) = lane.rack_tlp.rack_mut() {
                    rack.duplicate(&space.flight, seq);
                }
                if lane.recovery.on_duplicate(seq) && !lane.loss.any() {
                    lane.undo();
                    needless = Some(id);
                }
            }
        }
        if let Some(id) = needless {
            self.coupling.record_window(self.tables, cx, id);
        }
    }

    /// ECNE: the packet with `tsn`, and `packets` since the last CWR, came marked. The path on which a CWR must leave, if one must.
    pub(crate) fn on_ecne(&mut self, cx: &mut Context, tsn: Tsn, packets: u32) -> Option<PathId> {
        self.ecn.on_ecne(self.tables, self.coupling, cx, tsn, packets)
    }

    /// Writes the CWR that answers an ECNE.
    pub(crate) fn write_cwr(&mut self, cx: &Context, out: &mut Vec<u8>) {
        self.ecn.write_cwr(cx, out);
    }

    /// Counts of the packets of a space by codepoint, from the peer (level 1).
    pub(crate) fn on_ecn_counters(&mut self, cx: &mut Context, at: SpaceId, counters: EcnCounters) {
        self.ecn.on_ecn_counters(self.tables, self.coupling, cx, at, counters);
    }
}
