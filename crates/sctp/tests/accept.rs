//! Whom an endpoint lets in: limits, and a user who is asked (RFC 9260, 5.1).

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]
#![allow(dead_code, reason = "the harness has more than this file needs")]

use crate::network;

use std::sync::Arc;

use anabranch_base::{Duration, Rng};
use anabranch_sctp::{
    AbortReason, AcceptConfig, AcceptError, AssociationId, CloseReason, Config, Endpoint, EndpointConfig,
    EndpointEvent, Event, Incoming, IncomingId, State, Timer, Withdrawn,
};
use anabranch_wire::cause::{Cause, Causes, UserInitiatedAbort};
use anabranch_wire::chunk::{Abort, Chunk, CookieEcho, kind};
use network::{Datagram, Network, Offer, PORT, at, data, echo, init, ip, packet};

const A: u8 = 1;
const Z: u8 = 2;
/// Strangers, of whom nobody runs an endpoint.
const X: u8 = 9;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A, and Z who listens as `change` says.
fn with(change: impl FnOnce(&mut EndpointConfig)) -> (Network, usize, usize) {
    let mut net = Network::default();
    let (a, z) = (net.add(1, "a", &[A]), net.add(1, "z", &[Z]));
    let mut config = EndpointConfig::new(at(ip(Z)), PORT).keeping_closed();
    change(&mut config);
    net.hosts[z].endpoint = Endpoint::new(config, Rng::stream(1, "z", "accept").secret());
    net.listen(z);
    (net, a, z)
}

fn asking() -> (Network, usize, usize) {
    with(|config| config.accept.ask = true)
}

fn next(net: &mut Network, host: usize) -> Option<EndpointEvent> {
    net.hosts[host].endpoint.poll_endpoint_event()
}

fn next_incoming(net: &mut Network, host: usize) -> Incoming {
    match next(net, host) {
        Some(EndpointEvent::Incoming(incoming)) => incoming,
        other => panic!("{other:?}"),
    }
}

fn accept(net: &mut Network, host: usize, id: IncomingId) -> Result<AssociationId, AcceptError> {
    let now = net.now;
    net.hosts[host].endpoint.accept(now, id, Arc::new(Config::rfc9260()))
}

/// The INIT ACK promises the configuration given to `listen` at that time, and the promise is kept whatever `listen`
/// is given while the user thinks.
#[test]
fn a_promise_is_kept_though_listen_is_called_again() {
    let (mut net, a, z) = asking();
    net.connect(a, ip(Z));
    net.run_for(ms(100));
    let incoming = next_incoming(&mut net, z);
    let smaller = Arc::new(Config::rfc9260().with(|c| c.limits.receive_window = 5000));
    net.hosts[z].endpoint.listen(Arc::clone(&smaller)).unwrap();
    let now = net.now;
    let refused = net.hosts[z].endpoint.accept(now, incoming.id, smaller);
    assert!(matches!(refused, Err(AcceptError::Promised { key: "receive_window", .. })), "{refused:?}");
    assert!(accept(&mut net, z, incoming.id).is_ok());
}

/// A stranger at an address asks, and gets a cookie.
fn ask(net: &mut Network, from: u8, tag: u32) -> Option<Offer> {
    net.throw(ip(from), ip(Z), init(tag, &[]));
    net.run_for(ms(25));
    net.take(ip(from)).iter().find_map(Datagram::offer)
}

/// The causes of the first ABORT, as codes.
fn aborted(packets: &[Datagram]) -> Option<(u32, Vec<u16>)> {
    packets.iter().find_map(|packet| {
        let mut found = None;
        packet.each(|chunk| {
            if let Chunk::Abort(abort) = chunk {
                assert!(!abort.reflected_tag);
                let codes = abort.causes.iter().map(|cause| cause.unwrap().kind).collect();
                found = Some((packet.tag(), codes));
            }
        });
        found
    })
}

const OUT_OF_RESOURCE: u16 = 4;
const USER_ABORT: u16 = 12;

