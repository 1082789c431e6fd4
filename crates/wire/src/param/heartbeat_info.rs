//! Heartbeat Info: the data that the sender of a HEARTBEAT wants back (RFC 9260 section 3.3.5).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-------------------------------+-------------------------------+
//! |            type = 1           |             length            |
//! +-------------------------------+-------------------------------+
//! |          information that only the sender understands         |
//! +---------------------------------------------------------------+
//! ```

use super::{RawParam, kind};
use crate::emit;
use crate::error::TlvError;

/// A Heartbeat Info parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeartbeatInfo<'a> {
    /// Opaque to the peer. It holds a nonce of at least 64 bits when a path is being verified.
    pub info: &'a [u8],
}

impl<'a> HeartbeatInfo<'a> {
    /// Parameter type.
    pub const KIND: u16 = kind::HEARTBEAT_INFO;

    /// Reads the parameter.
    ///
    /// # Errors
    /// None today: any value will do.
    pub fn parse(raw: RawParam<'a>) -> Result<Self, TlvError> {
        Ok(Self { info: raw.value })
    }

    /// Appends the parameter, padded.
    pub fn emit(&self, out: &mut Vec<u8>) {
        emit::tlv(out, Self::KIND, self.info);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::param::tests::layout;

    #[test]
    fn bytes_on_the_wire() {
        let bytes = [0, 1, 0, 9, 1, 2, 3, 4, 5, 0, 0, 0];
        layout(&HeartbeatInfo { info: &[1, 2, 3, 4, 5] }, HeartbeatInfo::emit, HeartbeatInfo::parse, &bytes);
    }
}
