//! RED: random early detection (Floyd and Jacobson 1993), with the refinements of ns-2.35.

use std::collections::VecDeque;

use anabranch_base::{Duration, Instant, Rng};

use super::average::{Average, LinkFacts, Weight};
use super::discipline::QueueDiscipline;
use crate::stats::Span;
use crate::tally::Watch;
use crate::{AverageStats, DropReason, Dropped, Frame};

/// The parameters of RED. [`RedConfig::default`] has those of ns-2.35, except that it counts packets.
#[derive(Clone, Debug, PartialEq)]
pub struct RedConfig {
    /// From so many waiting frames on, the one being sent not included, one is dropped for each that arrives.
    pub packets: Option<u64>,
    /// From so many waiting bytes on, one frame is dropped for each that arrives.
    pub bytes: Option<u64>,
    /// Average from which frames are dropped at random. Packets; where bytes are counted, packets of `mean_packet`. `None`
    /// is the number sent within half of `target_delay`, at least 5.
    pub min: Option<f64>,
    /// Average at which the probability is `max_p`. `None` is three times `min`.
    pub max: Option<f64>,
    /// Probability of a drop at `max`. The first value, with `adaptive`.
    pub max_p: f64,
    /// How much one arrival weighs in the average.
    pub weight: Weight,
    /// The unit of the average queue length.
    pub measure: Measure,
    /// Whether the probability is in proportion to a frame's size. ns-2's `bytes_`.
    pub by_size: bool,
    /// Bytes of a typical packet.
    pub mean_packet: u32,
    /// Whether the probability rises from `max_p` to 1 between `max` and twice `max`, instead of jumping to 1.
    pub gentle: bool,
    /// Whether there are about 1/p frames between two drops, at least: uniform over 1/p to 2/p instead of 1 to 1/p.
    pub wait: bool,
    /// The frame that is dropped when the average is too high for a random decision, or the queue is full.
    pub victim: Victim,
    /// Whether frames that can be marked are marked instead of dropped at random.
    pub ecn: bool,
    /// Frames are marked only while the probability, before it is spread, is below this; ns-2's `mark_p_`.
    pub mark_p: f64,
    /// Whether `max_p` follows the average.
    pub adaptive: Option<AdaptiveRed>,
    /// For an automatic `min`.
    pub target_delay: Duration,
}

/// The unit of the average queue length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Measure {
    /// Frames.
    #[default]
    Packets,
    /// Bytes. ns-2's `queue_in_bytes_`.
    Bytes,
}

/// The frame that is dropped when the drop is certain, not random.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Victim {
    /// The frame that arrives.
    #[default]
    Arriving,
    /// Any, the arriving one among them.
    Random,
    /// The one that has waited longest.
    Oldest,
}

/// Adaptive RED (Floyd, Gummadi and Shenker 2001): keeps the average in the middle between the thresholds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdaptiveRed {
    /// `max_p` rises by this, or by a quarter of itself if that is less.
    pub alpha: f64,
    /// `max_p` falls to this part of itself.
    pub beta: f64,
    /// At most one change in this time.
    pub interval: Duration,
    /// `max_p` does not rise above this.
    pub top: f64,
    /// `max_p` does not fall below this. `None` is 0.01, or less where a window of 100 ms at the link's rate has more than 100
    /// packets of 1000 bytes: one drop in a window.
    pub bottom: Option<f64>,
}

impl Default for AdaptiveRed {
    fn default() -> Self {
        Self { alpha: 0.01, beta: 0.9, interval: Duration::from_millis(500), top: 0.5, bottom: None }
    }
}

impl Default for RedConfig {
    fn default() -> Self {
        Self {
            packets: None,
            bytes: None,
            min: None,
            max: None,
            max_p: 0.1,
            weight: Weight::Auto,
            measure: Measure::Packets,
            by_size: false,
            mean_packet: 500,
            gentle: true,
            wait: true,
            victim: Victim::Arriving,
            ecn: false,
            mark_p: 0.1,
            adaptive: None,
            target_delay: Duration::from_millis(5),
        }
    }
}

