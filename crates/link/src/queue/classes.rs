//! A queue for each class of frames, and a scheduler that says whose turn it is.

use anabranch_base::{Instant, Rng};

use super::average::LinkFacts;
use super::discipline::{Counted, QueueDiscipline};
use crate::stats::Span;
use crate::tally::Tally;
use crate::{ClassStats, Colour, Dropped, DscpSet, Frame};

/// Class queues. `C` is the configuration of a class's queue, such as [`QueueConfig`](crate::QueueConfig).
#[derive(Clone, Debug, PartialEq)]
pub struct ClassesConfig<C> {
    /// The rule by which the next class to send is chosen.
    pub scheduler: Scheduler,
    /// At most 64. A frame belongs to the first class that takes it, or else to the last.
    pub classes: Vec<ClassConfig<C>>,
}

/// The rule by which the next class to send is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduler {
    /// The first class that has something to send.
    Priority,
    /// Deficit round robin: in a round each class may send `quantum` bytes times its weight. A frame that is larger than the
    /// rest is sent, and the class pays for it in its next round.
    Drr {
        /// Bytes for a weight of 1.
        quantum: u32,
    },
    /// Weighted round robin: in a round each class may send as many frames as its weight says.
    Wrr,
}

/// One class.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassConfig<C> {
    /// Its name in the statistics.
    pub name: String,
    /// Frames with these code points.
    pub dscp: DscpSet,
    /// Colour that the frames of the class must have, too; `None` for any.
    pub colour: Option<Colour>,
    /// The queue of its waiting frames.
    pub queue: C,
    /// Its share of a round, at least 1.
    pub weight: u32,
}

/// Class queues at work. `Q` is the queue of a class, such as [`Queue`](crate::Queue).
#[derive(Clone, Debug)]
pub struct Classes<Q> {
    scheduler: Scheduler,
    classes: Vec<Class<Q>>,
    class_of: ClassTable,
    frames: usize,
    bytes: u64,
    /// Index of the class whose turn it is in a round.
    turn: usize,
    /// Index of the class whose frame is being sent, or was sent last.
    sending: Option<usize>,
}

#[derive(Clone, Debug)]
struct Class<Q> {
    name: String,
    queue: Q,
    weight: u32,
    /// Amount that the class may still send in this round: bytes or frames, by the scheduler; negative when it sent too
    /// much.
    deficit: i64,
    /// When its last frame had been sent.
    free_at: Instant,
    tally: Tally,
}

/// The class for a code point and a colour, at `3 * dscp + colour`.
#[derive(Clone, Debug)]
pub(super) struct ClassTable(Box<[u8; 192]>);

impl ClassTable {
    /// The first of `classes` that takes a frame, or else the last.
    pub(super) fn new(classes: &[(DscpSet, Option<Colour>)]) -> Self {
        let mut table = Box::new([0; 192]);
        for (place, class) in table.iter_mut().enumerate() {
            let dscp = anabranch_base::Dscp::new((place / 3) as u8).unwrap_or_default();
            let takes = |(points, colour): &(DscpSet, Option<Colour>)| {
                points.contains(dscp) && colour.is_none_or(|colour| colour as usize == place % 3)
            };
            let found = classes.iter().position(takes).unwrap_or(classes.len().saturating_sub(1));
            *class = found as u8;
        }
        Self(table)
    }

    #[inline]
    pub(super) fn of(&self, frame: &Frame) -> usize {
        let place = 3 * usize::from(frame.dscp.get()) + frame.colour as usize;
        self.0.get(place).copied().map_or(0, usize::from)
    }
}

impl<Q: QueueDiscipline> Classes<Q> {
    /// Builds empty queues in front of `link`, each made by `build`. Their random draws come from `rng`. Classes beyond
    /// the 64th are left out.
    pub fn new<C>(
        config: &ClassesConfig<C>,
        link: LinkFacts,
        rng: &mut Rng,
        build: impl Fn(&C, LinkFacts, Rng) -> Q,
    ) -> Self {
        let classes = config.classes.get(..config.classes.len().min(64)).unwrap_or_default();
        let table: Vec<_> = classes.iter().map(|class| (class.dscp, class.colour)).collect();
        let mut class = |class: &ClassConfig<C>| Class {
            name: class.name.clone(),
            // A stream of its own for each, so that one class does not change the draws of another.
            queue: build(&class.queue, link, Rng::stream(rng.u64(), &class.name, "queue")),
            weight: class.weight.max(1),
            deficit: 0,
            free_at: Instant::ZERO,
            tally: Tally::start(0, Span::ALL, 0),
        };
        Self {
            scheduler: config.scheduler,
            classes: classes.iter().map(&mut class).collect::<Vec<_>>(),
            class_of: ClassTable::new(&table),
            frames: 0,
            bytes: 0,
            // The first round begins with the first class.
            turn: classes.len().saturating_sub(1),
            sending: None,
        }
    }

