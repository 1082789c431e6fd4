//! Peers that come back late with a cookie, and answers that come late (RFC 9260, 5.1.5, 5.2.4, 5.2.6): after an
//! outage, after another attempt, after an incarnation that is gone.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]
#![allow(dead_code, reason = "the harness has more than this file needs")]

use crate::network;

use anabranch_base::{Duration, Rng};
use anabranch_sctp::{Endpoint, EndpointConfig, Event, State};
use anabranch_wire::Tsn;
use anabranch_wire::cause::{Cause, Causes, StaleCookie};
use anabranch_wire::chunk::{Chunk, CookieAck, ErrorChunk, Init, InitKind, kind};
use anabranch_wire::param::{Param, Params, StateCookie};
use network::{Datagram, Network, Offer, echo, init, ip, packet};

const A: u8 = 1;
const Z: u8 = 2;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn s(s: u64) -> Duration {
    Duration::from_secs(s)
}

/// Packets that an outage swallows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outage {
    /// Everything.
    Whole,
    /// Packets of the server: it has the association, and its COOKIE ACKs are lost.
    Answers,
}

/// A busy server that replaces its key as INITs come, one each ten seconds; somebody calls when it is `age` seconds
/// old, and behind the INIT ACK the path is broken for so many seconds. True if both are up when the caller has had
/// its time, and talk.
fn called_before_an_outage(key_life: Duration, age: u64, outage: Outage, seconds: u64) -> bool {
    let mut net = Network::default();
    let a = net.add(age, "a", &[A]);
    let z = net.add(age, "z", &[Z]);
    let mut config = EndpointConfig::new(network::at(ip(Z)), network::PORT).keeping_closed();
    config.cookie_key_life = key_life;
    net.hosts[z].endpoint = Endpoint::new(config, Rng::stream(age, "busy", "endpoint").secret());
    net.listen(z);
    let mut id = None;
    for ten in 0..age / 10 + 26 {
        net.throw(ip(9), ip(Z), init(0x9000_0000 + ten as u32, &[]));
        if ten != age / 10 {
            net.run_for(s(10));
            continue;
        }
        id = Some(net.connect(a, ip(Z)));
        // The INIT ACK is on its way.
        net.run_for(ms(15));
        net.unreachable.push(ip(A));
        net.run_for(ms(if outage == Outage::Whole { 1 } else { 20 }));
        if outage == Outage::Whole {
            net.unreachable.push(ip(Z));
        }
        // The first COOKIE ECHO leaves when the INIT ACK arrives.
        for _ in 0..seconds / 10 {
            net.run_for(s(10));
            net.throw(ip(9), ip(Z), init(0x9100_0000 + ten as u32, &[]));
        }
        net.run_for(s(seconds % 10));
        net.unreachable.clear();
    }
    let id = id.unwrap();
    if net.state(a, id) != State::Established {
        return false;
    }
    net.send(a, id, b"at last");
    net.run_for(s(5));
    net.received_from(z, ip(A)) == [b"at last"]
}

/// With the defaults a COOKIE ECHO leaves for the last time 183 s after the first, and an outage that is over by then ends no handshake, whenever
/// the key is replaced. After a longer one the caller has nothing left to send.
// rfc9260:5.1.3-5 rfc9260:5.1.5-4
#[test]
fn keys_outlive_whoever_comes_back() {
    for outage in [Outage::Whole, Outage::Answers] {
        for seconds in [65, 125, 180] {
            // Each is in the middle of it when the key of the first ten minutes is replaced, or not.
            let up = |n: &u64| called_before_an_outage(s(600), n * 10, outage, seconds);
            let failed: Vec<u64> = (0..60).filter(|n| !up(n)).collect();
            assert!(failed.is_empty(), "{outage:?} of {seconds} s: {failed:?}");
        }
        for key_life in [0, 30, 60, 200] {
            assert!(
                called_before_an_outage(s(key_life), 300, outage, 125),
                "{outage:?}, keys of {key_life} s"
            );
        }
    }
    assert!(!called_before_an_outage(s(600), 300, Outage::Whole, 190), "nobody asked any more");
}

