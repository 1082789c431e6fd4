//! Two endpoints and a wire of 10 ms between them, in memory and in virtual time, for several examples. The example `sans_io`
//! shows the same loop by itself.
#![allow(dead_code, reason = "each example uses what it needs")]

use std::collections::VecDeque;
use std::sync::Arc;

use anabranch::{
    AssociationHandle, AssociationId, Config, Duration, Endpoint, EndpointConfig, Event, Instant, Meta,
    SecretRng, Transmit,
};

const ADDRESSES: [&str; 2] = ["192.0.2.1:9899", "192.0.2.2:9899"];

pub(crate) struct Wire {
    pub(crate) now: Instant,
    ends: [Endpoint; 2],
    ids: [Option<AssociationId>; 2],
    on_the_way: VecDeque<(Instant, usize, Meta, Vec<u8>)>,
    /// Is asked for each packet and its sender: true loses it.
    pub(crate) lose: fn(usize, &Transmit) -> bool,
    /// The events of side 0.
    pub(crate) told: Vec<Event>,
}

impl Wire {
    /// Side 0 has asked side 1 for an association, and both are up.
    pub(crate) fn up(config: Config) -> Result<Self, Box<dyn std::error::Error>> {
        let config = Arc::new(config);
        let end = |side: usize| -> Result<Endpoint, std::net::AddrParseError> {
            let local = EndpointConfig::new(ADDRESSES[side].parse()?, 5000);
            Ok(Endpoint::new(local, SecretRng::from_seed([side as u8; 32])))
        };
        let mut ends = [end(0)?, end(1)?];
        ends[1].listen(Arc::clone(&config))?;
        let id = ends[0].connect(Instant::ZERO, ADDRESSES[1].parse()?, 5000, config)?;
        let (on_the_way, told) = (VecDeque::new(), Vec::new());
        let mut wire =
            Self { now: Instant::ZERO, ends, ids: [Some(id), None], on_the_way, lose: |_, _| false, told };
        wire.run(Duration::from_millis(100))?;
        Ok(wire)
    }

    /// The association as one side has it.
    pub(crate) fn side(&mut self, side: usize) -> Result<AssociationHandle<'_>, &'static str> {
        let id = self.ids[side].ok_or("there is no association")?;
        self.ends[side].association(id).ok_or("the association is gone")
    }

    /// Lets so much time pass.
    pub(crate) fn run(&mut self, time: Duration) -> Result<(), Box<dyn std::error::Error>> {
        let end = self.now + time;
        while self.now <= end {
            for (side, address) in ADDRESSES.iter().enumerate() {
                let mut packet = Vec::new();
                while let Some(transmit) = self.ends[side].poll_transmit(self.now, 1, &mut packet) {
                    let (source, destination) = (address.parse()?, transmit.destination);
                    let meta = Meta { source, destination, dscp: transmit.dscp, ecn: transmit.ecn };
                    let packet = std::mem::take(&mut packet);
                    if !(self.lose)(side, &transmit) {
                        self.on_the_way.push_back((
                            self.now + Duration::from_millis(10),
                            1 - side,
                            meta,
                            packet,
                        ));
                    }
                }
                while let Some((id, event)) = self.ends[side].poll_event() {
                    self.ids[side] = Some(id);
                    if side == 0 {
                        self.told.push(event);
                    }
                }
            }
            // A millisecond is as fine as these examples need it; a program would ask `poll_timeout`.
            self.now += Duration::from_millis(1);
            // The delay is the same for all, so the oldest arrives first.
            while self.on_the_way.front().is_some_and(|(at, ..)| *at <= self.now) {
                let Some((_, to, meta, packet)) = self.on_the_way.pop_front() else { break };
                self.ends[to].handle_datagram(self.now, meta, &packet);
            }
            self.ends.iter_mut().for_each(|end| end.handle_timeout(self.now));
        }
        Ok(())
    }
}
