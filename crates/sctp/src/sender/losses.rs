//! Owners of state that change when chunks are lost, or are taken for lost.

use super::all_lanes::AllLanes;
use super::ecn::EcnSender;
use super::flight::AckOutcome;
use super::lane_coupling::LaneCoupling;
use super::messages::Messages;
use super::peer_window::PeerWindow;
use super::rerouting::Routes;
use super::send_buffer::SendBuffer;
use super::special_messages::SpecialMessages;
use super::stream_map::StreamMap;
use super::tables::Tables;
use crate::stream::numbering::Numbering;

/// The owners of all state that changes when chunks are marked for retransmission: because a timer has expired, because the path or the
/// peer's window has changed, or because a reaction on one lane has found them lost. The sender lends it for one call.
pub(crate) struct Losses<'a> {
    pub(super) tables: &'a mut Tables,
    pub(super) stream_map: &'a mut StreamMap,
    pub(super) numbering: &'a mut Numbering,
    pub(super) peer: &'a mut PeerWindow,
    pub(super) buffer: &'a mut SendBuffer,
    pub(super) special: &'a mut SpecialMessages,
    pub(super) coupling: &'a mut LaneCoupling,
    pub(super) ecn: &'a mut EcnSender,
    /// The changes by the last SACK.
    pub(super) outcome: &'a AckOutcome,
}

impl Losses<'_> {
    /// Lends the owners that hold messages: marking chunks may end the life of some messages.
    pub(super) fn messages(&mut self) -> Messages<'_> {
        Messages {
            tables: self.tables,
            stream_map: self.stream_map,
            numbering: self.numbering,
            buffer: self.buffer,
            special: self.special,
            coupling: self.coupling,
        }
    }

    /// Lends the owners that concern lanes together.
    pub(super) fn all_lanes(&mut self) -> AllLanes<'_> {
        AllLanes { tables: self.tables, coupling: self.coupling, ecn: self.ecn }
    }

    /// Lends the owners that decide by which path data leaves.
    pub(super) fn routes(&mut self) -> Routes<'_> {
        Routes { tables: self.tables, coupling: self.coupling, peer: self.peer, buffer: self.buffer }
    }
}
