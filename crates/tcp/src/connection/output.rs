//! Choice of the next segment to leave: RST, SYN, data in batches of equal size, or a pure acknowledgement.

use super::agreed::own_scale;
use super::{Connection, Outside};
use crate::event::State;
use crate::header::{self, Flags, Header, Options, SackBlocks};
use crate::sender::Outgoing;
use anabranch_base::Instant;

impl Connection {
    /// Appends packets to `buf`. Answers (bytes appended, size of each but perhaps the last).
    pub(crate) fn transmit(
        &mut self,
        out: &mut Outside<'_>,
        most: usize,
        buf: &mut Vec<u8>,
    ) -> Option<(usize, usize)> {
        let start = buf.len();
        if self.reset_due {
            self.reset_due = false;
            let header = Header {
                seq: self.numbers.own(self.sender.max()),
                flags: Flags::RST | Flags::ACK,
                ..self.header()
            };
            self.finish_control(header, buf);
        } else if matches!(self.state, State::SynSent | State::SynReceived) {
            if !self.syn.take_due() {
                return None;
            }
            let header = self.syn(out.now);
            self.syn_leaves(out.now);
            self.finish_control(header, buf);
        } else if !self.state.is_synchronized() {
            return None;
        } else {
            let packet = self.data(out, most, buf);
            if packet.is_some() {
                return packet;
            }
            if !self.acks.due() {
                return None;
            }
            let blocks = self.sack_blocks(usize::MAX);
            let header =
                Header { seq: self.numbers.own(self.sender.max()), ..self.outgoing_header(out.now, blocks) };
            self.acks_left();
            self.stats.acks_sent += 1;
            self.finish_control(header, buf);
        }
        let size = buf.len() - start;
        Some((size, size))
    }

    /// Data segments, while the window allows: all of the size of the first, the last perhaps shorter.
    fn data(&mut self, out: &mut Outside<'_>, most: usize, buf: &mut Vec<u8>) -> Option<(usize, usize)> {
        let begin = buf.len();
        let blocks = if self.receiver.has_holes() || self.duplicate.is_some() {
            self.sack_blocks(usize::MAX)
        } else {
            SackBlocks::default()
        };
        let taken = if blocks.as_slice().is_empty() { 0 } else { 4 + 8 * blocks.as_slice().len() as u64 };
        let room = self.sender.mss().saturating_sub(taken);
        let (mut packets, mut first) = (0, 0);
        while packets < most.max(1) {
            let Some(choice) = self.sender.choose(out.now, room) else { break };
            let Outgoing { len, fin, .. } = choice.outgoing;
            let fits = self.blocks_beside(blocks, len);
            let header = self.outgoing_header(out.now, fits);
            let size = header.size() + len as usize;
            if packets > 0 && size > first {
                break;
            }
            self.with_sender(out, |sender, cx| sender.commit(cx, &choice));
            self.segment(header, choice.outgoing, buf);
            packets += 1;
            if packets == 1 {
                first = size;
            }
            if size < first || fin {
                break;
            }
        }
        if packets == 0 {
            return None;
        }
        self.acks_left();
        Some((buf.len() - begin, first))
    }

    /// As many SACK blocks as fit beside `len` bytes that cannot be made fewer.
    fn blocks_beside(&self, blocks: SackBlocks, len: u32) -> SackBlocks {
        let room = self.sender.mss().saturating_sub(u64::from(len));
        let most = (room.saturating_sub(4) / 8) as usize;
        if blocks.as_slice().len() <= most { blocks } else { self.sack_blocks(most) }
    }

    fn segment(&mut self, mut header: Header, Outgoing { seq, len, fin }: Outgoing, buf: &mut Vec<u8>) {
        let at = buf.len();
        header.seq = self.numbers.own(seq);
        let last = seq + u64::from(len) == self.sender.buffer().queue().end();
        if fin {
            header.flags = header.flags | Flags::FIN;
        }
        if last && len > 0 {
            header.flags = header.flags | Flags::PSH;
        }
        header.emit(buf);
        self.sender.buffer().queue().copy(seq, len, buf);
        self.seal(buf, at);
    }

    fn finish_control(&mut self, header: Header, buf: &mut Vec<u8>) {
        let at = buf.len();
        self.stats.control_sent += 1;
        header.emit(buf);
        self.seal(buf, at);
    }

    fn seal(&self, buf: &mut [u8], at: usize) {
        if self.config.checksum {
            if let Some(segment) = buf.get_mut(at..) {
                header::seal(segment, self.addresses.local.ip(), self.addresses.remote.ip());
            }
        }
    }

    fn syn(&mut self, now: Instant) -> Header {
        let answer = self.state == State::SynReceived;
        let window = self.receiver.advertise(0, u64::from(self.config.mss));
        let scale = if answer {
            self.agreed.answered_scale()
        } else {
            self.config.window_scaling.then(|| own_scale(&self.config))
        };
        let echo = if answer { self.timestamps.recent() } else { self.config.timestamps.then_some(0) };
        Header {
            seq: self.numbers.own_syn(),
            ack: if answer { self.numbers.peer(1) } else { 0 },
            flags: if answer { Flags::SYN | Flags::ACK } else { Flags::SYN },
            window,
            options: Options {
                mss: Some(self.config.mss.min(0xffff) as u16),
                window_scale: scale,
                sack_permitted: if answer { self.agreed.sack() } else { self.config.sack },
                timestamps: echo.map(|echo| (self.timestamps.at(now), echo)),
                sack: SackBlocks::default(),
            },
            ..self.header()
        }
    }

    fn header(&self) -> Header {
        Header {
            source: self.addresses.local.port(),
            destination: self.addresses.remote.port(),
            ack: self.numbers.peer(self.receiver.next()),
            flags: Flags::ACK,
            ..Header::default()
        }
    }

    fn outgoing_header(&mut self, now: Instant, sack: SackBlocks) -> Header {
        let window = self.receiver.advertise(self.agreed.own_shift(), self.sender.mss());
        let timestamps = self.timestamps.option(now);
        Header { window, options: Options { timestamps, sack, ..Options::default() }, ..self.header() }
    }

    fn acks_left(&mut self) {
        self.acks.sent();
        self.timestamps.ack_left(self.receiver.next());
        self.duplicate = None;
    }

    fn sack_blocks(&self, most: usize) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        if self.agreed.sack() {
            let header_room = if self.timestamps.in_use() { 3 } else { 4 };
            let most = most.min(header_room).min(self.config.sack_blocks as usize);
            let wire = |at: u64| self.numbers.peer(at);
            let mut most = most;
            if let Some((start, end)) = self.duplicate.filter(|_| most > 0) {
                // RFC 2883, section 4: "the first block of the SACK option ... specifies the ... duplicate segment".
                blocks.push(wire(start), wire(end));
                most -= 1;
            }
            self.receiver.sack_blocks(most, |start, end| blocks.push(wire(start), wire(end)));
        }
        blocks
    }
}
