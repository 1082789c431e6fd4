//! The end of associations as the endpoint sees it: draining, and freeing what has closed.

use anabranch_base::{Duration, Instant};

use super::Endpoint;
use super::drain::Drain;
use crate::association::Association;
use crate::error::ConnectError;
use crate::event::AssociationId;
use crate::incoming::EndpointEvent;
use crate::state::State;

/// So many closed associations keep what can be taken back, besides the one that closed last: who asks for events first and acts then
/// finds it.
const HANDING_BACK: usize = 16;

impl Endpoint {
    /// Ends everything in order: nothing is accepted any more and who waits is refused, as after [`Endpoint::stop_listening`];
    /// `connect` and `listen` are refused; every association is shut down, and aborted where that takes longer than `patience`.
    /// [`EndpointEvent::Drained`] tells when all have ended and their last packets have left.
    ///
    /// ```
    /// # mod two { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/two.rs")); }
    /// # use two::*;
    /// use anabranch_sctp::EndpointEvent;
    /// # let mut two = Two::up(Config::rfc9260());
    /// two.send(0, 50_000)?;
    /// let now = two.now;
    /// two.ends[0].drain(now, Some(Duration::from_secs(30)));
    /// assert_eq!(two.ends[0].poll_endpoint_event(), None);
    /// two.exchange(); // what was accepted is delivered first
    /// assert_eq!(two.ends[0].poll_endpoint_event(), Some(EndpointEvent::Drained));
    /// assert_eq!(two.z().receive().map(|message| message.len()), Some(50_000));
    /// # Ok::<(), SendError>(())
    /// ```
    pub fn drain(&mut self, now: Instant, patience: Option<Duration>) {
        self.stop_listening();
        if self.drain == Drain::No {
            self.drain = Drain::Running;
        }
        for index in self.registry.indices() {
            if let Some(assoc) = self.registry.at_mut(index) {
                match patience {
                    Some(patience) => assoc.shutdown_by(now, now + patience),
                    None => assoc.shutdown(now),
                }
            }
            self.settle(now, index);
        }
    }

    /// DESTROY (RFC 9260, 11.1.16): nothing is accepted any more and every association is aborted. The ABORTs still have to
    /// leave ([`Endpoint::poll_transmit`]).
    pub fn destroy(&mut self, now: Instant) {
        self.stop_listening();
        for index in self.registry.indices() {
            if let Some(assoc) = self.registry.at_mut(index) {
                assoc.abort(&[]);
            }
            self.settle(now, index);
        }
    }

    /// Whether [`Endpoint::drain`] was asked for.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.drain != Drain::No
    }

    pub(super) fn check_draining(&self) -> Result<(), ConnectError> {
        if self.is_draining() { Err(ConnectError::Draining) } else { Ok(()) }
    }

    /// Tells once that nothing is left.
    pub(super) fn pop_drained(&mut self) -> Option<EndpointEvent> {
        let nothing = self.registry.open() == 0 && self.ready.is_empty() && self.replies.is_empty();
        if self.drain != Drain::Running || !nothing {
            return None;
        }
        self.drain = Drain::Told;
        Some(EndpointEvent::Drained)
    }

    /// The user has read all that a closed association had.
    #[cold]
    pub(super) fn note_read(&mut self, id: AssociationId) {
        let closed = self.view(id).is_some_and(|assoc| assoc.state() == State::Closed && !assoc.has_events());
        if closed && !self.config.keep_closed && !self.ended.contains(&id) {
            self.ended.push(id);
        }
    }

    /// The user has taken back all that a closed association had.
    #[cold]
    pub(super) fn note_taken_back(&mut self, id: AssociationId) {
        if self.handing_back.contains(&id) {
            self.handing_back.retain(|other| *other != id);
            self.note_read(id);
        }
    }

    /// Frees what has closed and was read. Those whose last packet has not left are looked at again; those with something to read
    /// when it was read; those with something to take back when it was, or when they are more than [`HANDING_BACK`].
    #[cold]
    pub(super) fn free_ended(&mut self) {
        let ended = std::mem::take(&mut self.ended);
        for id in ended {
            if self.view(id).is_some_and(Association::has_unread) {
                continue;
            }
            if self.view(id).is_some_and(|association| !association.handed_back().is_empty()) {
                if !self.handing_back.contains(&id) {
                    self.handing_back.push(id);
                    // Nobody is refused for what its user does not look at.
                    self.registry.give_place_up(id);
                }
                if self.handing_back.len() <= HANDING_BACK {
                    continue;
                }
                let oldest = self.handing_back.remove(0);
                let messages = self.view(oldest).map_or(0, |association| association.handed_back().len());
                if messages > 0 {
                    self.forgotten.push_back(EndpointEvent::ClosedForgotten { id: oldest, messages });
                }
                self.free_or_retry(oldest);
                continue;
            }
            self.free_or_retry(id);
        }
    }

    fn free_or_retry(&mut self, id: AssociationId) {
        if !self.registry.release(id) && self.view(id).is_some() {
            self.ended.push(id);
        }
    }
}
