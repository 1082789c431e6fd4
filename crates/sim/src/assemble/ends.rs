//! The ends of the flows: a transport and an application on a host each.

use std::net::{IpAddr, SocketAddr};

use anabranch_base::{Ecn, Instant, Meta, Rng};

use super::engines::{EndPlan, MakeEngine, ip_header};
use crate::app::App;
use crate::engine::Counts;
use crate::error::RunError;
use crate::scenario::{Flow, MtuAnswer, Opener, Scenario, Traffic};
use crate::side::{Side, Watch};

/// One end of the flow at `index`.
pub(super) fn side(
    scenario: &Scenario,
    seed: u64,
    index: usize,
    is_sender: bool,
    addresses: &[IpAddr],
    make_engine: &MakeEngine<'_>,
) -> Result<Side, RunError> {
    let flow = &scenario.flows[index];
    for host in [flow.from, flow.to] {
        if host >= scenario.hosts.len() {
            return Err(RunError::NoSuchHost { what: format!("flow `{}`", flow.name), host });
        }
    }
    let (from, to) = (flow.from, flow.to);
    let (here, there) = if is_sender { (from, to) } else { (to, from) };
    let mtu = smallest_mtu(scenario, flow, (here, there), is_sender)?;
    if addresses[here].is_ipv4() != addresses[there].is_ipv4() {
        return Err(RunError::Unsupported(format!(
            "flow `{}`: one host has an IPv4 address, the other an IPv6 address",
            flow.name
        )));
    }
    let ports = scenario.ports.of(index);
    let (local_port, remote_port) = if is_sender { ports } else { (ports.1, ports.0) };
    let stream = scenario.start_stream(index).unwrap_or_default();
    let role = if is_sender { "sender" } else { "receiver" };
    let opens = is_sender == (flow.opened_by == Opener::Sender);
    let plan = EndPlan {
        flow,
        is_sender,
        opens,
        local: SocketAddr::new(addresses[here], local_port),
        remote: SocketAddr::new(addresses[there], remote_port),
        mtu,
        checksums: scenario.checksums,
        rng: Rng::stream(seed, &format!("flow:{}", flow.name), role),
        traffic_rng: Rng::stream(seed, &stream, "traffic"),
    };
    let engine =
        make_engine(&plan).map_err(|problem| RunError::Engine { flow: flow.name.clone(), problem })?;
    // Of the connections of a page only the first opens by itself.
    let begins = match &flow.traffic {
        Traffic::Objects(connection) => connection.number == 0,
        _ => true,
    };
    let opens_at =
        (opens && begins).then(|| Instant::ZERO + flow.start.draw(&mut Rng::stream(seed, &stream, "start")));
    Ok(Side {
        entity: 0,
        name: 0,
        flow: index as u32,
        node: here as u32,
        peer: there as u32,
        engine,
        app: App::new(flow, is_sender, || Rng::stream(seed, &stream, "messages")),
        meta: Meta {
            source: SocketAddr::new(addresses[there], 0),
            destination: SocketAddr::new(addresses[here], 0),
            dscp: flow.dscp,
            ecn: Ecn::NotEct,
        },
        ip_header: ip_header(addresses[here]),
        bytes_sent: 0,
        opens_at,
        opened_at: None,
        failed: None,
        page: None,
        tracing: false,
        base: Counts::default(),
        subflow_base: Vec::new(),
        watch: Watch::default(),
        last_datagram_at: None,
    })
}

/// The smallest MTU on the way to the other end. An error if packets of some code point have no way.
fn smallest_mtu(
    scenario: &Scenario,
    flow: &Flow,
    (here, there): (usize, usize),
    is_sender: bool,
) -> Result<u32, RunError> {
    let (_, classes) = scenario.route_classes();
    let ways: Option<Vec<_>> = classes
        .iter()
        .map(|dscp| scenario.route_of(here, there, *dscp).filter(|way| !way.is_empty()))
        .collect();
    match ways {
        Some(ways) => {
            let links = ways.iter().flatten().map(|&link| &scenario.links[link]);
            let known = links.filter(|link| link.mtu_answer == MtuAnswer::Known);
            Ok(known.map(|link| link.mtu).min().unwrap_or(u32::MAX))
        }
        // The receiver of such a flow sends nothing, so there need not be a way back.
        None if !is_sender && !flow.protocol.is_transport() => Ok(u32::MAX),
        None => Err(RunError::NoRoute {
            flow: flow.name.clone(),
            from: scenario.hosts[here].name.clone(),
            to: scenario.hosts[there].name.clone(),
        }),
    }
}
