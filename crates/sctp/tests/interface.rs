//! Commands and questions of a user to a living association (RFC 9260, 11.1), and its events (11.2).

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

use crate::common;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use anabranch_base::{Duration, Rng};
use anabranch_sctp::config::{MaxBurst, SubflowLevel};
use anabranch_sctp::{
    AssociationHandle, AssociationId, ChangeError, CloseReason, Config, Event, Message, PathError, State,
    Undelivered,
};
use anabranch_wire::chunk::kind;
use bytes::Bytes;
use common::{PORT, Pair, Side, address};

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn of(side: Side) -> IpAddr {
    address(side).ip()
}

const STRANGE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 9, 9, 9));

fn up(seed: u64) -> (Pair, AssociationId, AssociationId) {
    Pair::established(seed, &Config::rfc9260())
}

impl Handles for Pair {
    fn a(&mut self, id: AssociationId) -> AssociationHandle<'_> {
        self.a.association(id).unwrap()
    }
}

trait Handles {
    fn a(&mut self, id: AssociationId) -> AssociationHandle<'_>;
}

/// 11.1.8: everything that the section lists.
#[test]
fn status_tells_what_the_section_lists() {
    let (mut pair, a, z) = up(1);
    let fresh = pair.a(a).status();
    assert_eq!(fresh.state, State::Established);
    assert_eq!(fresh.paths.len(), 1);
    let path = *fresh.primary().unwrap();
    assert_eq!((path.address, path.active, path.confirmed), (address(Side::Z), true, true));
    assert_eq!((path.mtu, path.srtt, path.rto, path.heartbeats), (1500, None, ms(1000), true));
    assert_eq!((fresh.peer_window, fresh.receive_window), (1 << 20, 1 << 20));
    assert_eq!(fresh.streams, (10, 10));
    assert_eq!((fresh.unacknowledged, fresh.pending, fresh.queued_bytes), (0, 0, 0));
    pair.reads = [true, false];
    for _ in 0..6 {
        pair.send(Side::A, a, 0, &[7; 1000]);
    }
    pair.pump();
    let sending = pair.a(a).status();
    // An initial window of 4,404 bytes, and one packet beyond it.
    assert_eq!((sending.unacknowledged, sending.queued_bytes), (5, 1000));
    assert_eq!(sending.peer_window, (1 << 20) - 5000);
    pair.run_for(ms(500));
    let sent = pair.a(a).status();
    assert!(sent.primary().unwrap().srtt.is_some());
    assert_eq!(pair.a(a).srtt(of(Side::Z)), Ok(sent.primary().unwrap().srtt));
    assert!(sent.primary().unwrap().cwnd > path.cwnd, "{sent:?}");
    let received = pair.z.view(z).unwrap().status();
    assert_eq!(received.pending, 6);
    assert!(received.receive_window <= (1 << 20) - 6000, "{received:?}");
}

/// "If the specified destination transport address is not present ..., an error is returned" (11.1.6), and so elsewhere.
#[test]
fn an_address_that_the_peer_does_not_have_is_refused() {
    let (mut pair, a, _) = up(2);
    let now = pair.now;
    let unknown = PathError::Unknown { address: STRANGE, known: vec![of(Side::Z)] };
    let mut handle = pair.a(a);
    assert_eq!(handle.set_primary(now, of(Side::Z)), Ok(()));
    assert_eq!(handle.set_primary(now, STRANGE), Err(unknown.clone()));
    assert_eq!(handle.srtt(STRANGE), Err(unknown.clone()));
    assert_eq!(handle.change_heartbeat(now, STRANGE, true, None), Err(unknown.clone()));
    assert_eq!(handle.request_heartbeat(now, STRANGE), Err(unknown.clone()));
    assert_eq!(handle.set_failure_threshold(STRANGE, 2), Err(unknown.clone()));
    assert_eq!(handle.set_encapsulation_port((STRANGE, 9899).into()), Err(unknown.clone()));
    assert_eq!(unknown.to_string(), "10.9.9.9 is no address of the peer; it has 10.0.0.2");
    assert_eq!(handle.set_encapsulation_port((of(Side::Z), 9899).into()), Ok(()));
    assert_eq!(handle.remote(), Some((of(Side::Z), 9899).into()));
    assert_eq!(handle.set_encapsulation_port(address(Side::Z)), Ok(()));
    handle.shutdown(now);
    assert_eq!(handle.request_heartbeat(now, of(Side::Z)), Err(PathError::NotUp));
}

