//! Zero Checksum Acceptable: packets may come with a checksum of zero, as something else finds their errors (RFC 9653 section 4).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-------------------------------+-------------------------------+
//! |         type = 0x8001         |           length = 8          |
//! +-------------------------------+-------------------------------+
//! |           error detection method identifier (EDMID)           |
//! +---------------------------------------------------------------+
//! ```

use super::{RawParam, kind};
use crate::emit;
use crate::error::TlvError;

/// A Zero Checksum Acceptable parameter, in an INIT or INIT ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZeroChecksumAcceptable {
    /// Identifier of the error detection method that replaces the CRC32c (RFC 9653).
    pub method: u32,
}

impl ZeroChecksumAcceptable {
    /// Parameter type.
    pub const KIND: u16 = kind::ZERO_CHECKSUM_ACCEPTABLE;
    /// The method "SCTP over DTLS" (RFC 9653, section 6).
    pub const DTLS: u32 = 1;

    /// Reads the parameter.
    ///
    /// # Errors
    /// Its length is not 8.
    pub fn parse(raw: RawParam<'_>) -> Result<Self, TlvError> {
        let method = u32::from_be_bytes(*raw.exactly()?);
        Ok(Self { method })
    }

    /// Appends the parameter, padded.
    pub fn emit(&self, out: &mut Vec<u8>) {
        emit::tlv(out, Self::KIND, &self.method.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::param::tests::{layout, length_cases};

    #[test]
    fn bytes_on_the_wire() {
        let bytes = [0x80, 1, 0, 8, 1, 2, 3, 4];
        layout(
            &ZeroChecksumAcceptable { method: 0x0102_0304 },
            ZeroChecksumAcceptable::emit,
            ZeroChecksumAcceptable::parse,
            &bytes,
        );
    }

    #[test]
    fn lengths_around_the_only_one() {
        for (length, bytes) in length_cases(ZeroChecksumAcceptable::KIND, 8) {
            let raw = crate::param::tests::raw(&bytes);
            assert_eq!(ZeroChecksumAcceptable::parse(raw).is_ok(), length == 8, "length {length}");
        }
    }
}
