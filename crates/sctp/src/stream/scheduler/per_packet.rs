//! Round robin per packet: "only switches streams when starting to fill a new packet. It bundles only DATA or I-DATA chunks
//! referring to the same stream in a packet" (RFC 8260, 3.3). So a packet that is lost holds up one stream.

use std::collections::VecDeque;

use super::turn::Left;

#[derive(Debug, Default)]
pub(crate) struct PerPacket {
    turns: VecDeque<u16>,
    /// A chunk of the stream in front is in the packet being filled.
    used: bool,
    /// The stream in front may be left when the packet ends.
    may_change: bool,
    /// The stream in front has nothing more to send: the packet takes no other chunks.
    closed: bool,
}

impl PerPacket {
    pub(super) fn wait(&mut self, stream: u16) {
        self.turns.push_back(stream);
    }

    pub(super) fn next(&self) -> Option<u16> {
        if self.closed { None } else { self.turns.front().copied() }
    }

    pub(super) fn left(&mut self, chunk: Left) {
        self.used = true;
        self.may_change = chunk.may_change();
        if !chunk.more {
            self.turns.pop_front();
            self.closed = true;
        }
    }

    pub(super) fn packet_ended(&mut self) {
        if self.used && self.may_change && !self.closed {
            self.turns.rotate_left(usize::from(!self.turns.is_empty()));
        }
        self.used = false;
        self.closed = false;
    }

    pub(super) fn retain(&mut self, keep: impl Fn(u16) -> bool) {
        self.turns.retain(|id| keep(*id));
    }
}
