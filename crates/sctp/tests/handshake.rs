//! Setting up and ending: RFC 9260, sections 5 and 9, as ladders.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

use crate::common;

use std::sync::Arc;

use anabranch_base::Duration;
use anabranch_sctp::{AbortReason, AssociationId, CloseReason, Config, Event, State, Timer};
use common::{PORT, Pair, Side, address};

fn closed(pair: &Pair, side: Side) -> Option<CloseReason> {
    pair.events.iter().find_map(|(s, _, e)| match e {
        Event::Closed(reason) if *s == side => Some(reason.clone()),
        _ => None,
    })
}

#[test]
fn four_packets_and_data_with_the_cookie() {
    let (mut pair, id) = Pair::connecting(1, &Config::rfc9260());
    pair.send(Side::A, id, 0, b"hello");
    pair.run_for(Duration::from_millis(100));
    assert_eq!(pair.names(), ["A: INIT", "Z: INIT-ACK", "A: COOKIE-ECHO + DATA", "Z: COOKIE-ACK + SACK"]);
    assert_eq!(pair.received.len(), 1);
    assert_eq!(pair.received[0].1.clone().into_bytes(), "hello");
    assert!(pair.saw(Side::Z, |e| matches!(e, Event::Accepted { .. })));
}

#[test]
fn the_ns2_profile_sends_no_data_with_the_cookie() {
    let (mut pair, id) = Pair::connecting(1, &Config::ns2_2_35());
    pair.send(Side::A, id, 0, b"hello");
    pair.run_for(Duration::from_millis(100));
    let names = ["A: INIT", "Z: INIT-ACK", "A: COOKIE-ECHO", "Z: COOKIE-ACK", "A: DATA", "Z: SACK"];
    assert_eq!(pair.names(), names);
}

#[test]
fn every_packet_of_the_handshake_may_be_lost_once() {
    for lost in 0..4 {
        let (mut pair, id) = Pair::connecting(2, &Config::rfc9260());
        pair.send(Side::A, id, 0, b"hello");
        let mut seen = 0;
        pair.drop_if(move |_| {
            seen += 1;
            seen == lost + 1
        });
        pair.run_for(Duration::from_secs(5));
        assert_eq!(pair.received.len(), 1, "packet {lost} lost: {:?}", pair.ladder());
        assert_eq!(pair.a.view(id).unwrap().state(), State::Established);
        assert_eq!(pair.a.associations() + pair.z.associations(), 2);
    }
}

#[test]
fn init_is_retried_max_init_retransmits_times_with_doubling_timers() {
    let (mut pair, _) = Pair::connecting(3, &Config::rfc9260());
    pair.drop_if(|_| true);
    pair.pump();
    assert_eq!(pair.a.poll_timeout().unwrap().1, Timer::T1Init);
    pair.run_for(Duration::from_secs(1000));
    assert_eq!(pair.log.len(), 1 + 8);
    let waits: Vec<u64> =
        pair.log.windows(2).map(|w| (w[1].at - w[0].at).as_nanos() / 1_000_000_000).collect();
    assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60]);
    assert_eq!(closed(&pair, Side::A), Some(CloseReason::Unreachable { limit: "Max.Init.Retransmits" }));
    assert!(pair.a.poll_timeout().is_none());
}

#[test]
fn nobody_listens() {
    let mut pair = Pair::new(4);
    pair.a.connect(pair.now, address(Side::Z), PORT, Arc::new(Config::rfc9260())).unwrap();
    pair.run_for(Duration::from_secs(1));
    assert_eq!(pair.names(), ["A: INIT", "Z: ABORT"]);
    assert_eq!(closed(&pair, Side::A), Some(CloseReason::AbortedByPeer { causes: vec![], reason: None }));
}

