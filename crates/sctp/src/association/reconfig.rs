//! RE-CONFIG (RFC 6525): requests, answers, their numbers and the timer. One request of each side is under way at a time; it
//! is sent again until it is answered, and answered again when it comes again.
//!
//! What the requests do is elsewhere: `stream_requests` has those of the RFC, `subflow_requests` those of the extension SF.

use std::collections::VecDeque;

use anabranch_base::Instant;
use anabranch_wire::chunk::ReConfig;
use anabranch_wire::param::{
    AddDirection, AddStreams, AssociationReset, Param, Params, RawParam, ReconfigResponse, SfAdd, SfDel,
    incoming_reset, kind, outgoing_reset,
};
use anabranch_wire::{PacketBuilder, Tsn};

use super::stream_requests::{Held, Pending};
use super::{Association, State, causes};

/// Requests that may wait.
const MAX_WAITING: usize = 512;
/// Answers that may wait; a peer has one chunk with two requests under way at most.
const MAX_ANSWERS: usize = 8;

/// Results (RFC 6525, table 3).
pub(super) mod result {
    /// "Success - Nothing to do".
    pub(in super::super) const NOTHING: u32 = 0;
    /// "Success - Performed".
    pub(in super::super) const PERFORMED: u32 = 1;
    /// "Denied".
    pub(in super::super) const DENIED: u32 = 2;
    /// "Error - Wrong SSN": a stream that there is not.
    pub(in super::super) const WRONG_SSN: u32 = 3;
    /// "Error - Request already in progress".
    pub(in super::super) const BUSY: u32 = 4;
    /// "Error - Bad Sequence Number".
    pub(in super::super) const BAD_NUMBER: u32 = 5;
    /// "In progress".
    pub(in super::super) const IN_PROGRESS: u32 = 6;

    pub(in super::super) fn is_success(code: u32) -> bool {
        matches!(code, NOTHING | PERFORMED)
    }
}

/// What we want of the peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    /// SF-ADD of the subflow with this index.
    Open { fid: u8, epoch: u8, initial: Tsn },
    /// SF-DEL, likewise.
    Close { fid: u8, epoch: u8, last: Tsn },
    /// Our streams begin anew (none listed: all); in answer to the peer's request with this number.
    ResetOutgoing { streams: Vec<u16>, answers: Option<u32> },
    /// The peer's streams shall begin anew.
    ResetIncoming { streams: Vec<u16> },
    /// Everything begins anew, TSNs too.
    ResetAssociation,
    /// More streams of ours.
    AddOutgoing(u16),
    /// More streams of the peer's.
    AddIncoming(u16),
}

/// A request that has a number.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) wish: Wish,
    pub(super) number: u32,
    /// As it was sent first: it is sent again as it was.
    bytes: Vec<u8>,
    /// It must leave (again).
    pub(super) due: bool,
    /// When it is sent again.
    timer: Option<Instant>,
    /// The peer has it and works on it: that it does not answer for good is no error of the path.
    in_progress: bool,
}

/// What a request of the peer was answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Answered {
    pub(super) number: u32,
    pub(super) result: u32,
    pub(super) next_tsns: Option<(Tsn, Tsn)>,
}

impl Answered {
    fn response(self) -> Param<'static> {
        Param::ReconfigResponse(ReconfigResponse {
            request: self.number,
            result: self.result,
            next_tsns: self.next_tsns,
        })
    }
}

/// RE-CONFIG on one association.
#[derive(Debug)]
pub(crate) struct Reconfig {
    /// Our next number: "initialized to the same value as the initial TSN".
    next: u32,
    /// The peer's next.
    expected: u32,
    waiting: VecDeque<Wish>,
    pub(super) asked: Option<Asked>,
    /// Answers that must leave.
    answers: VecDeque<Answered>,
    /// The last two answers given: those to a chunk that may come again.
    last: [Option<Answered>; 2],
    /// A request of the peer that cannot be performed yet.
    pub(super) pending: Option<Pending>,
    /// Streams whose new messages must wait, and those messages.
    pub(super) held: Held,
    /// After an SSN/TSN reset: the answer rides with our data until some of it is acknowledged, as the peer must not read
    /// data of the new numbering before it. With the first number of that data.
    pub(super) echo: Option<(Answered, u64)>,
    /// When we last asked for an SSN/TSN reset.
    pub(super) last_association_reset: Option<Instant>,
}

