//! Results as they are printed and as JSON has them. The page of keys (tools/keys.py) is written from this documentation.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::analysis::{Analysis, Ending, Purposes, Side};
use crate::bottleneck::{Occupancy, Passage};
use crate::flow::{End, Flow};
use crate::space::{Evidence, Reason, Rtt, Space};

/// A packet, a line of the list.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PacketLine {
    /// Number of its frame, from 1.
    pub number: u64,
    /// Seconds since the capture's first packet.
    pub time_s: f64,
    /// Interface by name or number.
    pub interface: String,
    /// Its flow, if it has one.
    pub flow: Option<u32>,
    /// Source address.
    pub source: String,
    /// Destination address.
    pub destination: String,
    /// Protocol.
    pub protocol: &'static str,
    /// Bytes of the IP datagram.
    pub size: u32,
    /// Number of the frame in which it was recorded before, if it was.
    pub copy_of: Option<u64>,
    /// The content in one line.
    pub info: String,
}

/// A flow.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowReport {
    /// Its number, from 1.
    pub id: u32,
    /// `TCP`, `SCTP` or `SCTP/UDP`.
    pub protocol: &'static str,
    /// `plain`, `sf` (level 1), or `sf2007`.
    pub encoding: &'static str,
    /// Whether its first SYN or INIT is in the capture; without it `client` is the side that sent first.
    pub opening_seen: bool,
    /// Address and port of the side that opened it.
    pub client: String,
    /// Address and port of the other.
    pub server: String,
    /// Seconds from the capture's first packet to the flow's first.
    pub start_s: f64,
    /// Seconds from the flow's first packet to its last, as far as times go on.
    pub duration_s: f64,
    /// Seconds from the first SYN or INIT until the client's first acknowledgement or the COOKIE ACK; `null` where
    /// they were not seen.
    pub handshake_s: Option<f64>,
    /// The end of the flow.
    pub ending: Ending,
    /// From the client to the server.
    pub forward: DirectionReport,
    /// From the server to the client.
    pub back: DirectionReport,
}

/// One direction of a flow.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DirectionReport {
    /// Interface at which it was looked at; `null` if nothing was seen.
    pub interface: Option<String>,
    /// Packets.
    pub packets: u64,
    /// Packets with user data.
    pub data_packets: u64,
    /// Packets with something that had been sent before.
    pub packets_again: u64,
    /// Bytes of all packets, with IP headers.
    pub bytes: u64,
    /// Bytes that are not user data.
    pub overhead_bytes: u64,
    /// All bytes by purpose.
    pub purposes: Purposes,
    /// User data, each byte once, over the time from the flow's first packet to the last data of this direction, bits
    /// per second; `null` without data.
    pub goodput_bps: Option<f64>,
    /// Retransmissions of data by reason.
    pub reasons: BTreeMap<Reason, u64>,
    /// Of these, those known to have been spurious.
    pub spurious: u64,
    /// Control messages that were sent again: INIT, COOKIE ECHO, SHUTDOWN.
    pub control_again: u64,
    /// Round trip of this direction's data and the answers to it, as seen at the place of the capture.
    pub rtt: Option<RttReport>,
    /// Duplicate acknowledgements for this direction's data (TCP).
    pub duplicate_acks: u64,
    /// The smallest window that this direction's sender announced, bytes.
    pub window_min: Option<u64>,
    /// The largest.
    pub window_max: Option<u64>,
    /// Number of times that it closed its window.
    pub zero_windows: u64,
    /// Largest segment that its sender accepts (TCP).
    pub mss: Option<u16>,
    /// Its sender knows SACK (TCP; SCTP always does).
    pub sack: bool,
    /// Its sender has time stamps (TCP).
    pub timestamps: bool,
    /// Streams with data (SCTP).
    pub streams: u64,
    /// Subflows with data (SF); 0 for plain ones.
    pub subflows: u64,
    /// Packets with the mark of ECN.
    pub ce_marks: u64,
    /// Packets with a wrong checksum; all of them are counted, since network cards fill it in late.
    pub wrong_checksums: u64,
    /// Packets with Adler-32, the checksum of RFC 2960.
    pub old_checksums: u64,
    /// Packets that were recorded before; they do not count in anything else.
    pub copies: u64,
}

/// Round-trip times, seconds (Karn's rule: data sent once).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RttReport {
    /// Number of samples.
    pub samples: u64,
    /// Smallest.
    pub min_s: f64,
    /// Mean.
    pub mean_s: f64,
    /// Largest.
    pub max_s: f64,
}

/// A retransmission.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Retransmission {
    /// Number of its frame.
    pub number: u64,
    /// Seconds since the capture's first packet.
    pub time_s: f64,
    /// The flow.
    pub flow: u32,
    /// From the server to the client.
    pub back: bool,
    /// Kind of the retransmission: `bytes` (TCP), `tsn`, `stsn` or `fsn` (SCTP), or the name of a control chunk.
    pub what: &'static str,
    /// The subflow, where there are any.
    pub subflow: Option<i16>,
    /// The first number of the retransmission on the wire; `null` for control chunks.
    pub first: Option<u32>,
    /// The first number of the retransmission, counted from the first that was seen.
    pub relative: Option<i64>,
    /// How many numbers it takes: bytes of TCP with SYN and FIN, or one chunk.
    pub numbers: Option<i64>,
    /// User bytes.
    pub bytes: u32,
    /// How often it had been sent before.
    pub sent_before: u32,
    /// Seconds since it was sent the last time.
    pub after_s: Option<f64>,
    /// The reason for the retransmission.
    pub reason: Reason,
    /// The evidence that it was not needed, if there is any.
    pub spurious: Option<Evidence>,
}

