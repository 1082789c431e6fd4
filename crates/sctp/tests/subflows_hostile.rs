//! Bad input under the extension SF: wrong FIDs and epochs, lies in SF-SACKs, requests that contradict each other, anything at
//! all. Nothing panics, nothing grows, nothing is delivered that was not sent.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use crate::common;

use anabranch_base::Duration;
use anabranch_sctp::{AssociationId, CloseReason, Config, Event, State, SubflowLevel};
use anabranch_wire::cause::Causes;
use anabranch_wire::chunk::{
    Chunk, DataFlags, GapBlock, ReConfig, SfData, SfForward, SfSackHead, Skipped, kind, sf_forward, sf_sack,
};
use anabranch_wire::param::{Param, Params, SfAdd, SfDel};
use anabranch_wire::{Checksum, Mid, Packet, Tsn};
use common::script::packet;
use common::{Pair, Side, subflow_config};
use proptest::prelude::{Just, Strategy, any, prop, prop_oneof, proptest};

/// Values known to an attacker who has seen everything: A's tag, and the Initial TSNs of both sides.
struct Known {
    tag: u32,
    a_initial: Tsn,
    z_initial: Tsn,
}

fn spied(level: SubflowLevel) -> (Pair, AssociationId, AssociationId, Known) {
    spied_with(&subflow_config(level, 3))
}

fn spied_with(config: &Config) -> (Pair, AssociationId, AssociationId, Known) {
    let (pair, a, z) = Pair::between(1, config, config);
    let init = |name: u8| {
        let packet = pair.log.iter().find(|p| p.kinds().contains(&name)).unwrap();
        let packet = Packet::parse(&packet.bytes, Checksum::Verify).unwrap();
        match Chunk::parse(packet.chunks().next().unwrap().unwrap()).unwrap() {
            Chunk::Init(init) | Chunk::InitAck(init) => (init.initiate_tag, init.initial_tsn),
            _ => panic!("no INIT"),
        }
    };
    let ((tag, a_initial), (_, z_initial)) = (init(kind::INIT), init(kind::INIT_ACK));
    (pair, a, z, Known { tag, a_initial, z_initial })
}

fn data(fid: u8, epoch: u8, stsn: Tsn) -> SfData<'static> {
    let (mid, payload) = (Mid::new(0), &b"hostile"[..]);
    SfData { flags: DataFlags::WHOLE, fid, epoch, stsn, stream: 1, mid, ppid_or_fsn: 0, payload }
}

fn sack(out: &mut Vec<u8>, fid: u8, epoch: u8, cumulative: Tsn, gaps: &[GapBlock]) {
    let head = SfSackHead { fid, epoch, cumulative, a_rwnd: 1 << 20, a_fwnd: 1 << 20, non_renegable: true };
    sf_sack::emit(out, kind::SF_SACK, &head, gaps, &[], None, None);
}

/// Error causes that A has sent, by code.
fn causes(pair: &Pair) -> Vec<u16> {
    let mut codes = Vec::new();
    for logged in pair.log.iter().filter(|p| p.from == Side::A) {
        let packet = Packet::parse(&logged.bytes, Checksum::Verify).unwrap();
        for raw in packet.chunks() {
            let list: Causes<'_> = match Chunk::parse(raw.unwrap()).unwrap() {
                Chunk::Error(error) => error.causes,
                Chunk::Abort(abort) => abort.causes,
                _ => continue,
            };
            codes.extend(list.iter().map(|cause| cause.unwrap().kind));
        }
    }
    codes
}

fn alive(pair: &mut Pair, a: AssociationId, z: AssociationId) {
    pair.received.clear();
    pair.send_all(Side::A, a, 3, 3, 400);
    pair.send_all(Side::Z, z, 3, 3, 400);
    pair.run_for(Duration::from_secs(10));
    pair.check_all(Side::Z, 3, 3);
    pair.check_all(Side::A, 3, 3);
}

