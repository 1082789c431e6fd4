//! A path: one address of the peer. Reachability, heartbeats and the size of its packets are parts with files of
//! their own; this file has the code that concerns several of them, and the round-trip estimate.

mod heartbeat;
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
use heartbeat::Heartbeat;
pub(crate) use info::HEARTBEAT_INFO_LEN;
use mtu::PathMtu;
pub(crate) use paths::Paths;
use reachability::Reachability;
pub(crate) use search::SearchState;

/// One address of the peer.
#[derive(Debug)]
pub(crate) struct Path {
    remote: SocketAddr,
    /// To which of our addresses the peer's packets come on this path: answers leave from there.
    local: Option<SocketAddr>,
    /// Round trips as heartbeats and the first subflow on this path see them. T2-shutdown, RE-CONFIG and heartbeats go by its
    /// RTO; further subflows on the path have estimates of their own.
    rtt: RttEstimator,
    reachability: Reachability,
    heartbeat: Heartbeat,
    size: PathMtu,
}

impl Path {
    pub(crate) fn new(config: &Config, remote: SocketAddr) -> Self {
        Self {
            remote,
            local: None,
            rtt: RttEstimator::new(&config.rtt_rules()),
            reachability: Reachability::new(true),
            heartbeat: Heartbeat::default(),
            size: PathMtu::new(config, remote),
        }
    }

    /// A path that the peer only says it has.
    pub(crate) fn unconfirmed(config: &Config, remote: SocketAddr) -> Self {
        Self { reachability: Reachability::new(false), ..Self::new(config, remote) }
    }

    /// The peer's address.
    #[inline]
    pub(crate) fn remote(&self) -> SocketAddr {
        self.remote
    }

    /// True if this is the path to that address, on any UDP port.
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

    /// True if packets leave as Not-ECT here, whatever was agreed.
    #[inline]
    pub(crate) fn refuses_ect(&self) -> bool {
        self.reachability.refuses_ect()
    }

    /// Packets that leave as ECN-capable do not arrive, or not as such.
    pub(crate) fn refuse_ect(&mut self) {
        self.reachability.refuse_ect();
    }

