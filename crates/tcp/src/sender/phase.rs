//! Phases of loss recovery.

/// Phase of loss recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Open,
    /// Fast recovery.
    Fast,
    /// After a timeout, until everything outstanding then is acknowledged.
    Loss,
}
