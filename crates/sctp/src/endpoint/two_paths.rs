//! The table of subflows and paths: an association with two of each. A path has a delay of its own, and what happens on one
//! path, or to one subflow, is no business of the others. Nothing moves from path to path by itself yet.

mod golden;

use std::collections::BTreeMap;
use std::net::SocketAddr;

use anabranch_base::{Dscp, Duration, Ecn, Meta, Rng, TraceEvent};
use bytes::Bytes;

use super::*;
use crate::config::{Config, EcnMode, SubflowSpec};
use crate::event::Direction;
use crate::ids::PathId;
use crate::message::Message;

/// Our address, and the two of the peer.
const OURS: ([u8; 4], u16) = ([10, 0, 0, 1], 0);
const NEAR: ([u8; 4], u16) = ([10, 0, 0, 2], 0);
const FAR: ([u8; 4], u16) = ([10, 0, 1, 2], 0);

/// One way to the near and to the far address.
const DELAYS: [Duration; 2] = [Duration::from_millis(10), Duration::from_millis(50)];

/// The association at the peer's end.
const PEERS: AssociationId = AssociationId { index: 0, generation: 0 };

/// Types of chunks.
const DATA: u8 = 0;
const HEARTBEAT: u8 = 4;
const CWR: u8 = 13;
const RE_CONFIG: u8 = 130;
const FORWARD_TSN: u8 = 192;

/// A packet that was sent.
struct Logged {
    at: Instant,
    side: usize,
    /// The peer's address that it goes to or comes from.
    theirs: SocketAddr,
    dscp: Dscp,
    ecn: Ecn,
    bytes: Vec<u8>,
}

struct World {
    now: Instant,
    ends: [Endpoint; 2],
    id: AssociationId,
    /// Packets under way, by time of arrival and order of departure, with the end that they go to.
    wire: BTreeMap<(Instant, u64), (usize, Meta, Vec<u8>)>,
    count: u64,
    /// Data packets to each of the peer's addresses, by code point.
    sent: BTreeMap<(SocketAddr, u8), u64>,
    /// Packets of ours to each of the peer's addresses, by the type of their first chunk.
    first_chunks: BTreeMap<(SocketAddr, u8), u64>,
    /// So many data packets to the near and to the far address are lost.
    lose: [u64; 2],
    /// The far address does not answer: all packets that go there are lost.
    far_is_silent: bool,
    /// So many ECN-capable packets to the far address are marked.
    mark: u64,
    delivered: [u64; 2],
    /// The longest data packet to each of the peer's addresses, bytes.
    longest: BTreeMap<SocketAddr, usize>,
    /// Every packet that was sent, where it is kept.
    log: Option<Vec<Logged>>,
    /// Every event of an end.
    heard: Vec<(Instant, usize, String)>,
}

impl World {
    fn new() -> Self {
        Self::with(Config::rfc9260())
    }

    fn with(config: Config) -> Self {
        let subflow = |dscp: u8, stream| SubflowSpec {
            streams: vec![stream],
            ..SubflowSpec::new(Dscp::new(dscp).expect("a code point"))
        };
        let config = Arc::new(config.with(|c| c.subflows.open = vec![subflow(46, 0), subflow(10, 1)]));
        let end = |at: ([u8; 4], u16), name| {
            Endpoint::new(
                EndpointConfig::new(at.into(), 9).keeping_closed(),
                Rng::stream(7, name, "two paths").secret(),
            )
        };
        let mut ends = [end(OURS, "ours"), end(NEAR, "peer")];
        ends[1].listen(Arc::clone(&config)).unwrap();
        let id = ends[0].connect(Instant::ZERO, NEAR.into(), 9, config).unwrap();
        Self {
            now: Instant::ZERO,
            ends,
            id,
            wire: BTreeMap::new(),
            count: 0,
            sent: BTreeMap::new(),
            first_chunks: BTreeMap::new(),
            lose: [0; 2],
            far_is_silent: false,
            mark: 0,
            delivered: [0; 2],
            longest: BTreeMap::new(),
            log: None,
            heard: Vec::new(),
        }
    }

    fn ours(&mut self) -> &mut Association {
        self.ends[0].registry.get_mut(self.id).unwrap()
    }

