//! One association: its life, its control chunks, and the choice of the owner that a chunk or a command belongs to. The [`Sender`] sends
//! data, the [`Receiver`] receives it, and an address of the peer is a path.

mod agreement;
mod checksum;
mod control_chunks;
mod control_probe;
mod deferred_packet;
mod dispatch;
mod end;
mod ending;
mod handshake;
pub(crate) mod init;
mod interface;
mod life;
mod output;
mod packet_reader;
mod phase;
mod setup;
mod shutdown;
mod sight;
mod snapshot;
#[cfg(test)]
mod test_owners;
mod timers;
mod watch;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use anabranch_base::{Duration, SecretRng, Trace};
use anabranch_wire::Tsn;

use crate::config::{Config, SubflowLevel};
use crate::context::Context;
use crate::control::Control;
use crate::cookie::Cookie;
use crate::encoding::Encoding;
use crate::error::ReconfigError;
use crate::event::Event;
use crate::handed_back::HandedBack;
use crate::ids::SubflowId;
use crate::path::Path;
use crate::path_manager::PathManager;
use crate::receiver::Receiver;
use crate::reconfig::Reconfig;
use crate::scope::{Scope, scope_of};
use crate::sender::Sender;
use crate::state::State;
use crate::stats::SubflowStats;
use crate::subflow_manager::SubflowManager;
use life::Life;
use output::PacketWriter;
use packet_reader::PacketReader;

pub(crate) use end::End;
pub(crate) use packet_reader::Reply;
pub(crate) use setup::fresh_identity;

/// One SCTP association, without sockets and without a clock.
#[derive(Debug)]
pub struct Association {
    /// Time, configuration, paths, counters, events and trace: all owners use them.
    cx: Context,
    life: Life,
    /// RE-CONFIG, where it was agreed.
    reconfig: Option<Box<Reconfig>>,
    sender: Sender,
    receiver: Receiver,
    control: Control,
    writer: PacketWriter,
    /// Messages that were not delivered, for the user to take back.
    handed_back: HandedBack,
}

impl Association {
    /// The state of the association (RFC 9260, 4).
    #[must_use]
    pub fn state(&self) -> State {
        self.cx.env.state()
    }

    /// Congestion window (of all subflows together) and smoothed round-trip time of the first: as in
    /// [`Association::stats`], but cheap enough to look at with every packet.
    #[must_use]
    pub fn window_and_srtt(&self) -> (u64, Option<Duration>) {
        self.sender.window_and_srtt(&self.cx)
    }

    /// Address of the peer in use.
    #[must_use]
    pub fn remote(&self) -> Option<SocketAddr> {
        self.cx.paths.primary().map(Path::remote)
    }

    /// Streams that messages may be sent on: ids 0 to this - 1.
    #[must_use]
    pub fn outbound_streams(&self) -> u16 {
        self.sender.stream_map().streams()
    }

    /// Bytes that the peer has room for, as far as is known: its last a_rwnd less the bytes under way.
    #[must_use]
    pub fn peer_window(&self) -> u64 {
        self.sender.peer_window()
    }

    /// True if both sides interleave messages (RFC 8260).
    #[must_use]
    pub fn interleaves(&self) -> bool {
        matches!(self.cx.env.agreed().encoding(), Encoding::Interleaved | Encoding::Sf)
    }

    /// True if both sides re-configure streams (RFC 6525).
    #[must_use]
    pub fn reconfigures(&self) -> bool {
        self.reconfig.is_some()
    }

    /// True if both sides support partial reliability (RFC 3758): messages with a lifetime or another limit may be
    /// given up.
    #[must_use]
    pub fn is_partially_reliable(&self) -> bool {
        self.sender.special().is_partially_reliable()
    }

    /// Bytes accepted by `send` and not yet sent.
    #[must_use]
    pub fn queued_bytes(&self) -> usize {
        self.sender.queued_bytes()
    }

    /// Bytes that count against the send buffer (`send_buffer_counts`): of a stream, or of all.
    #[must_use]
    pub fn buffered_bytes(&self, stream: Option<u16>) -> usize {
        self.sender.buffered_bytes(&self.cx, stream)
    }

