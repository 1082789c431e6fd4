//! Routes: the fewest links win, and among equals the link that the file names first.

use std::collections::{BTreeMap, VecDeque};

use super::Scenario;

impl Scenario {
    /// For every node (by index in `hosts`), the link (by index in `links`) on which a packet for the node at
    /// `destination` leaves; `None` where there is no way, and at the destination itself.
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

    /// The links (by index in `links`) from one node to another, both by index in `hosts`; `None` without a way.
    #[must_use]
    pub fn route(&self, from: usize, to: usize) -> Option<Vec<usize>> {
        let next = self.next_hops(to);
        let mut links = Vec::new();
        let mut at = from;
        while at != to {
            let link = (*next.get(at)?)?;
            links.push(link);
            at = self.host_index(&self.links.get(link)?.to)?;
        }
        Some(links)
    }
}