fn heartbeats(pair: &Pair, from: Side) -> usize {
    pair.log.iter().filter(|p| p.from == from && p.kinds().contains(&kind::HEARTBEAT)).count()
}

/// 11.1.9: off, on with another interval, and at once.
#[test]
fn heartbeats_are_changed_while_the_association_lives() {
    let (mut pair, a, _) = up(3);
    let now = pair.now;
    pair.a(a).change_heartbeat(now, of(Side::Z), false, None).unwrap();
    assert!(!pair.a(a).status().primary().unwrap().heartbeats);
    pair.run_for(Duration::from_secs(300));
    assert_eq!(heartbeats(&pair, Side::A), 0);
    let now = pair.now;
    pair.a(a).change_heartbeat(now, of(Side::Z), true, Some(ms(500))).unwrap();
    pair.run_for(Duration::from_secs(60));
    // An interval and an RTO: 1.5 s, give or take.
    let sent = heartbeats(&pair, Side::A);
    assert!((35..=55).contains(&sent), "{sent}");
    assert!(pair.events.iter().all(|(.., e)| !matches!(e, Event::PathDown { .. })));
}

/// 11.1.10: a HEARTBEAT leaves now, although none would; and if nothing comes back it counts for the path.
#[test]
fn a_heartbeat_is_sent_on_demand() {
    let config = Config::rfc9260().with(|c| c.timers.heartbeat_interval = Duration::ZERO);
    let (mut pair, a, _) = Pair::established(4, &config);
    let now = pair.now;
    pair.a(a).request_heartbeat(now, of(Side::Z)).unwrap();
    pair.pump();
    assert_eq!(heartbeats(&pair, Side::A), 1);
    pair.run_for(Duration::from_secs(100));
    assert_eq!(pair.a(a).status().primary().unwrap().srtt, Some(ms(20)));
    assert_eq!(heartbeats(&pair, Side::A), 1, "once");
    pair.drop_if(|_| true);
    let now = pair.now;
    pair.a(a).set_failure_threshold(of(Side::Z), 0).unwrap();
    pair.a(a).request_heartbeat(now, of(Side::Z)).unwrap();
    pair.run_for(Duration::from_secs(100));
    assert_eq!(heartbeats(&pair, Side::A), 2);
    assert!(pair.saw(Side::A, |e| matches!(e, Event::PathDown { path: 0 })));
    assert!(!pair.a(a).status().primary().unwrap().active);
}

/// 11.1.12 and 11.1.13: the number of retransmissions after which a path is inactive, and an association unreachable.
#[test]
fn thresholds_count_at_once() {
    let (mut pair, a, _) = up(5);
    pair.drop_if(|_| true);
    pair.send(Side::A, a, 0, b"lost");
    pair.run_for(ms(1500));
    pair.a(a).set_failure_threshold(of(Side::Z), 1).unwrap();
    pair.run_for(ms(2000));
    assert!(pair.saw(Side::A, |e| matches!(e, Event::PathDown { .. })), "after the second T3-rtx");
    let now = pair.now;
    pair.a(a).set(now, "association_max_retrans", "2").unwrap();
    pair.run_for(Duration::from_secs(5));
    let gone = CloseReason::Unreachable { limit: "Association.Max.Retrans" };
    assert!(pair.saw(Side::A, |e| *e == Event::Closed(gone.clone())));
    assert_eq!(pair.a(a).set(now, "rto_min", "1 s"), Err(ChangeError::Closed));
}

