//! What a receive window that grows keeps.

use anabranch_transport::autotune::Autotune;

use crate::budget::Share;

/// What a receive window that grows is told by; from the first message on that is read.
#[derive(Debug)]
pub(super) struct Growth {
    pub(super) rate: Autotune,
    /// The window that the association began with, bytes.
    pub(super) first: u32,
    /// What it has beyond that.
    pub(super) share: Option<Share>,
}
