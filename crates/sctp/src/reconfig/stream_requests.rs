//! Effects of the requests of RFC 6525: streams that are reset or added, and the reset of the whole numbering.
//!
//! A stream is reset between messages: those given before leave with their old numbers, and those given later wait until
//! the peer has answered (RFC 6525, 5.1.2, A1). So neither side ever sees two messages with one number.

use anabranch_base::{Duration, Instant};
use anabranch_wire::Tsn;
use anabranch_wire::param::{OutgoingReset, Param, ReconfigResponse};

use super::answers::{Answered, result};
use super::requests::{Pending, REPEATED_ANSWER, Reconfig, Request, request_path};
use crate::context::Context;
use crate::encoding::Encoding;
use crate::error::ReconfigError;
use crate::event::{Direction, Event, Reconfigured};
use crate::scope::Scope;
use crate::sender::Sender;
use crate::state::State;
use crate::violation::Violation;

/// "Only one SSN/TSN Reset Request SHOULD be sent within 30 seconds" (RFC 6525, 5.1.4).
const ASSOCIATION_RESET_PAUSE: Duration = Duration::from_secs(30);
/// Bytes before the stream numbers of the longest request, RE-CONFIG header and common header included.
const BEFORE_STREAMS: usize = 12 + 4 + OutgoingReset::HEADER;

impl Reconfig {
    /// Recomputes the streams that must wait: messages that need not wait any more go on.
    // rfc6525:5.1.2-1 rfc6525:5.1.4-3
    pub(super) fn refresh_deferred(&self, scope: &mut Scope<'_>) {
        let mut all = matches!(self.pending, Some(Pending::Association { .. }));
        let mut streams = Vec::new();
        for request in self.requests() {
            match request {
                Request::ResetAssociation => all = true,
                Request::ResetOutgoing { streams: some, .. } => {
                    all |= some.is_empty();
                    streams.extend_from_slice(some);
                }
                _ => {}
            }
        }
        scope.sender.messages().defer(scope.cx, all, streams);
    }

    /// After a packet, or a timer: requests that waited for it go on.
    pub(crate) fn advance(&mut self, scope: &mut Scope<'_>) {
        if self.repeated.is_some_and(|(_, first)| scope.sender.tables().is_acknowledged(first)) {
            self.repeated = None;
            scope.cx.env.agreed_mut().keep_room_beside_data(0);
        }
        match self.pending {
            None => return,
            Some(Pending::Outgoing { number, asked_for }) => {
                let Some(streams) = scope.receiver.take_due_reset() else { return };
                self.pending = None;
                peer_has_reset(scope, streams, asked_for);
                self.answers.give(Answered { number, result: result::PERFORMED, next_tsns: None });
            }
            Some(Pending::Association { number }) => {
                if !scope.sender.tables().is_quiet() {
                    return;
                }
                self.reset_for_peer(scope, number);
            }
        }
        self.refresh_deferred(scope);
    }

    /// Performs a request of the peer, now or later.
    pub(super) fn perform_stream_request(&mut self, scope: &mut Scope<'_>, number: u32, request: &Param<'_>) {
        let result = match request {
            Param::OutgoingReset(reset) => {
                // RFC 6525, 5.2.2, E1: it may be the answer to a request of ours.
                let asked_for = self.answered_by_request(scope, reset.response);
                self.reset_incoming(scope, number, reset, asked_for)
            }
            Param::IncomingReset(reset) => {
                match self.reset_outgoing(scope, number, reset.streams().collect()) {
                    Some(result) => result,
                    None => return, // the request that we send is the answer
                }
            }
            Param::AssociationReset(_) => match self.begin_association_reset(scope, number) {
                Some(result) => result,
                None => return,
            },
            Param::AddOutgoingStreams(add) => self.add_incoming(scope, add.count),
            Param::AddIncomingStreams(add) => self.add_outgoing(scope, add.count),
            _ => result::DENIED,
        };
        self.answers.give(Answered { number, result, next_tsns: None });
    }

