//! One connection: state machine, sending half, receiving half.

mod agreed;
mod close;
mod handshake;
mod input;
mod numbers;
mod output;
mod syn;
mod timers;
mod timestamps;

use agreed::Agreed;
use numbers::Numbers;
use syn::Syn;
use timestamps::Timestamps;

use crate::acks::Acks;
use crate::config::Config;
use crate::event::{ConnectionId, Event, State};
use crate::host_cache::Learnt;
use crate::receiver::Receiver;
use crate::sender::{Context, Sender};
use crate::stats::{HeldBack, Stats};
use anabranch_base::{Instant, Trace};
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

/// The surroundings that a handler of a connection may change: the trace and the queue of events, at the time `now`.
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
    syn: Syn,
    /// [`Event::Accepted`] has been emitted.
    announced: bool,
    numbers: Numbers,
    agreed: Agreed,
    timestamps: Timestamps,
    sender: Sender,
    receiver: Receiver,
    acks: Acks,
    /// Path metrics that earlier connections to the peer left.
    learnt: Option<Learnt>,
    /// A range of sequence numbers that arrived twice, to be reported in a DSACK block (RFC 2883).
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
            syn: Syn::new(passive, config.clock()),
            announced: false,
            numbers: Numbers::new(iss),
            agreed: Agreed::default(),
            timestamps: Timestamps::new(offset),
            sender: Sender::new(&config),
            receiver,
            acks: Acks::default(),
            learnt: None,
            duplicate: None,
            mute_until: Instant::ZERO,
            time_wait: None,
            reset_due: false,
            wants_room: false,
            stats: Stats::default(),
            config,
        }
    }

    /// With `host_cache`: path metrics that earlier connections to the peer left.
    pub(crate) fn remember(&mut self, learnt: Option<Learnt>) {
        self.learnt = learnt.filter(|_| self.config.host_cache);
    }

    /// With `host_cache`: path metrics that this connection leaves.
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
        self.syn.is_passive() && self.state == State::SynReceived
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

    /// True if the user knows of this connection: the user opened it, or [`Event::Accepted`] has been emitted.
    pub(crate) fn is_announced(&self) -> bool {
        !self.syn.is_passive() || self.announced
    }

    fn emit_event(&self, out: &mut Outside<'_>, event: Event) {
        if !self.is_announced() {
            return;
        }
        out.events.push_back((ConnectionId(self.id), event));
    }

    /// Queues data; `None` when the connection takes no more.
    pub(crate) fn send(&mut self, data: Bytes) -> Option<usize> {
        if matches!(self.state, State::Closed | State::TimeWait) || self.sender.buffer().is_finishing() {
            return None;
        }
        let offered = data.len();
        let taken = self.sender.buffer_mut().push(data);
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
}
