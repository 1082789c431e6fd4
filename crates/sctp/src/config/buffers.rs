//! What fills the send buffer.

use std::fmt;

use super::emulation::words;

/// What counts against the send buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendBufferCounts {
    /// What was accepted and has not left yet.
    Unsent,
    /// That, and what has left and is not acknowledged cumulatively: the memory that a user means with SO_SNDBUF (RFC 6458, 8.1.23).
    Unacknowledged,
}

words!(SendBufferCounts, Unsent = "unsent", Unacknowledged = "unacknowledged");
