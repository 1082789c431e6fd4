//! RE-CONFIG (RFC 6525): requests and answers. One request of each side is under way at a time; it is sent again until it
//! is answered, and answered again when it comes again.

use std::collections::VecDeque;

use anabranch_base::Instant;
use anabranch_wire::chunk::ReConfig;
use anabranch_wire::param::{Param, Params, RawParam, ReconfigResponse, SfAdd, SfDel};
use anabranch_wire::{PacketBuilder, Tsn};

use super::{Association, State};
use crate::sf::fids::Answer;
use crate::subflow::Life;

/// Requests that may wait.
const MAX_WAITING: usize = 512;
/// Result "Error - Bad Sequence Number".
const BAD_NUMBER: u32 = 5;

/// What we want of the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    /// SF-ADD of the subflow with this index.
    Open { fid: u8, epoch: u8, initial: Tsn },
    /// SF-DEL, likewise.
    Close { fid: u8, epoch: u8, last: Tsn },
}

/// A request that has a number.
#[derive(Clone, Copy, Debug)]
struct Asked {
    wish: Wish,
    number: u32,
    /// It must leave (again).
    due: bool,
    /// When it is sent again.
    timer: Option<Instant>,
    /// How often it was sent again.
    repeats: u32,
}

/// RE-CONFIG on one association.
#[derive(Debug)]
pub(crate) struct Reconfig {
    /// Our next number: "This value is initialized to the value of the Initial TSN".
    next: u32,
    /// The peer's next.
    expected: u32,
    waiting: VecDeque<Wish>,
    asked: Option<Asked>,
    /// Number and result of an answer that must leave.
    answer: Option<(u32, u32)>,
    /// The last answer given.
    last: Option<(u32, u32)>,
}

impl Reconfig {
    pub(super) fn new(ours: Tsn, peers: Tsn) -> Self {
        Self {
            next: ours.get(),
            expected: peers.get(),
            waiting: VecDeque::new(),
            asked: None,
            answer: None,
            last: None,
        }
    }

    pub(super) fn timer(&self) -> Option<Instant> {
        self.asked.and_then(|asked| asked.timer)
    }

    /// Whether a chunk must leave.
    pub(super) fn is_due(&self) -> bool {
        self.answer.is_some() || self.asked.map_or(!self.waiting.is_empty(), |asked| asked.due)
    }

    fn wish(&mut self, wish: Wish) {
        if self.waiting.len() < MAX_WAITING {
            self.waiting.push_back(wish);
        }
    }

    /// The extension SF is gone: what was asked for it is not wanted any more. A request that is under way is still
    /// answered, or it would block the next one.
    pub(super) fn forget_subflows(&mut self) {
        self.waiting.clear();
        self.asked = None;
    }
}

impl Association {
    /// Asks the peer for the FID of a subflow that has none; until it has answered the subflow sends nothing. Where there
    /// is no extension, or no FID left, the subflow goes on as at level 0.
    pub(super) fn ask_for_fid(&mut self, index: u8) {
        if self.state != State::Established || self.config.coupling == crate::config::Coupling::Shared {
            return;
        }
        let initial = Tsn::new(self.rng.u32());
        let (Some(sf), Some(reconfig)) = (&self.sf, &mut self.reconfig) else { return };
        let Some(subflow) = self.subflows.get_mut(usize::from(index)) else { return };
        if subflow.waits || subflow.space != 0 || index == 0 {
            return;
        }
        let asked = |wish: &Wish| matches!(wish, Wish::Open { .. });
        let under_way = reconfig.waiting.iter().filter(|w| asked(w)).count()
            + usize::from(reconfig.asked.is_some_and(|a| asked(&a.wish)));
        if usize::from(sf.ours.open()) + under_way >= usize::from(sf.ours.limit()) {
            return;
        }
        let Some(epoch) = sf.ours.next_epoch(index) else { return };
        subflow.waits = true;
        reconfig.wish(Wish::Open { fid: index, epoch, initial });
    }

    /// After the handshake: FIDs for subflows that were opened meanwhile.
    pub(super) fn ask_for_missing_fids(&mut self) {
        if self.reconfig.is_none() {
            return;
        }
        for index in 1..self.subflows.len() {
            if self.subflows.get(index).is_some_and(|s| s.life == Life::Open && s.space == 0) {
                self.ask_for_fid(index as u8);
            }
        }
    }

