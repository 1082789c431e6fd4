use anabranch_base::{Dscp, Duration};

use super::*;
use crate::ids::PathId;
use anabranch_transport::congestion::Congestion;
use holding::Holding;
use likeness::{Likeness, Pair};
use ranks::{Delays, LossCause};

const MS: u64 = 1_000_000;
const LOSS: Congestion = Congestion::FastRetransmit(anabranch_transport::congestion::Base::CWND);

fn lane(cwnd: u64, rtt_ms: u64) -> LaneView {
    LaneView {
        open: true,
        active: true,
        cwnd,
        flight: cwnd,
        srtt: Some(Duration::from_millis(rtt_ms)),
        path: PathId::new(0),
        dscp: Dscp::DEFAULT,
    }
}

fn coupler_of(config: &Config) -> Option<Box<Coupler>> {
    Coupler::new(config, config.pmdcs(), &config.controller(config.pmdcs(), false, 1 << 20))
}

fn packets(growth: Growth) -> f64 {
    match growth {
        Growth::Linked(packets) => packets,
        Growth::Phi(phi) => 1.0 / phi,
    }
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9 * b.abs().max(1.0)
}

#[test]
fn a_constant_phi_needs_no_coupler() {
    for (text, needed) in [
        ("independent", false),
        ("shared", false),
        ("fcc(n^2)", false),
        ("fcc(3.5)", false),
        ("lia", true),
        ("olia", true),
        ("adaptive", true),
    ] {
        let mut config = Config::rfc9260();
        config.set("coupling", text).unwrap();
        assert_eq!(coupler_of(&config).is_some(), needed, "{text}");
        assert_eq!(config.get("coupling").unwrap(), text);
    }
    let mut config = Config::rfc9260();
    config.set("coupling", "fcc(n^2)").unwrap();
    config.set("fcc_count", "active").unwrap();
    let mut coupler = coupler_of(&config).unwrap();
    coupler.views = vec![lane(10_000, 100); 4];
    assert_eq!(coupler.growth(LaneId::at(0)), Growth::Phi(16.0));
    coupler.views[1].active = false;
    coupler.views[2].open = false;
    assert_eq!(coupler.growth(LaneId::at(0)), Growth::Phi(4.0), "two of four have something to send");
}

/// RFC 6356: equal round trips and windows: alpha = 1 / n, so each grows by 1 / n^2 packets in a round trip.
#[test]
fn lia_with_equal_lanes_is_fcc_n_squared() {
    let views = vec![lane(30_000, 100); 3];
    assert!(near(packets(linked::lia(&views, 1)), 1.0 / 9.0));
}

/// Equations 1 and 2 of RFC 6356 worked out: windows 40,000 and 10,000 B, round trips 0.1 and 0.05 s. alpha = 50,000 *
/// max(4e6, 4e6) / (400,000 + 200,000)^2 = 0.5556. Lane 0 adds alpha * 40,000 / 50,000 in a round trip.
#[test]
fn lia_follows_its_equations() {
    let views = [lane(40_000, 100), lane(10_000, 50)];
    let alpha = 50_000.0 * 4e6 / 600_000.0_f64.powi(2);
    assert!(near(packets(linked::lia(&views, 0)), alpha * 0.8));
    assert!(near(packets(linked::lia(&views, 1)), alpha * 0.2));
    // The second argument of min: a long lane is not more aggressive than Reno.
    let views = [lane(40_000, 1000), lane(1500, 10)];
    assert!(near(packets(linked::lia(&views, 0)), 1.0));
    // A lane that is not open, or was never measured, does not count.
    let views =
        [lane(40_000, 100), LaneView { open: false, ..lane(1, 1) }, LaneView { srtt: None, ..lane(9, 9) }];
    assert!(near(packets(linked::lia(&views, 0)), 1.0));
    assert!(near(packets(linked::lia(&views, 2)), 1.0));
    // A lane without anything to send counts with its flight.
    let views = [lane(40_000, 100), LaneView { active: false, flight: 0, ..lane(40_000, 100) }];
    assert!(packets(linked::lia(&views, 0)) > 0.999);
}

/// OLIA: lane 1 is as good as lane 0 (same bytes between losses, same round trip) and has the smaller window: growth moves
/// from lane 0 to lane 1 by 1 / (2 * 1).
#[test]
fn olia_moves_growth_to_good_lanes_with_small_windows() {
    let views = [lane(30_000, 100), lane(10_000, 100)];
    let mut losses = Vec::new();
    for lane in 0..2 {
        Losses::of(&mut losses, lane).acked(1_000_000);
        Losses::of(&mut losses, lane).lost();
        Losses::of(&mut losses, lane).acked(7);
    }
    assert!(near(packets(linked::olia(&views, &losses, 0)), 0.75 * 0.75 - 0.5));
    assert!(near(packets(linked::olia(&views, &losses, 1)), 0.25 * 0.25 + 0.5));
    // A worse lane gets nothing: l / rtt^2 decides.
    let mut worse = losses.clone();
    worse[1] = Losses::default();
    worse[1].acked(500_000);
    assert!(near(packets(linked::olia(&views, &worse, 0)), 0.5625));
    assert!(near(packets(linked::olia(&views, &worse, 1)), 0.0625));
    // With equal windows no path collects growth.
    let even = [lane(10_000, 100); 2];
    assert!(near(packets(linked::olia(&even, &losses, 0)), 0.25));
}

