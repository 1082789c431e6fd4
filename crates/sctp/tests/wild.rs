//! Random lives, wilder than those of `properties.rs`: cuts, packets that come seconds late, replays of the whole past, strangers who
//! claim the address of the peer, bytes that change on the way, clocks that jump, endpoints that forget everything, buffers smaller
//! than a message; every profile, encoding, level and coupling, and every command in mid-life.
//!
//! Where nobody changes packets or forgets, each message arrives once and in order, both ends close gracefully, and there is one
//! association. Where somebody does, no message is delivered twice or late, and everything ends. The properties are watched at every
//! step in all of them, and so is what memory is held.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]
#![allow(clippy::print_stderr, reason = "a long run says at once what failed")]

mod common;
#[path = "wild/plan.rs"]
mod plan;
#[path = "wild/world.rs"]
mod world;

use anabranch_base::{Duration, Rng};

/// Lives one after the other; those that fail are told by their seeds, with which `SEED=n cargo test --test wild one` repeats
/// them.
fn lives(seeds: impl IntoIterator<Item = u64>) {
    lives_of(Kind::Reliable, seeds);
}

/// Kinds of lives: messages may be given up, or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Reliable,
    Partial,
    /// As `Partial` or `Reliable`, by turns; routers mark and answer packets, and users change values.
    More,
    /// As `More`; a NAT changes the UDP port of one side, and lists of extensions are lost on the way.
    Boxes,
}

fn lives_of(kind: Kind, seeds: impl IntoIterator<Item = u64>) {
    let (mut failed, mut most_held) = (Vec::new(), (0, 0));
    for seed in seeds {
        let Ok(held) = std::panic::catch_unwind(|| life(kind, seed)) else {
            // At once: a long run may be ended before its end.
            eprintln!("{kind:?} life {seed} failed");
            failed.push(seed);
            continue;
        };
        most_held = most_held.max((held, seed));
    }
    let (worst, seed) = (most_held.0 as f64 / 1000.0, most_held.1);
    eprintln!(
        "{kind:?} lives: the most that was held is {worst} x 2 (send buffers + receive window), in life {seed}"
    );
    assert!(failed.is_empty(), "{} {kind:?} lives failed: seeds {failed:?}", failed.len());
}

/// Gives the most that was held ([`world::World::most_held`]).
fn life(kind: Kind, seed: u64) -> u64 {
    let mut rng = Rng::stream(seed, "test", "wild");
    let mut plan = plan::draw(&mut rng);
    let more = kind == Kind::More || kind == Kind::Boxes;
    if kind == Kind::Partial || (more && seed % 2 == 1) {
        plan = plan.with_partial_reliability(&mut rng);
    }
    if more {
        plan = plan.with_more(seed);
    }
    if kind == Kind::Boxes {
        plan = plan.with_boxes(seed);
    }
    let mut world = world::World::new(seed, plan, rng);
    world.run(Duration::from_secs(4000));
    world.settle();
    world.most_held()
}

#[test]
fn wild_lives_1() {
    lives(0..500);
}

#[test]
fn wild_lives_2() {
    lives(1000..1500);
}

/// Messages may be given up, and each has the fate that its sender is told.
#[test]
fn wild_lives_with_partial_reliability() {
    lives_of(Kind::Partial, 0..500);
}

/// Routers that mark packets and send ICMP errors, some of them forged; users who change values, MTUs and code points.
#[test]
fn wild_lives_with_routers_and_other_values() {
    lives_of(Kind::More, 0..500);
}

/// A NAT changes ports, and lists of extensions are lost on the way.
#[test]
fn wild_lives_with_boxes_on_the_way() {
    lives_of(Kind::Boxes, 0..500);
}

/// Lives that found faults, each of its own kind.
#[test]
fn lives_that_found_something() {
    // More was kept than the limit: bookkeeping of small messages; new data of other lanes in the room of a probe that was lost.
    lives([20, 1327, 2549, 5127, 5656]);
    // Chunks sent before a peer answered otherwise, counted with the headers of what it speaks now.
    lives([7347]);
    // A pacer that kept data back for longer than RTO.Max, as packets came seconds late.
    lives([1_049_683, 1_053_833]);
    // Numbers kept for the rest of a long message were counted as if they had been sent.
    lives([1_058_164]);
    // A user aborts before the peer knows that the association is up: the peer begins another one.
    lives([3_001_975]);
    // The rest of a message waited for a window that only the rest of that message could open.
    lives([2_050_845]);
    // Data of a forgotten incarnation, whose tags were the same, was joined with that of this one.
    lives([3_030_195]);
    // One asked for new numbers, the other for a reset of its peer's streams, and each waited for the other.
    lives([3_039_627]);
    // The first number of all was kept for one subflow, and each of the others that kept none probed a closed window as if it had it.
    lives([500_021_410]);
    // Both connect, and one closes before the other has answered.
    lives([1_013_186, 1_023_706, 1_038_841]);
}

