//! What the requests of RFC 6525 do: streams that begin anew or are added, and the whole numbering that begins anew.
//!
//! A stream is reset between messages: those given before leave with their old numbers, and those given later are held until
//! the peer has answered (A1). So neither side ever sees two messages with one number.

use std::collections::VecDeque;

use anabranch_base::{Duration, Instant};
use anabranch_wire::Tsn;
use anabranch_wire::param::{OutgoingReset, Param, ReconfigResponse};

use super::reconfig::{Answered, Asked, Wish, result};
use super::{Association, State, causes};
use crate::error::ReconfigError;
use crate::event::{CloseReason, Direction, Event, Message, Reconfigured};
use crate::subflow::receive::ReceiveMap;
use crate::subflow::sack::SackScheduler;

/// "Only one SSN/TSN Reset Request SHOULD be sent within 30 seconds" (5.1.4).
const ASSOCIATION_RESET_PAUSE: Duration = Duration::from_secs(30);
/// Events beyond which what a peer did is not told: the user is not reading.
const MAX_WAITING_EVENTS: usize = 256;
/// Bytes before the stream numbers of the longest request, RE-CONFIG header and common header included.
const BEFORE_STREAMS: usize = 12 + 4 + OutgoingReset::HEADER;

/// A request of the peer that must wait.
#[derive(Debug)]
pub(super) enum Pending {
    /// Its streams are reset when everything up to `last` has come ("deferred reset processing", E2).
    Outgoing { number: u32, last: u64, streams: Vec<u16> },
    /// The association is reset when nothing of ours is under way.
    Association { number: u32 },
}

/// Messages that must not get a number yet.
#[derive(Debug, Default)]
pub(crate) struct Held {
    all: bool,
    /// Sorted.
    streams: Vec<u16>,
    messages: VecDeque<Message>,
    bytes: usize,
}

impl Held {
    /// Whether new messages of a stream must wait.
    pub(super) fn holds(&self, stream: u16) -> bool {
        self.all || self.streams.binary_search(&stream).is_ok()
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn push(&mut self, message: Message) {
        self.bytes += message.payload.len();
        self.messages.push_back(message);
    }
}

impl Association {
    /// Whether a request may be sent now.
    pub(super) fn is_ready(&self, wish: &Wish) -> bool {
        match wish {
            Wish::ResetOutgoing { streams, .. } => self.have_left(streams),
            // C2: "The sender has either no outstanding TSNs or considers all outstanding TSNs abandoned."
            Wish::ResetAssociation => self.is_quiet(),
            _ => true,
        }
    }

    /// Whether all messages of some streams (none listed: of all) that may have numbers have left.
    fn have_left(&self, streams: &[u16]) -> bool {
        let queued = self.subflows.iter().any(|subflow| match streams {
            [] => !subflow.out.is_empty(),
            _ => streams.iter().any(|stream| subflow.out.waits(*stream)),
        });
        // The last TSN, which the request names, says nothing of other sequence spaces: what went there must be acknowledged.
        !queued && !self.spaces.iter().skip(1).any(|space| space.flight.carries(streams))
    }

    /// Nothing of ours waits or is under way.
    fn is_quiet(&self) -> bool {
        self.have_left(&[]) && self.spaces.iter().all(|space| space.flight.is_empty())
    }

    /// Which streams must wait has changed, perhaps: messages that need not wait any more go on.
    pub(super) fn refresh_held(&mut self) {
        let Some(reconfig) = &mut self.reconfig else { return };
        let mut all = matches!(reconfig.pending, Some(Pending::Association { .. }));
        let mut streams = Vec::new();
        for wish in reconfig.wishes() {
            match wish {
                Wish::ResetAssociation => all = true,
                Wish::ResetOutgoing { streams: some, .. } => {
                    all |= some.is_empty();
                    streams.extend_from_slice(some);
                }
                _ => {}
            }
        }
        streams.sort_unstable();
        streams.dedup();
        let held = &mut reconfig.held;
        (held.all, held.streams) = (all, streams);
        if held.messages.is_empty() {
            return;
        }
        let messages = std::mem::take(&mut held.messages);
        held.bytes = 0;
        let (wait, go): (VecDeque<_>, VecDeque<_>) = messages.into_iter().partition(|m| held.holds(m.stream));
        for message in wait {
            held.push(message);
        }
        let arrival = self.stats.messages_accepted;
        for message in go {
            let index = self.subflow_of(message.stream);
            if let Some(subflow) = self.subflows.get_mut(index) {
                subflow.out.push(message, arrival);
            }
        }
    }

