//! The golden set of lives: two endpoints whose packets and events must not change.
//!
//! Networks lose, duplicate, reorder, replay and forge; users write, pause, reset streams, change subflows, close and abort. Each
//! life has a line in `golden/hashes.txt`: name, packets, time of the last one, number of events, then two hashes. The first is of
//! every packet: when, by whom, to whom, code point, ECN field, bytes. The second is of every event and the outcome of the users'
//! wishes, in debug form. Behind them stand the number of trace records and two hashes of values that nobody sees on the wire: of these
//! records, and of all counters of both associations at the end. The times at which timers ask to be woken are in
//! none of them: they may be early. Lives that chance does not bring, such as restarts, are in `golden/scripts.rs`.
//!
//! A counter that is added to `Snapshot` changes the last hash of each life, and nothing else.
//!
//! Accepting changes, and writing the packets of a life out, is described in `crates/sim/tests/golden.rs`; here it is
//! `cargo test -p anabranch-sctp --test golden`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

#[path = "../../sim/tests/golden/book.rs"]
mod book;
mod common;
#[path = "common/life.rs"]
mod life;
#[path = "golden/scripts.rs"]
mod scripts;

use std::path::Path;

use anabranch_base::{Dscp, Duration, Instant, Rng, TraceRecord};
use anabranch_sctp::config::{Coupling, LossDetection, StreamScheduling, SubflowLevel, SubflowScheduler};
use anabranch_sctp::{Config, Snapshot, SubflowSpec};
use book::{Book, Fnv};
use common::Side;
use life::{Plan, Sent, World};

/// Every profile; a new one wants lives of its own.
const PROFILES: [&str; 14] = [
    "kame-2006",
    "kame-2006-bugs",
    "linux-6.1",
    "lksctp-2006",
    "lksctp-2006-bugs",
    "modern",
    "ns2-2.28",
    "ns2-2.35",
    "rfc2960",
    "rfc9260",
    "rfc9260-rack",
    "sctplib-2001",
    "sf2007",
    "webrtc",
];

/// Lives of each profile.
const LIVES: u64 = 8;

/// One life.
struct Life {
    name: String,
    seed: u64,
    plan: Plan,
    rng: Rng,
}

fn one_of<T: Clone>(rng: &mut Rng, values: &[T]) -> T {
    values[rng.below(values.len() as u64) as usize].clone()
}

fn config(rng: &mut Rng, profile: &str, number: u64) -> Config {
    let mut config = Config::named(profile).unwrap();
    let is_sf2007 = profile == "sf2007";
    if !is_sf2007 {
        config.subflows.level = if number % 2 == 1 { SubflowLevel::One } else { SubflowLevel::Zero };
        config.extensions.interleaving = number % 4 == 2;
        config.extensions.reconfiguration = number % 4 != 0;
    }
    config.extensions.peer_resets_association = rng.chance(0.5);
    config.subflows.coupling = one_of(
        rng,
        &[
            Coupling::Independent,
            Coupling::Independent,
            Coupling::Shared,
            Coupling::FccN,
            Coupling::FccN2,
            Coupling::Lia,
            Coupling::Olia,
            Coupling::Adaptive,
        ],
    );
    common::uncouple(&mut config);
    let subflows = if number == 0 { 0 } else { 1 + rng.below(4) as u8 };
    let spec = |i: u8| SubflowSpec { weight: 1 + u16::from(i), ..SubflowSpec::new(Dscp::new(i).unwrap()) };
    config.subflows.open = (0..subflows).map(spec).collect();
    config.subflows.scheduler = one_of(
        rng,
        &[
            SubflowScheduler::Fcfs,
            SubflowScheduler::WeightedRoundRobin,
            SubflowScheduler::WeightedFair,
            SubflowScheduler::Priority,
        ],
    );
    config.streams.scheduling = one_of(rng, &StreamScheduling::ALL);
    // Nothing below finds errors here, where packets are forged.
    config.extensions.zero_checksum = None;
    config.streams.outbound = 16;
    config.streams.max_outbound = 20;
    config.mtu = one_of(rng, &[576, 600, 1280, 1500, 9000]);
    config.limits.receive_window = one_of(rng, &[6000, 30_000, 1 << 20]);
    if config.subflows.level != SubflowLevel::Zero {
        // Each subflow has a part of the buffer for itself: it must hold the longest message.
        config.limits.receive_window = config.limits.receive_window.max(1 << 18);
    }
    config.limits.send_buffer = one_of(rng, &[5_000, 256 << 10]);
    config.timers.rto_max = Duration::from_secs(5);
    config.timers.rto_min = Duration::from_millis(one_of(rng, &[10, 200, 1000]));
    config.sack.delay = Duration::from_millis(one_of(rng, &[0, 20, 200]));
    config.timers.heartbeat_interval = Duration::from_secs(one_of(rng, &[0, 1, 30]));
    config.emulation.data_with_cookie = rng.chance(0.5);
    config.pacing.enabled = rng.chance(0.25);
    config.streams.statistics = number % 2 == 0;
    if rng.chance(0.25) {
        config.congestion.loss_detection = LossDetection::Rack;
        config.congestion.tail_loss_probe = true;
    }
    // In some lives somebody gives up.
    if number % 4 != 3 {
        config.limits.association_max_retrans = 1000;
        config.limits.max_init_retransmits = 1000;
    }
    config
}

