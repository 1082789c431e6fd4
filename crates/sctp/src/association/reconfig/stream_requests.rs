//! What the requests of RFC 6525 do: streams that are reset or added, and the whole numbering that is reset.
//!
//! A stream is reset between messages: those given before leave with their old numbers, and those given later wait until
//! the peer has answered (RFC 6525, 5.1.2, A1). So neither side ever sees two messages with one number.

use anabranch_base::{Duration, Instant};
use anabranch_wire::Tsn;
use anabranch_wire::param::{OutgoingReset, Param, ReconfigResponse};

use super::super::{Association, causes};
use super::answers::{Answered, result};
use super::requests::{Pending, REPEATED_ANSWER, Request};
use crate::encoding::Encoding;
use crate::error::ReconfigError;
use crate::event::{CloseReason, Direction, Event, Reconfigured};
use crate::ids::{PathId, SubflowId};
use crate::state::State;

/// "Only one SSN/TSN Reset Request SHOULD be sent within 30 seconds" (RFC 6525, 5.1.4).
const ASSOCIATION_RESET_PAUSE: Duration = Duration::from_secs(30);
/// Bytes before the stream numbers of the longest request, RE-CONFIG header and common header included.
const BEFORE_STREAMS: usize = 12 + 4 + OutgoingReset::HEADER;

impl Association {
    /// The path on which a request leaves now: as the data of the first subflow.
    pub(super) fn request_path(&self) -> PathId {
        self.sender.path_of_subflow(SubflowId::FIRST.get()).unwrap_or_default()
    }

    pub(super) fn give_answer(&mut self, answered: Answered) {
        if let Some(reconfig) = &mut self.reconfig {
            reconfig.answers.give(answered);
        }
    }

    /// Whether a request may be sent now.
    pub(super) fn is_ready(&self, request: &Request) -> bool {
        match request {
            Request::ResetOutgoing { streams, .. } => self.sender.have_left(streams),
            // RFC 6525, 5.1.4, C2: "The sender has either no outstanding TSNs or considers all outstanding TSNs abandoned."
            Request::ResetAssociation => self.sender.is_quiet(),
            _ => true,
        }
    }

    /// Which streams must wait has changed, perhaps: messages that need not wait any more go on.
    // rfc6525:5.1.2-1 rfc6525:5.1.4-3
    pub(super) fn refresh_deferred(&mut self) {
        let Some(reconfig) = &self.reconfig else { return };
        let mut all = matches!(reconfig.pending, Some(Pending::Association { .. }));
        let mut streams = Vec::new();
        for request in reconfig.requests() {
            match request {
                Request::ResetAssociation => all = true,
                Request::ResetOutgoing { streams: some, .. } => {
                    all |= some.is_empty();
                    streams.extend_from_slice(some);
                }
                _ => {}
            }
        }
        self.sender.defer(&self.cx, all, streams);
    }

    /// After a packet, or a timer: what waited for it goes on.
    pub(in super::super) fn advance_reconfig(&mut self) {
        let Some(reconfig) = &mut self.reconfig else { return };
        if reconfig.repeated.is_some_and(|(_, first)| self.sender.is_acknowledged(first)) {
            reconfig.repeated = None;
            self.sender.keep_room_beside_data(0);
        }
        match reconfig.pending {
            None => return,
            Some(Pending::Outgoing { number, asked_for }) => {
                let Some(streams) = self.receiver.take_due_reset() else { return };
                reconfig.pending = None;
                self.peer_has_reset(streams, asked_for);
                self.give_answer(Answered { number, result: result::PERFORMED, next_tsns: None });
            }
            Some(Pending::Association { number }) => {
                if !self.sender.is_quiet() {
                    return;
                }
                self.reset_for_peer(number);
            }
        }
        self.refresh_deferred();
    }

    /// Does what the peer asks for, now or later.
    pub(super) fn perform_stream_request(&mut self, number: u32, request: &Param<'_>) {
        let result = match request {
            Param::OutgoingReset(reset) => {
                // RFC 6525, 5.2.2, E1: it may be the answer to a request of ours.
                let asked_for = self.answered_by_request(reset.response);
                self.reset_incoming(number, reset, asked_for)
            }
            Param::IncomingReset(reset) => match self.reset_outgoing(number, reset.streams().collect()) {
                Some(result) => result,
                None => return, // the request that we send is the answer
            },
            Param::AssociationReset(_) => match self.begin_association_reset(number) {
                Some(result) => result,
                None => return,
            },
            Param::AddOutgoingStreams(add) => self.add_incoming(add.count),
            Param::AddIncomingStreams(add) => self.add_outgoing(add.count),
            _ => result::DENIED,
        };
        self.give_answer(Answered { number, result, next_tsns: None });
    }

