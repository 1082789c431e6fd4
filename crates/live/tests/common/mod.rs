//! Endpoints on the loopback, and a relay between them that loses packets and looks at them.
#![allow(dead_code, unreachable_pub, reason = "each test takes what it needs")]

pub mod talk;

use std::future::Future;
use std::io::IoSliceMut;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use anabranch_live::{Association, Config, Endpoint, EndpointConfig, default_association};
use nix::sys::socket::sockopt::IpRecvTos;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, setsockopt};

pub const PORT: u16 = 5000;

/// Says why a test does nothing here. Where all is to be there, as in CI (`ANABRANCH_TOOLS=required`), it fails instead.
#[allow(clippy::print_stderr, reason = "why a test does nothing is to be seen")]
pub fn skipped(why: &str) {
    let required = std::env::var("ANABRANCH_TOOLS").is_ok_and(|word| word == "required");
    assert!(!required, "{why}, and ANABRANCH_TOOLS=required");
    eprintln!("skipped: {why}");
}

pub fn local() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

/// Fails when nothing happens any more; that is no matter of speed.
pub async fn in_time<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), what).await.expect("nothing happens any more")
}

pub fn server_with(config: Config) -> (Endpoint, SocketAddr) {
    let server = Endpoint::bind(&[local()], EndpointConfig::on_port(PORT).with_association(config)).unwrap();
    server.listen().unwrap();
    let at = server.local_addresses()[0];
    (server, at)
}

pub fn server() -> (Endpoint, SocketAddr) {
    server_with(default_association())
}

pub fn client() -> Endpoint {
    Endpoint::bind(&[local()], EndpointConfig::default()).unwrap()
}

/// Timers short enough for a test to wait for them. A peer that is late for seconds, as on a busy machine, is waited for.
pub fn impatient() -> Config {
    default_association().with(|c| {
        c.timers.rto_initial = anabranch_sctp::Duration::from_millis(100);
        c.timers.rto_min = anabranch_sctp::Duration::from_millis(100);
        c.timers.rto_max = anabranch_sctp::Duration::from_millis(400);
        c.limits.association_max_retrans = 40;
        c.limits.path_max_retrans = 40;
        c.limits.max_init_retransmits = 40;
    })
}

/// The same, for tests that wait until a peer is given up: after one to two seconds.
pub fn soon_gives_up() -> Config {
    impatient().with(|c| {
        c.limits.association_max_retrans = 4;
        c.limits.path_max_retrans = 4;
        c.limits.max_init_retransmits = 3;
    })
}

/// An association between two endpoints, as each has it.
pub async fn pair(client: &Endpoint, server: &Endpoint, at: SocketAddr) -> (Association, Association) {
    let (ours, theirs) =
        tokio::join!(client.connect(at, PORT), async { server.accept().await.unwrap().accept().unwrap() });
    (ours.unwrap(), theirs)
}

