//! A scenario with every default written out, as TOML that reads back to the same scenario.
//!
//! Keys without a default (a limit of a queue, the end of a flow) stay out unless the file gives them.

use anabranch_base::Duration;
use anabranch_link::{AdaptiveRed, CoDelConfig, FqCoDelConfig, RedConfig};
use anabranch_sctp::{Coupling, SubflowSpec};

use super::definition::Scenario;
use super::engine::{Engine, with_every_option};
use super::error::{Place, Problem, ScenarioError};
use super::flow::Flow;
use super::pattern::ReadFile;
use super::protocol::Protocol;
use super::traffic::Traffic;
use super::tree::{Entry, Node, Table, Value};
use super::{file, write};

impl Scenario {
    /// The scenario of a file with every default written out, as TOML: the options of both engines too, and the
    /// contents of pattern files. [`Scenario::from_toml`] reads it back to the same run. The arguments are those of
    /// [`Scenario::from_toml_with`].
    ///
    /// # Errors
    /// As [`Scenario::from_toml`].
    pub fn resolved(
        text: &str,
        origin: &str,
        overrides: &[(String, String)],
        files: ReadFile<'_>,
    ) -> Result<String, ScenarioError> {
        let told = || -> Result<String, Problem> {
            let mut root = file::tree(text, overrides, files)?;
            let scenario = file::scenario(&root)?;
            complete(&mut root, &scenario);
            Ok(write::document(&root))
        };
        told().map_err(|problem| ScenarioError {
            origin: origin.to_owned(),
            place: problem.place,
            message: problem.message,
        })
    }
}

/// Adds a key that is not there.
fn add(table: &mut Table, key: &str, value: Value) {
    if table.get(key).is_none() {
        table.set(key, value);
    }
}

fn word(text: &str) -> Value {
    Value::Text(text.to_owned())
}

fn number(number: impl Into<i64>) -> Value {
    Value::Integer(number.into())
}

fn bytes(bytes: u32) -> Value {
    Value::Text(format!("{bytes} B"))
}

fn time(time: Duration) -> Value {
    Value::Text(format!("{} ns", time.as_nanos()))
}

fn empty() -> Value {
    Value::Array(Vec::new())
}

fn table_of(place: &Place, pairs: Vec<(&str, Value)>) -> Value {
    let mut table = Table { place: place.clone(), entries: Vec::new() };
    for (key, value) in pairs {
        table.set(key, value);
    }
    Value::Table(table)
}

/// The table under a key.
fn inner<'t>(table: &'t mut Table, key: &str) -> Option<&'t mut Table> {
    match table.get_mut(key).map(|node| &mut node.value) {
        Some(Value::Table(table)) => Some(table),
        _ => None,
    }
}

