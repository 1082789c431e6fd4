//! A packet finds its association, or is answered without one.

use std::net::IpAddr;

use anabranch_base::{Instant, Meta, cold_path};
use anabranch_wire::chunk::{Chunk, kind};
use anabranch_wire::{Checksum, CommonHeader, Packet};

use super::Endpoint;
use super::stateless::{OutOfTheBlue, rule_of};
use crate::address::{is_group, is_unicast};
use crate::association::init::PeerInit;
use crate::association::{Association, End, Reply};
use crate::causes;
use crate::config::Checksums;
use crate::state::State;

impl Endpoint {
    /// Hands in a datagram: an SCTP packet without IP or UDP header. Packets sent to the broadcast address of a
    /// subnet must not be handed in (RFC 9260, 8.4): the endpoint does not know the subnets of its host.
    // rfc9260:3.1-1 rfc9260:6.8-4 rfc9260:8.4-1 rfc9260:8.4-5
    pub fn handle_datagram(&mut self, now: Instant, meta: Meta, bytes: &[u8]) {
        let meta = &meta;
        self.stateless.count().datagrams_received += 1;
        let checksum = match self.config.checksums {
            Checksums::Crc32c
                if self.listening.takes_zero_checksum() && self.may_lack_checksum(meta, bytes) =>
            {
                Checksum::Ignore
            }
            Checksums::Crc32c => Checksum::Verify,
            Checksums::Elided => Checksum::Ignore,
        };
        match Packet::parse(bytes, checksum) {
            Ok(packet) => self.accept_packet(now, meta, &packet),
            Err(error) => self.stateless.drop_bad(&error),
        }
    }

    /// True if a packet needs no CRC32c: its checksum is zero, it belongs to an association for which we have
    /// announced an alternate error detection method, and it is none of those that "MUST include a correct CRC32c
    /// checksum" (RFC 9653, 5.2, 5.3). "Otherwise, the endpoint MUST drop all SCTP packets with an incorrect CRC32c
    /// checksum."
    // rfc9653:5.3-1 rfc9653:5.3-2
    #[inline(never)]
    fn may_lack_checksum(&self, meta: &Meta, bytes: &[u8]) -> bool {
        let Some(packet) =
            Packet::parse(bytes, Checksum::Ignore).ok().filter(|packet| packet.checksum() == 0)
        else {
            return false;
        };
        if matches!(bytes.get(CommonHeader::LEN), None | Some(&(kind::INIT | kind::COOKIE_ECHO))) {
            return false;
        }
        let (header, address) = (packet.header(), meta.source.ip());
        if !self.listening.may_use(header.destination_port) {
            return false;
        }
        let (tag, ports) = (header.verification_tag, ports(header));
        let found = self.registry.by_tag(tag).into_iter();
        // Two associations may have the same tag.
        found.chain(self.registry.by_peer(address, ports)).any(|index| {
            self.registry.at(index).is_some_and(|a| {
                a.takes_zero_checksum() && (a.tags().0, a.ports()) == (tag, ports) && a.knows_address(address)
            })
        })
    }

    #[inline]
    fn accept_packet(&mut self, now: Instant, meta: &Meta, packet: &Packet<'_>) {
        let header = packet.header();
        // "to or from a non-unicast address" (8.4, 1); a driver may not know to which address of ours a packet came.
        let unicast = is_unicast(meta.source.ip()) && !is_group(meta.destination.ip());
        if !unicast {
            cold_path();
            self.stateless.count().malformed += 1;
            return;
        }
        if !self.listening.may_use(header.destination_port) {
            cold_path();
            match packet.bytes().get(CommonHeader::LEN) {
                Some(&kind::INIT) => self.stateless.refuse_init(meta, packet),
                _ => self.stateless.out_of_the_blue(meta, packet),
            }
            return;
        }
        match packet.bytes().get(CommonHeader::LEN) {
            Some(&kind::INIT) => {
                cold_path();
                self.on_init(now, meta, packet);
            }
            Some(&kind::COOKIE_ECHO) => {
                cold_path();
                self.on_cookie_echo(now, meta, packet);
            }
            Some(_) => self.dispatch(now, meta, packet),
            None => {
                cold_path();
                self.stateless.count().malformed += 1;
            }
        }
    }

    /// Everything but INIT and COOKIE ECHO: by verification tag (8.5).
    // rfc9260:8.5.1-2 rfc9260:8.5.1-3 rfc9260:8.5-2
    fn dispatch(&mut self, now: Instant, meta: &Meta, packet: &Packet<'_>) {
        let header = packet.header();
        let address = meta.source.ip();
        if let Some(index) = self.registry.by_tag_of_packet(header.verification_tag) {
            let ours = self.registry.at(index).is_some_and(|a| {
                a.ports() == ports(header)
                    && (a.knows_address(address) || is_init_ack_of_its_peer(a, address, packet))
            });
            if ours {
                self.deliver(now, index, meta, packet);
                return;
            }
        }
        self.dispatch_by_peer(now, meta, packet);
    }

