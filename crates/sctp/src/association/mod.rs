//! One association. `input` reads packets, `output` writes them; the procedures of the RFC have a file each.

mod acknowledgement;
pub(crate) mod causes;
mod coupling;
mod data;
mod extensions;
mod framing;
mod handshake;
mod heartbeat;
pub(crate) mod init;
mod input;
mod new_data;
mod output;
mod rack;
mod reconfig;
mod sf;
mod shutdown;
mod state;
mod stream_requests;
mod subflow_requests;
mod subflows;
mod thesis;
mod timeout;
mod together;

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use anabranch_base::{Duration, Instant, Rng, Trace, TraceEvent, TraceRecord};
use anabranch_wire::Tsn;
use anabranch_wire::chunk::Data;

use crate::config::Config;
use crate::error::SendError;
use crate::event::{AssociationId, CloseReason, Event, Message, Received, Timer};
use crate::lane::Lane;
use crate::path::Path;
use crate::sf::offer::Extensions;
use crate::stats::Stats;
use crate::stream::inbound::Inbound;
use crate::stream::numbering::Numbering;
use crate::subflow::Subflow;
use crate::subflow::flight::AckOutcome;
use crate::subflow::gate::Gate;
use crate::subflow::space::{Space, WindowProbe};
use extensions::AsnMap;
use handshake::Forming;
pub(crate) use handshake::fresh_identity;
use reconfig::Reconfig;
use sf::Sf;
pub use state::State;

/// Addresses of a peer beyond which an INIT's list is cut: nobody has more interfaces, an attacker may claim
/// them. So many keep a State Cookie within 512 bytes.
pub(crate) const MAX_PEER_ADDRESSES: usize = 24;
/// Memory charged for a gap in the sequence of received TSNs, bytes.
const GAP_OVERHEAD: usize = 32;
/// Control chunks that may wait (HEARTBEAT ACK, ERROR): a flood of requests must not grow a queue.
const MAX_WAITING_CONTROL: usize = 8;

/// Control chunks that must leave. At most one of each kind waits, but for answers, which are few.
#[derive(Debug, Default)]
struct Control {
    init: bool,
    cookie_echo: bool,
    cookie_ack: bool,
    shutdown: bool,
    shutdown_ack: bool,
    shutdown_complete: bool,
    /// Error causes of the ABORT, encoded.
    abort: Option<Vec<u8>>,
    /// Heartbeat Info parameters to return, encoded.
    heartbeat_acks: VecDeque<Vec<u8>>,
    /// Error causes to report, encoded: one ERROR chunk each.
    errors: VecDeque<Vec<u8>>,
}

impl Control {
    /// Asked several times a packet and hardly ever true: `|` makes one branch of all.
    #[inline]
    fn any(&self) -> bool {
        self.init
            | self.cookie_echo
            | self.cookie_ack
            | self.shutdown
            | self.shutdown_ack
            | self.shutdown_complete
            | self.abort.is_some()
            | !self.heartbeat_acks.is_empty()
            | !self.errors.is_empty()
    }

    fn report(&mut self, cause: Vec<u8>) {
        if self.errors.len() < MAX_WAITING_CONTROL {
            self.errors.push_back(cause);
        }
    }
}

/// One SCTP association, without sockets and without a clock.
#[derive(Debug)]
pub struct Association {
    id: AssociationId,
    config: Arc<Config>,
    state: State,
    local_port: u16,
    peer_port: u16,
    local_tag: u32,
    peer_tag: u32,
    source: Option<SocketAddr>,
    paths: Vec<Path>,
    /// Addresses from which the peer may write: its paths and the others it listed.
    peer_addresses: Vec<IpAddr>,
    /// Sequence spaces, subflows and lanes: the table. A subflow names its space and its lane.
    spaces: Vec<Space>,
    subflows: Vec<Subflow>,
    lanes: Vec<Lane>,
    /// What makes the lanes' windows hold together, where that changes from SACK to SACK.
    coupler: Option<Box<crate::coupling::Coupler>>,
    gate: Gate,
    /// The subflow of each stream; streams beyond the end belong to the first.
    stream_map: Vec<u8>,
    /// Streams that move to a subflow as soon as the message that has begun to leave has left whole.
    moves: Vec<(u16, u8)>,
    numbering: Numbering,
    /// Largest window of all lanes together, where there are several.
    window_peak: u64,
    outbound_streams: u16,
    inbound_streams: u16,
    inbound: Inbound,
    /// Our view of the peer's free receive buffer, bytes.
    peer_rwnd: u64,
    /// What both sides speak besides RFC 9260.
    extensions: Extensions,
    /// The extension SF, while it is in use.
    sf: Option<Box<Sf>>,
    /// RE-CONFIG, where it was agreed.
    reconfig: Option<Box<Reconfig>>,
    /// Bytes of header of a data chunk.
    chunk_header: usize,
    /// The association sequence number of the next chunk, and those received (encoding of the thesis).
    next_asn: Tsn,
    received_asn: Option<Box<AsnMap>>,
    control: Control,
    forming: Option<Box<Forming>>,
    /// When the last cookie of ours that was accepted stops being good.
    cookie_expires: Option<Instant>,
    /// When the user asked for a shutdown that was not under way.
    shutdown_at: Instant,
    /// The user asked for a shutdown while the handshake was running.
    shutdown_wanted: bool,
    /// T2-shutdown.
    t2: Option<Instant>,
    /// T5-shutdown-guard.
    t5: Option<Instant>,
    /// Association error counter (8.1).
    errors: u32,
    /// `send` said Full: Writable is owed.
    writable_owed: bool,
    events: VecDeque<Event>,
    stats: Stats,
    trace: Trace,
    rng: Rng,
    /// A packet that was built and did not fit the batch, and where it goes: it leaves first next time.
    stash: Vec<u8>,
    stash_route: output::Route,
    outcome: AckOutcome,
}

