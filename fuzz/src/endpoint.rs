//! Two endpoints and somebody in between who knows every tag: steps are read from the bytes.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;

use anabranch_base::{Dscp, Duration, Ecn, Instant, Meta, Rng};
use anabranch_sctp::config::{Checksums, SubflowLevel};
use anabranch_sctp::{AssociationId, Config, Direction, Endpoint, EndpointConfig, Message, State, SubflowSpec};
use bytes::Bytes;

const PORT: u16 = 5000;

/// The bytes of the fuzzer, one after the other; zeros behind the end.
struct Steps<'a>(&'a [u8]);

impl<'a> Steps<'a> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    fn bytes(&mut self, len: usize) -> &'a [u8] {
        let (head, tail) = self.0.split_at(len.min(self.0.len()));
        self.0 = tail;
        head
    }
}

struct World {
    now: Instant,
    ends: [Endpoint; 2],
    ids: [Vec<AssociationId>; 2],
    wire: [VecDeque<Vec<u8>>; 2],
    /// The last tag that went to each side.
    tags: [u32; 2],
}

fn address(side: usize) -> SocketAddr {
    ([10, 0, 0, side as u8 + 1], 0).into()
}

fn config(choice: u8) -> Config {
    let profiles = Config::PROFILES;
    let mut config = Config::named(profiles[usize::from(choice & 15) % profiles.len()]).expect("listed");
    config.checksums = Checksums::Elided;
    config.streams.outbound = 8;
    config.limits.receive_window = if choice & 16 == 0 { 4000 } else { 1 << 20 };
    config.limits.association_max_retrans = 4;
    config.timers.rto_max = Duration::from_secs(5);
    if config.subflows.level != SubflowLevel::Sf2007 {
        config.extensions.interleaving = choice & 32 != 0;
        config.extensions.reconfiguration = choice & 64 != 0;
        if choice & 128 != 0 {
            config.subflows.level = SubflowLevel::One;
        }
    }
    config.extensions.peer_resets_association = true;
    config
}

/// Packets of any kind in every state; the properties are watched by the associations themselves.
pub fn endpoint(data: &[u8]) {
    let mut steps = Steps(data);
    let config = Arc::new(config(steps.byte()));
    let end = |side: usize| {
        let told = EndpointConfig {
            checksums: Checksums::Elided,
            allow_private_encodings: true,
            ..EndpointConfig::new(address(side), PORT).keeping_closed()
        };
        let mut end = Endpoint::new(told, Rng::stream(1, "fuzz", if side == 0 { "a" } else { "z" }).secret());
        end.listen(Arc::clone(&config)).expect("allowed");
        end
    };
    let mut world = World {
        now: Instant::ZERO + Duration::from_secs(10),
        ends: [end(0), end(1)],
        ids: Default::default(),
        wire: Default::default(),
        tags: [0; 2],
    };
    for _ in 0..400 {
        if steps.0.is_empty() {
            break;
        }
        let step = steps.byte();
        let (side, what) = (usize::from(step & 1), step >> 1);
        world.step(side, what, &config, &mut steps);
        world.pump();
    }
}