#[test]
fn chunks_that_were_not_negotiated() {
    let (mut pair, a, z, known) = spied(SubflowLevel::Zero);
    pair.log.clear();
    pair.inject(Side::Z, &packet(known.tag, |o| data(1, 0, known.z_initial).emit(o)));
    pair.pump();
    assert_eq!(causes(&pair), [6], "SF-DATA is reported: Unrecognized Chunk Type");
    pair.log.clear();
    pair.inject(Side::Z, &packet(known.tag, |o| sack(o, 1, 0, known.a_initial, &[])));
    pair.pump();
    assert!(pair.log.is_empty(), "SF-SACK is skipped without a word");
    pair.inject(
        Side::Z,
        &packet(known.tag, |o| sf_forward::emit(o, kind::SF_FORWARD, 1, 0, known.z_initial, &[])),
    );
    pair.pump();
    assert_eq!(causes(&pair), [6], "SF-FORWARD is skipped and reported");
    alive(&mut pair, a, z);
}

/// As many entries as SF-FORWARD can hold, each for a stream of its own or all for one, over and over, while messages wait: what is
/// skipped goes on, nothing else is kept, and the association lives.
#[test]
fn as_many_skipped_as_a_chunk_holds() {
    for one in [false, true] {
        let config = subflow_config(SubflowLevel::One, 2).with(|c| {
            c.extensions.partial_reliability = true;
            c.streams.inbound = 65_535;
        });
        let (mut pair, a, _, known) = spied_with(&config);
        pair.drop_if(|p| p.from == Side::A);
        // On each stream the first message is missing.
        for n in 0..100 {
            let waits = SfData {
                stream: (n % 10) as u16,
                mid: Mid::new(1 + n / 10),
                ..data(1, 0, known.z_initial.add(1 + n))
            };
            pair.inject(Side::Z, &packet(known.tag, |o| waits.emit(o)));
            pair.pump();
        }
        assert!(pair.received.is_empty());
        for round in 0..100_u32 {
            let skipped: Vec<Skipped> = (0..SfForward::MAX_ENTRIES as u32)
                .map(|i| Skipped {
                    stream: if one { 9 } else { i as u16 },
                    unordered: i > 9 && i % 7 == 6,
                    mid: Mid::new(if one { i / 100 } else { round }),
                })
                .collect();
            let to = known.z_initial.add(round * 50);
            let bytes = packet(known.tag, |o| sf_forward::emit(o, kind::SF_FORWARD, 1, 0, to, &skipped));
            pair.log.clear();
            pair.inject(Side::Z, &bytes);
            pair.pump();
        }
        pair.a.view(a).unwrap().audit().unwrap();
        assert_eq!(pair.received.len(), if one { 10 } else { 100 });
        let view = pair.a.view(a).unwrap();
        assert_eq!(view.state(), State::Established);
    }
}

/// SF-FORWARD moves the numbers of its subflow and frees what waits behind what is skipped; of other subflows, incarnations and numbers
/// out of reach it moves nothing, and without agreement on partial reliability nothing at all.
#[test]
fn what_a_subflow_gives_up() {
    for agreed in [true, false] {
        let config = subflow_config(SubflowLevel::One, 3).with(|c| c.extensions.partial_reliability = agreed);
        let (mut pair, a, _, known) = spied_with(&config);
        assert_eq!(pair.a.view(a).unwrap().is_partially_reliable(), agreed);
        // Packets of A go nowhere: Z knows nothing of this.
        pair.drop_if(|p| p.from == Side::A);
        let send = |pair: &mut Pair, write: &dyn Fn(&mut Vec<u8>)| {
            pair.log.clear();
            pair.inject(Side::Z, &packet(known.tag, write));
            pair.pump();
            pair.a.view(a).unwrap().audit().unwrap();
        };
        let forward = |pair: &mut Pair, fid: u8, epoch: u8, to: Tsn, mid: u32| {
            let skipped = [(1, mid), (60_000, 0)].map(|(stream, mid)| Skipped {
                stream,
                unordered: false,
                mid: Mid::new(mid),
            });
            send(pair, &|o| sf_forward::emit(o, kind::SF_FORWARD, fid, epoch, to, &skipped));
        };
        let message = |n: u32| SfData { mid: Mid::new(n), ..data(1, 0, known.z_initial.add(n)) };
        // Message 0 is lost, 1 is here; 2 has begun.
        send(&mut pair, &|o| message(1).emit(o));
        let begun = DataFlags { ending: false, ..DataFlags::WHOLE };
        send(&mut pair, &|o| SfData { flags: begun, ..message(2) }.emit(o));
        assert!(pair.received.is_empty());
        for (fid, epoch, to) in [
            (2, 0, known.z_initial.sub(1)),
            (1, 0, known.z_initial.sub(1)),
            (1, 0, known.z_initial.add(1 << 30)),
            (1, 3, known.z_initial),
            (9, 0, known.z_initial),
        ] {
            forward(&mut pair, fid, epoch, to, 0);
            assert!(pair.received.is_empty(), "{fid} {epoch}");
        }
        forward(&mut pair, 1, 0, known.z_initial, 0);
        assert_eq!(pair.received.len(), usize::from(agreed));
        // A message that has begun is given up, too.
        forward(&mut pair, 1, 0, known.z_initial.add(3), 3);
        send(&mut pair, &|o| message(4).emit(o));
        assert_eq!(pair.received.len(), 2 * usize::from(agreed));
        assert_eq!(pair.a.view(a).unwrap().state(), State::Established);
    }
}

