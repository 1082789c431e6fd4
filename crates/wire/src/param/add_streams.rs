//! Add Outgoing Streams Request and Add Incoming Streams Request (RFC 6525 sections 4.5 and 4.6): one layout.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-------------------------------+-------------------------------+
//! |         type = 17 or 18       |          length = 12          |
//! +-------------------------------+-------------------------------+
//! |            re-configuration request sequence number           |
//! +-------------------------------+-------------------------------+
//! |     number of new streams     |            reserved           |
//! +-------------------------------+-------------------------------+
//! ```

use super::{RawParam, kind};
use crate::emit;
use crate::error::TlvError;

/// The direction of the streams to be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AddDirection {
    /// The sender's own.
    Outgoing,
    /// The peer's.
    Incoming,
}

impl AddDirection {
    /// Parameter type.
    #[must_use]
    pub const fn kind(self) -> u16 {
        match self {
            Self::Outgoing => kind::ADD_OUTGOING_STREAMS,
            Self::Incoming => kind::ADD_INCOMING_STREAMS,
        }
    }
}

/// A request to add streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddStreams {
    /// Number of the request.
    pub request: u32,
    /// Streams to add behind those that there are.
    pub count: u16,
}

impl AddStreams {
    /// Bytes of the parameter.
    pub const LEN: usize = 12;

    /// Reads either of the two parameters.
    ///
    /// # Errors
    /// Its length is not [`AddStreams::LEN`].
    pub fn parse(raw: RawParam<'_>) -> Result<Self, TlvError> {
        let &[r0, r1, r2, r3, c0, c1, _, _] = raw.exactly::<8>()?;
        Ok(Self { request: u32::from_be_bytes([r0, r1, r2, r3]), count: u16::from_be_bytes([c0, c1]) })
    }

    /// Appends the parameter.
    // rfc6525:4.5-1 rfc6525:4.5-2
    pub fn emit(&self, direction: AddDirection, out: &mut Vec<u8>) {
        let start = emit::begin_tlv(out, direction.kind());
        out.extend_from_slice(&self.request.to_be_bytes());
        out.extend_from_slice(&self.count.to_be_bytes());
        out.extend_from_slice(&[0, 0]);
        emit::end(out, start, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::param::tests::{layout, length_cases, raw};

    // rfc6525:4.5-2
    #[test]
    fn bytes_on_the_wire() {
        let add = AddStreams { request: 0x0102_0304, count: 0x0506 };
        let bytes = [0, 17, 0, 12, 1, 2, 3, 4, 5, 6, 0, 0];
        layout(&add, |add, out| add.emit(AddDirection::Outgoing, out), AddStreams::parse, &bytes);
        let bytes = [0, 18, 0, 12, 1, 2, 3, 4, 5, 6, 0, 0];
        layout(&add, |add, out| add.emit(AddDirection::Incoming, out), AddStreams::parse, &bytes);
        // "SHOULD be set to 0 by the sender and ignored by the receiver".
        assert_eq!(AddStreams::parse(raw(&[0, 17, 0, 12, 1, 2, 3, 4, 5, 6, 7, 8])), Ok(add));
    }

    // rfc6525:4.5-1
    #[test]
    fn lengths() {
        for (length, bytes) in length_cases(17, AddStreams::LEN) {
            assert_eq!(AddStreams::parse(raw(&bytes)).is_ok(), length == AddStreams::LEN, "length {length}");
        }
    }
}
