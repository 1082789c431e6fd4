//! Pacing: packets spread over the round trip, each lane for itself, and nothing else held back.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use crate::common;

use anabranch_base::{Dscp, Duration, Rng};
use anabranch_sctp::config::{InitialWindow, MaxBurst, SubflowLevel};
use anabranch_sctp::{AssociationId, Config, Timer};
use common::{Logged, Pair, Side, subflow_config};

/// Bytes of a full chunk, header included: windows count a packet so.
const PACKET: u64 = 1468;
/// User data of it.
const PAYLOAD: usize = 1452;

/// A window that stays as it is: 40 packets, congestion avoidance that needs thousands of acknowledgements to matter, a SACK
/// for every packet and for each a sample.
fn paced() -> Config {
    Config::rfc9260().with(|c| {
        c.pacing.enabled = true;
        c.sack.every = 1;
        c.limits.send_buffer = 64 << 20;
        c.limits.receive_window = 8 << 20;
    })
}

fn window(packets: u16, config: Config) -> Config {
    let window = u64::from(packets) * PACKET;
    config.with(|c| {
        c.congestion.initial_window = InitialWindow::Packets(packets);
        c.congestion.initial_ssthresh = Some(window / 2);
        c.congestion.max_burst = MaxBurst::Off;
        c.congestion.idle_decay_floor = None;
    })
}

/// Both sides are up, and one packet has given a sample of the round trip: twice `ms`.
fn sampled(config: &Config, ms: u64) -> (Pair, AssociationId) {
    let (mut pair, id, _) = Pair::established(3, config);
    pair.latency = Duration::from_millis(ms);
    pair.send(Side::A, id, 0, &[0; PAYLOAD]);
    pair.run_for(Duration::from_secs(2));
    assert_eq!(stats(&pair, id).srtt, Some(Duration::from_millis(2 * ms)));
    pair.log.clear();
    pair.received.clear();
    (pair, id)
}

fn stats(pair: &Pair, id: AssociationId) -> anabranch_sctp::Stats {
    pair.a.view(id).unwrap().stats()
}

fn queue(pair: &mut Pair, id: AssociationId, stream: u16, packets: usize) {
    for _ in 0..packets {
        pair.send(Side::A, id, stream, &[stream as u8; PAYLOAD]);
    }
}

/// When packets with data left A, in nanoseconds.
fn departures(pair: &Pair, dscp: Dscp) -> Vec<u64> {
    let mine = |p: &&Logged| p.from == Side::A && p.dscp == dscp && (p.has("DATA") || p.has("I-DATA"));
    pair.log.iter().filter(mine).map(|p| p.at.as_nanos()).collect()
}

fn intervals(times: &[u64]) -> Vec<u64> {
    times.windows(2).map(|two| two[1] - two[0]).collect()
}

/// Nanoseconds of a full packet at `gain` percent of `cwnd` bytes in `srtt`.
fn interval(cwnd: u64, srtt: Duration, gain: u64) -> u64 {
    PACKET * srtt.as_nanos() * 100 / (cwnd * gain)
}

#[test]
fn a_window_is_spread_over_the_round_trip() {
    let config = window(40, paced());
    let (mut pair, id) = sampled(&config, 50);
    let cwnd = stats(&pair, id).cwnd;
    assert_eq!(cwnd, 40 * PACKET);
    queue(&mut pair, id, 0, 40);
    let start = pair.now;
    // Within one round trip nothing comes back: window and rate stay as they were.
    pair.run_for(Duration::from_millis(99));
    let left = departures(&pair, Dscp::DEFAULT);
    assert_eq!(left.len(), 40, "all of the window leaves within the round trip");
    // A bucket of 4, then a packet every 100 ms / (1.2 * 40).
    assert!(left[..4].iter().all(|at| *at == start.as_nanos()));
    let expected = interval(cwnd, Duration::from_millis(100), 120);
    for wait in intervals(&left[3..]) {
        assert!(wait.abs_diff(expected) <= 1, "{wait} {expected}");
    }
    let spread = left[39] - left[0];
    assert!(spread.abs_diff(36 * expected) <= 36, "{spread}");
    // Without: all at once.
    let (mut pair, id) = sampled(&config.with(|c| c.pacing.enabled = false), 50);
    queue(&mut pair, id, 0, 40);
    pair.run_for(Duration::from_millis(99));
    let left = departures(&pair, Dscp::DEFAULT);
    assert_eq!((left.len(), left[39] - left[0]), (40, 0));
}

