//! Answers that belong to no association.

use std::net::SocketAddr;

use anabranch_base::Meta;
use anabranch_wire::{ChecksumOut, CommonHeader, Packet, PacketBuilder};

use super::Endpoint;
use crate::config::Checksums;
use crate::cookie::Cookie;

impl Endpoint {
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
        builder.finish(match self.config.checksums {
            Checksums::Crc32c => checksum,
            Checksums::Elided => ChecksumOut::Zero,
        });
        if self.replies.push(meta, bytes) {
            self.stats.stateless_replies += 1;
        } else {
            self.stats.replies_dropped += 1;
        }
    }

    /// What a cookie that makes no association is answered with. It goes to where the INIT ACK went: the source may be anybody
    /// whom the INIT listed (5.4).
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
