//! The table of subflows, sequence spaces and lanes: how rows are opened.

use std::sync::Arc;

use super::Sender;
use super::lane::Lane;
use super::scheduler::SubflowScheduler;
use super::subflow::{Life, Subflow};
use crate::config::{Config, Coupling, SubflowSpec};
use crate::context::Context;
use crate::ids::{Id, LaneId, PathId, SubflowId};

impl Sender {
    /// Makes the subflows that the configuration asks for, or the one of RFC 9260.
    pub(super) fn open_subflows(&mut self, cx: &mut Context) {
        let config = Arc::clone(&cx.config);
        if config.subflows.open.is_empty() {
            self.place_subflow(cx, &SubflowSpec::new(config.dscp));
        }
        for spec in config.subflows.open.iter().take(usize::from(config.subflows.max.max(1))) {
            self.place_subflow(cx, spec);
        }
        self.stream_map = Box::default();
        self.unmapped = SubflowId::FIRST;
        let specs = &config.subflows.open[..];
        if specs.iter().all(|spec| spec.streams.is_empty()) {
            let count = self.subflows.len();
            if count > 1 {
                let streams = usize::from(config.streams.outbound);
                self.stream_map = (0..streams).map(|stream| SubflowId::at(stream % count)).collect();
            }
        } else {
            for (id, spec) in self.subflows.ids().zip(specs) {
                for &stream in &spec.streams {
                    self.map_stream(stream, id);
                }
            }
        }
    }

    /// A subflow in a free place, with a lane unless all share one.
    pub(super) fn place_subflow(&mut self, cx: &mut Context, spec: &SubflowSpec) -> SubflowId {
        let free = self.subflows.iter().find(|(_, subflow)| subflow.life == Life::Free);
        let id = free.map_or(SubflowId::at(self.subflows.len()), |(id, _)| id);
        let one_lane = cx.config.subflows.coupling == Coupling::Shared && self.lanes.len() > 0;
        let placed = if one_lane { None } else { self.place_lane(cx, id, cx.paths.for_data()) };
        let lane = placed.unwrap_or(LaneId::FIRST);
        let before = self.subflows.get(id);
        debug_assert!(
            before.is_none_or(|before| before.out.is_empty()),
            "what waits has no subflow any more"
        );
        let mut subflow = Subflow::new(&cx.config, spec, lane);
        // Who was told that the one before it here was full still waits.
        subflow.writable_owed = self.subflows.get(id).is_some_and(|before| before.writable_owed);
        self.subflows.set(id, subflow);
        self.share_spaces();
        if let Some(coupler) = &mut self.coupler {
            coupler.renew(lane);
        }
        self.set_phi(cx);
        // A message that was leaving all by itself has company now.
        for begun in self.subflows.ids() {
            self.keep_contiguous(cx, begun);
        }
        id
    }

    /// A lane for a subflow on a path, in the place of the one that it had there before. `None` where there is no such path.
    // rfc9260:7.2-3
    fn place_lane(&mut self, cx: &mut Context, subflow: SubflowId, path: PathId) -> Option<LaneId> {
        if subflow == SubflowId::FIRST {
            // It measures the path.
            let config = &cx.config;
            if let Some(path) = cx.paths.get_mut(path) {
                path.measure_anew(config);
            }
        }
        let lane = Lane::new(cx, self.encoding, subflow, path, 0)?;
        Some(match self.lane_on(subflow, path) {
            Some(id) => {
                let lost = self.lanes.get(id).map_or(0, |before| before.chunks_lost);
                cx.stats.chunks_lost_before = cx.stats.chunks_lost_before.saturating_add(lost);
                self.lanes.set(id, lane);
                id
            }
            None => self.lanes.push(lane),
        })
    }

    /// The lane of a subflow on a path.
    fn lane_on(&self, subflow: SubflowId, path: PathId) -> Option<LaneId> {
        let mine = |lane: &Lane| lane.subflow == subflow && lane.path == path;
        self.lanes.iter().find(|(_, lane)| mine(lane)).map(|(id, _)| id)
    }

    /// The data of a subflow leaves on another path from now on. False while some of it is under way on the one in use.
    #[cfg(test)]
    pub(crate) fn use_path(&mut self, cx: &mut Context, id: SubflowId, path: PathId) -> bool {
        let Some(lane) = self.subflows.get(id).and_then(|subflow| self.lanes.get(subflow.lane)) else {
            return false;
        };
        if lane.unacked > 0 {
            return false;
        }
        let space = lane.space;
        let Some(on) = self.lane_on(id, path).or_else(|| self.place_lane(cx, id, path)) else {
            return false;
        };
        if let Some(lane) = self.lanes.get_mut(on) {
            lane.space = space;
        }
        if let Some(subflow) = self.subflows.get_mut(id) {
            subflow.lane = on;
        }
        self.share_spaces();
        let rwnd = u32::try_from(self.peer_rwnd).unwrap_or(u32::MAX);
        self.renew_lane(cx, on, rwnd);
        true
    }

    /// Begins a lane anew, but for its round-trip estimate and what it has sent.
    pub(super) fn renew_lane(&mut self, cx: &mut Context, id: LaneId, peer_rwnd: u32) {
        if let Some(lane) = self.lanes.get_mut(id) {
            if let Some(mut new) = Lane::new(cx, self.encoding, lane.subflow, lane.path, peer_rwnd) {
                new.inherit(lane);
                *lane = new;
            }
        }
        if let Some(coupler) = &mut self.coupler {
            coupler.renew(id);
        }
        self.set_phi(cx);
    }

    /// Where several lanes send under one numbering, each must know its own chunks; where one does, nothing is kept.
    pub(super) fn share_spaces(&mut self) {
        for (at, space) in self.spaces.iter_mut() {
            space.shared = self.lanes.rows().iter().filter(|lane| lane.space == at).count() > 1;
        }
        for (id, lane) in self.lanes.iter_mut() {
            let Some(space) = self.spaces.get(lane.space) else { continue };
            if lane.loss.shares_space() != space.shared {
                lane.loss.share_space(space.shared, &space.flight, id);
            }
            lane.earliest = lane.loss.earliest(&space.flight);
        }
        self.keep_arrivals();
    }

    /// Whether the scheduler of subflows looks at when messages came.
    fn keep_arrivals(&mut self) {
        let arrivals = self.subflows.len() > 1 && self.scheduler.wants_arrivals();
        for subflow in self.subflows.rows_mut() {
            subflow.out.keep_arrivals(arrivals);
        }
    }

    /// The user has changed the configuration.
    pub(crate) fn follow(&mut self, cx: &Context, before: &Config) {
        let config = &cx.config;
        for lane in self.lanes.rows_mut() {
            lane.follow(config);
        }
        if (config.streams.scheduling, &config.streams.values)
            != (before.streams.scheduling, &before.streams.values)
        {
            for subflow in self.subflows.rows_mut() {
                subflow.out.reschedule(config);
            }
        }
        let (now, then) = (&config.subflows, &before.subflows);
        if now.scheduler != then.scheduler {
            self.scheduler = SubflowScheduler::new(now.scheduler);
            self.keep_arrivals();
        }
        if (now.coupling, now.fcc_count, now.adaptive_cut)
            != (then.coupling, then.fcc_count, then.adaptive_cut)
        {
            self.divide_window();
            self.coupler = None;
            self.set_phi(cx);
        }
        // Subflows that were opened with a code point of their own keep it.
        if config.dscp != before.dscp && now.open.is_empty() {
            if let Some(first) = self.subflows.first_mut() {
                first.dscp = config.dscp;
            }
        }
        self.follow_buffers(cx);
    }
}
