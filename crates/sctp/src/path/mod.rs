//! A path: one address of the peer. Reachability, error counts, heartbeats (RFC 9260, 8.1 to 8.3).

use std::net::SocketAddr;

use anabranch_base::{Instant, Rng};

use crate::config::Config;
use anabranch_base::Duration;

#[derive(Debug)]
pub(crate) struct Path {
    pub(crate) remote: SocketAddr,
    /// Path error counter; reset by what proves that the path works.
    pub(crate) errors: u32,
    /// When a T3-rtx was last counted as an error.
    pub(crate) error_at: Option<Instant>,
    pub(crate) active: bool,
    /// The peer is known to be there. "An endpoint MUST NOT send any chunks to an UNCONFIRMED address", but HEARTBEAT (5.4).
    pub(crate) confirmed: bool,
    /// When a HEARTBEAT is due, or its answer overdue.
    pub(crate) heartbeat_at: Option<Instant>,
    /// Nonce of the HEARTBEAT without answer, and when it left.
    pub(crate) awaiting: Option<(u64, Instant)>,
    /// A HEARTBEAT must leave.
    pub(crate) heartbeat_wanted: bool,
    /// DATA was sent here since the heartbeat timer was set: the path is not idle.
    pub(crate) used: bool,
}

impl Path {
    pub(crate) fn new(remote: SocketAddr) -> Self {
        Self {
            remote,
            errors: 0,
            error_at: None,
            active: true,
            confirmed: true,
            heartbeat_at: None,
            awaiting: None,
            heartbeat_wanted: false,
            used: false,
        }
    }

    /// A path that the peer only says it has.
    pub(crate) fn unconfirmed(remote: SocketAddr) -> Self {
        Self { confirmed: false, ..Self::new(remote) }
    }

    /// "the sum of the RTO of that destination transport address and the protocol parameter 'HB.interval', with
    /// jittering of +/- 50% of the RTO value" (8.3).
    pub(crate) fn arm_heartbeat(&mut self, now: Instant, rto: Duration, config: &Config, rng: &mut Rng) {
        if config.heartbeat_interval == Duration::ZERO {
            self.heartbeat_at = None;
            return;
        }
        let jitter = Duration::from_nanos(rng.below(rto.as_nanos().max(1)));
        self.heartbeat_at = Some(now + config.heartbeat_interval + rto / 2 + jitter);
        self.used = false;
    }
}
