//! Data chunks that arrive: whether the state allows them, and where they go (RFC 9260, 6).

use anabranch_wire::RawChunk;
use anabranch_wire::chunk::Data;

use super::{Interrupt, PacketReader, Reading};
use crate::causes;
use crate::context::Context;
use crate::control::Control;
use crate::encoding::DataChunk;
use crate::ids::{PathId, SpaceId};
use crate::receiver::DataOutcome;
use crate::state::State;

impl PacketReader<'_> {
    /// DATA of RFC 9260.
    #[allow(
        clippy::inline_always,
        reason = "the loop over the chunks of a packet is its only caller; measured"
    )]
    #[inline(always)]
    pub(super) fn on_plain_data<'p>(
        &mut self,
        reading: &mut Reading,
        raw: RawChunk<'p>,
    ) -> Result<(), Interrupt<'p>> {
        let Ok(data) = Data::parse(raw) else {
            reading.outcome.malformed = true;
            return Err(Interrupt::Stop);
        };
        if self.takes_data()? {
            let chunk = DataChunk::from(&data);
            let outcome = self.scope.receiver.take_plain(self.scope.cx, &mut reading.data, &chunk)?;
            report_stream(self.scope.control, reading.path, chunk.stream, outcome);
        }
        Ok(())
    }

    /// "DATA chunks MUST only be received ... in the ESTABLISHED, SHUTDOWN-PENDING, and SHUTDOWN-SENT states.
    /// ... in any other state SHOULD be discarded" (6).
    // rfc9260:6-2 rfc9260:6-4
    #[inline]
    pub(super) fn takes_data<'p>(&self) -> Result<bool, Interrupt<'p>> {
        if self.scope.cx.env.state().receives_data() {
            Ok(true)
        } else {
            takes_data_for_cookie_ack(self.scope.cx)
        }
    }

    /// A data chunk of an encoding other than that of RFC 9260, in a sequence space.
    pub(super) fn on_data_chunk<'p>(
        &mut self,
        reading: &mut Reading,
        at: SpaceId,
        chunk: &DataChunk<'_>,
    ) -> Result<(), Interrupt<'p>> {
        self.scope.receiver.arrivals_mut().enter_space(self.scope.cx, &mut reading.data, at);
        if self.takes_data()? {
            let outcome = self.scope.receiver.take(self.scope.cx, &mut reading.data, chunk)?;
            report_stream(self.scope.control, reading.path, chunk.stream, outcome);
        }
        Ok(())
    }
}

/// KAME: a peer that sends DATA has our cookie, and a lost COOKIE ACK is not waited for.
#[cold]
fn takes_data_for_cookie_ack<'p>(cx: &Context) -> Result<bool, Interrupt<'p>> {
    if cx.env.state() != State::CookieEchoed || !cx.env.config().emulation.quirks.cookie_ack_optional {
        return Ok(false);
    }
    Err(Interrupt::DataForCookieAck)
}

/// "immediately send an ERROR chunk with cause set to 'Invalid Stream Identifier'" (6.5).
// rfc9260:6.5-2
#[inline]
fn report_stream(control: &mut Control, from: PathId, stream: u16, outcome: DataOutcome) {
    if outcome == DataOutcome::NoSuchStream {
        control.report(from, causes::invalid_stream(stream));
    }
}