    /// Bytes in flight, DATA chunk headers included.
    #[must_use]
    pub fn flight_bytes(&self) -> u64 {
        self.sender.flight_bytes()
    }

    /// Number of subflows that take streams.
    #[must_use]
    pub fn subflows(&self) -> usize {
        self.sender.open_subflows_now()
    }

    /// Counters and gauges of subflow `index`; `None` when there never was one.
    #[must_use]
    pub fn subflow_stats(&self, index: u8) -> Option<SubflowStats> {
        let id = SubflowId::new(index);
        let mut stats = self.sender.subflow_stats(&self.cx, id)?;
        stats.out_of_order_received =
            self.sender.space_of_its_own(id).map_or(0, |space| self.receiver.arrivals().out_of_order(space));
        Some(stats)
    }

    /// Congestion windows of all lanes together (bytes): cheap enough to look at with every packet.
    #[must_use]
    pub fn total_window(&self) -> u64 {
        self.sender.tables().total_window()
    }

    /// True if the congestion state of two subflows is alike: both estimates of the round trip and both windows
    /// within `tolerance` of each other, as a share (0.25: a quarter).
    #[must_use]
    pub fn alike(&self, a: u8, b: u8, tolerance: f64) -> bool {
        self.sender.alike(&self.cx, SubflowId::new(a), SubflowId::new(b), tolerance)
    }

    /// Chunks that were sent and are not acknowledged, those that are to be sent again included.
    #[must_use]
    pub fn unacknowledged_chunks(&self) -> usize {
        self.sender.unacknowledged_chunks()
    }

    /// The level of subflows that the two ends have agreed on.
    #[must_use]
    pub fn subflow_level(&self) -> SubflowLevel {
        match self.cx.env.agreed().encoding() {
            Encoding::Rfc9260 | Encoding::Interleaved => SubflowLevel::Zero,
            Encoding::Sf => SubflowLevel::One,
            Encoding::Sf2007 => SubflowLevel::Sf2007,
        }
    }

    /// Checks that every lane's counts agree with its flight, and the receiver's charge with the data it holds and
    /// with its bound: for tests, after every step of a life.
    ///
    /// # Errors
    /// The first number that differs from its recount, in words.
    pub fn audit(&self) -> Result<(), String> {
        self.sender.audit(&self.cx)?;
        // An association that was aborted because of a chunk keeps nothing in order any more.
        if self.cx.env.state() == State::Closed { Ok(()) } else { self.receiver.audit(&self.cx) }
    }

    /// Memory that it holds for messages (waiting, sent and not acknowledged cumulatively, received and not read), bookkeeping included, and the
    /// bound on that, 2 x (`send_buffer` of each subflow + `receive_window`), in bytes, each as large as it may grow. Beyond the bound there may be one message
    /// that waits in each subflow, a packet for each sequence space, and the least room of a receive window below 32 KiB
    /// ("Bounds on memory", docs/explanation/engines.md). Payload of messages handed back counts, and the bound
    /// then has the most that may be kept of it: the payload that could be undelivered at a time on the subflows of that time.
    #[must_use]
    pub fn holdings(&self) -> (u64, u64) {
        let window = u64::from(self.receiver.window().largest(&self.cx.env.config().limits));
        let bound = 2 * (self.sender.send_buffers(&self.cx) + window);
        let sending = self.sender.tables().retained() + self.sender.waiting_memory() as u64;
        let held = sending + self.receiver.memory() as u64;
        match self.handed_back.holdings() {
            None => (held, bound),
            Some((bytes, most)) => (held + bytes, bound + most.max(self.sender.most_undelivered(&self.cx))),
        }
    }

    pub(crate) fn config(&self) -> &Arc<Config> {
        self.cx.env.config()
    }

    /// The configuration as an INIT or INIT ACK announces it, and as the user changes it: with the receive window as large as it is by now.
    pub(crate) fn announced(&self) -> Arc<Config> {
        self.receiver.window().announced(self.cx.env.config())
    }

    /// The verification tag that the peer's packets must have, and the one that ours have; that is 0 before the INIT ACK. Two ends
    /// belong together if each has the tags of the other. They protect the association: a host that knows them can end it.
    // rfc9260:5.3.1-2
    #[must_use]
    pub fn tags(&self) -> (u32, u32) {
        self.writer.tags()
    }

