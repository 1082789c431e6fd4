//! Several virtual RED queues in one first-in, first-out queue: RIO-C, RIO-D and WRED, as the DiffServ module of ns-2
//! (Nortel Networks, 2000) has them. A frame's class says which thresholds hold for it; frames that are admitted are
//! sent in order.

use std::collections::VecDeque;

use anabranch_base::{Duration, Instant, Rng};

use super::average::{Average, LinkFacts, Weight};
use super::classes::ClassTable;
use super::discipline::QueueDiscipline;
use crate::stats::Span;
use crate::tally::Tally;
use crate::{ClassStats, Colour, DropReason, Dropped, DscpSet, Frame};

/// The frames that the average of a virtual queue counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VirtualMode {
    /// Coupled (RIO-C): the frames of its own class and of all classes before it. So the classes that come later are
    /// dropped because of those that come first, and not the other way round.
    Coupled,
    /// Decoupled (RIO-D): the frames of its own class alone.
    Decoupled,
    /// WRED: all frames; there is one average.
    Whole,
}

/// Errors of the RED module of ns-2, off unless set. Without them at most 1/p frames lie between two drops (Floyd and
/// Jacobson 1993, section 7), and an idle time counts once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VirtualQuirks {
    /// When more than 1/p frames have passed since the last drop, which a rising p makes possible, nothing is dropped at random
    /// any more until the average leaves the space between the thresholds: p / (1 - count p) is negative there. It hardly
    /// shows at a weight of 0.002 and two decoupled classes; with WRED, or a larger weight, it takes away a tenth to three
    /// quarters of the early drops.
    pub overrun: bool,
    /// The idle time before a frame that is dropped counts once more when the next frame comes.
    pub idle_twice: bool,
}

/// Virtual queues.
#[derive(Clone, Debug, PartialEq)]
pub struct VirtualConfig {
    /// The frames that the averages count.
    pub mode: VirtualMode,
    /// At most so many frames wait, the one being sent not included.
    pub packets: Option<u64>,
    /// How much one arrival weighs in an average. The module's own value is 0.002.
    pub weight: Weight,
    /// Bytes of a typical packet: averages fall by so many packets a second while nothing waits.
    pub mean_packet: u32,
    /// Whether frames that can be marked are marked instead of dropped, except when the queue is full.
    pub ecn: bool,
    /// Errors of the module of ns-2 that one may want to have.
    pub quirks: VirtualQuirks,
    /// The virtual queues, at most 64. A frame belongs to the first that takes it, or else to the last.
    pub classes: Vec<VirtualClass>,
}

/// One virtual queue.
#[derive(Clone, Debug, PartialEq)]
pub struct VirtualClass {
    /// Its name in the statistics.
    pub name: String,
    /// Frames with these code points.
    pub dscp: DscpSet,
    /// Colour that the frames of the virtual queue must have, too; `None` for any.
    pub colour: Option<Colour>,
    /// Average above which frames are dropped at random.
    pub min: f64,
    /// Average above which every frame is dropped.
    pub max: f64,
    /// Probability of a drop at `max`.
    pub max_p: f64,
}

/// One first-in, first-out queue with virtual queues in it.
#[derive(Clone, Debug)]
pub struct VirtualRed {
    waiting: VecDeque<(u8, Frame)>,
    bytes: u64,
    mode: VirtualMode,
    max_frames: u64,
    ecn: bool,
    quirks: VirtualQuirks,
    classes: Vec<Class>,
    class_of: ClassTable,
    rng: Rng,
}

/// A virtual queue at work.
#[derive(Clone, Debug)]
struct Class {
    config: VirtualClass,
    average: Average,
    waiting: usize,
    /// Frames that the average found between the thresholds since the last drop.
    count: u64,
    /// Since when nothing waits that the average counts.
    idle_since: Option<Instant>,
    tally: Tally,
}

/// The decision about an arriving frame for which there is room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Waits,
    Picked(DropReason),
}

impl VirtualRed {
    /// An empty queue in front of `link`. Its random numbers come from `rng`. Classes beyond the 64th are left out; without
    /// any class everything waits.
    #[must_use]
    pub fn new(config: VirtualConfig, link: LinkFacts, rng: Rng) -> Self {
        let average = Average::new(config.weight, link, config.mean_packet);
        let mut configs = config.classes;
        configs.truncate(64);
        let table: Vec<_> = configs.iter().map(|class| (class.dscp, class.colour)).collect();
        let classes = configs.into_iter().map(|config| Class {
            config,
            average: average.clone(),
            waiting: 0,
            count: 0,
            idle_since: Some(Instant::ZERO),
            tally: Tally::start(0, Span::ALL, 0),
        });
        Self {
            waiting: VecDeque::new(),
            bytes: 0,
            mode: config.mode,
            max_frames: config.packets.unwrap_or(u64::MAX),
            ecn: config.ecn,
            quirks: config.quirks,
            classes: classes.collect(),
            class_of: ClassTable::new(&table),
            rng,
        }
    }

