//! The tables of the sender: subflows, lanes and sequence spaces, the references between their rows, and questions to
//! all of them.

use std::collections::BTreeMap;

use anabranch_base::Instant;
use anabranch_wire::chunk::ReceiveTime;
use anabranch_wire::{Mid, Tsn, padded};

use super::allowance::Allowance;
use super::flight::{AckOutcome, CHUNK, ChunkState, Counted, Flight, SentChunk};
use super::lane::Lane;
use super::next::Next;
use super::space::SendSpace;
use super::subflow::{Life, Subflow};
use crate::config::{Coupling, SubflowSpec};
use crate::context::Context;
use crate::encoding::micros;
use crate::error::SubflowError;
use crate::ids::{Id, LaneId, PathId, SpaceId, SubflowId, Table};
use crate::stats::SubflowCounters;
use crate::stream::numbering::Numbering;

/// A [`Subflow`] names its sequence space and its lane; a [`Lane`] is a subflow on a path, and names its space. RFC
/// 9260 on one path is one row in each.
#[derive(Debug)]
pub(crate) struct Tables {
    pub(super) subflows: Table<SubflowId, Subflow>,
    pub(super) lanes: Table<LaneId, Lane>,
    pub(super) spaces: Table<SpaceId, SendSpace>,
}

/// A lane with all state that an event on it may change: the space under which it sends, and the counters of its
/// subflow.
pub(super) struct Scope<'a> {
    pub(super) id: LaneId,
    pub(super) lane: &'a mut Lane,
    pub(super) space: &'a mut SendSpace,
    pub(super) counters: Option<&'a mut SubflowCounters>,
}

impl Tables {
    /// Tables with one space, and no subflow yet.
    pub(super) fn new(base: Tsn) -> Self {
        Self {
            subflows: Table::default(),
            lanes: Table::default(),
            spaces: Table::of(SendSpace::new(0, base)),
        }
    }

