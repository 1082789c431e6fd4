//! Ending: SHUTDOWN in every state, and ABORT (RFC 9260, 9).

use anabranch_base::Instant;
use anabranch_wire::Tsn;

use super::acknowledgement::Windows;
use super::input::Violation;
use super::{Association, State};
use crate::event::{CloseReason, Event};

impl Association {
    /// SHUTDOWN primitive of the user.
    pub(crate) fn shutdown(&mut self, now: Instant) {
        match self.state {
            State::Established => {
                self.state = State::ShutdownPending;
                self.shutdown_at = now;
                self.advance_shutdown(now);
            }
            // The peer knows nothing of us yet, and nothing was promised to anybody.
            State::CookieWait if self.nothing_outstanding() => self.close(CloseReason::AbortedLocally),
            // What was accepted is delivered first, and the peer may be up already: it must hear of the end. A
            // handshake that fails ends it, too.
            State::CookieWait | State::CookieEchoed => self.shutdown_wanted = true,
            // "it MUST ignore ULP shutdown requests" (SHUTDOWN-RECEIVED); in the others it runs already.
            _ => {}
        }
    }

    /// ABORT primitive of the user; the reason travels as a User-Initiated Abort cause.
    pub(crate) fn abort(&mut self, reason: &[u8]) {
        match self.state {
            State::Closed => {}
            State::CookieWait => self.close(CloseReason::AbortedLocally),
            _ => {
                let cause = super::causes::user_abort(reason);
                self.abort_with(CloseReason::AbortedLocally, cause);
            }
        }
    }

    /// Sends ABORT with encoded causes and closes.
    pub(super) fn abort_with(&mut self, reason: CloseReason, causes: Vec<u8>) {
        self.control.abort = Some(causes);
        self.close(reason);
    }

    fn nothing_outstanding(&self) -> bool {
        self.spaces.iter().all(|s| s.flight.is_empty())
            && self.subflows.iter().all(|s| s.out.is_empty())
            && self.reconfig.as_ref().is_none_or(|r| r.held.bytes() == 0)
    }

    /// Goes on with a shutdown once everything outstanding has been acknowledged.
    pub(super) fn advance_shutdown(&mut self, now: Instant) {
        if !self.nothing_outstanding() {
            return;
        }
        match self.state {
            State::ShutdownPending => {
                self.state = State::ShutdownSent;
                self.control.shutdown = true;
                self.arm_t2(now);
                if self.config.shutdown_guard_rto_max > 0 {
                    let guard = self.config.rto_max * u64::from(self.config.shutdown_guard_rto_max);
                    self.t5 = Some(now + guard);
                }
            }
            State::ShutdownReceived => {
                self.state = State::ShutdownAckSent;
                self.control.shutdown_ack = true;
                self.arm_t2(now);
            }
            _ => {}
        }
    }

    fn arm_t2(&mut self, now: Instant) {
        if let Some(lane) = self.lanes.first() {
            self.t2 = Some(lane.clock.after(now, lane.rtt.rto()));
        }
    }

    /// An INIT came in SHUTDOWN-ACK-SENT: "discard the INIT chunk and retransmit the SHUTDOWN ACK chunk" (9.2).
    pub(crate) fn resend_shutdown_ack(&mut self) {
        self.control.shutdown_ack = true;
    }

    /// A packet arrived in SHUTDOWN-SENT: "SHOULD clear the endpoint's retransmission count and restart the
    /// T2-shutdown timer".
    pub(super) fn heard_in_shutdown_sent(&mut self, now: Instant, had_data: bool) {
        if self.state != State::ShutdownSent {
            return;
        }
        self.errors = 0;
        self.arm_t2(now);
        if had_data {
            // "MUST immediately respond to each received packet containing one or more DATA chunks with a SHUTDOWN
            // chunk", and a SACK where gaps or duplicates exist.
            self.control.shutdown = true;
            for (index, space) in self.spaces.iter_mut().enumerate() {
                // The SHUTDOWN chunk speaks of subflow 0 only.
                let unsaid = index > 0 && space.sack.is_pending();
                if unsaid || space.received.has_holes() || !space.sack.duplicates.is_empty() {
                    space.sack.demand();
                }
            }
        }
    }

    /// SHUTDOWN chunk.
    pub(super) fn on_shutdown(&mut self, now: Instant, cumulative: Tsn) -> Result<(), Violation> {
        match self.state {
            // "If a SHUTDOWN chunk is received in the COOKIE-WAIT or COOKIE ECHOED state, the SHUTDOWN chunk SHOULD
            // be silently discarded."
            State::CookieWait | State::CookieEchoed | State::Closed => return Ok(()),
            State::Established | State::ShutdownPending => {
                self.state = State::ShutdownReceived;
                self.events.push_back(Event::PeerShutdown);
            }
            State::ShutdownSent => {
                // "SHOULD respond immediately with a SHUTDOWN ACK chunk to its peer and move into the
                // SHUTDOWN-ACK-SENT state, restarting its T2-shutdown timer."
                self.state = State::ShutdownAckSent;
                self.control.shutdown = false;
                self.control.shutdown_ack = true;
                self.arm_t2(now);
            }
            State::ShutdownReceived => {}
            State::ShutdownAckSent => self.control.shutdown_ack = true,
        }
        if self.extensions.thesis.is_none() {
            // In the encoding of the thesis it is an association sequence number, which acknowledges nothing.
            self.on_acknowledgement(now, 0, cumulative, Windows::default(), std::iter::empty(), None)?;
        }
        self.advance_shutdown(now);
        Ok(())
    }

    /// SHUTDOWN ACK chunk in a state where it belongs to this association.
    pub(super) fn on_shutdown_ack(&mut self) {
        if matches!(self.state, State::ShutdownSent | State::ShutdownAckSent) {
            self.control.shutdown_complete = true;
            self.close(CloseReason::Graceful);
        }
    }

    /// SHUTDOWN COMPLETE chunk: "verifies that it is in the SHUTDOWN-ACK-SENT state; if it is not, the chunk SHOULD
    /// be discarded".
    pub(crate) fn on_shutdown_complete(&mut self) {
        if self.state == State::ShutdownAckSent {
            self.close(CloseReason::Graceful);
        }
    }

    /// ABORT chunk whose tag the endpoint has checked.
    pub(crate) fn on_abort(&mut self, causes: Vec<u16>) {
        self.close(CloseReason::AbortedByPeer { causes });
        // "MUST NOT respond to an ABORT" (9.1): whatever waited is gone.
        self.control = super::Control::default();
        self.stash.clear();
    }

    /// T2-shutdown expired.
    pub(super) fn on_t2(&mut self, now: Instant) {
        self.t2 = None;
        let path = 0;
        if let Some(lane) = self.lanes.first_mut() {
            lane.rtt.back_off();
        }
        self.count_error(path);
        match self.state {
            State::ShutdownSent => self.control.shutdown = true,
            State::ShutdownAckSent => self.control.shutdown_ack = true,
            _ => return,
        }
        self.arm_t2(now);
    }
}
