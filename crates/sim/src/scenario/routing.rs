//! Which links packets take: the fewest links win, and among equals the link that the file names first. `[[route]]` says
//! otherwise for some code points at some node.

use std::collections::VecDeque;

use anabranch_base::Dscp;

use super::definition::Scenario;
use super::route::Route;

/// Number of code points that there are (RFC 2474).
const CODE_POINTS: usize = 64;

impl Scenario {
    /// For every node (by index in `hosts`), the link (by index in `links`) on which a packet for the node at
    /// `destination` leaves, by the fewest links; `None` where there is no way, and at the destination itself.
    #[must_use]
    pub fn next_hops(&self, destination: usize) -> Vec<Option<usize>> {
        let mut next = vec![None; self.hosts.len()];
        let mut into: Vec<Vec<(usize, usize)>> = vec![Vec::new(); self.hosts.len()];
        for (link, ends) in self.links.iter().enumerate() {
            if let Some(list) = into.get_mut(ends.to) {
                list.push((ends.from, link));
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
        // A route that names the code point comes after one for all, and wins.
        for all in [true, false] {
            let fitting = |route: &&Route| {
                route.to == destination
                    && if all { route.dscp.is_empty() } else { route.dscp.contains(&dscp) }
            };
            for route in self.routes.iter().filter(fitting) {
                if let Some(out) = next.get_mut(route.at) {
                    *out = Some(route.via);
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
            at = self.links.get(link)?.to;
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
        // First some code point that no route names, so that its class is 0.
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
