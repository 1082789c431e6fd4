//! Reading a table key by key, and values by their kind.

use super::error::{Place, Problem, hint, list, quote};
use super::tree::{Node, Table, Value};

/// A table whose keys are all known.
pub(super) struct Keys<'t> {
    table: &'t Table,
    what: &'static str,
}

impl<'t> Keys<'t> {
    /// `what` is the name of the table in errors, such as `[[link]]`; `allowed` are its keys.
    pub(super) fn of(table: &'t Table, what: &'static str, allowed: &[&str]) -> Result<Self, Problem> {
        for entry in &table.entries {
            if !allowed.contains(&entry.key.as_str()) {
                return Err(Problem::new(
                    &entry.place,
                    format!(
                        "unknown key {} in {what}{}; allowed keys: {}",
                        quote(&entry.key),
                        hint(&entry.key, allowed.iter().copied()),
                        list(allowed.iter().copied())
                    ),
                ));
            }
        }
        Ok(Self { table, what })
    }

    /// The `kind` of a table whose other keys depend on it; the first thing to read of such a table.
    pub(super) fn kind<'k>(
        table: &'t Table,
        what: &'static str,
        example: &str,
        kinds: &[&'k str],
    ) -> Result<&'k str, Problem> {
        let choices: Vec<(&str, &'k str)> = kinds.iter().map(|&kind| (kind, kind)).collect();
        let keys = Keys { table, what };
        match keys.optional("kind") {
            Some(field) => field.choice(&format!("kind of {what}"), &choices),
            None => Err(Problem::new(
                &table.place,
                format!(
                    "{what} needs kind, for example kind = {example}; allowed: {}",
                    list(kinds.iter().copied())
                ),
            )),
        }
    }

    pub(super) fn place(&self) -> &'t Place {
        &self.table.place
    }

    pub(super) fn optional(&self, key: &'static str) -> Option<Field<'t>> {
        self.table.get(key).map(|node| Field { key, node })
    }

    pub(super) fn required(&self, key: &'static str, example: &str) -> Result<Field<'t>, Problem> {
        self.optional(key).ok_or_else(|| {
            Problem::new(
                &self.table.place,
                format!("{} needs {key}, for example {key} = {example}", self.what),
            )
        })
    }
}

/// A value and the key it was found under.
#[derive(Clone, Copy)]
pub(super) struct Field<'t> {
    pub(super) key: &'static str,
    pub(super) node: &'t Node,
}

impl<'t> Field<'t> {
    /// A problem with this value.
    pub(super) fn problem(&self, message: impl AsRef<str>) -> Problem {
        Problem::new(&self.node.place, format!("{}: {}", self.key, message.as_ref()))
    }

    fn expected(&self, what: &str) -> Problem {
        self.problem(format!("expected {what}, found {}", self.node.value.kind()))
    }

    pub(super) fn text(&self) -> Result<&'t str, Problem> {
        match &self.node.value {
            Value::Text(text) => Ok(text),
            _ => Err(self.expected("text in quotes")),
        }
    }

    /// Text that `parse` understands: a quantity with its unit.
    pub(super) fn quantity<T>(
        &self,
        example: &str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<T, Problem> {
        let text = match &self.node.value {
            Value::Text(text) => text.clone(),
            // Let the unit's parser say which units there are.
            Value::Integer(number) => number.to_string(),
            Value::Float(number) => number.to_string(),
            _ => return Err(self.expected(&format!("text such as {example}"))),
        };
        parse(&text).map_err(|message| self.problem(message))
    }

    pub(super) fn boolean(&self) -> Result<bool, Problem> {
        match self.node.value {
            Value::Boolean(truth) => Ok(truth),
            _ => Err(self.expected("true or false")),
        }
    }

    pub(super) fn integer(&self, low: u64, high: u64) -> Result<u64, Problem> {
        let Value::Integer(number) = self.node.value else {
            return Err(self.expected(&format!("an integer of {low} to {high}")));
        };
        match u64::try_from(number) {
            Ok(fits) if (low..=high).contains(&fits) => Ok(fits),
            _ => Err(self.problem(format!("{number} is out of range; allowed: {low} to {high}"))),
        }
    }

    pub(super) fn probability(&self) -> Result<f64, Problem> {
        let p = match self.node.value {
            Value::Float(p) => p,
            Value::Integer(0) => 0.0,
            Value::Integer(1) => 1.0,
            Value::Integer(number) => number as f64,
            _ => return Err(self.expected("a probability of 0 to 1")),
        };
        if (0.0..=1.0).contains(&p) {
            Ok(p)
        } else {
            Err(self.problem(format!("{p} is no probability; allowed: 0 to 1")))
        }
    }

    /// A number from `low` to `high`.
    pub(super) fn number(&self, low: f64, high: f64) -> Result<f64, Problem> {
        let number = match self.node.value {
            Value::Float(number) => number,
            Value::Integer(number) => number as f64,
            _ => return Err(self.expected(&format!("a number of {low} to {high}"))),
        };
        if (low..=high).contains(&number) {
            Ok(number)
        } else {
            Err(self.problem(format!("{number} is out of range; allowed: {low} to {high}")))
        }
    }

    /// A finite number above `low`.
    pub(super) fn number_above(&self, low: f64) -> Result<f64, Problem> {
        let number = match self.node.value {
            Value::Float(number) => number,
            Value::Integer(number) => number as f64,
            _ => return Err(self.expected(&format!("a number above {low}"))),
        };
        if number > low && number.is_finite() {
            Ok(number)
        } else {
            Err(self.problem(format!("{number} is out of range; allowed: above {low}")))
        }
    }

    pub(super) fn table(&self, what: &str) -> Result<&'t Table, Problem> {
        match &self.node.value {
            Value::Table(table) => Ok(table),
            _ => Err(self.expected(what)),
        }
    }

    pub(super) fn items(&self, what: &str) -> Result<impl Iterator<Item = Field<'t>> + use<'t>, Problem> {
        let key = self.key;
        match &self.node.value {
            Value::Array(items) => Ok(items.iter().map(move |node| Field { key, node })),
            _ => Err(self.expected(what)),
        }
    }

    /// One of a few words.
    pub(super) fn choice<T: Copy>(&self, what: &str, choices: &[(&str, T)]) -> Result<T, Problem> {
        let names = || choices.iter().map(|&(name, _)| name);
        let text = self.text()?;
        choices.iter().find(|&&(name, _)| name == text).map(|&(_, choice)| choice).ok_or_else(|| {
            self.problem(format!(
                "unknown {what} {}{}; allowed: {}",
                quote(text),
                hint(text, names()),
                list(names())
            ))
        })
    }

    /// A name: letters, digits, `-` and `_`, so that paths and file names can hold it.
    pub(super) fn name(&self) -> Result<String, Problem> {
        let text = self.text()?;
        let fits = !text.is_empty()
            && text.len() <= 64
            && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
        if fits {
            Ok(text.to_owned())
        } else {
            Err(self.problem(format!(
                "{} is no name; allowed: 1 to 64 letters, digits, \"-\" and \"_\"",
                quote(text)
            )))
        }
    }
}
