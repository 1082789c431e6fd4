//! Requests for an association, where the user decides about each.

use std::net::{IpAddr, SocketAddr};

use anabranch_base::{Instant, Meta};

use crate::config::SubflowLevel;
use crate::cookie::Cookie;
use crate::event::AssociationId;

/// Admission of associations to an endpoint. The limits count the requests of peers; a restart, and a request that
/// was accepted, is not counted again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceptConfig {
    /// True if the user decides: [`EndpointEvent::Incoming`] announces each request, and it waits until
    /// [`Endpoint::accept`](crate::Endpoint::accept), [`refuse`](crate::Endpoint::refuse) or
    /// [`ignore`](crate::Endpoint::ignore). Otherwise each is accepted with the configuration of
    /// [`Endpoint::listen`](crate::Endpoint::listen).
    pub ask: bool,
    /// Number of requests that may wait for the user. Beyond that INIT and COOKIE ECHO are answered with an ABORT,
    /// "Out of Resource" (RFC 9260, 5.1).
    pub backlog: usize,
    /// Number of requests from one source that may wait for the user: an IPv4 address, or 64 bits of an IPv6 address.
    /// Beyond that as for `backlog`.
    pub backlog_per_source: usize,
    /// Number of associations that one source may have, including those that wait, those opened from this side, and
    /// closed ones that still count for [`max_associations`](crate::EndpointConfig::max_associations). Beyond that
    /// INIT and COOKIE ECHO are answered with an ABORT, "Out of Resource" (RFC 9260, 5.1). Under UDP encapsulation
    /// all hosts behind a NAT are one source.
    pub max_per_source: usize,
}

impl Default for AcceptConfig {
    fn default() -> Self {
        Self { ask: false, backlog: 128, backlog_per_source: 16, max_per_source: usize::MAX }
    }
}

/// Number of a waiting peer; no other has the same in the life of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IncomingId(pub(crate) u64);

/// A peer that asks for an association, and waits. Its cookie was good, so it is at `source` (RFC 9260, 5.1.5); nothing else of an
/// association exists yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incoming {
    /// Its number, by which commands name it.
    pub id: IncomingId,
    /// Its address; the port is the UDP port (RFC 6951), or 0.
    pub source: SocketAddr,
    /// The local address that it was sent to.
    pub destination: SocketAddr,
    /// Its SCTP port.
    pub port: u16,
    /// The local SCTP port that it was sent to.
    pub local_port: u16,
    /// The addresses that it lists; `source` comes first. Nothing shows yet that the others are its own (RFC 9260, 5.4).
    pub addresses: Vec<IpAddr>,
    /// Streams that we would have, and that the peer would have.
    pub streams: (u16, u16),
    /// Room in the peer's receive buffer, bytes.
    pub peer_window: u32,
    /// Extensions that both sides support, by the peer's offer and the configuration of
    /// [`Endpoint::listen`](crate::Endpoint::listen).
    pub offers: Offered,
    /// Time at which its cookie becomes stale: the request is gone then, if the user has not decided.
    pub until: Instant,
}

/// Extensions that both sides support, as the INIT ACK has promised them: those that were off in the configuration of
/// `listen` are missing, whatever the peer offers, and `accept` cannot add them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offered {
    /// I-DATA (RFC 8260).
    pub interleaving: bool,
    /// RE-CONFIG (RFC 6525).
    pub reconfiguration: bool,
    /// Messages may be given up (RFC 3758).
    pub partial_reliability: bool,
    /// Packets may leave with a checksum of zero (RFC 9653).
    pub zero_checksum: bool,
    /// ECN (RFC 3168; RFC 4960, appendix A).
    pub ecn: bool,
    /// Signalling of subflows between the two ends.
    pub subflow_level: SubflowLevel,
    /// Adaptation Layer Indication of the peer (RFC 5061, 4.2.6).
    pub adaptation: Option<u32>,
}

impl Incoming {
    pub(crate) fn new(id: IncomingId, cookie: &Cookie, meta: &Meta, until: Instant) -> Self {
        let extensions = &cookie.extensions;
        let subflow_level = match (&extensions.sf, extensions.sf2007) {
            (_, Some(_)) => SubflowLevel::Sf2007,
            (Some(_), None) => SubflowLevel::One,
            (None, None) => SubflowLevel::Zero,
        };
        Self {
            id,
            source: cookie.shown().unwrap_or(meta.source),
            destination: meta.destination,
            port: cookie.peer_port,
            local_port: cookie.local_port,
            addresses: cookie.addresses.clone(),
            streams: (cookie.outbound_streams, cookie.inbound_streams),
            peer_window: cookie.peer_rwnd,
            offers: Offered {
                interleaving: extensions.interleaving,
                reconfiguration: extensions.reconfiguration,
                partial_reliability: extensions.partial_reliability,
                zero_checksum: extensions.sends_zero_checksum,
                ecn: extensions.ecn,
                subflow_level,
                adaptation: extensions.adaptation,
            },
            until,
        }
    }
}

/// Reason why an announced request does not wait any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Withdrawn {
    /// The peer's cookie has become stale before the user has decided.
    TooLate,
    /// The peer has aborted.
    Aborted,
    /// The peer has sent another INIT, and waits for an answer to that: another [`EndpointEvent::Incoming`] follows.
    BegunAnew,
    /// The endpoint accepts nothing any more, and has refused it.
    Refused,
}

/// Event of an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EndpointEvent {
    /// A peer asks for an association, where [`AcceptConfig::ask`] is set.
    Incoming(Incoming),
    /// A peer does not wait any more, and cannot be accepted.
    IncomingWithdrawn {
        /// The request.
        id: IncomingId,
        /// The reason.
        why: Withdrawn,
    },
    /// Messages that a closed association handed back, and the user has not taken, are gone with it: those of sixteen others that have
    /// closed since are kept.
    ClosedForgotten {
        /// The association.
        id: AssociationId,
        /// Number of messages.
        messages: usize,
    },
    /// After [`Endpoint::drain`](crate::Endpoint::drain): every association has ended, and its last packet has left.
    Drained,
}

/// Reason why a request was not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AcceptError {
    /// The request was decided on before, or its sender has gone.
    #[error("nobody with that number waits: it was decided on, has gone, or its cookie is stale")]
    Gone,
    /// There is an association with that peer meanwhile.
    #[error("an association with that address and port exists")]
    Exists,
    /// The configuration has a value that is not allowed ([`Config::validate`](crate::Config::validate)). It waits still.
    #[error(transparent)]
    Config(#[from] crate::config::ConfigError),
    /// The INIT ACK has promised something else. It waits still.
    #[error(
        "SCTP option `{key}` is `{value}`, but the INIT ACK has told the peer `{told}`: it cannot differ from what `listen` was given"
    )]
    Promised {
        /// The option.
        key: &'static str,
        /// The value asked for.
        value: String,
        /// The value given to `listen`.
        told: String,
    },
}
