//! Subflows as the configuration asks for them, at the beginning and when the user changes it.

use std::sync::Arc;

use super::scheduler::SubflowScheduler;
use super::subflow_scope::SubflowChanges;
use crate::config::{Config, SubflowSpec};
use crate::context::Context;
use crate::ids::{LaneId, SubflowId};

impl SubflowChanges<'_> {
    /// Opens the subflows that the configuration asks for, or one subflow as in RFC 9260.
    pub(super) fn open_subflows(&mut self, cx: &mut Context) {
        let config = Arc::clone(cx.env.config());
        if config.subflows.open.is_empty() {
            self.place_subflow(cx, &SubflowSpec::new(config.dscp));
        }
        for spec in config.subflows.open.iter().take(usize::from(config.subflows.max.max(1))) {
            self.place_subflow(cx, spec);
        }
        self.stream_map.begin(&config, self.tables.subflows.len());
    }

    /// Places a subflow in a free row, with a lane unless all share one.
    pub(super) fn place_subflow(&mut self, cx: &mut Context, spec: &SubflowSpec) -> SubflowId {
        let (id, lane) = self.tables.place_subflow(cx, spec);
        self.tables.keep_arrivals(self.scheduler.wants_arrivals());
        self.coupling.renew(lane);
        self.coupling.set_phi(self.tables, cx);
        // A message that was begun by a single subflow now shares the numbering with another subflow.
        for begun in self.tables.subflows.ids() {
            self.tables.keep_contiguous(cx, begun);
        }
        id
    }

    /// The user has changed the configuration.
    pub(crate) fn follow(&mut self, cx: &Context, before: &Config) {
        let config = cx.env.config();
        for lane in self.tables.lanes.rows_mut() {
            lane.follow(config);
        }
        if (config.streams.scheduling, &config.streams.values)
            != (before.streams.scheduling, &before.streams.values)
        {
            for subflow in self.tables.subflows.rows_mut() {
                subflow.out.reschedule(config);
            }
        }
        let (now, then) = (&config.subflows, &before.subflows);
        if now.scheduler != then.scheduler {
            *self.scheduler = SubflowScheduler::new(now.scheduler);
            self.tables.keep_arrivals(self.scheduler.wants_arrivals());
        }
        if (now.coupling, now.fcc_count, now.adaptive_cut)
            != (then.coupling, then.fcc_count, then.adaptive_cut)
        {
            self.coupling.begin_anew(self.tables);
            self.coupling.set_phi(self.tables, cx);
        }
        // Subflows that were opened with a code point of their own keep it.
        if config.dscp != before.dscp && now.open.is_empty() {
            if let Some(first) = self.tables.subflows.first_mut() {
                first.dscp = config.dscp;
            }
        }
    }

    /// Begins a lane anew, except for its round-trip estimate, its space and its record of sent chunks.
    pub(super) fn renew_lane(&mut self, cx: &mut Context, id: LaneId, peer_rwnd: u32) {
        self.tables.renew_lane(cx, id, peer_rwnd);
        self.coupling.renew(id);
        self.coupling.set_phi(self.tables, cx);
    }
}