fn lives() -> Vec<Life> {
    assert_eq!(PROFILES, Config::PROFILES, "a new profile wants lives of its own");
    let mut lives = Vec::new();
    for profile in PROFILES {
        for number in 0..LIVES {
            let mut rng = Rng::stream(number, profile, "golden");
            let config = config(&mut rng, profile, number);
            let level = match config.subflows.level {
                SubflowLevel::Zero => "level0",
                SubflowLevel::One => "level1",
                SubflowLevel::Sf2007 => "sf2007",
            };
            let mut sometimes = |p: f64, most: f64| if rng.chance(p) { rng.f64() * most } else { 0.0 };
            let (loss, duplicate, reorder) = (sometimes(0.8, 0.3), sometimes(0.5, 0.3), sometimes(0.5, 0.5));
            let (replay, forge) = (sometimes(0.4, 0.2), sometimes(0.4, 0.2));
            let plan = Plan {
                loss,
                duplicate,
                reorder,
                replay,
                forge,
                both_connect: rng.chance(0.3),
                messages: 20 + rng.below(120),
                largest: one_of(&mut rng, &[10, 2000, 20_000]),
                streams: 1 + rng.below(16) as u16,
                heals_at: Instant::ZERO + Duration::from_secs(10),
                closes_early: rng.chance(0.4),
                aborts: rng.chance(0.25),
                resets: if config.extensions.reconfiguration || level == "level1" { 0.02 } else { 0.0 },
                changes: if config.subflows.open.is_empty() { 0.0 } else { 0.03 },
                config,
            };
            lives.push(Life { name: format!("{profile}/{number}-{level}"), seed: number, plan, rng });
        }
    }
    lives
}

/// Events that had no fields when the hashes were made, and that have tests of their own for those they have now.
const FIELDS_CAME_LATER: [&str; 4] = ["Accepted", "Restarted", "Readable", "Writable"];

fn without_later_fields(told: &str) -> String {
    let mut text = told.to_owned();
    for name in FIELDS_CAME_LATER {
        let begin = format!("{name} {{");
        while let Some(at) = text.find(&begin) {
            let end = text[at..].find('}').unwrap_or_else(|| panic!("{text}"));
            text.replace_range(at + name.len()..=at + end, "");
        }
    }
    text
}

fn without_time(snapshot: &Snapshot) -> String {
    format!("{:?}", Snapshot { at: Instant::ZERO, ..snapshot.clone() })
}

/// Content that is hashed: packets with their text for a dump, events, and the state inside.
struct Recorded {
    packets: Vec<Sent>,
    events: Vec<(Instant, Side, String)>,
    trace: Vec<(Side, TraceRecord)>,
    /// At the end, by side and number of the association. When they were touched last does not count.
    counters: Vec<(Side, usize, Snapshot)>,
}