/// A peer's request waits for the user, with the data that came along; then it is like any other association.
#[test]
fn who_asks_waits_until_the_user_has_decided() {
    let (mut net, a, z) = asking();
    let id = net.connect(a, ip(Z));
    net.send(a, id, b"early");
    net.run_for(ms(1500));
    assert_eq!(net.state(a, id), State::CookieEchoed, "nobody has answered");
    assert_eq!((net.hosts[z].endpoint.associations(), net.hosts[z].endpoint.waiting()), (0, 1));
    let incoming = next_incoming(&mut net, z);
    assert_eq!((incoming.source, incoming.port), (at(ip(A)), PORT));
    assert_eq!((incoming.addresses.clone(), incoming.destination), (vec![ip(A)], at(ip(Z))));
    assert_eq!(incoming.streams, (10, 10));
    assert!(!incoming.offers.interleaving && !incoming.offers.reconfiguration);
    assert_eq!(next(&mut net, z), None, "copies of the COOKIE ECHO are the same peer");
    let back = accept(&mut net, z, incoming.id).unwrap();
    assert_eq!(accept(&mut net, z, incoming.id), Err(AcceptError::Gone));
    net.run_for(ms(100));
    assert_eq!((net.state(a, id), net.state(z, back)), (State::Established, State::Established));
    assert_eq!(net.received_from(z, ip(A)), [b"early"]);
    let accepted = Event::Accepted { address: at(ip(A)), outbound_streams: 10, inbound_streams: 10 };
    assert_eq!(net.hosts[z].events[0], (back, accepted));
    assert_eq!(net.hosts[z].endpoint.waiting(), 0);
}

/// A configuration of its own, where the peer was told nothing else.
#[test]
fn a_configuration_may_differ_in_what_the_peer_was_not_told() {
    let (mut net, a, z) = asking();
    let id = net.connect(a, ip(Z));
    net.run_for(ms(100));
    let incoming = next_incoming(&mut net, z);
    let now = net.now;
    let told = Config::rfc9260().with(|c| c.extensions.interleaving = true);
    let error = net.hosts[z].endpoint.accept(now, incoming.id, Arc::new(told)).unwrap_err();
    assert!(matches!(&error, AcceptError::Promised { key: "interleaving", .. }), "{error}");
    assert!(error.to_string().contains("`interleaving` is `true`"), "{error}");
    let own = Config::rfc9260().with(|c| c.limits.association_max_retrans = 3);
    let back = net.hosts[z].endpoint.accept(now, incoming.id, Arc::new(own)).unwrap();
    net.run_for(ms(100));
    assert_eq!(net.state(a, id), State::Established);
    let taken = net.hosts[z].endpoint.view(back).unwrap().configuration().limits.association_max_retrans;
    assert_eq!(taken, 3);
}

/// The peer is told why, also when the first ABORT is lost.
#[test]
fn who_is_refused_hears_why_each_time() {
    let (mut net, a, z) = asking();
    let id = net.connect(a, ip(Z));
    net.run_for(ms(100));
    let incoming = next_incoming(&mut net, z);
    net.unreachable.push(ip(A));
    assert!(net.hosts[z].endpoint.refuse(incoming.id, b"members only"));
    assert!(!net.hosts[z].endpoint.refuse(incoming.id, b"twice"));
    net.run_for(ms(100));
    assert_eq!(net.state(a, id), State::CookieEchoed);
    net.unreachable.clear();
    net.run_for(ms(1500));
    let reason = Some(Box::new(AbortReason(b"members only".to_vec())));
    let closed = Event::Closed(CloseReason::AbortedByPeer { causes: vec![USER_ABORT], reason });
    assert!(net.hosts[a].events.contains(&(id, closed)), "{:?}", net.hosts[a].events);
    assert_eq!(next(&mut net, z), None, "the user is not asked again");
    assert_eq!(net.hosts[z].endpoint.endpoint_stats().refused, 2);
    assert_eq!(net.hosts[z].endpoint.associations(), 0);
}