    /// After a packet: what waited for it goes on.
    pub(super) fn advance_reconfig(&mut self) {
        let Some(reconfig) = &mut self.reconfig else { return };
        if let (Some((_, first)), Some(space)) = (reconfig.echo, self.spaces.first()) {
            if space.flight.first() > first {
                reconfig.echo = None;
            }
        }
        match &reconfig.pending {
            None => return,
            Some(Pending::Outgoing { number, last, .. }) => {
                if self.spaces.first().is_none_or(|space| space.received.next() <= *last) {
                    return;
                }
                let number = *number;
                if let Some(Pending::Outgoing { streams, .. }) = reconfig.pending.take() {
                    self.peer_has_reset(streams);
                }
                self.give_answer(Answered { number, result: result::PERFORMED, next_tsns: None });
            }
            Some(Pending::Association { number }) => {
                let number = *number;
                if !self.is_quiet() {
                    return;
                }
                self.reset_for_peer(number);
            }
        }
        self.refresh_held();
    }

    /// Whether a chunk came too early: its stream is about to be reset, and the chunk is of the time after that (E2). It
    /// counts as not received; "MUST be queued locally and held" has the same effect, for a sender that keeps to A1 has not
    /// sent it.
    #[inline]
    pub(super) fn comes_too_early(&self, seq: u64, stream: u16) -> bool {
        let Some(reconfig) = &self.reconfig else { return false };
        match &reconfig.pending {
            Some(Pending::Outgoing { last, streams, .. }) => {
                seq > *last && (streams.is_empty() || streams.contains(&stream))
            }
            _ => false,
        }
    }

    /// Does what the peer asks for, now or later.
    pub(super) fn perform_stream_request(&mut self, now: Instant, number: u32, request: &Param<'_>) {
        let result = match request {
            Param::OutgoingReset(reset) => {
                // E1: it may be the answer to a request of ours.
                self.answered_by_request(reset.response);
                self.reset_incoming(number, reset)
            }
            Param::IncomingReset(reset) => match self.reset_outgoing(number, reset.streams().collect()) {
                Some(result) => result,
                None => return, // the request that we send is the answer
            },
            Param::AssociationReset(_) => match self.begin_association_reset(now, number) {
                Some(result) => result,
                None => return,
            },
            Param::AddOutgoingStreams(add) => self.add_incoming(add.count),
            Param::AddIncomingStreams(add) => self.add_outgoing(add.count),
            _ => result::DENIED,
        };
        self.give_answer(Answered { number, result, next_tsns: None });
    }

    fn answered_by_request(&mut self, number: u32) {
        let Some(reconfig) = &mut self.reconfig else { return };
        let answered = |wish: &Wish| matches!(wish, Wish::ResetIncoming { .. });
        if reconfig.asked.as_ref().is_some_and(|a| a.number == number && answered(&a.wish)) {
            reconfig.asked = None;
            self.errors = 0;
        }
    }

    /// Outgoing SSN Reset Request: the peer's streams begin anew.
    fn reset_incoming(&mut self, number: u32, reset: &OutgoingReset<'_>) -> u32 {
        if !self.config.peer_resets_streams {
            return result::DENIED;
        }
        let streams: Vec<u16> = reset.streams().collect();
        if streams.iter().any(|stream| *stream >= self.inbound_streams) {
            return result::WRONG_SSN;
        }
        let Some(space) = self.spaces.first() else { return result::DENIED };
        let Some(reconfig) = &mut self.reconfig else { return result::DENIED };
        if reconfig.pending.is_some() {
            return result::BUSY;
        }
        match space.unwrap_received(reset.last_tsn) {
            Some(last) if last >= space.received.next() => {
                reconfig.pending = Some(Pending::Outgoing { number, last, streams });
                result::IN_PROGRESS
            }
            _ => {
                self.peer_has_reset(streams);
                result::PERFORMED
            }
        }
    }

    /// E3: "If no stream numbers are listed in the parameter, then all incoming streams MUST be reset to 0".
    fn peer_has_reset(&mut self, streams: Vec<u16>) {
        self.inbound.reset_streams(&streams);
        self.tell(Event::StreamsReset {
            direction: Direction::Incoming,
            streams,
            outcome: Reconfigured::Performed,
        });
    }