/// The bounds hold for the RTO that there is, in both directions.
#[test]
fn the_bounds_of_the_rto_count_at_once() {
    let (mut pair, a, _) = up(6);
    pair.send(Side::A, a, 0, b"a sample");
    pair.run_for(ms(500));
    let now = pair.now;
    let rto = |pair: &mut Pair| pair.a(a).status().primary().unwrap().rto;
    assert_eq!(rto(&mut pair), ms(1000));
    pair.a(a).set(now, "rto_min", "10 ms").unwrap();
    // SRTT + 4 RTTVAR = 20 + 4 * 10.
    assert_eq!(rto(&mut pair), ms(60));
    pair.a(a).set(now, "rto_max", "30 ms").unwrap();
    assert_eq!(rto(&mut pair), ms(30));
    pair.a(a).update(now, |c| (c.timers.rto_min, c.timers.rto_max) = (ms(3000), ms(5000))).unwrap();
    assert_eq!(rto(&mut pair), ms(3000));
    pair.log.clear();
    pair.drop_if(|_| true);
    pair.send(Side::A, a, 0, b"lost");
    pair.run_for(ms(2999));
    assert_eq!(pair.log.len(), 1);
    pair.run_for(ms(2));
    assert_eq!(pair.log.len(), 2);
}

/// SACK.Delay and the number of packets; Max.Burst; the send buffer.
#[test]
fn other_parameters_count_at_once() {
    let (mut pair, a, z) = up(7);
    pair.send(Side::A, a, 0, b"the first is acknowledged at once");
    pair.run_for(ms(500));
    let now = pair.now;
    pair.z.association(z).unwrap().set(now, "sack_delay", "50 ms").unwrap();
    pair.log.clear();
    pair.send(Side::A, a, 0, b"x");
    pair.run_for(ms(500));
    assert_eq!(pair.log[1].at - pair.log[0].at, ms(60));
    let now = pair.now;
    pair.z.association(z).unwrap().set(now, "sack_every", "1").unwrap();
    pair.log.clear();
    pair.send(Side::A, a, 0, b"x");
    pair.run_for(ms(500));
    assert_eq!(pair.log[1].at - pair.log[0].at, ms(10));
    // With Max.Burst 2 the flight reaches two full packets at once, with none the whole window.
    for (burst, packets) in [(MaxBurst::Clamp(2), 3), (MaxBurst::Off, 5)] {
        let (mut pair, a, _) = up(8);
        let now = pair.now;
        pair.a(a).update(now, |c| c.congestion.max_burst = burst).unwrap();
        for _ in 0..10 {
            pair.send(Side::A, a, 0, &[7; 1000]);
        }
        pair.pump();
        assert_eq!(pair.log.len(), packets, "{burst:?}");
        let now = pair.now;
        pair.a(a).set(now, "send_buffer", "1 B").unwrap();
        let message = Message::new(0, Bytes::from_static(b"x"));
        assert!(pair.a(a).send(now, message.clone()).is_err());
        pair.a(a).set(now, "send_buffer", "100 kB").unwrap();
        pair.pump();
        assert!(pair.saw(Side::A, |e| *e == Event::Writable { stream: None }));
        assert!(pair.a(a).send(now, message).is_ok());
    }
}

/// Options that were agreed on with the peer cannot be changed: the error names the option, and those that can.
#[test]
fn what_only_counts_from_the_beginning_is_refused() {
    let (mut pair, a, _) = up(9);
    let now = pair.now;
    let error = pair.a(a).set(now, "outbound_streams", "20").unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, ChangeError::Fixed { key: "outbound_streams", .. }));
    for key in Config::changeable() {
        assert!(text.contains(key), "{text}");
    }
    // All or nothing.
    let error = pair.a(a).update(now, |c| {
        c.timers.rto_min = ms(1);
        c.extensions.zero_checksum = Some(anabranch_sctp::config::ErrorDetection::Dtls);
    });
    assert!(matches!(error, Err(ChangeError::Fixed { key: "zero_checksum", .. })));
    assert_eq!(pair.a(a).configuration().timers.rto_min, ms(1000));
    // Values that no option takes.
    {
        let mut handle = pair.a(a);
        for error in [
            handle.update(now, |c| c.sack.delay = ms(501)),
            handle.update(now, |c| c.timers.rto_max = ms(1)),
            handle.set(now, "rto_min", "120 s"),
            handle.set(now, "rto_mni", "1 s"),
        ] {
            assert!(matches!(error, Err(ChangeError::Config(_))), "{error:?}");
        }
    }
    // Every option can be set to its present value, and only one of the two ends changes.
    for key in Config::changeable() {
        let value = pair.a(a).configuration().get(key).unwrap();
        pair.a(a).set(now, key, &value).unwrap();
    }
    pair.a(a).set(now, "sack_every", "7").unwrap();
    assert_eq!(pair.z.view(pair.id_of(Side::Z)).unwrap().configuration().sack.every, 2);
}

