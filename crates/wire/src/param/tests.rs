use core::fmt::Debug;

use super::*;
use crate::padding::padded;
use crate::tlv::{RawTlv, Tlvs};
use crate::unknown::UnknownAction;

/// The first parameter or cause in `bytes`.
#[track_caller]
pub(crate) fn raw(bytes: &[u8]) -> RawTlv<'_> {
    Tlvs::new(bytes).next().unwrap().unwrap()
}

/// `value` is written as `bytes`, and `bytes` are read as `value`.
#[track_caller]
pub(crate) fn layout<'a, T: Debug + PartialEq>(
    value: &T,
    emit: impl Fn(&T, &mut Vec<u8>),
    parse: impl Fn(RawTlv<'a>) -> Result<T, TlvError>,
    bytes: &'a [u8],
) {
    let mut out = Vec::new();
    emit(value, &mut out);
    assert_eq!(out, bytes);
    assert_eq!(parse(raw(bytes)).as_ref(), Ok(value));
}

/// Parameters or causes of type `kind` with every length from 4 to three bytes more than `right`.
pub(crate) fn length_cases(kind: u16, right: usize) -> impl Iterator<Item = (usize, Vec<u8>)> {
    (4..=right + 3).map(move |length| {
        let mut bytes = vec![0; padded(length)];
        bytes[..2].copy_from_slice(&kind.to_be_bytes());
        bytes[3] = length as u8;
        (length, bytes)
    })
}

#[test]
fn types_not_known_are_kept() {
    let bytes = [0x80, 0x02, 0, 6, 1, 2, 0, 0];
    let param = Param::parse(raw(&bytes)).unwrap();
    assert!(matches!(param, Param::Unknown(RawParam { kind: 0x8002, value: [1, 2], .. })));
    let mut out = Vec::new();
    param.emit(&mut out);
    assert_eq!(out, bytes);
}

#[test]
fn upper_bits_say_what_to_do() {
    assert_eq!(unknown_action(0x0004), UnknownAction::Stop);
    assert_eq!(unknown_action(0x4000), UnknownAction::StopReport);
    assert_eq!(unknown_action(0x8001), UnknownAction::Skip);
    assert_eq!(unknown_action(0xC006), UnknownAction::SkipReport);
    assert_eq!(raw(&[0xC0, 6, 0, 4]).unknown_action(), UnknownAction::SkipReport);
}

// rfc9260:3.2.1-1 rfc9260:3.2.1-2
#[test]
fn the_writer_counts_the_last_padding_only() {
    let mut out = Vec::new();
    let mut writer = ParamWriter::new(&mut out);
    assert_eq!(writer.last_padding(), 0);
    writer.raw(kind::STATE_COOKIE, &[1]);
    assert_eq!(writer.last_padding(), 3);
    writer.add(&Param::StateCookie(StateCookie { cookie: &[1, 2] }));
    assert_eq!(writer.last_padding(), 2);
    writer.region(Params::EMPTY);
    assert_eq!(writer.last_padding(), 2);
    writer.region(Params::new(&[0, 7, 0, 7, 1, 2, 3]));
    assert_eq!(writer.last_padding(), 1);
    writer.add(&Param::EcnCapable(EcnCapable));
    assert_eq!(writer.last_padding(), 0);
    assert_eq!(Params::new(&out).iter().map(Result::unwrap).count(), 4);
}
