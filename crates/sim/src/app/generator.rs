//! The application that sends messages of several sources, each at its own times.

use std::collections::VecDeque;

use anabranch_base::{Instant, Rng};
use bytes::Bytes;

use super::envelope::Envelope;
use crate::engine::{Engine, Notice};
use crate::scenario::{Flow, MessageSource, TimedChange, Traffic};

/// One source and what it has made.
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
    /// Its stream did not take a message, until there is room again.
    full: bool,
}

/// Makes messages when it is time, and hands them over in the order in which they were made.
#[derive(Debug)]
pub(crate) struct Generator {
    makers: Vec<Maker>,
    rng: Rng,
    /// What is left of a message of which a part was taken.
    rest: Option<(u16, Bytes)>,
    /// Whose turn it is among those that always have a message.
    turn: usize,
    stop: Option<Instant>,
    /// Streams of an association with several subflows: a full one does not keep the others waiting.
    several: bool,
    changes: VecDeque<TimedChange>,
    open: bool,
    connected: bool,
    blocked: bool,
    closing: bool,
    /// When it was told that there is a connection.
    pub(crate) connected_at: Option<Instant>,
    pub(crate) closed_at: Option<Instant>,
    pub(crate) failed: Option<String>,
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
            stop: flow.stop.map(|after| Instant::ZERO + after),
            several: flow.subflows.len() > 1 || !flow.events.is_empty(),
            changes: flow.events.iter().cloned().collect(),
            open: false,
            connected: false,
            blocked: false,
            closing: false,
            connected_at: None,
            closed_at: None,
            failed: None,
        }
    }

    /// The flow has been opened: the time of its sources begins.
    pub(crate) fn opened(&mut self, now: Instant) {
        if self.open {
            return;
        }
        self.open = true;
        for maker in &mut self.makers {
            let first = now + maker.source.start.draw(&mut self.rng);
            maker.next = Some(first);
        }
    }

    /// The end of the warm-up.
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
        if self.closing || !self.open {
            return None;
        }
        let messages = self.makers.iter().filter_map(|maker| maker.next).min();
        let change = self.changes.front().map(|next| Instant::ZERO + next.at);
        [messages, change, self.stop].into_iter().flatten().filter(|at| *at > now).min()
    }

    pub(crate) fn run(&mut self, now: Instant, engine: &mut Engine) -> bool {
        let mut told = false;
        while let Some(notice) = engine.poll_notice() {
            told = true;
            match notice {
                Notice::Connected => {
                    self.opened(now);
                    self.connected = true;
                    self.connected_at.get_or_insert(now);
                    self.unblock();
                }
                Notice::Writable => self.unblock(),
                Notice::Readable => engine.take_all(now, |_, _| ()),
                Notice::PeerClosed => {}
                Notice::Closed => {
                    self.closing = true;
                    self.closed_at.get_or_insert(now);
                }
                Notice::Failed(why) => {
                    self.closing = true;
                    self.failed.get_or_insert(why);
                }
            }
        }
        if !self.open || self.closing {
            return told;
        }
        self.change(now, engine);
        self.make(now);
        if !self.blocked {
            self.fill(now, engine);
        }
        if self.is_done(now) && self.connected {
            self.closing = true;
            engine.close(now);
        }
        told
    }

    fn unblock(&mut self) {
        self.blocked = false;
        for maker in &mut self.makers {
            maker.full = false;
        }
    }

    /// Changes of the subflows whose time has come.
    fn change(&mut self, now: Instant, engine: &mut Engine) {
        while self.changes.front().is_some_and(|next| Instant::ZERO + next.at <= now) {
            let Some(TimedChange { at, change }) = self.changes.pop_front() else { return };
            if let Err(error) = engine.change(now, &change) {
                let message = format!("the event at {} s: {error}", at.as_secs_f64());
                self.failed.get_or_insert(message);
            }
        }
    }

    fn is_stopped(&self, now: Instant) -> bool {
        self.stop.is_some_and(|stop| stop <= now)
    }

    /// Nothing waits, and nothing more is made.
    fn is_done(&self, now: Instant) -> bool {
        let stopped = self.is_stopped(now);
        let over = |maker: &Maker| maker.waiting.is_empty() && (stopped || maker.is_exhausted());
        self.rest.is_none() && self.makers.iter().all(over)
    }

    /// Messages whose time has come.
    fn make(&mut self, now: Instant) {
        let until = self.stop;
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

    /// Hands over as much as the transport takes: what was made first, and then, in turn, what there is always more of.
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
            // What there is always more of is made when there is room for it.
            let message = match maker.waiting.pop_front() {
                Some(message) => message,
                None => maker.message(place, now),
            };
            let (stream, unordered) = (maker.source.stream, maker.source.unordered);
            let bytes = message.write();
            let taken = engine.offer(now, stream, unordered, bytes.clone());
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
            maker.full = true;
            if taken > 0 || !self.several || self.makers.iter().all(|maker| maker.full) {
                self.blocked = true;
                return;
            }
        }
    }

    /// Who hands over the next message.
    fn next_maker(&self, now: Instant) -> Option<usize> {
        let waiting = self.makers.iter().enumerate().filter(|(_, maker)| !maker.full);
        let oldest = waiting.filter_map(|(place, maker)| Some((maker.waiting.front()?.born, place))).min();
        if let Some((_, place)) = oldest {
            return Some(place);
        }
        if self.is_stopped(now) {
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
