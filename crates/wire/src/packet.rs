//! One SCTP packet: a common header and the chunks behind it (RFC 9260 section 3).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-------------------------------+-------------------------------+
//! |          source port          |       destination port        |
//! +-------------------------------+-------------------------------+
//! |                       verification tag                        |
//! +---------------------------------------------------------------+
//! |        CRC32c of the packet, least significant byte first     |
//! +---------------------------------------------------------------+
//! |                        chunk, padded                          |
//! +---------------------------------------------------------------+
//! |                             ...                               |
//! +---------------------------------------------------------------+
//! ```

use core::iter::FusedIterator;
use core::ops::Range;

use crate::crc32c;
use crate::error::{ChunkError, PacketError};
use crate::unknown::UnknownAction;

/// Where the checksum field stands.
pub(crate) const CHECKSUM: Range<usize> = 8..12;

/// Ports and tag of a packet (RFC 9260 section 3.1); the checksum is nobody's business but the codec's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CommonHeader {
    /// The sender's port, never 0.
    pub source_port: u16,
    /// The receiver's port, never 0.
    pub destination_port: u16,
    /// What the receiver chose as its Initiate Tag; 0 in a packet with an INIT.
    pub verification_tag: u32,
}

impl CommonHeader {
    /// Bytes of the header on the wire.
    pub const LEN: usize = 12;

    #[inline]
    fn read(b: &[u8; Self::LEN]) -> Self {
        Self {
            source_port: u16::from_be_bytes([b[0], b[1]]),
            destination_port: u16::from_be_bytes([b[2], b[3]]),
            verification_tag: u32::from_be_bytes([b[4], b[5], b[6], b[7]]),
        }
    }

    /// The header with a checksum field of zero.
    #[inline]
    pub(crate) fn write(self) -> [u8; Self::LEN] {
        let mut b = [0; Self::LEN];
        b[0..2].copy_from_slice(&self.source_port.to_be_bytes());
        b[2..4].copy_from_slice(&self.destination_port.to_be_bytes());
        b[4..8].copy_from_slice(&self.verification_tag.to_be_bytes());
        b
    }
}

/// What [`Packet::parse`] does with the checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checksum {
    /// Compute the CRC32c and refuse a packet that does not match: "the default procedure for handling invalid
    /// SCTP packets is to silently discard them" (section 6.8).
    Verify,
    /// Do not look at it: something below has checked it, or both ends agreed to leave it out.
    Ignore,
}

/// A packet whose common header and checksum are good. Its chunks are looked at one by one, by [`Packet::chunks`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    header: CommonHeader,
    bytes: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Reads the common header, and checks ports and checksum.
    ///
    /// A length that is no multiple of four is not an error here. Section 3.2 tells the sender to pad every
    /// chunk, and says that a receiver ignores what stands in the padding; a last chunk that came without its
    /// padding is complete all the same.
    ///
    /// # Errors
    /// No room for a header, a port of zero, or (if asked) a checksum that does not match.
    #[inline]
    pub fn parse(bytes: &'a [u8], checksum: Checksum) -> Result<Self, PacketError> {
        let Some(head) = bytes.first_chunk::<{ CommonHeader::LEN }>() else {
            return Err(PacketError::TooShort { len: bytes.len() });
        };
        let header = CommonHeader::read(head);
        if checksum == Checksum::Verify {
            let found = crc32c::load([head[8], head[9], head[10], head[11]]);
            let computed = crc32c::packet_checksum(bytes);
            if found != computed {
                return Err(PacketError::BadChecksum { found, computed });
            }
        }
        if header.source_port == 0 {
            return Err(PacketError::ZeroPort { which: "source" });
        }
        if header.destination_port == 0 {
            return Err(PacketError::ZeroPort { which: "destination" });
        }
        Ok(Self { header, bytes })
    }

    /// Ports and tag.
    #[inline]
    #[must_use]
    pub const fn header(&self) -> CommonHeader {
        self.header
    }

    /// The checksum field as received. 0 is what a sender that leaves checksums out sends (RFC 9653).
    #[inline]
    #[must_use]
    pub fn checksum(&self) -> u32 {
        match self.bytes {
            [_, _, _, _, _, _, _, _, a, b, c, d, ..] => crc32c::load([*a, *b, *c, *d]),
            _ => 0,
        }
    }

    /// The whole packet.
    #[inline]
    #[must_use]
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The chunks in their order.
    #[inline]
    #[must_use]
    pub fn chunks(&self) -> Chunks<'a> {
        Chunks { rest: self.bytes.get(CommonHeader::LEN..).unwrap_or_default() }
    }
}

/// A chunk by its header only: type, flags, and where it begins and ends (RFC 9260 section 3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawChunk<'a> {
    /// Chunk type: see [`chunk::kind`](crate::chunk::kind).
    pub kind: u8,
    /// Chunk flags.
    pub flags: u8,
    /// What follows the chunk header, without padding.
    pub value: &'a [u8],
    /// Chunk header and value, without padding: what an error cause echoes.
    pub bytes: &'a [u8],
}

impl<'a> RawChunk<'a> {
    /// Bytes of a chunk header.
    pub const HEADER: usize = 4;

    /// Reads one chunk from the start of `bytes`, and says how many bytes it takes with its padding.
    #[inline]
    pub(crate) fn split(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), ChunkError> {
        let &[kind, flags, hi, lo, ..] = bytes else {
            return Err(ChunkError::HeaderCut { left: bytes.len() });
        };
        let length = u16::from_be_bytes([hi, lo]);
        let end = usize::from(length);
        if end < Self::HEADER {
            return Err(ChunkError::LengthBelowHeader { kind, length });
        }
        let left = bytes.len();
        let (Some(whole), Some(value)) = (bytes.get(..end), bytes.get(Self::HEADER..end)) else {
            return Err(ChunkError::LengthPastEnd { kind, length, left });
        };
        // The padding of the last chunk may be missing.
        let rest = bytes.get(padded(end)..).unwrap_or_default();
        let chunk = Self { kind, flags, value, bytes: whole };
        Ok((chunk, rest))
    }

    /// What to do with this chunk if its type is not known.
    #[inline]
    #[must_use]
    pub const fn unknown_action(&self) -> UnknownAction {
        crate::chunk::unknown_action(self.kind)
    }

    /// Appends the chunk as it is, padded.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let start = crate::emit::begin_chunk(out, self.kind, self.flags);
        out.extend_from_slice(self.value);
        crate::emit::end(out, start, 0);
    }
}

/// The chunks of a packet. After the first malformed one there are no more: what follows it has no known
/// beginning.
#[derive(Clone, Debug)]
pub struct Chunks<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Chunks<'a> {
    type Item = Result<RawChunk<'a>, ChunkError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        match RawChunk::split(self.rest) {
            Ok((chunk, rest)) => {
                self.rest = rest;
                Some(Ok(chunk))
            }
            Err(error) => {
                self.rest = &[];
                Some(Err(error))
            }
        }
    }
}

impl FusedIterator for Chunks<'_> {}

/// A length rounded up to the next multiple of four: what a chunk, a parameter or a cause of `len` bytes takes
/// with its padding.
#[inline]
#[must_use]
pub const fn padded(len: usize) -> usize {
    len.next_multiple_of(4)
}

#[cfg(test)]
mod tests;
