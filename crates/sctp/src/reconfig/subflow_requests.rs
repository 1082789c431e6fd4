//! Requests of the extension SF, which ride in RE-CONFIG: subflows that are opened and closed.

use anabranch_wire::param::{RawParam, SfAdd, SfDel};

use super::answers::result;
use super::requests::{Reconfig, Request};
use crate::encoding::Encoding;
use crate::ids::SubflowId;
use crate::negotiation::fids::Answer;
use crate::scope::Scope;
use crate::sender::OpenFid;

impl Reconfig {
    /// The peer has answered SF-ADD or SF-DEL for good.
    pub(super) fn subflow_request_ended(&mut self, scope: &mut Scope<'_>, request: &Request, code: u32) {
        if scope.cx.env.agreed().encoding() != Encoding::Sf {
            return; // the extension ended meanwhile
        }
        match *request {
            Request::Open { fid, epoch, initial } => {
                let id = SubflowId::new(fid);
                if !result::is_success(code) {
                    scope.sender.tables_mut().fid_denied(id);
                    return;
                }
                scope.sender.subflow_changes().record_fid(fid, epoch);
                scope.open_sending(fid, epoch, initial);
                if !scope.sender.subflow_changes().fid_opened(scope.cx, id) {
                    self.ask_to_close(OpenFid { fid, epoch, last: initial.sub(1) });
                }
            }
            Request::Close { fid, epoch, last } => {
                scope.sender.subflow_changes().fid_closed(scope.cx, SubflowId::new(fid), epoch, last);
            }
            _ => {}
        }
    }
}

/// Performs a request of the peer; returns the result code.
pub(super) fn perform_subflow_request(scope: &mut Scope<'_>, raw: RawParam<'_>) -> u32 {
    let codes = scope.cx.env.config().subflows.codes;
    let answer = if raw.kind == codes.add {
        SfAdd::parse(raw).map_or(Answer::Denied, |add| open_for_peer(scope, &add))
    } else {
        SfDel::parse(raw).map_or(Answer::Denied, |del| close_for_peer(scope, &del))
    };
    answer.code()
}

fn open_for_peer(scope: &mut Scope<'_>, add: &SfAdd) -> Answer {
    let answer = scope.receiver.arrivals_mut().add_fid(add.fid, add.epoch, add.initial_stsn);
    if answer == Answer::Performed {
        scope.open_receiving(add.fid, add.epoch, add.initial_stsn);
    }
    answer
}

fn close_for_peer(scope: &mut Scope<'_>, del: &SfDel) -> Answer {
    scope.receiver.arrivals_mut().delete_fid(del.fid, del.epoch, del.last_stsn)
}
