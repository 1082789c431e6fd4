//! `[[route]]`: where packets leave the way of the fewest links.

use anabranch_base::Dscp;

use super::dscp::dscp;
use super::error::{Problem, hint, list, quote};
use super::keys::Keys;
use super::link::Link;
use super::names::Names;
use super::tree::Table;

/// At one node, packets with some code points for one destination leave on another link than on the way of the fewest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The node, by its place in `hosts`.
    pub at: usize,
    /// Where the packets go in the end, by its place in `hosts`.
    pub to: usize,
    /// Their code points; empty for all that no other route of this node and destination names.
    pub dscp: Vec<Dscp>,
    /// The link, by its place in `links`; it begins at `at`.
    pub via: usize,
}

/// Reads one `[[route]]`; `known` are the routes before it.
pub(super) fn read(
    table: &Table,
    hosts: &Names<'_>,
    links: &[Link],
    known: &[Route],
) -> Result<Route, Problem> {
    let keys = Keys::of(table, "[[route]]", &["at", "to", "dscp", "via"])?;
    let node = |key: &'static str, example: &str| {
        let field = keys.required(key, example)?;
        let name = field.name()?;
        match hosts.place(&name) {
            Some(place) => Ok((field, name, place)),
            None => Err(field.problem(format!(
                "there is no node {}{}; there are: {}",
                quote(&name),
                hint(&name, hosts.iter()),
                list(hosts.iter())
            ))),
        }
    };
    let (_, at_name, at) = node("at", "\"r1\"")?;
    let (to_field, to_name, to) = node("to", "\"b\"")?;
    if at == to {
        return Err(to_field.problem(format!("packets for {} have arrived there", quote(&to_name))));
    }
    let via_field = keys.required("via", "\"path-2\"")?;
    let via_name = via_field.name()?;
    let Some(via) = links.iter().position(|link| link.name == via_name && link.from == at) else {
        let names = || links.iter().filter(|link| link.from == at).map(|link| link.name.as_str());
        return Err(via_field.problem(format!(
            "no link called {} begins at {}{}; those that do: {}",
            quote(&via_name),
            quote(&at_name),
            hint(&via_name, names()),
            list(names())
        )));
    };
    let mut code_points: Vec<Dscp> = Vec::new();
    let taken = |dscp: Option<&Dscp>| {
        known.iter().any(|other| {
            other.at == at && other.to == to && dscp.map_or(other.dscp.is_empty(), |d| other.dscp.contains(d))
        })
    };
    match keys.optional("dscp") {
        None if taken(None) => {
            return Err(Problem::new(
                keys.place(),
                format!(
                    "two routes at {} lead packets with any code point to {}",
                    quote(&at_name),
                    quote(&to_name)
                ),
            ));
        }
        None => {}
        Some(field) => {
            for item in field.items("a list of code points such as [\"EF\", 8]")? {
                let one = dscp(&item)?;
                if code_points.contains(&one) || taken(Some(&one)) {
                    return Err(item.problem(format!(
                        "code point {} has a route at {} to {} already",
                        one.get(),
                        quote(&at_name),
                        quote(&to_name)
                    )));
                }
                code_points.push(one);
            }
            if code_points.is_empty() {
                return Err(field.problem("no code point at all; leave dscp out to mean every one"));
            }
        }
    }
    Ok(Route { at, to, dscp: code_points, via })
}
