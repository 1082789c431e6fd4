//! Traffic conditioning at the entry of a link (RFC 2475, section 2.3): code points are rewritten, meters give colours,
//! and frames that exceed their contract are marked otherwise or dropped.

mod meter;

pub use meter::{Meter, MeterConfig};

use anabranch_base::{Dscp, Instant, Rng};

use crate::{Colour, DscpSet, Frame};

/// One conditioner. Several act one after the other.
#[derive(Clone, Debug, PartialEq)]
pub struct ConditionerConfig {
    /// Frames with these code points; the others pass untouched.
    pub dscp: DscpSet,
    /// The treatment of these frames.
    pub what: Conditioning,
}

/// The treatment of a frame by a conditioner.
#[derive(Clone, Debug, PartialEq)]
pub enum Conditioning {
    /// The code point is replaced: by that of the first rule that holds it, if any.
    Rewrite(Vec<(DscpSet, Dscp)>),
    /// A meter gives the frame a colour, and the colour has a consequence.
    Meter {
        /// The meter that chooses the colour.
        meter: MeterConfig,
        /// The consequence of each colour: green, yellow, red.
        actions: [Action; 3],
    },
}

/// The consequence of a frame's colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Action {
    /// The frame passes with its colour.
    #[default]
    Pass,
    /// The frame gets this code point.
    Mark(Dscp),
    /// The frame is dropped.
    Drop,
}

/// A conditioner at work.
#[derive(Clone, Debug)]
pub struct Conditioner {
    dscp: DscpSet,
    what: Working,
}

#[derive(Clone, Debug)]
enum Working {
    /// The new code point for each old one.
    Rewrite(Box<[Dscp; 64]>),
    Meter(Box<Meter>, [Action; 3]),
}

impl Conditioner {
    /// Builds the conditioner. The meter's random draws come from `rng`.
    #[must_use]
    pub fn new(config: &ConditionerConfig, rng: Rng) -> Self {
        let what = match &config.what {
            Conditioning::Rewrite(rules) => {
                let mut table = Box::new([Dscp::DEFAULT; 64]);
                for (old, new) in (0_u8..).zip(table.iter_mut()) {
                    let old = Dscp::new(old).unwrap_or_default();
                    *new = rules.iter().find(|(points, _)| points.contains(old)).map_or(old, |rule| rule.1);
                }
                Working::Rewrite(table)
            }
            Conditioning::Meter { meter, actions } => {
                Working::Meter(Box::new(Meter::new(*meter, rng)), *actions)
            }
        };
        Self { dscp: config.dscp, what }
    }

    /// Conditions a frame that arrives at `now`. False when the frame has to be dropped.
    pub fn condition(&mut self, now: Instant, frame: &mut Frame) -> bool {
        if !self.dscp.contains(frame.dscp) {
            return true;
        }
        match &mut self.what {
            Working::Rewrite(table) => {
                frame.dscp = table.get(usize::from(frame.dscp.get())).copied().unwrap_or(frame.dscp);
                true
            }
            Working::Meter(meter, actions) => {
                frame.colour = meter.colour(now, frame.size, frame.colour);
                let [green, yellow, red] = actions;
                let action = match frame.colour {
                    Colour::Green => green,
                    Colour::Yellow => yellow,
                    Colour::Red => red,
                };
                match action {
                    Action::Pass => true,
                    Action::Mark(dscp) => {
                        frame.dscp = *dscp;
                        true
                    }
                    Action::Drop => false,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
