//! Which rules a transport follows: a profile and options on top of it.

use super::error::{Place, Problem, escape, hint, list, one_line, quote};
use super::keys::{Field, Keys};
use super::protocol::Protocol;
use super::tree::{Node, Value};
use anabranch_base::units;
use anabranch_sctp::Coupling;

/// Which rules a transport follows: `Config::named(name)`, then `set(key, value)` for each option, in this order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Engine {
    /// Name of the profile.
    pub name: String,
    /// Options on top of it, without quotes, in an order in which each fits those before it: an option may bound another.
    pub options: Vec<(String, String)>,
}

#[derive(Clone, Debug)]
struct SetOption {
    key: String,
    key_place: Place,
    value: String,
    place: Place,
}

/// The choice of an engine in one table of the file, with places for errors.
#[derive(Clone, Debug, Default)]
pub(super) struct EngineChoice {
    name: Option<(String, Node)>,
    options: Vec<SetOption>,
}

impl EngineChoice {
    /// From the keys `engine` and `options`.
    pub(super) fn read(keys: &Keys<'_>) -> Result<Self, Problem> {
        let name = match keys.optional("engine") {
            Some(field) => Some((field.text()?.to_owned(), field.node.clone())),
            None => None,
        };
        let mut options = Vec::new();
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
                options.push(SetOption {
                    key: entry.key.clone(),
                    key_place: entry.place.clone(),
                    value,
                    place: entry.node.place.clone(),
                });
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
        for option in &over.options {
            match both.options.iter_mut().find(|kept| kept.key == option.key) {
                Some(kept) => *kept = option.clone(),
                None => both.options.push(option.clone()),
            }
        }
        both
    }

    /// The engine, if its own crate accepts its name and every option; some options exclude couplings.
    pub(super) fn finish(self, protocol: Protocol, coupling: Coupling) -> Result<Engine, Problem> {
        let Some((name, node)) = self.name else { return Ok(Engine::default()) };
        let mut config = AnyConfig::named(protocol, &name).ok_or_else(|| {
            let profiles = AnyConfig::profiles(protocol);
            Problem::new(
                &node.place,
                format!(
                    "engine: unknown {} engine {}{}; allowed: {}",
                    protocol.name(),
                    quote(&name),
                    hint(&name, profiles.iter().copied()),
                    list(profiles.iter().copied())
                ),
            )
        })?;
        config.couple(coupling);
        let keys = option_names(protocol);
        for option in &self.options {
            if !keys.contains(&option.key.as_str()) {
                return Err(Problem::new(
                    &option.key_place,
                    format!(
                        "unknown option {} of {}{}; allowed: {}",
                        quote(&option.key),
                        protocol.name(),
                        hint(&option.key, keys.iter().copied()),
                        list(keys.iter().copied())
                    ),
                ));
            }
        }
        let options = config.set_all(self.options)?;
        Ok(Engine { name, options })
    }
}

/// The options that the engines of a protocol have.
pub(super) fn option_names(protocol: Protocol) -> Vec<&'static str> {
    match protocol {
        Protocol::Sctp => anabranch_sctp::Config::keys().iter().map(|key| key.name).collect(),
        Protocol::Tcp => anabranch_tcp::Config::keys().iter().map(|key| key.name).collect(),
        _ => Vec::new(),
    }
}

/// The configuration of one of the transports, for checking names and values.
enum AnyConfig {
    Sctp(Box<anabranch_sctp::Config>),
    Tcp(Box<anabranch_tcp::Config>),
}

impl AnyConfig {
    fn named(protocol: Protocol, name: &str) -> Option<Self> {
        match protocol {
            Protocol::Sctp => anabranch_sctp::Config::named(name).map(|config| Self::Sctp(Box::new(config))),
            Protocol::Tcp => anabranch_tcp::Config::named(name).map(|config| Self::Tcp(Box::new(config))),
            _ => None,
        }
    }

    fn couple(&mut self, coupling: Coupling) {
        if let Self::Sctp(config) = self {
            config.subflows.coupling = coupling;
        }
    }

