//! The task that drives an endpoint: sockets, timers, and the loop between them.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use anabranch_base::{Instant, Transmit};
use anabranch_sctp::{IcmpError, IcmpKind};
use tokio::time::Sleep;

use crate::observe::Watch;
use crate::shared::{Shared, State};
use crate::socket::{Inbox, Sent, Socket};

/// Batches that are taken from the core before they are sent: then it is the next reader's turn.
const MAX_BATCHES: usize = 8;
/// Turns of the loop before other tasks have theirs.
const MAX_TURNS: usize = 16;

/// What is between the core and the sockets. As a future it is done when nobody can use it any more.
pub(crate) struct Driver {
    shared: Arc<Shared>,
    sockets: Vec<Socket>,
    inbox: Inbox,
    /// What the core wants to be sent, and the sockets have not taken yet.
    outbox: VecDeque<Outgoing>,
    /// Empty buffers.
    spare: Vec<Vec<u8>>,
    sleep: Pin<Box<Sleep>>,
    /// What `sleep` is set to.
    due: Option<Instant>,
    /// Tasks to be woken once the mutex is free.
    to_wake: Vec<Waker>,
    /// Captures and the like, where somebody has asked for them.
    watch: Option<Box<Watch>>,
}

#[derive(Debug)]
struct Outgoing {
    transmit: Transmit,
    packets: Vec<u8>,
    /// Bytes that have left.
    sent: usize,
    socket: usize,
}

/// What is left to do after a turn.
struct Turn {
    again: bool,
    over: bool,
    due: Option<Instant>,
}

impl Driver {
    pub(crate) fn new(shared: Arc<Shared>, sockets: Vec<Socket>, watch: Option<Box<Watch>>) -> Self {
        let sleep = Box::pin(tokio::time::sleep(std::time::Duration::ZERO));
        Self {
            shared,
            sockets,
            inbox: Inbox::new(),
            outbox: VecDeque::new(),
            spare: Vec::new(),
            sleep,
            due: None,
            to_wake: Vec::new(),
            watch,
        }
    }

    /// Takes what the core wants to be sent.
    fn collect(&mut self, now: Instant, state: &mut State) {
        while self.outbox.len() < MAX_BATCHES {
            let mut packets = self.spare.pop().unwrap_or_default();
            // All sockets are of one kind.
            let most = self.sockets.first().map_or(1, Socket::max_packets);
            let Some(transmit) = state.endpoint.poll_transmit(now, most, &mut packets) else {
                self.spare.push(packets);
                break;
            };
            let serves = |socket: &Socket| socket.serves(transmit.source, transmit.destination);
            match self.sockets.iter().position(serves) {
                Some(socket) => self.outbox.push_back(Outgoing { transmit, packets, sent: 0, socket }),
                // There is no way there from here: as if the network had lost it.
                None => self.recycle(packets),
            }
        }
    }

    fn recycle(&mut self, mut packets: Vec<u8>) {
        packets.clear();
        self.spare.push(packets);
    }

    /// Sends what waits. False when a socket takes no more now.
    fn send(&mut self, cx: &mut Context<'_>) -> bool {
        while let Some(outgoing) = self.outbox.pop_front() {
            let Some(socket) = self.sockets.get(outgoing.socket) else { continue };
            let packets = outgoing.packets.get(outgoing.sent..).unwrap_or_default();
            let done = socket.send(&outgoing.transmit, packets);
            if let Some(watch) = &mut self.watch {
                let left = match done {
                    Sent::Taken => 0,
                    Sent::Later(left) | Sent::TooBig(left) => left,
                    Sent::Lost => packets.len(),
                };
                let gone = packets.get(..packets.len() - left).unwrap_or_default();
                watch.sent(self.shared.clock.now(), &outgoing.transmit, gone, socket.local());
            }
            match done {
                Sent::Later(left) => {
                    let ready = socket.poll_writable(cx).is_ready();
                    let sent = outgoing.packets.len() - left;
                    self.outbox.push_front(Outgoing { sent, ..outgoing });
                    if !ready {
                        return false;
                    }
                }
                Sent::TooBig(left) => self.too_big(outgoing, left),
                // What is lost here the core finds out as it does with any loss.
                Sent::Lost => {
                    let to = outgoing.transmit.destination;
                    tracing::debug!(target: "anabranch_live", %to, bytes = outgoing.packets.len(), "the system takes no packets");
                    self.recycle(outgoing.packets);
                }
                Sent::Taken => self.recycle(outgoing.packets),
            }
        }
        true
    }

