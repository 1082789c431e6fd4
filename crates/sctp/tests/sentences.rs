//! Sentences of RFC 9260 that no other test is about.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

use crate::common;

use std::collections::BTreeSet;
use std::sync::Arc;

use anabranch_base::Duration;
use anabranch_sctp::{Config, Endpoint, EndpointConfig, SecretRng, State};
use anabranch_wire::chunk::{Chunk, Data, DataFlags, Init};
use anabranch_wire::{Checksum, Packet, Ssn, Tsn};
use common::script::{Script, TSN_Z, data};
use common::{Logged, PORT, Pair, Side};

/// Tag and Initial TSN of an INIT or INIT ACK.
fn identity(logged: &Logged) -> Option<(u32, u32)> {
    let packet = Packet::parse(&logged.bytes, Checksum::Verify).unwrap();
    match Chunk::parse(packet.chunks().next()?.ok()?).ok()? {
        Chunk::Init(Init { initiate_tag, initial_tsn, .. })
        | Chunk::InitAck(Init { initiate_tag, initial_tsn, .. }) => Some((initiate_tag, initial_tsn.get())),
        _ => None,
    }
}

/// Content of the last SACK: a_rwnd, gap blocks, and the number of SACKs in its packet.
fn last_sack(script: &Script) -> (u32, u32, Vec<(u16, u16)>, usize) {
    let logged = script.pair.log.iter().rfind(|p| p.from == Side::A && p.has("SACK")).unwrap();
    let packet = Packet::parse(&logged.bytes, Checksum::Verify).unwrap();
    let sacks = logged.words().iter().filter(|word| word.starts_with("SACK")).count();
    let Chunk::Sack(sack) = Chunk::parse(packet.chunks().next().unwrap().unwrap()).unwrap() else {
        panic!("{:?}", logged.words())
    };
    (sack.cumulative.get(), sack.a_rwnd, sack.gaps().map(|g| (g.start, g.end)).collect(), sacks)
}

/// 5.3.1: "Initiate Tag values SHOULD be selected from the range of 1 to 2^32 - 1", at random, and Initial TSNs from all of 32 bits.
// rfc9260:3.3.2-15 rfc9260:3.3.3-5 rfc9260:5.1-2 rfc9260:5.3.1-1
#[test]
fn s5_3_1_tags_and_initial_tsns_are_drawn_from_the_whole_range() {
    let (mut tags, mut tsns) = (BTreeSet::new(), BTreeSet::new());
    for seed in 0..200 {
        let (mut pair, _) = Pair::connecting(seed, &Config::rfc9260());
        pair.run_for(Duration::from_millis(500));
        for (tag, tsn) in pair.log.iter().filter_map(identity) {
            assert_ne!(tag, 0);
            tags.insert(tag);
            tsns.insert(tsn);
        }
    }
    for drawn in [tags, tsns] {
        assert_eq!(drawn.len(), 400);
        for quarter in 0..4 {
            let some = drawn.iter().filter(|number| *number >> 30 == quarter).count();
            assert!((60..140).contains(&some), "{some} of 400 begin with {quarter:02b}");
        }
    }
}

/// An observer of tags and Initial TSNs must not be able to compute the next: they are drawn from a secret of 32
/// bytes, and each byte decides. A generator of 64 bits would look at eight.
#[test]
fn s5_3_1_every_byte_of_the_secret_decides() {
    let mut drawn = BTreeSet::new();
    for byte in 0..32 {
        let mut pair = Pair::new(1);
        for side in [Side::A, Side::Z] {
            let mut seed = [10 * side as u8; 32];
            seed[byte] = 5;
            let config = EndpointConfig::new(common::address(side), PORT).keeping_closed();
            *pair.endpoint(side) = Endpoint::new(config, SecretRng::from_seed(seed));
        }
        let config = Arc::new(Config::rfc9260());
        pair.z.listen(Arc::clone(&config)).unwrap();
        pair.a.connect(pair.now, common::address(Side::Z), PORT, config).unwrap();
        pair.run_for(Duration::from_millis(500));
        drawn.extend(pair.log.iter().filter_map(identity).flat_map(|(tag, tsn)| [tag, tsn]));
    }
    // A tag and a TSN of A, and of Z.
    assert_eq!(drawn.len(), 4 * 32);
}

