//! The credit that a peer gives a subflow (levels 1 and sf2007).

/// The credit of one subflow: its part of the buffer of the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Allowance {
    /// Bytes that may still be sent: a_fwnd of the peer's last SF-SACK of the subflow, less the bytes that were outstanding then.
    pub(crate) window: u64,
}

impl Allowance {
    /// The allowance of a subflow without a credit of its own.
    pub(crate) const UNLIMITED: Self = Self { window: u64::MAX };

    /// True if there is a limit.
    pub(crate) fn is_limited(self) -> bool {
        self.window != u64::MAX
    }

    /// Bytes that may still be sent; `None` without a limit.
    pub(crate) fn left(self) -> Option<u64> {
        self.is_limited().then_some(self.window)
    }

    /// The peer said a_fwnd, and `outstanding` bytes were not acknowledged then.
    pub(crate) fn set(&mut self, a_fwnd: u32, outstanding: u64) {
        self.window = u64::from(a_fwnd).saturating_sub(outstanding);
    }

    pub(crate) fn take(&mut self, bytes: u64) {
        if self.is_limited() {
            self.window = self.window.saturating_sub(bytes);
        }
    }

    pub(crate) fn give_back(&mut self, bytes: u64) {
        self.window = self.window.saturating_add(bytes);
    }
}
