//! Path metrics of finished connections, kept by host for later ones: BSD's host cache, Linux's route metrics.

use anabranch_base::Duration;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Path metrics that one connection has measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Learnt {
    pub(crate) srtt: Duration,
    pub(crate) rttvar: Duration,
    /// Bytes; only when a loss has set it.
    pub(crate) ssthresh: Option<u64>,
}

/// One entry a host. It grows with the number of hosts that were ever talked to with `host_cache` on.
#[derive(Debug, Default)]
pub(crate) struct HostCache {
    hosts: BTreeMap<IpAddr, Learnt>,
}

impl HostCache {
    pub(crate) fn get(&self, host: IpAddr) -> Option<Learnt> {
        self.hosts.get(&host).copied()
    }

    /// A connection ended: half of the old, half of the new, as BSD does.
    pub(crate) fn put(&mut self, host: IpAddr, new: Learnt) {
        let entry = self.hosts.entry(host).or_insert(new);
        entry.srtt = (entry.srtt + new.srtt) / 2;
        entry.rttvar = (entry.rttvar + new.rttvar) / 2;
        entry.ssthresh = match (entry.ssthresh, new.ssthresh) {
            (Some(old), Some(new)) => Some(u64::midpoint(old, new)),
            (old, new) => new.or(old),
        };
    }
}
