//! The golden set of lives with two paths: packets, events, trace records and counters that must not change.
//!
//! Data of two subflows goes to the near and to the far address, and moves between them; both addresses lose, mark and fall silent;
//! messages are given up, streams begin anew, ICMP says how long a packet may be. Each life has a line in `tests/golden/two_paths.txt`: name,
//! packets, events and trace records, data received on each stream, then a hash of packets, one of events and of notices to users,
//! one of trace records and one of counters. `tests/golden.rs` explains the hashes, how to accept changes and how to write out a
//! life; here it is `cargo test -p anabranch-sctp --lib golden`.

#[path = "../../../../sim/tests/golden/book.rs"]
mod book;

use std::path::Path;

use anabranch_base::TraceRecord;
use book::{Book, Fnv};

use super::*;
use crate::config::{CongestionControl, Coupling, LossDetection, SubflowLevel, SubflowScheduler};
use crate::stats::Snapshot;

/// How long users are active, and how long everything has to arrive afterwards.
const ACTIVE: Duration = Duration::from_secs(40);
const QUIET: Duration = Duration::from_secs(120);

/// A set of lives: their name, and their changes to the configuration of RFC 9260.
struct Kind {
    name: &'static str,
    config: fn() -> Config,
}

fn coupled(coupling: Coupling) -> Config {
    Config::rfc9260().with(|c| c.subflows.coupling = coupling)
}

const KINDS: [Kind; 13] = [
    Kind { name: "rfc9260", config: Config::rfc9260 },
    Kind { name: "rfc2960", config: Config::rfc2960 },
    Kind { name: "modern", config: Config::modern },
    Kind { name: "ns2-2.35", config: || Config::named("ns2-2.35").unwrap() },
    Kind { name: "kame-2006", config: || Config::named("kame-2006").unwrap() },
    Kind { name: "level1", config: || Config::rfc9260().with(|c| c.subflows.level = SubflowLevel::One) },
    Kind { name: "interleaving", config: || Config::rfc9260().with(|c| c.extensions.interleaving = true) },
    Kind {
        name: "rack",
        config: || {
            Config::rfc9260().with(|c| {
                c.congestion.loss_detection = LossDetection::Rack;
                c.congestion.tail_loss_probe = true;
                c.subflows.scheduler = SubflowScheduler::WeightedFair;
            })
        },
    },
    Kind { name: "fcc-n2", config: || coupled(Coupling::FccN2) },
    Kind { name: "lia", config: || coupled(Coupling::Lia) },
    Kind { name: "olia", config: || coupled(Coupling::Olia) },
    Kind { name: "adaptive", config: || coupled(Coupling::Adaptive) },
    Kind {
        name: "paced",
        config: || {
            Config::modern().with(|c| {
                c.pacing.enabled = true;
                c.congestion.control = CongestionControl::RENO;
            })
        },
    },
];

/// Lives of each kind.
const LIVES: u64 = 4;

/// The packets, events, trace records and counters of a life.
struct LifeRecord {
    packets: Vec<Logged>,
    heard: Vec<(Instant, usize, String)>,
    trace: Vec<(usize, TraceRecord)>,
    counters: Vec<Snapshot>,
    delivered: [u64; 2],
}

impl LifeRecord {
    fn line(&self) -> String {
        let [mut packets, mut heard, mut trace, mut counters] = [Fnv::default(); 4];
        for packet in &self.packets {
            packets.part(packet.text().as_bytes());
        }
        for each in &self.heard {
            heard.part(format!("{each:?}").as_bytes());
        }
        for each in &self.trace {
            trace.part(format!("{each:?}").as_bytes());
        }
        for each in &self.counters {
            counters.part(format!("{each:?}").as_bytes());
        }
        let counts = format!("{} {} {}", self.packets.len(), self.heard.len(), self.trace.len());
        let hashes = [packets, heard, trace, counters].map(Fnv::text).join(" ");
        format!("{counts} {:?} {hashes}", self.delivered)
    }

    fn text(&self) -> String {
        let packets = self.packets.iter().map(|packet| packet.text() + "\n");
        let heard = self.heard.iter().map(|each| format!("{each:?}\n"));
        let trace = self.trace.iter().map(|each| format!("{each:?}\n"));
        let counters = self.counters.iter().map(|each| format!("{each:?}\n"));
        packets.chain(heard).chain(trace).chain(counters).collect()
    }
}

impl Logged {
    fn text(&self) -> String {
        let Self { at, side, theirs, dscp, ecn, bytes } = self;
        let (at, dscp, bytes) = (at.as_nanos(), dscp.get(), book::hex(bytes));
        format!("{at:>15} {side} {theirs} dscp {dscp} {ecn:?} {bytes}")
    }
}

