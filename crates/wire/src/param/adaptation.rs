//! Adaptation Layer Indication: a number that the layer above tells its peer in the handshake (RFC 5061 section 4.2.6).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-------------------------------+-------------------------------+
//! |         type = 0xC006         |           length = 8          |
//! +-------------------------------+-------------------------------+
//! |                     adaptation code point                     |
//! +---------------------------------------------------------------+
//! ```

use super::{RawParam, kind};
use crate::emit;
use crate::error::TlvError;

/// An Adaptation Layer Indication parameter, in an INIT or INIT ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdaptationIndication {
    /// A code point whose meaning only the upper layers know.
    pub code_point: u32,
}

impl AdaptationIndication {
    /// Parameter type.
    pub const KIND: u16 = kind::ADAPTATION_INDICATION;

    /// Reads the parameter.
    ///
    /// # Errors
    /// Its length is not 8.
    pub fn parse(raw: RawParam<'_>) -> Result<Self, TlvError> {
        let code_point = u32::from_be_bytes(*raw.exactly()?);
        Ok(Self { code_point })
    }

    /// Appends the parameter, padded.
    pub fn emit(&self, out: &mut Vec<u8>) {
        emit::tlv(out, Self::KIND, &self.code_point.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::param::tests::{layout, length_cases};

    #[test]
    fn bytes_on_the_wire() {
        let bytes = [0xC0, 6, 0, 8, 1, 2, 3, 4];
        layout(
            &AdaptationIndication { code_point: 0x0102_0304 },
            AdaptationIndication::emit,
            AdaptationIndication::parse,
            &bytes,
        );
    }

    #[test]
    fn lengths_around_the_only_one() {
        for (length, bytes) in length_cases(AdaptationIndication::KIND, 8) {
            let raw = crate::param::tests::raw(&bytes);
            assert_eq!(AdaptationIndication::parse(raw).is_ok(), length == 8, "length {length}");
        }
    }
}