impl Reconfig {
    pub(super) fn new(ours: Tsn, peers: Tsn) -> Self {
        Self {
            next: ours.get(),
            expected: peers.get(),
            waiting: VecDeque::new(),
            asked: None,
            answers: VecDeque::new(),
            last: [None; 2],
            pending: None,
            held: Held::default(),
            echo: None,
            last_association_reset: None,
        }
    }

    pub(super) fn timer(&self) -> Option<Instant> {
        self.asked.as_ref().and_then(|asked| asked.timer)
    }

    /// Every request that has not been answered for good.
    pub(super) fn wishes(&self) -> impl Iterator<Item = &Wish> {
        self.asked.iter().map(|asked| &asked.wish).chain(&self.waiting)
    }

    /// How many more requests may wait.
    pub(super) fn room(&self) -> usize {
        MAX_WAITING.saturating_sub(self.waiting.len())
    }

    /// Whether another request may wait.
    pub(super) fn has_room(&self) -> bool {
        self.room() > 0
    }

    /// The answer to a request is still to come; who asks again hears so.
    pub(super) fn answer_later(&mut self, number: u32) {
        self.remember(Answered { number, result: result::IN_PROGRESS, next_tsns: None });
    }

    pub(super) fn wish(&mut self, wish: Wish) {
        if self.has_room() {
            self.waiting.push_back(wish);
        }
    }

    /// The extension SF is gone: what was asked for it is not wanted any more. A request that is under way is still
    /// answered: without its number the peer would not take the next one.
    pub(super) fn forget_subflows(&mut self) {
        self.waiting.retain(|wish| !matches!(wish, Wish::Open { .. } | Wish::Close { .. }));
    }

    /// Bytes of a chunk that must ride with every packet of data.
    #[inline]
    pub(super) fn beside_data(&self) -> usize {
        if self.echo.is_some() { 4 + 20 } else { 0 }
    }

    /// Number of the last request that the peer made.
    pub(super) fn last_number(&self) -> u32 {
        self.expected.wrapping_sub(1)
    }

    fn remembered(&self, number: u32) -> Option<Answered> {
        self.last.iter().flatten().find(|answered| answered.number == number).copied()
    }

    /// Remembers an answer; a better one to the same request takes its place.
    fn remember(&mut self, answered: Answered) {
        let known = self.last.iter().position(|a| a.is_some_and(|a| a.number == answered.number));
        match known {
            Some(index) => {
                if let Some(slot) = self.last.get_mut(index) {
                    *slot = Some(answered);
                }
            }
            None => self.last = [self.last[1], Some(answered)],
        }
    }

    /// Gives an answer, the first to a request or a later one.
    pub(super) fn answer(&mut self, answered: Answered) {
        self.remember(answered);
        self.say(answered);
    }

    fn say(&mut self, answered: Answered) {
        self.answers.retain(|waiting| waiting.number != answered.number);
        if self.answers.len() < MAX_ANSWERS {
            self.answers.push_back(answered);
        }
    }
}

/// The combinations that a chunk may hold (3.1), and those of the extension SF: a request alone, or with an answer.
fn is_allowed(kinds: &[u16], is_subflow: impl Fn(u16) -> bool) -> bool {
    use kind::{
        ADD_INCOMING_STREAMS as ADD_IN, ADD_OUTGOING_STREAMS as ADD_OUT, ASSOCIATION_RESET,
        INCOMING_RESET as IN, OUTGOING_RESET as OUT, RECONFIG_RESPONSE as ANSWER,
    };
    match *kinds {
        [OUT | IN | ASSOCIATION_RESET | ADD_OUT | ADD_IN | ANSWER] => true,
        [OUT, IN] | [IN, OUT] | [ADD_OUT, ADD_IN] | [ADD_IN, ADD_OUT] => true,
        [ANSWER, OUT] | [OUT, ANSWER] | [ANSWER, ANSWER] => true,
        [one] => is_subflow(one),
        [ANSWER, other] | [other, ANSWER] => is_subflow(other),
        _ => false,
    }
}

impl Association {
    /// Whether a RE-CONFIG chunk must leave.
    #[inline]
    pub(super) fn reconfig_due(&self) -> bool {
        self.reconfig.as_ref().is_some_and(|reconfig| {
            !reconfig.answers.is_empty()
                || match &reconfig.asked {
                    Some(asked) => asked.due,
                    None => reconfig.waiting.iter().any(|wish| self.is_ready(wish)),
                }
        })
    }