#[test]
fn fids_and_epochs_that_are_not_open() {
    let (mut pair, a, z, known) = spied(SubflowLevel::One);
    pair.log.clear();
    for (fid, epoch, stale, reported) in
        [(0, 0, 0, true), (3, 0, 0, true), (255, 9, 0, true), (1, 1, 1, false), (2, 255, 1, false)]
    {
        let before = pair.a.view(a).unwrap().stats();
        pair.log.clear();
        pair.inject(Side::Z, &packet(known.tag, |o| data(fid, epoch, known.z_initial).emit(o)));
        pair.pump();
        let after = pair.a.view(a).unwrap().stats();
        assert_eq!(after.sf_stale - before.sf_stale, stale, "{fid}/{epoch}");
        assert_eq!(causes(&pair), if reported { vec![0x5F01] } else { vec![] }, "{fid}/{epoch}");
        pair.log.clear();
        pair.inject(Side::Z, &packet(known.tag, |o| sack(o, fid, epoch, known.a_initial.add(5), &[])));
        pair.pump();
        assert_eq!(causes(&pair), if reported { vec![0x5F01] } else { vec![] }, "{fid}/{epoch}");
    }
    assert!(pair.received.is_empty());
    alive(&mut pair, a, z);
}

#[test]
fn acknowledgements_of_what_was_never_sent() {
    for gaps in [false, true] {
        let (mut pair, a, _, known) = spied(SubflowLevel::One);
        pair.send_all(Side::A, a, 3, 3, 400);
        pair.run_for(Duration::from_secs(1));
        pair.log.clear();
        let (cumulative, blocks) = if gaps {
            (known.a_initial.add(2), vec![GapBlock { start: 2, end: 3 }])
        } else {
            (known.a_initial.add(3), vec![])
        };
        pair.inject(Side::Z, &packet(known.tag, |o| sack(o, 1, 0, cumulative, &blocks)));
        pair.pump();
        assert_eq!(causes(&pair), [0x5F01], "ABORT with SF-Violation");
        assert!(pair.saw(Side::A, |e| matches!(e, Event::Closed(CloseReason::ProtocolViolation { .. }))));
    }
}