/// 5.3.1: "A new Verification Tag value MUST be used each time the endpoint tears down and then reestablishes an association to the
/// same peer."
// rfc9260:5.3.1-3
#[test]
fn s5_3_1_every_association_has_new_tags() {
    let config = Arc::new(Config::rfc9260());
    let mut pair = Pair::new(3);
    pair.z.listen(Arc::clone(&config)).unwrap();
    for round in 1..=20 {
        let now = pair.now;
        let a = pair.a.connect(now, common::address(Side::Z), PORT, Arc::clone(&config)).unwrap();
        pair.run_for(Duration::from_secs(1));
        assert_eq!(pair.a.view(a).unwrap().state(), State::Established);
        let now = pair.now;
        pair.a.association(a).unwrap().shutdown(now);
        pair.run_for(Duration::from_secs(1));
        assert_eq!(pair.a.view(a).unwrap().state(), State::Closed);
        let tags: BTreeSet<u32> = pair.log.iter().filter_map(identity).map(|(tag, _)| tag).collect();
        assert_eq!(tags.len(), 2 * round);
    }
}

/// 6.7: "When a single SACK chunk cannot cover all the Gap Ack Blocks needed to be reported due to the PMTU limitation, the endpoint
/// MUST send only one SACK chunk. This single SACK chunk MUST report the Gap Ack Blocks from the lowest to highest TSNs, within the
/// size limit set by the PMTU".
// rfc9260:6.7-6 rfc9260:6.7-7
#[test]
fn s6_7_a_sack_holds_the_lowest_gap_blocks_that_fit() {
    let mut script = Script::established(&Config::rfc9260().with(|c| c.mtu = 576));
    for n in 1..=300 {
        let sent = script.pair.log.len();
        script.send(|out| data(TSN_Z + 2 * n, 0, b"x").emit(out));
        assert_eq!(script.pair.log.len(), sent + 1, "one SACK for a packet");
    }
    let (cumulative, _, gaps, sacks) = last_sack(&script);
    // Headers: 20 bytes of IP, 12 of SCTP, 16 of SACK; a block has 4.
    let most = (576 - 20 - 12 - 16) / 4;
    let lowest: Vec<(u16, u16)> = (1..=most).map(|n| (2 * n + 1, 2 * n + 1)).collect();
    assert_eq!((cumulative, gaps, sacks), (TSN_Z.wrapping_sub(1), lowest, 1));
}

/// 6.2: with a closed window "the receiver SHOULD drop the largest TSN held for reordering and accept the new
/// incoming DATA chunk", and the dropped TSN "MUST NOT" be in gap blocks "until they are received again via
/// retransmission". Fragments that wait for their message to become whole keep the window closed.
// rfc9260:6.2-3 rfc9260:6.2-24 rfc9260:6.2-26 rfc9260:6.2-27 rfc9260:6.2-28 rfc9260:6.2-29
#[test]
fn s6_2_what_was_dropped_for_a_hole_is_not_acknowledged_any_more() {
    let mut script = Script::established(&Config::rfc9260().with(|c| c.limits.receive_window = 3000));
    let fragment = |script: &mut Script, tsn: u32, beginning: bool| {
        let flags = DataFlags { beginning, ending: false, ..DataFlags::WHOLE };
        let payload = [7; 1000];
        let (tsn, ssn) = (Tsn::new(tsn), Ssn::new(1));
        script.send(|out| Data { flags, tsn, stream: 0, ssn, ppid: 0, payload: &payload }.emit(out));
    };
    for tsn in [TSN_Z + 2, TSN_Z + 3, TSN_Z + 4] {
        fragment(&mut script, tsn, false);
    }
    let before = TSN_Z.wrapping_sub(1);
    assert_eq!(last_sack(&script), (before, 0, vec![(3, 5)], 1));
    // The window is closed: a chunk beyond is dropped, and one that fills the hole takes the place of the last.
    fragment(&mut script, TSN_Z + 5, false);
    assert_eq!(last_sack(&script), (before, 0, vec![(3, 5)], 1));
    fragment(&mut script, TSN_Z + 1, true);
    assert_eq!(last_sack(&script), (before, 0, vec![(2, 4)], 1));
}

/// 3.3.2: a_rwnd "MUST NOT be smaller than 1500", and neither number of streams may be 0: such a configuration is refused.
// rfc9260:3.3.2-8 rfc9260:3.3.2-11 rfc9260:3.3.2-13
#[test]
fn s3_3_2_what_an_init_must_not_say_cannot_be_configured() {
    let mut config = Config::rfc9260();
    for (key, refused, taken) in [
        ("receive_window", "1499 B", "1500 B"),
        ("outbound_streams", "0", "1"),
        ("inbound_streams", "0", "1"),
    ] {
        assert!(config.set(key, refused).is_err(), "{key} {refused}");
        config.set(key, taken).unwrap();
    }
}
