//! A third party that has an address of its own, knows our ports and reads only packets sent to it: it takes over no
//! association and makes us send to nobody else (RFC 9260, 5.2.1, 5.2.2, 5.2.4, 5.4; RFC 5062, 2 to 6). And the honest peers
//! who do something alike: both ask at once, have several addresses, restart.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

use crate::network;

use std::net::IpAddr;
use std::sync::Arc;

use anabranch_base::{Dscp, Duration, Ecn, Instant, Meta, Rng};
use anabranch_sctp::{AssociationId, Config, Endpoint, EndpointConfig, Event, State};
use anabranch_wire::Tsn;
use anabranch_wire::chunk::{Chunk, Heartbeat, HeartbeatKind, kind, sack};
use anabranch_wire::param::HeartbeatInfo;
use network::{Datagram, Host, Network, Offer, data, echo, init, ip, packet};

/// The honest two; Z has a second address where a test says so.
const A: u8 = 1;
const Z: u8 = 2;
const Z2: u8 = 3;
/// The third party, and somebody who has nothing to do with any of it.
const X: u8 = 66;
const V: u8 = 77;
const TAG_X: u32 = 0x6666_6666;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// X asks `host` from `from`, listing `lists`; the answer, if it gets one.
fn ask(net: &mut Network, from: u8, host: usize, tag: u32, lists: &[u8]) -> Option<Offer> {
    let lists: Vec<IpAddr> = lists.iter().map(|last| ip(*last)).collect();
    let to = net.hosts[host].addresses[0];
    net.throw(ip(from), to, init(tag, &lists));
    net.run_for(ms(20));
    net.take(ip(from)).iter().find_map(Datagram::offer)
}

/// X goes on as if the answer had been meant for it: cookie, data, and every other use of its tag.
fn go_on(net: &mut Network, from: u8, host: usize, tag: u32, offer: &Offer) {
    let to = net.hosts[host].addresses[0];
    net.throw(ip(from), to, echo(offer, tag, b"forged"));
    net.run_for(ms(20));
    net.throw(ip(from), to, packet(offer.tag, |out| data(tag.wrapping_add(1), b"forged").emit(out)));
    net.run_for(ms(20));
}

/// The association of the two is up, nobody has heard anything but them, and messages come through in both directions.
#[track_caller]
fn unharmed(net: &mut Network, a: (usize, AssociationId), z: usize) {
    let (a, id) = a;
    let (of_a, of_z) = (net.hosts[a].addresses[0], net.hosts[z].addresses[0]);
    assert_eq!(net.state(a, id), State::Established);
    let back = net.association_with(z, of_a).unwrap();
    assert_eq!(net.state(z, back), State::Established);
    let before = (net.received_from(a, of_z).len(), net.received_from(z, of_a).len());
    net.send(a, id, b"still here");
    net.send(z, back, b"still here");
    net.run_for(ms(2000));
    assert_eq!(net.received_from(a, of_z).len(), before.0 + 1);
    assert_eq!(net.received_from(z, of_a).len(), before.1 + 1);
    for (host, peer) in [(a, of_z), (z, of_a)] {
        assert!(!net.received_from(host, peer).contains(&&b"forged"[..]), "{:?}", net.hosts[host].received);
    }
    let restarted = |host: &Host| host.events.iter().any(|(_, e)| matches!(e, Event::Restarted { .. }));
    assert!(!net.hosts.iter().any(restarted));
}

/// A and Z, each with one address; Z listens.
fn two(seed: u64) -> (Network, usize, usize) {
    let mut net = Network::default();
    let (a, z) = (net.add(seed, "a", &[A]), net.add(seed, "z", &[Z]));
    net.listen(z);
    (net, a, z)
}

