//! What happens on a path and others must learn of: errors, round trips, reachability.

use anabranch_base::{Duration, TraceEvent};

use crate::context::Context;
use crate::event::Event;
use crate::ids::{PathId, SubflowId};

impl Context {
    /// The RTO of a path.
    pub(crate) fn path_rto(&self, path: PathId) -> Duration {
        self.paths.get(path).map_or(self.config.timers.rto_initial, |path| path.rtt.rto())
    }

    /// A round trip of a HEARTBEAT.
    // rfc9260:8.3-12
    pub(crate) fn sample_path(&mut self, id: PathId, sample: Duration) {
        let Some(path) = self.paths.get_mut(id) else { return };
        path.rtt.sample(sample);
        let (srtt, rto) = (path.rtt.srtt().unwrap_or_default(), path.rtt.rto());
        self.record(SubflowId::FIRST, id, TraceEvent::Rtt { sample, srtt, rto });
    }

    /// Whether a T3-rtx that ran for `waited` says anything that was not counted yet.
    ///
    /// The RFC has one T3-rtx for each address, and counts "each time the T3-rtx timer expires" (8.2). Lanes have one each, and a
    /// silence of the path lets all of them expire: it is one error, or as many subflows as Association.Max.Retrans allows
    /// retransmissions would end the association at the first of them.
    pub(crate) fn is_another_error(&mut self, id: PathId, waited: Duration, several: bool) -> bool {
        let now = self.now;
        let Some(path) = self.paths.get_mut(id) else { return true };
        if several && path.error_at + waited > now {
            return false;
        }
        path.error_at = now;
        true
    }

    /// Path error counter (8.2).
    // rfc9260:8.2-1 rfc9260:8.2-2 rfc9260:8.3-4 rfc9260:8.3-5
    pub(crate) fn count_path_error(&mut self, id: PathId) {
        let limit = self.config.limits.path_max_retrans;
        let Some(path) = self.paths.get_mut(id) else { return };
        // "the endpoint SHOULD continue sending HEARTBEAT chunks on this destination address but SHOULD stop increasing the
        // counter" (8.3).
        if !path.active {
            return;
        }
        path.errors += 1;
        if path.errors > limit {
            path.active = false;
            self.tell(Event::PathDown { path: id.get() });
        }
    }

    /// Something proves that the path works.
    // rfc9260:8.2-3 rfc9260:8.3-10
    pub(crate) fn clear_path_errors(&mut self, id: PathId) {
        let Some(path) = self.paths.get_mut(id) else { return };
        path.errors = 0;
        if !path.active {
            path.active = true;
            self.tell(Event::PathUp { path: id.get() });
        }
    }
}