    pub(crate) fn count(&mut self, now: Instant, span: Span)
    where
        Q: Counted,
    {
        for class in &mut self.classes {
            class.tally = Tally::start(now.as_nanos(), span, class.queue.len() as u64);
            class.queue.count(now, span);
        }
    }

    pub(crate) fn marks(&self) -> u64
    where
        Q: Counted,
    {
        self.classes.iter().map(|class| class.queue.marks()).sum()
    }

    pub(crate) fn classes(&self, now: Instant) -> Vec<ClassStats>
    where
        Q: Counted,
    {
        let mut all = Vec::new();
        for class in &self.classes {
            all.push(ClassStats {
                marks: class.queue.marks(),
                average: class.queue.average(),
                ..class.tally.stats(&class.name, now)
            });
            let inner = class.queue.classes(now).into_iter();
            all.extend(
                inner.map(|stats| ClassStats { name: format!("{}.{}", class.name, stats.name), ..stats }),
            );
        }
        all
    }

    /// The next class with something to send.
    fn next(&mut self) -> Option<usize> {
        let count = self.classes.len();
        if self.frames == 0 || count == 0 {
            return None;
        }
        if self.scheduler == Scheduler::Priority {
            return self.classes.iter().position(|class| !class.queue.is_empty());
        }
        loop {
            let class = self.classes.get_mut(self.turn)?;
            if class.queue.is_empty() {
                // A class that is empty loses its unused credit, but not its debt.
                class.deficit = class.deficit.min(0);
            } else if class.deficit > 0 {
                return Some(self.turn);
            }
            self.turn = (self.turn + 1) % count;
            // Its turn comes: it gets its share of the round.
            if let Some(class) = self.classes.get_mut(self.turn) {
                let unit = match self.scheduler {
                    Scheduler::Drr { quantum } => quantum.max(1),
                    Scheduler::Priority | Scheduler::Wrr => 1,
                };
                let share = i64::from(class.weight) * i64::from(unit);
                class.deficit = (class.deficit + share).min(share);
            }
        }
    }

    /// After a call to the queue of a class: its drops, and its length.
    fn settle(&mut self, now: Instant, index: usize, before: (usize, u64), dropped: &[Dropped]) {
        let Some(class) = self.classes.get_mut(index) else { return };
        for drop in dropped {
            class.tally.dropped(drop.at, drop.reason);
        }
        class.tally.length(now, class.queue.len());
        self.frames = self.frames - before.0 + class.queue.len();
        self.bytes = self.bytes - before.1 + class.queue.bytes();
    }
}

impl<Q: QueueDiscipline> QueueDiscipline for Classes<Q> {
    fn enqueue(&mut self, now: Instant, free_at: Instant, frame: Frame, dropped: &mut Vec<Dropped>) {
        let index = self.class_of.of(&frame);
        // The class whose frame was sent last knows now when that was; the others have known it since the next was sent.
        if let Some(class) = self.sending.and_then(|last| self.classes.get_mut(last)) {
            class.free_at = free_at;
        }
        let Some(class) = self.classes.get_mut(index) else { return };
        class.tally.arrival(now, frame.size);
        let (before, first) = ((class.queue.len(), class.queue.bytes()), dropped.len());
        class.queue.enqueue(now, class.free_at, frame, dropped);
        self.settle(now, index, before, dropped.get(first..).unwrap_or_default());
    }

    fn dequeue(&mut self, now: Instant, dropped: &mut Vec<Dropped>) -> Option<Frame> {
        while let Some(index) = self.next() {
            let class = self.classes.get_mut(index)?;
            let (before, first) = ((class.queue.len(), class.queue.bytes()), dropped.len());
            let frame = class.queue.dequeue(now, dropped);
            self.settle(now, index, before, dropped.get(first..).unwrap_or_default());
            let Some(frame) = frame else { continue };
            let class = self.classes.get_mut(index)?;
            class.tally.sent(now, frame.size);
            class.deficit -= match self.scheduler {
                Scheduler::Priority => 0,
                Scheduler::Drr { .. } => i64::from(frame.size),
                Scheduler::Wrr => 1,
            };
            if let Some(last) = self.sending.filter(|last| *last != index) {
                if let Some(class) = self.classes.get_mut(last) {
                    class.free_at = class.free_at.min(now);
                }
            }
            self.sending = Some(index);
            // Busy until the link says when the frame has been sent.
            if let Some(class) = self.classes.get_mut(index) {
                class.free_at = Instant::FAR_FUTURE;
            }
            return Some(frame);
        }
        None
    }

    #[inline]
    fn len(&self) -> usize {
        self.frames
    }

    #[inline]
    fn bytes(&self) -> u64 {
        self.bytes
    }
}

#[cfg(test)]
mod tests;