/// RFC 5062, 5 and 6: X lists V, echoes the cookie with V's address, and acknowledges all that is sent to V. "For the receiver
/// of the COOKIE ECHO, the only CONFIRMED address is the address to which the packet containing the INIT ACK chunk was sent"
/// (5.4), and "An endpoint MUST NOT send any chunks to an UNCONFIRMED address", but HEARTBEAT.
// rfc9260:5.1.2-5 rfc9260:5.4-2
#[test]
fn data_goes_to_no_address_that_was_only_listed() {
    let mut net = Network::default();
    let z = net.add(1, "z", &[Z]);
    net.listen(z);
    net.hosts[z].greeting = vec![vec![7; 1000].into(); 60];
    let offer = ask(&mut net, X, z, TAG_X, &[X, V]).unwrap();
    net.throw(ip(V), ip(Z), echo(&offer, TAG_X, b"go"));
    net.run_for(ms(20));
    let mut next = offer.tsn;
    for _ in 0..400 {
        // It knows the packet that must have been sent, wherever it went.
        let mut sent: Vec<Tsn> = Vec::new();
        for datagram in &net.log {
            datagram.each(|chunk| {
                if let Chunk::Data(data) = chunk {
                    sent.push(data.tsn);
                }
            });
        }
        while sent.contains(&next) {
            next = Tsn::new(next.get().wrapping_add(1));
        }
        let through = Tsn::new(next.get().wrapping_sub(1));
        net.throw(ip(X), ip(Z), packet(offer.tag, |out| sack::emit(out, through, 1_000_000, &[], &[])));
        net.run_for(ms(25));
    }
    let id = net.hosts[z].events[0].0;
    assert_eq!(net.hosts[z].endpoint.view(id).unwrap().queued_bytes(), 0, "X was served");
    assert_eq!(net.hosts[z].endpoint.view(id).unwrap().remote().unwrap().ip(), ip(X));
    net.run_for(Duration::from_secs(600));
    let to_v = net.sent_to(ip(V));
    assert!(to_v.iter().all(|kinds| kinds == &[kind::HEARTBEAT]), "{to_v:?}");
    // Path.Max.Retrans probes without an answer, and no more.
    assert!(!to_v.is_empty() && to_v.len() <= 6, "{} probes", to_v.len());
}

/// "When this match occurs, the address that the original HEARTBEAT was sent to is now considered CONFIRMED" (5.4). Only then
/// does an INIT from there count as the peer's.
// rfc9260:3.3.5-3
#[test]
fn a_listed_address_counts_once_its_nonce_has_come_back() {
    let mut net = Network::default();
    let z = net.add(2, "z", &[Z]);
    net.listen(z);
    // Somebody with the addresses X and V, this time truly.
    let offer = ask(&mut net, X, z, TAG_X, &[X, V]).unwrap();
    net.throw(ip(V), ip(Z), echo(&offer, TAG_X, b"hello"));
    net.run_for(ms(20));
    let (to_x, to_v) = (net.take(ip(X)), net.take(ip(V)));
    assert_eq!(to_x[0].kinds(), [kind::COOKIE_ACK, kind::SACK]);
    assert_eq!(to_v[0].kinds(), [kind::HEARTBEAT]);
    let mut info = Vec::new();
    to_v[0].each(|chunk| {
        if let Chunk::Heartbeat(heartbeat) = chunk {
            info = heartbeat.info.info.to_vec();
        }
    });
    let answer = |info: &[u8]| {
        packet(offer.tag, |out| Heartbeat { info: HeartbeatInfo { info } }.emit(HeartbeatKind::Ack, out))
    };
    let mut wrong = info.clone();
    wrong[4] ^= 1;
    net.throw(ip(V), ip(Z), answer(&wrong));
    assert!(ask(&mut net, V, z, 5, &[X, V]).is_none(), "not confirmed yet");
    assert_eq!(net.sent_to(ip(V)).last().unwrap(), &[kind::ABORT]);
    net.throw(ip(V), ip(Z), answer(&info));
    net.run_for(ms(20));
    let before = net.sent_to(ip(V)).len();
    net.run_for(Duration::from_secs(20));
    assert_eq!(net.sent_to(ip(V)).len(), before, "confirmed paths are not probed");
    // New addresses are not added by a restart, wherever it comes from.
    assert!(ask(&mut net, V, z, 5, &[X, V, A]).is_none());
    // It restarts, and all it has left is V.
    let again = ask(&mut net, V, z, 6, &[V]).unwrap();
    net.throw(ip(V), ip(Z), echo(&again, 6, b"again"));
    net.run_for(ms(20));
    assert_eq!(net.sent_to(ip(V)).last().unwrap(), &[kind::COOKIE_ACK, kind::SACK]);
    assert_eq!(net.hosts[z].endpoint.associations(), 1);
    let id = net.association_with(z, ip(V)).unwrap();
    assert!(net.hosts[z].events.iter().any(|(i, e)| *i == id && matches!(e, Event::Restarted { .. })));
}

