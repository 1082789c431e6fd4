//! Readings of the sender for statistics, traces and tests.

use std::collections::BTreeMap;

use anabranch_base::{Dscp, Duration};

use super::Sender;
use super::flight::{CHUNK, ChunkState, Counted};
use super::lane::Lane;
use super::retention::most_retained;
use super::subflow::{Life, Subflow};
use crate::context::Context;
use crate::ids::{Id as _, LaneId, PathId, SpaceId, SubflowId};
use crate::path::Path;
use crate::stats::{Stats, SubflowStats};
use crate::stream::outbound::Fragment;

impl Sender {
    /// Fills in the gauges of the association.
    pub(crate) fn fill_stats(&self, cx: &Context, stats: &mut Stats) {
        if let Some(lane) = self.tables.lanes.first() {
            stats.srtt = lane.srtt(cx);
            stats.rttvar = lane.rttvar(cx);
            stats.min_rtt = lane.round_trip.min();
            stats.last_rtt = lane.round_trip.last();
            stats.rto = lane.rto(cx);
            stats.cwnd = self.tables.total_window();
            stats.ssthresh = lane.window.ssthresh();
            stats.cwnd_peak =
                if self.tables.lanes.len() == 1 { lane.window.peak() } else { self.coupling.window_peak() };
        }
        stats.chunks_lost +=
            self.tables.lanes.rows().iter().map(|lane| u64::from(lane.loss.count())).sum::<u64>();
        stats.flight = self.flight_bytes();
        stats.queued_bytes = self.buffer.queued_bytes(&self.tables) as u64;
        stats.peer_window = self.peer_window();
    }

    /// Congestion window (of all subflows together) and smoothed round-trip time of the first.
    pub(crate) fn window_and_srtt(&self, cx: &Context) -> (u64, Option<Duration>) {
        match self.tables.lanes.rows() {
            [] => (0, None),
            [lane] => (lane.window.cwnd(), lane.srtt(cx)),
            [lane, ..] => (self.tables.total_window(), lane.srtt(cx)),
        }
    }

    /// Code point of a packet that acknowledges data of a space, or `None`, no data: that of the subflow which sends in the space,
    /// or of the first.
    #[inline]
    pub(crate) fn dscp_of_space(&self, at: Option<SpaceId>) -> Dscp {
        let sends_there = at.and_then(|at| self.subflow_of_space(at));
        sends_there.or(self.tables.subflows.first()).map(|subflow| subflow.dscp).unwrap_or_default()
    }

    #[cold]
    fn subflow_of_space(&self, at: SpaceId) -> Option<&Subflow> {
        self.tables.subflows.rows().iter().find(|subflow| subflow.space == at)
    }

    /// Code point of the subflow `turn` places behind the first, in a circle.
    pub(crate) fn dscp_in_turn(&self, turn: u32) -> Dscp {
        let rows = self.tables.subflows.rows();
        let at = (turn as usize).checked_rem(rows.len()).and_then(|at| rows.get(at));
        at.map(|subflow| subflow.dscp).unwrap_or_default()
    }

    /// Bytes in flight, DATA chunk headers included.
    pub(crate) fn flight_bytes(&self) -> u64 {
        self.tables.lanes.rows().iter().map(|lane| lane.in_flight.bytes()).sum()
    }

    /// Number of subflows that take streams.
    pub(crate) fn open_subflows_now(&self) -> usize {
        self.tables.open_subflow_count() as usize
    }

    /// Counters and gauges of a subflow; `None` when there never was one.
    #[inline]
    pub(crate) fn subflow_stats(&self, cx: &Context, id: SubflowId) -> Option<SubflowStats> {
        let subflow = self.tables.subflows.get(id)?;
        let mut stats = subflow.counters.stats();
        stats.dscp = subflow.dscp;
        stats.open = subflow.life == Life::Open;
        stats.queued_bytes = subflow.out.queued_bytes() as u64;
        stats.peer_window = self.tables.spaces.get(subflow.space).and_then(|space| space.allowance.left());
        if let Some(lane) = self.tables.lanes.get(subflow.lane) {
            stats.window_of = lane.subflow().row() as u8;
            stats.flight = lane.in_flight.bytes();
            stats.srtt = lane.srtt(cx);
            stats.rttvar = lane.rttvar(cx);
            stats.min_rtt = lane.round_trip.min();
            stats.last_rtt = lane.round_trip.last();
            stats.chunks_lost = u64::from(lane.loss.count());
            stats.one_way_delay_us = lane.round_trip.one_way_delay_us().map(i64::from);
            stats.rto = lane.rto(cx);
            stats.cwnd = lane.window.cwnd();
            stats.cwnd_peak = lane.window.peak();
            stats.ssthresh = lane.window.ssthresh();
        }
        if self.coupling.is_on() {
            stats.window_of =
                self.coupling.first_window(&self.tables, subflow.lane).unwrap_or(stats.window_of);
        }
        Some(stats)
    }

