//! INIT: it is answered without keeping state, or refused (RFC 9260, 5.1, 5.2).

use std::net::IpAddr;

use anabranch_base::Meta;
use anabranch_wire::chunk::Chunk;
use anabranch_wire::sf::CodePoints;
use anabranch_wire::{ChecksumOut, Tsn};

use super::admission::{Admission, Asking};
use crate::association::Association;
use crate::association::init::{OurInit, PeerInit};
use crate::causes;
use crate::config::Config;
use crate::cookie::Cookie;
use crate::negotiation::offer::Offer;
use crate::state::State;

impl Admission {
    /// An INIT. The association that was touched because of it, if any.
    // rfc9260:3-1 rfc9260:3.3.2-4 rfc9260:3.3.2-7 rfc9260:5.1.2-3 rfc9260:5.1.2-6 rfc9260:5.1-17
    // rfc9260:5.2.2-10 rfc9260:8.4-3 rfc9260:8.4-4 rfc9260:12.3-2
    pub(super) fn on_init(&mut self, asks: &mut Asking<'_, '_>) -> Option<u32> {
        let (meta, packet) = (asks.meta, asks.packet);
        // "INIT, INIT ACK, and SHUTDOWN COMPLETE chunks ... MUST NOT be bundled with any other chunk" (6.10), and
        // the packet's tag must be 0 (8.5.1 A).
        let mut chunks = packet.chunks();
        let Some(Ok(raw)) = chunks.next() else { return None };
        if chunks.next().is_some() || packet.header().verification_tag != 0 {
            asks.stateless.count().malformed += 1;
            return None;
        }
        let Ok(Chunk::Init(init)) = Chunk::parse(raw) else {
            asks.stateless.count().malformed += 1;
            return None;
        };
        let header = packet.header();
        let ports = (header.source_port, header.destination_port);
        let codes = codes_for(asks, meta.source.ip(), ports);
        let Some(peer) = PeerInit::read(&init, &codes) else {
            asks.stateless.count().malformed += 1;
            if init.initiate_tag != 0 {
                // "invalid parameter values ... it SHOULD respond with an ABORT chunk. It SHOULD also specify the cause" (5.1),
                // with the INIT's own tag.
                let cause = causes::protocol_violation("a malformed parameter");
                asks.stateless
                    .reply(meta, init.initiate_tag, packet, |out| causes::write_abort(out, false, &cause));
            }
            return None;
        };
        // "If the value of the Initiate Tag in a received INIT chunk is found to be 0, the receiver MUST silently
        // discard the packet" (3.3.2).
        if peer.tag == 0 {
            asks.stateless.count().malformed += 1;
            return None;
        }
        if let Err(cause) = peer.check(false) {
            // The tag of the ABORT is the INIT's own: it can harm no other association.
            asks.stateless.reply(meta, peer.tag, packet, |out| causes::write_abort(out, false, &cause));
            return None;
        }
        let source = meta.source.ip();
        // "treated as belonging to an already established association (or one in the process of being established) if the
        // use of any of the valid address parameters contained within the chunk would identify an existing TCB" (5.1.2 D).
        let existing = std::iter::once(source)
            .chain(peer.addresses.iter().copied())
            .find_map(|address| asks.registry.by_peer(address, ports));
        match existing {
            Some(index) if asks.registry.at(index).is_some_and(|a| a.is_at(meta.source)) => {
                return self.on_unexpected_init(asks, index, meta, &peer);
            }
            Some(index) => return self.on_init_of_a_stranger(asks, index, peer),
            // "decides not to establish the new association due to ... lack of local resources, it MUST respond with an ABORT
            // chunk" (5.1): a cookie that would be refused is not worth asking for.
            None if asks.listening.at(ports.1).is_some() && !self.has_room(asks, source, ports) => {
                asks.stateless.count().out_of_the_blue += 1;
                asks.stateless.count().refused += 1;
                let cause = causes::out_of_resource();
                asks.stateless.reply(meta, peer.tag, packet, |out| causes::write_abort(out, false, &cause));
            }
            None => match asks.listening.at(ports.1).cloned() {
                Some(config) => {
                    let identity = asks.identities.fresh();
                    self.answer_init(asks, meta, &peer, &config, identity, (0, 0));
                }
                None => {
                    asks.stateless.count().out_of_the_blue += 1;
                    asks.stateless.reply(meta, peer.tag, packet, |out| causes::write_abort(out, false, &[]));
                }
            },
        }
        None
    }

