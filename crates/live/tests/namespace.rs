//! Cases that only a private network shows: a device that refuses packets (ENOBUFS), one that carries smaller ones
//! (EMSGSIZE). Each test runs its second half in a network namespace; that needs root and the programs `unshare`, `ip`
//! and `tc` (Debian: util-linux, iproute2). Where they are missing a test says so and passes; with
//! `ANABRANCH_TOOLS=required`, as in CI, it fails.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::process::Command;

use crate::common::{PORT, impatient, in_time, local, numbers, pair, skipped};
use anabranch_live::{Endpoint, EndpointConfig};

/// Runs the named test of this file in a namespace of its own, after these commands. False where there can be none.
fn in_namespace(test: &str, prepare: &str) -> bool {
    if !Command::new("unshare").args(["--net", "true"]).output().is_ok_and(|done| done.status.success()) {
        skipped("no network namespaces here: run as root, or with CAP_SYS_ADMIN");
        return false;
    }
    let program = std::env::current_exe().unwrap();
    let script = format!("{prepare} && exec \"$0\" --exact --ignored --nocapture namespace::{test}");
    let done = Command::new("unshare").args(["--net", "sh", "-c", &script]).arg(program).output().unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    if said.contains("not found")
        || said.contains("Specified qdisc kind is unknown")
        || said.contains("Not supported")
    {
        skipped(&said);
        return false;
    }
    assert!(done.status.success() && said.contains("1 passed"), "{said}");
    true
}

/// Moves so many messages of 4,000 bytes, each once and in order; returns the counts of the sender and its bytes in a packet.
async fn move_all(messages: u32) -> (anabranch_live::Snapshot, u16) {
    let server =
        Endpoint::bind(&[local()], EndpointConfig::on_port(PORT).with_association(impatient())).unwrap();
    server.listen().unwrap();
    let client = Endpoint::bind(&[local()], EndpointConfig::default().with_association(impatient())).unwrap();
    let (ours, theirs) = pair(&client, &server, server.local_addresses()[0]).await;
    let reading = numbers(theirs);
    for number in 0..messages {
        ours.send(number.to_be_bytes().repeat(1000)).await.unwrap();
    }
    let mtu = ours.snapshot().unwrap().paths[0].mtu;
    // The end may be lost.
    let _ = ours.shutdown().await;
    assert!(reading.await.unwrap().into_iter().eq(0..messages));
    (ours.snapshot().unwrap(), mtu)
}

#[test]
fn a_device_whose_queue_is_full_loses_packets_and_no_data() {
    // A bucket that lets 20 Mbit/s through, and a queue of a few packets behind it: with IP_RECVERR the system says ENOBUFS.
    in_namespace(
        "inside_a_queue_that_is_full",
        "ip link set lo mtu 1500 up && tc qdisc add dev lo root tbf rate 20mbit burst 4k limit 6k",
    );
}

#[tokio::test]
#[ignore = "runs in a namespace"]
async fn inside_a_queue_that_is_full() {
    in_time(async {
        // The system does tell this program of the drop.
        let probe = std::net::UdpSocket::bind(local()).unwrap();
        nix::sys::socket::setsockopt(&probe, nix::sys::socket::sockopt::Ipv4RecvErr, &true).unwrap();
        let to = probe.local_addr().unwrap();
        let refused = (0..200).filter_map(|_| probe.send_to(&[0; 1000], to).err()).next();
        assert_eq!(refused.and_then(|error| error.raw_os_error()), Some(nix::libc::ENOBUFS));
        let (counted, _) = move_all(300).await;
        assert!(counted.stats.retransmissions > 0, "nothing was lost");
    })
    .await;
}

#[test]
fn a_device_that_carries_less_makes_packets_smaller() {
    in_namespace("inside_a_network_that_carries_1000_bytes", "ip link set lo mtu 1000 up");
}

#[tokio::test]
#[ignore = "runs in a namespace"]
async fn inside_a_network_that_carries_1000_bytes() {
    in_time(async {
        let large = std::net::UdpSocket::bind(local()).unwrap();
        rustix::net::sockopt::set_ip_mtu_discover(&large, rustix::net::sockopt::Ipv4PathMtuDiscovery::PROBE)
            .unwrap();
        let error = large.send_to(&[0; 1400], large.local_addr().unwrap()).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(nix::libc::EMSGSIZE));
        let (_, mtu) = move_all(300).await;
        assert!((576..=1000).contains(&mtu), "{mtu}");
    })
    .await;
}
