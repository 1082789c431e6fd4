//! A bottleneck that is imagined behind the place of the capture: a queue in order of arrival, and a transmitter of a
//! given rate. Computes its idle times, its queue and the delays (the calculation of A. Andersson's thesis on web
//! objects over SCTP, section 5.3.1: start = the later of arrival and end of the packet before; end = start + size /
//! rate).
//!
//! Time is counted in nanoseconds times bits per second, so nothing is rounded before the result is.

use std::collections::VecDeque;

use serde::Serialize;

/// The bottleneck.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bottleneck {
    /// Bits per second, from 1.
    pub rate_bps: u64,
    /// Packets that it holds, with the one on its way; packets that find it full are lost. `None` is no limit.
    pub limit: Option<u64>,
}

/// A packet at the bottleneck. Times are seconds since the capture's first packet.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Passage {
    /// Number of its frame.
    pub number: u64,
    /// Time of its arrival, seconds.
    pub time_s: f64,
    /// Bytes that it takes.
    pub size: u32,
    /// When its first bit left; `null` if it found the queue full.
    pub start_s: Option<f64>,
    /// Time at which its last bit left, seconds.
    pub end_s: Option<f64>,
    /// How long the bottleneck had had nothing to do before.
    pub idle_s: f64,
    /// Packets it found there, with the one on its way.
    pub queue_packets: u64,
    /// Bytes it found there, with all of the one on its way.
    pub queue_bytes: u64,
}

/// The idle times, queue and delays of the bottleneck from the first packet's arrival to the end of the last one's
/// transmission.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Occupancy {
    /// Packets that came.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Packets that found it full.
    pub overflows: u64,
    /// Length of the whole, seconds.
    pub total_s: f64,
    /// Time with something to send, seconds.
    pub busy_s: f64,
    /// Time with nothing to send, seconds.
    pub idle_s: f64,
    /// Idle time as a share of the whole, 0 to 1; `null` without packets.
    pub idle_share: Option<f64>,
    /// How often it had nothing to do.
    pub idle_periods: u64,
    /// The longest of these, seconds.
    pub idle_longest_s: f64,
    /// Mean over time of packets waiting or on their way.
    pub queue_mean_packets: f64,
    /// Most packets in the queue, including the arriving packet.
    pub queue_max_packets: u64,
    /// Most bytes in the queue, including the arriving packet.
    pub queue_max_bytes: u64,
    /// Mean time from arrival to the end of transmission, seconds.
    pub delay_mean_s: f64,
    /// The longest such time, seconds.
    pub delay_max_s: f64,
}

/// A packet that comes: frame number, nanoseconds, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Number of its frame.
    pub number: u64,
    /// Nanoseconds since the capture's first packet.
    pub time_ns: i64,
    /// Bytes.
    pub size: u32,
}

