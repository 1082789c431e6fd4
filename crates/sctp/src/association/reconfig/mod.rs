//! RE-CONFIG (RFC 6525): requests, answers, their numbers and the timer. One request of each side is outstanding at a time; it
//! is sent again until it is answered, and answered again when it comes again.
//!
//! What the requests do is elsewhere: `stream_requests` has those of the RFC, `subflow_requests` those of the extension SF.

mod answers;
mod requests;
mod stream_requests;
mod subflow_requests;

use anabranch_base::{Duration, Instant};
use anabranch_wire::PacketBuilder;
use anabranch_wire::chunk::ReConfig;
use anabranch_wire::param::{
    AddDirection, AddStreams, AssociationReset, Param, Params, RawParam, ReconfigResponse, SfAdd, SfDel,
    incoming_reset, kind, outgoing_reset,
};

use super::{Association, causes};
use crate::ids::{PathId, SubflowId};
use crate::state::State;
use answers::{Answered, result};
use requests::{Outstanding, Request};

pub(super) use requests::Reconfig;

/// The combinations that a chunk may hold (RFC 6525, 3.1), and those of the extension SF: a request alone, or with an answer.
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
            let due = !reconfig.answers.is_empty()
                || match &reconfig.outstanding {
                    Some(outstanding) => outstanding.due,
                    None => reconfig.waiting.iter().any(|request| self.is_ready(request)),
                };
            // The peer may be gone already: its ABORT would take the place of a SHUTDOWN COMPLETE that was lost.
            due && self.cx.state != State::ShutdownAckSent
        })
    }

    /// The path of the RE-CONFIG chunk that is due: answers go back to where the peer has asked; a request has a path of its own.
    pub(super) fn reconfig_path(&self) -> PathId {
        let Some(reconfig) = &self.reconfig else { return PathId::FIRST };
        if !reconfig.answers.is_empty() {
            return reconfig.answers.path();
        }
        reconfig.outstanding.as_ref().map_or_else(|| self.request_path(), |outstanding| outstanding.path)
    }

    /// RE-CONFIG chunks that are due on a path, or that must ride with data: one of answers, one with a request. False when no data
    /// may follow, as what must ride with it did not fit.
    // rfc6525:4.1-2 rfc6525:5.1.1-6 rfc6525:5.1.1-7 rfc6525:5.1.2-9 rfc6525:5.1.2-10 rfc6525:5.1.3-5
    // rfc6525:5.1.4-4 rfc6525:5.2.1-2
    pub(super) fn write_reconfig(
        &mut self,
        packet: &mut PacketBuilder<'_>,
        limit: usize,
        path: PathId,
        with_data: bool,
    ) -> bool {
        let Some(reconfig) = &mut self.reconfig else { return true };
        let mut room = limit.saturating_sub(packet.len());
        let repeated = reconfig.repeated.map(|(answered, _)| answered).filter(|_| with_data);
        let answers_due = reconfig.answers.are_due_on(path);
        if repeated.is_some() || answers_due {
            if room < 4 + 2 * 20 {
                return repeated.is_none(); // it leaves with the next packet
            }
            let answers = &mut reconfig.answers;
            if let Some(repeated) = repeated {
                answers.forget(repeated.number);
            }
            let mut next = || if answers_due { answers.next() } else { None };
            let first = repeated.or_else(&mut next);
            let second = next();
            ReConfig { params: Params::EMPTY }.emit_with(packet.buffer(), |params| {
                for answered in [first, second].into_iter().flatten() {
                    params.add(&answered.response());
                }
            });
            room = limit.saturating_sub(packet.len());
        }
        if reconfig.outstanding.is_none() {
            self.begin_request(path);
        }
        let timer = self.request_timer(path);
        let alone = packet.has_no_chunks();
        let outstanding = self.reconfig.as_mut().and_then(|r| r.outstanding.as_mut());
        let Some(outstanding) = outstanding.filter(|outstanding| outstanding.path == path) else {
            return true;
        };
        if !outstanding.due || (outstanding.bytes.len().next_multiple_of(4) + 4 > room && !alone) {
            return true;
        }
        outstanding.due = false;
        outstanding.timer = timer;
        let params = Params::new(&outstanding.bytes);
        ReConfig { params }.emit(packet.buffer());
        true
    }

    /// When a request that leaves now on a path is sent again: "the same value as SCTP's data transmission timer" (5.1.1).
    fn request_timer(&self, path: PathId) -> Option<Instant> {
        Some(self.cx.now + self.cx.path_rto(path))
    }

    /// Gives a number to the first request that is ready, if this is the path on which it leaves.
    // rfc6525:5.1.1-4 rfc6525:5.1.1-5 rfc6525:5.1.2-2 rfc6525:5.1.2-3 rfc6525:5.1.2-4 rfc6525:5.1.2-6
    // rfc6525:5.1.3-1 rfc6525:5.1.4-1
    fn begin_request(&mut self, path: PathId) {
        if path != self.request_path() {
            return;
        }
        let Some(reconfig) = &self.reconfig else { return };
        // What answers a request of the peer goes first: the peer can ask for nothing else meanwhile.
        let ready = |answers: bool| {
            let is_answer =
                |request: &Request| matches!(request, Request::ResetOutgoing { answers: Some(_), .. });
            reconfig
                .waiting
                .iter()
                .position(|request| is_answer(request) == answers && self.is_ready(request))
        };
        let Some(index) = ready(true).or_else(|| ready(false)) else { return };
        let (codes, credit) = (self.cx.config.subflows.codes, self.receiver.window().size());
        let last_tsn = self.sender.next_tsn().1.sub(1);
        let Some(reconfig) = &mut self.reconfig else { return };
        let Some(request) = reconfig.waiting.remove(index) else { return };
        if matches!(request, Request::ResetOutgoing { .. }) {
            self.sender.asks_for_reset();
        }
        let number = reconfig.next;
        reconfig.next = number.wrapping_add(1);
        let mut bytes = Vec::with_capacity(SfAdd::LEN);
        match &request {
            Request::Open { fid, epoch, initial } => {
                let (dscp, weight) = self.sender.treatment(SubflowId::new(*fid));
                SfAdd {
                    request: number,
                    fid: *fid,
                    epoch: *epoch,
                    dscp,
                    weight,
                    initial_stsn: *initial,
                    a_fwnd: credit,
                }
                .emit_as(codes.add, &mut bytes);
            }
            Request::Close { fid, epoch, last } => {
                SfDel { request: number, fid: *fid, epoch: *epoch, last_stsn: *last }
                    .emit_as(codes.delete, &mut bytes);
            }
            Request::ResetOutgoing { streams, answers } => {
                // "In other cases, it holds the next expected Re-configuration Request Sequence Number minus 1" (RFC 6525, 4.1).
                let response = answers.unwrap_or(reconfig.last_number());
                let value = outgoing_reset::value(number, response, last_tsn, streams);
                tlv(&mut bytes, kind::OUTGOING_RESET, &value);
            }
            Request::ResetIncoming { streams } => {
                tlv(&mut bytes, kind::INCOMING_RESET, &incoming_reset::value(number, streams));
            }
            Request::ResetAssociation => AssociationReset { request: number }.emit(&mut bytes),
            Request::AddOutgoing { count, .. } => {
                AddStreams { request: number, count: *count }.emit(AddDirection::Outgoing, &mut bytes);
            }
            Request::AddIncoming(count) => {
                AddStreams { request: number, count: *count }.emit(AddDirection::Incoming, &mut bytes);
            }
        }
        reconfig.outstanding = Some(Outstanding {
            request,
            number,
            bytes,
            due: true,
            path,
            timer: None,
            in_progress: false,
            waited: Duration::ZERO,
        });
    }

    /// A request was not answered in time: it is sent again, and "increment the appropriate error counts (for both the
    /// association and the destination)" (RFC 6525, 5.1.1), but not after "In progress" (RFC 6525, 5.2.7, H2).
    // rfc6525:5.1.1-8 rfc6525:5.1.1-9 rfc6525:5.2.7-3
    pub(super) fn on_reconfig_timer(&mut self) {
        let again = self.request_path();
        let Some(outstanding) = self.reconfig.as_mut().and_then(|r| r.outstanding.as_mut()) else { return };
        outstanding.timer = None;
        outstanding.due = true;
        // The data may have moved to another path meanwhile.
        let silent = std::mem::replace(&mut outstanding.path, again);
        if std::mem::take(&mut outstanding.in_progress) || self.cx.state == State::ShutdownAckSent {
            return;
        }
        // "MUST use exponential backoff, doubling the value at every expiration".
        if let Some(path) = self.cx.paths.get_mut(silent) {
            path.back_off();
        }
        self.count_error(silent);
    }

    /// RE-CONFIG chunk, of a packet that came on a path.
    // rfc6525:5.2.1-1 rfc6525:5.2.1-3 rfc6525:5.2.2-10 rfc6525:5.2.4-7
    pub(super) fn on_reconfig(&mut self, from: PathId, chunk: &ReConfig<'_>) {
        // Where everything of ours was acknowledged already, the peer may still wait for an answer.
        if !self.cx.state.is_up() {
            return;
        }
        let mut raws = Vec::with_capacity(2);
        for raw in chunk.params.iter().take(3) {
            let Ok(raw) = raw else { return };
            raws.push(raw);
        }
        let kinds: Vec<u16> = raws.iter().map(|raw| raw.kind).collect();
        let codes = self.cx.config.subflows.codes;
        let is_subflow = |kind| kind == codes.add || kind == codes.delete;
        if !is_allowed(&kinds, is_subflow) {
            self.refuse_combination(from, &raws);
            return;
        }
        let mut asked = false;
        for raw in raws {
            if raw.kind == kind::RECONFIG_RESPONSE {
                if let Ok(response) = ReconfigResponse::parse(raw) {
                    self.on_response(&response);
                }
            } else {
                asked = true;
                if let Some(reconfig) = &mut self.reconfig {
                    reconfig.answers.asked_on(from);
                }
                self.on_request(raw);
            }
            if self.cx.state == State::Closed {
                return;
            }
        }
        // "If the received RE-CONFIG chunk contains at least one request parameter, a selective acknowledgment (SACK)
        // chunk SHOULD be sent back" (RFC 6525, 5.2.1). Not to a peer that may be gone already, as with the answer itself.
        if asked && self.cx.state != State::ShutdownAckSent {
            self.receiver.arrivals_mut().demand_sack();
        }
        self.refresh_deferred();
    }

    /// "If a sender transmits an unsupported combination, the receiver SHOULD send an ERROR chunk with a Protocol Violation
    /// cause" (RFC 6525, 3.1). A parameter that is not known at all is reported if its type asks for it.
    // rfc6525:3.1-1
    fn refuse_combination(&mut self, from: PathId, raws: &[RawParam<'_>]) {
        let codes = self.cx.config.subflows.codes;
        let unknown = raws
            .iter()
            .find(|raw| !(13..=18).contains(&raw.kind) && raw.kind != codes.add && raw.kind != codes.delete);
        match unknown {
            Some(raw) if raw.unknown_action().reports() => {
                self.control.report(from, causes::unrecognized_parameter(raw.bytes));
            }
            Some(_) => {}
            None => self.control.report(
                from,
                causes::protocol_violation("a combination of requests that RE-CONFIG does not have"),
            ),
        }
    }

    // rfc6525:5.2.1-5
    fn on_request(&mut self, raw: RawParam<'_>) {
        let Some(number) = raw.value.first_chunk::<4>().map(|bytes| u32::from_be_bytes(*bytes)) else {
            return;
        };
        let Some(reconfig) = &mut self.reconfig else { return };
        if let Some(before) = reconfig.answers.remembered(number) {
            self.on_repeated_request(before, raw);
            return;
        }
        if number != reconfig.expected {
            reconfig.answers.say(Answered { number, result: result::BAD_NUMBER, next_tsns: None });
            return;
        }
        reconfig.expected = number.wrapping_add(1);
        // Until it is performed, or if it is malformed, that is the answer.
        reconfig.answers.remember(Answered { number, result: result::DENIED, next_tsns: None });
        let codes = self.cx.config.subflows.codes;
        if raw.kind == codes.add || raw.kind == codes.delete {
            let result = self.perform_subflow_request(raw);
            self.give_answer(Answered { number, result, next_tsns: None });
            return;
        }
        match Param::parse(raw) {
            Ok(request) => self.perform_stream_request(number, &request),
            Err(_) => self.give_answer(Answered { number, result: result::DENIED, next_tsns: None }),
        }
    }

    /// "If ... this is the last received RE-CONFIG chunk (i.e., a retransmission), the same RE-CONFIG chunk MUST to be sent
    /// back in response, as it was earlier" (RFC 6525, 5.2.1), unless there is better news.
    // rfc6525:5.2.1-4
    fn on_repeated_request(&mut self, before: Answered, raw: RawParam<'_>) {
        if before.result == result::IN_PROGRESS {
            if raw.kind == self.cx.config.subflows.codes.delete {
                let result = self.perform_subflow_request(raw);
                self.give_answer(Answered { result, ..before });
                return;
            }
            // A request of ours may be the answer.
            let ours = self.reconfig.as_mut().and_then(|r| r.outstanding.as_mut());
            let is_answer = |request: &Request| matches!(request, Request::ResetOutgoing { answers: Some(n), .. } if *n == before.number);
            if let Some(ours) = ours.filter(|ours| is_answer(&ours.request)) {
                ours.due = true;
                return;
            }
        }
        if let Some(reconfig) = &mut self.reconfig {
            reconfig.answers.say(before);
        }
    }

    /// The peer has answered our request, or its own request says that it did (RFC 6525, 5.2.2, E1, and 5.2.7, H1).
    // rfc6525:5.2.7-1 rfc6525:5.2.7-2
    fn on_response(&mut self, response: &ReconfigResponse) {
        // "the timer for the Re-configuration Request Sequence Number is started again" (RFC 6525, 5.2.7, H2).
        let (now, most) = (self.cx.now, self.cx.config.timers.rto_max);
        let Some(reconfig) = &mut self.reconfig else { return };
        let answered = |outstanding: &mut Outstanding| outstanding.number == response.request;
        if response.result == result::IN_PROGRESS {
            let Some(outstanding) = reconfig.outstanding.as_mut().filter(|o| o.number == response.request)
            else {
                return;
            };
            // It answers for good by itself; asking again is for the case that this is lost, and "MUST use exponential backoff"
            // (RFC 6525, 5.1.1).
            let wait = (outstanding.waited * 2).min(most).max(self.cx.path_rto(outstanding.path));
            outstanding.waited = wait;
            outstanding.in_progress = true;
            outstanding.due = false;
            outstanding.timer = Some(now + wait);
            // It is no answer to a SHUTDOWN ACK, and could be said for ever.
            if self.cx.state != State::ShutdownAckSent {
                self.errors = 0;
            }
            return;
        }
        let Some(outstanding) = reconfig.outstanding.take_if(answered) else { return };
        self.errors = 0;
        match outstanding.request {
            Request::Open { .. } | Request::Close { .. } => {
                self.subflow_request_ended(&outstanding.request, response.result);
            }
            request => self.stream_request_ended(&request, response),
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

    // rfc6525:3.1-1
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
}
