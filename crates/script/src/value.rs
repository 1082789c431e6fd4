//! Values as a script writes them: in chunks, in arguments of calls, and in received packets.

use std::fmt;

/// A value of a script.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `...`: anything.
    Any,
    /// A whole number.
    Number(i64),
    /// `"text"`.
    Text(String),
    /// A name: a constant, or letters of flags.
    Word(String),
    /// `A | B`.
    Or(Vec<Value>),
    /// `2:3`.
    Range(i64, i64),
    /// `[a, b]`.
    List(Vec<Value>),
    /// `{key=value, ...}`, or without keys.
    Record(Vec<Field>),
    /// `NAME[key=value, NAME[...], ...]`.
    Node(String, Vec<Field>),
    /// `inet_addr("192.0.2.1")`.
    Call(String, Vec<Value>),
}

/// A value with or without a key.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// The name before `=`.
    pub key: Option<String>,
    /// The value, behind `=` if there is a name.
    pub value: Value,
}

impl Field {
    /// `key=value`.
    #[must_use]
    pub fn keyed(key: &str, value: Value) -> Self {
        Self { key: Some(key.to_owned()), value }
    }

    /// A value alone.
    #[must_use]
    pub fn bare(value: Value) -> Self {
        Self { key: None, value }
    }
}

impl Value {
    /// A number, or the number that a name, a combination of flags or a call such as `htonl(1)` stands for.
    #[must_use]
    pub fn number(&self) -> Option<i64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Word(word) => crate::names::constant(word),
            Self::Or(parts) => parts.iter().try_fold(0, |sum, part| Some(sum | part.number()?)),
            Self::Call(name, args) if matches!(name.as_str(), "htonl" | "htons" | "ntohl" | "ntohs") => {
                args.first()?.number()
            }
            // `[0]`: the place that a call writes a number to.
            Self::List(items) if items.len() == 1 => items.first()?.number(),
            _ => None,
        }
    }

    /// Whether it stands for anything.
    #[must_use]
    pub fn is_any(&self) -> bool {
        matches!(self, Self::Any)
    }

    /// The value of `key` in a record or node.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.fields().iter().find(|field| field.key.as_deref() == Some(key)).map(|field| &field.value)
    }

    /// The number of `key` in a record or node; `None` where it is not given or may be anything.
    #[must_use]
    pub fn number_of(&self, key: &str) -> Option<i64> {
        self.get(key)?.number()
    }

    /// The fields of a record or node.
    #[must_use]
    pub fn fields(&self) -> &[Field] {
        match self {
            Self::Record(fields) | Self::Node(_, fields) => fields,
            _ => &[],
        }
    }

    /// A list of bytes, or the bytes of a text.
    #[must_use]
    pub fn bytes(&self) -> Option<Vec<u8>> {
        match self {
            Self::List(items) => items.iter().map(|item| u8::try_from(item.number()?).ok()).collect(),
            Self::Text(text) => Some(text.clone().into_bytes()),
            _ => None,
        }
    }

    /// A list of bytes, as a script would write it.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self::List(bytes.iter().map(|byte| Self::Number(i64::from(*byte))).collect())
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("..."),
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Word(word) => f.write_str(word),
            Self::Or(parts) => separated(f, parts, " | "),
            Self::Range(from, to) => write!(f, "{from}:{to}"),
            Self::List(items) if items.len() > 32 => {
                f.write_str("[")?;
                separated(f, items.get(..32).unwrap_or_default(), ", ")?;
                write!(f, ", and {} more]", items.len() - 32)
            }
            Self::List(items) => {
                f.write_str("[")?;
                separated(f, items, ", ")?;
                f.write_str("]")
            }
            Self::Record(fields) => {
                f.write_str("{")?;
                separated(f, fields, ", ")?;
                f.write_str("}")
            }
            Self::Node(name, fields) => {
                write!(f, "{name}[")?;
                separated(f, fields, ", ")?;
                f.write_str("]")
            }
            Self::Call(name, args) => {
                write!(f, "{name}(")?;
                separated(f, args, ", ")?;
                f.write_str(")")
            }
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(key) = &self.key {
            write!(f, "{key}=")?;
        }
        self.value.fmt(f)
    }
}

fn separated<T: fmt::Display>(f: &mut fmt::Formatter<'_>, items: &[T], between: &str) -> fmt::Result {
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            f.write_str(between)?;
        }
        item.fmt(f)?;
    }
    Ok(())
}
