//! The JSON of results: flows are marked, seeds are put together. `python/tests/test_keys.py` compares its keys with their page.

use std::process::{Command, Stdio};

use serde_json::Value;

/// One of each: objects, messages, a group, subflows, classes, shares, a transfer that ends early.
const EVERYTHING: &str = r#"
duration = "20 s"
warmup = "1 s"

[[link]]
name = "wan"
from = "a"
to = "b"
rate = "4 Mbit/s"
delay = "20 ms"
queue = { kind = "droptail", packets = 40 }
loss = { kind = "bernoulli", p = 0.005 }
both = true

[[link]]
name = "shared"
from = "c"
to = "d"
rate = "4 Mbit/s"
delay = "5 ms"
queue = { kind = "fq-codel", packets = 1000 }
both = true

[[flow]]
name = "transfer"
from = "a"
to = "b"
protocol = "tcp"
engine = "rfc"
start = "2 s"
traffic = { kind = "transfer", bytes = "500 kB", message = "1000 B" }

[[flow]]
name = "several"
from = "c"
to = "d"
protocol = "sctp"
engine = "rfc9260"
count = 2
traffic = { kind = "greedy", message = "1000 B" }

[[flow]]
name = "late"
from = "a"
to = "b"
protocol = "sctp"
engine = "rfc9260"
start = "30 s"
traffic = { kind = "greedy", message = "1000 B" }

[[flow]]
name = "endless"
from = "a"
to = "b"
protocol = "sctp"
engine = "rfc9260"
options = { stream_statistics = true }
streams = 2
subflows = [{ dscp = 0, streams = [0] }, { dscp = 10, streams = [1] }]
traffic = { kind = "transfer", bytes = "100 MB", message = "1000 B" }

[[flow]]
name = "small-window"
from = "c"
to = "d"
protocol = "tcp"
engine = "rfc"
receiver = { options = { receive_buffer = "4 KiB" } }
traffic = { kind = "greedy", message = "1000 B" }

[[flow]]
name = "talk"
from = "c"
to = "d"
protocol = "sctp"
engine = "rfc9260"
traffic = { kind = "messages", sources = [{ name = "s", message = "100 B", every = "0.1 s" }] }

[[flow]]
name = "page"
from = "c"
to = "d"
protocol = "tcp"
engine = "rfc"
traffic = { kind = "objects", sizes = ["10 kB", "20 kB"], connections = 1, message = "1000 B" }

[record]
by_flow = true
"#;

fn results(text: &str, arguments: &[&str]) -> (Value, String) {
    let place = tempfile::tempdir().expect("a directory");
    std::fs::write(place.path().join("s.toml"), text).expect("a file");
    let run = |more: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_anabranch"))
            .args(["simulate", "s.toml"])
            .args(arguments)
            .args(more)
            .current_dir(place.path())
            .stdin(Stdio::null())
            .output()
            .expect("it starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    };
    (serde_json::from_str(&run(&["--json"])).expect("JSON"), run(&[]))
}

fn flow<'v>(run: &'v Value, name: &str) -> &'v Value {
    let flows = run["flows"].as_array().expect("flows");
    flows.iter().find(|flow| flow["name"] == name).expect("a flow of that name")
}

#[test]
fn seeds_are_put_together() {
    let (printed, _) = results(EVERYTHING, &["--seeds", "1..2"]);
    assert_eq!(printed["schema"], 2);
    let run = &printed["runs"][0];
    assert!(flow(run, "transfer").get("association").is_none(), "TCP has none");
    let (sent, counted) = (&flow(run, "endless")["association"]["sender"], flow(run, "endless"));
    assert_eq!(sent["state"], "Established");
    assert_eq!(sent["control"]["sent"]["init"], 1);
    // The snapshot counts from the beginning, the flow from the end of the warm-up.
    assert!(sent["stats"]["packets_sent"].as_u64() > counted["packets_sent"].as_u64(), "{sent}");
    assert!(sent["stats"]["retransmissions"].as_u64() >= counted["retransmissions"].as_u64(), "{sent}");
    // Together: a mean where there was a number.
    let over = &printed["over_seeds"];
    assert_eq!(over["runs"], 2);
    let goodput = &flow(over, "endless")["goodput_payload_bps"];
    let each: Vec<f64> = [0, 1]
        .map(|at| flow(&printed["runs"][at], "endless")["goodput_payload_bps"].as_f64().expect("a rate"))
        .to_vec();
    let mean = goodput["mean"].as_f64().expect("a mean");
    assert!((mean - (each[0] + each[1]) / 2.0).abs() < 1e-6 * mean, "{goodput} {each:?}");
    assert!(goodput["half_width_95"].as_f64().expect("an interval") > 0.0 && goodput["runs"] == 2);
    assert_eq!(flow(over, "late")["notes"]["never-started"], 2);
    assert_eq!(flow(over, "endless")["same_for_every_seed"], false);
}

