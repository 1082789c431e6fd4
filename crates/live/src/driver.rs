//! The task that drives an endpoint: sockets, timers, and the loop between them.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use anabranch_base::{Duration, Instant, Transmit};
use anabranch_sctp::{IcmpError, IcmpKind};
use tokio::time::Sleep;

use crate::observe::Watch;
use crate::raw::Ownerships;
use crate::shards::{Forwarded, Siblings};
use crate::shared::{Shared, State};
use crate::socket::{Inbox, LARGEST_BATCH, Sent, Socket};

/// Batches that are taken from the core before they are sent: then it is the next reader's turn.
const MAX_BATCHES: usize = 8;
/// Turns that brought packets before ICMP errors are heard all the same.
const MAX_ERRORS_WAIT: u8 = 64;
/// Packets from other shards that are taken before packets from the network have their turn.
const MAX_FORWARDED: usize = 256;
/// Turns of the loop before other tasks have theirs.
const MAX_TURNS: usize = 16;

/// The task between the core and the sockets: moves packets, errors and timers. The future ends when no handle of the
/// endpoint or of an association is left.
pub(crate) struct Driver {
    shared: Arc<Shared>,
    sockets: Vec<Socket>,
    inbox: Inbox,
    /// Packets of the core that the sockets have not taken yet.
    outbox: VecDeque<Outgoing>,
    /// Empty buffers.
    spare: Vec<Vec<u8>>,
    sleep: Pin<Box<Sleep>>,
    /// The time at which `sleep` ends.
    due: Option<Instant>,
    /// The other shards, where several drivers share addresses.
    siblings: Option<Siblings>,
    /// Right on IP.
    ownerships: Option<Ownerships>,
    /// Turns with packets since errors were heard.
    errors_wait: u8,
    /// Tasks to be woken once the mutex is free.
    to_wake: Vec<Waker>,
    /// The observers of the endpoint (capture, qlog, spans), where the user has asked for any.
    watch: Option<Box<Watch>>,
    /// How long sockets are looked at unasked after something has come or left.
    busy_poll: Duration,
    /// The time until which sockets are looked at unasked.
    busy_until: Instant,
}

#[derive(Debug)]
struct Outgoing {
    transmit: Transmit,
    packets: Vec<u8>,
    /// Bytes that have left.
    sent: usize,
    socket: usize,
}

impl Outgoing {
    /// How many packets of the same size may follow in the same call. None where the last is shorter.
    fn room(&self, most: usize) -> usize {
        let (size, bytes) = (self.transmit.segment_size, self.packets.len());
        if size == 0 || bytes % size != 0 {
            return 0;
        }
        most.min(LARGEST_BATCH / size).saturating_sub(bytes / size)
    }

    /// Whether those packets may leave in the same call: they go the same way, and are as large. A shorter packet alone would fit
    /// at the end, but would be lost with a probe of the path MTU before it that is larger than the network here carries.
    fn is_alike(&self, next: &Transmit) -> bool {
        Transmit { size: self.transmit.size, ..*next } == self.transmit
    }
}

/// The work left after a turn of the driver's loop.
struct Turn {
    again: bool,
    over: bool,
    due: Option<Instant>,
}

impl Driver {
    pub(crate) fn new(
        shared: Arc<Shared>,
        sockets: Vec<Socket>,
        siblings: Option<Siblings>,
        watch: Option<Box<Watch>>,
        busy_poll: std::time::Duration,
    ) -> Self {
        let sleep = Box::pin(tokio::time::sleep(std::time::Duration::ZERO));
        let ownerships = shared.ports.as_ref().map(|_| Ownerships::new(&sockets));
        Self {
            shared,
            sockets,
            inbox: Inbox::new(),
            outbox: VecDeque::new(),
            spare: Vec::new(),
            sleep,
            due: None,
            siblings,
            ownerships,
            errors_wait: 0,
            to_wake: Vec::new(),
            watch,
            busy_poll: Duration::from_nanos(u64::try_from(busy_poll.as_nanos()).unwrap_or(u64::MAX)),
            busy_until: Instant::ZERO,
        }
    }

    /// Takes packets from the core for sending.
    fn collect(&mut self, now: Instant, state: &mut State) {
        // All sockets are of one kind, so the first stands for all.
        let most = self.sockets.first().map_or(1, Socket::max_packets);
        while self.outbox.len() < MAX_BATCHES {
            if self.collect_behind(now, state, most) {
                continue;
            }
            let mut packets = self.spare.pop().unwrap_or_default();
            let Some(transmit) = state.endpoint.poll_transmit(now, most, &mut packets) else {
                self.spare.push(packets);
                break;
            };
            self.post(transmit, packets);
        }
    }

