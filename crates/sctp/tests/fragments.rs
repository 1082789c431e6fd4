//! Fragments that may stand beside each other (RFC 9260, 3.3.1 and 6.9): a peer that breaks the order of B and E bits
//! is told so, in whatever order its chunks arrive.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

use crate::common;

use anabranch_base::Duration;
use anabranch_sctp::{AssociationId, CloseReason, Config, Event};
use anabranch_wire::chunk::{Chunk, Data, DataFlags, kind};
use anabranch_wire::{Checksum, Packet, Ssn, Tsn, sf2007};
use common::script::packet;
use common::{Pair, Side};

/// A message alone, its beginning, a fragment in the middle, its end.
const KINDS: [(char, bool, bool); 4] =
    [('W', true, true), ('B', true, false), ('M', false, false), ('E', false, true)];

/// The orders in which three chunks can arrive.
const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

/// A packet in which A has sent a message of one byte, alone.
fn packet_of_a(pair: &mut Pair, a: AssociationId) -> Vec<u8> {
    pair.send(Side::A, a, 0, b"a");
    pair.run_for(Duration::from_secs(1));
    let sent = pair.log.iter().rev().find(|p| {
        let packet = Packet::parse(&p.bytes, Checksum::Verify).unwrap();
        p.from == Side::A && packet.chunks().any(|raw| raw.unwrap().kind == kind::DATA)
    });
    sent.unwrap().bytes.clone()
}

/// True if the chunks can be messages: behind one that is not the last of its message comes a further fragment, and
/// behind a last one a beginning.
fn is_sound(chunks: [usize; 3]) -> bool {
    let mut unfinished = false;
    chunks.iter().all(|which| {
        let (_, beginning, ending) = KINDS[*which];
        let fits = beginning != unfinished;
        unfinished = !ending;
        fits
    })
}

/// Every three chunks in every order, as `chunk` makes them: one after the other of a stream, behind a whole message.
fn every_neighbourhood(config: &Config, chunk: impl Fn(&Packet<'_>, u32, DataFlags) -> Vec<u8>) {
    for code in 0..64 {
        let chunks = [code / 16, code / 4 % 4, code % 4];
        for order in ORDERS {
            let (mut pair, a, z) = Pair::between(3, config, config);
            let sample = packet_of_a(&mut pair, a);
            let sample = Packet::parse(&sample, Checksum::Verify).unwrap();
            for index in order {
                let (_, beginning, ending) = KINDS[chunks[index]];
                let flags = DataFlags { immediate: false, unordered: true, beginning, ending };
                pair.inject(Side::A, &chunk(&sample, 1 + index as u32, flags));
                pair.pump();
            }
            let what: String = chunks.iter().map(|which| KINDS[*which].0).collect();
            let end = pair.events.iter().rev().find_map(|(side, id, event)| match event {
                Event::Closed(reason) if (*side, *id) == (Side::Z, z) => Some(reason.clone()),
                _ => None,
            });
            let aborted = matches!(end, Some(CloseReason::ProtocolViolation { .. }));
            assert_eq!(aborted, !is_sound(chunks), "{what} in the order {order:?}: {end:?}");
        }
    }
}

// rfc9260:6.9-14
#[test]
fn neighbours_of_fragments() {
    every_neighbourhood(&Config::rfc9260(), |sample, ahead, flags| {
        let raw = sample.chunks().map(Result::unwrap).find(|raw| raw.kind == kind::DATA).unwrap();
        let Chunk::Data(first) = Chunk::parse(raw).unwrap() else { panic!("no DATA") };
        let tsn = Tsn::new(first.tsn.get().wrapping_add(ahead));
        packet(sample.header().verification_tag, |out| {
            Data { flags, tsn, ssn: Ssn::new(0), payload: b"x", ..first }.emit(out);
        })
    });
}

#[test]
fn neighbours_of_fragments_in_the_encoding_of_2007() {
    every_neighbourhood(&Config::sf2007(), |sample, ahead, flags| {
        let raw = sample.chunks().map(Result::unwrap).find(|raw| raw.kind == kind::DATA).unwrap();
        let first = sf2007::Data::parse(raw).unwrap();
        let (fsn, asn) = (first.fsn.get() + ahead, first.asn.get().wrapping_add(ahead));
        packet(sample.header().verification_tag, |out| {
            let (fsn, asn) = (sf2007::Fsn::new(fsn), Tsn::new(asn));
            sf2007::Data { flags, fsn, asn, ssn: Ssn::new(0), payload: b"x", ..first }.emit(out);
        })
    });
}
