//! Queue disciplines: which frames wait for a link, and which are dropped.

mod average;
mod classes;
mod codel;
mod config;
mod discipline;
mod droptail;
mod fq_codel;
mod red;
mod virtual_red;

pub use average::{LinkFacts, Weight};
pub use classes::{ClassConfig, Classes, ClassesConfig, Scheduler};
pub use codel::{CoDel, CoDelConfig};
pub use config::QueueConfig;
pub(crate) use discipline::Counted;
pub use discipline::QueueDiscipline;
pub use droptail::{Counts, DropTail};
pub use fq_codel::{FqCoDel, FqCoDelConfig};
pub use red::{AdaptiveRed, Measure, Red, RedConfig, Victim};
pub use virtual_red::{VirtualClass, VirtualConfig, VirtualMode, VirtualQuirks, VirtualRed};

use anabranch_base::Instant;

use crate::stats::Span;
use crate::{AverageStats, ClassStats, Dropped, Frame};

/// One of the disciplines. An enum: a call per frame through a table of functions would be slower. The large ones are
/// boxed, so that the small one stays small.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Queue {
    /// First in, first out, with a limit.
    DropTail(DropTail),
    /// Random early detection.
    Red(Box<Red>),
    /// Virtual RED queues in one queue: RIO-C, RIO-D, WRED.
    VirtualRed(Box<VirtualRed>),
    /// Controlled delay.
    CoDel(Box<CoDel>),
    /// Controlled delay, flow by flow.
    FqCoDel(Box<FqCoDel>),
    /// A queue for each class.
    Classes(Box<Classes<Queue>>),
}

/// Makes the same call on any discipline.
macro_rules! each {
    ($queue:ident, $inner:ident => $call:expr) => {
        match $queue {
            Self::DropTail($inner) => $call,
            Self::Red($inner) => $call,
            Self::VirtualRed($inner) => $call,
            Self::CoDel($inner) => $call,
            Self::FqCoDel($inner) => $call,
            Self::Classes($inner) => $call,
        }
    };
}

impl Counted for Queue {
    fn count(&mut self, now: Instant, span: Span) {
        match self {
            Self::DropTail(_) => {}
            Self::Red(queue) => queue.count(span),
            Self::VirtualRed(queue) => queue.count(now, span),
            Self::CoDel(queue) => queue.count(span),
            Self::FqCoDel(queue) => queue.count(span),
            Self::Classes(queue) => queue.count(now, span),
        }
    }

    fn marks(&self) -> u64 {
        match self {
            Self::DropTail(_) => 0,
            Self::Red(queue) => queue.marks(),
            Self::VirtualRed(queue) => queue.marks(),
            Self::CoDel(queue) => queue.marks(),
            Self::FqCoDel(queue) => queue.marks(),
            Self::Classes(queue) => queue.marks(),
        }
    }

    fn average(&self) -> Option<AverageStats> {
        match self {
            Self::Red(queue) => Some(queue.average()),
            _ => None,
        }
    }

    fn classes(&self, now: Instant) -> Vec<ClassStats> {
        match self {
            Self::VirtualRed(queue) => queue.classes(now),
            Self::Classes(queue) => queue.classes(now),
            _ => Vec::new(),
        }
    }
}

/// Drop-tail is looked at first and alone: nearly every link has it, and its calls are small enough to be inlined.
/// The others cost a call.
impl QueueDiscipline for Queue {
    #[inline]
    fn enqueue(&mut self, now: Instant, free_at: Instant, frame: Frame, dropped: &mut Vec<Dropped>) {
        match self {
            Self::DropTail(queue) => queue.enqueue(now, free_at, frame, dropped),
            _ => self.enqueue_elsewhere(now, free_at, frame, dropped),
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Instant, dropped: &mut Vec<Dropped>) -> Option<Frame> {
        match self {
            Self::DropTail(queue) => queue.dequeue(now, dropped),
            _ => self.dequeue_elsewhere(now, dropped),
        }
    }

    #[inline]
    fn lets_pass(&self, size: u32) -> bool {
        match self {
            Self::DropTail(queue) => queue.lets_pass(size),
            // All others measure or share out the passing frames.
            _ => false,
        }
    }

    #[inline]
    fn len(&self) -> usize {
        match self {
            Self::DropTail(queue) => queue.len(),
            _ => self.size_elsewhere().0,
        }
    }

    #[inline]
    fn bytes(&self) -> u64 {
        match self {
            Self::DropTail(queue) => queue.bytes(),
            _ => self.size_elsewhere().1,
        }
    }
}

impl Queue {
    #[inline(never)]
    fn enqueue_elsewhere(
        &mut self,
        now: Instant,
        free_at: Instant,
        frame: Frame,
        dropped: &mut Vec<Dropped>,
    ) {
        each!(self, queue => queue.enqueue(now, free_at, frame, dropped));
    }

    #[inline(never)]
    fn dequeue_elsewhere(&mut self, now: Instant, dropped: &mut Vec<Dropped>) -> Option<Frame> {
        each!(self, queue => queue.dequeue(now, dropped))
    }

    #[inline(never)]
    fn size_elsewhere(&self) -> (usize, u64) {
        each!(self, queue => (queue.len(), queue.bytes()))
    }
}