    fn transmit(&mut self) {
        for side in 0..2 {
            let mut buf = Vec::new();
            while let Some(transmit) = self.ends[side].poll_transmit(self.now, 1, &mut buf) {
                let bytes = std::mem::take(&mut buf);
                let source = if side == 0 { OURS.into() } else { transmit.source.unwrap_or(NEAR.into()) };
                let theirs = if side == 0 { transmit.destination } else { source };
                let far = theirs == FAR.into();
                if let Some(log) = &mut self.log {
                    let (dscp, ecn, bytes) = (transmit.dscp, transmit.ecn, bytes.clone());
                    log.push(Logged { at: self.now, side, theirs, dscp, ecn, bytes });
                }
                let kind = bytes.get(12).copied().unwrap_or(u8::MAX);
                if side == 0 {
                    *self.first_chunks.entry((theirs, kind)).or_default() += 1;
                    if far && self.far_is_silent {
                        continue;
                    }
                }
                if side == 0 && kind == DATA {
                    *self.sent.entry((theirs, transmit.dscp.get())).or_default() += 1;
                    let longest = self.longest.entry(theirs).or_default();
                    *longest = bytes.len().max(*longest);
                    let lose = &mut self.lose[usize::from(far)];
                    if *lose > 0 {
                        *lose -= 1;
                        continue;
                    }
                }
                let mut ecn = transmit.ecn;
                if side == 0 && far && ecn != Ecn::NotEct && self.mark > 0 {
                    self.mark -= 1;
                    ecn = Ecn::Ce;
                }
                let meta = Meta { source, destination: transmit.destination, dscp: transmit.dscp, ecn };
                self.count += 1;
                let arrives = self.now + DELAYS[usize::from(far)];
                self.wire.insert((arrives, self.count), (1 - side, meta, bytes));
            }
            while let Some((id, event)) = self.ends[side].poll_event() {
                self.heard.push((self.now, side, format!("{} {event:?}", id.index())));
            }
        }
        let Some(mut association) = self.ends[1].association(PEERS) else { return };
        while let Some(message) = association.receive() {
            self.delivered[usize::from(message.stream)] += message.len() as u64;
        }
    }

    fn run(&mut self, time: Duration) {
        let end = self.now + time;
        loop {
            self.transmit();
            let arrival = self.wire.first_key_value().map(|((at, _), _)| *at);
            let timer = self.ends.iter_mut().filter_map(Endpoint::poll_timeout).map(|t| t.0).min();
            // Without a packet under way or a timer that runs, nothing can happen any more.
            let Some(next) = arrival.into_iter().chain(timer).min().filter(|next| *next <= end) else {
                self.now = end;
                return;
            };
            self.now = next;
            while let Some(entry) = self.wire.first_entry().filter(|e| e.key().0 <= next) {
                let (side, meta, bytes) = entry.remove();
                self.ends[side].handle_datagram(next, meta, &bytes);
                self.transmit();
            }
            self.ends.iter_mut().for_each(|e| e.handle_timeout(next));
        }
    }

    /// Packets of ours to an address that begin with a chunk of that type.
    fn begun_with(&self, at: ([u8; 4], u16), kind: u8) -> u64 {
        self.first_chunks.get(&(at.into(), kind)).copied().unwrap_or(0)
    }

    /// True if all that we have sent is acknowledged, or skipped by the peer.
    fn keeps_nothing(&mut self) -> bool {
        self.ours().holdings().0 == 0
    }

    /// Path error counters.
    fn errors(&mut self) -> [u32; 2] {
        let paths = self.ours().snapshot().paths;
        [paths[0].errors, paths[1].errors]
    }

    fn send_on(&mut self, stream: u16, messages: usize) {
        for _ in 0..messages {
            let message = Message::new(stream, Bytes::from(vec![stream as u8; 1000]));
            self.ends[0].association(self.id).unwrap().send(self.now, message).unwrap();
        }
    }

    fn send(&mut self, messages: usize) {
        for _ in 0..messages {
            for stream in 0..2 {
                self.send_on(stream, 1);
            }
        }
    }
}

