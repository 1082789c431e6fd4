//! Analysis of the two directions of a flow: packets, bytes by their purpose, numberings.

mod controls;
mod offered;
mod read;
mod sctp;
mod tcp;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::packet::Packet;
use crate::space::{Reason, Space};
use controls::{Control, Controls};
use offered::OfferedWindow;
pub(crate) use read::all;

/// Assumptions of the analysis that a capture cannot show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assumptions {
    /// No retransmission timer of the hosts is shorter, nanoseconds; Linux has 200 ms, RFC 6298 has 1 s.
    pub least_timeout_ns: i64,
}

impl Default for Assumptions {
    fn default() -> Self {
        Self { least_timeout_ns: 200_000_000 }
    }
}

/// Bytes of a direction by purpose. Every byte of every packet is in one of them.
///
/// A packet without user data belongs with all its headers to the purpose of its first chunk or of its flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Purposes {
    /// User data, the first time it is seen.
    pub payload: u64,
    /// User data that had been seen before.
    pub payload_again: u64,
    /// Headers of IP, of the link and of UDP around SCTP, of packets with user data.
    pub network_headers: u64,
    /// TCP's header with its options, or SCTP's common header, of packets with user data.
    pub transport_headers: u64,
    /// Headers and padding of SCTP's chunks with user data.
    pub chunk_headers: u64,
    /// Packets that only acknowledge, and SACK chunks beside data.
    pub acknowledgements: u64,
    /// SYN and the answer to it up to the first acknowledgement; INIT to COOKIE ACK.
    pub handshake: u64,
    /// FIN and RST without data; SHUTDOWN and ABORT.
    pub teardown: u64,
    /// Anything else: heartbeats, errors, reconfiguration, keep-alives.
    pub control: u64,
}

impl Purposes {
    /// All bytes.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.payload + self.payload_again + self.overhead()
    }

    /// All bytes but user data.
    #[must_use]
    pub fn overhead(&self) -> u64 {
        self.network_headers
            + self.transport_headers
            + self.chunk_headers
            + self.acknowledgements
            + self.handshake
            + self.teardown
            + self.control
    }
}

/// The counts of one direction of a flow.
#[derive(Clone, Debug, Default)]
pub(crate) struct Side {
    pub(crate) packets: u64,
    pub(crate) data_packets: u64,
    pub(crate) packets_again: u64,
    /// How long the flow had lasted when the last data was sent.
    pub(crate) last_data_ns: Option<i64>,
    pub(crate) purposes: Purposes,
    /// By subflow; -1 is data without one.
    pub(crate) spaces: BTreeMap<i16, Space>,
    pub(crate) controls: Controls,
    /// The window that it offers as a receiver.
    pub(crate) offered: OfferedWindow,
    pub(crate) marked: u64,
    pub(crate) wrong_checksums: u64,
    pub(crate) old_checksums: u64,
    pub(crate) copies: u64,
    pub(crate) streams: Vec<u16>,
    /// TCP: shift of the window that this side announced, and the largest segment it takes.
    scale: Option<u8>,
    pub(crate) mss: Option<u16>,
    pub(crate) sack_permitted: bool,
    pub(crate) timestamps: bool,
}

/// The end of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// The end is not within the capture.
    #[default]
    Open,
    /// One side has said that it has no more data.
    HalfClosed,
    /// FIN in both directions, or SHUTDOWN COMPLETE.
    Closed,
    /// RST or ABORT.
    Aborted,
}

/// The analysis of a flow.
#[derive(Clone, Debug, Default)]
pub(crate) struct Analysis {
    /// From the client first.
    pub(crate) sides: [Side; 2],
    /// Stretches of time and times.
    pub(crate) opened_ns: Option<(u32, i64)>,
    pub(crate) established_ns: Option<(u32, i64)>,
    /// Time from the first packet to the last, as far as times go on.
    pub(crate) elapsed_ns: i64,
    /// Time of the first packet.
    pub(crate) first_ns: Option<i64>,
    last: Option<(u32, i64)>,
    pub(crate) ending: Ending,
    fins: [bool; 2],
    syn_answered: bool,
}

impl Analysis {
    fn both(&mut self, back: bool) -> (&mut Side, &mut Side) {
        let [client, server] = &mut self.sides;
        if back { (server, client) } else { (client, server) }
    }

    /// Time goes on to this packet.
    fn pass(&mut self, packet: &Packet<'_>) {
        if let Some((stretch, time_ns)) = self.last {
            if stretch == packet.stretch {
                let passed = packet.time_ns.saturating_sub(time_ns).max(0);
                self.elapsed_ns = self.elapsed_ns.saturating_add(passed);
            }
        }
        self.first_ns.get_or_insert(packet.time_ns);
        self.last = Some((packet.stretch, packet.time_ns));
    }

    /// Whether the first SYN or INIT is in the capture.
    pub(crate) fn opening_seen(&self) -> bool {
        self.opened_ns.is_some()
    }

    /// How long the handshake took; `None` where times go back in between.
    pub(crate) fn handshake_ns(&self) -> Option<i64> {
        let ((opened, from), (established, to)) = self.opened_ns.zip(self.established_ns)?;
        (opened == established).then(|| to.saturating_sub(from)).filter(|&took| took >= 0)
    }

    /// Retransmissions of data of both directions: how often each reason.
    pub(crate) fn reasons(&self, back: bool) -> BTreeMap<Reason, u64> {
        let mut reasons = BTreeMap::new();
        let side = self.sides.get(usize::from(back));
        for again in side.into_iter().flat_map(|side| side.spaces.values()).flat_map(|space| &space.again) {
            *reasons.entry(again.reason).or_insert(0) += 1;
        }
        reasons
    }
}

impl Side {
    fn data_seen(&mut self, elapsed_ns: i64) {
        self.data_packets += 1;
        self.last_data_ns = Some(elapsed_ns);
    }

    /// A control message was sent. Its timer is that of the data of its side, 1 s before a round trip is known.
    fn control(&mut self, packet: &Packet<'_>, sent: &Control, assumed: &Assumptions) {
        let timers = self.spaces.values().map(Space::least_wait_ns);
        let timer =
            timers.max().unwrap_or_else(|| Space::new(0, 32, assumed.least_timeout_ns).least_wait_ns());
        self.controls.sent(packet, sent, timer);
    }
}
