//! One flow's window for all lanes, until trials show that no other flow uses their bottleneck: then they act as
//! several.
//!
//! Lanes with the same code point on the same path meet the same queues: they are one class. A class knows whether its
//! bottleneck is full (its losses come with the longest delays, or a queue is standing). Classes whose delays go up and down
//! together share a bottleneck.

use crate::ids::PathId;
use anabranch_base::{Dscp, Duration, Instant};
use anabranch_transport::congestion::{Base, Congestion, Controller};

use super::holding::Holding;
use super::likeness::Pair;
use super::one_flow::{FlowAcknowledged, OneFlow};
use super::ranks::{Delays, LossCause};
use super::trial::{Change, Seen, Trial};
use super::view::{Delay, LaneReport, LaneView, Lost};

/// The cut of a window by a lost packet.
const LOSS: Congestion = Congestion::FastRetransmit(Base::CWND);
/// Interval at which classes are compared, or a round trip if that is longer: the base interval T of RFC 8382.
const INTERVAL: Duration = Duration::from_millis(350);
/// The shortest delay is forgotten after one to two such intervals.
const LIFE: Duration = Duration::from_secs(300);
/// A queue is standing when the shortest delay of a round trip is above this share of the longest.
const STANDING: f64 = 0.25;
/// A queue is standing only when at least so many packets of each flow wait in it.
const LEAST_BACKLOG: f64 = 1.0;
/// Packets that left within this and a part of a round trip left at about the same time.
const SAME_TIME: Duration = Duration::from_millis(4);
const SAME_ROUND_TRIP: u64 = 8;
/// A SACK for one packet that is so much later than the one before has waited for a second packet, ns: the shortest timers of such waits have
/// 40 ms, that of the standard 200 ms (RFC 9260, 6.2).
const WAITED: f64 = 20e6;
/// More packets of ours in a queue than delays in hosts explain.
const SOME_BACKLOG: f64 = 2.0;

/// The class of a lane, and the lane's last delay above the shortest of the class, ns.
type Member = (usize, Option<i64>);

#[derive(Debug, Default)]
pub(super) struct Adaptive {
    classes: Vec<Class>,
    lanes: Vec<Option<Member>>,
    /// The pair of classes i < j is at j (j - 1) / 2 + i.
    pairs: Vec<Pair>,
    next_interval: Option<Instant>,
    holding: Holding,
    /// For each class, the first of the classes that are one flow with it.
    leaders: Vec<usize>,
    /// The controller that one flow begins with; `None` where lanes do not act as one.
    beginning: Option<Controller>,
}

/// Lanes with one code point on one path.
#[derive(Debug)]
struct Class {
    path: PathId,
    dscp: Dscp,
    round_trip: Least,
    one_way: Least,
    /// The last delay of the class.
    latest: Option<Latest>,
    delays: Delays,
    next_delay: Option<Instant>,
    round: Round,
    cause: LossCause,
    /// When a loss was counted last.
    last_loss: Option<Instant>,
    /// When the bottleneck was seen full last.
    last_full: Option<Instant>,
    standing: bool,
    /// The window of its lanes, where they act as one flow or a few.
    one: Option<OneFlow>,
    trial: Trial,
    /// The class was a part of another class's flow until now.
    begins_anew: bool,
}

/// A delay of a class.
#[derive(Clone, Copy, Debug)]
struct Latest {
    sent_at: Instant,
    heard_at: Instant,
    /// Delay above the shortest, ns.
    above: f64,
    /// Change of the delay from the packet before, which left at about the same time, ns.
    moved: Option<f64>,
}

/// The shortest delay of the last minutes, in two periods.
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
    began: Instant,
    ends: Option<Instant>,
    least: Option<i64>,
    /// Bytes acknowledged since the round trip began.
    acked: u64,
}

impl Round {
    fn is_over(&self, now: Instant) -> bool {
        self.ends.is_none_or(|at| now >= at)
    }
}

/// The lanes of a class together.
#[derive(Clone, Copy, Debug, Default)]
struct Crowd {
    /// Lanes that are flows of their own.
    lanes: f64,
    /// Their windows together, packets.
    packets: f64,
    longest_srtt: Duration,
    /// Lanes of the one flow that have something to send.
    active: u32,
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

