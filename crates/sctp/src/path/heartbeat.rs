//! HEARTBEATs of a path: when they leave, and whether they are answered (RFC 9260, 8.3).

use anabranch_base::{Duration, Instant, SecretRng};
use anabranch_transport::rtt::RttEstimator;

use super::info::{HEARTBEAT_INFO_LEN, heartbeat_info};
use crate::config::Config;
use crate::ids::PathId;

/// The HEARTBEATs of one path.
#[derive(Debug, Default)]
pub(crate) struct Heartbeat {
    /// Time at which the next is due.
    at: Option<Instant>,
    /// Nonce of the one without an answer, and the time at which it left.
    awaiting: Option<(u64, Instant)>,
    /// Set when the missing answer has been counted: an answer that still comes is late, and welcome.
    missed: bool,
    /// A HEARTBEAT must leave.
    wanted: bool,
    /// The one that is wanted only measures: a missing answer is no error.
    measures_only: bool,
    /// New DATA was sent here since the timer was set: the path is not idle.
    used: bool,
    /// The user wants none here.
    quiet: bool,
}

impl Heartbeat {
    /// Asks whether the peer is there; if nothing comes back, again at that time.
    pub(crate) fn probe(&mut self, again: Instant) {
        self.request();
        self.at = Some(again);
    }

    /// When one is due, or its answer overdue.
    #[inline]
    pub(super) fn timer(&self, config: &Config, confirmed: bool, rtt: &RttEstimator) -> Option<Instant> {
        // Where periods are shorter than an RTO the next heartbeat waits for the last answer.
        if self.awaiting.is_some() { self.overdue_at(config, confirmed, rtt).or(self.at) } else { self.at }
    }

    /// Time at which the answer will be overdue: "not acknowledged within one RTO" (8.3). Unconfirmed paths are
    /// probed once an RTO, and count otherwise.
    // rfc9260:8.3-3
    fn overdue_at(&self, config: &Config, confirmed: bool, rtt: &RttEstimator) -> Option<Instant> {
        let (_, sent_at) = self.awaiting.filter(|_| confirmed && !self.missed)?;
        Some(config.clock().after(sent_at, rtt.rto()))
    }

    /// A HEARTBEAT must leave.
    #[inline]
    pub(crate) fn is_wanted(&self) -> bool {
        self.wanted
    }

    /// "the sum of the RTO of that destination transport address and the protocol parameter 'HB.interval', with
    /// jittering of +/- 50% of the RTO value" (8.3).
    // rfc9260:8.3-13
    pub(super) fn arm(&mut self, now: Instant, config: &Config, rto: Duration, rng: &mut SecretRng) {
        if !self.is_on(config) {
            self.at = None;
            return;
        }
        let jitter = Duration::from_nanos(rng.below(rto.as_nanos().max(1)));
        self.at = Some(now + config.timers.heartbeat_interval + rto / 2 + jitter);
        self.used = false;
    }

    /// The timer ran out. True when an answer has become overdue: an error of the path.
    pub(super) fn is_overdue(
        &mut self,
        now: Instant,
        config: &Config,
        confirmed: bool,
        rtt: &RttEstimator,
    ) -> bool {
        let overdue = self.overdue_at(config, confirmed, rtt).is_some_and(|at| at <= now);
        self.missed |= overdue;
        overdue
    }

    /// True if the period is over, too.
    pub(crate) fn is_period_over(&self, now: Instant) -> bool {
        self.at.is_some_and(|at| at <= now)
    }

    /// The next period begins. "A destination transport address is considered 'idle' if no new chunk that can be
    /// used for updating path RTT ... and no HEARTBEAT chunk has been sent to it within the current heartbeat period": then a
    /// HEARTBEAT leaves.
    // rfc9260:8.3-1 rfc9260:8.3-5
    pub(super) fn begin_period(&mut self, now: Instant, config: &Config, rto: Duration, rng: &mut SecretRng) {
        let idle = !self.used;
        self.arm(now, config, rto, rng);
        if idle && self.at.is_some() {
            self.request();
        }
    }

    /// New DATA leaves on the path, which "can be used for updating path RTT" (8.3): a retransmission cannot.
    #[inline]
    pub(super) fn mark_used(&mut self) {
        self.used = true;
    }

    /// True if heartbeats are sent when the path is idle.
    pub(crate) fn is_on(&self, config: &Config) -> bool {
        !self.quiet && config.timers.heartbeat_interval != Duration::ZERO
    }

    /// The user wants them, or none.
    pub(crate) fn switch(&mut self, on: bool) {
        self.quiet = !on;
    }

    /// The user wants one now, or the path is idle.
    pub(crate) fn request(&mut self) {
        self.wanted = true;
        self.measures_only = false;
    }

    /// A HEARTBEAT shall measure the round trip of a path that is known to work: no error counts without an answer. Not while another
    /// is under way, which measures it, too.
    pub(crate) fn measure(&mut self) {
        if !self.wanted && (self.awaiting.is_none() || self.missed) {
            self.wanted = true;
            self.measures_only = true;
        }
    }

    /// The timer stops; one that must leave still does.
    pub(crate) fn stop_timer(&mut self) {
        self.at = None;
    }

    /// The info of one that leaves now; it is remembered.
    // rfc9260:3.3.5-3 rfc9260:8.3-6
    pub(crate) fn leave(
        &mut self,
        id: PathId,
        now: Instant,
        rng: &mut SecretRng,
    ) -> [u8; HEARTBEAT_INFO_LEN] {
        let nonce = rng.u64();
        self.wanted = false;
        self.awaiting = Some((nonce, now));
        self.missed = std::mem::take(&mut self.measures_only);
        heartbeat_info(id, nonce, now)
    }

    /// HEARTBEAT ACK: when the HEARTBEAT that it answers left. Only the info we sent last, bit by bit, counts.
    pub(crate) fn answered(&mut self, info: &[u8; HEARTBEAT_INFO_LEN]) -> Option<Instant> {
        let (nonce, sent_at) = self.awaiting?;
        if info[1..9] != nonce.to_be_bytes() || info[9..] != sent_at.as_nanos().to_be_bytes() {
            return None;
        }
        self.awaiting = None;
        Some(sent_at)
    }

    /// Forgets HEARTBEATs from before the peer restarted: the old peer will not answer, and the new one must not be charged for it.
    pub(crate) fn forget(&mut self) {
        self.awaiting = None;
        self.wanted = false;
    }
}
