//! The world: it takes the next event, gives it to the entity that it belongs to, and so on until the end.

use std::collections::VecDeque;

use anabranch_base::{Duration, Instant, Rng};
use anabranch_link::Frame;

use crate::error::RunError;
use crate::event_queue::Entity;
use crate::network::{FIRST_LINK, Network};
use crate::page::Page;
use crate::record::EndSeries;
use crate::scenario::TimeDraw;
use crate::side::Side;

/// The world's own clock: end of the warm-up, samples of the queues. It comes first at its time, so that events at
/// the very end of the warm-up count.
pub(crate) const CLOCK: Entity = 0;

/// Events at one nanosecond beyond which something runs in circles. A burst of a whole window counts once a packet.
const STUCK: u64 = 50_000_000;

/// Events between two looks at the surroundings of the run: its watcher, and whether the capture can be written. A
/// power of two.
const GLANCE: u32 = 1 << 14;

/// Packets that a host takes ahead of their time before others have their turn: of 4, 16 and 64 the one with the least processor time.
const LONGEST_RUN: u32 = 16;

/// The watcher of a run: a function that is told the virtual time now and then, and returns whether to go on.
pub(crate) type Watcher<'a> = dyn FnMut(Instant) -> bool + 'a;

/// A run in progress.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) net: Network,
    /// The sender of flow `f` at `2 f`, its receiver at `2 f + 1`.
    pub(crate) sides: Vec<Side>,
    /// Lists of objects that clients fetch.
    pub(crate) pages: Vec<Page>,
    /// For each node, where packets take time to reach their transport.
    pub(crate) processors: Vec<Option<Processor>>,
    pub(crate) end: Instant,
    pub(crate) clock: Clock,
    /// Number of the first side among the entities.
    pub(crate) first_side: Entity,
    /// Number of the first processor among the entities.
    pub(crate) first_processor: Entity,
}

/// The times of events that belong to no entity: the end of the warm-up and samples.
#[derive(Debug)]
pub(crate) struct Clock {
    /// End of the warm-up, until it has come.
    pub(crate) warmup: Option<Instant>,
    /// The next sample of the queues, and the time between two.
    pub(crate) sample: Option<(Instant, Duration)>,
    /// Samples of the ends; each link has its own.
    pub(crate) series: Option<EndSeries>,
}

impl Clock {
    pub(crate) fn next(&self) -> Option<Instant> {
        let series = self.series.as_ref().and_then(|series| series.ticks.next());
        [self.warmup, self.sample.map(|(at, _)| at), series].into_iter().flatten().min()
    }
}

/// Packets between a host's last link and its transport.
#[derive(Debug)]
pub(crate) struct Processor {
    pub(crate) entity: Entity,
    pub(crate) draw: TimeDraw,
    pub(crate) rng: Rng,
    /// In order: a host does not let packets overtake one another.
    pub(crate) waiting: VecDeque<(Instant, Frame)>,
}

impl World {
    /// Runs to the end. Events at the end time itself are left out.
    pub(crate) fn run(&mut self, watcher: &mut Watcher<'_>) -> Result<(), RunError> {
        let mut last = Instant::ZERO;
        let mut at_once = 0;
        let mut events: u32 = 0;
        while let Some((now, entity)) = self.net.queue.next() {
            if now >= self.end {
                break;
            }
            events = events.wrapping_add(1);
            if events % GLANCE == 0 {
                self.glance(now, watcher)?;
            }
            debug_assert!(now >= last, "time went back from {last} to {now}");
            if now > last {
                last = now;
                at_once = 0;
            }
            at_once += 1;
            if at_once > STUCK {
                return Err(RunError::Stuck { at: now, events: STUCK });
            }
            if entity >= self.first_processor {
                self.process(now, entity);
            } else if entity >= self.first_side {
                let side = (entity - self.first_side) as usize;
                if let Some(side) = self.sides.get_mut(side) {
                    side.wake(now, &mut self.net);
                }
                #[cfg(any(debug_assertions, feature = "watched"))]
                self.watch_ends(now, side);
            } else if entity == CLOCK {
                self.tick(now);
            } else {
                self.deliver(now, entity - FIRST_LINK);
            }
            if !self.net.bounced.is_empty() {
                self.hand_back(now);
            }
            if !self.net.progress.is_empty() {
                self.open_more(now);
            }
        }
        // The last interval may end with the run.
        self.sample(self.end);
        Ok(())
    }

    /// How the two ends of a flow may stand (`properties::both`), where they are those of one association.
    #[cfg(any(debug_assertions, feature = "watched"))]
    fn watch_ends(&self, now: Instant, side: usize) {
        use anabranch_sctp::properties;
        let standing = |side: usize| self.sides.get(side).and_then(|side| side.engine.standing());
        let Some((a, tags)) = standing(side).filter(|(a, _)| properties::depends_on_peer(*a)) else { return };
        let Some((z, peers)) = standing(side ^ 1) else { return };
        if tags == (peers.1, peers.0) {
            let said = properties::both(a, z);
            assert_eq!(said, Ok(()), "flow {} at {now}", side / 2);
        }
    }

    #[cold]
    fn glance(&self, now: Instant, watcher: &mut Watcher<'_>) -> Result<(), RunError> {
        if let Some(why) = self.net.recorder.capture.as_ref().and_then(|capture| capture.failure()) {
            return Err(RunError::Capture(why.to_owned()));
        }
        if watcher(now) { Ok(()) } else { Err(RunError::Stopped { at: now }) }
    }