/// "The fragments of one message stay on one subflow": on two of them they end the association with SF-Violation, reason 4. Between
/// subflow 0 and another they are what a sender does that gives the extension up, and make one message.
#[test]
fn fragments_of_a_message_on_two_subflows() {
    let first = DataFlags { beginning: true, ..DataFlags::default() };
    let last = DataFlags { ending: true, ..DataFlags::default() };
    let begun = SfData { flags: first, payload: b"one ", ..data(1, 0, Tsn::new(0)) };
    for (fid, split) in [(1, false), (2, true)] {
        // In the one order and in the other.
        for swapped in [false, true] {
            let (mut pair, a, _, known) = spied(SubflowLevel::One);
            let stsn = if fid == 1 { known.z_initial.add(1) } else { known.z_initial };
            let begun = SfData { stsn: known.z_initial, ..begun };
            let ended = SfData { flags: last, fid, stsn, ppid_or_fsn: 1, payload: b"message", ..begun };
            let mut chunks = [begun, ended];
            if swapped {
                chunks.reverse();
            }
            pair.log.clear();
            pair.received.clear();
            for chunk in chunks {
                pair.inject(Side::Z, &packet(known.tag, |o| chunk.emit(o)));
                pair.pump();
            }
            let texts: Vec<_> = pair.received.iter().map(|(_, m)| m.clone().into_bytes()).collect();
            let state = pair.a.view(a).unwrap().state();
            if split {
                assert!(texts.is_empty() && state == State::Closed, "swapped {swapped}: {texts:?}");
                let abort =
                    pair.log.iter().find(|p| p.from == Side::A && p.kinds() == [kind::ABORT]).unwrap();
                let abort = Packet::parse(&abort.bytes, Checksum::Verify).unwrap();
                let Chunk::Abort(abort) = Chunk::parse(abort.chunks().next().unwrap().unwrap()).unwrap()
                else {
                    panic!("no ABORT")
                };
                let cause = abort.causes.iter().next().unwrap().unwrap();
                let fid = if swapped { 1 } else { 2 };
                assert_eq!((cause.kind, &cause.value[..4]), (0x5F01, &[fid, 0, 0, 4][..]));
            } else {
                assert_eq!((texts, state), (vec!["one message".into()], State::Established));
            }
        }
    }
    // I-DATA in the place of the first fragment: all was sent again on subflow 0.
    let (mut pair, a, _, known) = spied(SubflowLevel::One);
    let resent = anabranch_wire::chunk::IData {
        flags: first,
        tsn: known.z_initial,
        stream: 1,
        mid: Mid::new(0),
        ppid_or_fsn: 0,
        payload: b"one ",
    };
    let ended = SfData { flags: last, ppid_or_fsn: 1, payload: b"message", ..data(1, 0, known.z_initial) };
    pair.inject(Side::Z, &packet(known.tag, |o| ended.emit(o)));
    pair.inject(Side::Z, &packet(known.tag, |o| resent.emit(o)));
    pair.pump();
    assert_eq!(pair.received.last().unwrap().1.clone().into_bytes(), "one message");
    assert_eq!(pair.a.view(a).unwrap().state(), State::Established);
}

#[test]
fn data_that_breaks_the_rules() {
    let good = data(1, 0, Tsn::new(0));
    let cases = [
        ("no user data", SfData { payload: &[], ..good }, true),
        (
            "a later fragment with the number of the first",
            SfData { flags: DataFlags::default(), ..good },
            true,
        ),
        ("far ahead", SfData { stsn: Tsn::new(1 << 30), ..good }, false),
        ("before the first", SfData { stsn: Tsn::new(0).sub(1), ..good }, false),
    ];
    for (name, chunk, ends) in cases {
        let (mut pair, a, _, known) = spied(SubflowLevel::One);
        let chunk = SfData { stsn: known.z_initial.add(chunk.stsn.get()), ..chunk };
        pair.inject(Side::Z, &packet(known.tag, |o| chunk.emit(o)));
        pair.pump();
        let closed = pair.a.view(a).unwrap().state() == State::Closed;
        assert_eq!(closed, ends, "{name}");
    }
    // DATA where I-DATA was agreed (RFC 8260, 2.2.1).
    let (mut pair, a, _, known) = spied(SubflowLevel::One);
    let plain = anabranch_wire::chunk::Data {
        flags: DataFlags::WHOLE,
        tsn: known.z_initial,
        stream: 0,
        ssn: anabranch_wire::Ssn::new(0),
        ppid: 0,
        payload: b"x",
    };
    pair.inject(Side::Z, &packet(known.tag, |o| plain.emit(o)));
    pair.pump();
    assert_eq!(pair.a.view(a).unwrap().state(), State::Closed);
}

