//! A node of the network.

use std::net::IpAddr;

use super::engine::EngineChoice;
use super::error::{Problem, quote};
use super::keys::{Field, Keys};
use super::time_draw::TimeDraw;
use super::tree::Table;
use super::units;

/// A node: an end host when a flow starts or ends there, else a router.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Host {
    /// Its name, unique among the hosts.
    pub name: String,
    /// Its addresses. Empty: the simulator numbers it.
    pub addresses: Vec<IpAddr>,
    /// How long the host takes to hand an arriving packet to its transport. `None`: no time at all.
    pub processing: Option<TimeDraw>,
}

/// A host as the file declares it.
pub(super) struct Declared<'t> {
    pub(super) host: Host,
    pub(super) name: Field<'t>,
    pub(super) sctp: Option<EngineChoice>,
    pub(super) tcp: Option<EngineChoice>,
}

pub(super) fn read(table: &Table) -> Result<Declared<'_>, Problem> {
    let keys = Keys::of(table, "[[host]]", &["name", "addresses", "processing", "sctp", "tcp"])?;
    let name = keys.required("name", "\"a\"")?;
    let mut addresses = Vec::new();
    if let Some(field) = keys.optional("addresses") {
        for item in field.items("a list of addresses such as [\"10.0.0.1\"]")? {
            let text = item.text()?;
            let address: IpAddr = text.parse().map_err(|_| {
                item.problem(format!("{} is no address; write \"10.0.0.1\" or \"2001:db8::1\"", quote(text)))
            })?;
            if address.is_unspecified() || address.is_multicast() {
                return Err(item.problem(format!("{text} cannot be the address of a host")));
            }
            if addresses.contains(&address) {
                return Err(item.problem(format!("{text} is there twice")));
            }
            addresses.push(address);
        }
    }
    let processing = match keys.optional("processing") {
        Some(field) => Some(field.quantity("\"uniform(0 us, 10 us)\"", units::time_draw)?),
        None => None,
    };
    Ok(Declared {
        host: Host { name: name.name()?, addresses, processing },
        name,
        sctp: engine_default(&keys, "sctp")?,
        tcp: engine_default(&keys, "tcp")?,
    })
}

fn engine_default(keys: &Keys<'_>, protocol: &'static str) -> Result<Option<EngineChoice>, Problem> {
    let Some(field) = keys.optional(protocol) else { return Ok(None) };
    let table = field.table("a table such as { engine = \"rfc9260\" }")?;
    let keys = Keys::of(table, "the engine of a host", &["engine", "options"])?;
    keys.required("engine", "\"rfc9260\"")?;
    EngineChoice::read(&keys).map(Some)
}
