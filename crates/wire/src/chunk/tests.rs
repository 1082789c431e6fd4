use super::*;
use crate::padding::padded;
use crate::unknown::UnknownAction;

/// The first chunk in `bytes`.
#[track_caller]
pub(crate) fn raw(bytes: &[u8]) -> RawChunk<'_> {
    RawChunk::split(bytes).unwrap().0
}

/// A chunk of zeros whose length was chosen to be wrong or just right.
pub(crate) struct Mutated {
    pub(crate) length: usize,
    pub(crate) bytes: Vec<u8>,
}

/// Chunks of type `kind` with every length from 4 to three bytes more than `right`.
pub(crate) fn length_cases(kind: u8, right: usize) -> impl Iterator<Item = Mutated> {
    (4..=right + 3).map(move |length| {
        let mut bytes = vec![0; padded(length).max(8)];
        bytes[0] = kind;
        bytes[3] = length as u8;
        Mutated { length, bytes }
    })
}

#[test]
fn types_not_known_are_kept() {
    let bytes = [0x85, 7, 0, 6, 1, 2, 0, 0];
    let Chunk::Unknown(chunk) = Chunk::parse(raw(&bytes)).unwrap() else {
        panic!("not kept");
    };
    assert_eq!((chunk.kind, chunk.flags, chunk.value), (0x85, 7, &[1, 2][..]));
    let mut out = Vec::new();
    chunk.emit(&mut out);
    assert_eq!(out, bytes);
}

#[test]
fn every_type_is_parsed_as_what_it_is() {
    for kind in 0..=255 {
        let mut bytes = [0; 24];
        bytes[0] = kind;
        // The least length of each; a HEARTBEAT needs its parameter.
        bytes[3] = match kind {
            0 | 3 => 16,
            1 | 2 => 20,
            4 | 5 | 7 | 12 | 13 | 0xC0 | 0xC2 => 8,
            0x40 | 0x5F => 20,
            0x9F => 24,
            0xDF => 12,
            _ => 4,
        };
        if matches!(kind, 4 | 5) {
            bytes[4..8].copy_from_slice(&[0, 1, 0, 4]);
        }
        let chunk = Chunk::parse(raw(&bytes)).unwrap();
        let known = kind <= 14 || matches!(kind, 0x40 | 0x5F | 0x82 | 0x84 | 0x9F | 0xC0 | 0xC2 | 0xDF);
        assert_eq!(matches!(chunk, Chunk::Unknown(_)), !known, "{kind}");
        let mut out = Vec::new();
        chunk.emit(&mut out);
        assert_eq!(out, bytes[..bytes[3].into()], "{kind}");
    }
}

#[test]
fn other_code_points_for_the_extension() {
    let codes = CodePoints { data: 0x5E, sack: 0x9E, forward: 0xDE, ..CodePoints::DEFAULT };
    let mut bytes = [0; 24];
    for (kind, length, name) in [(0x5E, 20, "SF-DATA"), (0x9E, 24, "SF-SACK"), (0xDE, 12, "SF-FORWARD")] {
        (bytes[0], bytes[3]) = (kind, length);
        let chunk = Chunk::parse_with(raw(&bytes), &codes).unwrap();
        assert!(chunk.to_string().starts_with(name), "{chunk}");
        bytes[0] |= 1;
        // The default types mean nothing under this table.
        assert!(matches!(Chunk::parse_with(raw(&bytes), &codes), Ok(Chunk::Unknown(_))), "{name}");
    }
    for kind in 0..=255 {
        bytes[0] = kind;
        let with = Chunk::parse_with(raw(&bytes), &CodePoints::DEFAULT);
        assert_eq!(with, Chunk::parse(raw(&bytes)), "{kind}");
    }
}

#[test]
fn upper_bits_say_what_to_do() {
    for (kind, action) in [
        (15, UnknownAction::Stop),
        (0x3F, UnknownAction::Stop),
        (0x40, UnknownAction::StopReport),
        (0x84, UnknownAction::Skip),
        (0xC0, UnknownAction::SkipReport),
        (0xFF, UnknownAction::SkipReport),
    ] {
        assert_eq!(unknown_action(kind), action, "{kind}");
    }
    assert!(UnknownAction::SkipReport.goes_on() && UnknownAction::SkipReport.reports());
    assert!(!UnknownAction::Stop.goes_on() && !UnknownAction::Stop.reports());
    assert!(UnknownAction::Skip.goes_on() && !UnknownAction::Skip.reports());
    assert!(!UnknownAction::StopReport.goes_on() && UnknownAction::StopReport.reports());
}
