//! Packets one by one, for drivers that send them so.

use anabranch_base::{Instant, Transmit};
use bytes::Bytes;

use super::Endpoint;

/// Packets that are to leave now: [`Endpoint::packets`].
#[derive(Debug)]
pub struct Packets<'a> {
    endpoint: &'a mut Endpoint,
    now: Instant,
}

impl Endpoint {
    /// Packets that are to leave now, each with where it goes. Each has memory of its own; a driver that sends many at once, or again
    /// into the same buffer, asks [`Endpoint::poll_transmit`]. What is not taken from the iterator leaves later.
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
