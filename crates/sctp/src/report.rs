//! The outcome of a call for those outside the association: counters, trace records, events.

use std::collections::VecDeque;

use anabranch_base::{Instant, Trace, TraceEvent, TraceRecord};

use crate::event::Event;
use crate::ids::{PathId, SubflowId};
use crate::room;
use crate::stats::{Counters, StreamTable};

/// Number of events beyond which actions of the peer are not told: the user is not reading.
const MAX_WAITING_EVENTS: usize = 256;

/// Every owner counts and tells here.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) stats: Counters,
    /// Counters of streams, where they are asked for.
    pub(crate) streams: Option<Box<StreamTable>>,
    events: VecDeque<Event>,
    pub(crate) trace: Trace,
    /// Number of the association, as trace records carry it.
    association: u32,
}

impl Report {
    /// Nothing counted, nothing told; counters of streams only where they are asked for.
    pub(crate) fn new(association: u32, counts_streams: bool) -> Self {
        Self {
            stats: Counters::default(),
            streams: counts_streams.then(Box::default),
            events: VecDeque::new(),
            trace: Trace::default(),
            association,
        }
    }

    /// Number of the association, as trace records carry it.
    #[inline]
    pub(crate) fn association(&self) -> u32 {
        self.association
    }

    /// Whether the user has events to read.
    #[inline]
    pub(crate) fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// The event that has waited longest.
    #[inline]
    pub(crate) fn pop_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Adds a record to the trace, where one is kept.
    #[inline]
    pub(crate) fn record(&mut self, at: Instant, subflow: SubflowId, path: PathId, event: TraceEvent) {
        let association = self.association;
        self.trace.record(|| TraceRecord {
            at,
            association,
            subflow: subflow.get(),
            path: path.get(),
            event,
        });
    }

    /// An event that the user must learn of: there are few.
    pub(crate) fn tell(&mut self, event: Event) {
        room::push(&mut self.events, event);
    }

    /// Takes a restart back that the user has not heard of, with the events of the association that it began: another one has
    /// followed, and one event tells of both. Its counts.
    #[cold]
    pub(crate) fn take_unheard_restart(&mut self) -> (usize, usize, u64) {
        let found = self.events.iter().enumerate().rev().find_map(|(at, event)| match event {
            Event::Restarted { unsent, unacknowledged, received_bytes_lost } => {
                Some((at, (*unsent, *unacknowledged, *received_bytes_lost)))
            }
            _ => None,
        });
        let Some((at, counts)) = found else { return (0, 0, 0) };
        let behind = self.events.split_off(at);
        let is_over = |event: &Event| {
            use Event::{AdaptationIndication, Established, PeerShutdown, Restarted};
            matches!(
                event,
                Restarted { .. } | Established { .. } | AdaptationIndication { .. } | PeerShutdown
            )
        };
        self.events.extend(behind.into_iter().filter(|event| !is_over(event)));
        counts
    }

    /// An event that a peer can cause at will: not queued any more when the user is not reading.
    pub(crate) fn tell_if_read(&mut self, event: Event) {
        if self.events.len() < MAX_WAITING_EVENTS {
            self.events.push_back(event);
        }
    }
}