#[test]
fn the_rate_follows_window_round_trip_and_gain() {
    let run = |packets: u16, ms: u64, gain: u16| {
        let config = window(packets, paced()).with(|c| {
            c.pacing.gain = gain;
            c.pacing.burst = 1;
        });
        let (mut pair, id) = sampled(&config, ms);
        queue(&mut pair, id, 0, usize::from(packets));
        pair.run_for(Duration::from_millis(2 * ms - 1));
        let waits = intervals(&departures(&pair, Dscp::DEFAULT));
        let expected = interval(stats(&pair, id).cwnd, Duration::from_millis(2 * ms), u64::from(gain));
        assert!(waits.len() > 8 && waits.iter().all(|w| w.abs_diff(expected) <= 1), "{expected} {waits:?}");
        expected
    };
    let base = run(20, 50, 120);
    assert_eq!(run(40, 50, 120), base / 2, "twice the window, half of the time");
    assert!(run(20, 100, 120).abs_diff(2 * base) <= 1, "twice the round trip, twice the time");
    assert!(run(20, 50, 240).abs_diff(base / 2) <= 1);
    // Slow start, far from ssthresh: the other gain.
    let config = window(20, paced()).with(|c| {
        c.congestion.initial_ssthresh = Some(1 << 30);
        c.pacing.burst = 1;
    });
    let (mut pair, id) = sampled(&config, 50);
    let before = stats(&pair, id).cwnd;
    queue(&mut pair, id, 0, 20);
    pair.run_for(Duration::from_millis(99));
    let expected = interval(before, Duration::from_millis(100), 200);
    let waits = intervals(&departures(&pair, Dscp::DEFAULT));
    assert!(waits.iter().all(|w| w.abs_diff(expected) <= 1), "{expected} {waits:?}");
}

#[test]
fn nothing_is_paced_before_the_first_round_trip_is_known() {
    let (mut pair, id, _) = Pair::established(3, &window(20, paced()));
    queue(&mut pair, id, 0, 20);
    pair.run_for(Duration::from_millis(1));
    let left = departures(&pair, Dscp::DEFAULT);
    assert_eq!((left.len(), left[19] - left[0]), (20, 0));
}

#[test]
fn after_a_pause_as_many_leave_at_once_as_the_bucket_holds() {
    for burst in [1_u8, 4, 10] {
        let config = window(40, paced()).with(|c| c.pacing.burst = burst);
        let (mut pair, id) = sampled(&config, 50);
        for _ in 0..3 {
            pair.log.clear();
            let start = pair.now.as_nanos();
            queue(&mut pair, id, 0, 30);
            pair.run_for(Duration::from_secs(2));
            let left = departures(&pair, Dscp::DEFAULT);
            assert_eq!(left.len(), 30);
            let at_once = left.iter().filter(|at| **at == start).count();
            assert_eq!(at_once, usize::from(burst));
        }
        // A short pause fills it by as much as its time is worth: three packets and a half.
        pair.run_for(Duration::from_secs(2));
        pair.log.clear();
        let packet = interval(stats(&pair, id).cwnd, Duration::from_millis(100), 120);
        queue(&mut pair, id, 0, 12);
        pair.run_for(Duration::from_nanos((12 - u64::from(burst)) * packet + 3 * packet + packet / 2));
        assert_eq!(departures(&pair, Dscp::DEFAULT).len(), 12);
        pair.log.clear();
        let start = pair.now.as_nanos();
        queue(&mut pair, id, 0, 12);
        pair.run_for(Duration::from_secs(2));
        let at_once = departures(&pair, Dscp::DEFAULT).iter().filter(|at| **at == start).count();
        assert_eq!(at_once, usize::from(burst.min(3)));
    }
}

