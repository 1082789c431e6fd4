//! IPv6 Address: one more address of the sender (RFC 9260 section 3.3.2.1.2).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-------------------------------+-------------------------------+
//! |            type = 6           |          length = 20          |
//! +-------------------------------+-------------------------------+
//! |                     IPv6 address, 16 bytes                    |
//! +---------------------------------------------------------------+
//! ```

use core::net::Ipv6Addr;

use super::{RawParam, kind};
use crate::emit;
use crate::error::TlvError;

/// An IPv6 Address parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv6Address {
    /// The address. "A sender MUST NOT use an IPv4-mapped IPv6 address"; the core judges it.
    pub address: Ipv6Addr,
}

impl Ipv6Address {
    /// Parameter type.
    pub const KIND: u16 = kind::IPV6_ADDRESS;

    /// Reads the parameter.
    ///
    /// # Errors
    /// Its length is not 20.
    pub fn parse(raw: RawParam<'_>) -> Result<Self, TlvError> {
        let address = Ipv6Addr::from(*raw.exactly::<16>()?);
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
        let bytes = [0, 6, 0, 20, 32, 1, 13, 184, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
        layout(
            &Ipv6Address { address: Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1) },
            Ipv6Address::emit,
            Ipv6Address::parse,
            &bytes,
        );
    }

    #[test]
    fn lengths_around_the_only_one() {
        for (length, bytes) in length_cases(Ipv6Address::KIND, 20) {
            let raw = crate::param::tests::raw(&bytes);
            assert_eq!(Ipv6Address::parse(raw).is_ok(), length == 20, "length {length}");
        }
    }
}
