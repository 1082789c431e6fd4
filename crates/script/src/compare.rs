//! Comparison of expected with actual values, field by field.

use crate::packet::flags;
use crate::value::{Field, Value};

/// One field that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The path to the field: `INIT.tag`, `result`.
    pub field: String,
    /// The value that the script expects, as text.
    pub expected: String,
    /// The actual value, as text.
    pub came: String,
}

impl Difference {
    pub(crate) fn new(
        field: impl Into<String>,
        expected: &(impl ToString + ?Sized),
        came: &(impl ToString + ?Sized),
    ) -> Self {
        Self { field: field.into(), expected: expected.to_string(), came: came.to_string() }
    }
}

/// Every difference between a value of the script and the received one.
pub(crate) fn differences(field: &str, expected: &Value, came: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    value(field, expected, came, &mut found);
    found
}

fn value(field: &str, expected: &Value, came: &Value, found: &mut Vec<Difference>) {
    match (expected, came) {
        // A value that the stack does not tell matches anything, too.
        (Value::Any, _) | (_, Value::Any) => {}
        (Value::Node(name, wanted), Value::Node(other, there)) => {
            if name == other {
                node(field, name, wanted, there, found);
            } else {
                found.push(Difference::new(field, &expected, &came));
            }
        }
        (Value::Record(wanted), Value::Record(there)) => record(field, wanted, there, found),
        // One parameter may stand without the brackets of a list.
        (Value::Node(..), Value::List(items)) if items.len() == 1 => value(field, expected, &items[0], found),
        // A place that a call writes a record to may be written `[{...}]`.
        (Value::List(items), Value::Record(_)) if items.len() == 1 => value(field, &items[0], came, found),
        (Value::List(wanted), Value::List(there)) => sequence(field, wanted, there, found),
        (Value::Range(..), _) if expected == came => {}
        _ => {
            let numbers = expected.number().zip(came.number());
            let bytes = expected.bytes().zip(came.bytes());
            let text = shown_text(expected).zip(shown_text(came));
            let same = match (numbers, bytes, text) {
                (Some((a, b)), _, _) => a == b,
                (_, Some((a, b)), _) => a == b,
                (_, _, Some((a, b))) => a == b,
                _ => expected == came,
            };
            if !same {
                found.push(Difference::new(field, &expected, &came));
            }
        }
    }
}

/// The text in `"x"` or `inet_addr("x")`.
fn shown_text(value: &Value) -> Option<&str> {
    match value {
        Value::Text(text) => Some(text),
        Value::Call(_, args) => args.last().and_then(shown_text),
        _ => None,
    }
}

fn node(path: &str, name: &str, wanted: &[Field], there: &[Field], found: &mut Vec<Difference>) {
    let bare = |fields: &[Field]| -> Vec<Value> {
        fields.iter().filter(|field| field.key.is_none()).map(|field| field.value.clone()).collect()
    };
    for field in wanted {
        let Some(key) = &field.key else { continue };
        let at = format!("{path}.{key}");
        let came = there.iter().find(|other| other.key.as_deref() == Some(key)).map(|other| &other.value);
        match came {
            _ if field.value.is_any() => {}
            None => found.push(Difference::new(at, &field.value, "nothing")),
            Some(came) if key == "flgs" => {
                let expected = flags::number(name, &field.value).ok().flatten();
                let came = came.number().unwrap_or(0) as u8;
                if expected != Some(came) {
                    let expected = flags::shown(name, expected.unwrap_or(0));
                    found.push(Difference::new(at, &expected, &flags::shown(name, came)));
                }
            }
            // RFC 5061 gives no order to the listed types.
            Some(Value::List(came)) if name == "SUPPORTED_EXTENSIONS" && key == "types" => {
                types(&at, &field.value, came, found);
            }
            Some(came) => value(&at, &field.value, came, found),
        }
    }
    let (wanted, mut there) = (bare(wanted), bare(there));
    // RFC 9260 gives the parameters of INIT and INIT ACK no order.
    if matches!(name, "INIT" | "INIT_ACK") {
        there = in_order_of(&wanted, there);
    }
    sequence(path, &wanted, &there, found);
}

/// Numbers of which each list has its own order.
fn types(at: &str, expected: &Value, came: &[Value], found: &mut Vec<Difference>) {
    let Value::List(wanted) = expected else {
        return value(at, expected, &Value::List(came.to_vec()), found);
    };
    let mut rest = came.to_vec();
    let mut arranged = Vec::new();
    for number in wanted.iter().filter_map(Value::number) {
        if let Some(index) = rest.iter().position(|other| other.number() == Some(number)) {
            arranged.push(rest.remove(index));
        }
    }
    arranged.extend(rest);
    sequence(at, wanted, &arranged, found);
}

