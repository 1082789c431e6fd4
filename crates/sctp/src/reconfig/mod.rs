//! RE-CONFIG (RFC 6525): requests, answers, their numbers and the timer. One request of each side is outstanding at a time; it
//! is sent again until it is answered, and answered again when it comes again.
//!
//! The effects of the requests are elsewhere: `stream_requests` has those of the RFC, `subflow_requests` those of the
//! extension SF.

mod answers;
mod requests;
mod stream_requests;
mod subflow_requests;

use anabranch_base::Duration;
use anabranch_wire::PacketBuilder;
use anabranch_wire::chunk::ReConfig;
use anabranch_wire::param::{
    AddDirection, AddStreams, AssociationReset, Param, Params, RawParam, ReconfigResponse, SfAdd, SfDel,
    incoming_reset, kind, outgoing_reset,
};

use crate::causes;
use crate::context::Context;
use crate::control::Control;
use crate::ids::{PathId, SubflowId};
use crate::scope::Scope;
use crate::sender::Sender;
use crate::state::State;
use crate::violation::Violation;
use answers::{Answered, result};
use requests::{Outstanding, Request, is_ready, request_path};
use subflow_requests::perform_subflow_request;

pub(crate) use requests::Reconfig;

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

impl Reconfig {
    /// True if a RE-CONFIG chunk must leave.
    #[inline]
    pub(crate) fn is_due(&self, cx: &Context, sender: &Sender) -> bool {
        let due = !self.answers.is_empty()
            || match &self.outstanding {
                Some(outstanding) => outstanding.due,
                None => self.waiting.iter().any(|request| is_ready(sender, request)),
            };
        // The peer may be gone already: its ABORT would take the place of a SHUTDOWN COMPLETE that was lost.
        due && cx.env.state() != State::ShutdownAckSent
    }

    /// The path of the RE-CONFIG chunk that is due: answers go back to where the peer has asked; a request has a path of its own.
    pub(crate) fn path_due(&self, cx: &Context, sender: &Sender) -> PathId {
        if !self.answers.is_empty() {
            return self.answers.path();
        }
        self.outstanding.as_ref().map_or_else(|| request_path(cx, sender), |outstanding| outstanding.path)
    }