/// The takeover in COOKIE-WAIT: "The packet containing the INIT ACK chunk MUST only be sent to an address passed by the upper
/// layer in the request to initialize the association" (5.2.1).
// rfc9260:5.2.1-3
#[test]
fn a_stranger_gets_no_answer_in_cookie_wait() {
    for listens in [false, true] {
        for lists in [&[X, Z][..], &[Z], &[Z, X, A]] {
            let (mut net, a, z) = two(3);
            if listens {
                net.listen(a);
            }
            net.unreachable.push(ip(Z));
            let id = net.connect(a, ip(Z));
            net.run_for(ms(5));
            net.unreachable.clear();
            if let Some(offer) = ask(&mut net, X, a, TAG_X, lists) {
                go_on(&mut net, X, a, TAG_X, &offer);
            }
            assert_eq!(net.state(a, id), State::CookieWait, "{lists:?}");
            assert!(net.sent_to(ip(X)).is_empty(), "not a word, and not our tag");
            net.run_for(ms(5000));
            unharmed(&mut net, (a, id), z);
        }
    }
}

/// Likewise in COOKIE-ECHOED, also when the server lists an address that X has (a private one, say).
#[test]
fn a_stranger_gets_no_answer_in_cookie_echoed() {
    for claimed in [false, true] {
        let (mut net, a, z) = two(4);
        if claimed {
            net.hosts[z].also_lists = vec![ip(X)];
        }
        let id = net.connect(a, ip(Z));
        net.run_for(ms(15));
        net.unreachable.push(ip(Z));
        net.run_for(ms(10));
        net.unreachable.clear();
        assert_eq!(net.state(a, id), State::CookieEchoed);
        if let Some(offer) = ask(&mut net, X, a, TAG_X, &[X, Z]) {
            go_on(&mut net, X, a, TAG_X, &offer);
        }
        assert_eq!(net.state(a, id), State::CookieEchoed, "claimed {claimed}");
        assert!(net.sent_to(ip(X)).is_empty());
        net.run_for(ms(5000));
        unharmed(&mut net, (a, id), z);
    }
}

/// A restart begins at a confirmed address and adds none (5.2.2). X may ask, and hears with its own tag that it may not.
// rfc9260:5.3.1-2
#[test]
fn a_stranger_restarts_nothing() {
    for claimed in [false, true] {
        for lists in [&[X, Z][..], &[X], &[Z]] {
            let (mut net, a, z) = two(5);
            if claimed {
                net.hosts[z].also_lists = vec![ip(X)];
            }
            let id = net.connect(a, ip(Z));
            net.run_for(ms(100));
            net.listen(a);
            if let Some(offer) = ask(&mut net, X, a, TAG_X, lists) {
                go_on(&mut net, X, a, TAG_X, &offer);
            }
            unharmed(&mut net, (a, id), z);
            for answer in net.log.iter().filter(|d| d.to == ip(X)) {
                assert_eq!(answer.tag(), TAG_X, "{:?}", answer.kinds());
            }
        }
    }
}

/// A cookie that X got while A had no association is X's own, whatever it lists, and no good for an association that
/// came to be since.
#[test]
fn an_older_cookie_of_a_stranger_takes_over_nothing() {
    for wait in [0, 5, 15, 25, 100] {
        for from in [X, Z] {
            let (mut net, a, z) = two(6);
            net.listen(a);
            let offer = ask(&mut net, X, a, TAG_X, &[X, Z]).unwrap();
            let id = net.connect(a, ip(Z));
            net.run_for(ms(wait));
            go_on(&mut net, from, a, TAG_X, &offer);
            net.run_for(ms(5000));
            unharmed(&mut net, (a, id), z);
        }
    }
}

