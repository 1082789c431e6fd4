//! The paths: rate, round-trip time, queue of the bottleneck, losses.

use anabranch_base::{Duration, Rng};
use anabranch_link::{
    Applies, Bernoulli, CoDel, CoDelConfig, Counts, DropTail, Link, LinkConfig, Loss, LossAt, Queue, Rate,
};

/// Seconds of virtual time for which goodput is measured, from the first packet on.
pub const SECONDS: f64 = 30.0;

/// The queue of the bottleneck.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Waiting {
    /// Drop-tail of so many bandwidth-delay products.
    DropTail(f64),
    /// CoDel, RFC 8289, with its defaults.
    CoDel,
}

/// One path, and how much is sent over it.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// As it is called in the table and on the command line.
    pub name: &'static str,
    /// Bits a second, both ways.
    pub rate: u64,
    /// Milliseconds of propagation, there and back together.
    pub rtt: u64,
    /// At the bottleneck, both ways.
    pub waiting: Waiting,
    /// Probability with which each packet of the sender is lost, besides losses in the queue.
    pub loss: f64,
    /// Bytes to be sent; nothing: as many as go through in [`SECONDS`].
    pub bytes: Option<u64>,
}

const LONG: Row =
    Row { name: "", rate: 100_000_000, rtt: 100, waiting: Waiting::DropTail(1.0), loss: 0.0, bytes: None };

/// All of them.
pub const ROWS: [Row; 9] = [
    Row { name: "100 Mbit/s, 10 ms", rtt: 10, ..LONG },
    Row { name: "100 Mbit/s, 100 ms", ..LONG },
    Row { name: "100 Mbit/s, 100 ms, 0.1 BDP", waiting: Waiting::DropTail(0.1), ..LONG },
    Row { name: "100 Mbit/s, 100 ms, CoDel", waiting: Waiting::CoDel, ..LONG },
    Row { name: "100 Mbit/s, 100 ms, 0.1 % loss", loss: 0.001, ..LONG },
    Row { name: "100 Mbit/s, 100 ms, 1 % loss", loss: 0.01, ..LONG },
    Row { name: "50 Mbit/s, 300 ms", rate: 50_000_000, rtt: 300, ..LONG },
    Row { name: "1 Gbit/s, 20 ms", rate: 1_000_000_000, rtt: 20, ..LONG },
    Row { name: "10 MB, 100 Mbit/s, 100 ms", bytes: Some(10_000_000), ..LONG },
];

impl Row {
    /// Bytes that fill the path: rate times round-trip time.
    #[must_use]
    pub fn product(&self) -> u64 {
        self.rate / 8 * self.rtt / 1000
    }

    /// One direction. Losses are on the way of the data only, each packet on its own.
    #[must_use]
    pub fn link(&self, seed: u64, data: bool) -> Link {
        let queue = match self.waiting {
            Waiting::DropTail(share) => Queue::DropTail(DropTail::new(
                None,
                Some((self.product() as f64 * share) as u64),
                Counts::Waiting,
            )),
            Waiting::CoDel => Queue::CoDel(Box::new(CoDel::new(CoDelConfig::default()))),
        };
        let loss = if data && self.loss > 0.0 {
            Loss::Bernoulli(Bernoulli::new(self.loss, Applies::default(), Rng::stream(seed, "path", "loss")))
        } else {
            Loss::None
        };
        Link::new(LinkConfig {
            rate: Rate::BitsPerSecond(self.rate),
            delay: Duration::from_micros(self.rtt * 500),
            queue,
            loss,
            loss_at: LossAt::Entry,
        })
    }
}