// rfc9260:1.3-1 rfc9260:5.2.4-7 rfc9260:5.2.4-10
#[test]
fn both_ask_at_the_same_time() {
    let mut pair = Pair::new(5);
    let config = Arc::new(Config::rfc9260());
    pair.a.listen(Arc::clone(&config)).unwrap();
    pair.z.listen(Arc::clone(&config)).unwrap();
    let a = pair.a.connect(pair.now, address(Side::Z), PORT, Arc::clone(&config)).unwrap();
    let z = pair.z.connect(pair.now, address(Side::A), PORT, config).unwrap();
    pair.send(Side::A, a, 0, b"from a");
    pair.send(Side::Z, z, 0, b"from z");
    pair.run_for(Duration::from_secs(3));
    assert_eq!(
        (pair.a.associations(), pair.z.associations()),
        (1, 1),
        "one association: {:?}",
        pair.ladder()
    );
    assert_eq!(pair.a.view(a).unwrap().state(), State::Established);
    assert_eq!(pair.z.view(z).unwrap().state(), State::Established);
    let mut got: Vec<(Side, Vec<u8>)> =
        pair.received.iter().map(|(s, m)| (*s, m.clone().into_bytes().to_vec())).collect();
    got.sort_by_key(|(s, _)| *s as u8);
    assert_eq!(got, [(Side::A, b"from z".to_vec()), (Side::Z, b"from a".to_vec())]);
}

// rfc9260:5.2.2-5
#[test]
fn a_restarted_peer_is_recognised_by_its_tie_tags() {
    let (mut pair, _, z) = Pair::established(6, &Config::rfc9260());
    pair.send(Side::Z, z, 0, b"before");
    pair.run_for(Duration::from_secs(1));
    let a = restart_a(&mut pair);
    pair.run_for(Duration::from_secs(2));
    assert!(pair.saw(Side::Z, |e| matches!(e, Event::Restarted { .. })), "{:?}", pair.ladder());
    assert_eq!(pair.z.associations(), 1);
    pair.send(Side::A, a, 0, b"again");
    pair.send(Side::Z, z, 0, b"after");
    pair.run_for(Duration::from_secs(2));
    let texts: Vec<_> = pair.received.iter().map(|(_, m)| m.clone().into_bytes()).collect();
    assert_eq!(texts, ["before", "again", "after"]);
}

/// A loses its memory and asks again from the same port.
fn restart_a(pair: &mut Pair) -> AssociationId {
    let mut fresh = Pair::new(77);
    std::mem::swap(&mut pair.a, &mut fresh.a);
    pair.events.retain(|(s, ..)| *s == Side::Z);
    pair.a.connect(pair.now, address(Side::Z), PORT, Arc::new(Config::rfc9260())).unwrap()
}

/// 5.2.4.1 begins the association anew; that its user has closed it, and still waits for its end, is no affair of the peer.
#[test]
fn a_restart_does_not_forget_that_the_user_has_closed() {
    for (cookie_ack_lost, state) in [
        (false, State::ShutdownPending),
        (true, State::ShutdownPending),
        (false, State::ShutdownSent),
        (false, State::ShutdownReceived),
    ] {
        let (mut pair, a, z) = Pair::established(6, &Config::rfc9260());
        pair.drop_if(|_| true);
        if state != State::ShutdownSent {
            pair.send(Side::Z, z, 0, &[1; 100]);
            pair.run_for(Duration::from_millis(100));
        }
        if state == State::ShutdownReceived {
            // The peer closes first: the user's wish is ignored then, as the end is near.
            pair.drop_if(|p| p.from == Side::Z);
            pair.a.association(a).unwrap().shutdown(pair.now);
            pair.run_for(Duration::from_millis(100));
        }
        pair.z.association(z).unwrap().shutdown(pair.now);
        pair.pump();
        assert_eq!(pair.z.association(z).unwrap().state(), state);
        let mut acks = 0;
        pair.drop_if(move |p| {
            acks += u32::from(p.has("COOKIE-ACK"));
            cookie_ack_lost && acks == 1 && p.has("COOKIE-ACK")
        });
        restart_a(&mut pair);
        pair.run_for(Duration::from_secs(30));
        assert!(
            pair.saw(Side::Z, |e| matches!(e, Event::Restarted { .. })),
            "{state:?}: {:?}",
            pair.ladder()
        );
        assert_eq!(closed(&pair, Side::Z), Some(CloseReason::Graceful), "{state:?}: {:?}", pair.ladder());
        assert_eq!(closed(&pair, Side::A), Some(CloseReason::Graceful), "{state:?}: {:?}", pair.ladder());
    }
}

