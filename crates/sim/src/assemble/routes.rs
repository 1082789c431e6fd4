//! Addresses, tables of next hops, and which links can be told of packets before their time.

use std::net::{IpAddr, Ipv4Addr};

use anabranch_base::Duration;
use anabranch_link::pattern::Kind;

use crate::network::{NO_LINK, Wire};
use crate::scenario::{Host, Link, Scenario};

/// The first address of each host; 10.X.Y.1 for host number X * 256 + Y, counted from 1, where the file gives none.
pub(super) fn addresses(scenario: &Scenario) -> Vec<IpAddr> {
    let number = |(index, host): (usize, &Host)| {
        let own = || {
            let [_, _, high, low] = (index as u32 + 1).to_be_bytes();
            IpAddr::V4(Ipv4Addr::new(10, high, low, 1))
        };
        host.addresses.first().copied().unwrap_or_else(own)
    };
    scenario.hosts.iter().enumerate().map(number).collect()
}

/// The table of next hops, one part for each class of code points, and where the part of each code point begins.
pub(super) fn next_hops(scenario: &Scenario) -> (Vec<u32>, [u32; 64]) {
    let nodes = scenario.hosts.len();
    let (classes, examples) = scenario.route_classes();
    let mut table = vec![NO_LINK; examples.len() * nodes * nodes];
    for (class, dscp) in examples.into_iter().enumerate() {
        for destination in 0..nodes {
            for (node, link) in scenario.next_hops_of(destination, dscp).into_iter().enumerate() {
                table[(class * nodes + node) * nodes + destination] =
                    link.map_or(NO_LINK, |link| link as u32);
            }
        }
    }
    (table, classes.map(|class| u32::from(class) * (nodes * nodes) as u32))
}

/// Finds the links that alone lead packets to a node that takes no time for them: all arrivals there before the next timer are known.
/// Not where a link may answer a packet at once with an ICMP message; and not where an answer may reach the end of a link at the time at
/// which it enters: the next link would be told of it before packets of the same time that links with lower numbers bring.
pub(super) fn allow_running_ahead(wires: &mut [Wire], scenario: &Scenario) {
    if wires.iter().any(|wire| wire.mtu.is_some()) {
        return;
    }
    let mut leading = vec![0; scenario.hosts.len()];
    wires.iter().for_each(|wire| leading[wire.to as usize] += 1);
    let mut answers_later = vec![true; scenario.hosts.len()];
    for link in &scenario.links {
        answers_later[link.from] &= takes_time(link);
    }
    for wire in wires {
        let node = wire.to as usize;
        let alone = leading[node] == 1 && scenario.hosts[node].processing.is_none();
        wire.feeds_host_alone = alone && answers_later[node];
    }
}

/// True if no packet reaches the end of the link at the time at which it enters.
fn takes_time(link: &Link) -> bool {
    link.delay > Duration::ZERO && link.patterns.iter().all(|each| each.pattern.kind() != Kind::Delay)
}

/// Finds the links that only one other link leads packets to, on the ways that the flows take there and back; but those that a packet leaves
/// when it enters: told of it early, they would hand it on before packets of the same time that links with lower numbers bring.
pub(super) fn allow_sending_ahead(wires: &mut [Wire], scenario: &Scenario) {
    // For each link: the links before it, and whether a host sends into it.
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); wires.len()];
    let mut host_sends = vec![false; wires.len()];
    let (_, classes) = scenario.route_classes();
    // Where ways depend on code points and code points change on the way, the ways are not known before.
    if classes.len() > 1 && scenario.links.iter().any(|link| !link.conditions.is_empty()) {
        return;
    }
    for flow in &scenario.flows {
        let (from, to) = (flow.from, flow.to);
        let ways = classes.iter().flat_map(|dscp| [(from, to, *dscp), (to, from, *dscp)]);
        for route in ways.filter_map(|(from, to, dscp)| scenario.route_of(from, to, dscp)) {
            if let Some(&first) = route.first() {
                host_sends[first] = true;
            }
            for pair in route.windows(2) {
                if !before[pair[1]].contains(&pair[0]) {
                    before[pair[1]].push(pair[0]);
                }
            }
        }
    }
    for (index, feeders) in before.iter().enumerate() {
        // A link with an MTU decides on a packet at its arrival, so packets must not come before their time.
        let judges = feeders.iter().chain([&index]).any(|link| wires[*link].mtu.is_some());
        if let ([feeder], false) =
            (feeders.as_slice(), host_sends[index] || judges || !takes_time(&scenario.links[index]))
        {
            wires[index].fed_by_one = true;
            wires[*feeder].feeds_ahead = true;
        }
    }
}