    /// Lets the core write behind the last batch, where that has room: packets of one path leave in the same call. False when there
    /// is no such batch, or nothing to be sent.
    fn collect_behind(&mut self, now: Instant, state: &mut State, most: usize) -> bool {
        let Some(last) = self.outbox.back_mut() else { return false };
        let room = last.room(most);
        if room == 0 {
            return false;
        }
        let before = last.packets.len();
        let Some(next) = state.endpoint.poll_transmit(now, room, &mut last.packets) else { return false };
        if last.is_alike(&next) {
            last.transmit.size = last.packets.len();
            return true;
        }
        let mut packets = self.spare.pop().unwrap_or_default();
        packets.extend(last.packets.drain(before..));
        self.post(next, packets);
        true
    }

    /// Puts a batch into the queue of packets for the sockets.
    fn post(&mut self, transmit: Transmit, packets: Vec<u8>) {
        let serves = |socket: &Socket| socket.serves(transmit.source, transmit.destination);
        match self.sockets.iter().position(serves) {
            Some(socket) => self.outbox.push_back(Outgoing { transmit, packets, sent: 0, socket }),
            // No socket can reach the destination: the packets are lost, as in the network.
            None => self.recycle(packets),
        }
    }

    fn recycle(&mut self, mut packets: Vec<u8>) {
        packets.clear();
        self.spare.push(packets);
    }

    /// Sends the waiting packets. False when a socket takes no more now.
    fn send(&mut self, cx: &mut Context<'_>) -> bool {
        while let Some(outgoing) = self.outbox.pop_front() {
            let Some(socket) = self.sockets.get_mut(outgoing.socket) else { continue };
            let packets = outgoing.packets.get(outgoing.sent..).unwrap_or_default();
            let done = socket.send(&outgoing.transmit, packets);
            if let Some(watch) = &mut self.watch {
                let left = match done {
                    Sent::Accepted => 0,
                    Sent::Later(left) | Sent::TooBig(left) => left,
                    Sent::Lost => packets.len(),
                };
                let gone = packets.get(..packets.len() - left).unwrap_or_default();
                watch.sent(self.shared.clock.now(), &outgoing.transmit, gone, socket.local());
            }
            match done {
                Sent::Later(left) => {
                    let room = socket.poll_writable(cx);
                    let sent = outgoing.packets.len() - left;
                    match room {
                        Poll::Ready(Err(_)) => self.lose(outgoing),
                        Poll::Ready(Ok(())) => self.outbox.push_front(Outgoing { sent, ..outgoing }),
                        Poll::Pending => {
                            self.outbox.push_front(Outgoing { sent, ..outgoing });
                            return false;
                        }
                    }
                }
                Sent::TooBig(left) => self.too_big(outgoing, left),
                Sent::Lost => self.lose(outgoing),
                Sent::Accepted => self.recycle(outgoing.packets),
            }
        }
        true
    }

