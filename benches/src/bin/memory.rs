//! Memory of idle established associations: sets up `memory [n] [profile] [subflows]` of them (100,000 of `rfc9260` unless told; with
//! a number of subflows at level 1) between one server
//! endpoint and n clients, lets each carry one message, and prints the bytes allocated for each end, and the growth of the
//! resident set.
//!
//! Both ends live in this process, so the growth is divided by 2 n. Each client has an endpoint of its own, as it
//! would on a machine of its own; its size is in the figure. Allocated bytes are the same in every run: a check counts them.
//! The resident set adds the overhead of the allocator.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, reason = "the result of a command-line program")]

use std::alloc::System;
use std::net::SocketAddr;
use std::sync::Arc;

use anabranch_base::{Dscp, Duration, Ecn, Instant, Meta, Rng};
use anabranch_sctp::{Config, Endpoint, EndpointConfig, Message, SubflowLevel, SubflowSpec};
use bytes::Bytes;
use cap::Cap;

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// Resident pages of this process, in bytes (4 KiB pages).
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split(' ').nth(1).and_then(|p| p.parse::<u64>().ok()).unwrap_or(0) * 4096
}

/// A client with an association that has carried a message.
fn client(i: u32, now: Instant, config: &Arc<Config>, server: &mut Endpoint, buf: &mut Vec<u8>) -> Endpoint {
    let server_at = SERVER.into();
    let at: SocketAddr = (std::net::Ipv4Addr::from(0x0a00_0001 + i), 0).into();
    let mut client = Endpoint::new(
        EndpointConfig::new(at, 5000).keeping_closed(),
        Rng::stream(u64::from(i), "client", "memory").secret(),
    );
    let id = client.connect(now, server_at, 5000, Arc::clone(config)).expect("an address of its own");
    let text = b"one message each way costs the memory that use leaves behind";
    client
        .association(id)
        .expect("it was just opened")
        .send(now, Message::new(0, Bytes::from_static(text)))
        .expect("room for a message");
    let to = Meta { source: at, destination: server_at, dscp: Dscp::DEFAULT, ecn: Ecn::NotEct };
    let from = Meta { source: server_at, destination: at, ..to };
    loop {
        let mut moved = false;
        while client.poll_transmit(now, 1, buf).is_some() {
            server.handle_datagram(now, to, buf);
            buf.clear();
            moved = true;
        }
        while let Some((id, _)) = server.poll_event() {
            while server.association(id).is_some_and(|mut association| association.receive().is_some()) {}
        }
        while server.poll_transmit(now, 1, buf).is_some() {
            client.handle_datagram(now, from, buf);
            buf.clear();
            moved = true;
        }
        while client.poll_event().is_some() {}
        if !moved {
            return client;
        }
    }
}

const SERVER: ([u8; 4], u16) = ([10, 255, 255, 1], 0);

fn main() {
    let n: u32 = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(100_000);
    let profile = std::env::args().nth(2).unwrap_or_else(|| "rfc9260".to_owned());
    let subflows: u8 = std::env::args().nth(3).and_then(|a| a.parse().ok()).unwrap_or(0);
    let config = Config::named(&profile).expect("the name of a profile").with(|c| {
        if subflows > 0 {
            c.subflows.level = SubflowLevel::One;
            c.subflows.open = (0..subflows).filter_map(Dscp::new).map(SubflowSpec::new).collect();
        }
    });
    let config = Arc::new(config);
    let mut server = Endpoint::new(
        EndpointConfig::new(SERVER.into(), 5000).keeping_closed(),
        Rng::stream(1, "server", "memory").secret(),
    );
    server.listen(Arc::clone(&config)).expect("level 0");
    let mut clients = Vec::with_capacity(n as usize);
    let mut buf = Vec::with_capacity(1 << 16);
    let (pages, allocated) = (resident(), ALLOCATOR.allocated());
    let mut now = Instant::ZERO;
    for i in 0..n {
        clients.push(client(i, now, &config, &mut server, &mut buf));
        now += Duration::from_micros(1);
    }
    let each = |bytes: u64| bytes as f64 / f64::from(2 * n);
    let (pages, allocated) = (resident() - pages, (ALLOCATOR.allocated() - allocated) as u64);
    println!(
        "{} associations established; {:.0} bytes allocated for each end (goal: at most 4096), {:.0} resident",
        server.associations(),
        each(allocated),
        each(pages)
    );
}
