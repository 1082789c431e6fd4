//! State Cookie: all that an INIT ACK's sender needs to create the association later (RFC 9260 section 3.3.3.1.1).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-------------------------------+-------------------------------+
//! |            type = 7           |             length            |
//! +-------------------------------+-------------------------------+
//! |                         cookie, padded                        |
//! +---------------------------------------------------------------+
//! ```

use super::{RawParam, kind};
use crate::emit;
use crate::error::TlvError;

/// A State Cookie parameter; mandatory in an INIT ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateCookie<'a> {
    /// Opaque to everyone but its maker.
    pub cookie: &'a [u8],
}

impl<'a> StateCookie<'a> {
    /// Parameter type.
    pub const KIND: u16 = kind::STATE_COOKIE;

    /// Reads the parameter.
    ///
    /// # Errors
    /// None today: any value will do.
    pub fn parse(raw: RawParam<'a>) -> Result<Self, TlvError> {
        Ok(Self { cookie: raw.value })
    }

    /// Appends the parameter, padded.
    pub fn emit(&self, out: &mut Vec<u8>) {
        emit::tlv(out, Self::KIND, self.cookie);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::param::tests::layout;

    #[test]
    fn bytes_on_the_wire() {
        let bytes = [0, 7, 0, 9, 1, 2, 3, 4, 5, 0, 0, 0];
        layout(&StateCookie { cookie: &[1, 2, 3, 4, 5] }, StateCookie::emit, StateCookie::parse, &bytes);
    }
}
