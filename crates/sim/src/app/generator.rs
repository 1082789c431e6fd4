//! The application that sends messages of several sources, each at its own times.

use std::collections::VecDeque;

use anabranch_base::{Duration, Instant, Rng};
use bytes::Bytes;

use super::envelope::Envelope;
use super::sending::Sending;
use crate::engine::Engine;
use crate::scenario::{Flow, MessageSource, Reliability, Traffic};

/// One source and its messages.
#[derive(Debug)]
struct Maker {
    source: MessageSource,
    /// Messages made so far.
    made: u64,
    /// When the next is made; `None` for a source that always has one, and before the flow is open.
    next: Option<Instant>,
    /// Made, and not handed over.
    waiting: VecDeque<Envelope>,
    /// Made since the counting began.
    counted: u64,
    /// Its message was not taken, until there is room again.
    full: bool,
}

/// Makes messages when it is time, and hands them over in the order in which they were made.
#[derive(Debug)]
pub(crate) struct Generator {
    makers: Vec<Maker>,
    rng: Rng,
    /// The stream and the rest of a message of which a part was taken.
    rest: Option<(u16, Bytes)>,
    /// Index of the source whose turn it is, among those that always have a message.
    turn: usize,
    /// The time of its sources has begun.
    begun: bool,
    blocked: bool,
    pub(crate) sending: Sending,
}

impl Generator {
    pub(crate) fn new(flow: &Flow, rng: Rng) -> Self {
        let sources = match &flow.traffic {
            Traffic::Messages(sources) => sources.as_slice(),
            _ => &[],
        };
        let maker = |source: &MessageSource| Maker {
            source: source.clone(),
            made: 0,
            next: None,
            waiting: VecDeque::new(),
            counted: 0,
            full: false,
        };
        Self {
            makers: sources.iter().map(maker).collect(),
            rng,
            rest: None,
            turn: 0,
            begun: false,
            blocked: false,
            sending: Sending::new(flow),
        }
    }

    /// The flow has been opened: the time of its sources begins.
    pub(crate) fn opened(&mut self, now: Instant) {
        self.sending.opened();
        if std::mem::replace(&mut self.begun, true) {
            return;
        }
        for maker in &mut self.makers {
            let first = now + maker.source.start.draw(&mut self.rng);
            maker.next = Some(first);
        }
    }

    /// Begins to count, at the end of the warm-up.
    pub(crate) fn start_counting(&mut self) {
        for maker in &mut self.makers {
            maker.counted = 0;
        }
    }

