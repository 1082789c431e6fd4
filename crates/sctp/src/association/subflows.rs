//! The table of subflows, sequence spaces and lanes: how it is opened and how it changes while data flows.

use anabranch_base::{Dscp, Duration, Instant};

use super::{Association, State};
use crate::config::{Coupling, SubflowSpec};
use crate::error::SubflowError;
use crate::event::Event;
use crate::lane::Lane;
use crate::stats::SubflowStats;
use crate::subflow::flight::ChunkState;
use crate::subflow::{Life, Subflow};

impl Association {
    /// Makes the subflows that the configuration asks for, or the one of RFC 9260.
    pub(super) fn open_subflows(&mut self) {
        let single = [SubflowSpec::new(self.config.dscp)];
        let config = std::sync::Arc::clone(&self.config);
        let specs = if config.subflows.is_empty() { &single[..] } else { &config.subflows[..] };
        for spec in specs.iter().take(usize::from(config.max_subflows.max(1))) {
            self.place_subflow(spec);
        }
        self.stream_map.clear();
        let count = self.subflows.len();
        if specs.iter().all(|spec| spec.streams.is_empty()) {
            if count > 1 {
                let streams = usize::from(self.config.outbound_streams);
                self.stream_map = (0..streams).map(|stream| (stream % count) as u8).collect();
            }
        } else {
            for (index, spec) in specs.iter().enumerate().take(count) {
                for &stream in &spec.streams {
                    self.map_stream(stream, index as u8);
                }
            }
        }
    }

    /// A subflow in a free place, with a lane unless all share one.
    fn place_subflow(&mut self, spec: &SubflowSpec) -> u8 {
        let free = self.subflows.iter().position(|subflow| subflow.life == Life::Free);
        let index = free.unwrap_or(self.subflows.len());
        let one_lane = self.config.coupling == Coupling::Shared && !self.lanes.is_empty();
        let lane = if one_lane { 0 } else { index };
        if !one_lane {
            let mut new = self.new_lane(0);
            new.subflow = index as u8;
            match self.lanes.get_mut(lane) {
                Some(slot) => *slot = new,
                None => self.lanes.push(new),
            }
        }
        let subflow = Subflow::new(&self.config, spec, 0, lane as u8);
        match self.subflows.get_mut(index) {
            Some(slot) => *slot = subflow,
            None => self.subflows.push(subflow),
        }
        self.share_spaces();
        if let Some(coupler) = &mut self.coupler {
            coupler.renew(lane);
        }
        self.set_phi();
        // A message that was leaving all by itself has company now.
        for begun in 0..self.subflows.len() {
            self.keep_together(begun);
        }
        index as u8
    }

    fn new_lane(&self, peer_rwnd: u32) -> Lane {
        let ipv6 = self.paths.first().is_some_and(|path| path.remote.is_ipv6());
        Lane::new(&self.config, 0, ipv6, peer_rwnd)
    }

    /// Begins a lane anew, but for its round-trip estimate.
    pub(super) fn renew_lane(&mut self, index: usize, peer_rwnd: u32) {
        let new = self.new_lane(peer_rwnd);
        if let Some(lane) = self.lanes.get_mut(index) {
            let old = std::mem::replace(lane, new);
            lane.rtt = old.rtt;
            lane.subflow = old.subflow;
            lane.space = old.space;
            lane.loss = old.loss;
            lane.earliest = old.earliest;
        }
        if let Some(coupler) = &mut self.coupler {
            coupler.renew(index);
        }
        self.set_phi();
    }