    /// True if the peer may leave checksums out (RFC 9653, 5.3).
    pub(crate) fn takes_zero_checksum(&self) -> bool {
        self.cx.env.agreed().takes_zero_checksum()
    }

    /// SCTP port of the peer.
    #[must_use]
    pub fn peer_port(&self) -> u16 {
        self.writer.ports().1
    }

    /// Our SCTP port.
    #[must_use]
    pub fn local_port(&self) -> u16 {
        self.writer.ports().0
    }

    /// The peer's SCTP port and ours.
    pub(crate) fn ports(&self) -> (u16, u16) {
        let (local, peer) = self.writer.ports();
        (peer, local)
    }

    /// Addresses of the peer that are confirmed.
    pub(crate) fn confirmed_addresses(&self) -> impl Iterator<Item = IpAddr> + '_ {
        self.cx.paths.confirmed_addresses()
    }

    /// True if an address of the peer is confirmed.
    pub(crate) fn is_confirmed(&self, address: IpAddr) -> bool {
        self.confirmed_addresses().any(|confirmed| confirmed == address)
    }

    /// True if a packet from there comes from a confirmed address of the peer, and from the UDP port that it has now
    /// (RFC 6951); without UDP every port is 0.
    pub(crate) fn is_at(&self, source: SocketAddr) -> bool {
        self.port_of(source.ip()) == Some(source.port())
    }

    /// The UDP port of a confirmed address.
    pub(crate) fn port_of(&self, address: IpAddr) -> Option<u16> {
        let mut confirmed = self.cx.paths.rows().iter().filter(|path| path.is_confirmed());
        confirmed.find(|path| path.has_address(address)).map(|path| path.remote().port())
    }

    /// Those of `addresses` that the peer would add to the association: it never listed them. The `source` of its packet is one
    /// as long as it is not confirmed.
    // rfc9260:5.2.2-2
    pub(crate) fn added_addresses(&self, source: IpAddr, addresses: &[IpAddr]) -> Vec<IpAddr> {
        let mut added: Vec<IpAddr> = Vec::new();
        if !self.is_confirmed(source) {
            added.push(source);
        }
        added.extend(addresses.iter().filter(|a| **a != source && !self.knows_address(**a)));
        added
    }

    /// True if the handshake goes on.
    pub(crate) fn is_in_handshake(&self) -> bool {
        self.life.handshake().is_some()
    }

    /// True if a cookie of the peer was echoed and not answered yet, and the peer answered our INIT after this cookie
    /// of ours was made. An INIT that overtook the INIT ACK of the same peer looks alike: if no COOKIE ACK comes
    /// before T1-cookie expires, that INIT counts, and its COOKIE ECHO comes again.
    pub(crate) fn echoed_newer(&self, cookie: &Cookie) -> bool {
        self.life.phase().awaits_cookie_ack_since().is_some_and(|answered| answered > cookie.created)
    }

    /// Our Initial TSN.
    pub(crate) fn initial_tsn(&self) -> Tsn {
        self.sender.tables().base()
    }

    pub(crate) fn has_events(&self) -> bool {
        self.cx.report.has_events()
    }

    /// True if packets from an address may belong to this association.
    #[inline]
    pub(crate) fn knows_address(&self, address: IpAddr) -> bool {
        self.cx.paths.knows(address)
    }

    /// Chunks visited in the flight and ranges in the receive map so far.
    #[cfg(test)]
    pub(crate) fn work(&self) -> (u64, u64) {
        (self.sender.work(), self.receiver.arrivals().work())
    }

    /// Chunks read in all flights so far.
    #[cfg(test)]
    pub(crate) fn chunks_read(&self) -> u64 {
        self.sender.chunks_read()
    }

    /// Another address of the peer, as if it had been confirmed: nothing uses it by itself.
    #[cfg(test)]
    pub(crate) fn add_path(&mut self, remote: SocketAddr) -> crate::ids::PathId {
        let path = Path::new(self.cx.env.config(), remote);
        let (now, rng) = (self.cx.env.now(), &mut self.cx.rng);
        let id = self.cx.paths.add(path);
        if let Some(path) = self.cx.paths.get_mut(id) {
            path.arm_heartbeat(now, self.cx.env.config(), rng);
        }
        id
    }

    /// Another address of the peer, as if the peer had listed it: it is probed.
    #[cfg(test)]
    pub(crate) fn list_path(&mut self, remote: SocketAddr) -> crate::ids::PathId {
        self.cx.paths.list(&[remote.ip()]);
        let id = self.cx.paths.add(Path::unconfirmed(self.cx.env.config(), remote));
        self.path_manager().probe(id);
        id
    }

    /// New data of a subflow leaves on another path. False where there is none.
    #[cfg(test)]
    pub(crate) fn use_path(&mut self, subflow: u8, path: crate::ids::PathId) -> bool {
        self.sender.routes().use_path(&mut self.cx, SubflowId::new(subflow), path)
    }

    pub(crate) fn set_trace(&mut self, on: bool) {
        self.cx.report.trace = if on { Trace::on() } else { Trace::default() };
    }

    pub(crate) fn trace_mut(&mut self) -> &mut Trace {
        &mut self.cx.report.trace
    }

    pub(crate) fn pop_event(&mut self) -> Option<Event> {
        self.cx.report.pop_event()
    }

    /// The sender, to be commanded.
    #[inline]
    pub(crate) fn sending(&mut self) -> (&mut Sender, &mut Context) {
        (&mut self.sender, &mut self.cx)
    }

    /// The receiver, to be read.
    #[inline]
    pub(crate) fn receiving(&mut self) -> (&mut Receiver, &mut Context) {
        (&mut self.receiver, &mut self.cx)
    }

    /// Messages that were not delivered.
    pub(crate) fn handed_back(&self) -> &HandedBack {
        &self.handed_back
    }

    /// Messages that were not delivered, to be taken back.
    pub(crate) fn handed_back_mut(&mut self) -> &mut HandedBack {
        &mut self.handed_back
    }

    /// Streams of which a message can be received, or a part of one, ascending.
    #[must_use]
    pub fn readable_streams(&self) -> Vec<u16> {
        self.receiver.readable_streams()
    }

    /// True if an acknowledgement must leave now.
    #[inline]
    pub(crate) fn owes_sack(&self) -> bool {
        self.receiver.arrivals().owes_sack()
    }

    /// A packet, to be read.
    #[inline]
    fn packet_reader(&mut self) -> PacketReader<'_> {
        let scope = scope_of!(self);
        PacketReader::new(scope, self.reconfig.as_deref_mut())
    }

    /// The paths, to go on with or to command.
    pub(crate) fn path_manager(&mut self) -> PathManager<'_> {
        PathManager::new(scope_of!(self))
    }

    /// The subflows, to go on with or to command.
    #[inline]
    pub(crate) fn subflow_manager(&mut self) -> SubflowManager<'_> {
        SubflowManager::new(&mut self.cx, &mut self.sender, self.reconfig.as_deref_mut())
    }

    /// RE-CONFIG, where it was agreed, with the owners that it works on.
    #[inline]
    fn reconfiguring(&mut self) -> Option<(&mut Reconfig, Scope<'_>)> {
        let scope = scope_of!(self);
        Some((self.reconfig.as_deref_mut()?, scope))
    }

    /// RE-CONFIG for a request of our user.
    ///
    /// # Errors
    /// While none can be made.
    // rfc6525:5.1.1-2 rfc6525:5.1.1-3
    pub(crate) fn reconfigure(&mut self) -> Result<(&mut Reconfig, Scope<'_>), ReconfigError> {
        match self.cx.env.state() {
            State::CookieWait | State::CookieEchoed => Err(ReconfigError::NotUp),
            State::Established => self.reconfiguring().ok_or(ReconfigError::NotSupported),
            _ => Err(ReconfigError::Closing),
        }
    }
}

/// A random Initial TSN, and tags that are never 0 (RFC 9260, 5.3.1).
// rfc9260:3.3.3-5 rfc9260:5.1-2 rfc9260:5.3.1-1
pub(crate) fn random_tag(rng: &mut SecretRng) -> u32 {
    loop {
        let tag = rng.u32();
        if tag != 0 {
            return tag;
        }
    }
}
