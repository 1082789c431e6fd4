//! Messages that the peer gives up (partial reliability): FORWARD-TSN (RFC 3758, 3.6), I-FORWARD-TSN (RFC 8260, 2.3.1) and SF-FORWARD.
//!
//! Each costs time in proportion to its own length and to the data that it removes or delivers, and holds nothing.

use anabranch_wire::Tsn;
use anabranch_wire::chunk::{ForwardTsn, Skipped};

use super::Receiver;
use super::arrivals::PacketRead;
use crate::context::Context;
use crate::event::Event;
use crate::ids::SpaceId;

impl Receiver {
    /// FORWARD-TSN: the peer gives up DATA.
    // rfc3758:3.1-2
    pub(crate) fn on_forward_tsn(
        &mut self,
        cx: &mut Context,
        read: &mut PacketRead,
        forward: &ForwardTsn<'_>,
    ) {
        let moved = self.arrivals.move_to(cx, read, SpaceId::FIRST, forward.cumulative, self.window.size());
        let Some(floor) = moved else { return };
        let mut aborted = Vec::new();
        let lists = |stream, ssn| {
            let mut skipped = forward.skipped();
            skipped
                .any(|skipped| skipped.stream == stream && (skipped.ssn.get().wrapping_sub(ssn) as i16) >= 0)
        };
        self.inbound.give_up_before(floor, lists, &mut aborted);
        for skipped in forward.skipped().filter(|skipped| skipped.stream < self.streams) {
            if self.inbound.skip_ssn(skipped.stream, skipped.ssn.get()) {
                cx.tell(Event::Readable { stream: skipped.stream });
            }
        }
        Self::tell_aborted(cx, aborted);
    }

    /// I-FORWARD-TSN, or SF-FORWARD of the subflow with that space: the peer gives up messages with numbers of their own.
    pub(crate) fn on_skipped_messages(
        &mut self,
        cx: &mut Context,
        read: &mut PacketRead,
        at: SpaceId,
        cumulative: Tsn,
        skipped: impl Iterator<Item = Skipped>,
    ) {
        if self.arrivals.move_to(cx, read, at, cumulative, self.window.size()).is_none() {
            return;
        }
        let mut aborted = Vec::new();
        for skipped in skipped.filter(|skipped| skipped.stream < self.streams) {
            if self.inbound.skip(skipped.stream, skipped.unordered, skipped.mid, &mut aborted) {
                cx.tell(Event::Readable { stream: skipped.stream });
            }
        }
        Self::tell_aborted(cx, aborted);
    }
}
