//! The tree of a scenario file as TOML.

use std::fmt::Write;

use super::tree::{Entry, Node, Table, Value};

/// Keys whose table has a header of its own below its flow: they are long.
const LONG: [&str; 2] = ["options", "receiver"];

/// The whole document: plain keys first, then `[table]` and `[[table]]`.
pub(super) fn document(root: &Table) -> String {
    let mut text = String::new();
    let has_header = |entry: &&Entry| match &entry.node.value {
        Value::Table(_) => true,
        Value::Array(items) => tables(items).is_some(),
        _ => false,
    };
    for entry in root.entries.iter().filter(|entry| !has_header(entry)) {
        line(&mut text, entry);
    }
    for entry in root.entries.iter().filter(has_header) {
        match &entry.node.value {
            Value::Table(table) => {
                let _ = writeln!(text, "\n[{}]", key(&entry.key));
                body(&mut text, &key(&entry.key), table);
            }
            Value::Array(items) => {
                for table in tables(items).into_iter().flatten() {
                    let _ = writeln!(text, "\n[[{}]]", key(&entry.key));
                    body(&mut text, &key(&entry.key), table);
                }
            }
            _ => {}
        }
    }
    text
}

/// The tables of a list that has nothing else in it.
fn tables(items: &[Node]) -> Option<Vec<&Table>> {
    let tables = items.iter().map(|node| match &node.value {
        Value::Table(table) => Some(table),
        _ => None,
    });
    if items.is_empty() { None } else { tables.collect() }
}

fn body(text: &mut String, path: &str, table: &Table) {
    let is_long =
        |entry: &&Entry| LONG.contains(&entry.key.as_str()) && matches!(entry.node.value, Value::Table(_));
    for entry in table.entries.iter().filter(|entry| !is_long(entry)) {
        line(text, entry);
    }
    for entry in table.entries.iter().filter(is_long) {
        if let Value::Table(inner) = &entry.node.value {
            let path = format!("{path}.{}", key(&entry.key));
            let _ = writeln!(text, "\n[{path}]");
            body(text, &path, inner);
        }
    }
}

fn line(text: &mut String, entry: &Entry) {
    let _ = writeln!(text, "{} = {}", key(&entry.key), value(&entry.node.value));
}

fn key(name: &str) -> String {
    let bare = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if bare { name.to_owned() } else { quoted(name) }
}

fn value(value_of: &Value) -> String {
    match value_of {
        Value::Text(text) => quoted(text),
        Value::Integer(number) => number.to_string(),
        // With a point or an exponent, so that it stays a float.
        Value::Float(number) => format!("{number:?}"),
        Value::Boolean(truth) => truth.to_string(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(|node| value(&node.value)).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Table(table) if table.entries.is_empty() => "{}".to_owned(),
        Value::Table(table) => {
            let pairs: Vec<String> = table
                .entries
                .iter()
                .map(|entry| format!("{} = {}", key(&entry.key), value(&entry.node.value)))
                .collect();
            format!("{{ {} }}", pairs.join(", "))
        }
        // The reader takes neither dates nor larger integers.
        Value::Other(what) => quoted(what),
    }
}

/// A basic string of TOML.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
