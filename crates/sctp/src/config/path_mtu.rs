//! How the MTU of a path becomes known (docs/explanation/mtu.md).

use std::fmt;

use anabranch_base::Duration;

use super::emulation::words;

/// How the MTU of a path becomes known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MtuDiscovery {
    /// The MTU is [`Config::mtu`](super::Config::mtu). Packets may be fragmented on their way, and ICMP does not change it.
    Off,
    /// The MTU is [`Config::mtu`](super::Config::mtu) until ICMP says that a link carries less (RFC 1191, RFC 8201).
    Icmp,
    /// Probes look for it, at most [`Config::mtu`](super::Config::mtu); ICMP is a hint (RFC 8899).
    Probes,
}

words!(MtuDiscovery, Off = "off", Icmp = "icmp", Probes = "probes");

/// How the MTU of a path becomes known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathMtuConfig {
    /// By what means.
    pub discovery: MtuDiscovery,
    /// BASE_PLPMTU: a size that nearly every path carries, bytes of IP packet; with IPv6 it is 1280 at least (RFC 8899, 5.1.2).
    pub base: u16,
    /// Probes of a path begin when data leaves on it, and not as soon as it is connected: an association that is only set up and ended, or
    /// only receives, sends none.
    pub waits_for_data: bool,
    /// PROBE_TIMER at least, one second or more; it is the RTO where that is longer (RFC 8899, 5.1.1).
    pub probe_timer: Duration,
    /// MAX_PROBES: probes of one size without an answer that make it too large (RFC 8899, 5.1.2).
    pub max_probes: u8,
    /// PMTU_RAISE_TIMER: how long a size is kept before a larger one is looked for (RFC 8899, 5.1.1).
    pub raise_timer: Duration,
}

impl PathMtuConfig {
    /// The values of RFC 8899, with [`MtuDiscovery::Icmp`].
    pub const DEFAULT: Self = Self {
        discovery: MtuDiscovery::Icmp,
        base: 1200,
        waits_for_data: false,
        probe_timer: Duration::from_secs(1),
        max_probes: 3,
        raise_timer: Duration::from_secs(600),
    };
}
