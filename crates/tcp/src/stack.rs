//! Many connections on one host: finds the connection for a segment, answers segments that belong to none.

use crate::config::Config;
use crate::connection::{Addresses, Connection, Outside};
use crate::event::{ConnectionId, Event, SendError, State, Timer};
use crate::header::{self, Flags, Header};
use crate::host_cache::HostCache;
use crate::stats::{HeldBack, StackStats, Stats};
use anabranch_base::{Dscp, Ecn, Instant, Meta, Rng, Trace, TraceRecord, Transmit};
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// Many connections on one host.
///
/// Methods come in four kinds: `handle_*` for input from outside, commands of the user, `poll_*` for output that must
/// be done, getters. After every call of the first two kinds poll `poll_transmit` until it answers `None`, then
/// `poll_event` until `None`, then `poll_timeout`. Poll after every single datagram: duplicate acknowledgements
/// that have not left are merged. Time never goes back.
#[derive(Debug)]
pub struct Stack {
    local: IpAddr,
    rng: Rng,
    listeners: BTreeMap<u16, Listener>,
    /// By id.
    slots: Vec<Slot>,
    /// Slots of connections that no user ever heard of: a flood of SYNs must not cost memory for ever.
    free: Vec<u32>,
    by_peer: BTreeMap<(u16, SocketAddr), u32>,
    /// Connections that may have something to send, each once, in the order they got it.
    ready: VecDeque<u32>,
    timers: BTreeSet<(Instant, u32)>,
    events: VecDeque<(ConnectionId, Event)>,
    /// Answers to segments of no connection.
    strays: VecDeque<Stray>,
    hosts: HostCache,
    trace: Trace,
    stats: StackStats,
}

#[derive(Debug)]
struct Listener {
    config: Arc<Config>,
    half_open: u32,
}

#[derive(Debug)]
struct Slot {
    /// `None` once everything is over; the figures stay.
    connection: Option<Box<Connection>>,
    stats: Stats,
    queued: bool,
    timer: Option<Instant>,
}

#[derive(Debug)]
struct Stray {
    header: Header,
    local: IpAddr,
    remote: SocketAddr,
}

/// More answers to strays than this are not worth the memory.
const MOST_STRAYS: usize = 64;

impl Stack {
    /// A host at the IP address of `local` (its port is ignored). `rng` gives initial sequence numbers.
    #[must_use]
    pub fn new(local: SocketAddr, rng: Rng) -> Self {
        Self {
            local: local.ip(),
            rng,
            listeners: BTreeMap::new(),
            slots: Vec::new(),
            free: Vec::new(),
            by_peer: BTreeMap::new(),
            ready: VecDeque::new(),
            timers: BTreeSet::new(),
            events: VecDeque::new(),
            strays: VecDeque::new(),
            hosts: HostCache::default(),
            trace: Trace::default(),
            stats: StackStats::default(),
        }
    }

    /// Accepts connections to `port`, each with this configuration.
    pub fn listen(&mut self, port: u16, config: Arc<Config>) {
        self.listeners.insert(port, Listener { config, half_open: 0 });
    }

    /// Opens a connection to `remote`, whose port is the peer's TCP port. An older connection between the same ends
    /// is forgotten.
    pub fn connect(
        &mut self,
        now: Instant,
        local_port: u16,
        remote: SocketAddr,
        config: Arc<Config>,
    ) -> ConnectionId {
        let addresses = Addresses { local: SocketAddr::new(self.local, local_port), remote };
        let random = (self.rng.u32(), self.rng.u32());
        let id = self.slots.len() as u32;
        self.insert(id, Connection::open(id, config, addresses, random));
        self.refresh(now, id);
        ConnectionId(id)
    }

