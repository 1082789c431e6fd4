//! Senders that stop although something could leave, and timers that run without end: each was found with a peer that is written
//! down packet by packet.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

use crate::common;

use std::collections::BTreeSet;

use anabranch_base::{Dscp, Duration};
use anabranch_sctp::{CloseReason, Config, State, SubflowSpec};
use anabranch_wire::chunk::{Data, DataFlags, Heartbeat, HeartbeatKind, Shutdown};
use anabranch_wire::param::HeartbeatInfo;
use anabranch_wire::{Ssn, Tsn};
use common::script::{Script, TSN_Z, data};
use common::{Pair, Side};

const WINDOW: u32 = 100_000;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn spec(code: u8) -> SubflowSpec {
    SubflowSpec { streams: vec![u16::from(code)], ..SubflowSpec::new(Dscp::new(code).unwrap()) }
}

/// So many subflows at level 0, stream `i` on subflow `i`.
fn subflows(count: u8, config: Config) -> Config {
    config.with(|c| c.subflows.open = (0..count).map(spec).collect())
}

/// A subflow is drained when everything is acknowledged cumulatively: "The data sender ... SHOULD NOT remove [gap acknowledged]
/// data from its transmit queue" (6.2.1), for the peer may take that back. A SACK that is only late looks the same.
#[test]
fn a_place_is_free_when_nothing_can_be_taken_back() {
    for taken_back_first in [true, false] {
        let mut script = Script::established(&subflows(2, Config::rfc9260()));
        let a = script.a;
        for stream in [0, 1, 1] {
            script.pair.send(Side::A, a, stream, &[1; 1000]);
        }
        script.pair.pump();
        assert_eq!(script.left(), [0, 1, 2]);
        script.pair.run_for(ms(100));
        // All of subflow 1 has arrived, and the chunks that subflow 0 sent before it have not.
        script.sack(0, WINDOW, &[(2, 3)]);
        script.pair.a.association(a).unwrap().remove_subflow(script.pair.now, 1, 0).unwrap();
        if taken_back_first {
            script.sack(0, WINDOW, &[]);
        }
        script.pair.a.association(a).unwrap().add_subflow(script.pair.now, &spec(1)).unwrap();
        script.sack(0, WINDOW, &[]);
        script.pair.log.clear();
        script.pair.a.association(a).unwrap().shutdown(script.pair.now);
        let mut got = BTreeSet::new();
        script.be_honest(Duration::from_secs(60), WINDOW, &mut got);
        assert_eq!(got.len(), 3, "{taken_back_first}: {got:?}");
        script.has_sent_all();
        assert_eq!(script.state(), State::ShutdownSent);
    }
}

/// A message of seven fragments has begun to leave on subflow 0 (0 to 2; 3 to 6 are kept), and 7 to 9 have left on subflow 1.
fn begun_message(config: Config) -> Script {
    let mut script = Script::established(&subflows(2, config));
    let a = script.a;
    script.pair.send(Side::A, a, 0, &[0; 10_000]);
    for _ in 0..3 {
        script.pair.send(Side::A, a, 1, &[1; 1000]);
    }
    script.pair.pump();
    let mut left = script.left();
    left.sort_unstable();
    assert_eq!(left, [0, 1, 2, 7, 8, 9]);
    script.pair.log.clear();
    script.pair.run_for(ms(100));
    script
}

/// RFC 8985, 6.2, step 5 looks at each segment by the time of its own sending. After a merger in mid-message higher numbers have
/// left before lower ones.
#[test]
fn rack_finds_what_left_before_lower_numbers() {
    let mut script = begun_message(Config::named("rfc9260-rack").unwrap());
    let a = script.a;
    script.sack(1, WINDOW, &[]);
    assert_eq!(script.left(), [3, 4]);
    script.pair.a.association(a).unwrap().merge_subflows(script.pair.now, 1, 0).unwrap();
    script.pair.run_for(ms(20));
    script.pair.log.clear();
    script.sack(1, WINDOW, &[(9, 9)]);
    script.pair.run_for(ms(100));
    assert_eq!(script.left(), [6, 1]);
    // 7 and 8, too, left before 9; 3 and 4 did not.
    assert_eq!(script.pair.a.view(a).unwrap().stats().chunks_lost, 4);
    let mut got = [0, 3, 4, 5, 9].into();
    script.be_honest(Duration::from_secs(1), WINDOW, &mut got);
    script.has_sent_all();
    let stats = script.pair.a.view(a).unwrap().stats();
    assert_eq!((stats.timeouts, stats.retransmissions), (0, 4));
}

