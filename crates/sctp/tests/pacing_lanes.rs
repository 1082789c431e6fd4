//! Pacing where it meets the rest of the stack: several subflows, losses, acknowledgements, a short queue.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use crate::common;

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use anabranch_base::{Dscp, Duration, Instant, Rng};
use anabranch_sctp::config::{Coupling, InitialWindow, MaxBurst, SubflowLevel, SubflowScheduler};
use anabranch_sctp::{AssociationId, Config, Stats, SubflowSpec};
use common::{Logged, PORT, Pair, Side, address};

/// Bytes of a full chunk, header included, and of its user data.
const PACKET: u64 = 1468;
const PAYLOAD: usize = 1452;

fn dscp(value: u8) -> Dscp {
    Dscp::new(value).unwrap()
}

/// A SACK for every packet, a window of so many packets that grows slowly, a bucket of one packet.
fn paced(packets: u16) -> Config {
    Config::rfc9260().with(|c| {
        c.pacing.enabled = true;
        c.pacing.burst = 1;
        c.congestion.initial_window = InitialWindow::Packets(packets);
        c.congestion.initial_ssthresh = Some(u64::from(packets) * PACKET / 2);
        c.congestion.max_burst = MaxBurst::Off;
        c.congestion.idle_decay_floor = None;
        c.sack.every = 1;
        c.limits.send_buffer = 64 << 20;
        c.limits.receive_window = 8 << 20;
    })
}

fn up(seed: u64, config: &Config) -> (Pair, AssociationId) {
    let mut pair = Pair::new(seed);
    let peer = config.clone().with(|c| {
        c.pacing.enabled = false;
        c.subflows.open = Vec::new();
    });
    pair.z.listen(Arc::new(peer)).unwrap();
    let id = pair.a.connect(pair.now, address(Side::Z), PORT, Arc::new(config.clone())).unwrap();
    pair.run_for(Duration::from_millis(300));
    (pair, id)
}

fn queue(pair: &mut Pair, id: AssociationId, stream: u16, packets: usize) {
    for _ in 0..packets {
        pair.send(Side::A, id, stream, &[stream as u8; PAYLOAD]);
    }
}

fn stats(pair: &Pair, id: AssociationId) -> Stats {
    pair.a.view(id).unwrap().stats()
}

fn data_of(pair: &Pair, dscp: Dscp) -> Vec<&Logged> {
    pair.log.iter().filter(|p| p.from == Side::A && p.dscp == dscp && p.has("DATA")).collect()
}

/// Nanoseconds of a full packet at 120 % of `cwnd` in `srtt`.
fn interval(cwnd: u64, srtt: Duration) -> u64 {
    PACKET * srtt.as_nanos() * 100 / (cwnd * 120)
}

#[test]
fn subflows_pace_each_for_itself() {
    for scheduler in
        [SubflowScheduler::Fcfs, SubflowScheduler::WeightedRoundRobin, SubflowScheduler::Priority]
    {
        let subflows = vec![SubflowSpec::new(Dscp::DEFAULT), SubflowSpec::new(dscp(46))];
        let config = paced(20).with(|c| {
            c.subflows.open = subflows;
            c.subflows.scheduler = scheduler;
        });
        let (mut pair, id) = up(1, &config);
        // 100 ms and 30 ms there and back.
        pair.latency = Duration::from_millis(10);
        pair.latency_of.insert(Dscp::DEFAULT, Duration::from_millis(90));
        pair.latency_of.insert(dscp(46), Duration::from_millis(20));
        queue(&mut pair, id, 0, 1);
        queue(&mut pair, id, 1, 1);
        pair.run_for(Duration::from_secs(1));
        pair.log.clear();
        queue(&mut pair, id, 0, 20);
        queue(&mut pair, id, 1, 20);
        pair.run_for(Duration::from_millis(29));
        for (index, code) in [(0, Dscp::DEFAULT), (1, dscp(46))] {
            let lane = pair.a.view(id).unwrap().subflow_stats(index).unwrap();
            let expected = interval(lane.cwnd, lane.srtt.unwrap());
            let times: Vec<u64> = data_of(&pair, code).iter().map(|p| p.at.as_nanos()).collect();
            assert!(times.len() > 5, "{scheduler:?} {index}: {times:?}");
            for two in times.windows(2) {
                assert!(
                    (two[1] - two[0]).abs_diff(expected) <= 1,
                    "{scheduler:?} {index}: {expected} {times:?}"
                );
            }
        }
        // All of the fast subflow has left, the slow one is at it.
        assert_eq!(data_of(&pair, dscp(46)).len(), 20);
        assert!(data_of(&pair, Dscp::DEFAULT).len() < 8);
    }
}

