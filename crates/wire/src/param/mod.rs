//! Every parameter of RFC 9260, one file each, the two extensions that every stack of today names in its INIT,
//! and those of the subflow extension SF.

mod adaptation;
pub mod add_streams;
mod association_reset;
mod cookie_preservative;
mod ecn_capable;
mod forward_tsn;
mod heartbeat_info;
mod host_name;
pub mod incoming_reset;
mod ipv4;
mod ipv6;
pub mod kind;
pub mod outgoing_reset;
mod reconfig_response;
mod selected_gap_blocks;
mod sf_add;
pub mod sf_cap;
mod sf_del;
mod state_cookie;
mod supported_address_types;
mod supported_extensions;
mod unrecognized;
mod zero_checksum;

pub use adaptation::AdaptationIndication;
pub use add_streams::{AddDirection, AddStreams};
pub use association_reset::AssociationReset;
pub use cookie_preservative::CookiePreservative;
pub use ecn_capable::EcnCapable;
pub use forward_tsn::ForwardTsnSupported;
pub use heartbeat_info::HeartbeatInfo;
pub use host_name::HostName;
pub use incoming_reset::IncomingReset;
pub use ipv4::Ipv4Address;
pub use ipv6::Ipv6Address;
pub use outgoing_reset::OutgoingReset;
pub use reconfig_response::ReconfigResponse;
pub use selected_gap_blocks::SelectedGapBlocks;
pub use sf_add::SfAdd;
pub use sf_cap::{SfCap, SfCapFlags, SfCapHead, SfOpen};
pub use sf_del::SfDel;
pub use state_cookie::StateCookie;
pub use supported_address_types::SupportedAddressTypes;
pub use supported_extensions::SupportedExtensions;
pub use unrecognized::UnrecognizedParameter;
pub use zero_checksum::ZeroChecksumAcceptable;

pub use crate::tlv::RawParam;
pub use crate::unknown::param_action as unknown_action;

use crate::emit;
use crate::error::TlvError;
use crate::padding::padded;
use crate::tlv::Tlvs;

