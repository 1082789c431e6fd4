//! Every error cause of RFC 9260 (sections 3.3.10.1 to 3.3.10.13) and that of the subflow extension SF, one file
//! each. They stand in ERROR and ABORT chunks.

pub mod code;
mod cookie_while_shutting_down;
mod invalid_mandatory_parameter;
mod invalid_stream;
mod missing_parameters;
mod no_user_data;
mod out_of_resource;
mod protocol_violation;
mod restart_with_new_addresses;
mod restart_with_new_port;
mod sf_violation;
mod stale_cookie;
mod unrecognized_chunk;
mod unrecognized_parameters;
mod unresolvable_address;
mod user_initiated_abort;
mod words;

pub use cookie_while_shutting_down::CookieWhileShuttingDown;
pub use invalid_mandatory_parameter::InvalidMandatoryParameter;
pub use invalid_stream::InvalidStream;
pub use missing_parameters::MissingParameters;
pub use no_user_data::NoUserData;
pub use out_of_resource::OutOfResource;
pub use protocol_violation::ProtocolViolation;
pub use restart_with_new_addresses::RestartWithNewAddresses;
pub use restart_with_new_port::RestartWithNewPort;
pub use sf_violation::{SfReason, SfViolation};
pub use stale_cookie::StaleCookie;
pub use unrecognized_chunk::UnrecognizedChunk;
pub use unrecognized_parameters::UnrecognizedParameters;
pub use unresolvable_address::UnresolvableAddress;
pub use user_initiated_abort::UserInitiatedAbort;
pub use words::{name, sentence};

pub use crate::tlv::RawCause;

use crate::error::TlvError;
use crate::param::{ParamWriter, Params};
use crate::tlv::Tlvs;

