//! What an endpoint on real sockets is told.

use std::sync::Arc;
use std::time::Duration;

use anabranch_sctp::config::MaxBurst;
use anabranch_sctp::{AcceptConfig, Config};

/// UDP port of SCTP in UDP: "sctp-tunneling" (RFC 6951, 8).
pub const ENCAPSULATION_PORT: u16 = 9899;

/// What an endpoint is told once.
#[derive(Clone, Debug)]
pub struct EndpointConfig {
    /// SCTP port; 0 for one of 49152 to 65535 that nobody can guess.
    pub port: u16,
    /// What associations begin with; [`default_association`] unless told otherwise.
    pub association: Arc<Config>,
    /// Whom to let in: limits. 1,024 may wait, also of one source; each costs 4 KiB at most. That the user is asked is not up to this, as [`Endpoint::accept`](crate::Endpoint::accept) is how.
    pub accept: AcceptConfig,
    /// Associations beyond which peers are refused.
    pub max_associations: usize,
    /// SO_RCVBUF of each socket, bytes. The system may grant less (net.core.rmem_max).
    pub socket_receive_buffer: usize,
    /// SO_SNDBUF of each socket, bytes.
    pub socket_send_buffer: usize,
    /// How long an association may take to end in order once nobody holds it any more; then it is aborted.
    pub linger: Duration,
}

impl Default for EndpointConfig {
    fn default() -> Self {
        Self {
            port: 0,
            association: Arc::new(default_association()),
            // Behind a NAT many peers have one address.
            accept: AcceptConfig { backlog: 1024, backlog_per_source: 1024, ..AcceptConfig::default() },
            max_associations: 1 << 20,
            socket_receive_buffer: 4 << 20,
            socket_send_buffer: 1 << 20,
            linger: Duration::from_secs(30),
        }
    }
}

impl EndpointConfig {
    /// With SCTP port `port`.
    #[must_use]
    pub fn on_port(port: u16) -> Self {
        Self { port, ..Self::default() }
    }

    /// With `config` for associations.
    #[must_use]
    pub fn with_association(self, config: Config) -> Self {
        Self { association: Arc::new(config), ..self }
    }
}

/// [`Config::for_networks`] with what a driver of sockets needs: the operating system hands over up to 64 packets at once, and the driver
/// takes several such batches together, so there is one acknowledgement for as many, and the burst that answers it may be as long; and
/// buffers that fill 1 Gbit/s over 30 ms.
#[must_use]
pub fn default_association() -> Config {
    for_sockets(Config::for_networks())
}

/// Gives a profile what a driver of sockets needs, as [`default_association`] has it.
#[must_use]
pub fn for_sockets(profile: Config) -> Config {
    profile.with(|c| {
        c.congestion.max_burst = MaxBurst::Acknowledged(64);
        c.limits.receive_window = 4 << 20;
        c.limits.send_buffer = 1 << 20;
    })
}
