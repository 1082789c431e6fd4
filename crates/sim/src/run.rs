//! Runs a scenario and sums up its results.

use anabranch_base::Instant;
use anabranch_sctp::SubflowStats;

use crate::app::{App, Received, Sending, Source};
use crate::assemble::{self, MakeEngine};
use crate::engine::Counts;
use crate::error::RunError;
use crate::record::{CaptureFile, Columns, Share, Shares};
use crate::scenario::{Flow, Link, Opener, Record, Scenario, Traffic};
use crate::side::Side;
use crate::snapshot::{AssociationSummary, EndSummary};
use crate::summary::{
    ClassSummary, FlowSummary, LinkSummary, Measures, ObjectSummary, ShareSummary, SubflowSummary, Summary,
};
use crate::world::World;

mod activity;
mod groups;
mod messages;

use activity::Activity;

/// The results of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunOutput {
    /// The summary.
    pub summary: Summary,
    /// The events, when asked for.
    pub trace: Option<Columns>,
    /// A capture file, when asked for and not written as the run went on.
    pub pcapng: Option<Vec<u8>>,
}

/// Runs `scenario` once with `seed`, recording as `record` asks (often `&scenario.record`). The same scenario and the
/// same seed give the same output, always.
///
/// # Errors
/// When the scenario names something that does not exist or cannot be run, and when the world runs in circles.
pub fn run(scenario: &Scenario, seed: u64, record: &Record) -> Result<RunOutput, RunError> {
    run_attached(scenario, seed, record, Attached::default())
}

/// Observers and files around a run, without influence on it.
#[derive(Default)]
pub struct Attached<'a> {
    /// Where the capture goes as it is made, if the record asks for one; without it the capture is in the output.
    pub capture: Option<CaptureFile>,
    /// Is told the virtual time after every 16,384 events, and says whether to go on.
    pub watcher: Option<&'a mut dyn FnMut(Instant) -> bool>,
    /// Whether the summary has the snapshots of both ends of each association.
    pub snapshots: bool,
}

/// As [`run`], with a file for the capture, a watcher, or both.
///
/// # Errors
/// As [`run`]; [`RunError::Stopped`] when the watcher says so, [`RunError::Capture`] when the file cannot be written.
pub fn run_attached(
    scenario: &Scenario,
    seed: u64,
    record: &Record,
    attached: Attached<'_>,
) -> Result<RunOutput, RunError> {
    run_with(scenario, seed, record, attached, &assemble::engine).map(|(output, _)| output)
}

/// Checks everything that [`run`] would refuse before its first event: names, routes, engines and their options.
///
/// # Errors
/// As [`run`].
pub fn check(scenario: &Scenario) -> Result<(), RunError> {
    assemble::world(scenario, 0, &scenario.record, None, &assemble::engine).map(|_| ())
}

/// A run with engines of the caller's choice; gives back the rest of the world too.
pub(crate) fn run_with(
    scenario: &Scenario,
    seed: u64,
    record: &Record,
    attached: Attached<'_>,
    make_engine: &MakeEngine<'_>,
) -> Result<(RunOutput, Vec<Side>), RunError> {
    let Attached { capture, watcher, snapshots } = attached;
    let mut world = assemble::world(scenario, seed, record, capture, make_engine)?;
    match watcher {
        Some(watcher) => world.run(watcher)?,
        None => world.run(&mut |_| true)?,
    }
    let mut summary = summary(scenario, seed, &mut world);
    if snapshots {
        for (flow, ends) in summary.flows.iter_mut().zip(world.sides.chunks_exact(2)) {
            flow.association = association(ends);
        }
    }
    let World { net, sides, .. } = world;
    let (trace, pcapng) = net.recorder.finish().map_err(RunError::Capture)?;
    Ok((RunOutput { summary, trace, pcapng }, sides))
}

