//! Each option at its least and its greatest allowed value, alone and several at once: two endpoints talk in virtual
//! time. Debug assertions and overflow checks are on, so a sum of sizes that does not fit its type, or a time that
//! runs over, ends the test. Messages that the option allows are delivered; others are refused or end the
//! association, with an error.

use crate::common;

use anabranch_base::{Duration, Rng};
use anabranch_sctp::{CloseReason, Config, Event, Message, SendError};
use bytes::Bytes;
use common::{Pair, Side};

const SECOND: Duration = Duration::from_secs(1);
/// Longer than what any allowed option lets a life take that goes on at all.
const LONG: Duration = Duration::from_secs(3600);
/// Lengths of the messages that each side sends, bytes.
const LENGTHS: [usize; 7] = [1, 3, 1000, 1453, 9000, 66_000, 140_000];
/// Notations of a value: a number in one of these.
const SHAPES: [&str; 9] =
    ["#", "# B", "# ns", "clamp #", "acknowledged #", "after-recovery #", "fcc(#)", "#=65535", "0=#"];

/// A value as the option shows it.
fn shown(base: &Config, key: &str, text: &str) -> Option<String> {
    let mut config = base.clone();
    config.set(key, text).ok()?;
    config.get(key)
}

/// The values of an option at each edge of what it takes, as text.
fn edges(base: &Config, key: &str, expected: &str) -> Vec<String> {
    let takes = |text: &str| base.clone().set(key, text).is_ok();
    let mut found: Vec<String> = Vec::new();
    // Words in quotes.
    for word in expected.split('"').skip(1).step_by(2).filter(|word| takes(word)) {
        found.push(word.to_owned());
    }
    for word in ["true", "false"].into_iter().filter(|word| takes(word)) {
        found.push(word.to_owned());
    }
    let some: [u64; 24] = [
        0,
        1,
        2,
        3,
        10,
        50,
        64,
        100,
        255,
        480,
        512,
        576,
        1000,
        1200,
        1500,
        9000,
        65_535,
        1 << 20,
        1_000_000_000,
        1 << 32,
        1 << 40,
        1 << 50,
        1 << 60,
        u64::MAX,
    ];
    for shape in SHAPES {
        let write = |n: u64| shape.replace('#', &n.to_string());
        let fits = |n: u64| takes(&write(n));
        let mut at: Vec<u64> = Vec::new();
        for pair in some.windows(2) {
            let (mut low, mut high) = (pair[0], pair[1]);
            let below = fits(low);
            if below != fits(high) {
                while high - low > 1 {
                    let middle = low + (high - low) / 2;
                    if fits(middle) == below { low = middle } else { high = middle }
                }
                at.push(if below { low } else { high });
            }
        }
        at.extend([0, u64::MAX].into_iter().filter(|n| fits(*n)));
        found.extend(at.into_iter().map(write));
    }
    // One spelling of each value.
    found.sort_unstable_by_key(|text| shown(base, key, text));
    found.dedup_by_key(|text| shown(base, key, text));
    found
}

#[derive(Debug, Default)]
struct Life {
    /// Payloads that each side was let send, A first.
    sent: [Vec<Vec<u8>>; 2],
    refused: usize,
    /// True if the user was told that the association began; and the reason for which it ended.
    up: bool,
    ended: [Option<CloseReason>; 2],
    got: [Vec<Vec<u8>>; 2],
}

impl Life {
    /// Everything arrived at both sides, once and in order, and both heard of a graceful end.
    fn is_whole(&self) -> bool {
        let arrived = self.got[1] == self.sent[0] && self.got[0] == self.sent[1];
        let graceful = |end: &Option<CloseReason>| matches!(end, Some(CloseReason::Graceful));
        self.up && arrived && self.ended.iter().all(graceful)
    }

    /// The end was told, or nothing that was taken is missing.
    fn is_honest(&self) -> bool {
        let arrived = self.got[1] == self.sent[0] && self.got[0] == self.sent[1];
        arrived || self.ended.iter().any(Option::is_some)
    }

    fn summary(&self) -> String {
        let lens = |all: &[Vec<Vec<u8>>; 2]| {
            all.each_ref().map(|side| side.iter().map(Vec::len).collect::<Vec<_>>())
        };
        format!(
            "up {}, refused {}, sent {:?}, got {:?}, ended {:?}",
            self.up,
            self.refused,
            lens(&self.sent),
            lens(&self.got),
            self.ended
        )
    }
}

