//! Are the lanes of an association alone at their bottleneck? Trials answer that: their rate as one flow, and as
//! several.
//!
//! While a queue stands its link is busy. Flows that have the link alone then get its whole rate, however their
//! window grows; flows that share it get more when their window grows faster. So the same rate both ways shows that
//! lanes that grow like several flows harm no other flow, and another rate shows that there is one. No rate
//! of the link, no size of its queue and no rule of its drops need be known for that.

/// Round trips with a standing queue after which the rate is known.
const KNOWN: u32 = 8;
/// Number of rates after which the mean becomes a moving average.
const MEMORY: u32 = 32;
/// Rates that differ by more than this factor are different.
const EQUAL: f64 = 1.08;
/// Round trips as one flow before the first trial, and of a check for other flows.
const FIRST: u32 = 64;
/// The longest time between two trials that found another flow, round trips.
const LONGEST: u32 = 2048;
/// Share of round trips with a standing queue below which more flows could use the link better.
const IDLE: f64 = 0.5;
/// Share above which fewer flows would do.
const BUSY: f64 = 0.95;
/// Number of flows as which lanes act in a trial.
const SEVERAL: u32 = 4;
/// Round trips that lanes which are alone act as several before they look again.
const ALONE: u32 = 512;
/// The same where one flow did not fill the link.
const UNFILLED: u32 = 2048;

/// The decision on lanes from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// They act as so many flows.
    Flows(u32),
    /// As one flow again, with the window that it had: there is another flow.
    Back,
    /// As one flow, with half of the window: a new flow has room to grow.
    Look,
}

/// The mean rate of round trips in which a queue stood.
#[derive(Clone, Copy, Debug, Default)]
struct Rate {
    count: u32,
    mean: f64,
}

impl Rate {
    fn note(&mut self, rate: f64) {
        self.count = self.count.saturating_add(1);
        self.mean += (rate - self.mean) / f64::from(self.count.min(MEMORY));
    }

    fn known(self) -> Option<f64> {
        (self.count >= KNOWN).then_some(self.mean)
    }
}

/// A round trip that has ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    /// Bytes that were acknowledged in it, a second.
    pub(super) rate: f64,
    /// True if a queue stood during the whole round trip.
    pub(super) standing: bool,
    /// True if there was any queue in the last round trips.
    pub(super) queued: bool,
    /// Packets that the lanes may have in flight.
    pub(super) window: u64,
    /// Lanes that have something to send.
    pub(super) lanes: u32,
}

#[derive(Debug)]
pub(super) struct Trial {
    /// Number of flows as which the lanes act.
    flows: u32,
    /// Round trips since that number changed, or was looked at, and how many of them had a standing queue.
    rounds: u32,
    stood: u32,
    /// The mean rate since that number changed.
    rate: Rate,
    /// Round trips since the lanes became several flows, or one.
    age: u32,
    /// The last round trips in a row without a standing queue.
    empty: u32,
    /// Losses since the lanes became several flows, or one; those of a round trip count as one.
    losses: u32,
    /// The largest mean rate since the lanes became several flows, or one.
    peak: f64,
    /// The rate as one flow, while the lanes act as several; the rate as several, while they act as one.
    other: Option<f64>,
    /// Round trips as one flow until the next trial.
    wait: u32,
    /// True if the last trial found no other flow.
    alone: bool,
    /// Nothing has been lost yet.
    is_beginning: bool,
    /// No queue was ever seen, not even behind slow start: losses are then errors of links.
    never_queued: bool,
}

impl Default for Trial {
    fn default() -> Self {
        Self {
            flows: 1,
            rounds: 0,
            stood: 0,
            rate: Rate::default(),
            age: 0,
            empty: 0,
            losses: 0,
            peak: 0.0,
            other: None,
            wait: FIRST,
            alone: false,
            is_beginning: true,
            never_queued: true,
        }
    }
}