    /// RE-CONFIG chunks that are due on a path, or that must ride with data: one of answers, one with a request. False when no data
    /// may follow, as a chunk that must ride with it did not fit.
    // rfc6525:4.1-2 rfc6525:5.1.1-6 rfc6525:5.1.1-7 rfc6525:5.1.2-9 rfc6525:5.1.2-10 rfc6525:5.1.3-5
    // rfc6525:5.1.4-4 rfc6525:5.2.1-2
    pub(crate) fn write(
        &mut self,
        scope: &mut Scope<'_>,
        packet: &mut PacketBuilder<'_>,
        limit: usize,
        path: PathId,
        with_data: bool,
    ) -> bool {
        let mut room = limit.saturating_sub(packet.len());
        let repeated = self.repeated.map(|(answered, _)| answered).filter(|_| with_data);
        let answers_due = self.answers.are_due_on(path);
        if repeated.is_some() || answers_due {
            if room < 4 + 2 * 20 {
                return repeated.is_none(); // it leaves with the next packet
            }
            let answers = &mut self.answers;
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
        if self.outstanding.is_none() {
            self.begin_request(scope, path);
        }
        let alone = packet.has_no_chunks();
        let outstanding = self.outstanding.as_mut().filter(|outstanding| outstanding.path == path);
        let Some(outstanding) = outstanding else { return true };
        if !outstanding.due || (outstanding.bytes.len().next_multiple_of(4) + 4 > room && !alone) {
            return true;
        }
        outstanding.due = false;
        // "the same value as SCTP's data transmission timer" (5.1.1).
        outstanding.timer = Some(scope.cx.env.now() + scope.cx.paths.rto(scope.cx.env.config(), path));
        let params = Params::new(&outstanding.bytes);
        ReConfig { params }.emit(packet.buffer());
        true
    }

    /// Gives a number to the first request that is ready, if this is the path on which it leaves.
    // rfc6525:5.1.1-4 rfc6525:5.1.1-5 rfc6525:5.1.2-2 rfc6525:5.1.2-3 rfc6525:5.1.2-4 rfc6525:5.1.2-6
    // rfc6525:5.1.3-1 rfc6525:5.1.4-1
    fn begin_request(&mut self, scope: &mut Scope<'_>, path: PathId) {
        if path != request_path(scope.cx, scope.sender) {
            return;
        }
        // The answer to a request of the peer goes first: the peer can make no other request meanwhile.
        let ready = |answers: bool| {
            let is_answer =
                |request: &Request| matches!(request, Request::ResetOutgoing { answers: Some(_), .. });
            self.waiting
                .iter()
                .position(|request| is_answer(request) == answers && is_ready(scope.sender, request))
        };
        let Some(index) = ready(true).or_else(|| ready(false)) else { return };
        let (codes, credit) = (scope.cx.env.config().subflows.codes, scope.receiver.window().size());
        let last_tsn = scope.sender.tables().next_tsn().1.sub(1);
        let Some(request) = self.waiting.remove(index) else { return };
        if matches!(request, Request::ResetOutgoing { .. }) {
            scope.sender.messages().asks_for_reset();
        }
        let number = self.next;
        self.next = number.wrapping_add(1);
        let mut bytes = Vec::with_capacity(SfAdd::LEN);
        match &request {
            Request::Open { fid, epoch, initial } => {
                let (dscp, weight) = scope.sender.tables().treatment(SubflowId::new(*fid));
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
                let response = answers.unwrap_or(self.last_number());
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
        self.outstanding = Some(Outstanding {
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
    /// association and the destination)" (RFC 6525, 5.1.1), but not after "In progress" (RFC 6525, 5.2.7, H2). The path
    /// that is charged with the error, if one is.
    // rfc6525:5.1.1-8 rfc6525:5.1.1-9 rfc6525:5.2.7-3
    pub(crate) fn on_timer(&mut self, scope: &mut Scope<'_>) -> Option<PathId> {
        let outstanding = self.outstanding.as_mut()?;
        outstanding.timer = None;
        outstanding.due = true;
        // The data may have moved to another path meanwhile.
        let silent = std::mem::replace(&mut outstanding.path, request_path(scope.cx, scope.sender));
        if std::mem::take(&mut outstanding.in_progress) || scope.cx.env.state() == State::ShutdownAckSent {
            return None;
        }
        // "MUST use exponential backoff, doubling the value at every expiration".
        if let Some(path) = scope.cx.paths.get_mut(silent) {
            path.back_off();
        }
        Some(silent)
    }

    /// RE-CONFIG chunk, of a packet that came on a path.
    // rfc6525:5.2.1-1 rfc6525:5.2.1-3 rfc6525:5.2.2-10 rfc6525:5.2.4-7
    pub(crate) fn on_chunk(
        &mut self,
        scope: &mut Scope<'_>,
        from: PathId,
        chunk: &ReConfig<'_>,
    ) -> Result<(), Violation> {
        // In a state where all our data was acknowledged already, the peer may still wait for an answer.
        if !scope.cx.env.state().is_up() {
            return Ok(());
        }
        let mut raws = Vec::with_capacity(2);
        for raw in chunk.params.iter().take(3) {
            let Ok(raw) = raw else { return Ok(()) };
            raws.push(raw);
        }
        let kinds: Vec<u16> = raws.iter().map(|raw| raw.kind).collect();
        let codes = scope.cx.env.config().subflows.codes;
        let is_subflow = |kind| kind == codes.add || kind == codes.delete;
        if !is_allowed(&kinds, is_subflow) {
            refuse_combination(scope.cx, scope.control, from, &raws);
            return Ok(());
        }
        let mut asked = false;
        for raw in raws {
            if raw.kind == kind::RECONFIG_RESPONSE {
                if let Ok(response) = ReconfigResponse::parse(raw) {
                    self.on_response(scope, &response)?;
                }
            } else {
                asked = true;
                self.answers.asked_on(from);
                self.on_request(scope, raw);
            }
        }
        // "If the received RE-CONFIG chunk contains at least one request parameter, a selective acknowledgment (SACK)
        // chunk SHOULD be sent back" (RFC 6525, 5.2.1). Not to a peer that may be gone already, as with the answer itself.
        if asked && scope.cx.env.state() != State::ShutdownAckSent {
            scope.receiver.arrivals_mut().demand_sack();
        }
        self.refresh_deferred(scope);
        Ok(())
    }

    // rfc6525:5.2.1-5
    fn on_request(&mut self, scope: &mut Scope<'_>, raw: RawParam<'_>) {
        let Some(number) = raw.value.first_chunk::<4>().map(|bytes| u32::from_be_bytes(*bytes)) else {
            return;
        };
        if let Some(before) = self.answers.remembered(number) {
            self.on_repeated_request(scope, before, raw);
            return;
        }
        if number != self.expected {
            self.answers.say(Answered { number, result: result::BAD_NUMBER, next_tsns: None });
            return;
        }
        self.expected = number.wrapping_add(1);
        // Until it is performed, or if it is malformed, that is the answer.
        self.answers.remember(Answered { number, result: result::DENIED, next_tsns: None });
        let codes = scope.cx.env.config().subflows.codes;
        if raw.kind == codes.add || raw.kind == codes.delete {
            let result = perform_subflow_request(scope, raw);
            self.answers.give(Answered { number, result, next_tsns: None });
            return;
        }
        match Param::parse(raw) {
            Ok(request) => self.perform_stream_request(scope, number, &request),
            Err(_) => self.answers.give(Answered { number, result: result::DENIED, next_tsns: None }),
        }
    }

    /// "If ... this is the last received RE-CONFIG chunk (i.e., a retransmission), the same RE-CONFIG chunk MUST to be sent
    /// back in response, as it was earlier" (RFC 6525, 5.2.1), unless there is better news.
    // rfc6525:5.2.1-4
    fn on_repeated_request(&mut self, scope: &mut Scope<'_>, before: Answered, raw: RawParam<'_>) {
        if before.result == result::IN_PROGRESS {
            if raw.kind == scope.cx.env.config().subflows.codes.delete {
                let result = perform_subflow_request(scope, raw);
                self.answers.give(Answered { result, ..before });
                return;
            }
            // A request of ours may be the answer.
            let ours = self.outstanding.as_mut();
            let is_answer = |request: &Request| matches!(request, Request::ResetOutgoing { answers: Some(n), .. } if *n == before.number);
            if let Some(ours) = ours.filter(|ours| is_answer(&ours.request)) {
                ours.due = true;
                return;
            }
        }
        self.answers.say(before);
    }

    /// The peer has answered our request, or its own request says that it did (RFC 6525, 5.2.2, E1, and 5.2.7, H1).
    // rfc6525:5.2.7-1 rfc6525:5.2.7-2
    fn on_response(&mut self, scope: &mut Scope<'_>, response: &ReconfigResponse) -> Result<(), Violation> {
        // "the timer for the Re-configuration Request Sequence Number is started again" (RFC 6525, 5.2.7, H2).
        let (now, most) = (scope.cx.env.now(), scope.cx.env.config().timers.rto_max);
        let answered = |outstanding: &mut Outstanding| outstanding.number == response.request;
        if response.result == result::IN_PROGRESS {
            let Some(outstanding) = self.outstanding.as_mut().filter(|o| o.number == response.request) else {
                return Ok(());
            };
            // The peer sends its final answer by itself; the request is repeated in case that is lost, and "MUST use exponential backoff"
            // (RFC 6525, 5.1.1).
            let wait = (outstanding.waited * 2)
                .min(most)
                .max(scope.cx.paths.rto(scope.cx.env.config(), outstanding.path));
            outstanding.waited = wait;
            outstanding.in_progress = true;
            outstanding.due = false;
            outstanding.timer = Some(now + wait);
            // This response is no answer to a SHUTDOWN ACK, and a peer could repeat it for ever.
            if scope.cx.env.state() != State::ShutdownAckSent {
                scope.cx.paths.clear_errors();
            }
            return Ok(());
        }
        let Some(outstanding) = self.outstanding.take_if(answered) else { return Ok(()) };
        scope.cx.paths.clear_errors();
        match outstanding.request {
            Request::Open { .. } | Request::Close { .. } => {
                self.subflow_request_ended(scope, &outstanding.request, response.result);
                Ok(())
            }
            request => self.stream_request_ended(scope, &request, response),
        }
    }
}

/// "If a sender transmits an unsupported combination, the receiver SHOULD send an ERROR chunk with a Protocol Violation
/// cause" (RFC 6525, 3.1). A parameter that is not known at all is reported if its type asks for it.
// rfc6525:3.1-1
fn refuse_combination(cx: &Context, control: &mut Control, from: PathId, raws: &[RawParam<'_>]) {
    let codes = cx.env.config().subflows.codes;
    let unknown = raws
        .iter()
        .find(|raw| !(13..=18).contains(&raw.kind) && raw.kind != codes.add && raw.kind != codes.delete);
    match unknown {
        Some(raw) if raw.unknown_action().reports() => {
            control.report(from, causes::unrecognized_parameter(raw.bytes));
        }
        Some(_) => {}
        None => control.report(
            from,
            causes::protocol_violation("a combination of requests that RE-CONFIG does not have"),
        ),
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
