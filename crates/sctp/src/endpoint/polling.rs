//! An endpoint is asked for packets, events, and the time at which it wants to be called next, and driven by that.

use anabranch_base::driver::Transport;
use anabranch_base::{Instant, Meta, Transmit};
use bytes::Bytes;

use super::Endpoint;
use crate::event::{AssociationId, Event, Timer};
use crate::incoming::EndpointEvent;

/// Packets that are to leave now: [`Endpoint::packets`].
#[derive(Debug)]
pub struct Packets<'a> {
    endpoint: &'a mut Endpoint,
    now: Instant,
}

impl Endpoint {
    /// Appends packets to `buf` and says where they go; `None` when nothing is to be sent now. One call gives up to
    /// `max_packets` packets of equal size for one destination, the last possibly shorter.
    #[allow(clippy::inline_always, reason = "drivers ask twice for each packet; measured")]
    #[inline(always)]
    pub fn poll_transmit(&mut self, now: Instant, max_packets: usize, buf: &mut Vec<u8>) -> Option<Transmit> {
        // What a closed association says last goes before answers to packets that came for it since: a peer that hears
        // ABORT first would not know that the association has ended in order.
        if !self.stateless.is_empty() && !self.registry.has_last_packets() {
            if let Some(reply) = self.stateless.pop(buf) {
                return Some(reply);
            }
        }
        while let Some(index) = self.registry.first_ready() {
            if let Some(assoc) = self.registry.at_mut(index) {
                let transmit = assoc.poll_transmit(now, max_packets.max(1), buf);
                // As a rule one packet was all, and that is known without asking for another.
                let rests = transmit.is_none() || !assoc.wants_to_transmit();
                if rests {
                    assoc.watch_at_rest(now);
                    self.registry.rest(index);
                } else {
                    self.registry.note_events(index);
                }
                if transmit.is_some() {
                    return transmit;
                }
            } else {
                self.registry.rest(index);
            }
        }
        // An association that closed in the meantime may have had nothing to say.
        if self.stateless.is_empty() { None } else { self.stateless.pop(buf) }
    }

    /// True if [`Endpoint::poll_transmit`] may have a packet. A driver that shares an endpoint with its users calls
    /// this after a command.
    #[must_use]
    #[inline]
    pub fn has_ready(&self) -> bool {
        self.registry.has_ready() || !self.stateless.is_empty()
    }

    /// True if [`Endpoint::poll_event`] may have an event.
    #[must_use]
    #[inline]
    pub fn has_events(&self) -> bool {
        self.registry.has_events() || self.closing.has_ended()
    }

    /// The next event of any association.
    #[inline]
    pub fn poll_event(&mut self) -> Option<(AssociationId, Event)> {
        // It is asked more often than there is something.
        if self.has_events() { self.pop_event() } else { None }
    }

    #[inline(never)]
    fn pop_event(&mut self) -> Option<(AssociationId, Event)> {
        if self.closing.has_ended() {
            self.closing.free_ended(&mut self.registry);
        }
        let (id, event) = self.registry.pop_event()?;
        if matches!(event, Event::Closed(_)) {
            self.closing.note_closed(id);
        }
        Some((id, event))
    }

    /// The next event of the endpoint itself: a peer asks for an association where [`AcceptConfig::ask`] is set, or does not wait
    /// any more; messages handed back were dropped; all associations have ended after [`Endpoint::drain`]. To be polled like
    /// [`Endpoint::poll_event`].
    ///
    /// [`AcceptConfig::ask`]: crate::AcceptConfig::ask
    pub fn poll_endpoint_event(&mut self) -> Option<EndpointEvent> {
        if let Some(event) = self.closing.pop_forgotten() {
            return Some(event);
        }
        if let Some(event) = self.admission.pop_event() {
            return Some(event);
        }
        self.closing.pop_drained(&self.registry, !self.stateless.is_empty())
    }

    /// When [`Endpoint::handle_timeout`] wants to be called, and why. Never late; it may be early, at the time a timer
    /// had before it was restarted, and then `handle_timeout` does nothing and the next answer is right.
    pub fn poll_timeout(&mut self) -> Option<(Instant, Timer)> {
        self.registry.reschedule_ready();
        let next = self.registry.next_timeout();
        match self.admission.next_end() {
            Some(end) if next.is_none_or(|(at, _)| end < at) => Some((end, Timer::Incoming)),
            _ => next,
        }
    }

    /// Packets that are to leave now, each with its destination. Each has memory of its own; a driver that sends many
    /// at once, or again into the same buffer, calls [`Endpoint::poll_transmit`]. Packets that are not taken from the
    /// iterator leave later.
    ///
    /// ```
    /// # use anabranch_sctp::{Endpoint, Instant};
    /// # fn example(endpoint: &mut Endpoint, now: Instant, socket: &std::net::UdpSocket) -> std::io::Result<()> {
    /// for (transmit, packet) in endpoint.packets(now) {
    ///     socket.send_to(&packet, transmit.destination)?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn packets(&mut self, now: Instant) -> Packets<'_> {
        Packets { endpoint: self, now }
    }
}

impl Iterator for Packets<'_> {
    type Item = (Transmit, Bytes);

    fn next(&mut self) -> Option<Self::Item> {
        let mut packet = Vec::new();
        let transmit = self.endpoint.poll_transmit(self.now, 1, &mut packet)?;
        Some((transmit, packet.into()))
    }
}

impl Transport for Endpoint {
    #[inline]
    fn handle_datagram(&mut self, now: Instant, meta: Meta, bytes: &[u8]) {
        Self::handle_datagram(self, now, meta, bytes);
    }

    fn handle_timeout(&mut self, now: Instant) {
        Self::handle_timeout(self, now);
    }

    #[inline]
    fn has_ready(&self) -> bool {
        Self::has_ready(self)
    }

    #[inline]
    fn poll_transmit(&mut self, now: Instant, max_packets: usize, buf: &mut Vec<u8>) -> Option<Transmit> {
        Self::poll_transmit(self, now, max_packets, buf)
    }

    #[inline]
    fn poll_timeout(&mut self) -> Option<Instant> {
        Self::poll_timeout(self).map(|(at, _)| at)
    }
}