fn summary(scenario: &Scenario, seed: u64, world: &mut World) -> Summary {
    let end = world.end;
    let span = scenario.duration - scenario.warmup;
    let links = scenario.links.iter().zip(&mut world.net.wires).map(|(link, wire)| {
        let stats = wire.link.stats(end);
        let average = wire.link.average(end);
        LinkSummary {
            name: link.name.clone(),
            arrivals: stats.arrivals,
            drops_queue: stats.drops_queue,
            drops_full: stats.drops_full,
            drops_early: stats.drops_early,
            drops_forced: stats.drops_forced,
            drops_sojourn: stats.drops_sojourn,
            drops_policed: stats.drops_policed,
            drops_error: stats.drops_error,
            marks: stats.marks,
            sent: stats.sent,
            utilisation: stats.utilisation(),
            queue_mean_packets: stats.queue_mean,
            queue_max_packets: stats.queue_max,
            queue_average_packets: average.map(|average| average.mean),
            queue_drop_probability: average.map(|average| average.probability),
            classes: wire.link.class_stats(end).into_iter().map(ClassSummary::from).collect(),
            flows: wire.shares.as_ref().map_or_else(Vec::new, |shares| by_flow(scenario, link, shares)),
        }
    });
    let links = links.collect();
    let lost = std::mem::take(&mut world.net.lost);
    let ends = world.sides.chunks_exact(2).zip(lost);
    let flows = scenario.flows.iter().zip(ends).filter_map(|(flow, (ends, packets_lost))| {
        let [sender, receiver] = ends else { return None };
        let start = sender.opened_at.or(receiver.opened_at);
        let since_start = |at: Option<Instant>| Some((at? - start?).as_secs_f64());
        let (received, intact, receiver_failed) = match &receiver.app {
            App::Sink(sink) => (sink.received, sink.verdict(), sink.failed.clone()),
            App::Client(client) => (client.received, client.verdict(), client.failed.clone()),
            App::Collector(collector) => {
                (collector.received, Some(collector.intact), collector.failed.clone())
            }
            _ => (Received::default(), None, None),
        };
        let of = |sending: &Sending| (sending.connected_at, sending.closed_at, sending.failed.clone());
        let (connected_at, closed_at, sender_failed) = match &sender.app {
            App::Source(Source { sending, .. }) => of(sending),
            App::Server(server) => (server.connected_at, server.closed_at, server.failed.clone()),
            App::Generator(generator) => of(&generator.sending),
            _ => (None, None, None),
        };
        let established_at = match flow.opened_by {
            Opener::Sender => connected_at,
            Opener::Receiver => received.connected_at,
        };
        let failed = [&sender.failed, &receiver.failed]
            .into_iter()
            .find_map(Clone::clone)
            .or(sender_failed)
            .or(receiver_failed);
        let activity = Activity::of(scenario, flow, (sender, receiver), failed.is_some());
        let spans = Spans { run: span.as_secs_f64(), active: activity.seconds };
        let measures = measures(flow, sender, receiver, spans);
        let is_transfer = matches!(flow.traffic, Traffic::Transfer { .. } | Traffic::Objects(_));
        Some(FlowSummary {
            name: flow.name.clone(),
            protocol: flow.protocol.name().to_owned(),
            engine: flow.protocol.is_transport().then(|| flow.sender.name.clone()),
            start_s: start.map(Instant::as_secs_f64),
            established_s: since_start(established_at),
            first_byte_s: since_start(received.first_byte_at),
            completion_s: since_start(received.complete_at),
            end_s: since_start(received.ended_at),
            close_s: since_start(closed_at).filter(|_| is_transfer),
            notes: activity.notes(flow, (sender, receiver), failed.is_some()),
            failed,
            active_from_s: activity.from.map(Instant::as_secs_f64),
            active_s: activity.seconds,
            receiver_limited_share: activity.receiver_limited,
            application_limited_share: activity.application_limited,
            negotiated_level: sender.engine.negotiated_level().map(str::to_owned),
            intact,
            packets_lost,
            measures,
            subflows: subflows(flow, sender, &measures, spans),
            association: None,
        })
    });
    let flows: Vec<FlowSummary> = flows.collect();
    Summary {
        schema: Summary::SCHEMA,
        seed,
        duration_s: scenario.duration.as_secs_f64(),
        warmup_s: scenario.warmup.as_secs_f64(),
        packet_hops: world.net.hops,
        groups: groups::groups(&scenario.flows, &flows),
        flows,
        objects: objects(scenario, &world.sides),
        sources: messages::sources(scenario, &world.sides),
        links,
    }
}

