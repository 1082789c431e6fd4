//! SSN/TSN Reset Request: all streams of both directions and both TSN spaces start anew (RFC 6525 section 4.3).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-------------------------------+-------------------------------+
//! |           type = 15           |           length = 8          |
//! +-------------------------------+-------------------------------+
//! |            re-configuration request sequence number           |
//! +---------------------------------------------------------------+
//! ```

use super::{RawParam, kind};
use crate::emit;
use crate::error::TlvError;

/// An SSN/TSN Reset Request parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AssociationReset {
    /// Number of the request.
    pub request: u32,
}

impl AssociationReset {
    /// Parameter type.
    pub const KIND: u16 = kind::ASSOCIATION_RESET;

    /// Reads the parameter.
    ///
    /// # Errors
    /// Its length is not 8.
    pub fn parse(raw: RawParam<'_>) -> Result<Self, TlvError> {
        Ok(Self { request: u32::from_be_bytes(*raw.exactly()?) })
    }

    /// Appends the parameter.
    // rfc6525:4.3-1
    pub fn emit(&self, out: &mut Vec<u8>) {
        emit::tlv(out, Self::KIND, &self.request.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::param::tests::{layout, length_cases, raw};

    #[test]
    fn bytes_on_the_wire() {
        let bytes = [0, 15, 0, 8, 1, 2, 3, 4];
        let reset = AssociationReset { request: 0x0102_0304 };
        layout(&reset, AssociationReset::emit, AssociationReset::parse, &bytes);
    }

    // rfc6525:4.3-1
    #[test]
    fn lengths() {
        for (length, bytes) in length_cases(15, 8) {
            assert_eq!(AssociationReset::parse(raw(&bytes)).is_ok(), length == 8, "length {length}");
        }
    }
}