    /// Where several lanes send under one numbering, each must know its own chunks; where one does, nothing is kept.
    pub(super) fn share_spaces(&mut self) {
        for (index, space) in self.spaces.iter_mut().enumerate() {
            let lanes = self.lanes.iter().filter(|lane| usize::from(lane.space) == index).count();
            let shared = lanes > 1;
            if shared == space.shared {
                continue;
            }
            space.shared = shared;
        }
        for (number, lane) in self.lanes.iter_mut().enumerate() {
            let Some(space) = self.spaces.get(usize::from(lane.space)) else { continue };
            if lane.loss.shares_space() != space.shared {
                lane.loss.share_space(space.shared, &space.flight, number as u8);
            }
            lane.earliest = lane.loss.earliest(&space.flight);
        }
        let several = self.subflows.len() > 1;
        let arrivals = several && self.gate.wants_arrivals();
        for subflow in &mut self.subflows {
            subflow.out.keep_arrivals(arrivals);
        }
    }

    pub(super) fn open_subflow_count(&self) -> u32 {
        self.subflows.iter().filter(|subflow| subflow.life == Life::Open).count() as u32
    }

    /// The subflow of a stream.
    #[inline]
    pub(super) fn subflow_of(&self, stream: u16) -> usize {
        usize::from(self.stream_map.get(usize::from(stream)).copied().unwrap_or(0))
    }

    fn map_stream(&mut self, stream: u16, subflow: u8) {
        let index = usize::from(stream);
        if index >= self.stream_map.len() {
            self.stream_map.resize(index + 1, 0);
        }
        if let Some(slot) = self.stream_map.get_mut(index) {
            *slot = subflow;
        }
    }

    /// `send` said Full and there is room again: tells the user once.
    pub(super) fn tell_writable(&mut self) {
        let limit = self.config.send_buffer / 2;
        if self.reconfig.as_ref().is_some_and(|r| r.held.bytes() > limit) {
            return;
        }
        let (mut told, mut owed) = (false, false);
        for subflow in &mut self.subflows {
            if subflow.writable_owed && subflow.out.queued_bytes() <= limit {
                subflow.writable_owed = false;
                told = true;
            }
            owed |= subflow.writable_owed;
        }
        self.writable_owed = owed;
        if told {
            self.events.push_back(Event::Writable);
        }
    }

    /// Subflows that were removed are gone once nothing of theirs is in flight.
    pub(super) fn close_drained_subflows(&mut self) {
        if self.subflows.len() == 1 {
            return;
        }
        let mut gone = false;
        for index in 0..self.subflows.len() {
            let Some(subflow) = self.subflows.get(index) else { continue };
            if subflow.life != Life::Closing || !subflow.out.is_empty() {
                continue;
            }
            let lane = self.lanes.get(usize::from(subflow.lane));
            let drained = if self.config.coupling == Coupling::Shared {
                // What it had was relabelled, but for the rest of a message that was leaving.
                let index = index as u8;
                !self.spaces.iter().any(|space| space.flight.iter().any(|chunk| chunk.subflow == index))
            } else {
                lane.is_none_or(|lane| lane.unacked == 0)
            };
            if !drained {
                continue;
            }
            let deleting = self.give_back_fid(index as u8);
            if let Some(subflow) = self.subflows.get_mut(index) {
                subflow.life = if deleting { Life::Deleting } else { Life::Free };
                gone = true;
            }
        }
        if gone {
            self.set_phi();
        }
    }

    /// Number of subflows that take streams.
    #[must_use]
    pub fn subflows(&self) -> usize {
        self.open_subflow_count() as usize
    }

    /// What subflow `index` has done and where it stands; `None` when there never was one.
    #[must_use]
    pub fn subflow_stats(&self, index: u8) -> Option<SubflowStats> {
        let subflow = self.subflows.get(usize::from(index))?;
        let mut stats = subflow.stats.clone();
        stats.dscp = subflow.dscp;
        stats.open = subflow.life == Life::Open;
        stats.queued_bytes = subflow.out.queued_bytes() as u64;
        if let Some(lane) = self.lanes.get(usize::from(subflow.lane)) {
            stats.flight = lane.flight;
            stats.srtt = lane.rtt.srtt();
            stats.min_rtt = lane.min_rtt;
            stats.one_way_delay_us = lane.one_way_delay.map(|(_, micros)| micros);
            stats.rto = lane.rtt.rto();
            stats.cwnd = lane.controller.window();
            stats.cwnd_peak = lane.cwnd_peak;
            stats.ssthresh = lane.controller.ssthresh();
        }
        Some(stats)
    }

