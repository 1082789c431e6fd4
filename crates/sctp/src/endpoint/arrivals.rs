//! Which association a packet belongs to, and what to do when it belongs to none.

use std::net::IpAddr;
use std::sync::Arc;

use anabranch_base::{Instant, Meta, rare};
use anabranch_wire::chunk::{Chunk, ShutdownComplete, kind};
use anabranch_wire::sf::CodePoints;
use anabranch_wire::{Checksum, ChecksumOut, CommonHeader, Packet, PacketError, Tsn};

use super::Endpoint;
use super::cookie_keys::patience;
use crate::address::{is_group, is_unicast};
use crate::association::init::{OurInit, PeerInit};
use crate::association::{Association, Reply};
use crate::causes;
use crate::config::{Checksums, Config};
use crate::cookie::Cookie;
use crate::negotiation::offer::Offer;
use crate::state::State;

impl Endpoint {
    /// Hands in a datagram: an SCTP packet without IP or UDP header. What came to the broadcast address of a subnet must not be
    /// handed in (RFC 9260, 8.4): the endpoint does not know the subnets of its host.
    pub fn handle_datagram(&mut self, now: Instant, meta: Meta, bytes: &[u8]) {
        self.stats.datagrams_received += 1;
        self.accept_datagram(now, &meta, bytes);
    }

    // rfc9260:3.1-1 rfc9260:6.8-4 rfc9260:8.4-1 rfc9260:8.4-5
    fn accept_datagram(&mut self, now: Instant, meta: &Meta, bytes: &[u8]) {
        let checksum = match self.config.checksums {
            Checksums::Crc32c if self.takes_zero_checksum && self.may_lack_checksum(meta, bytes) => {
                Checksum::Ignore
            }
            Checksums::Crc32c => Checksum::Verify,
            Checksums::Elided => Checksum::Ignore,
        };
        match Packet::parse(bytes, checksum) {
            Ok(packet) => self.accept_packet(now, meta, &packet),
            Err(error) => self.drop_bad(&error),
        }
    }

    #[cold]
    fn drop_bad(&mut self, error: &PacketError) {
        match error {
            PacketError::BadChecksum { .. } => self.stats.bad_checksum += 1,
            _ => self.stats.malformed += 1,
        }
    }

    /// Whether a packet is one of those that need no CRC32c: its checksum is zero, it belongs to an association for which we have
    /// announced what finds its errors instead, and it is none of those that "MUST include a correct CRC32c checksum" (RFC 9653,
    /// 5.2, 5.3). "Otherwise, the endpoint MUST drop all SCTP packets with an incorrect CRC32c checksum."
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
        if !self.may_use(header.destination_port) {
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
            rare();
            self.stats.malformed += 1;
            return;
        }
        if !self.may_use(header.destination_port) {
            rare();
            match packet.bytes().get(CommonHeader::LEN) {
                Some(&kind::INIT) => self.refuse_init(meta, packet),
                _ => self.out_of_the_blue(meta, packet),
            }
            return;
        }
        match packet.bytes().get(CommonHeader::LEN) {
            Some(&kind::INIT) => {
                rare();
                self.on_init(now, meta, packet);
            }
            Some(&kind::COOKIE_ECHO) => {
                rare();
                self.on_cookie_echo(now, meta, packet);
            }
            Some(_) => self.dispatch(now, meta, packet),
            None => {
                rare();
                self.stats.malformed += 1;
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
            self.stats.bad_tag += 1;
            return;
        }
        match self.registry.by_peer(address, ports(header)) {
            Some(index) if self.registry.at(index).is_some_and(|a| a.tags().0 == header.verification_tag) => {
                self.deliver(now, index, meta, packet);
            }
            Some(index) => self.on_wrong_tag(now, index, meta, packet),
            None if self.is_from_who_waits(meta, packet) => {}
            None => self.out_of_the_blue(meta, packet),
        }
    }

