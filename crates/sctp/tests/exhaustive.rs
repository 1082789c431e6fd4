//! Every life of two endpoints in a small scope: at most one packet in flight each way, users who associate, send a message, shut
//! down and abort, timers, losses, and an attacker with 14 packets under a right tag, a wrong one and zero.
//!
//! The real state machine is searched breadth first. A step is repeated from the beginning of the life, as an endpoint cannot be
//! copied; situations that are equal but for drawn numbers are visited once. In each the properties of
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
use std::num::NonZero;
use std::panic::AssertUnwindSafe;
use std::sync::{Mutex, PoisonError};

use world::{Action, Broken, Budget, World};

/// Extent of a search.
#[derive(Clone, Copy, Debug)]
struct Scope {
    depth: usize,
    budget: Budget,
    broken: Broken,
    /// Threads that search.
    workers: usize,
}

/// Result of a search.
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

/// Predecessor of a life, and its last step.
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

/// Situations that follow from some situations of a layer in one step and were not seen before, and the number of
/// steps tried.
fn follow(
    scope: &Scope,
    nodes: &[Node],
    layer: &[u32],
    seen: &Mutex<HashSet<u128>>,
) -> Result<(Vec<Node>, usize), String> {
    let (mut new, mut steps_tried) = (Vec::new(), 0);
    for &at in layer {
        let steps = steps_to(nodes, at);
        let mut first = replay(scope, &steps);
        let actions = first.enabled();
        let mut spare = Some(first);
        steps_tried += actions.len();
        for (place, &action) in actions.iter().enumerate() {
            // An endpoint cannot be copied: each step needs a life of its own, and the last takes the one that is there.
            let here = if place + 1 == actions.len() { spare.take() } else { None };
            let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| {
                let mut world = here.unwrap_or_else(|| replay(scope, &steps));
                if !world.apply(action)? {
                    return Ok(false);
                }
                let situation = hash(&world.situation());
                if !seen.lock().unwrap_or_else(PoisonError::into_inner).insert(situation) {
                    return Ok(false);
                }
                world.complete().map(|()| true)
            }));
            let said = outcome.unwrap_or_else(|_| Err("panic".to_owned()));
            if said.map_err(|what| format!("{what}\nafter {steps:?}, then {action:?}"))? {
                new.push((at, action));
            }
        }
    }
    Ok((new, steps_tried))
}

/// Searches, or says which life breaks what. Several workers share the work of a layer; which of two lives that lead to one situation
/// stands for it is left to chance then, and nothing else. `heard` is told of each layer.
fn search(scope: &Scope, heard: impl Fn(&Found)) -> Result<Found, String> {
    let mut nodes: Vec<Node> = Vec::new();
    let seen = Mutex::new(HashSet::from([hash(&World::new(scope.budget, scope.broken).situation())]));
    let mut layer = vec![0_u32];
    let mut found = Found { situations: 1, ..Found::default() };
    while found.depth < scope.depth && !layer.is_empty() {
        let parts = layer.chunks(layer.len().div_ceil(scope.workers.max(1)));
        let results: Vec<_> = std::thread::scope(|threads| {
            let work = |part| follow(scope, &nodes, part, &seen);
            let running: Vec<_> = parts.map(|part| threads.spawn(move || work(part))).collect();
            let ended = running.into_iter().map(|one| one.join().unwrap_or_else(|_| Err("panic".to_owned())));
            ended.collect()
        });
        let mut next = Vec::new();
        for result in results {
            let (new, steps) = result?;
            found.steps += steps as u64;
            for node in new {
                nodes.push(node);
                next.push(nodes.len() as u32);
            }
        }
        found.depth += 1;
        found.situations += next.len();
        found.whole = next.is_empty();
        heard(&found);
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

/// Searches, and tells of each layer: a search that was ended before its end has said how far it came.
#[track_caller]
#[allow(clippy::print_stderr, reason = "how much was searched")]
fn fine(name: &str, scope: Scope) -> Found {
    let heard = |found: &Found| eprintln!("{name}: {found:?}");
    search(&scope, heard).unwrap_or_else(|what| panic!("{name}: {what}"))
}

#[test]
fn users_timers_and_losses() {
    let found = fine("users", Scope { depth: 10, budget: HONEST, broken: Broken::Nothing, workers: 1 });
    assert!(found.situations > 2000, "{found:?}");
}

#[test]
fn users_and_one_forged_packet() {
    let budget = Budget { associate: [1, 0], shutdown: [1, 0], lose: 0, timers: 0, attack: 1, ..HONEST };
    let found = fine("attack", Scope { depth: 12, budget, broken: Broken::Nothing, workers: 1 });
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
        let said = search(&Scope { depth: 9, budget, broken, workers: 1 }, |_| ());
        let what = said.expect_err("nothing was found");
        assert!(what.contains(expected), "{broken:?}: {what}");
    }
}

fn workers() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// `DEPTH`: another depth than that of `make exhaustive`.
fn depth(usual: usize) -> usize {
    std::env::var("DEPTH").ok().and_then(|depth| depth.parse().ok()).unwrap_or(usual)
}

/// `make exhaustive`: two associations, one after the other.
#[test]
#[ignore = "minutes: make exhaustive"]
fn deep_users_twice() {
    let budget = Budget { associate: [2, 1], send: [1, 1], abort: [1, 0], lose: 1, timers: 2, ..HONEST };
    fine("users, twice", Scope { depth: depth(11), budget, broken: Broken::Nothing, workers: workers() });
}

#[test]
#[ignore = "minutes: make exhaustive"]
fn deep_one_forged_packet() {
    let budget = Budget { associate: [1, 1], lose: 1, timers: 1, attack: 1, ..HONEST };
    fine("one forged packet", Scope { depth: depth(8), budget, broken: Broken::Nothing, workers: workers() });
}

#[test]
#[ignore = "minutes: make exhaustive"]
fn deep_two_forged_packets() {
    let nobody = Budget { associate: [1, 0], shutdown: [1, 0], send: [0, 0], lose: 0, timers: 0, ..HONEST };
    let budget = Budget { attack: 2, ..nobody };
    fine(
        "two forged packets",
        Scope { depth: depth(9), budget, broken: Broken::Nothing, workers: workers() },
    );
}
