//! The loop around a sans-I/O transport, for a driver that owns transport, application and network in one thread: the simulator, and
//! the test of `anabranch-sctp` that drives endpoints over UDP sockets.
//!
//! Such a driver waits for a datagram, for the time that [`run`] answered last, or for its user. It hands that in
//! ([`Transport::handle_datagram`], [`Transport::handle_timeout`], or a command of the transport), and calls [`run`] again.
//!
//! `anabranch-live` does the same steps in a loop of its own (`crates/live/src/driver.rs`): there users call the transport from other
//! threads, under a mutex, and a socket may take packets later.

use crate::{Instant, Meta, Transmit};

/// A protocol without I/O, as the driver loop calls it: packets and times go in, packets go out.
pub trait Transport {
    /// Takes a packet without IP header.
    fn handle_datagram(&mut self, now: Instant, meta: Meta, bytes: &[u8]);

    /// Runs every timer that is due.
    fn handle_timeout(&mut self, now: Instant);

    /// Whether [`Transport::poll_transmit`] is to be asked: it may have something.
    #[inline]
    fn has_ready(&self) -> bool {
        true
    }

    /// Appends up to `max_packets` packets of equal size, the last possibly shorter, to `buf`, and says where they go;
    /// `None` when nothing is to be sent now.
    fn poll_transmit(&mut self, now: Instant, max_packets: usize, buf: &mut Vec<u8>) -> Option<Transmit>;

    /// When [`Transport::handle_timeout`] wants to be called: never late, possibly early.
    fn poll_timeout(&mut self) -> Option<Instant>;
}

/// The surroundings of a transport: the application above it and the network below it.
pub trait Surroundings<T> {
    /// Most packets that [`Surroundings::transmit`] takes at once.
    const MAX_PACKETS: usize;

    /// Lets the application answer the events of the transport. False when there were none: then nothing new is to be sent.
    fn run_application(&mut self, now: Instant, transport: &mut T) -> bool;

    /// Whether the transport has told something since the application has run. Cheap; may be wrong in favour of asking.
    #[inline]
    fn has_news(&self, _transport: &T) -> bool {
        true
    }

    /// An empty buffer for packets.
    fn buffer(&mut self) -> Vec<u8>;

    /// Sends packets on their way, and keeps the buffer.
    fn transmit(&mut self, now: Instant, transport: &T, transmit: Transmit, packets: Vec<u8>);

    /// Takes back a buffer that was not needed.
    fn recycle(&mut self, buffer: Vec<u8>);
}

/// Lets the application and the transport work until neither has anything more to do now. Answers when the transport wants
/// to be woken.
#[inline]
pub fn run<T: Transport, S: Surroundings<T>>(
    now: Instant,
    transport: &mut T,
    surroundings: &mut S,
) -> Option<Instant> {
    surroundings.run_application(now, transport);
    loop {
        while transport.has_ready() {
            let mut packets = surroundings.buffer();
            let Some(transmit) = transport.poll_transmit(now, S::MAX_PACKETS, &mut packets) else {
                surroundings.recycle(packets);
                break;
            };
            surroundings.transmit(now, transport, transmit, packets);
        }
        // Packets that have left may have made room, or ended an association.
        if !surroundings.has_news(transport) || !surroundings.run_application(now, transport) {
            break;
        }
    }
    transport.poll_timeout()
}
