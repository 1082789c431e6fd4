//! Packets that belong to no association, and their answers, for which no state is kept (RFC 9260, 8.4).

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};

use anabranch_base::{Dscp, Ecn, Meta, Transmit};
use anabranch_wire::chunk::{Chunk, ShutdownComplete};
use anabranch_wire::{ChecksumOut, CommonHeader, Packet, PacketBuilder, PacketError};

use crate::association::init::PeerInit;
use crate::causes;
use crate::config::Checksums;
use crate::cookie::Cookie;
use crate::stats::EndpointStats;

/// Answers that may wait. Beyond it they are dropped: a flood gets no larger answer than this.
const MAX_WAITING: usize = 1024;

/// Answers packets that belong to no association, and counts them.
#[derive(Debug)]
pub(super) struct Stateless {
    /// Packets to be sent, each with the one that it answers.
    waiting: VecDeque<(Meta, Vec<u8>)>,
    checksums: Checksums,
    stats: EndpointStats,
}

impl Stateless {
    /// `checksums`: those of the answers.
    pub(super) fn new(checksums: Checksums) -> Self {
        Self { waiting: VecDeque::new(), checksums, stats: EndpointStats::default() }
    }

    /// Counters of packets and events that belong to no association.
    pub(super) fn stats(&self) -> &EndpointStats {
        &self.stats
    }

    /// The counters, for something that has happened.
    #[inline]
    pub(super) fn count(&mut self) -> &mut EndpointStats {
        &mut self.stats
    }

    #[cold]
    pub(super) fn drop_bad(&mut self, error: &PacketError) {
        match error {
            PacketError::BadChecksum { .. } => self.stats.bad_checksum += 1,
            _ => self.stats.malformed += 1,
        }
    }

    /// Queues the answer to a packet that came with `question`; false when there are too many.
    // rfc9260:5.1-3 rfc9260:5.2.1-5
    fn queue(&mut self, question: &Meta, packet: Vec<u8>) -> bool {
        if self.waiting.len() >= MAX_WAITING {
            return false;
        }
        self.waiting.push_back((*question, packet));
        true
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Appends the next packet to `buf`.
    pub(super) fn pop(&mut self, buf: &mut Vec<u8>) -> Option<Transmit> {
        let (question, packet) = self.waiting.pop_front()?;
        buf.extend_from_slice(&packet);
        let size = packet.len();
        Some(Transmit {
            dont_fragment: false,
            destination: question.source,
            // The address that the question was sent to: the peer would not know another one.
            source: Some(question.destination),
            dscp: Dscp::DEFAULT,
            ecn: Ecn::NotEct,
            size,
            segment_size: size,
        })
    }

    /// 8.4: packets that belong to no association.
    // rfc9260:3.3.7-3 rfc9260:3.3.7-5 rfc9260:8.4-2 rfc9260:8.4-8 rfc9260:8.4-9 rfc9260:8.4-10 rfc9260:8.4-11
    // rfc9260:8.4-12
    pub(super) fn out_of_the_blue(&mut self, meta: &Meta, packet: &Packet<'_>) {
        self.stats.out_of_the_blue += 1;
        // A tag of 0 is that of an INIT, which is not answered here (8.5.1 A).
        if packet.header().verification_tag == 0 || packet.chunks().next().is_none() {
            return;
        }
        match rule_of(packet) {
            OutOfTheBlue::Silence => {}
            OutOfTheBlue::ShutdownComplete => self.answer_shutdown_ack(meta, packet),
            // Rule 8: "the receiver SHOULD respond to the sender of the OOTB packet with an ABORT chunk", the tag
            // reflected and the T bit set.
            OutOfTheBlue::Abort => {
                let tag = packet.header().verification_tag;
                self.reply(meta, tag, packet, |out| causes::write_abort(out, true, &[]));
            }
        }
    }

    /// Rule 3, where no association is accepted at the port: "the Verification Tag of the packet containing the ABORT chunk MUST be
    /// the Initiate Tag of the received INIT chunk", so that the caller need not wait for its timers.
    // rfc9260:8.4-4
    pub(super) fn refuse_init(&mut self, meta: &Meta, packet: &Packet<'_>) {
        self.stats.out_of_the_blue += 1;
        let mut chunks = packet.chunks();
        let Some(Ok(Ok(Chunk::Init(init)))) = chunks.next().map(|raw| raw.map(Chunk::parse)) else { return };
        let alone = chunks.next().is_none();
        if alone && packet.header().verification_tag == 0 && init.initiate_tag != 0 {
            self.reply(meta, init.initiate_tag, packet, |out| causes::write_abort(out, false, &[]));
        }
    }

    /// Rule 5: SHUTDOWN COMPLETE with the tag of the packet and the T bit set.
    // rfc9260:3.1-5 rfc9260:8.4-6 rfc9260:8.4-7 rfc9260:8.5.1-9 rfc9260:9.2-23
    pub(super) fn answer_shutdown_ack(&mut self, meta: &Meta, packet: &Packet<'_>) {
        let tag = packet.header().verification_tag;
        self.reply(meta, tag, packet, |out| ShutdownComplete { reflected_tag: true }.emit(out));
    }

    /// ABORT with the INIT's own tag, which can harm no other association.
    // rfc9260:5.2.1-8 rfc9260:5.2.1-9 rfc9260:5.2.2-3 rfc9260:5.2.2-4
    pub(super) fn refuse_addresses(
        &mut self,
        meta: &Meta,
        packet: &Packet<'_>,
        peer: &PeerInit,
        added: &[IpAddr],
    ) {
        self.reply(meta, peer.tag, packet, |out| {
            causes::write_abort(out, false, &causes::restart_with_new_addresses(added));
        });
    }

    /// A cookie that a change since it was made has outlived is as good as stale: a peer that waits for a COOKIE ACK
    /// asks again, any other "silently" discards the ERROR (5.2.6). A measure of staleness of zero gives no duration
    /// (3.3.10.3).
    pub(super) fn answer_outlived(
        &mut self,
        meta: &Meta,
        packet: &Packet<'_>,
        cookie: &Cookie,
        shown: SocketAddr,
    ) {
        self.stats.stale_cookies += 1;
        self.answer_cookie(meta, packet, cookie, shown, |out| {
            causes::write_error(out, &causes::stale_cookie_cause(0));
        });
    }

    /// An answer that belongs to no association: "responds to an 'Out of the Blue' (OOTB) SCTP packet, it MUST include a correct
    /// CRC32c checksum" (RFC 9653, 5.2).
    // rfc9653:5.2-3
    pub(super) fn reply(
        &mut self,
        meta: &Meta,
        tag: u32,
        packet: &Packet<'_>,
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        self.reply_with(ChecksumOut::Compute, meta, tag, packet, write);
    }

    pub(super) fn reply_with(
        &mut self,
        checksum: ChecksumOut,
        meta: &Meta,
        tag: u32,
        packet: &Packet<'_>,
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        let header = packet.header();
        let mut bytes = Vec::with_capacity(64);
        let mut builder = PacketBuilder::new(
            &mut bytes,
            CommonHeader {
                source_port: header.destination_port,
                destination_port: header.source_port,
                verification_tag: tag,
            },
        );
        write(builder.buffer());
        builder.finish(match self.checksums {
            Checksums::Crc32c => checksum,
            Checksums::Elided => ChecksumOut::Zero,
        });
        if self.queue(meta, bytes) {
            self.stats.stateless_replies += 1;
        } else {
            self.stats.replies_dropped += 1;
        }
    }

    /// Answers a cookie that makes no association. The answer goes to where the INIT ACK went: the source may be any
    /// address that the INIT listed (5.4).
    pub(super) fn answer_cookie(
        &mut self,
        meta: &Meta,
        packet: &Packet<'_>,
        cookie: &Cookie,
        shown: SocketAddr,
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        let at = if shown.ip() == meta.source.ip() { meta.source } else { shown };
        self.reply(&Meta { source: at, ..*meta }, cookie.peer_tag, packet, write);
    }
}

/// The answer that 8.4 has for a packet that belongs to no association.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OutOfTheBlue {
    Silence,
    ShutdownComplete,
    Abort,
}