/// "SHOULD respond with an ABORT" to an INIT where nobody listens any more (5.1, 8.4); those who came before live, and may
/// restart.
#[test]
fn nobody_is_accepted_any_more() {
    let (mut pair, a, z) = up(10);
    pair.z.stop_listening();
    assert!(!pair.z.is_listening());
    pair.send(Side::A, a, 0, b"still here");
    pair.run_for(ms(500));
    assert_eq!(pair.received.len(), 1);
    let mut stranger = common::meta(Side::A);
    stranger.source = (STRANGE, 0).into();
    let mut other = Pair::new(11);
    other.a.connect(other.now, address(Side::Z), PORT, Arc::new(Config::rfc9260())).unwrap();
    let mut init = Vec::new();
    other.a.poll_transmit(other.now, 1, &mut init).unwrap();
    let now = pair.now;
    pair.z.handle_datagram(now, stranger, &init);
    let mut answer = Vec::new();
    let transmit = pair.z.poll_transmit(now, 1, &mut answer).unwrap();
    assert_eq!((transmit.destination.ip(), answer[12]), (STRANGE, kind::ABORT));
    // The peer restarts.
    std::mem::swap(&mut pair.a, &mut Pair::new(12).a);
    let again = pair.a.connect(pair.now, address(Side::Z), PORT, Arc::new(Config::rfc9260())).unwrap();
    pair.run_for(ms(500));
    assert!(pair.saw(Side::Z, |e| matches!(e, Event::Restarted { .. })));
    assert_eq!(pair.a(again).state(), State::Established);
    // DESTROY (11.1.16).
    let now = pair.now;
    pair.z.destroy(now);
    pair.run_for(ms(500));
    assert!(pair.saw(Side::A, |e| matches!(e, Event::Closed(CloseReason::AbortedByPeer { .. }))));
    assert_eq!(pair.z.associations(), 0);
    assert!(pair.z.release(z));
}

/// A cookie that was given while somebody listened is worth nothing any more.
#[test]
fn a_cookie_from_before_gets_an_abort() {
    let (mut pair, a) = Pair::connecting(13, &Config::rfc9260());
    pair.run_for(ms(15));
    pair.z.stop_listening();
    pair.run_for(ms(500));
    let refused = |e: &Event| matches!(e, Event::Closed(CloseReason::AbortedByPeer { .. }));
    assert!(pair.saw(Side::A, refused));
    assert_eq!((pair.z.associations(), pair.a(a).state()), (0, State::Closed));
}

fn take_back(pair: &mut Pair, id: AssociationId) -> (Vec<Undelivered>, Vec<Undelivered>) {
    let mut handle = pair.a(id);
    let unacknowledged = std::iter::from_fn(|| handle.receive_unacknowledged()).collect();
    let unsent = std::iter::from_fn(|| handle.receive_unsent()).collect();
    (unacknowledged, unsent)
}

fn failed(pair: &Pair) -> Option<(usize, usize)> {
    pair.events.iter().find_map(|(side, _, e)| match e {
        Event::SendFailed { unsent, unacknowledged } if *side == Side::A => Some((*unacknowledged, *unsent)),
        _ => None,
    })
}