impl Bottleneck {
    /// Sends packets through, in the order of their times, which may differ from their order in the file.
    #[must_use]
    pub fn pass(&self, arrivals: &[Arrival]) -> (Vec<Passage>, Occupancy) {
        let rate = i128::from(self.rate_bps.max(1));
        let seconds = |time: i128| time as f64 / rate as f64 / 1e9;
        let mut sorted = arrivals.to_vec();
        sorted.sort_by_key(|arrival| (arrival.time_ns, arrival.number));
        let mut passages = Vec::with_capacity(sorted.len());
        let mut sums = Occupancy::default();
        // Ends of transmission and sizes of the queued packets; times are nanoseconds times the rate.
        let mut queue: VecDeque<(i128, u32)> = VecDeque::new();
        let mut queue_bytes = 0_u64;
        let (mut free, mut idle, mut busy, mut delay) = (None::<i128>, 0_i128, 0_i128, 0_i128);
        let (mut idle_longest, mut delay_longest) = (0_i128, 0_i128);
        for arrival in &sorted {
            // At the ends of both scales sums no longer fit; they stay at their largest.
            let now = i128::from(arrival.time_ns).saturating_mul(rate);
            while let Some(&(end, size)) = queue.front() {
                if end > now {
                    break;
                }
                queue.pop_front();
                queue_bytes -= u64::from(size);
            }
            sums.packets += 1;
            sums.bytes += u64::from(arrival.size);
            let found = queue.len() as u64;
            let mut passage = Passage {
                number: arrival.number,
                time_s: arrival.time_ns as f64 / 1e9,
                size: arrival.size,
                start_s: None,
                end_s: None,
                idle_s: 0.0,
                queue_packets: found,
                queue_bytes,
            };
            if self.limit.is_some_and(|limit| found >= limit) {
                sums.overflows += 1;
                passages.push(passage);
                continue;
            }
            let start = free.map_or(now, |free| free.max(now));
            let took = i128::from(arrival.size) * 8 * 1_000_000_000;
            let end = start.saturating_add(took);
            let waited = start.saturating_sub(free.unwrap_or(start));
            if waited > 0 {
                sums.idle_periods += 1;
            }
            idle = idle.saturating_add(waited);
            idle_longest = idle_longest.max(waited);
            busy = busy.saturating_add(took);
            let stayed = end.saturating_sub(now);
            delay = delay.saturating_add(stayed);
            delay_longest = delay_longest.max(stayed);
            free = Some(end);
            queue.push_back((end, arrival.size));
            queue_bytes += u64::from(arrival.size);
            sums.queue_max_packets = sums.queue_max_packets.max(queue.len() as u64);
            sums.queue_max_bytes = sums.queue_max_bytes.max(queue_bytes);
            passage.start_s = Some(seconds(start));
            passage.end_s = Some(seconds(end));
            passage.idle_s = seconds(waited);
            passages.push(passage);
        }
        let total = busy.saturating_add(idle);
        let passed = sums.packets - sums.overflows;
        sums.total_s = seconds(total);
        sums.busy_s = seconds(busy);
        sums.idle_s = seconds(idle);
        sums.idle_share = (total > 0).then(|| idle as f64 / total as f64);
        sums.idle_longest_s = seconds(idle_longest);
        if total > 0 {
            // Little: every packet is there from its arrival to its end.
            sums.queue_mean_packets = delay as f64 / total as f64;
        }
        if passed > 0 {
            sums.delay_mean_s = seconds(delay) / passed as f64;
        }
        sums.delay_max_s = seconds(delay_longest);
        (passages, sums)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Table 5.1 of the thesis: 60 kbit/s, times to the millisecond.
    #[test]
    fn the_spreadsheet_of_the_thesis() {
        let rows = [
            (0, 76, 0.000, 0.010, 0.000),
            (383, 1468, 0.383, 0.579, 0.373),
            (383, 1468, 0.579, 0.774, 0.000),
            (390, 76, 0.774, 0.784, 0.000),
            (944, 1468, 0.944, 1.140, 0.160),
            (944, 1468, 1.140, 1.335, 0.000),
            (944, 468, 1.335, 1.398, 0.000),
            (1146, 1468, 1.398, 1.594, 0.000),
            (1147, 1468, 1.594, 1.789, 0.000),
            (1154, 76, 1.789, 1.799, 0.000),
            (1959, 1468, 1.959, 2.155, 0.159),
            (1959, 1468, 2.155, 2.350, 0.000),
            (1959, 468, 2.350, 2.413, 0.000),
            (2160, 1468, 2.413, 2.608, 0.000),
            (2160, 1468, 2.608, 2.804, 0.000),
            (2168, 76, 2.804, 2.814, 0.000),
            (2974, 1468, 2.974, 3.169, 0.159),
            (2974, 1468, 3.169, 3.365, 0.000),
        ];
        let arrivals: Vec<Arrival> = (1..)
            .zip(rows)
            .map(|(number, row)| Arrival { number, time_ns: row.0 * 1_000_000, size: row.1 })
            .collect();
        let (passages, sums) = Bottleneck { rate_bps: 60_000, limit: None }.pass(&arrivals);
        for (passage, row) in passages.iter().zip(rows) {
            // The thesis has times to the millisecond, and cut its input to them.
            let near = |value: Option<f64>, expected: f64| (value.unwrap() - expected).abs() < 0.0021;
            assert!(near(passage.start_s, row.2), "{passage:?}");
            assert!(near(passage.end_s, row.3), "{passage:?}");
            assert!(near(Some(passage.idle_s), row.4), "{passage:?}");
        }
        assert_eq!(sums.idle_periods, 4);
        assert!((sums.idle_s - 0.851).abs() < 0.004, "{sums:?}");
        assert!((sums.total_s - (sums.busy_s + sums.idle_s)).abs() < 1e-12);
        // The third packet finds the second; the 76-byte one behind it finds two.
        let found: Vec<u64> = passages.iter().map(|passage| passage.queue_packets).take(8).collect();
        assert_eq!(found, [0, 0, 1, 2, 0, 1, 2, 2]);
    }

    #[test]
    fn what_finds_it_full_is_lost() {
        let arrivals: Vec<Arrival> =
            (1..=5).map(|number| Arrival { number, time_ns: 0, size: 1000 }).collect();
        let (passages, sums) = Bottleneck { rate_bps: 8_000, limit: Some(3) }.pass(&arrivals);
        assert_eq!((sums.overflows, sums.queue_max_packets, sums.queue_max_bytes), (2, 3, 3000));
        assert_eq!(passages[2].end_s, Some(3.0));
        assert_eq!((passages[3].end_s, passages[3].queue_packets), (None, 3));
        assert_eq!((sums.busy_s, sums.idle_s, sums.delay_mean_s), (3.0, 0.0, 2.0));
        assert_eq!(sums.queue_mean_packets, 2.0);
    }

    #[test]
    fn nothing_and_extremes() {
        let bottleneck = Bottleneck { rate_bps: u64::MAX, limit: Some(0) };
        assert_eq!(bottleneck.pass(&[]).1.idle_share, None);
        let far = [i64::MIN, 0, i64::MAX].map(|time_ns| Arrival { number: 1, time_ns, size: u32::MAX });
        assert_eq!(bottleneck.pass(&far).1.overflows, 3);
        let (passages, _) = Bottleneck { rate_bps: u64::MAX, limit: None }.pass(&far);
        assert_eq!(passages.len(), 3);
    }
}