impl Association {
    /// Where the association stands.
    #[must_use]
    pub fn state(&self) -> State {
        self.state
    }

    /// Counters and gauges.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let mut stats = self.stats.clone();
        if let Some(lane) = self.lanes.first() {
            stats.srtt = lane.rtt.srtt();
            stats.rto = lane.rtt.rto();
            stats.cwnd = self.total_window();
            stats.ssthresh = lane.controller.ssthresh();
            stats.cwnd_peak = if self.lanes.len() == 1 { lane.cwnd_peak } else { self.window_peak };
        }
        stats
    }

    /// Congestion window (of all subflows together) and smoothed round-trip time of the first: as in
    /// [`Association::stats`], but cheap enough to look at with every packet.
    #[must_use]
    pub fn window_and_srtt(&self) -> (u64, Option<Duration>) {
        match self.lanes.as_slice() {
            [] => (0, None),
            [lane] => (lane.controller.window(), lane.rtt.srtt()),
            [lane, ..] => (self.total_window(), lane.rtt.srtt()),
        }
    }

    /// Largest windows count from now on.
    pub(crate) fn reset_peaks(&mut self) {
        for lane in &mut self.lanes {
            lane.cwnd_peak = lane.controller.window();
        }
        self.window_peak = self.total_window();
    }

    /// Address of the peer in use.
    #[must_use]
    pub fn remote(&self) -> Option<SocketAddr> {
        self.paths.first().map(|p| p.remote)
    }

    /// Streams that messages may be sent on: ids 0 to this - 1.
    #[must_use]
    pub fn outbound_streams(&self) -> u16 {
        self.outbound_streams
    }

    /// Bytes accepted by `send` and not yet sent.
    #[must_use]
    pub fn queued_bytes(&self) -> usize {
        let held = self.reconfig.as_ref().map_or(0, |reconfig| reconfig.held.bytes());
        self.subflows.iter().map(|s| s.out.queued_bytes()).sum::<usize>() + held
    }

    /// Bytes in flight, DATA chunk headers included.
    #[must_use]
    pub fn flight_bytes(&self) -> u64 {
        self.lanes.iter().map(|l| l.flight).sum()
    }

    pub(crate) fn config(&self) -> &Arc<Config> {
        &self.config
    }

    pub(crate) fn tags(&self) -> (u32, u32) {
        (self.local_tag, self.peer_tag)
    }

    pub(crate) fn peer_port(&self) -> u16 {
        self.peer_port
    }

    /// Addresses that the peer has shown to be its own: those of its paths. What an INIT only claims would let anybody
    /// occupy the address of another (RFC 5062, address camping).
    pub(crate) fn shown_addresses(&self) -> impl Iterator<Item = IpAddr> + '_ {
        self.paths.iter().map(|p| p.remote.ip())
    }

    /// Our tag in a State Cookie that has made or confirmed this association, and when the cookie stops being good.
    pub(crate) fn cookie(&self) -> Option<(u32, Instant)> {
        self.cookie_expires.map(|at| (self.local_tag, at))
    }

    /// Our Initial TSN.
    pub(crate) fn initial_tsn(&self) -> Tsn {
        self.spaces.first().map(|s| s.send_base).unwrap_or_default()
    }

    pub(crate) fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    pub(crate) fn knows_address(&self, address: IpAddr) -> bool {
        self.peer_addresses.contains(&address)
    }

    /// Chunks visited in the flight and ranges in the receive map so far.
    #[cfg(test)]
    pub(crate) fn work(&self) -> (u64, u64) {
        let space = &self.spaces[0];
        (space.flight.visited, space.received.work())
    }

    pub(crate) fn set_trace(&mut self, on: bool) {
        self.trace = if on { Trace::on() } else { Trace::default() };
    }

    pub(crate) fn trace_mut(&mut self) -> &mut Trace {
        &mut self.trace
    }

    pub(crate) fn pop_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    pub(crate) fn send(&mut self, now: Instant, message: Message) -> Result<(), SendError> {
        let Message { stream, .. } = message;
        let len = message.payload.len();
        match self.state {
            State::CookieWait | State::CookieEchoed | State::Established if !self.shutdown_wanted => {}
            _ => return Err(SendError::Closing),
        }
        if len == 0 {
            return Err(SendError::Empty);
        }
        if len > self.config.max_message {
            return Err(SendError::TooLong { len, limit: self.config.max_message });
        }
        if stream >= self.outbound_streams {
            return Err(SendError::NoSuchStream { stream, streams: self.outbound_streams });
        }
        let index = self.subflow_of(stream);
        let Some(subflow) = self.subflows.get_mut(index) else { return Err(SendError::Closing) };
        let held = self.reconfig.as_mut().map(|reconfig| &mut reconfig.held);
        let waiting = subflow.out.queued_bytes() + held.as_ref().map_or(0, |held| held.bytes());
        if waiting >= self.config.send_buffer {
            subflow.writable_owed = true;
            self.writable_owed = true;
            return Err(SendError::Full);
        }
        if let Some(held) = held.filter(|held| held.holds(stream)) {
            held.push(message);
            self.stats.messages_accepted += 1;
            return Ok(());
        }
        subflow.out.push(message, self.stats.messages_accepted);
        self.stats.messages_accepted += 1;
        if let Some(lane) = self.lanes.get_mut(usize::from(subflow.lane)) {
            if lane.unacked == 0 {
                lane.decay_if_idle(now);
                lane.open_burst();
            }
        }
        Ok(())
    }

    /// Sets the value (priority or weight) of a stream for the scheduling of streams.
    pub(crate) fn set_stream_value(&mut self, stream: u16, value: u16) -> Result<(), SendError> {
        if stream >= self.outbound_streams {
            return Err(SendError::NoSuchStream { stream, streams: self.outbound_streams });
        }
        // Subflows that are opened later begin with it, too.
        let values = &mut Arc::make_mut(&mut self.config).stream_values;
        values.retain(|(id, _)| *id != stream);
        values.push((stream, value));
        for subflow in &mut self.subflows {
            subflow.out.set_stream_value(stream, value);
        }
        Ok(())
    }

    pub(crate) fn receive(&mut self) -> Option<Received> {
        let message = self.inbound.pop()?;
        self.stats.messages_delivered += 1;
        self.stats.payload_bytes_delivered += message.len() as u64;
        // "send a window update only if the window can be increased by at least a quarter of the receive buffer
        // size of the association" (6.2).
        if self.state.receives_data() {
            self.offer_window();
        }
        Some(message)
    }

    /// Asks for a window update where the window has grown enough since the last SACK.
    #[inline]
    fn offer_window(&mut self) {
        if self.spaces.len() > 1 {
            self.update_windows(self.advertised_window());
            return;
        }
        let Some(space) = self.spaces.first() else { return };
        let whole = self.config.receive_window;
        let enough = space.sack.last_advertised.saturating_add(whole / 4);
        // Where the peer knows of most of the buffer not even an empty one would do: no need to count.
        if enough <= whole && self.advertised_window() >= enough {
            if let Some(space) = self.spaces.first_mut() {
                space.sack.demand();
            }
        }
    }

    /// Whether an acknowledgement must leave now.
    #[inline]
    pub(crate) fn owes_sack(&self) -> bool {
        any_of(&self.spaces, |space| space.sack.is_due_now())
    }

    /// a_rwnd: what is free of the receive buffer. Bookkeeping counts a third, so that messages of a byte cannot
    /// make us hold more than three times what we advertise.
    ///
    /// A message that grows where nothing is missing counts for half of the buffer at most. The user can take nothing
    /// of it before its end has come, so a message longer than the buffer would close the window for ever; RFC 9260,
    /// 6.9, has partial delivery against that. `max_message` bounds what it can hold instead.
    fn advertised_window(&self) -> u32 {
        let held = self.held();
        self.config.receive_window.saturating_sub(u32::try_from(held).unwrap_or(u32::MAX))
    }

    /// What is held of the receive buffer, as [`Association::advertised_window`] counts it, bytes.
    fn held(&self) -> usize {
        let (mut held, mut memory) = (self.inbound.held_bytes(), self.memory_held());
        let share = self.config.receive_window as usize / if self.sf.is_some() { 4 } else { 2 };
        if held > share {
            let excess = if self.chunk_header == Data::HEADER {
                let next = self.spaces.first().map_or(0, |s| s.received.next());
                self.inbound.excess(next, share)
            } else {
                let excess = self.excess_of(0);
                (excess.bytes, excess.memory)
            };
            held -= excess.0;
            memory -= excess.1;
        }
        held.max(memory / 3)
    }

    /// Memory that the peer makes us hold: what it sent and is not read, and the gaps between its TSNs (which cost
    /// something even when the DATA was thrown away, as it is on streams that do not exist).
    #[inline]
    fn memory_held(&self) -> usize {
        let gaps = match self.spaces.as_slice() {
            [space] => space.received.gaps(),
            spaces => spaces.iter().map(|s| s.received.gaps()).sum(),
        };
        self.inbound.memory() + gaps * GAP_OVERHEAD
    }

    /// When something is due, and what.
    pub(crate) fn next_timeout(&self) -> Option<(Instant, Timer)> {
        let mut next: Option<(Instant, Timer)> = None;
        let mut consider = |at: Option<Instant>, timer| {
            if let Some(at) = at {
                if next.is_none_or(|(t, _)| at < t) {
                    next = Some((at, timer));
                }
            }
        };
        if let Some(forming) = &self.forming {
            let timer = if self.state == State::CookieWait { Timer::T1Init } else { Timer::T1Cookie };
            consider(forming.t1, timer);
        }
        for lane in &self.lanes {
            consider(lane.t3, Timer::T3Rtx);
            consider(lane.second.map(|(at, _)| at), Timer::Lane);
            consider(lane.pacer.as_ref().and_then(|pacer| pacer.at), Timer::Pacer);
        }
        for space in &self.spaces {
            consider(space.sack.timer(), Timer::Sack);
            consider(space.probe.at, Timer::WindowProbe);
        }
        consider(self.t2, Timer::T2Shutdown);
        consider(self.t5, Timer::T5ShutdownGuard);
        if let Some(reconfig) = &self.reconfig {
            consider(reconfig.timer(), Timer::Reconfiguration);
        }
        for path in &self.paths {
            consider(path.heartbeat_at, Timer::Heartbeat);
        }
        next
    }

    /// Ends the association. What is waiting to be sent is dropped; what was received stays.
    fn close(&mut self, reason: CloseReason) {
        if self.state == State::Closed {
            return;
        }
        self.state = State::Closed;
        self.forming = None;
        self.reconfig = None;
        self.t2 = None;
        self.t5 = None;
        for lane in &mut self.lanes {
            lane.t3 = None;
            lane.second = None;
            if let Some(pacer) = &mut lane.pacer {
                pacer.at = None;
            }
            lane.loss.restart();
        }
        for path in &mut self.paths {
            path.heartbeat_at = None;
            path.heartbeat_wanted = false;
        }
        for subflow in &mut self.subflows {
            subflow.out.clear();
        }
        self.moves.clear();
        for space in &mut self.spaces {
            space.flight.restart();
            space.probe = WindowProbe::default();
            space.sack = crate::subflow::sack::SackScheduler::default();
        }
        // Only the last word may still leave.
        self.control = Control {
            abort: self.control.abort.take(),
            shutdown_complete: self.control.shutdown_complete,
            ..Control::default()
        };
        self.events.push_back(Event::Closed(reason));
    }

    fn record(&mut self, now: Instant, subflow: u8, path: u8, event: TraceEvent) {
        let association = self.id.index;
        self.trace.record(|| TraceRecord { at: now, association, subflow, path, event });
    }

    /// Notes the window in trace and peak.
    fn record_window(&mut self, now: Instant, lane_index: usize) {
        let Some(lane) = self.lanes.get_mut(lane_index) else { return };
        let (cwnd, ssthresh, flight, path) =
            (lane.controller.window(), lane.controller.ssthresh(), lane.flight, lane.path);
        lane.cwnd_peak = lane.cwnd_peak.max(cwnd);
        if self.lanes.len() > 1 {
            self.window_peak = self.window_peak.max(self.total_window());
        }
        let Some(lane) = self.lanes.get(lane_index) else { return };
        let subflow = lane.subflow;
        self.record(now, subflow, path, TraceEvent::Window { cwnd, ssthresh, flight });
    }
}

/// Whether something `holds` for one of all: as a rule there is only one, and then there is no loop.
#[inline]
fn any_of<T>(all: &[T], holds: impl Fn(&T) -> bool) -> bool {
    match all {
        [one] => holds(one),
        all => all.iter().any(holds),
    }
}

/// A random Initial TSN, and tags that are never 0 (RFC 9260, 5.3.1).
pub(crate) fn random_tag(rng: &mut Rng) -> u32 {
    loop {
        let tag = rng.u32();
        if tag != 0 {
            return tag;
        }
    }
}