/// A bottleneck of one direction.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BottleneckReport {
    /// Source address, or `*`.
    pub source: String,
    /// Destination address, or `*`.
    pub destination: String,
    /// The interface at which its packets were recorded.
    pub interface: String,
    /// Bits per second.
    pub rate_bps: u64,
    /// Packets that it holds.
    pub limit_packets: Option<u64>,
    /// Sums.
    #[serde(flatten)]
    pub occupancy: Occupancy,
    /// Packet by packet.
    pub passages: Vec<Passage>,
}

pub(crate) fn seconds(ns: i64) -> f64 {
    ns as f64 / 1e9
}

pub(crate) fn end((address, port): End) -> String {
    std::net::SocketAddr::new(address, port).to_string()
}

fn rtt(spaces: &BTreeMap<i16, Space>) -> Option<RttReport> {
    let all: Vec<&Rtt> = spaces.values().map(|space| &space.rtt).filter(|rtt| rtt.samples > 0).collect();
    let samples: u64 = all.iter().map(|rtt| rtt.samples).sum();
    let min = all.iter().map(|rtt| rtt.min_ns).min()?;
    let max = all.iter().map(|rtt| rtt.max_ns).max()?;
    let sum: i128 = all.iter().map(|rtt| rtt.sum_ns).sum();
    let mean_s = sum as f64 / 1e9 / samples as f64;
    Some(RttReport { samples, min_s: seconds(min), mean_s, max_s: seconds(max) })
}

impl FlowReport {
    pub(crate) fn of(flow: &Flow, analysis: &Analysis, zero_ns: i64, name: impl Fn(u32) -> String) -> Self {
        let [client, server] = &analysis.sides;
        let first = analysis.first_ns.unwrap_or(zero_ns);
        let subflows = client.spaces.keys().chain(server.spaces.keys()).any(|&subflow| subflow >= 0);
        let direction = |side: &Side, back: bool| {
            let interface = flow.interfaces.get(usize::from(back)).copied().flatten().map(&name);
            DirectionReport::of(side, interface, analysis.reasons(back))
        };
        Self {
            id: flow.id,
            protocol: flow.protocol,
            encoding: match (flow.sf2007, subflows) {
                (true, _) => "sf2007",
                (_, true) => "sf",
                _ => "plain",
            },
            opening_seen: analysis.opening_seen(),
            client: end(flow.client),
            server: end(flow.server),
            start_s: seconds(first.saturating_sub(zero_ns)),
            duration_s: seconds(analysis.elapsed_ns),
            handshake_s: analysis.handshake_ns().map(seconds),
            ending: analysis.ending,
            forward: direction(client, false),
            back: direction(server, true),
        }
    }
}

impl DirectionReport {
    fn of(side: &Side, interface: Option<String>, reasons: BTreeMap<Reason, u64>) -> Self {
        let again = || side.spaces.values().flat_map(|space| &space.again);
        let span = side.last_data_ns.map(seconds);
        Self {
            interface,
            packets: side.packets,
            data_packets: side.data_packets,
            packets_again: side.packets_again,
            bytes: side.purposes.total(),
            overhead_bytes: side.purposes.overhead(),
            purposes: side.purposes,
            goodput_bps: span
                .filter(|&span| span > 0.0)
                .map(|span| side.purposes.payload as f64 * 8.0 / span),
            reasons,
            spurious: again().filter(|again| again.spurious.is_some()).count() as u64,
            control_again: side.controls.again().len() as u64,
            rtt: rtt(&side.spaces),
            duplicate_acks: side.spaces.values().map(|space| space.duplicate_acks).sum(),
            window_min: side.offered.least(),
            window_max: side.offered.most(),
            zero_windows: side.offered.times_shut(),
            mss: side.mss,
            sack: side.sack_permitted,
            timestamps: side.timestamps,
            streams: side.streams.len() as u64,
            subflows: side.spaces.keys().filter(|&&subflow| subflow >= 0).count() as u64,
            ce_marks: side.marked,
            wrong_checksums: side.wrong_checksums,
            old_checksums: side.old_checksums,
            copies: side.copies,
        }
    }
}

/// Retransmissions of a flow, by time.
pub(crate) fn retransmissions(flow: &Flow, analysis: &Analysis, zero_ns: i64) -> Vec<Retransmission> {
    let mut list = Vec::new();
    for (side, back) in analysis.sides.iter().zip([false, true]) {
        for (&subflow, space) in &side.spaces {
            let what = match (flow.protocol, flow.sf2007, subflow) {
                ("TCP", ..) => "bytes",
                (_, true, _) => "fsn",
                (_, _, -1) => "tsn",
                _ => "stsn",
            };
            for again in &space.again {
                list.push(Retransmission {
                    number: again.frame,
                    time_s: seconds(again.time_ns.saturating_sub(zero_ns)),
                    flow: flow.id,
                    back,
                    what,
                    subflow: (subflow >= 0).then_some(subflow),
                    first: Some(space.narrow(again.start)),
                    relative: Some(again.start),
                    numbers: Some(again.end - again.start),
                    bytes: again.bytes,
                    sent_before: again.before,
                    after_s: again.after_ns.map(seconds),
                    reason: again.reason,
                    spurious: again.spurious,
                });
            }
        }
        for again in side.controls.again() {
            list.push(Retransmission {
                number: again.frame,
                time_s: seconds(again.time_ns.saturating_sub(zero_ns)),
                flow: flow.id,
                back,
                what: again.name,
                subflow: None,
                first: None,
                relative: None,
                numbers: None,
                bytes: again.bytes,
                sent_before: again.before,
                after_s: again.after_ns.map(seconds),
                reason: again.reason,
                spurious: None,
            });
        }
    }
    list.sort_by_key(|again| (again.number, again.relative));
    list
}
