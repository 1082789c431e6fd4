//! Associations that have closed, until they are freed; and an endpoint that drains.

use std::collections::VecDeque;

use super::registry::Registry;
use crate::association::Association;
use crate::event::AssociationId;
use crate::incoming::EndpointEvent;
use crate::state::State;

/// Number of closed associations that keep messages to be taken back, besides the one that closed last: a user that
/// polls all events first, and acts then, finds the messages.
const HANDING_BACK: usize = 16;

/// The state of an endpoint that drains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Drain {
    /// The endpoint does not drain.
    #[default]
    No,
    /// Associations end.
    Running,
    /// [`EndpointEvent::Drained`] has been given: all associations have ended.
    Reported,
}

/// Closed associations: the rules by which they are freed, and the events about them.
#[derive(Debug)]
pub(super) struct Closing {
    /// Closed associations stay until the user releases them.
    keeps: bool,
    drain: Drain,
    /// Associations whose end the user was told of, to be freed.
    ended: Vec<AssociationId>,
    /// Closed, and with something to take back; the oldest first.
    handing_back: Vec<AssociationId>,
    /// Events for the user: associations freed before it took their messages back.
    forgotten: VecDeque<EndpointEvent>,
}

impl Closing {
    /// `keeps`: closed associations stay until the user releases them.
    pub(super) fn new(keeps: bool) -> Self {
        Self {
            keeps,
            drain: Drain::No,
            ended: Vec::new(),
            handing_back: Vec::new(),
            forgotten: VecDeque::new(),
        }
    }

    /// True if closed associations stay until the user releases them.
    pub(super) fn keeps(&self) -> bool {
        self.keeps
    }

    /// The user was told that an association has closed.
    pub(super) fn note_closed(&mut self, id: AssociationId) {
        if !self.keeps {
            self.ended.push(id);
        }
    }

    /// The user has read all that an association had, which may be closed.
    #[cold]
    pub(super) fn note_read(&mut self, registry: &Registry, id: AssociationId) {
        let closed =
            registry.get(id).is_some_and(|assoc| assoc.state() == State::Closed && !assoc.has_events());
        if closed && !self.keeps && !self.ended.contains(&id) {
            self.ended.push(id);
        }
    }

    /// The user has taken back all that a closed association had.
    #[cold]
    pub(super) fn note_taken_back(&mut self, registry: &Registry, id: AssociationId) {
        if self.handing_back.contains(&id) {
            self.handing_back.retain(|other| *other != id);
            self.note_read(registry, id);
        }
    }

    /// True if an association may be there to be freed.
    #[inline]
    pub(super) fn has_ended(&self) -> bool {
        !self.ended.is_empty()
    }

    /// Frees associations that have closed and were read. Those whose last packet has not left are looked at again; those with something to read
    /// when it was read; those with something to take back when it was, or when they are more than [`HANDING_BACK`].
    #[cold]
    pub(super) fn free_ended(&mut self, registry: &mut Registry) {
        let ended = std::mem::take(&mut self.ended);
        for id in ended {
            if registry.get(id).is_some_and(Association::has_unread) {
                continue;
            }
            if registry.get(id).is_some_and(|association| !association.handed_back().is_empty()) {
                if !self.handing_back.contains(&id) {
                    self.handing_back.push(id);
                    // It takes no place of a new peer while its messages wait to be taken back.
                    registry.give_place_up(id);
                }
                if self.handing_back.len() <= HANDING_BACK {
                    continue;
                }
                let oldest = self.handing_back.remove(0);
                let messages = registry.get(oldest).map_or(0, |association| association.handed_back().len());
                if messages > 0 {
                    self.forgotten.push_back(EndpointEvent::ClosedForgotten { id: oldest, messages });
                }
                self.free_or_retry(registry, oldest);
                continue;
            }
            self.free_or_retry(registry, id);
        }
    }

    fn free_or_retry(&mut self, registry: &mut Registry, id: AssociationId) {
        if !registry.release(id) && registry.get(id).is_some() {
            self.ended.push(id);
        }
    }

    /// The next association that was freed before the user took its messages back.
    pub(super) fn pop_forgotten(&mut self) -> Option<EndpointEvent> {
        self.forgotten.pop_front()
    }

    /// The endpoint drains from now on.
    pub(super) fn drain(&mut self) {
        if self.drain == Drain::No {
            self.drain = Drain::Running;
        }
    }

    /// True if the endpoint drains, or has drained.
    pub(super) fn is_draining(&self) -> bool {
        self.drain != Drain::No
    }

    /// Tells once that nothing is left. `replies`: answers that belong to no association wait to be sent.
    pub(super) fn pop_drained(&mut self, registry: &Registry, replies: bool) -> Option<EndpointEvent> {
        let nothing = registry.open() == 0 && !registry.has_ready() && !replies;
        if self.drain != Drain::Running || !nothing {
            return None;
        }
        self.drain = Drain::Reported;
        Some(EndpointEvent::Drained)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_drain_is_told_once() {
        let (registry, mut closing) = (Registry::default(), Closing::new(false));
        assert_eq!(closing.pop_drained(&registry, false), None, "nobody asked");
        closing.drain();
        assert_eq!(closing.pop_drained(&registry, true), None, "an answer has not left");
        assert_eq!(closing.pop_drained(&registry, false), Some(EndpointEvent::Drained));
        closing.drain();
        assert_eq!(closing.pop_drained(&registry, false), None);
        assert!(closing.is_draining());
    }

    #[test]
    fn closed_associations_that_are_kept_are_not_freed() {
        let id = AssociationId { index: 0, generation: 0 };
        let (mut registry, mut closing) = (Registry::default(), Closing::new(true));
        closing.note_closed(id);
        assert!(!closing.has_ended());
        let mut closing = Closing::new(false);
        closing.note_closed(id);
        assert!(closing.has_ended());
        closing.free_ended(&mut registry);
        assert!(!closing.has_ended(), "it is gone already");
    }
}