    /// A closed subflow has nothing under way any more: its FID is given back. False when there is nothing to give.
    pub(super) fn give_back_fid(&mut self, index: u8) -> bool {
        let Some(subflow) = self.subflows.get(usize::from(index)) else { return false };
        let Some(space) = self.spaces.get(usize::from(subflow.space)) else { return false };
        if space.fid == 0 || self.state != State::Established {
            return false;
        }
        let last = space.tsn_of_sent(space.flight.next()).sub(1);
        let (fid, epoch) = (space.fid, space.send_epoch);
        let Some(reconfig) = &mut self.reconfig else { return false };
        reconfig.wish(Wish::Close { fid, epoch, last });
        true
    }

    /// One RE-CONFIG chunk, if one is due: an answer goes before a request, each alone.
    pub(super) fn write_reconfig(&mut self, now: Instant, packet: &mut PacketBuilder<'_>, limit: usize) {
        let rto = self.lanes.first().map_or(self.config.rto_initial, |lane| lane.rtt.rto());
        let (rto_max, codes) = (self.config.rto_max, self.config.sf_codes);
        let credit = self.config.receive_window;
        let Some(reconfig) = &mut self.reconfig else { return };
        if packet.len() + 4 + SfAdd::LEN > limit {
            return;
        }
        if let Some((request, result)) = reconfig.answer.take() {
            let response = ReconfigResponse { request, result, next_tsns: None };
            ReConfig { params: Params::EMPTY }
                .emit_with(packet.buffer(), |params| params.add(&Param::ReconfigResponse(response)));
            return;
        }
        if reconfig.asked.is_none() {
            let Some(wish) = reconfig.waiting.pop_front() else { return };
            let number = reconfig.next;
            reconfig.next = number.wrapping_add(1);
            reconfig.asked = Some(Asked { wish, number, due: true, timer: None, repeats: 0 });
        }
        let Some(asked) = &mut reconfig.asked else { return };
        if !asked.due {
            return;
        }
        asked.due = false;
        let doubled = rto * u64::from(1_u32 << asked.repeats.min(10));
        asked.timer = Some(now + doubled.min(rto_max));
        let mut request = Vec::with_capacity(SfAdd::LEN);
        match asked.wish {
            Wish::Open { fid, epoch, initial } => {
                let subflow = self.subflows.get(usize::from(fid));
                let add = SfAdd {
                    request: asked.number,
                    fid,
                    epoch,
                    dscp: subflow.map_or(0, |s| s.dscp.get()),
                    weight: subflow.map_or(1, |s| s.weight),
                    initial_stsn: initial,
                    a_fwnd: credit,
                };
                add.emit_as(codes.add, &mut request);
            }
            Wish::Close { fid, epoch, last } => {
                SfDel { request: asked.number, fid, epoch, last_stsn: last }
                    .emit_as(codes.delete, &mut request);
            }
        }
        ReConfig { params: Params::new(&request) }.emit(packet.buffer());
    }

    /// A request was not answered in time: it is sent again, and counts as an error of the path as a lost DATA chunk does.
    pub(super) fn on_reconfig_timer(&mut self, _now: Instant) {
        let Some(asked) = self.reconfig.as_mut().and_then(|r| r.asked.as_mut()) else { return };
        asked.timer = None;
        asked.due = true;
        asked.repeats += 1;
        self.count_error(0);
    }

    /// RE-CONFIG chunk: "If an endpoint ... in any other state" than ESTABLISHED drops it (RFC 6525, 5.2).
    pub(super) fn on_reconfig(&mut self, chunk: &ReConfig<'_>) {
        if !matches!(self.state, State::Established | State::ShutdownPending | State::ShutdownReceived) {
            return;
        }
        // "at most two parameters" (3.1).
        for raw in chunk.params.iter().take(2).flatten() {
            if raw.kind == anabranch_wire::param::kind::RECONFIG_RESPONSE {
                if let Ok(response) = ReconfigResponse::parse(raw) {
                    self.on_response(&response);
                }
            } else {
                self.on_request(raw);
            }
        }
    }

