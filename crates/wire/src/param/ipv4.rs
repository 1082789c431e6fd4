//! IPv4 Address: one more address of the sender (RFC 9260 section 3.3.2.1.1).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-------------------------------+-------------------------------+
//! |            type = 5           |           length = 8          |
//! +-------------------------------+-------------------------------+
//! |                          IPv4 address                         |
//! +---------------------------------------------------------------+
//! ```

use core::net::Ipv4Addr;

use super::{RawParam, kind};
use crate::emit;
use crate::error::TlvError;

/// An IPv4 Address parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv4Address {
    /// The address.
    pub address: Ipv4Addr,
}

impl Ipv4Address {
    /// Parameter type.
    pub const KIND: u16 = kind::IPV4_ADDRESS;

    /// Reads the parameter.
    ///
    /// # Errors
    /// Its length is not 8.
    pub fn parse(raw: RawParam<'_>) -> Result<Self, TlvError> {
        let address = Ipv4Addr::from(*raw.exactly::<4>()?);
        Ok(Self { address })
    }

    /// Appends the parameter, padded.
    pub fn emit(&self, out: &mut Vec<u8>) {
        emit::tlv(out, Self::KIND, &self.address.octets());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::param::tests::{layout, length_cases};

    #[test]
    fn bytes_on_the_wire() {
        let bytes = [0, 5, 0, 8, 192, 0, 2, 1];
        layout(
            &Ipv4Address { address: Ipv4Addr::new(192, 0, 2, 1) },
            Ipv4Address::emit,
            Ipv4Address::parse,
            &bytes,
        );
    }

    #[test]
    fn lengths_around_the_only_one() {
        for (length, bytes) in length_cases(Ipv4Address::KIND, 8) {
            let raw = crate::param::tests::raw(&bytes);
            assert_eq!(Ipv4Address::parse(raw).is_ok(), length == 8, "length {length}");
        }
    }
}
