//! The runs of the golden set: every profile over every kind of network, and what the other files add.

use crate::{changes, options, subflows, traffic};

/// One run.
pub(crate) struct Run {
    pub(crate) name: String,
    pub(crate) toml: String,
    pub(crate) seed: u64,
}

/// Every profile of SCTP.
pub(crate) const SCTP: [&str; 14] = [
    "kame-2006",
    "kame-2006-bugs",
    "linux-6.1",
    "lksctp-2006",
    "lksctp-2006-bugs",
    "ns2-2.28",
    "ns2-2.35",
    "rfc2960",
    "rfc9260",
    "rfc9260-rack",
    "sctplib-2001",
    "sf2007",
    "webrtc",
    "modern",
];

/// Every profile of TCP.
pub(crate) const TCP: [&str; 11] = [
    "freebsd-6.0",
    "linux-2.4",
    "linux-2.6.15",
    "linux-6.1",
    "newreno",
    "ns2-sack1",
    "rack-cubic",
    "reno",
    "rfc",
    "sack",
    "study-2005",
];

/// Networks between `a` and `b`: how the keys of a `[[link]]` begin, and what its packets meet.
const NETWORKS: &[(&str, &str, &str)] = &[
    ("plain", MIDDLE, "queue = { kind = \"droptail\", packets = 12 }"),
    ("tight", MIDDLE, "queue = { kind = \"droptail\", packets = 4 }"),
    ("fast", FAST, "queue = { kind = \"droptail\", packets = 30 }"),
    ("slow", SLOW, "queue = { kind = \"droptail\", packets = 8 }"),
    ("satellite", SATELLITE, "loss = { kind = \"bernoulli\", p = 0.008 }"),
    ("bern1", MIDDLE, "loss = { kind = \"bernoulli\", p = 0.01 }"),
    ("bern5", MIDDLE, "loss = { kind = \"bernoulli\", p = 0.05 }"),
    ("bern20", MIDDLE, "loss = { kind = \"bernoulli\", p = 0.2 }"),
    ("bursts", MIDDLE, "loss = { kind = \"gilbert-elliott\", p = 0.02, r = 0.3 }"),
    ("bit-errors", MIDDLE, "loss = { kind = \"bit-errors\", ber = 3e-6 }"),
    (
        "damaged",
        MIDDLE,
        "pattern = { kind = \"bit-error\", length = 40, repeat = true, at = [\"17: 33 65\", \"31: 200\"] }",
    ),
    (
        "positions",
        MIDDLE,
        "loss = { kind = \"positions\", drop = [6, 12, 13, 30, 55, 56, 57, 58, 80] }\n\
         back = { loss = { kind = \"positions\", drop = [4, 9, 20, 21, 22] } }",
    ),
    (
        "reordered",
        MIDDLE,
        "pattern = { kind = \"reorder\", length = 25, repeat = true, hold = \"200 ms\", at = [\"8: 3\", \"19: 1\"] }",
    ),
    (
        "far-reordered",
        FAST,
        "pattern = { kind = \"reorder\", length = 60, repeat = true, hold = \"200 ms\", at = [\"13: 9\", \"40: 20\"] }",
    ),
    (
        "duplicated",
        MIDDLE,
        "pattern = { kind = \"duplicate\", length = 20, repeat = true, at = [\"5: 1\", \"12: 2\"] }",
    ),
    (
        "delays",
        MIDDLE,
        "pattern = { kind = \"delay\", driven = \"time\", length = 3000, repeat = true, at = [\"1: 20 ms\", \"400: 80 ms\", \
         \"900: 1500 ms\", \"1200: 30 ms\", \"2500: 200 ms\"] }",
    ),
    (
        "rates",
        MIDDLE,
        "queue = { kind = \"droptail\", packets = 15 }\n\
         pattern = { kind = \"bandwidth\", driven = \"time\", length = 2000, repeat = true, at = [\"1: 2 Mbit/s\", \
         \"300: 200 kbit/s\", \"1100: 8 Mbit/s\"] }",
    ),
    ("red", MIDDLE, "queue = { kind = \"red\", packets = 20, min = 3, max = 9, weight = 0.05, ecn = true }"),
    ("codel", MIDDLE, "queue = { kind = \"codel\", packets = 40, ecn = true }"),
    ("fq-codel", MIDDLE, "queue = { kind = \"fq-codel\", packets = 40 }"),
    ("outage", MIDDLE, "pattern = { kind = \"loss\", driven = \"time\", at = [\"400-6000\"] }"),
    ("dies", MIDDLE, "pattern = { kind = \"loss\", driven = \"time\", at = [\"400-1000000\"] }"),
    (
        "way-back-dies",
        MIDDLE,
        "back = { pattern = { kind = \"loss\", driven = \"time\", at = [\"400-1000000\"] } }",
    ),
    ("dead", MIDDLE, "loss = { kind = \"bernoulli\", p = 1 }"),
    (
        "first-lost",
        MIDDLE,
        "loss = { kind = \"positions\", drop = [1] }\nback = { loss = { kind = \"none\" } }",
    ),
    (
        "first-two-lost",
        MIDDLE,
        "loss = { kind = \"positions\", drop = [1, 2] }\nback = { loss = { kind = \"none\" } }",
    ),
    (
        "second-lost",
        MIDDLE,
        "loss = { kind = \"positions\", drop = [2] }\nback = { loss = { kind = \"none\" } }",
    ),
    (
        "second-to-fourth-lost",
        MIDDLE,
        "loss = { kind = \"positions\", drop = [2, 3, 4] }\nback = { loss = { kind = \"none\" } }",
    ),
    ("first-answer-lost", MIDDLE, "back = { loss = { kind = \"positions\", drop = [1] } }"),
    ("first-answers-lost", MIDDLE, "back = { loss = { kind = \"positions\", drop = [1, 2, 3] } }"),
    ("second-answer-lost", MIDDLE, "back = { loss = { kind = \"positions\", drop = [2] } }"),
    (
        "first-of-each-lost",
        MIDDLE,
        "loss = { kind = \"positions\", drop = [1, 3] }\nback = { loss = { kind = \"positions\", drop = [1, 3] } }",
    ),
];

