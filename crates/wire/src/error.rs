//! Why bytes are not an SCTP packet, chunk, parameter or cause.

/// Why bytes are not an SCTP packet at all. Nothing in them may be acted upon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PacketError {
    /// No room for a common header.
    #[error("packet of {len} bytes: the common header alone has 12")]
    TooShort {
        /// Bytes that came.
        len: usize,
    },
    /// "The Source Port Number 0 MUST NOT be used", nor the destination's (section 3.1).
    #[error("{which} port is 0: allowed are 1 to 65535")]
    ZeroPort {
        /// "source" or "destination".
        which: &'static str,
    },
    /// The CRC32c does not match: the packet was damaged or is not SCTP.
    #[error("checksum field holds {found:#010x}, the packet's CRC32c is {computed:#010x}")]
    BadChecksum {
        /// The checksum in the packet.
        found: u32,
        /// The checksum computed from its bytes.
        computed: u32,
    },
}

/// Why bytes are not a chunk, or not the chunk that its type says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChunkError {
    /// Fewer bytes left in the packet than a chunk header has.
    #[error("{left} bytes at the end of the packet: a chunk header has 4")]
    HeaderCut {
        /// Bytes left.
        left: usize,
    },
    /// The length does not even cover the chunk header.
    #[error("chunk type {kind}: length field {length}, must be at least 4")]
    LengthBelowHeader {
        /// Chunk type.
        kind: u8,
        /// The value of the length field.
        length: u16,
    },
    /// The length leads past the end of the packet.
    #[error("chunk type {kind}: length field {length}, but only {left} bytes are left in the packet")]
    LengthPastEnd {
        /// Chunk type.
        kind: u8,
        /// The value of the length field.
        length: u16,
        /// Bytes left, chunk header included.
        left: usize,
    },
    /// The length does not cover the fixed fields of this chunk type.
    #[error("chunk type {kind}: length {length}, its fixed fields need {least}")]
    TooShort {
        /// Chunk type.
        kind: u8,
        /// Length of the chunk with its header.
        length: usize,
        /// The least length allowed.
        least: usize,
    },
    /// This chunk type, with the counts it holds, has one allowed length.
    #[error("chunk type {kind}: length {length}, must be {expected}")]
    WrongLength {
        /// Chunk type.
        kind: u8,
        /// Length of the chunk with its header.
        length: usize,
        /// The only length allowed.
        expected: usize,
    },
    /// A HEARTBEAT or HEARTBEAT ACK whose mandatory Heartbeat Info parameter is missing or malformed.
    #[error("chunk type {kind}: the mandatory Heartbeat Info parameter is missing or malformed")]
    NoHeartbeatInfo {
        /// Chunk type.
        kind: u8,
    },
}

/// Why bytes are not a parameter or an error cause. The two share one format (section 3.3.10) and one error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TlvError {
    /// Fewer bytes left in the chunk than a parameter header has.
    #[error("{left} bytes at the end of the chunk: a parameter or cause header has 4")]
    HeaderCut {
        /// Bytes left.
        left: usize,
    },
    /// The length does not even cover the header.
    #[error("parameter or cause type {kind}: length field {length}, must be at least 4")]
    LengthBelowHeader {
        /// Parameter type or cause code.
        kind: u16,
        /// The value of the length field.
        length: u16,
    },
    /// The length leads past the end of the chunk.
    #[error(
        "parameter or cause type {kind}: length field {length}, but only {left} bytes are left in the chunk"
    )]
    LengthPastEnd {
        /// Parameter type or cause code.
        kind: u16,
        /// The value of the length field.
        length: u16,
        /// Bytes left, header included.
        left: usize,
    },
    /// This type, with the counts it holds, has one allowed length.
    #[error("parameter or cause type {kind}: length {length}, must be {expected}")]
    WrongLength {
        /// Parameter type or cause code.
        kind: u16,
        /// Length with the header.
        length: usize,
        /// The only length allowed.
        expected: usize,
    },
    /// The length does not cover the fixed fields of this type.
    #[error("parameter or cause type {kind}: length {length}, its fixed fields need {least}")]
    TooShort {
        /// Parameter type or cause code.
        kind: u16,
        /// Length with the header.
        length: usize,
        /// The least length allowed.
        least: usize,
    },
}