#[test]
fn requests_that_contradict_what_is_open() {
    let (mut pair, a, z, known) = spied(SubflowLevel::One);
    let number = known.z_initial.get();
    let add = |request: u32, fid: u8, epoch: u8| {
        Param::SfAdd(SfAdd { request, fid, epoch, dscp: 0, weight: 1, initial_stsn: Tsn::new(5), a_fwnd: 1 })
    };
    let del = |request: u32, fid: u8, epoch: u8, last: Tsn| {
        Param::SfDel(SfDel { request, fid, epoch, last_stsn: last })
    };
    let (first, next) = (known.z_initial, number.wrapping_add(1));
    let requests = [
        ("FID 0", add(number, 0, 0), 2),
        ("the same request again", add(number, 0, 0), 2),
        ("open, with another first number", add(next, 1, 0), 2),
        ("the wrong epoch", add(next.wrapping_add(1), 9, 1), 2),
        ("never open", del(next.wrapping_add(2), 77, 0, first), 2),
        ("data is missing", del(next.wrapping_add(3), 1, 0, first.add(3)), 6),
        ("less than was received", del(next.wrapping_add(4), 1, 0, first.sub(9)), 2),
        ("a number far ahead", add(number.wrapping_add(99), 3, 0), 5),
        ("good", add(next.wrapping_add(5), 3, 0), 1),
        ("good again, another number", add(next.wrapping_add(6), 3, 0), 0),
        ("good", del(next.wrapping_add(7), 3, 0, Tsn::new(4)), 1),
        ("closed already", del(next.wrapping_add(8), 3, 0, Tsn::new(4)), 0),
    ];
    for (name, request, expected) in requests {
        pair.log.clear();
        let mut body = Vec::new();
        request.emit(&mut body);
        let chunk = ReConfig { params: Params::new(&body) };
        pair.inject(Side::Z, &packet(known.tag, |o| chunk.emit(o)));
        pair.pump();
        let answers: Vec<u32> = pair
            .log
            .iter()
            .filter(|p| p.from == Side::A)
            .flat_map(|p| {
                let packet = Packet::parse(&p.bytes, Checksum::Verify).unwrap();
                let mut results = Vec::new();
                for raw in packet.chunks() {
                    if let Chunk::ReConfig(chunk) = Chunk::parse(raw.unwrap()).unwrap() {
                        for raw in chunk.params {
                            if let Param::ReconfigResponse(response) = Param::parse(raw.unwrap()).unwrap() {
                                results.push(response.result);
                            }
                        }
                    }
                }
                results
            })
            .collect();
        assert_eq!(answers, [expected], "{name}");
    }
    pair.run_for(Duration::from_secs(1));
    assert_eq!(pair.a.view(a).unwrap().state(), State::Established);
    alive(&mut pair, a, z);
}

/// A peer that ignores every window fills the buffer and no more, and cannot take the floors of other subflows.
#[test]
fn a_peer_that_ignores_windows() {
    let (mut pair, a, _, known) = spied(SubflowLevel::One);
    pair.reads = [false, true];
    let payload = vec![7; 1000];
    for n in 1..4000_u32 {
        // The first one never comes: all of it must be held.
        let chunk = SfData { mid: Mid::new(n), payload: &payload, ..data(1, 0, known.z_initial.add(n)) };
        pair.inject(Side::Z, &packet(known.tag, |o| chunk.emit(o)));
    }
    pair.pump();
    let held = pair.a.view(a).unwrap().stats().payload_bytes_received_new;
    let buffer = u64::from(subflow_config(SubflowLevel::One, 3).limits.receive_window);
    assert!(held < buffer - 2 * 3000 + 2000, "{held} of {buffer}");
    assert!(pair.a.view(a).unwrap().stats().dropped_no_buffer > 2000);
    // Another subflow still gets its floor.
    let before = pair.a.view(a).unwrap().stats().payload_bytes_received_new;
    for n in 0..2 {
        let chunk =
            SfData { stream: 2, mid: Mid::new(n), payload: &payload, ..data(2, 0, known.z_initial.add(n)) };
        pair.inject(Side::Z, &packet(known.tag, |o| chunk.emit(o)));
    }
    assert_eq!(pair.a.view(a).unwrap().stats().payload_bytes_received_new - before, 2000);
}