/// Nothing is answered, whatever comes, until the cookie is stale.
#[test]
fn who_is_ignored_hears_nothing() {
    let (mut net, _, z) = asking();
    let offer = ask(&mut net, X, 77).unwrap();
    net.throw(ip(X), ip(Z), echo(&offer, 77, b"x"));
    net.run_for(ms(25));
    let incoming = next_incoming(&mut net, z);
    assert!(net.hosts[z].endpoint.ignore(incoming.id));
    for _ in 0..20 {
        net.throw(ip(X), ip(Z), echo(&offer, 77, b"x"));
        net.run_for(ms(1000));
    }
    assert_eq!(net.take(ip(X)).len(), 0);
    assert_eq!(next(&mut net, z), None);
    // It may ask again: the verdict was on its first request.
    let again = ask(&mut net, X, 78).unwrap();
    net.throw(ip(X), ip(Z), echo(&again, 78, b"x"));
    net.run_for(ms(25));
    next_incoming(&mut net, z);
}

/// A user who never decides holds nothing for ever: with its cookie the peer is gone, and the next copy is answered as stale.
#[test]
fn nobody_waits_longer_than_a_cookie_lives() {
    let (mut net, _, z) = asking();
    let offer = ask(&mut net, X, 77).unwrap();
    net.throw(ip(X), ip(Z), echo(&offer, 77, b"x"));
    net.run_for(ms(25));
    let incoming = next_incoming(&mut net, z);
    let (due, why) = net.hosts[z].endpoint.poll_timeout().unwrap();
    assert_eq!((due - incoming.until, why), (Duration::from_nanos(1), Timer::Incoming));
    net.run_for(Duration::from_secs(61));
    let gone = EndpointEvent::IncomingWithdrawn { id: incoming.id, why: Withdrawn::TooLate };
    assert_eq!(next(&mut net, z), Some(gone));
    assert_eq!(accept(&mut net, z, incoming.id), Err(AcceptError::Gone));
    assert_eq!((net.hosts[z].endpoint.waiting(), net.hosts[z].endpoint.poll_timeout()), (0, None));
    net.throw(ip(X), ip(Z), echo(&offer, 77, b"x"));
    net.run_for(ms(25));
    assert_eq!(net.take(ip(X))[0].kinds(), [kind::ERROR]);
}

/// Accepting does not wait for the timer to have run: a stale cookie is never good.
#[test]
fn a_cookie_that_has_become_stale_is_not_accepted() {
    let (mut net, _, z) = asking();
    let offer = ask(&mut net, X, 77).unwrap();
    net.throw(ip(X), ip(Z), echo(&offer, 77, b"x"));
    net.run_for(ms(25));
    let incoming = next_incoming(&mut net, z);
    net.now = incoming.until + Duration::from_nanos(1);
    assert_eq!(accept(&mut net, z, incoming.id), Err(AcceptError::Gone));
}

/// The attack: one source asks from every port and takes all places. Others find one.
#[test]
fn one_source_cannot_fill_the_backlog() {
    let (mut net, a, z) = with(|config| {
        config.accept =
            AcceptConfig { ask: true, backlog: 8, backlog_per_source: 3, ..AcceptConfig::default() };
    });
    // From every port: the harness has one, so the packets are changed.
    let from_port = |bytes: Vec<u8>, port: u16| {
        let mut bytes = bytes;
        bytes[..2].copy_from_slice(&port.to_be_bytes());
        bytes[8..12].fill(0);
        let sum = anabranch_wire::crc32c::packet_checksum(&bytes);
        bytes[8..12].copy_from_slice(&anabranch_wire::crc32c::store(sum));
        bytes
    };
    let mut refused = 0;
    for port in 100..120u16 {
        net.throw(ip(X), ip(Z), from_port(init(u32::from(port), &[]), port));
        net.run_for(ms(25));
        let answers = net.take(ip(X));
        let Some(offer) = answers.iter().find_map(Datagram::offer) else {
            assert_eq!(aborted(&answers), Some((u32::from(port), vec![OUT_OF_RESOURCE])));
            refused += 1;
            continue;
        };
        net.throw(ip(X), ip(Z), from_port(echo(&offer, u32::from(port), b"x"), port));
        net.run_for(ms(25));
        assert_eq!(net.take(ip(X)).len(), 0, "it waits");
    }
    assert_eq!((net.hosts[z].endpoint.waiting(), refused), (3, 17));
    let id = net.connect(a, ip(Z));
    net.run_for(ms(100));
    assert_eq!((net.hosts[z].endpoint.waiting(), net.state(a, id)), (4, State::CookieEchoed));
}

