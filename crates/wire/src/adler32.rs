//! Adler-32, the checksum that SCTP packets had before CRC32c (RFC 2960 section 6.8 and appendix B; RFC 3309 replaced
//! it). Nothing is sent or accepted with it here: it lets a reader of an old capture tell such packets from damaged
//! ones.

use crate::header::{CHECKSUM, CommonHeader};

/// The largest prime below 2^16.
const BASE: u32 = 65_521;
/// So many bytes cannot make the sums overflow before they are reduced (RFC 1950, appendix 9, counts 5552).
const RUN: usize = 5552;

fn append(sums: (u32, u32), bytes: &[u8]) -> (u32, u32) {
    bytes.chunks(RUN).fold(sums, |sums, run| {
        let (a, b) = run.iter().fold(sums, |(a, b), &byte| (a + u32::from(byte), b + a + u32::from(byte)));
        (a % BASE, b % BASE)
    })
}

/// Adler-32 of an SCTP packet with its checksum field taken as zero.
#[must_use]
pub fn packet_checksum(packet: &[u8]) -> u32 {
    let sums = match (packet.get(..CHECKSUM.start), packet.get(CommonHeader::LEN..)) {
        (Some(head), Some(rest)) => append(append(append((1, 0), head), &[0; 4]), rest),
        _ => append((1, 0), packet),
    };
    sums.1 << 16 | sums.0
}

/// Whether the checksum field of a packet holds its Adler-32, most significant byte first.
#[must_use]
pub fn holds(packet: &[u8]) -> bool {
    packet.get(CHECKSUM).is_some_and(|field| *field == packet_checksum(packet).to_be_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        let sum = |bytes: &[u8]| {
            let (a, b) = append((1, 0), bytes);
            b << 16 | a
        };
        // The example that every description of the algorithm works out.
        assert_eq!(sum(b"Wikipedia"), 0x11E6_0398);
        assert_eq!(sum(b""), 1);
        // Long and with the largest bytes: reduced before it overflows.
        let slow = [0xff_u8; 20_000].iter().fold((1_u32, 0_u32), |(a, b), &byte| {
            let a = (a + u32::from(byte)) % BASE;
            (a, (b + a) % BASE)
        });
        assert_eq!(sum(&[0xff; 20_000]), slow.1 << 16 | slow.0);
    }

    #[test]
    fn the_field_counts_as_zero_and_is_big_endian() {
        let mut packet: Vec<u8> = (0..60).collect();
        packet[CHECKSUM].fill(0);
        let sum = packet_checksum(&packet);
        packet[CHECKSUM].copy_from_slice(&sum.to_be_bytes());
        assert_eq!(packet_checksum(&packet), sum);
        assert!(holds(&packet));
        packet[20] ^= 1;
        assert!(!holds(&packet) && !holds(&packet[..11]));
    }
}
