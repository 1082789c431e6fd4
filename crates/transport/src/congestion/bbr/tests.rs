//! Whole flows in virtual time, and the worst inputs.

mod path;

use anabranch_base::Rng;

use super::constants::MOST_QUANTUM;
use super::*;
use crate::congestion::segments::Algorithm;
use crate::congestion::{Acked, Base, Congestion, Controller, Rules, Timing};
use path::{Net, PACKET, Path, rates};

fn bbr(controller: &Controller) -> &Bbr {
    match &controller.rules {
        Rules::Model(bbr) => bbr,
        _ => panic!("another controller"),
    }
}

/// One flow of BBR for so many seconds: Mbit/s, mean delay in the queue in ms, and the rest.
fn alone(path: Path, seconds: f64) -> (f64, f64, Net) {
    let mut net = Net::new(path, 1);
    net.flow(Algorithm::Bbr, 0.0, Duration::ZERO);
    let (rate, queue) = rates(&mut net, 0.0, seconds);
    (rate[0], queue, net)
}

/// Fast paths are filled, and queues stay short: part of the rate, most ms of queue.
#[test]
fn a_flow_alone_fills_its_path() {
    for (mbit, rtt, queue, loss, least, most_queue) in [
        (100.0, 10.0, 1.0, 0.0, 0.975, 2.5),
        (100.0, 100.0, 1.0, 0.0, 0.96, 25.0),
        (100.0, 100.0, 0.1, 0.0, 0.92, 2.0),
        (100.0, 100.0, 1.0, 0.001, 0.945, 25.0),
        (100.0, 100.0, 1.0, 0.01, 0.89, 25.0),
        (100.0, 100.0, 1.0, 0.05, 0.80, 40.0),
        (100.0, 100.0, 1.0, 0.15, 0.60, 40.0),
        (50.0, 300.0, 1.0, 0.0, 0.89, 150.0),
        (100.0, 100.0, 4.0, 0.0, 0.96, 25.0),
        (1.0, 50.0, 1.0, 0.0, 0.95, 30.0),
    ] {
        let (rate, delay, net) = alone(Path::new(mbit, rtt, queue, loss), 30.0);
        let what = format!("{mbit} Mbit/s {rtt} ms {queue} BDP {loss}: {rate:.2} Mbit/s, {delay:.1} ms");
        println!("{what}, {} kB lost, {} timeouts", net.flows[0].lost / 1000, net.flows[0].timeouts);
        assert!(rate > least * mbit && delay < most_queue, "{what}");
    }
}

/// Startup, Drain, then the four phases in their order, a turn in two to four seconds; no `ProbeRTT` while the queue is seen empty.
#[test]
fn the_phases_follow_each_other() {
    let mut net = Net::new(Path::new(20.0, 50.0, 2.0, 0.0), 1);
    net.flow(Algorithm::Bbr, 0.0, Duration::ZERO);
    let mut seen = vec![(State::Startup, 0.0)];
    for step in 1..4000 {
        net.run(f64::from(step) * 0.005);
        let state = bbr(&net.flows[0].controller).state;
        if seen.last().is_some_and(|(last, _)| *last != state) {
            seen.push((state, f64::from(step) * 0.005));
        }
    }
    // A queue that is empty already makes ProbeBW_DOWN shorter than these steps.
    let order: Vec<State> = seen.iter().map(|(state, _)| *state).filter(|s| *s != State::Down).collect();
    assert_eq!(order[..3], [State::Startup, State::Drain, State::Cruise]);
    for pair in order[2..].windows(2) {
        let next = match pair[0] {
            State::Cruise => State::Refill,
            State::Refill => State::Up,
            _ => State::Cruise,
        };
        assert_eq!(pair[1], next, "{seen:?}");
    }
    let ups: Vec<f64> = seen.iter().filter(|(state, _)| *state == State::Up).map(|(_, at)| *at).collect();
    assert!(ups.len() >= 5, "{ups:?}");
    assert!(ups.windows(2).all(|pair| (1.9..4.5).contains(&(pair[1] - pair[0]))), "{ups:?}");
    let model = &bbr(&net.flows[0].controller).model;
    let min_rtt = model.min_rtt.unwrap().as_secs_f64();
    assert!((0.05..0.0515).contains(&min_rtt), "{min_rtt}");
    assert!((model.max_bw() * 8.0 / 20e6 - 1.0).abs() < 0.03, "{}", model.max_bw());
}

