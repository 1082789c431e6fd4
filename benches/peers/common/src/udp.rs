//! The loop around a stack and a UDP socket.

use std::io::{ErrorKind, Read as _};
use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::{App, Plan, Role, Stack};

/// Packets read before the stack may answer: "an acknowledgement SHOULD be generated for at least every second packet" (RFC 9260,
/// 6.2). One SACK for all that a socket holds keeps a peer with a limit on its bursts (6.1, Max.Burst) at four packets a round trip.
const BATCH: usize = 2;
/// After the end the last packets of the other side are still answered: for so long at least, and while standard input is open.
const LINGER: Duration = Duration::from_millis(100);

/// Plays the plan with a stack, and prints the report.
///
/// # Panics
/// The socket cannot be had.
pub fn play(name: &str, plan: &Plan, stack: &mut dyn Stack) {
    let socket = UdpSocket::bind(plan.local).expect("the local address is free");
    socket.set_nonblocking(true).expect("a socket can be non-blocking");
    enlarge(&socket);
    println!("{{\"ready\":true}}");
    let mut app = Some(App::new(name, plan.clone()));
    let began = Instant::now();
    if plan.role == Role::Connect {
        stack.open(began);
    }
    let mut done = None;
    let mut packet = vec![0; 65536];
    let mut whole = true;
    loop {
        let now = Instant::now();
        let mut moved = false;
        for _ in 0..BATCH {
            match socket.recv_from(&mut packet) {
                Ok((len, from)) => {
                    moved = true;
                    stack.receive(now, from, &packet[..len]);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                // An ICMP error about an earlier packet.
                Err(_) => {}
            }
        }
        if stack.due().is_some_and(|due| due <= now) {
            moved = true;
            stack.timeout(now);
        }
        if let Some(app) = &mut app {
            moved |= app.work(now, stack);
        }
        stack.transmit(now, &mut |packet| {
            if std::mem::replace(&mut whole, packet.whole) != packet.whole {
                keep_whole(&socket, packet.whole);
            }
            // A full buffer loses the packet, as a network may.
            let _lost = socket.send_to(packet.bytes, packet.to).is_err();
        });
        let late = now.duration_since(began) > plan.patience();
        if let Some(ended) = app.take_if(|app| late || app.is_done()) {
            let in_time = ended.is_done();
            ended.report(!in_time).print();
            done = Some(now);
        }
        if done.is_some_and(|since| late || (now.duration_since(since) > LINGER && input_has_ended())) {
            break;
        }
        if !moved {
            let own = app.as_ref().and_then(App::due).filter(|&due| due > now);
            let due = [stack.due(), own, Some(now + Duration::from_millis(100))];
            let due = due.into_iter().flatten().min().unwrap_or(now);
            wait(&socket, due.saturating_duration_since(now));
        }
    }
}

/// Whether packets leave with the DF bit.
fn keep_whole(socket: &UdpSocket, whole: bool) {
    #[cfg(target_os = "linux")]
    {
        use rustix::net::sockopt::{Ipv4PathMtuDiscovery, set_ip_mtu_discover};
        let how = if whole { Ipv4PathMtuDiscovery::PROBE } else { Ipv4PathMtuDiscovery::DONT };
        set_ip_mtu_discover(socket, how).expect("a socket of IPv4 has the option");
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (socket, whole);
}

/// Whether standard input is at its end: the caller does not wait for this program any more.
fn input_has_ended() -> bool {
    let input = std::io::stdin();
    let mut fds = [PollFd::new(input.as_fd(), PollFlags::POLLIN)];
    let spoken = poll(&mut fds, PollTimeout::ZERO).is_ok_and(|ready| ready > 0);
    spoken && input.lock().read(&mut [0; 64]).is_ok_and(|len| len == 0)
}

/// Waits until a packet is there or the time has passed.
fn wait(socket: &UdpSocket, time: Duration) {
    // Rounded up: a timer is not due before its time.
    let millis = u16::try_from(time.as_micros().div_ceil(1000)).unwrap_or(u16::MAX);
    let mut fds = [PollFd::new(socket.as_fd(), PollFlags::POLLIN)];
    // Interrupted: the loop goes round once more.
    let _ready = poll(&mut fds, PollTimeout::from(millis));
}

/// Bursts of both sides have room; every stack gets the same.
fn enlarge(socket: &UdpSocket) {
    use nix::sys::socket::{setsockopt, sockopt};
    // As much as the system allows.
    let _less = setsockopt(socket, sockopt::RcvBuf, &(4 << 20));
    let _less = setsockopt(socket, sockopt::SndBuf, &(4 << 20));
}
