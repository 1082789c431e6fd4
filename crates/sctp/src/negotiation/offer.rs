//! Extensions that an endpoint offers in INIT and INIT ACK, and the agreement that follows.

use anabranch_wire::chunk::kind;
use anabranch_wire::param::{
    AdaptationIndication, EcnCapable, ForwardTsnSupported, Param, ParamWriter, SelectedGapBlocks, SfOpen,
    SupportedExtensions, ZeroChecksumAcceptable, sf_cap,
};
use anabranch_wire::sf::CodePoints;
use anabranch_wire::sf2007::{SUBFLOW_CAPABLE, SubflowCapable};

use super::agreement::{self, Capability, SfAgreement};
use crate::config::{Config, Coupling, EcnMode, ErrorDetection, SubflowLevel};
use crate::receive_buffer::Buffer;

/// Extensions in the peer's INIT or INIT ACK.
#[derive(Clone, Debug, Default)]
pub(crate) struct PeerOffer {
    /// Chunk types of its Supported Extensions parameter.
    pub(crate) chunk_types: Vec<u8>,
    pub(crate) capability: Option<Capability>,
    pub(crate) sf2007: Option<SubflowCapable>,
    /// True if the peer has announced FORWARD-TSN (RFC 3758, 3.3.1).
    pub(crate) forward_tsn: bool,
    /// Error detection method under which the peer accepts packets with a checksum of zero (RFC 9653).
    pub(crate) zero_checksum: Option<u32>,
    /// Adaptation Layer Indication (RFC 5061).
    pub(crate) adaptation: Option<u32>,
    /// True if the peer is ECN capable (RFC 4960, appendix A).
    pub(crate) ecn: bool,
    /// True if the peer supports Selected Gap Blocks.
    pub(crate) selected_gaps: bool,
}

impl PeerOffer {
    /// True if the peer lets us skip messages that we give up. With I-DATA "Only if both endpoints indicated their
    /// support of user message interleaving and the I-FORWARD-TSN chunk, the partial reliability extension is
    /// negotiated" (RFC 8260, 2.3.1). Level 1 of subflows lists that chunk in any case: there the parameter of RFC
    /// 3758 decides.
    fn is_partially_reliable(&self, interleaving: bool) -> bool {
        let lists = |kind| self.chunk_types.contains(&kind);
        let says = self.forward_tsn || lists(kind::FORWARD_TSN);
        if interleaving { lists(kind::I_FORWARD_TSN) && (says || self.capability.is_none()) } else { says }
    }
}

/// Extensions agreed on by both sides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extensions {
    /// I-DATA takes the place of DATA.
    pub(crate) interleaving: bool,
    /// RE-CONFIG may be sent.
    pub(crate) reconfiguration: bool,
    /// Messages that their sender gives up may be skipped: FORWARD-TSN (RFC 3758), I-FORWARD-TSN where I-DATA is
    /// agreed on (RFC 8260, 2.3.1), and SF-FORWARD with the extension SF.
    pub(crate) partial_reliability: bool,
    /// The extension SF.
    pub(crate) sf: Option<Box<SfAgreement>>,
    /// The encoding of 2007: subflows that we may have and that the peer may have.
    pub(crate) sf2007: Option<(u8, u8)>,
    /// Packets with a checksum of zero are taken: we have announced an error detection method in its place (RFC 9653, 5.3).
    pub(crate) takes_zero_checksum: bool,
    /// Packets leave with a checksum of zero: the peer has announced the error detection method that we have (RFC 9653, 5.2).
    pub(crate) sends_zero_checksum: bool,
    /// Adaptation Layer Indication of the peer (RFC 5061).
    pub(crate) adaptation: Option<u32>,
    /// Both are ECN capable (RFC 4960, appendix A): packets with data leave as ECT, and their marks are reported.
    pub(crate) ecn: bool,
    /// A SACK need not list all gap blocks (docs/reference/extensions.md).
    pub(crate) selected_gaps: bool,
}

