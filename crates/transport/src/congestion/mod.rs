//! How much may be in flight.
//!
//! A controller sees one [`Acked`] for every acknowledgement of new data and every [`Congestion`]; it answers
//! [`Controller::window`]. The data in flight, losses and the times of departure are decided elsewhere.
//!
//! There are two families. RFC 9260 counts bytes of chunks, waits for a full window of them, and may be one of several lanes
//! that are coupled ([`rfc9260`]). The other family counts segments, as TCP does; slow start, restart and undo are the
//! same for all of that family, Reno, CUBIC, BIC and Vegas differ in congestion avoidance and in the window after a
//! loss ([`segments`]). Either protocol may have either.

pub mod bbr;
mod bic;
mod cubic;
mod event;
mod growth;
mod hystart;
mod reno;
pub mod rfc9260;
pub mod segments;
mod validation;
mod vegas;
mod window;
mod words;

use anabranch_base::{Duration, Instant, cold_path};
use bbr::{Bbr, BbrRules};
pub use event::{Acked, Base, Congestion, Timing};
pub use growth::{FccClock, FccRounding, FccStep, Growth};
pub use reno::{AckedGrowth, WindowRules};
use rfc9260::{ChunkRules, Chunks};
pub use segments::Algorithm;
use segments::{SegmentRules, Segments};
use window::Window;

/// A congestion controller. Its window is a plain field, because every packet asks for it; the rules are an enum, no
/// trait object. State that few controllers need is behind a box, so that an idle lane of SCTP does not hold it.
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
    /// BBR: a model of the path decides, from samples of the delivery rate.
    Model(Box<Bbr>),
}

impl Controller {
    /// The rules of RFC 9260.
    #[must_use]
    pub fn chunks(rules: &ChunkRules) -> Self {
        let window = Window { cwnd: rules.initial_window, ssthresh: rules.initial_ssthresh };
        Self { window, rules: Rules::Chunks(Chunks::new(rules)) }
    }