/// A queue with random early detection.
#[derive(Clone, Debug)]
pub struct Red {
    waiting: VecDeque<Frame>,
    bytes: u64,
    config: RedConfig,
    /// In units of the average.
    min: f64,
    max: f64,
    max_p: f64,
    /// Bottom of the adaptation.
    bottom: f64,
    /// The last adaptation.
    adapted: Instant,
    average: Average,
    /// Frames that arrived since the last drop, and their bytes.
    count: u64,
    count_bytes: u64,
    /// Whether the last frame too found the average above `min`.
    above: bool,
    rng: Rng,
    watch: Watch,
}

/// The decision about an arriving frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Waits,
    Marked,
    Dropped,
    /// A packet is dropped.
    Forced(DropReason),
}

impl Red {
    /// An empty queue in front of `link`. Its random numbers come from `rng`.
    #[must_use]
    pub fn new(config: RedConfig, link: LinkFacts, rng: Rng) -> Self {
        let per_second = link.packets_per_second(config.mean_packet);
        let half = config.target_delay.as_secs_f64() * per_second / 2.0;
        let min = config.min.unwrap_or(if half.is_finite() { half.max(5.0) } else { 5.0 });
        let max = config.max.unwrap_or(3.0 * min);
        let unit = match config.measure {
            Measure::Packets => 1.0,
            Measure::Bytes => f64::from(config.mean_packet),
        };
        // A window of 0.1 s in packets of 1000 bytes is rate * 0.1 / 8000.
        let one_in_a_window = link.rate.map_or(0.01, |rate| 80_000.0 / rate as f64);
        let bottom = config.adaptive.and_then(|adaptive| adaptive.bottom);
        Self {
            waiting: VecDeque::new(),
            bytes: 0,
            min: min * unit,
            max: max * unit,
            max_p: config.max_p,
            bottom: bottom.unwrap_or_else(|| one_in_a_window.min(0.01)),
            adapted: Instant::ZERO,
            average: Average::new(config.weight, link, config.mean_packet),
            config,
            count: 0,
            count_bytes: 0,
            above: false,
            rng,
            watch: Watch::start(Span::ALL),
        }
    }

    /// The average as it is now, in the unit that it counts in.
    #[must_use]
    pub const fn average_now(&self) -> f64 {
        self.average.value()
    }

    /// `max_p` as it is now.
    #[must_use]
    pub const fn max_p(&self) -> f64 {
        self.max_p
    }

    pub(crate) fn count(&mut self, span: Span) {
        self.watch = Watch::start(span);
    }

    pub(crate) const fn marks(&self) -> u64 {
        self.watch.marks()
    }

    pub(crate) fn average(&self) -> AverageStats {
        self.watch.average(match self.config.measure {
            Measure::Packets => 1.0,
            Measure::Bytes => f64::from(self.config.mean_packet.max(1)),
        })
    }

    fn length(&self) -> f64 {
        match self.config.measure {
            Measure::Packets => self.waiting.len() as f64,
            Measure::Bytes => self.bytes as f64,
        }
    }

    /// The average from which every frame is dropped.
    fn forced_from(&self) -> f64 {
        if self.config.gentle { 2.0 * self.max } else { self.max }
    }

    /// How likely a drop is at an average, before it is spread.
    fn probability(&self, average: f64) -> f64 {
        let p = if average < self.min {
            0.0
        } else if average < self.max {
            self.max_p * (average - self.min) / (self.max - self.min)
        } else if self.config.gentle {
            // A line from max_p at max to 1 at twice max.
            self.max_p + (1.0 - self.max_p) * (average - self.max) / self.max
        } else {
            1.0
        };
        p.min(1.0)
    }

    /// The probability of a drop `p`, spread so that the frames between two drops are uniformly many instead of geometrically.
    fn spread(&self, p: f64, size: u32) -> f64 {
        let mean = u64::from(self.config.mean_packet.max(1));
        let passed = if self.config.by_size { self.count_bytes / mean } else { self.count } as f64 * p;
        let spread = match (self.config.wait, passed) {
            (true, passed) if passed < 1.0 => 0.0,
            (true, passed) if passed < 2.0 => p / (2.0 - passed),
            (false, passed) if passed < 1.0 => p / (1.0 - passed),
            _ => 1.0,
        };
        let spread =
            if self.config.by_size && spread < 1.0 { spread * f64::from(size) / mean as f64 } else { spread };
        spread.min(1.0)
    }

