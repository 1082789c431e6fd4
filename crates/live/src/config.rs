//! The configuration of an endpoint on real sockets.

use std::sync::Arc;
use std::time::Duration;

use anabranch_sctp::config::MaxBurst;
use anabranch_sctp::{AcceptConfig, Config};

use crate::observe::{Capture, Qlog};

/// UDP port of SCTP in UDP: "sctp-tunneling" (RFC 6951, 8).
pub const ENCAPSULATION_PORT: u16 = 9899;

/// The protocol that carries SCTP packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transport {
    /// UDP (RFC 6951): no privileges, and through any NAT.
    #[default]
    Udp,
    /// IP itself, protocol 132. On Linux, with CAP_NET_RAW. The host must not have SCTP in its kernel as well, or that answers each packet
    /// with an ABORT. Ports of addresses, and `remote` in calls, do not count. One shard only.
    RawIp,
}

/// The configuration of an endpoint, fixed when it is bound.
#[derive(Clone, Debug)]
pub struct EndpointConfig {
    /// SCTP port; 0 for one of 49152 to 65535 that an attacker cannot guess.
    pub port: u16,
    /// Initial configuration of associations; [`default_association`] unless set.
    pub association: Arc<Config>,
    /// Limits on new associations from peers. 1,024 may wait for a decision, also of one source; each costs 4 KiB at
    /// most. In any case the user decides on each by [`Endpoint::accept`](crate::Endpoint::accept).
    pub accept: AcceptConfig,
    /// Associations beyond which peers are refused.
    pub max_associations: usize,
    /// The protocol that carries SCTP packets.
    pub transport: Transport,
    /// Sockets for each address, each with a thread of its own: packets of one association always reach the same. Limits on associations
    /// and on waiting peers count for each of them. With 1 there is no thread but the runtime's.
    pub shards: u16,
    /// Whether the kernel is asked to give packets to the right one of several shards (Linux, SO_ATTACH_REUSEPORT_CBPF). Where it is not, or
    /// does not do it, shards pass on packets that belong to another shard.
    pub steer: bool,
    /// SO_RCVBUF of each socket, bytes. The system may grant less (net.core.rmem_max).
    pub socket_receive_buffer: usize,
    /// SO_SNDBUF of each socket, bytes.
    pub socket_send_buffer: usize,
    /// How long the sockets are looked at again and again after something has come or left, before the driver sleeps until the system
    /// wakes it. A packet that comes within that time is answered without a wakeup, which takes longer than all the rest of an answer; the
    /// price is a processor that does nothing else meanwhile. 0 for never.
    pub busy_poll: Duration,
    /// How long an association may take to end in order once its last handle is dropped; then it is aborted.
    pub linger: Duration,
    /// The capture that records sent and received packets; `None`: they are not recorded.
    pub capture: Option<Capture>,
    /// The qlog that records events of associations; `None`: they are not recorded.
    pub qlog: Option<Qlog>,
    /// Whether the counters of associations are kept when they end, for
    /// [`Endpoint::publish_metrics`](crate::Endpoint::publish_metrics).
    pub metrics: bool,
}

impl Default for EndpointConfig {
    fn default() -> Self {
        Self {
            port: 0,
            association: Arc::new(default_association()),
            // Behind a NAT many peers have one address.
            accept: AcceptConfig { backlog: 1024, backlog_per_source: 1024, ..AcceptConfig::default() },
            max_associations: 1 << 20,
            transport: Transport::Udp,
            shards: 1,
            steer: true,
            socket_receive_buffer: 4 << 20,
            socket_send_buffer: 1 << 20,
            busy_poll: Duration::ZERO,
            linger: Duration::from_secs(30),
            capture: None,
            qlog: None,
            metrics: false,
        }
    }
}

impl EndpointConfig {
    /// With SCTP port `port`.
    #[must_use]
    pub fn on_port(port: u16) -> Self {
        Self { port, ..Self::default() }
    }

    /// Right on IP.
    #[must_use]
    pub fn on_raw_ip(self) -> Self {
        Self { transport: Transport::RawIp, ..self }
    }

    /// With `config` for associations.
    #[must_use]
    pub fn with_association(self, config: Config) -> Self {
        Self { association: Arc::new(config), ..self }
    }
}

/// [`Config::for_networks`] with the values that a driver of sockets needs: an operating system hands over up to 64 packets at once, so
/// a peer may answer as many with one acknowledgement, and the burst that follows may be as long; and buffers that fill 1 Gbit/s over 30 ms.
#[must_use]
pub fn default_association() -> Config {
    for_sockets(Config::for_networks())
}

/// Gives a profile the values that a driver of sockets needs, as [`default_association`] has them.
#[must_use]
pub fn for_sockets(profile: Config) -> Config {
    profile.with(|c| {
        c.congestion.max_burst = MaxBurst::Acknowledged(64);
        c.limits.receive_window = 4 << 20;
        c.limits.send_buffer = 1 << 20;
    })
}
