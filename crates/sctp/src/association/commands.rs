//! What the user asks for while the association is up: messages, and what becomes of them.

use anabranch_base::Instant;

use super::Association;
use super::handshake::Handshake;
use crate::error::SendError;
use crate::message::Message;
use crate::options::{Abandonments, MessageId, Policy};
use crate::state::State;

impl Association {
    /// Lifetimes have ended.
    #[cold]
    pub(super) fn end_lifetimes(&mut self) {
        self.sender.messages().end_lifetimes(&mut self.cx);
        self.after_abandonment();
    }

    /// What was given up may have been the last that something waited for.
    pub(super) fn after_abandonment(&mut self) {
        self.subflow_manager().close_drained_subflows();
        self.advance_shutdown();
    }

    /// Messages that were given up (RFC 7496, 4.3 and 4.4): under one policy or any, on one stream or any.
    ///
    /// ```
    /// # mod two { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/two.rs")); }
    /// # use two::*;
    /// use anabranch_sctp::Policy;
    /// # let mut two = Two::up(Config::for_networks());
    /// let now = two.now;
    /// two.a().send(now, Message::new(4, "here").max_retransmissions(0))?;
    /// two.lose();
    /// two.exchange();
    /// assert_eq!(two.a().abandoned(Some(4), Some(Policy::Retransmissions)).sent, 1);
    /// assert_eq!(two.a().abandoned(None, Some(Policy::Lifetime)).sent, 0);
    /// # Ok::<(), SendError>(())
    /// ```
    #[must_use]
    pub fn abandoned(&self, stream: Option<u16>, policy: Option<Policy>) -> Abandonments {
        self.sender.special().abandoned(stream, policy)
    }

    // rfc9260:9.2-8 rfc9260:9.2-21
    #[inline]
    pub(crate) fn send(&mut self, now: Instant, message: Message) -> Result<MessageId, SendError> {
        self.cx.set_now(now);
        let wanted = || self.phase.handshake().is_some_and(Handshake::is_shutdown_wanted);
        match self.cx.state {
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