    /// True if a request of the peer is the answer to ours with that number.
    // rfc6525:5.2.2-1
    fn answered_by_request(&mut self, scope: &mut Scope<'_>, number: u32) -> bool {
        let answered = |request: &Request| matches!(request, Request::ResetIncoming { .. });
        let is_answer = self.outstanding.take_if(|o| o.number == number && answered(&o.request)).is_some();
        if is_answer {
            scope.cx.paths.clear_errors();
        }
        is_answer
    }

    /// Outgoing SSN Reset Request: the peer's streams begin anew.
    // rfc6525:5.2.2-5 rfc6525:5.2.2-9
    fn reset_incoming(
        &mut self,
        scope: &mut Scope<'_>,
        number: u32,
        reset: &OutgoingReset<'_>,
        asked_for: bool,
    ) -> u32 {
        if !scope.cx.env.config().extensions.peer_resets_streams {
            return result::DENIED;
        }
        let streams: Vec<u16> = reset.streams().collect();
        if streams.iter().any(|stream| *stream >= scope.receiver.streams()) {
            return result::WRONG_SSN;
        }
        if self.pending.is_some() {
            return result::BUSY;
        }
        if scope.receiver.reset_streams_after(reset.last_tsn, &streams) {
            self.pending = Some(Pending::Outgoing { number, asked_for });
            return result::IN_PROGRESS;
        }
        peer_has_reset(scope, streams, asked_for);
        result::PERFORMED
    }

    /// Incoming SSN Reset Request: our streams begin anew. `None`: the request that we send next is the answer.
    // rfc6525:5.1.2-5 rfc6525:5.2.3-1 rfc6525:5.2.3-2 rfc6525:5.2.3-4 rfc6525:5.2.3-5
    fn reset_outgoing(&mut self, scope: &mut Scope<'_>, number: u32, streams: Vec<u16>) -> Option<u32> {
        if !scope.cx.env.config().extensions.peer_resets_streams || scope.cx.env.state() != State::Established
        {
            return Some(result::DENIED);
        }
        if streams.iter().any(|stream| *stream >= scope.sender.stream_map().streams()) {
            return Some(result::WRONG_SSN);
        }
        if streams.len() > most_streams(scope.cx, scope.sender) {
            return Some(result::DENIED);
        }
        let (fresh, have_left) =
            (scope.sender.numbering().is_fresh(&streams), scope.sender.tables().have_left(&streams));
        // "If the Outgoing SSN Reset Request Parameter that was just sent completely overlaps ... 'Nothing to do'" (RFC 6525, 5.2.3).
        let overlaps = self.outstanding.as_ref().is_some_and(|outstanding| match &outstanding.request {
            Request::ResetOutgoing { streams: ours, .. } => {
                ours.is_empty() || (!streams.is_empty() && streams.iter().all(|s| ours.contains(s)))
            }
            _ => false,
        });
        if overlaps || (fresh && have_left && scope.sender.deferred_bytes() == 0) {
            return Some(result::NOTHING);
        }
        // Each side would wait for the other's next request, and that for the answer to the one before. An SSN/TSN reset of ours waits
        // until nothing of the peer's is under way: messages that need a subflow wait there for the peer's next request, too.
        let ours = self.outstanding.as_ref().map(|outstanding| &outstanding.request);
        let waits_for_the_peer =
            matches!(ours, Some(Request::ResetIncoming { .. } | Request::ResetAssociation));
        if waits_for_the_peer || self.room() == 0 {
            return Some(result::BUSY);
        }
        let now = have_left && self.outstanding.is_none();
        self.ask(Request::ResetOutgoing { streams, answers: Some(number) });
        self.answer_later(number);
        (!now).then_some(result::IN_PROGRESS)
    }

    /// SSN/TSN Reset Request. `None`: performed and answered.
    fn begin_association_reset(&mut self, scope: &mut Scope<'_>, number: u32) -> Option<u32> {
        let one_space = has_one_space(scope);
        if !scope.cx.env.config().extensions.peer_resets_association
            || scope.cx.env.state() != State::Established
            || !one_space
        {
            return Some(result::DENIED);
        }
        let quiet = scope.sender.tables().is_quiet();
        if self.pending.is_some() || self.requests().any(|request| *request == Request::ResetAssociation) {
            return Some(result::BUSY);
        }
        self.last_association_reset = Some(scope.cx.env.now());
        self.pending = Some(Pending::Association { number });
        if !quiet {
            // Data under way is delivered first: G3 of RFC 6525, 5.2.4, would give it up.
            return Some(result::IN_PROGRESS);
        }
        self.reset_for_peer(scope, number);
        None
    }