/// The rule of 8.4 that counts for a packet: that of the first chunk that has one.
pub(super) fn rule_of(packet: &Packet<'_>) -> OutOfTheBlue {
    for raw in packet.chunks() {
        let Ok(Ok(chunk)) = raw.map(Chunk::parse) else { return OutOfTheBlue::Silence };
        match chunk {
            Chunk::ShutdownAck(_) => return OutOfTheBlue::ShutdownComplete,
            // Rules 2, 6 and 7: never answered.
            Chunk::Abort(_) | Chunk::ShutdownComplete(_) | Chunk::CookieAck(_) => {
                return OutOfTheBlue::Silence;
            }
            Chunk::Error(error) if causes::names_stale_cookie(error.causes) => return OutOfTheBlue::Silence,
            // An INIT that is not the first chunk must not be answered with its packet's tag.
            Chunk::Init(_) => return OutOfTheBlue::Silence,
            _ => {}
        }
    }
    OutOfTheBlue::Abort
}

#[cfg(test)]
mod tests {
    use anabranch_wire::Checksum;

    use super::*;

    /// A packet of two ports, with one chunk.
    fn packet(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut bytes = Vec::new();
        let header = CommonHeader { source_port: 7, destination_port: 9, verification_tag: 3 };
        let mut builder = PacketBuilder::new(&mut bytes, header);
        write(builder.buffer());
        builder.finish(ChecksumOut::Compute);
        bytes
    }

    fn meta() -> Meta {
        let (source, destination) = (([192, 0, 2, 1], 0).into(), ([192, 0, 2, 2], 0).into());
        Meta { source, destination, ecn: Ecn::NotEct, dscp: Dscp::DEFAULT }
    }

    #[test]
    fn answers_go_back_and_no_more_than_so_many_wait() {
        let bytes = packet(|out| causes::write_abort(out, false, &[]));
        let question = Packet::parse(&bytes, Checksum::Verify).expect("a packet");
        let mut stateless = Stateless::new(Checksums::Crc32c);
        for _ in 0..=MAX_WAITING {
            stateless.answer_shutdown_ack(&meta(), &question);
        }
        let stats = stateless.stats();
        assert_eq!((stats.stateless_replies, stats.replies_dropped), (MAX_WAITING as u64, 1));
        let mut out = Vec::new();
        let transmit = stateless.pop(&mut out).expect("an answer");
        assert_eq!((transmit.destination, transmit.source), (meta().source, Some(meta().destination)));
        let answer = Packet::parse(&out, Checksum::Verify).expect("a packet");
        let header = answer.header();
        assert_eq!((header.source_port, header.destination_port, header.verification_tag), (9, 7, 3));
    }

    #[test]
    fn an_abort_out_of_the_blue_is_never_answered() {
        let abort = packet(|out| causes::write_abort(out, false, &[]));
        let shutdown_ack = packet(|out| out.extend_from_slice(&[8, 0, 0, 4]));
        let mut stateless = Stateless::new(Checksums::Crc32c);
        for bytes in [&abort, &shutdown_ack] {
            stateless.out_of_the_blue(&meta(), &Packet::parse(bytes, Checksum::Verify).expect("a packet"));
        }
        assert_eq!((stateless.stats().out_of_the_blue, stateless.stats().stateless_replies), (2, 1));
    }
}
