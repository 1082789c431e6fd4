//! RACK-TLP (RFC 8985) carried over to SCTP: losses found by time, probes for a lost tail, duplicate TSNs as DSACK.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

use crate::common;

use std::cell::Cell;
use std::collections::BTreeMap;

use anabranch_base::{Dscp, Duration, Instant};
use anabranch_sctp::config::SubflowLevel;
use anabranch_sctp::{AssociationId, Config, Event, Reconfigured, Stats};
use common::single_loss::{MEDIUM, SingleLoss};
use common::{Logged, Pair, Side, subflow_config};

fn rack() -> Config {
    Config::named("rfc9260-rack").unwrap()
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// The tail costs a few round trips, not a timeout; nowhere is it slower than the rules of RFC 9260 by more than a round trip.
#[test]
fn a_lost_tail_costs_round_trips_and_no_timeout() {
    let run = |config: &Config, k| SingleLoss::run(config, MEDIUM, k, Instant::ZERO);
    let round_trip = 0.1;
    let none = run(&rack(), 0);
    assert_eq!(none.stats.retransmissions, 0, "no probe without need");
    for k in 3..=18 {
        let (ours, classic) = (run(&rack(), k), run(&Config::rfc9260(), k));
        assert_eq!(ours.stats.timeouts, 0, "{k}");
        assert!(ours.times[2] < classic.times[2] + round_trip, "{k}");
        if k >= 16 {
            assert!(ours.times[2] < none.times[2] + 4.0 * round_trip, "{k}: {:?}", ours.times);
            assert!(classic.times[2] > none.times[2] + 1.0, "{k}: {:?}", classic.times);
        }
    }
}

/// A pair with a round trip of 80 ms, and a few messages ahead that give it a round-trip estimate.
fn warmed_up(config: &Config) -> (Pair, AssociationId) {
    let (mut pair, a, _) = Pair::established(3, config);
    pair.latency = ms(40);
    for _ in 0..4 {
        pair.send(Side::A, a, 0, &[1; 1000]);
        pair.run_for(ms(500));
    }
    assert_eq!(stats(&pair, a).retransmissions, 0);
    pair.log.clear();
    (pair, a)
}

fn stats(pair: &Pair, id: AssociationId) -> Stats {
    pair.a.view(id).unwrap().stats()
}

/// Loses the `lost`-th DATA packet of A from now on.
fn lose(lost: u32) -> impl FnMut(&Logged) -> bool + 'static {
    let mut n = 0;
    move |p| {
        let data = p.from == Side::A && p.has("DATA");
        n += u32::from(data);
        data && n == lost
    }
}

fn send(pair: &mut Pair, a: AssociationId, packets: usize) {
    for _ in 0..packets {
        pair.send(Side::A, a, 0, &[2; 1400]);
    }
}

/// A retransmission that is lost is found by a chunk sent after it: no T3-rtx. Missing reports cannot (7.2.4:
/// "ineligible").
#[test]
fn a_lost_retransmission_is_sent_again_without_a_timeout() {
    for (config, timeouts) in [(rack(), 0), (Config::rfc9260(), 1)] {
        let (mut pair, a) = warmed_up(&config);
        // The second packet, and its first retransmission.
        let (mut base, mut seen) = (None, BTreeMap::<u32, u32>::new());
        pair.drop_if(move |p| {
            let Some(tsn) = p.data().first().map(|d| d.tsn.get()).filter(|_| p.from == Side::A) else {
                return false;
            };
            let base = *base.get_or_insert(tsn);
            let times = seen.entry(tsn).or_default();
            *times += 1;
            tsn == base.wrapping_add(1) && *times <= 2
        });
        send(&mut pair, a, 40);
        pair.run_for(Duration::from_secs(5));
        assert_eq!(stats(&pair, a).timeouts, timeouts, "{}", config.profile);
        assert_eq!(pair.received.len(), 44);
    }
}

