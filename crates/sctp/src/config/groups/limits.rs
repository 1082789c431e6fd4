//! Limits of an association: memory, and attempts.

use super::entry::group;
use crate::config::values::SendBufferCounts;
use crate::config::values::kinds::{HALF, SEND_BUFFER_COUNTS, count, size};

group! {
    /// Limits of an association: memory, and attempts.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct LimitConfig {
        /// Receive buffer of the association, bytes: the first a_rwnd.
        receive_window: u32 = 1 << 20 => {
            receive_window: size(), [live promised]
            "receive buffer, the first a_rwnd" ("RFC 9260, 3.3.2")
        };
        /// Size up to which the receive buffer grows with the amount that the user reads in a round trip, bytes; a
        /// value up to `receive_window` keeps it fixed. All associations of an endpoint together have a limit, too
        /// ([`EndpointConfig::window_budget`](crate::EndpointConfig::window_budget)).
        max_receive_window: u32 = 0 => {
            max_receive_window: size(), []
            "the receive buffer grows up to this with what is read in a round trip; 0 B: it stays" ("anabranch")
        };
        /// Percent of the receive window, 1 to 50, that messages in the making may hold before the one that grows is handed to
        /// the user in parts (RFC 9260, 6.9; RFC 6458, 8.1.21).
        partial_delivery_point: u8 = 50 => {
            partial_delivery_point: HALF, [live]
            "what messages in the making may hold of the receive window before the one that grows is handed over in parts" ("RFC 9260, 6.9")
        };
        /// Bytes of a message that are here and in sequence, and more than which is not waited for: it is handed over in parts, each with
        /// the next so many and more, on each stream by itself (RFC 6458, 8.1.21). 0: such a point does not exist. No more than
        /// the receive window.
        partial_delivery_bytes: usize = 0 => {
            partial_delivery_bytes: size(), [live]
            "a message of which more is here in sequence is handed over in parts; 0 B: however long it is" ("RFC 6458, 8.1.21")
        };
        /// Bytes of the send buffer: with so many in it `send` says `Full`. Each subflow has one where only waiting
        /// data counts.
        send_buffer: usize = 256 << 10 => {
            send_buffer: size(), [live]
            "bytes of the send buffer, with which `send` says Full" ("RFC 6458, 8.1.7")
        };
        /// Size up to which the send buffer grows with the congestion window, bytes; a value up to `send_buffer`
        /// keeps it fixed.
        max_send_buffer: usize = 0 => {
            max_send_buffer: size(), [live]
            "the send buffer grows up to this with cwnd; 0 B: it stays" ("anabranch")
        };
        /// Data that counts against the send buffer.
        send_buffer_counts: SendBufferCounts = SendBufferCounts::Unsent => {
            send_buffer_counts: SEND_BUFFER_COUNTS, [live]
            "what counts against the send buffer: what waits, or also what has left and is not acknowledged (as kernels count SO_SNDBUF)" ("RFC 6458, 8.1.7")
        };
        /// Bytes of one stream in the send buffer, with which `send` says `StreamFull` for this stream; 0: only the buffer as a whole
        /// is limited.
        stream_send_buffer: usize = 0 => {
            stream_send_buffer: size(), [live]
            "bytes of one stream in the send buffer, with which `send` says StreamFull; 0 B: no limit of its own" ("anabranch")
        };
        /// Bytes of one stream that find room although the send buffer is full, so that streams which fill it do not
        /// stop the others. All streams together have at most half of the buffer in this way, and a longer message is
        /// taken while the buffer is exceeded by less than half. 0: no stream has a share of its own.
        stream_send_minimum: usize = 0 => {
            stream_send_minimum: size(), [live]
            "bytes of one stream that find room in a full send buffer, of all streams together half of it; 0 B: who comes first has it all" ("anabranch")
        };
        /// Largest user message accepted, in either direction, bytes.
        max_message: usize = 16 << 20 => {
            max_message: size(), []
            "largest user message" ("anabranch")
        };
        /// Most user data of one DATA chunk, bytes, where the path allows more; 0: as much as the path allows (RFC 9260, 6.9; RFC 6458,
        /// 8.1.16).
        max_fragment: usize = 0 => {
            max_fragment: size(), [live]
            "most user data of one DATA chunk; 0 B: what the path allows" ("RFC 9260, 6.9")
        };
        /// Association.Max.Retrans.
        association_max_retrans: u32 = 10 => {
            association_max_retrans: count(), [live]
            "Association.Max.Retrans" ("RFC 9260, 16")
        };
        /// Path.Max.Retrans.
        path_max_retrans: u32 = 5 => {
            path_max_retrans: count(), [live]
            "Path.Max.Retrans" ("RFC 9260, 16")
        };
        /// Max.Init.Retransmits.
        max_init_retransmits: u32 = 8 => {
            max_init_retransmits: count(), [live]
            "Max.Init.Retransmits" ("RFC 9260, 16")
        };
    }
}

impl LimitConfig {
    /// Most user data of one DATA chunk where a packet has room for so much, bytes.
    #[inline]
    pub(crate) fn most_payload(&self, room: usize) -> usize {
        match self.max_fragment {
            0 => room,
            most => room.min(most),
        }
    }

    /// The send buffer, as large as it may grow, bytes.
    #[inline]
    pub(crate) fn largest_send_buffer(&self) -> usize {
        self.send_buffer.max(self.max_send_buffer)
    }

    /// The receive window, as large as it may grow, bytes.
    #[inline]
    pub(crate) fn largest_receive_window(&self) -> u32 {
        self.receive_window.max(self.max_receive_window)
    }
}
