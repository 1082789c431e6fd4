//! From the text of a file to a [`Scenario`]: reads every table, then checks that they fit each other.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use anabranch_base::Duration;
use anabranch_sctp::Coupling;

use super::definition::{Checksums, RandomNumbers, Scenario};
use super::engine::EngineChoice;
use super::error::{Problem, ScenarioError, hint, list, quote};
use super::flow::{self, Flow};
use super::host::{self, Host};
use super::keys::{Field, Keys};
use super::link::{self, Link};
use super::names::Names;
use super::pattern::{self, ReadFile};
use super::ports::{self, Ports};
use super::protocol::Protocol;
use super::record::{self, Record};
use super::traffic::Traffic;
use super::tree::{self, Table, Value};
use super::{route, seeds, units};

impl Scenario {
    /// Reads a scenario file. `origin` is the name of the file for errors. `overrides` are paths and values that are
    /// set over those of the file, before it is checked, such as `("link.bottleneck.rate", "3 Mbit/s")`.
    ///
    /// # Errors
    /// The first thing that is wrong, in one line.
    pub fn from_toml(
        text: &str,
        origin: &str,
        overrides: &[(String, String)],
    ) -> Result<Self, ScenarioError> {
        let none = |_: &str| Err("there is no folder to read it from; write the pattern out".to_owned());
        Self::from_toml_with(text, origin, overrides, &none)
    }

    /// As [`Scenario::from_toml`], with a way to read the files that the scenario names (pattern files).
    ///
    /// # Errors
    /// As [`Scenario::from_toml`].
    pub fn from_toml_with(
        text: &str,
        origin: &str,
        overrides: &[(String, String)],
        files: ReadFile<'_>,
    ) -> Result<Self, ScenarioError> {
        tree(text, overrides, files).and_then(|root| scenario(&root)).map_err(|problem| ScenarioError {
            origin: origin.to_owned(),
            place: problem.place,
            message: problem.message,
        })
    }
}

/// The file with its overrides, and with the contents of the files it names.
pub(super) fn tree(
    text: &str,
    overrides: &[(String, String)],
    files: ReadFile<'_>,
) -> Result<Table, Problem> {
    let mut root = tree::parse(text)?;
    for (path, value) in overrides {
        tree::set(&mut root, path, value)?;
    }
    pattern::inline(&mut root, files)?;
    Ok(root)
}

/// Translates the tree of the file into a scenario.
pub(super) fn scenario(root: &Table) -> Result<Scenario, Problem> {
    let keys = Keys::of(
        root,
        "a scenario",
        &[
            "duration",
            "warmup",
            "seeds",
            "random",
            "checksums",
            "ports",
            "host",
            "link",
            "route",
            "flow",
            "record",
        ],
    )?;
    let (duration, warmup) = times(&keys)?;
    let seeds = match keys.optional("seeds") {
        Some(field) => seeds::read(&field)?,
        None => vec![1],
    };
    let random = match keys.optional("random") {
        None => RandomNumbers::default(),
        Some(field) => field.choice(
            "kind of random numbers",
            &[("common", RandomNumbers::Common), ("independent", RandomNumbers::Independent)],
        )?,
    };
    let checksums = match keys.optional("checksums") {
        None => Checksums::default(),
        Some(field) => {
            field.choice("treatment", &[("verify", Checksums::Verify), ("elide", Checksums::Elide)])?
        }
    };
    let declared_hosts =
        elements(&keys, "host")?.into_iter().map(host::read).collect::<Result<Vec<_>, _>>()?;
    let declared_links =
        elements(&keys, "link")?.into_iter().map(link::read).collect::<Result<Vec<_>, _>>()?;
    let declared_flows =
        elements(&keys, "flow")?.into_iter().map(flow::read).collect::<Result<Vec<_>, _>>()?;
    if declared_flows.is_empty() {
        return Err(Problem::new(keys.place(), "a scenario needs at least one [[flow]]"));
    }
    if declared_links.is_empty() {
        return Err(Problem::new(keys.place(), "a scenario needs at least one [[link]]"));
    }

    if checksums == Checksums::Elide {
        if let Some(field) = declared_links.iter().find_map(|link| link.bit_errors.as_ref()) {
            return Err(field.problem("bit errors need checksums = \"verify\": nobody would notice them"));
        }
    }

    let hosts = nodes(&declared_hosts, &declared_links, &declared_flows)?;
    let host_names = Names::new(hosts.iter().map(|host| host.name.as_str()));
    let mut links = links(&declared_links, &host_names)?;
    let flows = flows(&declared_hosts, &declared_flows, &host_names)?;
    let ports = match keys.optional("ports") {
        None => Ports::default(),
        Some(field) => ports::read(&field, flows.len())?,
    };
    let flow_names = Names::new(flows.iter().map(|flow| flow.name.as_str()));
    name_flows(&mut links, &declared_links, &flow_names)?;
    let record = match keys.optional("record") {
        None => Record::default(),
        Some(field) => {
            let names = Names::new(links.iter().map(|link| link.name.as_str()));
            record::read(field.table("a table such as { trace = true }")?, &names)?
        }
    };
    let declared_routes = elements(&keys, "route")?;
    let mut routes = Vec::new();
    for table in &declared_routes {
        routes.push(route::read(table, &host_names, &links, &routes)?);
    }
    let scenario =
        Scenario { duration, warmup, seeds, random, checksums, ports, hosts, links, routes, flows, record };
    reachable(&scenario, &declared_flows)?;
    Ok(scenario)
}

