//! Socket features of Linux that quinn-udp lacks: a code point for each packet, packets that IP may fragment, and the
//! queue of ICMP errors.

use std::io::{self, IoSlice, IoSliceMut};
use std::net::{IpAddr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsFd, AsRawFd};

use anabranch_base::Transmit;
use anabranch_sctp::IcmpKind;
use nix::libc;
use nix::sys::socket::sockopt::{AttachReusePortCbpf, Ipv4RecvErr, Ipv6DontFrag, Ipv6RecvErr};
use nix::sys::socket::{
    ControlMessage, ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, sendmsg, setsockopt,
};
use rustix::net::sockopt::{
    Ipv4PathMtuDiscovery, Ipv6PathMtuDiscovery, set_ip_mtu_discover, set_ipv6_mtu_discover,
};

use socket2::SockFilter;

use crate::packets::{QueuedError, ecn_bits};
use crate::shards;

/// Bytes for an error and the address of its sender.
const CONTROL: usize = 256;

/// Errors that ICMP reports are kept for [`take_error`].
pub(super) fn keep_errors<S: AsFd>(socket: &S, ipv6: bool) -> io::Result<()> {
    let done =
        if ipv6 { setsockopt(socket, Ipv6RecvErr, &true) } else { setsockopt(socket, Ipv4RecvErr, &true) };
    Ok(done?)
}

/// Sets whether IP may fragment packets that are sent from now on.
pub(super) fn let_fragment<S: AsFd>(socket: &S, ipv6: bool, allowed: bool) -> io::Result<()> {
    if ipv6 {
        let how = if allowed { Ipv6PathMtuDiscovery::DONT } else { Ipv6PathMtuDiscovery::PROBE };
        set_ipv6_mtu_discover(socket, how)?;
        setsockopt(socket, Ipv6DontFrag, &!allowed)?;
    } else {
        let how = if allowed { Ipv4PathMtuDiscovery::DONT } else { Ipv4PathMtuDiscovery::PROBE };
        set_ip_mtu_discover(socket, how)?;
    }
    Ok(())
}

/// A raw socket gets SCTP packets for those ports alone, or all of them.
pub(super) fn take_ports(socket: &socket2::Socket, ipv6: bool, ports: Option<&[u16]>) -> io::Result<()> {
    let op = |code: u32, k: u32, jf: u8| SockFilter::new(code as u16, 0, jf, k);
    let whole = u32::MAX;
    let mut program = Vec::new();
    let Some(ports) = ports else { return socket.attach_filter(&[op(bpf::RET, whole, 0)]) };
    if ipv6 {
        // The data that the filter sees begins with the SCTP header.
        program.push(op(bpf::LD_HALF, 2, 0));
    } else {
        program.push(op(bpf::LDX_HEADER, 0, 0));
        program.push(op(bpf::LD_HALF_X, 2, 0));
    }
    for port in ports {
        program.push(op(bpf::JEQ, u32::from(*port), 1));
        program.push(op(bpf::RET, whole, 0));
    }
    program.push(op(bpf::RET, 0, 0));
    // The kernel takes 4,096 instructions at most: an endpoint with more ports takes all packets and looks at their
    // ports itself.
    if program.len() > MOST_INSTRUCTIONS {
        program = vec![op(bpf::RET, whole, 0)];
    }
    socket.attach_filter(&program)
}

/// BPF_MAXINSNS.
const MOST_INSTRUCTIONS: usize = 4096;

/// Lets other sockets of this user have the same address.
pub(super) fn share_address(socket: &socket2::Socket) -> io::Result<()> {
    socket.set_reuse_port(true)
}

/// Of so many sockets with one address the kernel gives a packet to that whose shard it is for: the rule of [`crate::shards::of_packet`] as
/// a program for the kernel, which sees the bytes behind the UDP header.
pub(super) fn hand_out_by_tag<S: AsFd>(socket: &S, ipv6: bool, count: u16) -> io::Result<()> {
    let program = steering(ipv6, count);
    let program = libc::sock_fprog {
        len: program.len() as u16,
        // The pointer is mutable by its type only: the kernel reads the program.
        filter: program.as_ptr().cast_mut(),
    };
    Ok(setsockopt(socket, AttachReusePortCbpf, &program)?)
}