/// A peer that had closed and restarts has not closed.
#[test]
fn a_restart_forgets_that_the_peer_had_closed() {
    let (mut pair, a, z) = Pair::established(6, &Config::rfc9260());
    pair.drop_if(|p| p.from == Side::Z);
    pair.send(Side::Z, z, 0, &[1; 100]);
    pair.a.association(a).unwrap().shutdown(pair.now);
    pair.run_for(Duration::from_millis(100));
    assert_eq!(pair.z.association(z).unwrap().state(), State::ShutdownReceived);
    pair.drop_if(|_| false);
    restart_a(&mut pair);
    pair.run_for(Duration::from_secs(5));
    assert_eq!(pair.z.association(z).unwrap().state(), State::Established);
}

/// `send` said Full, and a restart empties the queue: the user who waits for Writable is told.
#[test]
fn a_restart_tells_who_waits_that_there_is_room() {
    let config = Config::rfc9260().with(|c| c.limits.send_buffer = 5000);
    let (mut pair, _, z) = Pair::established(6, &config);
    pair.drop_if(|_| true);
    let message = || anabranch_sctp::Message::new(0, vec![1; 1000]);
    while pair.z.association(z).unwrap().send(pair.now, message()).is_ok() {
        pair.pump();
    }
    assert!(!pair.saw(Side::Z, |e| *e == Event::Writable { stream: None }));
    pair.drop_if(|_| false);
    restart_a(&mut pair);
    pair.run_for(Duration::from_millis(100));
    let told = |is: fn(&Event) -> bool| pair.events.iter().position(|(s, _, e)| *s == Side::Z && is(e));
    let restarted = told(|e| matches!(e, Event::Restarted { .. }));
    assert!(restarted.is_some() && told(|e| *e == Event::Writable { stream: None }) > restarted);
}

#[test]
fn a_stale_cookie_is_refused_and_the_handshake_tried_again() {
    let mut config = Config::rfc9260();
    config.timers.valid_cookie_life = Duration::from_millis(5);
    let (mut pair, id) = Pair::connecting(7, &config);
    // The wire takes 10 ms each way: the first cookie is 20 ms old when it comes back.
    pair.run_for(Duration::from_millis(100));
    let names = pair.names();
    assert_eq!(names[3], "Z: ERROR");
    assert_eq!(names[4], "A: INIT", "with a Cookie Preservative");
    assert_eq!(pair.a.view(id).unwrap().state(), State::Established, "{names:?}");
    assert_eq!(pair.z.endpoint_stats().stale_cookies, 1);
}

#[test]
fn graceful_shutdown_delivers_everything_first() {
    let (mut pair, a, z) = Pair::established(8, &Config::rfc9260());
    for i in 0..50_u8 {
        pair.send(Side::A, a, 0, &[i; 1000]);
        pair.send(Side::Z, z, 0, &[i; 1000]);
    }
    pair.a.association(a).unwrap().shutdown(pair.now);
    assert!(pair.a.association(a).unwrap().send(pair.now, anabranch_sctp::Message::new(0, "x")).is_err());
    pair.run_for(Duration::from_secs(5));
    assert_eq!(pair.received.len(), 100);
    assert_eq!(closed(&pair, Side::A), Some(CloseReason::Graceful));
    assert_eq!(closed(&pair, Side::Z), Some(CloseReason::Graceful));
    assert!(pair.saw(Side::Z, |e| *e == Event::PeerShutdown));
    let names = pair.names();
    let tail: Vec<_> = names.iter().rev().take(2).rev().collect();
    assert_eq!(tail, ["Z: SHUTDOWN-ACK", "A: SHUTDOWN-COMPLETE"]);
    assert_eq!((pair.a.associations(), pair.z.associations()), (0, 0));
    assert!(pair.a.release(a) && pair.z.release(z) && !pair.a.release(a));
    assert!(pair.a.view(a).is_none());
}

#[test]
fn every_packet_of_the_shutdown_may_be_lost_once() {
    for lost in 0..3 {
        let (mut pair, a, _) = Pair::established(9, &Config::rfc9260());
        let mut seen = 0;
        pair.drop_if(move |_| {
            seen += 1;
            seen == lost + 1
        });
        pair.a.association(a).unwrap().shutdown(pair.now);
        pair.run_for(Duration::from_secs(30));
        assert_eq!(closed(&pair, Side::A), Some(CloseReason::Graceful), "packet {lost}: {:?}", pair.ladder());
        assert_eq!(closed(&pair, Side::Z), Some(CloseReason::Graceful), "packet {lost}: {:?}", pair.ladder());
    }
}