    /// Lends a lane with its space.
    #[inline]
    pub(super) fn scope(&mut self, id: LaneId) -> Option<Scope<'_>> {
        let lane = self.lanes.get_mut(id)?;
        let space = self.spaces.get_mut(lane.space())?;
        let counters = self.subflows.get_mut(lane.subflow()).map(|subflow| &mut subflow.counters);
        Some(Scope { id, lane, space, counters })
    }

    /// Our Initial TSN.
    pub(crate) fn base(&self) -> Tsn {
        self.spaces.first().map(|space| space.base).unwrap_or_default()
    }

    /// True if no sent data is kept.
    pub(crate) fn has_nothing_sent(&self) -> bool {
        self.spaces.rows().iter().all(|space| space.flight.is_empty())
    }

    pub(super) fn has_data_in_flight(&self) -> bool {
        self.lanes.rows().iter().any(|lane| lane.in_flight.bytes() > 0)
    }

    /// True if subflows have sequence spaces of their own.
    #[inline]
    pub(crate) fn has_several_spaces(&self) -> bool {
        self.spaces.len() > 1
    }

    pub(super) fn open_subflow_count(&self) -> u32 {
        self.subflows.rows().iter().filter(|subflow| subflow.life == Life::Open).count() as u32
    }

    /// Congestion windows of all lanes in use together, bytes.
    pub(crate) fn total_window(&self) -> u64 {
        let open = |id| self.subflows.get(id).is_some_and(|subflow| subflow.life == Life::Open);
        self.lanes.rows().iter().filter(|lane| open(lane.subflow())).map(|lane| lane.window.cwnd()).sum()
    }

    /// User data of a lane that waits to be sent, bytes.
    #[inline(never)]
    pub(super) fn queued_on(&self, id: LaneId) -> u64 {
        let mine = self.subflows.rows().iter().filter(|subflow| subflow.lane == id);
        mine.map(|subflow| subflow.out.queued_bytes() as u64).sum()
    }

    /// True if a chunk of a subflow is not acknowledged cumulatively: the peer may still take back an
    /// acknowledgement by gap blocks (6.2.1), and a SACK that was overtaken looks the same. It looks at every chunk:
    /// for rare events only.
    pub(super) fn has_in_flight(&self, id: SubflowId) -> bool {
        self.spaces.rows().iter().any(|space| space.flight.iter().any(|chunk| chunk.subflow == id))
    }

    /// The lane that sends under a space, where it is the only one, and the approximate time at which it sent the data
    /// acknowledged now.
    pub(super) fn only_lane(&self, cx: &Context, at: SpaceId) -> Option<(LaneId, Instant)> {
        // A lane on another path may have been used for a while.
        let used = |id| self.subflows.rows().iter().any(|subflow| subflow.lane == id);
        let sends = |id, lane: &Lane| lane.space() == at && (used(id) || lane.in_flight.unacked() > 0);
        let mut lanes = self.lanes.iter().filter(|(id, lane)| sends(*id, lane));
        let (id, lane) = lanes.next()?;
        let since = lane.srtt(cx).unwrap_or_default();
        lanes.next().is_none().then(|| (id, cx.env.now() - since))
    }

    /// Bytes in flight, of one space or of all, as windows count them.
    pub(super) fn outstanding(&self, cx: &Context, at: Option<SpaceId>) -> u64 {
        let headers = cx.env.config().emulation.rwnd_counts_headers;
        let counts = |lane: &&Lane| at.is_none_or(|at| lane.space() == at);
        let bytes = |lane: &Lane| lane.in_flight.counted().charged(headers);
        self.lanes.rows().iter().filter(counts).map(bytes).sum()
    }

    /// Memory for sent data that is not acknowledged cumulatively, bytes. Numbers that are kept for the rest of a message count with
    /// that message, which is the user's: counted here they would close the window of a long message for itself.
    #[inline]
    pub(crate) fn retained(&self) -> u64 {
        let kept = |flight: &Flight| flight.bytes() + flight.sent() as u64 * CHUNK;
        match self.spaces.rows() {
            [space] => kept(&space.flight),
            several => several.iter().map(|space| kept(&space.flight)).sum(),
        }
    }

    /// The sequence space of a FID. Both halves of a space have the same place in their tables.
    pub(crate) fn space_of(&self, fid: u8) -> Option<SpaceId> {
        self.spaces.rows().iter().position(|space| space.fid == fid).map(SpaceId::at)
    }

    /// Number of chunks that other lanes of a space have to send again: the room in the peer's buffer is for them
    /// first, for data behind them stays there until they come.
    pub(super) fn lost_of_others(&self, lane: LaneId, space: SpaceId) -> u64 {
        let others = self.lanes.iter().filter(|(other, l)| *other != lane && l.space() == space);
        others.map(|(_, l)| u64::from(l.in_flight.marked())).sum()
    }

    /// # Errors
    /// When a subflow is not open.
    pub(crate) fn check_open(&self, id: SubflowId) -> Result<(), SubflowError> {
        match self.subflows.get(id) {
            Some(subflow) if subflow.life == Life::Open => Ok(()),
            _ => Err(SubflowError::NotOpen { index: id.get() }),
        }
    }

    /// Chunks that one subflow has in flight count for another from now on.
    pub(super) fn relabel(&mut self, from: SubflowId, to: SubflowId) {
        for space in self.spaces.rows_mut() {
            for (_, chunk) in space.flight.iter_mut().filter(|(_, chunk)| chunk.subflow == from) {
                chunk.subflow = to;
            }
        }
    }

    /// The lane of a subflow on a path.
    pub(super) fn lane_on(&self, subflow: SubflowId, path: PathId) -> Option<LaneId> {
        let mine = |lane: &Lane| lane.subflow() == subflow && lane.path() == path;
        self.lanes.iter().find(|(_, lane)| mine(lane)).map(|(id, _)| id)
    }

    /// Where several lanes send under one numbering, lets each know its own chunks; where only one sends, no list is
    /// kept.
    pub(super) fn share_spaces(&mut self) {
        for (at, space) in self.spaces.iter_mut() {
            space.shared = self.lanes.rows().iter().filter(|lane| lane.space() == at).count() > 1;
        }
        for (id, lane) in self.lanes.iter_mut() {
            let Some(space) = self.spaces.get(lane.space()) else { continue };
            if lane.loss.shares_space() != space.shared {
                lane.loss.share_space(space.shared, &space.flight, id);
            }
            lane.loss.find_earliest(&space.flight);
        }
    }

    /// Keeps the order of arrival in all subflows, or stops: for a scheduler of subflows that depends on it.
    pub(super) fn keep_arrivals(&mut self, wanted: bool) {
        let arrivals = self.subflows.len() > 1 && wanted;
        for subflow in self.subflows.rows_mut() {
            subflow.out.keep_arrivals(arrivals);
        }
    }

    /// A lane for a subflow on a path, in the place of the one that it had there before; `peer_rwnd` is the peer's first a_rwnd where it is
    /// known. `None` where there is no such path.
    // rfc9260:7.2-3
    pub(super) fn place_lane(
        &mut self,
        cx: &mut Context,
        subflow: SubflowId,
        path: PathId,
        peer_rwnd: u32,
    ) -> Option<LaneId> {
        let lane = Lane::new(cx, subflow, path, peer_rwnd)?;
        Some(match self.lane_on(subflow, path) {
            Some(id) => {
                let lost = self.lanes.get(id).map_or(0, |before| before.loss.count());
                cx.report.stats.chunks_lost_before = cx.report.stats.chunks_lost_before.saturating_add(lost);
                self.lanes.set(id, lane);
                id
            }
            None => self.lanes.push(lane),
        })
    }

    /// Begins a lane anew, except for its round-trip estimate, its space and its record of sent chunks.
    pub(super) fn renew_lane(&mut self, cx: &Context, id: LaneId, peer_rwnd: u32) {
        if let Some(lane) = self.lanes.get_mut(id) {
            if let Some(mut new) = Lane::new(cx, lane.subflow(), lane.path(), peer_rwnd) {
                new.inherit(lane);
                *lane = new;
            }
        }
    }

    /// True if a message waits to be sent on a lane.
    pub(super) fn has_queued_on(&self, id: LaneId) -> bool {
        self.subflows.rows().iter().any(|subflow| subflow.lane == id && !subflow.out.is_empty())
    }

    /// Chunks of all lanes that were taken for lost.
    pub(super) fn chunks_lost(&self) -> u32 {
        self.lanes.rows().iter().fold(0, |sum, lane| sum.saturating_add(lane.loss.count()))
    }

    /// "If a FORWARD TSN is sent, the sender MUST assure that at least one T3-rtx timer is running" (RFC 3758, 3.5, C5).
    // rfc3758:3.5-13
    pub(super) fn keep_t3(&mut self, cx: &Context, at: SpaceId) {
        if !cx.env.state().sends_data() {
            return;
        }
        let Some(space) = self.spaces.get(at) else { return };
        if self.lanes.rows().iter().any(|lane| lane.space() == at && lane.t3().is_some()) {
            return;
        }
        let first = space.flight.get(space.flight.first()).map(|chunk| chunk.lane);
        if let Some(lane) = first.and_then(|lane| self.lanes.get_mut(lane)) {
            lane.arm_t3(cx);
        }
    }

    /// A packet of the lane left: its controller keeps a model of the path, and hears of every departure.
    #[inline(never)]
    pub(super) fn tell_model(&mut self, cx: &Context, id: LaneId, flight_before: u64) {
        let waiting = self.queued_on(id) > 0;
        let Some(lane) = self.lanes.get_mut(id) else { return };
        let dry = !waiting && !lane.loss.any();
        lane.window.packet_left(cx.env.now(), flight_before, lane.in_flight.bytes(), dry);
    }

    /// A one-way delay, less the difference of the clocks: when the peer had the newest chunk that was sent once, and when we
    /// sent it.
    pub(super) fn note_one_way_delay(&mut self, outcome: &AckOutcome, times: ReceiveTime) {
        let lanes = outcome.lanes.iter().enumerate();
        let newest = lanes.filter_map(|(lane, ack)| Some((ack.newest_once?, lane))).max();
        let Some(((_, sent_at), lane)) = newest else { return };
        if let Some(lane) = self.lanes.get_mut(LaneId::at(lane)) {
            lane.round_trip.note_one_way(times.received_us.wrapping_sub(micros(sent_at)) as i32);
        }
    }

    /// True if the pacer keeps back data of a lane that may leave otherwise.
    #[inline(never)]
    pub(super) fn waits_for_pacer(&mut self, cx: &Context, lane: LaneId) -> bool {
        self.lanes.get_mut(lane).is_some_and(|lane| lane.must_wait(cx))
    }

    /// The marked chunk to send next, when it may leave. A packet carries data of one subflow.
    pub(super) fn next_lost(&mut self, next: &Next) -> Option<u64> {
        let lane = self.lanes.get_mut(next.lane)?;
        let space = self.spaces.get(next.space)?;
        let seq = lane.loss.next_lost(&space.flight)?;
        let mine = space.flight.get(seq)?.subflow == next.subflow;
        (mine && lane.may_retransmit()).then_some(seq)
    }

    /// True if a chunk that was sent fits into so much room of a packet.
    pub(super) fn fits(&self, cx: &Context, next: &Next, seq: u64, room: usize) -> bool {
        let chunk = self.spaces.get(next.space).and_then(|space| space.flight.get(seq));
        let header = cx.env.agreed().header_len();
        chunk.is_some_and(|chunk| padded(header + chunk.fragment.payload.len()) <= room)
    }

    /// A space for a FID: both halves of a space have the same place in their tables.
    pub(crate) fn add_space(&mut self, fid: u8) -> SpaceId {
        self.spaces.push(SendSpace::new(fid, Tsn::new(0)))
    }

    /// Sets the first credit of a FID, where nothing was sent under it yet (encoding of 2007).
    pub(crate) fn set_initial_credit(&mut self, at: SpaceId, a_fwnd: u32) {
        if let Some(space) = self.spaces.get_mut(at).filter(|space| space.flight.next() == 0) {
            space.allowance = Allowance { window: u64::from(a_fwnd) };
        }
    }

    /// The peer was asked for the FID of a subflow: until it has answered the subflow sends nothing.
    pub(crate) fn await_fid(&mut self, id: SubflowId) {
        if let Some(subflow) = self.subflows.get_mut(id) {
            subflow.awaits_fid = true;
        }
    }

    /// The peer does not open the FID of a subflow: it goes on without a space of its own, as at level 0.
    pub(crate) fn fid_denied(&mut self, id: SubflowId) {
        if let Some(subflow) = self.subflows.get_mut(id) {
            subflow.awaits_fid = false;
        }
    }

    /// The peer has reported so many duplicates in a space.
    pub(crate) fn count_duplicates(&mut self, at: SpaceId, count: u32) {
        if let Some(subflow) = self.subflows.rows_mut().iter_mut().find(|subflow| subflow.space == at) {
            subflow.counters.spurious = subflow.counters.spurious.saturating_add(count);
        }
    }

    /// Takes the round trip of the handshake as a sample.
    pub(crate) fn sample_handshake(&mut self, cx: &mut Context, sent: Instant) {
        let sample = cx.env.config().clock().elapsed(sent, cx.env.now());
        for lane in self.lanes.rows_mut() {
            if let Some(rtt) = lane.rtt_mut(&mut cx.paths) {
                rtt.sample(sample);
            }
        }
    }

    /// A packet of the peer has arrived: where a timeout allows only one packet in flight until then, more may follow.
    #[inline]
    pub(crate) fn heard(&mut self, cx: &Context) {
        if !cx.env.config().emulation.timeout_waits_for_ack {
            for lane in self.lanes.rows_mut() {
                lane.permits.heard();
            }
        }
    }

    /// Messages have identifiers from now on, and data that left as DATA leaves again with them. DATA has none for
    /// unordered messages; with I-DATA the unordered messages of a stream count for themselves, from 0, and every
    /// fragment has the identifier of its message (RFC 8260, 2.1): those in the flight are numbered in the order in which they left
    /// first, and messages that leave later get the next numbers.
    pub(super) fn number_unordered(&mut self, numbering: &mut Numbering) {
        let mut of_streams: BTreeMap<u16, Mid> = BTreeMap::new();
        for space in self.spaces.rows_mut() {
            let unordered =
                |chunk: &&mut SentChunk| chunk.fragment.unordered && chunk.state != ChunkState::Reserved;
            for chunk in space.flight.iter_mut().map(|(_, chunk)| chunk).filter(unordered) {
                let fragment = &mut chunk.fragment;
                if fragment.beginning || !of_streams.contains_key(&fragment.stream) {
                    of_streams.insert(fragment.stream, numbering.take(fragment.stream, true));
                }
                fragment.mid = of_streams[&fragment.stream];
            }
        }
        for subflow in self.subflows.rows_mut() {
            of_streams.iter().for_each(|(stream, mid)| subflow.out.number_begun(*stream, *mid));
        }
    }

    /// Windows count so many bytes of header for each chunk from now on.
    pub(super) fn count_headers(&mut self, header: u8) {
        for id in self.lanes.ids() {
            let Some(lane) = self.lanes.get_mut(id) else { continue };
            if !lane.in_flight.change_header(header) {
                continue;
            }
            // A chunk in flight is counted with the header that it will have when it leaves again.
            let Some(space) = self.spaces.get_mut(lane.space()) else { continue };
            for (_, chunk) in space.flight.iter_mut().filter(|(_, chunk)| chunk.lane == id) {
                let before = Counted::one(chunk);
                chunk.overhead = lane.in_flight.overhead_of(chunk.fragment.payload.len() as u64);
                if chunk.state == ChunkState::InFlight {
                    lane.in_flight.recount(before, Counted::one(chunk));
                }
            }
        }
    }

    /// A subflow in a free place, with a lane unless all share one.
    pub(super) fn place_subflow(&mut self, cx: &mut Context, spec: &SubflowSpec) -> (SubflowId, LaneId) {
        let free = self.subflows.iter().find(|(_, subflow)| subflow.life == Life::Free);
        let id = free.map_or(SubflowId::at(self.subflows.len()), |(id, _)| id);
        let one_lane = cx.env.config().subflows.coupling == Coupling::Shared && self.lanes.len() > 0;
        let path = cx.paths.for_data();
        let placed = if one_lane { None } else { self.place_lane(cx, id, path, 0) };
        let first = self.subflows.first().map(|first| (first.lane, first.left_path));
        let shared = first.unwrap_or((LaneId::FIRST, None));
        let (lane, left_path) = placed.map_or(shared, |lane| (lane, cx.paths.left_for(path)));
        let before = self.subflows.get(id);
        debug_assert!(
            before.is_none_or(|before| before.out.is_empty()),
            "what waits has no subflow any more"
        );
        let mut subflow = Subflow::new(cx.env.config(), spec, lane);
        subflow.left_path = left_path;
        // The user may still wait since the former subflow in this place was full.
        subflow.writable_owed = self.subflows.get(id).is_some_and(|before| before.writable_owed);
        self.subflows.set(id, subflow);
        self.share_spaces();
        (id, lane)
    }
}
