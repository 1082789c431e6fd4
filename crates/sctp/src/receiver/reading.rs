//! The user reads messages, and the window follows.

use anabranch_base::cold_path;

use super::Receiver;
use crate::context::Context;
use crate::event::Event;
use crate::message::Received;

impl Receiver {
    /// The next message for the user, or part of one.
    pub(crate) fn pop(&mut self, cx: &mut Context) -> Option<Received> {
        let message = self.inbound.pop();
        if let Some(message) = &message {
            self.has_read(cx, message);
        }
        message
    }

    /// The next message of a stream, or part of one. Events tell of each stream alone from the first time on: of those that have
    /// something already he learns then.
    pub(crate) fn pop_from(&mut self, cx: &mut Context, stream: u16) -> Option<Received> {
        let is_first = !self.inbound.is_by_stream();
        let message = self.inbound.pop_from(stream);
        if is_first {
            for other in self.inbound.ready_streams().into_iter().filter(|other| *other != stream) {
                cx.tell(Event::Readable { stream: other });
            }
        }
        self.has_read(cx, message.as_ref()?);
        message
    }

    /// The streams of which there is something to read, ascending.
    pub(crate) fn readable_streams(&self) -> Vec<u16> {
        self.inbound.ready_streams()
    }

    /// The user has taken a message.
    #[inline]
    fn has_read(&mut self, cx: &mut Context, message: &Received) {
        // There is room now, and a search that found nothing may find something.
        self.futile = 0;
        cx.report.stats.messages_delivered += u64::from(message.is_end());
        cx.report.stats.payload_bytes_delivered += message.len() as u64;
        if let Some(table) = &mut cx.report.streams {
            cold_path();
            let counters = table.incoming(message.stream);
            counters.messages += u64::from(message.is_end());
            counters.payload_bytes += message.len() as u64;
        }
        // "send a window update only if the window can be increased by at least a quarter of the receive buffer
        // size of the association" (6.2).
        if self.window.shrinks() {
            cold_path();
            self.window.shrink(message.len());
        }
        if cx.env.config().limits.max_receive_window != 0 {
            cold_path();
            self.window.tune(cx, self.arrivals.has_floors());
        }
        if cx.env.state().receives_data() {
            self.offer_window(cx);
        }
    }
}