    /// Connections that waited for others.
    fn open_more(&mut self, now: Instant) {
        while let Some((page, progress)) = self.net.progress.pop() {
            let Some(page) = self.pages.get_mut(page as usize) else { continue };
            page.take(now, progress);
            if let Some(flows) = page.complete().filter(|_| progress.finished) {
                for flow in flows {
                    if let Some(side) = self.sides.get_mut(2 * flow + 1) {
                        side.end_of_page(now, &mut self.net);
                    }
                }
                continue;
            }
            while let Some((flow, at)) = page.next(now) {
                // Clients open them: the receivers.
                if let Some(side) = self.sides.get_mut(2 * flow + 1) {
                    side.opens_at = Some(at);
                    self.net.queue.set(side.entity, Some(at));
                }
            }
        }
    }

    /// Takes the packets that have arrived at the far end of a link.
    fn deliver(&mut self, now: Instant, index: u32) {
        while let Some(wire) = self.net.wires.get_mut(index as usize) {
            let Some(frame) = wire.link.poll_delivery(now) else { break };
            let node = wire.to;
            self.net.hops += 1;
            if frame.destination == node {
                self.arrive(now, node, frame);
            } else {
                self.net.forward(now, node, frame);
            }
            if !self.net.wires.get(index as usize).is_some_and(|wire| wire.link.has_arrived(now)) {
                break;
            }
        }
        if self.net.wires.get(index as usize).is_some_and(|wire| wire.feeds_host_alone) {
            self.run_ahead(index);
        }
        self.net.settle_woken(index);
    }

    /// Hands a host the packets that will come over its only link, as long as no timer of a host runs out before they arrive: nothing
    /// but packets of this link and timers reaches the host. The host sees the same packets at the same times; its code and its state stay in the cache from one to the next.
    fn run_ahead(&mut self, index: u32) {
        for _ in 0..LONGEST_RUN {
            let horizon = self.net.queue.next_quiet_at().min(self.end);
            let horizon = self.net.queue.at(CLOCK).map_or(horizon, |at| at.min(horizon));
            let Some(wire) = self.net.wires.get_mut(index as usize) else { return };
            let node = wire.to;
            if !wire.link.peek_sent().is_some_and(|(at, frame)| at < horizon && frame.destination == node) {
                return;
            }
            let Some((at, frame)) = wire.link.poll_sent() else { return };
            self.net.hops += 1;
            self.hand_over(at, frame);
        }
    }

    /// A packet has reached its host.
    fn arrive(&mut self, now: Instant, node: u32, frame: Frame) {
        if let Some(Some(processor)) = self.processors.get_mut(node as usize) {
            let ready = now + processor.draw.draw(&mut processor.rng);
            let ready = processor.waiting.back().map_or(ready, |(last, _)| ready.max(*last));
            processor.waiting.push_back((ready, frame));
            let first = processor.waiting.front().map(|(at, _)| *at);
            self.net.queue.set(processor.entity, first);
        } else {
            self.hand_over(now, frame);
        }
    }

    fn process(&mut self, now: Instant, entity: Entity) {
        let node = (entity - self.first_processor) as usize;
        while let Some(Some(processor)) = self.processors.get_mut(node) {
            let first = processor.waiting.front().map(|(at, _)| *at);
            if first.is_none_or(|at| at > now) {
                self.net.queue.set(entity, first);
                return;
            }
            if let Some((_, frame)) = processor.waiting.pop_front() {
                self.hand_over(now, frame);
            }
        }
        self.net.queue.set(entity, None);
    }

    /// ICMP messages of a host's own first link.
    #[cold]
    fn hand_back(&mut self, now: Instant) {
        while let Some(frame) = self.net.bounced.pop() {
            self.hand_over(now, frame);
        }
    }

    fn hand_over(&mut self, now: Instant, frame: Frame) {
        let sender = 2 * frame.flow as usize;
        let is_for_sender = self.sides.get(sender).is_some_and(|side| side.node == frame.destination);
        if let Some(side) = self.sides.get_mut(if is_for_sender { sender } else { sender + 1 }) {
            side.handle_frame(now, frame, &mut self.net);
        }
    }

    fn sample(&mut self, now: Instant) {
        if let Some(series) = &mut self.clock.series {
            series.take(now, &self.sides, &mut self.net.recorder);
            for index in 0..self.net.wires.len() {
                self.net.sample(now, index as u32);
            }
        }
    }

    fn tick(&mut self, now: Instant) {
        if self.clock.warmup.is_some_and(|at| at <= now) {
            self.clock.warmup = None;
            self.sides.iter_mut().for_each(|side| side.start_counting(now));
        }
        if let Some((at, interval)) = self.clock.sample.filter(|(at, _)| *at <= now) {
            self.clock.sample = Some((at + interval, interval));
            for (index, wire) in self.net.wires.iter_mut().enumerate() {
                let (packets, bytes) = (wire.link.queue_len(now) as u64, wire.link.queue_bytes(now));
                self.net.recorder.queue(now, index as u16, packets, bytes);
            }
        }
        self.sample(now);
        // Looking at a link brings it up to date, and frames dropped by that have to be taken.
        for index in 0..self.net.wires.len() {
            self.net.settle(index as u32);
        }
        self.net.queue.set(CLOCK, self.clock.next());
    }
}
