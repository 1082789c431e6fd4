//! Links whose MTU the ends do not know, and that changes in the middle of a transfer: with ICMP and without (docs/explanation/mtu.md).
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

use crate::common::{bernoulli, engine, flow, link, ms, scenario};
use anabranch_base::Duration;
use anabranch_sim::run;
use anabranch_sim::scenario::{Loss, MtuAnswer, Protocol, Record, Scenario, Traffic};

const BYTES: u64 = 3_000_000;

/// A transfer over three links; the one in the middle carries less from 500 ms on, on the way there.
fn shrinking(discovery: &str, answer: MtuAnswer, mtu: u32, loss: Loss) -> Scenario {
    let mut links = link("first", ("a", "r1"), 100.0, ms(1), 1000, Loss::None).to_vec();
    links.extend(link("middle", ("r1", "r2"), 10.0, ms(10), 100, loss));
    links.extend(link("last", ("r2", "b"), 100.0, ms(1), 1000, Loss::None));
    links[2].mtu_answer = answer;
    links[2].mtu_changes = vec![(ms(500), mtu)];
    let options = [("mtu_discovery", discovery), ("rto_max", "2 s"), ("association_max_retrans", "60")];
    let traffic = Traffic::Transfer { bytes: BYTES, message: 20_000 };
    let transfer = flow("f", ("a", "b"), Protocol::Sctp, engine("rfc9260", &options), traffic);
    scenario(Duration::from_secs(120), links, vec![transfer])
}

/// Whether everything arrived, as it was sent; packets that the link in the middle lost.
#[track_caller]
fn arrives(scenario: &Scenario, seed: u64, what: &str) -> u64 {
    let output = run(scenario, seed, &Record::default()).expect("the scenario runs");
    let flow = &output.summary.flows[0];
    assert_eq!((flow.failed.as_deref(), flow.intact), (None, Some(true)), "{what}");
    assert_eq!(flow.measures.delivered_bytes, BYTES, "{what}");
    assert!(flow.close_s.is_some(), "{what}");
    output.summary.links[2].drops_error
}

#[test]
fn a_link_that_shrinks_and_says_so() {
    for mtu in [576, 1000, 1280, 1400] {
        for discovery in ["icmp", "probes"] {
            let what = format!("{discovery}, {mtu}");
            let lost = arrives(&shrinking(discovery, MtuAnswer::Icmp, mtu, Loss::None), 1, &what);
            assert!((1..200).contains(&lost), "{what}: {lost} packets");
        }
    }
}

/// Nobody says anything: probes find it out, and who has none lets IP fragment, or loses everything.
#[test]
fn a_link_that_shrinks_silently() {
    for mtu in [576, 1000, 1280, 1400] {
        let lost = arrives(&shrinking("probes", MtuAnswer::Silent, mtu, Loss::None), 1, &format!("{mtu}"));
        assert!((1..300).contains(&lost), "{mtu}: {lost} packets");
        let lost = arrives(&shrinking("off", MtuAnswer::Silent, mtu, Loss::None), 1, "fragmented on the way");
        assert_eq!(lost, 0);
    }
    let output = run(&shrinking("icmp", MtuAnswer::Silent, 1280, Loss::None), 1, &Record::default()).unwrap();
    assert!(output.summary.flows[0].measures.delivered_bytes < BYTES, "a black hole");
}

/// Random lives: other losses, every kind of answer, an MTU that goes down and up.
#[test]
fn random_lives() {
    for seed in 1..=12 {
        for answer in [MtuAnswer::Icmp, MtuAnswer::Silent] {
            let mut dice = anabranch_base::Rng::stream(seed, "mtu", "lives");
            let mut life = shrinking("probes", answer, 1500, bernoulli(0.01));
            let mut at = 100;
            life.links[2].mtu_changes = (0..6)
                .map(|_| {
                    at += 50 + dice.below(700);
                    (ms(at), 576 + dice.below(925) as u32)
                })
                .collect();
            arrives(&life, seed, &format!("{answer:?}, seed {seed}: {:?}", life.links[2].mtu_changes));
        }
    }
}

/// The keys of a file about the MTU, and the errors of wrong ones.
#[test]
fn scenario_keys() {
    let text = |link: &str| {
        format!(
            "duration = \"1 s\"\n[[link]]\nname = \"l\"\nfrom = \"a\"\nto = \"b\"\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\nboth = true\n{link}\n\
             [[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\nprotocol = \"sctp\"\nengine = \"rfc9260\"\ntraffic = {{ kind = \"greedy\", message = \"1 kB\" }}\n"
        )
    };
    let read =
        |link: &str| Scenario::from_toml(&text(link), "f.toml", &[]).map_err(|error| error.to_string());
    let good = read("mtu_answer = \"silent\"\nmtu_changes = [{ at = \"5 s\", mtu = \"1300 B\" }, { at = \"6 s\", mtu = \"1500 B\" }]").unwrap();
    assert_eq!(good.links[0].mtu_answer, MtuAnswer::Silent);
    assert_eq!(good.links[0].mtu_changes, [(Duration::from_secs(5), 1300), (Duration::from_secs(6), 1500)]);
    for (bad, says) in [
        ("mtu_answer = \"loud\"", "unknown answer \"loud\""),
        ("mtu_changes = [{ at = \"5 s\", mtu = \"1300 B\" }]", "cannot know an MTU that changes"),
        ("mtu_answer = \"icmp\"\nmtu_changes = [{ at = \"5 s\", mtu = \"100 B\" }]", "out of range"),
        (
            "mtu_answer = \"icmp\"\nmtu_changes = [{ at = \"5 s\", mtu = \"600 B\" }, { at = \"5 s\", mtu = \"700 B\" }]",
            "times must rise",
        ),
    ] {
        let error = read(bad).unwrap_err();
        assert!(error.contains(says), "{error}");
    }
}
