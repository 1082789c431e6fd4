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
mod window;
mod words;

pub use event::{Acked, Base, Congestion, Timing};
pub use growth::{FccClock, FccRounding, FccStep, Growth};
pub use reno::{AckedGrowth, WindowRules};
use rfc9260::{ChunkRules, Chunks};
pub use segments::Algorithm;
use segments::{SegmentRules, Segments};
use window::Window;

/// A congestion controller. Its window is asked for with every packet and lies open; the rules are an enum, no trait object.
/// What few have is behind a box, so that an idle lane of SCTP has no room for it.
#[derive(Clone, Debug)]
pub struct Controller {
    window: Window,
    rules: Rules,
}

#[derive(Clone, Debug)]
enum Rules {
    /// RFC 9260, section 7.2, with fractional congestion control and linked increases.
    Chunks(Chunks),
    /// Reno, CUBIC, BIC and Vegas as TCP has them, with or without HyStart++.
    Segments(Box<Segments>),
}

impl Controller {
    /// The rules of RFC 9260.
    #[must_use]
    pub fn chunks(rules: &ChunkRules) -> Self {
        let window = Window { cwnd: rules.initial_window, ssthresh: rules.initial_ssthresh };
        Self { window, rules: Rules::Chunks(Chunks::new(rules)) }
    }

    /// One of TCP's.
    #[must_use]
    pub fn segments(rules: &SegmentRules) -> Self {
        let segments = Segments::new(rules);
        Self { window: segments.window(), rules: Rules::Segments(Box::new(segments)) }
    }

    /// cwnd, bytes.
    #[inline]
    #[must_use]
    pub fn window(&self) -> u64 {
        self.window.cwnd
    }

    /// ssthresh, bytes.
    #[inline]
    #[must_use]
    pub fn ssthresh(&self) -> u64 {
        self.window.ssthresh
    }

    /// An acknowledgement of new data. `timing` is asked for where it is needed.
    #[inline]
    pub fn on_ack(&mut self, acked: &Acked, timing: impl FnOnce() -> Timing) {
        match &mut self.rules {
            Rules::Chunks(chunks) => chunks.on_ack(&mut self.window, acked),
            Rules::Segments(segments) => {
                segments.on_ack(*acked, timing());
                self.window = segments.window();
            }
        }
    }

    /// The network lost something, or is about to.
    pub fn on_congestion(&mut self, event: Congestion) {
        match &mut self.rules {
            Rules::Chunks(chunks) => chunks.on_congestion(&mut self.window, event),
            Rules::Segments(segments) => {
                segments.on_congestion(event);
                self.window = segments.window();
            }
        }
    }

    /// An RTO passed without a transmission (RFC 9260, 7.2.1).
    pub fn on_idle(&mut self) {
        match &mut self.rules {
            Rules::Chunks(chunks) => chunks.on_idle(&mut self.window),
            Rules::Segments(segments) => {
                segments.on_idle();
                self.window = segments.window();
            }
        }
    }

    /// Growth in congestion avoidance. Only the rules of RFC 9260 can be coupled to other lanes.
    pub fn set_growth(&mut self, growth: Growth) {
        if let Rules::Chunks(chunks) = &mut self.rules {
            chunks.set_growth(&self.window, growth);
        }
    }

    /// Takes over the window of another lane whose traffic comes here: windows add up, bytes.
    pub fn absorb(&mut self, window: u64, ssthresh: u64) {
        match &mut self.rules {
            Rules::Chunks(_) => {
                self.window.cwnd = self.window.cwnd.saturating_add(window);
                self.window.ssthresh = self.window.ssthresh.saturating_add(ssthresh);
            }
            Rules::Segments(segments) => {
                segments.absorb(window, ssthresh);
                self.window = segments.window();
            }
        }
    }

    /// The window is what another rule made of it, bytes: gradual reduction, a quirk.
    pub fn set_window(&mut self, bytes: u64) {
        match &mut self.rules {
            Rules::Chunks(_) => self.window.cwnd = bytes,
            Rules::Segments(segments) => {
                segments.set_cwnd(bytes);
                self.window = segments.window();
            }
        }
    }

    /// A full packet has another size from now on, bytes: "An update to the PLPMTU (or MPS) MUST NOT increase the congestion window
    /// measured in bytes" (RFC 8899, 3), nor is a smaller one a sign of congestion. What windows are counted in changes.
    pub fn resize(&mut self, unit: u64) {
        match &mut self.rules {
            Rules::Chunks(chunks) => chunks.resize(unit),
            Rules::Segments(segments) => segments.resize(unit),
        }
    }