    /// Incoming SSN Reset Request: our streams begin anew. `None`: the request that we send next is the answer.
    fn reset_outgoing(&mut self, number: u32, streams: Vec<u16>) -> Option<u32> {
        if !self.config.peer_resets_streams || self.state != State::Established {
            return Some(result::DENIED);
        }
        if streams.iter().any(|stream| *stream >= self.outbound_streams) {
            return Some(result::WRONG_SSN);
        }
        if streams.len() > self.most_streams() {
            return Some(result::DENIED);
        }
        let (fresh, have_left) = (self.numbering.is_fresh(&streams), self.have_left(&streams));
        let Some(reconfig) = &mut self.reconfig else { return Some(result::DENIED) };
        // "If the Outgoing SSN Reset Request Parameter that was just sent completely overlaps ... 'Nothing to do'" (5.2.3).
        let overlaps = reconfig.asked.as_ref().is_some_and(|asked| match &asked.wish {
            Wish::ResetOutgoing { streams: asked, .. } => {
                asked.is_empty() || (!streams.is_empty() && streams.iter().all(|s| asked.contains(s)))
            }
            _ => false,
        });
        if overlaps || (fresh && have_left && reconfig.held.bytes() == 0) {
            return Some(result::NOTHING);
        }
        // Each side would wait for the other's next request, and that for the answer to the one before.
        let crossed = matches!(&reconfig.asked, Some(Asked { wish: Wish::ResetIncoming { .. }, .. }));
        if crossed || !reconfig.has_room() {
            return Some(result::BUSY);
        }
        let now = have_left && reconfig.asked.is_none();
        reconfig.wish(Wish::ResetOutgoing { streams, answers: Some(number) });
        reconfig.answer_later(number);
        (!now).then_some(result::IN_PROGRESS)
    }

    /// SSN/TSN Reset Request. `None`: performed and answered.
    fn begin_association_reset(&mut self, now: Instant, number: u32) -> Option<u32> {
        let one_space = self.spaces.len() == 1 && self.extensions.thesis.is_none();
        if !self.config.peer_resets_association || self.state != State::Established || !one_space {
            return Some(result::DENIED);
        }
        let quiet = self.is_quiet();
        let Some(reconfig) = &mut self.reconfig else { return Some(result::DENIED) };
        if reconfig.pending.is_some() || reconfig.wishes().any(|wish| *wish == Wish::ResetAssociation) {
            return Some(result::BUSY);
        }
        reconfig.last_association_reset = Some(now);
        reconfig.pending = Some(Pending::Association { number });
        if !quiet {
            // What is under way is delivered first: G3 would give it up.
            return Some(result::IN_PROGRESS);
        }
        self.reset_for_peer(number);
        None
    }

    /// G1 to G7.
    fn reset_for_peer(&mut self, number: u32) {
        let Some(space) = self.spaces.first_mut() else { return };
        let first = space.flight.next();
        let ours = space.tsn_of_sent(first);
        // "SHOULD be the smallest TSN not acknowledged by the receiver of the request plus 2^31".
        let theirs = space.cumulative_received().next().add(1 << 31);
        self.begin_receiving_anew(theirs);
        self.numbering.begin_anew(&[]);
        let answered = Answered { number, result: result::PERFORMED, next_tsns: Some((ours, theirs)) };
        if let Some(reconfig) = &mut self.reconfig {
            reconfig.pending = None;
            reconfig.answer(answered);
            reconfig.echo = Some((answered, first));
        }
        self.tell(Event::AssociationReset { outcome: Reconfigured::Performed });
    }

    /// A reset that waits for a TSN waits for it under the new numbering; one of before that will never come has come.
    fn renumber_pending(&mut self, next: Tsn) {
        let Some(space) = self.spaces.first() else { return };
        let Some(reconfig) = &mut self.reconfig else { return };
        let Some(Pending::Outgoing { number, last, .. }) = &mut reconfig.pending else { return };
        let distance = space.tsn_of_received(*last).signed_distance_from(next);
        if let Ok(last_now) = u64::try_from(distance) {
            *last = last_now;
            return;
        }
        let number = *number;
        if let Some(Pending::Outgoing { streams, .. }) = reconfig.pending.take() {
            self.peer_has_reset(streams);
        }
        self.give_answer(Answered { number, result: result::PERFORMED, next_tsns: None });
    }

