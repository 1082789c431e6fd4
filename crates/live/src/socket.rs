//! A UDP socket with what a transport needs: segmentation offload in both directions, the address that a packet came to, ECN and DSCP.

use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr};
use std::task::{Context, Poll};

use anabranch_base::{Dscp, Ecn, Meta, Transmit};
use quinn_udp::{BATCH_SIZE, EcnCodepoint, RecvMeta, UdpSocketState};
use socket2::{Domain, Protocol, Socket as RawSocket, Type};
use tokio::io::Interest;
use tokio::net::UdpSocket;

/// Bytes of the largest datagram, or of as many as the kernel hands over at once (GRO).
const LARGEST: usize = 65_535;
/// User data of the largest UDP datagram over IPv4, which bounds a batch for segmentation offload, too.
const LARGEST_BATCH: usize = 65_507;

/// One socket.
#[derive(Debug)]
pub(crate) struct Socket {
    io: UdpSocket,
    state: UdpSocketState,
    local: SocketAddr,
}

/// What became of packets that were to be sent.
#[derive(Debug)]
pub(crate) enum Sent {
    /// The system has them.
    Taken,
    /// Later: the socket tells when it is writable.
    Later,
    /// They are lost, as a network loses packets.
    Lost,
}

impl Socket {
    /// A socket on `address`, with buffers of so many bytes if the system grants them. IPv6 means IPv6 only.
    pub(crate) fn bind(address: SocketAddr, receive: usize, send: usize) -> io::Result<Self> {
        let raw = RawSocket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
        if address.is_ipv6() {
            raw.set_only_v6(true)?;
        }
        // What the system does not grant is no reason to fail.
        let _ = raw.set_recv_buffer_size(receive);
        let _ = raw.set_send_buffer_size(send);
        raw.set_nonblocking(true)?;
        raw.bind(&address.into())?;
        let state = UdpSocketState::new((&raw).into())?;
        let io = UdpSocket::from_std(raw.into())?;
        let local = io.local_addr()?;
        Ok(Self { io, state, local })
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
        self.state.max_gso_segments()
    }

    /// Hands packets to the system.
    pub(crate) fn send(&self, transmit: &Transmit, packets: &[u8]) -> Sent {
        let mut rest = packets;
        let per_batch = (LARGEST_BATCH / transmit.segment_size.max(1)).clamp(1, self.max_packets());
        while !rest.is_empty() {
            let (batch, after) = rest.split_at(rest.len().min(per_batch * transmit.segment_size));
            let message = quinn_udp::Transmit {
                destination: transmit.destination,
                ecn: to_quinn(transmit.ecn),
                contents: batch,
                segment_size: Some(transmit.segment_size),
                src_ip: self.source(transmit.source),
            };
            let sent =
                self.io.try_io(Interest::WRITABLE, || self.state.try_send((&self.io).into(), &message));
            match sent {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Sent::Later,
                Err(_) => return Sent::Lost,
            }
            rest = after;
        }
        Sent::Taken
    }

    /// The address that a packet is to leave from, where the socket leaves a choice.
    fn source(&self, wanted: Option<SocketAddr>) -> Option<IpAddr> {
        let wanted = wanted?.ip();
        (self.local.ip().is_unspecified() && !wanted.is_unspecified()).then_some(wanted)
    }

    pub(crate) fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.io.poll_send_ready(cx)
    }

    pub(crate) fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.io.poll_recv_ready(cx)
    }

    /// Reads what is there, as much as `inbox` takes. False when there was nothing.
    pub(crate) fn receive(&self, inbox: &mut Inbox) -> bool {
        inbox.filled = 0;
        let mut slices = inbox.buffers.each_mut().map(|buffer| IoSliceMut::new(buffer));
        let (metas, filled) = (&mut inbox.metas, &mut inbox.filled);
        let _ = self.io.try_io(Interest::READABLE, || {
            *filled = self.state.recv((&self.io).into(), &mut slices, metas)?;
            // Fewer than fit: there is nothing more, and the next call would only say so.
            if *filled < Inbox::SLOTS { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(()) }
        });
        inbox.filled > 0
    }

    /// Calls `take` for each packet of an inbox.
    pub(crate) fn each_packet(&self, inbox: &Inbox, mut take: impl FnMut(Meta, &[u8])) {
        for (buffer, got) in inbox.buffers.iter().zip(&inbox.metas).take(inbox.filled) {
            let to = got.dst_ip.unwrap_or(self.local.ip());
            let meta = Meta {
                source: got.addr,
                destination: SocketAddr::new(to, self.local.port()),
                // quinn-udp tells the ECN field alone.
                dscp: Dscp::DEFAULT,
                ecn: from_quinn(got.ecn),
            };
            let Some(bytes) = buffer.get(..got.len) else { continue };
            for packet in bytes.chunks(got.stride.max(1)) {
                take(meta, packet);
            }
        }
    }
}

/// Room for what the kernel hands over in one call.
#[derive(Debug)]
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
}

fn to_quinn(ecn: Ecn) -> Option<EcnCodepoint> {
    match ecn {
        Ecn::NotEct => None,
        Ecn::Ect0 => Some(EcnCodepoint::Ect0),
        Ecn::Ect1 => Some(EcnCodepoint::Ect1),
        Ecn::Ce => Some(EcnCodepoint::Ce),
    }
}

fn from_quinn(ecn: Option<EcnCodepoint>) -> Ecn {
    match ecn {
        None => Ecn::NotEct,
        Some(EcnCodepoint::Ect0) => Ecn::Ect0,
        Some(EcnCodepoint::Ect1) => Ecn::Ect1,
        Some(EcnCodepoint::Ce) => Ecn::Ce,
    }
}
