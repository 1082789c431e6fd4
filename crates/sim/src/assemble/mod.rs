//! Builds a world from a scenario.

mod ends;
mod engines;
mod links;
mod routes;

use std::collections::VecDeque;

use anabranch_base::{Duration, Instant, Rng};

use crate::error::RunError;
use crate::event_queue::{Entity, EventQueue};
use crate::network::{FIRST_LINK, Network};
use crate::page::Page;
use crate::record::{Capture, CaptureFile, EndSeries, Interface, Recorder, Ticks};
use crate::scenario::{Record, Scenario, Selection};
use crate::world::{CLOCK, Clock, Processor, World};
#[cfg(test)]
pub(crate) use engines::EndPlan;
pub(crate) use engines::{MakeEngine, engine};

const MAX_FLOWS: usize = 20_000;

/// The world of `scenario` for `seed`, before its first event.
pub(crate) fn world(
    scenario: &Scenario,
    seed: u64,
    record: &Record,
    capture: Option<CaptureFile>,
    make_engine: &MakeEngine<'_>,
) -> Result<World, RunError> {
    if scenario.flows.len() > MAX_FLOWS
        || scenario.links.len() + 2 * scenario.flows.len() > usize::from(u16::MAX)
    {
        return Err(RunError::Unsupported(format!(
            "more than {MAX_FLOWS} flows or 65535 links and ends of flows"
        )));
    }
    let link_count = scenario.links.len();
    let nodes = scenario.hosts.len();
    let first_side = FIRST_LINK + link_count as Entity;
    let first_processor = first_side + 2 * scenario.flows.len() as Entity;
    let mut queue = EventQueue::new(first_side as usize, 2 * scenario.flows.len() + nodes);

    let addresses = routes::addresses(scenario);
    let (next_hop, classes) = routes::next_hops(scenario);
    let recorder = recorder(scenario, record, capture)?;
    let (mut wires, marks_data) = links::wires(scenario, seed, record)?;
    let mut sides = Vec::with_capacity(2 * scenario.flows.len());
    let (pages, pages_of) = Page::all(&scenario.flows);
    for flow in 0..scenario.flows.len() {
        for is_sender in [true, false] {
            let mut side = ends::side(scenario, seed, flow, is_sender, &addresses, make_engine)?;
            side.entity = first_side + sides.len() as Entity;
            side.name = (link_count + sides.len()) as u16;
            side.page = pages_of.get(flow).copied().flatten();
            side.tracing = recorder.wants_engines();
            side.engine.set_trace(side.tracing);
            queue.set(side.entity, side.opens_at);
            sides.push(side);
        }
    }
    // A capture and the samples of a queue are taken in the order of time.
    if record.pcap.is_none() && record.packets.is_none() && record.queue_interval.is_none() {
        routes::allow_sending_ahead(&mut wires, scenario);
    }
    // Packets are numbered, and records of one time written, in the order of events; the connections of a page act on one another
    // without a packet.
    if !recorder.records() && pages.is_empty() {
        routes::allow_running_ahead(&mut wires, scenario);
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
            formats: sides.iter().step_by(2).map(|side| side.engine.format()).collect(),
            recorder,
            marks_data,
            hops: 0,
            lost: vec![0; scenario.flows.len()],
            senders: sides.iter().step_by(2).map(|side| side.node).collect(),
            counts_from: Instant::ZERO + scenario.warmup,
            end: Instant::ZERO + scenario.duration,
            buffers: Vec::new(),
            next_id: 0,
            progress: Vec::new(),
            bounced: Vec::new(),
        },
        sides,
        pages,
        end: Instant::ZERO + scenario.duration,
        clock,
        first_side,
        first_processor,
    })
}

/// Builds the recorder of the run.
fn recorder(
    scenario: &Scenario,
    record: &Record,
    capture: Option<CaptureFile>,
) -> Result<Recorder, RunError> {
    let links = scenario.links.iter().map(|link| format!("link:{}", link.name));
    let ends = scenario
        .flows
        .iter()
        .flat_map(|flow| ["sender", "receiver"].map(|end| format!("{}:{end}", flow.name)));
    let flows = scenario.flows.iter().map(|flow| flow.name.clone()).collect();
    let mut recorder = Recorder::new(record, links.chain(ends).collect(), flows);
    if let Selection::Only(links) = &record.pcap {
        if let Some(&link) = links.iter().find(|link| **link >= scenario.links.len()) {
            return Err(RunError::NoSuchLink { what: "the list of links to capture".into(), link });
        }
    }
    if !record.pcap.is_none() {
        let recorded = scenario.links.iter().enumerate().filter(|(index, _)| record.pcap.contains(index));
        let interfaces = recorded
            .map(|(_, link)| Interface {
                name: link.name.clone(),
                speed: link.rate.bits_per_second(),
                from: link.from as u32,
                to: link.to as u32,
            })
            .collect();
        recorder.capture = Some(Capture::new(interfaces, record.snaplen, capture));
    }
    Ok(recorder)
}
