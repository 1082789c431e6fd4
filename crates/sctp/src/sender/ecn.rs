//! Explicit congestion notification at the sender: the peer's reports of marks, the lane that each concerns, and the
//! CWR that answers (RFC 3168; RFC 4960, appendix A; draft-stewart-tsvwg-sctpecn). It also finds paths that clear the
//! ECN field.

use anabranch_base::{Ecn, Instant};
use anabranch_transport::congestion::Congestion;
use anabranch_wire::Tsn;
use anabranch_wire::chunk::{Cwr, EcnCounters};

use super::coupling::Lost;
use super::lane::mark_response::{Circumstances, Marked, Report};
use super::lane_coupling::LaneCoupling;
use super::next::{First, Next};
use super::tables::{Scope, Tables};
use crate::context::Context;
use crate::ids::{Id, LaneId, PathId, SpaceId};
use crate::negotiation::offer::Extensions;

/// A mark on data acknowledged no more than so many numbers ago may still be reported, where less is in flight.
const LATE: u64 = 64;
/// Once so many numbers of a space are acknowledged, the peer must have counted packets with the ECN field as sent.
const ENOUGH: u64 = 100;

/// State of explicit congestion notification at the sender, where both sides are capable of it.
#[derive(Debug, Default)]
pub(super) struct EcnSender {
    state: Option<Box<EcnState>>,
}

/// Marked packets of a lane: the last of them, the time at which it left, and their number.
#[derive(Clone, Copy, Debug)]
struct Marks {
    seq: u64,
    sent_at: Instant,
    packets: u32,
}

/// Terms agreed on, and the reports that have come.
#[derive(Debug)]
struct EcnState {
    /// The peer counts marks in SF-SACKs: without that, marks on subflows with a space of their own would not be
    /// reported.
    peer_counts: bool,
    /// Numbers below were sent before the handshake was over, as Not-ECT.
    from: u64,
    /// The last report by ECNE: the chunk, and the number of packets marked since the last CWR.
    heard: Option<(u64, u32)>,
    /// The TSN for the next CWR, and the time at which the last CWR left.
    cwr: Tsn,
    cwr_at: Option<Instant>,
    /// Path of the last CWR: the lane may not be known any more when the peer repeats its report.
    cwr_path: Option<PathId>,
    /// Packets of each lane that routers have marked.
    lanes: Vec<Marked>,
}

impl EcnState {
    fn new(agreed: &Extensions) -> Self {
        let peer_counts = agreed.sf.as_ref().is_some_and(|sf| sf.peer_counts);
        Self {
            peer_counts,
            from: 0,
            heard: None,
            cwr: Tsn::new(0),
            cwr_at: None,
            cwr_path: None,
            lanes: Vec::new(),
        }
    }

    /// TSNs begin anew: marks are forgotten.
    fn forget_numbers(&mut self) {
        (self.from, self.heard) = (0, None);
        self.lanes.clear();
    }

    /// A lane goes on under other numbers: its marks are forgotten.
    fn forget_lane(&mut self, id: LaneId) {
        if let Some(marked) = self.lanes.get_mut(id.row()) {
            *marked = Marked::default();
        }
    }

    /// The marks of a lane, if any are known.
    fn of(&self, id: LaneId) -> Option<&Marked> {
        self.lanes.get(id.row())
    }

    /// The marks of a lane, to be changed.
    fn of_mut(&mut self, id: LaneId) -> Option<&mut Marked> {
        if self.lanes.len() <= id.row() {
            self.lanes.resize_with(id.row() + 1, Marked::default);
        }
        self.lanes.get_mut(id.row())
    }

    /// True if data sent before a mark reduced the window is not acknowledged yet, up to `first`: "The sending TCP
    /// SHOULD NOT increase the congestion window in response to the receipt of an ECN-Echo ACK packet" (RFC 3168,
    /// 6.1.2).
    fn has_reduced(&self, id: LaneId, first: u64) -> bool {
        self.of(id).is_some_and(|marked| marked.covers(first))
    }
}

impl EcnSender {
    /// Sets whether both sides are capable of ECN.
    pub(super) fn adopt(&mut self, agreed: &Extensions) {
        self.state = agreed.ecn.then(|| Box::new(EcnState::new(agreed)));
    }

    /// Packets leave as Not-ECT from now on.
    pub(super) fn forget(&mut self) {
        self.state = None;
    }

    /// True if both sides are capable of ECN.
    pub(super) fn is_on(&self) -> bool {
        self.state.is_some()
    }

    /// TSNs begin anew: marks are forgotten.
    pub(super) fn forget_numbers(&mut self) {
        if let Some(ecn) = &mut self.state {
            ecn.forget_numbers();
        }
    }

