//! Many connections on one host. (The behaviour follows; this fixes the interface.)

use crate::{Config, ConnectionId, Event, SendError, StackStats, State, Stats, Timer};
use anabranch_base::{Instant, Meta, Rng, Trace, TraceRecord, Transmit};
use bytes::Bytes;
use std::net::SocketAddr;
use std::sync::Arc;

/// Many connections on one host.
#[derive(Debug)]
pub struct Stack {
    trace: Trace,
    stats: StackStats,
}

#[expect(unused_variables, clippy::needless_pass_by_value, reason = "interface first")]
impl Stack {
    /// A host at the IP address of `local` (its port is ignored).
    #[must_use]
    pub fn new(local: SocketAddr, rng: Rng) -> Self {
        Self { trace: Trace::default(), stats: StackStats::default() }
    }
    /// Accepts connections to `port`.
    pub fn listen(&mut self, port: u16, config: Arc<Config>) {}
    /// Opens a connection.
    pub fn connect(
        &mut self,
        now: Instant,
        local_port: u16,
        remote: SocketAddr,
        config: Arc<Config>,
    ) -> ConnectionId {
        ConnectionId(0)
    }
    /// Takes one segment: TCP header and payload, no IP header.
    pub fn handle_datagram(&mut self, now: Instant, meta: Meta, segment: &[u8]) {}
    /// Fires every timer that is due.
    pub fn handle_timeout(&mut self, now: Instant) {}
    /// Appends up to `max_packets` equal-sized packets for one destination to `buf`.
    pub fn poll_transmit(&mut self, now: Instant, max_packets: usize, buf: &mut Vec<u8>) -> Option<Transmit> {
        None
    }
    /// The next event.
    pub fn poll_event(&mut self) -> Option<(ConnectionId, Event)> {
        None
    }
    /// When to call `handle_timeout`, and why.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<(Instant, Timer)> {
        None
    }
    /// Queues data; answers how many bytes were accepted.
    pub fn send(&mut self, now: Instant, id: ConnectionId, data: Bytes) -> Result<usize, SendError> {
        Err(SendError::Unknown(id))
    }
    /// The next piece of received data, in order.
    pub fn receive(&mut self, now: Instant, id: ConnectionId) -> Option<Bytes> {
        None
    }
    /// Sends FIN after everything queued.
    pub fn close(&mut self, now: Instant, id: ConnectionId) {}
    /// Sends RST and forgets the connection.
    pub fn abort(&mut self, now: Instant, id: ConnectionId) {}
    /// Counters and gauges of a connection; also for a closed one.
    #[must_use]
    pub fn stats(&self, id: ConnectionId) -> Option<&Stats> {
        None
    }
    /// What the whole stack refused.
    #[must_use]
    pub fn stack_stats(&self) -> &StackStats {
        &self.stats
    }
    /// State of a connection.
    #[must_use]
    pub fn state(&self, id: ConnectionId) -> Option<State> {
        None
    }
    /// Turns tracing on or off.
    pub fn set_trace(&mut self, on: bool) {
        self.trace = if on { Trace::on() } else { Trace::default() };
    }
    /// Takes the trace, oldest first.
    pub fn drain_trace(&mut self) -> impl Iterator<Item = TraceRecord> + '_ {
        self.trace.drain()
    }
}
