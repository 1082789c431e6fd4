//! The format that parameters and error causes share: type, length, value, padding (RFC 9260 sections 3.2.1 and
//! 3.3.10).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-------------------------------+-------------------------------+
//! |     parameter type or cause   | length: header + value        |
//! +-------------------------------+-------------------------------+
//! |                         value, padded                         |
//! +---------------------------------------------------------------+
//! ```

use core::iter::FusedIterator;

use crate::emit;
use crate::error::TlvError;
use crate::padding::padded;
use crate::unknown::{self, UnknownAction};

/// A parameter or cause by its header only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawTlv<'a> {
    /// Parameter type or cause code.
    pub kind: u16,
    /// Bytes after the header, without padding.
    pub value: &'a [u8],
    /// Header and value, without padding, as a report echoes them.
    pub bytes: &'a [u8],
}

impl<'a> RawTlv<'a> {
    /// Bytes of the header.
    pub const HEADER: usize = 4;

    /// Reads one from the start of `bytes`; also returns the rest. The padding of the last one may be missing:
    /// the length of a chunk does not count it.
    // rfc9260:3.2.1-3
    fn split(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), TlvError> {
        let &[k0, k1, l0, l1, ..] = bytes else {
            return Err(TlvError::HeaderCut { left: bytes.len() });
        };
        let kind = u16::from_be_bytes([k0, k1]);
        let length = u16::from_be_bytes([l0, l1]);
        let end = usize::from(length);
        if end < Self::HEADER {
            return Err(TlvError::LengthBelowHeader { kind, length });
        }
        let left = bytes.len();
        let (Some(whole), Some(value)) = (bytes.get(..end), bytes.get(Self::HEADER..end)) else {
            return Err(TlvError::LengthPastEnd { kind, length, left });
        };
        let rest = bytes.get(padded(end)..).unwrap_or_default();
        Ok((Self { kind, value, bytes: whole }, rest))
    }

    /// The treatment of this parameter by a receiver that does not know its type. Not for causes, whose codes have no
    /// such bits.
    #[must_use]
    pub const fn unknown_action(&self) -> UnknownAction {
        unknown::param_action(self.kind)
    }

    /// Appends it as it is, padded.
    pub fn emit(&self, out: &mut Vec<u8>) {
        emit::tlv(out, self.kind, self.value);
    }

    /// The value as an array of exactly `N` bytes.
    pub(crate) fn exactly<const N: usize>(&self) -> Result<&'a [u8; N], TlvError> {
        self.value.try_into().map_err(|_| self.wrong_length(Self::HEADER + N))
    }

    /// The first `N` bytes of the value, and the others.
    pub(crate) fn at_least<const N: usize>(&self) -> Result<(&'a [u8; N], &'a [u8]), TlvError> {
        self.value.split_first_chunk().ok_or(TlvError::TooShort {
            kind: self.kind,
            length: self.bytes.len(),
            least: Self::HEADER + N,
        })
    }

    pub(crate) const fn wrong_length(&self, expected: usize) -> TlvError {
        TlvError::WrongLength { kind: self.kind, length: self.bytes.len(), expected }
    }
}

/// A parameter by its header only.
pub type RawParam<'a> = RawTlv<'a>;

/// A cause by its header only.
pub type RawCause<'a> = RawTlv<'a>;

/// Parameters or causes one after the other. After the first malformed one there are no more.
#[derive(Clone, Debug)]
pub struct Tlvs<'a> {
    rest: &'a [u8],
}

impl<'a> Tlvs<'a> {
    pub(crate) const fn new(region: &'a [u8]) -> Self {
        Self { rest: region }
    }
}

impl<'a> Iterator for Tlvs<'a> {
    type Item = Result<RawTlv<'a>, TlvError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        match RawTlv::split(self.rest) {
            Ok((tlv, rest)) => {
                self.rest = rest;
                Some(Ok(tlv))
            }
            Err(error) => {
                self.rest = &[];
                Some(Err(error))
            }
        }
    }
}

impl FusedIterator for Tlvs<'_> {}

/// Big-endian 16-bit numbers in a row; a last odd byte is not one.
#[derive(Clone, Debug)]
pub struct U16s<'a>(core::slice::ChunksExact<'a, u8>);

impl<'a> U16s<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes.chunks_exact(2))
    }
}

impl Iterator for U16s<'_> {
    type Item = u16;

    fn next(&mut self) -> Option<u16> {
        match self.0.next() {
            Some(&[hi, lo]) => Some(u16::from_be_bytes([hi, lo])),
            _ => None,
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl ExactSizeIterator for U16s<'_> {}
impl FusedIterator for U16s<'_> {}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(bytes: &[u8]) -> Vec<Result<usize, TlvError>> {
        Tlvs::new(bytes).map(|tlv| tlv.map(|tlv| tlv.value.len())).collect()
    }

    // rfc9260:3.2.1-3
    #[test]
    fn padding_between_and_after() {
        // Three bytes of value, then one byte of value; the last padding there or not.
        let bytes = [0x80, 1, 0, 7, 1, 2, 3, 0, 0x80, 2, 0, 5, 9, 0, 0, 0];
        for end in 13..=16 {
            assert_eq!(lengths(&bytes[..end]), [Ok(3), Ok(1)], "{end} bytes");
        }
        assert_eq!(
            lengths(&bytes[..12]),
            [Ok(3), Err(TlvError::LengthPastEnd { kind: 0x8002, length: 5, left: 4 })]
        );
    }

    #[test]
    fn lengths_below_the_header_end_the_row() {
        for length in 0..4 {
            assert_eq!(
                lengths(&[0, 5, 0, length, 0, 5, 0, 4]),
                [Err(TlvError::LengthBelowHeader { kind: 5, length: length.into() })]
            );
        }
    }

    #[test]
    fn a_cut_header_ends_the_row() {
        assert_eq!(lengths(&[]), []);
        for left in 1..4 {
            assert_eq!(lengths(&[0; 3][..left]), [Err(TlvError::HeaderCut { left })]);
        }
        assert_eq!(lengths(&[0, 12, 0, 4, 1, 2]), [Ok(0), Err(TlvError::HeaderCut { left: 2 })]);
    }
}