    /// A packet is larger than the network of this host carries: the core hears of it as if a router had said so. The rest of the
    /// batch is as large.
    fn too_big(&mut self, outgoing: Outgoing, left: usize) {
        let Outgoing { transmit, packets, socket, .. } = outgoing;
        let rest = packets.get(packets.len() - left..).unwrap_or_default();
        let packet = rest.get(..transmit.segment_size).unwrap_or(rest);
        let Some(socket) = self.sockets.get(socket) else { return };
        let now = self.shared.clock.now();
        let mut state = self.shared.lock();
        socket.each_error(|error| {
            let said_here = matches!(error.kind, IcmpKind::TooBig { .. }) && error.quoted.is_empty();
            let quoted = if said_here { packet } else { error.quoted };
            state.endpoint.handle_icmp(now, &IcmpError { quoted, ..*error });
        });
        drop(state);
        self.recycle(packets);
    }

    /// Hands to the core what ICMP has said. False when there was nothing.
    fn hear_errors(&mut self, cx: &mut Context<'_>) -> bool {
        let mut heard = false;
        for socket in &mut self.sockets {
            if socket.poll_errors(cx) {
                heard = true;
                let now = self.shared.clock.now();
                let mut state = self.shared.lock();
                socket.each_error(|error| state.endpoint.handle_icmp(now, error));
            }
        }
        heard
    }

    /// One turn: what has come, what is due, what must go out.
    fn turn(&mut self, cx: &mut Context<'_>) -> Turn {
        let mut again = self.hear_errors(cx);
        let shared = Arc::clone(&self.shared);
        for index in 0..self.sockets.len() {
            let Some(socket) = self.sockets.get(index) else { break };
            if socket.poll_readable(cx).is_pending() {
                continue;
            }
            again = true;
            if !socket.receive(&mut self.inbox) {
                continue;
            }
            let now = shared.clock.now();
            let mut state = shared.lock();
            // What a user has asked for leaves before what has come is looked at: an ABORT with its reason goes before the one without
            // that answers a packet for an association that is closed by now.
            if state.endpoint.has_ready() {
                self.collect(now, &mut state);
            }
            let Some(socket) = self.sockets.get(index) else { break };
            if let Some(watch) = &self.watch {
                socket.each_packet(&self.inbox, |meta, packet| watch.received(now, &meta, packet));
            }
            socket.each_packet(&self.inbox, |meta, packet| state.endpoint.handle_datagram(now, meta, packet));
        }
        let now = shared.clock.now();
        let mut state = shared.lock();
        state.driver_looks(cx.waker());
        let expired = self.due.is_some_and(|due| due <= now);
        if expired {
            state.endpoint.handle_timeout(now);
        }
        if again || expired {
            state.news.wake(&mut self.to_wake);
        }
        let mut due;
        loop {
            state.take_events(now, &mut self.to_wake);
            self.collect(now, &mut state);
            state.take_events(now, &mut self.to_wake);
            state.release_forgotten();
            due = state.endpoint.poll_timeout().map(|(at, _)| at);
            // It may name a time at which a timer was due before it was restarted.
            if due.is_none_or(|due| due > now) {
                break;
            }
            state.endpoint.handle_timeout(now);
        }
        let more = state.endpoint.has_ready();
        let over = state.is_over();
        let told = self.watch.as_mut().map(|watch| watch.look(&mut state));
        drop(state);
        if let (Some(watch), Some(told)) = (&mut self.watch, told) {
            watch.tell(told);
        }
        for waker in self.to_wake.drain(..) {
            waker.wake();
        }
        let sent = self.send(cx);
        Turn { again: again || (more && sent), over: over && self.outbox.is_empty(), due }
    }

    /// Sets the alarm. True when it has gone off already.
    fn set_alarm(&mut self, cx: &mut Context<'_>, due: Option<Instant>) -> bool {
        let Some(at) = due.and_then(|due| self.shared.clock.at(due)) else {
            self.due = None;
            return false;
        };
        if self.due != due {
            self.due = due;
            self.sleep.as_mut().reset(at);
        }
        self.sleep.as_mut().poll(cx).is_ready()
    }
}

impl Future for Driver {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        for _ in 0..MAX_TURNS {
            let turn = this.turn(cx);
            if turn.over {
                return Poll::Ready(());
            }
            let late = this.set_alarm(cx, turn.due);
            if !turn.again && !late {
                return Poll::Pending;
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Drop for Driver {
    /// The runtime ends, or nobody needs the driver: whoever waits hears of it.
    fn drop(&mut self) {
        let mut woken = Vec::new();
        self.shared.lock().end(&mut woken);
        for waker in woken {
            waker.wake();
        }
    }
}