/// Chunks of the extension with fields near the truth or far from it.
fn chunk() -> impl Strategy<Value = Vec<u8>> {
    let near = || prop_oneof![4 => (0_u32..12).prop_map(|n| n.wrapping_sub(3)), 1 => any::<u32>()];
    let fid = || prop_oneof![6 => 0_u8..4, 1 => any::<u8>()];
    let epoch = || prop_oneof![6 => Just(0_u8), 1 => any::<u8>()];
    let payload = prop::collection::vec(any::<u8>(), 0..40);
    let sf_data = (fid(), epoch(), near(), 0_u16..4, near(), near(), 0_u8..16, payload).prop_map(
        |(fid, epoch, stsn, stream, mid, ppid_or_fsn, flags, payload)| {
            let mut out = Vec::new();
            SfData {
                flags: DataFlags::from_bits(flags),
                fid,
                epoch,
                stsn: Tsn::new(stsn),
                stream,
                mid: Mid::new(mid),
                ppid_or_fsn,
                payload: &payload,
            }
            .emit(&mut out);
            out
        },
    );
    let blocks = prop::collection::vec((0_u16..9, 0_u16..9), 0..4);
    let sf_sack = (fid(), epoch(), near(), any::<u32>(), any::<u32>(), blocks).prop_map(
        |(fid, epoch, cumulative, a_rwnd, a_fwnd, blocks)| {
            let mut out = Vec::new();
            let head = SfSackHead {
                fid,
                epoch,
                cumulative: Tsn::new(cumulative),
                a_rwnd,
                a_fwnd,
                non_renegable: false,
            };
            let gaps: Vec<GapBlock> =
                blocks.into_iter().map(|(start, end)| GapBlock { start, end }).collect();
            sf_sack::emit(&mut out, kind::SF_SACK, &head, &gaps, &[], None, None);
            out
        },
    );
    let request =
        (any::<bool>(), near(), fid(), epoch(), near()).prop_map(|(add, request, fid, epoch, number)| {
            let mut body = Vec::new();
            let stsn = Tsn::new(number);
            if add {
                SfAdd { request, fid, epoch, dscp: 0, weight: 0, initial_stsn: stsn, a_fwnd: 0 }
                    .emit(&mut body);
            } else {
                SfDel { request, fid, epoch, last_stsn: stsn }.emit(&mut body);
            }
            let mut out = Vec::new();
            ReConfig { params: Params::new(&body) }.emit(&mut out);
            out
        });
    let noise = (any::<u8>(), prop::collection::vec(any::<u8>(), 0..30)).prop_map(|(flags, value)| {
        let mut out = vec![kind::SF_SACK, flags, 0, 4 + value.len() as u8];
        out.extend(value);
        out.resize(out.len().next_multiple_of(4), 0);
        out
    });
    prop_oneof![4 => sf_data, 4 => sf_sack, 3 => request, 1 => noise]
}

/// Adds the true Initial TSNs to the numbers of a chunk, so that "near" is near.
fn relocate(bytes: &mut [u8], known: &Known) {
    let shift = |bytes: &mut [u8], at: usize, by: u32| {
        if let Some(field) = bytes.get_mut(at..at + 4) {
            let number = u32::from_be_bytes([field[0], field[1], field[2], field[3]]);
            field.copy_from_slice(&number.wrapping_add(by).to_be_bytes());
        }
    };
    match bytes[0] {
        kind::SF_DATA => shift(bytes, 4, known.z_initial.get()),
        kind::SF_SACK => shift(bytes, 8, known.a_initial.get()),
        kind::RE_CONFIG => shift(bytes, 8, known.z_initial.get()),
        _ => {}
    }
}

proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 200, ..Default::default() })]

    #[test]
    fn anything_at_all(packets in prop::collection::vec(prop::collection::vec(chunk(), 1..4), 1..40), waits in 0_u64..400) {
        let (mut pair, a, _, known) = spied(SubflowLevel::One);
        pair.send_all(Side::A, a, 3, 4, 1500);
        for chunks in packets {
            let body: Vec<u8> = chunks
                .into_iter()
                .flat_map(|mut chunk| {
                    relocate(&mut chunk, &known);
                    chunk
                })
                .collect();
            pair.inject(Side::Z, &packet(known.tag, |o| o.extend_from_slice(&body)));
            pair.run_for(Duration::from_millis(waits));
        }
        pair.run_for(Duration::from_secs(5));
    }
}
