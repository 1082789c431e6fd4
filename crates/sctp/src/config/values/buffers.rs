//! Data that counts against the send buffer.

use std::fmt;

use super::emulation::words;

/// Data that counts against the send buffer.
///
/// ```
/// # mod two { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/two.rs")); }
/// # use two::*;
/// use anabranch_sctp::config::SendBufferCounts;
/// let config = Config::rfc9260().with(|c| c.limits.send_buffer_counts = SendBufferCounts::Unacknowledged);
/// # let mut two = Two::up(config);
/// two.send(0, 1000)?;
/// let mut packet = Vec::new();
/// let now = two.now;
/// assert!(two.ends[0].poll_transmit(now, 1, &mut packet).is_some());
/// // It has left, and is in the buffer until the peer has it.
/// assert_eq!(two.a().queued_bytes(), 0);
/// assert_eq!(two.a().buffered_bytes(None), 1000);
/// # Ok::<(), SendError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendBufferCounts {
    /// Data accepted that has not left yet: "waiting in internal buffers to be sent" (RFC 6458, 8.1.7).
    Unsent,
    /// All data accepted and not acknowledged cumulatively, sent or not: memory, as kernels count SO_SNDBUF.
    Unacknowledged,
}

words!(SendBufferCounts, Unsent = "unsent", Unacknowledged = "unacknowledged");