/// With a queue that never empties the shortest round trip must be looked for: `ProbeRTT`, and half of the window in it.
#[test]
fn a_standing_queue_leads_to_probe_rtt() {
    let mut net = Net::new(Path::new(20.0, 50.0, 2.0, 0.0), 1);
    net.flow(Algorithm::Bbr, 0.0, Duration::ZERO);
    // The path becomes longer: no sample confirms the old shortest round trip.
    net.change(5.0, Path::new(20.0, 80.0, 1.0, 0.0));
    let mut least = u64::MAX;
    let mut probed = false;
    for step in 1..2500 {
        net.run(f64::from(step) * 0.01);
        let bbr = bbr(&net.flows[0].controller);
        if bbr.state == State::ProbeRtt {
            probed = true;
            least = least.min(bbr.cwnd);
        }
    }
    assert!(probed && least <= 80_000, "{least}");
    let min_rtt = bbr(&net.flows[0].controller).model.min_rtt.unwrap().as_secs_f64();
    assert!((0.079..0.09).contains(&min_rtt), "{min_rtt}");
}

/// The rate falls a thousandfold and comes back; round trips grow by ten seconds; two of five packets are lost. The flow goes on, and
/// never more than the quantum leaves at one instant.
#[test]
fn paths_that_change_for_the_worst() {
    let good = Path::new(100.0, 50.0, 1.0, 0.0);
    let slow = Path { rate: good.rate / 1000.0, ..good };
    let far = Path { rtt: Duration::from_millis(10_050), ..good };
    let lossy = Path { loss: 0.4, ..good };
    // Mbit/s while it lasts, at least, and once it is over.
    for (name, bad, least) in [("slow", slow, 0.04), ("far", far, 0.1), ("lossy", lossy, 0.05)] {
        let mut net = Net::new(good, 3);
        net.flow(Algorithm::Bbr, 0.0, Duration::ZERO);
        net.change(5.0, bad);
        net.change(125.0, good);
        net.run(65.0);
        let (during, _) = rates(&mut net, 65.0, 125.0);
        let (after, _) = rates(&mut net, 165.0, 185.0);
        let flow = &net.flows[0];
        println!("{name}: {:.3}, then {:.1} Mbit/s, {} timeouts", during[0], after[0], flow.timeouts);
        assert!(during[0] > least, "{name}: {during:?}");
        assert!(after[0] > 20.0, "{name}: {after:?}");
        assert!(flow.largest_burst <= MOST_QUANTUM + PACKET, "{name}: {}", flow.largest_burst);
    }
}

/// An application with little to say does not make the path look slow, and data after a pause is paced at the known rate.
#[test]
fn applications_that_pause() {
    let mut net = Net::new(Path::new(50.0, 40.0, 1.0, 0.0), 1);
    net.flow(Algorithm::Bbr, 0.0, Duration::ZERO);
    net.run(6.0);
    let known = bbr(&net.flows[0].controller).model.max_bw();
    // A packet in 10 ms: 1 Mbit/s for ten seconds, then silence.
    net.flows[0].to_send = Some(0);
    for step in 0..1000 {
        net.run(6.5 + f64::from(step) * 0.01);
        net.flows[0].to_send = Some(PACKET);
        net.send(0);
    }
    let after = bbr(&net.flows[0].controller).model.max_bw();
    assert!(after > 0.9 * known, "{after} of {known}");
    net.run(40.0);
    net.flows[0].largest_burst = 0;
    net.flows[0].to_send = None;
    net.send(0);
    assert!(bbr(&net.flows[0].controller).state != State::ProbeRtt);
    let (rate, _) = rates(&mut net, 40.0, 41.0);
    assert!(rate[0] > 42.0, "{rate:?}");
    assert!(net.flows[0].largest_burst <= 2 * 8 * PACKET, "{}", net.flows[0].largest_burst);
}