/// Something that a user wishes or the network does.
fn act(world: &mut World, rng: &mut Rng, far: PathId) {
    let now = world.now;
    let stream = rng.below(2) as u16;
    let side = usize::from(rng.chance(0.2));
    let id = [world.id, PEERS][side];
    let mut told = String::new();
    match rng.below(20) {
        0..=11 => {
            let longest = if rng.chance(0.1) { 20_000 } else { 3000 };
            let length = 1 + rng.below(longest) as usize;
            let mut message = Message::new(stream, Bytes::from(vec![stream as u8; length]));
            message.unordered = rng.chance(0.2);
            if rng.chance(0.2) {
                message = message.max_retransmissions(rng.below(2) as u16);
            }
            told = format!("{:?}", world.ends[side].association(id).map(|mut to| to.send(now, message)));
        }
        12 => {
            let path = if rng.chance(0.5) { far } else { PathId::new(0) };
            told = format!("moved {}", world.ours().use_path(stream as u8, path));
        }
        13 | 14 => world.lose[rng.below(2) as usize] += 1 + rng.below(4),
        15 => world.mark += 1,
        16 => world.silent[1] = rng.chance(0.3),
        17 => {
            let to = world.ends[side].association(id);
            told = format!("{:?}", to.map(|mut to| to.reset_streams(now, Direction::Outgoing, &[stream])));
        }
        18 => {
            let at = if rng.chance(0.5) { FAR } else { NEAR };
            let mtu = 600 + rng.below(900) as u16;
            if rng.chance(0.1) {
                told = format!(
                    "{}",
                    world.ours().path_manager().on_too_big(now, SocketAddr::from(at).ip(), mtu.into())
                );
            }
        }
        _ => {}
    }
    world.heard.push((now, side, told));
}

fn live(kind: &Kind, number: u64) -> LifeRecord {
    let mut rng = Rng::stream(number, kind.name, "two paths");
    let mut config = (kind.config)().with(|c| {
        c.extensions.reconfiguration = number % 2 == 0;
        c.extensions.partial_reliability = true;
        c.extensions.ecn = if number % 4 < 2 { EcnMode::Classic } else { EcnMode::Off };
        c.streams.statistics = true;
        c.timers.heartbeat_interval = Duration::from_secs(if number % 2 == 0 { 2 } else { 30 });
        c.timers.rto_max = Duration::from_secs(5);
        c.limits.association_max_retrans = 1000;
    });
    if number == 3 {
        // The path is given up soon.
        config.limits.path_max_retrans = 1;
    }
    let mut world = World::with(config);
    world.log = Some(Vec::new());
    for end in &mut world.ends {
        end.set_trace(true);
    }
    world.run(Duration::from_secs(1));
    let far =
        if rng.chance(0.5) { world.ours().add_path(FAR.into()) } else { world.ours().list_path(FAR.into()) };
    world.run(Duration::from_secs(1));
    world.ours().use_path(1, far);
    let end = world.now + ACTIVE;
    while world.now < end {
        act(&mut world, &mut rng, far);
        let longest = if rng.chance(0.1) { 3000 } else { 40 };
        world.run(Duration::from_millis(1 + rng.below(longest)));
        world.ours().audit().unwrap();
    }
    (world.lose, world.mark, world.silent) = ([0; 2], 0, [false; 2]);
    world.run(QUIET);
    let now = world.now;
    if let Some(mut ours) = world.ends[0].association(world.id) {
        ours.shutdown(now);
    }
    world.run(QUIET);
    let mut trace = Vec::new();
    for (side, end) in world.ends.iter_mut().enumerate() {
        trace.extend(end.drain_trace().map(|record| (side, record)));
    }
    let ids = [world.id, PEERS];
    let views = world.ends.iter().zip(ids).filter_map(|(end, id)| end.view(id));
    let counters = views.map(|view| Snapshot { at: Instant::ZERO, ..view.snapshot() }).collect();
    let World { log, heard, delivered, .. } = world;
    LifeRecord { packets: log.unwrap_or_default(), heard, trace, counters, delivered }
}

#[test]
fn lives_with_two_paths_are_those_of_the_golden_set() {
    let lives = || KINDS.iter().flat_map(|kind| (0..LIVES).map(move |number| (kind, number)));
    let name = |kind: &Kind, number: u64| format!("two-paths/{}/{number}", kind.name);
    if let Some(wanted) = book::dumped() {
        // Another test has the others.
        if let Some((kind, number)) = lives().find(|(kind, number)| name(kind, *number) == wanted) {
            let told = live(kind, number);
            let said = book::dump(&wanted, &[("txt", told.text().as_bytes())]);
            eprintln!("{said}\n{wanted} {}", told.line());
        }
        return;
    }
    let today: Book = lives()
        .map(|(kind, number)| (name(kind, number), book::line(|| live(kind, number).line())))
        .collect();
    book::check(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/two_paths.txt"), &today);
}