// rfc9260:9.2-26
#[test]
fn both_shut_down_at_the_same_time() {
    let (mut pair, a, z) = Pair::established(10, &Config::rfc9260());
    pair.a.association(a).unwrap().shutdown(pair.now);
    pair.z.association(z).unwrap().shutdown(pair.now);
    pair.run_for(Duration::from_secs(5));
    assert_eq!(closed(&pair, Side::A), Some(CloseReason::Graceful), "{:?}", pair.ladder());
    assert_eq!(closed(&pair, Side::Z), Some(CloseReason::Graceful), "{:?}", pair.ladder());
}

#[test]
fn a_peer_that_vanishes_during_shutdown_is_given_up() {
    let (mut pair, a, _) = Pair::established(11, &Config::rfc9260());
    pair.drop_if(|_| true);
    pair.a.association(a).unwrap().shutdown(pair.now);
    pair.run_for(Duration::from_secs(2000));
    let reason = closed(&pair, Side::A).unwrap();
    assert!(
        matches!(reason, CloseReason::Unreachable { .. } | CloseReason::ShutdownGuard),
        "T2 (10 times) or T5 (300 s): {reason:?}"
    );
    assert!(pair.now.as_secs_f64() < 2001.0 && pair.a.poll_timeout().is_none());
}

#[test]
fn abort_tells_the_peer_why() {
    let (mut pair, a, _) = Pair::established(12, &Config::rfc9260());
    pair.a.association(a).unwrap().abort(pair.now, b"enough");
    pair.run_for(Duration::from_secs(1));
    assert_eq!(pair.names(), ["A: ABORT"]);
    assert_eq!(closed(&pair, Side::A), Some(CloseReason::AbortedLocally));
    let told = CloseReason::AbortedByPeer {
        causes: vec![12],
        reason: Some(Box::new(AbortReason(b"enough".to_vec()))),
    };
    assert_eq!(closed(&pair, Side::Z), Some(told));
}

// rfc9260:8.3-1
#[test]
fn heartbeats_keep_an_idle_path_and_find_a_dead_one() {
    let mut config = Config::rfc9260();
    config.limits.association_max_retrans = 4;
    config.limits.path_max_retrans = 2;
    let (mut pair, a, _) = Pair::established(13, &config);
    pair.run_for(Duration::from_secs(100));
    let names = pair.names();
    assert!(names.iter().filter(|n| *n == "A: HEARTBEAT").count() >= 3, "{names:?}");
    assert!(names.iter().any(|n| n == "Z: HEARTBEAT-ACK"));
    assert_eq!(pair.a.view(a).unwrap().state(), State::Established);
    pair.drop_if(|_| true);
    pair.run_for(Duration::from_secs(600));
    assert!(pair.saw(Side::A, |e| matches!(e, Event::PathDown { path: 0 })));
    assert!(matches!(closed(&pair, Side::A), Some(CloseReason::Unreachable { .. })));
}

/// `shutdown` "ends an association once everything has been delivered", also when it is called before the handshake is
/// over.
#[test]
fn connect_send_shutdown_at_once() {
    for lost in 0..8 {
        for with_data in [true, false] {
            let (mut pair, a) =
                Pair::connecting(14, &Config::rfc9260().with(|c| c.emulation.data_with_cookie = with_data));
            let mut count = 0;
            pair.drop_if(move |_| {
                count += 1;
                count == lost
            });
            pair.send(Side::A, a, 0, &[7; 10_000]);
            pair.a.association(a).unwrap().shutdown(pair.now);
            pair.run_for(Duration::from_secs(30));
            assert_eq!(pair.received.len(), 1, "{lost}: {:?}", pair.ladder());
            assert_eq!(closed(&pair, Side::A), Some(CloseReason::Graceful), "{lost}");
            assert_eq!(closed(&pair, Side::Z), Some(CloseReason::Graceful), "{lost}");
        }
    }
    // Nothing to deliver and nobody to tell.
    let (mut pair, a) = Pair::connecting(15, &Config::rfc9260());
    pair.a.association(a).unwrap().shutdown(pair.now);
    pair.run_for(Duration::from_secs(30));
    assert_eq!(closed(&pair, Side::A), Some(CloseReason::AbortedLocally));
}
