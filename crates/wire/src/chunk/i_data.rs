//! I-DATA: user data with a message identifier (RFC 8260 section 2.1).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---------------+-------+-+-+-+-+-------------------------------+
//! |  type = 0x40  |  res  |I|U|B|E|    length = 20 + payload      |
//! +---------------+-------+-+-+-+-+-------------------------------+
//! |                              TSN                              |
//! +-------------------------------+-------------------------------+
//! |       stream identifier       |           reserved            |
//! +-------------------------------+-------------------------------+
//! |                      message identifier                       |
//! +---------------------------------------------------------------+
//! | payload protocol identifier (B = 1) or fragment number (B = 0) |
//! +---------------------------------------------------------------+
//! |                       user data, padded                       |
//! +---------------------------------------------------------------+
//! ```

use super::raw::RawChunk;
use super::{DataFlags, kind};
use crate::emit::MAX_LENGTH;
use crate::error::ChunkError;
use crate::padding::padded;
use crate::serial::{Mid, Tsn};

/// An I-DATA chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IData<'a> {
    /// I, U, B and E.
    pub flags: DataFlags,
    /// Transmission sequence number.
    pub tsn: Tsn,
    /// Stream identifier.
    pub stream: u16,
    /// Message identifier: the same in every fragment of a message. Ordered and unordered messages of a stream are
    /// counted apart.
    pub mid: Mid,
    /// In the first fragment the payload protocol identifier; in the others the fragment sequence number.
    pub ppid_or_fsn: u32,
    /// User data. An empty one can be parsed and MUST NOT be sent.
    pub payload: &'a [u8],
}

impl<'a> IData<'a> {
    /// Bytes before the payload, chunk header included.
    pub const HEADER: usize = 20;
    /// The longest payload that the length field can count.
    pub const MAX_PAYLOAD: usize = MAX_LENGTH - Self::HEADER;

    /// Bytes of a whole chunk with `payload_len` bytes of payload, with its padding.
    #[inline]
    #[must_use]
    pub const fn wire_len(payload_len: usize) -> usize {
        padded(Self::HEADER + payload_len)
    }

    /// Place of this fragment in its message: "The first fragment of a user message is ... 0".
    #[inline]
    #[must_use]
    pub const fn fragment(&self) -> u32 {
        if self.flags.beginning { 0 } else { self.ppid_or_fsn }
    }

    /// Payload protocol identifier, which only the first fragment carries.
    #[inline]
    #[must_use]
    pub const fn ppid(&self) -> Option<u32> {
        if self.flags.beginning { Some(self.ppid_or_fsn) } else { None }
    }

    /// Reads an I-DATA chunk; its payload may be empty.
    ///
    /// # Errors
    /// Shorter than its fixed fields.
    #[inline]
    pub fn parse(raw: RawChunk<'a>) -> Result<Self, ChunkError> {
        let (&[t0, t1, t2, t3, s0, s1, _, _, m0, m1, m2, m3, p0, p1, p2, p3], payload) =
            raw.at_least::<16>()?;
        Ok(Self {
            flags: DataFlags::from_bits(raw.flags),
            tsn: Tsn::new(u32::from_be_bytes([t0, t1, t2, t3])),
            stream: u16::from_be_bytes([s0, s1]),
            mid: Mid::new(u32::from_be_bytes([m0, m1, m2, m3])),
            ppid_or_fsn: u32::from_be_bytes([p0, p1, p2, p3]),
            payload,
        })
    }

    /// Appends the chunk, padded. This copies the payload once. A payload above [`IData::MAX_PAYLOAD`] is cut.
    // rfc8260:2.1-1 rfc8260:2.1-3
    #[inline]
    pub fn emit(&self, out: &mut Vec<u8>) {
        let payload = self.payload.get(..Self::MAX_PAYLOAD).unwrap_or(self.payload);
        let length = Self::HEADER + payload.len();
        let [l0, l1] = (length as u16).to_be_bytes();
        let [t0, t1, t2, t3] = self.tsn.get().to_be_bytes();
        let [s0, s1] = self.stream.to_be_bytes();
        let [m0, m1, m2, m3] = self.mid.get().to_be_bytes();
        let [p0, p1, p2, p3] = self.ppid_or_fsn.to_be_bytes();
        let flags = self.flags.bits();
        out.reserve(padded(length));
        out.extend_from_slice(&[
            kind::I_DATA,
            flags,
            l0,
            l1,
            t0,
            t1,
            t2,
            t3,
            s0,
            s1,
            0,
            0,
            m0,
            m1,
            m2,
            m3,
            p0,
            p1,
            p2,
            p3,
        ]);
        out.extend_from_slice(payload);
        out.extend_from_slice([0_u8; 3].get(..padded(length) - length).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::tests::{Mutated, length_cases, raw};

    // rfc8260:2.1-1 rfc8260:2.1-3
    #[test]
    fn layout() {
        let data = IData {
            flags: DataFlags { beginning: true, ..DataFlags::default() },
            tsn: Tsn::new(0x0102_0304),
            stream: 0x0506,
            mid: Mid::new(0x0708_090A),
            ppid_or_fsn: 0x0B0C_0D0E,
            payload: b"A",
        };
        let mut out = Vec::new();
        data.emit(&mut out);
        assert_eq!(out, [0x40, 2, 0, 21, 1, 2, 3, 4, 5, 6, 0, 0, 7, 8, 9, 10, 11, 12, 13, 14, b'A', 0, 0, 0]);
        assert_eq!((out.len(), IData::parse(raw(&out))), (IData::wire_len(1), Ok(data)));
        assert_eq!((data.ppid(), data.fragment()), (Some(0x0B0C_0D0E), 0));
        let later = IData { flags: DataFlags::default(), ppid_or_fsn: 3, ..data };
        assert_eq!((later.ppid(), later.fragment()), (None, 3));
    }

    #[test]
    fn lengths_around_the_header() {
        for Mutated { length, bytes } in length_cases(kind::I_DATA, IData::HEADER) {
            assert_eq!(IData::parse(raw(&bytes)).is_ok(), length >= IData::HEADER, "length {length}");
        }
    }
}