/// 11.1.14, 11.1.15 and 11.2.2: sent messages come back as sent, others as unsent; without a copy.
#[test]
fn an_abort_gives_back_what_was_not_delivered() {
    let (mut pair, a, _) = up(14);
    pair.drop_if(|_| true);
    let payload = Bytes::from(vec![7; 1000]);
    for stream in 0..8_u16 {
        let message = Message { ppid: 100 + u32::from(stream), ..Message::new(stream, payload.clone()) };
        let now = pair.now;
        pair.a(a).send(now, message).unwrap();
    }
    pair.pump();
    assert!(pair.a(a).receive_unsent().is_none() && pair.a(a).receive_unacknowledged().is_none());
    let now = pair.now;
    pair.a(a).abort(now, b"enough");
    pair.pump();
    assert_eq!(failed(&pair), Some((5, 3)));
    let order: Vec<&Event> = pair.events.iter().filter(|(s, ..)| *s == Side::A).map(|(.., e)| e).collect();
    assert!(
        matches!(order[order.len() - 1], Event::Closed(CloseReason::AbortedLocally)),
        "the end is the end"
    );
    let (sent, unsent) = take_back(&mut pair, a);
    let all: Vec<(u16, u32, Option<u32>)> =
        sent.iter().chain(&unsent).map(|m| (m.stream, m.ppid, m.number)).collect();
    let expected: Vec<_> = (0..8).map(|n| (n, 100 + u32::from(n), (n < 5).then_some(0))).collect();
    assert_eq!(all, expected);
    for message in sent.iter().chain(&unsent) {
        assert!(message.whole && !message.gap_acknowledged && !message.is_empty());
        assert_eq!(message.pieces().next().unwrap().as_ptr(), payload.as_ptr(), "the user's memory");
    }
    assert!(pair.a.release(a));
}

/// A graceful end, and a life in which everything arrives, give back nothing.
#[test]
fn nothing_comes_back_of_what_was_delivered() {
    let (mut pair, a, _) = up(15);
    pair.send_all(Side::A, a, 3, 20, 3000);
    let now = pair.now;
    pair.a(a).shutdown(now);
    pair.run_for(Duration::from_secs(5));
    assert!(pair.saw(Side::A, |e| *e == Event::Closed(CloseReason::Graceful)));
    assert_eq!(failed(&pair), None);
    assert_eq!(take_back(&mut pair, a), (Vec::new(), Vec::new()));
    pair.check_all(Side::Z, 3, 20);
}

/// A peer that never answers, one that refuses, and one that grants fewer streams.
#[test]
fn what_no_association_came_of_comes_back() {
    let config = Config::rfc9260().with(|c| c.limits.max_init_retransmits = 1);
    let (mut pair, a) = Pair::connecting(16, &config);
    pair.drop_if(|_| true);
    pair.send(Side::A, a, 3, b"never sent");
    pair.run_for(Duration::from_secs(10));
    assert_eq!(failed(&pair), Some((0, 1)));
    let (sent, unsent) = take_back(&mut pair, a);
    assert_eq!((sent.len(), unsent[0].stream, unsent[0].clone().into_bytes()), (0, 3, "never sent".into()));

    let mut pair = Pair::new(17);
    pair.z.listen(Arc::new(Config::rfc9260().with(|c| c.streams.inbound = 2))).unwrap();
    let a = pair.a.connect(pair.now, address(Side::Z), PORT, Arc::new(Config::rfc9260())).unwrap();
    for stream in [0, 5, 1, 9] {
        pair.send(Side::A, a, stream, &stream.to_be_bytes());
    }
    pair.run_for(ms(500));
    assert!(pair.saw(Side::A, |e| *e == Event::StreamsReduced { messages_dropped: 2 }));
    let (sent, unsent) = take_back(&mut pair, a);
    assert_eq!((sent.len(), unsent.iter().map(|m| m.stream).collect::<Vec<_>>()), (0, vec![5, 9]));
    assert_eq!(pair.received.len(), 2);
}

/// A peer that restarts has forgotten the messages that it had not acknowledged (5.2.4.1): their sender gets them back.
#[test]
fn what_a_restarted_peer_had_not_acknowledged_comes_back() {
    let (mut pair, a, _) = up(18);
    pair.drop_if(|_| true);
    pair.send(Side::A, a, 0, b"into the dark");
    pair.send(Side::A, a, 1, &[7; 20_000]);
    pair.pump();
    pair.drop_if(|_| false);
    std::mem::swap(&mut pair.z, &mut Pair::new(19).z);
    pair.z.connect(pair.now, address(Side::A), PORT, Arc::new(Config::rfc9260())).unwrap();
    pair.run_for(ms(500));
    assert!(pair.saw(Side::A, |e| matches!(e, Event::Restarted { .. })));
    assert_eq!(failed(&pair), Some((2, 0)));
    let (sent, _) = take_back(&mut pair, a);
    assert_eq!(
        sent.iter().map(|m| (m.stream, m.len(), m.whole)).collect::<Vec<_>>(),
        [(0, 13, true), (1, 20_000, true)]
    );
    pair.send(Side::A, a, 1, b"anew");
    pair.run_for(ms(500));
    assert_eq!(pair.received.len(), 1);
}