const INTERLEAVING: u8 = 1;
const RECONFIGURATION: u8 = 2;
const SF: u8 = 4;
const SF2007: u8 = 8;
const TAKES_ZERO: u8 = 16;
const SENDS_ZERO: u8 = 32;
const ADAPTATION: u8 = 64;
const PARTIAL_RELIABILITY: u8 = 128;
/// The last byte, where there is one more.
const ECN: u8 = 1;
const SELECTED_GAPS: u8 = 2;

impl Extensions {
    /// For the State Cookie; nothing where there is nothing to say.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        if *self == Self::default() {
            return;
        }
        let flag = |set, bit| if set { bit } else { 0 };
        out.push(
            flag(self.interleaving, INTERLEAVING)
                | flag(self.reconfiguration, RECONFIGURATION)
                | flag(self.sf.is_some(), SF)
                | flag(self.sf2007.is_some(), SF2007)
                | flag(self.takes_zero_checksum, TAKES_ZERO)
                | flag(self.sends_zero_checksum, SENDS_ZERO)
                | flag(self.adaptation.is_some(), ADAPTATION)
                | flag(self.partial_reliability, PARTIAL_RELIABILITY),
        );
        if let Some(agreed) = &self.sf {
            agreed.encode(out);
        }
        if let Some((ours, theirs)) = self.sf2007 {
            out.extend_from_slice(&[ours, theirs]);
        }
        if let Some(code_point) = self.adaptation {
            out.extend_from_slice(&code_point.to_be_bytes());
        }
        if self.ecn || self.selected_gaps {
            out.push(flag(self.ecn, ECN) | flag(self.selected_gaps, SELECTED_GAPS));
        }
    }

    /// Reads the output of [`Extensions::encode`], to its end.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let Some((&flags, mut rest)) = bytes.split_first() else { return Some(Self::default()) };
        let mut extensions = Self {
            interleaving: flags & INTERLEAVING != 0,
            reconfiguration: flags & RECONFIGURATION != 0,
            partial_reliability: flags & PARTIAL_RELIABILITY != 0,
            takes_zero_checksum: flags & TAKES_ZERO != 0,
            sends_zero_checksum: flags & SENDS_ZERO != 0,
            ..Self::default()
        };
        if flags & SF != 0 {
            let (agreed, after) = SfAgreement::decode(rest)?;
            extensions.sf = Some(Box::new(agreed));
            rest = after;
        }
        if flags & SF2007 != 0 {
            let (&[ours, theirs], after) = rest.split_first_chunk::<2>()?;
            extensions.sf2007 = Some((ours, theirs));
            rest = after;
        }
        if flags & ADAPTATION != 0 {
            let (code_point, after) = rest.split_first_chunk::<4>()?;
            extensions.adaptation = Some(u32::from_be_bytes(*code_point));
            rest = after;
        }
        match *rest {
            [] => {}
            [more @ (ECN | SELECTED_GAPS | 3)] => {
                extensions.ecn = more & ECN != 0;
                extensions.selected_gaps = more & SELECTED_GAPS != 0;
            }
            _ => return None,
        }
        Some(extensions)
    }
}

/// Everything that `config` would agree to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Offer {
    codes: CodePoints,
    interleaving: bool,
    reconfiguration: bool,
    partial_reliability: bool,
    capability: Option<Capability>,
    sf2007: Option<SubflowCapable>,
    zero_checksum: Option<u32>,
    adaptation: Option<u32>,
    ecn: bool,
    selected_gaps: bool,
    lists_all: bool,
}

impl Offer {
    pub(crate) fn of(config: &Config, private: bool) -> Self {
        let level = config.subflows.level;
        // With one window for all there is one sequence space: nothing of it goes on the wire.
        let several = config.subflows.coupling != Coupling::Shared;
        let outbound = if several { config.subflows.max } else { 1 };
        let one = level == SubflowLevel::One;
        Self {
            codes: config.subflows.codes,
            interleaving: config.offers_interleaving(),
            reconfiguration: config.extensions.reconfiguration || one,
            partial_reliability: config.extensions.partial_reliability,
            capability: one.then(|| capability(config, outbound)),
            sf2007: (level == SubflowLevel::Sf2007 && private).then(|| SubflowCapable {
                outbound: configured(config).min(outbound),
                max_inbound: config.subflows.max_inbound,
            }),
            zero_checksum: config.extensions.zero_checksum.map(ErrorDetection::id),
            adaptation: config.extensions.adaptation_indication,
            ecn: config.extensions.ecn != EcnMode::Off,
            selected_gaps: config.extensions.selected_gap_blocks > 0,
            lists_all: config.emulation.lists_all_extensions,
        }
    }

