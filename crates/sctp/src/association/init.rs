//! INIT and INIT ACK, read and written (RFC 9260, 3.3.2, 3.3.3, 5.1.2).

use std::net::IpAddr;

use anabranch_wire::Tsn;
use anabranch_wire::cause::{Cause, MissingParameters, UnresolvableAddress};
use anabranch_wire::chunk::init::{self, Init, InitKind};
use anabranch_wire::param::{
    CookiePreservative, Param, Params, RawParam, SfCap, StateCookie, SupportedAddressTypes, kind,
};
use anabranch_wire::sf::CodePoints;
use anabranch_wire::sf2007::{SUBFLOW_CAPABLE, SubflowCapable};

use crate::address::{MAX_PEER_ADDRESSES, is_unicast};
use crate::causes;
use crate::negotiation::agreement::Capability;
use crate::negotiation::offer::{Extensions, Offer, PeerOffer};

/// Smallest a_rwnd an INIT may have: "MUST NOT be less than 1500" (3.3.2).
const LEAST_RWND: u32 = 1500;
/// Padding parameter (RFC 4820, 4).
const PADDING: u16 = 0x8005;
/// Bytes of unrecognized parameters returned: the INIT ACK must fit a packet.
const MAX_UNRECOGNIZED: usize = 256;
/// Cookie life that a peer may ask for beyond ours, ms: "the receiver ... MAY choose to ignore the suggested cookie
/// life-span increase for its own security reasons" (3.3.2.1.3).
const MAX_PRESERVATIVE_MS: u32 = 30_000;

/// True if an a_rwnd is smaller than that of any INIT or INIT ACK may be (3.3.2, 3.3.3).
pub(crate) fn is_small_window(a_rwnd: u32) -> bool {
    a_rwnd < LEAST_RWND
}

/// The peer's INIT or INIT ACK, as far as it is understood.
#[derive(Clone, Debug, Default)]
pub(crate) struct PeerInit {
    pub(crate) tag: u32,
    pub(crate) a_rwnd: u32,
    pub(crate) outbound_streams: u16,
    pub(crate) inbound_streams: u16,
    pub(crate) initial_tsn: Tsn,
    pub(crate) addresses: Vec<IpAddr>,
    pub(crate) cookie: Option<Vec<u8>>,
    /// Parameters to report as unrecognized, encoded as received, one after the other.
    pub(crate) unrecognized: Vec<u8>,
    /// The first Host Name Address parameter, encoded.
    host_name: Option<Vec<u8>>,
    /// Cookie life asked for beyond ours, ms.
    pub(crate) preservative: u32,
    /// The extensions that it offers.
    pub(crate) offer: PeerOffer,
}

