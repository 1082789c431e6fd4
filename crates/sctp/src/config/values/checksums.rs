//! Computing and verifying the checksum of packets.

/// Computing and verifying the CRC32c of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checksums {
    /// As RFC 9260, 6.8 demands.
    Crc32c,
    /// The checksum is neither computed nor verified: for simulations that want speed, never for a network.
    Elided,
}