    /// A lane goes on under other numbers: its marks are forgotten.
    pub(super) fn forget_lane(&mut self, id: LaneId) {
        if let Some(ecn) = &mut self.state {
            ecn.forget_lane(id);
        }
    }

    /// True if data sent before a mark reduced the window is not acknowledged yet, up to `first`: "The sending TCP
    /// SHOULD NOT increase the congestion window in response to the receipt of an ECN-Echo ACK packet" (RFC 3168,
    /// 6.1.2).
    #[inline]
    pub(super) fn has_reduced(&self, id: LaneId, first: u64) -> bool {
        self.state.as_ref().is_some_and(|ecn| ecn.has_reduced(id, first))
    }

    /// The handshake is over: packets that leave from now on may be ECN-capable.
    pub(super) fn begin_ect(&mut self, tables: &Tables) {
        if let (Some(ecn), Some(space)) = (&mut self.state, tables.spaces.first()) {
            ecn.from = space.flight.next();
        }
    }

    /// True if a packet that was just written, and that begins with `next`, may be marked: neither retransmissions
    /// nor window probes may (RFC 3168, 6.1.5, 6.1.6), nor packets whose marks the peer would not report.
    pub(crate) fn is_ecn_capable(&self, tables: &Tables, next: &Next) -> bool {
        let new = matches!(next.first, First::New { .. });
        let counted = || self.state.as_ref().is_some_and(|ecn| ecn.peer_counts);
        let space = tables.spaces.get(next.space);
        new && space.is_some_and(|space| !space.probe.in_flight && (space.fid == 0 || counted()))
    }

    /// ECNE: the packet with `tsn`, and `packets` in all since the last CWR, came marked. Returns the path on which a
    /// CWR must leave, if one must: that of the lane which has sent the marked packet, or of the last CWR where that
    /// lane is not known any more. A report of a packet that was never sent, or one older than the last report,
    /// changes nothing.
    pub(crate) fn on_ecne(
        &mut self,
        tables: &mut Tables,
        coupling: &mut LaneCoupling,
        cx: &mut Context,
        tsn: Tsn,
        packets: u32,
    ) -> Option<PathId> {
        let space = tables.spaces.first()?;
        let (first, next) = (space.flight.first(), space.flight.next());
        let distance = tsn.signed_distance_from(space.tsn_of(first));
        let seq = first.checked_add_signed(i64::from(distance)).filter(|seq| *seq < next)?;
        let chunk = space.flight.get(seq).map(|chunk| (chunk.lane, chunk.sent_at));
        let ecn = self.state.as_mut()?;
        let (last, count) = ecn.heard.map_or((0, 0), |(last, count)| (last, count));
        if seq < last {
            return None;
        }
        let more = if packets > count { packets - count } else { packets.max(1) };
        let news = if ecn.heard == Some((seq, packets)) { 0 } else { more };
        ecn.heard = Some((seq, packets));
        ecn.cwr = tsn;
        // A report cannot cover more packets than there are numbers.
        let window = (next - first).max(LATE);
        let news = u32::try_from((seq - last + 1).min(window)).unwrap_or(u32::MAX).min(news);
        let recent = seq + window >= first;
        let lane = chunk.or_else(|| tables.only_lane(cx, SpaceId::FIRST));
        let reduced = match lane {
            Some((lane, sent_at)) if news > 0 && recent => {
                self.on_marks(tables, coupling, cx, lane, Marks { seq, sent_at, packets: news })
            }
            _ => false,
        };
        // A CWR may be lost: while ECNE is repeated for longer than the first CWR can have taken, another one is sent.
        let srtt = tables.lanes.first().and_then(|lane| lane.srtt(cx)).unwrap_or_default();
        let cwr_at = self.state.as_ref().and_then(|ecn| ecn.cwr_at);
        let leaves = reduced || cwr_at.is_none_or(|at| cx.env.now() > at + srtt + srtt / 4);
        let ecn = self.state.as_mut()?;
        if let Some(lane) = lane.and_then(|(lane, _)| tables.lanes.get(lane)) {
            ecn.cwr_path = Some(lane.path());
        }
        leaves.then_some(ecn.cwr_path.unwrap_or(cx.paths.for_control()))
    }

    /// Writes the CWR: "the TSN number that was sent in the ECNE chunk" (RFC 4960, appendix A).
    pub(crate) fn write_cwr(&mut self, cx: &Context, out: &mut Vec<u8>) {
        let Some(ecn) = &mut self.state else { return };
        Cwr { tsn: ecn.cwr, rest: &[] }.emit(out);
        ecn.cwr_at = Some(cx.env.now());
    }

