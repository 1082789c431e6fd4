//! The Adaptation Layer Indication (RFC 5061, 4.2.6): a number of the layer above, told in the handshake.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

use crate::common;

use std::sync::Arc;

use anabranch_base::Duration;
use anabranch_sctp::{Config, Event};
use common::{PORT, Pair, Side, address};

fn says(code_point: Option<u32>) -> Config {
    Config::rfc9260().with(|c| c.extensions.adaptation_indication = code_point)
}

fn told(pair: &Pair, side: Side) -> Vec<Event> {
    pair.events.iter().filter(|(s, ..)| *s == side).map(|(.., event)| event.clone()).collect()
}

fn indication(code_point: u32) -> Event {
    Event::AdaptationIndication { code_point }
}

/// The parameter "SHOULD be passed to the receiver's upper-layer protocol"
/// (RFC 5061, 4.2.6): each side's, 0 included, whether it has one itself or not.
#[test]
fn each_side_hears_what_the_other_says() {
    for (of_a, of_z) in [(Some(7), Some(0xffff_ffff)), (Some(0), None), (None, Some(5)), (None, None)] {
        let (pair, ..) = Pair::between(1, &says(of_a), &says(of_z));
        let heard = |side| {
            let events = told(&pair, side);
            let at = events.iter().position(|e| matches!(e, Event::AdaptationIndication { .. }));
            if let Some(at) = at {
                assert!(matches!(events[at - 1], Event::Established { .. }), "{events:?}");
            }
            at.map(|at| events[at].clone())
        };
        assert_eq!(heard(Side::A), of_z.map(indication));
        assert_eq!(heard(Side::Z), of_a.map(indication));
    }
}

/// The INIT is forgotten when it is answered: its adaptation indication comes back in the cookie. A peer that
/// restarts sends it anew.
#[test]
fn a_restarted_peer_says_it_anew() {
    let (mut pair, ..) = Pair::between(2, &says(Some(1)), &says(Some(2)));
    let mut fresh = Pair::new(3);
    std::mem::swap(&mut pair.a, &mut fresh.a);
    pair.a.connect(pair.now, address(Side::Z), PORT, Arc::new(says(Some(3)))).unwrap();
    pair.events.clear();
    pair.run_for(Duration::from_secs(1));
    let events = told(&pair, Side::Z);
    assert!(matches!(events[0], Event::Restarted { .. }));
    assert_eq!(events[2], indication(3));
    assert!(matches!(events[1], Event::Established { .. }));
    assert!(told(&pair, Side::A).contains(&indication(2)));
}

/// Both ask at the same time: each hears the other once.
#[test]
fn a_collision_tells_it_once() {
    let mut pair = Pair::new(4);
    for (side, code_point) in [(Side::A, 10), (Side::Z, 20)] {
        let now = pair.now;
        pair.endpoint(side)
            .connect(now, address(side.other()), PORT, Arc::new(says(Some(code_point))))
            .unwrap();
    }
    pair.run_for(Duration::from_secs(1));
    for (side, heard) in [(Side::A, 20), (Side::Z, 10)] {
        let events = told(&pair, side);
        let indications: Vec<_> =
            events.iter().filter(|e| matches!(e, Event::AdaptationIndication { .. })).collect();
        assert_eq!(indications, [&indication(heard)], "{events:?}");
    }
}
