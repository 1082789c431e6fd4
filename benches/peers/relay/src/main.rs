//! A relay of UDP datagrams between a driver that connects and one that listens: loses, damages, delays and holds back, seeded, and
//! writes a pcapng of every packet that reached it, with a comment on each that it did not plainly pass on. It ends when its
//! standard input does.

mod capture;
mod faults;
mod raw;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{ErrorKind, Read as _};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Parser;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use serde::Serialize;

use capture::{Capture, Side};
use faults::{Fate, Faults};
use raw::Raw;

/// The addresses of the relay, and its faults.
#[derive(Debug, Parser)]
struct Arguments {
    /// Where the connecting side sends to.
    #[arg(long)]
    near: SocketAddr,
    /// Where the listening side is answered from and sends to.
    #[arg(long)]
    far: SocketAddr,
    /// The connecting side.
    #[arg(long)]
    from: SocketAddr,
    /// The listening side.
    #[arg(long)]
    to: SocketAddr,
    /// The capture.
    #[arg(long)]
    pcapng: Option<PathBuf>,
    /// After so many packets of the connecting side they come from another UDP port, as behind a NAT that has forgotten.
    #[arg(long)]
    rebind: Option<u64>,
    #[command(flatten)]
    faults: Faults,
}

/// The counts of passed packets, printed at the end.
#[derive(Debug, Default, Serialize)]
struct Passed {
    packets: u64,
    bytes: u64,
    dropped: u64,
    corrupted: u64,
    duplicated: u64,
    too_long: u64,
    held_back: u64,
    fragmented: u64,
    /// The number of the packet behind which the connecting side has another port; 0: it has not.
    rebound: u64,
    largest: usize,
}

/// A packet that waits for its time.
type Waiting = Reverse<(Instant, u64, Side, Vec<u8>)>;

struct Relay {
    arguments: Arguments,
    near: UdpSocket,
    far: UdpSocket,
    /// Where the DF bit counts: the socket that receives packets with the header of IP.
    raw: Option<Raw>,
    capture: Option<Capture>,
    waiting: BinaryHeap<Waiting>,
    /// Tells apart packets of the same time.
    count: u64,
    passed: Passed,
    from_near: u64,
}

fn open(address: SocketAddr) -> std::io::Result<UdpSocket> {
    use nix::sys::socket::{setsockopt, sockopt};
    let socket = UdpSocket::bind(address)?;
    socket.set_nonblocking(true)?;
    // As much as the system allows.
    let _less = setsockopt(&socket, sockopt::RcvBuf, &(4 << 20));
    let _less = setsockopt(&socket, sockopt::SndBuf, &(4 << 20));
    Ok(socket)
}

impl Relay {
    fn new(arguments: Arguments, raw: Option<Raw>) -> std::io::Result<Self> {
        let capture = arguments.pcapng.as_deref().map(Capture::create).transpose()?;
        Ok(Self {
            near: open(arguments.near)?,
            far: open(arguments.far)?,
            raw,
            capture,
            waiting: BinaryHeap::new(),
            count: 0,
            passed: Passed::default(),
            from_near: 0,
            arguments,
        })
    }

    /// Takes a packet from one side. False when there was none.
    fn take(&mut self, now: Instant, side: Side, room: &mut [u8]) -> bool {
        let socket = if side == Side::Connecting { &self.near } else { &self.far };
        match socket.recv_from(room) {
            // With a raw socket it has come there as well.
            Ok(_) if self.raw.is_some() => true,
            Ok((len, _)) => {
                self.judge(now, side, &room[..len], true);
                true
            }
            Err(error) => error.kind() != ErrorKind::WouldBlock,
        }
    }

    /// Takes a packet from the raw socket. False when there was none.
    fn take_raw(&mut self, now: Instant, room: &mut [u8]) -> bool {
        let Some(raw) = &self.raw else { return false };
        match raw.receive(room) {
            Ok(Some((side, at, whole))) => {
                self.judge(now, side, &room[at], whole);
                true
            }
            Ok(None) => true,
            Err(error) => error.kind() != ErrorKind::WouldBlock,
        }
    }

