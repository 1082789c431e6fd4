//! Reports of an engine: notices for its application, counters, and the state of a sender.

use anabranch_base::Duration;

/// A notice of an engine to its application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Notice {
    /// Data can be sent.
    Connected,
    /// There is received data to take.
    Readable,
    /// There is room again after an offer was not taken whole.
    Writable,
    /// The peer sends nothing more.
    PeerClosed,
    /// The end, in good order.
    Closed,
    /// The end, otherwise.
    Failed(String),
}

/// Counters since the start of a flow, of one of its ends.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) packets_sent: u64,
    pub(crate) packets_sent_unique: u64,
    pub(crate) payload_bytes_unique: u64,
    pub(crate) retransmissions: u64,
    pub(crate) fast_retransmits: u64,
    pub(crate) timeouts: u64,
    pub(crate) packets_received_new: u64,
    pub(crate) packet_bytes_received_new: u64,
    pub(crate) payload_bytes_received_new: u64,
    pub(crate) payload_bytes_delivered: u64,
}

/// The limit on a sender besides congestion control, at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum HeldBack {
    /// No other limit than the congestion window, if any.
    #[default]
    No,
    /// The congestion window would let new data out, the peer's window does not.
    Receiver,
    /// There is nothing new to send.
    Application,
}

/// The state of a sender at a moment; `cwnd` in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Gauges {
    pub(crate) cwnd: u64,
    pub(crate) srtt: Option<Duration>,
}