/// Parameters, those that the script names first, in its order; those of one name stay in theirs.
fn in_order_of(wanted: &[Value], mut there: Vec<Value>) -> Vec<Value> {
    let mut arranged = Vec::new();
    for expected in wanted {
        let Value::Node(name, _) = expected else { continue };
        let of_that_name = |came: &Value| matches!(came, Value::Node(other, _) if other == name);
        if let Some(at) = there.iter().position(of_that_name) {
            arranged.push(there.remove(at));
        }
    }
    arranged.extend(there);
    arranged
}

/// Records by key; without keys, by place.
fn record(path: &str, wanted: &[Field], there: &[Field], found: &mut Vec<Difference>) {
    for (index, field) in wanted.iter().enumerate() {
        // Ids of associations are the system's own.
        if field.value.is_any() || field.key.as_deref().is_some_and(|key| key.ends_with("assoc_id")) {
            continue;
        }
        let (at, came) = match &field.key {
            Some(key) => (
                format!("{path}.{key}"),
                there.iter().find(|other| other.key.as_deref() == Some(key)).map(|other| &other.value),
            ),
            None => (format!("{path}[{index}]"), there.get(index).map(|other| &other.value)),
        };
        match came {
            Some(came) => value(&at, &field.value, came, found),
            None => found.push(Difference::new(at, &field.value, "nothing")),
        }
    }
}

/// One after the other; `...` at the end stands for any further ones.
fn sequence(path: &str, wanted: &[Value], there: &[Value], found: &mut Vec<Difference>) {
    let open = wanted.last().is_some_and(Value::is_any);
    let wanted = if open { wanted.get(..wanted.len() - 1).unwrap_or_default() } else { wanted };
    for (index, expected) in wanted.iter().enumerate() {
        let at = match expected {
            Value::Node(name, _) => format!("{path}.{name}"),
            _ => format!("{path}[{index}]"),
        };
        match there.get(index) {
            Some(came) => value(&at, expected, came, found),
            None => found.push(Difference::new(at, &expected, "nothing")),
        }
    }
    if !open {
        for (index, came) in there.iter().enumerate().skip(wanted.len()) {
            found.push(Difference::new(format!("{path}[{index}]"), "nothing", &came));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::{Action, Body, parse};

    fn chunk(text: &str) -> Value {
        let script = parse(&format!("0.0 > sctp: {text}"), &[]).unwrap();
        match &script.events[0].action {
            Action::Packet(packet) => match &packet.body {
                Body::Chunks(chunks) => chunks[0].clone(),
                Body::Raw(_) | Body::Icmp(_) => unreachable!(),
            },
            _ => unreachable!(),
        }
    }

    fn told(expected: &str, came: &str) -> Vec<String> {
        let found = differences("x", &chunk(expected), &chunk(came));
        found.into_iter().map(|d| format!("{} {} {}", d.field, d.expected, d.came)).collect()
    }

    #[test]
    fn field_by_field_and_dots_match_anything() {
        assert!(told("INIT[tag=1, tsn=..., ...]", "INIT[tag=1, tsn=7, ECN_CAPABLE[]]").is_empty());
        assert_eq!(told("DATA[flgs=BE, tsn=1]", "DATA[flgs=2, tsn=1]"), ["x.flgs BE B"]);
        assert_eq!(told("INIT[tag=1]", "INIT[tag=1, ECN_CAPABLE[]]"), ["x[0] nothing ECN_CAPABLE[]"]);
        let types = "INIT[SUPPORTED_EXTENSIONS[types=[0x40, 0xc0, 0xc2]]]";
        assert!(told("INIT[SUPPORTED_EXTENSIONS[types=[0xc2, 0x40, 0xc0]]]", types).is_empty());
        assert!(told("INIT[SUPPORTED_EXTENSIONS[types=[0xc2, ...]]]", types).is_empty());
        assert_eq!(told("INIT[SUPPORTED_EXTENSIONS[types=[0xc2, 0xc0]]]", types).len(), 1);
        assert_eq!(told("INIT[SUPPORTED_EXTENSIONS[types=[0xc1, 0xc0, 0xc2]]]", types).len(), 3);
        let sent = "INIT[STATE_COOKIE[], PARAMETER[type=1], PARAMETER[type=2]]";
        assert!(told("INIT[PARAMETER[type=1], PARAMETER[type=2], STATE_COOKIE[]]", sent).is_empty());
        assert_eq!(told("INIT[PARAMETER[type=2], PARAMETER[type=1], STATE_COOKIE[]]", sent).len(), 2);
        assert_eq!(told("INIT[PARAMETER[type=1], STATE_COOKIE[]]", sent).len(), 1);
        assert_eq!(told("INIT[ECN_CAPABLE[], ...]", sent).len(), 1);
        assert_eq!(told("SACK[gaps=[2:3], dups=[]]", "SACK[gaps=[2:4], dups=[9]]").len(), 2);
        assert_eq!(
            told("FORWARD_TSN[ids=[{1, 2}]]", "FORWARD_TSN[ids=[{sid=1, ssn=3}]]"),
            ["x.ids[0][1] 2 3"]
        );
    }
}
