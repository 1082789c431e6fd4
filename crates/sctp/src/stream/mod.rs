//! Streams on the sending side: messages waiting to leave, chosen by a scheduler, numbered and cut into chunks.

pub(crate) mod numbering;
pub(crate) mod outbound;
mod scheduler;
