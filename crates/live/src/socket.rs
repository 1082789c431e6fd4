//! A UDP socket, or a raw one for SCTP right on IP, with the functions that a transport needs: segmentation offload in both directions,
//! the address that a packet came to, ECN, DSCP, and ICMP errors.

#[cfg(target_os = "linux")]
#[path = "linux.rs"]
mod system;
#[cfg(not(target_os = "linux"))]
#[path = "other.rs"]
mod system;

use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use anabranch_base::{Dscp, Ecn, Meta, Transmit};
use anabranch_sctp::{IcmpError, Shard};
use quinn_udp::{BATCH_SIZE, EcnCodepoint, RecvMeta, UdpSocketState};
use socket2::{Domain, Protocol, Socket as RawSocket, Type};

use crate::packets::ecn_bits;
use crate::ready::Io;

/// Bytes of the largest datagram, or of as many as the kernel hands over at once (GRO).
const LARGEST: usize = 65_535;
/// User data of the largest UDP datagram over IPv4, which bounds a batch for segmentation offload, too.
pub(crate) const LARGEST_BATCH: usize = 65_507;
/// User data of the largest datagram that needs no fragmentation anywhere in practice, bytes: 576 less IP and UDP headers.
const LEAST_MTU: usize = 548;
/// How much of a packet is read that an error quotes: an INIT with its tag, and more.
const QUOTED: usize = 512;
/// IP protocol number of SCTP.
const SCTP: i32 = 132;
/// Errors that ICMP may have reported since the last packet left.
const MAX_EARLIER: usize = 8;

/// One socket.
pub(crate) struct Socket {
    /// A raw socket, too, waits and reads as a UDP socket does.
    io: Io,
    state: UdpSocketState,
    /// Without UDP its port is 0.
    local: SocketAddr,
    raw: bool,
    /// IP may fragment sent packets.
    fragments: AtomicBool,
}

impl std::fmt::Debug for Socket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Socket").field("local", &self.local).finish_non_exhaustive()
    }
}

/// The fate of packets that were handed to the system.
#[derive(Debug)]
pub(crate) enum Sent {
    /// The system has them.
    Accepted,
    /// So many bytes are left for later: the socket tells when it is writable.
    Later(usize),
    /// The packets before so many bytes at the end have left; the next one is larger than the network here carries.
    TooBig(usize),
    /// The packets are lost, as a network loses packets.
    Lost,
}

impl Socket {
    /// A socket on `address`, with buffers of so many bytes if the system grants them. IPv6 means IPv6 only. `shared`: others of this
    /// process have the same address; the first is alone when it takes it, so that no other process has it.
    pub(crate) fn bind(
        address: SocketAddr,
        (receive, send): (usize, usize),
        shared: Option<Shard>,
    ) -> io::Result<Self> {
        let raw = RawSocket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
        if address.is_ipv6() {
            raw.set_only_v6(true)?;
        }
        // The system may grant less; that is no reason to fail.
        let _ = raw.set_recv_buffer_size(receive);
        let _ = raw.set_send_buffer_size(send);
        raw.set_nonblocking(true)?;
        if shared.is_some_and(|shard| shard.index() > 0) {
            system::share_address(&raw)?;
        }
        raw.bind(&address.into())?;
        if shared.is_some_and(|shard| shard.index() == 0) {
            system::share_address(&raw)?;
        }
        let local = raw.local_addr()?.as_socket().ok_or(io::ErrorKind::AddrNotAvailable)?;
        Self::of(raw, local, false)
    }