// rfc9260:6.4-3 rfc9260:6.7-2 rfc9260:7.2.1-9 rfc9260:7.2-3
#[test]
fn a_subflow_on_a_path_is_a_lane() {
    let mut world = World::new();
    world.run(Duration::from_secs(1));
    let far = world.ours().add_path(FAR.into());
    assert!(world.ours().use_path(1, far));
    world.send(100);
    world.transmit();
    assert!(!world.ours().use_path(1, PathId::new(0)), "not while data is under way");
    world.run(Duration::from_secs(5));
    assert_eq!(world.delivered, [100_000, 100_000]);
    // Each code point went to one address only.
    let to = |at: ([u8; 4], u16), dscp| world.sent.get(&(at.into(), dscp)).copied().unwrap_or(0);
    assert!(to(NEAR, 46) >= 100 && to(FAR, 10) >= 100, "{:?}", world.sent);
    assert_eq!((to(NEAR, 10), to(FAR, 46)), (0, 0), "{:?}", world.sent);
    // Each lane has the round trip of its path.
    let stats = |world: &mut World, subflow| world.ours().subflow_stats(subflow).unwrap();
    let rtt = |world: &mut World, subflow| stats(world, subflow).srtt.unwrap().as_nanos() / 1_000_000;
    let (near_ms, far_ms) = (rtt(&mut world, 0), rtt(&mut world, 1));
    assert!(near_ms < far_ms && far_ms >= 60, "{near_ms} {far_ms}");
    // An acknowledgement leaves from the address to which data came last, and that may be the near one.
    assert_eq!(stats(&mut world, 0).min_rtt, Some(DELAYS[0] * 2));
    assert!(stats(&mut world, 1).min_rtt >= Some(DELAYS[0] + DELAYS[1]));
    // A loss on one path costs the other nothing.
    let before = stats(&mut world, 0);
    world.lose[1] = 3;
    world.send(100);
    world.run(Duration::from_secs(20));
    assert_eq!(world.delivered, [200_000, 200_000]);
    let (quiet, cut) = (stats(&mut world, 0), stats(&mut world, 1));
    assert!(quiet.cwnd >= before.cwnd && quiet.retransmissions == 0, "{quiet:?}");
    assert!(cut.retransmissions >= 3, "{cut:?}");
    world.ours().audit().unwrap();
}

// rfc9260:6.3.3-1 rfc9260:8.2-1 rfc9260:8.3-14
#[test]
fn heartbeats_and_timers_are_those_of_their_path() {
    let mut world = World::new();
    world.run(Duration::from_secs(1));
    let far = world.ours().add_path(FAR.into());
    // The first subflow measures the path it is on; nothing of it is known on the other.
    assert!(world.ours().use_path(0, far));
    world.send(20);
    world.run(Duration::from_secs(5));
    assert_eq!(world.delivered, [20_000, 20_000]);
    assert!(world.ours().subflow_stats(0).unwrap().min_rtt >= Some(DELAYS[0] + DELAYS[1]));
    // Both paths are idle now: each is asked for itself, and each answers.
    world.run(Duration::from_secs(200));
    let down = world.ends[0].associations() == 0;
    assert!(!down, "both paths answer");
    // The far address falls silent: its path is lost, and the association goes on.
    world.lose[1] = u64::MAX;
    assert!(world.ours().use_path(0, PathId::new(0)));
    world.send(20);
    world.run(Duration::from_secs(5));
    assert_eq!(world.delivered, [40_000, 40_000]);
}

// rfc9260:8.2-3
#[test]
fn an_acknowledgement_clears_the_errors_of_the_path_that_the_data_took() {
    let mut world = World::new();
    world.run(Duration::from_secs(1));
    let far = world.ours().add_path(FAR.into());
    assert!(world.ours().use_path(1, far));
    // The first subflow sends to the near address, which takes no data any more; the second goes on sending to the far one.
    world.lose[0] = u64::MAX;
    world.send_on(0, 5);
    for _ in 0..30 {
        world.send_on(1, 5);
        world.run(Duration::from_millis(200));
    }
    let errors = world.errors();
    assert!(
        errors[0] >= 2 && errors[1] == 0,
        "what the far address acknowledges says nothing of the near one: {errors:?}"
    );
    world.lose[0] = 0;
    world.run(Duration::from_secs(20));
    assert_eq!(world.errors(), [0, 0], "the near address has acknowledged what was sent there");
    // The other way round.
    world.lose[1] = 2;
    world.send_on(1, 1);
    world.run(Duration::from_millis(1500));
    assert_eq!(world.errors(), [0, 1], "T3-rtx has expired for the far address");
    world.send_on(0, 5);
    world.run(Duration::from_millis(200));
    assert_eq!(world.errors(), [0, 1]);
    world.run(Duration::from_secs(10));
    assert_eq!(world.errors(), [0, 0]);
    assert_eq!(world.delivered, [10_000, 151_000]);
}

