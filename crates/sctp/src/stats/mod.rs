//! Counters. They only grow; take two copies and subtract to see a span of time. [`Association::snapshot`] gives all of them at
//! once.
//!
//! [`Association::snapshot`]: crate::Association::snapshot

use anabranch_base::{Dscp, Duration, RetransmitReason};
use anabranch_wire::CommonHeader;

pub(crate) use control::ControlCounters;
pub use control::{ControlChunks, ControlStats};
pub use snapshot::{Negotiated, PathStats, Snapshot};
pub use streams::StreamStats;
pub(crate) use streams::{StreamTable, count_lost};

mod control;
mod named;
mod snapshot;
mod streams;

/// Statistics of an association: counters since its start, and from `srtt` on gauges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Packets sent that carry DATA.
    pub packets_sent: u64,
    /// Of these, with at least one chunk sent for the first time.
    pub packets_sent_unique: u64,
    /// User data sent, bytes, retransmissions included.
    pub payload_bytes_sent: u64,
    /// User data sent for the first time, bytes.
    pub payload_bytes_unique: u64,
    /// DATA chunks sent, retransmissions included.
    pub chunks_sent: u64,
    /// DATA chunks sent again: the sum of the four that follow.
    pub retransmissions: u64,
    /// DATA chunks sent again at once, as enough missing reports have come, or too late by RACK.
    pub retransmissions_fast: u64,
    /// DATA chunks sent again in recovery, as cwnd let them.
    pub retransmissions_recovery: u64,
    /// DATA chunks sent again, as T3-rtx had expired.
    pub retransmissions_timeout: u64,
    /// DATA chunks sent again as probes: of the tail (RFC 8985), of a closed window.
    pub retransmissions_probe: u64,
    /// Duplicates that the peer has reported in SACKs: each is a retransmission that was not needed, or a copy that the network
    /// has made. This counter, and others of rare events, stop at 2^32 - 1.
    pub retransmissions_spurious: u64,
    /// DATA chunks that were taken for lost; each counts whenever it is. One that was given up in flight counts where missing reports show
    /// that it was lost, not where T3-rtx alone would. Since the last restart of the peer; that of a lane stops at 2^32 - 1.
    pub chunks_lost: u64,
    /// SACKs that marked chunks for fast retransmission (one loss indication each).
    pub fast_retransmits: u64,
    /// Times the congestion window was cut by a fast retransmit.
    pub congestion_events: u64,
    /// Times it was cut because routers had marked packets (ECN). Stops at 2^32 - 1, as the next does.
    pub ecn_reductions: u64,
    /// Packets with new data that came with such a mark.
    pub packets_marked: u64,
    /// T3-rtx expiries.
    pub timeouts: u64,
    /// SACK chunks sent.
    pub sacks_sent: u64,
    /// SACK chunks received.
    pub sacks_received: u64,
    /// Packets received that carry DATA.
    pub packets_received: u64,
    /// Of these, with at least one new chunk.
    pub packets_received_new: u64,
    /// Size of those, SCTP common header included, bytes.
    pub packet_bytes_received_new: u64,
    /// New user data received, bytes.
    pub payload_bytes_received_new: u64,
    /// User data handed to the user, bytes.
    pub payload_bytes_delivered: u64,
    /// Messages handed to the user.
    pub messages_delivered: u64,
    /// DATA chunks that had arrived before.
    pub duplicates_received: u64,
    /// New DATA chunks that came when one with a lower TSN was missing.
    pub out_of_order_received: u64,
    /// DATA chunks dropped for lack of buffer.
    pub dropped_no_buffer: u64,
    /// Messages accepted from the user.
    pub messages_accepted: u64,
    /// Messages given up before any part of them was sent (RFC 7496, 4.3).
    pub messages_abandoned_unsent: u64,
    /// Messages given up of which a part, or all, had been sent.
    pub messages_abandoned_sent: u64,
    /// SF chunks of another incarnation of their FID, dropped.
    pub sf_stale: u64,
    /// SF chunks of FIDs that were never open, dropped.
    pub sf_unknown: u64,
    /// Times that the extension SF was given up because the peer did not know it after all.
    pub sf_downgrades: u64,
    /// Zero-window probes sent.
    pub window_probes: u64,
    /// Sum of the round-trip samples, ns; with `rtt_samples` the mean.
    pub rtt_sum_ns: u64,
    /// Number of round-trip samples.
    pub rtt_samples: u64,
    /// Smoothed round-trip time of the primary path.
    pub srtt: Option<Duration>,
    /// Variation of the round-trip time (RTTVAR), once there is a sample.
    pub rttvar: Option<Duration>,
    /// Shortest round trip.
    pub min_rtt: Option<Duration>,
    /// The last sample of the round trip.
    pub last_rtt: Option<Duration>,
    /// Current retransmission timeout.
    pub rto: Duration,
    /// Congestion window, bytes.
    pub cwnd: u64,
    /// Largest congestion window so far, bytes.
    pub cwnd_peak: u64,
    /// Slow-start threshold, bytes.
    pub ssthresh: u64,
    /// Bytes in flight, chunk headers included.
    pub flight: u64,
    /// Bytes accepted by `send` and not yet sent.
    pub queued_bytes: u64,
    /// Bytes that the peer has room for: its last a_rwnd less the bytes under way.
    pub peer_window: u64,
}