/// Cookies that were given before the backlog was full do not get in either, and the ABORT says why.
#[test]
fn a_full_backlog_answers_cookies_with_out_of_resource() {
    let (mut net, _, z) = with(|config| {
        config.accept = AcceptConfig { ask: true, backlog: 2, ..AcceptConfig::default() };
    });
    let offers: Vec<_> = (0..4u8).map(|n| ask(&mut net, X + n, 100 + u32::from(n)).unwrap()).collect();
    for (n, offer) in (0..).zip(&offers) {
        net.throw(ip(X + n), ip(Z), echo(offer, 100 + u32::from(n), b"x"));
    }
    net.run_for(ms(25));
    assert_eq!(net.hosts[z].endpoint.waiting(), 2);
    for n in 0..4u8 {
        let answer = aborted(&net.take(ip(X + n)));
        let expected = (n >= 2).then(|| (100 + u32::from(n), vec![OUT_OF_RESOURCE]));
        assert_eq!(answer, expected, "{n}");
    }
    // A peer that waits is not refused because it waits.
    net.throw(ip(X), ip(Z), echo(&offers[0], 100, b"x"));
    net.run_for(ms(25));
    assert_eq!(aborted(&net.take(ip(X))), None);
}

/// The peer loses its memory while it waits, and asks again: the first is withdrawn, and its cookie is good for nothing.
#[test]
fn a_peer_that_begins_anew_takes_its_own_place() {
    let (mut net, _, z) = with(|config| {
        config.accept = AcceptConfig { ask: true, backlog: 1, ..AcceptConfig::default() };
    });
    let old = ask(&mut net, X, 1).unwrap();
    net.throw(ip(X), ip(Z), echo(&old, 1, b"old"));
    net.run_for(ms(25));
    let first = next_incoming(&mut net, z);
    let new = ask(&mut net, X, 2).unwrap();
    net.throw(ip(X), ip(Z), echo(&new, 2, b"new"));
    net.run_for(ms(25));
    // Copies of the old one come late.
    net.throw(ip(X), ip(Z), echo(&old, 1, b"old"));
    net.run_for(ms(25));
    let gone = EndpointEvent::IncomingWithdrawn { id: first.id, why: Withdrawn::BegunAnew };
    assert_eq!(next(&mut net, z), Some(gone));
    let second = next_incoming(&mut net, z);
    assert_eq!((next(&mut net, z), net.hosts[z].endpoint.waiting()), (None, 1));
    assert_eq!(accept(&mut net, z, first.id), Err(AcceptError::Gone));
    let back = accept(&mut net, z, second.id).unwrap();
    net.run_for(ms(25));
    assert_eq!(net.state(z, back), State::Established);
    assert_eq!(net.received_from(z, ip(X)), [b"new"]);
    net.throw(ip(X), ip(Z), echo(&old, 1, b"old"));
    net.run_for(ms(25));
    assert_eq!(net.received_from(z, ip(X)), [b"new"]);
}

