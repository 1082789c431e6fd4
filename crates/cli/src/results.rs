//! The results of all seeds together, for JSON. `docs/reference/results.md` has every key.

use anabranch_sim::{FlowSummary, Summary};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::statistics::mean;

/// The object that `--json` prints and `summary.json` holds.
#[derive(Serialize)]
pub(crate) struct Printed<'r> {
    /// Version of the keys, as that of each run.
    schema: u32,
    /// The scenario file.
    scenario: String,
    /// Version of this program.
    version: &'static str,
    /// One for each seed, in the order of the scenario.
    runs: &'r [&'r Summary],
    /// The runs together.
    over_seeds: Value,
}

impl<'r> Printed<'r> {
    pub(crate) fn new(scenario: String, runs: &'r [&'r Summary]) -> Self {
        Self {
            schema: Summary::SCHEMA,
            scenario,
            version: env!("CARGO_PKG_VERSION"),
            runs,
            over_seeds: over_seeds(runs),
        }
    }
}

/// Whether a flow did the same in several runs: nothing about it was left to chance.
pub(crate) fn same_for_every_seed(runs: &[&FlowSummary]) -> bool {
    // Compares the values seen by the network and the applications only: the jitter of heartbeats shows in the
    // snapshots.
    let seen = |run: &FlowSummary| FlowSummary { association: None, ..run.clone() };
    runs.len() > 1 && runs.windows(2).all(|pair| matches!(pair, [a, b] if seen(a) == seen(b)))
}

/// A summary whose numbers are means with intervals.
fn over_seeds(runs: &[&Summary]) -> Value {
    let values: Vec<Value> = runs.iter().filter_map(|run| serde_json::to_value(run).ok()).collect();
    let mut together = merge("", &values.iter().collect::<Vec<_>>());
    if let Value::Object(object) = &mut together {
        for key in ["seed", "schema"] {
            object.remove(key);
        }
        object.insert("runs".to_owned(), json!(runs.len()));
        if let Some(Value::Array(flows)) = object.get_mut("flows") {
            for (at, flow) in flows.iter_mut().enumerate() {
                let of_runs: Vec<&FlowSummary> = runs.iter().filter_map(|run| run.flows.get(at)).collect();
                if let Value::Object(flow) = flow {
                    flow.insert("same_for_every_seed".to_owned(), json!(same_for_every_seed(&of_runs)));
                }
            }
        }
    }
    together
}

/// Keys whose numbers are names, not measures.
const NAMES: [&str; 7] = ["index", "dscp", "object", "stream", "duration_s", "warmup_s", "flows"];

/// The values of all runs under one key.
fn merge(key: &str, values: &[&Value]) -> Value {
    let known: Vec<&Value> = values.iter().copied().filter(|value| !value.is_null()).collect();
    let Some(first) = known.first() else { return Value::Null };
    match first {
        Value::Object(object) => {
            let merged = object.keys().map(|key| {
                let of_runs: Vec<&Value> = known.iter().filter_map(|value| value.get(key)).collect();
                (key.clone(), merge(key, &of_runs))
            });
            Value::Object(merged.collect())
        }
        Value::Array(_) if key == "notes" => notes(&known),
        Value::Array(items) => {
            let merged = (0..items.len()).map(|at| {
                let of_runs: Vec<&Value> = known.iter().filter_map(|value| value.get(at)).collect();
                merge("", &of_runs)
            });
            Value::Array(merged.collect())
        }
        Value::Number(_) if !NAMES.contains(&key) => {
            let numbers: Vec<f64> = known.iter().filter_map(|value| value.as_f64()).collect();
            mean(numbers.iter().copied()).map_or(
                Value::Null,
                |mean| json!({ "mean": mean.mean, "half_width_95": mean.half_width, "runs": numbers.len() }),
            )
        }
        // Words: those of the first run, if all say the same.
        _ if known.iter().all(|value| value == first) && known.len() == values.len() => (*first).clone(),
        _ => Value::Null,
    }
}

/// In how many runs each note was made.
fn notes(lists: &[&Value]) -> Value {
    let mut counted = Map::new();
    for note in lists.iter().filter_map(|list| list.as_array()).flatten().filter_map(Value::as_str) {
        let count = counted.get(note).and_then(Value::as_u64).unwrap_or(0);
        counted.insert(note.to_owned(), json!(count + 1));
    }
    Value::Object(counted)
}