    /// The agreement between this offer and the peer's. An error detection method that we do not have counts as none.
    // rfc3758:3.3.2-4
    // rfc9653:4-3 rfc9653:5.2-1
    pub(crate) fn agree(&self, peer: &PeerOffer) -> Extensions {
        let lists = |kind| peer.chunk_types.contains(&kind);
        let always = Extensions {
            takes_zero_checksum: self.zero_checksum.is_some(),
            sends_zero_checksum: self.zero_checksum.is_some() && self.zero_checksum == peer.zero_checksum,
            adaptation: peer.adaptation,
            ..Extensions::default()
        };
        if let (Some(ours), Some(theirs)) = (self.sf2007, peer.sf2007) {
            // "If one of the peer cannot support even one subflow ... the communication as an original SCTP association".
            let (out, inn) = (ours.outbound.min(theirs.max_inbound), theirs.outbound.min(ours.max_inbound));
            if out > 0 && inn > 0 {
                return Extensions { sf2007: Some((out, inn)), ..always };
            }
        }
        let sf = match (&self.capability, &peer.capability) {
            (Some(ours), Some(theirs)) => agreement::agree(&self.codes, ours, theirs, &peer.chunk_types),
            _ => None,
        };
        let interleaving = self.interleaving && lists(kind::I_DATA);
        Extensions {
            interleaving,
            ecn: self.ecn && peer.ecn,
            selected_gaps: self.selected_gaps && peer.selected_gaps,
            reconfiguration: self.reconfiguration && lists(kind::RE_CONFIG),
            partial_reliability: self.partial_reliability && peer.is_partially_reliable(interleaving),
            sf: sf.map(Box::new),
            ..always
        }
    }

    /// The parameters of an INIT, or of the INIT ACK that answers `agreed`: "who answers an INIT puts SF-CAP into the
    /// INIT ACK only if the INIT had everything". Likewise it lists the extensions that were agreed on, no others:
    /// the INIT may have lost its list on the way, and its sender takes the INIT ACK for the answer to all that it
    /// offered. Some stacks list all that they have (`lists_all_extensions`); an extension is then still in use only
    /// if both have offered it.
    pub(crate) fn write(&self, params: &mut ParamWriter<'_>, answers: Option<&Extensions>) {
        let sf = self.capability.as_ref().filter(|_| answers.is_none_or(|agreed| agreed.sf.is_some()));
        let mut types = match sf {
            Some(_) => agreement::chunk_types(&self.codes),
            None => Vec::new(),
        };
        let lists = |agrees: fn(&Extensions) -> bool| self.lists_all || answers.is_none_or(agrees);
        let interleaving = self.interleaving && lists(|agreed| agreed.interleaving);
        let reconfiguration = self.reconfiguration && lists(|agreed| agreed.reconfiguration);
        let partial_reliability = self.partial_reliability && lists(|agreed| agreed.partial_reliability);
        for (offered, kind) in [
            (interleaving, kind::I_DATA),
            (reconfiguration, kind::RE_CONFIG),
            (partial_reliability, kind::FORWARD_TSN),
            (partial_reliability && interleaving, kind::I_FORWARD_TSN),
        ] {
            if offered && !types.contains(&kind) {
                types.push(kind);
            }
        }
        types.sort_unstable();
        // "An endpoint willing to accept SCTP packets with an incorrect checksum of zero MUST include the Zero Checksum
        // Acceptable Chunk Parameter" (RFC 9653, 5.1), whatever the peer says: each direction is a matter of its own.
        // rfc9653:4-1
        if let Some(method) = self.zero_checksum {
            params.add(&Param::ZeroChecksumAcceptable(ZeroChecksumAcceptable { method }));
        }
        if partial_reliability {
            params.add(&Param::ForwardTsnSupported(ForwardTsnSupported));
        }
        if let Some(code_point) = self.adaptation {
            params.add(&Param::AdaptationIndication(AdaptationIndication { code_point }));
        }
        // "To indicate that an endpoint is ECN capable, an endpoint SHOULD add to the INIT and or INIT ACK chunk the TLV reserved
        // for ECN" (RFC 4960, appendix A). With the encoding of 2007 there is none.
        if self.ecn && answers.is_none_or(|agreed| agreed.ecn) {
            params.add(&Param::EcnCapable(EcnCapable));
        }
        if self.selected_gaps && answers.is_none_or(|agreed| agreed.selected_gaps) {
            params.add(&Param::SelectedGapBlocks(SelectedGapBlocks));
        }
        let sf2007 = self.sf2007.filter(|_| answers.is_none_or(|agreed| agreed.sf2007.is_some()));
        if let Some(capable) = sf2007 {
            params.raw(SUBFLOW_CAPABLE, &capable.value());
        }
        if answers.is_some_and(|agreed| agreed.sf2007.is_some()) {
            return;
        }
        if !types.is_empty() {
            params.add(&Param::SupportedExtensions(SupportedExtensions { chunk_types: &types }));
        }
        if let Some(capability) = sf {
            params.raw(self.codes.capability, &sf_cap::value(&capability.head, &capability.opens));
        }
    }
}

