//! What an association sends: subflows and their scheduler, what is in flight under which numbers, what of it is lost, and
//! when something may leave.
//!
//! The tables: a [`Subflow`] names its sequence space and its lane; a [`Lane`] is a subflow on a path. RFC 9260 on one path is
//! one row in each.

mod abandonment;
mod acknowledgement;
mod allowance;
mod backpressure;
mod buffer_watch;
mod by_time;
mod choose;
mod contiguity;
mod coupled;
mod coupling;
mod credit;
mod deferred;
mod ecn;
mod ecn_state;
mod fates;
mod flight;
mod forward;
mod forward_watch;
pub(crate) mod lane;
mod loss;
mod marked;
mod new_data;
mod next;
mod path_mtu;
mod peer_buffer;
mod queue;
mod rack;
mod reset_bounds;
mod retransmission;
mod scheduler;
mod space;
mod spaces;
mod ssn;
mod subflow;
mod subflow_changes;
mod table;
mod tickets;
mod timers;
mod undelivered;
mod views;
mod window_probe;

use anabranch_base::Instant;
use anabranch_wire::Tsn;

use crate::context::Context;
use crate::encoding::Encoding;
use crate::ids::{LaneId, PathId, SpaceId, SubflowId, Table, any_of};
use crate::stream::numbering::Numbering;
use buffer_watch::Backpressure;
use coupling::Coupler;
use credit::Credit;
use deferred::Deferred;
use ecn_state::EcnState;
use flight::AckOutcome;
use lane::Lane;
use reset_bounds::ResetBounds;
use scheduler::SubflowScheduler;
use space::SendSpace;
use subflow::Subflow;
use tickets::Special;

pub(crate) use acknowledgement::{Heard, Windows};
pub(crate) use credit::OpenFid;
pub(crate) use next::Next;
pub(crate) use timers::SenderTimer;

/// The sending half of an association.
#[derive(Debug)]
pub(crate) struct Sender {
    /// Our view of the peer's free receive buffer, bytes.
    peer_rwnd: u64,
    encoding: Encoding,
    /// Streams on which messages may be sent.
    streams: u16,
    /// `send` said Full: Writable is owed.
    writable_owed: bool,
    /// Bytes of a chunk that must ride with every packet of data.
    beside_data: u16,
    subflows: Table<SubflowId, Subflow>,
    lanes: Table<LaneId, Lane>,
    spaces: Table<SpaceId, SendSpace>,
    numbering: Numbering,
    /// What one SACK changed: kept for its memory.
    outcome: AckOutcome,
    scheduler: SubflowScheduler,
    /// What is kept of what was sent has nearly reached its limit.
    is_tight: bool,
    /// All that messages take counts against the send buffer: where it is tight, and where streams have a least part of a full buffer.
    /// Otherwise it is payload, or what is kept besides if that is more.
    weighs_all: bool,
    /// So many bytes less may be kept of what was sent, as the receiver holds more than one window.
    lent_to_receiver: u64,
    /// The subflow of each stream; streams beyond the end belong to `unmapped`.
    stream_map: Box<[SubflowId]>,
    /// The subflow of streams that nobody has named: the first, or the one that took its streams when it was removed.
    unmapped: SubflowId,
    /// Streams that move to a subflow as soon as the message that has begun to leave has left whole.
    moves: Vec<(u16, SubflowId)>,
    /// What makes the lanes' windows hold together, where that changes from SACK to SACK.
    coupler: Option<Box<Coupler>>,
    /// Messages that wait for the answer to a stream reset.
    deferred: Option<Box<Deferred>>,
    /// What the user wants to learn of the send buffer.
    backpressure: Option<Box<Backpressure>>,
    /// FIDs under which we send, where subflows have spaces of their own.
    credit: Option<Box<Credit>>,
    /// Largest window of all lanes together, where there are several.
    window_peak: u64,
    /// The association sequence number of the next chunk (encoding of 2007).
    next_asn: Tsn,
    /// When the user asked for a shutdown.
    shutdown_at: Instant,
    /// Old acknowledgements may come, of before an SSN/TSN reset.
    resettable: bool,
    /// The peer lets us skip what we give up (RFC 3758).
    partial_reliability: bool,
    /// Resets that FORWARD-TSN must mind.
    reset_bounds: Option<Box<ResetBounds>>,
    /// Where both sides are ECN capable.
    ecn: Option<Box<EcnState>>,
    /// What only messages with options need, and what is told only where it is asked for.
    special: Option<Box<Special>>,
}

