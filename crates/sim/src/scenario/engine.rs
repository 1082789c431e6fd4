//! Which rules a transport follows: a profile and options on top of it.

use std::collections::BTreeMap;

use super::Protocol;
use super::error::{Problem, escape};
use super::keys::{Field, Keys};
use super::tree::{Node, Value};

/// Which rules a transport follows: `Config::named(name)`, then `set(key, value)` for each option, in this order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Engine {
    /// Name of the profile.
    pub name: String,
    /// Options on top of it, as the file writes them, without quotes.
    pub options: BTreeMap<String, String>,
}

/// What one table of the file says about an engine, with places for errors.
#[derive(Clone, Debug, Default)]
pub(super) struct EngineChoice {
    name: Option<(String, Node)>,
    options: BTreeMap<String, (String, Node)>,
}

impl EngineChoice {
    /// From the keys `engine` and `options`.
    pub(super) fn read(keys: &Keys<'_>) -> Result<Self, Problem> {
        let name = match keys.optional("engine") {
            Some(field) => Some((field.text()?.to_owned(), field.node.clone())),
            None => None,
        };
        let mut options = BTreeMap::new();
        if let Some(field) = keys.optional("options") {
            for entry in &field.table("a table of options such as { sack_delay = \"0 ms\" }")?.entries {
                let value = match &entry.node.value {
                    Value::Text(text) => text.clone(),
                    Value::Integer(number) => number.to_string(),
                    Value::Float(number) => number.to_string(),
                    Value::Boolean(truth) => truth.to_string(),
                    other => {
                        return Err(Problem::new(
                            &entry.node.place,
                            format!(
                                "option {}: expected text, a number or true or false, found {}",
                                escape(&entry.key),
                                other.kind()
                            ),
                        ));
                    }
                };
                options.insert(entry.key.clone(), (value, entry.node.clone()));
            }
        }
        Ok(Self { name, options })
    }

    pub(super) fn is_named(&self) -> bool {
        self.name.is_some()
    }

    /// This choice with everything that `over` says on top.
    pub(super) fn overlaid(&self, over: &Self) -> Self {
        let mut both = self.clone();
        if over.name.is_some() {
            both.name.clone_from(&over.name);
        }
        both.options.extend(over.options.iter().map(|(key, value)| (key.clone(), value.clone())));
        both
    }

    /// The engine, if its own crate accepts its name and every option.
    pub(super) fn finish(self, _protocol: Protocol) -> Result<Engine, Problem> {
        let name = self.name.map(|(name, _)| name).unwrap_or_default();
        let options = self.options.into_iter().map(|(key, (value, _))| (key, value)).collect();
        Ok(Engine { name, options })
    }
}

/// What a flow says about engines.
pub(super) fn of_flow(keys: &Keys<'_>) -> Result<(EngineChoice, EngineChoice), Problem> {
    let both = EngineChoice::read(keys)?;
    let receiver = match keys.optional("receiver") {
        Some(field) => receiver(&field)?,
        None => EngineChoice::default(),
    };
    Ok((both, receiver))
}

fn receiver(field: &Field<'_>) -> Result<EngineChoice, Problem> {
    let table = field.table("a table such as { engine = \"rfc9260\" }")?;
    EngineChoice::read(&Keys::of(table, "receiver", &["engine", "options"])?)
}