    /// Whether a request of the peer is the answer to ours with that number.
    // rfc6525:5.2.2-1
    fn answered_by_request(&mut self, number: u32) -> bool {
        let Some(reconfig) = &mut self.reconfig else { return false };
        let answered = |request: &Request| matches!(request, Request::ResetIncoming { .. });
        let is_answer =
            reconfig.outstanding.take_if(|o| o.number == number && answered(&o.request)).is_some();
        if is_answer {
            self.errors = 0;
        }
        is_answer
    }

    /// Outgoing SSN Reset Request: the peer's streams begin anew.
    // rfc6525:5.2.2-5 rfc6525:5.2.2-9
    fn reset_incoming(&mut self, number: u32, reset: &OutgoingReset<'_>, asked_for: bool) -> u32 {
        if !self.cx.config.extensions.peer_resets_streams {
            return result::DENIED;
        }
        let streams: Vec<u16> = reset.streams().collect();
        if streams.iter().any(|stream| *stream >= self.receiver.streams()) {
            return result::WRONG_SSN;
        }
        let Some(reconfig) = &mut self.reconfig else { return result::DENIED };
        if reconfig.pending.is_some() {
            return result::BUSY;
        }
        if self.receiver.reset_streams_after(reset.last_tsn, &streams) {
            reconfig.pending = Some(Pending::Outgoing { number, asked_for });
            return result::IN_PROGRESS;
        }
        self.peer_has_reset(streams, asked_for);
        result::PERFORMED
    }

    /// RFC 6525, 5.2.2, E3: "If no stream numbers are listed in the parameter, then all incoming streams MUST be reset to 0".
    // rfc6525:5.2.2-6
    fn peer_has_reset(&mut self, streams: Vec<u16>, asked_for: bool) {
        self.receiver.reset_streams(&mut self.cx, &streams);
        let (direction, outcome) = (Direction::Incoming, Reconfigured::Performed);
        self.tell_outcome(asked_for, Event::StreamsReset { direction, streams, outcome });
    }

    /// What became of a request of ours is told in any case; what the peer does of itself it can repeat at will.
    fn tell_outcome(&mut self, asked_for: bool, event: Event) {
        if asked_for {
            self.cx.tell(event);
        } else {
            self.cx.tell_if_read(event);
        }
    }

    /// Incoming SSN Reset Request: our streams begin anew. `None`: the request that we send next is the answer.
    // rfc6525:5.1.2-5 rfc6525:5.2.3-1 rfc6525:5.2.3-2 rfc6525:5.2.3-4 rfc6525:5.2.3-5
    fn reset_outgoing(&mut self, number: u32, streams: Vec<u16>) -> Option<u32> {
        if !self.cx.config.extensions.peer_resets_streams || self.cx.state != State::Established {
            return Some(result::DENIED);
        }
        if streams.iter().any(|stream| *stream >= self.sender.streams()) {
            return Some(result::WRONG_SSN);
        }
        if streams.len() > self.most_streams() {
            return Some(result::DENIED);
        }
        let (fresh, have_left) = (self.sender.is_fresh(&streams), self.sender.have_left(&streams));
        let Some(reconfig) = &mut self.reconfig else { return Some(result::DENIED) };
        // "If the Outgoing SSN Reset Request Parameter that was just sent completely overlaps ... 'Nothing to do'" (RFC 6525, 5.2.3).
        let overlaps = reconfig.outstanding.as_ref().is_some_and(|outstanding| match &outstanding.request {
            Request::ResetOutgoing { streams: ours, .. } => {
                ours.is_empty() || (!streams.is_empty() && streams.iter().all(|s| ours.contains(s)))
            }
            _ => false,
        });
        if overlaps || (fresh && have_left && self.sender.deferred_bytes() == 0) {
            return Some(result::NOTHING);
        }
        // Each side would wait for the other's next request, and that for the answer to the one before. An SSN/TSN reset of ours waits
        // until nothing of the peer's is under way: messages that need a subflow wait there for the peer's next request, too.
        let ours = reconfig.outstanding.as_ref().map(|outstanding| &outstanding.request);
        let waits_for_the_peer =
            matches!(ours, Some(Request::ResetIncoming { .. } | Request::ResetAssociation));
        if waits_for_the_peer || reconfig.room() == 0 {
            return Some(result::BUSY);
        }
        let now = have_left && reconfig.outstanding.is_none();
        reconfig.ask(Request::ResetOutgoing { streams, answers: Some(number) });
        reconfig.answer_later(number);
        (!now).then_some(result::IN_PROGRESS)
    }