    /// An SSN/TSN reset that the peer has asked for: RFC 6525, 5.2.4, G1 to G7.
    // rfc6525:5.1.7-3 rfc6525:5.1.7-5 rfc6525:5.1.7-6 rfc6525:5.2.4-5 rfc6525:5.2.4-6
    fn reset_for_peer(&mut self, scope: &mut Scope<'_>, number: u32) {
        let Some(cumulative) = scope.receiver.arrivals().cumulative() else { return };
        let (first, ours) = scope.sender.tables().next_tsn();
        // "SHOULD be the smallest TSN not acknowledged by the receiver of the request plus 2^31".
        let theirs = cumulative.next().add(1 << 31);
        self.reset_received(scope, theirs);
        scope.sender.messages().reset_numbering(&[]);
        let answered = Answered { number, result: result::PERFORMED, next_tsns: Some((ours, theirs)) };
        self.pending = None;
        self.answers.give(answered);
        self.repeated = Some((answered, first));
        scope.cx.env.agreed_mut().keep_room_beside_data(REPEATED_ANSWER);
        tell_outcome(scope.cx, false, Event::AssociationReset { outcome: Reconfigured::Performed });
    }

    /// The peer's TSNs go on with `next`. A reset that waits for a TSN waits for it under the new numbering; one of before that
    /// will never come counts as come.
    fn reset_received(&mut self, scope: &mut Scope<'_>, next: Tsn) {
        if let Some(streams) = scope.receiver.renumber_resets(next) {
            let pending = self.pending.take();
            let asked_for = matches!(pending, Some(Pending::Outgoing { asked_for: true, .. }));
            peer_has_reset(scope, streams, asked_for);
            if let Some(Pending::Outgoing { number, .. }) = pending {
                self.answers.give(Answered { number, result: result::PERFORMED, next_tsns: None });
            }
        }
        scope.receiver.reset_all(scope.cx, next);
    }

    /// Add Outgoing Streams Request: the peer gets more.
    // rfc6525:5.2.5-1 rfc6525:5.2.5-2 rfc6525:5.2.5-3
    fn add_incoming(&mut self, scope: &mut Scope<'_>, count: u16) -> u32 {
        if count == 0 {
            return result::NOTHING;
        }
        // "SHOULD deny the request if the number of streams exceeds a limit" (RFC 6525, 5.2.5).
        let Some(total) = scope
            .receiver
            .streams()
            .checked_add(count)
            .filter(|total| *total <= scope.cx.env.config().streams.inbound)
        else {
            return result::DENIED;
        };
        if !scope.cx.env.config().extensions.peer_adds_streams {
            return result::DENIED;
        }
        scope.receiver.set_streams(total);
        tell_streams(scope, false, Reconfigured::Performed);
        result::PERFORMED
    }

    /// Add Incoming Streams Request: we shall have more. "either send a response parameter denying the request or send a
    /// corresponding Add Outgoing Streams Request Parameter" (RFC 6525, 5.2.6).
    // rfc6525:5.2.6-1 rfc6525:5.2.6-2
    fn add_outgoing(&mut self, scope: &mut Scope<'_>, count: u16) -> u32 {
        if count == 0 {
            return result::NOTHING;
        }
        let total = self.streams_asked_for(scope.sender).saturating_add(u32::from(count));
        if !scope.cx.env.config().extensions.peer_adds_streams
            || scope.cx.env.state() != State::Established
            || total > u32::from(scope.cx.env.config().streams.max_outbound)
        {
            return result::DENIED;
        }
        if self.room() == 0 {
            return result::BUSY;
        }
        self.ask(Request::AddOutgoing { count, for_peer: true });
        result::PERFORMED
    }