/// Two queues that look alike (same range, same variation) and are not at the same height at the same time.
#[test]
fn delays_of_one_queue_are_alike_at_the_same_time() {
    let height = |step: u64, phase: u64| ((step + phase) % 100) as f64 * 1e6;
    let noise = |step: u64| ((step * 2_654_435_761) >> 7) as f64 % 1e6;
    for (phase, one_queue) in [(0, true), (50, false)] {
        let mut pair = Likeness::default();
        assert_eq!(pair.verdict(), None, "nothing is known");
        for step in 0..1000 {
            let a = height(step, 0) + noise(3 * step);
            let b = height(step, phase) + noise(3 * step + 1);
            let before = height(step.saturating_sub(1), 0) + noise(3 * step + 2);
            pair.note(a - b - 7e6, (a - before).powi(2));
        }
        assert_eq!(pair.verdict(), Some(one_queue), "{phase}");
    }
}

#[test]
fn a_class_is_held_for_two_round_trips_and_then_the_next_one() {
    let (mut holding, rtt, unit) = (Holding::default(), Duration::from_millis(100), 1000);
    let mut held: Vec<(u64, usize, u64)> = Vec::new();
    for step in 0..4000 {
        // Class 1 has too little in flight to be held.
        let flight = if holding.class() == 1 { 3 * unit } else { 20 * unit };
        holding.on_ack(Instant::from_nanos(step * 10 * MS), rtt, 3, flight, unit);
        let limits = (0..3).filter_map(|class| holding.limit(class).map(|limit| (class, limit)));
        held.extend(limits.map(|(class, limit)| (step, class, limit)));
    }
    let classes: Vec<usize> = held.iter().map(|entry| entry.1).collect();
    assert!(classes.contains(&0) && classes.contains(&2) && !classes.contains(&1), "{classes:?}");
    assert!(held.iter().all(|entry| entry.2 == 15 * unit), "three quarters of 20 packets");
    let share = held.len() as f64 / 4000.0;
    assert!((0.08..0.14).contains(&share), "two of twelve round trips, two of three times: {share}");
}

#[test]
fn verdicts_on_a_pair_have_inertia() {
    let mut pair = Pair::default();
    for _ in 0..20 {
        pair.seen(false);
    }
    assert!(pair.is_together(), "twenty verdicts are not enough");
    for _ in 0..60 {
        pair.seen(false);
    }
    assert!(!pair.is_together());
    for _ in 0..8 {
        pair.seen(true);
    }
    assert!(!pair.is_together());
    for _ in 0..60 {
        pair.seen(true);
    }
    assert!(pair.is_together());
}

#[test]
fn losses_at_the_top_are_the_queues_and_losses_anywhere_are_the_links() {
    let mut delays = Delays::default();
    assert_eq!(delays.rank(5), None, "too few");
    for delay in 0..100 {
        delays.note(delay);
    }
    assert!(near(delays.rank(99).unwrap(), 0.995));
    assert!(near(delays.rank(-1).unwrap(), 0.0));
    let mut cause = LossCause::default();
    cause.note(0.95);
    assert!(!cause.is_congestion(), "one loss proves nothing");
    cause.note(0.95);
    cause.note(0.97);
    assert!(cause.is_congestion(), "{}", cause.mean());
    for rank in [0.1, 0.9, 0.4, 0.6, 0.3, 0.7, 0.5, 0.2] {
        cause.note(rank);
    }
    assert!(!cause.is_congestion(), "{}", cause.mean());
    // All delays equal: every loss has the middle rank.
    let mut flat = Delays::default();
    for _ in 0..300 {
        flat.note(7);
    }
    assert!(near(flat.rank(7).unwrap(), 0.5));
}

/// Lanes that report delays and losses to a coupling.
struct Lanes {
    coupler: Box<Coupler>,
    now: u64,
}

impl Lanes {
    fn new(lanes: usize, set: &[(&str, &str)]) -> Self {
        let mut config = Config::rfc9260();
        config.subflows.coupling = Coupling::Adaptive;
        for (key, value) in set {
            config.set(key, value).unwrap();
        }
        let mut coupler = coupler_of(&config).unwrap();
        coupler.views = vec![lane(20 * 1468, 100); lanes];
        Self { coupler, now: 0 }
    }