/// Passes packets on between the first client and a server, unless it is cut.
pub struct Relay {
    pub at: SocketAddr,
    pub cut: Arc<AtomicBool>,
    /// The upper six bits of the TOS octet of each packet of more than 1,000 bytes from the client.
    pub marks: Arc<Mutex<Vec<u8>>>,
    /// Percentage of packets that are lost, drawn with a fixed seed.
    pub lost_percent: Arc<AtomicUsize>,
    /// Of 100 packets so many come twice, and so many behind the next one.
    pub twice_percent: Arc<AtomicUsize>,
    pub late_percent: Arc<AtomicUsize>,
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Relay {
    pub fn to(server: SocketAddr) -> Self {
        let front = UdpSocket::bind(local()).unwrap();
        let back = UdpSocket::bind(local()).unwrap();
        // The relay sees only packets from the server on this side.
        back.connect(server).unwrap();
        setsockopt(&front, IpRecvTos, &true).unwrap();
        for socket in [&front, &back] {
            socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        }
        let at = front.local_addr().unwrap();
        let cut = Arc::new(AtomicBool::new(false));
        let over = Arc::new(AtomicBool::new(false));
        let marks = Arc::new(Mutex::new(Vec::new()));
        let [lost_percent, twice_percent, late_percent] = [(); 3].map(|()| Arc::new(AtomicUsize::new(0)));
        let faults = || Faults {
            lost: lost_percent.clone(),
            twice: twice_percent.clone(),
            late: late_percent.clone(),
            ..Faults::default()
        };
        let client: Arc<Mutex<Option<SocketAddr>>> = Arc::default();
        let mut threads = Vec::new();
        {
            let (front, back) = (front.try_clone().unwrap(), back.try_clone().unwrap());
            let (cut, over, marks, client) = (cut.clone(), over.clone(), marks.clone(), client.clone());
            let mut faults = faults();
            threads.push(std::thread::spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    let mut packet = [0; 2048];
                    let Some((len, from, mark)) = receive(&front, &mut packet) else { continue };
                    *client.lock().unwrap() = Some(from);
                    if len > 1000 {
                        marks.lock().unwrap().push(mark);
                    }
                    if !cut.load(Ordering::Relaxed) {
                        faults.pass(&packet[..len], |packet| drop(back.send(packet)));
                    }
                }
            }));
        }
        {
            let (cut, over, mut faults) = (cut.clone(), over.clone(), faults());
            threads.push(std::thread::spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    let mut packet = [0; 2048];
                    let Ok(len) = back.recv(&mut packet) else { continue };
                    let to = *client.lock().unwrap();
                    if !cut.load(Ordering::Relaxed) {
                        faults.pass(&packet[..len], |packet| drop(front.send_to(packet, to.unwrap())));
                    }
                }
            }));
        }
        Self { at, cut, marks, lost_percent, twice_percent, late_percent, over, threads }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Faults of the relay; the same for every run.
#[derive(Default)]
struct Faults {
    lost: Arc<AtomicUsize>,
    twice: Arc<AtomicUsize>,
    late: Arc<AtomicUsize>,
    lottery: Lottery,
    /// Waits for the next one.
    held: Option<Vec<u8>>,
}

impl Faults {
    fn pass(&mut self, packet: &[u8], send: impl Fn(&[u8])) {
        if self.lottery.hits(&self.lost) {
            return;
        }
        if self.late.load(Ordering::Relaxed) > 0 && self.held.is_none() && self.lottery.hits(&self.late) {
            self.held = Some(packet.to_vec());
            return;
        }
        send(packet);
        if self.twice.load(Ordering::Relaxed) > 0 && self.lottery.hits(&self.twice) {
            send(packet);
        }
        if let Some(held) = self.held.take() {
            send(&held);
        }
    }
}

#[derive(Default)]
struct Lottery(u32);

impl Lottery {
    fn hits(&mut self, percent: &AtomicUsize) -> bool {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.0 >> 16) as usize % 100 < percent.load(Ordering::Relaxed)
    }
}

fn receive(socket: &UdpSocket, packet: &mut [u8]) -> Option<(usize, SocketAddr, u8)> {
    let mut control = nix::cmsg_space!(u8, [u8; 64]);
    let mut iov = [IoSliceMut::new(packet)];
    let got = recvmsg::<SockaddrStorage>(socket.as_raw_fd(), &mut iov, Some(&mut control), MsgFlags::empty())
        .ok()?;
    let from =
        got.address.as_ref().and_then(SockaddrStorage::as_sockaddr_in).map(|v4| SocketAddr::V4((*v4).into()));
    let tos = got.cmsgs().ok()?.find_map(|message| match message {
        ControlMessageOwned::Ipv4Tos(tos) => Some(tos),
        _ => None,
    });
    Some((got.bytes, from?, tos.unwrap_or(0) >> 2))
}

/// Reads messages to the end of an association: the number with which each begins.
pub fn numbers(association: Association) -> tokio::task::JoinHandle<Vec<u32>> {
    tokio::spawn(async move {
        let mut got = Vec::new();
        while let Some(message) = association.recv().await.unwrap() {
            got.push(u32::from_be_bytes(message.into_bytes()[..4].try_into().unwrap()));
        }
        got
    })
}
