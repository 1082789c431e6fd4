//! The TCP header (RFC 9293, section 3.1): parse, emit, checksum.
//!
//! ```text
//!  0                   1                   2                   3
//! |          Source Port          |       Destination Port        |
//! |                        Sequence Number                        |
//! |                    Acknowledgment Number                      |
//! | offset| rsvd  |    flags      |            Window             |
//! |           Checksum            |         Urgent Pointer        |
//! |              options, padded to a multiple of 4               |
//! ```
//!
//! Parsing never panics and never reads past the end; a header that it accepts is emitted unchanged.

mod error;
mod options;

pub use error::ParseError;
pub use options::{Options, SackBlocks};

use std::net::IpAddr;

/// Header without options, bytes.
pub const MIN_HEADER: usize = 20;

/// The flag bits that we use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub u8);

impl Flags {
    /// No more data from the sender.
    pub const FIN: Self = Self(0x01);
    /// Synchronize sequence numbers.
    pub const SYN: Self = Self(0x02);
    /// Reset the connection.
    pub const RST: Self = Self(0x04);
    /// Push: give it to the user now.
    pub const PSH: Self = Self(0x08);
    /// The acknowledgement field counts.
    pub const ACK: Self = Self(0x10);

    /// True if all bits of `other` are set.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl std::ops::BitOr for Flags {
    type Output = Self;
    fn bitor(self, rhs: Self) -> Self {
        Self(self.0 | rhs.0)
    }
}

/// One header with its options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Source port.
    pub source: u16,
    /// Destination port.
    pub destination: u16,
    /// Sequence number of the first octet (of the SYN, when there is one).
    pub seq: u32,
    /// Next sequence number that the sender of this expects.
    pub ack: u32,
    /// Flags.
    pub flags: Flags,
    /// Receive window, not yet scaled.
    pub window: u16,
    /// Urgent pointer, kept and not acted on.
    pub urgent: u16,
    /// Options.
    pub options: Options,
}

impl Header {
    /// Splits a segment into its header and its payload.
    ///
    /// # Errors
    /// When the segment is too short or an option does not fit.
    pub fn parse(segment: &[u8]) -> Result<(Self, &[u8]), ParseError> {
        let Some((fixed, rest)) = segment.split_first_chunk::<MIN_HEADER>() else {
            return Err(ParseError::Short(segment.len()));
        };
        let offset = usize::from(fixed[12] >> 4) * 4;
        let wrong = ParseError::DataOffset { offset, len: segment.len() };
        let options_len = offset.checked_sub(MIN_HEADER).ok_or(wrong)?;
        let (options, payload) = rest.split_at_checked(options_len).ok_or(wrong)?;
        let u16_at = |i: usize| u16::from_be_bytes([fixed[i], fixed[i + 1]]);
        let u32_at = |i: usize| u32::from_be_bytes([fixed[i], fixed[i + 1], fixed[i + 2], fixed[i + 3]]);
        let header = Self {
            source: u16_at(0),
            destination: u16_at(2),
            seq: u32_at(4),
            ack: u32_at(8),
            flags: Flags(fixed[13]),
            window: u16_at(14),
            urgent: u16_at(18),
            options: Options::parse(options)?,
        };
        Ok((header, payload))
    }

    /// Header length with options, bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        MIN_HEADER + self.options.size()
    }

    /// Appends the header to `buf` with a checksum of zero; [`seal`] fills it in.
    pub fn emit(&self, buf: &mut Vec<u8>) {
        buf.extend_from_slice(&self.source.to_be_bytes());
        buf.extend_from_slice(&self.destination.to_be_bytes());
        buf.extend_from_slice(&self.seq.to_be_bytes());
        buf.extend_from_slice(&self.ack.to_be_bytes());
        buf.push(((self.size() / 4) as u8) << 4);
        buf.push(self.flags.0);
        buf.extend_from_slice(&self.window.to_be_bytes());
        buf.extend_from_slice(&[0, 0]);
        buf.extend_from_slice(&self.urgent.to_be_bytes());
        self.options.emit(buf);
    }
}

/// Writes the checksum into a finished segment that was emitted with a checksum of zero.
pub fn seal(segment: &mut [u8], source: IpAddr, destination: IpAddr) {
    let sum = checksum(segment, source, destination);
    if let Some(field) = segment.get_mut(16..18) {
        field.copy_from_slice(&sum.to_be_bytes());
    }
}

/// True if the checksum of a received segment is right.
#[must_use]
pub fn verify(segment: &[u8], source: IpAddr, destination: IpAddr) -> bool {
    checksum(segment, source, destination) == 0
}

/// The Internet checksum (RFC 1071) over pseudo-header and segment, as the field must hold it.
fn checksum(segment: &[u8], source: IpAddr, destination: IpAddr) -> u16 {
    const TCP: u64 = 6;
    let address = |ip: IpAddr| match ip {
        IpAddr::V4(ip) => words(&ip.octets()),
        IpAddr::V6(ip) => words(&ip.octets()),
    };
    // Bytes of the segment are summed in the machine's own order and swapped once: the sum commutes with it.
    let mut sum = address(source) + address(destination) + words(segment);
    sum += u64::from(u16::to_be(TCP as u16)) + u64::from(u32::to_be(segment.len() as u32));
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    u16::from_be(!(sum as u16))
}

/// Sum of 32-bit words in machine order; folding comes later. A u64 holds 2^32 of them.
fn words(bytes: &[u8]) -> u64 {
    let (whole, rest) = bytes.split_at(bytes.len() & !3);
    let mut sum = 0_u64;
    for word in whole.chunks_exact(4) {
        sum += u64::from(u32::from_ne_bytes([word[0], word[1], word[2], word[3]]));
    }
    let mut last = [0_u8; 4];
    for (to, from) in last.iter_mut().zip(rest) {
        *to = *from;
    }
    sum + u64::from(u32::from_ne_bytes(last))
}

#[cfg(test)]
mod tests;
