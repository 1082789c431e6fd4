//! Messages that were not delivered: they are kept for the user, who is told and takes them back (RFC 9260, 11.1.14, 11.1.15, 11.2.2).

use super::Association;
use crate::event::Event;
use crate::undelivered::{Returned, Undelivered};

impl Association {
    /// What cannot be delivered any more is kept for the user, who is told (SEND FAILURE, 11.2.2). Gives how many messages these are
    /// now: of which nothing was sent, and others.
    pub(super) fn return_undelivered(&mut self) -> (usize, usize) {
        if self.sender.has_nothing_outstanding() {
            return (0, 0);
        }
        let returned = self.returned.get_or_insert_default();
        let before = (returned.unsent.len(), returned.unacknowledged.len());
        self.sender.take_undelivered(&mut self.cx, returned);
        if returned.is_empty() {
            // What was given up only waited for the peer to skip it.
            self.returned = None;
            return (0, 0);
        }
        let now = (returned.unsent.len(), returned.unacknowledged.len());
        // A peer that restarts again and again must not fill our memory with what the user does not take back.
        returned.most = self.sender.most_undelivered(&self.cx);
        let forgotten = returned.forget_oldest(before, usize::try_from(returned.most).unwrap_or(usize::MAX));
        if forgotten > 0 {
            self.cx.tell(Event::ReturnedForgotten { messages: forgotten });
        }
        self.tell_returned();
        (now.0 - before.0, now.1 - before.1)
    }

    /// Messages that no stream takes any more.
    pub(super) fn return_unsent(&mut self, messages: Vec<Undelivered>) {
        if !messages.is_empty() {
            let returned: &mut Returned = self.returned.get_or_insert_default();
            returned.unsent.extend(messages);
        }
    }

    /// The peer does not skip what is given up: what may not be sent reliably is handed back, and the user told.
    pub(super) fn settle_reliability(&mut self) {
        let refused = self.sender.settle_reliability(&mut self.cx);
        if !refused.is_empty() {
            self.return_unsent(refused);
            self.tell_returned();
        }
    }

    fn tell_returned(&mut self) {
        let Some(returned) = &self.returned else { return };
        let (unsent, unacknowledged) = (returned.unsent.len(), returned.unacknowledged.len());
        self.cx.tell(Event::SendFailed { unsent, unacknowledged });
    }

    /// RECEIVE_UNSENT (11.1.14).
    pub(crate) fn receive_unsent(&mut self) -> Option<Undelivered> {
        let message = self.returned.as_mut()?.unsent.pop_front();
        self.returned.take_if(|returned| returned.is_empty());
        message
    }

    /// RECEIVE_UNACKED (11.1.15).
    pub(crate) fn receive_unacknowledged(&mut self) -> Option<Undelivered> {
        let message = self.returned.as_mut()?.unacknowledged.pop_front();
        self.returned.take_if(|returned| returned.is_empty());
        message
    }

    /// How many messages can be taken back.
    pub(crate) fn returned(&self) -> usize {
        self.returned.as_ref().map_or(0, |returned| returned.unsent.len() + returned.unacknowledged.len())
    }

    /// Whether something can be taken back.
    pub(crate) fn has_returned(&self) -> bool {
        self.returned.is_some()
    }
}