/// Both ask at once. Z sends all it sends, or only some of it, from its other address, and lists both.
// rfc9260:5.1.2-6 rfc9260:5.2.1-4
#[test]
fn both_ask_at_once_and_one_has_two_addresses() {
    let leaving: [fn(u8) -> usize; 5] = [
        |_| 0,
        |_| 1,
        |first| usize::from(first == kind::INIT),
        |first| usize::from(first == kind::INIT_ACK),
        |first| usize::from(first == kind::COOKIE_ECHO),
    ];
    for (case, leaves_from) in leaving.into_iter().enumerate() {
        for later in [0, 5, 10, 15, 25] {
            let mut net = Network::default();
            let (a, z) = (net.add(7, "a", &[A]), net.add(7, "z", &[Z, Z2]));
            net.hosts[z].leaves_from = leaves_from;
            net.listen(a);
            net.listen(z);
            let from_a = net.connect(a, ip(Z));
            net.send(a, from_a, b"from a");
            net.run_for(ms(later));
            // Past the first packet Z has an association by then, and its user need not ask.
            let asked = net.hosts[z].endpoint.associations() == 0;
            if asked {
                let from_z = net.connect(z, ip(A));
                net.send(z, from_z, b"from z");
            }
            net.run_for(ms(5000));
            let told = format!(
                "case {case}, {later} ms later: {:?}",
                net.log.iter().map(Datagram::kinds).collect::<Vec<_>>()
            );
            assert_eq!(net.state(a, from_a), State::Established, "{told}");
            assert_eq!(net.hosts[a].endpoint.associations(), 1, "{told}");
            assert_eq!(net.hosts[z].endpoint.associations(), 1, "{told}");
            assert_eq!(net.received_from(z, ip(A)), [b"from a"], "{told}");
            let expected: &[&[u8]] = if asked { &[b"from z"] } else { &[] };
            assert_eq!(net.received_from(a, ip(Z)), expected, "{told}");
        }
    }
}

/// A client whose COOKIE ECHO leaves from its other address, the first time or when it is sent again: it is served where the
/// INIT ACK went, and its other address is asked whether it is its own.
// rfc9260:5.4-1 rfc9260:6.4-2
#[test]
fn a_cookie_from_another_address_of_an_honest_client() {
    for lose_the_ack in [false, true] {
        for leaves_from in [(|first| usize::from(first == kind::COOKIE_ECHO)) as fn(u8) -> usize, |_| 0] {
            let mut net = Network::default();
            let (a, z) = (net.add(8, "a", &[A]), net.add(8, "z", &[Z, Z2]));
            net.listen(a);
            net.hosts[z].leaves_from = leaves_from;
            let id = net.connect(z, ip(A));
            net.send(z, id, b"hello");
            net.run_for(ms(25));
            if lose_the_ack {
                net.unreachable.push(ip(Z));
            }
            net.run_for(ms(20));
            net.unreachable.clear();
            if lose_the_ack {
                net.hosts[z].leaves_from = |first| usize::from(first == kind::COOKIE_ECHO);
            }
            net.run_for(ms(5000));
            unharmed(&mut net, (z, id), a);
            assert!(net.received_from(a, ip(Z)).contains(&&b"hello"[..]));
            assert!(net.sent_to(ip(Z2)).iter().all(|kinds| kinds == &[kind::HEARTBEAT]));
        }
    }
}

/// A peer that lost its memory asks again, listing the addresses that it listed before: a restart. It has one address or two.
// rfc9260:5.1.2-4
#[test]
fn an_honest_peer_restarts() {
    for addresses in [&[Z][..], &[Z, Z2]] {
        let mut net = Network::default();
        let (a, z) = (net.add(9, "a", &[A]), net.add(9, "z", addresses));
        net.listen(a);
        let id = net.connect(z, ip(A));
        net.send(z, id, b"before");
        net.run_for(ms(1000));
        let mut fresh = Network::default();
        fresh.add(10, "z", addresses);
        net.hosts[z] = fresh.hosts.remove(0);
        let id = net.connect(z, ip(A));
        net.send(z, id, b"again");
        net.run_for(ms(2000));
        let back = net.association_with(a, ip(Z)).unwrap();
        assert!(net.hosts[a].events.iter().any(|(i, e)| *i == back && matches!(e, Event::Restarted { .. })));
        assert_eq!(net.received_from(a, ip(Z)), [&b"before"[..], b"again"]);
        net.send(a, back, b"after");
        net.run_for(ms(2000));
        assert_eq!(net.received_from(z, ip(A)), [b"after"]);
        assert_eq!((net.hosts[a].endpoint.associations(), net.hosts[z].endpoint.associations()), (1, 1));
    }
}

