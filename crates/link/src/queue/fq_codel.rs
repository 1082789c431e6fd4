//! FQ-CoDel (RFC 8290): a queue for each flow, CoDel in each of them, and a round robin that lets new flows go first.

use std::collections::VecDeque;

use anabranch_base::{Instant, Rng};

use super::codel::{CoDelConfig, Line, State};
use super::discipline::QueueDiscipline;
use crate::stats::Span;
use crate::tally::Watch;
use crate::{DropReason, Dropped, Frame};

/// The parameters of FQ-CoDel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FqCoDelConfig {
    /// CoDel in each queue. Its limits are those of all queues together.
    pub codel: CoDelConfig,
    /// Number of queues over which flows are spread by a hash.
    pub flows: u16,
    /// Bytes that a queue may send in a round.
    pub quantum: u32,
    /// Whether packets of one flow with different code points count as different flows. RFC 8290 does not do this.
    pub by_dscp: bool,
}

impl Default for FqCoDelConfig {
    /// RFC 8290, section 5.2: 10240 packets, 1024 queues, a quantum of 1514 bytes; with ECN, as in Linux.
    fn default() -> Self {
        Self {
            codel: CoDelConfig { packets: Some(10_240), ecn: true, ..CoDelConfig::default() },
            flows: 1024,
            quantum: 1514,
            by_dscp: false,
        }
    }
}

/// Most packets that are dropped at once when there is no more room (RFC 8290, section 4.1).
const BATCH: usize = 64;

/// Queues by flow.
#[derive(Clone, Debug)]
pub struct FqCoDel {
    config: FqCoDelConfig,
    queues: Vec<FlowQueue>,
    /// Queues that have just got their first frame, and the others that are not empty, in the order of their turns.
    new: VecDeque<u16>,
    old: VecDeque<u16>,
    frames: usize,
    bytes: u64,
    /// A random number in the hash of flows, so that senders cannot know which flows share a queue.
    perturbation: u64,
    watch: Watch,
}

/// The queue of one flow, or of a few that the hash threw together.
#[derive(Clone, Debug, Default)]
struct FlowQueue {
    line: Line,
    state: State,
    /// Bytes that it may still send in this round.
    deficit: i64,
    /// Whether it is in one of the lists.
    listed: bool,
}

impl FqCoDel {
    /// An empty queue. `rng` salts the hash.
    #[must_use]
    pub fn new(config: FqCoDelConfig, mut rng: Rng) -> Self {
        Self {
            config,
            queues: vec![FlowQueue::default(); usize::from(config.flows.max(1))],
            new: VecDeque::new(),
            old: VecDeque::new(),
            frames: 0,
            bytes: 0,
            perturbation: rng.u64(),
            watch: Watch::start(Span::ALL),
        }
    }

    pub(crate) fn count(&mut self, span: Span) {
        self.watch = Watch::start(span);
    }

    pub(crate) const fn marks(&self) -> u64 {
        self.watch.marks()
    }

    fn place(&self, frame: &Frame) -> u16 {
        let ends = u64::from(frame.source) << 32 | u64::from(frame.destination);
        let dscp = if self.config.by_dscp { u64::from(frame.dscp.get()) << 32 } else { 0 };
        let hash = mix(mix(self.perturbation ^ ends) ^ (dscp | u64::from(frame.flow)));
        // The upper half, scaled: no division, no bias worth the name.
        (((hash >> 32) * self.queues.len() as u64) >> 32) as u16
    }

    /// No more room: half of the longest queue goes, oldest first, but at most [`BATCH`] packets.
    fn make_room(&mut self, now: Instant, dropped: &mut Vec<Dropped>) {
        let Some(longest) = self.queues.iter_mut().max_by_key(|queue| queue.line.bytes()) else { return };
        let batch = longest.line.len().div_ceil(2).min(BATCH);
        for _ in 0..batch {
            if let Some((_, frame)) = longest.line.pop() {
                self.frames -= 1;
                self.bytes -= u64::from(frame.size);
                dropped.push(Dropped { at: now, frame, reason: DropReason::QueueFull });
            }
        }
    }

    fn is_too_full(&self) -> bool {
        self.config.codel.packets.is_some_and(|limit| self.frames as u64 > limit)
            || self.config.codel.bytes.is_some_and(|limit| self.bytes > limit)
    }
}

/// The finaliser of MurmurHash3.
const fn mix(mut x: u64) -> u64 {
    x ^= x >> 33;
    x = x.wrapping_mul(0xff51_afd7_ed55_8ccd);
    x ^= x >> 33;
    x = x.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    x ^ (x >> 33)
}

impl QueueDiscipline for FqCoDel {
    fn enqueue(&mut self, now: Instant, _free_at: Instant, frame: Frame, dropped: &mut Vec<Dropped>) {
        let place = self.place(&frame);
        let Some(queue) = self.queues.get_mut(usize::from(place)) else { return };
        self.frames += 1;
        self.bytes += u64::from(frame.size);
        queue.line.push(now, frame);
        if !queue.listed {
            queue.listed = true;
            queue.deficit = i64::from(self.config.quantum);
            self.new.push_back(place);
        }
        while self.is_too_full() {
            self.make_room(now, dropped);
        }
    }

    fn dequeue(&mut self, now: Instant, dropped: &mut Vec<Dropped>) -> Option<Frame> {
        loop {
            let is_new = !self.new.is_empty();
            let place = *if is_new { self.new.front() } else { self.old.front() }?;
            let queue = self.queues.get_mut(usize::from(place))?;
            let list = if is_new { &mut self.new } else { &mut self.old };
            if queue.deficit <= 0 {
                queue.deficit += i64::from(self.config.quantum);
                list.pop_front();
                self.old.push_back(place);
                continue;
            }
            let before = (queue.line.len(), queue.line.bytes());
            let codel = &self.config.codel;
            let frame = queue.state.dequeue(codel, now, &mut queue.line, dropped, &mut self.watch);
            self.frames -= before.0 - queue.line.len();
            self.bytes -= before.1 - queue.line.bytes();
            if let Some(frame) = frame {
                queue.deficit -= i64::from(frame.size);
                return Some(frame);
            }
            // A new queue that is empty takes a turn among the old ones, so that it cannot be new again at once.
            list.pop_front();
            if is_new {
                self.old.push_back(place);
            } else {
                queue.listed = false;
            }
        }
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
