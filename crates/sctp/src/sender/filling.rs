//! A packet on its way to be filled with data.

use anabranch_base::Instant;

use super::format::Format;
use super::lane_coupling::LaneCoupling;
use super::peer_window::PeerWindow;
use super::scheduler::SubflowScheduler;
use super::send_buffer::SendBuffer;
use super::special_messages::SpecialMessages;
use super::stream_map::StreamMap;
use super::tables::Tables;
use crate::stream::numbering::Numbering;

/// Everything that says whose data leaves with the next packet, and that changes when its chunks are written. The sender lends it for
/// one call.
pub(crate) struct Filling<'a> {
    pub(super) tables: &'a mut Tables,
    pub(super) stream_map: &'a mut StreamMap,
    pub(super) numbering: &'a mut Numbering,
    pub(super) scheduler: &'a mut SubflowScheduler,
    pub(super) peer: &'a mut PeerWindow,
    pub(super) buffer: &'a mut SendBuffer,
    pub(super) special: &'a mut SpecialMessages,
    pub(super) coupling: &'a mut LaneCoupling,
    pub(super) format: Format,
    /// When the user asked for a shutdown.
    pub(super) shutdown_at: Instant,
}

impl Filling<'_> {
    /// The same for a call of its own, which needs it in memory: packets that need no such call do not pay for it.
    #[allow(clippy::inline_always, reason = "in front of rare calls only; measured")]
    #[inline(always)]
    pub(super) fn lend(&mut self) -> Filling<'_> {
        Filling {
            tables: self.tables,
            stream_map: self.stream_map,
            numbering: self.numbering,
            scheduler: self.scheduler,
            peer: self.peer,
            buffer: self.buffer,
            special: self.special,
            coupling: self.coupling,
            format: self.format,
            shutdown_at: self.shutdown_at,
        }
    }
}