/// Under UDP encapsulation (RFC 6951) an address has a UDP port, and the cookie knows that of the INIT, too.
#[test]
fn a_cookie_remembers_the_udp_port_of_its_init() {
    let config = EndpointConfig::new((ip(Z), 9899).into(), network::PORT).keeping_closed();
    let mut z = Endpoint::new(config, Rng::stream(11, "z", "endpoint").secret());
    z.listen(Arc::new(Config::rfc9260())).unwrap();
    let mut hand_in = |from: (IpAddr, u16), bytes: &[u8]| {
        let meta = Meta {
            source: from.into(),
            destination: (ip(Z), 9899).into(),
            dscp: Dscp::DEFAULT,
            ecn: Ecn::NotEct,
        };
        z.handle_datagram(Instant::ZERO, meta, bytes);
        let (mut sent, mut buf) = (Vec::new(), Vec::new());
        while let Some(transmit) = z.poll_transmit(Instant::ZERO, 1, &mut buf) {
            let datagram =
                Datagram { from: ip(Z), to: transmit.destination.ip(), bytes: std::mem::take(&mut buf) };
            sent.push((transmit.destination, datagram));
        }
        sent
    };
    let answers = hand_in((ip(X), 40_000), &init(TAG_X, &[ip(X), ip(V)]));
    let offer = answers[0].1.offer().unwrap();
    let answers = hand_in((ip(V), 53), &echo(&offer, TAG_X, b"go"));
    let told: Vec<_> = answers.iter().map(|(to, d)| (*to, d.kinds())).collect();
    assert!(told.contains(&((ip(X), 40_000).into(), vec![kind::COOKIE_ACK, kind::SACK])), "{told:?}");
    assert!(told.contains(&((ip(V), 53).into(), vec![kind::HEARTBEAT])), "{told:?}");
    assert_eq!(told.len(), 2);
}

/// A Stale Cookie error that X may still get (5.1.5, step 4) goes to the address from which X asked, whatever the
/// source of the COOKIE ECHO.
// rfc9260:5.1.5-4
#[test]
fn an_error_for_a_stale_cookie_goes_where_the_init_ack_went() {
    let mut net = Network::default();
    let z = net.add(12, "z", &[Z]);
    net.listen(z);
    let offer = ask(&mut net, X, z, TAG_X, &[X, V]).unwrap();
    net.run_for(Duration::from_secs(61));
    net.throw(ip(V), ip(Z), echo(&offer, TAG_X, b"late"));
    net.run_for(ms(20));
    assert!(net.sent_to(ip(V)).is_empty());
    assert_eq!(net.sent_to(ip(X)), [vec![kind::INIT_ACK], vec![kind::ERROR]]);
}

/// An answer that X has got: its sender, and the tag with which X asked.
struct Learnt {
    host: usize,
    tag: u32,
    offer: Offer,
}

/// X does one thing at random. It forges any source but reads only what is sent to its own address.
fn mischief(net: &mut Network, dice: &mut Rng, known: &mut Vec<Learnt>, asked: &mut Vec<u32>) {
    for datagram in net.take(ip(X)) {
        let host = net.hosts.iter().position(|h| h.addresses.contains(&datagram.from)).unwrap();
        if let Some(offer) = datagram.offer() {
            known.push(Learnt { host, tag: datagram.tag(), offer });
            let Learnt { tag, offer, .. } = known.last().unwrap();
            // Every cookie goes back at once.
            net.throw(ip(X), datagram.from, echo(offer, *tag, b"forged"));
        }
    }
    let all = [A, Z, Z2, X, V];
    let any = |dice: &mut Rng| all[dice.below(5) as usize];
    let host = dice.below(2) as usize;
    let addresses = &net.hosts[host].addresses;
    let to = addresses[dice.below(addresses.len() as u64) as usize];
    match dice.below(8) {
        0..=2 => {
            let mut lists: Vec<IpAddr> = Vec::new();
            for last in all {
                if dice.chance(0.4) {
                    lists.push(ip(last));
                }
            }
            // V is asked nothing in its name: the answer to an INIT goes to its source, even a forged one.
            let from = if dice.chance(0.8) { X } else { [A, Z, Z2][dice.below(3) as usize] };
            let again = dice.chance(0.3) && !asked.is_empty();
            let tag = if again { asked[dice.below(asked.len() as u64) as usize] } else { dice.u32() | 1 };
            asked.push(tag);
            net.throw(ip(from), to, init(tag, &lists));
        }
        what if !known.is_empty() => {
            let Learnt { host, tag, offer } = &known[dice.below(known.len() as u64) as usize];
            let (tag, to) = (*tag, if dice.chance(0.9) { net.hosts[*host].addresses[0] } else { to });
            let from = if dice.chance(0.5) { X } else { any(dice) };
            let bytes = match what {
                3..=5 => echo(offer, tag, b"forged"),
                6 => packet(offer.tag, |out| data(tag.wrapping_add(dice.u32() % 3), b"forged").emit(out)),
                _ => packet(offer.tag, |out| {
                    sack::emit(out, Tsn::new(offer.tsn.get().wrapping_sub(1)), 1_000_000, &[], &[]);
                }),
            };
            net.throw(ip(from), to, bytes);
        }
        _ => {}
    }
}