/// Two flows share, also where one has twice the round trip.
#[test]
fn two_flows_share_a_bottleneck() {
    for (extra, queue, least) in [(0, 1.0, 0.30), (0, 4.0, 0.30), (40, 1.0, 0.2)] {
        let mut net = Net::new(Path::new(50.0, 40.0, queue, 0.0), 1);
        net.flow(Algorithm::Bbr, 0.0, Duration::ZERO);
        net.flow(Algorithm::Bbr, 3.0, Duration::from_millis(extra));
        let (rate, delay) = rates(&mut net, 20.0, 80.0);
        let sum: f64 = rate.iter().sum();
        println!("+{extra} ms, {queue} BDP: {rate:?}, queue {delay:.1} ms");
        assert!(sum > 45.0 && rate.iter().all(|one| *one > least * sum), "{rate:?}");
    }
}

/// Beside Reno and CUBIC neither starves.
#[test]
fn beside_controllers_that_fill_queues() {
    for other in [Algorithm::Reno, Algorithm::Cubic] {
        for queue in [0.25, 1.0, 4.0] {
            let mut net = Net::new(Path::new(20.0, 40.0, queue, 0.0), 1);
            net.flow(Algorithm::Bbr, 0.0, Duration::ZERO);
            net.flow(other, 0.5, Duration::ZERO);
            let (rate, _) = rates(&mut net, 20.0, 120.0);
            println!("{}, {queue} BDP: bbr {:.1}, other {:.1}", other.word(), rate[0], rate[1]);
            assert!(rate[0] > 1.0 && rate[1] > 1.0, "{} {queue}: {rate:?}", other.word());
        }
    }
}

/// Acknowledgements cut into a thousand parts are worth no more than whole ones.
#[test]
fn splitting_acknowledgements_gains_nothing() {
    let run = |parts: u64| {
        let mut bbr = Bbr::new(&BbrRules { unit: 1000, initial_window: 10_000 });
        let at = |ms: u64| Instant::ZERO + Duration::from_millis(ms);
        let rtt = Duration::from_millis(50);
        for ms in 0..3000_u64 {
            let flight = ms.min(50) * 1000;
            if ms >= 50 {
                for part in 0..parts {
                    let left = flight - 1000 + 1000 / parts * (parts - part - 1);
                    let acked = Acked { cumulative: 1000 / parts, ..Acked::default() };
                    let timing = Timing {
                        now: at(ms),
                        rtt: Some(rtt),
                        srtt: Some(rtt),
                        newest_sent: Some(at(ms - 50)),
                        flight_before: left + 1000 / parts,
                        flight: left,
                        ..Timing::default()
                    };
                    bbr.on_ack(&acked, &timing);
                }
            }
            let before = if ms >= 50 { flight - 1000 } else { flight };
            bbr.on_sent(at(ms), before, before + 1000, false);
        }
        (bbr.cwnd, bbr.pacing_rate)
    };
    let (whole, split) = (run(1), run(1000));
    assert!(split.0 <= whole.0 + 2000 && split.1 <= whole.1 * 1.02, "{whole:?} {split:?}");
}

