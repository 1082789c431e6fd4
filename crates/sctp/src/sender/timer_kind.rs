//! The timers of the sender, by name.

use crate::ids::{LaneId, SpaceId};

/// A timer of the sender that has expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SenderTimer {
    T3(LaneId),
    Loss(LaneId),
    Pacer(LaneId),
    WindowProbe(SpaceId),
    Lifetime,
}
