//! A fixed number of short lives, for instruction counts and counts of allocations: `life [lives]`. Each is a handshake that the user of the
//! other end allows, and a shutdown; then both ends forget it.
#![forbid(unsafe_code)]

use std::net::SocketAddr;
use std::sync::Arc;

use anabranch_base::{Dscp, Duration, Ecn, Instant, Meta, Rng};
use anabranch_sctp::{
    AcceptConfig, AssociationId, CloseReason, Config, Endpoint, EndpointConfig, EndpointEvent, Event,
};

const CLIENT: ([u8; 4], u16) = ([10, 0, 0, 1], 9899);
const SERVER: ([u8; 4], u16) = ([10, 0, 0, 2], 9899);

/// One end, with its address and its associations.
struct End {
    endpoint: Endpoint,
    at: SocketAddr,
    up: Vec<AssociationId>,
    /// Ended associations, whose last packet may be still to leave.
    over: Vec<AssociationId>,
    ended: u64,
}

impl End {
    fn new(at: SocketAddr, name: &str) -> Self {
        let accept = AcceptConfig { ask: true, ..AcceptConfig::default() };
        let config = EndpointConfig { accept, ..EndpointConfig::new(at, 5000).keeping_closed() };
        let endpoint = Endpoint::new(config, Rng::stream(1, name, "life").secret());
        Self { endpoint, at, up: Vec::new(), over: Vec::new(), ended: 0 }
    }

    /// Hands packets to the other end. False when there was none.
    fn send(&mut self, now: Instant, other: &mut Self, buf: &mut Vec<u8>) -> bool {
        let meta = Meta { source: self.at, destination: other.at, dscp: Dscp::DEFAULT, ecn: Ecn::NotEct };
        let mut sent = false;
        while self.endpoint.poll_transmit(now, 1, buf).is_some() {
            other.endpoint.handle_datagram(now, meta, buf);
            buf.clear();
            sent = true;
        }
        sent
    }

    /// Takes the events, and accepts requests for associations.
    fn hear(&mut self, now: Instant, config: &Arc<Config>) {
        while let Some(event) = self.endpoint.poll_endpoint_event() {
            if let EndpointEvent::Incoming(asks) = event {
                self.endpoint.accept(now, asks.id, Arc::clone(config)).expect("it still waits");
            }
        }
        while let Some((id, event)) = self.endpoint.poll_event() {
            match event {
                Event::Established { .. } => self.up.push(id),
                Event::Closed(CloseReason::Graceful) => {
                    self.ended += 1;
                    self.over.push(id);
                }
                _ => {}
            }
        }
        self.over.retain(|id| !self.endpoint.release(*id));
        // As a driver does before it sleeps.
        let _next = self.endpoint.poll_timeout();
    }
}

fn main() {
    let lives: u64 = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(1000);
    let config = Arc::new(Config::for_networks());
    let (mut client, mut server) = (End::new(CLIENT.into(), "client"), End::new(SERVER.into(), "server"));
    server.endpoint.listen(Arc::clone(&config)).expect("level 0");
    let mut buf = Vec::with_capacity(1 << 16);
    let mut now = Instant::ZERO;
    for _ in 0..lives {
        now += Duration::from_micros(200);
        client.endpoint.connect(now, server.at, 5000, Arc::clone(&config)).expect("there is room");
        loop {
            let mut moved = client.send(now, &mut server, &mut buf);
            server.hear(now, &config);
            moved |= server.send(now, &mut client, &mut buf);
            client.hear(now, &config);
            if let Some(mut association) = client.up.pop().and_then(|id| client.endpoint.association(id)) {
                association.shutdown(now);
                moved = true;
            }
            if !moved {
                break;
            }
        }
    }
    #[allow(clippy::print_stdout, reason = "the result of a command-line program")]
    {
        println!("{} and {} lives have ended in order", client.ended, server.ended);
    }
}