/// Any parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Param<'a> {
    /// Type 1.
    HeartbeatInfo(HeartbeatInfo<'a>),
    /// Type 5.
    Ipv4Address(Ipv4Address),
    /// Type 6.
    Ipv6Address(Ipv6Address),
    /// Type 7.
    StateCookie(StateCookie<'a>),
    /// Type 8.
    Unrecognized(UnrecognizedParameter<'a>),
    /// Type 9.
    CookiePreservative(CookiePreservative),
    /// Type 11.
    HostName(HostName<'a>),
    /// Type 12.
    SupportedAddressTypes(SupportedAddressTypes<'a>),
    /// Type 13.
    OutgoingReset(OutgoingReset<'a>),
    /// Type 14.
    IncomingReset(IncomingReset<'a>),
    /// Type 15.
    AssociationReset(AssociationReset),
    /// Type 16.
    ReconfigResponse(ReconfigResponse),
    /// Type 17.
    AddOutgoingStreams(AddStreams),
    /// Type 18.
    AddIncomingStreams(AddStreams),
    /// Type 0x8000.
    EcnCapable(EcnCapable),
    /// Selected Gap Blocks (docs/reference/extensions.md).
    SelectedGapBlocks(SelectedGapBlocks),
    /// Type 0x8001.
    ZeroChecksumAcceptable(ZeroChecksumAcceptable),
    /// Type 0x8008.
    SupportedExtensions(SupportedExtensions<'a>),
    /// Type 0xC000.
    ForwardTsnSupported(ForwardTsnSupported),
    /// Type 0xC006.
    AdaptationIndication(AdaptationIndication),
    /// Type 0xB05F.
    SfCap(SfCap<'a>),
    /// Type 0x405F.
    SfAdd(SfAdd),
    /// Type 0x4060.
    SfDel(SfDel),
    /// Any other type, kept as it is.
    Unknown(RawParam<'a>),
}

impl<'a> Param<'a> {
    /// Reads the parameter that its type says.
    ///
    /// # Errors
    /// Its length does not fit its type.
    pub fn parse(raw: RawParam<'a>) -> Result<Self, TlvError> {
        Ok(match raw.kind {
            kind::HEARTBEAT_INFO => Self::HeartbeatInfo(HeartbeatInfo::parse(raw)?),
            kind::IPV4_ADDRESS => Self::Ipv4Address(Ipv4Address::parse(raw)?),
            kind::IPV6_ADDRESS => Self::Ipv6Address(Ipv6Address::parse(raw)?),
            kind::STATE_COOKIE => Self::StateCookie(StateCookie::parse(raw)?),
            kind::UNRECOGNIZED => Self::Unrecognized(UnrecognizedParameter::parse(raw)?),
            kind::COOKIE_PRESERVATIVE => Self::CookiePreservative(CookiePreservative::parse(raw)?),
            kind::HOST_NAME => Self::HostName(HostName::parse(raw)?),
            kind::SUPPORTED_ADDRESS_TYPES => Self::SupportedAddressTypes(SupportedAddressTypes::parse(raw)?),
            kind::OUTGOING_RESET => Self::OutgoingReset(OutgoingReset::parse(raw)?),
            kind::INCOMING_RESET => Self::IncomingReset(IncomingReset::parse(raw)?),
            kind::ASSOCIATION_RESET => Self::AssociationReset(AssociationReset::parse(raw)?),
            kind::RECONFIG_RESPONSE => Self::ReconfigResponse(ReconfigResponse::parse(raw)?),
            kind::ADD_OUTGOING_STREAMS => Self::AddOutgoingStreams(AddStreams::parse(raw)?),
            kind::ADD_INCOMING_STREAMS => Self::AddIncomingStreams(AddStreams::parse(raw)?),
            kind::ECN_CAPABLE => Self::EcnCapable(EcnCapable::parse(raw)?),
            kind::SELECTED_GAP_BLOCKS => Self::SelectedGapBlocks(SelectedGapBlocks::parse(raw)?),
            kind::SUPPORTED_EXTENSIONS => Self::SupportedExtensions(SupportedExtensions::parse(raw)?),
            kind::FORWARD_TSN_SUPPORTED => Self::ForwardTsnSupported(ForwardTsnSupported::parse(raw)?),
            kind::ZERO_CHECKSUM_ACCEPTABLE => {
                Self::ZeroChecksumAcceptable(ZeroChecksumAcceptable::parse(raw)?)
            }
            kind::ADAPTATION_INDICATION => Self::AdaptationIndication(AdaptationIndication::parse(raw)?),
            kind::SF_CAP => Self::SfCap(SfCap::parse(raw)?),
            kind::SF_ADD => Self::SfAdd(SfAdd::parse(raw)?),
            kind::SF_DEL => Self::SfDel(SfDel::parse(raw)?),
            _ => Self::Unknown(raw),
        })
    }

    /// Appends the parameter, padded. Inside a chunk, use [`ParamWriter::add`]: it keeps the last padding out of
    /// the chunk's length.
    pub fn emit(&self, out: &mut Vec<u8>) {
        match self {
            Self::HeartbeatInfo(param) => param.emit(out),
            Self::Ipv4Address(param) => param.emit(out),
            Self::Ipv6Address(param) => param.emit(out),
            Self::StateCookie(param) => param.emit(out),
            Self::Unrecognized(param) => param.emit(out),
            Self::CookiePreservative(param) => param.emit(out),
            Self::HostName(param) => param.emit(out),
            Self::SupportedAddressTypes(param) => param.emit(out),
            Self::OutgoingReset(param) => param.emit(out),
            Self::IncomingReset(param) => param.emit(out),
            Self::AssociationReset(param) => param.emit(out),
            Self::ReconfigResponse(param) => param.emit(out),
            Self::AddOutgoingStreams(param) => param.emit(AddDirection::Outgoing, out),
            Self::AddIncomingStreams(param) => param.emit(AddDirection::Incoming, out),
            Self::EcnCapable(param) => param.emit(out),
            Self::SelectedGapBlocks(param) => param.emit(out),
            Self::SupportedExtensions(param) => param.emit(out),
            Self::ForwardTsnSupported(param) => param.emit(out),
            Self::ZeroChecksumAcceptable(param) => param.emit(out),
            Self::AdaptationIndication(param) => param.emit(out),
            Self::SfCap(param) => param.emit(out),
            Self::SfAdd(param) => param.emit(out),
            Self::SfDel(param) => param.emit(out),
            Self::Unknown(raw) => raw.emit(out),
        }
    }
}

/// Parameters one after the other, not yet looked at.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Params<'a>(&'a [u8]);

impl<'a> Params<'a> {
    /// No parameters.
    pub const EMPTY: Params<'static> = Params(&[]);

    /// The parameters that `region` holds.
    #[must_use]
    pub const fn new(region: &'a [u8]) -> Self {
        Self(region)
    }

    /// The bytes they stand in.
    #[must_use]
    pub const fn bytes(&self) -> &'a [u8] {
        self.0
    }

    /// The parameters in their order. It ends after the first malformed one.
    #[must_use]
    pub const fn iter(&self) -> Tlvs<'a> {
        Tlvs::new(self.0)
    }
}

impl<'a> IntoIterator for Params<'a> {
    type Item = Result<RawParam<'a>, TlvError>;
    type IntoIter = Tlvs<'a>;

    fn into_iter(self) -> Tlvs<'a> {
        self.iter()
    }
}

/// Writes parameters into a chunk (or causes: see [`CauseWriter`](crate::cause::CauseWriter)).
///
/// "The Chunk Length field does not count any chunk padding. However, it does include any padding of
/// variable-length parameters other than the last parameter in the chunk" (section 3.2): the writer remembers how
/// much padding stands at the end.
#[derive(Debug)]
pub struct ParamWriter<'b> {
    out: &'b mut Vec<u8>,
    last_padding: usize,
}

impl<'b> ParamWriter<'b> {
    pub(crate) fn new(out: &'b mut Vec<u8>) -> Self {
        Self { out, last_padding: 0 }
    }

    pub(crate) fn last_padding(&self) -> usize {
        self.last_padding
    }

    /// Appends a parameter.
    pub fn add(&mut self, param: &Param<'_>) {
        self.with(|out| param.emit(out));
    }

    /// Appends one parameter or cause with `emit`, padded. Its own length says how much of it is padding.
    pub(crate) fn with(&mut self, emit: impl FnOnce(&mut Vec<u8>)) {
        let start = self.out.len();
        emit(self.out);
        if let Some(&[hi, lo]) = self.out.get(start + 2..start + 4) {
            let length = usize::from(u16::from_be_bytes([hi, lo]));
            self.last_padding = padded(length) - length;
        }
    }

    /// Appends a parameter of type `kind` with `value`.
    pub fn raw(&mut self, kind: u16, value: &[u8]) {
        self.last_padding = emit::tlv(self.out, kind, value);
    }

    /// Appends parameters as they are; pads the last if its padding is missing.
    pub fn region(&mut self, params: Params<'_>) {
        if params.0.is_empty() {
            return;
        }
        self.out.extend_from_slice(params.0);
        let padding = padded(params.0.len()) - params.0.len();
        self.out.extend_from_slice([0; 3].get(..padding).unwrap_or_default());
        self.last_padding = padding;
    }
}

#[cfg(test)]
pub(crate) mod tests;