    /// The averages as they are now, class by class.
    pub fn averages_now(&self) -> impl Iterator<Item = f64> + '_ {
        self.classes.iter().map(|class| class.average.value())
    }

    pub(crate) fn count(&mut self, now: Instant, span: Span) {
        for class in &mut self.classes {
            class.tally = Tally::start(now.as_nanos(), span, class.waiting as u64);
        }
    }

    pub(crate) fn marks(&self) -> u64 {
        self.classes.iter().map(|class| class.tally.watch.marks()).sum()
    }

    pub(crate) fn classes(&self, now: Instant) -> Vec<ClassStats> {
        let stats = |class: &Class| ClassStats {
            average: Some(class.tally.watch.average(1.0)),
            ..class.tally.stats(&class.config.name, now)
        };
        self.classes.iter().map(stats).collect()
    }

    /// The averages that an arrival in `class` brings up to date.
    fn touched(&self, class: usize) -> std::ops::Range<usize> {
        match self.mode {
            VirtualMode::Coupled => class..self.classes.len(),
            VirtualMode::Decoupled => class..class + 1,
            VirtualMode::Whole => 0..1,
        }
    }

    /// How many frames the average of `class` counts now.
    fn counted(&self, class: usize) -> usize {
        match self.mode {
            VirtualMode::Coupled => self.classes.iter().take(class + 1).map(|class| class.waiting).sum(),
            VirtualMode::Decoupled => self.classes.get(class).map_or(0, |class| class.waiting),
            VirtualMode::Whole => self.waiting.len(),
        }
    }

    /// A frame of `class` is there: the averages move.
    fn average(&mut self, now: Instant, class: usize) -> f64 {
        for index in self.touched(class) {
            let length = self.counted(index) as f64;
            if let Some(class) = self.classes.get_mut(index) {
                let idle: Option<Duration> = class.idle_since.map(|since| now - since);
                class.average.update(length, idle);
                // The time that has been accounted for does not count again if the frame is dropped.
                if !self.quirks.idle_twice {
                    class.idle_since = class.idle_since.map(|_| now);
                }
            }
        }
        let holder = if self.mode == VirtualMode::Whole { 0 } else { class };
        self.classes.get(holder).map_or(0.0, |class| class.average.value())
    }

    /// Decides by the class's thresholds.
    fn fate(&mut self, now: Instant, class: usize, average: f64) -> Fate {
        let Some(class) = self.classes.get_mut(class) else { return Fate::Waits };
        let VirtualClass { min, max, max_p, .. } = class.config;
        let p = if average <= min {
            0.0
        } else if average <= max {
            max_p * (average - min) / (max - min)
        } else {
            1.0
        };
        class.tally.watch.look(now, average, p);
        if average <= min {
            class.count = 0;
            return Fate::Waits;
        }
        if average > max {
            class.count = 1;
            return Fate::Picked(DropReason::Forced);
        }
        // p / (1 - count p), where the module counts from 0 at the first frame above the threshold and from 1 after a drop.
        let passed = class.count as f64 * p;
        class.count += 1;
        let spread = match self.quirks.overrun {
            _ if passed < 1.0 => p / (1.0 - passed),
            true if passed > 1.0 => 0.0,
            _ => 1.0,
        };
        if self.rng.f64() < spread {
            class.count = 1;
            return Fate::Picked(DropReason::Early);
        }
        Fate::Waits
    }

    /// After a frame of `class` has been taken in.
    fn busy(&mut self, class: usize) {
        for index in self.touched(class) {
            if let Some(class) = self.classes.get_mut(index) {
                class.idle_since = None;
            }
        }
    }
}

impl QueueDiscipline for VirtualRed {
    fn enqueue(&mut self, now: Instant, _free_at: Instant, mut frame: Frame, dropped: &mut Vec<Dropped>) {
        let index = self.class_of.of(&frame);
        if let Some(class) = self.classes.get_mut(index) {
            class.tally.arrival(now, frame.size);
        }
        let mut fate = Fate::Picked(DropReason::QueueFull);
        if (self.waiting.len() as u64) < self.max_frames {
            let average = self.average(now, index);
            fate = self.fate(now, index, average);
            if fate != Fate::Waits && self.ecn && frame.can_be_marked() {
                frame.mark();
                fate = Fate::Waits;
                if let Some(class) = self.classes.get_mut(index) {
                    class.tally.watch.marked(now);
                }
            }
        }
        if let Fate::Picked(reason) = fate {
            if let Some(class) = self.classes.get_mut(index) {
                class.tally.dropped(now, reason);
            }
            dropped.push(Dropped { at: now, frame, reason });
            return;
        }
        if let Some(class) = self.classes.get_mut(index) {
            class.waiting += 1;
            class.tally.length(now, class.waiting);
        }
        self.busy(index);
        self.bytes += u64::from(frame.size);
        self.waiting.push_back((index as u8, frame));
    }

    fn dequeue(&mut self, now: Instant, _dropped: &mut Vec<Dropped>) -> Option<Frame> {
        let (index, frame) = self.waiting.pop_front()?;
        let index = usize::from(index);
        self.bytes -= u64::from(frame.size);
        if let Some(class) = self.classes.get_mut(index) {
            class.waiting -= 1;
            class.tally.length(now, class.waiting);
            class.tally.sent(now, frame.size);
        }
        for touched in self.touched(index) {
            if self.counted(touched) > 0 {
                break;
            }
            if let Some(class) = self.classes.get_mut(touched) {
                class.idle_since = Some(now);
            }
        }
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
