//! The application that fetches objects.

use anabranch_base::Instant;

use super::received::Received;
use super::streams::{Object, StreamObjects, connection_of, streams_of};
use crate::content::{content, is_content};
use crate::engine::{Engine, Notice};
use crate::scenario::{Closer, Flow, Request};

/// Opens a connection, asks for its objects if they are asked for, and takes them.
#[derive(Debug)]
pub(crate) struct Client {
    streams: Vec<StreamObjects>,
    /// Objects that are not complete.
    missing: usize,
    request: Option<Request>,
    /// Requests that may go out and have not been handed over whole: bytes.
    to_ask: u64,
    /// Objects that nothing was asked for yet.
    unasked: usize,
    check: bool,
    /// The end that closes the connection.
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
    /// Changes that decide when the next connection opens, until the page has taken them.
    progress: Progress,
}

/// Changes of a connection that decide when the next one opens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Whether the connection is established, or has failed.
    pub(crate) settled: bool,
    /// Its objects are there, or it has failed.
    pub(crate) finished: bool,
}

impl Progress {
    fn is_any(self) -> bool {
        self.settled || self.finished
    }
}

impl Client {
    pub(crate) fn new(flow: &Flow) -> Self {
        let streams = streams_of(flow);
        let missing = streams.iter().map(|carried| carried.objects.len()).sum();
        Self {
            streams,
            missing,
            request: connection_of(flow).and_then(|connection| connection.objects.request),
            to_ask: 0,
            unasked: missing,
            check: !flow.unordered,
            closed_by: connection_of(flow)
                .map_or(Closer::default(), |connection| connection.objects.closed_by),
            half_closed: false,
            position: 0,
            blocked: false,
            taken: 0,
            intact: true,
            received: Received::default(),
            failed: None,
            progress: Progress::default(),
        }
    }

    /// Every object of the connection with its stream, stream by stream.
    pub(crate) fn objects(&self) -> impl Iterator<Item = (u16, &Object)> {
        let streams = (0..).zip(&self.streams);
        streams.flat_map(|(stream, carried)| carried.objects.iter().map(move |object| (stream, object)))
    }

    /// Whether every byte came and was right; `None` when content is not checked, and while bytes are missing.
    pub(crate) fn verdict(&self) -> Option<bool> {
        let whole = self.missing == 0;
        if !self.check || (self.intact && !whole) { None } else { Some(self.intact && whole) }
    }

    /// The changes since the last call, if there are any.
    #[inline]
    pub(crate) fn take_progress(&mut self) -> Option<Progress> {
        let progress = std::mem::take(&mut self.progress);
        progress.is_any().then_some(progress)
    }

    pub(crate) fn run(&mut self, now: Instant, engine: &mut Engine) -> bool {
        let mut told = false;
        while let Some(notice) = engine.poll_notice() {
            told = true;
            match notice {
                Notice::Connected => {
                    self.progress.settled = true;
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
                        // The client has closed already.
                        Closer::Client if self.missing == 0 => {}
                        Closer::ServerFirst => self.half_closed = true,
                        _ => engine.close(now),
                    }
                }
                Notice::Closed => {}
                Notice::Failed(why) => {
                    self.take(now, engine);
                    self.failed.get_or_insert(why);
                    self.progress = Progress { settled: true, finished: true };
                }
            }
        }
        self.ask(now, engine);
        told
    }

    /// Ends the connection: every object of the list is there.
    pub(crate) fn end(&mut self, now: Instant, engine: &mut Engine) {
        if std::mem::take(&mut self.half_closed) {
            engine.close(now);
        }
        if self.closed_by == Closer::ServerFirst {
            self.closed_by = Closer::Server;
        }
    }

    /// Allows the next `count` requests to go out.
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
            // A request that was taken in part goes on where it stopped.
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
            self.received.last_byte_at = Some(now);
            let Some(carried) = self.streams.get_mut(usize::from(stream)) else {
                self.intact = false;
                return;
            };
            if self.check {
                self.intact &= is_content(stream, carried.position, piece);
            }
            carried.position += piece.len() as u64;
            let mut rest = piece.len() as u64;
            while rest > 0 {
                let Some(object) = carried.current() else {
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
                    carried.done += 1;
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
                self.progress.finished = true;
                if self.closed_by == Closer::Client {
                    engine.close(now);
                }
            }
        }
    }
}
