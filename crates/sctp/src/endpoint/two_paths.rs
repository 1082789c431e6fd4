//! The table of subflows and paths: an association with two of each. A path has a delay of its own, and events on one
//! path, or of one subflow, do not concern the others. Data that times out leaves again on the other path, and while a path is down all
//! data does.

mod detours;
mod golden;
mod hand_over;
mod unconfirmed;

use std::collections::BTreeMap;
use std::net::SocketAddr;

use anabranch_base::{Dscp, Duration, Ecn, Meta, Rng, TraceEvent};
use bytes::Bytes;

use super::*;
use crate::config::{Config, EcnMode, SubflowSpec};
use crate::error::PathError;
use crate::event::{Direction, Event};
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
const SHUTDOWN: u8 = 7;
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

/// An endpoint that has no association yet; `name` is that of its random numbers.
fn end(at: ([u8; 4], u16), name: &str) -> Endpoint {
    Endpoint::new(
        EndpointConfig::new(at.into(), 9).keeping_closed(),
        Rng::stream(7, name, "two paths").secret(),
    )
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
    /// The near and the far address do not answer: all packets that go there are lost.
    silent: [bool; 2],
    /// So many ECN-capable packets to the far address are marked.
    mark: u64,
    /// ECN-capable packets to the near address are marked, too.
    mark_near: bool,
    delivered: [u64; 2],
    /// The peer's user does not read.
    sleeps: bool,
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
            silent: [false; 2],
            mark: 0,
            mark_near: false,
            delivered: [0; 2],
            sleeps: false,
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
                    if self.silent[usize::from(far)] {
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
                if side == 0 && (far || self.mark_near) && ecn != Ecn::NotEct && self.mark > 0 {
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
        if self.sleeps {
            return;
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

    /// Data packets of ours to an address with a code point.
    fn data_to(&self, at: ([u8; 4], u16), dscp: u8) -> u64 {
        self.sent.get(&(at.into(), dscp)).copied().unwrap_or(0)
    }

    /// Number of times that our user was told so.
    fn told(&self, event: &Event) -> usize {
        let told = format!("{} {event:?}", self.id.index());
        self.heard.iter().filter(|(_, side, heard)| *side == 0 && *heard == told).count()
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
    world.run(Duration::from_secs(5));
    assert_eq!(world.delivered, [100_000, 100_000]);
    // Each code point went to one address only.
    assert!(world.data_to(NEAR, 46) >= 100 && world.data_to(FAR, 10) >= 100, "{:?}", world.sent);
    assert_eq!((world.data_to(NEAR, 10), world.data_to(FAR, 46)), (0, 0), "{:?}", world.sent);
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
    for _ in 0..30 {
        world.send_on(0, 1);
        world.send_on(1, 5);
        world.run(Duration::from_millis(200));
    }
    let errors = world.errors();
    assert!(
        errors[0] >= 2 && errors[1] == 0,
        "what the far address acknowledges says nothing of the near one: {errors:?}"
    );
    world.lose[0] = 0;
    world.send_on(0, 1);
    world.run(Duration::from_secs(20));
    assert_eq!(world.errors(), [0, 0], "the near address has acknowledged what was sent there");
    // The other way round.
    world.lose[1] = 1;
    world.send_on(1, 1);
    world.run(Duration::from_millis(1500));
    assert_eq!(world.errors(), [0, 1], "T3-rtx has expired for the far address");
    world.send_on(0, 5);
    world.run(Duration::from_millis(200));
    assert_eq!(world.errors(), [0, 1]);
    world.send_on(1, 1);
    world.run(Duration::from_secs(10));
    assert_eq!(world.errors(), [0, 0]);
    assert_eq!(world.delivered, [36_000, 152_000]);
}

#[test]
fn an_unconfirmed_address_is_probed_once_in_each_rto_of_its_own() {
    let mut world = World::with(Config::rfc9260().with(|c| c.timers.rto_initial = Duration::from_secs(3)));
    world.run(Duration::from_secs(1));
    // The near address answers: its RTO comes down to RTO.Min, a second. The RTO of the far address is RTO.Initial.
    world.send_on(0, 20);
    world.run(Duration::from_secs(1));
    world.silent[1] = true;
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
    world.silent[1] = true;
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
    world.silent[1] = false;
    world.send_on(1, 1);
    world.run(Duration::from_secs(1));
    let now = world.now;
    world.ends[1].association(PEERS).unwrap().reset_streams(now, Direction::Outgoing, &[0]).unwrap();
    world.run(Duration::from_secs(1));
    assert_eq!((world.begun_with(NEAR, RE_CONFIG), world.begun_with(FAR, RE_CONFIG)), (1, 4));
}

/// "An endpoint MUST maintain separate PMTU estimates for each destination address of its peer" (RFC 9260, 7.3): an ICMP message of one
/// path changes nothing of the other, and the packets of each have its size.
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

// rfc9260:6.4-1 rfc9260:6.4-4
#[test]
fn what_timed_out_leaves_again_on_another_path() {
    let mut world = World::new();
    world.run(Duration::from_secs(1));
    world.ours().add_path(FAR.into());
    world.lose[0] = 1;
    world.send_on(0, 1);
    world.run(Duration::from_secs(2));
    assert_eq!(world.delivered, [1000, 0]);
    assert_eq!((world.data_to(NEAR, 46), world.data_to(FAR, 46)), (1, 1));
    assert_eq!(world.errors(), [1, 0], "the answer is that of the far address");
    // New data goes by its own path.
    world.send_on(0, 5);
    world.run(Duration::from_secs(1));
    assert_eq!(world.delivered, [6000, 0]);
    assert_eq!((world.data_to(NEAR, 46), world.data_to(FAR, 46)), (6, 1));
    assert_eq!(world.errors(), [0, 0]);
    world.ours().audit().unwrap();
    // Chunks that time out on the far address come back to the near one.
    world.lose = [1, 1];
    world.send_on(0, 1);
    world.run(Duration::from_secs(4));
    assert_eq!(world.delivered, [7000, 0]);
    assert_eq!((world.data_to(NEAR, 46), world.data_to(FAR, 46)), (8, 2));
    assert!(world.keeps_nothing());
    world.ours().audit().unwrap();
}

// rfc9260:6.4-5
#[test]
fn a_fast_retransmission_leaves_on_the_path_of_the_original() {
    let mut world = World::new();
    world.run(Duration::from_secs(1));
    let far = world.ours().add_path(FAR.into());
    world.send_on(0, 20);
    world.run(Duration::from_secs(2));
    // The first packet of a burst is lost, and the data behind the burst goes to the far address.
    let before = world.data_to(NEAR, 46);
    world.lose[0] = 1;
    world.send_on(0, 10);
    world.transmit();
    let burst = world.data_to(NEAR, 46) - before;
    assert!((4..10).contains(&burst), "{burst}");
    assert!(world.ours().use_path(0, far));
    world.run(Duration::from_millis(900));
    assert_eq!(world.delivered, [30_000, 0]);
    assert_eq!(world.data_to(NEAR, 46) - before, burst + 1, "one of them was sent again");
    assert_eq!(world.data_to(FAR, 46), 10 - burst);
    assert_eq!(world.ours().snapshot().stats.timeouts, 0);
    world.ours().audit().unwrap();
}

/// Short timeouts, and paths that are soon given up and often asked.
fn impatient() -> Config {
    Config::rfc9260().with(|c| {
        c.limits.path_max_retrans = 2;
        c.limits.association_max_retrans = 1000;
        c.timers.heartbeat_interval = Duration::from_secs(2);
        c.timers.rto_max = Duration::from_secs(4);
    })
}

// rfc9260:6.4-4 rfc9260:6.4.1-1
#[test]
fn data_goes_round_a_path_that_is_down_and_comes_back() {
    let mut world = World::with(impatient());
    world.run(Duration::from_secs(1));
    let far = world.ours().add_path(FAR.into());
    assert!(world.ours().use_path(1, far));
    world.send(5);
    world.run(Duration::from_secs(2));
    for (path, (at, dscp)) in [(NEAR, 46), (FAR, 10)].into_iter().enumerate() {
        let number = path as u8;
        world.silent[path] = true;
        for _ in 0..100 {
            world.send(1);
            world.run(Duration::from_millis(300));
            world.ours().audit().unwrap();
        }
        assert_eq!(world.told(&Event::PathDown { path: number }), 1);
        world.run(Duration::from_secs(3));
        assert!(world.keeps_nothing());
        assert_eq!(world.delivered[0], world.delivered[1]);
        // Nothing but HEARTBEATs goes there now.
        let (before, delivered) = (world.data_to(at, dscp), world.delivered);
        world.send(10);
        world.run(Duration::from_secs(3));
        assert_eq!((world.data_to(at, dscp), world.delivered), (before, delivered.map(|sum| sum + 10_000)));
        // It answers again: its subflow comes back.
        world.silent[path] = false;
        world.run(Duration::from_secs(10));
        assert_eq!(world.told(&Event::PathUp { path: number }), 1);
        let others = world.data_to(if path == 0 { FAR } else { NEAR }, dscp);
        world.send(10);
        world.run(Duration::from_secs(3));
        assert_eq!(world.data_to(at, dscp), before + 10);
        assert_eq!(world.data_to(if path == 0 { FAR } else { NEAR }, dscp), others);
        assert!(world.keeps_nothing());
    }
    world.ours().audit().unwrap();
}

/// Chunks in flight when their path goes down do not wait for T3-rtx.
// rfc9260:6.4.1-1
#[test]
fn what_is_in_flight_leaves_a_path_that_goes_down() {
    let mut world = World::with(impatient().with(|c| c.timers.rto_min = Duration::from_secs(4)));
    world.run(Duration::from_secs(1));
    world.ours().add_path(FAR.into());
    world.silent[0] = true;
    while world.told(&Event::PathDown { path: 0 }) == 0 {
        world.send_on(0, 1);
        world.run(Duration::from_millis(200));
        assert!(world.now < Instant::ZERO + Duration::from_secs(60));
        world.ours().audit().unwrap();
    }
    // No RTO has passed since the last of it left.
    world.run(Duration::from_millis(800));
    assert!(world.keeps_nothing());
    world.ours().audit().unwrap();
}

/// While no path works data waits for the first that does.
#[test]
fn the_first_path_that_answers_is_used() {
    let mut world = World::with(impatient());
    world.run(Duration::from_secs(1));
    let far = world.ours().add_path(FAR.into());
    assert!(world.ours().use_path(1, far));
    for (works, waits) in [(1, 0), (0, 1)] {
        let delivered = world.delivered;
        world.silent = [true; 2];
        world.send(5);
        world.run(Duration::from_secs(60));
        assert_eq!(world.delivered, delivered);
        world.silent[works] = false;
        world.run(Duration::from_secs(15));
        assert_eq!(world.delivered, delivered.map(|sum| sum + 5000), "{works}");
        assert!(world.keeps_nothing());
        world.silent[waits] = false;
        world.run(Duration::from_secs(15));
        let before = (world.data_to(NEAR, 46), world.data_to(FAR, 10));
        world.send(5);
        world.run(Duration::from_secs(2));
        assert_eq!((world.data_to(NEAR, 46), world.data_to(FAR, 10)), (before.0 + 5, before.1 + 5));
        world.ours().audit().unwrap();
    }
}

// rfc9260:6.4-1 rfc9260:6.4.1-1
#[test]
fn the_user_chooses_the_primary_path() {
    let mut world = World::with(impatient());
    world.run(Duration::from_secs(1));
    let (near, address) = (SocketAddr::from(NEAR).ip(), SocketAddr::from(FAR).ip());
    let set = |world: &mut World, to| world.ends[0].association(world.id).unwrap().set_primary(world.now, to);
    world.silent[1] = true;
    world.ours().list_path(FAR.into());
    assert_eq!(set(&mut world, address), Err(PathError::NotConfirmed(address)));
    world.silent[1] = false;
    world.run(Duration::from_secs(10));
    assert_eq!(set(&mut world, address), Ok(()));
    let primary = |world: &mut World| world.ours().status().paths.iter().position(|path| path.primary);
    assert_eq!(primary(&mut world), Some(1));
    world.send(5);
    world.run(Duration::from_secs(2));
    assert_eq!(world.delivered, [5000; 2]);
    assert_eq!([46, 10].map(|dscp| (world.data_to(NEAR, dscp), world.data_to(FAR, dscp))), [(0, 5); 2]);
    // It goes down, and comes back.
    world.silent[1] = true;
    for _ in 0..60 {
        world.send(1);
        world.run(Duration::from_millis(500));
    }
    world.run(Duration::from_secs(5));
    assert_eq!(world.delivered, [65_000; 2]);
    world.silent[1] = false;
    world.run(Duration::from_secs(10));
    let before = [46, 10].map(|dscp| (world.data_to(NEAR, dscp), world.data_to(FAR, dscp)));
    world.send(5);
    world.run(Duration::from_secs(2));
    let after = [46, 10].map(|dscp| (world.data_to(NEAR, dscp), world.data_to(FAR, dscp)));
    assert_eq!(after, before.map(|(near, far)| (near, far + 5)));
    // The one of the handshake is primary again, and control chunks go there.
    assert_eq!(set(&mut world, near), Ok(()));
    world.send(5);
    world.run(Duration::from_secs(2));
    let last = [46, 10].map(|dscp| (world.data_to(NEAR, dscp), world.data_to(FAR, dscp)));
    assert_eq!(last, after.map(|(near, far)| (near + 5, far)));
    let now = world.now;
    world.ends[0].association(world.id).unwrap().shutdown(now);
    world.run(Duration::from_secs(2));
    assert_eq!((world.begun_with(NEAR, SHUTDOWN), world.begun_with(FAR, SHUTDOWN)), (1, 0));
}
