//! The checksum of packets before the peer has said that it takes zero (RFC 9653).

use anabranch_wire::ChecksumOut;

use crate::config::{Checksums, Config};

/// The checksum of packets as long as nothing else was agreed on.
pub(super) fn checksum_of(config: &Config) -> ChecksumOut {
    match config.checksums {
        Checksums::Crc32c => ChecksumOut::Compute,
        Checksums::Elided => ChecksumOut::Zero,
    }
}
