//! The application that sends messages.

use anabranch_base::Instant;

use super::sending::Sending;
use crate::content::content;
use crate::engine::Engine;
use crate::scenario::{Flow, Traffic};

/// Sends messages as fast as the transport takes them.
#[derive(Debug)]
pub(crate) struct Source {
    message: usize,
    /// Bytes still to hand over; `None` for a greedy source.
    left: Option<u64>,
    /// Bytes handed over so far, for each stream.
    streams: Vec<u64>,
    next_stream: usize,
    unordered: bool,
    blocked: bool,
    /// Streams of an association with several subflows: a full one does not keep the others waiting.
    several: bool,
    /// Streams that were not taken whole, until there is room again.
    full: Vec<bool>,
    pub(crate) sending: Sending,
}

impl Source {
    pub(crate) fn new(flow: &Flow) -> Self {
        let (message, left) = match flow.traffic {
            Traffic::Greedy { message } => (message, None),
            Traffic::Transfer { bytes, message } => (message, Some(bytes)),
            // No application: packets leave by themselves. Objects and messages have one of their own.
            Traffic::Packets(_) | Traffic::Objects(_) | Traffic::Messages(_) => (1, Some(0)),
        };
        Self {
            message: message.max(1) as usize,
            left,
            streams: vec![0; usize::from(flow.streams.max(1))],
            next_stream: 0,
            unordered: flow.unordered,
            blocked: false,
            several: flow.subflows.len() > 1 || !flow.events.is_empty(),
            full: vec![false; usize::from(flow.streams.max(1))],
            sending: Sending::new(flow),
        }
    }

    /// The flow has been opened.
    pub(crate) fn opened(&mut self) {
        self.sending.opened();
    }

    /// Whether there is nothing more to hand over.
    pub(crate) fn has_handed_all(&self) -> bool {
        self.left == Some(0) || self.sending.is_closing()
    }

    /// The time at which it has to be woken.
    pub(crate) fn wakes_at(&self, now: Instant) -> Option<Instant> {
        self.sending.wakes_at(now)
    }

    pub(crate) fn run(&mut self, now: Instant, engine: &mut Engine) -> bool {
        let told = self.sending.hear(now, engine);
        if told.room {
            self.unblock();
        }
        if self.sending.is_open() {
            if !self.blocked {
                self.fill(now, engine);
            }
            if self.left == Some(0) || self.sending.is_stopped(now) {
                self.sending.done(now, engine);
            }
        }
        told.any
    }

    fn unblock(&mut self) {
        self.blocked = false;
        if self.several {
            self.full.fill(false);
        }
    }

    fn fill(&mut self, now: Instant, engine: &mut Engine) {
        if self.sending.is_stopped(now) {
            return;
        }
        while self.left != Some(0) {
            let left = self.left.map_or(usize::MAX, |left| usize::try_from(left).unwrap_or(usize::MAX));
            let len = self.message.min(left);
            let stream = self.next_stream;
            let after = if stream + 1 == self.streams.len() { 0 } else { stream + 1 };
            if self.full.get(stream) == Some(&true) {
                self.next_stream = after;
                continue;
            }
            let Some(position) = self.streams.get_mut(stream) else { return };
            let taken =
                engine.offer(now, stream as u16, self.unordered, content(stream as u16, *position, len));
            *position += taken as u64;
            if let Some(left) = &mut self.left {
                *left -= taken as u64;
            }
            if taken < len {
                if let Some(full) = self.full.get_mut(stream).filter(|_| self.several) {
                    *full = true;
                    if self.full.iter().any(|full| !full) {
                        self.next_stream = after;
                        continue;
                    }
                }
                self.blocked = true;
                return;
            }
            self.next_stream = after;
        }
    }
}
