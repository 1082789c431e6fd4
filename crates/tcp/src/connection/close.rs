//! Closing: FIN in either order or at once, TIME-WAIT, RST, giving up (RFC 9293, sections 3.6 and 3.10).

use super::{Connection, Outside};
use crate::event::{Event, Failure, State};

impl Connection {
    /// The user sends nothing more.
    pub(crate) fn close(&mut self) {
        match self.state {
            State::SynSent if self.sender.buffer().queue().len() == 0 => self.enter_closed(),
            // Data that was queued, and the FIN, follow the handshake. (RFC 9293, section 3.10.4, drops the
            // data of a connection in SYN-SENT; there the user waits for the handshake before he sends.)
            State::SynSent | State::SynReceived => self.sender.buffer_mut().finish(),
            State::Established => {
                self.sender.buffer_mut().finish();
                self.state = State::FinWait1;
            }
            State::CloseWait => {
                self.sender.buffer_mut().finish();
                self.state = State::LastAck;
            }
            State::FinWait1
            | State::FinWait2
            | State::Closing
            | State::LastAck
            | State::TimeWait
            | State::Closed => {}
        }
    }

    /// RST, and the end.
    pub(crate) fn abort(&mut self) {
        self.reset_due =
            self.state.is_synchronized() && self.state != State::TimeWait || self.state == State::SynReceived;
        self.enter_closed();
        self.receiver.clear();
    }

    pub(super) fn on_fin_acknowledged(&mut self, out: &mut Outside<'_>) {
        match self.state {
            State::FinWait1 => self.state = State::FinWait2,
            State::Closing => self.enter_time_wait(out),
            State::LastAck => {
                self.enter_closed();
                self.emit_event(out, Event::Closed);
            }
            _ => {}
        }
    }

    pub(super) fn on_fin_received(&mut self, out: &mut Outside<'_>) {
        self.emit_event(out, Event::PeerClosed);
        match self.state {
            State::Established => self.state = State::CloseWait,
            State::FinWait1 if self.sender.buffer().fin_sent() && self.sender.fin_acknowledged() => {
                self.enter_time_wait(out);
            }
            // Simultaneous close.
            State::FinWait1 => self.state = State::Closing,
            State::FinWait2 => self.enter_time_wait(out),
            _ => {}
        }
    }

    fn enter_time_wait(&mut self, out: &mut Outside<'_>) {
        self.state = State::TimeWait;
        self.sender.clear();
        self.time_wait = Some(out.now + self.config.time_wait);
        self.emit_event(out, Event::Closed);
    }

    pub(super) fn enter_closed(&mut self) {
        self.state = State::Closed;
        self.syn.stop();
        self.sender.clear();
        self.time_wait = None;
        self.acks.sent();
    }

    pub(super) fn on_reset(&mut self, out: &mut Outside<'_>) {
        // In TIME-WAIT the user has long been told that all is well (RFC 1337: and it stays so).
        if self.state == State::TimeWait {
            return;
        }
        self.enter_closed();
        self.emit_event(out, Event::Reset);
    }

    pub(super) fn fail(&mut self, out: &mut Outside<'_>, why: Failure) {
        self.reset_due = self.state.is_synchronized();
        self.enter_closed();
        self.emit_event(out, Event::Failed { why });
    }
}
