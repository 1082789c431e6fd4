//! Methods of path MTU discovery (docs/explanation/mtu.md).

use std::fmt;

use super::emulation::words;

/// Method of path MTU discovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MtuDiscovery {
    /// The MTU is [`Config::mtu`](crate::Config::mtu). Packets may be fragmented on their way, and ICMP does not change it.
    Off,
    /// The MTU is [`Config::mtu`](crate::Config::mtu) until ICMP says that a link carries less (RFC 1191, RFC 8201).
    Icmp,
    /// Probes look for it, at most [`Config::mtu`](crate::Config::mtu); ICMP is a hint (RFC 8899).
    Probes,
}

words!(MtuDiscovery, Off = "off", Icmp = "icmp", Probes = "probes");
