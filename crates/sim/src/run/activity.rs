//! The active time of a flow, and remarks on its figures.

use anabranch_base::{Duration, Instant};

use crate::app::Received;
use crate::scenario::{Flow, Scenario, Traffic};
use crate::side::Side;
use crate::summary::Note;

/// The share of a flow's active time from which on a limit is noted.
const WORTH_A_WORD: f64 = 0.1;

/// The part of the window of statistics in which a flow was active.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Activity {
    pub(super) from: Option<Instant>,
    pub(super) seconds: Option<f64>,
    pub(super) receiver_limited: Option<f64>,
    pub(super) application_limited: Option<f64>,
}

impl Activity {
    /// From the first byte that left to the last that came. A flow that has not brought everything is active until the end,
    /// unless it failed: silence counts.
    pub(super) fn of(scenario: &Scenario, flow: &Flow, ends: (&Side, &Side), failed: bool) -> Self {
        let (sender, receiver) = ends;
        let (begin, end) = (Instant::ZERO + scenario.warmup, Instant::ZERO + scenario.duration);
        let Some(from) = sender.watch.data_from else { return Self::default() };
        let from = from.max(begin);
        let received = receiver.app.received();
        let last = last_byte(receiver, &received);
        let until = if failed || has_ended(flow, &received, end) { last.unwrap_or(from) } else { end };
        if until <= from {
            // Everything was over before the window, or nothing came.
            return Self { from: Some(from), ..Self::default() };
        }
        let active = until.saturating_since(from);
        let (by_receiver, by_application) = sender.watch.held_until(until);
        let share = |held: Duration| (held.as_secs_f64() / active.as_secs_f64()).min(1.0);
        let known = flow.protocol.is_transport();
        Self {
            from: Some(from),
            seconds: Some(active.as_secs_f64()),
            receiver_limited: known.then(|| share(by_receiver)),
            application_limited: known.then(|| share(by_application)),
        }
    }

    /// Remarks that a reader needs before the figures.
    pub(super) fn notes(&self, flow: &Flow, ends: (&Side, &Side), failed: bool) -> Vec<Note> {
        let (sender, receiver) = ends;
        let is_transfer = matches!(flow.traffic, Traffic::Transfer { .. } | Traffic::Objects(_));
        let received = receiver.app.received();
        let mut notes = Vec::new();
        if failed {
            notes.push(Note::Failed);
        }
        if sender.watch.data_from.is_none() {
            notes.push(Note::NeverStarted);
        } else if is_transfer && received.complete_at.is_none() {
            notes.push(Note::NotFinished);
        } else if self.seconds.is_none() {
            notes.push(Note::OutsideWindow);
        }
        let above = |share: Option<f64>| share.is_some_and(|share| share >= WORTH_A_WORD);
        if above(self.receiver_limited) {
            notes.push(Note::ReceiverLimited);
        }
        if above(self.application_limited) {
            notes.push(Note::ApplicationLimited);
        }
        notes
    }
}

fn last_byte(receiver: &Side, received: &Received) -> Option<Instant> {
    received.complete_at.or(received.last_byte_at).or(receiver.last_datagram_at)
}

/// Whether the flow has delivered everything.
fn has_ended(flow: &Flow, received: &Received, end: Instant) -> bool {
    received.complete_at.is_some()
        || received.ended_at.is_some()
        || flow.stop.is_some_and(|stop| Instant::ZERO + stop < end && !flow.protocol.is_transport())
}