/// Statistics of one subflow of an association: counters since it was opened, and gauges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubflowStats {
    /// Code point of its packets.
    pub dscp: Dscp,
    /// True if it is in use; false once it was removed or merged.
    pub open: bool,
    /// Number of the first subflow with which it has one window: of those behind one bottleneck (coupling `adaptive`), or of all where
    /// they share one. Its own number where its window is its own. A sum of windows counts each of these numbers once.
    pub window_of: u8,
    /// Packets sent that carry its DATA.
    pub packets_sent: u64,
    /// Of these, with at least one chunk sent for the first time.
    pub packets_sent_unique: u64,
    /// User data sent, bytes, retransmissions included.
    pub payload_bytes_sent: u64,
    /// User data sent for the first time, bytes.
    pub payload_bytes_unique: u64,
    /// DATA chunks sent, bytes: headers, user data and padding, retransmissions included.
    pub chunk_bytes_sent: u64,
    /// Of these, in chunks sent for the first time.
    pub chunk_bytes_unique: u64,
    /// DATA chunks sent again: the sum of the four that follow.
    pub retransmissions: u64,
    /// As in [`Stats`].
    pub retransmissions_fast: u64,
    /// As in [`Stats`].
    pub retransmissions_recovery: u64,
    /// As in [`Stats`].
    pub retransmissions_timeout: u64,
    /// As in [`Stats`].
    pub retransmissions_probe: u64,
    /// Duplicates that the peer has reported, as in [`Stats`]. A SACK does not say which subflow a duplicate belongs
    /// to: where several share a sequence space (level 0), they count for the first.
    pub retransmissions_spurious: u64,
    /// DATA chunks of its lane that were taken for lost.
    pub chunks_lost: u64,
    /// Its messages that were given up before any part of them was sent, as in [`Stats`].
    pub messages_abandoned_unsent: u64,
    /// Its messages that were given up when a part, or all, had been sent.
    pub messages_abandoned_sent: u64,
    /// The peer's chunks in its sequence space that were new and came when one with a lower TSN was missing. Where several subflows share a
    /// space (level 0) they count for the first.
    pub out_of_order_received: u64,
    /// SACKs that marked chunks for fast retransmission. With one lane for all subflows they count for the first. Like the timeouts they
    /// stop at 2^32 - 1.
    pub fast_retransmits: u64,
    /// T3-rtx expiries. With one lane for all subflows they count for the first.
    pub timeouts: u64,
    /// DATA chunks sent for the first time.
    pub chunks_unique: u64,
    /// Sum of the round-trip samples of its lane, ns; with `rtt_samples` the mean.
    pub rtt_sum_ns: u64,
    /// Number of round-trip samples.
    pub rtt_samples: u64,
    /// Bytes accepted by `send` and not yet sent.
    pub queued_bytes: u64,
    /// Bytes in flight, chunk headers included; it is that of its lane, and so are the values that follow.
    pub flight: u64,
    /// Smoothed round-trip time.
    pub srtt: Option<Duration>,
    /// Variation of the round-trip time (RTTVAR), once there is a sample.
    pub rttvar: Option<Duration>,
    /// Shortest round trip.
    pub min_rtt: Option<Duration>,
    /// The last sample of the round trip.
    pub last_rtt: Option<Duration>,
    /// The last one-way delay that the peer's timestamps gave (level 1), in microseconds less the difference of the two
    /// clocks: only its changes mean something.
    pub one_way_delay_us: Option<i64>,
    /// Current retransmission timeout.
    pub rto: Duration,
    /// Congestion window, bytes.
    pub cwnd: u64,
    /// Largest congestion window so far, bytes.
    pub cwnd_peak: u64,
    /// Slow-start threshold, bytes.
    pub ssthresh: u64,
    /// Bytes that the peer's window for this subflow lets be sent (level 1: a_fwnd of SF-SACK, less the bytes
    /// outstanding); `None` where the peer gives all subflows one window, which [`Stats`] has.
    pub peer_window: Option<u64>,
}

impl SubflowStats {
    /// Bytes of its packets without IP headers: common headers and DATA chunks. Other chunks that rode with them belong to no
    /// subflow.
    #[must_use]
    pub const fn packet_bytes_sent(&self) -> u64 {
        self.packets_sent * CommonHeader::LEN as u64 + self.chunk_bytes_sent
    }

