//! The messages of the user, from when they are handed in until they are acknowledged, given up or handed back.

use super::lane_coupling::LaneCoupling;
use super::send_buffer::SendBuffer;
use super::special_messages::SpecialMessages;
use super::stream_map::StreamMap;
use super::tables::Tables;
use crate::context::Context;
use crate::error::SendError;
use crate::ids::SubflowId;
use crate::stream::numbering::Numbering;

/// The owners of messages and their fates: streams and their numbers, queues and flights, the send buffer, and
/// the state of messages with options. The sender lends it for one call.
pub(crate) struct Messages<'a> {
    pub(super) tables: &'a mut Tables,
    pub(super) stream_map: &'a mut StreamMap,
    pub(super) numbering: &'a mut Numbering,
    pub(super) buffer: &'a mut SendBuffer,
    pub(super) special: &'a mut SpecialMessages,
    /// Coupling of windows: a message after a pause of its lane may change them.
    pub(super) coupling: &'a mut LaneCoupling,
}

impl Messages<'_> {
    /// Lends the same owners for a call that is not inlined, and needs them in memory: inlined code keeps them in registers.
    #[allow(clippy::inline_always, reason = "in front of calls that are not inlined; measured")]
    #[inline(always)]
    pub(super) fn lend(&mut self) -> Messages<'_> {
        Messages {
            tables: self.tables,
            stream_map: self.stream_map,
            numbering: self.numbering,
            buffer: self.buffer,
            special: self.special,
            coupling: self.coupling,
        }
    }

    /// Messages on a stream leave on a subflow from now on.
    pub(crate) fn move_stream(&mut self, cx: &Context, stream: u16, to: SubflowId) {
        self.stream_map.move_stream(self.tables, cx, stream, to);
    }

    /// Streams on which messages may be sent, from now on.
    pub(crate) fn set_streams(&mut self, streams: u16) {
        self.stream_map.set_streams(streams);
    }

    /// Sets the value (priority or weight) of a stream for the scheduling of streams.
    ///
    /// # Errors
    /// When there is no such stream.
    pub(crate) fn set_stream_value(
        &mut self,
        cx: &mut Context,
        stream: u16,
        value: u16,
    ) -> Result<(), SendError> {
        if stream >= self.stream_map.streams() {
            return Err(SendError::NoSuchStream { stream, streams: self.stream_map.streams() });
        }
        // Subflows that are opened later begin with the value, too.
        cx.env.change_values(|config| {
            config.streams.values.retain(|(id, _)| *id != stream);
            config.streams.values.push((stream, value));
        });
        for subflow in self.tables.subflows.rows_mut() {
            subflow.out.set_stream_value(stream, value);
        }
        Ok(())
    }
}