#[test]
fn a_lane_that_waits_keeps_no_other_waiting() {
    let subflows = vec![SubflowSpec::new(Dscp::DEFAULT), SubflowSpec::new(dscp(46))];
    let (mut pair, id) = up(2, &paced(20).with(|c| c.subflows.open = subflows));
    pair.latency = Duration::from_millis(200);
    queue(&mut pair, id, 0, 1);
    queue(&mut pair, id, 1, 1);
    pair.run_for(Duration::from_secs(2));
    queue(&mut pair, id, 0, 10);
    pair.pump();
    let (at, _) = pair.a.poll_timeout().unwrap();
    assert!(at > pair.now + Duration::from_millis(10), "the first subflow waits");
    let now = pair.now;
    queue(&mut pair, id, 1, 1);
    pair.pump();
    assert_eq!(data_of(&pair, dscp(46)).last().unwrap().at, now);
}

#[test]
fn acknowledgements_do_not_wait_for_the_pacer() {
    let (mut pair, id) = up(3, &paced(20));
    let z = pair.id_of(Side::Z);
    pair.latency = Duration::from_millis(100);
    queue(&mut pair, id, 0, 1);
    pair.run_for(Duration::from_secs(2));
    queue(&mut pair, id, 0, 10);
    pair.pump();
    let data = data_of(&pair, Dscp::DEFAULT).len();
    pair.latency = Duration::from_millis(1);
    pair.send(Side::Z, z, 0, &[1; 100]);
    pair.pump();
    let arrives = pair.now + Duration::from_millis(1);
    pair.run_for(Duration::from_millis(1));
    let last = pair.log.last().unwrap();
    assert_eq!((last.from, last.at, last.has("SACK"), last.has("DATA")), (Side::A, arrives, true, false));
    assert_eq!(data_of(&pair, Dscp::DEFAULT).len(), data, "data still waits");
}

/// SACKs arrive in heaps, so that the bucket is empty when the third missing report comes.
#[test]
fn a_fast_retransmit_waits_its_turn_and_is_not_forgotten() {
    let (mut pair, id) = up(4, &paced(40));
    pair.latency = Duration::from_millis(50);
    queue(&mut pair, id, 0, 1);
    pair.run_for(Duration::from_secs(2));
    pair.log.clear();
    let heap = Duration::from_millis(40).as_nanos();
    pair.delay_by(move |p| {
        let arrival = p.at.as_nanos() + Duration::from_millis(50).as_nanos();
        let arrival = if p.from == Side::Z { arrival.next_multiple_of(heap) } else { arrival };
        Duration::from_nanos(arrival - p.at.as_nanos())
    });
    let mut sent = 0;
    pair.drop_if(move |p| {
        let data = p.from == Side::A && p.has("DATA");
        sent += u32::from(data);
        data && sent == 5
    });
    queue(&mut pair, id, 0, 200);
    pair.run_for(Duration::from_secs(20));
    assert_eq!(pair.received.len(), 201);
    let total = stats(&pair, id);
    assert_eq!((total.fast_retransmits, total.timeouts, total.retransmissions), (1, 0, 1));
    let data = data_of(&pair, Dscp::DEFAULT);
    let lost = data[4].data()[0].tsn;
    let again = data.iter().skip(5).position(|p| p.data()[0].tsn == lost).unwrap() + 5;
    let (before, at) = (data[again - 1].at, data[again].at);
    assert!(at > before, "it waited");
    // Half of the window: 20 packets in 150 ms at most.
    assert!(at - before <= Duration::from_nanos(150_000_000 * 100 / (19 * 120)), "{before} {at}");
    for two in data.windows(2) {
        assert!(two[1].at > two[0].at, "no two packets at once");
    }
}

