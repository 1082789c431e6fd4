//! Receivers that drop again what they have acknowledged with gap blocks (RFC 9260, 6.2 and 6.2.1 D iii), and those that only say so: all
//! is delivered, and nothing counts twice.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use crate::common;

use std::cell::Cell;
use std::rc::Rc;

use anabranch_base::Duration;
use anabranch_sctp::config::InitialWindow;
use anabranch_sctp::{CloseReason, Config, Event, Message, State};
use anabranch_wire::Tsn;
use anabranch_wire::chunk::{GapBlock, Shutdown, sack};
use anabranch_wire::param::{Param, SelectedGapBlocks};
use common::script::Script;
use common::{Logged, Pair, Side};

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// Treatment of the packets of [`reneging_life`] by the network.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Network {
    /// The first packet of data is lost.
    FirstLost,
    /// It was sent again; nothing with a SACK arrives.
    Deaf,
    /// The SHUTDOWN has left.
    Whole,
}

/// A message of seven fragments, of which the first is lost. The receiver has room for six: for the one that comes in the end it drops another
/// at the end again, which it has acknowledged. The SACK that would say so is
/// lost, and its user closes: the SHUTDOWN names the point right below them.
fn reneging_life(config: &Config) {
    let name = config.profile;
    let config = config.clone().with(|c| {
        c.mtu = 576;
        c.limits.receive_window = 3100;
        c.timers.heartbeat_interval = Duration::ZERO;
        c.congestion.initial_window = InitialWindow::Packets(10);
        c.congestion.max_burst = anabranch_sctp::config::MaxBurst::Off;
        c.pacing.enabled = false;
    });
    let (mut pair, a) = Pair::connecting(1, &config);
    // Somebody on the way promises more than there is room for.
    pair.tamper(|from, bytes| {
        if from == Side::Z && bytes.get(12) == Some(&2) {
            bytes[20..24].copy_from_slice(&10_000_u32.to_be_bytes());
        }
    });
    pair.run_for(ms(200));
    let z = pair.id_of(Side::Z);
    let network = Rc::new(Cell::new(Network::FirstLost));
    let (seen, mut first) = (Rc::clone(&network), None);
    pair.drop_if(move |p| {
        if p.from == Side::Z {
            if !p.has("SACK") && p.has("SHUTDOWN") {
                seen.set(Network::Whole);
            }
            return seen.get() == Network::Deaf && p.has("SACK");
        }
        let Some(tsn) = p.data().first().map(|data| data.tsn) else { return false };
        match first {
            None => {
                first = Some(tsn);
                true
            }
            Some(lost) if lost == tsn => {
                seen.set(Network::Deaf);
                false
            }
            Some(_) => false,
        }
    });
    let message: Vec<u8> = (0..7 * 528_u32).map(|n| n as u8).collect();
    pair.send(Side::A, a, 0, &message);
    for _ in 0..1000 {
        if network.get() == Network::FirstLost {
            pair.run_for(ms(10));
        }
    }
    pair.run_for(ms(300));
    // A fact that nobody was told: some of the data acknowledged is not there any more.
    let highest = pair.log.iter().flat_map(Logged::data).map(|data| data.tsn.get()).max().unwrap();
    let unheard = pair.log.iter().rev().find(|p| p.from == Side::Z && p.dropped).unwrap().words();
    let point = unheard[0].strip_prefix("SACK ").and_then(|point| point.parse::<u32>().ok());
    let dropped = highest.wrapping_sub(point.unwrap());
    assert!((1..6).contains(&dropped), "{name}: {unheard:?} of {highest}");
    pair.z.association(z).unwrap().shutdown(pair.now);
    let closed_at = pair.now;
    pair.run_for(Duration::from_secs(600));
    let gone = |side| pair.events.iter().find(|(s, _, e)| *s == side && matches!(e, Event::Closed(_)));
    for side in [Side::A, Side::Z] {
        let reason = gone(side).map(|(_, _, event)| event.clone());
        assert_eq!(reason, Some(Event::Closed(CloseReason::Graceful)), "{name}");
    }
    let got: Vec<u8> = pair.received.iter().flat_map(|(_, m)| m.pieces().flatten().copied()).collect();
    assert!(got == message, "{name}: {} bytes", got.len());
    let ended = pair.log.iter().rev().find(|p| p.has("SHUTDOWN-COMPLETE")).unwrap().at;
    // No timer had to expire: the chunk that the point shows to be missing leaves with the answer.
    assert!(ended - closed_at < ms(500), "{name}: {}", ended - closed_at);
}