    /// Congestion windows of all lanes together (bytes), and the smoothed round-trip time of the first: cheap enough to look
    /// at with every packet.
    #[must_use]
    pub fn total_window(&self) -> u64 {
        let in_use = |lane: &&Lane| {
            self.subflows.get(usize::from(lane.subflow)).is_some_and(|subflow| subflow.life == Life::Open)
        };
        self.lanes.iter().filter(in_use).map(|lane| lane.controller.window()).sum()
    }

    /// Opens another subflow; its streams move there. It starts like a new association: in slow start.
    ///
    /// # Errors
    /// When the association is ending, or has as many subflows as `max_subflows` allows.
    pub(crate) fn add_subflow(&mut self, spec: &SubflowSpec) -> Result<u8, SubflowError> {
        self.check_changeable()?;
        let limit = self.config.max_subflows;
        if self.subflows.iter().filter(|s| s.life != Life::Free).count() >= usize::from(limit) {
            return Err(SubflowError::TooMany { limit });
        }
        let index = self.place_subflow(spec);
        let rwnd = u32::try_from(self.peer_rwnd).unwrap_or(u32::MAX);
        if self.config.coupling != Coupling::Shared {
            self.renew_lane(usize::from(index), rwnd);
        }
        self.ask_for_fid(index);
        for &stream in &spec.streams {
            self.move_stream(stream, index);
        }
        Ok(index)
    }

    /// Closes a subflow; its streams move to `to`. What it has in flight is acknowledged or sent again as before.
    ///
    /// # Errors
    /// When one of them is not open, or they are the same.
    pub(crate) fn remove_subflow(&mut self, index: u8, to: u8) -> Result<(), SubflowError> {
        self.check_changeable()?;
        self.check_open(index)?;
        self.check_open(to)?;
        if index == to {
            return Err(SubflowError::Same { index });
        }
        self.move_all_streams(index, to);
        let lane_of = |subflow: u8| self.subflows.get(usize::from(subflow)).map(|s| s.lane);
        if lane_of(index) == lane_of(to) {
            self.relabel(index, to);
        }
        if let Some(subflow) = self.subflows.get_mut(usize::from(index)) {
            subflow.life = Life::Closing;
        }
        self.set_phi();
        self.close_drained_subflows();
        Ok(())
    }

    /// Joins subflow `index` to `into`: its streams, what it has in flight, and its window, which adds to the other's: what
    /// is in the network stays the same (study 004, 3.2, "combines subflows with the similar congestion state parameters").
    /// Whether two are alike is for the caller to judge: [`Association::alike`] helps.
    ///
    /// # Errors
    /// As [`Association::remove_subflow`].
    pub(crate) fn merge_subflows(&mut self, now: Instant, index: u8, into: u8) -> Result<(), SubflowError> {
        self.remove_subflow(index, into)?;
        let from = self.subflows.get(usize::from(index)).map_or(0, |s| s.lane);
        let to = self.subflows.get(usize::from(into)).map_or(0, |s| s.lane);
        let same_space = self.lanes.get(usize::from(from)).map(|l| l.space)
            == self.lanes.get(usize::from(to)).map(|l| l.space);
        if from == to {
            return Ok(());
        }
        let Some(old) = self.lanes.get_mut(usize::from(from)) else { return Ok(()) };
        let (window, ssthresh) = (old.controller.window(), old.controller.ssthresh());
        let moved = same_space.then(|| old.hand_over());
        if let Some(lane) = self.lanes.get_mut(usize::from(to)) {
            lane.controller.absorb(window, ssthresh);
            if let Some(moved) = moved {
                if let Some(space) = self.spaces.get_mut(usize::from(lane.space)) {
                    for (_, chunk) in space
                        .flight
                        .iter_mut()
                        .filter(|(_, chunk)| chunk.lane == from && chunk.state != ChunkState::Reserved)
                    {
                        chunk.lane = to;
                        chunk.subflow = into;
                    }
                    lane.take_over(&moved);
                    lane.loss.took_over(&space.flight, to);
                    lane.earliest = lane.loss.earliest(&space.flight);
                    if lane.unacked > 0 && lane.t3.is_none() {
                        lane.arm_t3(now);
                    }
                }
            }
        }
        if let (true, Some(old)) = (same_space, self.lanes.get_mut(usize::from(from))) {
            if let Some(space) = self.spaces.get(usize::from(old.space)) {
                old.loss.took_over(&space.flight, from);
                old.earliest = old.loss.earliest(&space.flight);
            }
        }
        self.close_drained_subflows();
        Ok(())
    }