    /// RE-CONFIG chunks that are due, or that must ride with data: one of answers, one with a request. False when no data
    /// may follow, as what must ride with it did not fit.
    pub(super) fn write_reconfig(
        &mut self,
        now: Instant,
        packet: &mut PacketBuilder<'_>,
        limit: usize,
        with_data: bool,
    ) -> bool {
        let Some(reconfig) = &mut self.reconfig else { return true };
        let mut room = limit.saturating_sub(packet.len());
        let echo = reconfig.echo.map(|(answered, _)| answered).filter(|_| with_data);
        if echo.is_some() || !reconfig.answers.is_empty() {
            if room < 4 + 2 * 20 {
                return echo.is_none(); // it leaves with the next packet
            }
            let answers = &mut reconfig.answers;
            answers.retain(|answered| echo.is_none_or(|echo| echo.number != answered.number));
            let first = echo.or_else(|| answers.pop_front());
            let second = answers.pop_front();
            ReConfig { params: Params::EMPTY }.emit_with(packet.buffer(), |params| {
                for answered in [first, second].into_iter().flatten() {
                    params.add(&answered.response());
                }
            });
            room = limit.saturating_sub(packet.len());
        }
        if reconfig.asked.is_none() {
            self.begin_request();
        }
        let rto = self.lanes.first().map_or(self.config.rto_initial, |lane| lane.rtt.rto());
        let alone = packet.has_no_chunks();
        let Some(asked) = self.reconfig.as_mut().and_then(|r| r.asked.as_mut()) else { return true };
        if !asked.due || (asked.bytes.len().next_multiple_of(4) + 4 > room && !alone) {
            return true;
        }
        asked.due = false;
        asked.timer = Some(now + rto);
        let params = Params::new(&asked.bytes);
        ReConfig { params }.emit(packet.buffer());
        true
    }

    /// Gives a number to the first request that is ready.
    fn begin_request(&mut self) {
        let Some(reconfig) = &self.reconfig else { return };
        // What answers a request of the peer goes first: the peer can ask for nothing else meanwhile.
        let ready = |answers: bool| {
            let is_answer = |wish: &Wish| matches!(wish, Wish::ResetOutgoing { answers: Some(_), .. });
            reconfig.waiting.iter().position(|wish| is_answer(wish) == answers && self.is_ready(wish))
        };
        let Some(index) = ready(true).or_else(|| ready(false)) else { return };
        let (codes, credit) = (self.config.sf_codes, self.config.receive_window);
        let last_tsn = self.spaces.first().map(|s| s.tsn_of_sent(s.flight.next()).sub(1)).unwrap_or_default();
        let Some(reconfig) = &mut self.reconfig else { return };
        let Some(wish) = reconfig.waiting.remove(index) else { return };
        let number = reconfig.next;
        reconfig.next = number.wrapping_add(1);
        let mut bytes = Vec::with_capacity(SfAdd::LEN);
        match &wish {
            Wish::Open { fid, epoch, initial } => {
                let subflow = self.subflows.get(usize::from(*fid));
                SfAdd {
                    request: number,
                    fid: *fid,
                    epoch: *epoch,
                    dscp: subflow.map_or(0, |s| s.dscp.get()),
                    weight: subflow.map_or(1, |s| s.weight),
                    initial_stsn: *initial,
                    a_fwnd: credit,
                }
                .emit_as(codes.add, &mut bytes);
            }
            Wish::Close { fid, epoch, last } => {
                SfDel { request: number, fid: *fid, epoch: *epoch, last_stsn: *last }
                    .emit_as(codes.delete, &mut bytes);
            }
            Wish::ResetOutgoing { streams, answers } => {
                // "In other cases, it holds the next expected Re-configuration Request Sequence Number minus 1" (4.1).
                let response = answers.unwrap_or(reconfig.last_number());
                let value = outgoing_reset::value(number, response, last_tsn, streams);
                tlv(&mut bytes, kind::OUTGOING_RESET, &value);
            }
            Wish::ResetIncoming { streams } => {
                tlv(&mut bytes, kind::INCOMING_RESET, &incoming_reset::value(number, streams));
            }
            Wish::ResetAssociation => AssociationReset { request: number }.emit(&mut bytes),
            Wish::AddOutgoing(count) => {
                AddStreams { request: number, count: *count }.emit(AddDirection::Outgoing, &mut bytes);
            }
            Wish::AddIncoming(count) => {
                AddStreams { request: number, count: *count }.emit(AddDirection::Incoming, &mut bytes);
            }
        }
        reconfig.asked = Some(Asked { wish, number, bytes, due: true, timer: None, in_progress: false });
    }