/// The peer gives up: with the tag of either side, as 8.5.1 has it, and nobody else can withdraw its request.
#[test]
fn a_peer_that_aborts_waits_no_more() {
    for reflected_tag in [false, true] {
        let (mut net, _, z) = asking();
        let offer = ask(&mut net, X, 77).unwrap();
        net.throw(ip(X), ip(Z), echo(&offer, 77, b"x"));
        net.run_for(ms(25));
        let incoming = next_incoming(&mut net, z);
        let abort =
            |tag, reflected_tag| packet(tag, |out| Abort { reflected_tag, causes: Causes::EMPTY }.emit(out));
        net.throw(ip(X), ip(Z), abort(offer.tag ^ 1, reflected_tag));
        net.throw(ip(X + 1), ip(Z), abort(offer.tag, false));
        net.run_for(ms(25));
        assert_eq!(net.hosts[z].endpoint.waiting(), 1);
        // A packet without an ABORT is not answered: an ABORT for a packet out of the blue would end the peer's side.
        net.throw(ip(X), ip(Z), packet(offer.tag, |out| data(77, b"y").emit(out)));
        net.run_for(ms(25));
        assert_eq!((net.take(ip(X)).len(), net.hosts[z].endpoint.waiting()), (0, 1));
        let tag = if reflected_tag { 77 } else { offer.tag };
        net.throw(ip(X), ip(Z), abort(tag, reflected_tag));
        net.run_for(ms(25));
        let gone = EndpointEvent::IncomingWithdrawn { id: incoming.id, why: Withdrawn::Aborted };
        assert_eq!((next(&mut net, z), net.take(ip(X)).len()), (Some(gone), 0));
    }
}

/// The bytes kept of a packet are bounded: behind a cookie that came with too much data only the cookie is kept.
#[test]
fn data_that_comes_along_is_bounded() {
    let (mut net, _, z) = asking();
    for (n, len) in [(0u8, 1000), (1, 20_000)] {
        let tag = 50 + u32::from(n);
        let offer = ask(&mut net, X + n, tag).unwrap();
        let large = packet(offer.tag, |out| {
            CookieEcho { cookie: &offer.cookie }.emit(out);
            data(tag, &vec![1; len]).emit(out);
        });
        net.throw(ip(X + n), ip(Z), large);
        net.run_for(ms(25));
        let incoming = next_incoming(&mut net, z);
        accept(&mut net, z, incoming.id).unwrap();
        net.run_for(ms(25));
        let got: Vec<_> = net.received_from(z, ip(X + n)).iter().map(|m| m.len()).collect();
        assert_eq!(got, if len == 1000 { vec![1000] } else { vec![] });
        assert!(net.take(ip(X + n))[0].kinds().starts_with(&[kind::COOKIE_ACK]));
    }
}

/// Meanwhile our own user has asked the same peer.
#[test]
fn an_association_with_the_same_peer_comes_first() {
    let (mut net, a, z) = asking();
    net.listen(a);
    let id = net.connect(a, ip(Z));
    net.run_for(ms(100));
    let incoming = next_incoming(&mut net, z);
    let mine = net.connect(z, ip(A));
    net.run_for(ms(500));
    assert_eq!((net.state(a, id), net.state(z, mine)), (State::Established, State::Established));
    assert_eq!(accept(&mut net, z, incoming.id), Err(AcceptError::Exists));
    net.send(a, id, b"one");
    net.run_for(ms(100));
    assert_eq!(net.received_from(z, ip(A)), [b"one"]);
}

/// "stop_listening" refuses those who wait, and says so.
#[test]
fn who_stops_listening_turns_all_away() {
    let (mut net, a, z) = asking();
    let id = net.connect(a, ip(Z));
    net.run_for(ms(100));
    let incoming = next_incoming(&mut net, z);
    net.hosts[z].endpoint.stop_listening();
    net.run_for(ms(100));
    let gone = EndpointEvent::IncomingWithdrawn { id: incoming.id, why: Withdrawn::Refused };
    assert_eq!(next(&mut net, z), Some(gone));
    assert_eq!(net.state(a, id), State::Closed);
}

