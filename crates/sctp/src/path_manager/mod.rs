//! Manager of an association's paths: events on them, and the user's commands.

mod commands;
mod heartbeat;
mod mtu;

use crate::ids::PathId;
use crate::scope::Scope;

/// The paths, with the owners that must follow where one of them changes. An association lends it for one call.
pub(crate) struct PathManager<'a> {
    scope: Scope<'a>,
}

impl<'a> PathManager<'a> {
    /// For one call.
    #[inline]
    pub(crate) fn new(scope: Scope<'a>) -> Self {
        Self { scope }
    }
}

impl PathManager<'_> {
    /// Something has come that proves that a path works (8.1, 8.2).
    // rfc9260:8.1-5
    pub(crate) fn clear_errors(&mut self, id: PathId) {
        self.scope.cx.paths.clear_errors();
        self.clear_path_errors(id);
    }

    /// Something has come that proves that a path works (8.2).
    fn clear_path_errors(&mut self, id: PathId) {
        if let Some(up) = self.scope.cx.paths.on_answer(id) {
            self.scope.cx.tell(up);
            self.scope.sender.follow_paths(self.scope.cx);
        }
    }

    /// A HEARTBEAT, or a probe of the MTU, has been answered.
    fn clear_errors_by_heartbeat(&mut self, id: PathId) {
        self.clear_path_errors(id);
        if self.scope.sender.unacknowledged_chunks() == 0 {
            self.scope.cx.paths.clear_errors();
        }
    }
}