/// Any error cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause<'a> {
    /// Code 1.
    InvalidStream(InvalidStream),
    /// Code 2.
    MissingParameters(MissingParameters<'a>),
    /// Code 3.
    StaleCookie(StaleCookie),
    /// Code 4.
    OutOfResource(OutOfResource),
    /// Code 5.
    UnresolvableAddress(UnresolvableAddress<'a>),
    /// Code 6.
    UnrecognizedChunk(UnrecognizedChunk<'a>),
    /// Code 7.
    InvalidMandatoryParameter(InvalidMandatoryParameter),
    /// Code 8.
    UnrecognizedParameters(UnrecognizedParameters<'a>),
    /// Code 9.
    NoUserData(NoUserData),
    /// Code 10.
    CookieWhileShuttingDown(CookieWhileShuttingDown),
    /// Code 11.
    RestartWithNewAddresses(RestartWithNewAddresses<'a>),
    /// Code 12.
    UserInitiatedAbort(UserInitiatedAbort<'a>),
    /// Code 13.
    ProtocolViolation(ProtocolViolation<'a>),
    /// Code 14.
    RestartWithNewPort(RestartWithNewPort),
    /// Code 0x5F01.
    SfViolation(SfViolation<'a>),
    /// Any other code, kept as it is.
    Unknown(RawCause<'a>),
}

impl<'a> Cause<'a> {
    /// Reads the cause that its code says.
    ///
    /// # Errors
    /// Its length does not fit its code.
    pub fn parse(raw: RawCause<'a>) -> Result<Self, TlvError> {
        Ok(match raw.kind {
            code::INVALID_STREAM => Self::InvalidStream(InvalidStream::parse(raw)?),
            code::MISSING_PARAMETERS => Self::MissingParameters(MissingParameters::parse(raw)?),
            code::STALE_COOKIE => Self::StaleCookie(StaleCookie::parse(raw)?),
            code::OUT_OF_RESOURCE => Self::OutOfResource(OutOfResource::parse(raw)?),
            code::UNRESOLVABLE_ADDRESS => Self::UnresolvableAddress(UnresolvableAddress::parse(raw)?),
            code::UNRECOGNIZED_CHUNK => Self::UnrecognizedChunk(UnrecognizedChunk::parse(raw)?),
            code::INVALID_MANDATORY_PARAMETER => {
                Self::InvalidMandatoryParameter(InvalidMandatoryParameter::parse(raw)?)
            }
            code::UNRECOGNIZED_PARAMETERS => {
                Self::UnrecognizedParameters(UnrecognizedParameters::parse(raw)?)
            }
            code::NO_USER_DATA => Self::NoUserData(NoUserData::parse(raw)?),
            code::COOKIE_WHILE_SHUTTING_DOWN => {
                Self::CookieWhileShuttingDown(CookieWhileShuttingDown::parse(raw)?)
            }
            code::RESTART_WITH_NEW_ADDRESSES => {
                Self::RestartWithNewAddresses(RestartWithNewAddresses::parse(raw)?)
            }
            code::USER_INITIATED_ABORT => Self::UserInitiatedAbort(UserInitiatedAbort::parse(raw)?),
            code::PROTOCOL_VIOLATION => Self::ProtocolViolation(ProtocolViolation::parse(raw)?),
            code::RESTART_WITH_NEW_PORT => Self::RestartWithNewPort(RestartWithNewPort::parse(raw)?),
            code::SF_VIOLATION => Self::SfViolation(SfViolation::parse(raw)?),
            _ => Self::Unknown(raw),
        })
    }

    /// Appends the cause, padded. Inside a chunk, use [`CauseWriter::add`]: it keeps the last padding out of the
    /// chunk's length.
    pub fn emit(&self, out: &mut Vec<u8>) {
        match self {
            Self::InvalidStream(cause) => cause.emit(out),
            Self::MissingParameters(cause) => cause.emit(out),
            Self::StaleCookie(cause) => cause.emit(out),
            Self::OutOfResource(cause) => cause.emit(out),
            Self::UnresolvableAddress(cause) => cause.emit(out),
            Self::UnrecognizedChunk(cause) => cause.emit(out),
            Self::InvalidMandatoryParameter(cause) => cause.emit(out),
            Self::UnrecognizedParameters(cause) => cause.emit(out),
            Self::NoUserData(cause) => cause.emit(out),
            Self::CookieWhileShuttingDown(cause) => cause.emit(out),
            Self::RestartWithNewAddresses(cause) => cause.emit(out),
            Self::UserInitiatedAbort(cause) => cause.emit(out),
            Self::ProtocolViolation(cause) => cause.emit(out),
            Self::RestartWithNewPort(cause) => cause.emit(out),
            Self::SfViolation(cause) => cause.emit(out),
            Self::Unknown(raw) => raw.emit(out),
        }
    }
}

/// Causes one after the other, not yet looked at.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Causes<'a>(&'a [u8]);

impl<'a> Causes<'a> {
    /// No causes.
    pub const EMPTY: Causes<'static> = Causes(&[]);

    /// The causes that `region` holds.
    #[must_use]
    pub const fn new(region: &'a [u8]) -> Self {
        Self(region)
    }

    /// The bytes they stand in.
    #[must_use]
    pub const fn bytes(&self) -> &'a [u8] {
        self.0
    }

    /// The causes in their order. It ends after the first malformed one.
    #[must_use]
    pub const fn iter(&self) -> Tlvs<'a> {
        Tlvs::new(self.0)
    }
}

impl<'a> IntoIterator for Causes<'a> {
    type Item = Result<RawCause<'a>, TlvError>;
    type IntoIter = Tlvs<'a>;

    fn into_iter(self) -> Tlvs<'a> {
        self.iter()
    }
}

/// Writes causes into a chunk; their padding follows the rules of parameters.
#[derive(Debug)]
pub struct CauseWriter<'b>(ParamWriter<'b>);

impl<'b> CauseWriter<'b> {
    pub(crate) fn new(out: &'b mut Vec<u8>) -> Self {
        Self(ParamWriter::new(out))
    }

    pub(crate) fn last_padding(&self) -> usize {
        self.0.last_padding()
    }

    /// Appends a cause.
    pub fn add(&mut self, cause: &Cause<'_>) {
        self.0.with(|out| cause.emit(out));
    }

    /// Appends a cause of code `code` with `value`.
    pub fn raw(&mut self, code: u16, value: &[u8]) {
        self.0.raw(code, value);
    }

    /// Appends causes as they are; pads the last if its padding is missing.
    pub fn region(&mut self, causes: Causes<'_>) {
        self.0.region(Params::new(causes.0));
    }
}

#[cfg(test)]
mod tests;
