//! HEARTBEAT and its answer (RFC 9260, 8.3).

use anabranch_base::{Instant, TraceEvent};
use anabranch_wire::chunk::Heartbeat;

use super::{Association, MAX_WAITING_CONTROL};

/// Bytes of our Heartbeat Info: path, nonce, time. Nothing in it is secret; the nonce makes it unguessable.
const INFO_LEN: usize = 1 + 8 + 8;

impl Association {
    /// Asks whether the peer is where it only says it is. "These probing procedures are started when an association moves to
    /// the ESTABLISHED state and are ended when all paths are confirmed", and "In each RTO, a probe MAY be sent" (5.4).
    pub(super) fn probe(&mut self, now: Instant, index: usize) {
        let rto = self.lanes.first().map(|lane| lane.rtt.rto()).unwrap_or_default();
        if let Some(path) = self.paths.get_mut(index) {
            path.heartbeat_wanted = true;
            path.heartbeat_at = Some(now + rto);
        }
    }

    /// A probe was not answered in time. It counts for the path only: "When probing UNCONFIRMED addresses ... the association
    /// overall error count is not incremented" (5.4). A path that stays silent is left alone: whoever is there has nothing to
    /// do with us (RFC 5062, 6).
    fn on_probe_timer(&mut self, now: Instant, index: usize) {
        let goes_on = self.state.sends_data();
        let limit = self.config.path_max_retrans;
        let Some(path) = self.paths.get_mut(index) else { return };
        path.heartbeat_at = None;
        path.errors += 1;
        if goes_on && path.errors <= limit {
            self.probe(now, index);
        }
    }

    /// The heartbeat timer of a path ran out: an answer is overdue, or the path has been idle.
    pub(super) fn on_heartbeat_timer(&mut self, now: Instant, index: usize) {
        if self.paths.get(index).is_some_and(|p| !p.confirmed) {
            self.on_probe_timer(now, index);
            return;
        }
        let overdue = self.paths.get_mut(index).is_some_and(|p| p.awaiting.take().is_some());
        if overdue {
            if let Some(lane) = self.lanes.iter_mut().find(|l| usize::from(l.path) == index) {
                lane.rtt.back_off();
            }
            self.count_error(index as u8);
        }
        // "The sending of HEARTBEAT chunks ... is discontinued after sending either a SHUTDOWN chunk or SHUTDOWN ACK
        // chunk."
        if !self.state.sends_data() {
            if let Some(path) = self.paths.get_mut(index) {
                path.heartbeat_at = None;
            }
            return;
        }
        let rto =
            self.lanes.iter().find(|l| usize::from(l.path) == index).map(|l| l.rtt.rto()).unwrap_or_default();
        let Some(path) = self.paths.get_mut(index) else { return };
        // "A destination transport address is considered 'idle' if no new chunk that can be used for updating path
        // RTT ... and no HEARTBEAT chunk has been sent to it within the current heartbeat period".
        let idle = !path.used;
        path.arm_heartbeat(now, rto, &self.config, &mut self.rng);
        if idle {
            path.heartbeat_wanted = true;
        }
    }

    /// Writes the info of a HEARTBEAT for `path` and remembers it.
    pub(super) fn heartbeat_info(&mut self, now: Instant, index: usize) -> Option<[u8; INFO_LEN]> {
        let nonce = self.rng.u64();
        let path = self.paths.get_mut(index)?;
        path.heartbeat_wanted = false;
        path.awaiting = Some((nonce, now));
        let mut info = [0; INFO_LEN];
        info[0] = index as u8;
        info[1..9].copy_from_slice(&nonce.to_be_bytes());
        info[9..].copy_from_slice(&now.as_nanos().to_be_bytes());
        Some(info)
    }

    /// HEARTBEAT: "copied from the Heartbeat Information in the HEARTBEAT chunk" goes back (8.3).
    pub(super) fn on_heartbeat(&mut self, heartbeat: &Heartbeat<'_>) {
        if self.control.heartbeat_acks.len() < MAX_WAITING_CONTROL {
            self.control.heartbeat_acks.push_back(heartbeat.info.info.to_vec());
        }
    }

    /// HEARTBEAT ACK: only the info we sent last, bit by bit, counts. True when it has confirmed a path.
    pub(super) fn on_heartbeat_ack(&mut self, now: Instant, info: &[u8]) -> bool {
        let Ok(info) = <&[u8; INFO_LEN]>::try_from(info) else { return false };
        let index = info[0];
        let Some(path) = self.paths.get_mut(usize::from(index)) else { return false };
        let Some((nonce, sent_at)) = path.awaiting else { return false };
        if info[1..9] != nonce.to_be_bytes() || info[9..] != sent_at.as_nanos().to_be_bytes() {
            return false;
        }
        path.awaiting = None;
        // "When this match occurs, the address that the original HEARTBEAT was sent to is now considered CONFIRMED" (5.4).
        let confirmed = !std::mem::replace(&mut path.confirmed, true);
        if confirmed {
            // The path is not used, so its idleness is no news.
            path.heartbeat_at = None;
        }
        // "the endpoint SHOULD clear the error counter of the destination transport address ... and mark it as
        // active"; the association's counter is cleared, too (8.1).
        self.errors = 0;
        self.clear_path_errors(index);
        if let Some(lane) = self.lanes.iter_mut().find(|l| l.path == index) {
            let sample = now - sent_at;
            lane.rtt.sample(sample);
            let (srtt, rto) = (lane.rtt.srtt().unwrap_or_default(), lane.rtt.rto());
            self.record(now, 0, index, TraceEvent::Rtt { sample, srtt, rto });
        }
        confirmed
    }
}
