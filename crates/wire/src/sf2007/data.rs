//! The data chunk of the thesis (Fig. 3.1).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---------------+---------+-+-+-+-------------------------------+
//! |   type = 0    |         |U|B|E|     length = 20 + payload     |
//! +---------------+---------+-+-+-+-------------------------------+
//! |                 ASN: numbers all chunks of the association    |
//! +---------------+-----------------------------------------------+
//! |      FID      |      FSN: numbers the chunks of the subflow   |
//! +---------------+---------------+-------------------------------+
//! |       stream identifier       |    stream sequence number     |
//! +-------------------------------+-------------------------------+
//! |                  payload protocol identifier                  |
//! +---------------------------------------------------------------+
//! |                       user data, padded                       |
//! +---------------------------------------------------------------+
//! ```

use super::Fsn;
use crate::chunk::raw::RawChunk;
use crate::chunk::{DataFlags, kind};
use crate::emit::MAX_LENGTH;
use crate::error::ChunkError;
use crate::padding::padded;
use crate::serial::{Ssn, Tsn};

/// A data chunk with a subflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data<'a> {
    /// U, B and E.
    pub flags: DataFlags,
    /// Association sequence number, in place of the TSN. Reliability does not depend on it any more.
    pub asn: Tsn,
    /// Subflow identifier; subflow 0 uses this chunk as all others do.
    pub fid: u8,
    /// Place in the sequence space of the subflow.
    pub fsn: Fsn,
    /// Stream identifier.
    pub stream: u16,
    /// Stream sequence number.
    pub ssn: Ssn,
    /// Payload protocol identifier.
    pub ppid: u32,
    /// User data.
    pub payload: &'a [u8],
}

impl<'a> Data<'a> {
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

    /// Reads a data chunk; its payload may be empty.
    ///
    /// # Errors
    /// Shorter than its fixed fields.
    #[inline]
    pub fn parse(raw: RawChunk<'a>) -> Result<Self, ChunkError> {
        let (&[a0, a1, a2, a3, fid, f0, f1, f2, s0, s1, n0, n1, p0, p1, p2, p3], payload) =
            raw.at_least::<16>()?;
        Ok(Self {
            flags: DataFlags { immediate: false, ..DataFlags::from_bits(raw.flags) },
            asn: Tsn::new(u32::from_be_bytes([a0, a1, a2, a3])),
            fid,
            fsn: Fsn::new(u32::from_be_bytes([0, f0, f1, f2])),
            stream: u16::from_be_bytes([s0, s1]),
            ssn: Ssn::new(u16::from_be_bytes([n0, n1])),
            ppid: u32::from_be_bytes([p0, p1, p2, p3]),
            payload,
        })
    }

    /// Appends the chunk, padded. This copies the payload once. A payload above [`Data::MAX_PAYLOAD`] is cut.
    #[inline]
    pub fn emit(&self, out: &mut Vec<u8>) {
        let payload = self.payload.get(..Self::MAX_PAYLOAD).unwrap_or(self.payload);
        let length = Self::HEADER + payload.len();
        let [l0, l1] = (length as u16).to_be_bytes();
        let [a0, a1, a2, a3] = self.asn.get().to_be_bytes();
        let [_, f0, f1, f2] = self.fsn.get().to_be_bytes();
        let [s0, s1] = self.stream.to_be_bytes();
        let [n0, n1] = self.ssn.get().to_be_bytes();
        let [p0, p1, p2, p3] = self.ppid.to_be_bytes();
        let flags = DataFlags { immediate: false, ..self.flags }.bits();
        out.reserve(padded(length));
        out.extend_from_slice(&[
            kind::DATA,
            flags,
            l0,
            l1,
            a0,
            a1,
            a2,
            a3,
            self.fid,
            f0,
            f1,
            f2,
            s0,
            s1,
            n0,
            n1,
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

    #[test]
    fn layout_of_figure_3_1() {
        let mut out = Vec::new();
        let data = Data {
            flags: DataFlags::WHOLE,
            asn: Tsn::new(0x0102_0304),
            fid: 5,
            fsn: Fsn::new(0x0006_0708),
            stream: 0x090A,
            ssn: Ssn::new(0x0B0C),
            ppid: 0x0D0E_0F10,
            payload: b"A",
        };
        data.emit(&mut out);
        assert_eq!(out, [0, 3, 0, 21, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, b'A', 0, 0, 0]);
        assert_eq!((out.len(), Data::parse(raw(&out))), (Data::wire_len(1), Ok(data)));
    }

    #[test]
    fn there_is_no_i_bit() {
        let mut bytes = [0; 20];
        bytes[..4].copy_from_slice(&[0, 0x0F, 0, 20]);
        let data = Data::parse(raw(&bytes)).unwrap();
        assert!(!data.flags.immediate && data.flags.unordered);
        let mut out = Vec::new();
        Data { flags: DataFlags::from_bits(15), ..data }.emit(&mut out);
        assert_eq!(out[1], 7);
    }

    #[test]
    fn lengths_around_the_header() {
        for Mutated { length, bytes } in length_cases(0, Data::HEADER) {
            assert_eq!(Data::parse(raw(&bytes)).is_ok(), length >= Data::HEADER, "length {length}");
        }
    }
}
