//! Packets of other stacks: they must decode, their checksums must agree with ours, and what we write for what we
//! read must be the same bytes.
//!
//! Each file in `captures/` says which stack it comes from. After a change of the decoder's words, run with
//! `UPDATE_CAPTURES=1` and look at the difference.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anabranch_wire::cause::{Cause, Causes};
use anabranch_wire::chunk::Chunk;
use anabranch_wire::param::{Param, Params};
use anabranch_wire::{Checksum, ChecksumOut, Packet, PacketBuilder, crc32c};

struct Captured {
    sender: String,
    bytes: Vec<u8>,
    golden: Option<String>,
}

fn files() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures");
    let mut files: Vec<PathBuf> =
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn read(path: &Path) -> (String, Vec<Captured>) {
    let text = fs::read_to_string(path).unwrap();
    let mut head = String::new();
    let mut packets: Vec<Captured> = Vec::new();
    for line in text.lines() {
        let (mark, rest) = line.split_once(' ').unwrap();
        match mark {
            "#" => writeln!(head, "{line}").unwrap(),
            "=" => packets.last_mut().unwrap().golden = Some(rest.to_owned()),
            _ => packets.push(Captured { sender: mark.to_owned(), bytes: unhex(rest), golden: None }),
        }
    }
    (head, packets)
}

fn unhex(text: &str) -> Vec<u8> {
    assert_eq!(text.len() % 2, 0);
    (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap()).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

fn every_packet(mut look: impl FnMut(&Path, &Captured)) {
    let mut seen = 0;
    for path in files() {
        for packet in read(&path).1 {
            look(&path, &packet);
            seen += 1;
        }
    }
    assert!(seen > 60, "{seen} packets only");
}

#[test]
fn decoded_as_expected() {
    for path in files() {
        let (head, packets) = read(&path);
        let mut updated = head;
        for Captured { sender, bytes, golden } in &packets {
            let decoded = Packet::parse(bytes, Checksum::Verify).unwrap().to_string();
            writeln!(updated, "{sender} {}\n= {decoded}", hex(bytes)).unwrap();
            if std::env::var_os("UPDATE_CAPTURES").is_none() {
                assert_eq!(golden.as_deref(), Some(decoded.as_str()), "{}", path.display());
            }
        }
        if std::env::var_os("UPDATE_CAPTURES").is_some() {
            fs::write(&path, updated).unwrap();
        }
    }
}

#[test]
fn checksums_agree() {
    every_packet(|path, Captured { bytes, .. }| {
        let field = [bytes[8], bytes[9], bytes[10], bytes[11]];
        assert_eq!(crc32c::store(crc32c::packet_checksum(bytes)), field, "{}", path.display());
        assert!(Packet::parse(bytes, Checksum::Verify).is_ok());
    });
}

#[test]
fn one_damaged_bit_is_noticed() {
    every_packet(|path, Captured { bytes, .. }| {
        for bit in 0..bytes.len() * 8 {
            // Bits far from each other are enough for long packets.
            if bytes.len() > 200 && bit % 97 != 0 {
                continue;
            }
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(Packet::parse(&damaged, Checksum::Verify).is_err(), "{} bit {bit}", path.display());
        }
    });
}

#[test]
fn written_again_they_are_the_same_bytes() {
    every_packet(|path, Captured { bytes, .. }| {
        let packet = Packet::parse(bytes, Checksum::Verify).unwrap();
        let mut out = Vec::new();
        let mut builder = PacketBuilder::new(&mut out, packet.header());
        for chunk in packet.chunks() {
            Chunk::parse(chunk.unwrap()).unwrap().emit(builder.buffer());
        }
        builder.finish(ChecksumOut::Compute);
        assert_eq!(hex(&out), hex(bytes), "{}", path.display());
    });
}

#[test]
fn every_parameter_and_cause_is_understood_and_written_again() {
    let params = |params: Params<'_>| {
        for raw in params {
            let raw = raw.unwrap();
            let mut out = Vec::new();
            Param::parse(raw).unwrap().emit(&mut out);
            assert!(out.starts_with(raw.bytes), "{raw:?}");
        }
    };
    let causes = |causes: Causes<'_>| {
        assert!(causes.iter().count() > 0 || causes.bytes().is_empty());
        for raw in causes {
            let raw = raw.unwrap();
            let cause = Cause::parse(raw).unwrap();
            assert!(!matches!(cause, Cause::Unknown(_)), "{raw:?}");
            let mut out = Vec::new();
            cause.emit(&mut out);
            assert!(out.starts_with(raw.bytes), "{raw:?}");
        }
    };
    every_packet(|_, Captured { bytes, .. }| {
        for chunk in Packet::parse(bytes, Checksum::Verify).unwrap().chunks() {
            match Chunk::parse(chunk.unwrap()).unwrap() {
                Chunk::Init(init) | Chunk::InitAck(init) => params(init.params),
                Chunk::Abort(abort) => causes(abort.causes),
                Chunk::Error(error) => causes(error.causes),
                _ => {}
            }
        }
    });
}
