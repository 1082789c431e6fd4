//! `pattern` of a link: in a file of its own, as text, or written out as a table.

use std::fmt::Write as _;

use anabranch_link::Pattern;
use anabranch_link::pattern::Kind;

use super::applies::{self, Applies};
use super::error::{Problem, quote};
use super::keys::{Field, Keys};
use super::tree::{Table, Value};

/// A pattern and the packets that it counts and acts on.
#[derive(Clone, Debug, PartialEq)]
pub struct PatternUse {
    /// The changes, position by position.
    pub pattern: Pattern,
    /// The packets that count.
    pub applies: Applies,
    /// Only the packets of this flow (its place in `flows`), in the direction of the link. `None`: all.
    pub flow: Option<usize>,
}

/// Reads the text of a file that a scenario names; one sentence when that fails.
pub type ReadFile<'f> = &'f dyn Fn(&str) -> Result<String, String>;

/// Puts the text of every pattern file where its name stands.
pub(super) fn inline(root: &mut Table, read: ReadFile<'_>) -> Result<(), Problem> {
    let links = root.entries.iter_mut().filter(|entry| entry.key == "link");
    for link in links.flat_map(|entry| tables(&mut entry.node.value)) {
        inline_link(link, read)?;
        for back in link.entries.iter_mut().filter(|entry| entry.key == "back") {
            if let Value::Table(back) = &mut back.node.value {
                inline_link(back, read)?;
            }
        }
    }
    Ok(())
}

fn inline_link(link: &mut Table, read: ReadFile<'_>) -> Result<(), Problem> {
    let patterns = link.entries.iter_mut().filter(|entry| entry.key == "pattern");
    for table in patterns.flat_map(|entry| tables(&mut entry.node.value)) {
        for entry in table.entries.iter_mut().filter(|entry| entry.key == "file") {
            if let Value::Text(name) = &entry.node.value {
                let text = read(name).map_err(|error| {
                    Problem::new(&entry.node.place, format!("pattern file {}: {error}", quote(name)))
                })?;
                entry.node.value = Value::Text(text);
            }
        }
    }
    Ok(())
}

fn tables(value: &mut Value) -> Vec<&mut Table> {
    match value {
        Value::Table(table) => vec![table],
        Value::Array(items) => items
            .iter_mut()
            .filter_map(|node| match &mut node.value {
                Value::Table(table) => Some(table),
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    }
}

const WRITTEN: [&str; 7] = ["kind", "driven", "length", "repeat", "hold", "at", "text"];

/// A pattern, and the name of the flow that it counts: the number of the flow is not known yet.
type Named<'t> = (PatternUse, Option<Field<'t>>);

/// One pattern, or a list of them.
pub(super) fn read<'t>(field: &Field<'t>) -> Result<Vec<Named<'t>>, Problem> {
    const WHAT: &str = "a table such as { kind = \"loss\", at = [\"3\", \"5-7\"] }, or a list of them";
    match &field.node.value {
        Value::Array(_) => field.items(WHAT)?.map(|item| one(&item)).collect(),
        _ => one(field).map(|pattern| vec![pattern]),
    }
}

fn one<'t>(field: &Field<'t>) -> Result<Named<'t>, Problem> {
    let table = field.table("a table such as { kind = \"loss\", at = [\"3\", \"5-7\"] }")?;
    let mut allowed = vec!["file"];
    allowed.extend(WRITTEN);
    allowed.extend(["applies", "flow"]);
    let keys = Keys::of(table, "a pattern", &allowed)?;
    let whole = [keys.optional("file"), keys.optional("text")];
    let text = match whole {
        [Some(_), Some(second)] => return Err(second.problem("a pattern has a file or a text, not both")),
        [Some(given), None] | [None, Some(given)] => {
            for key in WRITTEN.into_iter().filter(|key| *key != "text") {
                if let Some(extra) = keys.optional(key) {
                    return Err(
                        extra.problem("stands in the pattern's own text; allowed beside it: applies, flow")
                    );
                }
            }
            given.text()?.to_owned()
        }
        [None, None] => written(&keys)?,
    };
    let pattern: Pattern = text.parse().map_err(|error| field.problem(format!("{error}")))?;
    let flow = keys.optional("flow");
    let applies = applies::read(&keys)?;
    flow.map(|field| field.name()).transpose()?;
    Ok((PatternUse { pattern, applies, flow: None }, flow))
}

/// The text of a pattern whose parts are keys.
fn written(keys: &Keys<'_>) -> Result<String, Problem> {
    let kinds = Kind::ALL.map(|kind| (kind.name(), kind.name()));
    let mut text = String::from("anabranch-pattern 1\n");
    let kind = keys.required("kind", "\"loss\"")?.choice("kind of pattern", &kinds)?;
    let _ = writeln!(text, "kind {kind}");
    if let Some(field) = keys.optional("driven") {
        let driven = field.choice("drive", &[("data", "data"), ("time", "time")])?;
        let _ = writeln!(text, "driven {driven}");
    }
    if let Some(field) = keys.optional("length") {
        let _ = writeln!(text, "length {}", field.integer(1, i64::MAX.unsigned_abs())?);
    }
    if let Some(field) = keys.optional("repeat") {
        text.push_str(if field.boolean()? { "repeat\n" } else { "" });
    }
    if let Some(field) = keys.optional("hold") {
        let _ = writeln!(text, "hold {}", one_line(&field)?);
    }
    let what = "a list of lines such as [\"3\", \"5-7\"] or [\"9: 20 ms\"]";
    for item in keys.required("at", "[\"3\", \"5-7\"]")?.items(what)? {
        match &item.node.value {
            Value::Integer(number) => {
                let _ = writeln!(text, "{number}");
            }
            _ => {
                let _ = writeln!(text, "{}", one_line(&item)?);
            }
        }
    }
    Ok(text)
}

fn one_line<'t>(field: &Field<'t>) -> Result<&'t str, Problem> {
    let text = field.text()?;
    if text.contains(['\n', '#']) {
        return Err(field.problem("one line, without a comment"));
    }
    Ok(text)
}
