//! Pairs that agree on the extension and pairs that do not, and the packets of the latter
//! (docs/explanation/subflows.md).
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use crate::common;

use std::collections::BTreeSet;

use anabranch_base::Duration;
use anabranch_sctp::{Config, ConnectError, SubflowLevel};
use anabranch_wire::chunk::{Chunk, kind};
use anabranch_wire::sf::CodePoints;
use anabranch_wire::{Checksum, Packet};
use common::{Logged, Pair, Side, subflow_config};

fn kinds(pair: &Pair) -> BTreeSet<u8> {
    pair.log
        .iter()
        .flat_map(Logged::kinds)
        .filter(|kind| *kind != kind::HEARTBEAT && *kind != kind::HEARTBEAT_ACK)
        .collect()
}

/// Sends in both directions with some loss, ends the association, and checks that all of it arrived.
fn exercise(pair: &mut Pair, a: anabranch_sctp::AssociationId, z: anabranch_sctp::AssociationId) {
    let mut rng = anabranch_base::Rng::stream(5, "loss", "test");
    pair.drop_if(move |_| rng.below(20) == 0);
    pair.send_all(Side::A, a, 3, 40, 1000);
    pair.send_all(Side::Z, z, 3, 40, 1000);
    pair.run_for(Duration::from_secs(30));
    let now = pair.now;
    pair.a.association(a).unwrap().shutdown(now);
    pair.run_for(Duration::from_secs(60));
    pair.check_all(Side::Z, 3, 40);
    pair.check_all(Side::A, 3, 40);
}

#[test]
fn the_matrix() {
    let plain = || subflow_config(SubflowLevel::Zero, 3);
    let kinds_of = |names: &[u8]| names.iter().copied().collect::<BTreeSet<u8>>();
    let other_codes = CodePoints { data: 0x5E, sack: 0x9E, forward: 0xDE, ..CodePoints::DEFAULT };
    let configs: [(&str, Config); 8] = [
        ("plain", plain()),
        ("I-DATA", plain().with(|c| c.extensions.interleaving = true)),
        ("RE-CONFIG", plain().with(|c| c.extensions.reconfiguration = true)),
        (
            "both",
            plain().with(|c| {
                c.extensions.interleaving = true;
                c.extensions.reconfiguration = true;
            }),
        ),
        ("level 1", subflow_config(SubflowLevel::One, 3)),
        (
            "level 1, no subflow taken",
            subflow_config(SubflowLevel::One, 1).with(|c| {
                c.subflows.max_inbound = 1;
                c.subflows.max = 1;
            }),
        ),
        (
            "level 1, other numbers",
            subflow_config(SubflowLevel::One, 3).with(|c| c.subflows.codes = other_codes),
        ),
        ("sf2007", subflow_config(SubflowLevel::Sf2007, 3)),
    ];
    for (left, a_config) in &configs {
        for (right, z_config) in &configs {
            let (mut pair, a, z) = Pair::between(1, a_config, z_config);
            let names = format!("{left} with {right}");
            let levels = |pair: &Pair| {
                let level = |end: &anabranch_sctp::Endpoint, id| end.view(id).unwrap().subflow_level();
                (level(&pair.a, a), level(&pair.z, z))
            };
            let agreed = levels(&pair);
            assert_eq!(agreed.0, agreed.1, "{names}: never half negotiated");
            let expected = match (*left, *right) {
                ("sf2007", "sf2007") => SubflowLevel::Sf2007,
                ("level 1", "level 1") | ("level 1, other numbers", "level 1, other numbers") => {
                    SubflowLevel::One
                }
                _ => SubflowLevel::Zero,
            };
            // An end that takes no subflow but 0 and has no other agrees to nothing; nor may its peer, which has one.
            assert_eq!(agreed.0, expected, "{names}");
            pair.log.clear();
            exercise(&mut pair, a, z);
            assert_eq!(levels(&pair), agreed, "{names}");
            let used = kinds(&pair);
            assert!(!used.contains(&kind::ABORT) && !used.contains(&kind::ERROR), "{names}: {used:?}");
            let has = |config: &str, what: &str| {
                config.starts_with("level 1") || config == what || config == "both"
            };
            let i_data = has(left, "I-DATA") && has(right, "I-DATA");
            let mut wanted =
                kinds_of(&[kind::SACK, kind::SHUTDOWN, kind::SHUTDOWN_ACK, kind::SHUTDOWN_COMPLETE]);
            wanted.insert(if i_data { kind::I_DATA } else { kind::DATA });
            if expected == SubflowLevel::One {
                let codes = if left.ends_with("numbers") { other_codes } else { CodePoints::DEFAULT };
                wanted.extend([codes.data, codes.sack]);
            }
            assert_eq!(used, wanted, "{names}");
        }
    }
}

