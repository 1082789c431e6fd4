//! Were packets lost because the queue was full? The rank of the delay around a loss among all delays shows it.
//!
//! A link with bit errors loses packets at any delay: then the rank of the delay, as a share, is uniform between 0 and 1, and its mean
//! is 1/2, whatever the distribution of the delays. A queue that overflows does so when the delay is largest: then the rank is near 1.
//! No threshold in milliseconds is needed, and no knowledge of the queue's size.

/// Delays that are remembered.
const REMEMBERED: usize = 256;
/// Fewer delays give no rank.
const FEWEST: usize = 16;
/// Number of losses over which the mean is taken: a plain mean at first, then a moving average.
const LOSSES: f64 = 8.0;
/// Assumed losses of mean rank 1/2 before the first loss.
const PRIOR: f64 = 2.0;
/// Mean rank above which losses come from a queue, and below which they do not any more. Eight uniform ranks have a mean
/// above 0.75 once in 200 times.
const ENTER: f64 = 0.75;
const LEAVE: f64 = 0.65;

/// A memory of delays, evenly spaced in time.
#[derive(Debug, Default)]
pub(super) struct Delays {
    ring: Vec<i64>,
    next: usize,
}

impl Delays {
    pub(super) fn note(&mut self, delay: i64) {
        if self.ring.len() < REMEMBERED {
            self.ring.push(delay);
        } else if let Some(slot) = self.ring.get_mut(self.next) {
            *slot = delay;
        }
        self.next = (self.next + 1) % REMEMBERED;
    }

    /// The longest of the remembered delays.
    pub(super) fn longest(&self) -> i64 {
        self.ring.iter().copied().max().unwrap_or_default()
    }

    /// The share of delays below `delay`, and half of those equal to it.
    pub(super) fn rank(&self, delay: i64) -> Option<f64> {
        if self.ring.len() < FEWEST {
            return None;
        }
        let halves: usize =
            self.ring.iter().map(|&other| if other < delay { 2 } else { usize::from(other == delay) }).sum();
        Some(halves as f64 / 2.0 / self.ring.len() as f64)
    }
}

/// The verdict on the last losses.
#[derive(Debug)]
pub(super) struct LossCause {
    weight: f64,
    mean: f64,
    congestion: bool,
}

impl Default for LossCause {
    fn default() -> Self {
        Self { weight: PRIOR, mean: 0.5, congestion: false }
    }
}

impl LossCause {
    pub(super) fn note(&mut self, rank: f64) {
        self.weight = (self.weight + 1.0).min(LOSSES);
        self.mean += (rank - self.mean) / self.weight;
        self.congestion = self.mean > if self.congestion { LEAVE } else { ENTER };
    }

    /// Mean rank of the last losses.
    #[cfg(test)]
    pub(super) fn mean(&self) -> f64 {
        self.mean
    }

    /// True if losses come mostly from queues that overflow, not from link errors.
    pub(super) fn is_congestion(&self) -> bool {
        self.congestion
    }

    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }
}
