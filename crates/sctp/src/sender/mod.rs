//! What an association sends: subflows and their scheduler, what is in flight under which numbers, what of it is lost, and
//! when something may leave.
//!
//! What happens is a matter of [`Tables`], whose rows are subflows, lanes and sequence spaces, and of the owners beside them. An owner that
//! needs the tables is lent them; what happens to one lane is a reaction on the scope that the tables lend, and comes back as an effect.
//! The sender keeps the order in which they are asked.

mod abandonment;
mod acknowledgement;
mod admission;
mod allowance;
mod buffer_watch;
mod choose;
mod contiguity;
mod coupling;
mod credit;
mod deferred;
mod downgrade;
mod ecn;
mod effect;
mod fates;
mod flight;
mod format;
mod forward;
mod forward_watch;
mod from_config;
pub(crate) mod lane;
mod lane_ack;
mod lane_coupling;
mod lifecycle;
mod loss_response;
mod new_data;
mod next;
mod partial_reliability;
mod path_mtu;
mod peer_window;
mod rack_tlp;
mod rerouting;
mod reset_bounds;
mod retention;
mod retransmission;
mod scheduler;
mod send_buffer;
mod settle;
mod space;
mod spaces;
mod special_messages;
mod ssn;
mod stream_map;
mod stream_reset;
mod subflow;
mod subflow_changes;
mod tables;
mod tickets;
mod timeout;
mod timer_kind;
mod timers;
mod undelivered;
mod views;
mod window_probe;
mod windows;

use anabranch_base::{Dscp, Instant};

use crate::context::Context;
use crate::ids::{SpaceId, SubflowId, any_of};
use crate::negotiation::fids::Judged;
use crate::stream::numbering::Numbering;
use ecn::EcnSender;
use flight::AckOutcome;
use format::Format;
use lane::Lane;
use lane_coupling::LaneCoupling;
use peer_window::PeerWindow;
use scheduler::SubflowScheduler;
use send_buffer::SendBuffer;
use special_messages::SpecialMessages;
use stream_map::StreamMap;
use subflow::Subflow;
use tables::Tables;

pub(crate) use acknowledgement::AckNews;
pub(crate) use credit::OpenFid;
pub(crate) use flight::GapList;
pub(crate) use next::Next;
#[cfg(test)]
pub(crate) use rerouting::Routes;
pub(crate) use rerouting::{change_primary, follow_paths};
pub(crate) use timer_kind::SenderTimer;
pub(crate) use windows::Windows;

/// The sending half of an association.
#[derive(Debug)]
pub(crate) struct Sender {
    tables: Tables,
    peer: PeerWindow,
    format: Format,
    buffer: SendBuffer,
    stream_map: StreamMap,
    numbering: Numbering,
    scheduler: SubflowScheduler,
    coupling: LaneCoupling,
    ecn: EcnSender,
    special: SpecialMessages,
    /// What one SACK changed: kept for its memory.
    outcome: AckOutcome,
    /// When the user asked for a shutdown.
    shutdown_at: Instant,
    /// Old acknowledgements may come, of before an SSN/TSN reset.
    resettable: bool,
}

impl Sender {
    /// Messages with options, where there are any.
    pub(crate) fn special(&self) -> &SpecialMessages {
        &self.special
    }

    /// Messages with options, to be told of something that concerns nothing else.
    pub(crate) fn special_mut(&mut self) -> &mut SpecialMessages {
        &mut self.special
    }

    /// Which streams there are, and whose they are.
    pub(crate) fn stream_map(&self) -> &StreamMap {
        &self.stream_map
    }

    /// Streams on which messages may be sent, from now on.
    pub(crate) fn set_streams(&mut self, streams: u16) {
        self.stream_map.set_streams(streams);
    }

    /// Messages on a stream leave on a subflow from now on.
    pub(crate) fn move_stream(&mut self, cx: &Context, stream: u16, to: SubflowId) {
        self.stream_map.move_stream(&mut self.tables, cx, stream, to);
    }

    /// Code point with which the next message of a stream leaves.
    pub(crate) fn dscp_of_stream(&self, stream: u16) -> Dscp {
        self.stream_map.dscp_of_stream(&self.tables, stream)
    }

    /// Subflows, lanes and spaces, to be looked at.
    pub(crate) fn tables(&self) -> &Tables {
        &self.tables
    }

    /// The user has asked for a shutdown.
    pub(crate) fn note_shutdown(&mut self, cx: &Context) {
        self.shutdown_at = cx.now;
    }

    /// Nothing waits to be sent, or to be acknowledged.
    pub(crate) fn has_nothing_outstanding(&self) -> bool {
        self.tables.has_nothing_sent()
            && self.tables.subflows.rows().iter().all(|subflow| subflow.out.is_empty())
            && self.buffer.deferred_bytes() == 0
    }

    /// Whether data might leave. Cheap; may be wrong in favour of asking: a pacer, the peer's window and other subflows have their
    /// say in [`Sender::choose`]. Messages with lifetimes are looked at whenever the association is asked for packets.
    #[inline]
    pub(crate) fn may_have_data(&self) -> bool {
        let waits = |subflow: &Subflow| {
            !subflow.out.is_empty()
                && (self.special.is_any()
                    || self.tables.lanes.get(subflow.lane).is_some_and(Lane::may_send_new))
        };
        any_of(self.tables.subflows.rows(), waits) || any_of(self.tables.lanes.rows(), |lane| lane.loss.any())
    }

    /// What the peer has room for, less what is under way.
    pub(crate) fn peer_window(&self) -> u64 {
        self.peer.bytes()
    }

    /// Most user data that a message has that leaves in one chunk on the first path, bytes.
    pub(crate) fn max_unfragmented(&self, cx: &Context) -> usize {
        self.format.max_payload(cx, cx.paths.for_data())
    }

    /// Chunks visited in the flight so far.
    #[cfg(test)]
    pub(crate) fn work(&self) -> u64 {
        self.tables.spaces.rows().first().map_or(0, |space| space.flight.visited)
    }

    /// Chunks read in all flights so far.
    #[cfg(test)]
    pub(crate) fn chunks_read(&self) -> u64 {
        self.tables.spaces.rows().iter().map(|space| space.flight.read()).sum()
    }

    /// The peer's window, and the FIDs under which we send.
    pub(crate) fn peer(&self) -> &PeerWindow {
        &self.peer
    }

    /// A FID is open from now on.
    pub(crate) fn record_fid(&mut self, fid: u8, epoch: u8) {
        self.peer.record_fid(fid, epoch);
    }

    /// The space of what the peer says of a FID, if it is open in that incarnation.
    pub(crate) fn judge(&self, fid: u8, epoch: u8) -> Option<(Judged, Option<SpaceId>)> {
        self.peer.judge(&self.tables, fid, epoch)
    }

    /// The space of a FID that is open, in the encoding of 2007, which has no incarnations.
    pub(crate) fn open_space_of(&self, fid: u8) -> Option<SpaceId> {
        self.peer.open_space_of(&self.tables, fid)
    }

    /// Subflows, lanes and spaces, to be told of something that concerns them alone.
    #[inline]
    pub(crate) fn tables_mut(&mut self) -> &mut Tables {
        &mut self.tables
    }
}