/// Everything after the handshake, with the code point of each packet.
fn after_handshake(pair: &Pair) -> Vec<(anabranch_base::Instant, Side, u8, Vec<u8>)> {
    let handshake = [kind::INIT, kind::INIT_ACK, kind::COOKIE_ECHO, kind::COOKIE_ACK];
    let later = |p: &&Logged| !p.kinds().first().is_some_and(|kind| handshake.contains(kind));
    pair.log.iter().filter(later).map(|p| (p.at, p.from, p.dscp.get(), p.bytes.clone())).collect()
}

/// "Interoperability of the level 1 offer with unmodified endpoints: plain SCTP results, byte for byte."
#[test]
fn a_level_1_offer_to_a_plain_peer_changes_nothing_after_the_handshake() {
    for subflows in [1, 3] {
        for swapped in [false, true] {
            let run = |level| {
                let (offers, plain) =
                    (subflow_config(level, subflows), subflow_config(SubflowLevel::Zero, subflows));
                let (a_config, z_config) = if swapped { (plain, offers) } else { (offers, plain) };
                let (mut pair, a, z) = Pair::between(3, &a_config, &z_config);
                exercise(&mut pair, a, z);
                after_handshake(&pair)
            };
            let plain = run(SubflowLevel::Zero);
            assert!(plain.len() > 150);
            assert_eq!(run(SubflowLevel::One), plain, "{subflows} subflows");
            assert_eq!(run(SubflowLevel::Sf2007), plain, "{subflows} subflows");
        }
    }
}

/// The parameters of an INIT or INIT ACK without those of the extension, and the types of these.
fn init_parts(packet: &Logged) -> Option<(Vec<Vec<u8>>, BTreeSet<u16>)> {
    let parsed = Packet::parse(&packet.bytes, Checksum::Verify).unwrap();
    let raw = parsed.chunks().next().unwrap().unwrap();
    let Ok(Chunk::Init(init) | Chunk::InitAck(init)) = Chunk::parse(raw) else { return None };
    let mut fixed = vec![raw.bytes[4..20].to_vec()];
    let mut ours = BTreeSet::new();
    for raw in init.params {
        let raw = raw.unwrap();
        match raw.kind {
            0x8008 | 0xB05F => drop(ours.insert(raw.kind)),
            // A cookie holds the agreement; its length differs.
            7 => fixed.push(vec![7]),
            _ => fixed.push(raw.bytes.to_vec()),
        }
    }
    Some((fixed, ours))
}

/// "Property test: bytes with only FID 0 in use == bytes without SF except SF-CAP and the extension list."
#[test]
fn with_subflow_0_alone_the_bytes_are_those_without_the_extension() {
    for seed in 0..20 {
        let run = |config: &Config| {
            let (mut pair, a, z) = Pair::between(seed, config, config);
            let mut rng = anabranch_base::Rng::stream(seed, "loss", "test");
            pair.drop_if(move |_| rng.below(15) == 0);
            pair.send_all(Side::A, a, 5, 30, 700 + 41 * seed as usize);
            pair.send_all(Side::Z, z, 2, 30, 100);
            pair.run_for(Duration::from_secs(40));
            let now = pair.now;
            pair.a.association(a).unwrap().shutdown(now);
            pair.run_for(Duration::from_secs(60));
            pair.check_all(Side::Z, 5, 30);
            pair
        };
        let plain = Config::rfc9260().with(|c| {
            c.extensions.interleaving = true;
            c.extensions.reconfiguration = true;
        });
        let without = run(&plain);
        let with = run(&plain.with(|c| c.subflows.level = SubflowLevel::One));
        assert_eq!(after_handshake(&with), after_handshake(&without), "seed {seed}");
        let inits = |pair: &Pair| pair.log.iter().filter_map(init_parts).collect::<Vec<_>>();
        for (with, without) in inits(&with).into_iter().zip(inits(&without)) {
            assert_eq!(with.0, without.0);
            assert_eq!(with.1, BTreeSet::from([0x8008, 0xB05F]));
            assert_eq!(without.1, BTreeSet::from([0x8008]));
        }
    }
}