/// Lives with losses that end at a random time: each message has reached the peer, or comes back; what comes back whole is what
/// was given, and what does not is the end of it.
#[test]
fn nothing_vanishes() {
    let mut returned_parts = 0;
    let mut returned_both = 0;
    for seed in 0..150 {
        let mut rng = Rng::stream(seed, "interface", "nothing vanishes");
        let config = Config::rfc9260().with(|c| {
            c.extensions.interleaving = seed % 3 == 1;
            c.subflows = common::subflow_config(SubflowLevel::Zero, 1 + (seed % 4) as u8).subflows;
            c.limits.send_buffer = 1 << 20;
        });
        let (mut pair, a, _) = Pair::established(seed, &config);
        let mut losses = Rng::stream(seed, "interface", "losses");
        pair.drop_if(move |_| losses.below(5) == 0);
        let mut given: BTreeMap<u32, (u16, Bytes)> = BTreeMap::new();
        for n in 0..40_u32 {
            let len = 4 + rng.below(9000) as usize;
            let stream = rng.below(6) as u16;
            let mut payload = vec![n as u8; len];
            payload[..4].copy_from_slice(&n.to_be_bytes());
            let payload = Bytes::from(payload);
            let message =
                Message { unordered: rng.below(4) == 0, ppid: n, ..Message::new(stream, payload.clone()) };
            given.insert(n, (stream, payload));
            let now = pair.now;
            pair.a(a).send(now, message).unwrap();
            pair.run_for(ms(rng.below(30)));
        }
        pair.run_for(ms(rng.below(2000)));
        let now = pair.now;
        pair.a(a).abort(now, b"");
        let (sent, unsent) = take_back(&mut pair, a);
        pair.pump();
        returned_both += u32::from(!sent.is_empty() && !unsent.is_empty());
        for message in sent.iter().chain(&unsent) {
            let (stream, payload) = &given[&message.ppid];
            let bytes = message.clone().into_bytes();
            assert_eq!(*stream, message.stream);
            assert!(!bytes.is_empty() && payload.ends_with(&bytes), "seed {seed}: message {}", message.ppid);
            assert_eq!(message.whole, bytes.len() == payload.len(), "seed {seed}: message {}", message.ppid);
            returned_parts += u32::from(!message.whole);
        }
        let count = |n: u32| sent.iter().chain(&unsent).filter(|m| m.ppid == n).count();
        for n in given.keys() {
            let arrived = pair.received.iter().filter(|(_, m)| m.ppid == *n).count();
            assert!(count(*n) <= 1 && arrived <= 1, "seed {seed}: message {n}");
            assert!(count(*n) + arrived >= 1, "seed {seed}: message {n} has vanished");
        }
    }
    assert!(returned_parts > 5 && returned_both > 5, "{returned_parts} {returned_both}");
}

/// It is known without asking for a packet that there is not, and a window that is full queues nobody.
#[test]
fn an_endpoint_knows_when_all_has_left() {
    let (mut pair, a, _) = up(1);
    let now = pair.now;
    let mut packets = Vec::new();
    assert!(!pair.a.has_ready());
    pair.a(a).send(now, Message::new(0, vec![7; 100])).unwrap();
    assert!(pair.a.has_ready());
    assert!(pair.a.poll_transmit(now, 1, &mut packets).is_some());
    assert!(!pair.a.has_ready(), "one packet was all");
    pair.a(a).send(now, Message::new(0, vec![7; 100_000])).unwrap();
    while pair.a.has_ready() {
        assert!(
            pair.a.poll_transmit(now, 1, &mut packets).is_some(),
            "it is asked only while it has something"
        );
    }
    assert!(pair.a.view(a).unwrap().queued_bytes() > 0, "the window is full");
}
