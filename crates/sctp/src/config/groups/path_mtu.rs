//! Path MTU discovery.

use anabranch_base::Duration;

use super::entry::group;
use crate::config::values::MtuDiscovery;
use crate::config::values::kinds::{MTU_DISCOVERY, PACKET_SIZE, PROBE_TIME, PROBES, SWITCH, TIME};

group! {
    /// Path MTU discovery.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct PathMtuConfig {
        /// Method of discovery.
        discovery: MtuDiscovery = MtuDiscovery::Icmp => {
            mtu_discovery: MTU_DISCOVERY, [live]
            "how the MTU of a path becomes known: it is `mtu`, or ICMP says that it is less, or probes find it (RFC 8899)" ("RFC 8899")
        };
        /// BASE_PLPMTU: a size that nearly every path carries, bytes of IP packet; with IPv6 it is 1280 at least (RFC 8899, 5.1.2).
        base: u16 = 1200 => {
            mtu_base: PACKET_SIZE, [live]
            "a size that nearly every path carries, bytes: BASE_PLPMTU of RFC 8899" ("RFC 8899")
        };
        /// Probes of a path begin when data leaves on it, and not as soon as it is connected: an association that is only set up and ended, or
        /// only receives, sends none.
        waits_for_data: bool = false => {
            mtu_probes_wait_for_data: SWITCH, []
            "probes of a path begin when data leaves on it, not as soon as it is connected" ("anabranch")
        };
        /// PROBE_TIMER at least, one second or more; it is the RTO where that is longer (RFC 8899, 5.1.1).
        probe_timer: Duration = Duration::from_secs(1) => {
            mtu_probe_timer: PROBE_TIME, [live]
            "how long the answer to a probe is waited for, if the RTO is not longer: PROBE_TIMER of RFC 8899" ("RFC 8899")
        };
        /// MAX_PROBES: probes of one size without an answer that make it too large (RFC 8899, 5.1.2).
        max_probes: u8 = 3 => {
            mtu_max_probes: PROBES, [live]
            "probes without an answer that make a size too large: MAX_PROBES of RFC 8899" ("RFC 8899")
        };
        /// PMTU_RAISE_TIMER: how long a size is kept before a larger one is looked for (RFC 8899, 5.1.1).
        raise_timer: Duration = Duration::from_secs(600) => {
            mtu_raise_timer: TIME, [live]
            "how long a size is kept before a larger one is looked for: PMTU_RAISE_TIMER of RFC 8899" ("RFC 8899")
        };
    }
}
