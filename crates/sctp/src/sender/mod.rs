//! What an association sends: subflows and their scheduler, what is in flight under which numbers, what of it is lost, and
//! when something may leave.
//!
//! The tables: a [`Subflow`] names its sequence space and its lane; a [`Lane`] is a subflow on a path. RFC 9260 on one path is
//! one row in each.

mod abandonment;
mod acknowledgement;
mod admission;
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
mod downgrade;
mod ecn;
mod ecn_state;
mod fates;
mod flight;
mod forward;
mod forward_watch;
pub(crate) mod lane;
mod lifecycle;
mod loss_response;
mod new_data;
mod next;
mod path_mtu;
mod peer_buffer;
mod queue;
mod reset_bounds;
mod retransmission;
mod scheduler;
mod space;
mod spaces;
mod ssn;
mod stream_map;
mod stream_reset;
mod subflow;
mod subflow_changes;
mod table;
mod tickets;
mod timer_kind;
mod timers;
mod undelivered;
mod views;
mod window_probe;
mod windows;

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

pub(crate) use acknowledgement::Heard;
pub(crate) use credit::OpenFid;
pub(crate) use flight::GapList;
pub(crate) use next::Next;
pub(crate) use timer_kind::SenderTimer;
pub(crate) use windows::Windows;

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

    /// The user has asked for a shutdown.
    pub(crate) fn note_shutdown(&mut self, cx: &Context) {
        self.shutdown_at = cx.now;
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

    fn has_data_in_flight(&self) -> bool {
        self.lanes.rows().iter().any(|lane| lane.flight > 0)
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
        self.max_payload(cx, cx.paths.for_data())
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