const MIDDLE: &str = "rate = \"2 Mbit/s\"\ndelay = \"20 ms\"";
const FAST: &str = "rate = \"20 Mbit/s\"\ndelay = \"5 ms\"";
const SLOW: &str = "rate = \"100 kbit/s\"\ndelay = \"100 ms\"";
const SATELLITE: &str = "rate = \"3 Mbit/s\"\ndelay = \"250 ms\"";

/// The keys of a `[[link]]` of that name.
pub(crate) fn network(name: &str) -> String {
    let (_, line, meets) = NETWORKS.iter().find(|(known, ..)| *known == name).unwrap();
    format!("{line}\n{meets}")
}

/// The text of a scenario: how long, the keys of the link, the keys of each flow from `a` to `b`, and other tables.
pub(crate) fn scenario(duration: &str, link: &str, flows: &[String], more: &str) -> String {
    // The ports that flows had when the first hashes were taken.
    let mut text = format!("duration = \"{duration}\"\nports = [10000, 30000]\n");
    // Values of the run come first in a file.
    let (head, tables) = more.split_once("---\n").unwrap_or(("", more));
    text += head;
    text += &format!("\n[[link]]\nname = \"w\"\nfrom = \"a\"\nto = \"b\"\nboth = true\n{link}\n");
    for (index, flow) in flows.iter().enumerate() {
        // The ends of a flow are its own if it says so.
        let ends = if flow.contains("from = ") { "" } else { "from = \"a\"\nto = \"b\"\n" };
        text += &format!("\n[[flow]]\nname = \"f{index}\"\n{ends}{flow}\n");
    }
    text + "\n" + tables + "\n[record]\npcap = true\n"
}

/// The keys of a flow that sends so many bytes in messages of that size.
pub(crate) fn transfer(protocol: &str, engine: &str, bytes: &str, message: &str, more: &str) -> String {
    format!(
        "protocol = \"{protocol}\"\nengine = \"{engine}\"\n\
         traffic = {{ kind = \"transfer\", bytes = \"{bytes}\", message = \"{message}\" }}\n{more}"
    )
}

/// A run of one flow.
pub(crate) fn run(name: String, duration: &str, link: &str, flow: String) -> Run {
    Run { name, toml: scenario(duration, link, &[flow], ""), seed: 1 }
}

pub(crate) fn all() -> Vec<Run> {
    let mut runs = Vec::new();
    for (protocol, profiles) in [("sctp", SCTP.as_slice()), ("tcp", TCP.as_slice())] {
        for profile in profiles {
            for (name, ..) in NETWORKS {
                let bytes = if *name == "slow" { "60 kB" } else { "120 kB" };
                // Long enough to give up.
                let long = ["dead", "dies", "way-back-dies"].contains(name);
                let duration = if long { "900 s" } else { "120 s" };
                let flow = transfer(protocol, profile, bytes, "1452 B", "");
                runs.push(run(format!("{protocol}/{profile}/{name}"), duration, &network(name), flow));
            }
        }
    }
    runs.extend(options::runs());
    runs.extend(subflows::runs());
    runs.extend(changes::runs());
    runs.extend(traffic::runs());
    runs
}