    /// An INIT that lists the address of a peer of ours but does not come from it, or from another UDP port of it:
    /// behind a NAT, that may be another host with the same address (draft-ietf-tsvwg-rfc6951-bis). Any host can write
    /// that, so it touches no association, and its sender is not told our tag.
    // rfc9260:5.2.1-3 rfc9260:5.2.1-4
    fn on_init_of_a_stranger(
        &mut self,
        asks: &mut Asking<'_, '_>,
        index: u32,
        mut peer: PeerInit,
    ) -> Option<u32> {
        let (now, meta, packet) = (asks.now, asks.meta, asks.packet);
        let assoc = asks.registry.at(index)?;
        let source = meta.source.ip();
        let state = assoc.state();
        match (state, assoc.remote()) {
            // "The packet containing the INIT ACK chunk MUST only be sent to an address passed by the upper layer in the
            // request to initialize the association", and "reported in the incoming INIT chunk" (5.2.1). A peer that asks
            // from another of its addresses gets it there; no other host does. An address that the association in its handshake does
            // not have is none of the peer's, and an ABORT could only harm a peer that is about to answer us.
            (State::CookieWait | State::CookieEchoed, Some(passed))
                if state == State::CookieWait
                    || peer.addresses.iter().chain([&source]).all(|a| assoc.knows_address(*a)) =>
            {
                peer.addresses.retain(|address| *address != source);
                peer.addresses.insert(0, source);
                return self.on_unexpected_init(asks, index, &Meta { source: passed, ..*meta }, &peer);
            }
            // Our SHUTDOWN ACK is sent again anyway, and makes room for the peer's new association (9.2).
            (State::CookieWait | State::CookieEchoed | State::ShutdownAckSent, _) => {
                asks.stateless.count().out_of_the_blue += 1;
            }
            // A copy of the INIT with which this very association began, or tried to, from where the NAT had its sender then. An ABORT with
            // its tag would end it at the peer.
            _ if assoc.tags().1 == peer.tag => asks.stateless.count().out_of_the_blue += 1,
            // A copy of the INIT with which its peer restarts just now.
            _ if self.has_answered(now, peer.tag) => asks.stateless.count().out_of_the_blue += 1,
            // "If new addresses are added to the association, the endpoint MUST respond with an ABORT chunk" (5.2.2).
            _ => {
                let added = assoc.added_addresses(source, &peer.addresses);
                match assoc.port_of(source).filter(|_| added.is_empty()) {
                    // "Restart of an Association with New Encapsulation Port": the one that exists lives on.
                    Some(current) => {
                        let cause = causes::restart_with_new_port(current, meta.source.port());
                        asks.stateless
                            .reply(meta, peer.tag, packet, |out| causes::write_abort(out, false, &cause));
                    }
                    None => asks.stateless.refuse_addresses(meta, packet, &peer, &added),
                }
            }
        }
        None
    }

