//! State that an endpoint directly on IP shares with other processes of its host: SCTP ports, and the duty to answer
//! for ports without an owner.

use std::io;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use anabranch_base::{Duration, Instant};

use crate::claims::{Claims, Ownership, is_claimed};
use crate::socket::Socket;

/// Interval at which an endpoint tries to get the duty to answer for ports without an owner.
const OWNERSHIP_INTERVAL: Duration = Duration::from_secs(1);

/// The SCTP ports of an endpoint.
#[derive(Debug)]
pub(crate) struct Ports {
    addresses: Vec<IpAddr>,
    claims: Mutex<(Claims, Changed)>,
}

/// Whether the sockets do not know of all ports yet.
type Changed = bool;

impl Ports {
    /// Of an endpoint with those addresses, which has claimed `port`.
    pub(crate) fn new(addresses: Vec<IpAddr>, port: u16) -> io::Result<Self> {
        let mut claims = Claims::default();
        claims.claim(&addresses, port)?;
        Ok(Self { addresses, claims: Mutex::new((claims, true)) })
    }

    fn lock(&self) -> MutexGuard<'_, (Claims, Changed)> {
        self.claims.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One more port, for the rest of the endpoint's life. An error when another process has it.
    pub(crate) fn claim(&self, port: u16) -> io::Result<()> {
        let (claims, changed) = &mut *self.lock();
        if !claims.has(port) {
            claims.claim(&self.addresses, port)?;
            *changed = true;
        }
        Ok(())
    }

    fn has(&self, port: u16) -> bool {
        self.lock().0.has(port)
    }

    /// All ports, if they have changed since the last call, or `anyway`.
    fn changed_ports(&self, anyway: bool) -> Option<Vec<u16>> {
        let (claims, changed) = &mut *self.lock();
        let changed = std::mem::replace(changed, false);
        (changed || anyway).then(|| claims.ports().collect())
    }
}

/// The addresses for which an endpoint answers packets to ports without an owner.
#[derive(Debug)]
pub(crate) struct Ownerships {
    each: Vec<Ownership>,
    looked: Instant,
}

impl Ownerships {
    pub(crate) fn new(sockets: &[Socket]) -> Self {
        let each = sockets.iter().map(|socket| Ownership::of(socket.local().ip())).collect();
        Self { each, looked: Instant::ZERO }
    }

    /// Tells sockets which ports they are to take, where that has changed.
    pub(crate) fn look(&mut self, now: Instant, ports: &Ports, sockets: &[Socket]) {
        let mut taken = false;
        if now >= self.looked + OWNERSHIP_INTERVAL {
            self.looked = now;
            for ownership in &mut self.each {
                taken |= ownership.try_again();
            }
        }
        let Some(ports) = ports.changed_ports(taken) else { return };
        for (socket, ownership) in sockets.iter().zip(&self.each) {
            socket.take_ports(if ownership.is_ours() { None } else { Some(&ports) });
        }
    }

    /// Whether a packet that has come to a socket is for this endpoint: its port is claimed, or the endpoint has the
    /// duty to answer.
    pub(crate) fn concerns(&self, socket: usize, ports: &Ports, to: IpAddr, packet: &[u8]) -> bool {
        let Some(port) = packet.get(2..4).and_then(|bytes| bytes.try_into().ok()).map(u16::from_be_bytes)
        else {
            return false;
        };
        ports.has(port) || (self.each.get(socket).is_some_and(Ownership::is_ours) && !is_claimed(to, port))
    }
}
