//! The protocol without I/O: packets and the time go in, packets, events and the time to wake go out. Here the network is a
//! queue in memory with a delay of 10 ms; nothing waits, so two seconds of protocol take no time.
//!
//! ```text
//! 0.030 s: b has: hello
//! 0.040 s: a: Established: 2048 streams out, 2048 in
//! 4 packets
//! ```
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;

use anabranch::{Config, Duration, Endpoint, EndpointConfig, Event, Instant, Message, Meta, SecretRng};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let addresses: [SocketAddr; 2] = ["192.0.2.1:9899".parse()?, "192.0.2.2:9899".parse()?];
    let new = |side: usize| {
        // On a network the seed comes from the operating system.
        Endpoint::new(EndpointConfig::new(addresses[side], 5000), SecretRng::from_seed([side as u8; 32]))
    };
    let mut ends = [new(0), new(1)];
    let config = Arc::new(Config::for_networks());
    ends[1].listen(Arc::clone(&config))?;
    let mut now = Instant::ZERO;
    let a = ends[0].connect(now, addresses[1], 5000, config)?;
    ends[0].association(a).ok_or("just opened")?.send(now, Message::new(0, "hello"))?;

    let mut network: VecDeque<(Instant, usize, Meta, Vec<u8>)> = VecDeque::new();
    let mut packets = 0;
    while now < Instant::from_nanos(2_000_000_000) {
        for (side, source) in addresses.into_iter().enumerate() {
            let mut packet = Vec::new();
            while let Some(transmit) = ends[side].poll_transmit(now, 1, &mut packet) {
                let meta = Meta {
                    source,
                    destination: transmit.destination,
                    dscp: transmit.dscp,
                    ecn: transmit.ecn,
                };
                network.push_back((
                    now + Duration::from_millis(10),
                    1 - side,
                    meta,
                    std::mem::take(&mut packet),
                ));
                packets += 1;
            }
            while let Some((id, event)) = ends[side].poll_event() {
                match event {
                    Event::Readable { .. } => {
                        let message = ends[side].association(id).and_then(|mut side| side.receive());
                        let text = message.map(anabranch::Received::into_bytes).unwrap_or_default();
                        println!("{:.3} s: b has: {}", now.as_secs_f64(), String::from_utf8_lossy(&text));
                    }
                    event if side == 0 => println!("{:.3} s: a: {event}", now.as_secs_f64()),
                    _ => {}
                }
            }
        }
        // The next thing that happens is a packet or a timer.
        let timers = ends.iter_mut().filter_map(Endpoint::poll_timeout).map(|(at, _)| at);
        let Some(next) = timers.chain(network.front().map(|(at, ..)| *at)).min() else { break };
        now = next.max(now);
        while network.front().is_some_and(|(at, ..)| *at <= now) {
            let Some((_, to, meta, packet)) = network.pop_front() else { break };
            ends[to].handle_datagram(now, meta, &packet);
        }
        ends.iter_mut().for_each(|end| end.handle_timeout(now));
    }
    println!("{packets} packets");
    Ok(())
}
