//! The common header that every packet begins with (RFC 9260 section 3.1).

use core::ops::Range;

/// Place of the checksum field in a packet.
pub(crate) const CHECKSUM: Range<usize> = 8..12;

/// Ports and tag of a packet (RFC 9260 section 3.1); the checksum is handled by the codec alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CommonHeader {
    /// The sender's port, never 0.
    pub source_port: u16,
    /// The receiver's port, never 0.
    pub destination_port: u16,
    /// The Initiate Tag that the receiver chose; 0 in a packet with an INIT.
    pub verification_tag: u32,
}

impl CommonHeader {
    /// Bytes of the header on the wire.
    pub const LEN: usize = 12;

    #[inline]
    pub(crate) fn read(b: &[u8; Self::LEN]) -> Self {
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