    /// Every lane reports one delay.
    fn delay(&mut self, ms: u64) {
        let all = vec![(ms, 2); self.coupler.views.len()];
        self.delays(&all);
    }

    /// Each lane reports a delay, ms, in a SACK for so many packets.
    fn delays(&mut self, each: &[(u64, u64)]) {
        self.now += 10 * MS;
        for (lane, &(ms, packets)) in each.iter().enumerate() {
            // One SACK after the other.
            self.now += MS / 10;
            let now = Instant::from_nanos(self.now);
            let sent_at = Some(Instant::from_nanos(self.now.saturating_sub(ms * MS)));
            let delay = Some(Delay::RoundTrip((ms * MS) as i64));
            let heard = LaneReport { bytes: packets * 1468, delay, sent_at, alone: packets == 1 };
            self.coupler.on_ack(now, LaneId::at(lane), &heard);
        }
        self.coupler.review(Instant::from_nanos(self.now));
    }

    fn lose(&mut self, lane: usize) -> bool {
        let now = Instant::from_nanos(self.now);
        let sent_at = Instant::from_nanos(self.now.saturating_sub(100 * MS));
        self.coupler.on_loss(now, LaneId::at(lane), &Lost { cut: true, sent_at, event: LOSS })
    }

    fn window(&mut self, lane: usize) -> Option<u64> {
        self.coupler.window_of(LaneId::at(lane))
    }
}

/// BBR, a model of the path, has no window that all lanes could have: Phi is the only answer of the coupling.
const MODEL: [(&str, &str); 1] = [("congestion_control", "bbr")];

#[test]
fn a_model_has_phi_1_without_a_queue_whatever_is_lost() {
    let mut s = Lanes::new(4, &MODEL);
    for step in 0..10_000 {
        // Jitter without a pattern: losses meet every delay.
        s.delay(100 + ((step * 2_654_435_761_u64) >> 7) % 5);
        if step % 397 == 396 {
            assert!(!s.lose((step % 4) as usize), "nobody else is cut");
        }
    }
    for lane in 0..4 {
        assert_eq!(s.coupler.growth(LaneId::at(lane)), Growth::Phi(1.0));
        assert_eq!(s.window(lane), None);
    }
}

#[test]
fn a_model_has_phi_n_when_the_queue_overflows_and_1_when_room_has_come() {
    let mut s = Lanes::new(3, &MODEL);
    for step in 0..2000 {
        // 100 to 180 ms in 4 s; lost at the top, in turn.
        s.delay(100 + 80 * (step % 400) / 400);
        if step % 400 == 399 {
            s.lose((step / 400 % 3) as usize);
        }
    }
    // Right after the overflow the queue is empty, but overflows limit these lanes: as one flow, all are cut together.
    s.delay(100);
    assert_eq!(s.coupler.growth(LaneId::at(0)), Growth::Phi(3.0));
    assert!(s.coupler.share(LaneId::at(0), LaneId::at(2)));
    s.coupler.cut = AdaptiveCut::Lane;
    assert_eq!(s.coupler.growth(LaneId::at(0)), Growth::Phi(9.0));
    // No loss for 60 round trips of 60 packets: the bottleneck has room.
    for _ in 0..800 {
        s.delay(100);
    }
    assert_eq!(s.coupler.growth(LaneId::at(0)), Growth::Phi(1.0));
}

#[test]
fn lanes_of_other_code_points_are_parts_of_one_flow_until_their_delays_differ() {
    part_when_delays_differ(false);
}

/// A SACK that waits for a second packet is late by up to 200 ms, whatever the queue is.
#[test]
fn delayed_sacks_do_not_hide_that_delays_differ() {
    part_when_delays_differ(true);
}

/// Bursts of slow start meet one queue at different heights: their delays are not remembered.
#[test]
fn delays_before_the_first_loss_tell_nothing() {
    let mut s = Lanes::new(2, &[]);
    s.coupler.views[1].dscp = Dscp::new(46).unwrap();
    for step in 0..20_000 {
        s.delays(&[(100 + 12 * (step / 8 % 2), 2), (112 - 12 * (step / 8 % 2), 2)]);
    }
    assert_eq!(s.coupler.first_of(LaneId::at(1)), LaneId::at(0), "together until shown apart");
    // Delays after a loss are remembered.
    s.lose(0);
    for step in 0..20_000 {
        s.delays(&[(100 + 12 * (step / 8 % 2), 2), (112 - 12 * (step / 8 % 2), 2)]);
    }
    assert_eq!(s.coupler.first_of(LaneId::at(1)), LaneId::at(1));
}

