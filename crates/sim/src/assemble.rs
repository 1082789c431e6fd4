//! Builds a world from a scenario.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use anabranch_base::{Duration, Instant, Meta, Rng};
use anabranch_link::{
    Applies, Bernoulli, BitErrors, Conditioner, GilbertElliott, Link, LinkConfig, LinkFacts, Loss, Pattern,
    Positions, Rate,
};

use crate::app::App;
use crate::engine::{self, DatagramEnd, Engine, SctpEnd, TcpEnd};
use crate::error::RunError;
use crate::event_queue::{Entity, EventQueue};
use crate::network::{FIRST_LINK, NO_LINK, Network, Wire};
use crate::page::Page;
use crate::record::{Capture, EndSeries, Interface, LinkSeries, Recorder, Share, Shares, Ticks};
use crate::scenario::{self, Checksums, Flow, Opener, Protocol, Record, Scenario};
use crate::side::{Side, Watch};
use crate::world::{CLOCK, Clock, Processor, World};

/// Where the ports of the senders begin; flow `f` uses `FIRST_SENDER_PORT + f`.
const FIRST_SENDER_PORT: u16 = 10_000;
/// Where the ports of the receivers begin.
const FIRST_RECEIVER_PORT: u16 = 30_000;
const MAX_FLOWS: usize = 20_000;

/// Makes the engine of one end of a flow.
pub(crate) type MakeEngine<'a> = dyn Fn(&EndPlan<'_>) -> Result<Engine, String> + 'a;

/// What an engine has to know.
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
    /// Of the application: the same whatever the transport is, with common random numbers.
    pub(crate) traffic_rng: Rng,
}

