//! The application that sends messages.

use std::collections::VecDeque;

use anabranch_base::Instant;

use crate::content::content;
use crate::engine::{Engine, Notice};
use crate::scenario::{Flow, TimedChange, Traffic};

/// Sends messages as fast as the transport takes them.
#[derive(Debug)]
pub(crate) struct Source {
    message: usize,
    /// Bytes still to hand over; `None` for a greedy source.
    left: Option<u64>,
    /// When a greedy source stops.
    stop: Option<Instant>,
    /// Bytes handed over so far, for each stream.
    streams: Vec<u64>,
    next_stream: usize,
    unordered: bool,
    /// Data may be handed over, from the opening on.
    open: bool,
    /// The handshake is over: only then is there something to close.
    connected: bool,
    blocked: bool,
    /// Streams of an association with several subflows: a full one does not keep the others waiting.
    several: bool,
    /// Streams that were not taken whole, until there is room again.
    full: Vec<bool>,
    /// What changes in the subflows, next first.
    changes: VecDeque<TimedChange>,
    closing: bool,
    /// When it was told that there is a connection.
    pub(crate) connected_at: Option<Instant>,
    pub(crate) closed_at: Option<Instant>,
    pub(crate) failed: Option<String>,
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
            stop: flow.stop.map(|after| Instant::ZERO + after),
            streams: vec![0; usize::from(flow.streams.max(1))],
            next_stream: 0,
            unordered: flow.unordered,
            open: false,
            connected: false,
            blocked: false,
            several: flow.subflows.len() > 1 || !flow.events.is_empty(),
            full: vec![false; usize::from(flow.streams.max(1))],
            changes: flow.events.iter().cloned().collect(),
            closing: false,
            connected_at: None,
            closed_at: None,
            failed: None,
        }
    }

    /// The flow has been opened. Data may be queued at once: it can ride with the handshake.
    pub(crate) fn opened(&mut self) {
        self.open = true;
    }

    /// When it has to be woken: to stop, or to change something.
    pub(crate) fn wakes_at(&self, now: Instant) -> Option<Instant> {
        let change = self.changes.front().map(|next| Instant::ZERO + next.at).filter(|_| self.open);
        let stop = self.stop.filter(|stop| *stop > now);
        match (stop, change) {
            (Some(stop), Some(change)) => Some(stop.min(change)),
            (stop, change) => stop.or(change),
        }
    }

    /// Changes whose time has come, once there is a flow to change.
    fn change(&mut self, now: Instant, engine: &mut Engine) {
        while self.open && self.changes.front().is_some_and(|next| Instant::ZERO + next.at <= now) {
            let Some(TimedChange { at, change }) = self.changes.pop_front() else { return };
            if let Err(error) = engine.change(now, &change) {
                let message = format!("the event at {} s: {error}", at.as_secs_f64());
                self.failed.get_or_insert(message);
            }
        }
    }

    pub(crate) fn run(&mut self, now: Instant, engine: &mut Engine) -> bool {
        let mut told = false;
        while let Some(notice) = engine.poll_notice() {
            told = true;
            match notice {
                Notice::Connected => {
                    // Who has not opened the flow can send from here on.
                    self.open = true;
                    self.connected = true;
                    self.connected_at.get_or_insert(now);
                    self.unblock();
                }
                Notice::Writable => self.unblock(),
                // A receiver of a source sends no data; if data come all the same, they are thrown away.
                Notice::Readable => engine.take_all(now, |_, _| ()),
                Notice::PeerClosed => {}
                Notice::Closed => {
                    self.open = false;
                    self.closed_at.get_or_insert(now);
                }
                Notice::Failed(why) => {
                    self.open = false;
                    self.failed.get_or_insert(why);
                }
            }
        }
        if !self.changes.is_empty() {
            self.change(now, engine);
        }
        if self.open && !self.closing {
            if !self.blocked {
                self.fill(now, engine);
            }
            let done = self.left == Some(0) || self.stop.is_some_and(|stop| stop <= now);
            if done && self.connected {
                self.closing = true;
                engine.close(now);
            }
        }
        told
    }

    fn unblock(&mut self) {
        self.blocked = false;
        if self.several {
            self.full.fill(false);
        }
    }

    fn fill(&mut self, now: Instant, engine: &mut Engine) {
        if self.stop.is_some_and(|stop| stop <= now) {
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