    /// True if the congestion state of two subflows is alike: both estimates of the round trip and both windows within
    /// `tolerance` of each other, as a share (0.25: a quarter).
    pub(crate) fn alike(&self, cx: &Context, a: SubflowId, b: SubflowId, tolerance: f64) -> bool {
        let (Some(a), Some(b)) = (self.subflow_stats(cx, a), self.subflow_stats(cx, b)) else { return false };
        let near = |x: f64, y: f64| (x - y).abs() <= tolerance * x.max(y);
        let seconds = |rtt: Option<Duration>| rtt.map(Duration::as_secs_f64);
        let (Some(x), Some(y)) = (seconds(a.srtt), seconds(b.srtt)) else { return false };
        a.open && b.open && near(x, y) && near(a.cwnd as f64, b.cwnd as f64)
    }

    /// The sequence space of a subflow; a space of several subflows belongs to the first of them.
    pub(crate) fn space_of_its_own(&self, id: SubflowId) -> Option<SpaceId> {
        let space = self.tables.subflows.get(id)?.space;
        let first = self.tables.subflows.rows().iter().position(|subflow| subflow.space == space);
        (first == Some(id.row())).then_some(space)
    }

    /// Sum of the cumulative points of all spaces: it changes when one moves.
    pub(crate) fn progress(&self) -> u64 {
        self.tables.spaces.rows().iter().fold(0, |sum, space| sum.wrapping_add(space.flight.first()))
    }

    /// Chunks that were sent and are not acknowledged, those that are to be sent again included.
    pub(crate) fn unacknowledged_chunks(&self) -> usize {
        self.tables.lanes.rows().iter().map(|lane| lane.in_flight.unacked() as usize).sum()
    }

    /// The path that the data of a subflow takes.
    pub(crate) fn path_of_subflow(&self, index: u8) -> Option<PathId> {
        let subflow = self.tables.subflows.get(SubflowId::new(index))?;
        self.tables.lanes.get(subflow.lane).map(Lane::path)
    }

    /// Bytes in flight on a path, and chunks on it that were taken for lost.
    pub(crate) fn flight_and_lost_on(&self, path: PathId) -> (u64, u64) {
        let on_path = self.tables.lanes.rows().iter().filter(|lane| lane.path() == path);
        on_path.fold((0, 0), |(flight, lost), lane| {
            (flight + lane.in_flight.bytes(), lost + u64::from(lane.loss.count()))
        })
    }

    /// Congestion windows of the lanes on a path together, bytes.
    pub(crate) fn window_on(&self, path: PathId) -> u64 {
        self.tables
            .lanes
            .rows()
            .iter()
            .filter(|lane| lane.path() == path)
            .map(|lane| lane.window.cwnd())
            .sum()
    }

    /// Slow-start thresholds of the lanes on a path together, bytes.
    pub(crate) fn ssthresh_on(&self, path: PathId) -> u64 {
        let on_path = self.tables.lanes.rows().iter().filter(|lane| lane.path() == path);
        on_path.fold(0, |sum: u64, lane| sum.saturating_add(lane.window.ssthresh()))
    }

    /// Checks that every lane's counts agree with its flight, and that no window is above the largest: for tests,
    /// after every step of a life.
    ///
    /// # Errors
    /// The first lane whose numbers differ from a fresh count, in words.
    pub(crate) fn audit(&self, cx: &Context) -> Result<(), String> {
        // Each space may have one packet in flight whatever the windows say: "A zero window probe is a DATA chunk sent when the
        // receiver has no buffer space" (RFC 9260, 6.1 A). The packet may have left when the MTU of its path was the configured one; the user may have said since that a
        // path carries more. The whole association may have twice the limit.
        let packet = cx.paths.rows().iter().map(Path::mtu).fold(cx.env.config().mtu, u16::max);
        let most = 2 * most_retained(cx.env.config()) + u64::from(packet) * self.tables.spaces.len() as u64;
        let retained = self.tables.retained() - self.numbers_of_the_last_given_up() * CHUNK;
        if retained > most {
            return Err(format!("{retained} bytes are kept until they are acknowledged; {most} are allowed"));
        }
        if self.tables.subflows.rows().iter().any(|subflow| !subflow.out.is_counted()) {
            return Err(
                "the bytes that wait on the streams of a subflow are not what a count gives".to_owned()
            );
        }
        for (id, lane) in self.tables.lanes.iter() {
            let (window, peak) = (lane.window.cwnd(), lane.window.peak());
            if window > peak {
                return Err(format!(
                    "lane {} has a window of {window} bytes, and the largest was {peak}",
                    id.get()
                ));
            }
            let known = (lane.in_flight.unacked(), lane.in_flight.counted());
            let counted = self.count(id, lane)?;
            if known != counted {
                return Err(format!(
                    "lane {} believes (unacked, in flight) {known:?}, counted {counted:?}",
                    id.get()
                ));
            }
        }
        self.audit_tickets()
    }

