//! Data, FORWARD-TSN, marks and timers of associations whose data goes round a path that is silent or down, and random lives of them.

use super::*;
use crate::config::{
    CongestionControl, Coupling, LossDetection, MtuDiscovery, SubflowLevel, SubflowScheduler,
};
use crate::ids::Id;

fn give(world: &mut World, message: Message) {
    let now = world.now;
    world.ends[0].association(world.id).unwrap().send(now, message).unwrap();
}

/// An association with two addresses of the peer, whose near address falls silent under a message that is given up when it is lost.
fn with_a_message_that_is_given_up(config: Config) -> World {
    let mut world = World::with(config.with(|c| c.extensions.partial_reliability = true));
    world.run(Duration::from_secs(1));
    world.ours().add_path(FAR.into());
    world.send_on(0, 5);
    world.run(Duration::from_secs(2));
    world.silent[0] = true;
    give(&mut world, Message::new(0, Bytes::from(vec![1; 1000])).max_retransmissions(0));
    world
}

/// A FORWARD-TSN about a message that was given up on a path that is down leaves on another.
#[test]
fn forward_tsn_goes_round_a_path_that_is_down() {
    let mut world = with_a_message_that_is_given_up(impatient());
    world.run(Duration::from_secs(60));
    assert_eq!(world.told(&Event::PathDown { path: 0 }), 1);
    let before = world.delivered[0];
    world.send_on(0, 10);
    world.run(Duration::from_secs(20));
    assert!(world.keeps_nothing(), "the peer never hears of it");
    assert_eq!(world.delivered[0] - before, 10_000);
}

/// The same with the default limits: HEARTBEAT ACKs of the far path keep the association alive.
#[test]
fn forward_tsn_alone_does_not_end_an_association_that_has_a_path() {
    let mut world = with_a_message_that_is_given_up(Config::rfc9260());
    world.run(Duration::from_secs(1000));
    assert!(world.heard.iter().all(|(_, _, heard)| !heard.contains("Closed")), "it has ended");
}

#[test]
fn a_chunk_longer_than_the_other_path_carries() {
    for discovery in [Config::rfc9260().path_mtu.discovery, MtuDiscovery::Probes] {
        let mut world = World::with(impatient().with(|c| c.path_mtu.discovery = discovery));
        world.run(Duration::from_secs(1));
        world.ours().add_path(FAR.into());
        let now = world.now;
        world.ours().path_manager().on_too_big(now, SocketAddr::from(FAR).ip(), 1000);
        world.silent[0] = true;
        for _ in 0..20 {
            world.send(3);
            give(&mut world, Message::new(0, Bytes::from(vec![1; 9000])));
            world.run(Duration::from_millis(500));
            world.ours().audit().unwrap();
        }
        world.run(Duration::from_secs(60));
        assert!(world.keeps_nothing());
    }
}

#[test]
fn a_closed_association_arms_nothing() {
    let mut world = World::with(impatient());
    world.run(Duration::from_secs(1));
    world.ours().add_path(FAR.into());
    world.send(1);
    world.run(Duration::from_secs(2));
    let now = world.now;
    world.ends[0].association(world.id).unwrap().shutdown(now);
    world.run(Duration::from_secs(20));
    let address = SocketAddr::from(FAR).ip();
    if let Some(mut ours) = world.ends[0].association(world.id) {
        let _refused_or_not: Result<(), PathError> = ours.set_primary(now, address);
    }
    assert_eq!(world.ours().next_timeout(), None);
}

#[test]
fn shutdown_while_the_primary_is_silent() {
    let mut world = World::with(impatient());
    world.run(Duration::from_secs(1));
    world.ours().add_path(FAR.into());
    world.send(1);
    world.run(Duration::from_secs(2));
    world.silent[0] = true;
    world.send(20);
    let now = world.now;
    world.ends[0].association(world.id).unwrap().shutdown(now);
    world.run(Duration::from_secs(200));
    assert_eq!(world.delivered, [21_000; 2]);
}