/// The tables under a key: one, or a list of them.
fn each<'t>(table: &'t mut Table, key: &str) -> Vec<&'t mut Table> {
    match table.get_mut(key).map(|node| &mut node.value) {
        Some(Value::Table(table)) => vec![table],
        Some(Value::Array(items)) => items
            .iter_mut()
            .filter_map(|node| match &mut node.value {
                Value::Table(table) => Some(table),
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    }
}

fn text_of(table: &Table, key: &str) -> String {
    match table.get(key).map(|node| &node.value) {
        Some(Value::Text(text)) => text.clone(),
        _ => String::new(),
    }
}

fn complete(root: &mut Table, scenario: &Scenario) {
    add(root, "warmup", word("0 s"));
    add(root, "seeds", number(1));
    add(root, "random", word("common"));
    add(root, "checksums", word("verify"));
    let place = root.place.clone();
    add(root, "record", table_of(&place, Vec::new()));
    if let Some(record) = inner(root, "record") {
        for key in ["trace", "pcap", "packets", "by_flow"] {
            add(record, key, Value::Boolean(false));
        }
        if record.get("sample").is_some() {
            add(record, "sample_from", word("0 s"));
        }
    }
    for table in each(root, "link") {
        add(table, "queue", table_of(&table.place.clone(), vec![("kind", word("droptail"))]));
        add(table, "loss", table_of(&table.place.clone(), vec![("kind", word("none"))]));
        add(table, "loss_at", word("exit"));
        add(table, "mtu", word("1500 B"));
        add(table, "mtu_answer", word("known"));
        add(table, "condition", empty());
        add(table, "pattern", empty());
        add(table, "both", Value::Boolean(false));
        direction(table);
        if let Some(back) = inner(table, "back") {
            direction(back);
        }
    }
    for table in each(root, "flow") {
        let name = text_of(table, "name");
        let flow = scenario.flows.iter().find(|flow| flow.group.as_deref().unwrap_or(&flow.name) == name);
        if let Some(flow) = flow {
            complete_flow(table, flow);
        }
    }
}

/// Adds the defaults of one direction of a link.
fn direction(table: &mut Table) {
    if let Some(queue) = inner(table, "queue") {
        complete_queue(queue);
    }
    if let Some(loss) = inner(table, "loss") {
        let kind = text_of(loss, "kind");
        if kind != "none" {
            add(loss, "applies", word("all"));
        }
        if kind == "gilbert-elliott" {
            add(loss, "good", Value::Float(0.0));
            add(loss, "bad", Value::Float(1.0));
        }
    }
    for condition in each(table, "condition") {
        let kind = text_of(condition, "kind");
        let colours: &[&str] = match kind.as_str() {
            "token-bucket" => &["green", "red"],
            "srtcm" | "trtcm" | "tsw" => &["green", "yellow", "red"],
            _ => &[],
        };
        for colour in colours {
            add(condition, colour, word("pass"));
        }
        match kind.as_str() {
            "srtcm" | "trtcm" => add(condition, "aware", Value::Boolean(false)),
            "tsw" => add(condition, "window", word("1 s")),
            _ => {}
        }
    }
    for pattern in each(table, "pattern") {
        // The file has been read: its text takes the place of its name.
        pattern.rename("file", "text");
        add(pattern, "applies", word("all"));
    }
}

fn complete_queue(queue: &mut Table) {
    let red = RedConfig::default();
    match text_of(queue, "kind").as_str() {
        "red" => {
            add(queue, "max_p", Value::Float(red.max_p));
            add(queue, "weight", word("auto"));
            add(queue, "measure", word("packets"));
            add(queue, "by_size", Value::Boolean(red.by_size));
            add(queue, "mean_packet", bytes(red.mean_packet));
            add(queue, "gentle", Value::Boolean(red.gentle));
            add(queue, "wait", Value::Boolean(red.wait));
            add(queue, "drop", word("tail"));
            add(queue, "ecn", Value::Boolean(red.ecn));
            add(queue, "mark_p", Value::Float(red.mark_p));
            add(queue, "adaptive", Value::Boolean(false));
            add(queue, "target_delay", time(red.target_delay));
            if let Some(Value::Boolean(true)) = queue.get("adaptive").map(|node| &node.value) {
                queue.set("adaptive", table_of(&queue.place.clone(), Vec::new()));
            }
            if let Some(adaptive) = inner(queue, "adaptive") {
                let usual = AdaptiveRed::default();
                add(adaptive, "alpha", Value::Float(usual.alpha));
                add(adaptive, "beta", Value::Float(usual.beta));
                add(adaptive, "interval", time(usual.interval));
                add(adaptive, "top", Value::Float(usual.top));
            }
        }
        "rio-c" | "rio-d" | "wred" => {
            // The value of the DiffServ module.
            add(queue, "weight", Value::Float(0.002));
            add(queue, "mean_packet", bytes(red.mean_packet));
            add(queue, "ecn", Value::Boolean(false));
            add(queue, "quirks", empty());
            for (class, place) in each(queue, "classes").into_iter().zip(1..) {
                add(class, "name", Value::Text(format!("{place}")));
                add(class, "max_p", Value::Float(red.max_p));
            }
        }
        "codel" => controlled_delay(queue, CoDelConfig::default()),
        "fq-codel" => {
            let usual = FqCoDelConfig::default();
            controlled_delay(queue, usual.codel);
            add(queue, "flows", number(usual.flows));
            add(queue, "quantum", bytes(usual.quantum));
            add(queue, "by_dscp", Value::Boolean(usual.by_dscp));
        }
        "classes" => {
            let scheduler = text_of(queue, "scheduler");
            if scheduler == "drr" {
                add(queue, "quantum", word("1500 B"));
            }
            for (class, place) in each(queue, "classes").into_iter().zip(1..) {
                add(class, "name", Value::Text(format!("{place}")));
                if scheduler != "priority" {
                    add(class, "weight", number(1));
                }
                add(class, "queue", table_of(&class.place.clone(), vec![("kind", word("droptail"))]));
                if let Some(queue) = inner(class, "queue") {
                    complete_queue(queue);
                }
            }
        }
        _ => {}
    }
}

fn controlled_delay(queue: &mut Table, usual: CoDelConfig) {
    if let Some(packets) = usual.packets.and_then(|packets| i64::try_from(packets).ok()) {
        add(queue, "packets", number(packets));
    }
    add(queue, "target", time(usual.target));
    add(queue, "interval", time(usual.interval));
    add(queue, "ecn", Value::Boolean(usual.ecn));
}

fn complete_flow(table: &mut Table, flow: &Flow) {
    add(table, "dscp", number(flow.dscp.get()));
    add(table, "start", word("0 s"));
    if flow.protocol.is_transport() {
        if !matches!(flow.traffic, Traffic::Objects(_)) {
            add(table, "opened_by", word("sender"));
        }
        table.set("engine", word(&flow.sender.name));
        options(table, flow.protocol, &flow.sender, flow.coupling);
        if flow.receiver == flow.sender {
            table.remove("receiver");
        } else {
            let mut receiver = Table { place: table.place.clone(), entries: Vec::new() };
            receiver.set("engine", word(&flow.receiver.name));
            options(&mut receiver, flow.protocol, &flow.receiver, Coupling::default());
            table.set("receiver", Value::Table(receiver));
        }
    }
    if flow.protocol == Protocol::Sctp {
        add(table, "subflows", number(1));
        add(table, "coupling", Value::Text(flow.coupling.to_string()));
        add(table, "level", Value::Text(flow.level.to_string()));
        add(table, "scheduler", word("fcfs"));
        add(table, "events", empty());
        add(table, "streams", number(flow.streams));
        add(table, "unordered", Value::Boolean(false));
        if let Some(Value::Array(_)) = table.get("subflows").map(|node| &node.value) {
            let usual = SubflowSpec::new(flow.dscp);
            for subflow in each(table, "subflows") {
                add(subflow, "dscp", number(usual.dscp.get()));
                add(subflow, "weight", number(usual.weight));
                add(subflow, "priority", number(usual.priority));
            }
        }
    }
    if let Some(traffic) = inner(table, "traffic") {
        complete_traffic(traffic, flow);
    }
}

/// Every option of the engine; those of the file first, in their order, as one may bound another.
fn options(table: &mut Table, protocol: Protocol, engine: &Engine, coupling: Coupling) {
    let pairs = with_every_option(protocol, engine, coupling);
    let pairs = pairs.iter().map(|(key, value)| (key.as_str(), word(value))).collect();
    let place = table.place.clone();
    table.set("options", table_of(&place, pairs));
}

fn complete_traffic(traffic: &mut Table, flow: &Flow) {
    match &flow.traffic {
        Traffic::Greedy { message } | Traffic::Transfer { message, .. } => {
            add(traffic, "message", bytes(*message));
        }
        Traffic::Messages(_) => {
            for source in each(traffic, "sources") {
                add(source, "start", word("0 s"));
                if flow.protocol == Protocol::Sctp {
                    add(source, "stream", number(0));
                    add(source, "unordered", Value::Boolean(false));
                }
            }
        }
        Traffic::Objects(connection) => {
            if traffic.get("sizes").is_none() {
                add(traffic, "objects", number(1));
            }
            add(traffic, "connections", number(connection.objects.connections));
            add(traffic, "open", word("sequence"));
            add(traffic, "order", word("round-robin"));
            add(traffic, "closed_by", word("server"));
            if traffic.get("request").is_some() {
                add(traffic, "pipeline", Value::Boolean(false));
            }
            if let Some(open) = inner(traffic, "open") {
                add(open, "gap", word("0 s"));
            }
        }
        Traffic::Packets(_) => {
            add(traffic, "jitter", Value::Float(0.0));
            match flow.protocol {
                Protocol::Square => add(traffic, "phase", word("0 s")),
                Protocol::OnOff if text_of(traffic, "distribution") == "pareto" => {
                    add(traffic, "shape", Value::Float(1.5));
                }
                _ => {}
            }
        }
    }
}

impl Table {
    /// Writes a value under a key, over an earlier one.
    fn set(&mut self, key: &str, value: Value) {
        let node = Node { place: self.place.clone(), value };
        match self.entries.iter_mut().find(|entry| entry.key == key) {
            Some(entry) => entry.node = node,
            None => self.entries.push(Entry { key: key.to_owned(), place: self.place.clone(), node }),
        }
    }

    fn remove(&mut self, key: &str) {
        self.entries.retain(|entry| entry.key != key);
    }

    fn rename(&mut self, from: &str, to: &str) {
        for entry in self.entries.iter_mut().filter(|entry| entry.key == from) {
            to.clone_into(&mut entry.key);
        }
    }
}
