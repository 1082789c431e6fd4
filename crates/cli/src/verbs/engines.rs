//! `anabranch engines`: the profiles of each protocol, every value that `options` may set, and the sources that have neither.
//! `anabranch engines NAME`: every value of a profile, and its differences from another one.

use std::io::Write;

use anabranch_base::units;
use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};

use crate::failure::Failure;

/// Which profile; without a name all of them.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Show every value of this engine.
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Compare it with this engine [default: the one that follows the RFCs, rfc9260 or rfc].
    #[arg(long, value_name = "NAME", requires = "name")]
    against: Option<String>,
    /// Where both protocols have an engine of that name.
    #[arg(long, value_enum, requires = "name")]
    protocol: Option<Protocol>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// An option, as the table of its protocol has it.
struct Described {
    name: &'static str,
    meaning: String,
    allowed: &'static str,
    /// The other columns of the table.
    more: Vec<(&'static str, Value)>,
}

impl Described {
    fn as_json(&self) -> Map<String, Value> {
        let said = [("meaning", self.meaning.as_str().into()), ("allowed", self.allowed.into())];
        let all = said.into_iter().chain(self.more.iter().cloned());
        all.map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Protocol {
    /// SCTP.
    Sctp,
    /// TCP.
    Tcp,
}

impl Protocol {
    const fn word(self) -> &'static str {
        match self {
            Self::Sctp => "sctp",
            Self::Tcp => "tcp",
        }
    }

    fn names(self) -> Vec<&'static str> {
        match self {
            Self::Sctp => anabranch_sctp::Config::PROFILES.to_vec(),
            Self::Tcp => anabranch_tcp::PROFILES.iter().map(|(name, _)| *name).collect(),
        }
    }

    /// The profile that others are compared with.
    const fn base(self) -> &'static str {
        match self {
            Self::Sctp => "rfc9260",
            Self::Tcp => "rfc",
        }
    }

    /// Every option, as the table of its protocol has it.
    fn options(self) -> Vec<Described> {
        match self {
            Self::Sctp => anabranch_sctp::Config::keys()
                .iter()
                .map(|key| Described {
                    name: key.name,
                    meaning: key.doc.to_owned(),
                    allowed: key.expected,
                    more: vec![
                        ("kind", key.kind.into()),
                        ("unit", key.unit.into()),
                        ("default", key.default().into()),
                        ("changeable", key.changeable.into()),
                        ("promised", key.promised.into()),
                        ("source", key.source.into()),
                    ],
                })
                .collect(),
            Self::Tcp => anabranch_tcp::Config::keys()
                .into_iter()
                .map(|key| Described {
                    name: key.name,
                    meaning: key.doc.trim_end_matches('.').to_owned(),
                    allowed: key.allowed,
                    more: vec![("default", key.default.into())],
                })
                .collect(),
        }
    }

