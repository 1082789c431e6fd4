//! Requests of the extension SF, which ride in RE-CONFIG: subflows that are opened and closed.

use anabranch_wire::param::{RawParam, SfAdd, SfDel};

use super::super::Association;
use super::answers::result;
use super::requests::Request;
use crate::encoding::Encoding;
use crate::ids::SubflowId;
use crate::negotiation::fids::Answer;
use crate::sender::OpenFid;

impl Association {
    /// Does what the peer asks for; the result code.
    pub(super) fn perform_subflow_request(&mut self, raw: RawParam<'_>) -> u32 {
        let codes = self.cx.config.subflows.codes;
        let answer = if raw.kind == codes.add {
            SfAdd::parse(raw).map_or(Answer::Denied, |add| self.open_for_peer(&add))
        } else {
            SfDel::parse(raw).map_or(Answer::Denied, |del| self.close_for_peer(&del))
        };
        answer.code()
    }

    fn open_for_peer(&mut self, add: &SfAdd) -> Answer {
        let answer = self.receiver.arrivals_mut().add_fid(add.fid, add.epoch, add.initial_stsn);
        if answer == Answer::Performed {
            self.open_receiving(add.fid, add.epoch, add.initial_stsn);
        }
        answer
    }

    fn close_for_peer(&mut self, del: &SfDel) -> Answer {
        self.receiver.arrivals_mut().delete_fid(del.fid, del.epoch, del.last_stsn)
    }

    /// The peer has answered SF-ADD or SF-DEL for good.
    pub(super) fn subflow_request_ended(&mut self, request: &Request, code: u32) {
        if self.encoding != Encoding::Sf {
            return; // the extension ended meanwhile
        }
        match *request {
            Request::Open { fid, epoch, initial } => {
                let id = SubflowId::new(fid);
                if !result::is_success(code) {
                    self.sender.fid_denied(id);
                    return;
                }
                self.sender.record_fid(fid, epoch);
                self.open_sending(fid, epoch, initial);
                if !self.sender.fid_opened(&self.cx, id) {
                    if let Some(reconfig) = &mut self.reconfig {
                        reconfig.ask_to_close(OpenFid { fid, epoch, last: initial.sub(1) });
                    }
                }
            }
            Request::Close { fid, epoch, last } => {
                self.sender.fid_closed(&mut self.cx, SubflowId::new(fid), epoch, last);
            }
            _ => {}
        }
    }
}