/// Reordering by less than a quarter of the round trip: once it has been seen, nothing more is sent again for nothing; missing
/// reports are fooled each time.
#[test]
fn a_reordering_window_is_kept_once_reordering_was_seen() {
    let mut again = Vec::new();
    for config in [rack(), Config::rfc9260()] {
        let (mut pair, a) = warmed_up(&config);
        let (n, busy) = (Cell::new(0), Cell::new(Instant::ZERO));
        // Packets are 1 ms apart; every tenth is 15 ms late.
        pair.delay_by(move |p| {
            if p.from == Side::Z || !p.has("DATA") {
                return ms(40);
            }
            n.set(n.get() + 1);
            let sent = busy.get().max(p.at) + ms(1);
            busy.set(sent);
            sent + ms(if n.get() % 10 == 5 { 55 } else { 40 }) - p.at
        });
        send(&mut pair, a, 150);
        pair.run_for(Duration::from_secs(10));
        assert_eq!(pair.received.len(), 154);
        again.push(stats(&pair, a).retransmissions);
    }
    assert!(again[0] <= 1 && again[1] >= 4, "{again:?}");
}

/// The last packet is lost: a probe goes out after two round trips, is answered at once (it has the I bit), nothing times out.
#[test]
fn a_probe_repairs_a_lost_last_packet() {
    let (mut pair, a) = warmed_up(&rack());
    pair.drop_if(lose(3));
    send(&mut pair, a, 3);
    pair.run_for(Duration::from_secs(2));
    let s = stats(&pair, a);
    assert_eq!((s.timeouts, s.retransmissions, pair.received.len()), (0, 1, 7));
    let sent: Vec<_> = pair.log.iter().filter(|p| p.from == Side::A && p.has("DATA")).collect();
    // Two smoothed round trips (some SACKs were delayed by 200 ms), and SACK.Delay for a single packet.
    let wait = (sent[3].at - sent[2].at).as_secs_f64();
    assert!((0.16..0.90).contains(&wait), "{wait}");
    let arrival = sent[3].at + ms(40);
    assert!(
        pair.log.iter().any(|p| p.from == Side::Z && p.has("SACK") && p.at == arrival),
        "{:?}",
        pair.ladder()
    );
}

/// The SACK was lost, not the packet: the probe is for nothing, the peer reports a duplicate, and the window is not cut.
#[test]
fn a_needless_probe_costs_no_window() {
    let (mut pair, a) = warmed_up(&rack());
    let mut lost = false;
    pair.drop_if(move |p| p.from == Side::Z && p.has("SACK") && !std::mem::replace(&mut lost, true));
    let before = stats(&pair, a).cwnd;
    send(&mut pair, a, 2);
    pair.run_for(Duration::from_secs(3));
    let s = stats(&pair, a);
    assert_eq!((s.timeouts, s.congestion_events, s.retransmissions), (0, 0, 1));
    assert!(s.cwnd >= before);
    // More data: the window was not cut afterwards either.association(a).unwrap().send(&mut pair, 10);
    pair.run_for(Duration::from_secs(3));
    assert_eq!(stats(&pair, a).congestion_events, 0);
}

/// An SSN/TSN reset begins the numbers anew: a probe whose end was one of before must not be waited for. The lost tail of what follows is
/// probed as any other.
#[test]
fn a_tail_is_probed_after_a_reset_of_the_association() {
    let config = rack().with(|c| {
        c.extensions.reconfiguration = true;
        c.extensions.peer_resets_association = true;
    });
    let (mut pair, a) = warmed_up(&config);
    // The probe is the last that leaves before the reset.
    pair.drop_if(lose(3));
    send(&mut pair, a, 3);
    pair.run_for(Duration::from_secs(2));
    pair.a.association(a).unwrap().reset_association(pair.now).unwrap();
    pair.run_for(Duration::from_secs(2));
    let performed = Event::AssociationReset { outcome: Reconfigured::Performed };
    assert!(pair.saw(Side::A, |e| *e == performed));
    pair.drop_if(lose(2));
    send(&mut pair, a, 2);
    pair.run_for(Duration::from_secs(5));
    let s = stats(&pair, a);
    assert_eq!((s.timeouts, s.retransmissions, pair.received.len()), (0, 2, 9));
}

