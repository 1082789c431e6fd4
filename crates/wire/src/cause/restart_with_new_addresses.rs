//! Restart of an Association with New Addresses: an INIT would add addresses to an association that exists (RFC 9260 section 3.3.10.11).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-------------------------------+-------------------------------+
//! |           code = 11           |             length            |
//! +-------------------------------+-------------------------------+
//! |                     new address parameters                    |
//! +---------------------------------------------------------------+
//! ```

use super::{RawCause, code};
use crate::emit;
use crate::error::TlvError;
use crate::param::Params;

/// A Restart of an Association with New Addresses cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestartWithNewAddresses<'a> {
    /// The address parameters that were new, copied.
    pub addresses: Params<'a>,
}

impl<'a> RestartWithNewAddresses<'a> {
    /// Cause code.
    pub const CODE: u16 = code::RESTART_WITH_NEW_ADDRESSES;

    /// Reads the cause.
    ///
    /// # Errors
    /// None today: the addresses are parsed when they are iterated over.
    pub fn parse(raw: RawCause<'a>) -> Result<Self, TlvError> {
        Ok(Self { addresses: Params::new(raw.value) })
    }

    /// Appends the cause, padded.
    pub fn emit(&self, out: &mut Vec<u8>) {
        emit::tlv(out, Self::CODE, self.addresses.bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::param::tests::layout;

    #[test]
    fn bytes_on_the_wire() {
        let bytes = [0, 11, 0, 8, 128, 0, 0, 4];
        layout(
            &RestartWithNewAddresses { addresses: Params::new(&[128, 0, 0, 4]) },
            RestartWithNewAddresses::emit,
            RestartWithNewAddresses::parse,
            &bytes,
        );
    }
}
