//! Two endpoints in one process for the benchmarks, with no link model between them.
#![forbid(unsafe_code)]

use std::net::SocketAddr;
use std::sync::Arc;

use anabranch_base::{Dscp, Duration, Ecn, Instant, Meta, Rng};
use anabranch_sctp::config::{Checksums, InitialWindow, MaxBurst};
use anabranch_sctp::{AssociationId, Config, Endpoint, EndpointConfig, Message, Snapshot};
use bytes::Bytes;

/// Two endpoints with an association between them; packets go from one to the other by a function call.
#[derive(Debug)]
pub struct Pair {
    sender: Endpoint,
    receiver: Endpoint,
    sender_id: AssociationId,
    receiver_id: AssociationId,
    now: Instant,
    buf: Vec<u8>,
    /// Packets asked for at once, as a driver with segmentation offload would.
    batch: usize,
    delivered: u64,
}

const SENDER: ([u8; 4], u16) = ([10, 0, 0, 1], 0);
const RECEIVER: ([u8; 4], u16) = ([10, 0, 0, 2], 0);

fn meta(from: SocketAddr, to: SocketAddr) -> Meta {
    Meta { source: from, destination: to, dscp: Dscp::DEFAULT, ecn: Ecn::NotEct }
}

/// The profile `rfc9260` with a window that lets bulk data flow, SCTP packets of `packet` bytes.
#[must_use]
pub fn bulk_config(packet: u16, checksums: Checksums) -> Config {
    let mut config = Config::rfc9260();
    config.mtu = packet + config.ip_overhead;
    config.checksums = checksums;
    config.congestion.initial_window = InitialWindow::Packets(200);
    config.congestion.max_burst = MaxBurst::Off;
    config.limits.receive_window = 4 << 20;
    config.limits.send_buffer = 1 << 20;
    config
}

impl Pair {
    /// An established association.
    ///
    /// # Panics
    /// When the association does not come up: the stack is broken.
    #[must_use]
    pub fn new(config: Config, batch: usize) -> Self {
        let checksums = config.checksums;
        let config = Arc::new(config);
        let endpoint = |address: ([u8; 4], u16), name| {
            let settings =
                EndpointConfig { checksums, ..EndpointConfig::new(address.into(), 5000).keeping_closed() };
            Endpoint::new(settings, Rng::stream(1, name, "bench").secret())
        };
        let (mut sender, mut receiver) = (endpoint(SENDER, "sender"), endpoint(RECEIVER, "receiver"));
        receiver.listen(Arc::clone(&config)).expect("level 0");
        let now = Instant::ZERO;
        #[allow(clippy::expect_used, reason = "a benchmark that cannot start must say so")]
        let sender_id =
            sender.connect(now, RECEIVER.into(), 5000, config).expect("a fresh endpoint connects");
        let mut pair = Self {
            sender,
            receiver,
            sender_id,
            receiver_id: sender_id,
            now,
            buf: Vec::with_capacity(1 << 17),
            batch,
            delivered: 0,
        };
        while pair.exchange() {}
        while let Some((id, _)) = pair.receiver.poll_event() {
            pair.receiver_id = id;
        }
        pair
    }

    /// Delivers the waiting packets, once in each direction. False when there were none.
    fn exchange(&mut self) -> bool {
        let mut moved = false;
        let forward = meta(SENDER.into(), RECEIVER.into());
        let back = meta(RECEIVER.into(), SENDER.into());
        while let Some(transmit) = self.sender.poll_transmit(self.now, self.batch, &mut self.buf) {
            for packet in self.buf.chunks(transmit.segment_size) {
                self.receiver.handle_datagram(self.now, forward, packet);
            }
            self.buf.clear();
            moved = true;
            if let Some(mut association) = self.receiver.association(self.receiver_id) {
                while let Some(message) = association.receive() {
                    self.delivered += message.len() as u64;
                }
            }
            while let Some(transmit) = self.receiver.poll_transmit(self.now, self.batch, &mut self.buf) {
                for packet in self.buf.chunks(transmit.segment_size) {
                    self.sender.handle_datagram(self.now, back, packet);
                }
                self.buf.clear();
            }
        }
        while let Some(transmit) = self.receiver.poll_transmit(self.now, self.batch, &mut self.buf) {
            for packet in self.buf.chunks(transmit.segment_size) {
                self.sender.handle_datagram(self.now, back, packet);
            }
            self.buf.clear();
            moved = true;
        }
        moved
    }

    /// The counts of the sender so far.
    ///
    /// # Panics
    /// When the association is gone: the stack is broken.
    #[must_use]
    pub fn look(&self) -> Snapshot {
        self.sender.view(self.sender_id).expect("it is open").snapshot()
    }

    /// Sends `messages` messages of `size` bytes and waits until they have been read; bytes delivered.
    ///
    /// # Panics
    /// When something is not delivered: the stack is broken.
    pub fn transfer(&mut self, messages: u64, size: usize) -> u64 {
        let payload = Bytes::from(vec![0x5a; size]);
        let goal = self.delivered + messages * size as u64;
        let mut left = messages;
        while self.delivered < goal {
            let mut association = self.sender.association(self.sender_id).expect("it is open");
            while left > 0 && association.send(self.now, Message::new(0, payload.clone())).is_ok() {
                left -= 1;
            }
            drop(association);
            self.now += Duration::from_micros(10);
            if !self.exchange() {
                // Only a timer can help: a delayed SACK.
                let timer = [self.sender.poll_timeout(), self.receiver.poll_timeout()];
                let next = timer.into_iter().flatten().map(|t| t.0).min();
                assert!(next.is_some(), "nothing moves and no timer runs");
                self.now = next.unwrap_or(self.now).max(self.now);
                self.sender.handle_timeout(self.now);
                self.receiver.handle_timeout(self.now);
            }
            while self.sender.poll_event().is_some() {}
            while self.receiver.poll_event().is_some() {}
        }
        messages * size as u64
    }
}