/// The reordering window grows once a round trip (RFC 8985, 6.2, step 4). The round in which it grew last ends with an SSN/TSN reset: a
/// duplicate after it makes the window grow again, as it would without.
#[test]
fn duplicates_widen_the_window_after_a_reset_of_the_association() {
    let again = |resets: bool| {
        let config = rack().with(|c| {
            c.extensions.reconfiguration = true;
            c.extensions.peer_resets_association = true;
        });
        let (mut pair, a) = warmed_up(&config);
        for burst in 0..6 {
            if burst == 2 {
                if resets {
                    pair.a.association(a).unwrap().reset_association(pair.now).unwrap();
                }
                pair.run_for(Duration::from_secs(2));
            }
            // The first of ten is late by more than the window was so far.
            let (first, late) = (pair.now, if burst < 2 { ms(30) } else { ms(50) });
            let once = Cell::new(true);
            pair.delay_by(move |p| {
                let hit = p.from == Side::A && p.has("DATA") && p.at == first && once.replace(false);
                ms(40) + if hit { late } else { Duration::ZERO }
            });
            for _ in 0..10 {
                send(&mut pair, a, 1);
                pair.run_for(ms(3));
            }
            pair.run_for(Duration::from_secs(3));
        }
        assert_eq!(pair.received.len(), 64);
        (stats(&pair, a).retransmissions, stats(&pair, a).timeouts)
    };
    let (with, without) = (again(true), again(false));
    assert!(without.0 > 1, "{without:?}");
    assert_eq!(with, without);
}

/// A probe that repaired a loss is congestion: the window is cut when more is acknowledged.
#[test]
fn a_needed_probe_cuts_the_window() {
    let (mut pair, a) = warmed_up(&rack());
    pair.drop_if(lose(3));
    send(&mut pair, a, 3);
    pair.run_for(Duration::from_secs(2));
    assert_eq!(stats(&pair, a).congestion_events, 0, "nothing was sent after it yet");
    send(&mut pair, a, 3);
    pair.run_for(Duration::from_secs(2));
    assert_eq!(stats(&pair, a).congestion_events, 1);
}

/// Each lane has its own: with subflows of different delays, under one numbering (level 0) or two, nothing is resent for nothing,
/// and the lost tail of each is repaired.
#[test]
fn every_subflow_finds_its_own_losses() {
    for level in [SubflowLevel::Zero, SubflowLevel::One] {
        let config = subflow_config(level, 2).with(|c| {
            c.congestion.loss_detection = rack().congestion.loss_detection;
            c.congestion.tail_loss_probe = true;
        });
        let (mut pair, a, _) = Pair::established(5, &config);
        pair.latency = ms(20);
        pair.latency_of.insert(Dscp::new(1).unwrap(), ms(60));
        pair.send_all(Side::A, a, 2, 40, 1200);
        pair.run_for(Duration::from_secs(10));
        pair.check_all(Side::Z, 2, 40);
        assert_eq!(stats(&pair, a).retransmissions, 0, "{level:?}");
        let from = pair.log.len();
        let mut lost = [false; 2];
        pair.drop_if(move |p| {
            let index = usize::from(p.dscp.get());
            let data = p.from == Side::A && p.bytes.len() > 1000;
            data && index < 2 && !std::mem::replace(&mut lost[index], true)
        });
        for stream in 0..2 {
            pair.send_numbered(Side::A, a, stream, 40, 1200);
        }
        pair.run_for(Duration::from_secs(10));
        pair.check_all(Side::Z, 2, 41);
        assert_eq!(stats(&pair, a).timeouts, 0, "{level:?} {:?}", &pair.names()[from..]);
    }
}