/// One life of an association of A and Z beside X.
fn life(seed: u64) {
    let mut dice = Rng::stream(seed, "test", "takeover");
    let mut net = Network::default();
    let two_addresses = dice.chance(0.5);
    let addresses: &[u8] = if two_addresses { &[Z, Z2] } else { &[Z] };
    let (a, z) = (net.add(seed, "a", &[A]), net.add(seed, "z", addresses));
    if dice.chance(0.3) {
        net.hosts[z].also_lists = vec![ip(X)];
    }
    if two_addresses {
        net.hosts[z].leaves_from = [
            |_| 0,
            |first| usize::from(matches!(first, kind::INIT | kind::COOKIE_ECHO)),
            |first| usize::from(first == kind::INIT_ACK),
        ][dice.below(3) as usize];
    }
    for host in [a, z] {
        net.hosts[host].greeting = (0..20_u8).map(|n| vec![n; 700].into()).collect();
    }
    net.listen(z);
    if dice.chance(0.7) {
        net.listen(a);
    }
    let (start, later) = (dice.below(60), dice.chance(0.4).then(|| dice.below(30)));
    let (mut known, mut asked) = (Vec::new(), Vec::new());
    let (mut id, mut spent) = (None, 0);
    for _ in 0..80 {
        if id.is_none() && spent >= start {
            id = Some(net.connect(a, ip(Z)));
        }
        let both = later.is_some_and(|later| spent >= start + later);
        if both && net.association_with(z, ip(A)).is_none() {
            // The user of Z asks, too; it may be too late for that.
            let now = net.now;
            let config = Arc::new(Config::rfc9260());
            let _ = net.hosts[z].endpoint.connect(now, network::at(ip(A)), network::PORT, config);
        }
        mischief(&mut net, &mut dice, &mut known, &mut asked);
        // Now and then a packet of the handshake is lost, so that its states last.
        net.unreachable =
            if dice.chance(0.2) { vec![ip([A, Z][dice.below(2) as usize])] } else { Vec::new() };
        let step = dice.below(12);
        net.run_for(ms(step));
        spent += step;
    }
    net.unreachable.clear();
    let id = id.unwrap_or_else(|| net.connect(a, ip(Z)));
    for _ in 0..40 {
        mischief(&mut net, &mut dice, &mut known, &mut asked);
        net.run_for(ms(500));
    }
    assert_eq!(net.state(a, id), State::Established, "seed {seed}");
    let back = net.association_with(z, ip(A)).unwrap_or_else(|| panic!("seed {seed}"));
    assert_eq!(net.state(z, back), State::Established, "seed {seed}");
    let whole: Vec<Vec<u8>> = (0..20_u8).map(|n| vec![n; 700]).collect();
    for (host, peer) in [(a, Z), (z, A)] {
        let got = net.received_from(host, ip(peer));
        let numbers: Vec<u8> = got.iter().map(|message| message[0]).collect();
        assert!(got == whole, "seed {seed}: host {host} got of {peer}: {numbers:?}");
    }
    for (host, mine) in [(a, id), (z, back)] {
        let restarted = |(id, e): &(_, Event)| *id == mine && matches!(e, Event::Restarted { .. });
        assert!(!net.hosts[host].events.iter().any(restarted), "seed {seed}");
    }
    for kinds in net.sent_to(ip(V)) {
        assert!(kinds == [kind::HEARTBEAT] || kinds == [kind::ABORT], "seed {seed}: {kinds:?} to V");
    }
    for datagram in net.log.iter().filter(|d| d.to == ip(Z2)) {
        let first = datagram.kinds()[0];
        let allowed = [kind::HEARTBEAT, kind::ABORT, kind::INIT_ACK];
        assert!(allowed.contains(&first), "seed {seed}: {:?} to Z's other address", datagram.kinds());
    }
}

#[test]
fn lives_beside_a_stranger() {
    for seed in 0..400 {
        println!("seed {seed}");
        life(seed);
    }
}
