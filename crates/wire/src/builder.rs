//! Writing one packet.

use crate::crc32c;
use crate::header::{CHECKSUM, CommonHeader};

/// The content of the checksum field that [`PacketBuilder::finish`] writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChecksumOut {
    /// The CRC32c of the packet.
    Compute,
    /// Zero: for runs where both ends leave checksums out.
    Zero,
}

/// Writes ONE packet at the end of the caller's buffer. Packets may stand there already, and others may follow.
///
/// Chunks are appended to [`buffer`](Self::buffer) by their `emit`. A builder that is dropped without
/// [`finish`](Self::finish) leaves a packet whose checksum field is zero.
#[derive(Debug)]
#[must_use = "a packet needs its checksum: call finish"]
pub struct PacketBuilder<'b> {
    buf: &'b mut Vec<u8>,
    start: usize,
}

impl<'b> PacketBuilder<'b> {
    /// Begins a packet: writes its common header.
    #[inline]
    pub fn new(buf: &'b mut Vec<u8>, header: CommonHeader) -> Self {
        let start = buf.len();
        buf.extend_from_slice(&header.write());
        Self { buf, start }
    }

    /// Bytes of this packet so far, common header and padding included.
    #[inline]
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "a packet has a common header: it is never empty")]
    pub fn len(&self) -> usize {
        self.buf.len().saturating_sub(self.start)
    }

    /// Whether no chunk was appended yet.
    #[inline]
    #[must_use]
    pub fn has_no_chunks(&self) -> bool {
        self.len() <= CommonHeader::LEN
    }

    /// Where chunks are appended. Only append: bytes there belong to this packet or to earlier ones.
    #[inline]
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        self.buf
    }

    /// Fills in the checksum; returns the bytes of the packet.
    // rfc6951:5.3-3
    // rfc9260:6.8-1 rfc9260:6.8-2
    #[inline]
    pub fn finish(self, checksum: ChecksumOut) -> usize {
        let Some(packet) = self.buf.get_mut(self.start..) else {
            return 0;
        };
        if checksum == ChecksumOut::Compute {
            // The field is still zero, so the packet is summed as it stands.
            let crc = crc32c::crc32c(packet);
            if let Some(field) = packet.get_mut(CHECKSUM) {
                field.copy_from_slice(&crc32c::store(crc));
            }
        }
        packet.len()
    }

    /// Takes the packet back out of the buffer.
    #[inline]
    pub fn abandon(self) {
        self.buf.truncate(self.start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Checksum, Packet};
    use crate::{PacketError, Tsn, chunk::Shutdown};

    const HEADER: CommonHeader =
        CommonHeader { source_port: 5000, destination_port: 9, verification_tag: 0x0102_0304 };

    #[test]
    fn packets_follow_each_other() {
        let mut buf = vec![0xAA; 5];
        for tsn in [1, 2] {
            let mut packet = PacketBuilder::new(&mut buf, HEADER);
            assert!(packet.has_no_chunks());
            Shutdown { cumulative: Tsn::new(tsn) }.emit(packet.buffer());
            assert_eq!(packet.len(), 20);
            assert_eq!(packet.finish(ChecksumOut::Compute), 20);
        }
        assert_eq!(buf.len(), 45);
        assert_eq!(buf[..5], [0xAA; 5]);
        for packet in buf[5..].chunks(20) {
            let packet = Packet::parse(packet, Checksum::Verify).unwrap();
            assert_eq!(packet.header(), HEADER);
            assert_eq!(packet.chunks().count(), 1);
        }
    }

    #[test]
    fn zero_checksum_is_refused_only_by_those_who_look() {
        let mut buf = Vec::new();
        let packet = PacketBuilder::new(&mut buf, HEADER);
        assert_eq!(packet.finish(ChecksumOut::Zero), 12);
        assert!(matches!(
            Packet::parse(&buf, Checksum::Verify),
            Err(PacketError::BadChecksum { found: 0, .. })
        ));
        assert_eq!(Packet::parse(&buf, Checksum::Ignore).unwrap().checksum(), 0);
    }

    #[test]
    fn abandoned_packets_leave_nothing() {
        let mut buf = vec![1, 2, 3];
        let mut packet = PacketBuilder::new(&mut buf, HEADER);
        packet.buffer().push(4);
        packet.abandon();
        assert_eq!(buf, [1, 2, 3]);
    }
}
