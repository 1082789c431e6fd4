//! Tests of the scenario format: the meaning of good files, the errors of bad ones, and no file makes it panic.

mod any_input;
mod documentation;
mod errors;
mod meaning;
mod objects;
mod queues;
mod resolved;
mod routes;
mod sources;

use super::{Scenario, ScenarioError};

/// The smallest good file; lines are counted by the tests of errors, so it stays as it is.
const GOOD: &str = "\
duration = \"10 s\"
warmup = \"2 s\"
seeds = \"1..3\"

[[link]]
name = \"wire\"
from = \"a\"
to = \"b\"
rate = \"10 Mbit/s\"
delay = \"5 ms\"
queue = { kind = \"droptail\", packets = 20 }
loss = { kind = \"bernoulli\", p = 0.5 }
both = true

[[flow]]
name = \"one\"
from = \"a\"
to = \"b\"
protocol = \"sctp\"
engine = \"rfc9260\"
traffic = { kind = \"greedy\", message = \"1000 B\" }
";

const EXAMPLES: [(&str, &str); 13] = [
    ("satellite.toml", include_str!("../../../../../examples/satellite.toml")),
    ("bottleneck.toml", include_str!("../../../../../examples/bottleneck.toml")),
    ("first.toml", include_str!("../../../../../examples/first.toml")),
    ("speed.toml", include_str!("../../../../../examples/speed.toml")),
    ("diffserv-two-paths.toml", include_str!("../../../../../examples/diffserv-two-paths.toml")),
    ("single-bottleneck.toml", include_str!("../../../../../examples/single-bottleneck.toml")),
    ("background-traffic.toml", include_str!("../../../../../examples/background-traffic.toml")),
    ("fairness.toml", include_str!("../../../../../examples/fairness.toml")),
    ("one-router.toml", include_str!("../../../../../examples/one-router.toml")),
    ("virtual-queues.toml", include_str!("../../../../../examples/virtual-queues.toml")),
    ("wan-subflows.toml", include_str!("../../../../../examples/wan-subflows.toml")),
    ("web-page.toml", include_str!("../../../../../examples/web-page.toml")),
    ("wan.toml", include_str!("../../../../../examples/wan.toml")),
];

fn read(text: &str) -> Result<Scenario, ScenarioError> {
    Scenario::from_toml(text, "f.toml", &[])
}

fn read_with(overrides: &[(&str, &str)]) -> Result<Scenario, ScenarioError> {
    let overrides: Vec<_> =
        overrides.iter().map(|&(path, value)| (path.to_owned(), value.to_owned())).collect();
    Scenario::from_toml(GOOD, "f.toml", &overrides)
}

/// [`GOOD`] with one piece of text in place of another.
#[track_caller]
fn edited(from: &str, to: &str) -> String {
    assert_eq!(GOOD.matches(from).count(), 1, "{from} must be there once");
    GOOD.replace(from, to)
}
