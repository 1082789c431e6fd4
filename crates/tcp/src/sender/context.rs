//! Surroundings of every handler of a connection: time, statistics, trace.

use crate::stats::Stats;
use anabranch_base::{Instant, Trace, TraceEvent, TraceRecord};

/// The time, and where counters and trace records of one connection go.
pub(crate) struct Context<'a> {
    pub(crate) now: Instant,
    pub(crate) id: u32,
    pub(crate) stats: &'a mut Stats,
    pub(crate) trace: &'a mut Trace,
}

impl Context<'_> {
    /// Adds a record to the trace, where one is kept.
    pub(crate) fn record(&mut self, build: impl FnOnce() -> TraceEvent) {
        let (at, association) = (self.now, self.id);
        self.trace.record(|| TraceRecord { at, association, subflow: 0, path: 0, event: build() });
    }
}