    fn judge(&mut self, now: Instant, side: Side, packet: &[u8], whole: bool) {
        self.passed.packets += 1;
        self.passed.bytes += packet.len() as u64;
        self.passed.largest = self.passed.largest.max(packet.len());
        let fate = self.arguments.faults.judge(now, packet, whole);
        if let Some(capture) = &mut self.capture {
            capture.packet(side, packet, fate.comment());
        }
        if side == Side::Connecting {
            self.from_near += 1;
            if self.arguments.rebind == Some(self.from_near) {
                self.rebind();
            }
        }
        match fate {
            Fate::HoldBack(delay) => {
                self.passed.held_back += 1;
                self.wait(now + delay, side, packet.to_vec());
            }
            Fate::Fragment(delay) => {
                self.passed.fragmented += 1;
                self.wait(now + delay, side, packet.to_vec());
            }
            Fate::Pass(delay) => self.wait(now + delay, side, packet.to_vec()),
            Fate::Corrupt(delay, bit) => {
                self.passed.corrupted += 1;
                let mut damaged = packet.to_vec();
                if let Some(byte) = damaged.get_mut(bit / 8) {
                    *byte ^= 1 << (bit % 8);
                }
                self.wait(now + delay, side, damaged);
            }
            Fate::Twice(delay) => {
                self.passed.duplicated += 1;
                self.wait(now + delay, side, packet.to_vec());
                self.wait(now + delay, side, packet.to_vec());
            }
            Fate::TooLong => self.passed.too_long += 1,
            Fate::Drop(_) => self.passed.dropped += 1,
        }
    }

    fn wait(&mut self, until: Instant, side: Side, packet: Vec<u8>) {
        self.count += 1;
        self.waiting.push(Reverse((until, self.count, side, packet)));
    }

    fn rebind(&mut self) {
        match open(SocketAddr::new(self.arguments.far.ip(), 0)) {
            Ok(socket) => {
                self.far = socket;
                self.passed.rebound = self.passed.packets;
            }
            Err(error) => eprintln!("no other port: {error}"),
        }
    }

    /// Sends the packets that are due.
    fn pass(&mut self, now: Instant) {
        while self.waiting.peek().is_some_and(|Reverse((due, ..))| *due <= now) {
            let Some(Reverse((_, _, side, packet))) = self.waiting.pop() else { break };
            let (socket, to) = match side {
                Side::Connecting => (&self.far, self.arguments.to),
                Side::Listening => (&self.near, self.arguments.from),
            };
            // No process at the port, or a full buffer: lost, as in a network.
            let _lost = socket.send_to(&packet, to).is_err();
        }
    }

    fn run(&mut self) -> std::io::Result<()> {
        println!("{{\"ready\":true}}");
        let mut room = vec![0; 65536];
        let stdin = std::io::stdin();
        loop {
            let now = Instant::now();
            let mut moved = false;
            for _ in 0..64 {
                let one = self.take(now, Side::Connecting, &mut room);
                let other = self.take(now, Side::Listening, &mut room);
                let third = self.take_raw(now, &mut room);
                if !(one || other || third) {
                    break;
                }
                moved = true;
            }
            self.pass(now);
            if moved {
                continue;
            }
            let wait = match self.waiting.peek() {
                Some(Reverse((due, ..))) => due.saturating_duration_since(now),
                None => Duration::from_secs(1),
            };
            let millis = u16::try_from(wait.as_micros().div_ceil(1000)).unwrap_or(u16::MAX);
            let mut fds = [
                PollFd::new(self.near.as_fd(), PollFlags::POLLIN),
                PollFd::new(self.far.as_fd(), PollFlags::POLLIN),
                PollFd::new(stdin.as_fd(), PollFlags::POLLIN),
            ];
            // Interrupted: the loop goes round once more.
            let _ready = poll(&mut fds, PollTimeout::from(millis));
            let spoken = fds[2].revents().is_some_and(|events| !events.is_empty());
            if spoken && stdin.lock().read(&mut [0; 64])? == 0 {
                break;
            }
        }
        if let Some(capture) = &mut self.capture {
            capture.finish()?;
        }
        println!("{}", serde_json::to_string(&self.passed).unwrap_or_default());
        Ok(())
    }
}

fn main() -> std::io::Result<()> {
    let arguments = Arguments::parse();
    let raw = if arguments.faults.fragments { Some(Raw::open(arguments.near, arguments.far)) } else { None };
    if raw.as_ref().is_some_and(|raw| raw.as_ref().is_err_and(|e| e.kind() == ErrorKind::PermissionDenied)) {
        println!("{{\"cannot\":\"the relay sees the DF bit by a raw socket, and that needs root\"}}");
        return Ok(());
    }
    Relay::new(arguments, raw.transpose()?)?.run()
}
