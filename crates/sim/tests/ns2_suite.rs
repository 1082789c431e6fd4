//! ns-2.35's own SCTP test suite, as far as it has one path and neither partial reliability nor NR-SACK: the same packets
//! sent, lost, sent again and timed out in the same order, and the same windows, with the profile `ns2-2.35`.
//!
//! `ns2_suite/NAME.toml` is the scenario, `ns2_suite/NAME.events` what ns-2 did, `ns2_suite/README.md` how the one became the
//! other, and the table in `docs/explanation/ns2.md` what was found. A difference is shown side by side, from six events before it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

use std::collections::BTreeSet;
use std::fmt::{self, Write as _};
use std::path::{Path, PathBuf};

use anabranch_sim::scenario::{EventKind, Scenario};
use anabranch_sim::{Columns, run};

/// An action of a sender that is compared with ns-2's.
#[derive(Clone, Debug, PartialEq, Eq)]
enum What {
    /// A packet with user data: its TSNs from 1, whether they were sent before, whether the link loses it.
    Packet { tsns: Vec<u64>, again: bool, lost: bool },
    /// A SACK made a fast retransmit necessary.
    Fast,
    /// T3-rtx expired.
    Timeout,
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packet { tsns, again, lost } => {
                let tsns: Vec<_> = tsns.iter().map(u64::to_string).collect();
                let verb = if *again { "again" } else { "send" };
                write!(f, "{verb} {}{}", tsns.join("+"), if *lost { "!" } else { "" })
            }
            Self::Fast => f.write_str("fast"),
            Self::Timeout => f.write_str("timeout"),
        }
    }
}

/// A run of one side: events and windows, each with its time in microseconds.
#[derive(Default)]
struct Log {
    events: Vec<(u64, What)>,
    windows: Vec<(u64, u64)>,
}

impl Log {
    /// The list of events that ns-2 made (`ns2_suite/record.py` says what it holds).
    fn of_ns2(text: &str) -> Self {
        let mut log = Self::default();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let mut words = line.split_whitespace();
            let seconds: f64 = words.next().unwrap().parse().unwrap();
            let time = (seconds * 1e6).round() as u64;
            match words.next().unwrap() {
                "cwnd" => log.windows.push((time, words.next().unwrap().parse().unwrap())),
                "fast" => log.events.push((time, What::Fast)),
                "timeout" => log.events.push((time, What::Timeout)),
                kind @ ("send" | "again") => log.events.extend(words.map(|word| {
                    let tsns = word.trim_end_matches('!').split('+').map(|tsn| tsn.parse().unwrap());
                    let (tsns, again, lost) = (tsns.collect(), kind == "again", word.ends_with('!'));
                    (time, What::Packet { tsns, again, lost })
                })),
                other => panic!("{other}?"),
            }
        }
        log
    }

    /// The actions of our sender.
    fn of_trace(trace: &Columns) -> Self {
        let kind = |event: EventKind| EventKind::ALL.iter().position(|other| *other == event).unwrap();
        let [sent, window, fast, timeout, dropped, offered] = [
            EventKind::Sent,
            EventKind::Window,
            EventKind::FastRetransmit,
            EventKind::Timeout,
            EventKind::Dropped,
            EventKind::Offered,
        ]
        .map(kind);
        let wire = trace.entities.iter().position(|name| name == "link:wire").unwrap();
        let sender = trace.entities.iter().position(|name| name == "sctp:sender").unwrap();
        let rows = || 0..trace.len();
        let of = |row: usize, event: usize| usize::from(trace.kind[row]) == event;
        let at = |row: usize, entity: usize| usize::from(trace.entity[row]) == entity;
        let lost: BTreeSet<u64> =
            rows().filter(|r| of(*r, dropped) && at(*r, wire)).map(|r| trace.seq[r]).collect();
        // Chunks leave in the order of the packets that carry them.
        let mut chunks = rows().filter(|r| of(*r, sent) && at(*r, sender));
        let mut log = Self::default();
        for row in rows() {
            let time = (trace.time_ns[row] + 500) / 1000;
            if of(row, offered) && at(row, wire) && trace.a[row] > 0 {
                let (mut bytes, mut tsns, mut again) = (0, Vec::new(), false);
                while bytes < trace.a[row] {
                    let chunk = chunks.next().unwrap();
                    bytes += u64::from(trace.size[chunk]);
                    tsns.push(trace.seq[chunk] + 1);
                    again |= trace.reason[chunk] != 0;
                }
                log.events.push((time, What::Packet { tsns, again, lost: lost.contains(&trace.seq[row]) }));
            } else if at(row, sender) && of(row, fast) {
                log.events.push((time, What::Fast));
            } else if at(row, sender) && of(row, timeout) && !log.events.is_empty() {
                // Before the first data it was T1, which the lists of ns-2 leave out.
                log.events.push((time, What::Timeout));
            } else if at(row, sender)
                && of(row, window)
                && log.windows.last().is_none_or(|(_, cwnd)| *cwnd != trace.a[row])
            {
                log.windows.push((time, trace.a[row]));
            }
        }
        // The cause of a packet comes before the packet, in whatever order they are recorded.
        log.events.sort_by_key(|(time, what)| (*time, matches!(what, What::Packet { .. })));
        log
    }
}

