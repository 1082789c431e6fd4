//! What Linux has beyond quinn-udp: a code point for each packet, packets that IP may fragment, and the queue of ICMP errors.

use std::io::{self, IoSlice, IoSliceMut};
use std::net::{IpAddr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsFd, AsRawFd};

use anabranch_base::Transmit;
use anabranch_sctp::IcmpKind;
use nix::libc;
use nix::sys::socket::sockopt::{Ipv4RecvErr, Ipv6DontFrag, Ipv6RecvErr};
use nix::sys::socket::{
    ControlMessage, ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, sendmsg, setsockopt,
};
use rustix::net::sockopt::{
    Ipv4PathMtuDiscovery, Ipv6PathMtuDiscovery, set_ip_mtu_discover, set_ipv6_mtu_discover,
};

use super::{Told, ecn_bits};

/// Room for an error and the address of who reports it.
const CONTROL: usize = 256;

/// Errors that ICMP reports are kept for [`take_error`].
pub(super) fn keep_errors<S: AsFd>(socket: &S, ipv6: bool) -> io::Result<()> {
    let done =
        if ipv6 { setsockopt(socket, Ipv6RecvErr, &true) } else { setsockopt(socket, Ipv4RecvErr, &true) };
    Ok(done?)
}

/// Whether IP may fragment what leaves from now on.
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
pub(super) fn take_error<S: AsRawFd>(socket: &S, quoted: &mut [u8]) -> Option<Told> {
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
        // This host says so itself, when the packet is not to be fragmented.
        (libc::SO_EE_ORIGIN_LOCAL, ..) if error.ee_errno == libc::EMSGSIZE as u32 => {
            Some(IcmpKind::TooBig { mtu: info })
        }
        _ => None,
    };
    Some(Told { kind, destination, quoted: got.bytes })
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
