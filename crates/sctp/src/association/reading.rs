//! What is known of a packet while its chunks are read, and what the endpoint must know afterwards.

use anabranch_wire::{CommonHeader, RawChunk};

use crate::ids::PathId;
use crate::receiver::PacketRead;

/// What the endpoint must know of a packet it handed in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PacketOutcome {
    /// A chunk was malformed: it and what followed was dropped.
    pub(crate) malformed: bool,
    /// What the endpoint must answer it with.
    pub(crate) reply: Reply,
    /// Another address of the peer has been confirmed (5.4).
    pub(crate) confirmed: bool,
}

/// What a packet is answered with that is no business of the association, which it leaves as it was, or gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Reply {
    #[default]
    None,
    /// SHUTDOWN ACK while the handshake runs: to be answered as out of the blue (8.5.1 E).
    ShutdownComplete,
    /// An INIT ACK without a tag: ABORT with the T bit and what is wrong (3.3.3).
    ReflectedAbort,
    /// An INIT ACK with too small a window: ABORT with its Initiate Tag (3.3.3).
    SmallWindow { tag: u32 },
    /// Our cookie was stale, and the next INIT is to have a tag of its own (5.2.6).
    NewTag,
}

/// What is known of a packet while its chunks are read.
#[derive(Debug)]
pub(super) struct Reading {
    /// Where it came from: answers go back there.
    pub(super) path: PathId,
    /// What its data has brought.
    pub(super) data: PacketRead,
    pub(super) outcome: PacketOutcome,
    /// Bytes of the SCTP packet.
    pub(super) size: usize,
}

impl Reading {
    /// Whether a chunk is all that the packet holds.
    #[cold]
    pub(super) fn is_alone(&self, chunk: RawChunk<'_>) -> bool {
        CommonHeader::LEN + chunk.bytes.len().next_multiple_of(4) >= self.size
    }
}
