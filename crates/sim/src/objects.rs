//! The two applications of traffic of kind `objects`: a server that sends them, a client that fetches them.

use std::collections::VecDeque;

use anabranch_base::Instant;

use crate::app::Received;
use crate::content::{content, is_content};
use crate::engine::{Engine, Notice};
use crate::scenario::{Closer, Connection, Flow, Order, Request, Traffic};

/// An object on its way, as one of the two ends sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Object {
    /// Its number in the whole list, from 0.
    pub(crate) index: usize,
    /// Bytes in all.
    pub(crate) size: u64,
    /// Bytes still to be handed over (server) or to come (client).
    left: u64,
    /// When the client had its first byte.
    pub(crate) first_byte_at: Option<Instant>,
    /// When the client had its last byte.
    pub(crate) complete_at: Option<Instant>,
}

/// What one stream carries.
#[derive(Debug, Default)]
struct Lane {
    /// Its objects, the first of them not yet done.
    objects: Vec<Object>,
    done: usize,
    /// Bytes so far.
    position: u64,
}

impl Lane {
    fn current(&mut self) -> Option<&mut Object> {
        self.objects.get_mut(self.done)
    }
}

/// The objects of a connection over its streams: the first to the first stream, and so on in turn.
fn lanes(flow: &Flow) -> Vec<Lane> {
    let streams = usize::from(flow.streams.max(1));
    let mut lanes: Vec<Lane> = (0..streams).map(|_| Lane::default()).collect();
    let Traffic::Objects(connection) = &flow.traffic else { return lanes };
    for (place, (index, size)) in connection.own().enumerate() {
        let object = Object { index, size, left: size, first_byte_at: None, complete_at: None };
        if let Some(lane) = lanes.get_mut(place % streams) {
            lane.objects.push(object);
        }
    }
    lanes
}

fn plan(flow: &Flow) -> Option<&Connection> {
    match &flow.traffic {
        Traffic::Objects(connection) => Some(connection),
        _ => None,
    }
}

/// Sends the objects of one connection, and closes it after the last.
#[derive(Debug)]
pub(crate) struct Server {
    lanes: Vec<Lane>,
    /// Streams that have an object to send, in the order in which they speak.
    turn: VecDeque<u16>,
    /// Streams whose object has not been asked for, in the order of the objects.
    unasked: VecDeque<u16>,
    /// Bytes handed over so far.
    handed: u64,
    message: usize,
    order: Order,
    /// Bytes of a request; `None`: nobody asks.
    request: Option<u64>,
    /// Bytes of requests that came and do not make a whole one yet.
    asked: u64,
    unordered: bool,
    connected: bool,
    /// It has just been told that there is a connection.
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
    pub(crate) fn new(flow: &Flow) -> Self {
        let objects = plan(flow).map(|connection| &connection.objects);
        let lanes = lanes(flow);
        let streams = lanes.len();
        let count: usize = lanes.iter().map(|lane| lane.objects.len()).sum();
        Self {
            lanes,
            turn: VecDeque::new(),
            unasked: (0..count).map(|place| (place % streams) as u16).collect(),
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
            // It writes, then it closes: what may leave has left before. So the end is a packet of its own, unless something
            // still waits that it can ride with.
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

    /// The next so many objects may be sent.
    fn serve(&mut self, count: usize) {
        let count = count.min(self.unasked.len());
        self.turn.extend(self.unasked.drain(..count));
    }

    /// Hands over as much as the transport takes.
    fn fill(&mut self, now: Instant, engine: &mut Engine) {
        while let Some(&stream) = self.turn.front() {
            let Some(lane) = self.lanes.get_mut(usize::from(stream)) else { return };
            let position = lane.position;
            let Some(object) = lane.current() else {
                self.turn.pop_front();
                continue;
            };
            let len = self.message.min(usize::try_from(object.left).unwrap_or(usize::MAX));
            let taken = engine.offer(now, stream, self.unordered, content(stream, position, len));
            object.left -= taken as u64;
            let done = object.left == 0;
            lane.position += taken as u64;
            self.handed += taken as u64;
            if taken < len {
                self.blocked = true;
                return;
            }
            if done {
                lane.done += 1;
                self.turn.pop_front();
            } else if self.order == Order::RoundRobin {
                self.turn.rotate_left(1);
            }
        }
    }
}

/// Opens a connection, asks for its objects if they are asked for, and takes them.
#[derive(Debug)]
pub(crate) struct Client {
    lanes: Vec<Lane>,
    /// Objects that are not complete.
    missing: usize,
    request: Option<Request>,
    /// Requests that may go out and have not been handed over whole: bytes.
    to_ask: u64,
    /// Objects that nothing was asked for yet.
    unasked: usize,
    check: bool,
    /// Who closes the connection.
    closed_by: Closer,
    /// The server has closed, and this end waits for the other connections.
    half_closed: bool,
    /// Bytes sent so far: their place in the stream of requests.
    position: u64,
    blocked: bool,
    /// Bytes of objects so far.
    pub(crate) taken: u64,
    pub(crate) intact: bool,
    pub(crate) received: Received,
    pub(crate) failed: Option<String>,
    /// What whoever opens the next connection has to know, until it has been told.
    news: News,
}

/// What has become of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct News {
    /// It is established, or has failed.
    pub(crate) settled: bool,
    /// Its objects are there, or it has failed.
    pub(crate) finished: bool,
}

impl News {
    fn is_any(self) -> bool {
        self.settled || self.finished
    }
}

impl Client {
    pub(crate) fn new(flow: &Flow) -> Self {
        let lanes = lanes(flow);
        let missing = lanes.iter().map(|lane| lane.objects.len()).sum();
        Self {
            lanes,
            missing,
            request: plan(flow).and_then(|connection| connection.objects.request),
            to_ask: 0,
            unasked: missing,
            check: !flow.unordered,
            closed_by: plan(flow).map_or(Closer::default(), |connection| connection.objects.closed_by),
            half_closed: false,
            position: 0,
            blocked: false,
            taken: 0,
            intact: true,
            received: Received::default(),
            failed: None,
            news: News::default(),
        }
    }

