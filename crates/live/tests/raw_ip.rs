//! SCTP right on IP. It needs CAP_NET_RAW, and no SCTP in the kernel: where that is not so, each test says why it does nothing, or fails
//! (`ANABRANCH_TOOLS=required`, as in CI).
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use crate::common::{in_time, skipped};
use anabranch_live::{
    Association, BindError, CloseReason, Endpoint, EndpointConfig, Message, default_association,
};
use anabranch_sctp::Dscp;
use nix::sched::{CloneFlags, unshare};
use socket2::{Domain, Protocol, Socket, Type};
use tokio::sync::Mutex;

/// Processes of a host share IP protocol 132, so the tests of this file run one after the other.
static ALONE: Mutex<()> = Mutex::const_new(());

/// Whether this machine can do it. Where that is allowed the test has a network of its own, so that other processes are not in its way.
fn possible(v6: bool) -> bool {
    if unshare(CloneFlags::CLONE_NEWNET).is_ok() {
        let up = std::process::Command::new("ip").args(["link", "set", "lo", "up"]).status();
        if !up.is_ok_and(|status| status.success()) {
            skipped("`ip link set lo up` (iproute2) does not work in a network of its own");
            return false;
        }
    }
    let domain = if v6 { Domain::IPV6 } else { Domain::IPV4 };
    if let Err(error) = Socket::new(domain, Type::RAW, Some(Protocol::from(132))) {
        skipped(&format!("no raw socket for IP protocol 132 ({error}): run as root, or with CAP_NET_RAW"));
        return false;
    }
    if Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::from(132))).is_ok() {
        skipped("the kernel has SCTP itself, and answers every packet with an ABORT");
        return false;
    }
    if v6 && std::net::UdpSocket::bind("[::1]:0").is_err() {
        skipped("this host has no IPv6");
        return false;
    }
    true
}

fn at(address: &str) -> SocketAddr {
    SocketAddr::new(address.parse::<IpAddr>().unwrap(), 0)
}

fn listening(address: &str, port: u16) -> Endpoint {
    let server = Endpoint::bind(&[at(address)], EndpointConfig::on_port(port).on_raw_ip()).unwrap();
    server.listen().unwrap();
    server
}

fn asking(address: &str) -> Endpoint {
    Endpoint::bind(&[at(address)], EndpointConfig::default().on_raw_ip()).unwrap()
}

async fn pair(client: &Endpoint, server: &Endpoint, to: &str) -> (Association, Association) {
    let (ours, theirs) = tokio::join!(client.connect(at(to), server.port()), async {
        server.accept().await.unwrap().accept().unwrap()
    });
    (ours.unwrap(), theirs)
}

async fn transfer(ours: &Association, theirs: &Association) {
    let reading = theirs.clone();
    let reader = tokio::spawn(async move {
        let mut got = Vec::new();
        while let Some(message) = reading.recv().await.unwrap() {
            got.push(u32::from_be_bytes(message.into_bytes()[..4].try_into().unwrap()));
        }
        got
    });
    for number in 0..500u32 {
        ours.send(number.to_be_bytes().repeat(1000)).await.unwrap();
    }
    ours.shutdown().await.unwrap();
    assert!(reader.await.unwrap().into_iter().eq(0..500));
    assert_eq!(theirs.closed().await, CloseReason::Graceful);
}

#[tokio::test]
async fn ipv4_carries_messages_and_the_end() {
    if !possible(false) {
        return;
    }
    let _alone = ALONE.lock().await;
    in_time(async {
        let (server, client) = (listening("127.0.40.2", 40_100), asking("127.0.40.3"));
        let (ours, theirs) = pair(&client, &server, "127.0.40.2").await;
        assert_eq!(ours.remote(), Some(at("127.0.40.2")));
        assert_eq!(theirs.remote(), Some(at("127.0.40.3")));
        // A code point other than 0 leaves as it should.
        let voice = Dscp::new(46).unwrap();
        ours.command(|association, now| association.set_stream_dscp(now, 5, voice)).unwrap().unwrap();
        ours.send(Message::new(5, vec![5; 20_000])).await.unwrap();
        assert_eq!(theirs.recv().await.unwrap().unwrap().len(), 20_000);
        transfer(&ours, &theirs).await;
    })
    .await;
}

#[tokio::test]
async fn ipv6_carries_messages_and_the_end() {
    if !possible(true) {
        return;
    }
    let _alone = ALONE.lock().await;
    in_time(async {
        let (server, client) = (listening("::1", 40_110), asking("::1"));
        let (ours, theirs) = pair(&client, &server, "::1").await;
        transfer(&ours, &theirs).await;
    })
    .await;
}

