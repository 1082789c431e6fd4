//! Statistics by name, for JSON, tables and traces: the name is that of the field, and a time has `_ns` behind it.

use anabranch_base::Duration;

use super::{ControlChunks, PathStats, Stats, StreamStats, SubflowStats};

/// Nanoseconds, or a number as it is.
trait Number {
    fn number(self) -> Option<u64>;
}

impl Number for u64 {
    fn number(self) -> Option<u64> {
        Some(self)
    }
}

impl Number for u32 {
    fn number(self) -> Option<u64> {
        Some(self.into())
    }
}

impl Number for u16 {
    fn number(self) -> Option<u64> {
        Some(self.into())
    }
}

impl Number for Duration {
    fn number(self) -> Option<u64> {
        Some(self.as_nanos())
    }
}

impl Number for Option<u64> {
    fn number(self) -> Option<u64> {
        self
    }
}

impl Number for Option<Duration> {
    fn number(self) -> Option<u64> {
        self.map(Duration::as_nanos)
    }
}

macro_rules! named {
    ($type:ty, $what:literal: $($field:ident),+; $($time:ident),*) => {
        impl $type {
            #[doc = $what]
            ///
            /// A time has `_ns` behind its name, and is in nanoseconds; `None` is one that there is no sample of yet, or a window that there is not.
            pub fn named(&self) -> impl Iterator<Item = (&'static str, Option<u64>)> + use<> {
                [
                    $((stringify!($field), self.$field.number()),)+
                    $((concat!(stringify!($time), "_ns"), self.$time.number()),)*
                ]
                .into_iter()
            }
        }
    };
}

named!(
    Stats, "Each counter and gauge by name.":
    packets_sent, packets_sent_unique, payload_bytes_sent, payload_bytes_unique, chunks_sent, retransmissions, retransmissions_fast, retransmissions_recovery, retransmissions_timeout, retransmissions_probe, retransmissions_spurious, chunks_lost, fast_retransmits, congestion_events, ecn_reductions, packets_marked, timeouts, sacks_sent, sacks_received, packets_received, packets_received_new, packet_bytes_received_new, payload_bytes_received_new, payload_bytes_delivered, messages_delivered, duplicates_received, out_of_order_received, dropped_no_buffer, messages_accepted, messages_abandoned_unsent, messages_abandoned_sent, sf_stale, sf_unknown, sf_downgrades, window_probes, rtt_sum_ns, rtt_samples, cwnd, cwnd_peak, ssthresh, flight, queued_bytes, peer_window;
    srtt, rttvar, min_rtt, last_rtt, rto
);
named!(
    SubflowStats, "Each counter and gauge of the subflow by name, but for code point, delay, whether it is open and whose window it has.":
    packets_sent, packets_sent_unique, payload_bytes_sent, payload_bytes_unique, chunk_bytes_sent, chunk_bytes_unique, retransmissions, retransmissions_fast, retransmissions_recovery, retransmissions_timeout, retransmissions_probe, retransmissions_spurious, chunks_lost, messages_abandoned_unsent, messages_abandoned_sent, out_of_order_received, fast_retransmits, timeouts, chunks_unique, rtt_sum_ns, rtt_samples, queued_bytes, flight, cwnd, cwnd_peak, ssthresh, peer_window;
    srtt, rttvar, min_rtt, last_rtt, rto
);
named!(
    PathStats, "Each counter and gauge of the path by name, but for its address and what it is used for.":
    packets_sent, payload_bytes_sent, payload_bytes_unique, retransmissions, retransmissions_fast, retransmissions_recovery, retransmissions_timeout, retransmissions_probe, retransmissions_spurious, chunks_lost, messages_abandoned_unsent, messages_abandoned_sent, out_of_order_received, timeouts, errors, cwnd, ssthresh, flight, mtu;
    srtt, rttvar, min_rtt, last_rtt, rto
);
named!(
    StreamStats, "Each counter of the stream by name, but for its direction and its number.":
    messages, payload_bytes, retransmissions, retransmissions_fast, retransmissions_recovery, retransmissions_timeout, retransmissions_probe, retransmissions_spurious, chunks_lost, messages_abandoned_unsent, messages_abandoned_sent, out_of_order_received;
);
named!(
    ControlChunks, "The counter of each type by name.":
    init, init_ack, cookie_echo, cookie_ack, heartbeat, heartbeat_ack, error, abort, shutdown, shutdown_ack, shutdown_complete, re_config, forward_tsn, pad, ecne, cwr, sf_sack, sf_forward, other;
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::streams::StreamCounters;

    /// A new field must be in the list, too: the debug output has all of them.
    #[test]
    fn every_field_has_its_name() {
        let fields = |text: String| {
            let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
            words.filter_map(|word| word.strip_suffix(':').map(str::to_owned)).collect::<Vec<_>>()
        };
        let plain = |name: &str| {
            name.strip_suffix("_ns")
                .map_or(name, |n| if name.starts_with("rtt_sum") { name } else { n })
                .to_owned()
        };
        let check = |shown: String, named: Vec<&'static str>, but: &[&str]| {
            let mut shown: Vec<_> =
                fields(shown).into_iter().filter(|f| !but.contains(&f.as_str())).collect();
            let mut named: Vec<_> = named.into_iter().map(plain).collect();
            shown.sort();
            named.sort();
            assert_eq!(shown, named);
        };
        let stats = Stats::default();
        check(format!("{stats:?}"), stats.named().map(|(name, _)| name).collect(), &[]);
        let subflow = SubflowStats::default();
        let but = ["dscp", "open", "window_of", "one_way_delay_us"];
        check(format!("{subflow:?}"), subflow.named().map(|(name, _)| name).collect(), &but);
        let stream = StreamCounters::default().stats(false, 0);
        let but = ["direction", "stream"];
        check(format!("{stream:?}"), stream.named().map(|(name, _)| name).collect(), &but);
        let chunks = ControlChunks::default();
        check(format!("{chunks:?}"), chunks.named().map(|(name, _)| name).collect(), &[]);
        assert_eq!(
            Stats { min_rtt: Some(Duration::from_millis(1)), ..stats }.named().find(|n| n.0 == "min_rtt_ns"),
            Some(("min_rtt_ns", Some(1_000_000)))
        );
    }
}