impl Sender {
    /// With the subflows that the configuration asks for, or the one of RFC 9260.
    pub(crate) fn new(cx: &mut Context, base: Tsn) -> Self {
        let mut new = Self {
            peer_rwnd: 0,
            encoding: Encoding::Rfc9260,
            streams: cx.config.streams.outbound,
            writable_owed: false,
            beside_data: 0,
            subflows: Table::default(),
            lanes: Table::default(),
            spaces: Table::of(SendSpace::new(0, base)),
            numbering: Numbering::default(),
            outcome: AckOutcome::default(),
            scheduler: SubflowScheduler::new(cx.config.subflows.scheduler),
            is_tight: false,
            weighs_all: cx.config.limits.stream_send_minimum != 0,
            lent_to_receiver: 0,
            stream_map: Box::default(),
            unmapped: SubflowId::FIRST,
            moves: Vec::new(),
            coupler: None,
            deferred: None,
            backpressure: None,
            credit: None,
            window_peak: 0,
            next_asn: base,
            shutdown_at: Instant::ZERO,
            resettable: false,
            partial_reliability: false,
            reset_bounds: None,
            ecn: None,
            special: None,
        };
        new.open_subflows(cx);
        new.follow_buffers(cx);
        new
    }

    /// Our Initial TSN.
    pub(crate) fn base(&self) -> Tsn {
        self.spaces.first().map(|space| space.base).unwrap_or_default()
    }

    /// Streams on which messages may be sent.
    pub(crate) fn streams(&self) -> u16 {
        self.streams
    }

    pub(crate) fn set_streams(&mut self, streams: u16) {
        self.streams = streams;
    }

    /// Whether subflows have sequence spaces of their own.
    #[inline]
    pub(crate) fn has_several_spaces(&self) -> bool {
        self.spaces.len() > 1
    }

    /// What the peer's INIT or INIT ACK said of its window.
    pub(crate) fn learn_peer(&mut self, cx: &mut Context, a_rwnd: u32) {
        self.peer_rwnd = u64::from(a_rwnd).min(self.retention_left(cx));
        for id in self.lanes.ids() {
            // The first ssthresh may be the peer's window, which is known only now.
            if self.lanes.get(id).is_some_and(|lane| lane.unacked == 0) {
                self.renew_lane(cx, id, a_rwnd);
            }
        }
    }

    /// With the encoding of 2007 there is no window of the association in the encoding of 2007. Where it has one space, that space's window
    /// is all there is, and it is looked at as that of the association is.
    pub(crate) fn forget_peer_window(&mut self, cx: &Context) {
        self.peer_rwnd = self.retention_left(cx);
        if let [space] = self.spaces.rows() {
            self.peer_rwnd = self.peer_rwnd.min(space.allowance.window);
        }
    }

    /// The peer has restarted: everything begins anew. "All the congestion control parameters ... related to this peer MUST be
    /// reset to their initial values" (RFC 9260, 5.2.4.1).
    // rfc9260:5.2.4-5
    pub(crate) fn restart(&mut self, cx: &mut Context, base: Tsn, peer_rwnd: u32) {
        self.spaces = Table::of(SendSpace::new(0, base));
        self.subflows.clear();
        let lost: u32 = self.lanes.rows().iter().fold(0, |sum, lane| sum.saturating_add(lane.chunks_lost));
        cx.stats.chunks_lost_before = cx.stats.chunks_lost_before.saturating_add(lost);
        self.lanes.clear();
        self.moves.clear();
        self.numbering.restart();
        self.forget_extensions();
        self.forget_special();
        self.next_asn = base;
        if let Some(table) = &mut cx.streams {
            table.forget_numbers();
        }
        self.open_subflows(cx);
        for id in self.lanes.ids() {
            self.renew_lane(cx, id, peer_rwnd);
        }
        if let Some(first) = self.subflows.first_mut() {
            first.writable_owed = self.writable_owed;
        }
    }

