//! The encoding of the thesis of 2007, end to end, on a sealed network.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use crate::common;

use std::collections::{BTreeMap, BTreeSet};

use anabranch_base::{Dscp, Duration, Rng};
use anabranch_sctp::{AssociationId, CloseReason, Config, Event, State, SubflowLevel, SubflowSpec};
use anabranch_wire::chunk::kind;
use anabranch_wire::sf2007::{self, SetupParams, Show, split_cookie};
use anabranch_wire::{Checksum, ChecksumOut, CommonHeader, Packet, PacketBuilder, RawChunk};
use common::{PORT, Pair, Side};
use proptest::prelude::{any, prop, proptest};

fn config(subflows: u8) -> Config {
    let spec = |index: u8| SubflowSpec {
        streams: vec![u16::from(index)],
        ..SubflowSpec::new(Dscp::new(index).unwrap())
    };
    Config::sf2007().with(|c| {
        c.subflows.open = (0..subflows).map(spec).collect();
        c.limits.send_buffer = 4 << 20;
    })
}

fn up(seed: u64, subflows: u8) -> (Pair, AssociationId, AssociationId) {
    Pair::between(seed, &config(subflows), &config(subflows))
}

/// Chunks of a kind that were sent, read by `read`.
fn all<T>(pair: &Pair, kind: u8, read: impl Fn(Side, RawChunk<'_>) -> T) -> Vec<T> {
    let mut found = Vec::new();
    for logged in &pair.log {
        let packet = Packet::parse(&logged.bytes, Checksum::Verify).unwrap();
        for raw in packet.chunks() {
            let raw = raw.unwrap();
            if raw.kind == kind {
                found.push(read(logged.from, raw));
            }
        }
    }
    found
}

#[test]
fn everything_arrives_despite_losses() {
    for seed in 0..12 {
        let (mut pair, a, z) = up(seed, 3);
        let mut rng = Rng::stream(seed, "loss", "test");
        pair.drop_if(move |_| rng.below(12) == 0);
        pair.send_all(Side::A, a, 3, 60, 3000);
        pair.send_all(Side::Z, z, 3, 30, 100);
        pair.run_for(Duration::from_secs(150));
        pair.check_all(Side::Z, 3, 60);
        pair.check_all(Side::A, 3, 30);
        let now = pair.now;
        pair.a.association(a).unwrap().shutdown(now);
        pair.run_for(Duration::from_secs(200));
        let graceful = |e: &Event| matches!(e, Event::Closed(CloseReason::Graceful));
        assert!(pair.saw(Side::A, graceful) && pair.saw(Side::Z, graceful), "{:?}", pair.events);
    }
}

/// Figs 3.1 to 3.5, as they are sent.
#[test]
fn the_figures() {
    let (mut pair, a, _) = up(1, 3);
    pair.send_all(Side::A, a, 3, 5, 500);
    pair.run_for(Duration::from_secs(2));
    for name in [kind::INIT, kind::INIT_ACK] {
        let parameters = all(&pair, name, |_, raw| raw.value.windows(6).any(|w| w == [0x80, 2, 0, 6, 3, 16]));
        assert_eq!(parameters, [true], "Fig. 3.3 in chunk {name}");
    }
    let echoed = all(&pair, kind::COOKIE_ECHO, |_, raw| split_cookie(raw.value).1.read().unwrap());
    let acked = all(&pair, kind::COOKIE_ACK, |_, raw| SetupParams::new(raw.value).read().unwrap());
    assert_eq!((echoed[0].len(), acked[0].len()), (3, 3), "Figs 3.4 and 3.5 for every subflow");
    let data = all(&pair, kind::DATA, |_, raw| {
        let data = sf2007::Data::parse(raw).unwrap();
        (data.fid, data.fsn, data.asn, data.stream)
    });
    assert_eq!(data.len(), 15);
    let mut next: BTreeMap<u8, sf2007::Fsn> = BTreeMap::new();
    for (index, (fid, fsn, asn, stream)) in data.iter().enumerate() {
        assert_eq!(u16::from(*fid), *stream);
        let expected = next.entry(*fid).or_insert(echoed[0][usize::from(*fid)].initial_fsn);
        assert_eq!(fsn, expected, "numbers of subflow {fid}");
        *expected = expected.next();
        assert_eq!(asn.distance_from(data[0].2) as usize, index, "numbers of the association");
    }
    let fids: BTreeSet<u8> =
        all(&pair, kind::SACK, |_, raw| sf2007::Sack::parse(raw).unwrap().head.fid).into_iter().collect();
    assert_eq!(fids, BTreeSet::from([0, 1, 2]), "one acknowledgement for each subflow");
    // "the modified SCTP will not allow any data chunks to be transmitted inside the Cookie Echo/ACK chunks".
    for logged in &pair.log {
        let kinds = logged.kinds();
        let cookie = kinds.iter().any(|k| matches!(*k, kind::COOKIE_ECHO | kind::COOKIE_ACK));
        assert!(!cookie || !kinds.contains(&kind::DATA));
        assert!(
            !Show(Packet::parse(&logged.bytes, Checksum::Verify).unwrap()).to_string().contains("MALFORMED")
        );
    }
    assert_eq!(pair.a.view(a).unwrap().subflow_level(), SubflowLevel::Sf2007);
}

/// More chunks than 24 bits count would take long; numbers that begin just before the wrap do not.
#[test]
fn flow_sequence_numbers_wrap_at_24_bits() {
    let mut wrapped = 0;
    for seed in 0..6000 {
        // Initial numbers are random: look for those near the wrap.
        let (pair, ..) = up(seed, 2);
        let first = all(&pair, kind::COOKIE_ECHO, |_, raw| split_cookie(raw.value).1.read().unwrap())[0][0]
            .initial_fsn;
        if first.get() < (1 << 24) - 10_000 {
            continue;
        }
        let (mut pair, a, _) = up(seed, 2);
        let mut rng = Rng::stream(seed, "loss", "test");
        pair.drop_if(move |p| p.from == Side::A && rng.below(50) == 0);
        let chunks = 10_100;
        for n in 0..chunks {
            pair.send_numbered(Side::A, a, 0, n, 100);
        }
        pair.run_for(Duration::from_secs(300));
        assert_eq!(pair.in_order(Side::Z), BTreeMap::from([(0, chunks)]));
        wrapped += 1;
    }
    assert!(wrapped > 0, "no seed begins near the wrap");
}

/// A stream changes its subflow in mid-association; messages keep their order by stream sequence number.
#[test]
fn streams_migrate() {
    for seed in 0..10 {
        let (mut pair, a, _) = up(seed, 3);
        let mut rng = Rng::stream(seed, "loss", "test");
        pair.drop_if(move |_| rng.below(15) == 0);
        let mut rng = Rng::stream(seed, "moves", "test");
        for n in 0..150 {
            for stream in 0..3 {
                pair.send_numbered(Side::A, a, stream, n, 400);
            }
            let now = pair.now;
            let (stream, subflow) = (rng.below(3) as u16, rng.below(3) as u8);
            pair.a.association(a).unwrap().set_stream_subflow(now, stream, subflow).unwrap();
            pair.run_for(Duration::from_millis(rng.below(60)));
        }
        pair.run_for(Duration::from_secs(150));
        pair.check_all(Side::Z, 3, 150);
    }
}

#[test]
fn unequal_subflows_are_agreed_on() {
    // A asks for four and Z takes two: subflows 2 and 3 go on inside subflow 0.
    let narrow = config(4).with(|c| c.subflows.max_inbound = 2);
    let (mut pair, a, z) = Pair::between(3, &config(4), &narrow);
    pair.send_all(Side::A, a, 4, 40, 700);
    pair.send_all(Side::Z, z, 4, 40, 700);
    pair.run_for(Duration::from_secs(20));
    pair.check_all(Side::Z, 4, 40);
    pair.check_all(Side::A, 4, 40);
    let fids = |side| {
        let of = |from, raw: RawChunk<'_>| (from, sf2007::Data::parse(raw).unwrap().fid);
        all(&pair, kind::DATA, of)
            .into_iter()
            .filter(|(from, _)| *from == side)
            .map(|(_, fid)| fid)
            .collect::<BTreeSet<u8>>()
    };
    assert_eq!(fids(Side::A), BTreeSet::from([0, 1]));
    assert_eq!(fids(Side::Z), BTreeSet::from([0, 1, 2, 3]));
}

proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 150, ..Default::default() })]

    #[test]
    fn anything_at_all(
        packets in prop::collection::vec(
            (prop::sample::select(vec![0_u8, 3, 7, 10, 11]), any::<u8>(), prop::collection::vec(any::<u8>(), 0..60)), 1..40),
    ) {
        let (mut pair, a, _) = up(1, 3);
        let tag = {
            let logged = pair.log.iter().rev().find(|p| p.from == Side::Z).unwrap();
            Packet::parse(&logged.bytes, Checksum::Verify).unwrap().header().verification_tag
        };
        pair.send_all(Side::A, a, 3, 4, 1500);
        for (kind, flags, mut value) in packets {
            // FIDs near the truth.
            if let Some(fid) = value.get_mut(4) {
                *fid %= 5;
            }
            let mut out = Vec::new();
            let header = CommonHeader { source_port: PORT, destination_port: PORT, verification_tag: tag };
            let mut builder = PacketBuilder::new(&mut out, header);
            builder.buffer().extend_from_slice(&[kind, flags, 0, 4 + value.len() as u8]);
            builder.buffer().extend_from_slice(&value);
            let padded = builder.buffer().len().next_multiple_of(4);
            builder.buffer().resize(padded, 0);
            builder.finish(ChecksumOut::Compute);
            pair.inject(Side::Z, &out);
            pair.run_for(Duration::from_millis(30));
        }
        pair.run_for(Duration::from_secs(5));
        assert_ne!(pair.a.view(a).unwrap().state(), State::CookieWait);
    }
}

/// With a single subflow its window is the only one. Half of the packets are lost, the reader pauses: the peer is not given more than
/// it has room for, and takes chunks that fill a hole.
#[test]
fn a_single_subflow_obeys_its_window() {
    for seed in 0..5 {
        let mut config = config(1);
        config.limits.receive_window = 20_000;
        let (mut pair, a, z) = Pair::between(seed, &config, &config);
        pair.reads[Side::Z as usize] = false;
        pair.send_all(Side::A, a, 1, 200, 1000);
        let mut rng = Rng::stream(seed, "loss", "test");
        pair.drop_if(move |_| rng.below(4) == 0);
        pair.run_for(Duration::from_secs(60));
        let stats = pair.z.view(z).unwrap().stats();
        assert!(stats.payload_bytes_received_new <= 21_000, "{}", stats.payload_bytes_received_new);
        pair.reads[Side::Z as usize] = true;
        pair.drop_if(|_| false);
        pair.run_for(Duration::from_secs(200));
        pair.check_all(Side::Z, 1, 200);
    }
}