    /// Whether the congestion state of two subflows is alike: both estimates of the round trip and both windows within
    /// `tolerance` of each other, as a share (0.25: a quarter).
    #[must_use]
    pub fn alike(&self, a: u8, b: u8, tolerance: f64) -> bool {
        let (Some(a), Some(b)) = (self.subflow_stats(a), self.subflow_stats(b)) else { return false };
        let near = |x: f64, y: f64| (x - y).abs() <= tolerance * x.max(y);
        let seconds = |rtt: Option<Duration>| rtt.map(Duration::as_secs_f64);
        let (Some(x), Some(y)) = (seconds(a.srtt), seconds(b.srtt)) else { return false };
        a.open && b.open && near(x, y) && near(a.cwnd as f64, b.cwnd as f64)
    }

    /// Moves a stream to the subflow with this code point, which is opened if there is none.
    ///
    /// # Errors
    /// As [`Association::add_subflow`]; and when there is no such stream.
    pub(crate) fn set_stream_dscp(&mut self, stream: u16, dscp: Dscp) -> Result<u8, SubflowError> {
        self.check_changeable()?;
        self.check_stream(stream)?;
        let known = self.subflows.iter().position(|s| s.life == Life::Open && s.dscp == dscp);
        match known {
            Some(index) => {
                self.move_stream(stream, index as u8);
                Ok(index as u8)
            }
            None => self.add_subflow(&SubflowSpec { streams: vec![stream], ..SubflowSpec::new(dscp) }),
        }
    }

    /// Moves a stream to a subflow.
    ///
    /// # Errors
    /// When the association is ending, the subflow is not open or there is no such stream.
    pub(crate) fn set_stream_subflow(&mut self, stream: u16, subflow: u8) -> Result<(), SubflowError> {
        self.check_changeable()?;
        self.check_stream(stream)?;
        self.check_open(subflow)?;
        self.move_stream(stream, subflow);
        Ok(())
    }

    /// Chunks that were sent and are not acknowledged, those that are to be sent again included.
    #[must_use]
    pub fn unacknowledged_chunks(&self) -> usize {
        self.lanes.iter().map(|lane| lane.unacked as usize).sum()
    }

