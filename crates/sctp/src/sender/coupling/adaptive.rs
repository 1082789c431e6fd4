//! Phi = 1 while the bottleneck has room, n^2 while it is full.
//!
//! Lanes with the same code point on the same path meet the same queues: they are one class. A class knows whether its
//! bottleneck is full (its losses come with the longest delays, or a queue is standing) and what its delays look like
//! (RFC 8382). Classes whose delays look alike share a bottleneck.

use crate::ids::PathId;
use anabranch_base::{Dscp, Duration, Instant};

use super::bottleneck::{Estimates, Statistics};
use super::grouping::{self, Pair};
use super::ranks::{Delays, LossCause};
use super::view::{Delay, Heard, LaneView};

/// The base interval T of RFC 8382, or a round trip if that takes longer.
const INTERVAL: Duration = Duration::from_millis(350);
/// How long the shortest delay is believed in: one to two of these.
const LIFE: Duration = Duration::from_secs(300);
/// A queue is standing when the shortest delay of a round trip is above this share of the longest.
const STANDING: f64 = 0.25;
/// And when so many packets of each lane wait in it.
const LEAST_BACKLOG: f64 = 1.0;

/// The class of a lane, and the lane's last delay above the shortest of the class, ns.
type Member = (usize, Option<i64>);

#[derive(Debug, Default)]
pub(super) struct Adaptive {
    classes: Vec<Class>,
    lanes: Vec<Option<Member>>,
    /// Of the classes i < j, at j (j - 1) / 2 + i.
    pairs: Vec<Pair>,
    next_interval: Option<Instant>,
}

/// Lanes with one code point on one path.
#[derive(Debug)]
struct Class {
    path: PathId,
    dscp: Dscp,
    round_trip: Least,
    one_way: Least,
    statistics: Statistics,
    delays: Delays,
    next_delay: Option<Instant>,
    round: Round,
    cause: LossCause,
    /// When a loss was counted last.
    last_loss: Option<Instant>,
    /// When the bottleneck was seen full last.
    last_full: Option<Instant>,
    standing: bool,
}

/// The shortest delay of the last minutes.
#[derive(Debug, Default)]
struct Least {
    before: Option<i64>,
    current: Option<i64>,
    since: Option<Instant>,
}

impl Least {
    /// Takes a delay in; gives the shortest.
    fn with(&mut self, now: Instant, delay: i64) -> i64 {
        let since = *self.since.get_or_insert(now);
        if now - since > LIFE {
            self.before = self.current.take();
            self.since = Some(now);
        }
        let current = self.current.map_or(delay, |least| least.min(delay));
        self.current = Some(current);
        self.before.map_or(current, |least| least.min(current))
    }
}

/// The shortest delay of a round trip.
#[derive(Debug, Default)]
struct Round {
    ends: Option<Instant>,
    least: Option<i64>,
}

impl Round {
    fn is_over(&self, now: Instant) -> bool {
        self.ends.is_none_or(|at| now >= at)
    }
}

/// The lanes of a class together.
#[derive(Clone, Copy, Debug, Default)]
struct Crowd {
    lanes: f64,
    /// Their windows, packets.
    packets: f64,
    longest_srtt: Duration,
}

impl Crowd {
    fn of(class: usize, lanes: &[Option<Member>], views: &[LaneView], pmdcs: u64) -> Self {
        let mut crowd = Self::default();
        let member = |lane: &Option<Member>| lane.is_some_and(|(of, _)| of == class);
        for (_, view) in lanes.iter().zip(views).filter(|(lane, view)| view.open && member(lane)) {
            crowd.lanes += 1.0;
            crowd.packets += view.cwnd as f64 / pmdcs.max(1) as f64;
            crowd.longest_srtt = crowd.longest_srtt.max(view.srtt.unwrap_or_default());
        }
        crowd
    }
}

impl Adaptive {
    pub(super) fn renew(&mut self, lane: usize) {
        if let Some(slot) = self.lanes.get_mut(lane) {
            *slot = None;
        }
    }

