//! Answers to requests of the peer: those that must leave, and the last two, which are given again when a request comes again.

use std::collections::VecDeque;

use anabranch_wire::Tsn;
use anabranch_wire::param::{Param, ReconfigResponse};

use crate::ids::PathId;

/// Answers that may wait; a peer has one chunk with two requests under way at most.
const MAX_ANSWERS: usize = 8;

/// Results (RFC 6525, table 3).
pub(super) mod result {
    /// "Success - Nothing to do".
    pub(crate) const NOTHING: u32 = 0;
    /// "Success - Performed".
    pub(crate) const PERFORMED: u32 = 1;
    /// "Denied".
    pub(crate) const DENIED: u32 = 2;
    /// "Error - Wrong SSN": a stream that there is not.
    pub(crate) const WRONG_SSN: u32 = 3;
    /// "Error - Request already in progress".
    pub(crate) const BUSY: u32 = 4;
    /// "Error - Bad Sequence Number".
    pub(crate) const BAD_NUMBER: u32 = 5;
    /// "In progress".
    pub(crate) const IN_PROGRESS: u32 = 6;

    pub(crate) fn is_success(code: u32) -> bool {
        matches!(code, NOTHING | PERFORMED)
    }
}

/// The answer to a request of the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Answered {
    pub(super) number: u32,
    pub(super) result: u32,
    pub(super) next_tsns: Option<(Tsn, Tsn)>,
}

impl Answered {
    // rfc6525:5.1.7-1 rfc6525:5.1.7-2 rfc6525:5.1.7-4
    pub(super) fn response(self) -> Param<'static> {
        Param::ReconfigResponse(ReconfigResponse {
            request: self.number,
            result: self.result,
            next_tsns: self.next_tsns,
        })
    }
}

/// The answers of one association.
#[derive(Debug)]
pub(super) struct Answers {
    /// The answers that must leave.
    due: VecDeque<Answered>,
    /// Path on which the peer has asked last. "An endpoint SHOULD transmit reply chunks ... to the same destination
    /// transport address from which it received the control chunk" (RFC 9260, 6.4); a peer has one chunk with
    /// requests under way, so one path is enough.
    path: PathId,
    /// The last two given: those to a chunk that may come again.
    last: [Option<Answered>; 2],
}

impl Answers {
    /// No answer was given; `path` is any, as no request has come.
    pub(super) fn new(path: PathId) -> Self {
        Self { due: VecDeque::new(), path, last: [None; 2] }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.due.is_empty()
    }

    /// Path on which they leave.
    pub(super) fn path(&self) -> PathId {
        self.path
    }

    /// The peer asks on a path.
    pub(super) fn asked_on(&mut self, path: PathId) {
        self.path = path;
    }

    /// True if an answer must leave on `path`.
    pub(super) fn are_due_on(&self, path: PathId) -> bool {
        !self.due.is_empty() && self.path == path
    }

    /// The next one that must leave.
    pub(super) fn next(&mut self) -> Option<Answered> {
        self.due.pop_front()
    }

    /// The answer to a request leaves in another way.
    pub(super) fn forget(&mut self, number: u32) {
        self.due.retain(|answered| answered.number != number);
    }

    /// The answer to a request, if it was one of the last two.
    pub(super) fn remembered(&self, number: u32) -> Option<Answered> {
        self.last.iter().flatten().find(|answered| answered.number == number).copied()
    }

    /// Remembers an answer; a better one to the same request takes its place.
    pub(super) fn remember(&mut self, answered: Answered) {
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
    pub(super) fn give(&mut self, answered: Answered) {
        self.remember(answered);
        self.say(answered);
    }

    /// Gives an answer that is not remembered, or was before.
    pub(super) fn say(&mut self, answered: Answered) {
        self.forget(answered.number);
        if self.due.len() < MAX_ANSWERS {
            self.due.push_back(answered);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_two_answers_are_known() {
        let mut answers = Answers::new(PathId::new(0));
        for (number, code) in [(10, 1), (11, 6), (12, 2)] {
            answers.give(Answered { number, result: code, next_tsns: None });
        }
        answers.give(Answered { number: 11, result: 1, next_tsns: None });
        let known = |number| answers.remembered(number).map(|a| a.result);
        assert_eq!((known(10), known(11), known(12)), (None, Some(1), Some(2)));
        let said: Vec<_> = answers.due.iter().map(|a| (a.number, a.result)).collect();
        assert_eq!(said, [(10, 1), (12, 2), (11, 1)], "the old answer to 11 never leaves");
    }
}
