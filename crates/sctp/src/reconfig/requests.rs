//! Requests of ours: those that wait, and the one that is outstanding.

use std::collections::VecDeque;

use anabranch_base::{Duration, Instant};
use anabranch_wire::Tsn;

use super::answers::{Answered, Answers, result};
use crate::context::Context;
use crate::ids::{PathId, SubflowId};
use crate::sender::{OpenFid, Sender};

/// Requests that may wait.
const MAX_WAITING: usize = 512;
/// A request to the peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// SF-ADD of the subflow with this index.
    Open { fid: u8, epoch: u8, initial: Tsn },
    /// SF-DEL of the subflow with this index.
    Close { fid: u8, epoch: u8, last: Tsn },
    /// Our streams begin anew (none listed: all); in answer to the peer's request with this number.
    ResetOutgoing { streams: Vec<u16>, answers: Option<u32> },
    /// The peer's streams shall begin anew.
    ResetIncoming { streams: Vec<u16> },
    /// Everything begins anew, TSNs too.
    ResetAssociation,
    /// More streams of ours; the peer may have asked for them.
    AddOutgoing { count: u16, for_peer: bool },
    /// More streams of the peer's.
    AddIncoming(u16),
}

/// A request that has a number.
#[derive(Debug)]
pub(super) struct Outstanding {
    pub(super) request: Request,
    pub(super) number: u32,
    /// The chunk as it was sent first: it is sent again unchanged.
    pub(super) bytes: Vec<u8>,
    /// True if the request must leave (again).
    pub(super) due: bool,
    /// Path on which it leaves, which is charged with an error where no answer comes in time.
    pub(super) path: PathId,
    /// Time at which it is sent again.
    pub(super) timer: Option<Instant>,
    /// The peer has it and works on it: a missing final answer is no error of the path.
    pub(super) in_progress: bool,
    /// Time waited since the peer last said so.
    pub(super) waited: Duration,
}

/// A request of the peer that cannot be performed yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pending {
    /// Outgoing SSN Reset Request: the streams are reset when everything up to a TSN has come ("deferred reset processing", RFC 6525,
    /// 5.2.2, E2): the receiver knows which. The peer may have been asked for that.
    Outgoing { number: u32, asked_for: bool },
    /// The association is reset when nothing of ours is under way.
    Association { number: u32 },
}

/// RE-CONFIG on one association.
#[derive(Debug)]
pub(crate) struct Reconfig {
    /// Our next number: "initialized to the same value as the initial TSN".
    pub(super) next: u32,
    /// The peer's next.
    pub(super) expected: u32,
    /// Requests without a number yet, and the one that has one and no answer.
    pub(super) waiting: VecDeque<Request>,
    pub(super) outstanding: Option<Outstanding>,
    pub(super) answers: Answers,
    pub(super) pending: Option<Pending>,
    /// After an SSN/TSN reset: the answer rides with our data until some of it is acknowledged, as the peer must not read
    /// data of the new numbering before it. With the first number of that data.
    pub(super) repeated: Option<(Answered, u64)>,
    /// When we last asked for an SSN/TSN reset, or were asked for one.
    pub(super) last_association_reset: Option<Instant>,
}

/// Bytes of the RE-CONFIG chunk with an answer that rides with data.
pub(super) const REPEATED_ANSWER: u16 = 4 + 20;

impl Reconfig {
    pub(crate) fn new(ours: Tsn, peers: Tsn, path: PathId) -> Self {
        Self {
            next: ours.get(),
            expected: peers.get(),
            waiting: VecDeque::new(),
            outstanding: None,
            answers: Answers::new(path),
            pending: None,
            repeated: None,
            last_association_reset: None,
        }
    }

    pub(crate) fn timer(&self) -> Option<Instant> {
        self.outstanding.as_ref().and_then(|outstanding| outstanding.timer)
    }

    /// Every request that has not been answered for good.
    pub(super) fn requests(&self) -> impl Iterator<Item = &Request> {
        self.outstanding.iter().map(|outstanding| &outstanding.request).chain(&self.waiting)
    }

    /// Number of further requests that may wait.
    pub(super) fn room(&self) -> usize {
        MAX_WAITING.saturating_sub(self.waiting.len())
    }

    /// The answer to a request is still to come; a peer that asks again is told so.
    pub(super) fn answer_later(&mut self, number: u32) {
        self.answers.remember(Answered { number, result: result::IN_PROGRESS, next_tsns: None });
    }

    pub(super) fn ask(&mut self, request: Request) {
        if self.room() > 0 {
            self.waiting.push_back(request);
        }
    }

    /// FIDs that the peer was asked to open and has not.
    pub(crate) fn fids_asked_for(&self) -> Vec<u8> {
        let fid = |request: &Request| match request {
            Request::Open { fid, .. } => Some(*fid),
            _ => None,
        };
        self.requests().filter_map(fid).collect()
    }

    /// Asks for a FID.
    pub(crate) fn ask_to_open(&mut self, fid: u8, epoch: u8, initial: Tsn) {
        self.ask(Request::Open { fid, epoch, initial });
    }

    /// Gives a FID back.
    pub(crate) fn ask_to_close(&mut self, open: OpenFid) {
        self.ask(Request::Close { fid: open.fid, epoch: open.epoch, last: open.last });
    }

    /// The extension SF is gone: requests for it are not wanted any more. A request that is under way is still
    /// answered: without its number the peer would not take the next one.
    pub(crate) fn forget_subflows(&mut self) {
        self.waiting.retain(|request| !matches!(request, Request::Open { .. } | Request::Close { .. }));
    }

    /// An answer must ride with every packet of data.
    #[inline]
    pub(crate) fn repeats_answer(&self) -> bool {
        self.repeated.is_some()
    }

    /// Number of the last request that the peer made.
    pub(super) fn last_number(&self) -> u32 {
        self.expected.wrapping_sub(1)
    }
}

/// The path on which a request leaves now: as the data of the first subflow.
pub(super) fn request_path(cx: &Context, sender: &Sender) -> PathId {
    sender.path_of_subflow(SubflowId::FIRST.get()).unwrap_or(cx.paths.for_control())
}

/// True if a request may be sent now.
pub(super) fn is_ready(sender: &Sender, request: &Request) -> bool {
    match request {
        Request::ResetOutgoing { streams, .. } => sender.tables().have_left(streams),
        // RFC 6525, 5.1.4, C2: "The sender has either no outstanding TSNs or considers all outstanding TSNs abandoned."
        Request::ResetAssociation => sender.tables().is_quiet(),
        _ => true,
    }
}
