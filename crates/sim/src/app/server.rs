//! The application that sends objects.

use std::collections::VecDeque;

use anabranch_base::Instant;

use super::streams::{StreamObjects, connection_of, streams_of};
use crate::content::content;
use crate::engine::{Engine, Notice};
use crate::scenario::{Closer, Flow, Order};

/// Sends the objects of one connection, and closes it after the last.
#[derive(Debug)]
pub(crate) struct Server {
    streams: Vec<StreamObjects>,
    /// Streams that have an object to send, in the order of their turns.
    turn: VecDeque<u16>,
    /// Streams whose object has not been asked for, in the order of the objects.
    unasked: VecDeque<u16>,
    /// Bytes handed over so far.
    handed: u64,
    message: usize,
    order: Order,
    /// Bytes of a request; `None` when objects are sent without one.
    request: Option<u64>,
    /// Bytes of requests that came and do not make a whole one yet.
    asked: u64,
    unordered: bool,
    connected: bool,
    /// Whether the server has just been told that there is a connection.
    fresh: bool,
    blocked: bool,
    /// Whether it closes the connection; else the client does.
    closes: bool,
    /// Everything was handed over.
    done: bool,
    closing: bool,
    /// When it was told that there is a connection.
    pub(crate) connected_at: Option<Instant>,
    pub(crate) closed_at: Option<Instant>,
    pub(crate) failed: Option<String>,
}

impl Server {
    /// Whether there is nothing more to hand over.
    pub(crate) const fn has_handed_all(&self) -> bool {
        self.done
    }

    pub(crate) fn new(flow: &Flow) -> Self {
        let objects = connection_of(flow).map(|connection| &connection.objects);
        let streams = streams_of(flow);
        let width = streams.len();
        let count: usize = streams.iter().map(|carried| carried.objects.len()).sum();
        Self {
            streams,
            turn: VecDeque::new(),
            unasked: (0..count).map(|place| (place % width) as u16).collect(),
            handed: 0,
            message: objects.map_or(1, |objects| objects.message.max(1)) as usize,
            order: objects.map_or(Order::default(), |objects| objects.order),
            request: objects.and_then(|objects| objects.request).map(|request| u64::from(request.size)),
            asked: 0,
            unordered: flow.unordered,
            connected: false,
            fresh: false,
            blocked: false,
            closes: objects.is_none_or(|objects| objects.closed_by != Closer::Client),
            done: false,
            closing: false,
            connected_at: None,
            closed_at: None,
            failed: None,
        }
    }

    pub(crate) fn run(&mut self, now: Instant, engine: &mut Engine) -> bool {
        let mut told = false;
        while let Some(notice) = engine.poll_notice() {
            told = true;
            match notice {
                Notice::Connected => {
                    self.connected = true;
                    self.fresh = true;
                    self.connected_at.get_or_insert(now);
                    self.blocked = false;
                    if self.request.is_none() {
                        self.serve(usize::MAX);
                    }
                }
                Notice::Writable => self.blocked = false,
                Notice::Readable => self.listen(now, engine),
                Notice::PeerClosed => {
                    if !self.closing {
                        self.closing = true;
                        engine.close(now);
                    }
                }
                Notice::Closed => {
                    self.connected = false;
                    self.closed_at.get_or_insert(now);
                }
                Notice::Failed(why) => {
                    self.connected = false;
                    self.failed.get_or_insert(why);
                }
            }
        }
        if std::mem::take(&mut self.fresh) {
            // A process is told of a connection when the transport has answered: a COOKIE ACK leaves before the first DATA.
            return true;
        }
        if self.connected && !self.closing {
            let before = self.handed;
            if !self.blocked {
                self.fill(now, engine);
            }
            // The application writes, then closes: data that may leave has left before. So the end is a packet of its
            // own, unless it can join data that still waits.
            if self.done && self.closes {
                self.closing = true;
                engine.close(now);
                return true;
            }
            if !self.done && self.turn.is_empty() && self.unasked.is_empty() {
                self.done = true;
                return true;
            }
            told |= self.handed > before;
        }
        told
    }

    /// Requests have come.
    fn listen(&mut self, now: Instant, engine: &mut Engine) {
        engine.take_all(now, |_, piece| self.asked += piece.len() as u64);
        if let Some(size) = self.request.filter(|size| *size > 0) {
            let whole = self.asked / size;
            self.asked %= size;
            self.serve(usize::try_from(whole).unwrap_or(usize::MAX));
        }
    }

    /// Allows the next `count` objects to be sent.
    fn serve(&mut self, count: usize) {
        let count = count.min(self.unasked.len());
        self.turn.extend(self.unasked.drain(..count));
    }

    /// Hands over as much as the transport takes.
    fn fill(&mut self, now: Instant, engine: &mut Engine) {
        while let Some(&stream) = self.turn.front() {
            let Some(carried) = self.streams.get_mut(usize::from(stream)) else { return };
            let position = carried.position;
            let Some(object) = carried.current() else {
                self.turn.pop_front();
                continue;
            };
            let len = self.message.min(usize::try_from(object.left).unwrap_or(usize::MAX));
            let taken = engine.offer(now, stream, self.unordered, content(stream, position, len));
            object.left -= taken as u64;
            let done = object.left == 0;
            carried.position += taken as u64;
            self.handed += taken as u64;
            if taken < len {
                self.blocked = true;
                return;
            }
            if done {
                carried.done += 1;
                self.turn.pop_front();
            } else if self.order == Order::RoundRobin {
                self.turn.rotate_left(1);
            }
        }
    }
}
