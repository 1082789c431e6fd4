//! What the peer gives up (partial reliability): FORWARD-TSN (RFC 3758, 3.6), I-FORWARD-TSN (RFC 8260, 2.3.1) and SF-FORWARD.
//!
//! Each costs time in proportion to its own length and to what it removes or delivers, and holds nothing.

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
        let Some(floor) = self.move_to(cx, read, SpaceId::FIRST, forward.cumulative) else { return };
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
        if self.move_to(cx, read, at, cumulative).is_none() {
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

    /// "the data receiver MUST first update its cumulative TSN point to the value carried in the FORWARD TSN chunk, and then MUST
    /// further advance its cumulative TSN point locally if possible" (RFC 3758, 3.6). The number before which all counts as
    /// received; `None` where nothing has moved.
    // rfc3758:3.6-2 rfc3758:3.6-3 rfc3758:3.6-4 rfc3758:3.6-5 rfc3758:3.6-6
    fn move_to(
        &mut self,
        cx: &mut Context,
        read: &mut PacketRead,
        at: SpaceId,
        cumulative: Tsn,
    ) -> Option<u64> {
        self.enter_space(cx, read, at);
        let space = self.spaces.get_mut(at)?;
        // "for the purposes of sending a SACK, the receiver MUST follow the same rules as if a DATA chunk had been received".
        read.summary.has_data = true;
        let reach = space.reach(self.window.size());
        let last = space.unwrap(cumulative).filter(|last| *last >= space.received.next());
        let Some(floor) = last.map(|last| last + 1).filter(|floor| *floor <= reach) else {
            // Out of date: "The receiver SHOULD send a SACK to its peer ... since such a duplicate may indicate the previous SACK was
            // lost". Or further ahead than a peer can have sent that obeys the window: it moves nothing either.
            read.summary.immediate = true;
            return None;
        };
        read.summary.hole |= space.received.has_holes() && cx.config.emulation.sack_filled_hole;
        space.received.advance_to(floor);
        read.summary.new = true;
        read.summary.hole |= space.received.has_holes();
        Some(floor)
    }
}
