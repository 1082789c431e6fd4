//! The sending half of an association: subflows and their scheduler, chunks in flight and their numbers, losses, and
//! permission to send.
//!
//! The rows of [`Tables`] are subflows, lanes and sequence spaces; other owners stand beside them. An owner that needs the tables is lent
//! them; a reaction on one lane works on the scope that the tables lend, and returns its effect.
//!
//! An activity that changes several owners is a type of its own, which the sender lends for one call: [`Messages`] takes messages and
//! decides their fates, [`SubflowChanges`] opens and closes subflows, [`Losses`] has timers, losses and probes, and [`AllLanes`] is for
//! tasks on all lanes together. The sender itself has the tasks of every packet and every SACK, as borrowing owner by owner would cost
//! each of them 2 % more instructions: it chooses data, writes it, and reads acknowledgements. And it sets the order in which owners go
//! through the phases of an association's life.

mod abandonment;
mod acknowledgement;
mod admission;
mod all_lanes;
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
mod fid_spaces;
mod flight;
mod forward;
mod forward_watch;
mod from_config;
pub(crate) mod lane;
mod lane_ack;
mod lane_coupling;
mod lifecycle;
mod loss_response;
mod losses;
mod messages;
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
mod special_messages;
mod ssn;
mod stream_map;
mod stream_reset;
mod subflow;
mod subflow_changes;
mod subflow_scope;
mod tables;
mod take_undelivered;
mod tickets;
mod timeout;
mod timer_kind;
mod timers;
mod views;
mod window_probe;
mod windows;

use anabranch_base::{Dscp, Instant, cold_path};

use crate::context::Context;
use crate::event::Timer;
use crate::ids::{PathId, SpaceId, any_of};
use crate::negotiation::fids::Judged;
use crate::stream::numbering::Numbering;
use all_lanes::AllLanes;
use ecn::EcnSender;
use flight::AckOutcome;
use lane::Lane;
use lane_coupling::LaneCoupling;
use losses::Losses;
use messages::Messages;
use peer_window::PeerWindow;
use rerouting::Routes;
use scheduler::SubflowScheduler;
use send_buffer::SendBuffer;
use special_messages::SpecialMessages;
use stream_map::StreamMap;
use subflow::Subflow;
use subflow_scope::SubflowChanges;
use tables::Tables;

pub(crate) use acknowledgement::AckProgress;
pub(crate) use credit::OpenFid;
pub(crate) use flight::GapList;
pub(crate) use next::Next;
pub(crate) use timer_kind::SenderTimer;
pub(crate) use windows::Windows;

/// The sending half of an association.
#[derive(Debug)]
pub(crate) struct Sender {
    tables: Tables,
    peer: PeerWindow,
    buffer: SendBuffer,
    stream_map: StreamMap,
    numbering: Numbering,
    scheduler: SubflowScheduler,
    coupling: LaneCoupling,
    ecn: EcnSender,
    special: SpecialMessages,
    /// The changes by one SACK: kept to use its memory again.
    outcome: AckOutcome,
    /// Time at which the user asked for a shutdown.
    shutdown_at: Instant,
}