/// Both send, then A shuts down. Every `lose`th packet is lost (0: none).
fn live(seed: u64, a: &Config, z: &Config, lose: usize, change: Option<(&str, &str)>) -> Life {
    let mut pair = Pair::sealed(seed);
    let mut life = Life::default();
    pair.z.listen(std::sync::Arc::new(z.clone())).unwrap();
    let now = pair.now;
    let id =
        pair.a.connect(now, common::address(Side::Z), common::PORT, std::sync::Arc::new(a.clone())).unwrap();
    let mut count = 0;
    pair.drop_if(move |_| {
        count += 1;
        lose > 0 && count % lose == 0
    });
    let mut waited = 0;
    while !pair.saw(Side::Z, |e| matches!(e, Event::Accepted { .. })) && waited < 40 {
        pair.run_for(SECOND * 10);
        waited += 1;
    }
    life.up = pair.saw(Side::A, |e| matches!(e, Event::Established { .. }))
        && pair.saw(Side::Z, |e| matches!(e, Event::Accepted { .. }));
    if life.up {
        let ids = [id, pair.id_of(Side::Z)];
        for (n, len) in LENGTHS.into_iter().enumerate() {
            if let Some((key, value)) = change.filter(|_| n == LENGTHS.len() / 2) {
                for (side, id) in [Side::A, Side::Z].into_iter().zip(ids) {
                    let now = pair.now;
                    if let Some(mut association) = pair.endpoint(side).association(id) {
                        let _ = association.set(now, key, value);
                    }
                }
            }
            for (which, side) in [Side::A, Side::Z].into_iter().enumerate() {
                let payload = vec![n as u8 * 2 + which as u8; len];
                for _ in 0..200 {
                    let now = pair.now;
                    let Some(mut association) = pair.endpoint(side).association(ids[which]) else { break };
                    let taken = association.send(now, Message::new(0, Bytes::from(payload.clone())));
                    drop(association);
                    match taken {
                        Ok(_) => {
                            life.sent[which].push(payload);
                            break;
                        }
                        Err(SendError::Full | SendError::StreamFull { .. }) => pair.run_for(SECOND),
                        Err(_) => {
                            life.refused += 1;
                            break;
                        }
                    }
                }
            }
            if n % 3 == 2 {
                pair.run_for(SECOND);
            }
        }
        pair.run_for(SECOND * 200);
        let now = pair.now;
        if let Some(mut association) = pair.a.association(id) {
            association.shutdown(now);
        }
        pair.run_for(LONG);
    }
    for (side, _, event) in &pair.events {
        if let Event::Closed(reason) = event {
            life.ended[*side as usize] = Some(reason.clone());
        }
    }
    for (side, message) in &pair.received {
        life.got[*side as usize].push(message.clone().into_bytes().to_vec());
    }
    life
}

fn base(profile: &str) -> Config {
    Config::named(profile).unwrap().with(|c| c.subflows.open = Vec::new())
}

#[test]
fn the_edges_of_an_option_are_found() {
    let config = Config::default();
    let key = |name: &str| Config::keys().iter().find(|key| key.name == name).unwrap();
    let edges = |name: &str| edges(&config, name, key(name).expected);
    assert!(edges("mtu").contains(&"576".to_owned()) && edges("mtu").contains(&"65535".to_owned()));
    assert_eq!(edges("nagle"), ["false", "true"]);
    assert!(edges("rto_min").iter().any(|text| text == "0 ns") && edges("dscp").contains(&"63".to_owned()));
}

/// Effect of an option at an edge of its range, so that a life may end early, or never begin.
const TAKEN: &[(&str, &str)] = &[
    ("association_max_retrans", "the first loss ends it"),
    (
        "checksums",
        "a peer that verifies drops packets without a sum, and one that leaves them out cannot be told so",
    ),
    ("max_message", "a longer message of the peer is a protocol violation"),
    ("rto_initial", "nothing comes back within a nanosecond"),
    ("timer_tick", "a lost packet is sent again after centuries"),
];

fn sweep(profile: &str) {
    let config = base(profile);
    let mut lives = 0;
    for key in Config::keys() {
        for value in edges(&config, key.name, key.expected) {
            let mut changed = config.clone();
            changed.set(key.name, &value).unwrap();
            for (a, z, lose) in [
                (&changed, &config, 0),
                (&config, &changed, 0),
                (&changed, &changed, 0),
                (&changed, &changed, 7),
            ] {
                let life = live(7, a, z, lose, None);
                let taken = TAKEN.iter().any(|(name, _)| *name == key.name);
                let fine = if taken { life.is_honest() } else { life.is_whole() };
                assert!(fine, "{profile}, {} = {value}, {lose}: {}", key.name, life.summary());
                lives += 1;
            }
        }
    }
    assert!(lives > 400, "{lives}");
}