/// Instructions of classic BPF, by their names in linux/filter.h.
mod bpf {
    pub(super) const LD_WORD: u32 = 0x20;
    pub(super) const LD_BYTE: u32 = 0x30;
    pub(super) const LD_HALF: u32 = 0x28;
    pub(super) const LD_HALF_X: u32 = 0x48;
    /// Length of the IPv4 header that the packet begins with.
    pub(super) const LDX_HEADER: u32 = 0xb1;
    pub(super) const RET: u32 = 0x06;
    pub(super) const JEQ: u32 = 0x15;
    pub(super) const JSET: u32 = 0x45;
    pub(super) const XOR_X: u32 = 0xac;
    pub(super) const MUL: u32 = 0x24;
    pub(super) const RSH: u32 = 0x74;
    pub(super) const MOD: u32 = 0x94;
    pub(super) const TAX: u32 = 0x07;
    pub(super) const RET_A: u32 = 0x16;
    /// Base of offsets that count from the IP header.
    pub(super) const NETWORK: u32 = (-0x10_0000_i32) as u32;
}

fn steering(ipv6: bool, count: u16) -> Vec<libc::sock_filter> {
    use bpf::{JEQ, JSET, LD_BYTE, LD_WORD, MOD, MUL, NETWORK, RET_A, RSH, TAX, XOR_X};
    let op = |code: u32, k: u32, (jt, jf): (u8, u8)| libc::sock_filter { code: code as u16, jt, jf, k };
    let next = (0, 0);
    let count = u32::from(count);
    let mut program = vec![
        op(LD_WORD, 4, next),                              // 0: the tag
        op(JEQ, 0, (8, 0)),                                // 1: none: by peer
        op(LD_BYTE, 12, next),                             // 2: type of the first chunk
        op(JEQ, shards::ABORT.into(), (1, 0)),             // 3
        op(JEQ, shards::SHUTDOWN_COMPLETE.into(), (0, 2)), // 4
        op(LD_BYTE, 13, next),                             // 5: its flags
        op(JSET, shards::REFLECTED.into(), (3, 0)),        // 6: the peer's tag: by peer
        op(LD_WORD, 4, next),                              // 7: by tag
        op(MOD, count, next),                              // 8
        op(RET_A, 0, next),                                // 9
    ];
    // Instruction 10: the shard by the peer's address and both ports.
    let words: &[u32] = if ipv6 { &[8, 12, 16, 20] } else { &[12] };
    for (number, offset) in words.iter().enumerate() {
        if number > 0 {
            program.push(op(TAX, 0, next));
        }
        program.push(op(LD_WORD, NETWORK.wrapping_add(*offset), next));
        if number > 0 {
            program.push(op(XOR_X, 0, next));
        }
    }
    program.extend([
        op(TAX, 0, next),
        op(LD_WORD, 0, next),
        op(XOR_X, 0, next),
        op(MUL, shards::SPREAD, next),
        op(RSH, 16, next),
        op(MOD, count, next),
        op(RET_A, 0, next),
    ]);
    program
}