/// After T3-rtx everything leaves again, and SACKs that are late tell of the first round: what they acknowledge and take back left
/// before what is below it.
#[test]
fn rack_after_a_timeout_and_late_sacks() {
    let mut script = Script::established(&Config::named("rfc9260-rack").unwrap());
    for _ in 0..12 {
        script.pair.send(Side::A, script.a, 0, &[1; 1400]);
    }
    script.pair.pump();
    script.pair.run_for(ms(100));
    script.sack(3, WINDOW, &[]);
    script.pair.run_for(ms(1300));
    // T3-rtx has expired, and the first has left again.
    assert_eq!(script.left().last(), Some(&3));
    script.sack(3, WINDOW, &[(3, 3)]);
    script.pair.run_for(ms(100));
    script.pair.log.clear();
    script.sack(4, WINDOW, &[(2, 2)]);
    assert_eq!(script.left(), [6, 7]);
    script.pair.run_for(ms(20));
    script.sack(4, WINDOW, &[(3, 5)]);
    script.pair.run_for(ms(200));
    script.pair.log.clear();
    script.be_honest(Duration::from_secs(120), WINDOW, &mut (0..4).chain(6..9).collect());
    script.has_sent_all();
}

/// 7.2.4 counts missing reports of every TSN below the highest newly acknowledged, whichever left first: also of one that was
/// kept for the rest of a message when higher ones, of a subflow that has been merged since, left before it.
#[test]
fn what_leaves_under_a_lower_number_is_found_lost() {
    for arrived in [false, true] {
        let mut script = begun_message(Config::rfc9260());
        let a = script.a;
        script.pair.a.association(a).unwrap().merge_subflows(script.pair.now, 1, 0).unwrap();
        let above = (5, 7);
        if arrived {
            script.sack(3, WINDOW, &[above]);
        } else {
            script.sack(3, WINDOW, &[]);
        }
        assert_eq!(script.left(), [3, 4, 5, 6], "{arrived}");
        script.pair.run_for(ms(100));
        script.pair.log.clear();
        // 3 is lost. Three SACKs report it missing, each for the sake of a chunk of its own.
        for last in 2..5 {
            let gaps = [(2, last), above];
            script.sack(3, WINDOW, if arrived { &gaps } else { &gaps[..1] });
        }
        assert_eq!(script.left().first(), Some(&3), "{arrived}");
        script.be_honest(Duration::from_secs(60), WINDOW, &mut (0..3).chain(4..7).collect());
        script.has_sent_all();
    }
}

/// 6.10: "the total size of the resulting SCTP packet MUST be less than or equal to the current PMTU". A HEARTBEAT
/// whose answer would exceed it is not answered.
#[test]
fn a_heartbeat_beyond_the_path_mtu_gets_no_answer() {
    let config = Config::rfc9260();
    let limit = config.max_packet() as usize;
    for (len, answered) in [(limit - 20, true), (limit - 19, false), (60_000, false)] {
        let mut script = Script::established(&config);
        let info = vec![9; len];
        script.send(|out| {
            Heartbeat { info: HeartbeatInfo { info: &info } }.emit(HeartbeatKind::Request, out);
        });
        let sizes: Vec<usize> = script.pair.log.iter().map(|p| p.bytes.len()).collect();
        assert!(sizes.iter().all(|size| *size <= limit), "{sizes:?}");
        assert_eq!(!sizes.is_empty(), answered, "{len}");
    }
}

