//! Bytes from anywhere: nothing panics, nothing is read past its end, nothing goes on for ever.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use anabranch_wire::cause::{Cause, Causes};
use anabranch_wire::chunk::Chunk;
use anabranch_wire::param::{Param, Params};
use anabranch_wire::{Checksum, ChecksumOut, CommonHeader, Packet, PacketBuilder, RawChunk, RawTlv};
use proptest::collection::vec;
use proptest::prelude::*;

const HEADER: CommonHeader = CommonHeader { source_port: 1, destination_port: 2, verification_tag: 3 };

/// Whether `inner` is a part of `outer`'s memory.
fn within(outer: &[u8], inner: &[u8]) -> bool {
    let (outer, inner) = (outer.as_ptr_range(), inner.as_ptr_range());
    inner.start == inner.end || (outer.start <= inner.start && inner.end <= outer.end)
}

/// Looks at everything that can be looked at.
fn walk(bytes: &[u8]) {
    let Ok(packet) = Packet::parse(bytes, Checksum::Ignore) else { return };
    let mut seen = 0;
    let mut out = Vec::new();
    for raw in packet.chunks() {
        seen += 1;
        let Ok(raw) = raw else { continue };
        assert!(within(bytes, raw.bytes) && within(raw.bytes, raw.value));
        assert_eq!(raw.bytes.len(), raw.value.len() + RawChunk::HEADER);
        let Ok(chunk) = Chunk::parse(raw) else { continue };
        look(bytes, &chunk);
        stable(&chunk, &mut out);
    }
    assert!(seen <= bytes.len() / 4, "{seen} chunks in {} bytes", bytes.len());
    assert!(!packet.to_string().is_empty());
}

fn look(bytes: &[u8], chunk: &Chunk<'_>) {
    match chunk {
        Chunk::Data(data) => assert!(within(bytes, data.payload)),
        Chunk::Init(init) | Chunk::InitAck(init) => params(bytes, init.params),
        Chunk::Sack(sack) => {
            assert_eq!(sack.gaps().count(), sack.gap_count());
            assert_eq!(sack.duplicates().count(), sack.duplicate_count());
            assert!(16 + 4 * (sack.gap_count() + sack.duplicate_count()) <= bytes.len());
        }
        Chunk::Heartbeat(heartbeat) | Chunk::HeartbeatAck(heartbeat) => {
            assert!(within(bytes, heartbeat.info.info));
        }
        Chunk::Abort(abort) => causes(bytes, abort.causes),
        Chunk::Error(error) => causes(bytes, error.causes),
        Chunk::CookieEcho(echo) => assert!(within(bytes, echo.cookie)),
        Chunk::IData(data) => assert!(within(bytes, data.payload)),
        Chunk::ReConfig(chunk) => params(bytes, chunk.params),
        Chunk::ForwardTsn(forward) => assert!(8 + 4 * forward.skipped().count() <= bytes.len()),
        Chunk::IForwardTsn(forward) => assert!(8 + 8 * forward.skipped().count() <= bytes.len()),
        _ => {}
    }
}

/// Asserts that a parsed chunk, written and parsed again, is the same chunk and the same bytes.
fn stable(chunk: &Chunk<'_>, out: &mut Vec<u8>) {
    out.clear();
    let mut builder = PacketBuilder::new(out, HEADER);
    chunk.emit(builder.buffer());
    assert_eq!(builder.finish(ChecksumOut::Compute) % 4, 0);
    let packet = Packet::parse(out, Checksum::Verify).unwrap();
    let again = Chunk::parse(packet.chunks().next().unwrap().unwrap()).unwrap();
    let mut once_more = Vec::new();
    again.emit(&mut once_more);
    assert_eq!(once_more, out[CommonHeader::LEN..]);
}

fn params(bytes: &[u8], params: Params<'_>) {
    assert!(params.iter().count() <= params.bytes().len() / 4 + 1);
    for raw in params.iter().flatten() {
        param(bytes, raw);
    }
}

fn param(bytes: &[u8], raw: RawTlv<'_>) {
    assert!(within(bytes, raw.bytes) && within(raw.bytes, raw.value));
    match Param::parse(raw) {
        Ok(Param::SupportedAddressTypes(types)) => assert!(types.types().count() <= raw.value.len() / 2),
        Ok(Param::OutgoingReset(reset)) => assert!(reset.streams().count() <= raw.value.len() / 2),
        Ok(Param::IncomingReset(reset)) => assert!(reset.streams().count() <= raw.value.len() / 2),
        Ok(Param::Unrecognized(unrecognized)) => assert!(within(bytes, unrecognized.parameter)),
        _ => {}
    }
}

fn causes(bytes: &[u8], causes: Causes<'_>) {
    assert!(causes.iter().count() <= causes.bytes().len() / 4 + 1);
    for raw in causes.iter().flatten() {
        cause(bytes, raw);
    }
}

fn cause(bytes: &[u8], raw: RawTlv<'_>) {
    assert!(within(bytes, raw.bytes) && within(raw.bytes, raw.value));
    match Cause::parse(raw) {
        Ok(Cause::MissingParameters(missing)) => assert!(missing.types().count() <= raw.value.len() / 2),
        Ok(Cause::UnrecognizedParameters(unrecognized)) => params(bytes, unrecognized.parameters),
        Ok(Cause::RestartWithNewAddresses(restart)) => params(bytes, restart.addresses),
        _ => {}
    }
}