impl Trial {
    /// A loss, the first of a round trip.
    pub(super) fn on_loss(&mut self) {
        self.losses = self.losses.saturating_add(1);
        if self.is_beginning {
            // The queue of a slow start says nothing about other flows.
            let never_queued = self.never_queued;
            *self = Self { is_beginning: false, losses: 1, never_queued, ..Self::default() };
        }
    }

    pub(super) fn on_round(&mut self, seen: &Seen) -> Option<Change> {
        self.rounds = self.rounds.saturating_add(1);
        self.age = self.age.saturating_add(1);
        self.never_queued &= !seen.queued;
        if seen.standing {
            self.empty = 0;
            self.stood += 1;
            self.rate.note(seen.rate);
            if let Some(mean) = self.rate.known() {
                self.peak = self.peak.max(mean);
            }
        } else {
            self.empty = self.empty.saturating_add(1);
        }
        let change = if self.flows == 1 { self.as_one(seen) } else { self.as_several(seen) }?;
        let flows = if let Change::Flows(flows) = change { flows } else { 1 };
        if self.flows == 1 || flows == 1 {
            self.other = self.rate.known();
            (self.age, self.empty, self.losses, self.peak) = (0, 0, 0, 0.0);
        }
        (self.flows, self.rounds, self.stood, self.rate) = (flows, 0, 0, Rate::default());
        Some(change)
    }

    /// The share of the counted round trips in which a queue stood.
    fn used(&self) -> f64 {
        f64::from(self.stood) / f64::from(self.rounds.max(1))
    }

    fn as_one(&mut self, seen: &Seen) -> Option<Change> {
        if seen.lanes < 2 {
            return None;
        }
        // Losses, and no queue for longer than half a window takes to grow again: no flow fills the link, neither ours nor another one.
        let long = if self.never_queued { u64::from(KNOWN) } else { seen.window.max(u64::from(FIRST)) };
        if self.losses > 0 && u64::from(self.empty) >= long {
            self.alone = true;
            return Some(Change::Flows(seen.lanes));
        }
        let now = self.rate.known()?;
        if self.age < self.wait {
            return None;
        }
        if self.alone {
            // The trial as several found no other flow. A lower rate as one flow now means that a new flow has come.
            self.alone = self.other.is_none_or(|then| now * EQUAL >= then);
            if !self.alone {
                self.wait = FIRST;
                return None;
            }
        }
        let may_gain = self.losses >= 2 && self.used() < IDLE;
        (self.alone || may_gain).then(|| Change::Flows(seen.lanes.min(SEVERAL)))
    }