/// Waits while the window is closed and each probe, which is dropped, is answered by a SACK.
fn closed_for(script: &mut Script, acknowledged: u32, duration: Duration) {
    let until = script.pair.now + duration;
    while script.pair.now < until {
        script.pair.log.clear();
        script.pair.step(until);
        if !script.left().is_empty() {
            script.pair.run_for(ms(20));
            script.sack(acknowledged, 0, &[]);
        }
        if script.pair.a.poll_timeout().is_none_or(|(at, _)| at > until) {
            script.pair.run_for(until - script.pair.now);
        }
    }
    script.pair.log.clear();
}

/// So many messages wait; what has left has arrived, and the window is closed. The number of the probe.
fn closed_window(config: &Config, messages: usize) -> (Script, u32) {
    let mut script =
        Script::established(&config.clone().with(|c| c.timers.heartbeat_interval = Duration::ZERO));
    for _ in 0..messages {
        script.pair.send(Side::A, script.a, 0, &[1; 1400]);
    }
    script.pair.pump();
    let first = script.left().len() as u32;
    script.pair.run_for(ms(100));
    script.sack(first, 0, &[]);
    (script, first)
}

/// 6.1 A. After a closed window of any length data flows with the window update, and the congestion window is as before, but for the decay
/// of an idle one, which is switched off here: "zero window probing does not affect the calculation of cwnd" (6.1 A).
// rfc9260:6.1-8
#[test]
fn data_flows_with_the_window_update() {
    for profile in ["rfc9260", "rfc9260-rack", "rfc2960", "linux-6.1"] {
        for closed in [500, 1500, 10_000, 100_000, 3_600_000] {
            let config = Config::named(profile).unwrap().with(|c| c.congestion.idle_decay_floor = None);
            let (mut script, first) = closed_window(&config, 40);
            let window = |script: &Script| script.pair.a.view(script.a).unwrap().stats().cwnd;
            let before = window(&script);
            closed_for(&mut script, first, ms(closed));
            assert_eq!(script.state(), State::Established, "{profile} {closed}: {:?}", script.closed());
            script.sack(first, WINDOW, &[]);
            let left = script.left();
            assert!(left.len() >= 2 && left[0] == first, "{profile} {closed}: {left:?}");
            assert_eq!(window(&script), before, "{profile} {closed}");
            let mut got = (0..first).collect();
            script.be_honest(Duration::from_secs(3), WINDOW, &mut got);
            script.has_sent_all();
            let stats = script.pair.a.view(script.a).unwrap().stats();
            assert_eq!((stats.congestion_events, stats.fast_retransmits), (0, 0), "{profile} {closed}");
            assert!(window(&script) > before, "{profile} {closed}");
        }
    }
}

/// The window opens before the probe's T3-rtx: a chunk lost later is lost.
#[test]
fn a_probe_that_is_answered_is_no_probe_any_more() {
    for acknowledged in [0, 1] {
        let (mut script, first) = closed_window(&Config::rfc9260(), 40);
        script.pair.run_for(ms(1200));
        assert_eq!(script.left().last(), Some(&first));
        script.sack(first + acknowledged, WINDOW, &[]);
        script.pair.run_for(ms(100));
        let before = script.pair.a.view(script.a).unwrap().stats();
        script.pair.run_for(Duration::from_secs(3));
        let after = script.pair.a.view(script.a).unwrap().stats();
        assert!(after.timeouts > before.timeouts);
        assert!(after.cwnd < before.cwnd, "{acknowledged}: {} after {}", after.cwnd, before.cwnd);
    }
}

/// A window of less than a chunk is closed: SACKs that say so again and again do not put the probe off.
// rfc9260:6.1-9
#[test]
fn a_window_below_a_chunk_is_probed() {
    let (mut script, first) = closed_window(&Config::rfc9260(), 10);
    script.pair.log.clear();
    for _ in 0..40 {
        script.pair.run_for(ms(100));
        script.sack(first, 100, &[]);
    }
    assert_eq!(script.left().first(), Some(&first));
    assert!(script.left().iter().all(|n| *n == first), "{:?}", script.left());
}

