//! The experiment of Hurtig et al. (2006): a server sends 16 messages to a client that has called it, and one of its packets is lost.

use std::sync::Arc;

use anabranch_base::{Duration, Instant};
use anabranch_sctp::{Config, Event, Stats};

use super::{Logged, PORT, Pair, Side, address};

pub const MESSAGES: usize = 16;
pub const MESSAGE: usize = 1452;

/// Rate, bits per second, and delay, milliseconds, of the display sets of Hurtig et al. (2006).
pub const LOW: (u64, u64) = (40_000, 5);
pub const MEDIUM: (u64, u64) = (1_000_000, 40);
pub const HIGH: (u64, u64) = (10_000_000, 300);

/// Outcome of a transfer with one loss.
pub struct SingleLoss {
    /// End of the handshake, last byte, end of the stream at the client, seconds; infinite if never.
    pub times: [f64; 3],
    /// Of the server.
    pub stats: Stats,
    /// Packets of the server with DATA that the client had already, in the order of their arrival: their first TSN, counted
    /// from 0.
    pub spurious: Vec<u32>,
    pub start: Instant,
    pub pair: Pair,
}

impl SingleLoss {
    /// Loses the packet `position` of the server; 0 loses none.
    pub fn run(config: &Config, (rate, delay): (u64, u64), position: u64, start: Instant) -> Self {
        let config = Arc::new(config.clone());
        let mut pair = Pair::new(1);
        pair.now = start;
        pair.link(rate, Duration::from_millis(delay));
        let mut number = 0;
        pair.drop_if(move |p| {
            number += u64::from(p.from == Side::Z);
            p.from == Side::Z && number == position
        });
        pair.offer = Some((MESSAGES, MESSAGE));
        pair.z.listen(Arc::clone(&config)).unwrap();
        pair.a.connect(start, address(Side::Z), PORT, config).unwrap();
        let mut times = [None; 3];
        while pair.step(start + Duration::from_secs(120)) {
            let seconds = (pair.now - start).as_secs_f64();
            let received: usize = pair.received.iter().map(|(_, m)| m.len()).sum();
            let over = [
                pair.saw(Side::A, |e| matches!(e, Event::Established { .. })),
                received == MESSAGES * MESSAGE,
                pair.saw(Side::A, |e| matches!(e, Event::PeerShutdown)),
            ];
            for (time, over) in times.iter_mut().zip(over) {
                if over {
                    time.get_or_insert(seconds);
                }
            }
        }
        let id = pair.id_of(Side::Z);
        let stats = pair.z.view(id).unwrap().stats();
        let mut run = Self {
            times: times.map(|time| time.unwrap_or(f64::INFINITY)),
            stats,
            spurious: Vec::new(),
            start,
            pair,
        };
        run.spurious = run.resent(|p| !p.dropped);
        run
    }

    /// DATA packets of the server that `keep` keeps, whose DATA an earlier one of these had.
    fn resent(&self, keep: impl Fn(&Logged) -> bool) -> Vec<u32> {
        let mut seen = std::collections::BTreeSet::new();
        self.data().filter(|(_, p)| keep(p)).filter(|(n, _)| !seen.insert(*n)).map(|(n, _)| n).collect()
    }

    /// DATA packets of the server, with their TSN counted from 0.
    pub fn data(&self) -> impl Iterator<Item = (u32, &Logged)> {
        let packets = self.pair.log.iter().filter(|p| p.from == Side::Z);
        let tsn = |p: &Logged| p.data().first().map(|d| d.tsn.get());
        let base = packets.clone().find_map(tsn).unwrap();
        packets.filter_map(move |p| Some((tsn(p)?.wrapping_sub(base), p)))
    }

    /// Packets of the server.
    pub fn packets(&self) -> usize {
        self.pair.log.iter().filter(|p| p.from == Side::Z).count()
    }

    /// Shown with --nocapture.
    #[expect(clippy::print_stderr, reason = "shown when a test fails")]
    pub fn show(&self) {
        for p in &self.pair.log {
            let at = (p.at - self.start).as_secs_f64();
            let way = if p.from == Side::A { "C>S" } else { "S>C" };
            let lost = if p.dropped { " DROPPED" } else { "" };
            eprintln!("{at:.6} {way} {} {}{lost}", p.bytes.len() + 20, p.words().join("+"));
        }
    }
}
