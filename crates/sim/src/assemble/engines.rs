//! The transport at one end of a flow, configured as the scenario says.

use std::net::{IpAddr, SocketAddr};

use anabranch_base::{Instant, Rng};

use crate::engine::{DatagramEnd, Engine, SctpEnd, TcpEnd};
use crate::scenario::{self, Checksums, Flow, Protocol, Traffic};

/// Makes the engine of one end of a flow.
pub(crate) type MakeEngine<'a> = dyn Fn(&EndPlan<'_>) -> Result<Engine, String> + 'a;

/// The inputs for building the engine of one end of a flow.
pub(crate) struct EndPlan<'a> {
    pub(crate) flow: &'a Flow,
    pub(crate) is_sender: bool,
    /// Whether this end opens the flow; the other listens.
    pub(crate) opens: bool,
    /// With the transport's port.
    pub(crate) local: SocketAddr,
    /// With the transport's port.
    pub(crate) remote: SocketAddr,
    /// Smallest MTU on the way there.
    pub(crate) mtu: u32,
    pub(crate) checksums: Checksums,
    pub(crate) rng: Rng,
    /// Random numbers of the application: the same for any transport, where random numbers are common.
    pub(crate) traffic_rng: Rng,
}

/// The real engines.
pub(crate) fn engine(plan: &EndPlan<'_>) -> Result<Engine, String> {
    match plan.flow.protocol {
        Protocol::Sctp => sctp(plan),
        Protocol::Tcp => tcp(plan),
        Protocol::Cbr | Protocol::Square | Protocol::OnOff => datagrams(plan),
    }
}

fn sctp(plan: &EndPlan<'_>) -> Result<Engine, String> {
    let told = told(plan);
    let mut config = anabranch_sctp::Config::named(&told.name)
        .ok_or_else(|| format!("there is no SCTP engine `{}`", told.name))?;
    config.ip_overhead = ip_header(plan.remote.ip()) as u16;
    config.mtu = config.mtu.min(u16::try_from(plan.mtu).unwrap_or(u16::MAX));
    config.streams.outbound = config.streams.outbound.max(plan.flow.streams);
    config.streams.inbound = config.streams.inbound.max(plan.flow.streams);
    config.dscp = plan.flow.dscp;
    if plan.flow.level != anabranch_sctp::SubflowLevel::Zero {
        config.subflows.level = plan.flow.level;
    }
    config.subflows.max_inbound = config.subflows.max_inbound.max(plan.flow.subflows.len() as u8);
    if plan.is_sender {
        if plan.flow.subflows.len() > 1 || !plan.flow.events.is_empty() {
            config.subflows.open.clone_from(&plan.flow.subflows);
            config.subflows.max = config.subflows.max.max(plan.flow.subflows.len() as u8);
        }
        config.subflows.scheduler = plan.flow.scheduler;
        config.subflows.coupling = plan.flow.coupling;
    }
    for (key, value) in &told.options {
        config.set(key, value).map_err(|error| error.to_string())?;
    }
    if plan.checksums == Checksums::Elide {
        config.checksums = anabranch_sctp::config::Checksums::Elided;
    }
    let end = SctpEnd::new(plan.local, plan.remote, config, plan.opens, plan.rng.clone());
    Ok(Engine::Sctp(Box::new(end)))
}

fn tcp(plan: &EndPlan<'_>) -> Result<Engine, String> {
    let told = told(plan);
    let mut config = anabranch_tcp::Config::named(&told.name)
        .ok_or_else(|| format!("there is no TCP engine `{}`", told.name))?;
    // 20 bytes of TCP header (RFC 9293, section 3.7.1).
    config.mss = config.mss.min(plan.mtu.saturating_sub(ip_header(plan.remote.ip()) + 20));
    config.dscp = u32::from(plan.flow.dscp.get());
    for (key, value) in &told.options {
        config.set(key, value).map_err(|error| error.to_string())?;
    }
    if plan.checksums == Checksums::Elide {
        config.checksum = false;
    }
    let end = TcpEnd::new(plan.local, plan.remote, config, plan.opens, plan.rng.clone());
    Ok(Engine::Tcp(Box::new(end)))
}

fn datagrams(plan: &EndPlan<'_>) -> Result<Engine, String> {
    let Traffic::Packets(source) = plan.flow.traffic else {
        return Err("a protocol without a transport needs a rate and a size of packets".into());
    };
    if plan.is_sender && source.packet > plan.mtu {
        return Err(format!(
            "packets of {} B do not fit the MTU of {} B on the way",
            source.packet, plan.mtu
        ));
    }
    Ok(Engine::Datagrams(Box::new(DatagramEnd::new(
        source,
        plan.flow.dscp,
        (plan.local.port(), plan.remote.port()),
        ip_header(plan.local.ip()),
        plan.flow.stop.map(|after| Instant::ZERO + after),
        plan.traffic_rng.clone(),
    ))))
}

/// The scenario's options for the engine of this end.
fn told<'a>(plan: &'a EndPlan<'_>) -> &'a scenario::Engine {
    if plan.is_sender { &plan.flow.sender } else { &plan.flow.receiver }
}

/// Bytes of an IP header without options.
pub(super) const fn ip_header(address: IpAddr) -> u32 {
    if address.is_ipv4() { 20 } else { 40 }
}
