//! PKTDROP: a packet was dropped, by the peer or by a router that knows SCTP (draft-stewart-sctp-pktdrprep; FreeBSD and usrsctp send it).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---------------+---------------+-------------------------------+
//! |  type = 0x81  |         |T|B|M|            length             |
//! +---------------+---------------+-------------------------------+
//! |                 bandwidth of the bottleneck                   |
//! +---------------------------------------------------------------+
//! |                  bytes in the bottleneck's queue              |
//! +-------------------------------+-------------------------------+
//! |       truncated length        |           reserved            |
//! +-------------------------------+-------------------------------+
//! |     the dropped packet, from its common header on             |
//! +---------------------------------------------------------------+
//! ```

use crate::chunk::kind;
use crate::chunk::raw::RawChunk;
use crate::error::ChunkError;

/// A PKTDROP chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketDropped<'a> {
    /// M: a router between the endpoints reports, not the peer.
    pub middle_box: bool,
    /// B: the checksum of the packet was wrong.
    pub bad_checksum: bool,
    /// Bandwidth of the bottleneck, as its sender counts it.
    pub bandwidth: u32,
    /// Bytes in its queue.
    pub queue: u32,
    /// T: size of the dropped packet, bytes; the chunk has fewer of them.
    pub truncated: Option<u16>,
    /// The dropped packet, or its beginning.
    pub packet: &'a [u8],
}

impl<'a> PacketDropped<'a> {
    /// Chunk type.
    pub const KIND: u8 = kind::PACKET_DROPPED;

    /// Reads the chunk.
    ///
    /// # Errors
    /// Shorter than its fixed fields.
    pub fn parse(raw: RawChunk<'a>) -> Result<Self, ChunkError> {
        let (&[b0, b1, b2, b3, q0, q1, q2, q3, t0, t1, _, _], packet) = raw.at_least::<12>()?;
        Ok(Self {
            middle_box: raw.flags & 1 != 0,
            bad_checksum: raw.flags & 2 != 0,
            bandwidth: u32::from_be_bytes([b0, b1, b2, b3]),
            queue: u32::from_be_bytes([q0, q1, q2, q3]),
            truncated: (raw.flags & 4 != 0).then(|| u16::from_be_bytes([t0, t1])),
            packet,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::tests::raw;

    #[test]
    fn layout() {
        let bytes = [0x81, 7, 0, 17, 0, 1, 0, 0, 0, 0, 0, 100, 5, 220, 0, 0, 42, 0, 0, 0];
        let expected = PacketDropped {
            middle_box: true,
            bad_checksum: true,
            bandwidth: 65_536,
            queue: 100,
            truncated: Some(1500),
            packet: &[42],
        };
        assert_eq!(PacketDropped::parse(raw(&bytes)).unwrap(), expected);
        assert!(PacketDropped::parse(raw(&[0x81, 0, 0, 15, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])).is_err());
    }
}
