//! Chunks in flight are handed over to the other path, and just then one end restarts, the peer's user does not read, or all is shut down.

use super::*;

/// Two confirmed addresses of the peer; data in flight to the near one, which is silent, has begun to leave again by the far one.
fn in_hand_over(config: Config) -> World {
    let mut world = World::with(config);
    world.run(Duration::from_secs(1));
    world.ours().add_path(FAR.into());
    world.send(5);
    world.run(Duration::from_secs(3));
    world.silent[0] = true;
    world.sent.clear();
    world.send(30);
    while world.data_to(FAR, 46) + world.data_to(FAR, 10) == 0 {
        world.run(Duration::from_millis(10));
    }
    assert!(!world.keeps_nothing());
    world
}

/// Every chunk of a lane is accounted for: counts agree, and timers run for chunks in flight only.
fn is_sound(world: &mut World) {
    world.ours().audit().unwrap();
}

/// The peer restarts while data of ours goes over to its second address: that address is not confirmed any more, nothing of the old life is sent
/// to the new one, and new data arrives once.
// rfc9260:5.2.4-4
#[test]
fn the_peer_restarts() {
    for number in 0..20 {
        let mut world = in_hand_over(impatient());
        world.run(Duration::from_millis(7 * number));
        world.silent[0] = false;
        let of_before: u64 = world.delivered.iter().sum::<u64>() / 1000;
        world.delivered = [0; 2];
        world.wire.clear();
        let config = Arc::clone(world.ours().config());
        world.ends[1] = end(NEAR, "the peer after its restart");
        let now = world.now;
        world.ends[1].connect(now, OURS.into(), 9, config).unwrap();
        world.run(Duration::from_secs(10));
        let restarted =
            world.heard.iter().filter(|(_, side, event)| *side == 0 && event.contains("Restarted"));
        assert_eq!(restarted.count(), 1, "{:?}", world.heard);
        assert_eq!(world.delivered, [0; 2], "the new life has nothing of the old one");
        is_sound(&mut world);
        // No message is lost silently: messages that the old peer did not have are handed back.
        let mut handed_back = 0;
        let mut ours = world.ends[0].association(world.id).unwrap();
        while ours.receive_unsent().is_some() || ours.receive_unacknowledged().is_some() {
            handed_back += 1;
        }
        drop(ours);
        assert!(of_before + handed_back >= 70, "{of_before} arrived, {handed_back} came back");
        let before = world.data_to(FAR, 46) + world.data_to(FAR, 10);
        world.send(20);
        world.run(Duration::from_secs(60));
        assert_eq!(world.delivered, [20_000; 2]);
        assert_eq!(
            world.data_to(FAR, 46) + world.data_to(FAR, 10),
            before,
            "nobody has shown that the address is the peer's"
        );
        assert!(world.keeps_nothing());
        is_sound(&mut world);
    }
}

/// We restart ourselves: the peer takes no chunk of before for one of the new life.
// rfc9260:5.2.4-4
#[test]
fn we_restart() {
    for number in 0..20 {
        let mut world = in_hand_over(impatient());
        world.run(Duration::from_millis(7 * number));
        world.silent[0] = false;
        let config = Arc::clone(world.ours().config());
        world.ends[0] = end(OURS, "ours after our restart");
        let now = world.now;
        world.id = world.ends[0].connect(now, NEAR.into(), 9, config).unwrap();
        let before = world.delivered;
        // Packets of the old life are still under way, and come first or last.
        world.run(Duration::from_secs(5));
        let late = [world.delivered[0] - before[0], world.delivered[1] - before[1]];
        assert!(late.iter().all(|bytes| *bytes <= 30_000), "{late:?}");
        let before = world.delivered;
        world.send(20);
        world.run(Duration::from_secs(60));
        assert_eq!([world.delivered[0] - before[0], world.delivered[1] - before[1]], [20_000; 2]);
        assert!(world.keeps_nothing());
        is_sound(&mut world);
    }
}

/// The peer's window is closed while the path goes down: the other one has the window probes, the association lives, and all arrives when the
/// user reads again.
// rfc9260:6.1-8
#[test]
fn a_closed_window_while_the_path_goes_down() {
    for window in [1500, 2000, 4000] {
        let mut world = World::with(impatient().with(|c| c.limits.receive_window = window));
        world.run(Duration::from_secs(1));
        world.ours().add_path(FAR.into());
        world.run(Duration::from_secs(3));
        world.sleeps = true;
        world.send(10);
        world.run(Duration::from_secs(5));
        assert!(!world.keeps_nothing() || window > 20_000, "the window has not closed");
        world.silent[0] = true;
        world.run(Duration::from_secs(60));
        assert_eq!(world.told(&Event::PathDown { path: 0 }), 1, "window {window}: {:?}", world.heard);
        world.sent.clear();
        world.run(Duration::from_secs(60));
        let probes = world.data_to(FAR, 46) + world.data_to(FAR, 10);
        assert!(probes >= 1, "window {window}: nobody asks whether the window is open");
        assert_eq!(world.data_to(NEAR, 46) + world.data_to(NEAR, 10), 0, "window {window}");
        is_sound(&mut world);
        world.sleeps = false;
        world.run(Duration::from_secs(60));
        assert_eq!(world.delivered, [10_000; 2], "window {window}");
        assert!(world.keeps_nothing());
        is_sound(&mut world);
    }
}

/// A window of less than one chunk, which opens byte by byte.
#[test]
fn a_window_of_few_bytes_while_the_path_goes_down() {
    let mut world = World::with(impatient().with(|c| c.limits.receive_window = 1500));
    world.run(Duration::from_secs(1));
    world.ours().add_path(FAR.into());
    world.run(Duration::from_secs(3));
    world.send(10);
    world.silent[0] = true;
    for _ in 0..100 {
        world.sleeps = !world.sleeps;
        world.run(Duration::from_millis(700));
        is_sound(&mut world);
    }
    world.sleeps = false;
    world.run(Duration::from_secs(60));
    assert_eq!(world.delivered, [10_000; 2]);
    assert!(world.keeps_nothing());
}

/// A shutdown that is asked for in the middle ends when all has arrived.
// rfc9260:9.2-1
#[test]
fn a_shutdown() {
    for number in 0..20 {
        let mut world = in_hand_over(impatient());
        world.run(Duration::from_millis(7 * number));
        let now = world.now;
        world.ends[0].association(world.id).unwrap().shutdown(now);
        world.run(Duration::from_secs(60));
        assert_eq!(world.delivered, [35_000; 2]);
        let closed: Vec<_> =
            world.heard.iter().filter(|(_, side, event)| *side == 0 && event.contains("Closed")).collect();
        assert_eq!(closed.len(), 1, "{closed:?}");
        assert!(closed[0].2.contains("Graceful"), "{closed:?}");
    }
}