/// Those of lives with routers and other values.
#[test]
fn lives_with_other_values_that_found_something() {
    // `max_fragment` became smaller, and a longer chunk that had to leave again was added to a packet that was full.
    lives_of(Kind::More, [83, 160]);
    // A router answered the last packet of an association that had ended, and its user was told of another MTU.
    lives_of(Kind::More, [118_722]);
    // A user set the MTU of an association that had just been aborted, and was told of the change after the end.
    lives_of(Kind::More, [72_001_064, 72_001_600]);
    // The path MTU grew, and a pacer whose window was one packet of before kept the next one back for a minute.
    lives_of(Kind::More, [400_046_879]);
}

/// Those of lives with partial reliability.
#[test]
fn lives_with_partial_reliability_that_found_something() {
    // A tail probe that found nothing it may send began T3-rtx anew, as often as the peer said SHUTDOWN.
    lives_of(Kind::Partial, [6_000_660]);
    // A FORWARD-TSN named a message of before a reset, and the stream, which counted from 0 again, skipped new ones.
    lives_of(Kind::Partial, [7_014_612]);
    // A long message was given up, and the numbers that had been kept for it filled more than the limit.
    lives_of(Kind::Partial, [30_012_949]);
    // A SACK for a RE-CONFIG left after SHUTDOWN ACK: the peer was gone, and its ABORT came where SHUTDOWN COMPLETE was lost.
    lives_of(Kind::Partial, [50_017_033]);
    // Messages for which an SSN/TSN reset of the peer waited were given up with no packet coming, and nothing began
    // the reset.
    lives_of(Kind::Partial, [700_017_659]);
    // A peer restarted, and the data under way of thirteen subflows was compared with the bound of one.
    lives_of(Kind::Partial, [500_008_492]);
    // The rest of a long message probed a closed window chunk by chunk, behind a number that was given up and waited for FORWARD-TSN.
    lives_of(Kind::Partial, [900_015_379]);
}

/// Those of lives with boxes on the way.
#[test]
fn lives_with_boxes_that_found_something() {
    // 256 messages of one byte were given up in a row, and the next one was taken for the first of them: a fault of the test.
    lives_of(Kind::Boxes, [920_000_233]);
    // A window of 40 kB had 64 KiB of room whatever the sender had of the memory for both.
    lives_of(Kind::Boxes, [400_011_295]);
    // Numbers were kept for the rest of a message of DATA, the cookie was stale, and the rest left as I-DATA, four bytes too long.
    lives_of(Kind::Boxes, [500_030_272]);
    // Gaps between small messages took the room that was kept for the first that was missing.
    lives_of(Kind::Boxes, [500_039_385, 500_046_881]);
    // The first TSN of an INIT looked like the list of extensions, and was changed in its place: a fault of the test.
    lives_of(Kind::Boxes, [500_043_456]);
    // Unordered messages that had left as DATA left again as I-DATA, all with the number 0, as did what came after them.
    lives_of(Kind::Boxes, [500_082_429]);
}

/// `SEED`: one life again; `PARTIAL=1` where messages may be given up, `MORE=1` with routers and other values, `BOXES=1` with NAT
/// besides.
#[test]
#[ignore = "needs SEED"]
fn one() {
    let told = |name| std::env::var_os(name).is_some();
    let kind = match (told("BOXES"), told("MORE"), told("PARTIAL")) {
        (true, ..) => Kind::Boxes,
        (false, true, _) => Kind::More,
        (false, false, true) => Kind::Partial,
        (false, false, false) => Kind::Reliable,
    };
    life(kind, std::env::var("SEED").unwrap().parse().unwrap());
}

/// `LIVES`: so many, from `FROM` on.
#[test]
#[ignore = "takes as long as it is told to: make soak"]
fn wild_lives_without_end() {
    lives(seeds_told());
}

/// The same where messages may be given up.
#[test]
#[ignore = "takes as long as it is told to: make soak"]
fn wild_lives_with_partial_reliability_without_end() {
    lives_of(Kind::Partial, seeds_told());
}

/// The same with routers and other values.
#[test]
#[ignore = "takes as long as it is told to: make soak"]
fn wild_lives_with_more_without_end() {
    lives_of(Kind::More, seeds_told());
}

/// The same with boxes on the way.
#[test]
#[ignore = "takes as long as it is told to: make soak"]
fn wild_lives_with_boxes_without_end() {
    lives_of(Kind::Boxes, seeds_told());
}

fn seeds_told() -> std::ops::Range<u64> {
    let number =
        |name: &str, default| std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default);
    let (from, count) = (number("FROM", 1_000_000), number("LIVES", 10_000));
    from..from + count
}