fn part_when_delays_differ(delayed: bool) {
    let mut s = Lanes::new(2, &[]);
    s.coupler.views[1].dscp = Dscp::new(46).unwrap();
    for step in 0..1200 {
        s.delay(100 + 80 * (step % 400) / 400);
        if step % 400 == 399 {
            s.lose(0);
            s.lose(1);
        }
    }
    for _ in 0..20 {
        s.delay(180);
    }
    let together = s.window(0).unwrap();
    assert_eq!(s.window(1), Some(together), "together until shown apart");
    // Lane 1 meets another queue from now on, which is always nearly full.
    for step in 0..20_000_u64 {
        let slow = 100 + 80 * (step % 400) / 400;
        let full = 160 + 4 * (step % 3);
        if delayed && step % 8 == 7 {
            s.now += 190 * MS;
            s.delays(&[(slow + 200, 1), (full, 2)]);
        } else {
            s.delays(&[(slow, 2), (full, 2)]);
        }
        if step % 400 == 399 {
            s.lose(0);
        }
        if step % 100 == 99 {
            s.lose(1);
        }
    }
    assert!(!s.coupler.share(LaneId::at(0), LaneId::at(1)));
    s.now += 1000 * MS;
    let (one, other) = (s.window(0).unwrap(), s.window(1).unwrap());
    s.lose(0);
    assert!(s.window(0).unwrap() <= one / 2 + 1, "its own is cut");
    assert_eq!(s.window(1), Some(other), "the other's is not");
}

#[test]
fn what_lanes_have_in_flight_together_is_the_window_of_one_flow() {
    let mut s = Lanes::new(4, &[]);
    for _ in 0..50 {
        s.delay(100);
    }
    s.lose(0);
    let window = s.window(0).unwrap();
    for lane in 0..4 {
        assert_eq!(s.window(lane), Some(window), "one for all");
    }
    for flight in [window / 4 - 1, window / 4 + 1] {
        for view in &mut s.coupler.views {
            view.flight = flight;
        }
        assert_eq!(s.coupler.is_out(LaneId::at(2)), flight > window / 4, "{flight} of {window}");
    }
    // Three lanes find losses of packets that left at the same time: one flow is cut once.
    s.lose(1);
    s.lose(2);
    assert_eq!(s.window(3), Some(window), "that was the same event");
    s.now += 300 * MS;
    s.lose(3);
    assert!(s.window(0).unwrap() <= window / 2 + 1, "that was another");
}

#[test]
fn an_rto_of_a_lane_is_a_loss_of_the_flow_and_of_the_last_lane_a_timeout() {
    let mut s = Lanes::new(2, &[]);
    for _ in 0..200 {
        s.delay(100);
    }
    let window = s.window(0).unwrap();
    s.coupler.on_timeout(Instant::from_nanos(s.now), LaneId::at(0), Instant::from_nanos(s.now - 50 * MS));
    let cut = s.window(0).unwrap();
    assert_eq!(cut, window / 2, "lane 1 goes on");
    s.coupler.views[1].flight = 0;
    s.now += 1000 * MS;
    s.coupler.on_timeout(Instant::from_nanos(s.now), LaneId::at(0), Instant::from_nanos(s.now - 50 * MS));
    assert_eq!(s.window(1), Some(1468), "nothing else was in flight");
    // A pause of so many RTOs leaves no more than the floor.
    for _ in 0..500 {
        s.delay(100);
    }
    for view in &mut s.coupler.views {
        view.flight = 0;
    }
    let before = s.window(0).unwrap();
    let later = Instant::from_nanos(s.now + 60_000 * MS);
    s.coupler.on_pause(later, LaneId::at(0), Duration::from_secs(1));
    assert!(s.window(0).unwrap() < before, "{before}");
}

/// A mark that stands for less than a loss cuts the window of all by as much as that of the lane (RFC 8511; RFC 9331, 4.3).
#[test]
fn a_mark_is_to_all_lanes_what_it_is_to_one() {
    let mut s = Lanes::new(3, &[]);
    for _ in 0..200 {
        s.delay(100);
    }
    let (window, now) = (s.window(0).unwrap(), Instant::from_nanos(s.now));
    let mark = Lost { cut: true, sent_at: now, event: Congestion::EcnKeep(900_000) };
    s.coupler.on_loss(now, LaneId::at(1), &mark);
    assert_eq!(s.window(2), Some(window * 9 / 10));
}

/// A path whose packets become smaller: the one flow counts in those from then on (RFC 8899, 3).
#[test]
fn the_one_flow_counts_in_packets_of_the_path() {
    let mut s = Lanes::new(2, &[]);
    s.delay(100);
    s.coupler.resize(1000);
    s.coupler.views[1].flight = 0;
    s.coupler.on_timeout(Instant::from_nanos(s.now), LaneId::at(0), Instant::from_nanos(s.now));
    assert_eq!(s.window(1), Some(1000));
}
