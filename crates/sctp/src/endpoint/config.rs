//! The values that an endpoint is told once.

use std::net::SocketAddr;

use anabranch_base::Duration;

use crate::config::Checksums;
use crate::incoming::AcceptConfig;
use crate::shard::Shard;

/// The values that an endpoint is told once.
#[derive(Clone, Debug)]
pub struct EndpointConfig {
    /// Our address; the port is the UDP port under UDP encapsulation (RFC 6951), else 0.
    pub local: SocketAddr,
    /// Our first SCTP port; others come with [`Endpoint::open_port`](crate::Endpoint::open_port) and [`Endpoint::connect_from`](crate::Endpoint::connect_from).
    pub port: u16,
    /// Verifying the checksums of packets that arrive, and computing those of answers that belong to no association.
    pub checksums: Checksums,
    /// Associations beyond which INIT and COOKIE ECHO are answered with an ABORT, "Out of Resource" (RFC 9260, 5.1); those that
    /// wait for the user count, too, and those that have closed and are not freed as the user has not read all of them yet (but not
    /// with `keep_closed`).
    pub max_associations: usize,
    /// Bytes by which the receive windows of all associations together may exceed those that they begin with
    /// ([`LimitConfig::max_receive_window`](crate::config::LimitConfig::max_receive_window)).
    pub window_budget: u64,
    /// INITs a second, of all sources together, beyond which they are dropped without an answer: their senders repeat
    /// them. Those of peers with an association count, too. Endpoints that share a socket each count for themselves.
    /// 0: all are answered.
    pub max_inits_per_second: u32,
    /// Admission of associations.
    pub accept: AcceptConfig,
    /// Closed associations stay, with their counters, until [`Endpoint::release`](crate::Endpoint::release).
    /// Otherwise one is freed when [`Endpoint::poll_event`](crate::Endpoint::poll_event) is called again after it
    /// gave [`Event::Closed`](crate::Event::Closed), its last packet has left and its messages have been read, of all
    /// streams: its counters can be read when that event comes. Of the 16 that closed last, messages that can be
    /// taken back stay until they are; these associations take no place.
    pub keep_closed: bool,
    /// Time for which a key signs State Cookies. It verifies them for as long as a peer may repeat its COOKIE ECHO,
    /// so that a change of keys ends no handshake.
    pub cookie_key_life: Duration,
    /// Nothing but this project is on the network: associations may use encodings that other stacks misread
    /// ([`SubflowLevel::Sf2007`](crate::config::SubflowLevel::Sf2007)). Simulators set it; drivers of real sockets must
    /// not, unless they are on a loopback.
    pub allow_private_encodings: bool,
    /// Number of this endpoint among several with the same addresses: the verification tags that it draws carry it.
    pub shard: Shard,
}

impl EndpointConfig {
    /// On `local`, SCTP port `port`, with checksums.
    // rfc9260:1.3-2
    #[must_use]
    pub fn new(local: SocketAddr, port: u16) -> Self {
        Self {
            local,
            port,
            checksums: Checksums::Crc32c,
            max_associations: 1 << 20,
            window_budget: 256 << 20,
            max_inits_per_second: 0,
            accept: AcceptConfig::default(),
            keep_closed: false,
            cookie_key_life: Duration::from_secs(600),
            allow_private_encodings: false,
            shard: Shard::ALONE,
        }
    }

    /// With [`keep_closed`](EndpointConfig::keep_closed).
    #[must_use]
    pub fn keeping_closed(self) -> Self {
        Self { keep_closed: true, ..self }
    }
}