    /// A request was not answered in time: it is sent again, and "increment the appropriate error counts (for both the
    /// association and the destination)" (5.1.1), but not after "In progress" (H2).
    pub(super) fn on_reconfig_timer(&mut self) {
        let Some(asked) = self.reconfig.as_mut().and_then(|r| r.asked.as_mut()) else { return };
        asked.timer = None;
        asked.due = true;
        if std::mem::take(&mut asked.in_progress) {
            return;
        }
        // "MUST use exponential backoff, doubling the value at every expiration".
        if let Some(lane) = self.lanes.first_mut() {
            lane.rtt.back_off();
        }
        self.count_error(0);
    }

    /// RE-CONFIG chunk.
    pub(super) fn on_reconfig(&mut self, now: Instant, chunk: &ReConfig<'_>) {
        // Where everything of ours was acknowledged already, the peer may still wait for an answer.
        if !self.state.is_up() {
            return;
        }
        let mut raws = Vec::with_capacity(2);
        for raw in chunk.params.iter().take(3) {
            let Ok(raw) = raw else { return };
            raws.push(raw);
        }
        let kinds: Vec<u16> = raws.iter().map(|raw| raw.kind).collect();
        let codes = self.config.sf_codes;
        let is_subflow = |kind| kind == codes.add || kind == codes.delete;
        if !is_allowed(&kinds, is_subflow) {
            self.refuse_combination(&raws);
            return;
        }
        let mut asked = false;
        for raw in raws {
            if raw.kind == kind::RECONFIG_RESPONSE {
                if let Ok(response) = ReconfigResponse::parse(raw) {
                    self.on_response(now, &response);
                }
            } else {
                asked = true;
                self.on_request(now, raw);
            }
            if self.state == State::Closed {
                return;
            }
        }
        // "If the received RE-CONFIG chunk contains at least one request parameter, a selective acknowledgment (SACK)
        // chunk SHOULD be sent back" (5.2.1).
        if asked {
            if let Some(space) = self.spaces.first_mut() {
                space.sack.demand();
            }
        }
        self.refresh_held();
    }