    /// Of these, common headers of packets with something new, and the new chunks in them.
    #[must_use]
    pub const fn packet_bytes_unique(&self) -> u64 {
        self.packets_sent_unique * CommonHeader::LEN as u64 + self.chunk_bytes_unique
    }
}

/// DATA chunks sent again, by reason. They stop at 2^32 - 1 each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reasons([u32; 4]);

impl Reasons {
    #[inline]
    pub(crate) fn count(&mut self, reason: RetransmitReason) {
        if let Some(counter) = self.0.get_mut(reason as usize) {
            *counter = counter.saturating_add(1);
        }
    }

    pub(crate) fn of(&self, reason: RetransmitReason) -> u64 {
        self.0.get(reason as usize).copied().unwrap_or(0).into()
    }

    pub(crate) fn all(&self) -> u64 {
        self.0.iter().map(|count| u64::from(*count)).sum()
    }
}

/// The counters of an association, without values that are looked up when a snapshot is made. Counters of rare events stop
/// at 2^32 - 1.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counters {
    pub(crate) packets_sent: u64,
    pub(crate) packets_sent_unique: u64,
    pub(crate) payload_bytes_sent: u64,
    pub(crate) payload_bytes_unique: u64,
    pub(crate) chunks_sent: u64,
    pub(crate) sacks_sent: u64,
    pub(crate) sacks_received: u64,
    pub(crate) packets_received: u64,
    pub(crate) packets_received_new: u64,
    pub(crate) packet_bytes_received_new: u64,
    pub(crate) payload_bytes_received_new: u64,
    pub(crate) payload_bytes_delivered: u64,
    pub(crate) messages_delivered: u64,
    pub(crate) duplicates_received: u64,
    pub(crate) out_of_order_received: u64,
    pub(crate) messages_accepted: u64,
    pub(crate) rtt_sum_ns: u64,
    pub(crate) rtt_samples: u64,
    pub(crate) reasons: Reasons,
    pub(crate) retransmissions_spurious: u32,
    pub(crate) fast_retransmits: u32,
    pub(crate) congestion_events: u32,
    pub(crate) timeouts: u32,
    pub(crate) dropped_no_buffer: u32,
    pub(crate) window_probes: u32,
    pub(crate) sf_stale: u32,
    pub(crate) sf_unknown: u32,
    pub(crate) sf_downgrades: u32,
    /// Chunks that were taken for lost, of lanes that are gone.
    pub(crate) chunks_lost_before: u32,
    pub(crate) control: ControlCounters,
}

impl Counters {
    /// With the gauges still to be filled in.
    pub(crate) fn stats(&self) -> Stats {
        let (packets_marked, ecn_reductions) = self.control.marks();
        Stats {
            packets_sent: self.packets_sent,
            packets_sent_unique: self.packets_sent_unique,
            payload_bytes_sent: self.payload_bytes_sent,
            payload_bytes_unique: self.payload_bytes_unique,
            chunks_sent: self.chunks_sent,
            retransmissions_spurious: self.retransmissions_spurious.into(),
            fast_retransmits: self.fast_retransmits.into(),
            congestion_events: self.congestion_events.into(),
            timeouts: self.timeouts.into(),
            sacks_sent: self.sacks_sent,
            sacks_received: self.sacks_received,
            packets_received: self.packets_received,
            packets_received_new: self.packets_received_new,
            packet_bytes_received_new: self.packet_bytes_received_new,
            payload_bytes_received_new: self.payload_bytes_received_new,
            payload_bytes_delivered: self.payload_bytes_delivered,
            messages_delivered: self.messages_delivered,
            duplicates_received: self.duplicates_received,
            out_of_order_received: self.out_of_order_received,
            dropped_no_buffer: self.dropped_no_buffer.into(),
            messages_accepted: self.messages_accepted,
            window_probes: self.window_probes.into(),
            rtt_sum_ns: self.rtt_sum_ns,
            rtt_samples: self.rtt_samples,
            retransmissions: self.reasons.all(),
            retransmissions_fast: self.reasons.of(RetransmitReason::FastRetransmit),
            retransmissions_recovery: self.reasons.of(RetransmitReason::Recovery),
            retransmissions_timeout: self.reasons.of(RetransmitReason::Timeout),
            retransmissions_probe: self.reasons.of(RetransmitReason::Probe),
            sf_stale: self.sf_stale.into(),
            sf_unknown: self.sf_unknown.into(),
            sf_downgrades: self.sf_downgrades.into(),
            ecn_reductions,
            packets_marked,
            chunks_lost: self.chunks_lost_before.into(),
            ..Stats::default()
        }
    }
}