#[test]
fn an_unconfirmed_address_is_probed_once_in_each_rto_of_its_own() {
    let mut world = World::with(Config::rfc9260().with(|c| c.timers.rto_initial = Duration::from_secs(3)));
    world.run(Duration::from_secs(1));
    // The near address answers: its RTO comes down to RTO.Min, a second. The RTO of the far address is RTO.Initial.
    world.send_on(0, 20);
    world.run(Duration::from_secs(1));
    world.far_is_silent = true;
    world.ours().list_path(FAR.into());
    world.run(Duration::from_secs(10));
    let probes = world.begun_with(FAR, HEARTBEAT);
    assert_eq!(probes, 3, "one in 3 s: {probes}");
}

#[test]
fn cwr_leaves_on_the_path_that_was_marked() {
    let mut world = World::with(Config::rfc9260().with(|c| c.extensions.ecn = EcnMode::Classic));
    world.run(Duration::from_secs(1));
    let far = world.ours().add_path(FAR.into());
    assert!(world.ours().use_path(1, far));
    world.send(20);
    world.run(Duration::from_secs(2));
    world.mark = 1;
    world.send(40);
    world.run(Duration::from_secs(5));
    assert_eq!(world.mark, 0);
    // It may leave again while the peer repeats its report.
    assert_eq!(world.begun_with(NEAR, CWR), 0);
    assert!(world.begun_with(FAR, CWR) >= 1);
    assert_eq!(world.delivered, [60_000, 60_000]);
}

#[test]
fn a_trace_names_the_path_of_what_arrives() {
    let mut world = World::new();
    world.run(Duration::from_secs(1));
    let far = world.ours().add_path(FAR.into());
    for subflow in 0..2 {
        assert!(world.ours().use_path(subflow, far));
    }
    // The peer answers from the address to which packets came last.
    world.send(2);
    world.run(Duration::from_secs(1));
    world.ours().set_trace(true);
    for _ in 0..5 {
        let message = Message::new(0, Bytes::from(vec![1; 1000]));
        world.ends[1].association(PEERS).unwrap().send(world.now, message).unwrap();
    }
    world.send(2);
    world.run(Duration::from_secs(1));
    let (mut data, mut acknowledgements) = (0, 0);
    for record in world.ours().trace_mut().drain() {
        match record.event {
            TraceEvent::Received { .. } => data += 1,
            TraceEvent::AckReceived { newly_acked: 1.., .. } => acknowledgements += 1,
            _ => continue,
        }
        assert_eq!(record.path, far.get(), "{:?}", record.event);
    }
    assert!(data == 5 && acknowledgements > 0, "{data} {acknowledgements}");
}

// rfc3758:3.5-13
#[test]
fn forward_tsn_leaves_on_the_path_of_what_was_given_up() {
    let mut world = World::with(Config::rfc9260().with(|c| c.extensions.partial_reliability = true));
    world.run(Duration::from_secs(1));
    let far = world.ours().add_path(FAR.into());
    assert!(world.ours().use_path(1, far));
    world.send(5);
    world.run(Duration::from_secs(1));
    let give_up = |world: &mut World, stream| {
        world.lose[usize::from(stream)] = 1;
        let message = Message::new(stream, Bytes::from(vec![1; 1000])).max_retransmissions(0);
        let now = world.now;
        world.ends[0].association(world.id).unwrap().send(now, message).unwrap();
        world.run(Duration::from_secs(4));
        assert!(world.keeps_nothing(), "the peer has heard of it");
    };
    give_up(&mut world, 1);
    assert_eq!((world.begun_with(NEAR, FORWARD_TSN), world.begun_with(FAR, FORWARD_TSN)), (0, 1));
    give_up(&mut world, 0);
    assert_eq!((world.begun_with(NEAR, FORWARD_TSN), world.begun_with(FAR, FORWARD_TSN)), (1, 1));
    // The other path has data to send meanwhile.
    world.lose[1] = 1;
    let message = Message::new(1, Bytes::from(vec![1; 1000])).max_retransmissions(0);
    let now = world.now;
    world.ends[0].association(world.id).unwrap().send(now, message).unwrap();
    for _ in 0..40 {
        world.send_on(0, 2);
        world.run(Duration::from_millis(100));
    }
    world.run(Duration::from_secs(2));
    assert_eq!(world.begun_with(NEAR, FORWARD_TSN), 1);
    assert!(world.begun_with(FAR, FORWARD_TSN) >= 2 && world.keeps_nothing());
    assert_eq!(world.delivered, [85_000, 5000]);
}

