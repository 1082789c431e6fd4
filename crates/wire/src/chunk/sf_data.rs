//! SF-DATA: user data of a subflow other than 0 (extension SF, level 1).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---------------+-------+-+-+-+-+-------------------------------+
//! |  type = 0x5F  |  res  |I|U|B|E|   length = 20 + payload        |
//! +---------------+-------+-+-+-+-+-------------------------------+
//! |                             STSN                              |
//! +-------------------------------+---------------+---------------+
//! |       stream identifier       |      FID      |     epoch     |
//! +-------------------------------+---------------+---------------+
//! |                      message identifier                       |
//! +---------------------------------------------------------------+
//! |  payload protocol identifier (B = 1) or fragment number (B = 0) |
//! +---------------------------------------------------------------+
//! |                       user data, padded                       |
//! +---------------------------------------------------------------+
//! ```
//!
//! It is I-DATA (RFC 8260 section 2.1) whose 16 reserved bits say which subflow. The STSN, subflow transmission
//! sequence number, numbers the chunks of one incarnation of one subflow as the TSN numbers DATA chunks; it has a
//! name of its own because "FSN" is taken by RFC 8260's fragment number.

use super::DataFlags;
use super::raw::RawChunk;
use crate::emit::MAX_LENGTH;
use crate::error::ChunkError;
use crate::padding::padded;
use crate::serial::{Mid, Tsn};
use crate::sf::CodePoints;

/// An SF-DATA chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SfData<'a> {
    /// I, U, B and E.
    pub flags: DataFlags,
    /// Subflow identifier. 0 never uses this chunk; one that comes with 0 is parsed, and the core judges it.
    pub fid: u8,
    /// Incarnation of the FID.
    pub epoch: u8,
    /// Place in the sequence space of the subflow: serial arithmetic as for any TSN.
    pub stsn: Tsn,
    /// Stream identifier.
    pub stream: u16,
    /// Message identifier: the same in every fragment of a message, one more for the next message of the stream.
    pub mid: Mid,
    /// In the first fragment the payload protocol identifier; in the others the fragment sequence number.
    pub ppid_or_fsn: u32,
    /// User data. An empty one can be parsed and MUST NOT be sent.
    pub payload: &'a [u8],
}

impl<'a> SfData<'a> {
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

    /// Place of this fragment in its message; the first is 0.
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

    /// Reads an SF-DATA chunk; its payload may be empty.
    ///
    /// # Errors
    /// Shorter than its fixed fields.
    #[inline]
    pub fn parse(raw: RawChunk<'a>) -> Result<Self, ChunkError> {
        let (&[t0, t1, t2, t3, s0, s1, fid, epoch, m0, m1, m2, m3, p0, p1, p2, p3], payload) =
            raw.at_least::<16>()?;
        Ok(Self {
            flags: DataFlags::from_bits(raw.flags),
            fid,
            epoch,
            stsn: Tsn::new(u32::from_be_bytes([t0, t1, t2, t3])),
            stream: u16::from_be_bytes([s0, s1]),
            mid: Mid::new(u32::from_be_bytes([m0, m1, m2, m3])),
            ppid_or_fsn: u32::from_be_bytes([p0, p1, p2, p3]),
            payload,
        })
    }

    /// Appends the chunk, padded. This copies the payload once. A payload above [`SfData::MAX_PAYLOAD`] is cut.
    #[inline]
    pub fn emit(&self, out: &mut Vec<u8>) {
        self.emit_as(CodePoints::DEFAULT.data, out);
    }

    /// Appends the chunk under another type ([`CodePoints::data`]).
    #[inline]
    pub fn emit_as(&self, kind: u8, out: &mut Vec<u8>) {
        let payload = self.payload.get(..Self::MAX_PAYLOAD).unwrap_or(self.payload);
        let length = Self::HEADER + payload.len();
        let [l0, l1] = (length as u16).to_be_bytes();
        let [t0, t1, t2, t3] = self.stsn.get().to_be_bytes();
        let [s0, s1] = self.stream.to_be_bytes();
        let [m0, m1, m2, m3] = self.mid.get().to_be_bytes();
        let [p0, p1, p2, p3] = self.ppid_or_fsn.to_be_bytes();
        let (flags, fid, epoch) = (self.flags.bits(), self.fid, self.epoch);
        out.reserve(padded(length));
        out.extend_from_slice(&[
            kind, flags, l0, l1, t0, t1, t2, t3, s0, s1, fid, epoch, m0, m1, m2, m3, p0, p1, p2, p3,
        ]);
        out.extend_from_slice(payload);
        out.extend_from_slice([0_u8; 3].get(..padded(length) - length).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::tests::{Mutated, length_cases, raw};

    fn sample(payload: &[u8]) -> SfData<'_> {
        SfData {
            flags: DataFlags { beginning: true, ..DataFlags::default() },
            fid: 7,
            epoch: 8,
            stsn: Tsn::new(0x0102_0304),
            stream: 0x0506,
            mid: Mid::new(0x090A_0B0C),
            ppid_or_fsn: 0x0D0E_0F10,
            payload,
        }
    }

    #[test]
    fn layout() {
        let mut out = Vec::new();
        sample(b"A").emit(&mut out);
        assert_eq!(
            out,
            [0x5F, 2, 0, 21, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, b'A', 0, 0, 0]
        );
        assert_eq!(out.len(), SfData::wire_len(1));
        assert_eq!(SfData::parse(raw(&out)), Ok(sample(b"A")));
        let mut other = Vec::new();
        sample(b"A").emit_as(0x5E, &mut other);
        assert_eq!((other[0], &other[1..]), (0x5E, &out[1..]));
    }

    #[test]
    fn ppid_in_the_first_fragment_fragment_number_in_the_others() {
        let first = sample(b"A");
        assert_eq!((first.ppid(), first.fragment()), (Some(0x0D0E_0F10), 0));
        let later = SfData { flags: DataFlags::default(), ppid_or_fsn: 3, ..first };
        assert_eq!((later.ppid(), later.fragment()), (None, 3));
    }

    #[test]
    fn lengths_around_the_header() {
        for Mutated { length, bytes } in length_cases(0x5F, SfData::HEADER) {
            let expected = length >= SfData::HEADER;
            assert_eq!(SfData::parse(raw(&bytes)).is_ok(), expected, "length {length}");
        }
    }

    #[test]
    fn payloads_too_long_are_cut() {
        let mut out = Vec::new();
        sample(&vec![7; 70_000]).emit(&mut out);
        assert_eq!(out.len(), 65_536);
        assert_eq!(SfData::parse(raw(&out)).unwrap().payload.len(), SfData::MAX_PAYLOAD);
    }
}