    fn on_request(&mut self, raw: RawParam<'_>) {
        let Some(number) = raw.value.first_chunk::<4>().map(|bytes| u32::from_be_bytes(*bytes)) else {
            return;
        };
        let Some(reconfig) = &self.reconfig else { return };
        let result = if number == reconfig.expected {
            self.perform(raw)
        } else if number == reconfig.expected.wrapping_sub(1) {
            // It came again: the answer was lost, or the request is still in progress.
            match reconfig.last {
                Some((last, result)) if last == number && result != Answer::InProgress.code() => result,
                _ => self.perform(raw),
            }
        } else {
            BAD_NUMBER
        };
        let Some(reconfig) = &mut self.reconfig else { return };
        if result != BAD_NUMBER {
            reconfig.expected = number.wrapping_add(1);
            reconfig.last = Some((number, result));
        }
        reconfig.answer = Some((number, result));
    }

    /// Does what the peer asks for; the result code. What this endpoint does not do is denied.
    fn perform(&mut self, raw: RawParam<'_>) -> u32 {
        let codes = self.config.sf_codes;
        let answer = if raw.kind == codes.add {
            SfAdd::parse(raw).map_or(Answer::Denied, |add| self.open_for_peer(&add))
        } else if raw.kind == codes.delete {
            SfDel::parse(raw).map_or(Answer::Denied, |del| self.close_for_peer(&del))
        } else {
            Answer::Denied
        };
        answer.code()
    }

    fn open_for_peer(&mut self, add: &SfAdd) -> Answer {
        let Some(sf) = &mut self.sf else { return Answer::Denied };
        let answer = sf.theirs.add(add.fid, add.epoch);
        if answer == Answer::Performed {
            self.open_receiving(add.fid, add.epoch, add.initial_stsn);
        }
        answer
    }

    fn close_for_peer(&mut self, del: &SfDel) -> Answer {
        let Some(space) = self.space_of(del.fid).and_then(|index| self.spaces.get(index)) else {
            return Answer::Denied;
        };
        let received = space.cumulative_received();
        let Some(sf) = &mut self.sf else { return Answer::Denied };
        sf.theirs.delete(del.fid, del.epoch, received, del.last_stsn)
    }

    fn on_response(&mut self, response: &ReconfigResponse) {
        let Some(reconfig) = &mut self.reconfig else { return };
        let Some(asked) = reconfig.asked.filter(|asked| asked.number == response.request) else { return };
        if response.result == Answer::InProgress.code() {
            // It is asked again when the timer runs out; that is no error of the path.
            if let Some(asked) = &mut reconfig.asked {
                asked.repeats = 0;
            }
            return;
        }
        reconfig.asked = None;
        self.errors = 0;
        let done = response.result == Answer::Performed.code() || response.result == Answer::Nothing.code();
        match asked.wish {
            Wish::Open { fid, epoch, initial } => {
                if done {
                    if let Some(sf) = &mut self.sf {
                        sf.ours.add(fid, epoch);
                    }
                    self.open_sending(fid, epoch, initial);
                    self.settle_subflow(fid);
                } else if let Some(subflow) = self.subflows.get_mut(usize::from(fid)) {
                    // It goes on without a space of its own, as at level 0.
                    subflow.waits = false;
                }
            }
            Wish::Close { fid, epoch, last } => {
                // A peer that denies has lost count; the FID is not used in this incarnation any more either way.
                if let Some(sf) = &mut self.sf {
                    sf.ours.delete(fid, epoch, last, last);
                }
                if let Some(subflow) = self.subflows.get_mut(usize::from(fid)) {
                    if subflow.life == Life::Deleting {
                        subflow.life = Life::Free;
                        subflow.space = 0;
                    }
                }
                self.free_lane(fid);
            }
        }
    }

    /// The lane of a subflow that is gone belongs to space 0 until somebody needs it.
    fn free_lane(&mut self, index: u8) {
        let lane = self.subflows.get(usize::from(index)).map_or(0, |s| usize::from(s.lane));
        if let Some(lane) = self.lanes.get_mut(lane) {
            if lane.unacked == 0 && lane.space != 0 {
                lane.space = 0;
                lane.loss.restart();
            }
        }
        self.share_spaces();
        self.set_phi();
    }
}