    /// Our streams, those included that we have asked for.
    fn streams_asked_for(&self, sender: &Sender) -> u32 {
        let added = |request: &Request| match request {
            Request::AddOutgoing { count, .. } => u32::from(*count),
            _ => 0,
        };
        let added = self.requests().map(added);
        u32::from(sender.stream_map().streams()) + added.sum::<u32>()
    }

    /// The peer has answered a request of ours for good (RFC 6525, 5.2.7, H3 to H6).
    // rfc6525:5.1.5-1 rfc6525:5.2.7-4 rfc6525:5.2.7-7
    pub(super) fn stream_request_ended(
        &mut self,
        scope: &mut Scope<'_>,
        request: &Request,
        response: &ReconfigResponse,
    ) -> Result<(), Violation> {
        let outcome = Reconfigured::from_result(response.result);
        let success = result::is_success(response.result);
        match request {
            Request::ResetOutgoing { streams, answers } => {
                scope.sender.messages().reset_is_answered(scope.cx, streams, success);
                let (direction, streams) = (Direction::Outgoing, streams.clone());
                tell_outcome(
                    scope.cx,
                    answers.is_none(),
                    Event::StreamsReset { direction, streams, outcome },
                );
            }
            // If it was performed, the peer's own request has said so, or will.
            Request::ResetIncoming { streams } => {
                if response.result != result::PERFORMED {
                    scope.cx.tell(Event::StreamsReset {
                        direction: Direction::Incoming,
                        streams: streams.clone(),
                        outcome,
                    });
                }
            }
            Request::ResetAssociation => match response.next_tsns {
                Some((theirs, ours)) if success => self.reset_as_answered(scope, ours, theirs),
                None if success => {
                    return Err(Violation::Protocol("an SSN/TSN reset was performed, but not to which TSNs"));
                }
                _ => scope.cx.tell(Event::AssociationReset { outcome }),
            },
            Request::AddOutgoing { count, for_peer } => {
                if response.result == result::PERFORMED {
                    let streams = scope.sender.stream_map().streams().saturating_add(*count);
                    scope.sender.messages().set_streams(streams);
                }
                tell_streams(scope, !for_peer, outcome);
            }
            Request::AddIncoming(_) => {
                if !success {
                    tell_streams(scope, true, outcome);
                }
            }
            Request::Open { .. } | Request::Close { .. } => {}
        }
        Ok(())
    }

    /// RFC 6525, 5.2.7, H5: "new data MUST be sent from the Receiver's Next TSN, beginning with SSN 0 for all outgoing streams. All
    /// incoming streams MUST be reset to 0 as the next expected SSN. The peer will send DATA chunks starting with the Sender's Next TSN."
    // rfc6525:5.2.7-5 rfc6525:5.2.7-6
    fn reset_as_answered(&mut self, scope: &mut Scope<'_>, ours: Tsn, theirs: Tsn) {
        self.reset_received(scope, theirs);
        scope.sender.reset_all(scope.cx, ours);
        scope.cx.tell(Event::AssociationReset { outcome: Reconfigured::Performed });
    }

    /// Asks for streams to begin anew: ours, the peer's, or both; all where none is listed.
    ///
    /// # Errors
    /// Says why it cannot be asked for.
    // rfc6525:5.1.2-7 rfc6525:5.1.2-8 rfc6525:5.1.3-3 rfc6525:5.1.3-4
    pub(crate) fn reset_streams(
        &mut self,
        scope: &mut Scope<'_>,
        direction: Direction,
        streams: &[u16],
    ) -> Result<(), ReconfigError> {
        let (outgoing, incoming) = match direction {
            Direction::Outgoing => (true, false),
            Direction::Incoming => (false, true),
            Direction::Both => (true, true),
        };
        self.check_room(1 + usize::from(outgoing && incoming))?;
        let limit = most_streams(scope.cx, scope.sender);
        if streams.len() > limit {
            return Err(ReconfigError::TooManyListed { listed: streams.len(), limit });
        }
        for (asked, existing) in
            [(outgoing, scope.sender.stream_map().streams()), (incoming, scope.receiver.streams())]
        {
            if let Some(stream) = streams.iter().find(|s| asked && **s >= existing) {
                return Err(ReconfigError::NoSuchStream { stream: *stream, streams: existing });
            }
        }
        if outgoing {
            self.ask(Request::ResetOutgoing { streams: streams.to_vec(), answers: None });
        }
        if incoming {
            self.ask(Request::ResetIncoming { streams: streams.to_vec() });
        }
        self.refresh_deferred(scope);
        Ok(())
    }

