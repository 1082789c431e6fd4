//! A packet while its chunks are read, and the outcome for the endpoint.

use anabranch_wire::{CommonHeader, RawChunk};

use crate::ids::PathId;
use crate::receiver::PacketRead;

/// The outcome of a packet for the endpoint that handed it in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PacketOutcome {
    /// A chunk was malformed: it and the chunks behind it were dropped.
    pub(crate) malformed: bool,
    /// The answer that the endpoint must give.
    pub(crate) reply: Reply,
    /// Another address of the peer has been confirmed (5.4).
    pub(crate) confirmed: bool,
}

/// An answer to a packet that the endpoint must give: the association stays as it was, or is gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Reply {
    #[default]
    None,
    /// SHUTDOWN ACK while the handshake runs: to be answered as out of the blue (8.5.1 E).
    ShutdownComplete,
    /// An INIT ACK without a tag: ABORT with the T bit and an error cause (3.3.3).
    ReflectedAbort,
    /// An INIT ACK with too small a window: ABORT with its Initiate Tag (3.3.3).
    SmallWindow { tag: u32 },
    /// Our cookie was stale, and the next INIT is to have a tag of its own (5.2.6).
    NewTag,
}

impl From<Reply> for PacketOutcome {
    fn from(reply: Reply) -> Self {
        Self { reply, ..Self::default() }
    }
}

/// A packet whose chunks are read.
#[derive(Debug)]
pub(in crate::association) struct Reading {
    /// The path that it came on: answers go back there.
    pub(in crate::association) path: PathId,
    /// The data of the packet, as far as it has been read.
    pub(in crate::association) data: PacketRead,
    pub(in crate::association) outcome: PacketOutcome,
    /// Bytes of the SCTP packet.
    pub(in crate::association) size: usize,
    /// Answers that waited before it came.
    pub(in crate::association) answers: (usize, usize),
    /// The next chunk has been read before, and is counted already.
    pub(in crate::association) again: bool,
}

impl Reading {
    /// True if the packet holds nothing but this chunk.
    #[cold]
    pub(in crate::association) fn is_alone(&self, chunk: RawChunk<'_>) -> bool {
        CommonHeader::LEN + chunk.bytes.len().next_multiple_of(4) >= self.size
    }
}
