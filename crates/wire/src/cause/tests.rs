use super::*;
use crate::param::tests::raw;

#[test]
fn codes_not_known_are_kept() {
    let bytes = [0x01, 0x05, 0, 6, 1, 2, 0, 0];
    let cause = Cause::parse(raw(&bytes)).unwrap();
    assert!(matches!(cause, Cause::Unknown(RawCause { kind: 0x0105, value: [1, 2], .. })));
    let mut out = Vec::new();
    cause.emit(&mut out);
    assert_eq!(out, bytes);
}

#[test]
fn the_writer_counts_the_last_padding_only() {
    let mut out = Vec::new();
    let mut writer = CauseWriter::new(&mut out);
    writer.raw(code::PROTOCOL_VIOLATION, &[1]);
    assert_eq!(writer.last_padding(), 3);
    writer.add(&Cause::UserInitiatedAbort(UserInitiatedAbort { reason: b"ab" }));
    assert_eq!(writer.last_padding(), 2);
    writer.region(Causes::new(&[0, 12, 0, 7, 1, 2, 3]));
    assert_eq!(writer.last_padding(), 1);
    assert_eq!(Causes::new(&out).into_iter().map(Result::unwrap).count(), 3);
}
