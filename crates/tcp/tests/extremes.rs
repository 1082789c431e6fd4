//! Each option at its least and its greatest value: a transfer with losses in virtual time, with debug assertions and overflow checks on.

use crate::common::{Fate, Pair, ms, payload};
use anabranch_tcp::Config;

/// Notations of a value.
const SHAPES: [&str; 3] = ["#", "# B", "# ns"];

/// A value as the option shows it.
fn shown(base: &Config, key: &str, text: &str) -> Option<String> {
    let mut config = base.clone();
    config.set(key, text).ok()?;
    config.get(key)
}

/// The values of an option at each edge of its range, as text.
fn edges(base: &Config, key: &str, allowed: &str) -> Vec<String> {
    let takes = |text: &str| base.clone().set(key, text).is_ok();
    let words = allowed.split([',', ' ', '"']).chain(["true", "false"]);
    let mut found: Vec<String> = words.filter(|word| takes(word)).map(str::to_owned).collect();
    let some: [u64; 9] = [0, 1, 2, 100, 1000, 65_535, 1 << 32, 1 << 50, u64::MAX];
    for shape in SHAPES {
        let write = |n: u64| shape.replace('#', &n.to_string());
        let fits = |n: u64| takes(&write(n));
        for pair in some.windows(2) {
            let (mut low, mut high) = (pair[0], pair[1]);
            let below = fits(low);
            if below != fits(high) {
                while high - low > 1 {
                    let middle = low + (high - low) / 2;
                    if fits(middle) == below { low = middle } else { high = middle }
                }
                found.push(write(if below { low } else { high }));
            }
        }
        found.extend([0, u64::MAX].into_iter().filter(|n| fits(*n)).map(write));
    }
    // One spelling of each value.
    found.sort_unstable_by_key(|text| shown(base, key, text));
    found.dedup_by_key(|text| shown(base, key, text));
    found
}

/// Effect of an option at an edge of its range: a transfer that ends early, does not begin, or takes longer than
/// anybody waits.
const TAKEN: &[&str] = &[
    "mss",
    "receive_buffer",
    "send_buffer",
    "send_limit",
    "rto_initial",
    "rto_max",
    "rto_after_handshake_loss",
    "rto_granularity",
    "rto_min",
    "rto_slop",
    "persist_max",
    "timer_tick",
    "retransmissions",
    "syn_retransmissions",
    "backlog",
];

#[test]
fn each_option_at_its_edges() {
    let data = payload(60_000);
    for profile in ["rfc", "linux-6.1"] {
        let base = Config::named(profile).expect("a profile");
        for key in Config::keys() {
            for value in edges(&base, key.name, key.allowed) {
                let mut config = base.clone();
                config.set(key.name, &value).expect("it is allowed");
                for lose in [0, 9] {
                    let mut pair = Pair::same(&config)
                        .with_rule(
                            move |p| {
                                if lose > 0 && p.number % lose == 0 { Fate::Drop } else { Fate::Pass }
                            },
                        )
                        .upload(&data);
                    pair.run(ms(600_000));
                    let got = &pair.server.received;
                    let fine = data == got[..] || TAKEN.contains(&key.name);
                    assert!(
                        data.starts_with(got) && fine,
                        "{profile}, {} = {value}, {lose}: {}",
                        key.name,
                        got.len()
                    );
                }
            }
        }
    }
}
