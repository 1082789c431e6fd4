//! HEARTBEAT and its answer (RFC 9260, 8.3).

use anabranch_wire::{CommonHeader, RawChunk, padded};

use super::PathManager;
use crate::ids::{PathId, SubflowId};
use crate::path::HEARTBEAT_INFO_LEN;

impl PathManager<'_> {
    /// Asks whether the peer is where it only says it is. "These probing procedures are started when an association moves to
    /// the ESTABLISHED state and are ended when all paths are confirmed", and "In each RTO, a probe MAY be sent" (5.4).
    pub(crate) fn probe(&mut self, id: PathId) {
        let again = self.scope.cx.env.now() + self.scope.cx.paths.rto(self.scope.cx.env.config(), id);
        if let Some(path) = self.scope.cx.paths.get_mut(id) {
            path.heartbeat_mut().probe(again);
        }
    }

    /// The heartbeat timer of a path ran out: an answer is overdue, and then this is an error, or the path has been idle.
    pub(crate) fn on_heartbeat_timer(&mut self, id: PathId) -> bool {
        if self.scope.cx.paths.get(id).is_some_and(|path| !path.is_confirmed()) {
            let limit = self.scope.cx.env.config().limits.path_max_retrans;
            let goes_on = self.scope.cx.paths.get_mut(id).is_some_and(|path| path.probe_unanswered(limit));
            if goes_on && self.scope.cx.env.state().sends_data() {
                self.probe(id);
            }
            return false;
        }
        let (now, config) = (self.scope.cx.env.now(), self.scope.cx.env.config());
        self.scope.cx.paths.get_mut(id).is_some_and(|path| path.heartbeat_overdue(now, config))
    }

    /// The heartbeat timer of a path ran out, and the error, if it was one, has been counted: where its period is over the next one begins.
    // rfc9260:8.3-14
    pub(crate) fn begin_heartbeat_period(&mut self, id: PathId) {
        let now = self.scope.cx.env.now();
        let (state, rng) = (self.scope.cx.env.state(), &mut self.scope.cx.rng);
        let Some(path) = self
            .scope
            .cx
            .paths
            .get_mut(id)
            .filter(|path| path.is_confirmed() && path.heartbeat().is_period_over(now))
        else {
            return;
        };
        // "The sending of HEARTBEAT chunks ... is discontinued after sending either a SHUTDOWN chunk or SHUTDOWN ACK
        // chunk."
        if state.sends_data() {
            path.begin_heartbeat_period(now, self.scope.cx.env.config(), rng);
        } else {
            path.heartbeat_mut().stop_timer();
        }
    }

    /// HEARTBEAT: "the Heartbeat Information TLV, together with any other received TLVs, copied unchanged" goes back to where it
    /// came from (8.3).
    ///
    /// The answer is as long as the question. One that came in pieces and does not fit a packet of the path gets none: "the total
    /// size of the resulting SCTP packet MUST be less than or equal to the current PMTU" (6.10).
    // rfc9260:3.3.6-2 rfc9260:8.3-8
    pub(crate) fn on_heartbeat(&mut self, from: PathId, heartbeat: RawChunk<'_>) {
        let limit = self.scope.cx.paths.get(from).map_or(0, crate::path::Path::max_packet);
        if CommonHeader::LEN + padded(heartbeat.bytes.len()) <= limit {
            self.scope.control.answer_heartbeat(from, heartbeat.value);
        }
    }

    /// HEARTBEAT ACK. True when it has confirmed a path.
    // rfc9260:8.1-6 rfc9260:8.3-7 rfc9260:8.3-9 rfc9260:8.3-11
    pub(crate) fn on_heartbeat_ack(&mut self, info: &[u8]) -> bool {
        let Ok(info) = <&[u8; HEARTBEAT_INFO_LEN]>::try_from(info) else { return false };
        let id = PathId::new(info[0]);
        let Some(path) = self.scope.cx.paths.get_mut(id) else { return false };
        let Some(sent_at) = path.heartbeat_mut().answered(info) else {
            self.on_mtu_probe_answer(id, info);
            return false;
        };
        let confirmed = path.confirm();
        if confirmed {
            self.begin_mtu_search(id);
            self.scope.sender.follow_paths(self.scope.cx);
        }
        // "the endpoint SHOULD clear the error counter of the destination transport address ... and mark it as active" (8.3). The
        // association's counter is cleared, too, but not "if there is outstanding data on the association" (8.1): a path that
        // carries HEARTBEATs and no DATA would keep it for ever.
        self.clear_errors_by_heartbeat(id);
        let sample = self.scope.cx.env.now() - sent_at;
        if let Some(estimate) = self.scope.cx.paths.sample(id, sample) {
            self.scope.cx.record(SubflowId::FIRST, id, estimate);
        }
        if self.scope.cx.paths.is_primary(id) {
            self.scope.receiver.window_mut().hear_round_trip(self.scope.cx, sample);
        }
        confirmed
    }
}