// rfc6525:5.1.1-1
// rfc8260:2.2.1-3
fn configured(config: &Config) -> u8 {
    u8::try_from(config.subflows.open.len().max(1)).unwrap_or(u8::MAX).min(config.subflows.max)
}

fn capability(config: &Config, outbound: u8) -> Capability {
    let inbound = config.subflows.max_inbound;
    let buffer =
        Buffer::new(config.limits.receive_window, config.subflows.buffer_floor, usize::from(inbound));
    let credit = buffer.credit(std::iter::repeat_n(0, usize::from(inbound)), 0);
    let head = agreement::head(
        outbound,
        inbound,
        u32::try_from(credit).unwrap_or(u32::MAX),
        u32::try_from(buffer.floor).unwrap_or(u32::MAX),
        config.extensions.ecn != EcnMode::Off,
    );
    let opens = if outbound < 2 { &[][..] } else { config.subflows.open.get(1..).unwrap_or_default() };
    let open = |(fid, spec): (u8, &crate::config::SubflowSpec)| SfOpen {
        fid,
        dscp: spec.dscp.get(),
        weight: spec.weight,
    };
    Capability { head, opens: (1..outbound).zip(opens).map(open).collect() }
}

#[cfg(test)]
mod tests {
    use anabranch_base::Dscp;

    use super::*;
    use crate::config::SubflowSpec;

    fn config(level: SubflowLevel, subflows: usize) -> Config {
        let subflows = vec![SubflowSpec::new(Dscp::DEFAULT); subflows];
        Config::rfc9260().with(|c| {
            c.subflows.level = level;
            c.subflows.open = subflows;
        })
    }

    /// The parameters of an INIT as the other side reads them.
    fn read(offer: &Offer, answers: Option<&Extensions>) -> PeerOffer {
        let mut out = Vec::new();
        let init = anabranch_wire::chunk::Init {
            initiate_tag: 1,
            a_rwnd: 1500,
            outbound_streams: 1,
            inbound_streams: 1,
            initial_tsn: anabranch_wire::Tsn::new(1),
            params: anabranch_wire::param::Params::EMPTY,
        };
        anabranch_wire::chunk::init::emit(&mut out, anabranch_wire::chunk::InitKind::Init, &init, |params| {
            offer.write(params, answers);
        });
        let mut bytes = vec![0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0];
        bytes.extend_from_slice(&out);
        let packet = anabranch_wire::Packet::parse(&bytes, anabranch_wire::Checksum::Ignore).unwrap();
        let raw = packet.chunks().next().unwrap().unwrap();
        let init = anabranch_wire::chunk::Init::parse(raw).unwrap();
        crate::association::init::PeerInit::read(&init, &CodePoints::DEFAULT).unwrap().offer
    }