    fn begin_receiving_anew(&mut self, next: Tsn) {
        self.renumber_pending(next);
        self.inbound.restart();
        if let Some(space) = self.spaces.first_mut() {
            let last_advertised = space.sack.last_advertised;
            space.received = ReceiveMap::default();
            space.receive_base = next;
            space.sack = SackScheduler::default();
            space.sack.last_advertised = last_advertised;
        }
    }

    /// Add Outgoing Streams Request: the peer gets more.
    fn add_incoming(&mut self, count: u16) -> u32 {
        if count == 0 {
            return result::NOTHING;
        }
        // "SHOULD deny the request if the number of streams exceeds a limit" (5.2.5).
        let Some(total) =
            self.inbound_streams.checked_add(count).filter(|total| *total <= self.config.inbound_streams)
        else {
            return result::DENIED;
        };
        if !self.config.peer_adds_streams {
            return result::DENIED;
        }
        self.inbound_streams = total;
        self.tell_streams(Reconfigured::Performed);
        result::PERFORMED
    }

    /// Add Incoming Streams Request: we shall have more. "either send a response parameter denying the request or send a
    /// corresponding Add Outgoing Streams Request Parameter" (5.2.6).
    fn add_outgoing(&mut self, count: u16) -> u32 {
        if count == 0 {
            return result::NOTHING;
        }
        let total = self.streams_wished().saturating_add(u32::from(count));
        if !self.config.peer_adds_streams
            || self.state != State::Established
            || total > u32::from(self.config.max_outbound_streams)
        {
            return result::DENIED;
        }
        let Some(reconfig) = &mut self.reconfig else { return result::DENIED };
        if !reconfig.has_room() {
            return result::BUSY;
        }
        reconfig.wish(Wish::AddOutgoing(count));
        result::PERFORMED
    }

    /// Our streams, those included that we have asked for.
    fn streams_wished(&self) -> u32 {
        let wishes = self.reconfig.iter().flat_map(|reconfig| reconfig.wishes());
        let added =
            wishes.map(|wish| if let Wish::AddOutgoing(count) = wish { u32::from(*count) } else { 0 });
        u32::from(self.outbound_streams) + added.sum::<u32>()
    }

    /// The peer has answered a request of ours for good (H3 to H6).
    pub(super) fn stream_request_ended(&mut self, wish: &Wish, response: &ReconfigResponse) {
        let outcome = Reconfigured::from_result(response.result);
        let success = result::is_success(response.result);
        match wish {
            Wish::ResetOutgoing { streams, .. } => {
                if success {
                    self.numbering.begin_anew(streams);
                }
                self.tell(Event::StreamsReset {
                    direction: Direction::Outgoing,
                    streams: streams.clone(),
                    outcome,
                });
            }
            // If it was performed, the peer's own request has said so, or will.
            Wish::ResetIncoming { streams } => {
                if response.result != result::PERFORMED {
                    self.tell(Event::StreamsReset {
                        direction: Direction::Incoming,
                        streams: streams.clone(),
                        outcome,
                    });
                }
            }
            Wish::ResetAssociation => match response.next_tsns {
                Some((theirs, ours)) if success => self.reset_as_answered(ours, theirs),
                None if success => {
                    let what = "an SSN/TSN reset was performed, but not to which TSNs";
                    self.abort_with(
                        CloseReason::ProtocolViolation { what },
                        causes::protocol_violation(what),
                    );
                }
                _ => self.tell(Event::AssociationReset { outcome }),
            },
            Wish::AddOutgoing(count) => {
                if response.result == result::PERFORMED {
                    self.outbound_streams = self.outbound_streams.saturating_add(*count);
                }
                self.tell_streams(outcome);
            }
            Wish::AddIncoming(_) => {
                if !success {
                    self.tell_streams(outcome);
                }
            }
            Wish::Open { .. } | Wish::Close { .. } => {}
        }
    }

