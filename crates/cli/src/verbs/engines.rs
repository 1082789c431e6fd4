//! `anabranch engines`: the profiles of each protocol, every value that `options` may set, and the sources that have neither.
//! `anabranch engines NAME`: every value of a profile, and in what it differs from another one.

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

    /// Every option: its name, what it does, what is allowed.
    fn options(self) -> Vec<[String; 3]> {
        match self {
            Self::Sctp => anabranch_sctp::Config::keys()
                .iter()
                .map(|key| [key.name.to_owned(), key.doc.to_owned(), key.expected.to_owned()])
                .collect(),
            Self::Tcp => anabranch_tcp::Config::keys()
                .into_iter()
                .map(|key| {
                    let doc = key.doc.trim_end_matches('.').to_owned();
                    [key.name.to_owned(), doc, key.allowed.to_owned()]
                })
                .collect(),
        }
    }

    /// The value of every option in a profile, in the same order.
    fn values(self, name: &str) -> Option<Vec<String>> {
        let options = self.options();
        let names = options.iter().map(|[name, ..]| name);
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
            for (([key, doc, allowed], value), other) in protocol.options().iter().zip(values).zip(others) {
                let row = json!({
                    "value": value, "against": other, "differs": value != other, "meaning": doc, "allowed": allowed,
                });
                options.insert(key.clone(), row);
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
        for (([key, doc, _], value), other) in protocol.options().iter().zip(&values).zip(&others) {
            let than = if value == other { String::new() } else { format!("  [{against}: {other}]") };
            let mark = if value == other { ' ' } else { '*' };
            text.push_str(&format!("{mark} {key} = {value}{than}\n      {doc}\n"));
        }
    }
    Ok(text)
}

fn all_as_json() -> Value {
    let of = |protocol: Protocol| {
        let options = protocol
            .options()
            .into_iter()
            .map(|[name, doc, allowed]| json!({ "name": name, "meaning": doc, "allowed": allowed }));
        json!({ "engines": protocol.names(), "options": options.collect::<Vec<_>>() })
    };
    json!({ "sctp": of(Protocol::Sctp), "tcp": of(Protocol::Tcp) })
}

fn all() -> String {
    let mut text = String::from("sctp\n  engines:\n");
    for name in anabranch_sctp::Config::PROFILES {
        text.push_str(&format!("    {name}\n"));
    }
    text.push_str("  options:\n");
    for [name, doc, allowed] in Protocol::Sctp.options() {
        text.push_str(&format!("    {name}: {doc}; {allowed}\n"));
    }
    text.push_str("tcp\n  engines:\n");
    for (name, about) in anabranch_tcp::PROFILES {
        text.push_str(&format!("    {name}: {about}\n"));
    }
    text.push_str("  options:\n");
    for [name, doc, allowed] in Protocol::Tcp.options() {
        text.push_str(&format!("    {name}: {doc}; {allowed}\n"));
    }
    text.push_str("without a transport\n  protocols and keys of traffic:\n");
    for (name, keys) in anabranch_sim::scenario::PacketSource::PROTOCOLS {
        text.push_str(&format!("    {name}: {}\n", keys.join(", ")));
    }
    text
}
