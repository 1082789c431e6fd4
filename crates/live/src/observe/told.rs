//! Events that the state of an endpoint keeps for its observers.

use std::net::SocketAddr;

use anabranch_base::Instant;
use anabranch_sctp::Event;

/// Something that has happened to an association, and to whom it belongs.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) at: Instant,
    pub(crate) peer: Option<SocketAddr>,
    pub(crate) event: Event,
}
