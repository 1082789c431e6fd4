//! Routes: the fewest links win, and among equals the link that the file names first. `[[route]]` says otherwise for some
//! code points at some node.

use std::collections::{BTreeMap, VecDeque};

use anabranch_base::Dscp;

use super::error::{Problem, hint, list, quote};
use super::flow::dscp;
use super::keys::Keys;
use super::tree::Table;
use super::{Host, Link, Scenario};

/// At one node, packets with some code points for one destination leave on another link than on the way of the fewest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The node.
    pub at: String,
    /// Where the packets go in the end.
    pub to: String,
    /// Their code points; empty for all that no other route of this node and destination names.
    pub dscp: Vec<Dscp>,
    /// The link, which begins at `at`.
    pub via: String,
}

/// How many code points there are.
const CODE_POINTS: usize = 64;

impl Scenario {
    /// For every node (by index in `hosts`), the link (by index in `links`) on which a packet for the node at
    /// `destination` leaves, by the fewest links; `None` where there is no way, and at the destination itself.
    #[must_use]
    pub fn next_hops(&self, destination: usize) -> Vec<Option<usize>> {
        let mut next = vec![None; self.hosts.len()];
        let index: BTreeMap<&str, usize> =
            self.hosts.iter().enumerate().map(|(at, host)| (host.name.as_str(), at)).collect();
        let mut into: Vec<Vec<(usize, usize)>> = vec![Vec::new(); self.hosts.len()];
        for (link, ends) in self.links.iter().enumerate() {
            if let (Some(&from), Some(&to)) = (index.get(ends.from.as_str()), index.get(ends.to.as_str())) {
                if let Some(list) = into.get_mut(to) {
                    list.push((from, link));
                }
            }
        }
        let mut distance: Vec<Option<usize>> = vec![None; self.hosts.len()];
        let Some(start) = distance.get_mut(destination) else { return next };
        *start = Some(0);
        let mut waiting = VecDeque::from([(destination, 0_usize)]);
        while let Some((node, hops)) = waiting.pop_front() {
            for &(from, link) in into.get(node).into_iter().flatten() {
                let (Some(known), Some(out)) = (distance.get_mut(from), next.get_mut(from)) else { continue };
                match *known {
                    None => {
                        *known = Some(hops + 1);
                        *out = Some(link);
                        waiting.push_back((from, hops + 1));
                    }
                    // As short by another link: the one named first wins.
                    Some(there) if there == hops + 1 => *out = (*out).min(Some(link)),
                    Some(_) => {}
                }
            }
        }
        next
    }

    /// As [`Scenario::next_hops`], for packets with this code point, with everything that `routes` says.
    #[must_use]
    pub fn next_hops_of(&self, destination: usize, dscp: Dscp) -> Vec<Option<usize>> {
        let mut next = self.next_hops(destination);
        let Some(name) = self.hosts.get(destination).map(|host| &host.name) else { return next };
        // A route that names the code point comes after one for all, and wins.
        for all in [true, false] {
            let fitting = |route: &&Route| {
                route.to == *name && if all { route.dscp.is_empty() } else { route.dscp.contains(&dscp) }
            };
            for route in self.routes.iter().filter(fitting) {
                let link = self.links.iter().position(|link| link.name == route.via);
                if let Some(out) = self.host_index(&route.at).and_then(|at| next.get_mut(at)) {
                    *out = link.or(*out);
                }
            }
        }
        next
    }

    /// The links (by index in `links`) from one node to another, both by index in `hosts`, for packets with this code
    /// point; `None` without a way, and when packets would go in circles.
    #[must_use]
    pub fn route_of(&self, from: usize, to: usize, dscp: Dscp) -> Option<Vec<usize>> {
        self.follow(&self.next_hops_of(to, dscp), from, to)
    }

    /// As [`Scenario::route_of`], for packets that no `[[route]]` names.
    #[must_use]
    pub fn route(&self, from: usize, to: usize) -> Option<Vec<usize>> {
        self.follow(&self.next_hops(to), from, to)
    }

    fn follow(&self, next: &[Option<usize>], from: usize, to: usize) -> Option<Vec<usize>> {
        let mut links = Vec::new();
        let mut at = from;
        while at != to {
            let link = (*next.get(at)?)?;
            if links.len() > self.hosts.len() {
                return None;
            }
            links.push(link);
            at = self.host_index(&self.links.get(link)?.to)?;
        }
        Some(links)
    }

    /// Every code point with a class: packets of one class take the same links. Class 0 holds those that no route names.
    /// The second list has one code point of each class.
    #[must_use]
    pub fn route_classes(&self) -> ([u8; CODE_POINTS], Vec<Dscp>) {
        let mut classes = [0; CODE_POINTS];
        let mut examples: Vec<Dscp> = Vec::new();
        let mut sets: Vec<Vec<usize>> = Vec::new();
        // First some code point that nobody names, so that its class is 0.
        let named = |dscp: &Dscp| self.routes.iter().any(|route| route.dscp.contains(dscp));
        let all = || (0..CODE_POINTS as u8).filter_map(Dscp::new);
        for dscp in all().filter(|dscp| !named(dscp)).chain(all().filter(named)) {
            let naming = self.routes.iter().enumerate().filter(|(_, route)| route.dscp.contains(&dscp));
            let set: Vec<usize> = naming.map(|(at, _)| at).collect();
            let class = sets.iter().position(|known| *known == set).unwrap_or_else(|| {
                sets.push(set);
                examples.push(dscp);
                sets.len() - 1
            });
            if let Some(place) = classes.get_mut(usize::from(dscp.get())) {
                *place = class as u8;
            }
        }
        (classes, examples)
    }
}

/// Reads one `[[route]]`; `known` are the routes before it.
pub(super) fn read(table: &Table, hosts: &[Host], links: &[Link], known: &[Route]) -> Result<Route, Problem> {
    let keys = Keys::of(table, "[[route]]", &["at", "to", "dscp", "via"])?;
    let node = |key: &'static str, example: &str| {
        let field = keys.required(key, example)?;
        let name = field.name()?;
        if hosts.iter().any(|host| host.name == name) {
            return Ok((field, name));
        }
        let names = || hosts.iter().map(|host| host.name.as_str());
        Err(field.problem(format!(
            "there is no node {}{}; there are: {}",
            quote(&name),
            hint(&name, names()),
            list(names())
        )))
    };
    let (_, at) = node("at", "\"r1\"")?;
    let (to_field, to) = node("to", "\"b\"")?;
    if at == to {
        return Err(to_field.problem(format!("packets for {} have arrived there", quote(&to))));
    }
    let via_field = keys.required("via", "\"path-2\"")?;
    let via = via_field.name()?;
    if !links.iter().any(|link| link.name == via && link.from == at) {
        let names = || links.iter().filter(|link| link.from == at).map(|link| link.name.as_str());
        return Err(via_field.problem(format!(
            "no link called {} begins at {}{}; those that do: {}",
            quote(&via),
            quote(&at),
            hint(&via, names()),
            list(names())
        )));
    }
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
                format!("two routes at {} lead packets with any code point to {}", quote(&at), quote(&to)),
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
                        quote(&at),
                        quote(&to)
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
