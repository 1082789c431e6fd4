//! How much may be in flight.
//!
//! A controller sees one [`Acked`] for every acknowledgement of new data and every [`Congestion`]; it answers
//! [`Controller::window`]. What is in flight, what is lost and when something leaves is decided elsewhere.
//!
//! There are two families. RFC 9260 counts bytes of chunks, waits for a full window of them, and may be one of several lanes
//! that are coupled ([`rfc9260`]). What TCP has counts segments; slow start, restart and undo are the same for all of that
//! family, Reno, CUBIC, BIC and Vegas differ in congestion avoidance and in what a loss leaves ([`segments`]). Either protocol
//! may have either.

mod bic;
mod cubic;
mod event;
mod growth;
mod hystart;
mod reno;
pub mod rfc9260;
pub mod segments;
mod vegas;
mod words;

pub use event::{Acked, Base, Congestion, Timing};
pub use growth::{FccClock, FccRounding, FccStep, Growth};
pub use reno::{AckedGrowth, WindowRules};
use rfc9260::{ChunkRules, Chunks};
pub use segments::Algorithm;
use segments::{SegmentRules, Segments};

/// A congestion controller. An enum, not a trait object: the window is asked for with every packet. What few have is behind a
/// box, so that an idle lane of SCTP has no room for it.
#[derive(Clone, Debug)]
pub enum Controller {
    /// RFC 9260, section 7.2, with fractional congestion control and linked increases.
    Chunks(Chunks),
    /// Reno, CUBIC, BIC and Vegas as TCP has them, with or without HyStart++.
    Segments(Box<Segments>),
}

macro_rules! either {
    ($self:ident, $controller:ident => $answer:expr) => {
        match $self {
            Self::Chunks($controller) => $answer,
            Self::Segments($controller) => $answer,
        }
    };
}

impl Controller {
    /// The rules of RFC 9260.
    #[must_use]
    pub fn chunks(rules: &ChunkRules) -> Self {
        Self::Chunks(Chunks::new(rules))
    }

    /// One of TCP's.
    #[must_use]
    pub fn segments(rules: &SegmentRules) -> Self {
        Self::Segments(Box::new(Segments::new(rules)))
    }

    /// cwnd, bytes.
    #[inline]
    #[must_use]
    pub fn window(&self) -> u64 {
        either!(self, controller => controller.window())
    }

    /// ssthresh, bytes.
    #[inline]
    #[must_use]
    pub fn ssthresh(&self) -> u64 {
        either!(self, controller => controller.ssthresh())
    }

    /// An acknowledgement of new data. `timing` is asked for where it is needed.
    #[inline]
    pub fn on_ack(&mut self, acked: &Acked, timing: impl FnOnce() -> Timing) {
        match self {
            Self::Chunks(controller) => controller.on_ack(acked),
            Self::Segments(controller) => controller.on_ack(acked, &timing()),
        }
    }

    /// The network lost something, or is about to.
    pub fn on_congestion(&mut self, event: Congestion) {
        either!(self, controller => controller.on_congestion(event));
    }

    /// An RTO passed without a transmission (RFC 9260, 7.2.1).
    pub fn on_idle(&mut self) {
        either!(self, controller => controller.on_idle());
    }

    /// Growth in congestion avoidance. Only [`Controller::Chunks`] can be coupled to others.
    pub fn set_growth(&mut self, growth: Growth) {
        if let Self::Chunks(controller) = self {
            controller.set_growth(growth);
        }
    }

    /// Takes over the window of another lane whose traffic comes here: windows add up, bytes.
    pub fn absorb(&mut self, window: u64, ssthresh: u64) {
        either!(self, controller => controller.absorb(window, ssthresh));
    }

    /// The window is what another rule made of it, bytes: gradual reduction, a quirk.
    pub fn set_window(&mut self, bytes: u64) {
        either!(self, controller => controller.set_window(bytes));
    }

    /// The window is at most so many bytes: a recovery is over.
    pub fn limit_window(&mut self, bytes: u64) {
        either!(self, controller => controller.limit_window(bytes));
    }

    /// After an idle time, or a handshake with losses: starts again with at most so many bytes (RFC 5681, 4.1).
    pub fn restart(&mut self, bytes: u64) {
        self.limit_window(bytes);
        if let Self::Segments(controller) = self {
            controller.restart();
        }
    }

    /// The threshold that an earlier connection to the same host left, bytes.
    pub fn seed_ssthresh(&mut self, bytes: u64) {
        either!(self, controller => controller.seed_ssthresh(bytes));
    }

    /// The last reduction was needless: window and threshold are at least what they were (RFC 4015, section 3.2, with the
    /// whole window at once). Only [`Controller::Segments`] remembers, where it is told to.
    pub fn undo(&mut self) {
        if let Self::Segments(controller) = self {
            controller.undo();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A lane of SCTP with the rules of RFC 9260 is no larger because there are others.
    #[test]
    fn the_box_costs_nothing() {
        assert_eq!(size_of::<Controller>(), size_of::<Chunks>());
        assert!(size_of::<Controller>() <= 136, "{} bytes", size_of::<Controller>());
    }
}
