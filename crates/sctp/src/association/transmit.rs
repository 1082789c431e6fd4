//! Packets are asked for: what ended before is settled, and the writer of packets makes them.

use anabranch_base::{Instant, Transmit};

use super::Association;
use super::control_chunks::{Sources, wants_control};
use crate::scope::scope_of;

impl Association {
    /// Appends up to `max_packets` packets of equal size (the last may be shorter) to `buf`.
    #[allow(clippy::inline_always, reason = "the endpoint is its only caller; measured")]
    #[inline(always)]
    pub(crate) fn poll_transmit(
        &mut self,
        now: Instant,
        max_packets: usize,
        buf: &mut Vec<u8>,
    ) -> Option<Transmit> {
        self.cx.set_now(now);
        if self.sender.special().has_ended(&self.cx) {
            self.end_lifetimes();
        }
        let scope = scope_of!(self);
        let mut from = Sources { scope, reconfig: self.reconfig.as_deref_mut(), phase: &self.phase };
        self.writer.poll(&mut from, max_packets, buf)
    }

    /// Whether anything might leave now. Cheap; may be wrong in favour of asking.
    #[inline]
    pub(crate) fn wants_to_transmit(&self) -> bool {
        self.receiver.arrivals().owes_sack()
            || self.sender.may_have_data()
            || wants_control(&self.cx, &self.sender, &self.control, self.reconfig.as_deref())
            || self.writer.has_deferred()
    }
}
