//! Counters since the start of a connection, and gauges of its state now.

use anabranch_base::Duration;

/// Totals of a connection so far. Users take differences of the counters.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stats {
    /// Segments sent that carry data.
    pub packets_sent: u64,
    /// Segments sent with data never sent before.
    pub packets_sent_unique: u64,
    /// Payload bytes sent, retransmissions included.
    pub payload_bytes_sent: u64,
    /// Payload bytes sent for the first time.
    pub payload_bytes_unique: u64,
    /// Data segments retransmitted, for any reason.
    pub retransmissions: u64,
    /// Fast retransmit episodes: one loss indication each.
    pub fast_retransmits: u64,
    /// Expiries of the retransmission timer with data outstanding.
    pub timeouts: u64,
    /// Reductions of the window that proved needless and were undone.
    pub undone: u64,
    /// Expiries of the retransmission timer for a SYN or SYN-ACK.
    pub handshake_timeouts: u64,
    /// Tail loss probes sent (RFC 8985).
    pub tail_probes: u64,
    /// Zero-window probes sent.
    pub window_probes: u64,
    /// Segments sent without data (pure ACKs, SYN, FIN alone, RST).
    pub control_sent: u64,
    /// Pure acknowledgements sent.
    pub acks_sent: u64,
    /// Segments received that carry data, duplicates included.
    pub packets_received: u64,
    /// Segments received with data that had not arrived before.
    pub packets_received_new: u64,
    /// TCP header and payload bytes of the segments that brought new data.
    pub segment_bytes_received_new: u64,
    /// Payload bytes that had not arrived before.
    pub payload_bytes_received_new: u64,
    /// Payload bytes given to the user.
    pub payload_bytes_delivered: u64,
    /// Segments whose data had all arrived before.
    pub duplicates_received: u64,
    /// Acknowledgements received (segments with the ACK bit, in a synchronized state).
    pub acks_received: u64,
    /// Duplicate acknowledgements received.
    pub duplicate_acks: u64,
    /// Segments with a sequence number outside the receive window.
    pub out_of_window: u64,
    /// Segments with an acknowledgement of something never sent, or a SACK block that makes no sense.
    pub bad_acks: u64,
    /// Segments that PAWS refused (RFC 7323, section 5).
    pub paws_rejected: u64,
    /// Smoothed round-trip time, once there is a sample.
    pub srtt: Option<Duration>,
    /// Retransmission timeout, backing off included.
    pub rto: Duration,
    /// Congestion window, bytes.
    pub cwnd: u64,
    /// Largest congestion window so far, bytes.
    pub cwnd_peak: u64,
    /// Slow-start threshold, bytes; `u64::MAX` before the first loss when the configuration sets none.
    pub ssthresh: u64,
    /// Outstanding bytes as loss recovery estimates them ("pipe" of RFC 6675, else sent and not acknowledged).
    pub flight: u64,
}

/// Limit on a sender besides congestion control, at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HeldBack {
    /// No other limit than the congestion window, if any.
    #[default]
    No,
    /// The congestion window would let a segment out, the peer's window does not.
    Receiver,
    /// There is nothing new to send.
    Application,
}

/// Packets that a whole stack has refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StackStats {
    /// Segments too short, with a wrong data offset, or with an option that runs over the header.
    pub malformed: u64,
    /// Segments with a wrong checksum.
    pub bad_checksum: u64,
    /// Segments for no connection and no listener; answered with RST unless they were one.
    pub unmatched: u64,
    /// SYNs refused because too many connections were half open.
    pub syn_overflow: u64,
}
