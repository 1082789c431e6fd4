//! Links with their queues, losses, conditioners and patterns.

use anabranch_base::{Instant, Rng};
use anabranch_link::{
    Applies, Bernoulli, BitErrors, Conditioner, GilbertElliott, Link, LinkConfig, LinkFacts, Loss, Pattern,
    Positions, Rate,
};

use crate::error::RunError;
use crate::mtu::LinkMtu;
use crate::network::Wire;
use crate::record::{LinkSeries, Share, Shares, Ticks};
use crate::scenario::{self, Record, Scenario};

/// The links, and whether some loss model depends on the contents of packets.
pub(super) fn wires(scenario: &Scenario, seed: u64, record: &Record) -> Result<(Vec<Wire>, bool), RunError> {
    let mut wires = Vec::with_capacity(scenario.links.len());
    let mut marks_data = false;
    let mut interfaces = 0..;
    for (index, link) in scenario.links.iter().enumerate() {
        let to = link.to;
        if to >= scenario.hosts.len() {
            return Err(RunError::NoSuchHost { what: format!("link `{}`", link.name), host: to });
        }
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
        let mut wire = Wire {
            link: built,
            from: link.from as u32,
            to: to as u32,
            mtu: mtu(link),
            interface: record.pcap.contains(&index).then(|| interfaces.next()).flatten(),
            traced: record.packets.contains(&index),
            fed_by_one: false,
            feeds_ahead: false,
            feeds_host_alone: false,
            series: Ticks::new(record, scenario).map(LinkSeries::new).map(Box::new),
            shares: record.by_flow.contains(&index).then(|| {
                Box::new(Shares {
                    flows: vec![Share::default(); scenario.flows.len()],
                    from: start + scenario.warmup,
                    until: start + scenario.duration,
                })
            }),
            is_plain: true,
        };
        let is_recorded = wire.interface.is_some() || wire.traced;
        wire.is_plain = !is_recorded && wire.mtu.is_none() && wire.series.is_none() && wire.shares.is_none();
        wires.push(wire);
    }
    Ok((wires, marks_data))
}

/// The MTU of a link and its changes, where the ends do not know the MTU.
fn mtu(link: &scenario::Link) -> Option<Box<LinkMtu>> {
    if link.mtu_answer == scenario::MtuAnswer::Known {
        return None;
    }
    let start = Instant::ZERO;
    let changes = link.mtu_changes.iter().map(|(at, mtu)| (start + *at, *mtu));
    let steps = std::iter::once((start, link.mtu)).chain(changes).collect();
    Some(Box::new(LinkMtu { steps, answers: link.mtu_answer == scenario::MtuAnswer::Icmp }))
}

/// The patterns of a link.
fn patterns(
    scenario: &Scenario,
    index: usize,
    marks_data: &mut bool,
) -> Result<Vec<(Pattern, Applies)>, RunError> {
    let link = &scenario.links[index];
    let use_of = |used: &scenario::PatternUse| {
        let applies = selection(scenario, used.applies, used.flow, ("the pattern", &link.name))?;
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
    flow: Option<usize>,
    (what, link): (&str, &str),
) -> Result<Applies, RunError> {
    if let Some(number) = flow.filter(|number| *number >= scenario.flows.len()) {
        return Err(RunError::NoSuchFlow { what: format!("{what} of link `{link}`"), flow: number });
    }
    let data_only = applies == scenario::Applies::Data;
    Ok(Applies { data_only, flow: flow.map(|number| number as u32), ..Applies::default() })
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
        scenario::Loss::Positions { applies, dscp, flow, .. } => (*applies, *dscp, *flow),
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
