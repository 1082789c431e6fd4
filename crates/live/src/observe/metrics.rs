//! Counters and gauges of an endpoint for the facade `metrics`, by the names of the core's statistics.

use anabranch_sctp::Snapshot;

/// The values of a snapshot that are gauges of bytes, summed over the associations that live.
const SIZES: [&str; 4] = ["cwnd", "flight", "queued_bytes", "peer_window"];
/// Gauges whose sum over associations has no meaning.
const OF_ONE: [&str; 2] = ["cwnd_peak", "ssthresh"];

/// The sums of the counters of all associations of an endpoint.
#[derive(Clone, Debug, Default)]
pub(crate) struct Totals {
    /// In the order of [`anabranch_sctp::Stats::named`].
    stats: Vec<Named>,
    control: Vec<(&'static str, u64, u64)>,
}

#[derive(Clone, Debug)]
struct Named {
    name: &'static str,
    sum: u64,
    /// Number of associations that had a value.
    having: u64,
}

impl Totals {
    /// Adds an association.
    pub(crate) fn add(&mut self, snapshot: &Snapshot) {
        if self.stats.is_empty() {
            let named = snapshot.stats.named();
            self.stats = named.map(|(name, _)| Named { name, sum: 0, having: 0 }).collect();
            self.control = snapshot.control.sent.named().map(|(name, _)| (name, 0, 0)).collect();
        }
        for (total, (_, value)) in self.stats.iter_mut().zip(snapshot.stats.named()) {
            total.sum = total.sum.saturating_add(value.unwrap_or(0));
            total.having += u64::from(value.is_some());
        }
        let both = snapshot.control.sent.named().zip(snapshot.control.received.named());
        for ((_, sent, received), ((_, more_sent), (_, more_received))) in self.control.iter_mut().zip(both) {
            *sent += more_sent.unwrap_or(0);
            *received += more_received.unwrap_or(0);
        }
    }

    /// Adds the counts of other associations.
    pub(crate) fn join(&mut self, other: &Self) {
        if self.stats.is_empty() {
            self.clone_from(other);
            return;
        }
        for (total, more) in self.stats.iter_mut().zip(&other.stats) {
            total.sum = total.sum.saturating_add(more.sum);
            total.having += more.having;
        }
        for ((_, sent, received), (_, more_sent, more_received)) in
            self.control.iter_mut().zip(&other.control)
        {
            *sent += more_sent;
            *received += more_received;
        }
    }

    /// Hands all to the recorder of the program: counters of `self` and those that have ended before, gauges of `self`, which are the
    /// associations that live.
    pub(crate) fn publish(&self, ended: &Self, port: u16) {
        let port = port.to_string();
        let longest = if self.stats.is_empty() { &ended.stats } else { &self.stats };
        for (index, of) in longest.iter().enumerate() {
            let at = |totals: &Self| totals.stats.get(index).map_or((0, 0), |of| (of.sum, of.having));
            let ((now, having), (before, _)) = (at(self), at(ended));
            let label = [("port", port.clone())];
            if OF_ONE.contains(&of.name) {
                continue;
            }
            if SIZES.contains(&of.name) {
                metrics::gauge!(format!("sctp_{}", of.name), &label).set(now as f64);
            } else if let Some(time) = of.name.strip_suffix("_ns").filter(|name| *name != "rtt_sum") {
                // The mean of those that have a sample.
                let mean = if having > 0 { now as f64 / having as f64 / 1e9 } else { f64::NAN };
                metrics::gauge!(format!("sctp_{time}_seconds"), &label).set(mean);
            } else {
                metrics::counter!(format!("sctp_{}_total", of.name), &label)
                    .absolute(now.saturating_add(before));
            }
        }
        let longest = if self.control.is_empty() { &ended.control } else { &self.control };
        for (index, (name, ..)) in longest.iter().enumerate() {
            let at = |totals: &Self| totals.control.get(index).map_or((0, 0), |of| (of.1, of.2));
            let ((sent, received), (sent_before, received_before)) = (at(self), at(ended));
            let label = [("port", port.clone()), ("type", (*name).to_owned())];
            metrics::counter!("sctp_control_chunks_sent_total", &label).absolute(sent + sent_before);
            metrics::counter!("sctp_control_chunks_received_total", &label)
                .absolute(received + received_before);
        }
    }
}

/// Publishes the counters that belong to no association, by name.
pub(crate) fn publish_endpoint(stats: &anabranch_sctp::EndpointStats, associations: usize, port: u16) {
    let port = port.to_string();
    let label = [("port", port)];
    metrics::gauge!("sctp_associations", &label).set(associations as f64);
    let all = [
        ("datagrams_received", stats.datagrams_received),
        ("malformed", stats.malformed),
        ("bad_checksum", stats.bad_checksum),
        ("out_of_the_blue", stats.out_of_the_blue),
        ("bad_tag", stats.bad_tag),
        ("inits_answered", stats.inits_answered),
        ("inits_dropped", stats.inits_dropped),
        ("bad_cookies", stats.bad_cookies),
        ("stale_cookies", stats.stale_cookies),
        ("refused", stats.refused),
        ("stateless_replies", stats.stateless_replies),
        ("replies_dropped", stats.replies_dropped),
        ("bad_chunks", stats.bad_chunks),
        ("icmp_received", stats.icmp_received),
        ("icmp_ignored", stats.icmp_ignored),
    ];
    for (name, value) in all {
        metrics::counter!(format!("sctp_endpoint_{name}_total"), &label).absolute(value);
    }
}