/// ECN counters of level 1 go on to count after something has gone by another path.
#[test]
fn marks_of_level_1_count_after_a_detour() {
    let cuts = |detour: bool| {
        let mut world = World::with(Config::rfc9260().with(|c| {
            c.subflows.level = SubflowLevel::One;
            c.extensions.ecn = EcnMode::Classic;
        }));
        world.mark_near = true;
        world.run(Duration::from_secs(1));
        world.ours().add_path(FAR.into());
        world.send(30);
        world.run(Duration::from_secs(5));
        if detour {
            // One packet of subflow 1 times out, and leaves again on the far path.
            world.silent[0] = true;
            world.send_on(1, 1);
            world.run(Duration::from_millis(500));
            world.silent[0] = false;
            world.run(Duration::from_secs(5));
            assert!(world.keeps_nothing());
            assert_eq!(world.ours().snapshot().stats.timeouts, 1);
        }
        let mut cuts = 0;
        for _ in 0..10 {
            let before = world.ours().snapshot().stats.ecn_reductions;
            world.mark = 1;
            for _ in 0..40 {
                world.send_on(1, 1);
                world.run(Duration::from_millis(20));
            }
            assert_eq!(world.mark, 0);
            cuts += world.ours().snapshot().stats.ecn_reductions - before;
        }
        assert!(world.keeps_nothing());
        cuts
    };
    let (straight, detour) = (cuts(false), cuts(true));
    assert!(straight > 5);
    assert_eq!(straight, detour);
}

