//! One connection: state machine, sending half, receiving half.

mod close;
mod handshake;
mod input;
mod output;
mod timers;

use crate::acks::Acks;
use crate::config::Config;
use crate::event::{ConnectionId, Event, State};
use crate::header::Header;
use crate::host_cache::Learnt;
use crate::receiver::Receiver;
use crate::sender::{Context, Sender};
use crate::stats::{HeldBack, Stats};
use anabranch_base::{Duration, Instant, Trace};
use bytes::Bytes;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;

/// Both ends of a connection, ports included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Addresses {
    pub(crate) local: SocketAddr,
    pub(crate) remote: SocketAddr,
}

/// What a handler may touch outside the connection.
pub(crate) struct Outside<'a> {
    pub(crate) now: Instant,
    pub(crate) trace: &'a mut Trace,
    pub(crate) events: &'a mut VecDeque<(ConnectionId, Event)>,
}

#[derive(Debug)]
pub(crate) struct Connection {
    id: u32,
    config: Arc<Config>,
    addresses: Addresses,
    state: State,
    /// We were called, not calling.
    passive: bool,
    /// [`Event::Accepted`] has been emitted.
    announced: bool,
    /// Initial sequence numbers, ours and the peer's.
    iss: u32,
    irs: u32,
    sender: Sender,
    receiver: Receiver,
    acks: Acks,
    /// A SYN (or SYN-ACK) must leave.
    syn_due: bool,
    /// Whether the SYN (or SYN-ACK) that must leave answers a repeated SYN and leaves the timer alone.
    syn_beside: bool,
    syn_sent_at: Instant,
    syn_sends: u32,
    /// What earlier connections to the peer left.
    learnt: Option<Learnt>,
    peer_mss: u64,
    /// Shift of the peer's window field, and of ours; `None` when not in use.
    scales: Option<(u8, u8)>,
    sack: bool,
    /// Latest TSval to echo (TS.Recent), when timestamps are in use.
    timestamp: Option<u32>,
    /// Added to our timestamp clock, so that it says nothing about the host.
    timestamp_offset: u32,
    /// Cumulative acknowledgement that left last (Last.ACK.sent of RFC 7323).
    last_ack_sent: u64,
    /// What arrived twice and must be reported (RFC 2883).
    duplicate: Option<(u64, u64)>,
    /// No answer to an empty segment outside the window before this (RFC 5961, section 7).
    mute_until: Instant,
    time_wait: Option<Instant>,
    /// A RST must leave, with this sequence number; then nothing more.
    reset_due: bool,
    /// `send` refused something.
    wants_room: bool,
    stats: Stats,
}

impl Connection {
    fn new(
        id: u32,
        config: Arc<Config>,
        addresses: Addresses,
        (iss, offset): (u32, u32),
        passive: bool,
    ) -> Self {
        let mut receiver = Receiver::new(config.receive_buffer);
        receiver.grow_up_to(config.receive_buffer_limit, u64::from(config.mss));
        Self {
            id,
            addresses,
            state: if passive { State::SynReceived } else { State::SynSent },
            passive,
            announced: false,
            iss,
            irs: 0,
            sender: Sender::new(&config),
            receiver,
            acks: Acks::default(),
            syn_due: true,
            syn_beside: false,
            syn_sent_at: Instant::ZERO,
            syn_sends: 0,
            learnt: None,
            peer_mss: 0,
            scales: None,
            sack: false,
            timestamp: None,
            timestamp_offset: offset,
            last_ack_sent: 0,
            duplicate: None,
            mute_until: Instant::ZERO,
            time_wait: None,
            reset_due: false,
            wants_room: false,
            stats: Stats::default(),
            config,
        }
    }

    /// With `host_cache`: what earlier connections to the peer left.
    pub(crate) fn remember(&mut self, learnt: Option<Learnt>) {
        self.learnt = learnt.filter(|_| self.config.host_cache);
    }

    /// With `host_cache`: what this one leaves.
    pub(crate) fn learnt(&self) -> Option<Learnt> {
        if self.config.host_cache { self.sender.learnt() } else { None }
    }

    pub(crate) fn state(&self) -> State {
        self.state
    }

    pub(crate) fn held_back(&self) -> HeldBack {
        self.sender.held_back()
    }

    pub(crate) fn stats(&self) -> &Stats {
        &self.stats
    }

    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    pub(crate) fn addresses(&self) -> Addresses {
        self.addresses
    }

    /// A listener's connection whose handshake is not over.
    pub(crate) fn is_half_open(&self) -> bool {
        self.passive && self.state == State::SynReceived
    }

    /// Nothing more will happen: it may be forgotten once this is true.
    pub(crate) fn is_over(&self) -> bool {
        self.state == State::Closed && !self.reset_due && !self.receiver.readable()
    }

    /// Both directions have ended, or been cut off.
    pub(crate) fn is_ending(&self) -> bool {
        matches!(self.state, State::TimeWait | State::Closed)
    }

    fn with_sender<R>(
        &mut self,
        out: &mut Outside<'_>,
        f: impl FnOnce(&mut Sender, &mut Context<'_>) -> R,
    ) -> R {
        let mut cx = Context { now: out.now, id: self.id, stats: &mut self.stats, trace: out.trace };
        let result = f(&mut self.sender, &mut cx);
        self.sender.write_gauges(&mut self.stats);
        result
    }

    /// Whether the user knows of this connection: he opened it, or has been told of it.
    pub(crate) fn is_announced(&self) -> bool {
        !self.passive || self.announced
    }

    fn emit_event(&self, out: &mut Outside<'_>, event: Event) {
        if !self.is_announced() {
            return;
        }
        out.events.push_back((ConnectionId(self.id), event));
    }

    /// Queues data; `None` when the connection takes no more.
    pub(crate) fn send(&mut self, data: Bytes) -> Option<usize> {
        if matches!(self.state, State::Closed | State::TimeWait) || self.sender.is_finishing() {
            return None;
        }
        let offered = data.len();
        let taken = self.sender.push(data);
        self.wants_room = taken < offered;
        Some(taken)
    }

    /// The next piece of received data.
    pub(crate) fn receive(&mut self, now: Instant) -> Option<Bytes> {
        let piece = self.receiver.read()?;
        self.receiver.adjust(now);
        self.stats.payload_bytes_delivered += piece.len() as u64;
        if self.state.is_synchronized() && self.receiver.window_reopened(self.sender.mss()) {
            self.acks.demand();
        }
        Some(piece)
    }

    /// Milliseconds of our timestamp clock.
    fn timestamp_now(&self, now: Instant) -> u32 {
        ((now.as_nanos() / 1_000_000) as u32).wrapping_add(self.timestamp_offset)
    }

    /// How old the timestamp is that a segment echoes.
    fn echo_age(&self, now: Instant, header: &Header) -> Option<Duration> {
        let (_, echo) = header.options.timestamps.filter(|(_, e)| *e != 0 && self.timestamp.is_some())?;
        let age = self.timestamp_now(now).wrapping_sub(echo);
        (age < 1 << 31).then(|| Duration::from_millis(u64::from(age)))
    }
}

/// A 32-bit sequence number near `near` of a space that began at `initial`, unwrapped. Negative when before it.
fn unwrap_seq(initial: u32, near: u64, wire: u32) -> i64 {
    let expected = initial.wrapping_add(near as u32);
    near as i64 + i64::from(wire.wrapping_sub(expected) as i32)
}