/// SF-CAP of any length and content is no reason to refuse an association.
#[test]
fn malformed_capabilities_are_ignored() {
    for length in 4..=40_u8 {
        let (a_config, z_config) =
            (subflow_config(SubflowLevel::One, 3), subflow_config(SubflowLevel::One, 3));
        let mut pair = Pair::sealed(2);
        pair.tamper(move |_, bytes| {
            // The SF-CAP of the INIT, last of its parameters, gets another length.
            if bytes.get(12) == Some(&kind::INIT) {
                let at = bytes.windows(2).position(|w| w == [0xB0, 0x5F]).unwrap();
                bytes.truncate(at);
                bytes.extend_from_slice(&[0xB0, 0x5F, 0, length]);
                bytes.extend((4..length).map(|i| i ^ 0x5A));
                let chunk = (bytes.len() - 12) as u16;
                bytes.resize(bytes.len().next_multiple_of(4), 0);
                bytes[14..16].copy_from_slice(&chunk.to_be_bytes());
            }
        });
        pair.z.listen(std::sync::Arc::new(z_config)).unwrap();
        let now = pair.now;
        let a = pair
            .a
            .connect(now, common::address(Side::Z), common::PORT, std::sync::Arc::new(a_config))
            .unwrap();
        pair.run_for(Duration::from_millis(300));
        let z = pair.id_of(Side::Z);
        assert_eq!(pair.a.view(a).unwrap().subflow_level(), SubflowLevel::Zero, "length {length}");
        assert_eq!(pair.z.view(z).unwrap().subflow_level(), SubflowLevel::Zero, "length {length}");
        pair.send_all(Side::A, a, 3, 5, 500);
        pair.run_for(Duration::from_secs(3));
        pair.check_all(Side::Z, 3, 5);
    }
}

/// Somebody in the network hides the answer's SF-CAP: one side believes in the extension, the other does not. The ERROR that
/// names SF-DATA turns it off, and everything arrives.
#[test]
fn a_peer_that_does_not_know_sf_data_after_all() {
    for seed in 0..10 {
        let config = subflow_config(SubflowLevel::One, 3);
        let mut pair = Pair::sealed(seed);
        pair.tamper(|_, bytes| {
            if bytes.get(12) == Some(&kind::INIT_ACK) {
                let at = bytes.windows(2).position(|w| w == [0xB0, 0x5F]).unwrap();
                bytes[at + 1] = 0x5E;
            }
        });
        pair.z.listen(std::sync::Arc::new(config.clone())).unwrap();
        let now = pair.now;
        let a =
            pair.a.connect(now, common::address(Side::Z), common::PORT, std::sync::Arc::new(config)).unwrap();
        pair.run_for(Duration::from_millis(200));
        let z = pair.id_of(Side::Z);
        assert_eq!(pair.a.view(a).unwrap().subflow_level(), SubflowLevel::Zero);
        assert_eq!(pair.z.view(z).unwrap().subflow_level(), SubflowLevel::One);
        let mut rng = anabranch_base::Rng::stream(seed, "loss", "test");
        pair.drop_if(move |_| rng.below(12) == 0);
        pair.send_all(Side::Z, z, 3, 60, 2500);
        pair.send_all(Side::A, a, 3, 60, 500);
        pair.run_for(Duration::from_secs(60));
        pair.check_all(Side::A, 3, 60);
        pair.check_all(Side::Z, 3, 60);
        assert_eq!(pair.z.view(z).unwrap().subflow_level(), SubflowLevel::Zero);
        assert_eq!(pair.z.view(z).unwrap().stats().sf_downgrades, 1);
        let late = pair.log.iter().rev().take(50);
        assert!(late.flat_map(Logged::kinds).all(|kind| kind != kind::SF_DATA && kind != kind::SF_SACK));
        let now = pair.now;
        pair.z.association(z).unwrap().shutdown(now);
        pair.run_for(Duration::from_secs(30));
        assert!(pair.saw(Side::Z, |e| matches!(
            e,
            anabranch_sctp::Event::Closed(anabranch_sctp::CloseReason::Graceful)
        )));
    }
}

