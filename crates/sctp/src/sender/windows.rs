//! The windows of the peer in one acknowledgement.

/// Windows in an acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Windows {
    /// The window of the association; a SHUTDOWN chunk has none.
    pub(crate) a_rwnd: Option<u32>,
    /// The window of the subflow.
    pub(crate) a_fwnd: Option<u32>,
}

impl Windows {
    /// True if the acknowledgement has a window, as all but a SHUTDOWN chunk do.
    pub(super) fn is_any(self) -> bool {
        self.a_rwnd.is_some() || self.a_fwnd.is_some()
    }
}