    /// "If a sender transmits an unsupported combination, the receiver SHOULD send an ERROR chunk with a Protocol Violation
    /// cause" (3.1). A parameter that is not known at all is reported if its type asks for it.
    fn refuse_combination(&mut self, raws: &[RawParam<'_>]) {
        let codes = self.config.sf_codes;
        let unknown = raws
            .iter()
            .find(|raw| !(13..=18).contains(&raw.kind) && raw.kind != codes.add && raw.kind != codes.delete);
        match unknown {
            Some(raw) if raw.unknown_action().reports() => {
                self.control.report(causes::unrecognized_parameter(raw.bytes));
            }
            Some(_) => {}
            None => self
                .control
                .report(causes::protocol_violation("a combination of requests that RE-CONFIG does not have")),
        }
    }

    fn on_request(&mut self, now: Instant, raw: RawParam<'_>) {
        let Some(number) = raw.value.first_chunk::<4>().map(|bytes| u32::from_be_bytes(*bytes)) else {
            return;
        };
        let Some(reconfig) = &mut self.reconfig else { return };
        if let Some(before) = reconfig.remembered(number) {
            self.on_repeated_request(before, raw);
            return;
        }
        if number != reconfig.expected {
            reconfig.say(Answered { number, result: result::BAD_NUMBER, next_tsns: None });
            return;
        }
        reconfig.expected = number.wrapping_add(1);
        // Until it is performed, or if it is malformed, that is the answer.
        reconfig.remember(Answered { number, result: result::DENIED, next_tsns: None });
        let codes = self.config.sf_codes;
        if raw.kind == codes.add || raw.kind == codes.delete {
            let result = self.perform_subflow_request(raw);
            self.give_answer(Answered { number, result, next_tsns: None });
            return;
        }
        match Param::parse(raw) {
            Ok(request) => self.perform_stream_request(now, number, &request),
            Err(_) => self.give_answer(Answered { number, result: result::DENIED, next_tsns: None }),
        }
    }

    /// "If ... this is the last received RE-CONFIG chunk (i.e., a retransmission), the same RE-CONFIG chunk MUST to be sent
    /// back in response, as it was earlier" (5.2.1), unless there is better news.
    fn on_repeated_request(&mut self, before: Answered, raw: RawParam<'_>) {
        if before.result == result::IN_PROGRESS {
            if raw.kind == self.config.sf_codes.delete {
                let result = self.perform_subflow_request(raw);
                self.give_answer(Answered { result, ..before });
                return;
            }
            // A request of ours may be the answer.
            let asked = self.reconfig.as_mut().and_then(|r| r.asked.as_mut());
            if let Some(asked) = asked {
                if matches!(&asked.wish, Wish::ResetOutgoing { answers: Some(n), .. } if *n == before.number)
                {
                    asked.due = true;
                    return;
                }
            }
        }
        if let Some(reconfig) = &mut self.reconfig {
            reconfig.say(before);
        }
    }

    pub(super) fn give_answer(&mut self, answered: Answered) {
        if let Some(reconfig) = &mut self.reconfig {
            reconfig.answer(answered);
        }
    }

    /// The peer has answered our request, or its own request says that it did (E1, H1).
    fn on_response(&mut self, now: Instant, response: &ReconfigResponse) {
        let Some(reconfig) = &mut self.reconfig else { return };
        let Some(asked) = reconfig.asked.as_mut().filter(|asked| asked.number == response.request) else {
            return;
        };
        if response.result == result::IN_PROGRESS {
            asked.in_progress = true;
            asked.due = false;
            // "the timer for the Re-configuration Request Sequence Number is started again" (H2).
            let rto = self.lanes.first().map_or(self.config.rto_initial, |lane| lane.rtt.rto());
            asked.timer = Some(now + rto);
            self.errors = 0;
            return;
        }
        let Some(asked) = reconfig.asked.take() else { return };
        self.errors = 0;
        match asked.wish {
            Wish::Open { .. } | Wish::Close { .. } => {
                self.subflow_request_ended(&asked.wish, response.result);
            }
            wish => self.stream_request_ended(&wish, response),
        }
    }
}

/// A parameter without its padding: "The Chunk Length field does not count" that of the last one.
fn tlv(out: &mut Vec<u8>, kind: u16, value: &[u8]) {
    out.extend_from_slice(&kind.to_be_bytes());
    out.extend_from_slice(&(4 + value.len() as u16).to_be_bytes());
    out.extend_from_slice(value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_combinations_of_section_3_1() {
        let sf = |kind| kind == 0x405F;
        let allowed: &[&[u16]] = &[
            &[13],
            &[14],
            &[13, 14],
            &[15],
            &[17],
            &[18],
            &[17, 18],
            &[16],
            &[16, 13],
            &[16, 16],
            &[0x405F],
            &[16, 0x405F],
        ];
        let mut count = 0;
        let kinds = [13, 14, 15, 16, 17, 18, 0x405F, 0x9999];
        for a in kinds {
            count += usize::from(is_allowed(&[a], sf));
            for b in kinds {
                let one = is_allowed(&[a, b], sf);
                assert_eq!(one, is_allowed(&[b, a], sf), "the order says nothing: {a} {b}");
                assert_eq!(one, allowed.contains(&&[a, b][..]) || allowed.contains(&&[b, a][..]), "{a} {b}");
                count += usize::from(one && a <= b);
                assert!(!is_allowed(&[a, b, 16], sf));
            }
        }
        assert_eq!(count, allowed.len());
        assert!(!is_allowed(&[], sf));
    }

    #[test]
    fn the_last_two_answers_are_known() {
        let mut reconfig = Reconfig::new(Tsn::new(1), Tsn::new(10));
        for (number, code) in [(10, 1), (11, 6), (12, 2)] {
            reconfig.answer(Answered { number, result: code, next_tsns: None });
        }
        reconfig.answer(Answered { number: 11, result: 1, next_tsns: None });
        let known = |number| reconfig.remembered(number).map(|a| a.result);
        assert_eq!((known(10), known(11), known(12)), (None, Some(1), Some(2)));
        let said: Vec<_> = reconfig.answers.iter().map(|a| (a.number, a.result)).collect();
        assert_eq!(said, [(10, 1), (12, 2), (11, 1)], "the old answer to 11 never leaves");
    }
}
