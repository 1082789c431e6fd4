//! The window of lanes that act as one flow, or as a few: a controller of its own, which gets the acknowledgements
//! and losses of all of them.

use std::collections::VecDeque;

use anabranch_base::{Duration, Instant};
use anabranch_transport::congestion::{Acked, Base, Congestion, Controller, Growth, Timing};

/// One flow, of which lanes are parts.
#[derive(Debug)]
pub(super) struct OneFlow {
    controller: Controller,
    /// Number of flows like which it grows and is cut.
    flows: u32,
    /// The window before it acted as several, bytes.
    before: u64,
    /// When it was cut last.
    cut_at: Option<Instant>,
    /// Losses for which it was cut, the newest first.
    events: VecDeque<Event>,
    /// Bytes acknowledged so far: controllers tell their rounds by them.
    acked: u64,
    /// When something was acknowledged last.
    heard: Option<Instant>,
}

/// Losses that the window was cut for.
#[derive(Clone, Copy, Debug)]
struct Event {
    /// Time at which the lost packet left that was found first.
    sent_at: Instant,
    cut_at: Instant,
    srtt: Duration,
    cuts: u32,
}

/// Events that are remembered: a lane with one packet in flight detects its loss only after an RTO.
const EVENTS: usize = 16;

impl Event {
    fn holds(&self, sent_at: Instant) -> bool {
        let near = |at: Instant| sent_at + self.srtt >= at;
        (near(self.sent_at) && sent_at <= self.sent_at + self.srtt)
            || (near(self.cut_at) && sent_at <= self.cut_at)
    }
}

/// An acknowledgement, summed up over all of its lanes.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlowAcknowledged {
    pub(super) now: Instant,
    /// Acknowledged for the first time, bytes.
    pub(super) bytes: u64,
    /// Bytes in flight on all lanes before it.
    pub(super) flight: u64,
    /// True if the bytes in flight filled the window.
    pub(super) full: bool,
    pub(super) rtt: Option<Duration>,
    pub(super) srtt: Option<Duration>,
}

impl OneFlow {
    pub(super) fn new(controller: Controller) -> Self {
        Self { controller, flows: 1, before: 0, cut_at: None, events: VecDeque::new(), acked: 0, heard: None }
    }

    /// Bytes that the lanes of the flow may have in flight together.
    pub(super) fn window(&self) -> u64 {
        self.controller.window()
    }

    /// From now on it grows, and is cut, like so many flows.
    pub(super) fn act_as(&mut self, flows: u32) {
        if self.flows == 1 {
            self.before = self.window();
        }
        self.flows = flows.max(1);
    }

    /// Its lanes were a part of another flow until now, with so much in flight.
    pub(super) fn take_over(&mut self, flight: u64) {
        self.controller.set_window(flight);
        self.controller.seed_ssthresh(flight);
    }

    /// Acts as one flow again, with no larger window than before it acted as several.
    pub(super) fn go_back(&mut self) {
        let window = self.window().min(self.before);
        self.controller.set_window(window);
        self.controller.seed_ssthresh(window);
        self.flows = 1;
    }

    pub(super) fn on_ack(&mut self, all: &FlowAcknowledged) {
        self.acked = self.acked.wrapping_add(all.bytes);
        self.heard = Some(all.now);
        self.controller.set_growth(match self.flows {
            1 => Growth::Phi(1.0),
            flows => Growth::Linked(f64::from(flows)),
        });
        let acked = Acked {
            cumulative: all.bytes,
            flight_before: if all.full { u64::MAX } else { all.flight },
            cumulative_advanced: true,
            in_recovery: self.cut_at.is_some_and(|at| all.now - at < all.srtt.unwrap_or_default()),
            ..Acked::default()
        };
        let una = self.acked;
        let flight = all.flight.saturating_sub(all.bytes);
        self.controller.on_ack(&acked, || Timing {
            now: all.now,
            rtt: all.rtt,
            srtt: all.srtt,
            una,
            max: una.wrapping_add(flight),
            flight_before: all.flight,
            flight,
            ..Timing::default()
        });
    }

    /// A lane has lost or marked packets; the last of them left at `sent_at`. One of the `flows`
    /// is cut. A packet that left at about the same time as one for which the window was cut, or before that cut took
    /// effect, is a part of the same event, whenever its lane finds the loss.
    pub(super) fn on_loss(&mut self, now: Instant, sent_at: Instant, srtt: Duration, loss: Congestion) {
        if let Some(event) = self.events.iter_mut().find(|event| event.holds(sent_at)) {
            // Each of several flows may be cut for the event.
            if event.cuts >= self.flows {
                return;
            }
            event.cuts += 1;
        } else {
            self.events.truncate(EVENTS - 1);
            self.events.push_front(Event { sent_at, cut_at: now, srtt, cuts: 1 });
        }
        self.cut_at = Some(now);
        let before = self.window();
        self.controller.on_congestion(loss);
        if self.flows > 1 {
            let left = before - before.saturating_sub(self.window()) / u64::from(self.flows);
            self.controller.set_window(left);
            self.controller.seed_ssthresh(left);
        }
    }

    /// T3-rtx of a lane has expired, and no other has anything in flight.
    pub(super) fn on_timeout(&mut self, now: Instant) {
        self.cut_at = Some(now);
        self.controller.on_congestion(Congestion::Timeout(Some(Base::CWND)));
    }

    /// Nothing is in flight: the window halves for every RTO since the last acknowledgement (RFC 9260, 7.2.1).
    pub(super) fn on_idle(&mut self, now: Instant, rto: Duration) {
        let Some(heard) = self.heard else { return };
        let rtos = (now - heard).as_nanos() / rto.as_nanos().max(1);
        // Thirty halvings reach any floor.
        for _ in 0..rtos.min(30) {
            self.controller.on_idle();
        }
        if rtos > 0 {
            self.heard = Some(now);
        }
    }

    pub(super) fn resize(&mut self, unit: u64) {
        self.controller.resize(unit);
    }
}
