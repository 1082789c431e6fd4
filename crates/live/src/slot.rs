//! The driver's state of one association beside the core's: waiting tasks, and events that its user has not read yet.

use std::collections::VecDeque;
use std::task::Waker;

use anabranch_sctp::{AssociationId, CloseReason, Event};

use crate::waiters::{WaitReason, Waiters};

/// Most events that are kept for a user that has asked for events. Later ones are only counted.
const MAX_EVENTS: usize = 4096;

/// One association.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) id: AssociationId,
    pub(crate) up: bool,
    /// The peer sends nothing new any more.
    pub(crate) peer_done: bool,
    pub(crate) closed: Option<Box<CloseReason>>,
    /// The user has dropped the last handle of the association.
    pub(crate) orphan: bool,
    /// Tasks that wait to read or to write, or (`WaitReason::Other`) for the beginning, the end, or an event.
    pub(crate) waiters: Waiters,
    pub(crate) events: Option<Box<Events>>,
    /// The span for `tracing`, where a subscriber wants it.
    pub(crate) span: Option<Box<tracing::Span>>,
}

/// Events for a user that has asked for them.
#[derive(Debug, Default)]
pub(crate) struct Events {
    pub(crate) queue: VecDeque<Event>,
    pub(crate) missed: u64,
}

impl Slot {
    pub(crate) fn new(id: AssociationId) -> Self {
        Self {
            id,
            up: false,
            peer_done: false,
            closed: None,
            orphan: false,
            waiters: Waiters::default(),
            events: None,
            span: None,
        }
    }

    /// The reason for the end, once it has ended.
    pub(crate) fn reason(&self) -> Option<CloseReason> {
        self.closed.as_deref().cloned()
    }

    /// Takes note of an event; the tasks that it concerns are moved to `woken`.
    pub(crate) fn note(&mut self, event: Event, woken: &mut Vec<Waker>) {
        match &event {
            Event::Readable { .. } => self.waiters.wake(WaitReason::Readable, woken),
            Event::Writable { .. } => self.waiters.wake(WaitReason::Writable, woken),
            Event::Established { .. } => {
                self.up = true;
                self.waiters.wake(WaitReason::Other, woken);
            }
            Event::PeerShutdown => {
                self.peer_done = true;
                self.waiters.wake(WaitReason::Readable, woken);
                self.waiters.wake(WaitReason::Writable, woken);
            }
            // A peer that has restarted can send again.
            Event::Restarted { .. } => self.peer_done = false,
            Event::Closed(reason) => {
                self.closed = Some(Box::new(reason.clone()));
                self.waiters.wake_all(woken);
            }
            _ => {}
        }
        if let Some(events) = &mut self.events {
            if events.queue.len() < MAX_EVENTS {
                events.queue.push_back(event);
            } else {
                events.missed += 1;
            }
            self.waiters.wake(WaitReason::Other, woken);
        }
    }

    /// The user of the association wants to hear of events from now on; of the end also where that was before.
    pub(crate) fn events(&mut self) -> &mut Events {
        let closed = &self.closed;
        self.events.get_or_insert_with(|| {
            Box::new(Events {
                queue: closed.iter().map(|reason| Event::Closed((**reason).clone())).collect(),
                missed: 0,
            })
        })
    }
}

/// Memory of idle associations is counted in `tests/idle.rs`, roughly; this is exact.
#[cfg(all(test, target_pointer_width = "64"))]
const _: () = assert!(size_of::<Slot>() <= 72);