impl World {
    fn step(&mut self, side: usize, what: u8, config: &Arc<Config>, steps: &mut Steps<'_>) {
        let now = self.now;
        match what % 12 {
            0 => {
                let peer = address(1 - side);
                if let Ok(id) = self.ends[side].connect(now, peer, PORT, Arc::clone(config)) {
                    self.ids[side].push(id);
                }
            }
            1..4 => {
                if let Some(packet) = self.wire[side].pop_front() {
                    self.arrive(side, &packet);
                }
            }
            4 => drop(self.wire[side].pop_front()),
            5 => {
                let packet = self.wire[side].front().cloned();
                if let Some(packet) = packet {
                    self.arrive(side, &packet);
                }
            }
            6 => {
                if let Some(at) = self.ends.iter_mut().filter_map(Endpoint::poll_timeout).map(|t| t.0).min() {
                    self.now = now.max(at);
                    for end in &mut self.ends {
                        end.handle_timeout(self.now);
                    }
                }
            }
            7 => self.command(side, steps),
            // Chunks that were made up, or a packet on its way with some bytes changed.
            8..11 => {
                let mut packet = [PORT.to_be_bytes(), PORT.to_be_bytes()].concat();
                let tag = if what & 64 == 0 { self.tags[side] } else { 0 };
                packet.extend_from_slice(&tag.to_be_bytes());
                packet.extend_from_slice(&[0; 4]);
                for _ in 0..=steps.byte() % 3 {
                    let (kind, flags, len) = (steps.byte(), steps.byte(), usize::from(steps.byte()));
                    let body = steps.bytes(len);
                    packet.extend_from_slice(&[kind, flags]);
                    packet.extend_from_slice(&(body.len() as u16 + 4).to_be_bytes());
                    packet.extend_from_slice(body);
                    packet.resize(packet.len().next_multiple_of(4), 0);
                }
                self.arrive(side, &packet);
            }
            _ => {
                let (at, bits) = (usize::from(steps.byte()), steps.byte());
                if let Some(packet) = self.wire[side].front_mut() {
                    let at = 12 + at % packet.len().saturating_sub(12).max(1);
                    if let Some(byte) = packet.get_mut(at) {
                        *byte ^= bits;
                    }
                }
            }
        }
    }

    fn command(&mut self, side: usize, steps: &mut Steps<'_>) {
        let (now, ids) = (self.now, &self.ids[side]);
        let (what, with) = (steps.byte(), steps.byte());
        let Some(mut association) = ids.last().and_then(|id| self.ends[side].association(*id)) else { return };
        let stream = u16::from(with % 8);
        match what % 10 {
            0..4 => {
                let len = 1 + usize::from(with) * if what & 16 == 0 { 1 } else { 40 };
                let unordered = what & 32 != 0;
                let message = Message { unordered, ..Message::new(stream, Bytes::from(vec![with; len])) };
                let _ = association.send(now, message);
            }
            4 => association.shutdown(now),
            5 => association.abort(now, &[with]),
            6 => drop(association.reset_streams(now, Direction::Both, &[])),
            7 => drop(association.reset_association(now)),
            8 => {
                let dscp = Dscp::new(with % 8).expect("six bits");
                let _ = association.add_subflow(now, &SubflowSpec { streams: vec![stream], ..SubflowSpec::new(dscp) });
            }
            _ => drop(association.remove_subflow(now, with % 4, (with >> 2) % 4)),
        }
    }

    fn arrive(&mut self, side: usize, packet: &[u8]) {
        let meta = Meta {
            source: address(1 - side),
            destination: address(side),
            dscp: Dscp::DEFAULT,
            ecn: Ecn::NotEct,
        };
        self.ends[side].handle_datagram(self.now, meta, packet);
    }

    fn pump(&mut self) {
        for side in [0, 1] {
            let mut packet = Vec::new();
            let mut count = 0;
            while self.ends[side].poll_transmit(self.now, 1, &mut packet).is_some() {
                count += 1;
                assert!(count < 10_000, "packets without end");
                if let Some(tag) = packet.get(4..8).and_then(|t| t.try_into().ok()).map(u32::from_be_bytes) {
                    if tag != 0 {
                        self.tags[1 - side] = tag;
                    }
                }
                if self.wire[1 - side].len() < 64 {
                    self.wire[1 - side].push_back(packet.clone());
                }
                packet.clear();
            }
            while let Some((id, _)) = self.ends[side].poll_event() {
                if !self.ids[side].contains(&id) {
                    self.ids[side].push(id);
                }
            }
            for id in &self.ids[side] {
                if let Some(mut association) = self.ends[side].association(*id) {
                    while association.receive().is_some() {}
                    if association.state() != State::Closed {
                        let said = association.audit();
                        assert!(said.is_ok(), "{said:?}");
                    }
                }
            }
        }
    }
}
