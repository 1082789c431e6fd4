//! Every life of two endpoints in a small scope: at most one packet in flight each way, users who associate, send a message, shut
//! down and abort, timers, losses, and an attacker with 14 packets under a right tag, a wrong one and zero.
//!
//! The real state machine is searched breadth first. A step is repeated from the beginning of the life, as an endpoint cannot be
//! copied; situations that are equal but for what was drawn are visited once. In each the properties of
//! `anabranch_sctp::properties` hold, packets with a wrong tag change nothing, and if nothing more is lost both ends come to rest:
//! closed, or up and heard by the other.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

#[path = "exhaustive/attacker.rs"]
mod attacker;
#[path = "exhaustive/canonical.rs"]
mod canonical;
mod common;
#[path = "exhaustive/world.rs"]
mod world;

use std::collections::HashSet;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::panic::AssertUnwindSafe;

use world::{Action, Broken, Budget, World};

/// How far a search goes.
#[derive(Clone, Copy, Debug)]
struct Scope {
    depth: usize,
    budget: Budget,
    broken: Broken,
}

/// What a search came to.
#[derive(Debug, Default)]
struct Found {
    situations: usize,
    steps: u64,
    depth: usize,
    /// Nothing new in the last layer: the scope has been seen whole.
    whole: bool,
}

fn hash(text: &str) -> u128 {
    let half = |salt: u64| {
        let mut hasher = DefaultHasher::new();
        salt.hash(&mut hasher);
        text.hash(&mut hasher);
        u128::from(hasher.finish())
    };
    half(1) << 64 | half(2)
}

/// Where a life comes from, and its last step.
type Node = (u32, Action);

fn steps_to(nodes: &[Node], mut at: u32) -> Vec<Action> {
    let mut steps = Vec::new();
    while let Some((parent, action)) = at.checked_sub(1).and_then(|i| nodes.get(i as usize)) {
        steps.push(*action);
        at = *parent;
    }
    steps.reverse();
    steps
}

fn replay(scope: &Scope, steps: &[Action]) -> World {
    let mut world = World::new(scope.budget, scope.broken);
    for step in steps {
        world.apply(*step).unwrap();
    }
    world
}

/// Searches, or says which life breaks what.
fn search(scope: &Scope) -> Result<Found, String> {
    let mut nodes: Vec<Node> = Vec::new();
    let mut seen = HashSet::from([hash(&World::new(scope.budget, scope.broken).situation())]);
    let mut layer = vec![0_u32];
    let mut found = Found { situations: 1, ..Found::default() };
    while found.depth < scope.depth && !layer.is_empty() {
        let mut next = Vec::new();
        for at in layer {
            let steps = steps_to(&nodes, at);
            for action in replay(scope, &steps).enabled() {
                found.steps += 1;
                let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| {
                    let mut world = replay(scope, &steps);
                    if !world.apply(action)? || !seen.insert(hash(&world.situation())) {
                        return Ok(false);
                    }
                    world.complete().map(|()| true)
                }));
                let said = outcome.unwrap_or_else(|_| Err("panic".to_owned()));
                if said.map_err(|what| format!("{what}\nafter {steps:?}, then {action:?}"))? {
                    nodes.push((at, action));
                    next.push(nodes.len() as u32);
                }
            }
        }
        found.depth += 1;
        found.situations += next.len();
        found.whole = next.is_empty();
        layer = next;
    }
    Ok(found)
}

const HONEST: Budget = Budget {
    associate: [1, 1],
    send: [1, 0],
    shutdown: [1, 1],
    abort: [0, 0],
    lose: 1,
    timers: 2,
    attack: 0,
};

#[track_caller]
#[allow(clippy::print_stderr, reason = "how much was searched")]
fn fine(name: &str, scope: Scope) -> Found {
    let found = search(&scope).unwrap_or_else(|what| panic!("{name}: {what}"));
    eprintln!("{name}: {found:?}");
    found
}

#[test]
fn users_timers_and_losses() {
    let found = fine("users", Scope { depth: 10, budget: HONEST, broken: Broken::Nothing });
    assert!(found.situations > 2000, "{found:?}");
}

#[test]
fn users_and_one_forged_packet() {
    let budget = Budget { associate: [1, 0], shutdown: [1, 0], lose: 0, timers: 0, attack: 1, ..HONEST };
    let found = fine("attack", Scope { depth: 12, budget, broken: Broken::Nothing });
    assert!(found.situations > 100, "{found:?}");
}

/// A search that cannot fail would prove nothing.
#[test]
fn what_is_broken_on_purpose_is_found() {
    let attacked = Budget { lose: 0, timers: 0, attack: 1, ..HONEST };
    for (broken, budget, expected) in [
        (Broken::Tags, attacked, "with a Wrong tag"),
        (Broken::Timers, HONEST, "stays in"),
        (Broken::Delivery, HONEST, "twice"),
    ] {
        let said = search(&Scope { depth: 9, budget, broken });
        let what = said.expect_err("nothing was found");
        assert!(what.contains(expected), "{broken:?}: {what}");
    }
}

/// `make exhaustive`: the whole scope, layer by layer.
#[test]
#[ignore = "minutes: make exhaustive"]
fn the_whole_scope() {
    let all = Budget { associate: [2, 1], send: [1, 1], abort: [1, 0], lose: 1, timers: 2, ..HONEST };
    fine("users, twice", Scope { depth: 14, budget: all, broken: Broken::Nothing });
    let attacked = Budget { associate: [1, 1], lose: 1, timers: 1, attack: 1, ..HONEST };
    fine("one forged packet", Scope { depth: 12, budget: attacked, broken: Broken::Nothing });
    let twice =
        Budget { associate: [1, 0], shutdown: [1, 0], send: [0, 0], lose: 0, timers: 0, attack: 2, ..HONEST };
    fine("two forged packets", Scope { depth: 12, budget: twice, broken: Broken::Nothing });
}