/// Where two lists part, with what was before and after; `None` when they are the same.
fn difference<T: PartialEq + fmt::Display>(ours: &[(u64, T)], theirs: &[(u64, T)]) -> Option<String> {
    let what = |list: &[(u64, T)], i: usize| list.get(i).map(|(_, what)| what.to_string());
    let part = (0..ours.len().max(theirs.len()))
        .find(|i| ours.get(*i).map(|o| &o.1) != theirs.get(*i).map(|t| &t.1))?;
    let mut text =
        format!("event {part} differs: ns-2 {:?}, here {:?}\n", what(theirs, part), what(ours, part));
    writeln!(text, "{:>7} {:>38}   {:<38}", "", "ns-2", "here").unwrap();
    for i in part.saturating_sub(6)..(part + 8).min(ours.len().max(theirs.len())) {
        let show = |list: &[(u64, T)]| {
            list.get(i).map_or("-".to_owned(), |(time, what)| format!("{:.6} {what}", *time as f64 / 1e6))
        };
        let mark = if i == part { ">" } else { "" };
        writeln!(text, "{mark:>2}{i:>5} {:>38}   {:<38}", show(theirs), show(ours)).unwrap();
    }
    Some(text)
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ns2_suite")
}

/// Our log and that of ns-2. `overrides` are set over the scenario.
fn both_with(name: &str, overrides: &[(&str, &str)]) -> (Log, Log) {
    let read = |ending: &str| {
        let path = folder().join(format!("{name}.{ending}"));
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let overrides: Vec<_> = overrides.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let scenario = Scenario::from_toml(&read("toml"), name, &overrides).unwrap();
    let output = run(&scenario, 1, &scenario.record).unwrap();
    (Log::of_trace(&output.trace.unwrap()), Log::of_ns2(&read("events")))
}

fn both(name: &str) -> (Log, Log) {
    both_with(name, &[])
}

/// Those with the same order of everything. The number: how far a time may lie from ns-2's, in microseconds. ns-2 writes
/// times with six digits, which in the lists of variables are steps of 10 us; where T3-rtx expires, the RTO also knows that the
/// first round trip of ns-2 is that of a HEARTBEAT, ours that of INIT.
const SAME: [(&str, u64); 20] = [
    ("2packetsTimeout", 10),
    ("AMR-Exceeded", 10),
    ("cwndFreeze", 10),
    ("cwndFreeze-multistream", 10),
    ("hbAfterRto-2packetsTimeout", 10),
    ("hugeRwnd", 10),
    ("initRtx", 10),
    ("multipleDropsSameWnd-1", 10),
    ("multipleDropsSameWnd-1-delayed", 10),
    ("multipleDropsSameWnd-2", 10),
    ("multipleDropsSameWnd-3", 10),
    ("multipleDropsTwoWnds-1-delayed", 10),
    ("multipleRtx", 5_000),
    ("multipleRtx-early", 5_000),
    ("newReno", 10),
    ("noEarlyHBs", 10),
    ("sack-with-loss", 5_000),
    ("sack-with-loss-unordered", 5_000),
    ("smallRwnd", 10),
    ("smallSwnd", 10),
];

/// Those that differ: each has a test of its own below.
const DIFFERENT: [&str; 3] =
    ["burstAfterFastRtxRecovery", "burstAfterFastRtxRecovery-2", "multipleFastRtx-2packetsTimeout"];

#[test]
fn the_same_packets_in_the_same_order() {
    let mut wrong = String::new();
    for (name, close) in SAME {
        let (ours, theirs) = both(name);
        assert!(theirs.events.len() > 20, "{name}: an empty list");
        if let Some(text) = difference(&ours.events, &theirs.events) {
            writeln!(wrong, "== {name}: {text}").unwrap();
        } else if let Some(text) = difference(&ours.windows, &theirs.windows) {
            writeln!(wrong, "== {name}, windows: {text}").unwrap();
        }
        for ((here, what), (there, _)) in ours.events.iter().zip(&theirs.events) {
            if here.abs_diff(*there) > close {
                writeln!(wrong, "== {name}: {what} at {here} us, ns-2 at {there} us").unwrap();
                break;
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn every_scenario_is_compared() {
    let files = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let found: BTreeSet<_> = files
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    let named = SAME.iter().map(|(name, _)| *name).chain(DIFFERENT).map(str::to_owned).collect();
    assert_eq!(found, named);
}

/// "When the window opens up, an SCTP receiver SHOULD send additional SACK chunks to update the window even if no new data is
/// received" (RFC 9260, 6.2). The chunk that fills the hole frees nearly the whole buffer, so our SACK leaves at once; that of
/// ns-2, which has no window updates, waits 200 ms for another packet, and none may come. Everything before is the same, and all
/// that follows is the same 200 ms earlier.
#[test]
fn a_window_that_opens_is_told_at_once() {
    for (name, again) in [("burstAfterFastRtxRecovery", 111), ("burstAfterFastRtxRecovery-2", 30)] {
        let (ours, theirs) = both(name);
        let len = theirs.events.len();
        assert!(ours.events.len() > len, "{name}: further in the same time");
        if let Some(text) = difference(&ours.events[..len], &theirs.events) {
            panic!("{name}: {text}");
        }
        let filled = What::Packet { tsns: vec![again], again: true, lost: false };
        let at = theirs.events.iter().position(|(_, what)| *what == filled).unwrap();
        for (i, ((here, what), (there, _))) in ours.events.iter().zip(&theirs.events).enumerate() {
            let later = if i > at { 200_000 } else { 0 };
            assert!((here + later).abs_diff(*there) <= 10, "{name}: {what} at {here} us, ns-2 at {there} us");
        }
        let windows = theirs.windows.len();
        assert_eq!(difference(&ours.windows[..windows], &theirs.windows), None, "{name}");
    }
}

/// "Mark the DATA chunk(s) as being fast retransmitted and thus ineligible for a subsequent Fast Retransmit" (RFC 9260, 7.2.4,
/// rule 5): when the fast retransmit is lost too, T3-rtx sends it again. ns-2's experimental agent `MultipleFastRtx` marks it once
/// more, when a chunk that left after the fast retransmit is acknowledged. Until then everything is the same.
#[test]
fn a_chunk_is_fast_retransmitted_once() {
    let (ours, theirs) = both("multipleFastRtx-2packetsTimeout");
    let again = |log: &Log, wanted: u64| {
        let times = log
            .events
            .iter()
            .filter(|(_, what)| matches!(what, What::Packet { tsns, again: true, .. } if *tsns == [wanted]));
        times.map(|(time, _)| *time).collect::<Vec<_>>()
    };
    let part = ours.events.iter().zip(&theirs.events).position(|(here, there)| here.1 != there.1).unwrap();
    let second = What::Packet { tsns: vec![13], again: true, lost: false };
    assert!(matches!(theirs.events[part].1, What::Fast) || theirs.events[part].1 == second, "{part}");
    assert!(!theirs.events.iter().any(|(_, what)| *what == What::Timeout));
    // Here the same as in 2packetsTimeout, which ns-2 runs without its extension.
    let (_, without) = both("2packetsTimeout");
    assert_eq!(again(&ours, 13), again(&without, 13), "T3-rtx of both");
    let len = ours.events.len();
    if let Some(text) = difference(&ours.events, &without.events[..len]) {
        panic!("{text}");
    }
}

/// With a value of the profile as others have it, the order is another than that of ns-2: the comparison can fail.
#[test]
fn the_rules_of_the_profile_are_seen() {
    for (name, key, value) in [
        ("smallSwnd", "options.fills_past_cwnd", "false"),
        ("cwndFreeze-multistream", "receiver.options.sack_filled_hole", "true"),
        ("newReno", "options.fast_recovery", "until-exit"),
        ("multipleRtx-early", "options.ssthresh_floor", "2"),
        ("cwndFreeze", "options.fast_retransmit_threshold", "4"),
        ("noEarlyHBs", "options.initial_window", "2"),
    ] {
        let (ours, theirs) = both_with(name, &[(&format!("flow.sctp.{key}"), value)]);
        assert!(difference(&ours.events, &theirs.events).is_some(), "{name} with {key} = {value}");
    }
}