    /// Counts of the packets of a space by codepoint, from the peer (level 1).
    pub(crate) fn on_ecn_counters(
        &mut self,
        tables: &mut Tables,
        coupling: &mut LaneCoupling,
        cx: &mut Context,
        at: SpaceId,
        counters: EcnCounters,
    ) {
        let Some((id, sent_at)) = tables.only_lane(cx, at) else { return };
        let (Some(lane), Some(space)) = (tables.lanes.get(id), tables.spaces.get(at)) else {
            return;
        };
        let (first, next) = (space.flight.first(), space.flight.next());
        let EcnCounters { ect0, ect1, ce } = counters;
        let unchanged = if cx.env.ect() == Ecn::Ect1 { ect1 } else { ect0 };
        if first >= ENOUGH && unchanged == 0 && ce == 0 {
            // A router on the path clears the field, or changes it.
            if let Some(path) = cx.paths.get_mut(lane.path()) {
                path.refuse_ect();
            }
            return;
        }
        // Another lane of the space may have heard the last report.
        let all = tables.lanes.iter().filter(|(_, lane)| lane.space() == at);
        let last = |id| self.state.as_ref()?.of(id).map(|marked| (marked.counted_to, marked.counter));
        let last = all.filter_map(|(id, _)| last(id)).max();
        let Some(marked) = self.state.as_mut().and_then(|ecn| ecn.of_mut(id)) else { return };
        (marked.counted_to, marked.counter) = last.unwrap_or_default();
        let more = ce.wrapping_sub(marked.counter);
        // Half of the numbers ahead: a late SF-SACK.
        if more == 0 || more > u32::MAX / 2 {
            return;
        }
        let before = std::mem::replace(&mut marked.counted_to, first);
        marked.counter = ce;
        let most = u32::try_from(next.saturating_sub(before)).unwrap_or(u32::MAX);
        let marks = Marks { seq: first.saturating_sub(1), sent_at, packets: more.min(most) };
        self.on_marks(tables, coupling, cx, id, marks);
    }

    /// Packets of a lane were marked. True when its window has come down.
    fn on_marks(
        &mut self,
        tables: &mut Tables,
        coupling: &mut LaneCoupling,
        cx: &mut Context,
        id: LaneId,
        Marks { seq, sent_at, packets }: Marks,
    ) -> bool {
        let mine = tables.subflows.rows().iter().filter(|subflow| subflow.lane == id);
        let sent: u64 = mine.map(|subflow| subflow.counters.chunk_bytes_sent).sum();
        let Some(lane) = tables.lanes.get_mut(id) else { return false };
        let Some(space) = tables.spaces.get(lane.space()) else { return false };
        let newest = lane.loss.newest(&space.flight);
        let report =
            Report { seq, sent_at, packets, newest, delivered: sent.saturating_sub(lane.in_flight.bytes()) };
        let around = Circumstances {
            now: cx.env.now(),
            srtt: lane.srtt(cx),
            config: cx.env.config(),
            ect: cx.env.ect(),
        };
        let Some(marked) = self.state.as_mut().and_then(|ecn| ecn.of_mut(id)) else { return false };
        let before = lane.window.cwnd();
        if !lane.on_marked(marked, &around, &report) {
            return false;
        }
        let after = lane.window.cwnd();
        cx.report.stats.control.count_reduction();
        // The windows of the lanes that act as one flow with it come down by the same share.
        let kept = u128::from(after) * 1_000_000 / u128::from(before.max(1));
        let event = Congestion::EcnKeep(u32::try_from(kept).unwrap_or(1_000_000).min(1_000_000));
        coupling.couple_loss(tables, cx, id, &Lost { cut: true, sent_at, event });
        coupling.record_window(tables, cx, id);
        true
    }

    /// T3-rtx has expired: marks on packets sent before are no news any more. If no packet that left as ECN-capable
    /// was ever acknowledged, such packets may not get through at all: the next leave as Not-ECT (as in RFC 9000,
    /// 13.4.2).
    #[cold]
    pub(super) fn suspect_ect(&mut self, tables: &mut Tables, cx: &mut Context, id: LaneId, probe: bool) {
        let Some(ecn) = &mut self.state else { return };
        let Some(Scope { lane, space, .. }) = tables.scope(id) else { return };
        if probe {
            return;
        }
        let from = ecn.from;
        if let Some(marked) = ecn.of_mut(id) {
            marked.on_timeout(lane.loss.newest(&space.flight));
        }
        let acknowledged =
            space.flight.first().max(space.flight.highest_gap_acked().map_or(0, |seq| seq + 1));
        if lane.space() == SpaceId::FIRST && acknowledged <= from {
            if let Some(path) = cx.paths.get_mut(lane.path()) {
                path.refuse_ect();
            }
        }
    }
}