/// Sends packets with a code point: quinn-udp sets the ECN field, and the rest of that octet to 0.
pub(super) fn send_marked<S: AsRawFd>(
    socket: &S,
    transmit: &Transmit,
    packets: &[u8],
    source: Option<IpAddr>,
) -> io::Result<()> {
    let octet = transmit.dscp.get() << 2 | ecn_bits(transmit.ecn);
    let class = i32::from(octet);
    let segment = u16::try_from(transmit.segment_size).unwrap_or(u16::MAX);
    let (v4, v6);
    let mut control = Vec::with_capacity(3);
    control.push(match transmit.destination {
        SocketAddr::V4(_) => ControlMessage::Ipv4Tos(&octet),
        SocketAddr::V6(_) => ControlMessage::Ipv6TClass(&class),
    });
    if packets.len() > usize::from(segment) {
        control.push(ControlMessage::UdpGsoSegments(&segment));
    }
    match source {
        Some(IpAddr::V4(from)) => {
            v4 = libc::in_pktinfo {
                ipi_ifindex: 0,
                ipi_spec_dst: libc::in_addr { s_addr: u32::from_ne_bytes(from.octets()) },
                ipi_addr: libc::in_addr { s_addr: 0 },
            };
            control.push(ControlMessage::Ipv4PacketInfo(&v4));
        }
        Some(IpAddr::V6(from)) => {
            v6 = libc::in6_pktinfo { ipi6_ifindex: 0, ipi6_addr: libc::in6_addr { s6_addr: from.octets() } };
            control.push(ControlMessage::Ipv6PacketInfo(&v6));
        }
        None => {}
    }
    let to = SockaddrStorage::from(transmit.destination);
    loop {
        match sendmsg(socket.as_raw_fd(), &[IoSlice::new(packets)], &control, MsgFlags::empty(), Some(&to)) {
            Err(nix::errno::Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
            Ok(_) => return Ok(()),
        }
    }
}

/// The next error that was reported, with the beginning of the packet that it speaks of in `quoted`. `None` when there is none.
pub(super) fn take_error<S: AsRawFd>(socket: &S, quoted: &mut [u8]) -> Option<QueuedError> {
    let mut control = vec![0; CONTROL];
    let mut iov = [IoSliceMut::new(quoted)];
    let flags = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
    let got = recvmsg::<SockaddrStorage>(socket.as_raw_fd(), &mut iov, Some(&mut control), flags).ok()?;
    let destination = got.address.as_ref().and_then(address)?;
    let error = got.cmsgs().ok()?.find_map(|message| match message {
        ControlMessageOwned::Ipv4RecvErr(error, _) | ControlMessageOwned::Ipv6RecvErr(error, _) => {
            Some(error)
        }
        _ => None,
    })?;
    let (code, info) = (error.ee_code, error.ee_info);
    let kind = match (error.ee_origin, error.ee_type, code) {
        (libc::SO_EE_ORIGIN_ICMP, 3, 2) | (libc::SO_EE_ORIGIN_ICMP6, 4, 1) => {
            Some(IcmpKind::ProtocolUnreachable)
        }
        (libc::SO_EE_ORIGIN_ICMP, 3, 3) | (libc::SO_EE_ORIGIN_ICMP6, 1, 4) => Some(IcmpKind::PortUnreachable),
        (libc::SO_EE_ORIGIN_ICMP, 3, 4) | (libc::SO_EE_ORIGIN_ICMP6, 2, _) => {
            Some(IcmpKind::TooBig { mtu: info })
        }
        (libc::SO_EE_ORIGIN_ICMP, 3, _) | (libc::SO_EE_ORIGIN_ICMP6, 1, _) => {
            Some(IcmpKind::Unreachable { code })
        }
        // This host reports it itself, when the packet is not to be fragmented.
        (libc::SO_EE_ORIGIN_LOCAL, ..) if error.ee_errno == libc::EMSGSIZE as u32 => {
            Some(IcmpKind::TooBig { mtu: info })
        }
        _ => None,
    };
    Some(QueuedError { kind, destination, quoted: got.bytes })
}

fn address(storage: &SockaddrStorage) -> Option<SocketAddr> {
    if let Some(v4) = storage.as_sockaddr_in() {
        return Some(SocketAddr::V4(SocketAddrV4::from(*v4)));
    }
    storage.as_sockaddr_in6().map(|v6| SocketAddr::V6(SocketAddrV6::from(*v6)))
}

/// Whether a socket does not take packets because they are larger than its network carries.
pub(super) fn is_too_big(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EMSGSIZE)
}

/// Whether it may be the segmentation, not the packets, that a device does not take.
pub(super) fn may_be_offload(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EIO | libc::EMSGSIZE))
}

/// Whether an error speaks of earlier packets: ICMP has reported it since the last call.
pub(super) fn is_of_earlier(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(
            libc::ECONNREFUSED
                | libc::EHOSTUNREACH
                | libc::ENETUNREACH
                | libc::EPROTO
                | libc::ENOPROTOOPT
                | libc::EHOSTDOWN
        )
    )
}