#[test]
fn each_option_at_its_edges_rfc9260() {
    sweep("rfc9260");
}

#[test]
fn each_option_at_its_edges_modern() {
    sweep("modern");
}

/// Each option that can be changed, in the midst of a life.
#[test]
fn each_option_goes_to_its_edges_in_mid_life() {
    for profile in ["rfc9260", "modern"] {
        let config = base(profile);
        for key in Config::keys().iter().filter(|key| Config::changeable().contains(&key.name)) {
            for value in edges(&config, key.name, key.expected) {
                for lose in [0, 7] {
                    let life = live(8, &config, &config, lose, Some((key.name, &value)));
                    let taken = TAKEN.iter().any(|(name, _)| *name == key.name);
                    let fine = if taken { life.is_honest() } else { life.is_whole() };
                    assert!(fine, "{profile}, {} = {value}, {lose}: {}", key.name, life.summary());
                }
            }
        }
    }
}

/// Several options at edges at once, different ones at each end: nothing that arrives is wrong, and nothing panics.
#[test]
fn many_options_at_their_edges_at_once() {
    for seed in 0..150 {
        let mut rng = Rng::stream(seed, "test", "extremes");
        let mut pick = |n: usize| rng.below(n as u64) as usize;
        let profile = ["rfc9260", "modern", "webrtc"][pick(3)];
        let mut ends = [base(profile), base(profile)];
        for config in &mut ends {
            for key in Config::keys().iter().filter(|key| key.name != "checksums") {
                if pick(6) > 0 {
                    continue;
                }
                let edges = edges(config, key.name, key.expected);
                let value = &edges[pick(edges.len())];
                config.set(key.name, value).unwrap();
            }
            // A timer every nanosecond, without end, is what some of these values ask for together.
            config.timers.rto_max = config.timers.rto_max.max(SECOND);
            let limits = &mut config.limits;
            limits.max_init_retransmits = limits.max_init_retransmits.min(20);
            limits.association_max_retrans = limits.association_max_retrans.min(20);
        }
        let lose = [0, 7][pick(2)];
        let life = live(seed, &ends[0], &ends[1], lose, None);
        for (got, sent) in [(&life.got[1], &life.sent[0]), (&life.got[0], &life.sent[1])] {
            assert!(sent.starts_with(got), "seed {seed}: {}", life.summary());
        }
    }
}

/// The largest IP packets that there are: sizes of packets and of probes stand at the end of 16 bits.
#[test]
fn the_largest_mtu_is_found_and_used() {
    for mtu in 65_528..=65_535_u16 {
        for (discovery, carries, answers) in [
            ("off", None, false),
            ("icmp", None, false),
            ("probes", None, false),
            ("icmp", Some(65_530), true),
            ("icmp", Some(1500), true),
            ("probes", Some(65_531), true),
            ("probes", Some(65_531), false),
            ("probes", Some(65_527), false),
            ("probes", Some(1500), true),
            ("probes", Some(1500), false),
        ] {
            let config = Config::rfc9260().with(|c| {
                c.set("mtu", &mtu.to_string()).unwrap();
                c.set("mtu_discovery", discovery).unwrap();
            });
            let (mut pair, a, z) = Pair::established(5, &config);
            (pair.carries, pair.routers_answer) = (carries, answers);
            for n in 0..3 {
                pair.send_numbered(Side::A, a, 0, n, 100_000);
                pair.send_numbered(Side::Z, z, 0, n, 3000);
                pair.run_for(SECOND * 200);
            }
            pair.check_all(Side::Z, 1, 3);
            pair.check_all(Side::A, 1, 3);
            let found = pair.a.view(a).unwrap().path_mtu();
            // SCTP packets are multiples of four bytes, behind 20 of IP.
            let fills = |size: u16| 20 + ((size - 20) & !3);
            let carries_all = carries.is_none_or(|carries| usize::from(fills(mtu)) <= carries);
            let least = carries.map_or(mtu, |carries| mtu.min(carries as u16));
            let expected = if discovery != "probes" && carries_all { mtu } else { fills(least) };
            assert_eq!(found, expected, "{mtu}, {discovery}, {carries:?}, {answers}");
        }
    }
}