    /// Takes one segment: TCP header and payload, no IP header. Ports come from the header, addresses from `meta`.
    pub fn handle_datagram(&mut self, now: Instant, meta: Meta, segment: &[u8]) {
        let Ok((header, payload)) = Header::parse(segment) else {
            self.stats.malformed += 1;
            return;
        };
        let remote = SocketAddr::new(meta.source.ip(), header.source);
        let mut id = self.by_peer.get(&(header.destination, remote)).copied();
        let checked = match id.and_then(|id| self.connection(id)) {
            Some(connection) => connection.config().checksum,
            None => self.listeners.get(&header.destination).is_none_or(|l| l.config.checksum),
        };
        if checked && !header::verify(segment, meta.source.ip(), meta.destination.ip()) {
            self.stats.bad_checksum += 1;
            return;
        }
        if self.is_reborn(id, &header) {
            id.take().into_iter().for_each(|old| self.forget(old));
        }
        let Some(id) = id else {
            self.no_connection(now, meta, remote, &header, payload);
            return;
        };
        self.with(now, id, |connection, out| connection.on_segment(out, &header, payload));
    }

    /// A new SYN for a connection in TIME-WAIT may open it again (RFC 9293, section 3.6.1, MAY-2).
    fn is_reborn(&self, id: Option<u32>, header: &Header) -> bool {
        let waiting = id.and_then(|id| self.connection(id)).is_some_and(|c| c.state() == State::TimeWait);
        waiting
            && header.flags.has(Flags::SYN)
            && !header.flags.has(Flags::ACK)
            && self.listeners.contains_key(&header.destination)
    }

    fn no_connection(
        &mut self,
        now: Instant,
        meta: Meta,
        remote: SocketAddr,
        header: &Header,
        payload: &[u8],
    ) {
        let flags = header.flags;
        if flags.has(Flags::RST) {
            self.stats.unmatched += 1;
            return;
        }
        match self.listeners.get_mut(&header.destination) {
            Some(listener) if flags.has(Flags::SYN) && !flags.has(Flags::ACK) => {
                if listener.half_open >= listener.config.backlog {
                    self.stats.syn_overflow += 1;
                    return;
                }
                listener.half_open += 1;
                let config = Arc::clone(&listener.config);
                let local = SocketAddr::new(meta.destination.ip(), header.destination);
                let random = (self.rng.u32(), self.rng.u32());
                let id = self.free.pop().unwrap_or(self.slots.len() as u32);
                self.insert(id, Connection::accept(id, config, Addresses { local, remote }, random, header));
                self.refresh(now, id);
            }
            _ => {
                self.stats.unmatched += 1;
                self.refuse(meta.destination.ip(), remote, header, payload.len());
            }
        }
    }

    /// RFC 9293, section 3.10.7.1: "All data in the incoming segment is discarded ... a RST is sent".
    fn refuse(&mut self, local: IpAddr, remote: SocketAddr, header: &Header, len: usize) {
        if self.strays.len() >= MOST_STRAYS {
            return;
        }
        let flags = header.flags;
        let size = len as u32 + u32::from(flags.has(Flags::SYN)) + u32::from(flags.has(Flags::FIN));
        let mut answer =
            Header { source: header.destination, destination: header.source, ..Header::default() };
        if flags.has(Flags::ACK) {
            answer.seq = header.ack;
            answer.flags = Flags::RST;
        } else {
            answer.ack = header.seq.wrapping_add(size);
            answer.flags = Flags::RST | Flags::ACK;
        }
        self.strays.push_back(Stray { header: answer, local, remote });
    }

