//! Messages that were not delivered: they are kept until the user, told by an event, takes them back (RFC 9260, 11.1.14, 11.1.15, 11.2.2).

use crate::context::Context;
use crate::event::Event;
use crate::sender::Sender;
use crate::undelivered::{Returned, Undelivered};

/// Messages that the user may take back; allocated only when there are any.
#[derive(Debug, Default)]
pub(crate) struct HandedBack {
    kept: Option<Box<Returned>>,
}

impl HandedBack {
    /// Keeps messages that cannot be delivered any more for the user, which gets an event (SEND FAILURE, 11.2.2).
    /// Returns the numbers of new ones: those of which nothing was sent, and the others.
    pub(crate) fn take_undelivered(&mut self, cx: &mut Context, sender: &mut Sender) -> (usize, usize) {
        if sender.has_nothing_outstanding() {
            return (0, 0);
        }
        let returned = self.kept.get_or_insert_default();
        let before = (returned.unsent.len(), returned.unacknowledged.len());
        sender.messages().take_undelivered(cx, returned);
        if returned.is_empty() {
            // All outstanding messages had been given up and only waited for the peer to skip them.
            self.kept = None;
            return (0, 0);
        }
        let now = (returned.unsent.len(), returned.unacknowledged.len());
        // A peer that restarts again and again must not fill our memory with messages that the user does not take back.
        returned.most = sender.most_undelivered(cx);
        let forgotten = returned.forget_oldest(before, usize::try_from(returned.most).unwrap_or(usize::MAX));
        if forgotten > 0 {
            cx.tell(Event::ReturnedForgotten { messages: forgotten });
        }
        self.tell(cx);
        (now.0 - before.0, now.1 - before.1)
    }

    /// Messages that no stream takes any more.
    pub(crate) fn keep_unsent(&mut self, messages: Vec<Undelivered>) {
        if !messages.is_empty() {
            self.kept.get_or_insert_default().unsent.extend(messages);
        }
    }

    /// The peer does not skip messages that are given up: those that may not be sent reliably are handed back, and the user is told.
    pub(crate) fn settle_reliability(&mut self, cx: &mut Context, sender: &mut Sender) {
        let refused = sender.messages().settle_reliability(cx);
        if !refused.is_empty() {
            self.keep_unsent(refused);
            self.tell(cx);
        }
    }

    fn tell(&self, cx: &mut Context) {
        let Some(returned) = &self.kept else { return };
        let (unsent, unacknowledged) = (returned.unsent.len(), returned.unacknowledged.len());
        cx.tell(Event::SendFailed { unsent, unacknowledged });
    }

    /// RECEIVE_UNSENT (11.1.14).
    pub(crate) fn pop_unsent(&mut self) -> Option<Undelivered> {
        let message = self.kept.as_mut()?.unsent.pop_front();
        self.kept.take_if(|returned| returned.is_empty());
        message
    }

    /// RECEIVE_UNACKED (11.1.15).
    pub(crate) fn pop_unacknowledged(&mut self) -> Option<Undelivered> {
        let message = self.kept.as_mut()?.unacknowledged.pop_front();
        self.kept.take_if(|returned| returned.is_empty());
        message
    }

    /// Number of messages that can be taken back.
    pub(crate) fn len(&self) -> usize {
        self.kept.as_ref().map_or(0, |returned| returned.unsent.len() + returned.unacknowledged.len())
    }

    /// True if nothing can be taken back.
    pub(crate) fn is_empty(&self) -> bool {
        self.kept.is_none()
    }

    /// Bytes of user data kept, and the most that may have been undelivered when the last of it was handed back;
    /// `None` where nothing is kept.
    pub(crate) fn holdings(&self) -> Option<(u64, u64)> {
        self.kept.as_ref().map(|returned| (returned.bytes() as u64, returned.most))
    }
}