#[test]
fn flows_are_marked() {
    let (printed, table) = results(EVERYTHING, &["--seeds", "1"]);
    let run = &printed["runs"][0];
    let has = |name: &str, note: &str| {
        let notes = flow(run, name)["notes"].as_array().expect("notes");
        notes.iter().any(|known| known == note)
    };
    assert!(has("late", "never-started") && has("endless", "not-finished"));
    assert!(has("small-window", "receiver-limited"), "{}", flow(run, "small-window"));
    assert!(has("talk", "application-limited"), "{}", flow(run, "talk"));
    assert!(
        flow(run, "transfer")["notes"].as_array().expect("notes").is_empty(),
        "{}",
        flow(run, "transfer")
    );
    for words in ["never started", "not finished", "receiver-limited", "application-limited"] {
        assert!(table.contains(words), "{words}: {table}");
    }
    assert_eq!(flow(run, "endless")["negotiated_level"], "0");
    assert!(flow(run, "transfer")["negotiated_level"].is_null());
    // A row for each subflow.
    assert!(table.contains("endless subflow 0") && table.contains("endless subflow 1"), "{table}");
}

#[test]
fn goodput_counts_the_time_in_which_a_flow_was_active() {
    let (printed, table) = results(EVERYTHING, &["--seeds", "1"]);
    let transfer = flow(&printed["runs"][0], "transfer");
    let number = |key: &str| transfer[key].as_f64().expect("a number");
    // The flow starts after the warm-up and ends before the run: all its bytes count, over the time from its first to its last.
    let (active, from) = (number("active_s"), number("active_from_s"));
    assert!((2.0..2.2).contains(&from), "{from}");
    assert!((from + active - 2.0 - number("completion_s")).abs() < 1e-9);
    assert!((number("goodput_payload_bps") - 500e3 * 8.0 / active).abs() < 1.0);
    assert!((number("goodput_payload_run_bps") - 500e3 * 8.0 / 19.0).abs() < 1.0);
    assert!(table.contains("in the whole run"), "{table}");
    // One that goes on to the end is active to the end.
    let endless = flow(&printed["runs"][0], "endless");
    assert_eq!((endless["active_from_s"].as_f64(), endless["active_s"].as_f64()), (Some(1.0), Some(19.0)));
    assert_eq!(endless["goodput_payload_bps"], endless["goodput_payload_run_bps"]);
}

#[test]
fn what_does_not_depend_on_the_seed_is_marked() {
    let text = EVERYTHING.replace("loss = { kind = \"bernoulli\", p = 0.005 }\n", "");
    let (printed, table) = results(&text, &["--seeds", "1..3"]);
    assert_eq!(flow(&printed["over_seeds"], "transfer")["same_for_every_seed"], true);
    assert!(table.contains("same for every seed"), "{table}");
    let (_, one) = results(&text, &["--seeds", "1"]);
    assert!(!one.contains("same for every seed"), "one run says nothing");
}

#[test]
fn a_flow_that_fails_says_why_in_words() {
    let text = EVERYTHING.replace(
        "loss = { kind = \"bernoulli\", p = 0.005 }",
        "pattern = { kind = \"loss\", driven = \"time\", at = [\"3000-1000000\"] }",
    );
    let (printed, table) = results(&text, &["--set", "duration=400 s"]);
    let endless = flow(&printed["runs"][0], "endless");
    let why = endless["failed"].as_str().expect("it failed");
    assert!(why.starts_with("the peer did not answer: ") && !why.contains('{'), "{why}");
    assert!(endless["notes"].as_array().expect("notes").iter().any(|note| note == "failed"));
    assert!(table.contains("flow endless failed: the peer did not answer"), "{table}");
}

#[test]
fn a_window_that_grows_fills_a_satellite_link() {
    let text = r#"
duration = "60 s"
warmup = "20 s"
[[link]]
name = "sat"
from = "a"
to = "b"
rate = "20 Mbit/s"
delay = "270 ms"
queue = { kind = "droptail", packets = 900 }
both = true
[[flow]]
name = "tcp"
from = "a"
to = "b"
protocol = "tcp"
engine = "linux-6.1"
traffic = { kind = "greedy" }
"#;
    let goodput =
        |value: &Value| flow(&value["runs"][0], "tcp")["goodput_payload_bps"].as_f64().expect("a rate");
    let (grows, _) = results(text, &[]);
    assert!(goodput(&grows) > 17e6, "{}", goodput(&grows));
    assert_eq!(flow(&grows["runs"][0], "tcp")["notes"], serde_json::json!([]));
    // 128 KiB in a round trip, as it was; now it is said.
    let (fixed, _) = results(text, &["--set", "flow.tcp.options.receive_buffer_limit=0"]);
    assert!((1.8e6..2.1e6).contains(&goodput(&fixed)), "{}", goodput(&fixed));
    assert_eq!(flow(&fixed["runs"][0], "tcp")["notes"], serde_json::json!(["receiver-limited"]));
}