    /// Fires every timer that is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some((at, id)) = self.timers.first().copied().filter(|(at, _)| *at <= now) {
            self.timers.remove(&(at, id));
            if let Some(slot) = self.slots.get_mut(id as usize) {
                slot.timer = None;
            }
            self.with(now, id, Connection::on_timeout);
        }
    }

    /// Appends up to `max_packets` packets of one connection to `buf`, all of one size but perhaps the last.
    pub fn poll_transmit(&mut self, now: Instant, max_packets: usize, buf: &mut Vec<u8>) -> Option<Transmit> {
        if let Some(stray) = self.strays.pop_front() {
            let start = buf.len();
            stray.header.emit(buf);
            let size = buf.len() - start;
            if let Some(segment) = buf.get_mut(start..) {
                header::seal(segment, stray.local, stray.remote.ip());
            }
            return Some(transmit(stray.local, stray.remote, 0, (size, size)));
        }
        while let Some(id) = self.ready.front().copied() {
            let sent = self.with(now, id, |connection, out| {
                let sizes = connection.transmit(out, max_packets, buf)?;
                let Addresses { local, remote } = connection.addresses();
                Some(transmit(local.ip(), remote, connection.config().dscp, sizes))
            });
            // Round robin between connections; one that has nothing leaves the queue.
            self.ready.pop_front();
            match sent.flatten() {
                Some(sent) => {
                    self.ready.push_back(id);
                    return Some(sent);
                }
                None => {
                    if let Some(slot) = self.slots.get_mut(id as usize) {
                        slot.queued = false;
                    }
                }
            }
        }
        None
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<(ConnectionId, Event)> {
        self.events.pop_front()
    }

    /// When to call `handle_timeout`, and why. Any other call may change it.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<(Instant, Timer)> {
        let (_, id) = self.timers.first()?;
        self.connection(*id)?.timeout()
    }

    /// Queues data without copying it; answers how many bytes the send buffer took, perhaps not all. After a short
    /// answer [`Event::Writable`] says when there is room.
    ///
    /// # Errors
    /// When the connection does not exist, or sends no more.
    pub fn send(&mut self, now: Instant, id: ConnectionId, data: Bytes) -> Result<usize, SendError> {
        if self.slots.get(id.0 as usize).is_none() {
            return Err(SendError::Unknown(id));
        }
        self.with(now, id.0, |connection, _| connection.send(data)).flatten().ok_or(SendError::Closed(id))
    }

    /// The next piece of received data, in order; reading opens the receive window again.
    pub fn receive(&mut self, now: Instant, id: ConnectionId) -> Option<Bytes> {
        self.with(now, id.0, |connection, _| connection.receive(now)).flatten()
    }

    /// Sends FIN after everything queued. Data may still be received.
    pub fn close(&mut self, now: Instant, id: ConnectionId) {
        self.with(now, id.0, |connection, _| connection.close());
    }

    /// Sends RST and forgets the connection.
    pub fn abort(&mut self, now: Instant, id: ConnectionId) {
        self.with(now, id.0, |connection, _| connection.abort());
    }

    /// Counters and gauges of a connection, also of one that is over.
    #[must_use]
    pub fn stats(&self, id: ConnectionId) -> Option<&Stats> {
        let slot = self.slots.get(id.0 as usize)?;
        Some(slot.connection.as_ref().map_or(&slot.stats, |c| c.stats()))
    }

    /// Limit on a connection's sender besides congestion control; `None` for one that is over.
    #[inline]
    #[must_use]
    pub fn held_back(&self, id: ConnectionId) -> Option<HeldBack> {
        self.slots.get(id.0 as usize)?.connection.as_ref().map(|connection| connection.held_back())
    }

    /// Packets that the whole stack refused.
    #[must_use]
    pub fn stack_stats(&self) -> &StackStats {
        &self.stats
    }

    /// State of a connection; `Closed` for one that is over.
    #[must_use]
    pub fn state(&self, id: ConnectionId) -> Option<State> {
        let slot = self.slots.get(id.0 as usize)?;
        Some(slot.connection.as_ref().map_or(State::Closed, |c| c.state()))
    }

    /// Turns tracing on or off; off forgets the records kept.
    pub fn set_trace(&mut self, on: bool) {
        self.trace = if on { Trace::on() } else { Trace::default() };
    }

    /// Takes the trace, oldest first.
    pub fn drain_trace(&mut self) -> impl Iterator<Item = TraceRecord> + '_ {
        self.trace.drain()
    }

    fn connection(&self, id: u32) -> Option<&Connection> {
        self.slots.get(id as usize)?.connection.as_deref()
    }

    fn insert(&mut self, id: u32, mut connection: Connection) {
        let Addresses { local, remote } = connection.addresses();
        connection.remember(self.hosts.get(remote.ip()));
        let old = self.by_peer.insert((local.port(), remote), id);
        match self.slots.get_mut(id as usize) {
            Some(slot) => slot.connection = Some(Box::new(connection)),
            None => self.slots.push(Slot {
                connection: Some(Box::new(connection)),
                stats: Stats::default(),
                queued: false,
                timer: None,
            }),
        }
        old.into_iter().for_each(|old| self.forget(old));
    }

    /// Lets `f` work on a connection, then brings queue, timers and listener up to date.
    fn with<R>(
        &mut self,
        now: Instant,
        id: u32,
        f: impl FnOnce(&mut Connection, &mut Outside<'_>) -> R,
    ) -> Option<R> {
        let connection = self.slots.get_mut(id as usize)?.connection.as_deref_mut()?;
        let was_half_open = connection.is_half_open();
        let mut out = Outside { now, trace: &mut self.trace, events: &mut self.events };
        let was_open = !connection.is_ending();
        let result = f(connection, &mut out);
        if was_open && connection.is_ending() {
            if let Some(learnt) = connection.learnt() {
                self.hosts.put(connection.addresses().remote.ip(), learnt);
            }
        }
        if was_half_open && !connection.is_half_open() {
            let port = connection.addresses().local.port();
            if let Some(listener) = self.listeners.get_mut(&port) {
                listener.half_open = listener.half_open.saturating_sub(1);
            }
        }
        self.refresh(now, id);
        Some(result)
    }

    fn refresh(&mut self, _now: Instant, id: u32) {
        let Some(slot) = self.slots.get_mut(id as usize) else { return };
        let Some(connection) = slot.connection.as_deref() else { return };
        if connection.is_over() {
            self.forget(id);
            return;
        }
        if !slot.queued {
            slot.queued = true;
            self.ready.push_back(id);
        }
        let timer = connection.timeout().map(|(at, _)| at);
        if timer != slot.timer {
            if let Some(old) = slot.timer {
                self.timers.remove(&(old, id));
            }
            if let Some(new) = timer {
                self.timers.insert((new, id));
            }
            slot.timer = timer;
        }
    }

    /// The connection is over: only its figures stay.
    fn forget(&mut self, id: u32) {
        let Some(slot) = self.slots.get_mut(id as usize) else { return };
        if let Some(at) = slot.timer.take() {
            self.timers.remove(&(at, id));
        }
        let Some(connection) = slot.connection.take() else { return };
        slot.stats = *connection.stats();
        let Addresses { local, remote } = connection.addresses();
        if self.by_peer.get(&(local.port(), remote)) == Some(&id) {
            self.by_peer.remove(&(local.port(), remote));
        }
        if connection.is_half_open() {
            if let Some(listener) = self.listeners.get_mut(&local.port()) {
                listener.half_open = listener.half_open.saturating_sub(1);
            }
        }
        if !connection.is_announced() {
            self.free.push(id);
        }
    }
}

fn transmit(local: IpAddr, remote: SocketAddr, dscp: u32, (size, segment_size): (usize, usize)) -> Transmit {
    Transmit {
        dont_fragment: false,
        // The port of a datagram's address is that of an outer UDP header; there is none.
        destination: SocketAddr::new(remote.ip(), 0),
        source: Some(SocketAddr::new(local, 0)),
        dscp: u8::try_from(dscp).ok().and_then(Dscp::new).unwrap_or_default(),
        ecn: Ecn::NotEct,
        size,
        segment_size,
    }
}
