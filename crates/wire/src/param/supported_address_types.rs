//! Supported Address Types: which kinds of address the sender can use (RFC 9260 section 3.3.2.1.5).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-------------------------------+-------------------------------+
//! |           type = 12           |        length = 4 + 2 N       |
//! +-------------------------------+-------------------------------+
//! |        address type 1         |        address type 2         |
//! +-------------------------------+-------------------------------+
//! |                              ...                              |
//! +---------------------------------------------------------------+
//! ```

use super::{RawParam, kind};
use crate::emit;
use crate::error::TlvError;
use crate::tlv::U16s;

/// A Supported Address Types parameter. Without it, a sender can use any type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SupportedAddressTypes<'a> {
    types: &'a [u8],
}

impl<'a> SupportedAddressTypes<'a> {
    /// Parameter type.
    pub const KIND: u16 = kind::SUPPORTED_ADDRESS_TYPES;
    /// "IPv4 only".
    pub const IPV4: SupportedAddressTypes<'static> = SupportedAddressTypes { types: &[0, 5] };
    /// "IPv6 only".
    pub const IPV6: SupportedAddressTypes<'static> = SupportedAddressTypes { types: &[0, 6] };
    /// "IPv4 and IPv6".
    pub const BOTH: SupportedAddressTypes<'static> = SupportedAddressTypes { types: &[0, 5, 0, 6] };

    /// Reads the parameter.
    ///
    /// # Errors
    /// Half of a type stands at its end.
    pub fn parse(raw: RawParam<'a>) -> Result<Self, TlvError> {
        if raw.value.len() % 2 != 0 {
            return Err(raw.wrong_length(raw.bytes.len() - 1));
        }
        Ok(Self { types: raw.value })
    }

    /// The types of address parameters: 5 for IPv4, 6 for IPv6; the others mean nothing (11, the host name, "MUST
    /// be ignored").
    #[must_use]
    pub fn types(&self) -> U16s<'a> {
        U16s::new(self.types)
    }

    /// Appends the parameter, padded.
    pub fn emit(&self, out: &mut Vec<u8>) {
        emit::tlv(out, Self::KIND, self.types);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::param::tests::{layout, length_cases, raw};

    #[test]
    fn bytes_on_the_wire() {
        type Types = SupportedAddressTypes<'static>;
        layout(&Types::IPV4, Types::emit, SupportedAddressTypes::parse, &[0, 12, 0, 6, 0, 5, 0, 0]);
        layout(&Types::IPV6, Types::emit, SupportedAddressTypes::parse, &[0, 12, 0, 6, 0, 6, 0, 0]);
        layout(&Types::BOTH, Types::emit, SupportedAddressTypes::parse, &[0, 12, 0, 8, 0, 5, 0, 6]);
        assert!(Types::BOTH.types().eq([5, 6]));
    }

    #[test]
    fn half_a_type_is_refused() {
        for (length, bytes) in length_cases(SupportedAddressTypes::KIND, 8) {
            let parsed = SupportedAddressTypes::parse(raw(&bytes));
            assert_eq!(parsed.is_ok(), length % 2 == 0, "length {length}");
        }
    }
}
