//! The loop of `anabranch_base::driver` on real UDP sockets (RFC 6951) over the loopback: an endpoint and a socket are all that a
//! driver needs.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "a driver of sockets has a real clock"
)]

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;

use anabranch_base::driver::{self, Surroundings};
use anabranch_base::{Dscp, Duration, Ecn, Instant, Meta, Rng, Transmit};
use anabranch_sctp::{
    AssociationId, CloseReason, Config, Endpoint, EndpointConfig, Event, Message, Received,
};
use bytes::Bytes;

const PORT: u16 = 5000;
const MESSAGES: u32 = 400;

/// A user that sends `MESSAGES` numbered messages, reads the messages that come, and closes once it has sent all and has all.
#[derive(Default)]
struct User {
    id: Option<AssociationId>,
    opens: bool,
    sent: u32,
    got: Vec<Received>,
    closed: Option<CloseReason>,
}

struct Host {
    socket: UdpSocket,
    user: User,
    buffers: Vec<Vec<u8>>,
}

impl Surroundings<Endpoint> for Host {
    const MAX_PACKETS: usize = 16;

    fn run_application(&mut self, now: Instant, endpoint: &mut Endpoint) -> bool {
        let mut told = false;
        while let Some((id, event)) = endpoint.poll_event() {
            told = true;
            self.user.id = Some(id);
            if let Event::Closed(reason) = event {
                self.user.closed = Some(reason);
            }
        }
        let user = &mut self.user;
        let Some(mut association) = user.id.and_then(|id| endpoint.association(id)) else { return told };
        while let Some(message) = association.receive() {
            user.got.push(message);
        }
        while user.sent < MESSAGES {
            let mut payload = vec![user.sent as u8; 3000];
            payload[..4].copy_from_slice(&user.sent.to_be_bytes());
            if association.send(now, Message::new(0, Bytes::from(payload))).is_err() {
                break;
            }
            user.sent += 1;
        }
        if user.opens && user.sent == MESSAGES && user.got.len() == MESSAGES as usize {
            association.shutdown(now);
        }
        told
    }

    fn buffer(&mut self) -> Vec<u8> {
        self.buffers.pop().unwrap_or_default()
    }

    fn transmit(&mut self, _now: Instant, _endpoint: &Endpoint, transmit: Transmit, mut packets: Vec<u8>) {
        for packet in packets.chunks(transmit.segment_size) {
            // A full buffer loses the packet, as a network may.
            let _lost = self.socket.send_to(packet, transmit.destination).is_err();
        }
        packets.clear();
        self.buffers.push(packets);
    }

    fn recycle(&mut self, buffer: Vec<u8>) {
        self.buffers.push(buffer);
    }
}

/// An endpoint with its host, and when it wants to be woken.
struct End {
    endpoint: Endpoint,
    host: Host,
    due: Option<Instant>,
}

impl End {
    fn new(seed: u64, opens: bool) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_nonblocking(true).unwrap();
        let config = EndpointConfig::new(socket.local_addr().unwrap(), PORT).keeping_closed();
        let user = User { opens, ..User::default() };
        Self {
            endpoint: Endpoint::new(config, Rng::stream(seed, "driver", "test").secret()),
            host: Host { socket, user, buffers: Vec::new() },
            due: None,
        }
    }

    fn address(&self) -> SocketAddr {
        self.host.socket.local_addr().unwrap()
    }

    fn run(&mut self, now: Instant) {
        self.due = driver::run(now, &mut self.endpoint, &mut self.host);
    }

    /// Takes the messages that are there. False when there was none.
    fn step(&mut self, now: Instant) -> bool {
        let mut moved = false;
        let mut packet = [0; 2048];
        while let Ok((len, source)) = self.host.socket.recv_from(&mut packet) {
            let meta = Meta { source, destination: self.address(), dscp: Dscp::DEFAULT, ecn: Ecn::NotEct };
            self.endpoint.handle_datagram(now, meta, &packet[..len]);
            moved = true;
        }
        if self.due.is_some_and(|due| due <= now) {
            self.endpoint.handle_timeout(now);
            moved = true;
        }
        if moved {
            self.run(now);
        }
        moved
    }
}

#[test]
fn two_endpoints_talk_over_udp_sockets() {
    let (mut a, mut z) = (End::new(1, true), End::new(2, false));
    let config = Arc::new(Config::rfc9260());
    z.endpoint.listen(Arc::clone(&config)).unwrap();
    let started = std::time::Instant::now();
    let clock = || Instant::from_nanos(started.elapsed().as_nanos() as u64);
    let id = a.endpoint.connect(clock(), z.address(), PORT, config).unwrap();
    a.host.user.id = Some(id);
    a.run(clock());
    while a.host.user.closed.is_none() || z.host.user.closed.is_none() {
        // Not a matter of speed: something hangs.
        assert!(started.elapsed() < std::time::Duration::from_secs(120), "{:?}", a.endpoint.view(id));
        let moved = a.step(clock()) | z.step(clock());
        if !moved {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
    for end in [&a, &z] {
        assert_eq!(end.host.user.closed, Some(CloseReason::Graceful));
        let numbers = end.host.user.got.iter().map(|message| {
            let bytes: Vec<u8> = message.pieces().flatten().copied().collect();
            assert_eq!(bytes.len(), 3000);
            u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
        });
        assert!(numbers.eq(0..MESSAGES), "in order, each once");
    }
    let stats = a.endpoint.view(id).unwrap().stats();
    assert!(stats.packets_sent > u64::from(MESSAGES), "{stats:?}");
    assert!(Duration::ZERO < stats.srtt.unwrap(), "{stats:?}");
}
