//! CRC32c, the checksum of SCTP packets (RFC 9260 section 6.8 and appendix A).
//!
//! The CRC is mirrored, so its bytes leave in the opposite order of every other field: least significant byte
//! first. [`store`] and [`load`] are the only places that know this.

use crc_fast::{CrcAlgorithm, Digest, checksum};

use crate::header::{CHECKSUM, CommonHeader};

/// CRC32c of `bytes` as they are.
#[inline]
#[must_use]
pub fn crc32c(bytes: &[u8]) -> u32 {
    if is_wide(bytes) {
        // A 32-bit CRC comes in the lower half of the crate's common result type.
        checksum(CrcAlgorithm::Crc32Iscsi, bytes) as u32
    } else {
        ::crc32c::crc32c(bytes)
    }
}

/// Extends `crc`, the CRC32c of earlier bytes, by `bytes`.
#[inline]
fn append(crc: u32, bytes: &[u8]) -> u32 {
    if !is_wide(bytes) {
        return ::crc32c::crc32c_append(crc, bytes);
    }
    // The state of a CRC32c is its complement.
    let mut digest = Digest::new_with_init_state(CrcAlgorithm::Crc32Iscsi, u64::from(!crc));
    digest.update(bytes);
    digest.finalize() as u32
}

/// Whether `crc-fast` is the faster of the two crates for these bytes.
#[inline]
fn is_wide(bytes: &[u8]) -> bool {
    bytes.len() >= WIDE && has_wide_vectors()
}

/// Bytes from which on wide vectors are worth their beginning.
const WIDE: usize = 128;

/// Whether `crc-fast` is the faster of the two crates here. Without AVX-512 it needs twice as long for a SACK as `crc32c`, and a packet that
/// is sent and received costs 3 to 11 % more cycles with it (AMD Zen 3; docs/performance.md).
#[inline]
fn has_wide_vectors() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        std::arch::is_x86_feature_detected!("vpclmulqdq") && std::arch::is_x86_feature_detected!("avx512vl")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        true
    }
}

/// The first words of a packet without its checksum: whole words at their own alignment, so that neither these bytes nor the next ones
/// (in a buffer that is aligned) are summed byte by byte. They are put together as numbers: bytes that were written one way and are
/// read another at once make a processor wait.
#[repr(align(8))]
struct Words<const N: usize>([[u8; 8]; N]);

impl<const N: usize> Words<N> {
    /// Copies `packet` into `N` words, with zero as the checksum. `packet` has that many bytes, or lacks less than a
    /// word.
    #[inline]
    fn of(packet: &[u8]) -> Self {
        let mut words = [[0; 8]; N];
        for (at, word) in words.iter_mut().enumerate() {
            let mut value = word_at(packet, at * 8);
            if at == CHECKSUM.start / 8 {
                value &= !(u64::from(u32::MAX) << (8 * (CHECKSUM.start % 8)));
            }
            *word = value.to_le_bytes();
        }
        Self(words)
    }
}

/// Eight bytes as a number, the first in the lowest place; those that are not there are zero.
#[inline]
fn word_at(bytes: &[u8], at: usize) -> u64 {
    let rest = bytes.get(at..).unwrap_or_default();
    match rest.first_chunk() {
        Some(whole) => u64::from_le_bytes(*whole),
        None => rest.iter().rev().fold(0, |word, &byte| (word << 8) | u64::from(byte)),
    }
}

/// The common header and the first four bytes behind it.
const HEAD: usize = 16;

/// Bytes of a packet that holds nothing but a SACK without gap blocks.
const SACK: usize = CommonHeader::LEN + 16;

/// CRC32c of an SCTP packet with its checksum field taken as zero: "Replace the 32
/// bits of the checksum field in the received SCTP packet with 0" (section 6.8). Bytes too short for a common header are summed
/// as they are.
#[must_use]
pub fn packet_checksum(packet: &[u8]) -> u32 {
    if packet.len() < CommonHeader::LEN {
        return crc32c(packet);
    }
    if packet.len() < HEAD {
        let head = Words::<2>::of(packet);
        return ::crc32c::crc32c(&head.0.as_flattened()[..packet.len()]);
    }
    // The most frequent packets besides data, SACKs, are copied whole: one update costs less than two.
    if packet.len() == SACK {
        return ::crc32c::crc32c(&Words::<4>::of(packet).0.as_flattened()[..SACK]);
    }
    // Copying the header is cheaper than a third update.
    append(::crc32c::crc32c(Words::<2>::of(packet).0.as_flattened()), &packet[HEAD..])
}

/// The checksum field as it stands on the wire for a CRC of `crc`.
#[inline]
#[must_use]
pub const fn store(crc: u32) -> [u8; 4] {
    crc.to_le_bytes()
}

/// The CRC that a checksum field holds.
#[inline]
#[must_use]
pub const fn load(field: [u8; 4]) -> u32 {
    u32::from_le_bytes(field)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bit by bit, straight from the polynomial: slow and obviously right.
    fn reference(bytes: &[u8]) -> u32 {
        !bytes.iter().fold(u32::MAX, |crc, &byte| {
            (0..8)
                .fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ if crc & 1 == 1 { 0x82F6_3B78 } else { 0 })
        })
    }

    // rfc9260:6.8-1
    #[test]
    fn known_values() {
        // RFC 3720 (iSCSI) appendix B.4 prints these for the same CRC.
        assert_eq!(crc32c(&[0; 32]), 0x8A91_36AA);
        assert_eq!(crc32c(&[0xFF; 32]), 0x62A8_AB43);
        assert_eq!(crc32c(b"123456789"), 0xE306_9283);
    }

    #[test]
    fn agrees_with_the_polynomial_at_every_length() {
        let bytes: Vec<u8> = (0..2000_u32).map(|i| (i * 167 + (i >> 3)) as u8).collect();
        for len in (0..300).chain([1228, 1452, 1499, 1500, 1501, 2000]) {
            assert_eq!(crc32c(&bytes[..len]), reference(&bytes[..len]), "{len} bytes");
        }
    }

    // rfc9260:6.8-2
    #[test]
    fn checksum_field_counts_as_zero() {
        for len in [12, 13, 15, 16, 17, 28, 100, 1500] {
            let mut packet: Vec<u8> = (0..len).map(|i| (i * 31 + 5) as u8).collect();
            let sum = packet_checksum(&packet);
            packet[8..12].fill(0);
            assert_eq!(sum, reference(&packet), "{len} bytes");
        }
    }

    #[test]
    fn too_short_for_a_header() {
        for len in 0..12 {
            assert_eq!(packet_checksum(&[7; 12][..len]), reference(&[7; 12][..len]));
        }
    }

    #[test]
    fn least_significant_byte_first() {
        assert_eq!(store(0x0102_0304), [4, 3, 2, 1]);
        assert_eq!(load(store(0xDEAD_BEEF)), 0xDEAD_BEEF);
    }
}