#[test]
fn what_t3_owes_and_probes_leave_at_once() {
    // The last packets are lost: a probe after two round trips, or T3-rtx after the RTO, to the nanosecond.
    let base = paced(40).with(|c| c.timers.rto_min = Duration::from_millis(10));
    for config in [base.clone(), rack(base).with(|c| c.pacing.enabled = true)] {
        let run = |pacing: bool| {
            let (mut pair, id) = up(5, &config.clone().with(|c| c.pacing.enabled = pacing));
            pair.latency = Duration::from_millis(50);
            queue(&mut pair, id, 0, 1);
            pair.run_for(Duration::from_secs(2));
            pair.log.clear();
            pair.drop_if(|p| p.from == Side::A && p.at < Instant::ZERO + Duration::from_millis(2350));
            queue(&mut pair, id, 0, 1);
            pair.run_for(Duration::from_secs(2));
            assert_eq!(pair.received.len(), 2);
            data_of(&pair, Dscp::DEFAULT).iter().map(|p| p.at).collect::<Vec<_>>()
        };
        let (with, without) = (run(true), run(false));
        assert_eq!(with, without);
        assert!(with.len() >= 2);
    }
}

fn rack(config: Config) -> Config {
    let of = Config::named("rfc9260-rack").unwrap();
    config.with(|c| {
        c.congestion.loss_detection = of.congestion.loss_detection;
        c.congestion.tail_loss_probe = of.congestion.tail_loss_probe;
    })
}

#[test]
fn a_closed_window_is_probed_as_ever() {
    let run = |pacing: bool| {
        let config = paced(40).with(|c| {
            c.pacing.enabled = pacing;
            c.limits.receive_window = 5000;
        });
        let (mut pair, id) = up(6, &config);
        queue(&mut pair, id, 0, 1);
        pair.run_for(Duration::from_secs(1));
        pair.reads = [true, false];
        queue(&mut pair, id, 0, 20);
        pair.run_for(Duration::from_secs(30));
        pair.reads = [true, true];
        pair.run_for(Duration::from_secs(60));
        assert_eq!(pair.received.len(), 21);
        stats(&pair, id).window_probes
    };
    let probes = run(true);
    assert!(probes > 0);
    assert_eq!(probes, run(false));
}

/// A transfer in bursts over a short queue: packets lost, and time until all has arrived.
fn over_short_queue(config: &Config, room: u64, bursts: usize) -> (u64, Duration) {
    let rate = 10_000_000;
    let (mut pair, id) = up(7, config);
    let free = Rc::new(Cell::new(Instant::ZERO));
    let packet = Duration::from_nanos(8 * 1500 * 1_000_000_000 / rate);
    let drops = Rc::new(Cell::new(0));
    let (busy, lost) = (Rc::clone(&free), Rc::clone(&drops));
    pair.drop_if(move |p| {
        let waiting = busy.get().saturating_since(p.at).as_nanos() / packet.as_nanos();
        let full = p.from == Side::A && waiting > room;
        lost.set(lost.get() + u64::from(full));
        full
    });
    pair.delay_by(move |p| {
        let delay = Duration::from_millis(40);
        if p.from == Side::Z {
            return delay;
        }
        let sent = free.get().max(p.at)
            + Duration::from_nanos(8 * (p.bytes.len() as u64 + 20) * 1_000_000_000 / rate);
        free.set(sent);
        sent + delay - p.at
    });
    let start = pair.now;
    for burst in 1..=bursts {
        queue(&mut pair, id, 0, 60);
        while pair.received.len() < 60 * burst {
            pair.run_for(Duration::from_millis(1));
            assert!(pair.now - start < Duration::from_secs(3000), "never");
        }
        pair.run_for(Duration::from_millis(300));
    }
    (drops.get(), pair.now - start)
}