    /// Every object of the connection with its stream, stream by stream.
    pub(crate) fn objects(&self) -> impl Iterator<Item = (u16, &Object)> {
        let streams = (0..).zip(&self.lanes);
        streams.flat_map(|(stream, lane)| lane.objects.iter().map(move |object| (stream, object)))
    }

    /// Whether every byte came and was right; `None` when nobody looked, and while some are missing.
    pub(crate) fn verdict(&self) -> Option<bool> {
        let whole = self.missing == 0;
        if !self.check || (self.intact && !whole) { None } else { Some(self.intact && whole) }
    }

    /// What is new since the last time, if anything is.
    #[inline]
    pub(crate) fn take_news(&mut self) -> Option<News> {
        let news = std::mem::take(&mut self.news);
        news.is_any().then_some(news)
    }

    pub(crate) fn run(&mut self, now: Instant, engine: &mut Engine) -> bool {
        let mut told = false;
        while let Some(notice) = engine.poll_notice() {
            told = true;
            match notice {
                Notice::Connected => {
                    self.news.settled = true;
                    self.received.connected_at.get_or_insert(now);
                    let all = self.request.is_some_and(|request| request.pipeline);
                    self.may_ask(if all { usize::MAX } else { 1 });
                }
                Notice::Writable => self.blocked = false,
                Notice::Readable => self.take(now, engine),
                Notice::PeerClosed => {
                    self.take(now, engine);
                    self.received.ended_at.get_or_insert(now);
                    match self.closed_by {
                        // It has done so.
                        Closer::Client if self.missing == 0 => {}
                        Closer::ServerFirst => self.half_closed = true,
                        _ => engine.close(now),
                    }
                }
                Notice::Closed => {}
                Notice::Failed(why) => {
                    self.take(now, engine);
                    self.failed.get_or_insert(why);
                    self.news = News { settled: true, finished: true };
                }
            }
        }
        self.ask(now, engine);
        told
    }

    /// Every object of the list is there.
    pub(crate) fn end(&mut self, now: Instant, engine: &mut Engine) {
        if std::mem::take(&mut self.half_closed) {
            engine.close(now);
        }
        if self.closed_by == Closer::ServerFirst {
            self.closed_by = Closer::Server;
        }
    }

    /// The next so many requests may go out.
    fn may_ask(&mut self, count: usize) {
        let count = count.min(self.unasked);
        if let Some(request) = self.request {
            self.unasked -= count;
            self.to_ask += count as u64 * u64::from(request.size);
        }
    }

    fn ask(&mut self, now: Instant, engine: &mut Engine) {
        let size = self.request.map_or(0, |request| request.size as usize);
        while self.to_ask > 0 && !self.blocked {
            // What was taken in part goes on where it stopped.
            let begun = usize::try_from(self.to_ask % size.max(1) as u64).unwrap_or(0);
            let len = if begun == 0 { size } else { begun };
            let taken = engine.offer(now, 0, false, content(0, self.position, len));
            self.position += taken as u64;
            self.to_ask -= taken as u64;
            self.blocked = taken < len;
        }
    }

    fn take(&mut self, now: Instant, engine: &mut Engine) {
        let before = self.missing;
        engine.take_all(now, |stream, piece| {
            self.taken += piece.len() as u64;
            let Some(lane) = self.lanes.get_mut(usize::from(stream)) else {
                self.intact = false;
                return;
            };
            if self.check {
                self.intact &= is_content(stream, lane.position, piece);
            }
            lane.position += piece.len() as u64;
            let mut rest = piece.len() as u64;
            while rest > 0 {
                let Some(object) = lane.current() else {
                    // More than was promised.
                    self.intact = false;
                    return;
                };
                let part = rest.min(object.left);
                object.first_byte_at.get_or_insert(now);
                object.left -= part;
                rest -= part;
                if object.left == 0 {
                    object.complete_at = Some(now);
                    lane.done += 1;
                    self.missing -= 1;
                }
            }
        });
        if self.taken > 0 {
            self.received.first_byte_at.get_or_insert(now);
        }
        let complete = before - self.missing;
        if complete > 0 {
            if self.request.is_some_and(|request| !request.pipeline) {
                self.may_ask(complete);
            }
            if self.missing == 0 {
                self.received.complete_at.get_or_insert(now);
                self.news.finished = true;
                if self.closed_by == Closer::Client {
                    engine.close(now);
                }
            }
        }
    }
}
