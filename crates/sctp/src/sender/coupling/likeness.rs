//! Do two classes wait in one queue? Packets that leave at the same time meet the same delay then, and a class that sends less
//! for a while shortens the delay of both.
//!
//! RFC 8382 compares statistics of delays over seconds: two queues of the same kind look alike. Compared here are the delays at
//! the same time, and so also their changes when the load moves from one class to the other ([`super::holding`]).

/// A mean over the last intervals.
#[derive(Clone, Copy, Debug, Default)]
struct Fading {
    sum: f64,
    weight: f64,
}

/// Share that remains of the earlier intervals after each one: they are remembered for 60.
const KEPT: f64 = 1.0 - 1.0 / 60.0;
impl Fading {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.weight += 1.0;
    }

    fn fade(&mut self) {
        self.sum *= KEPT;
        self.weight *= KEPT;
    }

    fn mean(self) -> f64 {
        if self.weight > 0.0 { self.sum / self.weight } else { 0.0 }
    }
}

/// Pairs of delays that a verdict needs.
const FEWEST: f64 = 8.0;
/// In one queue the delays of two classes differ by as much as those of one class: the ratio of the mean squares is about one. Above
/// this there are two queues.
const TWO_QUEUES: f64 = 2.5;
/// Differences below this may come from hosts and clocks, ns.
const BLUR: f64 = 1e4;

/// Comparison of the delays of two classes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Likeness {
    /// Delay of one class less that of the other, of packets that left at about the same time, ns; and its square.
    across: Fading,
    across_squared: Fading,
    /// Mean square of the change of delay within the two classes.
    within_squared: Fading,
}

impl Likeness {
    /// Packets left at about the same time, two of each class: `across` is the difference of the last delays of the two classes, ns;
    /// `within_squared` the mean square of the changes within each class.
    pub(super) fn note(&mut self, across: f64, within_squared: f64) {
        self.across.add(across);
        self.across_squared.add(across * across);
        self.within_squared.add(within_squared);
    }

    /// At the end of an interval: whether the two classes wait in one queue, once there are enough samples.
    pub(super) fn verdict(&mut self) -> Option<bool> {
        let known = self.across.weight >= FEWEST;
        // The shortest delays of the two differ by the same amount all the time: that is no variance.
        let mean = self.across.mean();
        let variance = (self.across_squared.mean() - mean * mean).max(0.0);
        let ratio = variance / self.within_squared.mean().max(BLUR * BLUR);
        for each in [&mut self.across, &mut self.across_squared, &mut self.within_squared] {
            each.fade();
        }
        known.then_some(ratio <= TWO_QUEUES)
    }
}

/// Weight of one verdict in the memory of a pair.
const WEIGHT: f64 = 1.0 / 32.0;
/// A pair taken for one queue is taken for two below this share of recent verdicts, and for one again above the other share.
const PART: f64 = 0.1;
const MEET: f64 = 0.4;

/// The memory of verdicts on a pair of classes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    together: bool,
    share: f64,
    pub(super) likeness: Likeness,
}

impl Default for Pair {
    /// Together until shown apart: unfairness to other flows is worse than a slow start of our own.
    fn default() -> Self {
        Self { together: true, share: 0.5, likeness: Likeness::default() }
    }
}

impl Pair {
    /// An interval has ended. True if that has changed the verdict.
    pub(super) fn review(&mut self) -> bool {
        let before = self.together;
        if let Some(same) = self.likeness.verdict() {
            self.seen(same);
        }
        self.together != before
    }

    /// A verdict on two classes.
    pub(super) fn seen(&mut self, same: bool) {
        self.share += WEIGHT * (f64::from(u8::from(same)) - self.share);
        self.together = if self.together { self.share >= PART } else { self.share > MEET };
    }

    pub(super) fn is_together(self) -> bool {
        self.together
    }
}