    /// A raw socket for IP protocol 132 on the address of `address`, which gets packets for `ports` alone, or all.
    pub(crate) fn bind_raw(
        address: SocketAddr,
        (receive, send): (usize, usize),
        ports: Option<&[u16]>,
    ) -> io::Result<Self> {
        let raw = RawSocket::new(Domain::for_address(address), Type::RAW, Some(Protocol::from(SCTP)))?;
        // Set before the socket is bound, so that no unwanted packet waits in it.
        system::take_ports(&raw, address.is_ipv6(), ports)?;
        let _ = raw.set_recv_buffer_size(receive);
        let _ = raw.set_send_buffer_size(send);
        raw.set_nonblocking(true)?;
        let local = SocketAddr::new(address.ip(), 0);
        raw.bind(&local.into())?;
        Self::of(raw, local, true)
    }

    fn of(socket: RawSocket, local: SocketAddr, raw: bool) -> io::Result<Self> {
        let state = UdpSocketState::new((&socket).into())?;
        let io = Io::new(socket)?;
        // Without them an association finds out by its timers.
        let _ = system::keep_errors(io.socket(), local.is_ipv6());
        Ok(Self { io, state, local, raw, fragments: AtomicBool::new(false) })
    }

    /// Changes which ports a raw socket gets packets for.
    pub(crate) fn take_ports(&self, ports: Option<&[u16]>) {
        let _ = system::take_ports(&socket2::SockRef::from(self.io.socket()), self.local.is_ipv6(), ports);
    }

    /// Tells the kernel how to hand out packets among so many sockets that share an address, of which this is one. Where it does not
    /// take that, the wrong ones are passed on.
    pub(crate) fn hand_out_by_tag(&self, count: u16) {
        let _ = system::hand_out_by_tag(self.io.socket(), self.local.is_ipv6(), count);
    }

    pub(crate) fn local(&self) -> SocketAddr {
        self.local
    }

    /// Whether a packet with that destination, from that source, can leave here.
    pub(crate) fn serves(&self, source: Option<SocketAddr>, destination: SocketAddr) -> bool {
        let local = self.local.ip();
        match source {
            Some(source) => {
                local == source.ip() || (local.is_unspecified() && local.is_ipv4() == source.is_ipv4())
            }
            None => local.is_ipv4() == destination.is_ipv4(),
        }
    }

    /// How many packets may leave in one call.
    pub(crate) fn max_packets(&self) -> usize {
        if self.raw { 1 } else { self.state.max_gso_segments() }
    }

    /// Hands packets to the system.
    pub(crate) fn send(&self, transmit: &Transmit, packets: &[u8]) -> Sent {
        let segment = transmit.segment_size.max(1);
        // Packets that IP may fragment leave one in a call.
        let mut most = if transmit.dont_fragment { self.max_packets() } else { 1 };
        self.let_fragment(!transmit.dont_fragment, segment.min(packets.len()));
        let mut rest = packets;
        let mut earlier = 0;
        while !rest.is_empty() {
            let per_batch = (LARGEST_BATCH / segment).clamp(1, most);
            let (batch, after) = rest.split_at(rest.len().min(per_batch * segment));
            match self.send_batch(transmit, batch) {
                Ok(()) => rest = after,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Sent::Later(rest.len()),
                Err(error) if earlier < MAX_EARLIER && system::is_of_earlier(&error) => earlier += 1,
                Err(error) if most > 1 && batch.len() > segment && system::may_be_offload(&error) => most = 1,
                Err(error) if system::is_too_big(&error) => return Sent::TooBig(rest.len()),
                // ENOBUFS, EPERM of a firewall, no route: the rest is not tried.
                Err(_) => return Sent::Lost,
            }
        }
        Sent::Accepted
    }

    fn send_batch(&self, transmit: &Transmit, batch: &[u8]) -> io::Result<()> {
        #[cfg(test)]
        crate::faults::next(self.local)?;
        let source = self.source(transmit.source);
        if transmit.dscp != Dscp::DEFAULT {
            match self.io.write(|| system::send_marked(self.io.socket(), transmit, batch, source)) {
                Err(error) if error.kind() == io::ErrorKind::Unsupported => {}
                done => return done,
            }
        }
        let message = quinn_udp::Transmit {
            destination: transmit.destination,
            ecn: to_quinn(transmit.ecn),
            contents: batch,
            segment_size: Some(transmit.segment_size),
            src_ip: source,
        };
        self.io.write(|| self.state.try_send(self.io.socket().into(), &message))
    }

