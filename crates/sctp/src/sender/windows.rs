//! The windows of the peer, as one acknowledgement has them.

/// Windows that an acknowledgement speaks of.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Windows {
    /// Of the association; a SHUTDOWN chunk has none.
    pub(crate) a_rwnd: Option<u32>,
    /// Of the subflow.
    pub(crate) a_fwnd: Option<u32>,
}

impl Windows {
    /// True if the acknowledgement has any, as all but a SHUTDOWN chunk do.
    pub(super) fn is_any(self) -> bool {
        self.a_rwnd.is_some() || self.a_fwnd.is_some()
    }
}
