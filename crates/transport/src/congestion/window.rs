//! The state that every controller has.

/// Window and threshold, bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    pub(super) cwnd: u64,
    pub(super) ssthresh: u64,
}
