//! The free part of the receive buffer: a_rwnd, and the a_fwnd of each subflow.

use super::arrivals::Arrivals;
use super::inbound::Inbound;
use super::inbound::limits::{GAP, Limits};
use super::window::ReceiveWindow;
use crate::context::Context;
use crate::encoding::AckLayout;
use crate::ids::SpaceId;
use crate::receive_buffer::{Buffer, Use};

/// The receive buffer as acknowledgements tell of it.
pub(super) struct Credit<'a> {
    pub(super) inbound: &'a Inbound,
    pub(super) window: &'a ReceiveWindow,
}

impl Credit<'_> {
    /// a_rwnd and a_fwnd of a space, where the layout has them.
    #[inline]
    pub(super) fn told(
        &self,
        cx: &Context,
        arrivals: &Arrivals,
        layout: AckLayout,
        at: SpaceId,
    ) -> (u32, u32) {
        let a_rwnd = if layout == AckLayout::Sf2007 { 0 } else { self.advertised_window(cx, arrivals) };
        let a_fwnd = if layout == AckLayout::Sack { 0 } else { self.of_space(cx, arrivals, at) };
        (a_rwnd, a_fwnd)
    }

    #[inline]
    fn limits<'a>(&'a self, cx: &'a Context, arrivals: &'a Arrivals) -> Limits<'a> {
        Limits { config: cx.env.config(), window: self.window, arrivals }
    }

    /// a_rwnd: the bytes of the receive buffer that are free.
    // rfc9260:3.3.2-10 rfc9260:6.2-23 rfc9260:6.2-24 rfc9260:6.2-28
    pub(super) fn advertised_window(&self, cx: &Context, arrivals: &Arrivals) -> u32 {
        let memory = self.inbound.memory() + arrivals.gaps() * GAP;
        let charged = self.inbound.buffered_bytes().max(self.limits(cx, arrivals).charge(memory));
        self.window.size().saturating_sub(u32::try_from(charged).unwrap_or(u32::MAX))
    }

    /// a_fwnd of a space: the part of the receive buffer that it may fill.
    pub(super) fn of_space(&self, cx: &Context, arrivals: &Arrivals, at: SpaceId) -> u32 {
        match self.in_use(cx, arrivals) {
            Some(buffer) => self.in_part(cx, arrivals, &buffer, at),
            None => self.advertised_window(cx, arrivals),
        }
    }

    /// Division of the receive buffer, as our SF-CAP has told the peer.
    pub(super) fn division(&self, cx: &Context) -> Buffer {
        let subflows = &cx.env.config().subflows;
        Buffer::new(self.window.size(), subflows.buffer_floor, usize::from(subflows.max_inbound))
    }

    /// Bytes in use of the receive buffer, where it is divided.
    pub(super) fn in_use(&self, cx: &Context, arrivals: &Arrivals) -> Option<Use> {
        let open = arrivals.open_spaces()?;
        Some(self.division(cx).in_use(open.map(|at| self.charged_to(cx, arrivals, at))))
    }

    pub(super) fn in_part(&self, cx: &Context, arrivals: &Arrivals, buffer: &Use, at: SpaceId) -> u32 {
        u32::try_from(buffer.credit(self.charged_to(cx, arrivals, at))).unwrap_or(u32::MAX)
    }

    /// The bytes of the receive buffer that a space takes.
    fn charged_to(&self, cx: &Context, arrivals: &Arrivals, at: SpaceId) -> u64 {
        // Bookkeeping counts as in a_rwnd: messages of a few bytes must not take the floors of others.
        let memory = self.inbound.memory_of(at) + arrivals.gaps_in(at) * GAP;
        self.inbound.buffered_of(at).max(self.limits(cx, arrivals).charge(memory)) as u64
    }
}
