//! The ways into and out of an association: packets that arrive, packets that leave, messages of the user. Each is handed to the owner
//! that it belongs to.

use anabranch_base::{Instant, Meta, Transmit};
use anabranch_wire::Chunks;

use super::Association;
use super::control_chunks::{Sources, wants_control};
use super::end::End;
use super::handshake::Handshake;
use super::packet_reader::{Interrupt, PacketOutcome, Reading, Reply};
use crate::control::Kind;
use crate::error::SendError;
use crate::event::CloseReason;
use crate::message::Message;
use crate::options::MessageId;
use crate::scope::scope_of;
use crate::state::State;

impl Association {
    /// Reads the chunks of a packet whose verification tag is right. `size` is that of the SCTP packet.
    // rfc9260:3.3.7-3 rfc9260:6.10-6
    pub(crate) fn handle_chunks(
        &mut self,
        now: Instant,
        meta: &Meta,
        mut chunks: Chunks<'_>,
        size: usize,
    ) -> PacketOutcome {
        self.cx.env.set_now(now);
        let mut reading = self.packet_reader().begin(meta, &chunks, size);
        loop {
            let interrupt = self.packet_reader().read(&mut reading, &mut chunks);
            if matches!(interrupt, Interrupt::Stop) || !self.on_interrupt(&mut reading, interrupt) {
                break;
            }
        }
        if self.packet_reader().finish(&reading) {
            if self.cx.env.state() == State::ShutdownSent {
                let had_data = reading.data.has_data();
                self.life
                    .in_shutdown(&mut scope_of!(self), |shutdown, scope| shutdown.heard(scope, had_data));
            }
            self.sender.messages().tell_writable(&mut self.cx);
        }
        reading.outcome
    }

    /// Handles a chunk that the packet reader leaves to the association. False when the rest of the packet must not be read.
    #[inline(never)]
    fn on_interrupt(&mut self, reading: &mut Reading, interrupt: Interrupt<'_>) -> bool {
        match interrupt {
            Interrupt::Stop => return false,
            Interrupt::Violation(violation) => self.end(End::violation(&self.cx, violation)),
            Interrupt::InitAck(init) => {
                if let Err(outcome) = self.on_init_ack(&init) {
                    reading.outcome = outcome;
                    return false;
                }
            }
            Interrupt::CookieAck | Interrupt::DataForCookieAck => self.on_cookie_ack(),
            Interrupt::CookieAckWithSetup(setup) => {
                self.adopt_setup(setup);
                self.on_cookie_ack();
            }
            Interrupt::Acknowledged => self.life.advance_shutdown(&mut scope_of!(self)),
            Interrupt::Shutdown(cumulative) => self.on_shutdown(cumulative),
            // rfc9260:9.2-17 rfc9260:9.2-26
            Interrupt::ShutdownAck => {
                if matches!(self.cx.env.state(), State::ShutdownSent | State::ShutdownAckSent) {
                    self.control.ask(Kind::ShutdownComplete, self.cx.paths.for_control());
                    self.end(End::silent(CloseReason::Graceful));
                }
            }
            Interrupt::ShutdownComplete => {
                if let Some(end) = End::by_shutdown_complete(self.cx.env.state()) {
                    self.end(end);
                }
            }
            Interrupt::Abort(list) => self.end(End::by_peer(list)),
            Interrupt::Error(list) => {
                self.on_error(list);
                if self.life.wants_new_tag() {
                    // The rest of the packet is for the attempt that has failed.
                    reading.outcome.reply = Reply::NewTag;
                    return false;
                }
            }
        }
        self.cx.env.state() != State::Closed
    }

    /// Appends up to `max_packets` packets of equal size (the last may be shorter) to `buf`.
    #[allow(clippy::inline_always, reason = "the endpoint is its only caller; measured")]
    #[inline(always)]
    pub(crate) fn poll_transmit(
        &mut self,
        now: Instant,
        max_packets: usize,
        buf: &mut Vec<u8>,
    ) -> Option<Transmit> {
        self.cx.env.set_now(now);
        if self.sender.special().has_ended(&self.cx) {
            self.end_lifetimes();
        }
        let scope = scope_of!(self);
        let mut from = Sources { scope, reconfig: self.reconfig.as_deref_mut(), phase: self.life.phase() };
        self.writer.poll(&mut from, max_packets, buf)
    }

    /// Lifetimes have ended.
    #[cold]
    fn end_lifetimes(&mut self) {
        self.sender.messages().end_lifetimes(&mut self.cx);
        self.after_abandonment();
    }

    /// True if anything might leave now. Cheap; may be true for nothing.
    #[inline]
    pub(crate) fn wants_to_transmit(&self) -> bool {
        self.receiver.arrivals().owes_sack()
            || self.sender.may_have_data()
            || wants_control(&self.cx, &self.sender, &self.control, self.reconfig.as_deref())
            || self.writer.has_deferred()
    }

    /// A message of the user: whether it is open, and then the sender takes it.
    // rfc9260:9.2-8 rfc9260:9.2-21
    #[inline]
    pub(crate) fn send(&mut self, now: Instant, message: Message) -> Result<MessageId, SendError> {
        self.cx.env.set_now(now);
        let wanted = || self.life.handshake().is_some_and(Handshake::is_shutdown_wanted);
        match self.cx.env.state() {
            State::Established => {}
            State::CookieWait | State::CookieEchoed if !wanted() => {}
            _ => return Err(SendError::Closing),
        }
        if message.options.is_some() {
            self.subflow_manager().choose_subflow(&message)?;
        }
        self.sender.messages().send(&mut self.cx, message)
    }
}
