//! Choice of the stream that sends next: the schedulers of RFC 8260, section 3.
//!
//! Where messages travel as I-DATA a scheduler may change the stream after every chunk; where they travel as DATA, whose
//! fragments need TSNs in a row, after every message. The difference is one flag, `interleaves`, of each chunk that has left.

mod fair;
mod in_order;
mod per_packet;
mod priority;
mod turn;

use std::collections::VecDeque;

use crate::config::{Config, StreamScheduling};
use anabranch_base::cold_path;
use fair::Fair;
use in_order::InOrder;
use per_packet::PerPacket;
use priority::Priority;
pub(crate) use turn::Left;

/// Order among the streams that have something to say. A stream is named here once for each of its messages (first come,
/// first served) or once in all (the others).
#[derive(Debug)]
pub(crate) enum Scheduler {
    /// RFC 8260, 3.1: "in the order in which they have been delivered by the application", interleaved or not.
    Fcfs(InOrder),
    /// RFC 8260, 3.2: each waiting stream in turn, one message, or one chunk where they interleave.
    RoundRobin(VecDeque<u16>),
    /// RFC 8260, 3.3: in turn, a packet each.
    PerPacket(PerPacket),
    /// RFC 8260, 3.4: the smallest value first.
    Priority(Priority),
    /// RFC 8260, 3.5 and 3.6: bytes in equal shares, or in proportion to the values.
    Fair(Fair),
}

impl Scheduler {
    pub(crate) fn new(config: &Config) -> Self {
        match config.streams.scheduling {
            StreamScheduling::Fcfs => Self::Fcfs(InOrder::default()),
            StreamScheduling::RoundRobin => Self::RoundRobin(VecDeque::new()),
            StreamScheduling::RoundRobinPacket => Self::PerPacket(PerPacket::default()),
            StreamScheduling::Priority => Self::Priority(Priority::new(&config.streams.values)),
            StreamScheduling::FairCapacity => Self::Fair(Fair::new(None)),
            StreamScheduling::WeightedFair => Self::Fair(Fair::new(Some(&config.streams.values))),
        }
    }

    /// A message was queued on `stream`; `was_empty` tells whether it is the stream's only one.
    #[inline]
    pub(crate) fn queued(&mut self, stream: u16, was_empty: bool) {
        if let Self::Fcfs(order) = self {
            order.push(stream);
        } else if was_empty {
            self.wait(stream);
        }
    }

    #[inline(never)]
    fn wait(&mut self, stream: u16) {
        match self {
            Self::Fcfs(order) => order.push(stream),
            Self::RoundRobin(turns) => turns.push_back(stream),
            Self::PerPacket(rule) => rule.wait(stream),
            Self::Priority(rule) => rule.wait(stream),
            Self::Fair(rule) => rule.wait(stream),
        }
    }

    /// Stream of the next chunk. The answer stays the same until [`Scheduler::left`], but for a new message on a more
    /// important stream at a place where the stream may change. Asked several times for each chunk: the common rule
    /// is at hand.
    #[inline]
    pub(crate) fn next(&self) -> Option<u16> {
        if let Self::Fcfs(order) = self { order.first() } else { self.next_by_rule() }
    }

    // rfc8260:3-1
    #[inline(never)]
    fn next_by_rule(&self) -> Option<u16> {
        match self {
            Self::Fcfs(order) => order.first(),
            Self::RoundRobin(turns) => turns.front().copied(),
            Self::PerPacket(rule) => rule.next(),
            Self::Priority(rule) => rule.next(),
            Self::Fair(rule) => rule.next(),
        }
    }

    /// A chunk of the stream that was next has left.
    #[inline]
    pub(crate) fn left(&mut self, chunk: Left) {
        if let Self::Fcfs(order) = self {
            if chunk.ending {
                order.pop();
            }
        } else {
            self.left_by_rule(chunk);
        }
    }

    #[inline(never)]
    fn left_by_rule(&mut self, chunk: Left) {
        match self {
            Self::Fcfs(_) => {}
            Self::RoundRobin(turns) => {
                if chunk.may_change() {
                    if let Some(stream) = turns.pop_front() {
                        if chunk.more {
                            turns.push_back(stream);
                        }
                    }
                }
            }
            Self::PerPacket(rule) => rule.left(chunk),
            Self::Priority(rule) => rule.left(chunk),
            Self::Fair(rule) => rule.left(chunk),
        }
    }

    /// The packet that was being filled is full, or nothing else goes into it.
    #[inline]
    pub(crate) fn packet_ended(&mut self) {
        if let Self::PerPacket(rule) = self {
            cold_path();
            rule.packet_ended();
        }
    }

    /// A message of this stream has begun to leave under another rule and must end before another stream speaks.
    /// Schedulers that take turns need nothing: they have the stream in front.
    pub(crate) fn begin_inside(&mut self, stream: u16) {
        match self {
            Self::Priority(rule) => rule.begin_inside(stream),
            Self::Fair(rule) => rule.begin_inside(stream),
            Self::Fcfs(_) | Self::RoundRobin(_) | Self::PerPacket(_) => {}
        }
    }

    /// The value of a stream (priority or weight) has changed.
    pub(crate) fn set_value(&mut self, stream: u16, value: u16) {
        match self {
            Self::Priority(rule) => rule.set_value(stream, value),
            Self::Fair(rule) => rule.set_value(stream, value),
            Self::Fcfs(_) | Self::RoundRobin(_) | Self::PerPacket(_) => {}
        }
    }

    /// The message at a `place` among those of its stream was taken out; `begun` tells whether it was leaving, `more` whether its
    /// stream has others.
    #[cold]
    pub(crate) fn removed(&mut self, stream: u16, place: usize, begun: bool, more: bool, interleaves: bool) {
        match self {
            Self::Fcfs(order) => order.remove(stream, place),
            _ if !more => self.retain(|other| other != stream),
            // No other stream could speak before the message had ended: it has.
            _ if begun && !interleaves => {
                self.left_by_rule(Left { stream, bytes: 0, ending: true, more, interleaves });
            }
            _ => {}
        }
    }

    /// Keeps only the streams that `keep` wants.
    pub(crate) fn retain(&mut self, keep: impl Fn(u16) -> bool) {
        match self {
            Self::Fcfs(order) => order.retain(keep),
            Self::RoundRobin(turns) => turns.retain(|id| keep(*id)),
            Self::PerPacket(rule) => rule.retain(keep),
            Self::Priority(rule) => rule.retain(keep),
            Self::Fair(rule) => rule.retain(keep),
        }
    }

    pub(crate) fn clear(&mut self) {
        self.retain(|_| false);
    }
}

#[cfg(test)]
mod tests;