impl Sender {
    /// Lends the owners of messages and their fates.
    #[inline]
    pub(crate) fn messages(&mut self) -> Messages<'_> {
        Messages {
            tables: &mut self.tables,
            stream_map: &mut self.stream_map,
            numbering: &mut self.numbering,
            buffer: &mut self.buffer,
            special: &mut self.special,
            coupling: &mut self.coupling,
        }
    }

    /// Lends the owners of all state that changes when a subflow comes or goes.
    #[inline]
    pub(crate) fn subflow_changes(&mut self) -> SubflowChanges<'_> {
        SubflowChanges {
            tables: &mut self.tables,
            stream_map: &mut self.stream_map,
            scheduler: &mut self.scheduler,
            peer: &mut self.peer,
            coupling: &mut self.coupling,
            ecn: &mut self.ecn,
        }
    }

    /// Lends the owners of all state that changes when chunks are lost, or may be.
    #[inline]
    pub(crate) fn losses(&mut self) -> Losses<'_> {
        Losses {
            tables: &mut self.tables,
            stream_map: &mut self.stream_map,
            numbering: &mut self.numbering,
            peer: &mut self.peer,
            buffer: &mut self.buffer,
            special: &mut self.special,
            coupling: &mut self.coupling,
            ecn: &mut self.ecn,
            outcome: &self.outcome,
        }
    }

    /// Lends the lanes as a whole.
    #[inline]
    pub(crate) fn all_lanes(&mut self) -> AllLanes<'_> {
        AllLanes { tables: &mut self.tables, coupling: &mut self.coupling, ecn: &mut self.ecn }
    }

    /// Lends the lanes of all paths.
    pub(crate) fn routes(&mut self) -> Routes<'_> {
        Routes {
            tables: &mut self.tables,
            coupling: &mut self.coupling,
            peer: &mut self.peer,
            buffer: &self.buffer,
        }
    }

    /// The peer has one more path that works, or one less, or another one is primary.
    #[cold]
    pub(crate) fn follow_paths(&mut self, cx: &mut Context) {
        if cx.paths.len() > 1 {
            self.routes().follow(cx);
            self.messages().after_marking(cx);
            self.messages().advance_forwards(cx);
        }
    }

    /// The user has made another path the primary one: subflows on the former primary path use the new one.
    #[cold]
    pub(crate) fn change_primary(&mut self, cx: &mut Context, before: PathId, primary: PathId) {
        if before != primary {
            self.routes().claim(before, primary);
            self.follow_paths(cx);
        }
    }

    /// Numbers of messages.
    pub(crate) fn numbering(&self) -> &Numbering {
        &self.numbering
    }

    /// Messages with options, if there are any.
    pub(crate) fn special(&self) -> &SpecialMessages {
        &self.special
    }

    /// Messages with options, for a change that concerns no other owner.
    pub(crate) fn special_mut(&mut self) -> &mut SpecialMessages {
        &mut self.special
    }

    /// The outgoing streams and their subflows.
    pub(crate) fn stream_map(&self) -> &StreamMap {
        &self.stream_map
    }

    /// Code point with which the next message of a stream leaves.
    pub(crate) fn dscp_of_stream(&self, stream: u16) -> Dscp {
        self.stream_map.dscp_of_stream(&self.tables, stream)
    }

    /// Subflows, lanes and spaces, to be read.
    pub(crate) fn tables(&self) -> &Tables {
        &self.tables
    }

    /// The user has asked for a shutdown.
    pub(crate) fn note_shutdown(&mut self, cx: &Context) {
        self.shutdown_at = cx.env.now();
    }

    /// True if no user data waits to be sent, or to be acknowledged.
    pub(crate) fn has_nothing_outstanding(&self) -> bool {
        self.tables.has_nothing_sent()
            && self.tables.subflows.rows().iter().all(|subflow| subflow.out.is_empty())
            && self.buffer.deferred_bytes() == 0
    }

    /// Calls `visit` for each timer: the time at which it expires, its name for the user, and its name in the sender.
    #[inline]
    pub(crate) fn timers(&self, mut visit: impl FnMut(Option<Instant>, Timer, SenderTimer)) {
        self.tables.lanes.for_each(|id, lane| {
            visit(lane.t3(), Timer::T3Rtx, SenderTimer::T3(id));
            visit(lane.rack_tlp.expires_at(), Timer::Lane, SenderTimer::Loss(id));
            visit(lane.paced_until(), Timer::Pacer, SenderTimer::Pacer(id));
        });
        self.tables.spaces.for_each(|at, space| {
            visit(space.probe.at, Timer::WindowProbe, SenderTimer::WindowProbe(at));
        });
        if let Some(special) = self.special.get() {
            cold_path();
            visit(special.fates.next_end(), Timer::Lifetime, SenderTimer::Lifetime);
        }
    }

    /// True if T3-rtx runs for a lane, and expires no later than `then`.
    #[cfg(any(debug_assertions, feature = "watched"))]
    #[inline]
    pub(crate) fn has_t3_by(&self, then: Instant) -> bool {
        self.tables.lanes.rows().iter().any(|lane| lane.t3().is_some_and(|at| at <= then))
    }

    /// True if data might leave. Cheap, and not exact: a pacer, the peer's window and other subflows
    /// decide, too, in [`Sender::choose`]. Messages with lifetimes are looked at whenever the association is asked
    /// for packets.
    #[inline]
    pub(crate) fn may_have_data(&self) -> bool {
        let waits = |subflow: &Subflow| {
            !subflow.out.is_empty()
                && (self.special.is_any()
                    || self.tables.lanes.get(subflow.lane).is_some_and(Lane::may_send_new))
        };
        any_of(self.tables.subflows.rows(), waits) || any_of(self.tables.lanes.rows(), |lane| lane.loss.any())
    }

    /// Room in the peer's buffer, less the bytes in flight.
    pub(crate) fn peer_window(&self) -> u64 {
        self.peer.bytes()
    }

    /// Most user data of a message that leaves in one chunk on the first path, bytes.
    pub(crate) fn max_unfragmented(&self, cx: &Context) -> usize {
        cx.max_payload(cx.paths.for_data())
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

    /// The verdict on a FID and incarnation that the peer names, and the space of that FID; `None` where FIDs are not in use.
    pub(crate) fn judge(&self, fid: u8, epoch: u8) -> Option<(Judged, Option<SpaceId>)> {
        self.peer.judge(&self.tables, fid, epoch)
    }

    /// The space of a FID that is open, in the encoding of 2007, which has no incarnations.
    pub(crate) fn open_space_of(&self, fid: u8) -> Option<SpaceId> {
        self.peer.open_space_of(&self.tables, fid)
    }

    /// Subflows, lanes and spaces, for a change that concerns no other owner.
    #[inline]
    pub(crate) fn tables_mut(&mut self) -> &mut Tables {
        &mut self.tables
    }
}
