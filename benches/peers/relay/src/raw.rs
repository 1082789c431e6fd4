//! Datagrams with their IP headers: whether IP may fragment them.

use std::io::{self, Read as _};
use std::net::SocketAddr;
use std::ops::Range;

use socket2::{Domain, Protocol, Socket, Type};

use crate::capture::Side;

/// The DF bit, in the bytes of flags and fragment offset (RFC 791, 3.1).
const DONT_FRAGMENT: u8 = 0x40;
const UDP_HEADER: usize = 8;

pub(crate) struct Raw {
    socket: Socket,
    near: SocketAddr,
    far: SocketAddr,
}

impl Raw {
    /// Opens a raw socket that receives a copy of all packets to these two addresses.
    pub(crate) fn open(near: SocketAddr, far: SocketAddr) -> io::Result<Self> {
        let socket = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::UDP))?;
        socket.set_nonblocking(true)?;
        // As much as the system allows.
        let _less = socket.set_recv_buffer_size(4 << 20);
        Ok(Self { socket, near, far })
    }

    /// The next datagram: its sender, the place of its payload, and whether IP must not fragment it; `None` if it is not for the relay.
    pub(crate) fn receive(&self, room: &mut [u8]) -> io::Result<Option<(Side, Range<usize>, bool)>> {
        let len = (&self.socket).read(room)?;
        Ok(self.parse(&room[..len]))
    }

    fn parse(&self, packet: &[u8]) -> Option<(Side, Range<usize>, bool)> {
        let header = usize::from(packet.first()? & 0xf) * 4;
        let (ip, udp) = (packet.get(..header)?, packet.get(header..header + UDP_HEADER)?);
        let port = u16::from_be_bytes([udp[2], udp[3]]);
        let to = SocketAddr::from((<[u8; 4]>::try_from(ip.get(16..20)?).ok()?, port));
        let side = match to {
            to if to == self.near => Side::Connecting,
            to if to == self.far => Side::Listening,
            _ => return None,
        };
        Some((side, header + UDP_HEADER..packet.len(), ip[6] & DONT_FRAGMENT != 0))
    }
}
