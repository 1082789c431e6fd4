//! All statistics at once.

use anabranch_base::Ecn;

use super::Association;
use crate::config::Checksums;
use crate::event::Direction;
use crate::ids::PathId;
use crate::path::Path;
use crate::state::State;
use crate::stats::{Negotiated, PathStats, Snapshot, Stats, SubflowStats};

impl Association {
    /// Counters and gauges of the association, its paths, its subflows and, with `stream_statistics`, its streams; and the
    /// negotiated values. It looks at each subflow once and at no chunk. Times are those of the stack's clock; sizes are bytes of payload
    /// unless a name says more. `Stats::named` and the like give the same numbers by name, as JSON and traces have them.
    ///
    /// ```
    /// # mod two { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/two.rs")); }
    /// # use two::*;
    /// let config = Config::for_networks().with(|c| c.streams.statistics = true);
    /// # let mut two = Two::up(config);
    /// two.send(3, 1000)?;
    /// two.lose();
    /// two.exchange();
    /// let snapshot = two.a().snapshot();
    /// assert_eq!((snapshot.stats.chunks_sent, snapshot.stats.retransmissions_timeout), (2, 1));
    /// assert_eq!(snapshot.paths[0].chunks_lost, 1);
    /// assert!(snapshot.negotiated.is_some_and(|agreed| agreed.partial_reliability && !agreed.interleaving));
    /// assert_eq!((snapshot.streams[0].stream, snapshot.streams[0].payload_bytes), (3, 1000));
    /// let sent = snapshot.stats.named().find(|(name, _)| *name == "chunks_sent");
    /// assert_eq!(sent, Some(("chunks_sent", Some(2))));
    /// # Ok::<(), SendError>(())
    /// ```
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let subflows: Vec<SubflowStats> =
            (0..=u8::MAX).map_while(|index| self.subflow_stats(index)).collect();
        let stats = self.stats();
        let mut paths: Vec<PathStats> =
            self.cx.paths.iter().map(|(id, path)| self.path_stats(id, path, &subflows)).collect();
        give_the_first_the_rest(&mut paths, &stats);
        let mut streams = self.cx.report.streams.as_ref().map(|table| table.stats()).unwrap_or_default();
        for stream in streams.iter_mut().filter(|stream| stream.direction == Direction::Outgoing) {
            let abandoned = self.abandoned(Some(stream.stream), None);
            (stream.messages_abandoned_unsent, stream.messages_abandoned_sent) =
                (abandoned.unsent, abandoned.sent);
        }
        Snapshot {
            at: self.cx.env.now(),
            state: self.cx.env.state(),
            stats,
            control: self.cx.report.stats.control.stats(),
            negotiated: self.negotiated(),
            paths,
            subflows,
            streams,
        }
    }

    /// The result of the handshake: `None` before the peer has said anything.
    #[must_use]
    pub fn negotiated(&self) -> Option<Negotiated> {
        let unknown = self.cx.env.state() == State::CookieWait || self.writer.tags().1 == 0;
        let zero = self.cx.env.config().checksums == Checksums::Crc32c && self.writer.leaves_checksum_out();
        (!unknown).then(|| Negotiated {
            outbound_streams: self.sender.stream_map().streams(),
            inbound_streams: self.receiver.streams(),
            interleaving: self.interleaves(),
            reconfiguration: self.reconfigures(),
            partial_reliability: self.is_partially_reliable(),
            subflow_level: self.subflow_level(),
            sends_zero_checksum: zero,
            takes_zero_checksum: self.cx.env.agreed().takes_zero_checksum(),
            ecn: self.cx.env.ect() != Ecn::NotEct,
            adaptation: self.life.adaptation(),
        })
    }

    fn path_stats(&self, id: PathId, path: &Path, subflows: &[SubflowStats]) -> PathStats {
        let mut stats = PathStats {
            address: path.remote(),
            primary: self.cx.paths.is_primary(id),
            active: path.reachability().is_active(),
            confirmed: path.is_confirmed(),
            packets_sent: 0,
            payload_bytes_sent: 0,
            payload_bytes_unique: 0,
            retransmissions: 0,
            retransmissions_fast: 0,
            retransmissions_recovery: 0,
            retransmissions_timeout: 0,
            retransmissions_probe: 0,
            retransmissions_spurious: 0,
            chunks_lost: 0,
            messages_abandoned_unsent: 0,
            messages_abandoned_sent: 0,
            out_of_order_received: 0,
            timeouts: 0,
            errors: path.reachability().errors(),
            cwnd: self.sender.window_on(id),
            ssthresh: self.sender.ssthresh_on(id),
            flight: 0,
            srtt: path.rtt().srtt(),
            rttvar: path.rtt().srtt().map(|_| path.rtt().rttvar()),
            min_rtt: None,
            last_rtt: None,
            rto: path.rtt().rto(),
            mtu: path.mtu(),
        };
        for (row, subflow) in (0..).zip(subflows) {
            if self.sender.path_of_subflow(row) != Some(id) {
                continue;
            }
            stats.packets_sent += subflow.packets_sent;
            stats.payload_bytes_sent += subflow.payload_bytes_sent;
            stats.payload_bytes_unique += subflow.payload_bytes_unique;
            stats.retransmissions += subflow.retransmissions;
            stats.retransmissions_fast += subflow.retransmissions_fast;
            stats.retransmissions_recovery += subflow.retransmissions_recovery;
            stats.retransmissions_timeout += subflow.retransmissions_timeout;
            stats.retransmissions_probe += subflow.retransmissions_probe;
            stats.retransmissions_spurious += subflow.retransmissions_spurious;
            stats.messages_abandoned_unsent += subflow.messages_abandoned_unsent;
            stats.messages_abandoned_sent += subflow.messages_abandoned_sent;
            stats.out_of_order_received += subflow.out_of_order_received;
            stats.timeouts += subflow.timeouts;
            stats.last_rtt = stats.last_rtt.or(subflow.last_rtt);
            stats.min_rtt = stats.min_rtt.into_iter().chain(subflow.min_rtt).min();
        }
        (stats.flight, stats.chunks_lost) = self.sender.flight_and_lost_on(id);
        stats
    }

    /// Counters and gauges.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let mut stats = self.cx.report.stats.stats();
        self.sender.fill_stats(&self.cx, &mut stats);
        let abandoned = self.abandoned(None, None);
        (stats.messages_abandoned_unsent, stats.messages_abandoned_sent) = (abandoned.unsent, abandoned.sent);
        stats
    }
}

/// Subflows come and go, and a restart of the peer begins them anew; the counts of a path stay. The first path, that
/// of the handshake, gets the difference between the totals and the counts of all others.
fn give_the_first_the_rest(paths: &mut [PathStats], all: &Stats) {
    let Some((first, others)) = paths.split_first_mut() else { return };
    macro_rules! rest {
        ($($counter:ident)*) => {
            $(first.$counter = all.$counter.saturating_sub(others.iter().map(|path| path.$counter).sum());)*
        };
    }
    rest!(
        packets_sent payload_bytes_sent payload_bytes_unique
        retransmissions retransmissions_fast retransmissions_recovery retransmissions_timeout retransmissions_probe
        retransmissions_spurious chunks_lost timeouts
        messages_abandoned_unsent messages_abandoned_sent out_of_order_received
    );
}
