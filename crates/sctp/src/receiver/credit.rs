//! What is free of the receive buffer: a_rwnd, and the a_fwnd of each subflow.

use super::Receiver;
use super::inbound::limits::{GAP, Limits};
use crate::context::Context;
use crate::encoding::Encoding;
use crate::ids::SpaceId;
use crate::receive_buffer::{Buffer, Use};

impl Receiver {
    /// Asks for a window update where the window has grown enough since the last SACK.
    // rfc9260:6.2-6 rfc9260:6.2-11 rfc9260:6.2-12
    #[inline]
    pub(super) fn offer_window(&mut self, cx: &Context) {
        if self.spaces.len() > 1 {
            self.update_windows(cx, self.advertised_window(cx));
            return;
        }
        let Some(space) = self.spaces.first() else { return };
        let whole = self.window.size();
        let enough = space.timing.last_advertised.saturating_add(whole / 4);
        // Where the peer knows of most of the buffer not even an empty one would do: no need to count.
        if enough <= whole && self.advertised_window(cx) >= enough {
            if let Some(space) = self.spaces.first_mut() {
                space.timing.demand();
            }
        }
    }

    /// Whether subflows have parts of the receive buffer to themselves, which the peer was told with its size.
    pub(crate) fn has_floors(&self) -> bool {
        self.fids.is_some()
    }

    #[inline]
    pub(super) fn limits<'a>(&'a self, cx: &'a Context) -> Limits<'a> {
        Limits {
            config: &cx.config,
            window: &self.window,
            spaces: self.spaces.rows(),
            lent: self.lent_to_sender,
        }
    }

    /// The user wants a receive window of so many bytes: "SHOULD notify the data sender in a timely manner of changes in its ability to
    /// receive data" (6.2). A larger one is told when it is worth it.
    pub(crate) fn change_window(&mut self, cx: &Context, wanted: u32) {
        if self.window.choose(wanted) && cx.state.receives_data() {
            self.offer_window(cx);
        }
    }

    /// a_rwnd: what is free of the receive buffer.
    // rfc9260:3.3.2-10 rfc9260:6.2-23 rfc9260:6.2-24 rfc9260:6.2-28
    pub(crate) fn advertised_window(&self, cx: &Context) -> u32 {
        let charged = self.inbound.buffered_bytes().max(self.limits(cx).charge(self.memory()));
        self.window.size().saturating_sub(u32::try_from(charged).unwrap_or(u32::MAX))
    }

    /// Memory that the peer makes us hold: what it sent and is not read, and the gaps between its TSNs (which cost
    /// something even when the DATA was thrown away, as it is on streams that do not exist).
    #[inline]
    pub(crate) fn memory(&self) -> usize {
        let gaps = match self.spaces.rows() {
            [space] => space.received.gaps(),
            spaces => spaces.iter().map(|s| s.received.gaps()).sum(),
        };
        self.inbound.memory() + gaps * GAP
    }

    /// What a sequence space may still fill of the receive buffer.
    pub(super) fn window_of(&self, cx: &Context, at: SpaceId) -> u32 {
        if self.fids.is_some() { self.credit_of(cx, at) } else { self.advertised_window(cx) }
    }

    /// a_fwnd of a space: the part of the receive buffer that it may fill.
    pub(crate) fn credit_of(&self, cx: &Context, at: SpaceId) -> u32 {
        match self.use_of_buffer(cx) {
            Some(buffer) => self.credit_in(cx, &buffer, at),
            None => self.advertised_window(cx),
        }
    }

    /// How the receive buffer is divided: as our SF-CAP has told the peer.
    fn buffer(&self, cx: &Context) -> Buffer {
        let subflows = &cx.config.subflows;
        Buffer::new(self.window.size(), subflows.buffer_floor, usize::from(subflows.max_inbound))
    }

    fn use_of_buffer(&self, cx: &Context) -> Option<Use> {
        let fids = self.fids.as_ref()?;
        let open = self.spaces.iter().filter(|(_, space)| fids.epoch(space.fid).is_some());
        Some(self.buffer(cx).in_use(open.map(|(at, _)| self.charged_to(cx, at))))
    }

    fn credit_in(&self, cx: &Context, buffer: &Use, at: SpaceId) -> u32 {
        u32::try_from(buffer.credit(self.charged_to(cx, at))).unwrap_or(u32::MAX)
    }

    /// What a space takes of the receive buffer, bytes.
    fn charged_to(&self, cx: &Context, at: SpaceId) -> u64 {
        // Bookkeeping counts as in a_rwnd: messages of a few bytes must not take the floors of others.
        let gaps = self.spaces.get(at).map_or(0, |space| space.received.gaps());
        let memory = self.inbound.memory_of(at) + gaps * GAP;
        self.inbound.buffered_of(at).max(self.limits(cx).charge(memory)) as u64
    }

    /// The user has read: windows that have grown by a quarter are told to the peer. Who has a floor only, because others hold the
    /// rest of the buffer, is told of a quarter of that: or it would have its floor once a probe, not once a round trip.
    fn update_windows(&mut self, cx: &Context, window: u32) {
        let floor = u32::try_from(self.buffer(cx).floor).unwrap_or(u32::MAX);
        let buffer = self.use_of_buffer(cx);
        for at in self.spaces.ids() {
            let limited = at != SpaceId::FIRST || self.encoding == Encoding::Sf2007;
            // A peer that has sent nothing there knows what it was granted; and one that opens the FID later, with a number of its
            // own, would take what is said of it now for an acknowledgement of what it never sent.
            let used = self.spaces.get(at).is_some_and(|space| space.timing.has_started());
            if limited && !used {
                continue;
            }
            let now = buffer.as_ref().filter(|_| limited).map_or(window, |b| self.credit_in(cx, b, at));
            // Subflow 0 is told what all may have. Where the others hold nothing it is as without them.
            let floors = match &self.fids {
                Some(_) if limited => floor,
                Some(fids) if self.inbound.buffered_bytes() > self.inbound.buffered_of(SpaceId::FIRST) => {
                    floor.saturating_mul(u32::from(fids.open()))
                }
                _ => 0,
            };
            if let Some(space) = self.spaces.get_mut(at) {
                let told = space.timing.last_advertised;
                let step = if told < floors { floor / 4 } else { self.window.size() / 4 };
                if now > told && now >= told.saturating_add(step) {
                    space.timing.demand();
                }
            }
        }
    }
}
