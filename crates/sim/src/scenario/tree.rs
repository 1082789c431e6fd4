//! A scenario file as a tree in which every key and value knows its place, and the values that are set from outside.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{Place, Problem, escape, hint, list, one_line, quote};

/// A value with its place.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) place: Place,
    pub(super) value: Value,
}

/// A value of TOML, of the types that a scenario uses.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Text(String),
    Integer(i64),
    Float(f64),
    Boolean(bool),
    Array(Vec<Node>),
    Table(Table),
    /// A date, or an integer beyond 64 bits.
    Other(&'static str),
}

/// Keys in the order of the file.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub(super) place: Place,
    pub(super) entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) place: Place,
    pub(super) node: Node,
}

impl Value {
    /// As an error names it.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Integer(_) => "an integer",
            Self::Float(_) => "a number",
            Self::Boolean(_) => "true or false",
            Self::Array(_) => "a list",
            Self::Table(_) => "a table",
            Self::Other(kind) => kind,
        }
    }
}

impl Table {
    pub(super) fn get(&self, key: &str) -> Option<&Node> {
        self.entries.iter().find(|entry| entry.key == key).map(|entry| &entry.node)
    }

    pub(super) fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        self.entries.iter_mut().find(|entry| entry.key == key).map(|entry| &mut entry.node)
    }
}

/// Reads the text of a scenario file.
pub(super) fn parse(text: &str) -> Result<Table, Problem> {
    let places = Places::new(text);
    match DeTable::parse(text) {
        Ok(document) => Ok(places.table(document.get_ref(), Place::File { line: 1, column: 1 })),
        Err(error) => {
            let at = error.span().map_or(0, |span| span.start);
            let message = error.message().lines().collect::<Vec<_>>().join(", ");
            Err(Problem::new(&places.at(at), format!("not TOML: {}", one_line(&message))))
        }
    }
}

/// From byte offsets to lines and columns.
struct Places<'t> {
    text: &'t str,
    lines: Vec<usize>,
}

impl<'t> Places<'t> {
    fn new(text: &'t str) -> Self {
        let lines = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { text, lines }
    }

    fn at(&self, offset: usize) -> Place {
        let line = self.lines.partition_point(|&start| start <= offset);
        let start = line.checked_sub(1).and_then(|index| self.lines.get(index)).copied().unwrap_or(0);
        let column = self.text.get(start..offset).map_or(0, |before| before.chars().count()) + 1;
        Place::File { line: line.max(1), column }
    }

    fn table(&self, table: &DeTable<'_>, place: Place) -> Table {
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        let entries = entries
            .into_iter()
            .map(|(key, value)| Entry {
                key: key.get_ref().to_string(),
                place: self.at(key.span().start),
                node: self.node(value),
            })
            .collect();
        Table { place, entries }
    }

    fn node(&self, value: &Spanned<DeValue<'_>>) -> Node {
        let place = self.at(value.span().start);
        let value = convert(value.get_ref(), &mut |inner| self.node(inner), &mut |inner| {
            self.table(inner, place.clone())
        });
        Node { place, value }
    }
}

