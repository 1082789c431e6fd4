//! One end of a TCP connection.

use std::net::SocketAddr;
use std::sync::Arc;

use anabranch_base::{Instant, Meta, Rng, TraceRecord, Transmit};
use anabranch_tcp::{Config, ConnectionId, Event, Failure, Stack};
use bytes::Bytes;

use super::report::{Counts, Gauges, HeldBack, Notice};

#[derive(Debug)]
pub(crate) struct TcpEnd {
    stack: Stack,
    id: Option<ConnectionId>,
    config: Arc<Config>,
    port: u16,
    remote: SocketAddr,
}

impl TcpEnd {
    /// `remote` with the port of the peer. An end that does not open the connection listens.
    pub(crate) fn new(local: SocketAddr, remote: SocketAddr, config: Config, opens: bool, rng: Rng) -> Self {
        let config = Arc::new(config);
        let mut stack = Stack::new(local, rng);
        if !opens {
            stack.listen(local.port(), Arc::clone(&config));
        }
        Self { stack, id: None, config, port: local.port(), remote }
    }

    pub(crate) fn open(&mut self, now: Instant) -> Result<(), String> {
        self.id = Some(self.stack.connect(now, self.port, self.remote, Arc::clone(&self.config)));
        Ok(())
    }

    #[inline]
    pub(crate) fn handle_datagram(&mut self, now: Instant, meta: Meta, bytes: &[u8]) {
        self.stack.handle_datagram(now, meta, bytes);
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.stack.handle_timeout(now);
    }

    pub(crate) fn poll_notice(&mut self) -> Option<Notice> {
        let (id, event) = self.stack.poll_event()?;
        Some(match event {
            Event::Connected => Notice::Connected,
            Event::Accepted => {
                self.id = Some(id);
                Notice::Connected
            }
            Event::Readable => Notice::Readable,
            Event::Writable => Notice::Writable,
            Event::PeerClosed => Notice::PeerClosed,
            Event::Closed => Notice::Closed,
            Event::Reset => Notice::Failed("the peer reset the connection".to_owned()),
            Event::Failed { why } => Notice::Failed(in_words(why)),
        })
    }

    pub(crate) fn offer(&mut self, now: Instant, _stream: u16, _unordered: bool, data: Bytes) -> usize {
        self.id.and_then(|id| self.stack.send(now, id, data).ok()).unwrap_or(0)
    }

    pub(crate) fn take_all(&mut self, now: Instant, mut sink: impl FnMut(u16, &[u8])) {
        let Some(id) = self.id else { return };
        while let Some(piece) = self.stack.receive(now, id) {
            sink(0, &piece);
        }
    }

    pub(crate) fn close(&mut self, now: Instant) {
        if let Some(id) = self.id {
            self.stack.close(now, id);
        }
    }

    pub(crate) fn poll_transmit(&mut self, now: Instant, buf: &mut Vec<u8>) -> Option<Transmit> {
        self.stack.poll_transmit(now, 1, buf)
    }

    pub(crate) fn poll_timeout(&mut self) -> Option<Instant> {
        self.stack.poll_timeout().map(|(at, _)| at)
    }

    pub(crate) fn counts(&self) -> Counts {
        let Some(stats) = self.id.and_then(|id| self.stack.stats(id)) else { return Counts::default() };
        Counts {
            packets_sent: stats.packets_sent,
            packets_sent_unique: stats.packets_sent_unique,
            payload_bytes_unique: stats.payload_bytes_unique,
            retransmissions: stats.retransmissions,
            fast_retransmits: stats.fast_retransmits,
            timeouts: stats.timeouts,
            packets_received_new: stats.packets_received_new,
            packet_bytes_received_new: stats.segment_bytes_received_new,
            payload_bytes_received_new: stats.payload_bytes_received_new,
            payload_bytes_delivered: stats.payload_bytes_delivered,
        }
    }

    pub(crate) fn gauges(&self) -> Gauges {
        let stats = self.id.and_then(|id| self.stack.stats(id));
        stats.map_or_else(Gauges::default, |stats| Gauges { cwnd: stats.cwnd, srtt: stats.srtt })
    }

    #[inline]
    pub(crate) fn held_back(&self) -> HeldBack {
        match self.id.and_then(|id| self.stack.held_back(id)) {
            Some(anabranch_tcp::HeldBack::Receiver) => HeldBack::Receiver,
            Some(anabranch_tcp::HeldBack::Application) => HeldBack::Application,
            Some(anabranch_tcp::HeldBack::No) | None => HeldBack::No,
        }
    }

    pub(crate) fn ssthresh(&self) -> u64 {
        self.id.and_then(|id| self.stack.stats(id)).map_or(0, |stats| stats.ssthresh)
    }

    pub(crate) fn set_trace(&mut self, on: bool) {
        self.stack.set_trace(on);
    }

    pub(crate) fn drain_trace(&mut self, sink: impl FnMut(TraceRecord)) {
        self.stack.drain_trace().for_each(sink);
    }
}

/// A sentence on the reason why a connection was given up.
fn in_words(why: Failure) -> String {
    match why {
        Failure::HandshakeTimeout => "the peer did not answer the handshake".to_owned(),
        Failure::RetransmissionLimit => {
            "the peer acknowledged nothing more: the limit of retransmissions was exceeded".to_owned()
        }
    }
}

/// More than a header: the data offset counts 32-bit words (RFC 9293, section 3.1).
pub(super) fn carries_data(segment: &[u8]) -> bool {
    segment.get(12).is_some_and(|byte| segment.len() > usize::from(byte >> 4) * 4)
}

/// Bytes of payload, and the flags (RFC 9293, section 3.1).
pub(super) fn describe(segment: &[u8]) -> (u64, u8) {
    let header = segment.get(12).map_or(0, |byte| usize::from(byte >> 4) * 4);
    (segment.len().saturating_sub(header) as u64, segment.get(13).copied().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_is_what_follows_the_header() {
        let mut segment = [0; 25];
        segment[12] = 5 << 4;
        assert!(carries_data(&segment));
        assert!(!carries_data(&segment[..20]));
        segment[12] = 6 << 4;
        assert!(!carries_data(&segment[..24]));
        assert!(!carries_data(&[]));
        segment[13] = 0x12;
        assert_eq!(describe(&segment), (1, 0x12));
        assert_eq!(describe(&[]), (0, 0));
    }
}
