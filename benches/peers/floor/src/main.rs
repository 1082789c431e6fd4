//! The floor: a bare UDP sender and a bare receiver on loopback, packets of one size, CRC32c over each, with GSO and GRO or one
//! packet a call. It measures their CPU time for each byte; no stack over UDP can cost less in the same way.

use std::io::{ErrorKind, IoSlice, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use clap::{Parser, ValueEnum};
use crc_fast::{CrcAlgorithm, checksum};
use nix::sys::socket::{ControlMessage, MsgFlags, SockaddrStorage, recvmsg, sendmsg, setsockopt, sockopt};
use peer::report;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Role {
    Send,
    Receive,
}

/// One end.
#[derive(Debug, Parser)]
struct Arguments {
    #[arg(value_enum)]
    role: Role,
    #[arg(long)]
    local: SocketAddr,
    #[arg(long)]
    remote: SocketAddr,
    /// Bytes of a packet.
    #[arg(long, default_value_t = 1228)]
    packet: usize,
    /// Packets in one call: 1 is without GSO and GRO.
    #[arg(long, default_value_t = 40)]
    batch: usize,
    /// Seconds that the sender sends.
    #[arg(long, default_value_t = 1.0)]
    seconds: f64,
}

fn main() -> std::io::Result<()> {
    let arguments = Arguments::parse();
    let socket = UdpSocket::bind(arguments.local)?;
    // As much as the system allows.
    let _less = setsockopt(&socket, sockopt::RcvBuf, &(4 << 20));
    let _less = setsockopt(&socket, sockopt::SndBuf, &(4 << 20));
    println!("{{\"ready\":true}}");
    let began = report::usage().0;
    let bytes = match arguments.role {
        Role::Send => send(&socket, &arguments)?,
        Role::Receive => receive(&socket, &arguments)?,
    };
    let cpu_ns = report::usage().0 - began;
    println!("{}", serde_json::json!({ "stack": "floor", "bytes": bytes, "cpu_ns": cpu_ns }));
    Ok(())
}

fn send(socket: &UdpSocket, arguments: &Arguments) -> std::io::Result<u64> {
    let mut packets = vec![0x5a_u8; arguments.packet * arguments.batch];
    let (fd, to) = (socket.as_raw_fd(), SockaddrStorage::from(arguments.remote));
    let until = Instant::now() + Duration::from_secs_f64(arguments.seconds);
    let segment = arguments.packet as u16;
    let gso = [ControlMessage::UdpGsoSegments(&segment)];
    let control = if arguments.batch > 1 { &gso[..] } else { &[] };
    let mut bytes = 0;
    while Instant::now() < until {
        for packet in packets.chunks_mut(arguments.packet) {
            let sum = checksum(CrcAlgorithm::Crc32Iscsi, &packet[4..]) as u32;
            packet[..4].copy_from_slice(&sum.to_le_bytes());
        }
        match sendmsg(fd, &[IoSlice::new(&packets)], control, MsgFlags::empty(), Some(&to)) {
            Ok(sent) => bytes += sent as u64,
            // The queue is full: the receiver has a moment.
            Err(nix::Error::ENOBUFS | nix::Error::EAGAIN | nix::Error::ECONNREFUSED) => {
                std::thread::yield_now()
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(bytes)
}

/// Takes packets until none has come for half a second.
fn receive(socket: &UdpSocket, arguments: &Arguments) -> std::io::Result<u64> {
    if arguments.batch > 1 {
        setsockopt(socket, sockopt::UdpGroSegment, &true)?;
    }
    socket.set_read_timeout(Some(Duration::from_secs(5)))?;
    let mut room = vec![0; 65536];
    let (mut bytes, mut sum, fd) = (0, 0_u64, socket.as_raw_fd());
    let mut control = nix::cmsg_space!(i32);
    loop {
        let got = {
            let mut slices = [IoSliceMut::new(&mut room)];
            recvmsg::<SockaddrStorage>(fd, &mut slices, Some(&mut control), MsgFlags::empty())
                .map(|got| got.bytes)
        };
        match got.map_err(std::io::Error::from) {
            Ok(len) => {
                if bytes == 0 {
                    socket.set_read_timeout(Some(Duration::from_millis(500)))?;
                }
                bytes += len as u64;
                for packet in room[..len].chunks(arguments.packet) {
                    sum ^= checksum(CrcAlgorithm::Crc32Iscsi, packet);
                }
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => break,
            Err(error) => return Err(error),
        }
    }
    // The compiler must not leave out the checksums.
    std::hint::black_box(sum);
    Ok(bytes)
}
