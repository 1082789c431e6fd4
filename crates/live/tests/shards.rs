//! Several SCTP ports on one socket, and several drivers behind one address.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::collections::BTreeSet;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::Barrier;

use crate::common::{PORT, client, impatient, in_time, local, pair, server};
use anabranch_live::{
    Association, BindError, CloseReason, Config, Endpoint, EndpointConfig, blocking, default_association,
};

fn config() -> Arc<Config> {
    Arc::new(default_association())
}

#[tokio::test]
async fn two_sockets_carry_an_association_for_each_pair_of_ports() {
    in_time(async {
        let (server, at) = server();
        server.open_port(PORT + 1).unwrap();
        let client = client();
        let mut held = Vec::new();
        let mut seen = BTreeSet::new();
        for number in 0..60u16 {
            let asked = client.begin_from(0, at, PORT + number % 2, config()).unwrap();
            let incoming = server.accept().await.unwrap();
            assert_eq!(incoming.request().local_port, PORT + number % 2);
            assert!(incoming.request().port >= 49_152);
            assert!(seen.insert((incoming.request().port, number % 2)));
            held.push((asked, incoming.accept().unwrap()));
        }
        for (number, (ours, theirs)) in held.iter().enumerate() {
            ours.send(format!("{number}").into_bytes()).await.unwrap();
            assert_eq!(theirs.recv().await.unwrap().unwrap().into_bytes(), format!("{number}"));
        }
        assert_eq!((client.associations(), server.associations()), (60, 60));
        let refused = client.connect(at, PORT + 2).await.unwrap_err();
        assert!(refused.to_string().contains("the peer aborted the association"), "{refused}");
    })
    .await;
}

#[tokio::test]
async fn a_port_that_was_chosen_is_not_the_only_one() {
    in_time(async {
        let (server, at) = server();
        // The client has not chosen a port: the second association has another.
        let client = client();
        let (first, _theirs) = pair(&client, &server, at).await;
        let (second, theirs) = pair(&client, &server, at).await;
        second.send("second").await.unwrap();
        assert_eq!(theirs.recv().await.unwrap().unwrap().into_bytes(), "second");
        assert_eq!(client.associations(), 2);
        drop(first);
        // An endpoint that asks for one port gets that, or none.
        let fixed = Endpoint::bind(&[local()], EndpointConfig::on_port(7000)).unwrap();
        let (_ours, _theirs) = pair(&fixed, &server, at).await;
        let refused = fixed.connect(at, PORT).await.unwrap_err();
        assert!(refused.to_string().contains("exists"), "{refused}");
    })
    .await;
}

/// A server on two threads that echoes.
fn sharded(steer: bool, on: SocketAddr) -> (Endpoint, SocketAddr) {
    let config = EndpointConfig { shards: 2, steer, ..EndpointConfig::on_port(PORT) };
    let server = Endpoint::bind(&[on], config.with_association(impatient())).unwrap();
    server.listen().unwrap();
    let at = server.local_addresses()[0];
    (server, at)
}

async fn echo(association: Association) {
    while let Ok(Some(message)) = association.recv().await {
        let _ = association.send(message.into_bytes()).await;
    }
}

/// Associations of `endpoints` clients with two shards, each with an echo of 60 messages.
async fn many(steer: bool, on: SocketAddr, endpoints: usize, each: usize) -> Endpoint {
    let (server, at) = sharded(steer, on);
    let accepting = server.clone();
    let total = endpoints * each;
    let echoes = tokio::spawn(async move {
        let mut running = tokio::task::JoinSet::new();
        for _ in 0..total {
            running.spawn(echo(accepting.accept().await.unwrap().accept().unwrap()));
        }
        running.join_all().await;
    });
    let mut clients = tokio::task::JoinSet::new();
    // Established associations wait for the others: a thread may have done its part before another one has its turn.
    let all_up = Arc::new(Barrier::new(total + 1));
    for number in 0..endpoints {
        let client = Endpoint::bind(&[on], EndpointConfig::default()).unwrap();
        for one in 0..each {
            let (client, all_up) = (client.clone(), Arc::clone(&all_up));
            clients.spawn(async move {
                // An address has one association for each pair of ports (RFC 6951, 5.4), and of 24 ports drawn from 16,384 two are the same in
                // one run of sixty.
                let port = 20_000 + (number * each + one) as u16;
                let association = client.begin_from(port, at, PORT, config()).unwrap();
                association.established().await.unwrap();
                // The barrier is passed once before the associations are counted, and once after.
                all_up.wait().await;
                all_up.wait().await;
                for message in 0..60 {
                    let text = format!("{number} {one} {message} ").repeat(300);
                    association.send(text.clone().into_bytes()).await.unwrap();
                    let back = association.recv().await.unwrap().unwrap().into_bytes();
                    assert!(back == text, "{} bytes for {}", back.len(), text.len());
                }
                association.shutdown().await.unwrap();
            });
        }
    }
    all_up.wait().await;
    let by_shard: Vec<usize> = server.associations_by_shard().collect();
    assert!(by_shard.iter().sum::<usize>() == total && by_shard.iter().all(|n| *n > 0), "{by_shard:?}");
    all_up.wait().await;
    clients.join_all().await;
    echoes.await.unwrap();
    while server.associations() > 0 {
        tokio::task::yield_now().await;
    }
    server
}

#[tokio::test]
async fn associations_are_spread_over_shards_and_nothing_is_lost() {
    // One socket for each association: the kernel finds the right shard alone.
    let server = in_time(many(true, local(), 24, 1)).await;
    assert_eq!(server.passed_on(), 0);
}

