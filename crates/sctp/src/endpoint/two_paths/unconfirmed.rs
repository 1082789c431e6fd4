//! Addresses that the peer lists and does not answer on: they are sent HEARTBEATs and nothing else.

use super::*;

/// The only confirmed path is down, and data waits, to leave for the first time or again: none of it goes to an address that has not answered.
#[test]
fn an_address_that_never_answers_is_sent_heartbeats_only() {
    let mut world = World::with(impatient());
    world.run(Duration::from_secs(1));
    world.log = Some(Vec::new());
    world.silent[1] = true;
    world.ours().list_path(FAR.into());
    world.send(20);
    world.run(Duration::from_secs(2));
    world.silent[0] = true;
    world.send(20);
    world.run(Duration::from_secs(8));
    assert_eq!(world.told(&Event::PathDown { path: 0 }), 1);
    world.silent[0] = false;
    world.run(Duration::from_secs(60));
    assert_eq!(world.delivered, [40_000; 2]);
    let to_far: Vec<_> = world
        .log
        .iter()
        .flatten()
        .filter(|sent| sent.side == 0 && sent.theirs == FAR.into())
        .map(|sent| {
            (
                sent.bytes[12],
                usize::from(u16::from_be_bytes([sent.bytes[14], sent.bytes[15]])),
                sent.bytes.len(),
            )
        })
        .collect();
    assert!(to_far.len() >= 2, "{to_far:?}");
    for (kind, length, packet) in to_far {
        assert_eq!(kind, HEARTBEAT);
        assert_eq!(packet, 12 + length.next_multiple_of(4), "HEARTBEAT is alone in its packet");
    }
}