    fn profiles(protocol: Protocol) -> Vec<&'static str> {
        match protocol {
            Protocol::Sctp => anabranch_sctp::Config::PROFILES.to_vec(),
            Protocol::Tcp => anabranch_tcp::PROFILES.iter().map(|&(name, _)| name).collect(),
            _ => Vec::new(),
        }
    }

    fn get(&self, key: &str) -> Option<String> {
        match self {
            Self::Sctp(config) => config.get(key),
            Self::Tcp(config) => config.get(key),
        }
    }

    /// Sets every option. Some bound each other (`rto_min`, `rto_max`): an option that does not fit yet waits for the others, so that their
    /// order in the file does not matter. The order in which they fitted.
    fn set_all(&mut self, options: Vec<SetOption>) -> Result<Vec<(String, String)>, Problem> {
        let mut done = Vec::new();
        let mut waiting = options;
        while !waiting.is_empty() {
            let before = waiting.len();
            let mut refused = None;
            let mut later = Vec::new();
            for option in waiting {
                match self.set(&option.key, &option.value) {
                    Ok(()) => done.push((option.key, option.value)),
                    Err(Refusal::Value(message)) => return Err(Problem::new(&option.place, message)),
                    Err(Refusal::Others(message)) => {
                        refused.get_or_insert_with(|| Problem::new(&option.place, message));
                        later.push(option);
                    }
                }
            }
            if let Some(problem) = refused.filter(|_| later.len() == before) {
                return Err(problem);
            }
            waiting = later;
        }
        Ok(done)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), Refusal> {
        match self {
            Self::Sctp(config) => config.set(key, value).map_err(|error| match error {
                anabranch_sctp::ConfigError::BadValue { expected, .. } => {
                    Refusal::Value(misread(key, value, expected))
                }
                anabranch_sctp::ConfigError::Misfit { what } => {
                    Refusal::Others(format!("{key}: {} does not fit: {what}", quote(value)))
                }
                other => Refusal::Value(one_line(&other.to_string())),
            }),
            Self::Tcp(config) => config.set(key, value).map_err(|error| match error {
                anabranch_tcp::ConfigError::BadValue { allowed, .. } => {
                    Refusal::Value(misread(key, value, &allowed))
                }
                other => Refusal::Value(one_line(&other.to_string())),
            }),
        }
    }
}

/// The reason why a value is not taken.
enum Refusal {
    /// The value is none that the option may have.
    Value(String),
    /// The value does not fit those of other options.
    Others(String),
}

/// The message about a value that cannot be read: the value and the expected form, or, for a quantity of unknown unit,
/// the units that may be meant.
fn misread(key: &str, value: &str, expected: &str) -> String {
    let quantity = if expected.starts_with("a time") {
        units::time(value).map(|_| ())
    } else if expected.starts_with("a size") {
        units::size(value).map(|_| ())
    } else {
        Ok(())
    };
    match quantity {
        Err(message) if message.contains("unknown unit") => format!("{key}: {message}"),
        _ => format!("{key}: {} does not fit; expected {expected}", quote(value)),
    }
}

/// Options of an engine that follow from the flow and its network unless the file sets them.
const DECIDED_ELSEWHERE: [&str; 11] = [
    "coupling",
    "dscp",
    "inbound_streams",
    "inbound_subflows",
    "ip_overhead",
    "max_subflows",
    "mss",
    "mtu",
    "outbound_streams",
    "subflow_level",
    "subflow_scheduler",
];

/// The options of an engine in its order, then every other with the value that it has. Options that follow from the
/// flow and its network are included only if the file sets them.
pub(super) fn with_every_option(
    protocol: Protocol,
    engine: &Engine,
    coupling: Coupling,
) -> Vec<(String, String)> {
    let mut options = engine.options.clone();
    let Some(mut config) = AnyConfig::named(protocol, &engine.name) else { return options };
    config.couple(coupling);
    for (key, value) in &engine.options {
        // It was set once already, when the file was read.
        let _ = config.set(key, value);
    }
    for key in option_names(protocol) {
        if !DECIDED_ELSEWHERE.contains(&key) && !options.iter().any(|(known, _)| known == key) {
            options.extend(config.get(key).map(|value| (key.to_owned(), value)));
        }
    }
    options
}

/// Reads the engines of a flow: the sender's, and the receiver's.
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
