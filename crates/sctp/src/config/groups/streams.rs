//! Numbers of streams, and the order in which streams send.

use super::entry::group;
use crate::config::values::StreamScheduling;
use crate::config::values::kinds::{STREAM_SCHEDULING, STREAM_VALUES, SWITCH, count};

group! {
    /// Numbers of streams, and the order in which streams send.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct StreamConfig {
        /// Outbound streams asked for.
        outbound: u16 = 10 => {
            outbound_streams: count(), [promised]
            "outbound streams asked for" ("RFC 9260, 5.1.1")
        };
        /// Inbound streams allowed (MIS).
        inbound: u16 = 2048 => {
            inbound_streams: count(), [promised]
            "inbound streams allowed" ("RFC 9260, 5.1.1")
        };
        /// Outbound streams that a peer may ask us to have.
        max_outbound: u16 = 2048 => {
            max_outbound_streams: count(), []
            "outbound streams that a peer may ask us to have" ("RFC 6525, 5.2.6")
        };
        /// True if messages are counted by stream ([`Snapshot::streams`](crate::Snapshot::streams)): some 50 bytes
        /// for each stream that is used.
        statistics: bool = false => {
            stream_statistics: SWITCH, []
            "messages are counted by stream" ("anabranch")
        };
        /// Order in which streams send.
        scheduling: StreamScheduling = StreamScheduling::Fcfs => {
            stream_scheduling: STREAM_SCHEDULING, [live]
            "which stream speaks next (RFC 8260, 3): with I-DATA after a chunk, with DATA after a message" ("RFC 8260, 3")
        };
        /// Streams and their values: priorities (the smaller goes first) or weights, as the scheduling needs. Others have 1.
        values: Vec<(u16, u16)> = Vec::new() => {
            stream_values: STREAM_VALUES, [live]
            "priorities (smallest first) or weights of streams; others have 1" ("RFC 8260, 3")
        };
    }
}