    /// At most once in an interval, `max_p` moves when the average is not near the middle.
    fn adapt(&mut self, now: Instant) {
        let Some(adaptive) = self.config.adaptive else { return };
        if now <= self.adapted + adaptive.interval {
            return;
        }
        let part = 0.4 * (self.max - self.min);
        if self.average.value() < self.min + part && self.max_p > self.bottom {
            self.max_p *= adaptive.beta;
            self.adapted = now;
        } else if self.average.value() > self.max - part && self.max_p < adaptive.top {
            self.max_p += adaptive.alpha.min(0.25 * self.max_p);
            self.adapted = now;
        }
    }

    /// Decides about a frame that has just been averaged and counted.
    fn fate(&mut self, frame: &Frame, p: f64) -> Fate {
        let average = self.average.value();
        let mut fate = Fate::Waits;
        if average >= self.min && self.length() > 1.0 {
            if average >= self.forced_from() {
                fate = Fate::Forced(DropReason::Forced);
            } else if !self.above {
                // The average has just come up: the frames between drops are counted from here.
                self.above = true;
                self.count = 1;
                self.count_bytes = u64::from(frame.size);
            } else if self.rng.f64() < self.spread(p, frame.size) {
                self.count = 0;
                self.count_bytes = 0;
                let markable = self.config.ecn && p < self.config.mark_p;
                fate = if markable && frame.can_be_marked() { Fate::Marked } else { Fate::Dropped };
            }
        } else {
            self.above = false;
        }
        let full = self.config.packets.is_some_and(|limit| self.waiting.len() as u64 >= limit)
            || self.config.bytes.is_some_and(|limit| self.bytes >= limit);
        if full { Fate::Forced(DropReason::QueueFull) } else { fate }
    }

    /// Drops a packet: `frame` or one that waits.
    fn force(&mut self, now: Instant, frame: Frame, reason: DropReason, dropped: &mut Vec<Dropped>) {
        self.count = 0;
        self.count_bytes = 0;
        let place = match self.config.victim {
            Victim::Arriving => self.waiting.len(),
            Victim::Random => self.rng.below(self.waiting.len() as u64 + 1) as usize,
            Victim::Oldest => 0,
        };
        self.bytes += u64::from(frame.size);
        self.waiting.push_back(frame);
        if let Some(victim) = self.waiting.remove(place) {
            self.bytes -= u64::from(victim.size);
            dropped.push(Dropped { at: now, frame: victim, reason });
        }
    }
}

impl QueueDiscipline for Red {
    fn enqueue(&mut self, now: Instant, free_at: Instant, mut frame: Frame, dropped: &mut Vec<Dropped>) {
        let idle = (self.waiting.is_empty() && free_at <= now).then(|| now - free_at);
        self.average.update(self.length(), idle);
        self.adapt(now);
        self.count += 1;
        self.count_bytes += u64::from(frame.size);
        let p = self.probability(self.average.value());
        self.watch.look(now, self.average.value(), p);
        match self.fate(&frame, p) {
            Fate::Dropped => {
                dropped.push(Dropped { at: now, frame, reason: DropReason::Early });
                return;
            }
            Fate::Forced(reason) => {
                self.force(now, frame, reason, dropped);
                return;
            }
            Fate::Marked => {
                frame.mark();
                self.watch.marked(now);
            }
            Fate::Waits => {}
        }
        self.bytes += u64::from(frame.size);
        self.waiting.push_back(frame);
    }

    #[inline]
    fn dequeue(&mut self, _now: Instant, _dropped: &mut Vec<Dropped>) -> Option<Frame> {
        let frame = self.waiting.pop_front()?;
        self.bytes -= u64::from(frame.size);
        Some(frame)
    }

    #[inline]
    fn len(&self) -> usize {
        self.waiting.len()
    }

    #[inline]
    fn bytes(&self) -> u64 {
        self.bytes
    }
}

#[cfg(test)]
mod tests;