    /// A controller of TCP.
    #[must_use]
    pub fn segments(rules: &SegmentRules) -> Self {
        let Some(segments) = Segments::new(rules) else {
            let WindowRules { segment, initial_window, .. } = rules.window;
            let bbr = Bbr::new(&BbrRules { unit: segment, initial_window });
            return Self { window: bbr.window(), rules: Rules::Model(Box::new(bbr)) };
        };
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
            Rules::Segments(_) | Rules::Model(_) => {
                cold_path();
                self.on_timed_ack(acked, &timing());
            }
        }
    }

    /// Whether [`Controller::on_ack`] asks for times.
    #[inline]
    #[must_use]
    pub fn wants_times(&self) -> bool {
        !matches!(self.rules, Rules::Chunks(_))
    }

    /// [`Controller::on_ack`] of one that wants times.
    #[inline(never)]
    pub fn on_timed_ack(&mut self, acked: &Acked, timing: &Timing) {
        match &mut self.rules {
            Rules::Chunks(_) => {}
            Rules::Segments(segments) => {
                segments.on_ack(acked, timing, self.window.cwnd);
                self.window = segments.window();
            }
            Rules::Model(bbr) => {
                bbr.on_ack(acked, timing);
                self.window = bbr.window();
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
            Rules::Model(bbr) => {
                bbr.on_congestion(event);
                self.window = bbr.window();
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
            // "BBR leaves C.cwnd as-is and paces packets at exactly BBR.bw" (draft-ietf-ccwg-bbr-05, 5.4.1).
            Rules::Model(_) => {}
        }
    }

    /// Nothing was sent for so long (RFC 7661, 4.4.2).
    pub fn on_pause(&mut self, idle: Duration) {
        if let Rules::Segments(segments) = &mut self.rules {
            segments.on_pause(idle);
            self.window = segments.window();
        }
    }

    /// Growth in congestion avoidance, as the coupling of the lanes has it (docs/explanation/couplings.md).
    pub fn set_growth(&mut self, growth: Growth) {
        match &mut self.rules {
            Rules::Chunks(chunks) => chunks.set_growth(&self.window, growth),
            Rules::Segments(segments) => segments.set_growth(growth),
            Rules::Model(bbr) => bbr.set_growth(growth),
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
            Rules::Model(bbr) => {
                bbr.absorb(window);
                self.window = bbr.window();
            }
        }
    }

    /// Sets the window to a size that another rule has given, bytes: gradual reduction, a quirk.
    pub fn set_window(&mut self, bytes: u64) {
        match &mut self.rules {
            Rules::Chunks(_) => self.window.cwnd = bytes,
            Rules::Segments(segments) => {
                segments.set_cwnd(bytes);
                self.window = segments.window();
            }
            Rules::Model(bbr) => {
                bbr.set_cwnd_to(bytes);
                self.window = bbr.window();
            }
        }
    }

    /// A full packet has another size from now on, bytes: "An update to the PLPMTU (or MPS) MUST NOT increase the congestion window
    /// measured in bytes" (RFC 8899, 3), nor is a smaller one a sign of congestion. The unit in which windows are
    /// counted changes.
    pub fn resize(&mut self, unit: u64) {
        match &mut self.rules {
            Rules::Chunks(chunks) => chunks.resize(unit),
            Rules::Segments(segments) => segments.resize(unit),
            Rules::Model(bbr) => bbr.resize(unit),
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
            // After a recovery the window is that of the model, and the pacer prevents a burst.
            Rules::Model(_) => {}
        }
    }

    /// After an idle time, or a handshake with losses: starts again with at most so many bytes (RFC 5681, 4.1).
    pub fn restart(&mut self, bytes: u64) {
        self.limit_window(bytes);
        if let Rules::Segments(segments) = &mut self.rules {
            segments.restart();
        }
    }

    /// Numbers begin anew, and nothing is in flight: the round trip that is being measured is over, as its end was a number that will not
    /// come.
    pub fn end_round(&mut self) {
        if let Rules::Segments(segments) = &mut self.rules {
            segments.end_round();
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
            Rules::Model(_) => {}
        }
    }

    /// The last reduction was needless: window and threshold get at least their old values (RFC 4015, section 3.2, with the
    /// whole window at once). Only the controllers of TCP remember, where they are told to.
    pub fn undo(&mut self) {
        match &mut self.rules {
            Rules::Chunks(_) => {}
            Rules::Segments(segments) => {
                segments.undo();
                self.window = segments.window();
            }
            Rules::Model(bbr) => {
                bbr.undo();
                self.window = bbr.window();
            }
        }
    }

    /// Whether it follows a model of the path: it wants to hear of every packet and every loss, and says how fast packets leave.
    #[inline]
    #[must_use]
    pub fn is_model(&self) -> bool {
        matches!(self.rules, Rules::Model(_))
    }

    /// How fast packets leave, bytes a second, where the controller says so; `None` also while no round trip is known.
    #[must_use]
    pub fn pacing_rate(&self) -> Option<u64> {
        match &self.rules {
            Rules::Model(bbr) => bbr.pacing_rate(),
            Rules::Chunks(_) | Rules::Segments(_) => None,
        }
    }

    /// Most bytes that leave at once, where the controller says so (`send_quantum`).
    #[must_use]
    pub fn quantum(&self) -> Option<u64> {
        match &self.rules {
            Rules::Model(bbr) => Some(bbr.quantum()),
            Rules::Chunks(_) | Rules::Segments(_) => None,
        }
    }

    /// A packet left, new or again: bytes in flight before it, and with it. `dry`: nothing else waits to be sent.
    pub fn on_sent(&mut self, now: Instant, before: u64, in_flight: u64, dry: bool) {
        if let Rules::Model(bbr) = &mut self.rules {
            bbr.on_sent(now, before, in_flight, dry);
            self.window = bbr.window();
        }
    }

    /// So many bytes that left at `sent_at` were found lost, by acknowledgements or by the time.
    pub fn on_lost(&mut self, now: Instant, sent_at: Instant, bytes: u64) {
        if let Rules::Model(bbr) = &mut self.rules {
            bbr.on_lost(now, sent_at, bytes);
            self.window = bbr.window();
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

    /// Operations that only TCP uses, on both families.
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
            validation: false,
            gentle_convergence: false,
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
            // The timeout's retransmission is lost as well: a window below the floor is not raised by that, a larger
            // one comes down, and nothing takes it back.
            c.on_congestion(Congestion::LostAgain(Base::CWND));
            assert_eq!((c.window(), c.ssthresh()), (500, 2000));
            c.set_window(20_000);
            c.on_congestion(Congestion::LostAgain(Base::CWND));
            let again = if undone == 1000 { 10_000 } else { 14_000 };
            assert_eq!((c.window(), c.ssthresh()), (again, again));
            c.undo();
            assert_eq!(c.window(), again);
        }
    }
}