/// 6.1 A: "If the sender continues to receive SACK chunks from the peer while doing zero window probing, the unacknowledged window
/// probes SHOULD NOT increment the error counter". A reader that pauses is there.
// rfc9260:6.1-6
#[test]
fn a_reader_that_pauses_is_not_unreachable() {
    for (len, window) in [(1, 4000), (10, 4000), (1000, 4000), (1, 1500), (10, 30_000), (3000, 4000)] {
        let config = Config::rfc9260().with(|c| c.limits.receive_window = window);
        let (mut pair, a, _) = Pair::established(7, &config);
        pair.reads[Side::Z as usize] = false;
        for n in 0..5000 {
            if pair.a.view(a).unwrap().queued_bytes() < 200_000 {
                pair.send_numbered(Side::A, a, 0, n, len.max(4));
            }
        }
        let sent = pair.a.view(a).unwrap().stats().messages_accepted;
        pair.run_for(Duration::from_secs(3600));
        assert_eq!(pair.a.view(a).unwrap().state(), State::Established, "{len} {window}");
        pair.reads[Side::Z as usize] = true;
        pair.pump();
        pair.run_for(Duration::from_secs(600));
        assert_eq!(pair.in_order(Side::Z).get(&0).copied().map(u64::from), Some(sent), "{len} {window}");
    }
}

/// 9.2 bounds "the overall time for the shutdown sequence" with T5-shutdown-guard. A peer that acknowledges and never opens its window
/// does not keep an association that our user has closed, whoever closed first.
#[test]
fn a_window_that_stays_closed_does_not_hold_a_shutdown() {
    for peer_closes in [false, true] {
        let (mut script, first) = closed_window(&Config::rfc9260(), 10);
        if peer_closes {
            let cumulative = Tsn::new(script.tsn_a.wrapping_add(first - 1));
            script.send(|out| Shutdown { cumulative }.emit(out));
        } else {
            script.pair.a.association(script.a).unwrap().shutdown(script.pair.now);
        }
        closed_for(&mut script, first, Duration::from_secs(290));
        assert_eq!(script.closed(), None, "{peer_closes}");
        closed_for(&mut script, first, Duration::from_secs(320));
        assert_eq!(script.closed(), Some(CloseReason::ShutdownGuard), "{peer_closes}");
    }
}

/// 6.10 and 6.2.1: a SACK without room beside a HEARTBEAT ACK leaves in the next packet, with all its gap blocks. One that is cut
/// takes back acknowledgements.
// rfc9260:6.2-17
#[test]
fn a_sack_leaves_whole() {
    let config = Config::rfc9260();
    let limit = config.max_packet() as usize;
    for info in [1000, 1400, 1432, 1456, 1460] {
        let mut script = Script::established(&config);
        for hole in 0..10 {
            script.send(|out| data(TSN_Z + 2 * hole + 1, 0, b"x").emit(out));
        }
        script.pair.log.clear();
        let info = vec![9; info];
        script.send(|out| {
            Heartbeat { info: HeartbeatInfo { info: &info } }.emit(HeartbeatKind::Request, out);
            data(TSN_Z + 21, 0, b"x").emit(out);
        });
        let sizes: Vec<usize> = script.pair.log.iter().map(|p| p.bytes.len()).collect();
        assert!(sizes.iter().all(|size| *size <= limit), "{sizes:?}");
        let words: Vec<String> = script.pair.log.iter().flat_map(common::Logged::words).collect();
        assert_eq!(words.len(), 2, "{words:?}");
        let sack = words.iter().find(|word| word.starts_with("SACK")).unwrap();
        assert_eq!(sack.matches('-').count(), 11, "{} {words:?}", info.len());
    }
}