    /// Numbers that were kept for a message which was given up before it had left: they count against the limit from then on, and may
    /// exceed it by that message. Each subflow has one half-sent message; the longest abandoned one is counted for it.
    fn numbers_of_the_last_given_up(&self) -> u64 {
        let mut messages: BTreeMap<_, u64> = BTreeMap::new();
        for chunk in self.tables.spaces.rows().iter().flat_map(|space| space.flight.iter()) {
            if chunk.state == ChunkState::Abandoned && chunk.transmissions == 0 {
                let Fragment { stream, mid, unordered, .. } = chunk.fragment;
                *messages.entry((chunk.subflow, stream, unordered, mid.get())).or_default() += 1;
            }
        }
        let mut longest: BTreeMap<SubflowId, u64> = BTreeMap::new();
        for ((subflow, ..), numbers) in messages {
            let most = longest.entry(subflow).or_default();
            *most = numbers.max(*most);
        }
        longest.into_values().sum()
    }

    /// Checks that the chunks of every ticket's message are all there, and that every abandoned number is
    /// counted.
    fn audit_tickets(&self) -> Result<(), String> {
        let mut chunks: BTreeMap<u32, (u32, bool)> = BTreeMap::new();
        for (at, space) in self.tables.spaces.iter() {
            let abandoned = space.flight.iter().filter(|chunk| chunk.state == ChunkState::Abandoned).count();
            if abandoned != space.flight.abandoned() {
                return Err(format!("space {} counts {} given up", at.get(), space.flight.abandoned()));
            }
            for chunk in space.flight.iter().filter(|chunk| chunk.fragment.ticket != 0) {
                chunks.entry(chunk.fragment.ticket).or_default().0 += 1;
            }
        }
        let waiting = self.tables.subflows.rows().iter().flat_map(|subflow| subflow.out.tickets());
        for ticket in waiting.chain(self.buffer.deferred_tickets()) {
            chunks.entry(ticket).or_default().1 = true;
        }
        for (number, ticket) in self.special.get().into_iter().flat_map(|special| special.fates.iter()) {
            let found = chunks.remove(&number).unwrap_or_default();
            if found != (ticket.chunks, ticket.queued) {
                return Err(format!("{ticket:?} has (chunks, waits) {found:?}"));
            }
        }
        if chunks.is_empty() { Ok(()) } else { Err(format!("tickets that nobody knows: {chunks:?}")) }
    }

    fn count(&self, id: LaneId, lane: &Lane) -> Result<(u32, Counted), String> {
        let (mut unacked, mut flight) = (0, Counted::default());
        for (at, space) in self.tables.spaces.iter() {
            for chunk in space.flight.iter().filter(|chunk| chunk.lane == id) {
                let outstanding = matches!(chunk.state, ChunkState::InFlight | ChunkState::Lost);
                if outstanding && at != lane.space() {
                    return Err(format!(
                        "lane {} of space {} has a chunk in space {}",
                        id.get(),
                        lane.space().get(),
                        at.get()
                    ));
                }
                unacked += u32::from(outstanding);
                if chunk.state == ChunkState::InFlight {
                    flight.add(chunk);
                }
            }
        }
        Ok((unacked, flight))
    }

    /// Memory of messages accepted and not yet sent, payload and bookkeeping, bytes.
    pub(crate) fn waiting_memory(&self) -> usize {
        self.buffer.waiting_memory(&self.tables)
    }

    /// Bytes accepted and not yet sent.
    pub(crate) fn queued_bytes(&self) -> usize {
        self.buffer.queued_bytes(&self.tables)
    }

    /// Bytes of messages that wait for a stream reset.
    pub(crate) fn deferred_bytes(&self) -> usize {
        self.buffer.deferred_bytes()
    }

    /// Bytes that count against the send buffer: of a stream, or of all.
    pub(crate) fn buffered_bytes(&self, cx: &Context, stream: Option<u16>) -> usize {
        self.buffer.buffered_bytes(&self.tables, cx, stream)
    }

    /// True if a message of a stream waits, or is not acknowledged cumulatively and not given up.
    pub(crate) fn is_under_way(&self, stream: u16) -> bool {
        self.buffer.is_under_way(&self.tables, stream)
    }

    /// The send buffers of all subflows, as large as they may grow, bytes.
    pub(crate) fn send_buffers(&self, cx: &Context) -> u64 {
        self.buffer.send_buffers(&self.tables, cx)
    }

    /// The most bytes of undelivered messages at a time, which may be handed back.
    pub(crate) fn most_undelivered(&self, cx: &Context) -> u64 {
        self.buffer.most_undelivered(&self.tables, cx)
    }

    /// Bytes that are kept beyond the send buffers of all subflows: the receiver may hold that much less.
    pub(crate) fn kept_beyond_buffers(&self, cx: &Context) -> u64 {
        self.buffer.kept_beyond_buffers(&self.tables, cx)
    }
}