/// The world of `scenario` for `seed`, before its first event.
pub(crate) fn world(
    scenario: &Scenario,
    seed: u64,
    record: &Record,
    make_engine: &MakeEngine<'_>,
) -> Result<World, RunError> {
    if scenario.flows.len() > MAX_FLOWS
        || scenario.links.len() + 2 * scenario.flows.len() > usize::from(u16::MAX)
    {
        return Err(RunError::Unsupported(format!(
            "more than {MAX_FLOWS} flows or 65535 links and ends of flows"
        )));
    }
    let links = scenario.links.len();
    let nodes = scenario.hosts.len();
    let first_side = FIRST_LINK + links as Entity;
    let first_processor = first_side + 2 * scenario.flows.len() as Entity;
    let mut queue = EventQueue::new(first_side as usize, 2 * scenario.flows.len() + nodes);

    let addresses = addresses(scenario);
    let (next_hop, classes) = next_hops(scenario);
    let recorder = recorder(scenario, record)?;
    let (mut wires, marks_data) = wires(scenario, seed, record)?;
    let mut sides = Vec::with_capacity(2 * scenario.flows.len());
    let (pages, pages_of) = Page::all(&scenario.flows);
    for flow in 0..scenario.flows.len() {
        for is_sender in [true, false] {
            let mut side = side(scenario, seed, flow, is_sender, &addresses, make_engine)?;
            side.entity = first_side + sides.len() as Entity;
            side.name = (links + sides.len()) as u16;
            side.page = pages_of.get(flow).copied().flatten();
            side.tracing = recorder.wants_engines();
            side.engine.set_trace(side.tracing);
            queue.set(side.entity, side.opens_at);
            sides.push(side);
        }
    }
    // A capture and the samples of a queue are taken in the order of time.
    if record.pcap.is_none() && record.packets.is_none() && record.queue_interval.is_none() {
        allow_sending_ahead(&mut wires, scenario);
    }
    let processors = scenario.hosts.iter().enumerate().map(|(node, host)| {
        host.processing.map(|draw| Processor {
            entity: first_processor + node as Entity,
            draw,
            rng: Rng::stream(seed, &format!("host:{}", host.name), "processing"),
            waiting: VecDeque::new(),
        })
    });
    let clock = Clock {
        warmup: Some(Instant::ZERO + scenario.warmup),
        sample: record
            .queue_interval
            .filter(|interval| *interval > Duration::ZERO)
            .map(|interval| (Instant::ZERO, interval)),
        series: Ticks::new(record, scenario).map(EndSeries::new),
    };
    queue.set(CLOCK, clock.next());
    Ok(World {
        processors: processors.collect(),
        net: Network {
            queue,
            wires,
            next_hop,
            classes,
            nodes: nodes as u32,
            addresses,
            protocols: sides.iter().step_by(2).map(|side| side.engine.protocol()).collect(),
            recorder,
            marks_data,
            hops: 0,
            lost: vec![0; scenario.flows.len()],
            senders: sides.iter().step_by(2).map(|side| side.node).collect(),
            counts_from: Instant::ZERO + scenario.warmup,
            end: Instant::ZERO + scenario.duration,
            buffers: Vec::new(),
            next_id: 0,
            news: Vec::new(),
        },
        sides,
        pages,
        end: Instant::ZERO + scenario.duration,
        clock,
        first_side,
        first_processor,
    })
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
    config.outbound_streams = config.outbound_streams.max(plan.flow.streams);
    config.inbound_streams = config.inbound_streams.max(plan.flow.streams);
    config.dscp = plan.flow.dscp;
    if plan.flow.level != anabranch_sctp::SubflowLevel::Zero {
        config.subflow_level = plan.flow.level;
    }
    config.inbound_subflows = config.inbound_subflows.max(plan.flow.subflows.len() as u8);
    if plan.is_sender {
        if plan.flow.subflows.len() > 1 || !plan.flow.events.is_empty() {
            config.subflows.clone_from(&plan.flow.subflows);
            config.max_subflows = config.max_subflows.max(plan.flow.subflows.len() as u8);
        }
        config.subflow_scheduler = plan.flow.scheduler;
        config.coupling = plan.flow.coupling;
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
    let scenario::Traffic::Packets(source) = plan.flow.traffic else {
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

fn told<'a>(plan: &'a EndPlan<'_>) -> &'a scenario::Engine {
    if plan.is_sender { &plan.flow.sender } else { &plan.flow.receiver }
}

fn side(
    scenario: &Scenario,
    seed: u64,
    index: usize,
    is_sender: bool,
    addresses: &[IpAddr],
    make_engine: &MakeEngine<'_>,
) -> Result<Side, RunError> {
    let flow = &scenario.flows[index];
    let node = |name: &str| {
        scenario.host_index(name).ok_or_else(|| RunError::NoSuchHost {
            what: format!("flow `{}`", flow.name),
            host: name.to_owned(),
        })
    };
    let (from, to) = (node(&flow.from)?, node(&flow.to)?);
    let (here, there) = if is_sender { (from, to) } else { (to, from) };
    // Whatever code point a packet has, it must find its way.
    let (_, classes) = scenario.route_classes();
    let ways: Option<Vec<_>> = classes
        .iter()
        .map(|dscp| scenario.route_of(here, there, *dscp).filter(|way| !way.is_empty()))
        .collect();
    let ways = match ways {
        Some(ways) => ways,
        // Nobody answers, so there need not be a way back.
        None if !is_sender && !flow.protocol.is_transport() => Vec::new(),
        None => {
            return Err(RunError::NoRoute {
                flow: flow.name.clone(),
                from: scenario.hosts[here].name.clone(),
                to: scenario.hosts[there].name.clone(),
            });
        }
    };
    if addresses[here].is_ipv4() != addresses[there].is_ipv4() {
        return Err(RunError::Unsupported(format!(
            "flow `{}`: one host has an IPv4 address, the other an IPv6 address",
            flow.name
        )));
    }
    let ports = (FIRST_SENDER_PORT + index as u16, FIRST_RECEIVER_PORT + index as u16);
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
        mtu: ways.iter().flatten().map(|&link| scenario.links[link].mtu).min().unwrap_or(u32::MAX),
        checksums: scenario.checksums,
        rng: Rng::stream(seed, &format!("flow:{}", flow.name), role),
        traffic_rng: Rng::stream(seed, &stream, "traffic"),
    };
    let engine =
        make_engine(&plan).map_err(|problem| RunError::Engine { flow: flow.name.clone(), problem })?;
    // Of the connections of a page only the first opens by itself.
    let begins = match &flow.traffic {
        scenario::Traffic::Objects(connection) => connection.number == 0,
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
        app: App::new(flow, is_sender),
        meta: Meta {
            source: SocketAddr::new(addresses[there], 0),
            destination: SocketAddr::new(addresses[here], 0),
            dscp: flow.dscp,
            ecn: anabranch_base::Ecn::NotEct,
        },
        ip_header: ip_header(addresses[here]),
        bytes_sent: 0,
        opens_at,
        opened_at: None,
        failed: None,
        page: None,
        tracing: false,
        base: engine::Counts::default(),
        subflow_base: Vec::new(),
        watch: Watch::default(),
    })
}

/// Bytes of an IP header without options.
pub(crate) const fn ip_header(address: IpAddr) -> u32 {
    if address.is_ipv4() { 20 } else { 40 }
}

/// The first address of each host; 10.X.Y.1 for host number X * 256 + Y, counted from 1, where the file gives none.
fn addresses(scenario: &Scenario) -> Vec<IpAddr> {
    let number = |(index, host): (usize, &scenario::Host)| {
        let own = || {
            let [_, _, high, low] = (index as u32 + 1).to_be_bytes();
            IpAddr::V4(Ipv4Addr::new(10, high, low, 1))
        };
        host.addresses.first().copied().unwrap_or_else(own)
    };
    scenario.hosts.iter().enumerate().map(number).collect()
}

/// The table of next hops, one part for each class of code points, and where the part of each code point begins.
fn next_hops(scenario: &Scenario) -> (Vec<u32>, [u32; 64]) {
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

fn recorder(scenario: &Scenario, record: &Record) -> Result<Recorder, RunError> {
    let links = scenario.links.iter().map(|link| format!("link:{}", link.name));
    let ends = scenario
        .flows
        .iter()
        .flat_map(|flow| ["sender", "receiver"].map(|end| format!("{}:{end}", flow.name)));
    let flows = scenario.flows.iter().map(|flow| flow.name.clone()).collect();
    let mut recorder = Recorder::new(record, links.chain(ends).collect(), flows);
    if let scenario::Selection::Only(names) = &record.pcap {
        if let Some(name) = names.iter().find(|name| scenario.links.iter().all(|link| link.name != **name)) {
            return Err(RunError::NoSuchName {
                what: "the list of links to capture".into(),
                name: name.clone(),
            });
        }
    }
    if !record.pcap.is_none() {
        let recorded = scenario.links.iter().filter(|link| record.pcap.contains(link.name.as_str()));
        let interfaces = recorded
            .map(|link| Interface { name: link.name.clone(), speed: link.rate.bits_per_second() })
            .collect::<Vec<_>>();
        recorder.capture = Some(Capture::new(&interfaces));
    }
    Ok(recorder)
}

/// The links, and whether some loss model looks at what packets carry.
fn wires(scenario: &Scenario, seed: u64, record: &Record) -> Result<(Vec<Wire>, bool), RunError> {
    let mut wires = Vec::with_capacity(scenario.links.len());
    let mut marks_data = false;
    let mut interfaces = 0..;
    for (index, link) in scenario.links.iter().enumerate() {
        let to = scenario.host_index(&link.to).ok_or_else(|| RunError::NoSuchHost {
            what: format!("link `{}`", link.name),
            host: link.to.clone(),
        })?;
        let (loss, data_only) = loss(scenario, seed, index)?;
        marks_data |= data_only;
        let rate = link.rate.bits_per_second();
        let stream = scenario.link_stream(index).unwrap_or_default();
        let rng = Rng::stream(seed, &stream, "queue");
        let config = LinkConfig {
            rate: rate.map_or(Rate::Infinite, Rate::BitsPerSecond),
            delay: link.delay,
            queue: link.queue.build(LinkFacts { rate, delay: link.delay }, rng),
            loss,
            loss_at: link.loss_at,
        };
        let conditioners = (1..).zip(&link.conditions).map(|(number, condition)| {
            Conditioner::new(condition, Rng::stream(seed, &stream, &format!("condition {number}")))
        });
        let mut built = Link::new(config).with_conditioners(conditioners.collect()).with_patterns(patterns(
            scenario,
            index,
            &mut marks_data,
        )?);
        let start = Instant::ZERO;
        built.count_between(start, start + scenario.warmup, start + scenario.duration);
        wires.push(Wire {
            link: built,
            to: to as u32,
            interface: record.pcap.contains(link.name.as_str()).then(|| interfaces.next()).flatten(),
            traced: record.packets.contains(link.name.as_str()),
            fed_by_one: false,
            feeds_ahead: false,
            series: Ticks::new(record, scenario).map(LinkSeries::new).map(Box::new),
            shares: record.by_flow.contains(link.name.as_str()).then(|| {
                Box::new(Shares {
                    flows: vec![Share::default(); scenario.flows.len()],
                    from: start + scenario.warmup,
                    until: start + scenario.duration,
                })
            }),
        });
    }
    Ok((wires, marks_data))
}

/// Finds the links that only one other link leads packets to, on the ways that the flows take there and back.
fn allow_sending_ahead(wires: &mut [Wire], scenario: &Scenario) {
    // For each link: the links before it, and whether a host sends into it.
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); wires.len()];
    let mut host_sends = vec![false; wires.len()];
    let (_, classes) = scenario.route_classes();
    // Where ways depend on code points and code points change on the way, the ways are not known before.
    if classes.len() > 1 && scenario.links.iter().any(|link| !link.conditions.is_empty()) {
        return;
    }
    for flow in &scenario.flows {
        let ends = (scenario.host_index(&flow.from), scenario.host_index(&flow.to));
        let (Some(from), Some(to)) = ends else { continue };
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
        if let ([feeder], false) = (feeders.as_slice(), host_sends[index]) {
            wires[index].fed_by_one = true;
            wires[*feeder].feeds_ahead = true;
        }
    }
}