/// A reader that takes a message every four minutes gets them all.
#[test]
fn a_slow_reader_is_not_cut_off_by_the_guard() {
    let (mut script, first) = closed_window(&Config::rfc9260(), 12);
    script.pair.a.association(script.a).unwrap().shutdown(script.pair.now);
    for read in first..12 {
        closed_for(&mut script, read, Duration::from_secs(240));
        assert_eq!(script.state(), State::ShutdownPending, "{read}");
        script.sack(read, 1500, &[]);
        script.pair.run_for(ms(20));
        script.sack(read + 1, 0, &[]);
    }
    assert_eq!(script.state(), State::ShutdownSent);
}

/// "the TSNs for each fragment of a fragmented user message MUST be strictly sequential" (RFC 9260, 3.3.1): the numbers that are kept
/// for the rest of a message are for fragments of one size. After a reset of the association the answer rides with the first data,
/// which makes fragments smaller until it is acknowledged.
#[test]
fn fragments_keep_their_size_while_an_answer_rides_along() {
    for seed in 0..8 {
        let config = subflows(2, Config::rfc9260()).with(|c| {
            c.extensions.reconfiguration = true;
            c.extensions.peer_resets_association = true;
            c.limits.send_buffer = 1 << 20;
        });
        let (mut pair, a, z) = Pair::between(seed, &config, &config);
        let mut dice = anabranch_base::Rng::stream(seed, "loss", "stalls");
        pair.drop_if(move |_| seed > 0 && dice.chance(0.1));
        pair.z.association(z).unwrap().reset_association(pair.now).unwrap();
        pair.run_for(Duration::from_secs(60));
        for (stream, len) in [(0, 40_000), (1, 7000), (0, 3000), (1, 40_000)] {
            pair.send(Side::A, a, stream, &vec![stream as u8; len]);
        }
        pair.a.association(a).unwrap().shutdown(pair.now);
        pair.run_for(Duration::from_secs(600));
        let got: Vec<_> = pair.received.iter().map(|(_, message)| (message.stream, message.len())).collect();
        assert_eq!(got.len(), 4, "seed {seed}: {got:?}");
        assert_eq!(pair.a.view(a).unwrap().state(), State::Closed, "seed {seed}");
    }
}

/// Chunks that gap blocks acknowledge are kept, as that may be taken back (6.2.1). A peer that never fills one hole,
/// and says that it has room for everything, makes us keep a send buffer and a receive buffer at most.
// rfc9260:6.1-22
#[test]
fn a_peer_that_fills_no_hole_cannot_make_us_keep_everything() {
    for (profile, size) in [("rfc9260", 1000), ("rfc9260", 1), ("linux-6.1", 1000), ("rfc9260-rack", 1400)] {
        let config = Config::named(profile).unwrap().with(|c| {
            c.limits.send_buffer = 50_000;
            c.limits.receive_window = 20_000;
            // A window that grows whatever is acknowledged.
            c.congestion.growth_needs_advance = false;
            c.congestion.initial_window = anabranch_sctp::config::InitialWindow::Packets(100);
            c.congestion.max_burst = anabranch_sctp::config::MaxBurst::Off;
        });
        let mut script = Script::established(&config);
        let a = script.a;
        let mut worst = 0;
        for round in 0..400 {
            for _ in 0..100 {
                let message = anabranch_sctp::Message::new(0, vec![7; size]);
                let now = script.pair.now;
                let _full = script.pair.a.association(a).unwrap().send(now, message);
            }
            script.pair.pump();
            script.pair.run_for(ms(10));
            let sent = script.left().into_iter().max().unwrap() as u16;
            script.sack(0, u32::MAX, &[(2, sent + 1)]);
            assert_eq!(script.state(), State::Established, "{profile} {size} round {round}");
            // Nothing is acknowledged cumulatively.
            worst = worst.max(usize::from(sent + 1) * (size + 64));
        }
        // The last packet of a burst may go beyond.
        assert!(worst <= 70_000 + 1500, "{profile} {size}: {worst}");
    }
}