    /// The class of a lane, made if need be; another one when its code point or path has changed.
    fn class_of(&mut self, lane: usize, views: &[LaneView]) -> Option<usize> {
        let view = views.get(lane)?;
        if lane >= self.lanes.len() {
            self.lanes.resize(lane + 1, None);
        }
        let slot = self.lanes.get_mut(lane)?;
        if let Some((class, _)) = *slot {
            if self.classes.get(class).is_some_and(|c| c.path == view.path && c.dscp == view.dscp) {
                return Some(class);
            }
        }
        let known = self.classes.iter().position(|c| c.path == view.path && c.dscp == view.dscp);
        let class = known.unwrap_or(self.classes.len());
        if known.is_none() {
            self.classes.push(Class::new(view.path, view.dscp));
            self.pairs.resize(class * (class + 1) / 2, Pair::default());
        }
        *slot = Some((class, None));
        Some(class)
    }

    pub(super) fn on_ack(
        &mut self,
        now: Instant,
        lane: usize,
        heard: &Heard,
        views: &[LaneView],
        pmdcs: u64,
    ) {
        let Some(index) = self.class_of(lane, views) else { return };
        let Some(class) = self.classes.get_mut(index) else { return };
        class.statistics.acked(heard.chunks);
        let Some(delay) = heard.delay else { return };
        let srtt = views.get(lane).and_then(|view| view.srtt).unwrap_or(INTERVAL);
        let crowd = if class.round.is_over(now) {
            Crowd::of(index, &self.lanes, views, pmdcs)
        } else {
            Crowd::default()
        };
        let Some(class) = self.classes.get_mut(index) else { return };
        let above = class.delay(now, delay, srtt, &crowd);
        if let Some(Some((_, last))) = self.lanes.get_mut(lane) {
            *last = Some(above);
        }
    }

    /// Whether a queue has overflowed that the lane shares with others, for the first time in this round trip.
    pub(super) fn on_loss(
        &mut self,
        now: Instant,
        lane: usize,
        chunks: u64,
        cut: bool,
        views: &[LaneView],
    ) -> bool {
        let Some(index) = self.class_of(lane, views) else { return false };
        let Some(class) = self.classes.get_mut(index) else { return false };
        class.statistics.lost(chunks);
        let last = self.lanes.get(lane).copied().flatten().and_then(|(_, last)| last);
        let (Some(delay), true) = (last, cut) else { return false };
        let srtt = views.get(lane).and_then(|view| view.srtt).unwrap_or(INTERVAL);
        // Lanes that lose at the same overflow are one event.
        if class.last_loss.is_some_and(|at| now - at < srtt) {
            return false;
        }
        class.last_loss = Some(now);
        let Some(rank) = class.delays.rank(delay) else { return false };
        // An empty queue does not overflow, however rare its small delays are.
        let filled = delay as f64 > STANDING * class.delays.longest() as f64;
        class.cause.note(if filled { rank } else { rank.min(0.5) });
        let overflows = filled && class.cause.is_congestion();
        if overflows {
            class.last_full = Some(now);
        }
        overflows
    }

    /// Every base interval: RFC 8382, and what has become too old.
    pub(super) fn review(&mut self, now: Instant, views: &[LaneView], pmdcs: u64) {
        if self.next_interval.is_some_and(|at| now < at) {
            return;
        }
        let longest = views.iter().filter_map(|view| view.srtt).max().unwrap_or_default();
        self.next_interval = Some(now + INTERVAL.max(longest));
        for (index, class) in self.classes.iter_mut().enumerate() {
            class.statistics.end_interval();
            if class.standing {
                class.last_full = Some(now);
            }
            // One flow with the window of the whole class would have met the full queue again by now: since a cut it would
            // have grown for half a window of round trips. The bottleneck has more room than it had.
            let crowd = Crowd::of(index, &self.lanes, views, pmdcs);
            let patience = crowd.longest_srtt * (crowd.packets as u64).max(8);
            if class.last_full.is_some_and(|at| now - at > patience) {
                class.last_full = None;
                class.cause.forget();
            }
        }
        self.judge_pairs();
    }

