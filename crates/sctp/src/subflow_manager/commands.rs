//! Commands of the user while the association is up: opening, closing and merging subflows, and moving streams.

use anabranch_base::{Dscp, Instant};

use super::SubflowManager;
use crate::config::SubflowSpec;
use crate::error::{SendError, SubflowError};
use crate::ids::SubflowId;
use crate::message::Message;
use crate::state::State;

impl SubflowManager<'_> {
    /// Opens another subflow; its streams move there.
    ///
    /// # Errors
    /// When the association is ending, or has as many subflows as `max_subflows` allows.
    pub(crate) fn add_subflow(&mut self, now: Instant, spec: &SubflowSpec) -> Result<u8, SubflowError> {
        self.cx.env.set_now(now);
        self.check_changeable()?;
        self.open_subflow(spec).map(SubflowId::get)
    }

    fn open_subflow(&mut self, spec: &SubflowSpec) -> Result<SubflowId, SubflowError> {
        let id = self.sender.subflow_changes().add_subflow(self.cx, spec)?;
        self.ask_for_fid(id);
        for &stream in &spec.streams {
            self.sender.messages().move_stream(self.cx, stream, id);
        }
        Ok(id)
    }

    /// Closes a subflow; its streams move to `to`. Its chunks in flight are acknowledged or sent again as before.
    ///
    /// # Errors
    /// When the association is ending, one of them is not open, or they are the same.
    pub(crate) fn remove_subflow(&mut self, now: Instant, index: u8, to: u8) -> Result<(), SubflowError> {
        self.cx.env.set_now(now);
        self.check_changeable()?;
        self.sender.subflow_changes().remove_subflow(self.cx, SubflowId::new(index), SubflowId::new(to))?;
        self.close_drained_subflows();
        Ok(())
    }

    /// Joins subflow `index` to `into`: its streams, its chunks in flight, and its window. The caller judges whether
    /// the two are alike: [`Association::alike`](crate::Association::alike) helps.
    ///
    /// # Errors
    /// As [`SubflowManager::remove_subflow`].
    pub(crate) fn merge_subflows(&mut self, now: Instant, index: u8, into: u8) -> Result<(), SubflowError> {
        self.remove_subflow(now, index, into)?;
        if self.sender.tables_mut().absorb_subflow(self.cx, SubflowId::new(index), SubflowId::new(into)) {
            self.sender.messages().advance_forwards(self.cx);
        }
        self.close_drained_subflows();
        Ok(())
    }

    /// Moves a stream to the subflow with this code point, which is opened if there is none.
    ///
    /// # Errors
    /// As [`SubflowManager::add_subflow`]; and when there is no such stream.
    pub(crate) fn set_stream_dscp(
        &mut self,
        now: Instant,
        stream: u16,
        dscp: Dscp,
    ) -> Result<u8, SubflowError> {
        self.cx.env.set_now(now);
        self.check_changeable()?;
        self.sender.stream_map().check_stream(stream)?;
        match self.sender.tables().with_dscp(dscp) {
            Some(id) => {
                self.sender.messages().move_stream(self.cx, stream, id);
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
    pub(crate) fn choose_subflow(&mut self, message: &Message) -> Result<(), SendError> {
        let Some(asked) = message.options.as_deref().and_then(|options| options.dscp) else { return Ok(()) };
        self.sender.messages().check_message(self.cx, message)?;
        let (stream, dscp) = (message.stream, self.sender.dscp_of_stream(message.stream));
        if dscp == asked {
            return Ok(());
        }
        let (now, dscp, asked_for) = (self.cx.env.now(), dscp.get(), asked.get());
        if self.sender.is_under_way(stream) {
            self.sender.messages().owe_idle(stream);
            return Err(SendError::OtherSubflow { stream, dscp, asked: asked_for });
        }
        // A message that cannot be sent at all moves no stream.
        self.sender.messages().check_options(self.cx, message)?;
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
        self.cx.env.set_now(now);
        self.check_changeable()?;
        self.sender.stream_map().check_stream(stream)?;
        let id = SubflowId::new(subflow);
        self.sender.tables().check_open(id)?;
        self.sender.messages().move_stream(self.cx, stream, id);
        Ok(())
    }

    fn check_changeable(&self) -> Result<(), SubflowError> {
        match self.cx.env.state() {
            State::CookieWait | State::CookieEchoed | State::Established => Ok(()),
            _ => Err(SubflowError::Closing),
        }
    }
}
