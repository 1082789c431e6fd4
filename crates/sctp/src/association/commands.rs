//! What the user asks for while the association is up: subflows that are opened, closed and merged, and streams that move.

use anabranch_base::{Dscp, Instant};

use super::Association;
use super::handshake::Handshake;
use crate::config::SubflowSpec;
use crate::error::{SendError, SubflowError};
use crate::ids::SubflowId;
use crate::message::Message;
use crate::options::{Abandonments, MessageId, Policy, Reliability};
use crate::state::State;

impl Association {
    /// Opens another subflow; its streams move there.
    ///
    /// # Errors
    /// When the association is ending, or has as many subflows as `max_subflows` allows.
    pub(crate) fn add_subflow(&mut self, now: Instant, spec: &SubflowSpec) -> Result<u8, SubflowError> {
        self.cx.set_now(now);
        self.check_changeable()?;
        self.open_subflow(spec).map(SubflowId::get)
    }

    fn open_subflow(&mut self, spec: &SubflowSpec) -> Result<SubflowId, SubflowError> {
        let id = self.sender.add_subflow(&mut self.cx, spec)?;
        self.ask_for_fid(id);
        for &stream in &spec.streams {
            self.sender.move_stream(&self.cx, stream, id);
        }
        Ok(id)
    }

    /// Closes a subflow; its streams move to `to`. What it has in flight is acknowledged or sent again as before.
    ///
    /// # Errors
    /// When the association is ending, one of them is not open, or they are the same.
    pub(crate) fn remove_subflow(&mut self, now: Instant, index: u8, to: u8) -> Result<(), SubflowError> {
        self.cx.set_now(now);
        self.check_changeable()?;
        self.sender.remove_subflow(&mut self.cx, SubflowId::new(index), SubflowId::new(to))?;
        self.close_drained_subflows();
        Ok(())
    }

    /// Joins subflow `index` to `into`: its streams, what it has in flight, and its window. Whether two are alike is for the
    /// caller to judge: [`Association::alike`] helps.
    ///
    /// # Errors
    /// As [`Association::remove_subflow`].
    pub(crate) fn merge_subflows(&mut self, now: Instant, index: u8, into: u8) -> Result<(), SubflowError> {
        self.remove_subflow(now, index, into)?;
        self.sender.absorb_subflow(&self.cx, SubflowId::new(index), SubflowId::new(into));
        self.close_drained_subflows();
        Ok(())
    }

    /// Moves a stream to the subflow with this code point, which is opened if there is none.
    ///
    /// # Errors
    /// As [`Association::add_subflow`]; and when there is no such stream.
    pub(crate) fn set_stream_dscp(
        &mut self,
        now: Instant,
        stream: u16,
        dscp: Dscp,
    ) -> Result<u8, SubflowError> {
        self.cx.set_now(now);
        self.check_changeable()?;
        self.sender.check_stream(stream)?;
        match self.sender.with_dscp(dscp) {
            Some(id) => {
                self.sender.move_stream(&self.cx, stream, id);
                Ok(id.get())
            }
            None => {
                let spec = SubflowSpec { streams: vec![stream], ..SubflowSpec::new(dscp) };
                self.open_subflow(&spec).map(SubflowId::get)
            }
        }
    }

    /// A message may ask for a code point: its stream goes to the subflow with that, unless something of the stream is under way.
    ///
    /// # Errors
    /// When it is, when there can be no such subflow, and when nothing could be sent anyway.
    #[cold]
    #[inline(never)]
    pub(super) fn choose_subflow(&mut self, message: &Message) -> Result<(), SendError> {
        let Some(asked) = message.options.as_deref().and_then(|options| options.dscp) else { return Ok(()) };
        self.sender.check_message(&self.cx, message)?;
        let (stream, dscp) = (message.stream, self.sender.dscp_of_stream(message.stream));
        if dscp == asked {
            return Ok(());
        }
        let (now, dscp, asked_for) = (self.cx.now, dscp.get(), asked.get());
        if self.sender.is_under_way(stream) {
            self.sender.owe_idle(stream);
            return Err(SendError::OtherSubflow { stream, dscp, asked: asked_for });
        }
        // What cannot be sent at all moves nothing.
        self.sender.check_options(&self.cx, message)?;
        let chosen = self.set_stream_dscp(now, stream, asked);
        chosen.map(|_| ()).map_err(|why| SendError::NoSubflow { asked: asked_for, why })
    }

    /// Moves a stream to a subflow.
    ///
    /// # Errors
    /// When the association is ending, the subflow is not open or there is no such stream.
    pub(crate) fn set_stream_subflow(
        &mut self,
        now: Instant,
        stream: u16,
        subflow: u8,
    ) -> Result<(), SubflowError> {
        self.cx.set_now(now);
        self.check_changeable()?;
        self.sender.check_stream(stream)?;
        let id = SubflowId::new(subflow);
        self.sender.check_open(id)?;
        self.sender.move_stream(&self.cx, stream, id);
        Ok(())
    }

    fn check_changeable(&self) -> Result<(), SubflowError> {
        match self.cx.state {
            State::CookieWait | State::CookieEchoed | State::Established => Ok(()),
            _ => Err(SubflowError::Closing),
        }
    }

    /// Lifetimes have ended.
    #[cold]
    pub(super) fn end_lifetimes(&mut self) {
        self.sender.end_lifetimes(&mut self.cx);
        self.after_abandonment();
    }

    /// What was given up may have been the last that something waited for.
    pub(super) fn after_abandonment(&mut self) {
        self.close_drained_subflows();
        self.advance_shutdown();
    }

    /// Whether the fate of every message is told.
    pub(crate) fn tell_fates(&mut self, on: bool) {
        self.sender.tell_fates(on);
    }

    /// Whether the user is told that nothing is left to send.
    pub(crate) fn tell_when_dry(&mut self, now: Instant, on: bool) {
        self.cx.set_now(now);
        self.sender.tell_when_dry(&mut self.cx, on);
    }

    /// How reliable messages are that do not say so.
    pub(crate) fn set_reliability(
        &mut self,
        stream: Option<u16>,
        reliability: Reliability,
    ) -> Result<(), SendError> {
        self.sender.set_reliability(&self.cx, stream, reliability)
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
        self.sender.abandoned(stream, policy)
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
            self.choose_subflow(&message)?;
        }
        self.sender.send(&mut self.cx, message)
    }
}