    /// Packets that may be fragmented are few: those that have left before the path was found to carry less (RFC 9260, 6.9).
    fn let_fragment(&self, allowed: bool, longest: usize) {
        // A packet that every host takes whole (RFC 791) passes either way: this saves two calls for each INIT ACK, and
        // the packet after it.
        if allowed && longest <= LEAST_MTU {
            return;
        }
        if self.fragments.load(Ordering::Relaxed) != allowed
            && system::let_fragment(self.io.socket(), self.local.is_ipv6(), allowed).is_ok()
        {
            self.fragments.store(allowed, Ordering::Relaxed);
        }
    }

    /// The address that a packet is to leave from, where the socket leaves a choice.
    fn source(&self, wanted: Option<SocketAddr>) -> Option<IpAddr> {
        let wanted = wanted?.ip();
        (self.local.ip().is_unspecified() && !wanted.is_unspecified()).then_some(wanted)
    }

    /// Waits until packets that were [left for later](Sent::Later) can leave.
    ///
    /// # Errors
    /// When the system cannot be asked.
    pub(crate) fn poll_writable(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.io.poll_room(cx)
    }

    pub(crate) fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.io.poll_readable(cx)
    }

    /// Whether the system has errors to tell. Wakes the task when it has.
    pub(crate) fn poll_errors(&mut self, cx: &mut Context<'_>) -> bool {
        self.io.poll_errors(cx)
    }

    /// Calls `take` for each error that the system has to tell.
    pub(crate) fn each_error(&self, mut take: impl FnMut(&IcmpError<'_>)) {
        self.read_errors(&mut take);
        // The system signals errors from now on again; those that came meanwhile are read now.
        self.io.forget_errors(|| self.read_errors(&mut take));
    }

    fn read_errors(&self, take: &mut impl FnMut(&IcmpError<'_>)) {
        let mut quoted = [0; QUOTED];
        while let Some(told) = system::take_error(self.io.socket(), &mut quoted) {
            if let (Some(kind), Some(quoted)) = (told.kind, quoted.get(..told.quoted)) {
                let destination = told.destination.ip();
                let udp_port = (!self.raw).then_some(told.destination.port());
                take(&IcmpError { kind, destination, quoted, udp_port });
            }
        }
    }

    /// Reads received packets, as many as `inbox` takes. False when there was none.
    pub(crate) fn receive(&self, inbox: &mut Inbox) -> bool {
        inbox.filled = 0;
        let mut slices = inbox.buffers.each_mut().map(|buffer| IoSliceMut::new(buffer));
        let (metas, filled) = (&mut inbox.metas, &mut inbox.filled);
        let _ = self.io.read(|| {
            *filled = self.state.recv(self.io.socket().into(), &mut slices, metas)?;
            // Fewer than fit: there is nothing more, and the next call would only say so.
            if *filled < Inbox::SLOTS { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(()) }
        });
        inbox.filled > 0
    }

    /// As [`Socket::receive`], whether or not the runtime has heard that there is something.
    pub(crate) fn receive_unasked(&self, inbox: &mut Inbox) -> bool {
        let mut slices = inbox.buffers.each_mut().map(|buffer| IoSliceMut::new(buffer));
        inbox.filled = self.state.recv(self.io.socket().into(), &mut slices, &mut inbox.metas).unwrap_or(0);
        inbox.filled > 0
    }

    /// The packets of one buffer of an inbox: of one sender, up to 64 that the kernel has joined.
    pub(crate) fn packets<'a>(
        &self,
        inbox: &'a Inbox,
        buffer: usize,
    ) -> impl Iterator<Item = (Meta, &'a [u8])> + use<'a> {
        let port = self.local.port();
        let here = self.local.ip();
        let with_header = self.raw && here.is_ipv4();
        let got = inbox.metas.get(buffer).filter(|_| buffer < inbox.filled);
        let bytes = got.and_then(|got| inbox.buffers.get(buffer)?.get(..got.len));
        let bytes = if with_header { bytes.and_then(behind_ip) } else { bytes };
        got.zip(bytes).into_iter().flat_map(move |(got, bytes)| {
            let meta = Meta {
                source: got.addr,
                destination: SocketAddr::new(got.dst_ip.unwrap_or(here), port),
                // quinn-udp tells the ECN field alone.
                dscp: Dscp::DEFAULT,
                ecn: from_quinn(got.ecn),
            };
            bytes.chunks(got.stride.max(1)).map(move |packet| (meta, packet))
        })
    }
}

/// The SCTP packet behind the IP header. A raw IPv4 socket gets that header; a raw IPv6 socket does not (raw(7), RFC
/// 3542, 3).
fn behind_ip(packet: &[u8]) -> Option<&[u8]> {
    let words = usize::from(packet.first()? & 0x0f);
    packet.get(4 * words..)
}

/// Room for the packets that the kernel hands over in one call. The default has none.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    buffers: [Box<[u8]>; Inbox::SLOTS],
    metas: [RecvMeta; Inbox::SLOTS],
    filled: usize,
}