    /// Round-trip estimate of the path.
    #[inline]
    pub(crate) fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }

    /// Round-trip estimate of the path, for the lane that measures it with its data.
    #[inline]
    pub(crate) fn rtt_mut(&mut self) -> &mut RttEstimator {
        &mut self.rtt
    }

    /// Forgets the round trip of the path.
    pub(crate) fn measure_anew(&mut self, config: &Config) {
        self.rtt = RttEstimator::new(&config.rtt_rules());
    }

    /// No answer came within an RTO, which doubles: RTO <- RTO * 2 (6.3.3, E2).
    pub(crate) fn back_off(&mut self) {
        self.rtt.back_off();
    }

    /// The user has changed RTO.Min or RTO.Max.
    pub(crate) fn set_rto_bounds(&mut self, min: Duration, max: Duration) {
        self.rtt.set_bounds(min, max);
    }

    /// Errors in a row, and whether it answers.
    pub(crate) fn reachability(&self) -> &Reachability {
        &self.reachability
    }

    /// Its heartbeats.
    #[inline]
    pub(crate) fn heartbeat(&self) -> &Heartbeat {
        &self.heartbeat
    }

    /// Its heartbeats, to be changed.
    #[inline]
    pub(crate) fn heartbeat_mut(&mut self) -> &mut Heartbeat {
        &mut self.heartbeat
    }

    /// The size of its packets.
    #[inline]
    pub(crate) fn size(&self) -> &PathMtu {
        &self.size
    }

    /// The size of its packets, to be changed.
    #[inline]
    pub(crate) fn size_mut(&mut self) -> &mut PathMtu {
        &mut self.size
    }

    /// Largest IP packet, bytes.
    #[inline]
    pub(crate) fn mtu(&self) -> u16 {
        self.size.mtu()
    }

    /// Largest SCTP packet, common header included, bytes.
    #[inline]
    pub(crate) fn max_packet(&self) -> usize {
        self.size.max_packet()
    }

    /// Path Maximum DATA Chunk Size, header included, bytes.
    #[inline]
    pub(crate) fn pmdcs(&self) -> u32 {
        self.size.pmdcs()
    }

    /// True if the search for its MTU waits for reports of the packets that arrive.
    #[inline]
    pub(crate) fn waits_for_packets(&self) -> bool {
        self.size.waits_for_packets()
    }

    /// The peer is at another address now.
    pub(crate) fn move_to(&mut self, config: &Config, remote: SocketAddr) {
        self.remote = remote;
        self.size.follow(config, remote);
    }

    /// A packet with the right tag came from another UDP port of the address, as when a NAT has forgotten the old one: "After
    /// finding the SCTP association (which includes checking the verification tag), the UDP source port MUST be stored as the
    /// encapsulation port for the destination address the SCTP packet is received from" (RFC 6951, 5.4). Without UDP it is 0.
    // rfc6951:5.1-1 rfc6951:5.4-1 rfc6951:5.4-2 rfc6951:5.6-2
    pub(crate) fn move_port(&mut self, config: &Config, port: u16) {
        let encapsulated = self.remote.port() != 0;
        self.remote.set_port(port);
        if encapsulated != (port != 0) {
            self.size.follow(config, self.remote);
        }
    }

    /// True if the address is CONFIRMED to be the peer's (5.4).
    #[inline]
    pub(crate) fn is_confirmed(&self) -> bool {
        self.reachability.is_confirmed()
    }

    /// A HEARTBEAT to an address that was not confirmed has been answered. True when it was not confirmed before.
    pub(crate) fn confirm(&mut self) -> bool {
        let confirmed = self.reachability.confirm();
        if confirmed {
            // The path is not used, so its idleness is no news.
            self.heartbeat.stop_timer();
        }
        confirmed
    }

    /// A probe of an address that is not confirmed was not answered in time. False when it is not to be probed again.
    pub(crate) fn probe_unanswered(&mut self, limit: u32) -> bool {
        self.heartbeat.stop_timer();
        self.reachability.probe_unanswered(limit)
    }

    /// When a HEARTBEAT is due, or its answer overdue.
    #[inline]
    pub(crate) fn heartbeat_timer(&self, config: &Config) -> Option<Instant> {
        self.heartbeat.timer(config, self.is_confirmed(), &self.rtt)
    }

    /// A HEARTBEAT must leave, alone or as a probe of the MTU.
    #[inline]
    pub(crate) fn wants_heartbeat(&self) -> bool {
        self.heartbeat.is_wanted() | self.size.wants_probe()
    }

    /// The length of a HEARTBEAT in a packet, bytes: chunk and parameter headers, information, padding.
    pub(crate) const HEARTBEAT: usize = padded(4 + 4 + HEARTBEAT_INFO_LEN);

    /// A heartbeat period begins, where there are heartbeats.
    pub(crate) fn arm_heartbeat(&mut self, now: Instant, config: &Config, rng: &mut SecretRng) {
        self.heartbeat.arm(now, config, self.rtt.rto(), rng);
    }

    /// The next heartbeat period begins: if the path was idle in the last one a HEARTBEAT leaves.
    pub(crate) fn begin_heartbeat_period(&mut self, now: Instant, config: &Config, rng: &mut SecretRng) {
        self.heartbeat.begin_period(now, config, self.rtt.rto(), rng);
    }

    /// The heartbeat timer ran out. True when an answer has become overdue: an error of the path.
    pub(crate) fn heartbeat_overdue(&mut self, now: Instant, config: &Config) -> bool {
        let overdue = self.heartbeat.is_overdue(now, config, self.reachability.is_confirmed(), &self.rtt);
        if overdue {
            // "exponential backoff of the RTO if the previous HEARTBEAT chunk is unanswered" (8.3).
            self.rtt.back_off();
        }
        overdue
    }

    /// New DATA leaves on this path.
    #[inline]
    pub(crate) fn mark_used(&mut self) {
        self.heartbeat.mark_used();
        self.size.mark_used();
    }

    /// A probe of the MTU must leave: its info, and the bytes of its SCTP packet. It is remembered.
    pub(crate) fn probe_info(
        &mut self,
        id: PathId,
        now: Instant,
        config: &Config,
        rng: &mut SecretRng,
    ) -> Option<([u8; HEARTBEAT_INFO_LEN], usize)> {
        self.size.probe_info(id, now, config, self.rtt.rto(), rng)
    }

    /// The association has ended: nothing is asked any more.
    pub(crate) fn stop_heartbeats(&mut self) {
        self.heartbeat.stop_timer();
        self.heartbeat.forget();
        self.size.end_search();
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
        path.heartbeat_mut().measure();
        assert!(path.heartbeat().is_wanted());
        path.heartbeat_mut().leave(PathId::new(0), now(1), &mut rng);
        assert!(!path.heartbeat_overdue(now(100), &config) && path.heartbeat_timer(&config).is_none());
        path.heartbeat_mut().request();
        let info = path.heartbeat_mut().leave(PathId::new(0), now(100), &mut rng);
        path.heartbeat_mut().measure();
        assert!(!path.heartbeat().is_wanted(), "the answer to the other one will do");
        assert!(path.heartbeat_overdue(now(200), &config));
        path.heartbeat_mut().measure();
        path.heartbeat_mut().request();
        path.heartbeat_mut().leave(PathId::new(0), now(200), &mut rng);
        assert!(path.heartbeat_overdue(now(300), &config), "asked and measured: it asks");
        assert_eq!(path.heartbeat_mut().answered(&info), None, "only the last one's answer counts");
    }
}
