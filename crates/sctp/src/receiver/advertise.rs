//! The peer is told of the data that has come, and of the receive buffer.

use anabranch_wire::{PacketBuilder, Tsn};

use super::Receiver;
use super::arrivals::{Arrivals, Carrier};
use super::credit::Credit;
use super::inbound::limits::{GAP, Limits};
use crate::context::Context;
use crate::encoding::Encoding;
use crate::ids::SpaceId;

impl Receiver {
    #[inline]
    pub(super) fn credit(&self) -> Credit<'_> {
        Credit { inbound: &self.inbound, window: &self.window }
    }

    #[inline]
    pub(super) fn limits<'a>(&'a self, cx: &'a Context) -> Limits<'a> {
        Limits { config: cx.env.config(), window: &self.window, arrivals: &self.arrivals }
    }

    /// a_rwnd: the bytes of the receive buffer that are free.
    #[inline]
    pub(crate) fn advertised_window(&self, cx: &Context) -> u32 {
        self.credit().advertised_window(cx, &self.arrivals)
    }

    /// Memory that the peer makes us hold: messages that it sent and that are not read, and the gaps between its TSNs (which cost
    /// something even when the DATA was thrown away, as it is on streams that do not exist).
    #[inline]
    pub(crate) fn memory(&self) -> usize {
        self.inbound.memory() + self.arrivals.gaps() * GAP
    }

    /// The bytes that a sequence space may still fill of the receive buffer.
    pub(super) fn window_of(&self, cx: &Context, at: SpaceId) -> u32 {
        if self.arrivals.has_floors() { self.credit_of(cx, at) } else { self.advertised_window(cx) }
    }

    /// a_fwnd of a space: the part of the receive buffer that it may fill.
    pub(crate) fn credit_of(&self, cx: &Context, at: SpaceId) -> u32 {
        self.credit().of_space(cx, &self.arrivals, at)
    }

    /// Writes the acknowledgements that are due, and those that fit beside data of so many bytes that follows, into a packet of `limit`
    /// bytes at most.
    pub(crate) fn write_acknowledgements(
        &mut self,
        cx: &mut Context,
        packet: &mut PacketBuilder<'_>,
        limit: usize,
        data: Option<usize>,
    ) {
        let credit = Credit { inbound: &self.inbound, window: &self.window };
        let windows = |arrivals: &Arrivals, cx: &Context, layout, at| credit.told(cx, arrivals, layout, at);
        let mut carrier = Carrier { packet, limit, data };
        self.arrivals.write_acknowledgements(cx, cx.env.agreed().encoding(), &mut carrier, windows);
    }

    /// A packet with data came in SHUTDOWN-SENT: gaps and duplicates, which the SHUTDOWN chunk in answer does not
    /// carry, are acknowledged.
    pub(crate) fn demand_unsaid(&mut self, cx: &Context) {
        let free = self.advertised_window(cx);
        self.arrivals.demand_unsaid(cx, self.window.size(), free);
    }

    /// The peer begins to send under a FID.
    pub(crate) fn open(&mut self, cx: &Context, at: SpaceId, epoch: u8, initial: Tsn) {
        self.arrivals.open(at, epoch, initial);
        self.arrivals.grant(at, self.credit_of(cx, at));
    }

    /// Asks for a window update where the window has grown enough since the last SACK.
    // rfc9260:6.2-6 rfc9260:6.2-11 rfc9260:6.2-12
    #[inline]
    pub(super) fn offer_window(&mut self, cx: &Context) {
        if self.arrivals.are_several() {
            self.update_windows(cx, self.advertised_window(cx));
            return;
        }
        let Some(told) = self.arrivals.told_window(SpaceId::FIRST) else { return };
        let whole = self.window.size();
        let enough = told.saturating_add(whole / 4);
        // Where the peer knows of more than three quarters of the buffer, not even an empty one would be worth an
        // update: no need to count.
        if enough <= whole && self.advertised_window(cx) >= enough {
            self.arrivals.tell_window(SpaceId::FIRST);
        }
    }

    /// The user wants a receive window of so many bytes: "SHOULD notify the data sender in a timely manner of changes in its ability to
    /// receive data" (6.2). A larger one is told when it is worth it.
    pub(crate) fn change_window(&mut self, cx: &Context, wanted: u32) {
        if self.window.choose(wanted) && cx.env.state().receives_data() {
            self.offer_window(cx);
        }
    }

    /// The user has read: windows that have grown by a quarter are told to the peer. A space that has a floor only, because others hold the
    /// rest of the buffer, is told of a quarter of that: or it would have its floor once a probe, not once a round trip.
    fn update_windows(&mut self, cx: &Context, window: u32) {
        let credit = Credit { inbound: &self.inbound, window: &self.window };
        let floor = u32::try_from(credit.division(cx).floor).unwrap_or(u32::MAX);
        let buffer = credit.in_use(cx, &self.arrivals);
        for at in self.arrivals.ids() {
            let limited = at != SpaceId::FIRST || cx.env.agreed().encoding() == Encoding::Sf2007;
            // A peer that has sent nothing there knows the credit it was granted; and if it opens the FID later, with
            // an initial number of its own, it would take a window update sent now for an acknowledgement of chunks
            // that it never sent.
            if limited && !self.arrivals.has_started(at) {
                continue;
            }
            let part = buffer.as_ref().filter(|_| limited);
            let now = part.map_or(window, |part| credit.in_part(cx, &self.arrivals, part, at));
            // The window of subflow 0 is that of all subflows. Where the others hold nothing, no floor is subtracted.
            let floors = match self.arrivals.open_count() {
                Some(_) if limited => floor,
                Some(open) if self.inbound.buffered_bytes() > self.inbound.buffered_of(SpaceId::FIRST) => {
                    floor.saturating_mul(u32::from(open))
                }
                _ => 0,
            };
            if let Some(told) = self.arrivals.told_window(at) {
                let step = if told < floors { floor / 4 } else { self.window.size() / 4 };
                if now > told && now >= told.saturating_add(step) {
                    self.arrivals.tell_window(at);
                }
            }
        }
    }
}
