//! The common part of all loss models: the decision about a frame, and the selection of frames that a model applies to.

use crate::{DscpSet, Frame};

/// Decides, frame by frame in the order in which they pass, which are lost.
pub trait LossModel {
    /// Whether this frame is lost.
    fn is_lost(&mut self, frame: &Frame) -> bool;
}

/// Which frames a model looks at. The others pass, are not counted and take no random number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Applies {
    /// Only frames that carry user data.
    pub data_only: bool,
    /// Only frames of this flow.
    pub flow: Option<u32>,
    /// Only frames with these code points.
    pub dscp: DscpSet,
}

impl Applies {
    #[inline]
    pub(crate) fn to(self, frame: &Frame) -> bool {
        (frame.data || !self.data_only)
            && self.flow.is_none_or(|flow| flow == frame.flow)
            && self.dscp.contains(frame.dscp)
    }
}