/// The SHUTDOWN says that "the next one has not been received" (RFC 9260, 3.3.8), and that one was acknowledged: it leaves again. Before,
/// the sender believed it there, no timer ran, and the guard ended the association with the message lost.
// rfc9260:3.3.8-2
#[test]
fn what_a_shutdown_shows_to_be_missing_is_sent_again() {
    for name in ["rfc9260", "rfc9260-rack", "modern", "linux-6.1"] {
        reneging_life(&Config::named(name).unwrap());
    }
    reneging_life(&Config::modern().with(|c| c.extensions.selected_gap_blocks = 8));
}

/// All of ten chunks is in flight.
fn ten_in_flight(config: &Config, params: &[Param<'_>]) -> Script {
    let config = config.clone().with(|c| {
        c.congestion.initial_window = InitialWindow::Packets(20);
        c.congestion.max_burst = anabranch_sctp::config::MaxBurst::Off;
        c.pacing.enabled = false;
    });
    let mut script = Script::established_with(&config, params);
    let a = script.a;
    for _ in 0..10 {
        script.pair.send(Side::A, a, 0, &[7; 1000]);
    }
    script.pair.pump();
    assert_eq!(script.left(), (0..10).collect::<Vec<_>>());
    script.pair.log.clear();
    script
}

fn cumulative(script: &Script, acknowledged: u32) -> Tsn {
    Tsn::new(script.tsn_a.wrapping_add(acknowledged).wrapping_sub(1))
}

fn shutdown(script: &mut Script, acknowledged: u32) {
    let cumulative = cumulative(script, acknowledged);
    script.send(|out| Shutdown { cumulative }.emit(out));
}

fn flight(script: &Script) -> u64 {
    let association = script.pair.a.view(script.a).unwrap();
    association.audit().unwrap();
    association.flight_bytes()
}

/// A point that has moved to right below what gap blocks had acknowledged is newer than these, as it never moves back: what follows it was
/// dropped. A SHUTDOWN that moves nothing may be older than the gap blocks, and takes nothing back (3.3.8: "MUST NOT interpret the lack of
/// a Gap Ack Block as a renege").
// rfc9260:3.3.8-2
#[test]
fn only_a_shutdown_that_moves_the_point_takes_back() {
    let mut script = ten_in_flight(&Config::rfc9260(), &[]);
    script.sack(0, 100_000, &[(3, 10)]);
    let two = flight(&script);
    for _ in 0..20 {
        shutdown(&mut script, 0);
    }
    assert_eq!(
        (script.left(), flight(&script)),
        (vec![], two),
        "a SHUTDOWN that is old, or says nothing new"
    );
    shutdown(&mut script, 1);
    assert_eq!((script.left(), flight(&script)), (vec![], two / 2), "1 may be under way");
    shutdown(&mut script, 2);
    // A receiver that has dropped the lowest has dropped the others before: "the receiver SHOULD drop the largest TSN
    // held for reordering" (6.2).
    assert_eq!((script.left(), flight(&script)), ((2..10).collect(), two / 2 * 8));
    // The same SACK again, and older ones, change nothing.
    script.pair.log.clear();
    for acknowledged in [2, 1, 0, 2] {
        shutdown(&mut script, acknowledged);
    }
    assert_eq!((script.left(), flight(&script)), (vec![], two / 2 * 8));
    // T3-rtx runs: they leave again if they are lost.
    script.pair.run_for(Duration::from_secs(4));
    assert_eq!(script.left().first(), Some(&2));
    shutdown(&mut script, 10);
    assert_eq!(script.state(), State::ShutdownAckSent);
}

/// The number behind the cumulative point has not been received, whoever reports that point, and whatever else the
/// report contains.
#[test]
fn the_number_behind_the_point_is_not_there() {
    let selects = Config::rfc9260().with(|c| c.extensions.selected_gap_blocks = 8);
    let agrees = [Param::SelectedGapBlocks(SelectedGapBlocks)];
    for (say, params) in [("selection", &agrees[..]), ("list", &[]), ("contradiction", &[]), ("no cut", &[])]
    {
        let mut script = ten_in_flight(&selects, params);
        script.sack(0, 100_000, &[(4, 9)]);
        let one = flight(&script) / 4;
        match say {
            "selection" => {
                let cumulative = cumulative(&script, 3);
                let gaps = [GapBlock { start: 4, end: 4 }];
                script.send(|out| sack::emit_selected(out, cumulative, 100_000, &gaps, &[]));
            }
            "list" => script.sack(3, 100_000, &[(2, 6)]),
            // A block that names the number behind the point says two things at once.
            "contradiction" => script.sack(3, 100_000, &[(1, 6)]),
            _ => script.sack(3, 100_000, &[(2, 2), (1, 1), (3, 6)]),
        }
        assert_eq!((script.left(), flight(&script)), (vec![3], 2 * one), "{say}: 3 and 9 are in flight");
        script.sack(10, 100_000, &[]);
        script.has_sent_all();
    }
}

/// Nothing but a block for the number behind the point, again and again: it is not there, T3-rtx runs, and the association ends as one
/// whose data nobody acknowledges.
#[test]
fn a_block_behind_the_point_does_not_keep_an_association() {
    let config = Config::rfc9260().with(|c| c.timers.heartbeat_interval = Duration::ZERO);
    let mut script = ten_in_flight(&config, &[]);
    script.sack(0, 100_000, &[(1, 10)]);
    assert!(flight(&script) > 1000);
    script.pair.run_for(Duration::from_secs(3));
    assert!(!script.left().is_empty(), "T3-rtx");
    script.pair.run_for(Duration::from_secs(900));
    assert!(script.closed().is_some());
}

/// A peer that takes everything back with each number that it acknowledges draws each chunk once more, and no more than that, whatever
/// it says in one round trip.
#[test]
fn what_is_taken_back_leaves_at_once_only_once() {
    for config in [Config::rfc9260(), Config::modern()] {
        let mut script = ten_in_flight(&config, &[]);
        for acknowledged in 0..9_u32 {
            let last = 10 - acknowledged as u16;
            script.sack(acknowledged, 100_000, &[(2, last)]);
            shutdown(&mut script, acknowledged + 1);
        }
        let left = script.left();
        assert!(left.len() <= 10, "{}: {left:?}", config.profile);
        script.pair.run_for(Duration::from_secs(3));
        shutdown(&mut script, 10);
        assert_eq!(script.state(), State::ShutdownAckSent, "{}", config.profile);
    }
}

/// A user with more to send than any window takes.
fn greedy(config: &Config) -> Script {
    let config = config.clone().with(|c| {
        c.limits.send_buffer = 4 << 20;
        c.timers.heartbeat_interval = Duration::ZERO;
        c.limits.association_max_retrans = 1000;
        c.limits.path_max_retrans = 1000;
    });
    let mut script = Script::established(&config);
    let (a, now) = (script.a, script.pair.now);
    for _ in 0..1000 {
        let message = Message::new(0, vec![7; 1000]);
        script.pair.a.association(a).unwrap().send(now, message).unwrap();
    }
    script.pair.pump();
    script
}

/// Payload of the chunks that left, of numbers from `new` on and below.
fn bytes(log: &[Logged], first: u32, new: u32) -> (u64, u64) {
    let (mut fresh, mut again) = (0, 0);
    for data in log.iter().filter(|p| p.from == Side::A).flat_map(Logged::data) {
        let number = data.tsn.get().wrapping_sub(first);
        *if number >= new { &mut fresh } else { &mut again } += data.payload.len() as u64;
    }
    (fresh, again)
}

/// 300 SACKs that acknowledge what has left first and take it back by turns. It is delivered once at most: what leaves for it is what it is
/// long, "if the flightsize does not currently reach cwnd" (RFC 9260, 6.1 B), and no rule of recovery makes a larger window of it.
// rfc9260:6.1-10
#[test]
fn acknowledging_again_draws_nothing() {
    let names = Config::PROFILES.into_iter().filter(|name| *name != "sf2007");
    let mut all: Vec<Config> = names.map(|name| Config::named(name).unwrap()).collect();
    for control in ["reno", "cubic", "bbr", "vegas"] {
        let mut config = Config::modern();
        config.set("congestion_control", control).unwrap();
        all.push(config);
    }
    for config in all {
        let name = format!("{} {:?}", config.profile, config.congestion.control);
        for step in [ms(0), ms(1), ms(40)] {
            let mut script = greedy(&config);
            script.pair.run_for(ms(10));
            let initial = script.left().len() as u32;
            let (mut next, mut fresh, mut again) = (initial, 0, 0);
            let mut over = 0;
            for n in 0..300 {
                script.pair.log.clear();
                let before = script.pair.a.view(script.a).unwrap().stats().cwnd;
                let blocks = [(2, initial as u16)];
                script.sack(0, 1 << 30, if n % 2 == 0 { &blocks } else { &[] });
                let told = script.left().iter().any(|number| *number >= next);
                let stats = script.pair.a.view(script.a).unwrap().stats();
                if told {
                    over = over.max(stats.flight.saturating_sub(before.max(stats.cwnd)));
                }
                script.pair.run_for(step);
                let (new, old) = bytes(&script.pair.log, script.tsn_a, next);
                (fresh, again) = (fresh + new, again + old);
                next = script.left().into_iter().max().map_or(next, |last| next.max(last + 1));
            }
            let stats = script.pair.a.view(script.a).unwrap().stats();
            let truth = 1000 * u64::from(initial);
            // A packet that exceeds the window by less than itself, and the one packet of a probe or of 7.2.4, step 3.
            assert!(over <= 2 * 1500, "{name} {step:?}: {over} bytes beyond cwnd");
            assert!(stats.cwnd_peak <= 2 * truth + 16 * 1500, "{name} {step:?}: {}", stats.cwnd_peak);
            // Chunks whose acknowledgement is taken back leave again once in a round trip at most.
            assert!(step > ms(0) || again <= 2 * truth, "{name}: {again} bytes of {truth}");
            assert!(fresh <= stats.cwnd_peak + 4 * 1500, "{name} {step:?}: {fresh} bytes of new data");
        }
    }
}

/// The window grows by the bytes acknowledged, once, also where each SACK moves the point by one and acknowledges the rest again.
#[test]
fn a_window_grows_once_by_each_byte() {
    for control in ["reno", "cubic", "bic"] {
        let mut config =
            Config::rfc9260().with(|c| c.congestion.max_burst = anabranch_sctp::config::MaxBurst::Off);
        config.set("congestion_control", control).unwrap();
        let mut script = Script::established(&config);
        let a = script.a;
        for _ in 0..400 {
            script.pair.send(Side::A, a, 0, &[7; 100]);
        }
        script.pair.pump();
        let (cwnd, sent) = (script.pair.a.view(a).unwrap().stats().cwnd, script.left().len() as u32);
        for acknowledged in 1..20 {
            script.sack(acknowledged, 100_000, &[(2, (sent - acknowledged) as u16)]);
            script.sack(acknowledged, 100_000, &[]);
        }
        let grown = script.pair.a.view(a).unwrap().stats().cwnd - cwnd;
        assert!(grown > 0 && grown <= u64::from(sent) * 116, "{control}: {grown} for {sent} chunks");
    }
}
