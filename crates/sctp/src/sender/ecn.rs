//! Explicit congestion notification at the sender: what the peer reports of marks, which lane it concerns, and the CWR that answers
//! (RFC 3168; RFC 4960, appendix A; draft-stewart-tsvwg-sctpecn). Whether a path keeps the field is looked at here, too.

use anabranch_base::{Ecn, Instant};
use anabranch_transport::congestion::Congestion;
use anabranch_wire::Tsn;
use anabranch_wire::chunk::{Cwr, EcnCounters};

use super::Sender;
use super::coupling::Lost;
use super::lane::marked::{Circumstances, Report};
use super::next::{First, Next};
use crate::context::Context;
use crate::ids::{LaneId, PathId, SpaceId};

/// A mark on data that was acknowledged so many numbers ago may still be reported, where less is in flight.
const LATE: u64 = 64;
/// Numbers of a space after whose acknowledgement the peer must have counted packets as they were sent.
const ENOUGH: u64 = 100;

impl Sender {
    /// The handshake is over: what leaves from now on may be ECN-capable.
    pub(super) fn begin_ect(&mut self) {
        if let (Some(ecn), Some(space)) = (&mut self.ecn, self.spaces.first()) {
            ecn.from = space.flight.next();
        }
    }

    /// Whether a packet that was just written, and that begins with `next`, may be marked: neither what is sent again nor window
    /// probes (RFC 3168, 6.1.5, 6.1.6), nor what nobody would report of.
    pub(crate) fn is_ecn_capable(&self, next: &Next) -> bool {
        let new = matches!(next.first, First::New { .. });
        let counted = || self.ecn.as_ref().is_some_and(|ecn| ecn.peer_counts);
        let space = self.spaces.get(next.space);
        new && space.is_some_and(|space| !space.probe.in_flight && (space.fid == 0 || counted()))
    }

    /// ECNE: that packet and so many since the last CWR came marked. The path on which a CWR must leave, if one must: that of the lane
    /// which has sent the marked packet, or of the last CWR where that is not known any more. What was never sent, and what is older
    /// than the last report, changes nothing.
    pub(crate) fn on_ecne(&mut self, cx: &mut Context, tsn: Tsn, packets: u32) -> Option<PathId> {
        let space = self.spaces.first()?;
        let (first, next) = (space.flight.first(), space.flight.next());
        let distance = tsn.signed_distance_from(space.tsn_of(first));
        let seq = first.checked_add_signed(i64::from(distance)).filter(|seq| *seq < next)?;
        let chunk = space.flight.get(seq).map(|chunk| (chunk.lane, chunk.sent_at));
        let ecn = self.ecn.as_mut()?;
        let (last, count) = ecn.heard.map_or((0, 0), |(last, count)| (last, count));
        if seq < last {
            return None;
        }
        let more = if packets > count { packets - count } else { packets.max(1) };
        let news = if ecn.heard == Some((seq, packets)) { 0 } else { more };
        ecn.heard = Some((seq, packets));
        ecn.cwr = tsn;
        // No more packets than there are numbers, whatever the peer says.
        let window = (next - first).max(LATE);
        let news = u32::try_from((seq - last + 1).min(window)).unwrap_or(u32::MAX).min(news);
        let recent = seq + window >= first;
        let lane = chunk.or_else(|| self.only_lane(cx, SpaceId::FIRST));
        let reduced = match lane {
            Some((lane, sent_at)) if news > 0 && recent => self.on_marks(cx, lane, seq, sent_at, news),
            _ => false,
        };
        // A CWR may be lost: while ECNE is repeated for longer than the first can have taken it is, too.
        let srtt = self.lanes.first().and_then(|lane| lane.srtt(cx)).unwrap_or_default();
        let cwr_at = self.ecn.as_ref().and_then(|ecn| ecn.cwr_at);
        let leaves = reduced || cwr_at.is_none_or(|at| cx.now > at + srtt + srtt / 4);
        let ecn = self.ecn.as_mut()?;
        if let Some(lane) = lane.and_then(|(lane, _)| self.lanes.get(lane)) {
            ecn.cwr_path = Some(lane.path);
        }
        leaves.then_some(ecn.cwr_path.unwrap_or(cx.paths.for_control()))
    }

    /// The CWR that was asked for: "the TSN number that was sent in the ECNE chunk" (RFC 4960, appendix A).
    pub(crate) fn write_cwr(&mut self, cx: &Context, out: &mut Vec<u8>) {
        let Some(ecn) = &mut self.ecn else { return };
        Cwr { tsn: ecn.cwr, rest: &[] }.emit(out);
        ecn.cwr_at = Some(cx.now);
    }