impl Recorded {
    fn line(&self) -> String {
        let (mut packets, mut events) = (Fnv::default(), Fnv::default());
        for sent in &self.packets {
            packets.number(sent.at.as_nanos());
            packets.number(sent.from as u64);
            packets.part(sent.destination.to_string().as_bytes());
            packets.number(u64::from(sent.dscp.get()));
            packets.number(sent.ecn as u64);
            packets.part(&sent.bytes);
        }
        for (at, side, told) in &self.events {
            events.number(at.as_nanos());
            events.number(*side as u64);
            events.part(without_later_fields(told).as_bytes());
        }
        let (mut trace, mut counters) = (Fnv::default(), Fnv::default());
        for (side, record) in &self.trace {
            trace.number(*side as u64);
            trace.part(format!("{record:?}").as_bytes());
        }
        for (side, index, snapshot) in &self.counters {
            counters.number(*side as u64);
            counters.number(*index as u64);
            counters.part(without_time(snapshot).as_bytes());
        }
        let last = self.packets.last().map_or(0, |sent| sent.at.as_nanos());
        format!(
            "packets={} last={}.{:09} events={} {} {} trace={} {} {}",
            self.packets.len(),
            last / 1_000_000_000,
            last % 1_000_000_000,
            self.events.len(),
            packets.text(),
            events.text(),
            self.trace.len(),
            trace.text(),
            counters.text()
        )
    }

    fn text(&self) -> String {
        let packets = self.packets.iter().map(|sent| {
            let Sent { at, from, destination, dscp, ecn, bytes } = sent;
            let (at, dscp, bytes) = (at.as_nanos(), dscp.get(), book::hex(bytes));
            format!("{at:>15} {from:?} {destination} dscp {dscp} {ecn:?} {bytes}\n")
        });
        let events =
            self.events.iter().map(|(at, side, told)| format!("{:>15} {side:?} {told}\n", at.as_nanos()));
        let trace = self.trace.iter().map(|(side, record)| format!("{side:?} {record:?}\n"));
        let counters = self
            .counters
            .iter()
            .map(|(side, index, snapshot)| format!("{side:?} {index} {}\n", without_time(snapshot)));
        packets.chain(events).chain(trace).chain(counters).collect()
    }
}

fn live(life: Life, idle_wake_ups: bool) -> (Recorded, u64) {
    let mut world = World::new(life.seed, life.plan, life.rng);
    world.idle_wake_ups = idle_wake_ups.then(|| Rng::stream(life.seed, "test", "idle wake-ups"));
    world.record_trace();
    world.run(Duration::from_secs(60));
    let (trace, counters) = (world.trace(), world.counters());
    (Recorded { packets: world.seen, events: world.told, trace, counters }, world.steps)
}

#[test]
fn packets_and_events_are_those_of_the_golden_set() {
    if let Some(wanted) = book::dumped() {
        let life = lives().into_iter().find(|life| life.name == wanted).map(|life| live(life, false).0);
        let script = || scripts::ALL.iter().find(|(name, _)| *name == wanted).map(|(_, play)| play());
        let told = life.or_else(script).unwrap_or_else(|| panic!("no life is called {wanted}"));
        let said = book::dump(&wanted, &[("txt", told.text().as_bytes())]);
        eprintln!("{said}\n{wanted} {}", told.line());
        return;
    }
    let mut today = Book::new();
    for life in lives() {
        today.insert(life.name.clone(), book::line(|| live(life, false).0.line()));
    }
    for (name, play) in scripts::ALL {
        today.insert((*name).to_owned(), book::line(|| play().line()));
    }
    book::check(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/hashes.txt"), &today);
}

/// A timer may ask to be woken too early. An endpoint that is woken without a reason sends nothing that it would not
/// have sent.
#[test]
fn idle_wake_ups_change_nothing() {
    let mut differ = Vec::new();
    for (asked, idle) in lives().into_iter().zip(lives()) {
        let name = asked.name.clone();
        let ((asked, steps), (idle, more)) = (live(asked, false), live(idle, true));
        assert!(more > steps, "{name}: nobody was woken without a reason");
        if asked.line() != idle.line() {
            differ.push(name);
        }
    }
    assert!(differ.is_empty(), "{differ:?}");
}
