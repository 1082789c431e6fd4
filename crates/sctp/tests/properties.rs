//! The formal properties of an association's life (USENIX Security 2024, "A Formal Analysis of SCTP": P1 to P10, in
//! their intended forms), and delivery exactly once, watched at every step of randomised runs: loss, duplication,
//! reordering, replay and forged packets, pauses of the reader, both sides talking, both closing.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

mod common;
#[path = "common/life.rs"]
mod life;

use anabranch_base::{Duration, Instant, Rng};
use anabranch_sctp::Config;
use anabranch_sctp::config::StreamScheduling;
use life::{Plan, World};

/// Draws the faults of the network and the habits of the users.
fn draw(rng: &mut Rng) -> Plan {
    // sf2007 has chunks of its own, which the monitor does not read.
    let profiles = Config::PROFILES.map(|name| if name == "sf2007" { "rfc2960" } else { name });
    let mut config = Config::named(profiles[rng.below(profiles.len() as u64) as usize]).unwrap();
    // Nothing below finds errors here, where packets are forged.
    config.extensions.zero_checksum = None;
    config.streams.outbound = 16;
    config.mtu = [576, 600, 1280, 1500, 9000][rng.below(5) as usize];
    config.limits.receive_window = [1500, 4000, 30_000, 1 << 20][rng.below(4) as usize];
    config.limits.send_buffer = [5_000, 256 << 10][rng.below(2) as usize];
    config.limits.association_max_retrans = 1000;
    config.limits.max_init_retransmits = 1000;
    config.timers.rto_max = Duration::from_secs(5);
    config.timers.rto_min = Duration::from_millis([10, 200, 1000][rng.below(3) as usize]);
    config.sack.delay = Duration::from_millis([0, 20, 200][rng.below(3) as usize]);
    config.timers.heartbeat_interval = Duration::from_secs([0, 1, 30][rng.below(3) as usize]);
    config.timers.shutdown_guard_rto_max = 0;
    config.emulation.data_with_cookie = rng.chance(0.5);
    config.streams.scheduling = StreamScheduling::ALL[rng.below(StreamScheduling::ALL.len() as u64) as usize];
    let mut sometimes = |p: f64, most: f64| if rng.chance(p) { rng.f64() * most } else { 0.0 };
    let (loss, duplicate, reorder) = (sometimes(0.8, 0.4), sometimes(0.5, 0.3), sometimes(0.5, 0.5));
    let (replay, forge) = (sometimes(0.5, 0.2), sometimes(0.5, 0.2));
    Plan {
        loss,
        duplicate,
        reorder,
        replay,
        forge,
        both_connect: rng.chance(0.3),
        messages: rng.below(120),
        largest: [10, 2000, 20_000][rng.below(3) as usize],
        streams: 1 + rng.below(16) as u16,
        heals_at: Instant::ZERO + Duration::from_secs(20),
        closes_early: rng.chance(0.4),
        aborts: rng.chance(0.05),
        resets: 0.0,
        changes: 0.0,
        config,
    }
}
fn lives(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let outcome = std::panic::catch_unwind(|| {
            let mut rng = Rng::stream(seed, "test", "properties");
            let plan = draw(&mut rng);
            let mut world = World::new(seed, plan, rng);
            world.run(Duration::from_secs(4000));
            world.settle();
        });
        assert!(outcome.is_ok(), "seed {seed}");
    }
}

#[test]
fn lives_of_associations_1() {
    lives(0..150);
}

#[test]
fn lives_of_associations_2() {
    lives(1000..1150);
}

/// As many lives as `LIVES` says: for long nights.
#[test]
#[ignore = "takes as long as it is told to: make soak"]
fn lives_of_associations_without_end() {
    let count = std::env::var("LIVES").ok().and_then(|n| n.parse().ok()).unwrap_or(10_000);
    lives(1_000_000..1_000_000 + count);
}