    /// SSN/TSN Reset Request. `None`: performed and answered.
    fn begin_association_reset(&mut self, number: u32) -> Option<u32> {
        let one_space = self.has_one_space();
        if !self.cx.config.extensions.peer_resets_association
            || self.cx.state != State::Established
            || !one_space
        {
            return Some(result::DENIED);
        }
        let quiet = self.sender.is_quiet();
        let Some(reconfig) = &mut self.reconfig else { return Some(result::DENIED) };
        if reconfig.pending.is_some()
            || reconfig.requests().any(|request| *request == Request::ResetAssociation)
        {
            return Some(result::BUSY);
        }
        reconfig.last_association_reset = Some(self.cx.now);
        reconfig.pending = Some(Pending::Association { number });
        if !quiet {
            // What is under way is delivered first: G3 of RFC 6525, 5.2.4, would give it up.
            return Some(result::IN_PROGRESS);
        }
        self.reset_for_peer(number);
        None
    }

    /// Whether all subflows share the TSN space.
    fn has_one_space(&self) -> bool {
        !self.sender.has_several_spaces() && self.encoding != Encoding::Sf2007
    }

    /// An SSN/TSN reset that the peer has asked for: RFC 6525, 5.2.4, G1 to G7.
    // rfc6525:5.1.7-3 rfc6525:5.1.7-5 rfc6525:5.1.7-6 rfc6525:5.2.4-5 rfc6525:5.2.4-6
    fn reset_for_peer(&mut self, number: u32) {
        let Some(cumulative) = self.receiver.arrivals().cumulative() else { return };
        let (first, ours) = self.sender.next_tsn();
        // "SHOULD be the smallest TSN not acknowledged by the receiver of the request plus 2^31".
        let theirs = cumulative.next().add(1 << 31);
        self.reset_received(theirs);
        self.sender.reset_numbering(&[]);
        let answered = Answered { number, result: result::PERFORMED, next_tsns: Some((ours, theirs)) };
        if let Some(reconfig) = &mut self.reconfig {
            reconfig.pending = None;
            reconfig.answers.give(answered);
            reconfig.repeated = Some((answered, first));
        }
        self.sender.keep_room_beside_data(REPEATED_ANSWER);
        self.tell_outcome(false, Event::AssociationReset { outcome: Reconfigured::Performed });
    }

    /// The peer's TSNs go on with `next`. A reset that waits for a TSN waits for it under the new numbering; one of before that
    /// will never come counts as come.
    fn reset_received(&mut self, next: Tsn) {
        if let Some(streams) = self.receiver.renumber_resets(next) {
            let pending = self.reconfig.as_mut().and_then(|reconfig| reconfig.pending.take());
            let asked_for = matches!(pending, Some(Pending::Outgoing { asked_for: true, .. }));
            self.peer_has_reset(streams, asked_for);
            if let Some(Pending::Outgoing { number, .. }) = pending {
                self.give_answer(Answered { number, result: result::PERFORMED, next_tsns: None });
            }
        }
        self.receiver.reset_all(&mut self.cx, next);
    }

    /// Add Outgoing Streams Request: the peer gets more.
    // rfc6525:5.2.5-1 rfc6525:5.2.5-2 rfc6525:5.2.5-3
    fn add_incoming(&mut self, count: u16) -> u32 {
        if count == 0 {
            return result::NOTHING;
        }
        // "SHOULD deny the request if the number of streams exceeds a limit" (RFC 6525, 5.2.5).
        let Some(total) = self
            .receiver
            .streams()
            .checked_add(count)
            .filter(|total| *total <= self.cx.config.streams.inbound)
        else {
            return result::DENIED;
        };
        if !self.cx.config.extensions.peer_adds_streams {
            return result::DENIED;
        }
        self.receiver.set_streams(total);
        self.tell_streams(false, Reconfigured::Performed);
        result::PERFORMED
    }