/// Both ends give the extension up in the middle of a transfer: nothing is lost, no ordered message comes twice.
#[test]
fn the_extension_is_given_up_in_the_middle() {
    for seed in 0..10 {
        let config = subflow_config(SubflowLevel::One, 4);
        let (mut pair, a, z) = Pair::between(seed, &config, &config);
        let mut rng = anabranch_base::Rng::stream(seed, "loss", "test");
        pair.drop_if(move |_| rng.below(12) == 0);
        pair.send_all(Side::A, a, 4, 150, 2500);
        pair.send_all(Side::Z, z, 4, 150, 2500);
        pair.run_for(Duration::from_millis(150));
        // From here on somebody turns every SF-DATA into a type that nobody knows... and reports it as SF-DATA.
        pair.tamper(|_, bytes| {
            let mut at = 12;
            while at + 4 <= bytes.len() {
                if bytes[at] == kind::SF_DATA {
                    bytes[at] = 0x7E;
                }
                if bytes[at] == kind::ERROR {
                    if let Some(cause) = bytes.get(at + 8).copied().filter(|kind| *kind == 0x7E) {
                        assert_eq!(cause, 0x7E);
                        bytes[at + 8] = kind::SF_DATA;
                    }
                }
                let length = usize::from(u16::from_be_bytes([bytes[at + 2], bytes[at + 3]]));
                at += length.next_multiple_of(4).max(4);
            }
        });
        pair.run_for(Duration::from_secs(90));
        pair.check_all(Side::A, 4, 150);
        pair.check_all(Side::Z, 4, 150);
        assert_eq!(pair.a.view(a).unwrap().subflow_level(), SubflowLevel::Zero);
        assert_eq!(pair.z.view(z).unwrap().subflow_level(), SubflowLevel::Zero);
    }
}

#[test]
fn sf2007_is_refused_on_a_network_that_is_not_sealed() {
    let config = std::sync::Arc::new(subflow_config(SubflowLevel::Sf2007, 3));
    let mut pair = Pair::new(1);
    assert_eq!(pair.z.listen(std::sync::Arc::clone(&config)), Err(ConnectError::PrivateEncodings));
    let now = pair.now;
    let refused = pair.a.connect(now, common::address(Side::Z), common::PORT, config);
    assert_eq!(refused, Err(ConnectError::PrivateEncodings));
}

/// The extension ends with chunks in flight under other FIDs, and they leave again under subflow 0: "add the data size of those chunks
/// to the rwnd" (RFC 9260, 6.2.1 C), so that the peer's window is charged for each of them once.
#[test]
fn the_peers_window_when_the_extension_ends() {
    const A_RWND: u64 = 1 << 20;
    let config = subflow_config(SubflowLevel::One, 3);
    let mut pair = Pair::sealed(1);
    pair.tamper(|_, bytes| {
        if bytes.get(12) == Some(&kind::INIT_ACK) {
            let at = bytes.windows(2).position(|w| w == [0xB0, 0x5F]).unwrap();
            bytes[at + 1] = 0x5E;
        }
    });
    let config = std::sync::Arc::new(config);
    pair.z.listen(std::sync::Arc::clone(&config)).unwrap();
    let now = pair.now;
    pair.a.connect(now, common::address(Side::Z), common::PORT, config).unwrap();
    pair.run_for(Duration::from_millis(200));
    let z = pair.id_of(Side::Z);
    for stream in [1, 2] {
        for _ in 0..2 {
            pair.send(Side::Z, z, stream, &[7; 1000]);
        }
    }
    pair.pump();
    assert_eq!(pair.z.view(z).unwrap().peer_window(), A_RWND - 4000);
    let limit = pair.now + Duration::from_secs(1);
    while pair.z.view(z).unwrap().stats().sf_downgrades == 0 {
        assert!(pair.step(limit), "the extension has not ended");
    }
    let view = pair.z.view(z).unwrap();
    // All of it has left again, and no SACK has come yet; a chunk has a header of 20 bytes now.
    assert_eq!((view.flight_bytes(), view.peer_window()), (4080, A_RWND - 4000));
    assert_eq!(view.audit(), Ok(()));
    pair.run_for(Duration::from_secs(5));
    assert_eq!(pair.received.len(), 4);
    assert_eq!(pair.z.view(z).unwrap().peer_window(), A_RWND);
}