    /// Asks for all streams and both TSN spaces to begin anew. Messages sent before are delivered first.
    ///
    /// # Errors
    /// As [`Reconfig::reset_streams`]; also within 30 s of the last time, and while subflows have sequence spaces of their own.
    // rfc6525:5.1.4-7
    pub(crate) fn reset_association(
        &mut self,
        scope: &mut Scope<'_>,
        now: Instant,
    ) -> Result<(), ReconfigError> {
        self.check_room(1)?;
        scope.cx.env.set_now(now);
        if !has_one_space(scope) {
            return Err(ReconfigError::SeveralSpaces);
        }
        if self.last_association_reset.is_some_and(|at| now - at < ASSOCIATION_RESET_PAUSE) {
            return Err(ReconfigError::TooSoon);
        }
        self.last_association_reset = Some(now);
        self.ask(Request::ResetAssociation);
        self.refresh_deferred(scope);
        Ok(())
    }

    /// Asks for more streams, ours and the peer's.
    ///
    /// # Errors
    /// As [`Reconfig::reset_streams`]; also when there would be more than 65535, or more of the peer's than `inbound_streams` allows.
    pub(crate) fn add_streams(
        &mut self,
        scope: &Scope<'_>,
        outgoing: u16,
        incoming: u16,
    ) -> Result<(), ReconfigError> {
        self.check_room(2)?;
        if self.streams_asked_for(scope.sender) + u32::from(outgoing) > u32::from(u16::MAX) {
            return Err(ReconfigError::TooManyStreams { limit: u16::MAX });
        }
        let limit = scope.cx.env.config().streams.inbound;
        if scope.receiver.streams().checked_add(incoming).is_none_or(|total| total > limit) {
            return Err(ReconfigError::TooManyStreams { limit });
        }
        if outgoing > 0 {
            self.ask(Request::AddOutgoing { count: outgoing, for_peer: false });
        }
        if incoming > 0 {
            self.ask(Request::AddIncoming(incoming));
        }
        Ok(())
    }

    fn check_room(&self, requests: usize) -> Result<(), ReconfigError> {
        if self.room() < requests { Err(ReconfigError::TooManyRequests) } else { Ok(()) }
    }
}

/// RFC 6525, 5.2.2, E3: "If no stream numbers are listed in the parameter, then all incoming streams MUST be reset to 0".
// rfc6525:5.2.2-6
fn peer_has_reset(scope: &mut Scope<'_>, streams: Vec<u16>, asked_for: bool) {
    scope.receiver.reset_streams(scope.cx, &streams);
    let (direction, outcome) = (Direction::Incoming, Reconfigured::Performed);
    tell_outcome(scope.cx, asked_for, Event::StreamsReset { direction, streams, outcome });
}

/// The end of a request of ours is told in any case. The peer can repeat its own requests at will: of these the user is told while events are
/// read.
fn tell_outcome(cx: &mut Context, asked_for: bool, event: Event) {
    if asked_for {
        cx.tell(event);
    } else {
        cx.tell_if_read(event);
    }
}

/// True if all subflows share the TSN space.
fn has_one_space(scope: &Scope<'_>) -> bool {
    !scope.sender.tables().has_several_spaces() && scope.cx.env.agreed().encoding() != Encoding::Sf2007
}

fn tell_streams(scope: &mut Scope<'_>, asked_for: bool, outcome: Reconfigured) {
    let (outbound_streams, inbound_streams) = (scope.sender.stream_map().streams(), scope.receiver.streams());
    tell_outcome(scope.cx, asked_for, Event::StreamsAdded { outbound_streams, inbound_streams, outcome });
}

/// Streams that one request can list.
fn most_streams(cx: &Context, sender: &Sender) -> usize {
    let room = cx.paths.get(request_path(cx, sender)).map_or(0, crate::path::Path::max_packet);
    room.saturating_sub(BEFORE_STREAMS) / 2
}