    /// 5.2.1, 5.2.2 and 9.2: an INIT from a confirmed address of the peer of an association. The association does not change.
    // rfc9260:5.2.1-1 rfc9260:5.2.1-6 rfc9260:5.2.1-7 rfc9260:5.2.1-11 rfc9260:5.2.1-12 rfc9260:5.2.2-1
    // rfc9260:5.2.2-5 rfc9260:5.2.2-9
    fn on_unexpected_init(
        &mut self,
        asks: &mut Asking<'_, '_>,
        index: u32,
        meta: &Meta,
        peer: &PeerInit,
    ) -> Option<u32> {
        let assoc = asks.registry.at_mut(index)?;
        let config = assoc.announced();
        let (local_tag, peer_tag) = assoc.tags();
        match assoc.state() {
            State::ShutdownAckSent => {
                // "it SHOULD discard the INIT chunk and retransmit the SHUTDOWN ACK chunk" (9.2).
                assoc.repeat_shutdown_ack(None);
                return Some(index);
            }
            State::CookieWait => {
                let identity = (local_tag, assoc.initial_tsn());
                self.answer_init(asks, meta, peer, &config, identity, (0, 0));
            }
            state => {
                let added = assoc.added_addresses(meta.source.ip(), &peer.addresses);
                if !added.is_empty() {
                    asks.stateless.refuse_addresses(meta, asks.packet, peer, &added);
                    return None;
                }
                let identity = if state == State::CookieEchoed {
                    // "using the same parameters it sent in its original INIT chunk (including its Initiate Tag)".
                    (local_tag, assoc.initial_tsn())
                } else {
                    asks.identities.fresh()
                };
                let ties = self.tie_tags((local_tag, peer_tag));
                if meta.source.port() != 0 {
                    self.note_answered(asks.now, peer.tag);
                }
                self.answer_init(asks, meta, peer, &config, identity, ties);
            }
        }
        None
    }

    /// INIT ACK with a State Cookie; no state is kept (5.1 B).
    // rfc9260:3.3.3-11 rfc9260:5.1.1-1 rfc9260:5.1.2-1 rfc9260:5.1.2-4 rfc9260:5.1-4 rfc9260:5.1-5
    // rfc9260:5.1-6 rfc9260:5.2.1-10 rfc9260:5.2.2-6 rfc9260:5.2.2-8
    fn answer_init(
        &mut self,
        asks: &mut Asking<'_, '_>,
        meta: &Meta,
        peer: &PeerInit,
        config: &Config,
        (tag, tsn): (u32, Tsn),
        (local_tie, peer_tie): (u32, u32),
    ) {
        let (now, packet) = (asks.now, asks.packet);
        if !self.may_answer(now, asks.config.max_inits_per_second) {
            asks.stateless.count().inits_dropped += 1;
            return;
        }
        let mut addresses = vec![meta.source.ip()];
        for address in &peer.addresses {
            if !addresses.contains(address) {
                addresses.push(*address);
            }
        }
        let offer = Offer::of(config, asks.config.allow_private_encodings);
        let life = config.timers.valid_cookie_life
            + anabranch_base::Duration::from_millis(u64::from(peer.preservative));
        let cookie = Cookie {
            created: self.date_cookie(now, life),
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
        let life = asks.config.cookie_key_life;
        let sealed = self.seal(now, life, asks.identities.rng(), config, &cookie);
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
        asks.stateless.count().inits_answered += 1;
        // The INIT says already that its sender accepts zero checksums; nothing else is demanded of the answer to it
        // (RFC 9653, 5.2).
        let zero = cookie.extensions.sends_zero_checksum;
        let checksum = if zero { ChecksumOut::Zero } else { ChecksumOut::Compute };
        asks.stateless.reply_with(checksum, meta, peer.tag, packet, |out| {
            ours.write_init_ack(out, &sealed, &peer.unrecognized, &cookie.extensions);
        });
    }
}

/// The numbers of the extension SF for an INIT from that address: those of the association with it, or of the
/// configuration of `listen`.
fn codes_for(asks: &Asking<'_, '_>, address: IpAddr, ports: (u16, u16)) -> CodePoints {
    let existing = asks.registry.by_peer(address, ports).and_then(|index| asks.registry.at(index));
    existing
        .map(Association::config)
        .or(asks.listening.config())
        .map_or(CodePoints::DEFAULT, |c| c.subflows.codes)
}