    #[test]
    fn every_pair_of_offers_is_agreed_on_by_both_or_none() {
        let mut offers = Vec::new();
        for (level, private) in [
            (SubflowLevel::Zero, true),
            (SubflowLevel::One, true),
            (SubflowLevel::Sf2007, true),
            (SubflowLevel::Sf2007, false),
        ] {
            for which in 0..32 {
                let config = config(level, 3).with(|c| {
                    c.extensions.interleaving = which & 1 != 0;
                    c.extensions.reconfiguration = which & 2 != 0;
                    c.extensions.partial_reliability = which & 4 != 0;
                    c.extensions.ecn = if which & 8 == 0 { EcnMode::Off } else { EcnMode::Classic };
                    c.extensions.selected_gap_blocks = which & 16;
                });
                offers.push(Offer::of(&config, private));
            }
        }
        for a in &offers {
            for b in &offers {
                let at_b = b.agree(&read(a, None));
                let at_a = a.agree(&read(b, Some(&at_b)));
                assert_eq!(
                    (at_a.interleaving, at_a.reconfiguration, at_a.sf.is_some(), at_a.sf2007.is_some()),
                    (at_b.interleaving, at_b.reconfiguration, at_b.sf.is_some(), at_b.sf2007.is_some())
                );
                assert!(at_a.sf.is_none() || (at_a.interleaving && at_a.reconfiguration));
                let partial = a.partial_reliability && b.partial_reliability && at_a.sf2007.is_none();
                assert_eq!((at_a.partial_reliability, at_b.partial_reliability), (partial, partial));
                assert_eq!(at_a.ecn, a.ecn && b.ecn && at_a.sf2007.is_none());
                assert_eq!(at_a.ecn, at_b.ecn);
                let selected = a.selected_gaps && b.selected_gaps && at_a.sf2007.is_none();
                assert_eq!((at_a.selected_gaps, at_b.selected_gaps), (selected, selected));
                assert_eq!(at_a.sf2007, at_b.sf2007.map(|(x, y)| (y, x)));
            }
        }
    }

    #[test]
    fn nothing_configured_nothing_said() {
        let offer = read(&Offer::of(&config(SubflowLevel::Zero, 3), true), None);
        assert!(offer.chunk_types.is_empty() && offer.capability.is_none() && offer.sf2007.is_none());
        let offer = read(&Offer::of(&config(SubflowLevel::Sf2007, 3), false), None);
        assert!(offer.sf2007.is_none(), "never on a network that is not sealed");
        let offer = read(&Offer::of(&config(SubflowLevel::One, 3), false), None);
        assert_eq!(offer.chunk_types, [0x40, 0x5F, 0x82, 0x9F, 0xC2, 0xDF]);
        assert_eq!(offer.capability.unwrap().opens.iter().map(|o| o.fid).collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn through_the_cookie() {
        for level in [SubflowLevel::Zero, SubflowLevel::One, SubflowLevel::Sf2007] {
            let offer = Offer::of(&config(level, 3), true);
            let marked = Offer::of(&config(level, 3).with(|c| c.extensions.ecn = EcnMode::L4s), true);
            let both = marked.agree(&read(&marked, None));
            assert_eq!(both.ecn, level != SubflowLevel::Sf2007);
            let mut out = Vec::new();
            both.encode(&mut out);
            assert_eq!(Extensions::decode(&out), Some(both));
            for (ecn, selected_gaps) in [(false, true), (true, true), (true, false)] {
                let said = Extensions { ecn, selected_gaps, ..Extensions::default() };
                let mut out = Vec::new();
                said.encode(&mut out);
                assert_eq!(Extensions::decode(&out), Some(said));
            }
            for last in [0, 4, 0x81] {
                assert_eq!(Extensions::decode(&[0, last]), None, "{last}");
            }
            let agreed = offer.agree(&read(&offer, None));
            let mut out = Vec::new();
            agreed.encode(&mut out);
            assert_eq!(out.is_empty(), level == SubflowLevel::Zero);
            assert_eq!(Extensions::decode(&out), Some(agreed));
            out.push(0);
            assert!(level == SubflowLevel::Zero || Extensions::decode(&out).is_none());
        }
    }
}