    /// Drops packets that the system does not take. The core detects and repairs this as it does any loss.
    fn lose(&mut self, outgoing: Outgoing) {
        let (to, bytes) = (outgoing.transmit.destination, outgoing.packets.len() - outgoing.sent);
        tracing::debug!(target: "anabranch_live", %to, bytes, "the system takes no packets");
        self.recycle(outgoing.packets);
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

    /// Hands ICMP errors to the core. False when there was none.
    fn hear_errors(&mut self, cx: &mut Context<'_>) -> bool {
        let mut heard = false;
        for socket in &mut self.sockets {
            if socket.poll_errors(cx) {
                heard = true;
                let now = self.shared.clock.now();
                let mut state = self.shared.lock();
                socket.each_error(|error| {
                    state.endpoint.handle_icmp(now, error);
                    if let Some(siblings) = &self.siblings {
                        siblings.tell(error);
                    }
                });
            }
        }
        heard
    }

    /// Hands to the core the packets that other shards have received for this one. False when there was none.
    fn take_forwarded(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(siblings) = &mut self.siblings else { return false };
        let mut taken = 0;
        while taken < MAX_FORWARDED {
            let Poll::Ready(forwarded) = siblings.poll(cx) else { break };
            taken += 1;
            let now = self.shared.clock.now();
            let mut state = self.shared.lock();
            match forwarded {
                Forwarded::Packet(meta, packet) => {
                    if let Some(watch) = &self.watch {
                        watch.received(now, &meta, &packet);
                    }
                    state.endpoint.handle_datagram(now, meta, &packet);
                }
                Forwarded::Icmp { kind, destination, quoted, udp_port } => {
                    let error = IcmpError { kind, destination, quoted: &quoted, udp_port };
                    state.endpoint.handle_icmp(now, &error);
                }
            }
        }
        taken > 0
    }

    /// Hands a socket's packets to the core, and takes its answers as they fall due. "An acknowledgement SHOULD be generated for
    /// at least every second packet" (RFC 9260, 6.2), also of those that the kernel hands over at once: a peer may send no more than
    /// Max.Burst packets for each SACK, and opens its window by no more than a packet. The answers leave in one call, as far as they are
    /// of one size.
    fn hand_in(&mut self, cx: &mut Context<'_>, now: Instant, index: usize) {
        let shared = Arc::clone(&self.shared);
        let inbox = std::mem::take(&mut self.inbox);
        for buffer in 0..inbox.filled() {
            let mut state = shared.lock();
            let Some(socket) = self.sockets.get(index) else { break };
            for (meta, packet) in socket.packets(&inbox, buffer) {
                if self.siblings.as_ref().is_some_and(|siblings| siblings.pass_on(&meta, packet)) {
                    state.passed_on += 1;
                    continue;
                }
                if let (Some(ownerships), Some(ports)) = (&self.ownerships, &shared.ports) {
                    if !ownerships.concerns(index, ports, meta.destination.ip(), packet) {
                        continue;
                    }
                }
                if let Some(watch) = &self.watch {
                    watch.received(now, &meta, packet);
                }
                state.endpoint.handle_datagram(now, meta, packet);
                if state.endpoint.has_ready() {
                    self.collect(now, &mut state);
                }
            }
            drop(state);
            // Sent now, so that the answers to the next buffer have room.
            if self.outbox.len() >= MAX_BATCHES {
                self.send(cx);
            }
        }
        self.inbox = inbox;
    }

    /// One turn: received packets and errors, due timers, packets to send.
    fn turn(&mut self, cx: &mut Context<'_>) -> Turn {
        let mut again = self.take_forwarded(cx);
        let mut came = again;
        if let (Some(ownerships), Some(ports)) = (&mut self.ownerships, &self.shared.ports) {
            ownerships.look(self.shared.clock.now(), ports, &self.sockets);
        }
        let shared = Arc::clone(&self.shared);
        for index in 0..self.sockets.len() {
            let Some(socket) = self.sockets.get(index) else { break };
            if socket.poll_readable(cx).is_ready() {
                if !socket.receive(&mut self.inbox) {
                    again = true;
                    continue;
                }
            } else if self.busy_until == Instant::ZERO || !socket.receive_unasked(&mut self.inbox) {
                continue;
            }
            came = true;
            // An inbox that is not full has taken all that there was; the runtime signals later packets, once it was
            // asked again.
            again |= self.inbox.is_full() || socket.poll_readable(cx).is_ready();
            self.hand_in(cx, shared.clock.now(), index);
        }
        // Packets that came before an ICMP error about the peer's port are read first: they may be the last of the
        // peer's data, or its ABORT. After a number of turns errors are read all the same, so that others' packets
        // cannot delay them for ever.
        again |= came && self.sockets.iter().any(|socket| socket.poll_readable(cx).is_ready());
        self.errors_wait = if again { self.errors_wait + 1 } else { MAX_ERRORS_WAIT };
        if self.errors_wait >= MAX_ERRORS_WAIT {
            self.errors_wait = 0;
            again |= self.hear_errors(cx);
        }
        let now = shared.clock.now();
        let mut state = shared.lock();
        state.driver_looks(cx.waker());
        let expired = self.due.is_some_and(|due| due <= now);
        if expired {
            state.endpoint.handle_timeout(now);
        }
        if again || came || expired {
            state.activity.wake_all(&mut self.to_wake);
        }
        let mut due;
        loop {
            state.take_events(now, &mut self.to_wake);
            self.collect(now, &mut state);
            state.take_events(now, &mut self.to_wake);
            state.release_forgotten();
            due = state.endpoint.poll_timeout().map(|(at, _)| at);
            // The endpoint may name a time at which a timer was due before it was restarted.
            if due.is_none_or(|due| due > now) {
                break;
            }
            state.endpoint.handle_timeout(now);
        }
        let more = state.endpoint.has_ready();
        let over = state.is_over();
        let drained = state.owes_drained();
        let told = self.watch.as_mut().map(|watch| watch.look(&mut state));
        drop(state);
        if let (Some(watch), Some(told)) = (&mut self.watch, told) {
            watch.tell(told);
        }
        for waker in self.to_wake.drain(..) {
            waker.wake();
        }
        let leaves = !self.outbox.is_empty();
        let sent = self.send(cx);
        if self.busy_poll > Duration::ZERO {
            self.stay_busy(now, again || came || leaves);
        }
        if drained && self.outbox.is_empty() {
            shared.lock().tell_drained(&mut self.to_wake);
            self.to_wake.drain(..).for_each(Waker::wake);
        }
        Turn { again: again || (more && sent), over: over && self.outbox.is_empty(), due }
    }

    /// Whether sockets are looked at unasked from now on: for some time after the driver has `worked`.
    fn stay_busy(&mut self, now: Instant, worked: bool) {
        if worked {
            self.busy_until = now + self.busy_poll;
        } else if now >= self.busy_until {
            self.busy_until = Instant::ZERO;
        }
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
                if this.busy_until > Instant::ZERO {
                    break; // other tasks have their turn
                }
                return Poll::Pending;
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Drop for Driver {
    /// The runtime ends, or the driver has no more work: wakes the waiting tasks.
    fn drop(&mut self) {
        let mut woken = Vec::new();
        self.shared.lock().end(&mut woken);
        for waker in woken {
            waker.wake();
        }
    }
}
