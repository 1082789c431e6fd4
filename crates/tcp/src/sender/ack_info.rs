//! An acknowledgement, as the sender is told of it.

use anabranch_base::Duration;

/// Content of an acknowledgement, unwrapped and checked: `ack` is at most the highest sequence number sent.
pub(crate) struct AckInfo<'a> {
    pub(crate) ack: u64,
    /// SACK blocks above `ack` that make sense.
    pub(crate) sacks: &'a [(u64, u64)],
    /// Sequence number of the segment, for the window update rule.
    pub(crate) seq: u64,
    /// Advertised window, scaled.
    pub(crate) window: u64,
    /// No data, no SYN, no FIN in the segment.
    pub(crate) empty: bool,
    /// A duplicate that it reports (RFC 2883), with `dsack`.
    pub(crate) duplicate: Option<(u64, u64)>,
    /// Age of the timestamp that it echoes, when it acknowledges something new.
    pub(crate) echo_age: Option<Duration>,
    /// Age of the timestamp that it echoes, even if it acknowledges nothing new.
    pub(crate) echo_any: Option<Duration>,
}