    /// Whether a packet is from somebody who waits for our user: it may give up, and has nothing else to say that would be answered.
    fn is_from_who_waits(&mut self, meta: &Meta, packet: &Packet<'_>) -> bool {
        let Some(waiting) = &mut self.incoming else { return false };
        let mut chunks = packet.chunks().filter_map(|raw| Chunk::parse(raw.ok()?).ok());
        let aborts = chunks.find_map(|chunk| match chunk {
            Chunk::Abort(abort) => Some(abort.reflected_tag),
            _ => None,
        });
        let header = packet.header();
        waiting.hears((meta.source.ip(), ports(header)), header.verification_tag, aborts)
    }

    #[inline]
    fn deliver(&mut self, now: Instant, index: u32, meta: &Meta, packet: &Packet<'_>) {
        let Some(assoc) = self.registry.at_mut(index) else { return };
        let outcome = assoc.handle_chunks(now, meta, packet.chunks(), packet.bytes().len());
        if outcome.malformed {
            rare();
            self.stats.bad_chunks += 1;
        }
        if outcome.reply != Reply::None {
            self.answer_for(index, outcome.reply, meta, packet);
        }
        if outcome.confirmed {
            rare();
            self.registry.map(index);
        }
        self.settle(now, index);
    }

    /// Answers a packet that is no business of its association.
    #[cold]
    fn answer_for(&mut self, index: u32, reply: Reply, meta: &Meta, packet: &Packet<'_>) {
        match reply {
            Reply::None => {}
            Reply::ShutdownComplete => self.answer_shutdown_ack(meta, packet),
            Reply::ReflectedAbort => {
                let tag = packet.header().verification_tag;
                let cause = causes::invalid_mandatory_parameter();
                self.reply(meta, tag, packet, |out| causes::write_abort(out, true, &cause));
            }
            Reply::SmallWindow { tag } => {
                self.reply(meta, tag, packet, |out| causes::write_abort(out, false, &causes::small_window()));
            }
            Reply::NewTag => self.renew_tag(index),
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
                    assoc.on_abort(abort.causes);
                    self.settle(now, index);
                    return;
                }
                // It is never bundled (6.10).
                Some(Chunk::ShutdownComplete(complete))
                    if complete.reflected_tag && reflected && packet.chunks().nth(1).is_none() =>
                {
                    assoc.on_shutdown_complete();
                    self.settle(now, index);
                    return;
                }
                // "If the receiver is in COOKIE-ECHOED or COOKIE-WAIT state, the procedures in Section 8.4 SHOULD be
                // followed" (8.5.1 E): wherever the chunk stands. Who refuses the cookie of a restart sends an ERROR, too.
                Some(_)
                    if matches!(assoc.state(), State::CookieWait | State::CookieEchoed)
                        && rule_of(packet) == OutOfTheBlue::ShutdownComplete =>
                {
                    self.answer_shutdown_ack(meta, packet);
                    return;
                }
                _ => {}
            }
        }
        self.stats.bad_tag += 1;
    }

    /// 8.4: packets that belong to no association.
    // rfc9260:3.3.7-3 rfc9260:3.3.7-5 rfc9260:8.4-2 rfc9260:8.4-8 rfc9260:8.4-9 rfc9260:8.4-10 rfc9260:8.4-11
    // rfc9260:8.4-12
    fn out_of_the_blue(&mut self, meta: &Meta, packet: &Packet<'_>) {
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

    /// Rule 3, where nobody is at the port: "the Verification Tag of the packet containing the ABORT chunk MUST be the Initiate Tag of
    /// the received INIT chunk", so that who asks need not wait for its timers.
    // rfc9260:8.4-4
    fn refuse_init(&mut self, meta: &Meta, packet: &Packet<'_>) {
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
    fn answer_shutdown_ack(&mut self, meta: &Meta, packet: &Packet<'_>) {
        let tag = packet.header().verification_tag;
        self.reply(meta, tag, packet, |out| ShutdownComplete { reflected_tag: true }.emit(out));
    }

    // rfc9260:3-1 rfc9260:3.3.2-4 rfc9260:3.3.2-7 rfc9260:5.1.2-3 rfc9260:5.1.2-6 rfc9260:5.1-17
    // rfc9260:5.2.2-10 rfc9260:8.4-3 rfc9260:8.4-4 rfc9260:12.3-2
    fn on_init(&mut self, now: Instant, meta: &Meta, packet: &Packet<'_>) {
        // "INIT, INIT ACK, and SHUTDOWN COMPLETE chunks ... MUST NOT be bundled with any other chunk" (6.10), and
        // the packet's tag must be 0 (8.5.1 A).
        let mut chunks = packet.chunks();
        let Some(Ok(raw)) = chunks.next() else { return };
        if chunks.next().is_some() || packet.header().verification_tag != 0 {
            self.stats.malformed += 1;
            return;
        }
        let Ok(Chunk::Init(init)) = Chunk::parse(raw) else {
            self.stats.malformed += 1;
            return;
        };
        let ports = ports(packet.header());
        let codes = self.codes_for(meta.source.ip(), ports);
        let Some(peer) = PeerInit::read(&init, &codes) else {
            self.stats.malformed += 1;
            if init.initiate_tag != 0 {
                // "invalid parameter values ... it SHOULD respond with an ABORT chunk. It SHOULD also specify the cause" (5.1),
                // with the INIT's own tag.
                let cause = causes::protocol_violation("a malformed parameter");
                self.reply(meta, init.initiate_tag, packet, |out| causes::write_abort(out, false, &cause));
            }
            return;
        };
        // "If the value of the Initiate Tag in a received INIT chunk is found to be 0, the receiver MUST silently
        // discard the packet" (3.3.2).
        if peer.tag == 0 {
            self.stats.malformed += 1;
            return;
        }
        if let Err(cause) = peer.check(false) {
            // The tag of the ABORT is the INIT's own: it can harm nobody else.
            self.reply(meta, peer.tag, packet, |out| causes::write_abort(out, false, &cause));
            return;
        }
        let source = meta.source.ip();
        // "treated as belonging to an already established association (or one in the process of being established) if the
        // use of any of the valid address parameters contained within the chunk would identify an existing TCB" (5.1.2 D).
        let existing = std::iter::once(source)
            .chain(peer.addresses.iter().copied())
            .find_map(|address| self.registry.by_peer(address, ports));
        match existing {
            Some(index) if self.registry.at(index).is_some_and(|a| a.is_at(meta.source)) => {
                self.on_unexpected_init(now, index, meta, packet, &peer);
            }
            Some(index) => self.on_init_of_a_stranger(now, index, meta, packet, peer),
            // "decides not to establish the new association due to ... lack of local resources, it MUST respond with an ABORT
            // chunk" (5.1): a cookie that would be refused is not worth asking for.
            None if self.listening_at(ports.1).is_some() && !self.has_room(source, ports) => {
                self.stats.out_of_the_blue += 1;
                self.stats.refused += 1;
                let cause = causes::out_of_resource();
                self.reply(meta, peer.tag, packet, |out| causes::write_abort(out, false, &cause));
            }
            None => match self.listening_at(ports.1).cloned() {
                Some(config) => {
                    let identity = self.fresh_identity();
                    self.answer_init(now, meta, packet, &peer, &config, identity, (0, 0));
                }
                None => {
                    self.stats.out_of_the_blue += 1;
                    self.reply(meta, peer.tag, packet, |out| causes::write_abort(out, false, &[]));
                }
            },
        }
    }

    /// An INIT that lists the address of a peer of ours but does not come from it, or from another UDP port of it: behind a NAT,
    /// that may be another host with the same address (draft-ietf-tsvwg-rfc6951-bis). Anybody can write that, so it touches no
    /// association, and whoever sent it is not told our tag.
    // rfc9260:5.2.1-3 rfc9260:5.2.1-4
    fn on_init_of_a_stranger(
        &mut self,
        now: Instant,
        index: u32,
        meta: &Meta,
        packet: &Packet<'_>,
        mut peer: PeerInit,
    ) {
        let Some(assoc) = self.registry.at(index) else { return };
        let source = meta.source.ip();
        let state = assoc.state();
        match (state, assoc.remote()) {
            // "The packet containing the INIT ACK chunk MUST only be sent to an address passed by the upper layer in the
            // request to initialize the association", and "reported in the incoming INIT chunk" (5.2.1). A peer that asks
            // from another of its addresses gets it there; nobody else does. An address that the association in its handshake does
            // not have is none of the peer's, and an ABORT could only harm a peer who is about to answer us.
            (State::CookieWait | State::CookieEchoed, Some(passed))
                if state == State::CookieWait
                    || peer.addresses.iter().chain([&source]).all(|a| assoc.knows_address(*a)) =>
            {
                peer.addresses.retain(|address| *address != source);
                peer.addresses.insert(0, source);
                self.on_unexpected_init(now, index, &Meta { source: passed, ..*meta }, packet, &peer);
            }
            // Our SHUTDOWN ACK is sent again anyway, and makes room for what the peer may want now (9.2).
            (State::CookieWait | State::CookieEchoed | State::ShutdownAckSent, _) => {
                self.stats.out_of_the_blue += 1;
            }
            // A copy of the INIT with which this very association began, or tried to, from where the NAT had its sender then. An ABORT with
            // its tag would end it at the peer.
            _ if assoc.tags().1 == peer.tag => self.stats.out_of_the_blue += 1,
            // A copy of the INIT with which its peer restarts just now.
            _ if self.answered_inits.has(now, peer.tag) => self.stats.out_of_the_blue += 1,
            // "If new addresses are added to the association, the endpoint MUST respond with an ABORT chunk" (5.2.2).
            _ => {
                let added = assoc.added_addresses(source, &peer.addresses);
                match assoc.port_of(source).filter(|_| added.is_empty()) {
                    // "Restart of an Association with New Encapsulation Port": the one that exists lives on.
                    Some(current) => {
                        let cause = causes::restart_with_new_port(current, meta.source.port());
                        self.reply(meta, peer.tag, packet, |out| causes::write_abort(out, false, &cause));
                    }
                    None => self.refuse_addresses(meta, packet, &peer, &added),
                }
            }
        }
    }

    /// ABORT with the INIT's own tag, which can harm nobody else.
    // rfc9260:5.2.1-8 rfc9260:5.2.1-9 rfc9260:5.2.2-3 rfc9260:5.2.2-4
    fn refuse_addresses(&mut self, meta: &Meta, packet: &Packet<'_>, peer: &PeerInit, added: &[IpAddr]) {
        self.reply(meta, peer.tag, packet, |out| {
            causes::write_abort(out, false, &causes::restart_with_new_addresses(added));
        });
    }

    /// The numbers of the extension SF for an INIT from that address: those of the association with it, or of whoever
    /// listens.
    fn codes_for(&self, address: IpAddr, ports: (u16, u16)) -> CodePoints {
        let existing = self.registry.by_peer(address, ports).and_then(|index| self.registry.at(index));
        existing
            .map(Association::config)
            .or(self.listening.as_ref())
            .map_or(CodePoints::DEFAULT, |c| c.subflows.codes)
    }

    /// 5.2.1, 5.2.2 and 9.2: an INIT from a confirmed address of the peer of an association. The association does not change.
    // rfc9260:5.2.1-1 rfc9260:5.2.1-6 rfc9260:5.2.1-7 rfc9260:5.2.1-11 rfc9260:5.2.1-12 rfc9260:5.2.2-1
    // rfc9260:5.2.2-5 rfc9260:5.2.2-9
    fn on_unexpected_init(
        &mut self,
        now: Instant,
        index: u32,
        meta: &Meta,
        packet: &Packet<'_>,
        peer: &PeerInit,
    ) {
        let Some(assoc) = self.registry.at_mut(index) else { return };
        let config = Arc::clone(assoc.config());
        let (local_tag, peer_tag) = assoc.tags();
        match assoc.state() {
            State::ShutdownAckSent => {
                // "it SHOULD discard the INIT chunk and retransmit the SHUTDOWN ACK chunk" (9.2).
                assoc.resend_shutdown_ack();
                self.settle(now, index);
            }
            State::CookieWait => {
                let identity = (local_tag, assoc.initial_tsn());
                self.answer_init(now, meta, packet, peer, &config, identity, (0, 0));
            }
            state => {
                let added = assoc.added_addresses(meta.source.ip(), &peer.addresses);
                if !added.is_empty() {
                    self.refuse_addresses(meta, packet, peer, &added);
                    return;
                }
                let identity = if state == State::CookieEchoed {
                    // "using the same parameters it sent in its original INIT chunk (including its Initiate Tag)".
                    (local_tag, assoc.initial_tsn())
                } else {
                    self.fresh_identity()
                };
                let ties = self.ties.tie_tags((local_tag, peer_tag));
                if meta.source.port() != 0 {
                    self.answered_inits.note(now, peer.tag);
                }
                self.answer_init(now, meta, packet, peer, &config, identity, ties);
            }
        }
    }

    /// INIT ACK with a State Cookie; no state is kept (5.1 B).
    // rfc9260:3.3.3-11 rfc9260:5.1.1-1 rfc9260:5.1.2-1 rfc9260:5.1.2-4 rfc9260:5.1-4 rfc9260:5.1-5
    // rfc9260:5.1-6 rfc9260:5.2.1-10 rfc9260:5.2.2-6 rfc9260:5.2.2-8
    #[allow(clippy::too_many_arguments, reason = "an INIT ACK is made of just these")]
    fn answer_init(
        &mut self,
        now: Instant,
        meta: &Meta,
        packet: &Packet<'_>,
        peer: &PeerInit,
        config: &Config,
        (tag, tsn): (u32, Tsn),
        (local_tie, peer_tie): (u32, u32),
    ) {
        if !self.init_allowance.take(now, self.config.max_inits_per_second) {
            self.stats.inits_dropped += 1;
            return;
        }
        let mut addresses = vec![meta.source.ip()];
        for address in &peer.addresses {
            if !addresses.contains(address) {
                addresses.push(*address);
            }
        }
        let offer = Offer::of(config, self.config.allow_private_encodings);
        let life = config.timers.valid_cookie_life
            + anabranch_base::Duration::from_millis(u64::from(peer.preservative));
        let cookie = Cookie {
            created: self.spent.get_or_insert_default().made(now, life),
            life,
            local_tag: tag,
            peer_tag: peer.tag,
            local_tie,
            peer_tie,
            local_initial_tsn: tsn,
            peer_initial_tsn: peer.initial_tsn,
            peer_rwnd: peer.a_rwnd,
            outbound_streams: config.streams.outbound.min(peer.inbound_streams),
            inbound_streams: config.streams.inbound.min(peer.outbound_streams),
            local_port: packet.header().destination_port,
            peer_port: packet.header().source_port,
            addresses,
            udp_port: meta.source.port(),
            extensions: offer.agree(&peer.offer),
        };
        let (life, size) = (self.config.cookie_key_life, config.emulation.cookie_size);
        let sealed = self.keys.seal(now, life, patience(config), &mut self.rng, &cookie, size);
        let ours = OurInit {
            tag,
            a_rwnd: config.limits.receive_window,
            outbound_streams: cookie.outbound_streams,
            inbound_streams: config.streams.inbound,
            initial_tsn: tsn,
            preservative: None,
            address_types: None,
            offer,
        };
        self.stats.inits_answered += 1;
        // The INIT says already what its sender accepts; of the answer to it nothing else is demanded (RFC 9653, 5.2).
        let zero = cookie.extensions.sends_zero_checksum;
        let checksum = if zero { ChecksumOut::Zero } else { ChecksumOut::Compute };
        self.reply_with(checksum, meta, peer.tag, packet, |out| {
            ours.write_init_ack(out, &sealed, &peer.unrecognized, &cookie.extensions);
        });
    }
}

/// What 8.4 has for a packet that belongs to no association.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OutOfTheBlue {
    Silence,
    ShutdownComplete,
    Abort,
}

/// Which rule of 8.4 it is: that of the first chunk that has one.
fn rule_of(packet: &Packet<'_>) -> OutOfTheBlue {
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