    /// The window is at most so many bytes: a recovery is over.
    pub fn limit_window(&mut self, bytes: u64) {
        match &mut self.rules {
            Rules::Chunks(_) => self.window.cwnd = self.window.cwnd.min(bytes),
            Rules::Segments(segments) => {
                segments.limit_cwnd(bytes);
                self.window = segments.window();
            }
        }
    }

    /// After an idle time, or a handshake with losses: starts again with at most so many bytes (RFC 5681, 4.1).
    pub fn restart(&mut self, bytes: u64) {
        self.limit_window(bytes);
        if let Rules::Segments(segments) = &mut self.rules {
            segments.restart();
        }
    }

    /// The threshold that an earlier connection to the same host left, bytes.
    pub fn seed_ssthresh(&mut self, bytes: u64) {
        match &mut self.rules {
            Rules::Chunks(chunks) => chunks.seed_ssthresh(&mut self.window, bytes),
            Rules::Segments(segments) => {
                segments.seed_ssthresh(bytes);
                self.window = segments.window();
            }
        }
    }

    /// The last reduction was needless: window and threshold are at least what they were (RFC 4015, section 3.2, with the
    /// whole window at once). Only the controllers of TCP remember, where they are told to.
    pub fn undo(&mut self) {
        if let Rules::Segments(segments) = &mut self.rules {
            segments.undo();
            self.window = segments.window();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A lane of SCTP with the rules of RFC 9260 is no larger because there are others.
    #[test]
    fn the_box_costs_nothing() {
        assert_eq!(size_of::<Controller>(), size_of::<Window>() + size_of::<Chunks>());
        assert!(size_of::<Controller>() <= 136, "{} bytes", size_of::<Controller>());
    }

    /// What TCP alone asks for, of either family.
    #[test]
    fn windows_that_others_set() {
        let chunks = ChunkRules {
            unit: 1000,
            initial_window: 10_000,
            initial_ssthresh: 50_000,
            floor: 4000,
            slow_start_limit: 1000,
            idle_floor: None,
            backoff_keeps_ssthresh: false,
            slow_start_at_ssthresh: true,
            needs_advance: true,
            pba_needs_full_window: false,
            pba_clamp: true,
            pba_counts_twice: false,
            fcc_step: FccStep::Packet,
            fcc_clock: FccClock::Bytes,
            fcc_rounding: FccRounding::Exact,
            fcc_slow_start: false,
        };
        let segments = SegmentRules {
            algorithm: Algorithm::Cubic,
            hystart: false,
            window: WindowRules {
                segment: 1000,
                growth: AckedGrowth::Bytes,
                limit: 1,
                initial_window: 10_000,
                initial_ssthresh: 50_000,
                floor: 4000,
                loss_window: 1,
            },
            undo: true,
            needs_full_window: false,
            needs_advance: false,
            backoff_keeps_ssthresh: false,
            idle_floor: None,
        };
        // RFC 9260 halves, CUBIC cuts to 0.7; the floor is four packets.
        for (mut c, undone, cuts) in [
            (Controller::chunks(&chunks), 1000, [2500, 2000]),
            (Controller::segments(&segments), 20_000, [3500, 2450]),
        ] {
            assert_eq!((c.window(), c.ssthresh()), (10_000, 50_000));
            c.set_window(20_000);
            c.limit_window(30_000);
            assert_eq!(c.window(), 20_000);
            c.seed_ssthresh(30_000);
            assert_eq!(c.ssthresh(), 30_000);
            c.on_congestion(Congestion::Timeout(Some(Base::CWND)));
            assert_eq!(c.window(), 1000);
            c.undo();
            assert_eq!(c.window(), undone, "remembered or not");
            c.set_window(20_000);
            c.restart(4000);
            assert_eq!(c.window(), 4000);
            c.absorb(1000, 0);
            assert_eq!(c.window(), 5000);
            // Smaller packets: the window stays, floors and the window after a timeout are in new units.
            c.resize(500);
            assert_eq!(c.window(), 5000);
            c.on_congestion(Congestion::FastRetransmit(Base::CWND));
            assert_eq!(c.window(), cuts[0]);
            c.on_congestion(Congestion::FastRetransmit(Base::CWND));
            assert_eq!((c.window(), c.ssthresh()), (cuts[1], cuts[1]));
            c.on_congestion(Congestion::Timeout(Some(Base::CWND)));
            assert_eq!(c.window(), 500);
        }
    }
}