/// The patterns of a link.
fn patterns(
    scenario: &Scenario,
    index: usize,
    marks_data: &mut bool,
) -> Result<Vec<(Pattern, Applies)>, RunError> {
    let link = &scenario.links[index];
    let use_of = |used: &scenario::PatternUse| {
        let applies = selection(scenario, used.applies, used.flow.as_ref(), ("the pattern", &link.name))?;
        Ok((used.pattern.clone(), applies))
    };
    let patterns = link.patterns.iter().map(use_of).collect::<Result<Vec<_>, RunError>>()?;
    *marks_data |= patterns.iter().any(|(_, applies)| applies.data_only);
    Ok(patterns)
}

/// The packets that a loss or a pattern counts.
fn selection(
    scenario: &Scenario,
    applies: scenario::Applies,
    flow: Option<&String>,
    (what, link): (&str, &str),
) -> Result<Applies, RunError> {
    let number = |name: &String| {
        let number = scenario.flows.iter().position(|flow| flow.name == *name);
        number.map(|number| number as u32).ok_or_else(|| RunError::NoSuchName {
            what: format!("{what} of link `{link}`"),
            name: name.clone(),
        })
    };
    let data_only = applies == scenario::Applies::Data;
    Ok(Applies { data_only, flow: flow.map(number).transpose()?, ..Applies::default() })
}