#[tokio::test]
async fn answers_leave_from_the_address_that_was_asked() {
    if !possible(false) {
        return;
    }
    let _alone = ALONE.lock().await;
    in_time(async {
        let (server, client) = (listening("0.0.0.0", 40_120), asking("127.0.41.3"));
        let (ours, theirs) = pair(&client, &server, "127.0.41.9").await;
        assert_eq!(ours.remote(), Some(at("127.0.41.9")));
        transfer(&ours, &theirs).await;
    })
    .await;
}

#[tokio::test]
async fn endpoints_of_one_host_share_the_protocol_and_each_port_has_one() {
    if !possible(false) {
        return;
    }
    let _alone = ALONE.lock().await;
    in_time(async {
        let (first, second) = (listening("127.0.42.2", 40_130), listening("127.0.42.2", 40_131));
        let client = asking("127.0.42.3");
        let (a, b) = (pair(&client, &first, "127.0.42.2").await, pair(&client, &second, "127.0.42.2").await);
        transfer(&a.0, &a.1).await;
        // Only the owner of a port has seen its packets.
        transfer(&b.0, &b.1).await;
        for endpoint in [&first, &second, &client] {
            let stats = endpoint.stats();
            assert_eq!((stats.out_of_the_blue, stats.bad_tag), (0, 0), "{stats:?}");
        }
        let config = EndpointConfig::on_port(40_130).on_raw_ip();
        let taken = Endpoint::bind(&[at("127.0.42.2")], config.clone()).unwrap_err();
        assert!(matches!(taken, BindError::Port { port: 40_130, .. }), "{taken}");
        // Another address of the host is another matter.
        let other = Endpoint::bind(&[at("127.0.42.4")], config).unwrap();
        drop(other);
    })
    .await;
}

#[tokio::test]
async fn a_port_that_nobody_has_is_answered_by_one_endpoint_and_only_once() {
    if !possible(false) {
        return;
    }
    let _alone = ALONE.lock().await;
    in_time(async {
        let (first, second) = (listening("127.0.43.2", 40_140), listening("127.0.43.2", 40_141));
        let client = asking("127.0.43.3");
        // One INIT, and however long the answer takes, no second.
        let once = default_association().with(|c| {
            c.timers.rto_initial = anabranch_sctp::Duration::from_secs(50);
            c.timers.rto_max = anabranch_sctp::Duration::from_secs(50);
        });
        let asked = client.connect_with(at("127.0.43.2"), 40_149, std::sync::Arc::new(once));
        let refused = asked.await.unwrap_err();
        assert!(refused.to_string().contains("the peer aborted the association"), "{refused}");
        let answers = |endpoint: &Endpoint| endpoint.stats().stateless_replies;
        assert_eq!((answers(&first), answers(&second)), (1, 0));
        // When it goes the other takes over.
        first.close(Duration::from_secs(5)).await;
        drop(first);
        let config = default_association().with(|c| {
            c.timers.rto_initial = anabranch_sctp::Duration::from_millis(300);
            c.timers.rto_max = anabranch_sctp::Duration::from_millis(300);
        });
        let patient = std::sync::Arc::new(config);
        // Its driver looks when it runs: a peer of its own wakes it.
        let (ours, _theirs) = pair(&client, &second, "127.0.43.2").await;
        while answers(&second) == 0 {
            ours.send("tick").await.unwrap();
            let attempt = client.connect_with(at("127.0.43.2"), 40_149, patient.clone());
            let _ = tokio::time::timeout(Duration::from_millis(500), attempt).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_host_without_sctp_is_known_at_once() {
    if !possible(false) {
        return;
    }
    let _alone = ALONE.lock().await;
    in_time(async {
        // No raw socket takes packets for that address: the kernel answers with ICMP "Protocol Unreachable" (RFC 9260, 10, ICMP8).
        let client = asking("127.0.44.3");
        let refused = client.connect(at("127.0.44.9"), 40_150).await.unwrap_err();
        assert!(refused.to_string().contains("has no SCTP"), "{refused}");
    })
    .await;
}

#[test]
fn several_shards_are_refused() {
    let config = EndpointConfig { shards: 2, ..EndpointConfig::default() }.on_raw_ip();
    assert!(matches!(Endpoint::bind(&[at("127.0.0.1")], config).unwrap_err(), BindError::RawShards));
}