    /// Whether every lane's books agree with what is in flight: for tests, after every step of a life.
    ///
    /// # Errors
    /// The first lane whose numbers differ from what a count gives, in words.
    pub fn audit(&self) -> Result<(), String> {
        for (number, lane) in self.lanes.iter().enumerate() {
            let (mut unacked, mut flight, mut bytes) = (0, 0, 0);
            for (index, space) in self.spaces.iter().enumerate() {
                for chunk in space.flight.iter().filter(|chunk| usize::from(chunk.lane) == number) {
                    let outstanding = matches!(chunk.state, ChunkState::InFlight | ChunkState::Lost);
                    if outstanding && index != usize::from(lane.space) {
                        return Err(format!(
                            "lane {number} of space {} has a chunk in space {index}",
                            lane.space
                        ));
                    }
                    unacked += u32::from(outstanding);
                    if chunk.state == ChunkState::InFlight {
                        flight += 1;
                        bytes += chunk.size();
                    }
                }
            }
            let (known, counted) =
                ((lane.unacked, lane.flight_chunks, lane.flight), (unacked, flight, bytes));
            if known != counted {
                return Err(format!(
                    "lane {number} believes (unacked, in flight, bytes) {known:?}, counted {counted:?}"
                ));
            }
        }
        Ok(())
    }

    /// What one subflow has in flight counts for another from now on.
    fn relabel(&mut self, from: u8, to: u8) {
        for space in &mut self.spaces {
            for (_, chunk) in space.flight.iter_mut().filter(|(_, chunk)| chunk.subflow == from) {
                chunk.subflow = to;
            }
        }
    }

    /// Messages that wait move along. One that has begun to leave ends where it began, and the others follow when it has
    /// left whole: later messages in the peer's buffer could not be read before it, and might take the room that it needs.
    fn move_stream(&mut self, stream: u16, to: u8) {
        self.moves.retain(|(moving, _)| *moving != stream);
        let from = self.subflow_of(stream);
        if from == usize::from(to) {
            return;
        }
        if self.subflows.get(from).is_some_and(|subflow| subflow.out.has_begun(stream)) {
            self.moves.push((stream, to));
            return;
        }
        self.map_stream(stream, to);
        let moved = match self.subflows.get_mut(from) {
            Some(subflow) => subflow.out.take_stream(stream),
            None => return,
        };
        let now = self.stats.messages_accepted;
        if let Some(subflow) = self.subflows.get_mut(usize::from(to)) {
            for message in moved {
                subflow.out.push(message, now);
            }
        }
    }

    /// A message has left whole: its stream may be waiting to move.
    #[inline(never)]
    pub(super) fn move_waiting_stream(&mut self, stream: u16) {
        if let Some(&(_, to)) = self.moves.iter().find(|(moving, _)| *moving == stream) {
            self.move_stream(stream, to);
            self.close_drained_subflows();
        }
    }

    fn move_all_streams(&mut self, from: u8, to: u8) {
        for (_, target) in self.moves.iter_mut().filter(|(_, target)| *target == from) {
            *target = to;
        }
        let mut streams: Vec<u16> = self
            .subflows
            .get(usize::from(from))
            .map_or_else(Vec::new, |subflow| subflow.out.waiting_streams().collect());
        if from == 0 {
            // Streams that nobody has named belong to the first.
            self.stream_map.resize(usize::from(self.outbound_streams).max(self.stream_map.len()), 0);
        }
        let mapped = self.stream_map.iter().enumerate().filter(|(_, subflow)| **subflow == from);
        streams.extend(mapped.map(|(stream, _)| stream as u16));
        streams.sort_unstable();
        streams.dedup();
        for stream in streams {
            if self.subflow_of(stream) == usize::from(from) {
                self.move_stream(stream, to);
            }
        }
    }

    fn check_changeable(&self) -> Result<(), SubflowError> {
        match self.state {
            State::CookieWait | State::CookieEchoed | State::Established => Ok(()),
            _ => Err(SubflowError::Closing),
        }
    }

    fn check_open(&self, index: u8) -> Result<(), SubflowError> {
        match self.subflows.get(usize::from(index)) {
            Some(subflow) if subflow.life == Life::Open => Ok(()),
            _ => Err(SubflowError::NotOpen { index }),
        }
    }

    fn check_stream(&self, stream: u16) -> Result<(), SubflowError> {
        if stream < self.outbound_streams {
            return Ok(());
        }
        Err(SubflowError::NoSuchStream { stream, streams: self.outbound_streams })
    }
}
