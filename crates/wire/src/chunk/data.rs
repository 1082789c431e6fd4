//! DATA: user data (RFC 9260 section 3.3.1).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---------------+-------+-+-+-+-+-------------------------------+
//! |   type = 0    |  res  |I|U|B|E|     length = 16 + payload     |
//! +---------------+-------+-+-+-+-+-------------------------------+
//! |                              TSN                              |
//! +-------------------------------+-------------------------------+
//! |           stream              |     stream sequence number    |
//! +-------------------------------+-------------------------------+
//! |                  payload protocol identifier                  |
//! +---------------------------------------------------------------+
//! |                       payload, padded                         |
//! +---------------------------------------------------------------+
//! ```

use super::kind;
use super::raw::RawChunk;
use crate::emit::MAX_LENGTH;
use crate::error::ChunkError;
use crate::padding::padded;
use crate::serial::{Ssn, Tsn};

const IMMEDIATE: u8 = 8;
const UNORDERED: u8 = 4;
const BEGINNING: u8 = 2;
const ENDING: u8 = 1;

/// The four flag bits of a DATA chunk. The reserved bits are sent as zero and ignored on receipt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct DataFlags {
    /// I: the sender would like a SACK without delay.
    pub immediate: bool,
    /// U: no place in the order of its stream; the stream sequence number means nothing.
    pub unordered: bool,
    /// B: first fragment of a message.
    pub beginning: bool,
    /// E: last fragment of a message.
    pub ending: bool,
}

impl DataFlags {
    /// A message in one chunk, ordered.
    pub const WHOLE: Self = Self { immediate: false, unordered: false, beginning: true, ending: true };

    /// From the flags field of a chunk.
    #[inline]
    #[must_use]
    pub const fn from_bits(bits: u8) -> Self {
        Self {
            immediate: bits & IMMEDIATE != 0,
            unordered: bits & UNORDERED != 0,
            beginning: bits & BEGINNING != 0,
            ending: bits & ENDING != 0,
        }
    }

    /// As the flags field of a chunk.
    #[inline]
    #[must_use]
    pub const fn bits(self) -> u8 {
        (self.immediate as u8) << 3
            | (self.unordered as u8) << 2
            | (self.beginning as u8) << 1
            | self.ending as u8
    }
}

/// A DATA chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data<'a> {
    /// I, U, B and E.
    pub flags: DataFlags,
    /// Transmission sequence number.
    pub tsn: Tsn,
    /// Stream identifier.
    pub stream: u16,
    /// Stream sequence number: the same in every fragment of a message.
    pub ssn: Ssn,
    /// Payload protocol identifier, the users' own number; 0 is "none".
    pub ppid: u32,
    /// User data. An empty one can be parsed, because the receiver has to answer it with "No User Data"
    /// (section 6.2); it MUST NOT be sent.
    pub payload: &'a [u8],
}

impl<'a> Data<'a> {
    /// Bytes before the payload, chunk header included.
    pub const HEADER: usize = 16;
    /// The longest payload that the length field can count.
    pub const MAX_PAYLOAD: usize = MAX_LENGTH - Self::HEADER;

    /// Bytes of a whole chunk with `payload_len` bytes of payload, with its padding.
    #[inline]
    #[must_use]
    pub const fn wire_len(payload_len: usize) -> usize {
        padded(Self::HEADER + payload_len)
    }

    /// Reads a DATA chunk; its payload may be empty.
    ///
    /// # Errors
    /// Shorter than its fixed fields.
    #[inline]
    pub fn parse(raw: RawChunk<'a>) -> Result<Self, ChunkError> {
        let (&[t0, t1, t2, t3, s0, s1, n0, n1, p0, p1, p2, p3], payload) = raw.at_least::<12>()?;
        Ok(Self {
            flags: DataFlags::from_bits(raw.flags),
            tsn: Tsn::new(u32::from_be_bytes([t0, t1, t2, t3])),
            stream: u16::from_be_bytes([s0, s1]),
            ssn: Ssn::new(u16::from_be_bytes([n0, n1])),
            ppid: u32::from_be_bytes([p0, p1, p2, p3]),
            payload,
        })
    }

    /// Appends the chunk, padded. This copies the payload once. A payload above [`Data::MAX_PAYLOAD`] is cut.
    // rfc9260:3.3.1-1
    #[inline]
    pub fn emit(&self, out: &mut Vec<u8>) {
        let payload = self.payload.get(..Self::MAX_PAYLOAD).unwrap_or(self.payload);
        let length = Self::HEADER + payload.len();
        // The fields one after the other, as two numbers: a compiler does not find that by itself.
        let first = u64::from(kind::DATA) << 56
            | u64::from(self.flags.bits()) << 48
            | (length as u64) << 32
            | u64::from(self.tsn.get());
        let second = u64::from(self.stream) << 48 | u64::from(self.ssn.get()) << 32 | u64::from(self.ppid);
        out.extend_from_slice(&(u128::from(first) << 64 | u128::from(second)).to_be_bytes());
        out.extend_from_slice(payload);
        if length % 4 != 0 {
            out.extend_from_slice([0_u8; 3].get(..padded(length) - length).unwrap_or_default());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::tests::{Mutated, length_cases, raw};

    // rfc9260:3-2 rfc9260:3.3.1-1
    #[test]
    fn layout() {
        let mut out = Vec::new();
        Data {
            flags: DataFlags::WHOLE,
            tsn: Tsn::new(0x0102_0304),
            stream: 0x0506,
            ssn: Ssn::new(0x0708),
            ppid: 0x090A_0B0C,
            payload: b"A",
        }
        .emit(&mut out);
        assert_eq!(out, [0, 3, 0, 17, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, b'A', 0, 0, 0]);
        assert_eq!(out.len(), Data::wire_len(1));
    }

    #[test]
    fn flag_bits() {
        for bits in 0..=255 {
            assert_eq!(DataFlags::from_bits(bits).bits(), bits & 15);
        }
        assert!(DataFlags::from_bits(8).immediate && DataFlags::from_bits(4).unordered);
        assert!(DataFlags::from_bits(2).beginning && DataFlags::from_bits(1).ending);
    }

    #[test]
    fn no_user_data_can_be_parsed() {
        let data = Data::parse(raw(&[0, 3, 0, 16, 0, 0, 0, 9, 0, 1, 0, 2, 0, 0, 0, 0])).unwrap();
        assert_eq!((data.tsn, data.payload), (Tsn::new(9), &[][..]));
    }

    #[test]
    fn lengths_around_the_header() {
        for Mutated { length, bytes } in length_cases(kind::DATA, Data::HEADER) {
            let expected = length >= Data::HEADER;
            assert_eq!(Data::parse(raw(&bytes)).is_ok(), expected, "length {length}");
        }
    }

    #[test]
    fn payloads_too_long_are_cut() {
        let mut out = Vec::new();
        let payload = vec![7; 70_000];
        Data {
            flags: DataFlags::WHOLE,
            tsn: Tsn::new(1),
            stream: 0,
            ssn: Ssn::new(0),
            ppid: 0,
            payload: &payload,
        }
        .emit(&mut out);
        assert_eq!(out.len(), 65_536);
        assert_eq!(Data::parse(raw(&out)).unwrap().payload.len(), Data::MAX_PAYLOAD);
    }
}
