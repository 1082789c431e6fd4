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

use crate::chunk::raw::RawChunk;
use crate::crc32c;
use crate::error::{ChunkError, PacketError};
use crate::header::CommonHeader;

/// The treatment of the checksum by [`Packet::parse`].
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
    /// chunk, and says that a receiver ignores the bytes of the padding; a last chunk that came without its
    /// padding is complete all the same.
    ///
    /// # Errors
    /// No room for a header, a port of zero, or (if asked) a checksum that does not match.
    // rfc9260:3.1-1 rfc9260:3.1-2 rfc9260:3.3.3-18 rfc9260:6.8-3
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

    /// The checksum field as received. 0 from a sender that leaves checksums out (RFC 9653).
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

/// The chunks of a packet. After the first malformed one there are no more: the next has no known
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

#[cfg(test)]
mod tests;