/// Type, flags, length and value of something like a chunk: mostly known types, mostly lengths that fit.
fn chunk_like() -> impl Strategy<Value = Vec<u8>> {
    let extension = prop::sample::select(vec![0x40_u8, 0x82, 0xC0, 0xC2]);
    let kind = prop_oneof![9 => 0..16_u8, 2 => extension, 1 => any::<u8>()];
    let wrong_by = prop_oneof![8 => Just(0_i32), 1 => -4..4, 1 => any::<i16>().prop_map(i32::from)];
    let value = prop_oneof![vec(any::<u8>(), 0..64), vec(tlv_like(), 0..6).prop_map(|tlvs| tlvs.concat())];
    (kind, any::<u8>(), wrong_by, value, 0..20_usize).prop_map(|(kind, flags, wrong_by, value, fixed)| {
        // Room for fixed fields before what looks like parameters.
        let fixed = if fixed % 2 == 0 { 0 } else { 16 };
        let length = (4 + fixed + value.len()) as i32 + wrong_by;
        let [hi, lo] = (length as u16).to_be_bytes();
        let mut bytes = vec![kind, flags, hi, lo];
        bytes.resize(4 + fixed, 0);
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    })
}

/// Type, length and value of something like a parameter or cause.
fn tlv_like() -> impl Strategy<Value = Vec<u8>> {
    let kind = prop_oneof![4 => 0..19_u16, 1 => Just(0x8000), 1 => Just(0x8008), 1 => any::<u16>()];
    let wrong_by = prop_oneof![8 => Just(0_i32), 1 => -4..4];
    (kind, wrong_by, vec(any::<u8>(), 0..20)).prop_map(|(kind, wrong_by, value)| {
        let length = (4 + value.len() as i32 + wrong_by) as u16;
        let mut bytes = [kind.to_be_bytes(), length.to_be_bytes()].concat();
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    })
}

fn packet_of(body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut builder = PacketBuilder::new(&mut out, HEADER);
    builder.buffer().extend_from_slice(body);
    builder.finish(ChecksumOut::Zero);
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes(bytes in vec(any::<u8>(), 0..300)) {
        walk(&bytes);
        walk(&packet_of(&bytes));
    }

    #[test]
    fn arbitrary_values_under_every_type(kind in 0..=255_u8, flags: u8, value in vec(any::<u8>(), 0..80)) {
        let [hi, lo] = (4 + value.len() as u16).to_be_bytes();
        walk(&packet_of(&[&[kind, flags, hi, lo][..], &value].concat()));
    }

    #[test]
    fn something_like_chunks(chunks in vec(chunk_like(), 0..6), cut in 0..8_usize) {
        let mut bytes = packet_of(&chunks.concat());
        bytes.truncate(bytes.len().saturating_sub(cut));
        walk(&bytes);
    }

    #[test]
    fn something_like_parameters_and_causes(tlvs in vec(tlv_like(), 0..8), cut in 0..8_usize) {
        let mut bytes = tlvs.concat();
        bytes.truncate(bytes.len().saturating_sub(cut));
        params(&bytes, Params::new(&bytes));
        causes(&bytes, Causes::new(&bytes));
    }

    #[test]
    fn real_packets_damaged(at: prop::sample::Index, which: prop::sample::Index, byte: u8, cut in 0..40_usize) {
        let packets = captured();
        let mut bytes = which.get(&packets).clone();
        *at.get_mut(&mut bytes) = byte;
        walk(&bytes);
        bytes.truncate(bytes.len().saturating_sub(cut));
        walk(&bytes);
    }
}

fn captured() -> Vec<Vec<u8>> {
    [
        include_str!("captures/usrsctp-errors.txt"),
        include_str!("captures/usrsctp-abort.txt"),
        include_str!("captures/pion-transfer.txt"),
    ]
    .iter()
    .flat_map(|file| file.lines())
    .filter_map(|line| line.strip_prefix("A ").or(line.strip_prefix("B ")))
    .map(|hex| (0..hex.len()).step_by(2).map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap()).collect())
    .collect()
}

#[test]
fn every_prefix_of_real_packets() {
    for packet in captured() {
        for end in 0..=packet.len() {
            walk(&packet[..end]);
        }
    }
}

// rfc9260:3.3.3-18
#[test]
fn the_largest_packet() {
    // 65,535 bytes of chunks of four bytes each, of one SACK that claims all of it, and of parameters.
    walk(&packet_of(&[15, 0, 0, 4].repeat(16_380)));
    let mut sack = vec![0xFF; 65_520];
    sack[..4].copy_from_slice(&[3, 0, 0xFF, 0xF0]);
    walk(&packet_of(&sack));
    let mut init = vec![0; 65_520];
    init[..4].copy_from_slice(&[1, 0, 0xFF, 0xF0]);
    for parameter in init[20..].chunks_mut(4) {
        parameter.copy_from_slice(&[0xC0, 0xFF, 0, 4]);
    }
    walk(&packet_of(&init));
}
