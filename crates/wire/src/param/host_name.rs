//! Host Name Address: deprecated (RFC 9260 section 3.3.2.1.4).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-------------------------------+-------------------------------+
//! |           type = 11           |             length            |
//! +-------------------------------+-------------------------------+
//! |               host name, zero-terminated, padded              |
//! +---------------------------------------------------------------+
//! ```

use super::{RawParam, kind};
use crate::emit;
use crate::error::TlvError;

/// A Host Name Address parameter. It MUST NOT be sent; a receiver answers it with an ABORT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostName<'a> {
    /// The name with its terminating zero bytes.
    pub name: &'a [u8],
}

impl<'a> HostName<'a> {
    /// Parameter type.
    pub const KIND: u16 = kind::HOST_NAME;

    /// Reads the parameter.
    ///
    /// # Errors
    /// None today: any value will do.
    pub fn parse(raw: RawParam<'a>) -> Result<Self, TlvError> {
        Ok(Self { name: raw.value })
    }

    /// Appends the parameter, padded.
    pub fn emit(&self, out: &mut Vec<u8>) {
        emit::tlv(out, Self::KIND, self.name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::param::tests::layout;

    #[test]
    fn bytes_on_the_wire() {
        let bytes = [0, 11, 0, 9, 1, 2, 3, 4, 5, 0, 0, 0];
        layout(&HostName { name: &[1, 2, 3, 4, 5] }, HostName::emit, HostName::parse, &bytes);
    }
}
