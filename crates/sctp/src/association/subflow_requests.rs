//! Requests of the extension SF, which ride in RE-CONFIG: subflows that are opened and closed.

use anabranch_wire::Tsn;
use anabranch_wire::param::{RawParam, SfAdd, SfDel};

use super::reconfig::{Wish, result};
use super::{Association, State};
use crate::sf::fids::Answer;
use crate::subflow::Life;

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
        // It was asked for before, for a subflow that is gone again: this one takes it.
        if reconfig.wishes().any(|wish| matches!(wish, Wish::Open { fid, .. } if *fid == index)) {
            subflow.waits = true;
            return;
        }
        let asked = |wish: &Wish| matches!(wish, Wish::Open { .. });
        let under_way = reconfig.wishes().filter(|wish| asked(wish)).count();
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

    /// Does what the peer asks for; the result code.
    pub(super) fn perform_subflow_request(&mut self, raw: RawParam<'_>) -> u32 {
        let codes = self.config.sf_codes;
        let answer = if raw.kind == codes.add {
            SfAdd::parse(raw).map_or(Answer::Denied, |add| self.open_for_peer(&add))
        } else {
            SfDel::parse(raw).map_or(Answer::Denied, |del| self.close_for_peer(&del))
        };
        answer.code()
    }

    fn open_for_peer(&mut self, add: &SfAdd) -> Answer {
        let Some(sf) = &mut self.sf else { return Answer::Denied };
        let answer = sf.theirs.add(add.fid, add.epoch);
        match answer {
            Answer::Performed => self.open_receiving(add.fid, add.epoch, add.initial_stsn),
            // Open already: but not with other numbers.
            Answer::Nothing => {
                let space = self.space_of(add.fid).and_then(|index| self.spaces.get(index));
                if space.is_none_or(|space| space.receive_base != add.initial_stsn) {
                    return Answer::Denied;
                }
            }
            _ => {}
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

    /// The peer has answered SF-ADD or SF-DEL for good.
    pub(super) fn subflow_request_ended(&mut self, wish: &Wish, code: u32) {
        if self.sf.is_none() {
            return; // the extension ended meanwhile
        }
        match *wish {
            Wish::Open { fid, epoch, initial } => {
                if result::is_success(code) {
                    if let Some(sf) = &mut self.sf {
                        sf.ours.add(fid, epoch);
                    }
                    self.open_sending(fid, epoch, initial);
                    self.take_fid(fid, epoch, initial);
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
            _ => {}
        }
    }

    /// The peer has opened a FID of ours: its subflow may send. If the subflow is gone by now, so is the FID.
    fn take_fid(&mut self, fid: u8, epoch: u8, initial: Tsn) {
        let Some(subflow) = self.subflows.get_mut(usize::from(fid)) else { return };
        subflow.waits = false;
        if subflow.life == Life::Open {
            self.settle_subflow(fid);
            return;
        }
        if subflow.life == Life::Free {
            subflow.life = Life::Deleting;
        }
        if let Some(reconfig) = &mut self.reconfig {
            reconfig.wish(Wish::Close { fid, epoch, last: initial.sub(1) });
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
