use super::*;
use crate::builder::{ChecksumOut, PacketBuilder};
use crate::unknown::UnknownAction;

const HEADER: CommonHeader =
    CommonHeader { source_port: 0x1234, destination_port: 0x5678, verification_tag: 0x9ABC_DEF0 };

fn packet(chunks: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut builder = PacketBuilder::new(&mut bytes, HEADER);
    builder.buffer().extend_from_slice(chunks);
    builder.finish(ChecksumOut::Compute);
    bytes
}

/// Types and value lengths of the chunks, and the error at the end.
fn chunks(bytes: &[u8]) -> (Vec<(u8, usize)>, Option<ChunkError>) {
    let mut good = Vec::new();
    let mut all = Packet::parse(bytes, Checksum::Ignore).unwrap().chunks();
    for chunk in &mut all {
        match chunk {
            Ok(chunk) => good.push((chunk.kind, chunk.value.len())),
            Err(error) => {
                assert_eq!(all.next(), None, "nothing follows an error");
                return (good, Some(error));
            }
        }
    }
    (good, None)
}

// rfc9260:3-2
#[test]
fn header_layout() {
    let bytes = packet(&[]);
    assert_eq!(bytes[..8], [0x12, 0x34, 0x56, 0x78, 0x9A, 0xBC, 0xDE, 0xF0]);
    let packet = Packet::parse(&bytes, Checksum::Verify).unwrap();
    assert_eq!(packet.header(), HEADER);
    assert_eq!(crc32c::store(packet.checksum()), bytes[8..]);
    // A header without chunks is a packet that says nothing.
    assert_eq!(packet.chunks().next(), None);
}

#[test]
fn too_short() {
    for len in 0..12 {
        let parsed = Packet::parse(&[1; 12][..len], Checksum::Ignore);
        assert_eq!(parsed, Err(PacketError::TooShort { len }));
    }
    assert!(Packet::parse(&[1; 12], Checksum::Ignore).is_ok());
}

// rfc9260:3.1-1 rfc9260:3.1-2
#[test]
fn ports_of_zero() {
    let mut bytes = packet(&[]);
    bytes[0..2].fill(0);
    assert_eq!(Packet::parse(&bytes, Checksum::Ignore), Err(PacketError::ZeroPort { which: "source" }));
    bytes[1] = 1;
    bytes[2..4].fill(0);
    assert_eq!(Packet::parse(&bytes, Checksum::Ignore), Err(PacketError::ZeroPort { which: "destination" }));
}

#[test]
fn every_bit_counts_for_the_checksum() {
    let good = packet(&[7, 0, 0, 8, 1, 2, 3, 4]);
    assert!(Packet::parse(&good, Checksum::Verify).is_ok());
    for bit in 0..good.len() * 8 {
        let mut bad = good.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        assert!(matches!(Packet::parse(&bad, Checksum::Verify), Err(PacketError::BadChecksum { .. })));
    }
}

// rfc9260:3.2-4
#[test]
fn padding_is_ignored_whatever_it_holds() {
    let bytes = packet(&[10, 0, 0, 5, 1, 0xFF, 0xFF, 0xFF, 11, 0, 0, 4]);
    assert_eq!(chunks(&bytes), (vec![(10, 1), (11, 0)], None));
}

#[test]
fn the_last_padding_may_be_missing() {
    for missing in 0..=3 {
        let bytes = packet(&[11, 0, 0, 4, 10, 0, 0, 5, 1, 0, 0, 0][..12 - missing]);
        assert_eq!(chunks(&bytes), (vec![(11, 0), (10, 1)], None), "{missing} bytes missing");
    }
}

#[test]
fn lengths_below_four() {
    for length in 0..4 {
        let bytes = packet(&[11, 0, 0, 4, 9, 0, 0, length, 11, 0, 0, 4]);
        let error = ChunkError::LengthBelowHeader { kind: 9, length: length.into() };
        assert_eq!(chunks(&bytes), (vec![(11, 0)], Some(error)));
    }
}

// rfc9260:6.10-7
#[test]
fn lengths_past_the_end() {
    for length in [9, 10, 255, 0xFFFF_u16] {
        let [hi, lo] = length.to_be_bytes();
        let bytes = packet(&[11, 0, 0, 4, 9, 0, hi, lo, 1, 2, 3, 4]);
        let error = ChunkError::LengthPastEnd { kind: 9, length, left: 8 };
        assert_eq!(chunks(&bytes), (vec![(11, 0)], Some(error)));
    }
}

#[test]
fn bytes_left_over() {
    for left in 1..4 {
        let bytes = packet(&[11, 0, 0, 4, 11, 0, 0][..4 + left]);
        assert_eq!(chunks(&bytes), (vec![(11, 0)], Some(ChunkError::HeaderCut { left })));
    }
}

#[test]
fn raw_chunks_show_header_and_value() {
    let bytes = packet(&[0xC5, 9, 0, 6, 7, 8, 0, 0]);
    let chunk = Packet::parse(&bytes, Checksum::Verify).unwrap().chunks().next().unwrap().unwrap();
    assert_eq!((chunk.kind, chunk.flags, chunk.value), (0xC5, 9, &[7, 8][..]));
    assert_eq!(chunk.bytes, [0xC5, 9, 0, 6, 7, 8]);
    assert_eq!(chunk.unknown_action(), UnknownAction::SkipReport);
}
