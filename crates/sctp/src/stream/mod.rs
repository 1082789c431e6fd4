//! Streams: messages waiting to leave, chosen by a scheduler and cut into chunks; chunks that arrived, joined into
//! messages and delivered in the order of their stream.

pub(crate) mod inbound;
pub(crate) mod interleaved;
pub(crate) mod numbering;
pub(crate) mod outbound;
pub(crate) mod reassembly;
mod scheduler;
