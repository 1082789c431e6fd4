// Two endpoints with an association between them, for the examples in the documentation. Packets take no time.

use std::net::SocketAddr;
use std::sync::Arc;

pub use anabranch_base::{Duration, Instant};
use anabranch_base::{Meta, Rng};
#[allow(unused_imports, reason = "every example uses its own part")]
pub use anabranch_sctp::{CloseReason, Config, Endpoint, EndpointConfig, Event, Message, Reliability, SendError};
use anabranch_sctp::{AssociationHandle, AssociationId};

#[allow(dead_code, reason = "every example uses its own part")]
pub struct Two {
    pub now: Instant,
    pub ends: [Endpoint; 2],
    pub ids: Vec<AssociationId>,
    /// Events of both ends: 0 has asked for the association, 1 has accepted it.
    pub told: Vec<(usize, Event)>,
}

#[allow(dead_code, reason = "every example uses its own part")]
impl Two {
    pub fn up(config: Config) -> Self {
        Self::with(config, |_| {})
    }

    /// With an endpoint at the other end that is not as others are.
    pub fn with(config: Config, change: impl Fn(&mut EndpointConfig)) -> Self {
        let address = |end: u8| SocketAddr::from(([10, 0, 0, end], 0));
        let end = |end: u8| {
            let rng = Rng::stream(1, if end == 1 { "a" } else { "z" }, "example");
            let mut config = EndpointConfig::new(address(end), 5000);
            if end == 2 {
                change(&mut config);
            }
            Endpoint::new(config, { rng }.secret())
        };
        let mut two = Self { now: Instant::ZERO, ends: [end(1), end(2)], ids: Vec::new(), told: Vec::new() };
        two.ends[1].listen(Arc::new(config.clone())).expect("nothing else listens");
        let id = two.ends[0].connect(two.now, address(2), 5000, Arc::new(config)).expect("a free port");
        two.ids.push(id);
        two.exchange();
        two.told.clear();
        two
    }

    /// The end that sends in the examples.
    pub fn a(&mut self) -> AssociationHandle<'_> {
        self.ends[0].association(self.ids[0]).expect("it lives")
    }

    /// The end that receives.
    pub fn z(&mut self) -> AssociationHandle<'_> {
        self.ends[1].association(self.ids[1]).expect("it lives")
    }

    pub fn send(&mut self, stream: u16, len: usize) -> Result<(), SendError> {
        let now = self.now;
        self.a().send(now, Message::new(stream, vec![7; len])).map(|_| ())
    }

    /// Loses every packet that the first end sends now.
    pub fn lose(&mut self) {
        while self.ends[0].poll_transmit(self.now, 1, &mut Vec::new()).is_some() {}
    }

    /// Events of the first end.
    pub fn told_a(&self) -> Vec<Event> {
        self.told.iter().filter(|(end, _)| *end == 0).map(|(_, event)| event.clone()).collect()
    }

    /// Packets go to and fro until nothing more is to be said, also a second later.
    pub fn exchange(&mut self) {
        for _ in 0..2 {
            let mut quiet = false;
            while !quiet {
                quiet = true;
                for end in 0..2 {
                    let mut packet = Vec::new();
                    while let Some(out) = self.ends[end].poll_transmit(self.now, 1, &mut packet) {
                        quiet = false;
                        let meta = Meta {
                            source: SocketAddr::from(([10, 0, 0, end as u8 + 1], 0)),
                            destination: out.destination,
                            dscp: out.dscp,
                            ecn: out.ecn,
                        };
                        self.ends[1 - end].handle_datagram(self.now, meta, &packet);
                        packet.clear();
                    }
                    while let Some((id, event)) = self.ends[end].poll_event() {
                        if end == 1 && self.ids.len() == 1 {
                            self.ids.push(id);
                        }
                        self.told.push((end, event));
                    }
                }
            }
            self.now += Duration::from_secs(1);
            self.ends.iter_mut().for_each(|end| end.handle_timeout(self.now));
        }
    }
}