type Kind = (&'static str, fn() -> Config);

const KINDS: [Kind; 14] = [
    ("rfc9260", Config::rfc9260),
    ("rfc2960", Config::rfc2960),
    ("modern", Config::modern),
    ("for_networks", Config::for_networks),
    ("ns2-2.35", || Config::named("ns2-2.35").unwrap()),
    ("kame-2006", || Config::named("kame-2006").unwrap()),
    ("level1", || Config::rfc9260().with(|c| c.subflows.level = SubflowLevel::One)),
    ("interleaving", || Config::rfc9260().with(|c| c.extensions.interleaving = true)),
    ("rack", || {
        Config::rfc9260().with(|c| {
            c.congestion.loss_detection = LossDetection::Rack;
            c.congestion.tail_loss_probe = true;
            c.subflows.scheduler = SubflowScheduler::WeightedFair;
        })
    }),
    ("fcc-n2", || Config::rfc9260().with(|c| c.subflows.coupling = Coupling::FccN2)),
    ("olia", || Config::rfc9260().with(|c| c.subflows.coupling = Coupling::Olia)),
    ("adaptive", || Config::rfc9260().with(|c| c.subflows.coupling = Coupling::Adaptive)),
    ("shared", || Config::rfc9260().with(|c| c.subflows.coupling = Coupling::Shared)),
    ("paced", || {
        Config::modern().with(|c| {
            c.pacing.enabled = true;
            c.congestion.control = CongestionControl::RENO;
        })
    }),
];

fn life(name: &str, config: fn() -> Config, number: u64) {
    let mut rng = Rng::stream(number, name, "detours");
    let mut config = config().with(|c| {
        c.extensions.reconfiguration = number % 2 == 0;
        c.extensions.partial_reliability = number % 3 != 0;
        c.extensions.ecn = if number % 4 < 2 { EcnMode::Classic } else { EcnMode::Off };
        c.streams.statistics = true;
        c.timers.heartbeat_interval = Duration::from_secs(2);
        c.timers.rto_max = Duration::from_secs(3);
        c.limits.association_max_retrans = 1000;
    });
    config.limits.path_max_retrans = (number % 3) as u32;
    let small = number % 5 == 4;
    if small {
        config.limits.receive_window = 4000;
    }
    let mut world = World::with(config);
    world.run(Duration::from_secs(1));
    let far =
        if rng.chance(0.5) { world.ours().add_path(FAR.into()) } else { world.ours().list_path(FAR.into()) };
    world.run(Duration::from_secs(1));

    let mut expected = [0u64; 2];
    let mut reliable = true;
    let end = world.now + Duration::from_secs(60);
    while world.now < end {
        let now = world.now;
        let stream = rng.below(2) as u16;
        match rng.below(22) {
            0..=9 => {
                let longest = if rng.chance(0.1) { 20_000 } else { 3000 };
                let length = 1 + rng.below(longest) as usize;
                let mut message = Message::new(stream, Bytes::from(vec![stream as u8; length]));
                message.unordered = rng.chance(0.2);
                if number % 3 != 0 && rng.chance(0.2) {
                    message = message.max_retransmissions(rng.below(2) as u16);
                    reliable = false;
                }
                if world.ends[0].association(world.id).unwrap().send(now, message).is_ok() {
                    expected[usize::from(stream)] += length as u64;
                }
            }
            10 => {
                let path = if rng.chance(0.5) { far } else { PathId::new(0) };
                if world.ours().status().paths[path.row()].confirmed {
                    world.ours().use_path(stream as u8, path);
                }
            }
            11 | 12 => world.lose[rng.below(2) as usize] += 1 + rng.below(4),
            13 => world.mark += 1,
            14 => world.silent[rng.below(2) as usize] = rng.chance(0.6),
            15 => world.silent = [false; 2],
            16 => {
                let at = if rng.chance(0.5) { FAR } else { NEAR };
                let _ =
                    world.ends[0].association(world.id).unwrap().set_primary(now, SocketAddr::from(at).ip());
            }
            17 if rng.chance(0.1) => {
                let at = if rng.chance(0.5) { FAR } else { NEAR };
                let mtu = 600 + rng.below(900) as u16;
                world.ours().path_manager().on_too_big(now, SocketAddr::from(at).ip(), mtu.into());
            }
            18 if rng.chance(0.3) => {
                let _ = world.ends[0].association(world.id).unwrap().reset_streams(
                    now,
                    Direction::Outgoing,
                    &[stream],
                );
            }
            19 if rng.chance(0.2) => {
                let _ = world.ends[0]
                    .association(world.id)
                    .unwrap()
                    .add_subflow(now, &SubflowSpec::new(Dscp::new(20).unwrap()));
            }
            20 if rng.chance(0.2) => {
                let from = 1 + rng.below(3) as u8;
                let _ = world.ends[0].association(world.id).unwrap().merge_subflows(now, from, 0);
            }
            _ => {}
        }
        let longest = if rng.chance(0.2) { 3000 } else { 40 };
        world.run(Duration::from_millis(1 + rng.below(longest)));
        world.ours().audit().unwrap();
    }
    (world.lose, world.mark, world.silent) = ([0; 2], 0, [false; 2]);
    world.run(Duration::from_secs(120));
    let quiet = world.now;
    assert!(world.keeps_nothing(), "{name} {number}: kept at {quiet:?}");
    if reliable {
        assert_eq!(world.delivered, expected, "{name} {number}");
    }
    let now = world.now;
    world.ends[0].association(world.id).unwrap().shutdown(now);
    world.silent[0] = number % 2 == 0;
    world.run(Duration::from_secs(60));
    assert!(
        world.heard.iter().any(|(_, side, heard)| *side == 0 && heard.contains("Closed")),
        "{name} {number}: no end"
    );
}

/// Every reliable message arrives, every invariant holds after each step, and a shutdown ends it, whatever happens on the paths.
#[test]
fn random_lives_on_two_paths() {
    for (name, config) in KINDS {
        for number in 0..6 {
            life(name, config, number);
        }
    }
}

/// Data that waits for the window of the old primary path leaves at once on the new one.
#[test]
fn what_waits_leaves_on_the_new_primary_path_at_once() {
    let mut world = World::with(impatient());
    world.run(Duration::from_secs(1));
    world.ours().add_path(FAR.into());
    world.send_on(0, 5);
    world.run(Duration::from_secs(2));
    world.silent[0] = true;
    world.send_on(0, 50);
    world.run(Duration::from_millis(300));
    assert_eq!(world.data_to(FAR, 46), 0);
    let (now, address) = (world.now, SocketAddr::from(FAR).ip());
    world.ends[0].association(world.id).unwrap().set_primary(now, address).unwrap();
    world.run(Duration::from_millis(10));
    assert!(world.data_to(FAR, 46) > 0, "nothing has left");
}

/// The heartbeats of a path that becomes the primary one are timed from now on.
#[test]
fn the_new_primary_path_has_heartbeats() {
    let mut world = World::with(Config::rfc9260());
    world.run(Duration::from_secs(1));
    world.ours().list_path(FAR.into());
    world.send_on(0, 5);
    world.run(Duration::from_millis(500));
    let near = SocketAddr::from(NEAR).ip();
    let then = world.now;
    world.ends[0].association(world.id).unwrap().change_heartbeat(then, near, false, None).unwrap();
    world.run(Duration::from_secs(200));
    let before = world.begun_with(FAR, HEARTBEAT);
    let (now, address) = (world.now, SocketAddr::from(FAR).ip());
    world.ends[0].association(world.id).unwrap().set_primary(now, address).unwrap();
    world.run(Duration::from_secs(20));
    world.run(Duration::from_secs(120));
    assert!(world.begun_with(FAR, HEARTBEAT) > before, "none has left");
}