    fn judge_pairs(&mut self) {
        let seen: Vec<(usize, Estimates)> = self
            .classes
            .iter()
            .enumerate()
            .filter(|(_, class)| {
                class.statistics.sees_bottleneck() || (class.statistics.is_mature() && class.is_full())
            })
            .map(|(index, class)| (index, *class.statistics.estimates()))
            .collect();
        if seen.len() < 2 {
            return;
        }
        let estimates: Vec<Estimates> = seen.iter().map(|(_, e)| *e).collect();
        let groups = grouping::group(&estimates);
        for (j, (&(later, _), group)) in seen.iter().zip(&groups).enumerate() {
            for (&(earlier, _), other) in seen.iter().zip(&groups).take(j) {
                if let Some(pair) = self.pairs.get_mut(later * (later - 1) / 2 + earlier) {
                    pair.seen(group == other);
                }
            }
        }
    }

    /// Whether the bottleneck of a lane is full.
    pub(super) fn is_saturated(&self, lane: usize) -> bool {
        self.class(lane).is_some_and(|class| self.classes.get(class).is_some_and(Class::is_full))
    }

    /// Whether the losses of a lane are those of queues that overflow.
    pub(super) fn overflows(&self, lane: usize) -> bool {
        let class = self.class(lane).and_then(|class| self.classes.get(class));
        class.is_some_and(|class| class.cause.is_congestion())
    }

    /// Whether two lanes share a bottleneck that is full.
    pub(super) fn share(&self, a: usize, b: usize) -> bool {
        let (Some(a), Some(b)) = (self.class(a), self.class(b)) else { return false };
        if a == b {
            return true;
        }
        let (low, high) = (a.min(b), a.max(b));
        let together = self.pairs.get(high * (high - 1) / 2 + low).is_some_and(|pair| pair.is_together());
        together && self.classes.get(b).is_some_and(Class::is_full)
    }

    fn class(&self, lane: usize) -> Option<usize> {
        self.lanes.get(lane).copied().flatten().map(|(class, _)| class)
    }
}

impl Class {
    fn new(path: PathId, dscp: Dscp) -> Self {
        Self {
            path,
            dscp,
            round_trip: Least::default(),
            one_way: Least::default(),
            statistics: Statistics::default(),
            delays: Delays::default(),
            next_delay: None,
            round: Round::default(),
            cause: LossCause::default(),
            last_loss: None,
            last_full: None,
            standing: false,
        }
    }

    /// Takes a delay in; gives what it is above the shortest, ns.
    fn delay(&mut self, now: Instant, delay: Delay, srtt: Duration, crowd: &Crowd) -> i64 {
        let above = match delay {
            Delay::RoundTrip(ns) => ns - self.round_trip.with(now, ns),
            Delay::OneWay(ns) => ns - self.one_way.with(now, ns),
        };
        self.statistics.sample(above as f64);
        if self.next_delay.is_none_or(|at| now >= at) {
            self.delays.note(above);
            self.next_delay = Some(now + srtt / 2);
        }
        let round = &mut self.round;
        round.least = Some(round.least.map_or(above, |least| least.min(above)));
        if round.is_over(now) {
            let least = round.least.take().unwrap_or_default();
            round.ends = Some(now + srtt);
            // Our own part of the queue, as Vegas reckons it.
            let share = least as f64 / srtt.as_nanos().max(1) as f64;
            self.standing = least as f64 > STANDING * self.delays.longest() as f64
                && share * crowd.packets > LEAST_BACKLOG * crowd.lanes;
        }
        above
    }

    fn is_full(&self) -> bool {
        self.standing || self.cause.is_congestion()
    }
}
