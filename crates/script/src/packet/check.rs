//! Checks before a script runs that all its names exist.

use super::flags;
use super::shapes::{Family, Shape, Tail};
use crate::value::Value;

/// A sentence about the first thing in a chunk that does not exist.
pub(crate) fn chunk(node: &Value) -> Result<(), String> {
    one(Family::Chunk, node)
}

fn one(family: Family, node: &Value) -> Result<(), String> {
    let (name, fields) = match node {
        Value::Node(name, fields) => (name, fields),
        Value::Any => return Ok(()),
        other => return Err(format!("expected a {}, found {other}", family.word())),
    };
    let shape = family.by_name(name);
    if shape.is_none() && name != family.generic() {
        let mut names: Vec<&str> = family.shapes().iter().map(|shape| shape.name).collect();
        names.push(family.generic());
        return Err(format!("unknown {} `{name}`; allowed: {}", family.word(), names.join(", ")));
    }
    let keys = match shape {
        Some(shape) => shape.keys(family),
        None if family == Family::Chunk => vec!["type", "flgs", "len", "val"],
        None => vec![family.code_key(), "len", family.value_key()],
    };
    for field in fields {
        match &field.key {
            Some(key) if !keys.contains(&key.as_str()) => {
                return Err(format!("{name} has no field `{key}`; allowed: {}", keys.join(", ")));
            }
            Some(key) if key == "flgs" => {
                flags::number(name, &field.value)?;
            }
            Some(key) => keyed(shape, name, key, &field.value)?,
            None => child(shape, name, &field.value)?,
        }
    }
    Ok(())
}

fn keyed(shape: Option<&Shape>, name: &str, key: &str, value: &Value) -> Result<(), String> {
    match shape.map(|shape| shape.tail) {
        Some(Tail::ParamList(_)) if key != "len" => match value {
            Value::List(items) => items.iter().try_for_each(|item| one(Family::Param, item)),
            Value::Any => Ok(()),
            item => one(Family::Param, item),
        },
        Some(Tail::Chunk(_)) if key != "len" && matches!(value, Value::Node(..)) => one(Family::Chunk, value),
        _ => {
            let is_number =
                shape.is_some_and(|shape| shape.fixed.iter().any(|fixed| fixed.key == key)) || key == "len";
            if is_number && !value.is_any() && value.number().is_none() {
                return Err(format!("{name}: `{key}` must be a number or ..., found {value}"));
            }
            Ok(())
        }
    }
}

fn child(shape: Option<&Shape>, name: &str, value: &Value) -> Result<(), String> {
    if value.is_any() {
        return Ok(());
    }
    match shape.map(|shape| shape.tail) {
        Some(Tail::Params) => one(Family::Param, value),
        Some(Tail::Causes) => one(Family::Cause, value),
        _ => Err(format!("{name} holds no {value}: every field has a key")),
    }
}
