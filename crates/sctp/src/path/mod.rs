//! A path: one address of the peer. Reachability, error counts, heartbeats (RFC 9260, 8.1 to 8.3), its round-trip estimate
//! and the size of packets that it carries.

mod info;
mod mtu;
mod paths;
mod reachability;
mod search;
mod size;

use std::net::{IpAddr, SocketAddr};

use anabranch_base::{Duration, Instant, SecretRng};
use anabranch_transport::rtt::RttEstimator;
use anabranch_wire::padded;

use crate::config::Config;
use crate::ids::PathId;
pub(crate) use info::HEARTBEAT_INFO_LEN;
use info::heartbeat_info;
pub(crate) use paths::Paths;
use search::Search;
pub(crate) use search::SearchState;

#[derive(Debug)]
pub(crate) struct Path {
    remote: SocketAddr,
    /// To which of our addresses the peer's packets come on this path: answers leave from there.
    local: Option<SocketAddr>,
    /// What leaves as ECN-capable does not arrive here, or not as such: packets leave as Not-ECT.
    refuses_ect: bool,
    /// Round trips as heartbeats and the first subflow on this path see them. T2-shutdown, RE-CONFIG and heartbeats go by its
    /// RTO; further subflows on the path have estimates of their own.
    rtt: RttEstimator,
    /// Largest IP packet, bytes.
    mtu: u16,
    /// Largest SCTP packet, common header included, bytes.
    max_packet: u32,
    /// Path error counter; reset by what proves that the path works.
    errors: u32,
    /// When a T3-rtx was last counted as an error; 0 before the first.
    error_at: Instant,
    /// The search for its MTU, or what else is known of it; only where there is something.
    search: Option<Box<Search>>,
    active: bool,
    /// The peer is known to be there. "An endpoint MUST NOT send any chunks to an UNCONFIRMED address", but HEARTBEAT (5.4).
    confirmed: bool,
    /// When a HEARTBEAT is due, or its answer overdue.
    heartbeat_at: Option<Instant>,
    /// Nonce of the HEARTBEAT without answer, and when it left.
    awaiting: Option<(u64, Instant)>,
    /// That it has no answer has been counted: one that comes now is late, and welcome.
    missed: bool,
    /// A HEARTBEAT must leave.
    heartbeat_wanted: bool,
    /// The one that is wanted only measures: that no answer comes is no error.
    measures_only: bool,
    /// A probe of its MTU must leave.
    probe_due: bool,
    /// A probe would be due, but no data has left on the path yet: who sends none has no use for what a probe finds.
    probe_waits: bool,
    /// Whether packets of the size in use arrive is not known yet, or is in doubt.
    awaits_packets: bool,
    /// New DATA was sent here since the heartbeat timer was set: the path is not idle.
    used: bool,
    /// The user wants no heartbeats here.
    quiet: bool,
}

impl Path {
    pub(crate) fn new(config: &Config, remote: SocketAddr) -> Self {
        Self {
            remote,
            local: None,
            refuses_ect: false,
            rtt: RttEstimator::new(&config.rtt_rules()),
            mtu: size::first_mtu(config, remote),
            max_packet: size::max_packet(config, remote, size::first_mtu(config, remote)),
            errors: 0,
            error_at: Instant::ZERO,
            search: None,
            active: true,
            confirmed: true,
            heartbeat_at: None,
            awaiting: None,
            missed: false,
            heartbeat_wanted: false,
            measures_only: false,
            probe_due: false,
            probe_waits: false,
            awaits_packets: false,
            used: false,
            quiet: false,
        }
    }

    /// A path that the peer only says it has.
    pub(crate) fn unconfirmed(config: &Config, remote: SocketAddr) -> Self {
        Self { confirmed: false, ..Self::new(config, remote) }
    }

    /// The peer's address.
    #[inline]
    pub(crate) fn remote(&self) -> SocketAddr {
        self.remote
    }

