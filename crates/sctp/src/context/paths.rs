//! What happens on a path and others must learn of: errors, round trips, reachability.

use anabranch_base::{Duration, TraceEvent};

use super::Context;
use crate::event::Event;
use crate::ids::{PathId, SubflowId};
use crate::path::Path;

impl Context {
    /// The RTO of a path.
    pub(crate) fn path_rto(&self, path: PathId) -> Duration {
        self.paths.get(path).map_or(self.config.timers.rto_initial, |path| path.rtt().rto())
    }

    /// A round trip of a HEARTBEAT.
    // rfc9260:8.3-12
    pub(crate) fn sample_path(&mut self, id: PathId, sample: Duration) {
        let Some(path) = self.paths.get_mut(id) else { return };
        let rtt = path.rtt_mut();
        rtt.sample(sample);
        let (srtt, rto) = (rtt.srtt().unwrap_or_default(), rtt.rto());
        self.record(SubflowId::FIRST, id, TraceEvent::Rtt { sample, srtt, rto });
    }

    /// Whether a T3-rtx that ran for `waited` says anything of its path that was not counted yet.
    pub(crate) fn is_another_error(&mut self, id: PathId, waited: Duration, several: bool) -> bool {
        let now = self.now;
        self.paths.get_mut(id).is_none_or(|path| path.is_another_error(now, waited, several))
    }

    /// Path error counter (8.2): the user is told when the path goes down.
    pub(crate) fn count_path_error(&mut self, id: PathId) {
        let limit = self.config.limits.path_max_retrans;
        if self.paths.get_mut(id).is_some_and(|path| path.count_error(limit)) {
            self.tell(Event::PathDown { path: id.get() });
        }
    }

    /// Something proves that the path works: the user is told when it was down.
    pub(crate) fn clear_path_errors(&mut self, id: PathId) {
        if self.paths.get_mut(id).is_some_and(Path::clear_errors) {
            self.tell(Event::PathUp { path: id.get() });
        }
    }
}