#[test]
fn poll_timeout_names_the_time_and_each_packet_needs_one() {
    let (mut pair, id) = sampled(&window(40, paced()), 50);
    queue(&mut pair, id, 0, 40);
    pair.pump();
    let packet = interval(stats(&pair, id).cwnd, Duration::from_millis(100), 120);
    let (mut timeouts, mut paced) = (0, 0);
    let start = pair.now;
    while pair.now < start + Duration::from_millis(99) {
        let Some((at, timer)) = pair.a.poll_timeout() else { break };
        assert!(at > pair.now, "a timer that is due would make a busy loop");
        if at > start + Duration::from_millis(99) {
            break;
        }
        let before = departures(&pair, Dscp::DEFAULT).len();
        pair.now = at;
        pair.a.handle_timeout(at);
        pair.pump();
        timeouts += 1;
        let sent = departures(&pair, Dscp::DEFAULT).len() - before;
        if timer == Timer::Pacer {
            assert_eq!(sent, 1);
            assert!((at - start).as_nanos().abs_diff((paced + 1) * packet) <= 36, "{at}");
            paced += 1;
        }
    }
    assert_eq!(paced, 36);
    assert!(timeouts <= 36 + 2, "{timeouts}");
}

#[test]
fn a_long_transfer_needs_no_more_timeouts_than_packets() {
    // The second packet that a SACK allows waits for its turn.
    let (mut pair, id) = sampled(
        &paced().with(|c| {
            c.sack.every = 2;
            c.pacing.burst = 1;
        }),
        20,
    );
    pair.link(20_000_000, Duration::from_millis(20));
    queue(&mut pair, id, 0, 3000);
    let (mut timeouts, end) = (0, pair.now + Duration::from_secs(20));
    loop {
        let next = pair.a.poll_timeout();
        if !pair.step(end) {
            break;
        }
        timeouts += usize::from(next == Some((pair.now, Timer::Pacer)));
    }
    assert_eq!(pair.received.len(), 3000);
    let packets = departures(&pair, Dscp::DEFAULT).len();
    assert!(timeouts > 1000 && timeouts <= packets + 10, "{timeouts} {packets}");
}

/// Packets, and FNV-1a over the time, the side, the length and the chunk types of each: a life with losses and pauses.
fn life(config: &Config) -> (usize, u64) {
    // Heartbeats come at random times.
    let config = config.clone().with(|c| c.timers.heartbeat_interval = Duration::ZERO);
    let (mut pair, id) = Pair::connecting(7, &config);
    let mut dice = Rng::stream(7, "loss", "golden");
    pair.drop_if(move |_| dice.below(25) == 0);
    pair.run_for(Duration::from_secs(30));
    for n in 0..400_usize {
        pair.send(Side::A, id, (n % 3) as u16, &vec![n as u8; 1 + n * 37 % 6000]);
        if n % 5 == 0 {
            pair.run_for(Duration::from_millis(40));
        }
    }
    pair.run_for(Duration::from_secs(100));
    assert_eq!(pair.received.len(), 400);
    let mut sum = 0xcbf2_9ce4_8422_2325_u64;
    let mut eat = |byte: u8| sum = (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    for packet in &pair.log {
        packet.at.as_nanos().to_be_bytes().into_iter().for_each(&mut eat);
        eat(packet.from as u8);
        packet.bytes.len().to_be_bytes().into_iter().for_each(&mut eat);
        packet.kinds().into_iter().for_each(&mut eat);
    }
    (pair.log.len(), sum)
}

/// The numbers were taken from the last version whose packets were those of the version without a pacer, byte for byte; that of
/// level 1 is from the version since when windows count 20 bytes of header there, as many as are sent.
#[test]
fn without_pacing_packets_are_those_of_a_stack_without_a_pacer() {
    let one = |name: &str| life(&Config::named(name).unwrap().with(|c| c.limits.send_buffer = 4 << 20));
    let three = |level| life(&subflow_config(level, 3));
    let lives = [
        one("rfc9260-rack"),
        one("linux-6.1"),
        one("kame-2006-bugs"),
        three(SubflowLevel::Zero),
        three(SubflowLevel::One),
    ];
    let expected = [
        (1415, 0xebe8_1198_cf3a_17bc),
        (1507, 0xc90a_6637_45c1_2b4f),
        (1412, 0x13fb_6535_9844_02bc),
        (1690, 0xcf1a_4e58_4cd8_517f),
        (1546, 0x8c27_3d5c_0d3d_984f),
    ];
    assert_eq!(lives, expected);
}