/// The cookie names its key; no other opens it, whoever changes the number, and a cookie that none opens is met with
/// silence.
// rfc9260:5.1.5-1 rfc9260:5.1.5-2
#[test]
fn the_number_of_a_key_is_signed_too() {
    let mut net = Network::default();
    let z = net.add(1, "z", &[Z]);
    let mut config = EndpointConfig::new(network::at(ip(Z)), network::PORT).keeping_closed();
    config.cookie_key_life = s(100);
    net.hosts[z].endpoint = Endpoint::new(config, Rng::stream(1, "numbers", "endpoint").secret());
    net.listen(z);
    let mut offers = Vec::new();
    for tag in 1..=2 {
        net.throw(ip(A), ip(Z), init(tag, &[]));
        net.run_for(s(100));
        offers.push(net.take(ip(A)).iter().find_map(Datagram::offer).unwrap());
    }
    for (at, offer) in offers.iter().enumerate() {
        for bit in 0..8 {
            let mut forged = offer.clone();
            forged.cookie[52] ^= 1 << bit;
            net.throw(ip(A), ip(Z), echo(&forged, 1, b"forged"));
            net.run_for(ms(25));
            assert!(net.take(ip(A)).is_empty(), "cookie {at}, bit {bit}");
        }
        net.throw(ip(A), ip(Z), echo(offer, 1, b"too late"));
        net.run_for(ms(25));
        let told: Vec<_> = net.take(ip(A)).iter().map(Datagram::kinds).collect();
        assert_eq!(told, [[kind::ERROR]], "cookie {at}");
    }
    assert_eq!(net.hosts[z].endpoint.associations(), 0);
}

/// Z, which is a script, answers the INIT that A has sent last. Returns the tag in that INIT.
fn answer_init(net: &mut Network, tag: u32) -> u32 {
    let mut ours = 0;
    net.take(ip(Z)).last().unwrap().each(|chunk| {
        let Chunk::Init(init) = chunk else { panic!("{chunk:?}") };
        ours = init.initiate_tag;
    });
    let mut params = Vec::new();
    Param::StateCookie(StateCookie { cookie: b"of Z" }).emit(&mut params);
    let answer = Init {
        initiate_tag: tag,
        a_rwnd: 1_000_000,
        outbound_streams: 10,
        inbound_streams: 10,
        initial_tsn: Tsn::new(tag),
        params: Params::new(&params),
    };
    net.throw(ip(Z), ip(A), packet(ours, |out| answer.emit(InitKind::InitAck, out)));
    net.run_for(ms(25));
    ours
}

fn stale(tag: u32) -> Vec<u8> {
    let mut cause = Vec::new();
    Cause::StaleCookie(StaleCookie { staleness_us: 0 }).emit(&mut cause);
    packet(tag, |out| ErrorChunk { causes: Causes::new(&cause) }.emit(out))
}

/// A COOKIE ACK, a Stale Cookie error and an ABORT say of no cookie which one they answer: each attempt has a tag of its own (5.2.6, 5.3.1).
// rfc9260:5.2.6-1
#[test]
fn an_answer_to_an_earlier_attempt_counts_for_no_other() {
    let mut net = Network::default();
    let a = net.add(4, "a", &[A]);
    let id = net.connect(a, ip(Z));
    net.send(a, id, b"with the cookie");
    net.run_for(ms(25));
    let mut tags = vec![answer_init(&mut net, 0x1111_1111)];
    for attempt in 1..4 {
        net.take(ip(Z));
        net.throw(ip(Z), ip(A), stale(*tags.last().unwrap()));
        net.run_for(ms(25));
        let ours = answer_init(&mut net, 0x1111_1111 * (attempt + 1));
        assert!(!tags.contains(&ours) && ours != 0, "{ours:x} was there: {tags:x?}");
        let echoed = net.take(ip(Z));
        assert_eq!(echoed.last().unwrap().kinds(), [kind::COOKIE_ECHO, kind::DATA]);
        for tag in &tags {
            net.throw(ip(Z), ip(A), packet(*tag, |out| CookieAck.emit(out)));
            net.throw(ip(Z), ip(A), stale(*tag));
            net.run_for(ms(25));
            assert_eq!(net.state(a, id), State::CookieEchoed, "attempt {attempt}");
        }
        assert!(net.take(ip(Z)).is_empty());
        tags.push(ours);
    }
    net.throw(ip(Z), ip(A), packet(*tags.last().unwrap(), |out| CookieAck.emit(out)));
    net.run_for(ms(25));
    assert_eq!(net.state(a, id), State::Established);
}