#[tokio::test]
async fn the_kernel_finds_the_shard_with_ipv6_too() {
    let on: SocketAddr = "[::1]:0".parse().unwrap();
    if UdpSocket::bind(on).is_err() {
        return; // a host without IPv6
    }
    let server = in_time(many(true, on, 24, 1)).await;
    assert_eq!(server.passed_on(), 0);
}

#[tokio::test]
async fn one_socket_of_the_peer_may_have_associations_in_every_shard() {
    let server = in_time(many(true, local(), 1, 24)).await;
    assert_eq!(server.stats().bad_tag, 0);
}

#[tokio::test]
async fn what_the_kernel_gives_to_the_wrong_shard_is_passed_on() {
    let server = in_time(many(false, local(), 24, 1)).await;
    assert!(server.passed_on() > 100, "{}", server.passed_on());
    assert_eq!(server.stats().bad_tag, 0);
}

/// Passes on the packets of a client from one UDP port, and after `move_on` from another.
struct Nat {
    at: SocketAddr,
    moved: Arc<AtomicBool>,
    over: Arc<AtomicBool>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

impl Nat {
    fn to(server: SocketAddr) -> Self {
        let front = Arc::new(UdpSocket::bind(local()).unwrap());
        let (moved, over) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let backs: Vec<_> = (0..2)
            .map(|_| {
                let back = UdpSocket::bind(local()).unwrap();
                back.connect(server).unwrap();
                Arc::new(back)
            })
            .collect();
        let client: Arc<std::sync::Mutex<Option<SocketAddr>>> = Arc::default();
        for socket in backs.iter().chain([&front]) {
            socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        }
        let at = front.local_addr().unwrap();
        let mut threads = Vec::new();
        for back in &backs {
            let (back, front, over, client) = (back.clone(), front.clone(), over.clone(), client.clone());
            threads.push(std::thread::spawn(move || {
                let mut packet = [0; 2048];
                while !over.load(Ordering::Relaxed) {
                    let Ok(len) = back.recv(&mut packet) else { continue };
                    let to = *client.lock().unwrap();
                    let _ = front.send_to(&packet[..len], to.unwrap());
                }
            }));
        }
        let (m, o) = (moved.clone(), over.clone());
        threads.push(std::thread::spawn(move || {
            let mut packet = [0; 2048];
            while !o.load(Ordering::Relaxed) {
                let Ok((len, from)) = front.recv_from(&mut packet) else { continue };
                *client.lock().unwrap() = Some(from);
                let _ = backs[usize::from(m.load(Ordering::Relaxed))].send(&packet[..len]);
            }
        }));
        Self { at, moved, over, threads }
    }
}

impl Drop for Nat {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

#[tokio::test]
async fn packets_from_another_udp_port_reach_the_shard_of_their_association() {
    in_time(async {
        for steer in [true, false] {
            let (server, at) = sharded(steer, local());
            // Hashed by UDP ports, half of eight would find another shard.
            for _ in 0..8 {
                let nat = Nat::to(at);
                let client =
                    Endpoint::bind(&[local()], EndpointConfig::default().with_association(impatient()))
                        .unwrap();
                let (ours, theirs) = pair(&client, &server, nat.at).await;
                let before = theirs.remote();
                for half in 0..2 {
                    nat.moved.store(half == 1, Ordering::Relaxed);
                    for number in 0..20u8 {
                        ours.send(vec![number; 5000]).await.unwrap();
                        let got = theirs.recv().await.unwrap().unwrap().into_bytes();
                        assert!(got == vec![number; 5000]);
                        theirs.send(got).await.unwrap();
                        assert_eq!(ours.recv().await.unwrap().unwrap().len(), 5000);
                    }
                }
                assert_ne!(theirs.remote(), before, "the peer is at its new port");
                assert_eq!(server.associations(), 1);
                ours.shutdown().await.unwrap();
                assert_eq!(theirs.closed().await, CloseReason::Graceful);
            }
        }
    })
    .await;
}

#[test]
fn shards_need_no_runtime_and_their_threads_end() {
    let three = EndpointConfig { shards: 3, ..EndpointConfig::on_port(PORT) };
    let server = blocking::Endpoint::bind(&[local()], three).unwrap();
    server.listen().unwrap();
    let at = server.local_addresses()[0];
    let client_config = EndpointConfig { shards: 2, ..EndpointConfig::default() };
    let client = blocking::Endpoint::bind(&[local()], client_config).unwrap();
    let mut pairs = Vec::new();
    for _ in 0..12 {
        let ours = client.begin_from(0, at, PORT, config()).unwrap();
        let theirs = server.accept().unwrap().accept().unwrap();
        ours.send("one of twelve").unwrap();
        assert_eq!(theirs.recv().unwrap().unwrap().into_bytes(), "one of twelve");
        pairs.push((ours, theirs));
    }
    client.close(Duration::from_secs(30));
    for (ours, theirs) in &pairs {
        assert_eq!((ours.closed(), theirs.closed()), (CloseReason::Graceful, CloseReason::Graceful));
    }
    assert!(client.accept().is_none());
    // Another process, or socket, does not get in between.
    assert!(UdpSocket::bind(at).is_err());
    let second = blocking::Endpoint::bind(&[at], EndpointConfig { shards: 2, ..EndpointConfig::default() });
    assert!(matches!(second.unwrap_err(), BindError::Socket { .. }));
    // Once its last handle is dropped the address is free again.
    drop((pairs, server));
    let mut tries = 0;
    while UdpSocket::bind(at).is_err() {
        tries += 1;
        assert!(tries < 6000, "the threads live on");
        std::thread::park_timeout(Duration::from_millis(10));
    }
}
