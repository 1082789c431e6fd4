//! Negotiation of partial reliability between the two sides (RFC 3758, 3.3; RFC 8260, 2.3.1).

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

use crate::common;

use std::sync::Arc;

use anabranch_base::Duration;
use anabranch_sctp::config::SubflowLevel;
use anabranch_sctp::{Config, Event, State};
use anabranch_wire::cause::{Cause, Causes, UnrecognizedParameters};
use anabranch_wire::chunk::{Chunk, ErrorChunk, kind};
use anabranch_wire::param::{ForwardTsnSupported, Param, Params};
use anabranch_wire::{Checksum, Packet};
use common::{Logged, PORT, Pair, Side, address, subflow_config};

fn config(partial: bool, interleaving: bool) -> Config {
    Config::rfc9260().with(|c| {
        c.extensions.partial_reliability = partial;
        c.extensions.interleaving = interleaving;
        c.timers.heartbeat_interval = Duration::ZERO;
    })
}

/// For each side true if it says that partial reliability was agreed on.
fn agreed(a: &Config, z: &Config) -> (Pair, bool, bool) {
    let mut pair = Pair::new(7);
    pair.z.listen(Arc::new(z.clone())).unwrap();
    let now = pair.now;
    let id = pair.a.connect(now, address(Side::Z), PORT, Arc::new(a.clone())).unwrap();
    pair.run_for(Duration::from_millis(200));
    let z = pair.id_of(Side::Z);
    let (ours, theirs) = (pair.a.view(id).unwrap(), pair.z.view(z).unwrap());
    assert_eq!((ours.state(), theirs.state()), (State::Established, State::Established));
    let both = (ours.is_partially_reliable(), theirs.is_partially_reliable());
    (pair, both.0, both.1)
}

/// The chunk types that an INIT or INIT ACK lists, and whether it has the parameter of RFC 3758.
fn said(logged: &Logged) -> (Vec<u8>, bool) {
    let packet = Packet::parse(&logged.bytes, Checksum::Ignore).unwrap();
    let raw = packet.chunks().next().unwrap().unwrap();
    let (Chunk::Init(init) | Chunk::InitAck(init)) = Chunk::parse(raw).unwrap() else { panic!() };
    let (mut list, mut supported) = (Vec::new(), false);
    for raw in init.params {
        match Param::parse(raw.unwrap()).unwrap() {
            Param::SupportedExtensions(extensions) => list = extensions.chunk_types.to_vec(),
            Param::ForwardTsnSupported(_) => supported = true,
            Param::Unrecognized(_) => panic!("a parameter that is known was returned"),
            _ => {}
        }
    }
    (list, supported)
}

#[test]
fn both_say_so_and_it_is_agreed_on() {
    for (interleaving, list) in [(false, vec![0xC0]), (true, vec![0x40, 0xC0, 0xC2])] {
        let (pair, ours, theirs) = agreed(&config(true, interleaving), &config(true, interleaving));
        assert!(ours && theirs);
        assert_eq!(said(&pair.log[0]), (list.clone(), true));
        assert_eq!(said(&pair.log[1]), (list, true));
        assert!(!pair.log.iter().any(|logged| logged.has("ERROR")));
    }
}

// rfc3758:3.3.2-4
#[test]
fn one_that_does_not_say_so_and_it_is_not_agreed_on() {
    for (ours, theirs) in [(true, false), (false, true), (false, false)] {
        for interleaving in [false, true] {
            let (_, at_a, at_z) = agreed(&config(ours, interleaving), &config(theirs, interleaving));
            assert!(!at_a && !at_z, "{ours} {theirs} {interleaving}");
        }
    }
}

/// Level 1 lists I-FORWARD-TSN in any case, as it must: that alone is no partial reliability.
#[test]
fn level_1_agrees_only_where_it_is_asked_for() {
    let level =
        |partial| subflow_config(SubflowLevel::One, 2).with(|c| c.extensions.partial_reliability = partial);
    for (ours, theirs) in [(true, true), (true, false), (false, true), (false, false)] {
        let (_, at_a, at_z) = agreed(&level(ours), &level(theirs));
        assert_eq!((at_a, at_z), (ours && theirs, ours && theirs));
        let (_, at_a, at_z) = agreed(&level(ours), &config(theirs, true));
        assert_eq!((at_a, at_z), (ours && theirs, ours && theirs));
    }
}

/// Without the configuration the parameter is not agreed on. In an INIT it is recognized all the same, and its sender is not told of an
/// error; in an INIT ACK nobody asked for it, and the sender would count on it: an ERROR chunk beside COOKIE ECHO tells him.
// rfc3758:3.3.2-1 rfc3758:3.3.2-2
#[test]
fn who_does_not_offer_it_says_so() {
    let (pair, ..) = agreed(&config(true, false), &config(false, false));
    let packet = Packet::parse(&pair.log[1].bytes, Checksum::Ignore).unwrap();
    let Chunk::InitAck(init) = Chunk::parse(packet.chunks().next().unwrap().unwrap()).unwrap() else {
        panic!()
    };
    let returned = |raw| matches!(Param::parse(raw).unwrap(), Param::Unrecognized(_));
    assert_eq!(init.params.iter().filter(|raw| returned(raw.unwrap())).count(), 0);
    let (pair, ..) = agreed(&config(false, false), &config(true, false));
    assert!(!pair.log.iter().any(|logged| logged.has("ERROR")), "{:?}", pair.names());
    // A peer that answers a parameter that the INIT did not have, as RFC 3758, 3.3.2, allows.
    let mut script = common::script::Script::calling(&config(false, false));
    script.pair.log.clear();
    script.init_ack_with(10, &[Param::ForwardTsnSupported(ForwardTsnSupported)]);
    assert_eq!(
        script.pair.log.iter().map(Logged::kinds).collect::<Vec<_>>(),
        [[kind::COOKIE_ECHO, kind::ERROR]]
    );
}

/// RFC 3758, 3.3.3: the peer says that it does not recognize the parameter. "in cases where the initiation process has already completed,
/// the endpoint MUST just mark the association as not supporting partial reliability".
// rfc3758:3.3.3-1 rfc3758:3.3.3-2 rfc3758:3.3.3-3
#[test]
fn an_error_of_the_peer_ends_it() {
    let mut script = common::script::Script::calling(&config(true, false));
    script.init_ack_with(10, &[Param::ForwardTsnSupported(ForwardTsnSupported)]);
    script.send(|out| anabranch_wire::chunk::CookieAck.emit(out));
    assert!(script.pair.a.view(script.a).unwrap().is_partially_reliable());
    let error = |script: &mut common::script::Script, kind: u16| {
        let mut parameters = kind.to_be_bytes().to_vec();
        parameters.extend_from_slice(&[0, 4]);
        let mut causes = Vec::new();
        Cause::UnrecognizedParameters(UnrecognizedParameters { parameters: Params::new(&parameters) })
            .emit(&mut causes);
        script.send(|out| ErrorChunk { causes: Causes::new(&causes) }.emit(out));
    };
    error(&mut script, 0x8003);
    assert!(script.pair.a.view(script.a).unwrap().is_partially_reliable());
    error(&mut script, 0xC000);
    assert!(!script.pair.a.view(script.a).unwrap().is_partially_reliable());
    assert_eq!(script.state(), State::Established);
    assert!(script.pair.saw(Side::A, |event| *event == Event::PeerError { cause: 8 }));
}