    /// H5: "new data MUST be sent from the Receiver's Next TSN, beginning with SSN 0 for all outgoing streams. All incoming
    /// streams MUST be reset to 0 as the next expected SSN. The peer will send DATA chunks starting with the Sender's Next
    /// TSN."
    fn reset_as_answered(&mut self, ours: Tsn, theirs: Tsn) {
        self.begin_receiving_anew(theirs);
        self.numbering.begin_anew(&[]);
        if let Some(space) = self.spaces.first_mut() {
            space.flight.restart();
            space.send_base = ours;
        }
        for lane in &mut self.lanes {
            lane.timed = None;
            lane.recovery_exit = None;
            lane.earliest = 0;
            lane.loss.restart();
        }
        self.tell(Event::AssociationReset { outcome: Reconfigured::Performed });
    }

    fn tell_streams(&mut self, outcome: Reconfigured) {
        let (outbound_streams, inbound_streams) = (self.outbound_streams, self.inbound_streams);
        self.tell(Event::StreamsAdded { outbound_streams, inbound_streams, outcome });
    }

    fn tell(&mut self, event: Event) {
        if self.events.len() < MAX_WAITING_EVENTS {
            self.events.push_back(event);
        }
    }

    /// Streams that one request can list.
    fn most_streams(&self) -> usize {
        (self.config.max_packet() as usize).saturating_sub(BEFORE_STREAMS) / 2
    }

    /// Asks for streams to begin anew: ours, the peer's, or both; all where none is listed.
    ///
    /// # Errors
    /// Says why it cannot be asked for.
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
        for (asked, existing) in [(outgoing, self.outbound_streams), (incoming, self.inbound_streams)] {
            if let Some(stream) = streams.iter().find(|s| asked && **s >= existing) {
                return Err(ReconfigError::NoSuchStream { stream: *stream, streams: existing });
            }
        }
        if let Some(reconfig) = &mut self.reconfig {
            if outgoing {
                reconfig.wish(Wish::ResetOutgoing { streams: streams.to_vec(), answers: None });
            }
            if incoming {
                reconfig.wish(Wish::ResetIncoming { streams: streams.to_vec() });
            }
        }
        self.refresh_held();
        Ok(())
    }

    /// Asks for all streams and both TSN spaces to begin anew. What was sent before is delivered first.
    ///
    /// # Errors
    /// Likewise; also within 30 s of the last time, and while subflows have sequence spaces of their own.
    pub(crate) fn reset_association(&mut self, now: Instant) -> Result<(), ReconfigError> {
        self.check_reconfigurable(1)?;
        if self.spaces.len() > 1 || self.extensions.thesis.is_some() {
            return Err(ReconfigError::SeveralSpaces);
        }
        let Some(reconfig) = &mut self.reconfig else { return Err(ReconfigError::NotSupported) };
        if reconfig.last_association_reset.is_some_and(|at| now - at < ASSOCIATION_RESET_PAUSE) {
            return Err(ReconfigError::TooSoon);
        }
        reconfig.last_association_reset = Some(now);
        reconfig.wish(Wish::ResetAssociation);
        self.refresh_held();
        Ok(())
    }

    /// Asks for more streams, ours and the peer's.
    ///
    /// # Errors
    /// Likewise; also when there would be more than 65535, or more of the peer's than `inbound_streams` allows.
    pub(crate) fn add_streams(&mut self, outgoing: u16, incoming: u16) -> Result<(), ReconfigError> {
        self.check_reconfigurable(2)?;
        if self.streams_wished() + u32::from(outgoing) > u32::from(u16::MAX) {
            return Err(ReconfigError::TooManyStreams { limit: u16::MAX });
        }
        let limit = self.config.inbound_streams;
        if self.inbound_streams.checked_add(incoming).is_none_or(|total| total > limit) {
            return Err(ReconfigError::TooManyStreams { limit });
        }
        if let Some(reconfig) = &mut self.reconfig {
            if outgoing > 0 {
                reconfig.wish(Wish::AddOutgoing(outgoing));
            }
            if incoming > 0 {
                reconfig.wish(Wish::AddIncoming(incoming));
            }
        }
        Ok(())
    }

    fn check_reconfigurable(&self, requests: usize) -> Result<(), ReconfigError> {
        match self.state {
            State::CookieWait | State::CookieEchoed => return Err(ReconfigError::NotUp),
            State::Established if !self.shutdown_wanted => {}
            _ => return Err(ReconfigError::Closing),
        }
        let Some(reconfig) = &self.reconfig else { return Err(ReconfigError::NotSupported) };
        if reconfig.room() < requests {
            return Err(ReconfigError::TooManyRequests);
        }
        Ok(())
    }
}