/// The snapshots of both ends of an association; `None` where there is none.
fn association(ends: &[Side]) -> Option<AssociationSummary> {
    let [sender, receiver] = ends else { return None };
    let end = |side: &Side| side.engine.snapshot().map(EndSummary::from);
    let both = AssociationSummary { sender: end(sender), receiver: end(receiver) };
    (both.sender.is_some() || both.receiver.is_some()).then_some(both)
}

/// Every object of every list, in the order of the list.
fn objects(scenario: &Scenario, sides: &[Side]) -> Vec<ObjectSummary> {
    let mut all = Vec::new();
    let mut first = None;
    let mut list = 0;
    for (flow, receiver) in scenario.flows.iter().zip(sides.iter().skip(1).step_by(2)) {
        let (Traffic::Objects(connection), App::Client(client)) = (&flow.traffic, &receiver.app) else {
            continue;
        };
        if connection.number == 0 {
            first = receiver.opened_at;
            list += 1;
        }
        let since = |at: Option<Instant>| Some((at? - first?).as_secs_f64());
        for (stream, object) in client.objects() {
            let summary = ObjectSummary {
                name: flow.group.clone().unwrap_or_else(|| flow.name.clone()),
                object: object.index as u64,
                flow: flow.name.clone(),
                stream,
                bytes: object.size,
                open_s: since(receiver.opened_at),
                first_byte_s: since(object.first_byte_at),
                completion_s: since(object.complete_at),
            };
            all.push((list, summary));
        }
    }
    all.sort_by_key(|(list, summary)| (*list, summary.object));
    all.into_iter().map(|(_, summary)| summary).collect()
}

fn by_flow(scenario: &Scenario, link: &Link, shares: &Shares) -> Vec<ShareSummary> {
    let seconds = (scenario.duration - scenario.warmup).as_secs_f64();
    let capacity = link.rate.bits_per_second().map(|rate| rate as f64 * seconds);
    let one = |(flow, share): (&Flow, &Share)| ShareSummary {
        name: flow.name.clone(),
        arrivals: share.arrivals,
        drops_queue: share.drops_queue,
        drops_policed: share.drops_policed,
        drops_error: share.drops_error,
        drop_rate: match share.arrivals {
            0 => 0.0,
            arrivals => {
                (share.drops_queue + share.drops_policed + share.drops_error) as f64 / arrivals as f64
            }
        },
        share: capacity
            .map(|bits| share.arrival_bytes.saturating_sub(share.dropped_bytes) as f64 * 8.0 / bits),
    };
    scenario.flows.iter().zip(&shares.flows).map(one).collect()
}

/// Time spans over which rates are taken, seconds.
#[derive(Clone, Copy, Debug)]
struct Spans {
    /// From the end of the warm-up to the end of the run.
    run: f64,
    /// Of these, those in which the flow was active.
    active: Option<f64>,
}

impl Spans {
    fn run(self, bytes: u64) -> f64 {
        if self.run > 0.0 { bytes as f64 * 8.0 / self.run } else { 0.0 }
    }

    fn active(self, bytes: u64) -> f64 {
        self.active.map_or(0.0, |seconds| bytes as f64 * 8.0 / seconds)
    }
}

fn measures(flow: &Flow, sender: &Side, receiver: &Side, spans: Spans) -> Measures {
    let sent = since(&sender.engine.counts(), &sender.base);
    let received = since(&receiver.engine.counts(), &receiver.base);
    let headers = received.packets_received_new * u64::from(receiver.ip_header);
    let counted = |count: u64| flow.protocol.is_transport().then_some(count);
    let indications = sent.fast_retransmits + sent.timeouts;
    Measures {
        goodput_payload_bps: spans.active(received.payload_bytes_received_new),
        goodput_wire_bps: spans.active(received.packet_bytes_received_new + headers),
        goodput_payload_run_bps: spans.run(received.payload_bytes_received_new),
        goodput_wire_run_bps: spans.run(received.packet_bytes_received_new + headers),
        sent_unique_payload_bps: spans.run(sent.payload_bytes_unique),
        packets_sent: sent.packets_sent,
        packets_unique: sent.packets_sent_unique,
        packets_received: Some(received.packets_received_new),
        retransmissions: counted(sent.retransmissions),
        fast_retransmits: counted(sent.fast_retransmits),
        timeouts: counted(sent.timeouts),
        loss_indication_rate: counted(indications).map(|indications| {
            if sent.packets_sent == 0 { 0.0 } else { indications as f64 / sent.packets_sent as f64 }
        }),
        srtt_mean_s: sender.watch.srtt_mean_s(),
        cwnd_peak_bytes: counted(sender.watch.cwnd_peak),
        delivered_bytes: received.payload_bytes_delivered,
    }
}

