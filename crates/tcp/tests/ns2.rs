//! Segment for segment against ns-2.35's Sack1 agent: which segment leaves when, for 300 seconds with 5 % loss.
//! `data/ns2_sack1.tcl` made the recordings.

use crate::common::{Fate, Pair, ms, payload};
use anabranch_base::Duration;
use anabranch_tcp::Config;
use std::collections::BTreeSet;

/// The recorded run: numbers of the packets dropped, then (milliseconds, segment) of every data packet sent.
fn recorded(text: &str) -> (BTreeSet<u64>, Vec<(u64, u64)>) {
    let mut lines = text.lines().filter(|l| !l.starts_with('#'));
    let drops = lines.next().unwrap_or("").split(' ').skip(1).map(|d| d.parse().expect("a number")).collect();
    let sent = lines
        .flat_map(|l| l.split(' '))
        .map(|pair| {
            let (at, n) = pair.split_once(':').expect("time:number");
            (at.parse().expect("milliseconds"), n.parse().expect("a number"))
        })
        .collect();
    (drops, sent)
}

fn check(config: &Config, text: &str) {
    let (drops, expected) = recorded(text);
    let mss = config.mss;
    // Ours counts packets from 1, the SYN; ns-2 from 0.
    let mut pair = Pair::same(config).with_rule(move |p| {
        if p.from_client && drops.contains(&(p.number - 1)) { Fate::Drop } else { Fate::Pass }
    });
    pair.rate = 3_000_000;
    pair.delay = ms(254);
    pair.client.offer = payload(16 << 20);
    pair.run(Duration::from_secs(300));

    let data: Vec<_> = pair.log.iter().filter(|p| p.from_client && p.is_data()).collect();
    let first = data[0].header.seq;
    let ours: Vec<(u64, u64)> = data
        .iter()
        .map(|p| (p.at.as_nanos() / 1_000_000, u64::from(p.header.seq.wrapping_sub(first) / mss) + 1))
        .collect();
    for (i, (a, b)) in ours.iter().zip(&expected).enumerate() {
        assert_eq!(a.1, b.1, "packet {i}: ours {a:?}, ns-2 {b:?}");
        // The handshake's packets differ by options, and ns-2's clock has a random phase within a tick of 10 ms.
        assert!(a.0.abs_diff(b.0) <= 5, "packet {i}: ours {a:?}, ns-2 {b:?}");
    }
    assert_eq!(ours.len(), expected.len());
    let stats = pair.client_stats();
    assert!(stats.timeouts > 10 && stats.fast_retransmits > 20, "the run is worth comparing: {stats:?}");
}

#[test]
fn sack1_with_limited_transmit() {
    let config = Config::named("ns2-sack1").expect("a profile");
    check(&config, include_str!("data/ns2_sack1_limited_on.txt"));
}

#[test]
fn sack1_without_limited_transmit() {
    let config = Config { limited_transmit: false, ..Config::named("ns2-sack1").expect("a profile") };
    check(&config, include_str!("data/ns2_sack1_limited_off.txt"));
}

/// The study's TCP is the same agent behind a receiver's window of 64 KB.
#[test]
fn study_2005_is_sack1_without_limited_transmit() {
    let config = Config::named("study-2005").expect("a profile");
    check(&config, include_str!("data/ns2_sack1_limited_off.txt"));
}