    /// How the peer has counted the packets of a space (level 1).
    pub(crate) fn on_ecn_counters(&mut self, cx: &mut Context, at: SpaceId, counters: EcnCounters) {
        let Some((id, sent_at)) = self.only_lane(cx, at) else { return };
        let (Some(lane), Some(space)) = (self.lanes.get(id), self.spaces.get(at)) else { return };
        let (first, next) = (space.flight.first(), space.flight.next());
        let EcnCounters { ect0, ect1, ce } = counters;
        let unchanged = if cx.ect == Ecn::Ect1 { ect1 } else { ect0 };
        if first >= ENOUGH && unchanged == 0 && ce == 0 {
            // Somebody on the way clears the field, or changes it.
            if let Some(path) = cx.paths.get_mut(lane.path) {
                path.refuse_ect();
            }
            return;
        }
        let Some(marked) = self.ecn.as_mut().and_then(|ecn| ecn.of_mut(id)) else { return };
        let more = ce.wrapping_sub(marked.counter);
        // Half of the numbers ahead: an SF-SACK of before.
        if more == 0 || more > u32::MAX / 2 {
            return;
        }
        let before = std::mem::replace(&mut marked.counted_to, first);
        marked.counter = ce;
        let most = u32::try_from(next.saturating_sub(before)).unwrap_or(u32::MAX);
        self.on_marks(cx, id, first.saturating_sub(1), sent_at, more.min(most));
    }

    /// The lane that sends under a space, where it is the only one, and when that sent what is acknowledged now, about.
    fn only_lane(&self, cx: &Context, at: SpaceId) -> Option<(LaneId, Instant)> {
        let mut lanes = self.lanes.iter().filter(|(_, lane)| lane.space == at);
        let (id, lane) = lanes.next()?;
        let since = lane.srtt(cx).unwrap_or_default();
        lanes.next().is_none().then(|| (id, cx.now - since))
    }

    /// Packets of a lane were marked. True when its window has come down.
    fn on_marks(&mut self, cx: &mut Context, id: LaneId, seq: u64, sent_at: Instant, packets: u32) -> bool {
        let mine = self.subflows.rows().iter().filter(|subflow| subflow.lane == id);
        let sent: u64 = mine.map(|subflow| subflow.counters.chunk_bytes_sent).sum();
        let Some(lane) = self.lanes.get_mut(id) else { return false };
        let Some(space) = self.spaces.get(lane.space) else { return false };
        let newest = lane.loss.newest(&space.flight);
        let report = Report { seq, sent_at, packets, newest, delivered: sent.saturating_sub(lane.flight) };
        let around = Circumstances { now: cx.now, srtt: lane.srtt(cx), config: &cx.config, ect: cx.ect };
        let Some(marked) = self.ecn.as_mut().and_then(|ecn| ecn.of_mut(id)) else { return false };
        let before = lane.controller.window();
        if !lane.on_marked(marked, &around, &report) {
            return false;
        }
        let after = lane.controller.window();
        cx.stats.control.count_reduction();
        // What has become of the window of the lane becomes of that of the lanes that act as one flow with it.
        let kept = u128::from(after) * 1_000_000 / u128::from(before.max(1));
        let event = Congestion::EcnKeep(u32::try_from(kept).unwrap_or(1_000_000).min(1_000_000));
        self.couple_loss(cx, id, &Lost { cut: true, sent_at, event });
        self.record_window(cx, id);
        true
    }

    /// T3-rtx has expired: marks on what had been sent are no news any more. If nothing that left as ECN-capable was ever acknowledged it
    /// may not get through at all: what follows leaves as Not-ECT (as in RFC 9000, 13.4.2).
    #[cold]
    pub(super) fn doubt_ect(&mut self, cx: &mut Context, id: LaneId, probe: bool) {
        let Some(ecn) = &mut self.ecn else { return };
        let Some(lane) = self.lanes.get_mut(id) else { return };
        let Some(space) = self.spaces.get(lane.space) else { return };
        if probe {
            return;
        }
        let from = ecn.from;
        if let Some(marked) = ecn.of_mut(id) {
            marked.on_timeout(lane.loss.newest(&space.flight));
        }
        let acknowledged =
            space.flight.first().max(space.flight.highest_gap_acked().map_or(0, |seq| seq + 1));
        if lane.space == SpaceId::FIRST && acknowledged <= from {
            if let Some(path) = cx.paths.get_mut(lane.path) {
                path.refuse_ect();
            }
        }
    }
}