fn times(keys: &Keys<'_>) -> Result<(Duration, Duration), Problem> {
    let field = keys.required("duration", "\"1200 s\"")?;
    let duration = field.quantity("\"1200 s\"", units::time)?;
    if duration == Duration::ZERO {
        return Err(field.problem("a run must last longer than 0 s"));
    }
    let Some(field) = keys.optional("warmup") else { return Ok((duration, Duration::ZERO)) };
    let warmup = field.quantity("\"400 s\"", units::time)?;
    if warmup >= duration {
        return Err(field.problem(format!(
            "a warm-up of {} s leaves nothing of a run of {} s; it must be shorter",
            warmup.as_secs_f64(),
            duration.as_secs_f64()
        )));
    }
    Ok((duration, warmup))
}

/// The tables of a list such as `[[link]]`.
fn elements<'t>(keys: &Keys<'t>, key: &'static str) -> Result<Vec<&'t Table>, Problem> {
    let Some(field) = keys.optional(key) else { return Ok(Vec::new()) };
    if let Value::Table(table) = &field.node.value {
        return Err(Problem::new(
            &table.place,
            format!("{key}: write [[{key}]] with two brackets: there may be many"),
        ));
    }
    let what = format!("tables that begin with [[{key}]]");
    field.items(&what)?.map(|item| item.table(&what)).collect()
}

