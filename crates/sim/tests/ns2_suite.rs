//! Scenarios of ns-2's own SCTP test suite.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

use std::fmt::{self, Write as _};
use std::path::Path;

use anabranch_sim::scenario::{EventKind, Scenario};
use anabranch_sim::{Columns, run};

/// What a sender does, as far as it is compared.
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

    /// What our sender did.
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
        let lost: Vec<u64> = rows().filter(|r| of(*r, dropped) && at(*r, wire)).map(|r| trace.seq[r]).collect();
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
                log.events.push((time, What::Timeout));
            } else if at(row, sender) && of(row, window) {
                if log.windows.last().is_none_or(|(_, cwnd)| *cwnd != trace.a[row]) {
                    log.windows.push((time, trace.a[row]));
                }
            }
        }
        // What made a packet leave stands before it, whatever is recorded first.
        log.events.sort_by_key(|(time, what)| (*time, matches!(what, What::Packet { .. })));
        log
    }
}

/// Where two lists part, with what was before and after.
fn difference<T: PartialEq + fmt::Display>(ours: &[(u64, T)], theirs: &[(u64, T)]) -> Option<String> {
    let part = (0..ours.len().max(theirs.len()))
        .find(|i| ours.get(*i).map(|(_, what)| what) != theirs.get(*i).map(|(_, what)| what))?;
    let mut text = format!("{:>6} {:>38}   {:<38}\n", "", "ns-2", "here");
    for i in part.saturating_sub(6)..part + 20 {
        let show = |list: &[(u64, T)]| {
            list.get(i).map_or(String::new(), |(time, what)| format!("{:.6} {what}", *time as f64 / 1e6))
        };
        let mark = if i == part { ">" } else { "" };
        writeln!(text, "{mark:>1}{i:>5} {:>38}   {:<38}", show(theirs), show(ours)).unwrap();
    }
    Some(text)
}

fn both(name: &str) -> (Log, Log) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ns2_suite");
    let read = |ending: &str| {
        let path = folder.join(format!("{name}.{ending}"));
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let scenario = Scenario::from_toml(&read("toml"), name, &[]).unwrap();
    let output = run(&scenario, 1, &scenario.record).unwrap();
    (Log::of_trace(&output.trace.unwrap()), Log::of_ns2(&read("events")))
}

#[test]
fn explore() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ns2_suite");
    let mut names: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).filter(|p| p.extension().is_some_and(|e| e == "toml")).map(|p| p.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    names.sort();
    for name in names {
        let (ours, theirs) = both(&name);
        println!("== {name}: first {} {}", ours.events[0].0, theirs.events[0].0);
        if let Some(text) = difference(&ours.events, &theirs.events) {
            println!("EVENTS {name}\n{text}");
        }
        if std::env::var("ALL").is_ok_and(|n| n == name) {
            for (a, b) in ours.events.iter().zip(&theirs.events) { println!("ALL {:.6} {}   {:.6} {}", b.0 as f64/1e6, b.1, a.0 as f64/1e6, a.1); }
        }
        let far = ours.events.iter().zip(&theirs.events).map(|(a, b)| a.0.abs_diff(b.0)).max();
        println!("   far {far:?} us of {}", ours.events.len());
        if let Some(text) = difference(&ours.windows, &theirs.windows) {
            println!("WINDOWS {name}\n{text}");
        }
    }
}
