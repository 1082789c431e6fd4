//! Which stream speaks next.

use std::collections::VecDeque;

use crate::config::StreamScheduling;

/// Order among the streams that have something to say. A stream is named here once for each of its messages
/// (first come, first served) or once in all (round robin).
#[derive(Debug)]
pub(crate) enum Scheduler {
    /// In the order of `send`.
    Fcfs(VecDeque<u16>),
    /// One message of each waiting stream in turn.
    RoundRobin(VecDeque<u16>),
}

impl Scheduler {
    pub(crate) fn new(kind: StreamScheduling) -> Self {
        match kind {
            StreamScheduling::Fcfs => Self::Fcfs(VecDeque::new()),
            StreamScheduling::RoundRobin => Self::RoundRobin(VecDeque::new()),
        }
    }

    /// A message was queued on `stream`; `was_empty` tells whether it is the stream's only one.
    pub(crate) fn queued(&mut self, stream: u16, was_empty: bool) {
        match self {
            Self::Fcfs(order) => order.push_back(stream),
            Self::RoundRobin(turns) => {
                if was_empty {
                    turns.push_back(stream);
                }
            }
        }
    }

    /// Whose message is next. The answer stays the same until [`Scheduler::finished`].
    pub(crate) fn next(&self) -> Option<u16> {
        match self {
            Self::Fcfs(order) | Self::RoundRobin(order) => order.front().copied(),
        }
    }

    /// The last fragment of the message at the front has left; `more` tells whether its stream has others.
    pub(crate) fn finished(&mut self, more: bool) {
        match self {
            Self::Fcfs(order) => {
                order.pop_front();
            }
            Self::RoundRobin(turns) => {
                if let Some(stream) = turns.pop_front() {
                    if more {
                        turns.push_back(stream);
                    }
                }
            }
        }
    }

    /// A stream's messages are taken away, but for the one at the front if it has `begun`.
    pub(crate) fn keep_one(&mut self, stream: u16, begun: bool) {
        match self {
            Self::Fcfs(order) | Self::RoundRobin(order) => {
                let mut first = begun;
                order.retain(|id| *id != stream || std::mem::take(&mut first));
            }
        }
    }

    /// Keeps only the streams that `keep` wants.
    pub(crate) fn retain(&mut self, keep: impl Fn(u16) -> bool) {
        match self {
            Self::Fcfs(order) | Self::RoundRobin(order) => order.retain(|id| keep(*id)),
        }
    }

    pub(crate) fn clear(&mut self) {
        match self {
            Self::Fcfs(order) | Self::RoundRobin(order) => order.clear(),
        }
    }
}