/// Every node. Those without a `[[host]]` come in the order in which links, then flows, name them.
fn nodes(
    hosts: &[host::Declared<'_>],
    links: &[link::Declared<'_>],
    flows: &[flow::Declared<'_>],
) -> Result<Vec<Host>, Problem> {
    let mut all: Vec<Host> = Vec::new();
    let mut known: BTreeSet<&str> = BTreeSet::new();
    let mut addresses: BTreeMap<IpAddr, &str> = BTreeMap::new();
    for declared in hosts {
        let host = &declared.host;
        if !known.insert(&host.name) {
            return Err(declared.name.problem(format!("two hosts are called {}", quote(&host.name))));
        }
        for &address in &host.addresses {
            if let Some(other) = addresses.insert(address, &host.name) {
                return Err(declared
                    .name
                    .problem(format!("host {} has the address {address} too", quote(other))));
            }
        }
        all.push(host.clone());
    }
    let flow_ends: BTreeSet<&str> = flows.iter().flat_map(|declared| declared.hosts).collect();
    let mut links_at: BTreeMap<&str, usize> = BTreeMap::new();
    for declared in links {
        for end in declared.nodes {
            *links_at.entry(end).or_default() += 1;
        }
    }
    for declared in links {
        for field in [&declared.from, &declared.to] {
            let name = field.text()?;
            // A router needs a second link. With one link only, and no flow and no [[host]], the name is a slip.
            if !known.contains(name) && !flow_ends.contains(name) && links_at.get(name) == Some(&1) {
                let others =
                    || flow_ends.iter().chain(links_at.keys()).copied().filter(|&other| other != name);
                return Err(field.problem(format!(
                    "nothing but this link names node {}{}; if it is meant, declare it with [[host]]",
                    quote(name),
                    hint(name, others())
                )));
            }
        }
    }
    let from_links = links.iter().flat_map(|declared| declared.nodes);
    let from_flows = flows.iter().flat_map(|declared| declared.hosts);
    for name in from_links.chain(from_flows) {
        if known.insert(name) {
            all.push(Host { name: name.to_owned(), ..Host::default() });
        }
    }
    for field in flows.iter().flat_map(|declared| [&declared.from, &declared.to]) {
        let name = field.text()?;
        if !links_at.contains_key(name) {
            return Err(field.problem(format!(
                "no link touches host {}{}; nodes with links: {}",
                quote(name),
                hint(name, links_at.keys().copied()),
                list(links_at.keys().copied())
            )));
        }
    }
    Ok(all)
}

/// The place of a host in the scenario.
fn place(hosts: &Names<'_>, field: &Field<'_>) -> Result<usize, Problem> {
    let name = field.text()?;
    hosts.place(name).ok_or_else(|| field.problem(format!("there is no node {}", quote(name))))
}

/// Every link, in both directions where the file says so. The flows that they name have no numbers yet.
fn links(declared: &[link::Declared<'_>], hosts: &Names<'_>) -> Result<Vec<Link>, Problem> {
    let mut all = Vec::new();
    let mut names = BTreeSet::new();
    for declared in declared {
        let (from, to) = (place(hosts, &declared.from)?, place(hosts, &declared.to)?);
        let ways = [Some((&declared.link, from, to)), declared.back.as_ref().map(|back| (back, to, from))];
        for (link, from, to) in ways.into_iter().flatten() {
            if !names.insert(link.name.as_str()) {
                return Err(declared.name.problem(format!(
                    "two links are called {} (the reverse of a link with both = true is called NAME-back)",
                    quote(&link.name)
                )));
            }
            all.push(Link { from, to, ..link.clone() });
        }
    }
    Ok(all)
}

/// Writes the numbers of the flows that losses and patterns name into the links.
fn name_flows(links: &mut [Link], declared: &[link::Declared<'_>], flows: &Names<'_>) -> Result<(), Problem> {
    let number = |field: &Field<'_>| {
        let wanted = field.name()?;
        flows.place(&wanted).ok_or_else(|| {
            field.problem(format!(
                "no flow is called {}{}; there are: {}",
                quote(&wanted),
                hint(&wanted, flows.iter()),
                list(flows.iter())
            ))
        })
    };
    let mut links = links.iter_mut();
    for declared in declared {
        if let Some(link) = links.next() {
            declared.flows.resolve(link, number)?;
        }
        if let Some(link) = declared.back.as_ref().and_then(|_| links.next()) {
            declared.back_flows.resolve(link, number)?;
        }
    }
    Ok(())
}

fn flows(
    hosts: &[host::Declared<'_>],
    declared: &[flow::Declared<'_>],
    host_names: &Names<'_>,
) -> Result<Vec<Flow>, Problem> {
    let mut all = Vec::new();
    let mut names = BTreeSet::new();
    for declared in declared {
        let mut flow = Flow {
            from: place(host_names, &declared.from)?,
            to: place(host_names, &declared.to)?,
            ..declared.flow.clone()
        };
        if flow.protocol.is_transport() {
            let (sender, receiver) = engines(hosts, declared)?;
            flow.sender = sender.finish(flow.protocol, flow.coupling)?;
            flow.receiver = receiver.finish(flow.protocol, Coupling::default())?;
        }
        let connections = match &flow.traffic {
            Traffic::Objects(connection) => Some(u64::from(connection.objects.connections)),
            _ => None,
        };
        for number in 1..=declared.count.or(connections).unwrap_or(1) {
            let mut one = flow.clone();
            if let Traffic::Objects(connection) = &mut one.traffic {
                connection.number = (number - 1) as u32;
            }
            if declared.count.or(connections).is_some() {
                one.name = format!("{}-{number}", flow.name);
                one.group = Some(flow.name.clone());
            }
            if !names.insert(one.name.clone()) {
                return Err(declared.name.problem(format!("two flows are called {}", quote(&one.name))));
            }
            all.push(one);
        }
    }
    Ok(all)
}

/// Both ends follow the flow's `engine`, else that of their host; the receiver's may be another by `receiver`.
/// Options of the flow come on top for both ends, options of `receiver` on top of those.
fn engines(
    hosts: &[host::Declared<'_>],
    declared: &flow::Declared<'_>,
) -> Result<(EngineChoice, EngineChoice), Problem> {
    let default = |name: &str| {
        let host = hosts.iter().find(|host| host.host.name == name);
        let choice = host.and_then(|host| match declared.flow.protocol {
            Protocol::Sctp => host.sctp.clone(),
            Protocol::Tcp => host.tcp.clone(),
            _ => None,
        });
        choice.unwrap_or_default()
    };
    // A profile that is named nearer to the flow does not take the options of the host's other profile.
    let end = |host: &str, over: EngineChoice| {
        if over.is_named() { over } else { default(host).overlaid(&over) }
    };
    let [from, to] = declared.hosts;
    let sender = end(from, declared.both.clone());
    let receiver = end(to, declared.both.overlaid(&declared.receiver));
    for (choice, host) in [(&sender, from), (&receiver, to)] {
        if !choice.is_named() {
            let protocol = declared.flow.protocol.name();
            return Err(Problem::new(
                declared.place,
                format!(
                    "[[flow]] needs engine, for example engine = \"{}\" (or [[host]] {} a default: {protocol} = {{ engine = ... }})",
                    match declared.flow.protocol {
                        Protocol::Tcp => "rfc5681",
                        _ => "rfc9260",
                    },
                    quote(host)
                ),
            ));
        }
    }
    Ok((sender, receiver))
}

/// Data must find its way, and so must acknowledgements.
fn reachable(scenario: &Scenario, declared: &[flow::Declared<'_>]) -> Result<(), Problem> {
    let hosts = Names::new(scenario.hosts.iter().map(|host| host.name.as_str()));
    let (_, classes) = scenario.route_classes();
    let mut checked: BTreeMap<usize, Vec<Option<usize>>> = BTreeMap::new();
    let mut way = |from: &Field<'_>, to: &Field<'_>, field: &Field<'_>| {
        let (from, to) = (from.text()?, to.text()?);
        let (Some(start), Some(end)) = (hosts.place(from), hosts.place(to)) else {
            return Ok(());
        };
        let next = checked.entry(end).or_insert_with(|| scenario.next_hops(end));
        if next.get(start).copied().flatten().is_some() {
            let astray = classes.iter().find(|dscp| scenario.route_of(start, end, **dscp).is_none());
            return astray.map_or(Ok(()), |dscp| {
                Err(field.problem(format!(
                    "packets from {} to {} with code point {} go in circles; look at [[route]]",
                    quote(from),
                    quote(to),
                    dscp.get()
                )))
            });
        }
        let back = if field.key == "from" {
            " (acknowledgements need a way back; both = true makes it)"
        } else {
            ""
        };
        Err(field.problem(format!("no links lead from {} to {}{back}", quote(from), quote(to))))
    };
    for declared in declared {
        way(&declared.from, &declared.to, &declared.to)?;
        if declared.flow.protocol.is_transport() {
            way(&declared.to, &declared.from, &declared.from)?;
        }
    }
    Ok(())
}