/// The counters of a subflow, without values that are looked up when a snapshot is made.
#[derive(Clone, Debug, Default)]
pub(crate) struct SubflowCounters {
    pub(crate) packets_sent: u64,
    pub(crate) packets_sent_unique: u64,
    pub(crate) payload_bytes_sent: u64,
    pub(crate) payload_bytes_unique: u64,
    pub(crate) chunk_bytes_sent: u64,
    pub(crate) chunk_bytes_unique: u64,
    pub(crate) reasons: Reasons,
    pub(crate) fast_retransmits: u32,
    pub(crate) timeouts: u32,
    pub(crate) spurious: u32,
    /// Messages given up, of which nothing was sent, and others.
    pub(crate) abandoned: [u32; 2],
    pub(crate) chunks_unique: u64,
    pub(crate) rtt_sum_ns: u64,
    pub(crate) rtt_samples: u64,
}

impl SubflowCounters {
    /// With the gauges still to be filled in.
    #[allow(clippy::inline_always, reason = "a copy less in every snapshot; measured")]
    #[inline(always)]
    pub(crate) fn stats(&self) -> SubflowStats {
        SubflowStats {
            packets_sent: self.packets_sent,
            packets_sent_unique: self.packets_sent_unique,
            payload_bytes_sent: self.payload_bytes_sent,
            payload_bytes_unique: self.payload_bytes_unique,
            chunk_bytes_sent: self.chunk_bytes_sent,
            chunk_bytes_unique: self.chunk_bytes_unique,
            retransmissions: self.reasons.all(),
            retransmissions_fast: self.reasons.of(RetransmitReason::FastRetransmit),
            retransmissions_recovery: self.reasons.of(RetransmitReason::Recovery),
            retransmissions_timeout: self.reasons.of(RetransmitReason::Timeout),
            retransmissions_probe: self.reasons.of(RetransmitReason::Probe),
            retransmissions_spurious: self.spurious.into(),
            messages_abandoned_unsent: self.abandoned[0].into(),
            messages_abandoned_sent: self.abandoned[1].into(),
            fast_retransmits: self.fast_retransmits.into(),
            timeouts: self.timeouts.into(),
            chunks_unique: self.chunks_unique,
            rtt_sum_ns: self.rtt_sum_ns,
            rtt_samples: self.rtt_samples,
            ..SubflowStats::default()
        }
    }
}

/// Counters of packets and events that belong to no association.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndpointStats {
    /// Datagrams handed in.
    pub datagrams_received: u64,
    /// Dropped: too short, ports of zero, a length that is no packet.
    pub malformed: u64,
    /// Dropped: CRC32c does not match.
    pub bad_checksum: u64,
    /// Dropped: no association and nothing to answer.
    pub out_of_the_blue: u64,
    /// Dropped: the verification tag is wrong (RFC 9260, 8.5).
    pub bad_tag: u64,
    /// INIT chunks answered without keeping state.
    pub inits_answered: u64,
    /// INIT chunks beyond [`EndpointConfig::max_inits_per_second`](crate::EndpointConfig::max_inits_per_second), not answered.
    pub inits_dropped: u64,
    /// State cookies with a wrong MAC, wrong ports or tags.
    pub bad_cookies: u64,
    /// State cookies that came too late.
    pub stale_cookies: u64,
    /// INIT and COOKIE ECHO chunks answered with an ABORT, as there was no room, or our user did not want the association.
    pub refused: u64,
    /// Answers to packets without an association (ABORT, SHUTDOWN COMPLETE).
    pub stateless_replies: u64,
    /// Answers not sent because too many were waiting.
    pub replies_dropped: u64,
    /// Chunks of an association dropped as malformed.
    pub bad_chunks: u64,
    /// ICMP errors handed in.
    pub icmp_received: u64,
    /// ICMP errors that changed nothing: forged, too short, inconsistent, or of a kind that is ignored (RFC 9260, 10).
    pub icmp_ignored: u64,
}

impl std::ops::AddAssign<&Self> for EndpointStats {
    /// The counters of several endpoints together.
    fn add_assign(&mut self, other: &Self) {
        self.datagrams_received += other.datagrams_received;
        self.malformed += other.malformed;
        self.bad_checksum += other.bad_checksum;
        self.out_of_the_blue += other.out_of_the_blue;
        self.bad_tag += other.bad_tag;
        self.inits_answered += other.inits_answered;
        self.inits_dropped += other.inits_dropped;
        self.bad_cookies += other.bad_cookies;
        self.stale_cookies += other.stale_cookies;
        self.refused += other.refused;
        self.stateless_replies += other.stateless_replies;
        self.replies_dropped += other.replies_dropped;
        self.bad_chunks += other.bad_chunks;
        self.icmp_received += other.icmp_received;
        self.icmp_ignored += other.icmp_ignored;
    }
}