// rfc6525:5.1.1-9 rfc9260:6.4-2
#[test]
fn re_config_has_a_path() {
    let mut world = World::with(Config::rfc9260().with(|c| c.extensions.reconfiguration = true));
    world.run(Duration::from_secs(1));
    let far = world.ours().add_path(FAR.into());
    for subflow in 0..2 {
        assert!(world.ours().use_path(subflow, far));
    }
    world.send(5);
    world.run(Duration::from_secs(1));
    // Requests go where the data of the first subflow goes.
    world.far_is_silent = true;
    let now = world.now;
    world.ends[0].association(world.id).unwrap().reset_streams(now, Direction::Outgoing, &[0]).unwrap();
    world.run(Duration::from_millis(3500));
    assert_eq!(
        (world.begun_with(NEAR, RE_CONFIG), world.begun_with(FAR, RE_CONFIG)),
        (0, 3),
        "at 0, 1 and 3 s"
    );
    assert_eq!(world.errors(), [0, 2], "both errors are those of the far address");
    // Data has moved: the request does, when it is sent again.
    assert!(world.ours().use_path(0, PathId::new(0)));
    world.run(Duration::from_secs(5));
    assert_eq!((world.begun_with(NEAR, RE_CONFIG), world.begun_with(FAR, RE_CONFIG)), (1, 3));
    assert_eq!(world.errors()[0], 0);
    // Answers go to where the peer has asked, from the address to which our packets came last.
    world.far_is_silent = false;
    world.send_on(1, 1);
    world.run(Duration::from_secs(1));
    let now = world.now;
    world.ends[1].association(PEERS).unwrap().reset_streams(now, Direction::Outgoing, &[0]).unwrap();
    world.run(Duration::from_secs(1));
    assert_eq!((world.begun_with(NEAR, RE_CONFIG), world.begun_with(FAR, RE_CONFIG)), (1, 4));
}

/// "An endpoint MUST maintain separate PMTU estimates for each destination address of its peer" (RFC 9260, 7.3): what ICMP says of one path
/// changes nothing of the other, and the packets of each have its size.
// rfc9260:7.3-2
#[test]
fn each_path_has_an_mtu_of_its_own() {
    let mut world = World::new();
    world.run(Duration::from_secs(1));
    let far = world.ours().add_path(FAR.into());
    assert!(world.ours().use_path(1, far));
    let mtus =
        |world: &mut World| world.ours().status().paths.iter().map(|path| path.mtu).collect::<Vec<_>>();
    assert_eq!(mtus(&mut world), [1500, 1500]);
    let now = world.now;
    assert!(world.ours().path_manager().on_too_big(now, SocketAddr::from(FAR).ip(), 1000));
    assert_eq!(mtus(&mut world), [1500, 1000]);
    assert!(world.ours().path_manager().on_too_big(now, SocketAddr::from(NEAR).ip(), 1200));
    assert_eq!(mtus(&mut world), [1200, 1000]);
    let length = 5000;
    for stream in 0..2 {
        let message = Message::new(stream, Bytes::from(vec![0; length]));
        world.ends[0].association(world.id).unwrap().send(now, message).unwrap();
    }
    world.run(Duration::from_secs(5));
    assert_eq!(world.delivered, [length as u64; 2]);
    assert_eq!([NEAR, FAR].map(|at| world.longest[&at.into()]), [1180, 980], "without the IP header");
}