/// The loss model of a link, and whether it asks which packets carry data.
fn loss(scenario: &Scenario, seed: u64, index: usize) -> Result<(Loss, bool), RunError> {
    let link = &scenario.links[index];
    let rng = || Rng::stream(seed, &scenario.loss_stream(index).unwrap_or_default(), "loss");
    let (selected, dscp, flow) = match &link.loss {
        scenario::Loss::None => return Ok((Loss::None, false)),
        scenario::Loss::Bernoulli { applies, dscp, .. }
        | scenario::Loss::GilbertElliott { applies, dscp, .. }
        | scenario::Loss::BitErrors { applies, dscp, .. } => (*applies, *dscp, None),
        scenario::Loss::Positions { applies, dscp, flow, .. } => (*applies, *dscp, flow.as_ref()),
    };
    let applies = Applies { dscp, ..selection(scenario, selected, flow, ("the loss", &link.name))? };
    let model = match &link.loss {
        scenario::Loss::None => Loss::None,
        scenario::Loss::Bernoulli { p, .. } => Loss::Bernoulli(Bernoulli::new(*p, applies, rng())),
        scenario::Loss::GilbertElliott { parameters, .. } => {
            Loss::GilbertElliott(Box::new(GilbertElliott::new(*parameters, applies, rng())))
        }
        scenario::Loss::BitErrors { rate, .. } => {
            Loss::BitErrors(Box::new(BitErrors::new(*rate, applies, rng())))
        }
        scenario::Loss::Positions { drop, .. } => Loss::Positions(Positions::new(drop.clone(), applies)),
    };
    Ok((model, applies.data_only))
}
