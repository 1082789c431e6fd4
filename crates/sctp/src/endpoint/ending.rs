//! The end of all associations: in order, or at once.

use anabranch_base::{Duration, Instant};

use crate::association::End;

use super::Endpoint;

impl Endpoint {
    /// Ends everything in order: nothing is accepted any more and requests that wait are refused, as after
    /// [`Endpoint::stop_listening`]; `connect` and `listen` are refused; every association is shut down, and aborted
    /// where that takes longer than `patience`. [`EndpointEvent::Drained`](crate::EndpointEvent::Drained) tells when
    /// all have ended and their last packets have left.
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
    /// two.exchange(); // accepted messages are delivered first
    /// assert_eq!(two.ends[0].poll_endpoint_event(), Some(EndpointEvent::Drained));
    /// assert_eq!(two.z().receive().map(|message| message.len()), Some(50_000));
    /// # Ok::<(), SendError>(())
    /// ```
    pub fn drain(&mut self, now: Instant, patience: Option<Duration>) {
        self.stop_listening();
        self.closing.drain();
        for index in self.registry.indices() {
            if let Some(assoc) = self.registry.at_mut(index) {
                assoc.shutdown(now, patience.map(|patience| now + patience));
            }
            self.settle(now, index);
        }
    }

    /// DESTROY (RFC 9260, 11.1.16): nothing is accepted any more and every association is aborted. The ABORTs still have to
    /// leave ([`Endpoint::poll_transmit`]).
    pub fn destroy(&mut self, now: Instant) {
        self.stop_listening();
        // Backwards, as each goes to the front of those that have something to send.
        for index in self.registry.indices().into_iter().rev() {
            if let Some(assoc) = self.registry.at_mut(index) {
                assoc.end(End::by_user(&[]));
            }
            self.settle(now, index);
        }
    }

    /// True if [`Endpoint::drain`] was asked for.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.closing.is_draining()
    }
}
