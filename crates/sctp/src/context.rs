//! The state that all owners inside an association share while they work: the circumstances, the paths, and the report to those outside.

use std::sync::Arc;

use anabranch_base::{SecretRng, TraceEvent};

use crate::budget::Budget;
use crate::config::Config;
use crate::env::Env;
use crate::event::Event;
use crate::ids::{PathId, SubflowId};
use crate::path::{Path, Paths};
use crate::report::Report;

/// One argument of every call from the association to its sender, its receiver and its paths.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) env: Env,
    pub(crate) paths: Paths,
    pub(crate) report: Report,
    /// One generator for all random draws of an association: a seed repeats the order of the draws, too.
    pub(crate) rng: SecretRng,
    /// Budget from which windows and send buffers grow, one for all associations of the endpoint.
    pub(crate) budget: Option<Arc<Budget>>,
}

impl Context {
    pub(crate) fn new(association: u32, config: Arc<Config>, path: Path, rng: SecretRng) -> Self {
        Self {
            report: Report::new(association, config.streams.statistics),
            env: Env::new(config),
            paths: Paths::new(path),
            rng,
            budget: None,
        }
    }

    /// Adds a record to the trace, where one is kept.
    #[inline]
    pub(crate) fn record(&mut self, subflow: SubflowId, path: PathId, event: TraceEvent) {
        self.report.record(self.env.now(), subflow, path, event);
    }

    /// An event that the user must learn of: there are few.
    pub(crate) fn tell(&mut self, event: Event) {
        self.report.tell(event);
    }

    /// An event that a peer can cause at will: not queued any more when the user is not reading.
    pub(crate) fn tell_if_read(&mut self, event: Event) {
        self.report.tell_if_read(event);
    }

    /// Most user data that one chunk on a path carries, bytes.
    // rfc9260:6-9 rfc9260:6.9-7
    #[inline]
    pub(crate) fn max_payload(&self, path: PathId) -> usize {
        self.env.config().limits.most_payload(self.packet_room(path))
    }

    /// Room of a packet of a path for the payload of one chunk, bytes.
    #[inline]
    pub(crate) fn packet_room(&self, path: PathId) -> usize {
        let pmdcs = self.paths.get(path).map_or(0, |path| path.pmdcs() as usize);
        pmdcs.saturating_sub(self.env.agreed().beside_payload())
    }
}
