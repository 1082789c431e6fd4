//! An endpoint as a driver sees it.

use anabranch_base::driver::Transport;
use anabranch_base::{Instant, Meta, Transmit};

use super::Endpoint;

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
