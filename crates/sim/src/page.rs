//! The opening of connections for traffic of kind `objects`, one after the other or several at once.

use anabranch_base::Instant;

use crate::app::Progress;
use crate::scenario::{Flow, Opening, Traffic};

/// The connections for one list of objects. The first opens by itself, at the flow's `start`.
#[derive(Debug)]
pub(crate) struct Page {
    /// The flow of the first connection; the others follow it.
    first: usize,
    connections: usize,
    opening: Opening,
    opened: usize,
    /// Connections that are established or have failed.
    settled: usize,
    /// Connections that have brought all of their objects, or have failed.
    finished: usize,
    /// When the last of a burst was settled, plus the gap: the next burst does not open before.
    not_before: Instant,
}

impl Page {
    /// The pages of a scenario, and for each flow which of them it belongs to.
    pub(crate) fn all(flows: &[Flow]) -> (Vec<Self>, Vec<Option<u32>>) {
        let mut pages: Vec<Self> = Vec::new();
        let mut pages_of = Vec::with_capacity(flows.len());
        for (index, flow) in flows.iter().enumerate() {
            let Traffic::Objects(connection) = &flow.traffic else {
                pages_of.push(None);
                continue;
            };
            if connection.number == 0 {
                pages.push(Self {
                    first: index,
                    connections: 0,
                    opening: connection.objects.opening,
                    opened: 1,
                    settled: 0,
                    finished: 0,
                    not_before: Instant::ZERO,
                });
            }
            if let Some(page) = pages.last_mut() {
                page.connections += 1;
            }
            pages_of.push(pages.len().checked_sub(1).map(|page| page as u32));
        }
        (pages, pages_of)
    }

    /// Takes a change of one of its connections.
    pub(crate) fn take(&mut self, now: Instant, progress: Progress) {
        self.settled += usize::from(progress.settled);
        self.finished += usize::from(progress.finished);
        if progress.settled && self.settled == self.opened {
            self.not_before = now + self.opening.gap;
        }
    }

    /// The flows of its connections, when all of them have brought their objects.
    pub(crate) fn complete(&self) -> Option<std::ops::Range<usize>> {
        (self.finished == self.connections).then(|| self.first..self.first + self.connections)
    }

    /// The flow that has to be opened next, and when; `None` when that depends on connections that are open.
    pub(crate) fn next(&mut self, now: Instant) -> Option<(usize, Instant)> {
        let burst = self.opening.burst.max(1) as usize;
        let waits = self.opened % burst == 0 && self.settled < self.opened;
        let full = self.opened.saturating_sub(self.finished) >= self.opening.at_once.max(1) as usize;
        if self.opened >= self.connections || waits || full {
            return None;
        }
        let flow = self.first + self.opened;
        self.opened += 1;
        Some((flow, now.max(self.not_before)))
    }
}