    /// A packet with a tag that is none of an association with that peer.
    #[cold]
    fn dispatch_by_peer(&mut self, now: Instant, meta: &Meta, packet: &Packet<'_>) {
        let (header, address) = (packet.header(), meta.source.ip());
        // No association has that tag. "When an endpoint receives an SCTP packet with the Verification Tag set to 0, it SHOULD
        // verify that the packet contains only an INIT chunk. Otherwise, the receiver MUST silently discard the packet" (8.5.1 A).
        if header.verification_tag == 0 {
            self.stateless.count().bad_tag += 1;
            return;
        }
        match self.registry.by_peer(address, ports(header)) {
            Some(index) if self.registry.at(index).is_some_and(|a| a.tags().0 == header.verification_tag) => {
                self.deliver(now, index, meta, packet);
            }
            Some(index) => self.on_wrong_tag(now, index, meta, packet),
            None if self.admission.hears(meta, packet) => {}
            None => self.stateless.out_of_the_blue(meta, packet),
        }
    }

    #[inline]
    fn deliver(&mut self, now: Instant, index: u32, meta: &Meta, packet: &Packet<'_>) {
        let Some(assoc) = self.registry.at_mut(index) else { return };
        let outcome = assoc.handle_chunks(now, meta, packet.chunks(), packet.bytes().len());
        if outcome.malformed {
            cold_path();
            self.stateless.count().bad_chunks += 1;
        }
        if outcome.reply != Reply::None {
            self.answer_for(index, outcome.reply, meta, packet);
        }
        if outcome.confirmed {
            cold_path();
            self.registry.map(index);
        }
        self.settle(now, index);
    }

    /// Answers a packet that its association leaves to the endpoint.
    #[cold]
    fn answer_for(&mut self, index: u32, reply: Reply, meta: &Meta, packet: &Packet<'_>) {
        match reply {
            Reply::None => {}
            Reply::ShutdownComplete => self.stateless.answer_shutdown_ack(meta, packet),
            Reply::ReflectedAbort => {
                let tag = packet.header().verification_tag;
                let cause = causes::invalid_mandatory_parameter();
                self.stateless.reply(meta, tag, packet, |out| causes::write_abort(out, true, &cause));
            }
            Reply::SmallWindow { tag } => {
                self.stateless
                    .reply(meta, tag, packet, |out| causes::write_abort(out, false, &causes::small_window()));
            }
            // The association begins its handshake anew.
            Reply::NewTag => {
                let tag = self.identities.unused_tag(&self.registry);
                self.registry.remap(index, |assoc| assoc.renew_tag(tag));
            }
        }
    }

    /// The packet comes from the peer of an association, but its tag is not ours. 8.5.1 B, C and E name the cases
    /// that count all the same; anything else is silently discarded.
    // rfc9260:8.5.1-6 rfc9260:8.5.1-7 rfc9260:8.5.1-10 rfc9260:8.5.1-13 rfc9260:8.5-3
    fn on_wrong_tag(&mut self, now: Instant, index: u32, meta: &Meta, packet: &Packet<'_>) {
        let tag = packet.header().verification_tag;
        let first = packet.chunks().next().and_then(Result::ok).and_then(|raw| Chunk::parse(raw).ok());
        if let Some(assoc) = self.registry.at_mut(index) {
            // A tag of 0 is never right: in COOKIE-WAIT the peer's tag is not known.
            let reflected = tag != 0 && tag == assoc.tags().1 && assoc.state() != State::CookieWait;
            match first {
                Some(Chunk::Abort(abort)) if abort.reflected_tag && reflected => {
                    assoc.end(End::by_reflected_abort(assoc.state(), abort.causes));
                    self.settle(now, index);
                    return;
                }
                // It is never bundled (6.10).
                Some(Chunk::ShutdownComplete(complete))
                    if complete.reflected_tag && reflected && packet.chunks().nth(1).is_none() =>
                {
                    if let Some(end) = End::by_shutdown_complete(assoc.state()) {
                        assoc.end(end);
                    }
                    self.settle(now, index);
                    return;
                }
                // "If the receiver is in COOKIE-ECHOED or COOKIE-WAIT state, the procedures in Section 8.4 SHOULD be
                // followed" (8.5.1 E), wherever in the packet the chunk stands: an end that refuses the
                // cookie of a restart sends an ERROR, too.
                Some(_)
                    if matches!(assoc.state(), State::CookieWait | State::CookieEchoed)
                        && rule_of(packet) == OutOfTheBlue::ShutdownComplete =>
                {
                    self.stateless.answer_shutdown_ack(meta, packet);
                    return;
                }
                _ => {}
            }
        }
        self.stateless.count().bad_tag += 1;
    }
}

/// The peer's port and ours.
#[inline]
fn ports(header: CommonHeader) -> (u16, u16) {
    (header.source_port, header.destination_port)
}

/// INIT ACK from another address of the peer that we asked, which lists both: "An INIT or INIT ACK chunk MUST be treated as
/// belonging to an already established association (or one in the process of being established) if the use of any of the
/// valid address parameters contained within the chunk would identify an existing TCB" (5.1.2 D). It carries our tag, which
/// only the peer was told.
// rfc9260:5.1.2-6
fn is_init_ack_of_its_peer(assoc: &Association, source: IpAddr, packet: &Packet<'_>) -> bool {
    if assoc.state() != State::CookieWait {
        return false;
    }
    let first = packet.chunks().next().and_then(Result::ok).and_then(|raw| Chunk::parse(raw).ok());
    let Some(Chunk::InitAck(ack)) = first else { return false };
    PeerInit::read(&ack, &assoc.config().subflows.codes).is_some_and(|peer| {
        peer.addresses.contains(&source)
            && assoc.confirmed_addresses().any(|confirmed| peer.addresses.contains(&confirmed))
    })
}