    /// Messages made since the counting began, source by source.
    pub(crate) fn made(&self) -> impl Iterator<Item = u64> + '_ {
        self.makers.iter().map(|maker| maker.counted)
    }

    /// When it has to be woken: for the next message, a change, or to stop.
    pub(crate) fn wakes_at(&self, now: Instant) -> Option<Instant> {
        if !self.sending.is_open() {
            return None;
        }
        let messages = self.makers.iter().filter_map(|maker| maker.next).filter(|at| *at > now).min();
        messages.into_iter().chain(self.sending.wakes_at(now)).min()
    }

    pub(crate) fn run(&mut self, now: Instant, engine: &mut Engine) -> bool {
        let told = self.sending.hear(now, engine);
        if told.room {
            self.unblock();
        }
        if self.sending.is_open() {
            // A sender that has not opened the flow begins when the flow is up.
            self.opened(now);
            self.make(now);
            if !self.blocked {
                self.fill(now, engine);
            }
            if self.is_done(now) {
                self.sending.done(now, engine);
            }
        }
        told.any
    }

    fn unblock(&mut self) {
        self.blocked = false;
        for maker in &mut self.makers {
            maker.full = false;
        }
    }

    /// Nothing waits, and nothing more is made.
    fn is_done(&self, now: Instant) -> bool {
        let stopped = self.sending.is_stopped(now);
        let over = |maker: &Maker| maker.waiting.is_empty() && (stopped || maker.is_exhausted());
        self.rest.is_none() && self.makers.iter().all(over)
    }

    /// Makes the messages whose time has come.
    fn make(&mut self, now: Instant) {
        let until = self.sending.stop();
        for (place, maker) in self.makers.iter_mut().enumerate() {
            let Some(every) = maker.source.every else { continue };
            while let Some(at) = maker.next.filter(|at| *at <= now && until.is_none_or(|stop| *at < stop)) {
                let message = maker.message(place, at);
                maker.waiting.push_back(message);
                maker.next = (!maker.is_exhausted()).then(|| at + every.draw(&mut self.rng));
            }
            if until.is_some_and(|stop| stop <= now) {
                maker.next = None;
            }
        }
    }

    /// Hands over as much as the transport takes: first the waiting messages, the oldest first, then those of sources
    /// without a limit, in turn.
    fn fill(&mut self, now: Instant, engine: &mut Engine) {
        if let Some((stream, bytes)) = self.rest.take() {
            let taken = engine.offer(now, stream, false, bytes.clone());
            if taken < bytes.len() {
                self.rest = Some((stream, bytes.slice(taken..)));
                self.blocked = true;
                return;
            }
        }
        while let Some(place) = self.next_maker(now) {
            let Some(maker) = self.makers.get_mut(place) else { return };
            let timed = maker.source.every.is_some();
            // Messages of a source without a limit are made when there is room for them.
            let message = match maker.waiting.pop_front() {
                Some(message) => message,
                None => maker.message(place, now),
            };
            let (stream, unordered) = (maker.source.stream, maker.source.unordered);
            // A lifetime counts from the making of the message.
            let reliability = match maker.source.reliability {
                Reliability::Lifetime(lifetime) => {
                    let left = lifetime.saturating_sub(now - message.born);
                    if left == Duration::ZERO {
                        continue;
                    }
                    Reliability::Lifetime(left)
                }
                other => other,
            };
            let bytes = message.write();
            let taken = engine.offer_message(now, (stream, unordered), reliability, bytes.clone());
            if taken == bytes.len() {
                if !timed {
                    self.turn = place + 1;
                }
                continue;
            }
            if taken > 0 {
                self.rest = Some((stream, bytes.slice(taken..)));
            } else if timed {
                maker.waiting.push_front(message);
            } else {
                maker.made -= 1;
                maker.counted = maker.counted.saturating_sub(1);
            }
            // A stream or a subflow that is full does not keep the others waiting.
            maker.full = true;
            if taken > 0 || self.makers.iter().all(|maker| maker.full) {
                self.blocked = true;
                return;
            }
        }
    }

    /// Index of the source of the next message to hand over.
    fn next_maker(&self, now: Instant) -> Option<usize> {
        let waiting = self.makers.iter().enumerate().filter(|(_, maker)| !maker.full);
        let oldest = waiting.filter_map(|(place, maker)| Some((maker.waiting.front()?.born, place))).min();
        if let Some((_, place)) = oldest {
            return Some(place);
        }
        if self.sending.is_stopped(now) {
            return None;
        }
        let count = self.makers.len();
        let begun = |maker: &Maker| maker.next.is_some_and(|at| at <= now);
        (0..count).map(|step| (self.turn + step) % count).find(|place| {
            self.makers.get(*place).is_some_and(|maker| {
                maker.source.every.is_none() && !maker.full && begun(maker) && !maker.is_exhausted()
            })
        })
    }
}

impl Maker {
    fn is_exhausted(&self) -> bool {
        self.source.count.is_some_and(|count| self.made >= count)
    }

    fn message(&mut self, place: usize, born: Instant) -> Envelope {
        let number = self.made;
        let turn = (number % self.source.sizes.len().max(1) as u64) as usize;
        self.made += 1;
        self.counted += 1;
        let size = self.source.sizes.get(turn).copied().unwrap_or_default();
        Envelope { source: place as u16, number, size, born }
    }
}
