//! Claims of SCTP ports on this host, and of the duty to answer for ports without an owner: a raw socket without UDP
//! ports gets every SCTP packet, so processes agree by the names of sockets that they hold (abstract addresses of
//! unix(7): the kernel frees them when a process ends, and each network namespace has its own).

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// Claims of one endpoint.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    ports: BTreeMap<u16, Vec<UnixDatagram>>,
}

/// Holds a name; an error when another socket has it.
fn hold(name: &str) -> io::Result<UnixDatagram> {
    UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(name)?)
}

fn is_held(name: &str) -> bool {
    hold(name).is_err_and(|error| error.kind() == io::ErrorKind::AddrInUse)
}

fn port_name(address: IpAddr, port: u16) -> String {
    format!("anabranch/sctp/{address}/{port}")
}

fn owner_name(address: IpAddr) -> String {
    format!("anabranch/sctp/{address}/owner")
}

fn any(of: IpAddr) -> IpAddr {
    if of.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() }
}

impl Claims {
    /// Claims a port at local addresses. A claim of the wildcard address covers all addresses.
    pub(crate) fn claim(&mut self, addresses: &[IpAddr], port: u16) -> io::Result<()> {
        if self.ports.contains_key(&port) {
            return Ok(());
        }
        let mut held = Vec::new();
        for address in addresses {
            if !address.is_unspecified() && is_held(&port_name(any(*address), port)) {
                return Err(io::ErrorKind::AddrInUse.into());
            }
            held.push(hold(&port_name(*address, port))?);
        }
        self.ports.insert(port, held);
        Ok(())
    }

    pub(crate) fn ports(&self) -> impl Iterator<Item = u16> + '_ {
        self.ports.keys().copied()
    }

    pub(crate) fn has(&self, port: u16) -> bool {
        self.ports.contains_key(&port)
    }
}

/// Whether another process has that port at that address.
pub(crate) fn is_claimed(address: IpAddr, port: u16) -> bool {
    is_held(&port_name(address, port)) || is_held(&port_name(any(address), port))
}

/// The right to answer packets for ports without an owner (RFC 9260, 8.4), at one local address.
#[derive(Debug)]
pub(crate) struct Ownership {
    address: IpAddr,
    held: Option<UnixDatagram>,
}

impl Ownership {
    pub(crate) fn of(address: IpAddr) -> Self {
        let mut ownership = Self { address, held: None };
        ownership.try_again();
        ownership
    }

    /// Takes the ownership of the address if no other process has it. True when it was taken now.
    pub(crate) fn try_again(&mut self) -> bool {
        if self.held.is_some() {
            return false;
        }
        let wider = !self.address.is_unspecified() && is_held(&owner_name(any(self.address)));
        self.held = if wider { None } else { hold(&owner_name(self.address)).ok() };
        self.held.is_some()
    }

    pub(crate) fn is_ours(&self) -> bool {
        self.held.is_some()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    #[test]
    fn a_port_has_one_holder_and_is_free_when_it_goes() {
        let at: IpAddr = "127.77.1.1".parse().unwrap();
        let other: IpAddr = "127.77.1.2".parse().unwrap();
        let (mut first, mut second) = (Claims::default(), Claims::default());
        first.claim(&[at], 40_001).unwrap();
        assert_eq!(second.claim(&[at], 40_001).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        second.claim(&[other], 40_001).unwrap();
        assert!(is_claimed(at, 40_001) && is_claimed(other, 40_001) && !is_claimed(at, 40_002));
        // A claim of the wildcard address covers every address.
        first.claim(&[Ipv4Addr::UNSPECIFIED.into()], 40_003).unwrap();
        assert!(is_claimed(at, 40_003));
        assert_eq!(second.claim(&[at], 40_003).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        drop(first);
        assert!(!is_claimed(at, 40_001) && !is_claimed(at, 40_003));
        assert_eq!(second.ports().collect::<Vec<_>>(), [40_001]);
    }

    #[test]
    fn one_owner_at_a_time() {
        let at: IpAddr = "127.77.1.3".parse().unwrap();
        let first = Ownership::of(at);
        let mut second = Ownership::of(at);
        assert!(first.is_ours() && !second.is_ours());
        drop(first);
        assert!(second.try_again() && second.is_ours());
    }
}
