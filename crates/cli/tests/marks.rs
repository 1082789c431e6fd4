//! `--dscp`: code points of streams, as they are on the wire of the loopback.
#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader, IoSliceMut, Read, Write};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use nix::sys::socket::sockopt::IpRecvTos;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrIn, recvmsg, setsockopt};

fn socket() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.set_read_timeout(Some(Duration::from_millis(20))).expect("a timeout");
    setsockopt(&socket, IpRecvTos, &true).expect("code points");
    socket
}

/// A packet, whence it came and its code point.
fn receive(socket: &UdpSocket, packet: &mut [u8]) -> Option<(usize, SocketAddr, u8)> {
    let mut parts = [IoSliceMut::new(packet)];
    let mut control = nix::cmsg_space!(u8, u32);
    let got =
        recvmsg::<SockaddrIn>(socket.as_raw_fd(), &mut parts, Some(&mut control), MsgFlags::empty()).ok()?;
    let from = got.address?;
    let mark = got.cmsgs().ok()?.find_map(|message| match message {
        ControlMessageOwned::Ipv4Tos(octet) => Some(octet >> 2),
        _ => None,
    });
    Some((got.bytes, SocketAddr::from((from.ip(), from.port())), mark?))
}

/// Passes packets from one socket to where the other sends, and returns the code points of large packets.
fn pass(
    from: UdpSocket,
    to: UdpSocket,
    heard: Arc<Mutex<Option<SocketAddr>>>,
    onward: Arc<Mutex<Option<SocketAddr>>>,
    over: Arc<AtomicBool>,
) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut marks = Vec::new();
        let mut packet = [0; 2048];
        while !over.load(Ordering::Relaxed) {
            let Some((len, whence, mark)) = receive(&from, &mut packet) else { continue };
            *heard.lock().expect("no panic") = Some(whence);
            if len > 1000 {
                marks.push(mark);
            }
            let at = *onward.lock().expect("no panic");
            to.send_to(&packet[..len], at.expect("somebody")).expect("it is sent");
        }
        marks
    })
}

/// 20,000 bytes there and back through a relay; the code points of large packets there, and back.
fn echoed(listening: &[&str], connecting: &[&str]) -> [Vec<u8>; 2] {
    let anabranch = |arguments: &[&[&str]]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_anabranch"));
        command.args(arguments.concat()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("it starts")
    };
    // No probes of the path MTU: they are large packets too, and would be counted.
    let plain = ["--set", "mtu_discovery=icmp"];
    let listen = ["listen", "9000", "--bind", "127.0.0.1", "--udp-port", "0", "-v", "--echo", "--count", "1"];
    let mut listener = anabranch(&[&listen, &plain, listening]);
    let mut said = BufReader::new(listener.stderr.take().expect("it is piped"));
    let mut line = String::new();
    said.read_line(&mut line).expect("it says where it is");
    let udp = line.trim().rsplit(':').next().expect("a port");
    let server: SocketAddr = format!("127.0.0.1:{udp}").parse().expect("an address");
    let (front, back, over) = (socket(), socket(), Arc::new(AtomicBool::new(false)));
    let (client, server) = (Arc::default(), Arc::new(Mutex::new(Some(server))));
    let relayed = [(&front, &back, &client, &server), (&back, &front, &server, &client)].map(
        |(from, to, heard, onward)| {
            let copy = |socket: &UdpSocket| socket.try_clone().expect("a copy");
            pass(copy(from), copy(to), Arc::clone(heard), Arc::clone(onward), Arc::clone(&over))
        },
    );
    let udp = front.local_addr().expect("an address").port().to_string();
    let connect = ["connect", "127.0.0.1:9000", "--peer-udp-port", &udp];
    let mut sender = anabranch(&[&connect, &plain, connecting]);
    let mut input = sender.stdin.take().expect("it is piped");
    input.write_all(&[7; 20_000]).expect("it reads");
    // The side that shuts down first does not hear all of its echo.
    let mut echo = [0; 20_000];
    sender.stdout.take().expect("it is piped").read_exact(&mut echo).expect("it comes back");
    drop(input);
    let sent = sender.wait_with_output().expect("it ends");
    assert!(sent.status.success(), "{}", String::from_utf8_lossy(&sent.stderr));
    assert!(listener.wait().expect("it ends").success());
    over.store(true, Ordering::Relaxed);
    relayed.map(|thread| thread.join().expect("no panic"))
}

#[test]
fn streams_of_a_pipe_have_code_points_of_their_own_on_either_side() {
    let [there, back] = echoed(&["--dscp", "3=10"], &["--stream", "3", "--dscp", "3=46", "--dscp", "1=8"]);
    assert!(there.len() >= 13 && there.iter().all(|mark| *mark == 46), "{there:?}");
    assert!(back.len() >= 13 && back.iter().all(|mark| *mark == 10), "{back:?}");
    // A stream that has none goes as ever.
    let [there, back] = echoed(&["--dscp", "3=10"], &["--dscp", "3=46"]);
    assert!(there.iter().chain(&back).all(|mark| *mark == 0), "{there:?} {back:?}");
}

#[test]
fn a_stream_that_cannot_have_a_code_point_is_told() {
    let wrong = |arguments: &[&str], says: &str| {
        let output =
            Command::new(env!("CARGO_BIN_EXE_anabranch")).args(arguments).output().expect("it starts");
        let said = String::from_utf8(output.stderr).expect("text");
        assert_eq!((output.status.code(), said.contains(says)), (Some(2), true), "{said}");
    };
    wrong(&["listen", "9000", "--dscp", "46"], "write STREAM=DSCP, such as 1=46");
    wrong(&["connect", "127.0.0.1:9000", "--dscp", "1=64"], "a code point is 0 to 63");
}