impl PeerInit {
    /// Reads the fixed part and the parameters; `None` when one is malformed.
    // rfc9260:3.3.2.1.5-1
    pub(crate) fn read(init: &Init<'_>, codes: &CodePoints) -> Option<Self> {
        let mut peer = Self {
            tag: init.initiate_tag,
            a_rwnd: init.a_rwnd,
            outbound_streams: init.outbound_streams,
            inbound_streams: init.inbound_streams,
            initial_tsn: init.initial_tsn,
            ..Self::default()
        };
        for raw in init.params {
            let raw = raw.ok()?;
            // Extensions that are not understood as they should be are unknown parameters like any other.
            if raw.kind == codes.capability {
                if let Ok(cap) = SfCap::parse(raw) {
                    peer.offer.capability.get_or_insert_with(|| Capability::read(&cap));
                }
                continue;
            }
            if raw.kind == SUBFLOW_CAPABLE {
                if let Ok(capable) = SubflowCapable::parse(raw) {
                    peer.offer.sf2007.get_or_insert(capable);
                }
            }
            let parsed = match raw.kind {
                kind::SF_CAP | kind::SF_ADD | kind::SF_DEL | kind::RECONFIG_RESPONSE => Param::Unknown(raw),
                _ => Param::parse(raw).ok()?,
            };
            match parsed {
                Param::Ipv4Address(a) => peer.add_address(IpAddr::V4(a.address)),
                Param::Ipv6Address(a) => peer.add_address(IpAddr::V6(a.address)),
                Param::StateCookie(c) => {
                    if peer.cookie.is_none() {
                        peer.cookie = Some(c.cookie.to_vec());
                    }
                }
                Param::CookiePreservative(c) => peer.preservative = c.increment_ms.min(MAX_PRESERVATIVE_MS),
                Param::HostName(_) => {
                    if peer.host_name.is_none() {
                        peer.host_name = Some(raw.bytes.to_vec());
                    }
                }
                Param::SupportedExtensions(list) => {
                    if peer.offer.chunk_types.is_empty() {
                        peer.offer.chunk_types = list.chunk_types.to_vec();
                    }
                }
                // "The parameter MUST NOT appear more than once" (RFC 9653, 4): the first counts.
                Param::ZeroChecksumAcceptable(acceptable) => {
                    peer.offer.zero_checksum.get_or_insert(acceptable.method);
                }
                Param::AdaptationIndication(indication) => {
                    peer.offer.adaptation.get_or_insert(indication.code_point);
                }
                Param::SupportedAddressTypes(_) | Param::Unrecognized(_) | Param::HeartbeatInfo(_) => {}
                // Recognized where it is not offered, too: an endpoint that does not send it in turn does not agree (RFC 3758, 3.3.2).
                // rfc3758:3.3.2-1 rfc3758:3.3.2-2
                Param::ForwardTsnSupported(_) => peer.offer.forward_tsn = true,
                // Recognized where it is not offered, too: it changes nothing then.
                Param::EcnCapable(_) => peer.offer.ecn = true,
                Param::SelectedGapBlocks(_) => peer.offer.selected_gaps = true,
                // Extensions that this endpoint does not speak are unrecognized parameters like any other.
                Param::ReconfigResponse(_)
                | Param::SfCap(_)
                | Param::SfAdd(_)
                | Param::SfDel(_)
                | Param::OutgoingReset(_)
                | Param::IncomingReset(_)
                | Param::AssociationReset(_)
                | Param::AddOutgoingStreams(_)
                | Param::AddIncomingStreams(_)
                | Param::Unknown(_) => {
                    peer.note_unrecognized(raw);
                    if !anabranch_wire::param::unknown_action(raw.kind).goes_on() {
                        break;
                    }
                }
            }
        }
        Some(peer)
    }

    fn add_address(&mut self, address: IpAddr) {
        // "a multicast or broadcast address ... MUST NOT" be used; listing one is harmless when it is left out.
        if is_unicast(address)
            && self.addresses.len() < MAX_PEER_ADDRESSES
            && !self.addresses.contains(&address)
        {
            self.addresses.push(address);
        }
    }

    /// A parameter that its sender is to hear of, if its type says so.
    fn note_unrecognized(&mut self, raw: RawParam<'_>) {
        let reports = anabranch_wire::param::unknown_action(raw.kind).reports();
        if reports && self.unrecognized.len() + raw.bytes.len() + 8 <= MAX_UNRECOGNIZED {
            self.unrecognized.extend_from_slice(raw.bytes);
            self.unrecognized.resize(self.unrecognized.len().next_multiple_of(4), 0);
        }
    }