impl Inbox {
    /// Each takes up to 64 packets where the kernel joins them (GRO).
    const SLOTS: usize = if BATCH_SIZE < 8 { BATCH_SIZE } else { 8 };

    pub(crate) fn new() -> Self {
        Self {
            buffers: std::array::from_fn(|_| vec![0; LARGEST].into_boxed_slice()),
            metas: [RecvMeta::default(); Self::SLOTS],
            filled: 0,
        }
    }

    /// Whether every buffer holds something: there may be more.
    pub(crate) fn is_full(&self) -> bool {
        self.filled == Self::SLOTS
    }

    /// Number of buffers with data.
    pub(crate) fn filled(&self) -> usize {
        self.filled
    }
}

// rfc6951:5.8-1
fn to_quinn(ecn: Ecn) -> Option<EcnCodepoint> {
    EcnCodepoint::from_bits(ecn_bits(ecn))
}

// rfc6951:5.8-1
fn from_quinn(ecn: Option<EcnCodepoint>) -> Ecn {
    match ecn {
        None => Ecn::NotEct,
        Some(EcnCodepoint::Ect0) => Ecn::Ect0,
        Some(EcnCodepoint::Ect1) => Ecn::Ect1,
        Some(EcnCodepoint::Ce) => Ecn::Ce,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

    use super::*;

    /// The runtime has had no turn since the packet came, so it knows of nothing to read; a read without asking it
    /// finds the packet.
    #[tokio::test]
    async fn who_looks_unasked_waits_for_no_runtime() {
        let socket = Socket::bind("127.0.0.1:0".parse().unwrap(), (1 << 16, 1 << 16), None).unwrap();
        let mut inbox = Inbox::new();
        assert!(!socket.receive_unasked(&mut inbox));
        let from = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        from.send_to(b"packet", socket.local()).unwrap();
        assert!(!socket.receive(&mut inbox));
        // A datagram to the loopback address is there at once, nearly always.
        let found = (0..1000).any(|_| {
            std::thread::yield_now();
            socket.receive_unasked(&mut inbox)
        });
        assert!(found);
        let packets =
            socket.packets(&inbox, 0).map(|(meta, packet)| (meta.source, packet)).collect::<Vec<_>>();
        assert_eq!(packets, [(from.local_addr().unwrap(), &b"packet"[..])]);
        assert!(!socket.receive_unasked(&mut inbox));
    }
}