    fn as_several(&mut self, seen: &Seen) -> Option<Change> {
        let enough = if self.other.is_some() { ALONE } else { UNFILLED };
        let now = self.rate.known();
        if let (Some(now), Some(then)) = (now, self.other) {
            if now > then * EQUAL {
                // The gain of these lanes is the loss of another flow.
                self.alone = false;
                self.wait = self.wait.saturating_mul(2).clamp(FIRST, LONGEST);
                return Some(Change::Back);
            }
        }
        let most = self.other.unwrap_or(0.0).max(self.peak);
        if now.is_some_and(|now| now * EQUAL < most) || self.age >= enough {
            self.alone = true;
            self.wait = FIRST;
            return Some(Change::Look);
        }
        if self.rounds < FIRST {
            return None;
        }
        // As few flows as keep the link busy: that leaves a new flow the largest share.
        let flows = match self.used() {
            used if used < IDLE => seen.lanes.min(self.flows.saturating_mul(2)),
            used if used > BUSY => (self.flows / 2).max(2),
            _ => self.flows,
        };
        (self.rounds, self.stood) = (0, 0);
        (flows != self.flows).then_some(Change::Flows(flows))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A link with a rate of 100 packets, shared with `others`: the lanes get the share of `flows`.
    struct Link {
        trial: Trial,
        flows: u32,
        others: u32,
        /// Round trips of ten in which a queue stands with one flow; as many more with each further flow.
        busy: u32,
        /// There is a queue at times, if not a standing one.
        queued: bool,
        changes: Vec<Change>,
        round: u32,
    }

    impl Link {
        fn new(busy: u32, others: u32) -> Self {
            let mut trial = Trial::default();
            trial.on_loss();
            Self { trial, flows: 1, others, busy, queued: false, changes: Vec::new(), round: 0 }
        }

        fn run(&mut self, rounds: u32, lanes: u32) {
            for _ in 0..rounds {
                self.round += 1;
                let share = f64::from(self.flows) / f64::from(self.flows + self.others);
                let standing = self.round % 10 < self.busy * self.flows;
                if self.round % 20 == 0 {
                    self.trial.on_loss();
                }
                let rate = if standing { 100.0 * share } else { 40.0 };
                let seen = Seen { rate, standing, queued: standing || self.queued, window: 50, lanes };
                if let Some(change) = self.trial.on_round(&seen) {
                    self.flows = if let Change::Flows(flows) = change { flows } else { 1 };
                    self.changes.push(change);
                }
            }
        }
    }

    #[test]
    fn who_is_alone_acts_as_several_and_looks_now_and_then() {
        let mut link = Link::new(2, 0);
        link.run(500, 8);
        assert_eq!(link.changes, [Change::Flows(4)], "enough for this link");
        link.run(200, 8);
        assert_eq!(link.changes, [Change::Flows(4), Change::Look, Change::Flows(4)]);
    }

    #[test]
    fn who_is_not_alone_goes_back_and_tries_more_and_more_seldom() {
        let mut link = Link::new(2, 1);
        link.run(2000, 8);
        let tries = link.changes.iter().filter(|&&change| change == Change::Back).count();
        assert!((3..=5).contains(&tries), "{:?}", link.changes);
        assert!(!link.changes.contains(&Change::Look));
        assert_eq!(link.flows, 1);
    }

    #[test]
    fn who_comes_later_is_noticed() {
        let mut link = Link::new(2, 0);
        link.run(200, 8);
        assert_eq!(link.flows, 4);
        link.others = 1;
        link.run(100, 8);
        assert_eq!(link.changes[1], Change::Look, "the rate fell");
        link.run(2000, 8);
        assert!(link.changes.contains(&Change::Back), "{:?}", link.changes);
    }

    #[test]
    fn a_busy_link_is_left_to_one_flow_and_one_lane_is_one_flow() {
        let mut link = Link::new(9, 0);
        link.run(3000, 8);
        assert_eq!(link.changes, []);
        let mut link = Link::new(1, 0);
        link.run(3000, 1);
        assert_eq!(link.changes, []);
    }

    #[test]
    fn losses_without_any_queue_are_not_those_of_a_full_link() {
        let mut link = Link::new(0, 0);
        link.run(8, 30);
        assert_eq!(link.changes, [Change::Flows(30)], "there was never a queue");
        let mut link = Link::new(0, 0);
        link.queued = true;
        link.run(63, 30);
        assert_eq!(link.changes, [], "one may come back");
        link.run(1, 30);
        assert_eq!(link.changes, [Change::Flows(30)]);
        // Without a loss there is nothing to explain.
        let mut quiet = Trial::default();
        for _ in 0..5000 {
            assert_eq!(
                quiet.on_round(&Seen { rate: 1.0, standing: false, queued: false, window: 50, lanes: 30 }),
                None
            );
        }
    }

    #[test]
    fn as_few_flows_as_keep_the_link_busy() {
        let mut link = Link::new(1, 0);
        link.queued = true;
        link.run(400, 30);
        assert_eq!(link.flows, 8, "{:?}", link.changes);
        link.busy = 10;
        link.run(130, 30);
        assert!(link.flows < 8, "a queue stands in all of them now");
    }
}