    /// The value of every option in a profile, in the same order.
    fn values(self, name: &str) -> Option<Vec<String>> {
        let options = self.options();
        let names = options.iter().map(|option| option.name);
        match self {
            Self::Sctp => {
                let config = anabranch_sctp::Config::named(name)?;
                Some(names.map(|key| config.get(key).unwrap_or_default()).collect())
            }
            Self::Tcp => {
                let config = anabranch_tcp::Config::named(name)?;
                Some(names.map(|key| config.get(key).unwrap_or_default()).collect())
            }
        }
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let text = match &arguments.name {
        Some(name) => one(name, arguments)?,
        None if arguments.json => format!("{:#}\n", all_as_json()),
        None => all(),
    };
    std::io::stdout().lock().write_all(text.as_bytes()).map_err(|error| Failure::printing(&error))
}

/// One profile.
fn one(name: &str, arguments: &Arguments) -> Result<String, Failure> {
    let known = [Protocol::Sctp, Protocol::Tcp]
        .into_iter()
        .filter(|protocol| arguments.protocol.is_none_or(|wanted| wanted == *protocol));
    let having: Vec<Protocol> = known.clone().filter(|protocol| protocol.names().contains(&name)).collect();
    if having.is_empty() {
        let names: Vec<&str> = known.flat_map(Protocol::names).collect();
        let (name, names) = (units::quote(name), names.join(", "));
        return Err(Failure::wrong(format!("there is no engine {name}; allowed: {names}")));
    }
    let mut told = Vec::new();
    for protocol in having {
        let against = arguments.against.as_deref().unwrap_or_else(|| protocol.base());
        let unknown = |name: &str| {
            let (name, names) = (units::quote(name), protocol.names().join(", "));
            Failure::wrong(format!("there is no {} engine {name}; allowed: {names}", protocol.word()))
        };
        let values = protocol.values(name).ok_or_else(|| unknown(name))?;
        let others = protocol.values(against).ok_or_else(|| unknown(against))?;
        told.push((protocol, against.to_owned(), values, others));
    }
    if arguments.json {
        let list = told.iter().map(|(protocol, against, values, others)| {
            let mut options = Map::new();
            for ((option, value), other) in protocol.options().into_iter().zip(values).zip(others) {
                let mut row = option.as_json();
                row.insert("differs".to_owned(), (value != other).into());
                row.insert("value".to_owned(), value.as_str().into());
                row.insert("against".to_owned(), other.as_str().into());
                options.insert(option.name.to_owned(), row.into());
            }
            json!({ "engine": name, "protocol": protocol.word(), "against": against, "options": options })
        });
        return Ok(format!("{:#}\n", Value::Array(list.collect())));
    }
    let mut text = String::new();
    for (protocol, against, values, others) in told {
        let differing = values.iter().zip(&others).filter(|(value, other)| value != other).count();
        let number = if differing == 1 { "1 value".to_owned() } else { format!("{differing} values") };
        text.push_str(&format!("{name} ({}): {number} other than in {against}\n", protocol.word()));
        for ((option, value), other) in protocol.options().iter().zip(&values).zip(&others) {
            let than = if value == other { String::new() } else { format!("  [{against}: {other}]") };
            let mark = if value == other { ' ' } else { '*' };
            text.push_str(&format!("{mark} {} = {value}{than}\n      {}\n", option.name, option.meaning));
        }
    }
    Ok(text)
}

fn all_as_json() -> Value {
    let of = |protocol: Protocol| {
        let options = protocol.options().into_iter().map(|option| {
            let mut row = option.as_json();
            row.insert("name".to_owned(), option.name.into());
            row
        });
        json!({ "engines": protocol.names(), "options": options.collect::<Vec<_>>() })
    };
    let mut tcp = of(Protocol::Tcp);
    tcp["about"] = anabranch_tcp::PROFILES
        .iter()
        .map(|(name, about)| ((*name).to_owned(), json!(about)))
        .collect::<Map<_, _>>()
        .into();
    let sources: Map<String, Value> = anabranch_sim::scenario::PacketSource::PROTOCOLS
        .iter()
        .map(|(name, keys)| ((*name).to_owned(), json!(keys)))
        .collect();
    json!({ "sctp": of(Protocol::Sctp), "tcp": tcp, "without_transport": sources })
}

fn all() -> String {
    let mut text = String::from("sctp\n  engines:\n");
    for name in anabranch_sctp::Config::PROFILES {
        text.push_str(&format!("    {name}\n"));
    }
    text.push_str("  options:\n");
    for Described { name, meaning, allowed, .. } in Protocol::Sctp.options() {
        text.push_str(&format!("    {name}: {meaning}; {allowed}\n"));
    }
    text.push_str("tcp\n  engines:\n");
    for (name, about) in anabranch_tcp::PROFILES {
        text.push_str(&format!("    {name}: {about}\n"));
    }
    text.push_str("  options:\n");
    for Described { name, meaning, allowed, .. } in Protocol::Tcp.options() {
        text.push_str(&format!("    {name}: {meaning}; {allowed}\n"));
    }
    text.push_str("without a transport\n  protocols and keys of traffic:\n");
    for (name, keys) in anabranch_sim::scenario::PacketSource::PROTOCOLS {
        text.push_str(&format!("    {name}: {}\n", keys.join(", ")));
    }
    text
}