    /// The association has ended: what waits or is under way is dropped.
    pub(crate) fn close(&mut self) {
        for lane in self.lanes.rows_mut() {
            lane.stop();
        }
        for subflow in self.subflows.rows_mut() {
            subflow.out.clear();
        }
        self.moves.clear();
        self.deferred = None;
        self.forget_special();
        for space in self.spaces.rows_mut() {
            space.flight.restart();
            space.probe = space::WindowProbe::default();
        }
    }

    /// The handshake is over: timers of what rode with it run from now on.
    pub(crate) fn established(&mut self, cx: &Context) {
        for lane in self.lanes.rows_mut() {
            if lane.unacked > 0 {
                lane.arm_t3(cx);
            }
            lane.open_burst();
        }
        self.begin_ect();
    }

    /// The first windows, for traces.
    pub(crate) fn record_windows(&mut self, cx: &mut Context) {
        for id in self.lanes.ids() {
            self.record_window(cx, id);
        }
    }

    /// The user has asked for a shutdown.
    pub(crate) fn note_shutdown(&mut self, cx: &Context) {
        self.shutdown_at = cx.now;
    }

    /// Where the round trip of the handshake is a sample.
    pub(crate) fn sample_handshake(&mut self, cx: &mut Context, sent: Instant) {
        let sample = cx.config.clock().elapsed(sent, cx.now);
        for lane in self.lanes.rows_mut() {
            if let Some(rtt) = lane.rtt_mut(&mut cx.paths) {
                rtt.sample(sample);
            }
        }
    }

    /// Nothing waits to be sent, or to be acknowledged.
    pub(crate) fn has_nothing_outstanding(&self) -> bool {
        self.has_nothing_sent()
            && self.subflows.rows().iter().all(|subflow| subflow.out.is_empty())
            && self.deferred.as_ref().is_none_or(|deferred| deferred.bytes() == 0)
    }

    /// Whether nothing that was sent is kept.
    pub(crate) fn has_nothing_sent(&self) -> bool {
        self.spaces.rows().iter().all(|space| space.flight.is_empty())
    }

    /// Whether data might leave. Cheap; may be wrong in favour of asking: a pacer, the peer's window and other subflows have their
    /// say in [`Sender::choose`]. Messages with lifetimes are looked at whenever the association is asked for packets.
    #[inline]
    pub(crate) fn may_have_data(&self) -> bool {
        let waits = |subflow: &Subflow| {
            !subflow.out.is_empty()
                && (self.special.is_some() || self.lanes.get(subflow.lane).is_some_and(Lane::may_send_new))
        };
        any_of(self.subflows.rows(), waits) || any_of(self.lanes.rows(), |lane| lane.loss.any())
    }

    /// What the peer has room for, less what is under way.
    pub(crate) fn peer_window(&self) -> u64 {
        self.peer_rwnd
    }

    /// Any packet has arrived: where a timeout lets one packet be in flight until then, more may follow.
    #[inline]
    pub(crate) fn heard(&mut self, cx: &Context) {
        if !cx.config.emulation.timeout_waits_for_ack {
            for lane in self.lanes.rows_mut() {
                lane.single_packet = false;
            }
        }
    }

    /// Most user data that a message has that leaves in one chunk on the first path, bytes.
    pub(crate) fn max_unfragmented(&self, cx: &Context) -> usize {
        self.max_payload(cx, PathId::FIRST)
    }

    /// Most user data that one chunk of a subflow carries, bytes.
    // rfc9260:6-9 rfc9260:6.9-7
    #[inline]
    fn max_payload(&self, cx: &Context, path: PathId) -> usize {
        cx.config.limits.most_payload(self.packet_room(cx, path))
    }

    /// What a packet of a path has room for beside the header of one chunk, bytes.
    #[inline]
    fn packet_room(&self, cx: &Context, path: PathId) -> usize {
        let pmdcs = cx.paths.get(path).map_or(0, |path| path.pmdcs() as usize);
        pmdcs.saturating_sub(self.encoding.header_len() + usize::from(self.beside_data))
    }

    /// Chunks visited in the flight so far.
    #[cfg(test)]
    pub(crate) fn work(&self) -> u64 {
        self.spaces.rows().first().map_or(0, |space| space.flight.visited)
    }

    /// Chunks read in all flights so far.
    #[cfg(test)]
    pub(crate) fn chunks_read(&self) -> u64 {
        self.spaces.rows().iter().map(|space| space.flight.read()).sum()
    }
}
