//! Data chunks that arrive: whether the state allows them, and where they go (RFC 9260, 6).

use anabranch_wire::RawChunk;
use anabranch_wire::chunk::Data;

use super::Association;
use super::reading::Reading;
use crate::causes;
use crate::control::{Control, Kind};
use crate::encoding::DataChunk;
use crate::ids::{PathId, SpaceId};
use crate::receiver::DataOutcome;
use crate::state::State;
use crate::violation::Violation;

impl Association {
    /// DATA of RFC 9260.
    #[allow(
        clippy::inline_always,
        reason = "the loop over the chunks of a packet is its only caller; measured"
    )]
    #[inline(always)]
    pub(super) fn on_plain_data(
        &mut self,
        reading: &mut Reading,
        raw: RawChunk<'_>,
    ) -> Result<bool, Violation> {
        let Ok(data) = Data::parse(raw) else {
            reading.outcome.malformed = true;
            return Ok(false);
        };
        if self.takes_data() {
            let chunk = DataChunk::from(&data);
            let outcome = self.receiver.take_plain(&mut self.cx, &mut reading.data, &chunk)?;
            report_stream(&mut self.control, reading.path, chunk.stream, outcome);
        }
        Ok(true)
    }

    /// "DATA chunks MUST only be received ... in the ESTABLISHED, SHUTDOWN-PENDING, and SHUTDOWN-SENT states.
    /// ... in any other state SHOULD be discarded" (6).
    // rfc9260:6-2 rfc9260:6-4
    #[inline]
    pub(super) fn takes_data(&mut self) -> bool {
        self.cx.state.receives_data() || self.takes_data_for_cookie_ack()
    }

    /// KAME: who sends DATA has our cookie, and a lost COOKIE ACK is not waited for. Whether the state allows DATA now.
    #[cold]
    fn takes_data_for_cookie_ack(&mut self) -> bool {
        if self.cx.state != State::CookieEchoed || !self.cx.config.emulation.quirks.cookie_ack_optional {
            return false;
        }
        self.control.cancel(Kind::CookieEcho);
        self.enter_established();
        true
    }

    /// A data chunk of an encoding other than that of RFC 9260, in a sequence space.
    pub(super) fn on_data_chunk(
        &mut self,
        reading: &mut Reading,
        at: SpaceId,
        chunk: &DataChunk<'_>,
    ) -> Result<(), Violation> {
        self.receiver.arrivals_mut().enter_space(&self.cx, &mut reading.data, at);
        if self.takes_data() {
            let outcome = self.receiver.take(&mut self.cx, &mut reading.data, chunk)?;
            report_stream(&mut self.control, reading.path, chunk.stream, outcome);
        }
        Ok(())
    }
}

/// "immediately send an ERROR chunk with cause set to 'Invalid Stream Identifier'" (6.5).
// rfc9260:6.5-2
#[inline]
fn report_stream(control: &mut Control, from: PathId, stream: u16, outcome: DataOutcome) {
    if outcome == DataOutcome::NoSuchStream {
        control.report(from, causes::invalid_stream(stream));
    }
}