/// Bookkeeping is limited while it grows: a flight of messages of one byte is mostly that, and the SACK that would say so may
/// never come.
#[test]
fn a_flight_of_tiny_messages_is_limited_before_the_first_sack() {
    for subflow_count in [1, 3] {
        let config = subflows(subflow_count, Config::rfc9260()).with(|c| {
            c.limits.send_buffer = 50_000;
            c.limits.receive_window = 20_000;
            c.congestion.initial_window = anabranch_sctp::config::InitialWindow::Packets(100);
            c.congestion.max_burst = anabranch_sctp::config::MaxBurst::Off;
        });
        let mut script = Script::established(&config);
        let (a, now) = (script.a, script.pair.now);
        for _ in 0..40 {
            for i in 0..1000 {
                let message = anabranch_sctp::Message::new(i % u16::from(subflow_count), vec![7]);
                let _full = script.pair.a.association(a).unwrap().send(now, message);
            }
            script.pair.pump();
        }
        let association = script.pair.a.view(a).unwrap();
        assert_eq!(association.audit(), Ok(()), "{subflow_count} subflows");
        // It is the limit that stopped them, and neither cwnd nor the user.
        assert!(association.queued_bytes() > 0 && association.flight_bytes() > 10_000);
    }
}

/// 6.1 A: the first probe "after 1 RTO", then the interval grows "exponentially", up to RTO.Max; and none of that is left when the
/// window is open again: the probes were answered, so the round trip is what it was.
#[test]
fn probes_back_off_and_leave_the_rto_alone() {
    let (mut script, first) = closed_window(&Config::rfc9260(), 40);
    let rto = script.pair.a.view(script.a).unwrap().stats().rto;
    assert_eq!(rto, ms(1000));
    let mut before = script.pair.now;
    for interval in [1, 2, 4, 8, 16, 32, 60, 60] {
        script.pair.log.clear();
        script.pair.run_for(before + ms(interval * 1000 - 1) - script.pair.now);
        assert_eq!(script.left(), [], "{interval}");
        script.pair.run_for(ms(1));
        assert_eq!(script.left(), [first], "{interval}");
        before = script.pair.now;
        script.pair.run_for(ms(20));
        script.sack(first, 0, &[]);
    }
    assert_eq!(script.pair.a.view(script.a).unwrap().stats().rto, rto);
    script.pair.log.clear();
    script.sack(first, WINDOW, &[]);
    let left = script.left();
    assert!(left.len() > 1, "{left:?}");
    // All of it is lost: T3-rtx finds out after an RTO, not after a minute.
    script.pair.log.clear();
    script.pair.run_for(rto);
    assert_eq!(script.left(), [first]);
}

/// 6.1 A: "Also note that the cwnd SHOULD be adjusted according to Section 7.2.1": a minute behind a closed window is a minute in which
/// nothing was transmitted but probes, and a window that had grown large falls to four packets.
#[test]
fn a_closed_window_is_idle_time() {
    for (closed, halvings) in [(500, 0), (1700, 1), (2700, 2), (60_000, 9)] {
        let config = Config::rfc9260().with(|c| {
            c.congestion.initial_window = anabranch_sctp::config::InitialWindow::Packets(40);
            c.congestion.max_burst = anabranch_sctp::config::MaxBurst::Off;
            c.limits.send_buffer = 1 << 20;
        });
        let (mut script, first) = closed_window(&config, 200);
        let window = |script: &Script| script.pair.a.view(script.a).unwrap().stats().cwnd;
        let before = window(&script);
        assert!(before >= 40 * 1468);
        closed_for(&mut script, first, ms(closed));
        assert_eq!(window(&script), before, "nothing is decided before the window opens");
        script.sack(first, 1 << 20, &[]);
        let mut expected = before;
        for _ in 0..halvings {
            expected = (expected / 2).max(4 * 1468);
        }
        assert_eq!(window(&script), expected, "closed for {closed} ms");
        script.be_honest(Duration::from_secs(5), 1 << 20, &mut (0..first).collect());
        script.has_sent_all();
    }
}

