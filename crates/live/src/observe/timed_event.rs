//! Events that the state of an endpoint keeps for its observers.

use std::net::SocketAddr;

use anabranch_base::Instant;
use anabranch_sctp::Event;

/// An event of an association, with its time and the peer's address.
#[derive(Debug)]
pub(crate) struct TimedEvent {
    pub(crate) at: Instant,
    pub(crate) peer: Option<SocketAddr>,
    pub(crate) event: Event,
}