    /// Add Incoming Streams Request: we shall have more. "either send a response parameter denying the request or send a
    /// corresponding Add Outgoing Streams Request Parameter" (RFC 6525, 5.2.6).
    // rfc6525:5.2.6-1 rfc6525:5.2.6-2
    fn add_outgoing(&mut self, count: u16) -> u32 {
        if count == 0 {
            return result::NOTHING;
        }
        let total = self.streams_asked_for().saturating_add(u32::from(count));
        if !self.cx.config.extensions.peer_adds_streams
            || self.cx.state != State::Established
            || total > u32::from(self.cx.config.streams.max_outbound)
        {
            return result::DENIED;
        }
        let Some(reconfig) = &mut self.reconfig else { return result::DENIED };
        if reconfig.room() == 0 {
            return result::BUSY;
        }
        reconfig.ask(Request::AddOutgoing { count, for_peer: true });
        result::PERFORMED
    }

    /// Our streams, those included that we have asked for.
    fn streams_asked_for(&self) -> u32 {
        let added = |request: &Request| match request {
            Request::AddOutgoing { count, .. } => u32::from(*count),
            _ => 0,
        };
        let added = self.reconfig.iter().flat_map(|reconfig| reconfig.requests()).map(added);
        u32::from(self.sender.streams()) + added.sum::<u32>()
    }

    /// The peer has answered a request of ours for good (RFC 6525, 5.2.7, H3 to H6).
    // rfc6525:5.1.5-1 rfc6525:5.2.7-4 rfc6525:5.2.7-7
    pub(super) fn stream_request_ended(&mut self, request: &Request, response: &ReconfigResponse) {
        let outcome = Reconfigured::from_result(response.result);
        let success = result::is_success(response.result);
        match request {
            Request::ResetOutgoing { streams, answers } => {
                self.sender.reset_is_answered(&self.cx, streams, success);
                let (direction, streams) = (Direction::Outgoing, streams.clone());
                self.tell_outcome(answers.is_none(), Event::StreamsReset { direction, streams, outcome });
            }
            // If it was performed, the peer's own request has said so, or will.
            Request::ResetIncoming { streams } => {
                if response.result != result::PERFORMED {
                    self.cx.tell(Event::StreamsReset {
                        direction: Direction::Incoming,
                        streams: streams.clone(),
                        outcome,
                    });
                }
            }
            Request::ResetAssociation => match response.next_tsns {
                Some((theirs, ours)) if success => self.reset_as_answered(ours, theirs),
                None if success => {
                    let what = "an SSN/TSN reset was performed, but not to which TSNs";
                    self.abort_with(
                        CloseReason::ProtocolViolation { what },
                        causes::protocol_violation(what),
                    );
                }
                _ => self.cx.tell(Event::AssociationReset { outcome }),
            },
            Request::AddOutgoing { count, for_peer } => {
                if response.result == result::PERFORMED {
                    self.sender.set_streams(self.sender.streams().saturating_add(*count));
                }
                self.tell_streams(!for_peer, outcome);
            }
            Request::AddIncoming(_) => {
                if !success {
                    self.tell_streams(true, outcome);
                }
            }
            Request::Open { .. } | Request::Close { .. } => {}
        }
    }

    /// RFC 6525, 5.2.7, H5: "new data MUST be sent from the Receiver's Next TSN, beginning with SSN 0 for all outgoing streams. All
    /// incoming streams MUST be reset to 0 as the next expected SSN. The peer will send DATA chunks starting with the Sender's Next TSN."
    // rfc6525:5.2.7-5 rfc6525:5.2.7-6
    fn reset_as_answered(&mut self, ours: Tsn, theirs: Tsn) {
        self.reset_received(theirs);
        self.sender.reset_all(&mut self.cx, ours);
        self.cx.tell(Event::AssociationReset { outcome: Reconfigured::Performed });
    }

    fn tell_streams(&mut self, asked_for: bool, outcome: Reconfigured) {
        let (outbound_streams, inbound_streams) = (self.sender.streams(), self.receiver.streams());
        self.tell_outcome(asked_for, Event::StreamsAdded { outbound_streams, inbound_streams, outcome });
    }