    /// The lanes act as one flow with a window of so many packets; 0 where each has its own.
    fn with(self, packets: u64) -> Self {
        if packets == 0 { self } else { Self { lanes: 1.0, packets: packets as f64, ..self } }
    }
}

impl Adaptive {
    /// `beginning` is the controller of the one flow that lanes make while they act as one; without it only Phi couples them.
    pub(super) fn new(beginning: Option<Controller>) -> Self {
        Self { beginning, ..Self::default() }
    }

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
            self.classes.push(Class::new(view.path, view.dscp, self.beginning.clone().map(OneFlow::new)));
            self.pairs.resize(class * (class + 1) / 2, Pair::default());
        }
        *slot = Some((class, None));
        self.find_leaders();
        Some(class)
    }

    /// Classes that share a bottleneck are one flow, that of the first of them; a class without lanes is not the first of any.
    fn find_leaders(&mut self) {
        let inhabited = |class: usize| self.lanes.iter().flatten().any(|&(of, _)| of == class);
        let inhabited: Vec<bool> = (0..self.classes.len()).map(inhabited).collect();
        let mut leaders: Vec<usize> = Vec::with_capacity(self.classes.len());
        for class in 0..self.classes.len() {
            let alike = |other: usize| self.pairs.get(class * class.saturating_sub(1) / 2 + other);
            let first = (0..class).find(|&other| {
                inhabited.get(other) == Some(&true) && alike(other).is_some_and(|pair| pair.is_together())
            });
            leaders.push(first.and_then(|other| leaders.get(other)).copied().unwrap_or(class));
        }
        for (class, (&now, then)) in leaders.iter().zip(&self.leaders).enumerate() {
            if let (true, Some(class)) = (now == class && *then != class, self.classes.get_mut(class)) {
                class.begins_anew = true;
            }
        }
        self.leaders = leaders;
    }

    fn leader(&self, class: usize) -> usize {
        self.leaders.get(class).copied().unwrap_or(class)
    }

    /// The one flow that a class is a part of.
    fn one_of(&mut self, class: usize) -> Option<&mut OneFlow> {
        let leader = self.leader(class);
        self.classes.get_mut(leader)?.one.as_mut()
    }

    pub(super) fn on_ack(
        &mut self,
        now: Instant,
        lane: usize,
        heard: &LaneReport,
        views: &[LaneView],
        pmdcs: u64,
    ) {
        let Some(index) = self.class_of(lane, views) else { return };
        self.grow(now, index, lane, heard, views);
        let Some(delay) = heard.delay else { return };
        let srtt = views.get(lane).and_then(|view| view.srtt).unwrap_or(INTERVAL);
        let Some(class) = self.classes.get(index) else { return };
        let crowd = if class.round.is_over(now) { self.crowd(index, views, pmdcs) } else { Crowd::default() };
        let Some(class) = self.classes.get_mut(index) else { return };
        let (above, seen) = class.delay(now, delay, srtt, &crowd);
        if let Some(sent_at) = heard.sent_at.filter(|_| self.classes.len() > 1) {
            let flight = self.own_flight(self.holding.class(), views);
            self.holding.on_ack(now, srtt, self.classes.len(), flight, pmdcs);
            let latest = Latest { sent_at, heard_at: now, above: above as f64, moved: None };
            let may_have_waited = heard.alone && matches!(delay, Delay::RoundTrip(_));
            self.compare(index, latest, srtt, may_have_waited);
        }
        if let Some(Some((_, last))) = self.lanes.get_mut(lane) {
            *last = Some(above);
        }
        // Only the leading class runs the trial.
        let (Some(seen), true) = (seen, self.leader(index) == index) else { return };
        let Some(class) = self.classes.get_mut(index) else { return };
        let (change, Some(one)) = (class.trial.on_round(&seen), &mut class.one) else { return };
        match change {
            Some(Change::Flows(flows)) => one.act_as(flows),
            Some(Change::Back) => one.go_back(),
            Some(Change::Look) => {
                one.act_as(1);
                one.on_loss(now, now, srtt, LOSS);
            }
            None => {}
        }
    }

    /// Compares a delay of a class with those of other classes.
    fn compare(&mut self, index: usize, latest: Latest, srtt: Duration, may_have_waited: bool) {
        let near = |other: &Latest| {
            let (a, b) = (latest.sent_at, other.sent_at);
            a.max(b) - a.min(b) <= srtt / SAME_ROUND_TRIP + SAME_TIME
        };
        let Some(class) = self.classes.get_mut(index) else { return };
        let before = class.latest.filter(near);
        let moved = before.map(|own| latest.above - own.above);
        if may_have_waited && moved.is_some_and(|moved| moved > WAITED) {
            return;
        }
        class.latest = Some(Latest { moved, ..latest });
        let (Some(own), Some(moved)) = (before, moved) else { return };
        // Bursts of slow start would make one queue look like two for long: compare only after the first loss of a class.
        let started = class.last_loss.is_some();
        for other in (0..self.classes.len()).filter(|other| *other != index) {
            // Chunks acknowledged by one SACK have come back at one time, whatever the queues are. And each delay is compared once: the
            // queue may have changed when the class has been silent.
            let between = own.heard_at..latest.heard_at;
            let theirs = self.classes.get(other).filter(|class| started || class.last_loss.is_some());
            let theirs = theirs.and_then(|class| class.latest);
            let theirs = theirs.filter(|theirs| near(theirs) && between.contains(&theirs.heard_at));
            let (low, high) = (index.min(other), index.max(other));
            let pair = self.pairs.get_mut(high * high.saturating_sub(1) / 2 + low);
            let (Some(theirs), Some(pair)) = (theirs, pair) else { continue };
            let sign = if index < other { 1.0 } else { -1.0 };
            let Some(their_move) = theirs.moved else { continue };
            let within = (moved * moved + their_move * their_move) / 2.0;
            pair.likeness.note(sign * (latest.above - theirs.above), within);
        }
    }

    fn crowd(&self, class: usize, views: &[LaneView], pmdcs: u64) -> Crowd {
        let packets = self.window(class) / pmdcs.max(1);
        let mut crowd = Crowd::of(class, &self.lanes, views, pmdcs).with(packets);
        let mine = self.mine(class, views);
        crowd.active = mine.filter(|view| view.open && view.active).count() as u32;
        crowd
    }

    /// The one flow of a class hears of an acknowledgement.
    fn grow(&mut self, now: Instant, index: usize, lane: usize, heard: &LaneReport, views: &[LaneView]) {
        let (flight, window) = (self.flight(index, views), self.window(index));
        let leader = self.leader(index);
        let Some(class) = self.classes.get_mut(leader) else { return };
        class.round.acked += heard.bytes;
        let Some(one) = &mut class.one else { return };
        if flight > 0 && std::mem::take(&mut class.begins_anew) {
            one.take_over(flight);
        }
        let rtt = match heard.delay {
            Some(Delay::RoundTrip(ns)) => Some(Duration::from_nanos(ns.max(0) as u64)),
            _ => None,
        };
        one.on_ack(&FlowAcknowledged {
            now,
            bytes: heard.bytes,
            flight,
            full: flight >= window,
            rtt,
            srtt: views.get(lane).and_then(|view| view.srtt),
        });
    }

    /// The lanes of the one flow that a class is a part of.
    fn mine<'a>(&'a self, class: usize, views: &'a [LaneView]) -> impl Iterator<Item = &'a LaneView> {
        let leader = self.leader(class);
        let mine = move |lane: &Option<Member>| lane.is_some_and(|(of, _)| self.leader(of) == leader);
        self.lanes.iter().zip(views).filter(move |(lane, _)| mine(lane)).map(|(_, view)| view)
    }

    /// The first of the open lanes in the one flow that a lane is a part of.
    pub(super) fn first_of(&self, lane: usize, views: &[LaneView]) -> usize {
        let Some(leader) = self.class(lane).map(|class| self.leader(class)) else { return lane };
        let mine = |other: usize| self.class(other).is_some_and(|class| self.leader(class) == leader);
        let open = views.iter().enumerate().filter(|(_, view)| view.open);
        open.map(|(other, _)| other).find(|&other| mine(other)).unwrap_or(lane)
    }

    /// Bytes that the lanes of a class have in flight.
    fn own_flight(&self, class: usize, views: &[LaneView]) -> u64 {
        let mine = |lane: &Option<Member>| lane.is_some_and(|(of, _)| of == class);
        self.lanes.iter().zip(views).filter(|(lane, _)| mine(lane)).map(|(_, view)| view.flight).sum()
    }

    /// Bytes that the one flow of a class has in flight.
    fn flight(&self, class: usize, views: &[LaneView]) -> u64 {
        self.mine(class, views).map(|view| view.flight).sum()
    }

    /// Bytes that the one flow of a class may have in flight.
    fn window(&self, class: usize) -> u64 {
        self.classes.get(self.leader(class)).map_or(0, Class::window)
    }

    /// Bytes that all lanes together may have in flight that act as one flow with this one.
    pub(super) fn window_of(&mut self, lane: usize, views: &[LaneView]) -> Option<u64> {
        let index = self.class_of(lane, views)?;
        self.may_be_one().then(|| self.window(index))
    }

    /// True if the flow that a lane is a part of has its whole window in flight.
    pub(super) fn is_out(&mut self, lane: usize, views: &[LaneView]) -> bool {
        let Some(index) = self.class_of(lane, views) else { return false };
        self.flight(index, views) >= self.window(index)
            || self.holding.limit(index).is_some_and(|limit| self.own_flight(index, views) >= limit)
    }

    /// T3-rtx of a lane has expired.
    pub(super) fn on_timeout(&mut self, now: Instant, lane: usize, sent_at: Instant, views: &[LaneView]) {
        let Some(index) = self.class_of(lane, views) else { return };
        let Some(view) = views.get(lane) else { return };
        let last = self.flight(index, views) <= view.flight;
        let Some(one) = self.one_of(index) else { return };
        if last {
            one.on_timeout(now);
        } else {
            one.on_loss(now, sent_at, view.srtt.unwrap_or(INTERVAL), LOSS);
        }
    }

    /// A lane with nothing in flight begins to send after a pause.
    pub(super) fn on_pause(&mut self, now: Instant, lane: usize, rto: Duration, views: &[LaneView]) {
        let Some(index) = self.class_of(lane, views) else { return };
        if self.flight(index, views) > 0 {
            return;
        }
        if let Some(one) = self.one_of(index) {
            one.on_idle(now, rto);
        }
    }

    /// True if lanes may act as one flow.
    pub(super) fn may_be_one(&self) -> bool {
        self.beginning.is_some()
    }

    /// Full packets have another size.
    pub(super) fn resize(&mut self, unit: u64) {
        let flows = self.classes.iter_mut().filter_map(|class| class.one.as_mut());
        flows.for_each(|one| one.resize(unit));
        if let Some(beginning) = &mut self.beginning {
            beginning.resize(unit);
        }
    }

    /// Takes a loss; true if a queue has overflowed that the lane shares with others, for the first time in this
    /// round trip.
    pub(super) fn on_loss(&mut self, now: Instant, lane: usize, lost: &Lost, views: &[LaneView]) -> bool {
        let Some(index) = self.class_of(lane, views) else { return false };
        let last = self.lanes.get(lane).copied().flatten().and_then(|(_, last)| last);
        let srtt = views.get(lane).and_then(|view| view.srtt).unwrap_or(INTERVAL);
        if let (true, Some(one)) = (lost.cut, self.one_of(index)) {
            one.on_loss(now, lost.sent_at, srtt, lost.event);
        }
        let Some(class) = self.classes.get_mut(index) else { return false };
        let (Some(delay), true) = (last, lost.cut) else { return false };
        // Losses of several lanes at the same overflow are one event.
        if class.last_loss.is_some_and(|at| now - at < srtt) {
            return false;
        }
        class.last_loss = Some(now);
        let leader = self.leader(index);
        if let Some(class) = self.classes.get_mut(leader) {
            class.trial.on_loss();
        }
        let Some(class) = self.classes.get_mut(index) else { return false };
        let Some(rank) = class.delays.rank(delay) else { return false };
        // An empty queue does not overflow, however rare its small delays are.
        let filled = delay as f64 > STANDING * class.delays.longest() as f64;
        class.cause.note(if filled { rank } else { rank.min(0.5) });
        let overflows = filled && class.cause.is_congestion();
        if overflows {
            class.last_full = Some(now);
        }
        overflows && class.one.is_none()
    }

    /// Every interval: finds the classes that share a bottleneck, and forgets full queues that were seen too long ago.
    pub(super) fn review(&mut self, now: Instant, views: &[LaneView], pmdcs: u64) {
        if self.next_interval.is_some_and(|at| now < at) {
            return;
        }
        let longest = views.iter().filter_map(|view| view.srtt).max().unwrap_or_default();
        self.next_interval = Some(now + INTERVAL.max(longest));
        for (index, class) in self.classes.iter_mut().enumerate() {
            if class.standing {
                class.last_full = Some(now);
            }
            // One flow with the window of the whole class would have met the full queue again by now: since a cut it would
            // have grown for half a window of round trips. The bottleneck has more room than it had.
            let packets = class.window() / pmdcs.max(1);
            let crowd = Crowd::of(index, &self.lanes, views, pmdcs).with(packets);
            let patience = crowd.longest_srtt * (crowd.packets as u64).max(8);
            if class.last_full.is_some_and(|at| now - at > patience) {
                class.last_full = None;
                class.cause.forget();
            }
        }
        let mut changed = false;
        for pair in &mut self.pairs {
            changed |= pair.review();
        }
        if changed {
            self.find_leaders();
        }
    }

    /// True if the bottleneck of a lane is full.
    pub(super) fn is_saturated(&self, lane: usize) -> bool {
        self.class(lane).is_some_and(|class| self.classes.get(class).is_some_and(Class::is_full))
    }

    /// True if the losses of a lane are those of queues that overflow.
    pub(super) fn overflows(&self, lane: usize) -> bool {
        let class = self.class(lane).and_then(|class| self.classes.get(class));
        class.is_some_and(|class| class.cause.is_congestion())
    }

    /// True if two lanes share a bottleneck that is full.
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
    fn new(path: PathId, dscp: Dscp, one: Option<OneFlow>) -> Self {
        Self {
            path,
            dscp,
            round_trip: Least::default(),
            one_way: Least::default(),
            latest: None,
            delays: Delays::default(),
            next_delay: None,
            round: Round::default(),
            cause: LossCause::default(),
            last_loss: None,
            last_full: None,
            standing: false,
            one,
            trial: Trial::default(),
            begins_anew: false,
        }
    }

    /// The window of the one flow that the class leads, bytes.
    fn window(&self) -> u64 {
        self.one.as_ref().map_or(0, OneFlow::window)
    }

    /// Takes a delay in; returns the excess over the shortest, ns, and at the end of a round trip the measurements of it.
    fn delay(&mut self, now: Instant, delay: Delay, srtt: Duration, crowd: &Crowd) -> (i64, Option<Seen>) {
        let above = match delay {
            Delay::RoundTrip(ns) => ns - self.round_trip.with(now, ns),
            Delay::OneWay(ns) => ns - self.one_way.with(now, ns),
        };
        if self.next_delay.is_none_or(|at| now >= at) {
            self.delays.note(above);
            self.next_delay = Some(now + srtt / 2);
        }
        let round = &mut self.round;
        round.least = Some(round.least.map_or(above, |least| least.min(above)));
        if !round.is_over(now) {
            return (above, None);
        }
        let least = round.least.take().unwrap_or_default();
        round.ends = Some(now + srtt);
        let took = (now - std::mem::replace(&mut round.began, now)).as_secs_f64();
        let acked = std::mem::take(&mut round.acked) as f64;
        // Our own part of the queue, as TCP Vegas estimates it.
        let share = least as f64 / srtt.as_nanos().max(1) as f64;
        let longest = self.delays.longest() as f64 / srtt.as_nanos().max(1) as f64;
        self.standing = least as f64 > STANDING * self.delays.longest() as f64
            && share * crowd.packets > LEAST_BACKLOG * crowd.lanes;
        if took <= 0.0 || self.one.is_none() {
            return (above, None);
        }
        (
            above,
            Some(Seen {
                rate: acked / took,
                standing: share * crowd.packets > LEAST_BACKLOG,
                queued: longest * crowd.packets > SOME_BACKLOG,
                window: crowd.packets as u64,
                lanes: crowd.active,
            }),
        )
    }

    fn is_full(&self) -> bool {
        self.standing || self.cause.is_congestion()
    }
}