/// Anything at all, in any order and at any time, also backwards: numbers stay numbers, and a window is left.
#[test]
fn whatever_the_network_says() {
    for seed in 0..200 {
        let mut rng = Rng::stream(seed, "bbr", "lies");
        let mut bbr = Bbr::new(&BbrRules { unit: 1000, initial_window: 10_000 });
        let mut now = 1_u64 << 40;
        for _ in 0..2000 {
            let scale = rng.below(40);
            let step = rng.below(1 << scale);
            now = if rng.chance(0.05) { now.saturating_sub(step) } else { now.saturating_add(step) };
            let at = Instant::from_nanos(now);
            let scale = rng.below(50);
            let bytes = rng.below(1 << scale);
            let scale = rng.below(50);
            let flight = rng.below(1 << scale);
            match rng.below(10) {
                0..4 => {
                    let before = if rng.chance(0.1) { 0 } else { flight };
                    bbr.on_sent(at, before, flight.saturating_add(bytes), rng.chance(0.1));
                }
                4..8 => {
                    let sent = Instant::from_nanos(now.saturating_sub(rng.below(1 << 34)));
                    let known = bbr.on_known_departure(rng.u64());
                    let acked = Acked { cumulative: bytes, in_recovery: rng.chance(0.3), ..Acked::default() };
                    let timing = Timing {
                        now: at,
                        rtt: rng.chance(0.8).then(|| at - sent),
                        srtt: rng.chance(0.8).then(|| at - sent),
                        newest_sent: known.filter(|_| rng.chance(0.9)),
                        flight_before: flight,
                        flight: flight / 2,
                        starved: rng.chance(0.1),
                        ..Timing::default()
                    };
                    bbr.on_ack(&acked, &timing);
                }
                8 => {
                    let sent = bbr.on_known_departure(rng.u64()).unwrap_or(at);
                    bbr.on_lost(at, sent, bytes);
                }
                _ => match rng.below(5) {
                    0 => bbr.on_congestion(Congestion::Timeout(Some(Base::CWND))),
                    1 => bbr.on_congestion(Congestion::OtherLane),
                    2 => bbr.undo(),
                    3 => bbr.resize(rng.below(9000)),
                    _ => bbr.on_congestion(Congestion::FastRetransmit(Base::CWND)),
                },
            }
            assert!(bbr.pacing_rate.is_finite() && bbr.pacing_rate >= 0.0, "seed {seed}");
            assert!(bbr.cwnd >= 1 && bbr.quantum() >= 2 * bbr.unit, "seed {seed}");
        }
    }
}

/// A loss that was none leaves no trace (draft-ietf-ccwg-bbr-05, 5.5.11).
#[test]
fn spurious_losses_are_taken_back() {
    let mut net = Net::new(Path::new(20.0, 50.0, 1.0, 0.0), 1);
    net.flow(Algorithm::Bbr, 0.0, Duration::ZERO);
    net.run(5.0);
    let controller = &mut net.flows[0].controller;
    let window = controller.window();
    let (short, long) = (bbr(controller).model.bw_shortterm, bbr(controller).model.inflight_longterm);
    controller.on_congestion(Congestion::Timeout(Some(Base::CWND)));
    assert_eq!(controller.window(), PACKET);
    controller.undo();
    assert_eq!(controller.window(), window);
    let model = &bbr(controller).model;
    assert!(model.bw_shortterm >= short && model.inflight_longterm >= long);
}

/// Lanes with Phi = n^2 together get about the share of one flow, and never the n shares that they get without.
#[test]
fn coupled_lanes_get_no_more_than_one_flow() {
    for (own, other) in [
        (Algorithm::Bbr, Algorithm::Bbr),
        (Algorithm::Bbr, Algorithm::Cubic),
        (Algorithm::Cubic, Algorithm::Cubic),
    ] {
        let share = |n: u32, phi: u32| {
            let mut net = Net::new(Path::new(50.0, 40.0, 1.0, 0.0), 1);
            for lane in 0..n {
                let id = net.flow(own, f64::from(lane) * 0.1, Duration::ZERO);
                net.flows[id].controller.set_growth(Growth::Phi(f64::from(phi)));
            }
            net.flow(other, 1.0, Duration::ZERO);
            let (rate, _) = rates(&mut net, 20.0, 140.0);
            let lanes: f64 = rate[..n as usize].iter().sum();
            lanes / (lanes + rate[n as usize])
        };
        let (one, apart, coupled) = (share(1, 1), share(4, 1), share(4, 16));
        println!(
            "{} beside {}: {one:.2} alone, four lanes {apart:.2}, coupled {coupled:.2}",
            own.word(),
            other.word()
        );
        assert!(coupled < one + 0.05 && coupled > 0.15 && apart > coupled + 0.1, "{one} {apart} {coupled}");
    }
}