    /// Whether this is the path to that address, on whatever UDP port.
    #[inline]
    pub(crate) fn has_address(&self, address: IpAddr) -> bool {
        self.remote.ip() == address
    }

    /// The address of ours from which packets leave on this path, where one is known.
    #[inline]
    pub(crate) fn local(&self) -> Option<SocketAddr> {
        self.local
    }

    /// A packet of the peer came on this path, to that address of ours.
    #[inline]
    pub(crate) fn heard_at(&mut self, local: SocketAddr) {
        self.local = Some(local);
    }

    /// Whether packets leave as Not-ECT here, whatever was agreed.
    #[inline]
    pub(crate) fn refuses_ect(&self) -> bool {
        self.refuses_ect
    }

    /// What leaves as ECN-capable does not arrive, or not as such.
    pub(crate) fn refuse_ect(&mut self) {
        self.refuses_ect = true;
    }

    /// Its round-trip estimate.
    #[inline]
    pub(crate) fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }

    /// The same, for the lane that measures the path with its data.
    #[inline]
    pub(crate) fn rtt_mut(&mut self) -> &mut RttEstimator {
        &mut self.rtt
    }

    /// Nothing is known of its round trip any more.
    pub(crate) fn measure_anew(&mut self, config: &Config) {
        self.rtt = RttEstimator::new(&config.rtt_rules());
    }

    /// What was sent here was not answered within an RTO, which doubles: RTO <- RTO * 2 (6.3.3, E2).
    pub(crate) fn back_off(&mut self) {
        self.rtt.back_off();
    }

    /// The user has changed RTO.Min or RTO.Max.
    pub(crate) fn set_rto_bounds(&mut self, min: Duration, max: Duration) {
        self.rtt.set_bounds(min, max);
    }

    /// The peer is at another address now.
    pub(crate) fn move_to(&mut self, config: &Config, remote: SocketAddr) {
        self.remote = remote;
        self.max_packet = size::max_packet(config, remote, self.mtu);
    }

    /// A packet with the right tag came from another UDP port of the address, as when a NAT has forgotten the old one: "After
    /// finding the SCTP association (which includes checking the verification tag), the UDP source port MUST be stored as the
    /// encapsulation port for the destination address the SCTP packet is received from" (RFC 6951, 5.4). Without UDP it is 0.
    // rfc6951:5.1-1 rfc6951:5.4-1 rfc6951:5.4-2 rfc6951:5.6-2
    pub(crate) fn move_port(&mut self, config: &Config, port: u16) {
        let encapsulated = self.remote.port() != 0;
        self.remote.set_port(port);
        if encapsulated != (port != 0) {
            self.max_packet = size::max_packet(config, self.remote, self.mtu);
        }
    }

    /// Whether the peer is known to be there (5.4).
    #[inline]
    pub(crate) fn is_confirmed(&self) -> bool {
        self.confirmed
    }

    /// "When this match occurs, the address that the original HEARTBEAT was sent to is now considered CONFIRMED" (5.4). True
    /// when it was not before.
    pub(crate) fn confirm(&mut self) -> bool {
        let confirmed = !std::mem::replace(&mut self.confirmed, true);
        if confirmed {
            // The path is not used, so its idleness is no news.
            self.heartbeat_at = None;
        }
        confirmed
    }

    /// Asks whether the peer is there; if nothing comes back, again at that time.
    pub(crate) fn probe(&mut self, again: Instant) {
        self.request_heartbeat();
        self.heartbeat_at = Some(again);
    }

    /// A probe was not answered in time. It counts for the path only: "When probing UNCONFIRMED addresses ... the association
    /// overall error count is not incremented" (5.4). False when the path has been silent long enough to be left alone: whoever
    /// is there has nothing to do with us (RFC 5062, 6).
    pub(crate) fn probe_unanswered(&mut self, limit: u32) -> bool {
        self.heartbeat_at = None;
        self.errors += 1;
        self.errors <= limit
    }

    /// When a HEARTBEAT is due, or its answer overdue.
    #[inline]
    pub(crate) fn heartbeat_timer(&self, config: &Config) -> Option<Instant> {
        // Where periods are shorter than an RTO the next waits for the last answer.
        if self.awaiting.is_some() {
            self.overdue_at(config).or(self.heartbeat_at)
        } else {
            self.heartbeat_at
        }
    }

    /// When the answer to a HEARTBEAT will be overdue: "not acknowledged within one RTO" (8.3). Unconfirmed paths are probed once an RTO,
    /// and count otherwise.
    // rfc9260:8.3-3
    fn overdue_at(&self, config: &Config) -> Option<Instant> {
        let (_, sent_at) = self.awaiting.filter(|_| self.confirmed && !self.missed)?;
        Some(config.clock().after(sent_at, self.rtt.rto()))
    }

    /// A HEARTBEAT must leave, alone or as a probe of the MTU.
    #[inline]
    pub(crate) fn wants_heartbeat(&self) -> bool {
        self.heartbeat_wanted | self.probe_due
    }

    /// What a HEARTBEAT takes of a packet, bytes: chunk and parameter headers, information, padding.
    pub(crate) const HEARTBEAT: usize = padded(4 + 4 + HEARTBEAT_INFO_LEN);

    /// A HEARTBEAT must leave that is no probe of the MTU.
    pub(crate) fn wants_plain_heartbeat(&self) -> bool {
        self.heartbeat_wanted
    }

    /// Whether the search for the MTU wants to know of the packets that arrive.
    #[inline]
    pub(crate) fn waits_for_packets(&self) -> bool {
        self.awaits_packets
    }

    /// A probe of the MTU must leave.
    pub(crate) fn wants_probe(&self) -> bool {
        self.probe_due
    }

    /// "the sum of the RTO of that destination transport address and the protocol parameter 'HB.interval', with
    /// jittering of +/- 50% of the RTO value" (8.3).
    // rfc9260:8.3-13
    pub(crate) fn arm_heartbeat(&mut self, now: Instant, config: &Config, rng: &mut SecretRng) {
        if !self.has_heartbeats(config) {
            self.heartbeat_at = None;
            return;
        }
        let rto = self.rtt.rto();
        let jitter = Duration::from_nanos(rng.below(rto.as_nanos().max(1)));
        self.heartbeat_at = Some(now + config.timers.heartbeat_interval + rto / 2 + jitter);
        self.used = false;
    }

    /// The heartbeat timer ran out. True when an answer has become overdue: an error of the path.
    pub(crate) fn heartbeat_overdue(&mut self, now: Instant, config: &Config) -> bool {
        let overdue = self.overdue_at(config).is_some_and(|at| at <= now);
        if overdue {
            self.missed = true;
            // "exponential backoff of the RTO if the previous HEARTBEAT chunk is unanswered" (8.3).
            self.rtt.back_off();
        }
        overdue
    }

    /// Whether the heartbeat period is over, too.
    pub(crate) fn is_period_over(&self, now: Instant) -> bool {
        self.heartbeat_at.is_some_and(|at| at <= now)
    }

    /// The next heartbeat period begins. "A destination transport address is considered 'idle' if no new chunk that can be
    /// used for updating path RTT ... and no HEARTBEAT chunk has been sent to it within the current heartbeat period": then a
    /// HEARTBEAT leaves.
    // rfc9260:8.3-1 rfc9260:8.3-5
    pub(crate) fn begin_heartbeat_period(&mut self, now: Instant, config: &Config, rng: &mut SecretRng) {
        let idle = !self.used;
        self.arm_heartbeat(now, config, rng);
        if idle && self.heartbeat_at.is_some() {
            self.request_heartbeat();
        }
    }

    /// Whether heartbeats are sent when the path is idle.
    pub(crate) fn has_heartbeats(&self, config: &Config) -> bool {
        !self.quiet && config.timers.heartbeat_interval != Duration::ZERO
    }

    /// The user wants heartbeats, or none.
    pub(crate) fn switch_heartbeats(&mut self, on: bool) {
        self.quiet = !on;
    }

    /// The user wants one now, or the path is idle.
    pub(crate) fn request_heartbeat(&mut self) {
        self.heartbeat_wanted = true;
        self.measures_only = false;
    }

    /// One shall measure the round trip of a path that is known to work: no error counts where no answer comes. Not while another is under way, which does
    /// the same.
    pub(crate) fn measure(&mut self) {
        if !self.heartbeat_wanted && (self.awaiting.is_none() || self.missed) {
            self.heartbeat_wanted = true;
            self.measures_only = true;
        }
    }

    /// Errors in a row (8.2).
    pub(crate) fn errors(&self) -> u32 {
        self.errors
    }

    /// Whether it answers.
    pub(crate) fn is_active(&self) -> bool {
        self.active
    }

    /// The heartbeat timer stops; a HEARTBEAT that must leave still does.
    pub(crate) fn stop_heartbeat_timer(&mut self) {
        self.heartbeat_at = None;
    }

    /// The info of a HEARTBEAT that leaves now; it is remembered.
    // rfc9260:3.3.5-3 rfc9260:8.3-6
    pub(crate) fn heartbeat_info(
        &mut self,
        id: PathId,
        now: Instant,
        rng: &mut SecretRng,
    ) -> [u8; HEARTBEAT_INFO_LEN] {
        let nonce = rng.u64();
        self.heartbeat_wanted = false;
        self.awaiting = Some((nonce, now));
        self.missed = std::mem::take(&mut self.measures_only);
        heartbeat_info(id, nonce, now)
    }

    /// HEARTBEAT ACK: when the HEARTBEAT that it answers left. Only the info we sent last, bit by bit, counts.
    pub(crate) fn heartbeat_answered(&mut self, info: &[u8; HEARTBEAT_INFO_LEN]) -> Option<Instant> {
        let (nonce, sent_at) = self.awaiting?;
        if info[1..9] != nonce.to_be_bytes() || info[9..] != sent_at.as_nanos().to_be_bytes() {
            return None;
        }
        self.awaiting = None;
        Some(sent_at)
    }

    /// Heartbeats of before the peer restarted: the old peer will not answer, and the new one must not be charged for it.
    pub(crate) fn forget_heartbeat(&mut self) {
        self.awaiting = None;
        self.heartbeat_wanted = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now(seconds: u64) -> Instant {
        Instant::from_nanos(seconds * 1_000_000_000)
    }

    /// A HEARTBEAT that only measures is no error where no answer comes, and does not stand in the way of one that asks.
    #[test]
    fn what_only_measures_is_never_overdue() {
        let config = Config::modern();
        let mut rng = anabranch_base::Rng::stream(1, "test", "path").secret();
        let mut path = Path::new(&config, ([10, 0, 0, 1], 0).into());
        path.confirm();
        path.measure();
        assert!(path.wants_plain_heartbeat());
        path.heartbeat_info(PathId::new(0), now(1), &mut rng);
        assert!(!path.heartbeat_overdue(now(100), &config) && path.heartbeat_timer(&config).is_none());
        path.request_heartbeat();
        let info = path.heartbeat_info(PathId::new(0), now(100), &mut rng);
        path.measure();
        assert!(!path.wants_plain_heartbeat(), "the answer to the other one will do");
        assert!(path.heartbeat_overdue(now(200), &config));
        path.measure();
        path.request_heartbeat();
        path.heartbeat_info(PathId::new(0), now(200), &mut rng);
        assert!(path.heartbeat_overdue(now(300), &config), "asked and measured: it asks");
        assert_eq!(path.heartbeat_answered(&info), None, "only the last one's answer counts");
    }
}