/// One source has so many associations and no more; others are not affected, and an end makes room.
#[test]
fn a_limit_for_each_source() {
    for ask_user in [false, true] {
        let (mut net, a, z) = with(|config| {
            config.accept = AcceptConfig { ask: ask_user, max_per_source: 1, ..AcceptConfig::default() };
        });
        let admit = |net: &mut Network| {
            net.run_for(ms(100));
            while ask_user && net.hosts[z].endpoint.waiting() > 0 {
                let id = next_incoming(net, z).id;
                accept(net, z, id).unwrap();
                net.run_for(ms(100));
            }
        };
        let id = net.connect(a, ip(Z));
        admit(&mut net);
        assert_eq!(net.state(a, id), State::Established);
        // Another program on the same host.
        let other = EndpointConfig::new(at(ip(A)), 6000).keeping_closed();
        let mut other = Endpoint::new(other, Rng::stream(2, "other", "accept").secret());
        let now = net.now;
        other.connect(now, at(ip(Z)), PORT, Arc::new(Config::rfc9260())).unwrap();
        let mut bytes = Vec::new();
        other.poll_transmit(now, 1, &mut bytes).unwrap();
        net.throw(ip(A), ip(Z), bytes.clone());
        let sent = net.log.len();
        admit(&mut net);
        assert_eq!(net.log[sent].kinds(), [kind::ABORT]);
        net.log[sent].each(|chunk| {
            let Chunk::Abort(abort) = chunk else { panic!() };
            assert_eq!(abort.causes.iter().next().unwrap().unwrap().kind, OUT_OF_RESOURCE);
        });
        // A restart of the one that is there is no new association.
        let offer = ask(&mut net, X, 5).unwrap();
        net.throw(ip(X), ip(Z), echo(&offer, 5, b"x"));
        admit(&mut net);
        assert_eq!(net.hosts[z].endpoint.associations(), 2);
        let now = net.now;
        net.hosts[a].endpoint.association(id).unwrap().shutdown(now);
        net.run_for(ms(200));
        net.throw(ip(A), ip(Z), bytes);
        let sent = net.log.len();
        admit(&mut net);
        assert_eq!(net.log[sent].kinds(), [kind::INIT_ACK], "there is room again");
    }
}

/// The same seed, with and without a user who is asked and accepts at once: the same packets.
#[test]
fn a_user_who_accepts_at_once_changes_no_packet() {
    let run = |ask_user: bool| {
        let (mut net, a, z) = with(|config| config.accept.ask = ask_user);
        let id = net.connect(a, ip(Z));
        net.send(a, id, b"early");
        for _ in 0..3000 {
            net.run_for(ms(1));
            while let Some(event) = next(&mut net, z) {
                let EndpointEvent::Incoming(incoming) = event else { panic!() };
                accept(&mut net, z, incoming.id).unwrap();
            }
        }
        assert_eq!(net.state(a, id), State::Established);
        net.log.iter().map(|d| (d.from, d.kinds())).collect::<Vec<_>>()
    };
    assert_eq!(run(false), run(true));
}

/// The reason of a refusal is cut so that it fits one packet.
#[test]
fn a_long_reason_is_cut() {
    let (mut net, _, z) = asking();
    let offer = ask(&mut net, X, 77).unwrap();
    net.throw(ip(X), ip(Z), echo(&offer, 77, b"x"));
    net.run_for(ms(25));
    let incoming = next_incoming(&mut net, z);
    net.hosts[z].endpoint.refuse(incoming.id, &vec![b'x'; 5000]);
    net.run_for(ms(25));
    let answers = net.take(ip(X));
    assert!(answers[0].bytes.len() <= 512);
    answers[0].each(|chunk| {
        let Chunk::Abort(abort) = chunk else { panic!() };
        let cause = Cause::parse(abort.causes.iter().next().unwrap().unwrap()).unwrap();
        assert!(
            matches!(cause, Cause::UserInitiatedAbort(UserInitiatedAbort { reason }) if reason.len() == 448)
        );
    });
}