/// A chunk that a subflow had sent again when it was merged, and that is lost again, is found by its time (RFC 8985,
/// 6.2) as it would have been without the merger, and not by T3-rtx.
#[test]
fn rack_finds_what_a_merged_subflow_had_sent_again() {
    for merged in [false, true] {
        let mut script = Script::established(&subflows(2, Config::named("rfc9260-rack").unwrap()));
        let a = script.a;
        for stream in [0, 1, 1, 1, 1] {
            script.pair.send(Side::A, a, stream, &[1; 1000]);
        }
        script.pair.pump();
        assert_eq!(script.left(), [0, 1, 2, 3, 4]);
        script.pair.run_for(ms(100));
        script.pair.log.clear();
        script.sack(1, WINDOW, &[(2, 4)]);
        assert_eq!(script.left(), [1], "sent again");
        script.pair.run_for(ms(20));
        if merged {
            script.pair.a.association(a).unwrap().merge_subflows(script.pair.now, 1, 0).unwrap();
        }
        let stream = u16::from(!merged);
        for _ in 0..4 {
            script.pair.send(Side::A, a, stream, &[1; 1000]);
        }
        script.pair.pump();
        script.pair.run_for(ms(120));
        script.pair.log.clear();
        script.sack(1, WINDOW, &[(2, 8)]);
        script.pair.run_for(ms(120));
        assert_eq!(script.left(), [1], "sent again once more, merged: {merged}");
        assert_eq!(script.pair.a.view(a).unwrap().stats().timeouts, 0);
    }
}

/// Sends a chunk of the script to A, in a packet of its own.
fn say(script: &mut Script, tsn: u32, ssn: u16, flags: DataFlags, payload: &[u8]) {
    let tsn = Tsn::new(TSN_Z.wrapping_add(tsn));
    script.send(|out| Data { flags, tsn, stream: 0, ssn: Ssn::new(ssn), ppid: 0, payload }.emit(out));
}

/// Each second message of a stream is lost, and what came takes all the memory that it may. A fifth of it is for the gaps, and
/// goes only when they are filled. "if the new incoming DATA chunk holds a TSN value less than the largest TSN received so far, then the
/// receiver SHOULD drop the largest TSN held for reordering and accept the new incoming DATA chunk" (6.2): whatever else waits, the
/// first that is missing is taken, or nothing would ever go on.
#[test]
fn gaps_leave_room_for_what_everything_waits_for() {
    let mut script = Script::established(&Config::rfc9260().with(|c| c.limits.receive_window = 4000));
    say(&mut script, 1201, 1201, DataFlags::WHOLE, b".");
    for number in (1..1200).step_by(2) {
        say(&mut script, number, number as u16, DataFlags::WHOLE, b".");
    }
    let dropped = |script: &Script| script.pair.a.view(script.a).unwrap().stats().dropped_no_buffer;
    assert!(dropped(&script) > 100, "all memory is held");
    let before = dropped(&script);
    for number in 0..=1201 {
        say(&mut script, number, number as u16, DataFlags::WHOLE, b".");
    }
    assert_eq!((dropped(&script), script.pair.received.len()), (before, 1202));
}

/// Unordered messages are read as they come, and the gaps between them stay: they leave room for the fragments of a message that fills
/// the first of them.
#[test]
fn gaps_beside_what_was_read_leave_room_for_fragments() {
    let mut script = Script::established(&Config::rfc9260().with(|c| c.limits.receive_window = 4000));
    for number in std::iter::once(6001).chain((11..6000).step_by(2)) {
        say(&mut script, number, 0, DataFlags { unordered: true, ..DataFlags::WHOLE }, b".");
    }
    let read = script.pair.received.len();
    assert!((1900..2048).contains(&read), "64 KiB are 2,048 gaps: {read}");
    let fragment = |beginning, ending| DataFlags { beginning, ending, ..DataFlags::WHOLE };
    for number in 0..10 {
        say(&mut script, number, 0, fragment(number == 0, number == 9), &[number as u8; 1000]);
    }
    let bytes: usize = script.pair.received.drain(read..).map(|(_, part)| part.into_bytes().len()).sum();
    assert_eq!(bytes, 10_000);
}