    /// Checks that an association can be made of it.
    ///
    /// # Errors
    /// The encoded causes of the ABORT that the RFC asks for.
    // rfc9260:3.3.2-3 rfc9260:3.3.2-9 rfc9260:3.3.2-12 rfc9260:3.3.2-14 rfc9260:3.3.3-2 rfc9260:3.3.3-12
    // rfc9260:3.3.3-15 rfc9260:5.1.2-2 rfc9260:5.1-15 rfc9260:5.1-16
    pub(crate) fn check(&self, is_ack: bool) -> Result<(), Vec<u8>> {
        let mut out = Vec::new();
        if self.outbound_streams == 0 || self.inbound_streams == 0 {
            return Err(causes::invalid_mandatory_parameter());
        }
        if is_small_window(self.a_rwnd) {
            return Err(causes::small_window());
        }
        if let Some(name) = &self.host_name {
            // 5.1.2 B: "the endpoint MUST immediately send an ABORT chunk and MAY include an 'Unresolvable Address'".
            Cause::UnresolvableAddress(UnresolvableAddress { parameter: name }).emit(&mut out);
            return Err(out);
        }
        if is_ack && self.cookie.is_none() {
            Cause::MissingParameters(MissingParameters::STATE_COOKIE).emit(&mut out);
            return Err(out);
        }
        Ok(())
    }
}

/// The content of our INIT or INIT ACK.
#[derive(Clone, Debug)]
pub(crate) struct OurInit {
    pub(crate) tag: u32,
    pub(crate) a_rwnd: u32,
    pub(crate) outbound_streams: u16,
    pub(crate) inbound_streams: u16,
    pub(crate) initial_tsn: Tsn,
    /// Cookie life to ask for beyond the peer's, ms.
    pub(crate) preservative: Option<u32>,
    /// Types of addresses that we have, where we say so.
    pub(crate) address_types: Option<SupportedAddressTypes<'static>>,
    /// Extensions of RFC 9260 that we offer.
    pub(crate) offer: Offer,
}

impl OurInit {
    fn fixed(&self) -> Init<'static> {
        Init {
            initiate_tag: self.tag,
            a_rwnd: self.a_rwnd,
            outbound_streams: self.outbound_streams,
            inbound_streams: self.inbound_streams,
            initial_tsn: self.initial_tsn,
            params: Params::EMPTY,
        }
    }

    /// Appends an INIT chunk, filled up to `size` bytes.
    pub(crate) fn write_init(&self, out: &mut Vec<u8>, size: u16) {
        let start = out.len();
        self.write_filled(out, 0);
        let missing = usize::from(size).saturating_sub(out.len() - start);
        if missing >= 4 {
            out.truncate(start);
            self.write_filled(out, missing);
        }
    }

    // rfc6951:3.2-1
    // rfc9260:3.3.2-1 rfc9260:3.3.2-2
    fn write_filled(&self, out: &mut Vec<u8>, filling: usize) {
        init::emit(out, InitKind::Init, &self.fixed(), |params| {
            if let Some(increment_ms) = self.preservative {
                params.add(&Param::CookiePreservative(CookiePreservative { increment_ms }));
            }
            if let Some(types) = self.address_types {
                params.add(&Param::SupportedAddressTypes(types));
            }
            self.offer.write(params, None);
            if let Some(value) = filling.checked_sub(4) {
                // "This parameter is used to pad an INIT chunk" (RFC 4820, 4). A peer that does not know it skips it.
                params.raw(PADDING, &vec![0; value]);
            }
        });
    }

    /// Appends an INIT ACK chunk with the cookie and the parameters of the peer that we do not know.
    /// `agreed` follows from the peer's INIT.
    // rfc9260:3.2.2-1 rfc9260:3.3.3-1
    pub(crate) fn write_init_ack(
        &self,
        out: &mut Vec<u8>,
        cookie: &[u8],
        unrecognized: &[u8],
        agreed: &Extensions,
    ) {
        init::emit(out, InitKind::InitAck, &self.fixed(), |params| {
            params.add(&Param::StateCookie(StateCookie { cookie }));
            self.offer.write(params, Some(agreed));
            for raw in Params::new(unrecognized) {
                let Ok(raw) = raw else { break };
                params.raw(anabranch_wire::param::kind::UNRECOGNIZED, raw.bytes);
            }
        });
    }
}