/// The cookie of A is stale when its path is whole again, and two copies of its COOKIE ECHO arrive: the first error begins the handshake anew,
/// and the second one comes when Z is up by the new one. A would ask again, and its INIT be that of a restart.
#[test]
fn a_late_stale_cookie_error_makes_no_restart() {
    for second_ms in 0..40 {
        let mut net = Network::default();
        let (a, z) = (net.add(5, "a", &[A]), net.add(5, "z", &[Z]));
        net.listen(z);
        let id = net.connect(a, ip(Z));
        net.run_for(ms(15));
        net.unreachable.push(ip(Z));
        net.run_for(s(70));
        net.unreachable.clear();
        let echoed = net.log.iter().rfind(|d| d.kinds().contains(&kind::COOKIE_ECHO)).unwrap().clone();
        net.throw(ip(A), ip(Z), echoed.bytes.clone());
        net.run_for(ms(second_ms));
        net.throw(ip(A), ip(Z), echoed.bytes);
        net.run_for(ms(200));
        let back = net.association_with(z, ip(A)).unwrap();
        assert_eq!(
            (net.state(a, id), net.state(z, back)),
            (State::Established, State::Established),
            "{second_ms} ms"
        );
        let told: Vec<_> = net.hosts[z].events.iter().map(|(_, event)| event).collect();
        assert!(!told.iter().any(|e| matches!(e, Event::Restarted { .. })), "{second_ms} ms: {told:?}");
        net.send(z, back, b"hello");
        net.run_for(ms(100));
        assert_eq!(net.received_from(a, ip(Z)), [b"hello"]);
    }
}

/// Z's INIT ACK for an INIT of the peer.
fn offer_for(net: &mut Network, tag: u32) -> Offer {
    net.throw(ip(A), ip(Z), init(tag, &[]));
    net.run_for(ms(25));
    net.take(ip(A)).iter().find_map(Datagram::offer).unwrap()
}

/// The peer has asked, lost its memory, and asked again; the COOKIE ECHO of the one that is gone comes first and makes an association, or restarts
/// the one there was. The other's is in no row of table 12. It need not wait until its cookie is stale.
// rfc9260:5.2.4-8
#[test]
fn the_cookie_of_an_incarnation_that_is_gone_holds_nobody_up() {
    const TAGS: [u32; 3] = [0x1111_1111, 0x2222_2222, 0x3333_3333];
    for before in [false, true] {
        let mut net = Network::default();
        let z = net.add(6, "z", &[Z]);
        net.listen(z);
        if before {
            let offer = offer_for(&mut net, TAGS[0]);
            net.throw(ip(A), ip(Z), echo(&offer, TAGS[0], b"of the first"));
            net.run_for(ms(25));
        }
        let (gone, here) = (offer_for(&mut net, TAGS[1]), offer_for(&mut net, TAGS[2]));
        net.throw(ip(A), ip(Z), echo(&gone, TAGS[1], b"of the one that is gone"));
        net.run_for(ms(25));
        net.take(ip(A));
        net.throw(ip(A), ip(Z), echo(&here, TAGS[2], b"too early"));
        net.run_for(ms(25));
        let answer = net.take(ip(A));
        let told: Vec<_> = answer.iter().map(|d| (d.tag(), d.kinds())).collect();
        assert_eq!(told, [(TAGS[2], vec![kind::ERROR])], "{before}");
        let offer = offer_for(&mut net, TAGS[2]);
        net.throw(ip(A), ip(Z), echo(&offer, TAGS[2], b"of the one that is here"));
        net.run_for(ms(25));
        let received = net.received_from(z, ip(A));
        assert_eq!(received.last(), Some(&&b"of the one that is here"[..]));
        assert!(!received.contains(&&b"too early"[..]));
        // The association that is there is not disturbed by copies: errors go to tags that nobody has.
        net.take(ip(A));
        for offer in [&gone, &here] {
            net.throw(ip(A), ip(Z), echo(offer, TAGS[1], b"once more"));
            net.run_for(ms(25));
        }
        let late = net.take(ip(A));
        assert!(late.iter().all(|d| d.kinds() != [kind::ERROR] || d.tag() == TAGS[1]), "{late:x?}");
        let back = net.association_with(z, ip(A)).unwrap();
        net.take(ip(A));
        net.send(z, back, b"hello");
        net.run_for(ms(25));
        let sent = net.take(ip(A));
        assert!(!sent.is_empty() && sent.iter().all(|d| d.tag() == TAGS[2]), "{before}: {sent:x?}");
    }
}
