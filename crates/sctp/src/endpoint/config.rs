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
    /// Whether checksums are verified on what arrives and computed for answers that belong to no association.
    pub checksums: Checksums,
    /// Associations beyond which INIT and COOKIE ECHO are answered with an ABORT, "Out of Resource" (RFC 9260, 5.1); those that
    /// wait for the user count, too, and those that have closed and are not freed as the user has not read all of them yet (but not
    /// with `keep_closed`).
    pub max_associations: usize,
    /// Bytes by which the receive windows of all associations together may exceed those that they begin with
    /// ([`LimitConfig::max_receive_window`](crate::config::LimitConfig::max_receive_window)).
    pub window_budget: u64,
    /// INITs a second, of all sources together, beyond which they are dropped without an answer: whoever sent one repeats it. Those
    /// of peers with an association count, too. Endpoints that share a socket each count for themselves. 0: all are answered.
    pub max_inits_per_second: u32,
    /// How associations are let in.
    pub accept: AcceptConfig,
    /// Closed associations stay, with their counters, until [`Endpoint::release`](crate::Endpoint::release). Otherwise one is freed when [`Endpoint::poll_event`](crate::Endpoint::poll_event) is
    /// asked again after it gave [`Event::Closed`](crate::Event::Closed), its last packet has left and its messages have been read, of all streams. What is to
    /// be looked at, its user looks at when the event comes. What can be taken back stays until it is, of the 16 that closed last;
    /// these take no place.
    pub keep_closed: bool,
    /// How long a key signs State Cookies. It opens them as long as who was given one may repeat it, so that an outage ends no handshake.
    pub cookie_key_life: Duration,
    /// Nothing but this project is on the network: associations may use encodings that other stacks misread
    /// ([`SubflowLevel::Sf2007`](crate::config::SubflowLevel::Sf2007)). Simulators set it; drivers of real sockets must
    /// not, unless they are on a loopback.
    pub allow_private_encodings: bool,
    /// Which of several endpoints this is that have the same addresses: the verification tags that it draws say so.
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