    /// Streams that one request can list.
    fn most_streams(&self) -> usize {
        let room = self.cx.paths.get(self.request_path()).map_or(0, crate::path::Path::max_packet);
        room.saturating_sub(BEFORE_STREAMS) / 2
    }

    /// Asks for streams to begin anew: ours, the peer's, or both; all where none is listed.
    ///
    /// # Errors
    /// Says why it cannot be asked for.
    // rfc6525:5.1.2-7 rfc6525:5.1.2-8 rfc6525:5.1.3-3 rfc6525:5.1.3-4
    pub(crate) fn reset_streams(
        &mut self,
        direction: Direction,
        streams: &[u16],
    ) -> Result<(), ReconfigError> {
        let (outgoing, incoming) = match direction {
            Direction::Outgoing => (true, false),
            Direction::Incoming => (false, true),
            Direction::Both => (true, true),
        };
        self.check_reconfigurable(1 + usize::from(outgoing && incoming))?;
        let limit = self.most_streams();
        if streams.len() > limit {
            return Err(ReconfigError::TooManyListed { listed: streams.len(), limit });
        }
        for (asked, existing) in [(outgoing, self.sender.streams()), (incoming, self.receiver.streams())] {
            if let Some(stream) = streams.iter().find(|s| asked && **s >= existing) {
                return Err(ReconfigError::NoSuchStream { stream: *stream, streams: existing });
            }
        }
        if let Some(reconfig) = &mut self.reconfig {
            if outgoing {
                reconfig.ask(Request::ResetOutgoing { streams: streams.to_vec(), answers: None });
            }
            if incoming {
                reconfig.ask(Request::ResetIncoming { streams: streams.to_vec() });
            }
        }
        self.refresh_deferred();
        Ok(())
    }

    /// Asks for all streams and both TSN spaces to begin anew. What was sent before is delivered first.
    ///
    /// # Errors
    /// As [`Association::reset_streams`]; also within 30 s of the last time, and while subflows have sequence spaces of their own.
    // rfc6525:5.1.4-7
    pub(crate) fn reset_association(&mut self, now: Instant) -> Result<(), ReconfigError> {
        self.check_reconfigurable(1)?;
        self.cx.set_now(now);
        if !self.has_one_space() {
            return Err(ReconfigError::SeveralSpaces);
        }
        let Some(reconfig) = &mut self.reconfig else { return Err(ReconfigError::NotSupported) };
        if reconfig.last_association_reset.is_some_and(|at| now - at < ASSOCIATION_RESET_PAUSE) {
            return Err(ReconfigError::TooSoon);
        }
        reconfig.last_association_reset = Some(now);
        reconfig.ask(Request::ResetAssociation);
        self.refresh_deferred();
        Ok(())
    }

    /// Asks for more streams, ours and the peer's.
    ///
    /// # Errors
    /// As [`Association::reset_streams`]; also when there would be more than 65535, or more of the peer's than `inbound_streams` allows.
    pub(crate) fn add_streams(&mut self, outgoing: u16, incoming: u16) -> Result<(), ReconfigError> {
        self.check_reconfigurable(2)?;
        if self.streams_asked_for() + u32::from(outgoing) > u32::from(u16::MAX) {
            return Err(ReconfigError::TooManyStreams { limit: u16::MAX });
        }
        let limit = self.cx.config.streams.inbound;
        if self.receiver.streams().checked_add(incoming).is_none_or(|total| total > limit) {
            return Err(ReconfigError::TooManyStreams { limit });
        }
        if let Some(reconfig) = &mut self.reconfig {
            if outgoing > 0 {
                reconfig.ask(Request::AddOutgoing { count: outgoing, for_peer: false });
            }
            if incoming > 0 {
                reconfig.ask(Request::AddIncoming(incoming));
            }
        }
        Ok(())
    }

    // rfc6525:5.1.1-2 rfc6525:5.1.1-3
    fn check_reconfigurable(&self, requests: usize) -> Result<(), ReconfigError> {
        match self.cx.state {
            State::CookieWait | State::CookieEchoed => return Err(ReconfigError::NotUp),
            State::Established => {}
            _ => return Err(ReconfigError::Closing),
        }
        let Some(reconfig) = &self.reconfig else { return Err(ReconfigError::NotSupported) };
        if reconfig.room() < requests {
            return Err(ReconfigError::TooManyRequests);
        }
        Ok(())
    }
}