/// One level of TOML; `node` and `table` go deeper. The parser bounds the depth.
fn convert(
    value: &DeValue<'_>,
    node: &mut dyn FnMut(&Spanned<DeValue<'_>>) -> Node,
    table: &mut dyn FnMut(&DeTable<'_>) -> Table,
) -> Value {
    match value {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => Value::Integer(number),
            Err(_) => Value::Other("an integer beyond 64 bits"),
        },
        DeValue::Float(number) => match number.as_str().parse() {
            Ok(number) => Value::Float(number),
            Err(_) => Value::Other("an odd number"),
        },
        DeValue::Boolean(truth) => Value::Boolean(*truth),
        DeValue::Datetime(_) => Value::Other("a date"),
        DeValue::Array(items) => Value::Array(items.iter().map(node).collect()),
        DeValue::Table(inner) => Value::Table(table(inner)),
    }
}

/// The value of an override: TOML if it is TOML, else text. So `3 Mbit/s` and `rfc9260` need no quotes.
fn outside(text: &str, place: &Place) -> Node {
    let value = match DeValue::parse(text.trim()) {
        Ok(value) => outside_node(&value, place).value,
        Err(_) => Value::Text(text.trim().to_owned()),
    };
    let value = if matches!(value, Value::Other(_)) { Value::Text(text.trim().to_owned()) } else { value };
    Node { place: place.clone(), value }
}

fn outside_node(value: &Spanned<DeValue<'_>>, place: &Place) -> Node {
    let value = convert(value.get_ref(), &mut |inner| outside_node(inner, place), &mut |inner| Table {
        place: place.clone(),
        entries: inner
            .iter()
            .map(|(key, value)| Entry {
                key: key.get_ref().to_string(),
                place: place.clone(),
                node: outside_node(value, place),
            })
            .collect(),
    });
    Node { place: place.clone(), value }
}

/// The lists whose elements have names; a path reaches an element as `link.NAME`, several as `link.access-*`.
const NAMED: [&str; 3] = ["host", "link", "flow"];

/// Sets the value at a path such as `duration`, `link.bottleneck.rate` or `flow.*.options.sack_delay`, over that of the
/// file. The reader of the tree checks that the key exists.
pub(super) fn set(root: &mut Table, path: &str, text: &str) -> Result<(), Problem> {
    let place = Place::Override(path.to_owned());
    let steps: Vec<&str> = path.split('.').map(str::trim).collect();
    if steps.len() > 16 || steps.iter().any(|step| step.is_empty()) {
        return Err(Problem::new(
            &place,
            "not a path; write KEY, TABLE.KEY, or link.NAME.KEY (also host, flow)",
        ));
    }
    let node = outside(text, &place);
    match steps.as_slice() {
        [kind, rest @ ..] if NAMED.contains(kind) => {
            let [name, keys @ ..] = rest else {
                return Err(Problem::new(&place, format!("which {kind}? write {kind}.NAME.KEY=VALUE")));
            };
            if keys.is_empty() {
                return Err(Problem::new(&place, format!("which key? write {kind}.{name}.KEY=VALUE")));
            }
            let elements = match root.get_mut(kind).map(|node| &mut node.value) {
                Some(Value::Array(elements)) => elements.as_mut_slice(),
                _ => &mut [],
            };
            let mut found = false;
            let mut names = Vec::new();
            for element in elements {
                let Value::Table(table) = &mut element.value else { continue };
                let called = match table.get("name").map(|node| &node.value) {
                    Some(Value::Text(text)) => text.clone(),
                    _ => continue,
                };
                if matches(name, &called) {
                    found = true;
                    set_in(table, keys, &node, &place)?;
                }
                names.push(called);
            }
            if found {
                return Ok(());
            }
            let names = || names.iter().map(String::as_str);
            let all = if names().next().is_none() {
                "there is none".to_owned()
            } else {
                format!("there are: {}", list(names()))
            };
            Err(Problem::new(
                &place,
                format!("no {kind} is called {}{}; {all}", quote(name), hint(name, names())),
            ))
        }
        keys => set_in(root, keys, &node, &place),
    }
}

/// Whether a name fits a pattern in which one `*` stands for anything.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((before, after)) => {
            name.strip_prefix(before).is_some_and(|rest| rest.len() >= after.len() && rest.ends_with(after))
        }
    }
}

fn set_in(table: &mut Table, keys: &[&str], node: &Node, place: &Place) -> Result<(), Problem> {
    let [key, rest @ ..] = keys else { return Ok(()) };
    if table.get(key).is_none() || rest.is_empty() {
        let fresh = if rest.is_empty() {
            node.clone()
        } else {
            Node {
                place: place.clone(),
                value: Value::Table(Table { place: place.clone(), entries: Vec::new() }),
            }
        };
        match table.entries.iter_mut().find(|entry| entry.key == **key) {
            Some(entry) => {
                entry.place = place.clone();
                entry.node = fresh;
            }
            None => table.entries.push(Entry { key: (*key).to_owned(), place: place.clone(), node: fresh }),
        }
    }
    if rest.is_empty() {
        return Ok(());
    }
    match table.get_mut(key).map(|node| &mut node.value) {
        Some(Value::Table(inner)) => set_in(inner, rest, node, place),
        Some(Value::Array(elements)) => set_in_list(elements, key, rest, node, place),
        Some(other) => Err(Problem::new(
            place,
            format!(
                "{} is {}, not a table; it has no key {}",
                escape(key),
                other.kind(),
                quote(&rest.join("."))
            ),
        )),
        None => Ok(()),
    }
}

/// Sets a value in a list of tables: the next step is the name of one of them, or its place from 1 when it has none.
fn set_in_list(
    elements: &mut [Node],
    list_key: &str,
    keys: &[&str],
    node: &Node,
    place: &Place,
) -> Result<(), Problem> {
    let [name, rest @ ..] = keys else { return Ok(()) };
    let mut names = Vec::new();
    let mut found = false;
    for (index, element) in elements.iter_mut().enumerate() {
        let Value::Table(table) = &mut element.value else { continue };
        let called = match table.get("name").map(|node| &node.value) {
            Some(Value::Text(text)) => text.clone(),
            _ => (index + 1).to_string(),
        };
        if matches(name, &called) && !rest.is_empty() {
            found = true;
            set_in(table, rest, node, place)?;
        }
        names.push(called);
    }
    if found {
        return Ok(());
    }
    let names = || names.iter().map(String::as_str);
    let message = if names().next().is_none() {
        format!("{} is a list, not a table; it has no key {}", escape(list_key), quote(&keys.join(".")))
    } else {
        format!(
            "which value in {}? write {}.NAME.KEY=VALUE; there are: {}",
            escape(list_key),
            escape(list_key),
            list(names())
        )
    };
    Err(Problem::new(place, message))
}