// rfc9260:6.1-14
#[test]
fn a_short_queue_loses_less_and_nobody_is_slower() {
    for max_burst in [MaxBurst::Off, MaxBurst::Clamp(4)] {
        let plain = Config::rfc9260().with(|c| {
            c.congestion.max_burst = max_burst;
            c.sack.every = 2;
            c.limits.send_buffer = 64 << 20;
        });
        let (drops, time) = over_short_queue(&plain, 15, 40);
        let (paced_drops, paced_time) = over_short_queue(&plain.with(|c| c.pacing.enabled = true), 15, 40);
        let what = format!("{max_burst:?}: lost {drops} {paced_drops}, time {time} {paced_time}");
        assert!(paced_time < time, "{what}");
        // Max.Burst alone avoids bursts after pauses as well, at the cost of time.
        assert!(
            if max_burst == MaxBurst::Off { paced_drops < drops } else { paced_drops <= drops },
            "{what}"
        );
    }
}

/// A life with losses, several subflows and every coupling: the books agree at every step, and everything arrives.
#[test]
fn random_lives() {
    for seed in 0..40 {
        let mut rng = Rng::stream(seed, "test", "pacing");
        let names = Config::PROFILES;
        let mut config = Config::named(names[rng.below(names.len() as u64) as usize]).unwrap();
        config.pacing.enabled = true;
        config.pacing.burst = [1, 4, 20][rng.below(3) as usize];
        config.pacing.gain = [100, 120, 300][rng.below(3) as usize];
        config.subflows.coupling =
            [Coupling::Independent, Coupling::Shared, Coupling::FccN2][rng.below(3) as usize];
        common::uncouple(&mut config);
        config.subflows.level = [SubflowLevel::Zero, SubflowLevel::One][rng.below(2) as usize];
        config.subflows.open = (0..1 + rng.below(3)).map(|i| SubflowSpec::new(dscp(i as u8))).collect();
        config.mtu = [600, 1500][rng.below(2) as usize];
        config.limits.receive_window = [1 << 18, 1 << 20][rng.below(2) as usize];
        config.sack.delay = Duration::from_millis([0, 200][rng.below(2) as usize]);
        config.streams.outbound = 8;
        config.limits.send_buffer = 16 << 20;
        config.limits.association_max_retrans = 1000;
        config.timers.rto_max = Duration::from_secs(4);
        config.timers.heartbeat_interval = Duration::ZERO;
        let mut pair = Pair::new(seed);
        pair.max_packets = 1 + rng.below(4) as usize;
        pair.z.listen(Arc::new(config.clone().with(|c| c.subflows.open = Vec::new()))).unwrap();
        let id = pair.a.connect(pair.now, address(Side::Z), PORT, Arc::new(config.clone())).unwrap();
        let one_in = [0, 30, 8][rng.below(3) as usize];
        let mut dice = Rng::stream(seed, "loss", "pacing");
        let heals = Instant::ZERO + Duration::from_secs(20);
        pair.drop_if(move |p| one_in > 0 && p.at < heals && dice.below(one_in) == 0);
        let mut counts = [0_u32; 6];
        for _ in 0..80 {
            let stream = rng.below(6) as usize;
            for _ in 0..=rng.below(6) {
                let len = [10, 1000, 9000][rng.below(3) as usize];
                pair.send_numbered(Side::A, id, stream as u16, counts[stream], len);
                counts[stream] += 1;
            }
            let end = pair.now + Duration::from_millis(rng.below(60));
            while pair.step(end) {
                assert_eq!(pair.a.view(id).unwrap().audit(), Ok(()), "seed {seed}");
            }
            pair.now = end;
        }
        let start = pair.now;
        while pair.a.view(id).unwrap().unacknowledged_chunks() > 0
            || pair.a.view(id).unwrap().queued_bytes() > 0
        {
            pair.run_for(Duration::from_secs(5));
            assert!(pair.now - start < Duration::from_secs(1500), "seed {seed}: {:?}", stats(&pair, id));
        }
        let got = pair.in_order(Side::Z);
        for (stream, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            assert_eq!(got.get(&(stream as u16)), Some(count), "seed {seed}, stream {stream}");
        }
    }
}