/// Each subflow. Of a single one everything is known; of several, only the sender's counts: goodput is then the data that it sent
/// for the first time.
fn subflows(flow: &Flow, sender: &Side, whole: &Measures, spans: Spans) -> Vec<SubflowSummary> {
    let now = sender.engine.subflows();
    if now.len() <= 1 {
        let dscp = now.first().map_or(flow.dscp, |stats| stats.dscp).get();
        return vec![SubflowSummary { index: 0, dscp, window_of: 0, measures: *whole }];
    }
    let none = SubflowStats::default();
    let each = now.iter().enumerate().map(|(index, stats)| {
        let base = sender.subflow_base.get(index).unwrap_or(&none);
        // A place that was taken anew counts from its own start.
        let base = if base.packets_sent > stats.packets_sent { &none } else { base };
        let packets_sent = stats.packets_sent - base.packets_sent;
        let packets_unique = stats.packets_sent_unique - base.packets_sent_unique;
        let payload = stats.payload_bytes_unique - base.payload_bytes_unique;
        let on_wire = stats.packet_bytes_unique() - base.packet_bytes_unique()
            + packets_unique * u64::from(sender.ip_header);
        let fast_retransmits = stats.fast_retransmits - base.fast_retransmits;
        let timeouts = stats.timeouts - base.timeouts;
        let samples = stats.rtt_samples - base.rtt_samples;
        let measures = Measures {
            goodput_payload_bps: spans.active(payload),
            goodput_wire_bps: spans.active(on_wire),
            goodput_payload_run_bps: spans.run(payload),
            goodput_wire_run_bps: spans.run(on_wire),
            sent_unique_payload_bps: spans.run(payload),
            packets_sent,
            packets_unique,
            // Its sender cannot know.
            packets_received: None,
            retransmissions: Some(stats.retransmissions - base.retransmissions),
            fast_retransmits: Some(fast_retransmits),
            timeouts: Some(timeouts),
            loss_indication_rate: Some(if packets_sent == 0 {
                0.0
            } else {
                (fast_retransmits + timeouts) as f64 / packets_sent as f64
            }),
            srtt_mean_s: (samples > 0)
                .then(|| (stats.rtt_sum_ns - base.rtt_sum_ns) as f64 / samples as f64 / 1e9),
            cwnd_peak_bytes: Some(stats.cwnd_peak),
            delivered_bytes: payload,
        };
        let window_of = stats.window_of.into();
        SubflowSummary { index: index as u16, dscp: stats.dscp.get(), window_of, measures }
    });
    each.collect()
}

fn since(now: &Counts, base: &Counts) -> Counts {
    Counts {
        packets_sent: now.packets_sent - base.packets_sent,
        packets_sent_unique: now.packets_sent_unique - base.packets_sent_unique,
        payload_bytes_unique: now.payload_bytes_unique - base.payload_bytes_unique,
        retransmissions: now.retransmissions - base.retransmissions,
        fast_retransmits: now.fast_retransmits - base.fast_retransmits,
        timeouts: now.timeouts - base.timeouts,
        packets_received_new: now.packets_received_new - base.packets_received_new,
        packet_bytes_received_new: now.packet_bytes_received_new - base.packet_bytes_received_new,
        payload_bytes_received_new: now.payload_bytes_received_new - base.payload_bytes_received_new,
        payload_bytes_delivered: now.payload_bytes_delivered - base.payload_bytes_delivered,
    }
}

#[cfg(test)]
mod routing;
#[cfg(test)]
mod samples;
#[cfg(test)]
mod sources;
#[cfg(test)]
mod tests;
