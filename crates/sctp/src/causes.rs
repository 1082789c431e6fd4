//! Error causes, encoded and read; ABORT and ERROR chunks made of them.

use std::net::IpAddr;

use anabranch_wire::Tsn;
use anabranch_wire::cause::{
    self, Cause, Causes, CookieWhileShuttingDown, InvalidMandatoryParameter, InvalidStream, NoUserData,
    OutOfResource, ProtocolViolation, RestartWithNewAddresses, RestartWithNewPort, StaleCookie,
    UnrecognizedChunk, UnrecognizedParameters, UserInitiatedAbort,
};
use anabranch_wire::chunk::{Abort, ErrorChunk};
use anabranch_wire::param::{Ipv4Address, Ipv6Address, Params};

use crate::event::AbortReason;

/// Bytes of an offending chunk or parameter that are echoed: the report must fit a packet.
const MAX_ECHO: usize = 448;
/// Bytes of a peer's reason for an abort that are passed on: it is held until our user reads it.
const MAX_REASON: usize = 1024;
/// Causes read of one chunk.
const MAX_CAUSES: usize = 16;

fn encode(cause: &Cause<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    cause.emit(&mut out);
    out
}

fn cut(bytes: &[u8]) -> &[u8] {
    bytes.get(..MAX_ECHO).unwrap_or(bytes)
}

/// "Invalid Stream Identifier".
pub(crate) fn invalid_stream(stream: u16) -> Vec<u8> {
    encode(&Cause::InvalidStream(InvalidStream { stream }))
}

/// "No User Data".
pub(crate) fn no_user_data(tsn: Tsn) -> Vec<u8> {
    encode(&Cause::NoUserData(NoUserData { tsn }))
}

/// "Invalid Mandatory Parameter": "returned to the originator of an INIT or INIT ACK chunk when one of the mandatory parameters
/// is set to an invalid value" (3.3.10.7).
pub(crate) fn invalid_mandatory_parameter() -> Vec<u8> {
    encode(&Cause::InvalidMandatoryParameter(InvalidMandatoryParameter))
}

/// "Protocol Violation", with a sentence for readers of the capture.
pub(crate) fn protocol_violation(what: &str) -> Vec<u8> {
    encode(&Cause::ProtocolViolation(ProtocolViolation { information: what.as_bytes() }))
}

/// The cause that an INIT or INIT ACK with too small an a_rwnd is answered with.
pub(crate) fn small_window() -> Vec<u8> {
    protocol_violation("an a_rwnd below 1500 bytes is not allowed")
}

/// "User-Initiated Abort".
pub(crate) fn user_abort(reason: &[u8]) -> Vec<u8> {
    encode(&Cause::UserInitiatedAbort(UserInitiatedAbort { reason: cut(reason) }))
}

/// "Unrecognized Chunk Type", with the chunk.
pub(crate) fn unrecognized_chunk(chunk: &[u8]) -> Vec<u8> {
    encode(&Cause::UnrecognizedChunk(UnrecognizedChunk { chunk: cut(chunk) }))
}

/// "Unrecognized Parameters", with one encoded parameter.
pub(crate) fn unrecognized_parameter(param: &[u8]) -> Vec<u8> {
    encode(&Cause::UnrecognizedParameters(UnrecognizedParameters { parameters: Params::new(cut(param)) }))
}

/// "Cookie Received While Shutting Down".
pub(crate) fn cookie_while_shutting_down() -> Vec<u8> {
    encode(&Cause::CookieWhileShuttingDown(CookieWhileShuttingDown))
}

/// "Out of Resource".
pub(crate) fn out_of_resource() -> Vec<u8> {
    encode(&Cause::OutOfResource(OutOfResource))
}

/// "Stale Cookie"; by how many microseconds.
pub(crate) fn stale_cookie_cause(staleness_us: u32) -> Vec<u8> {
    encode(&Cause::StaleCookie(StaleCookie { staleness_us }))
}

/// "Restart of an Association with New Addresses", with those.
pub(crate) fn restart_with_new_addresses(added: &[IpAddr]) -> Vec<u8> {
    let mut params = Vec::new();
    for address in added {
        match address {
            IpAddr::V4(address) => Ipv4Address { address: *address }.emit(&mut params),
            IpAddr::V6(address) => Ipv6Address { address: *address }.emit(&mut params),
        }
    }
    encode(&Cause::RestartWithNewAddresses(RestartWithNewAddresses { addresses: Params::new(cut(&params)) }))
}

/// "Restart of an Association with New Encapsulation Port": which it has, and which would be new.
pub(crate) fn restart_with_new_port(current: u16, new: u16) -> Vec<u8> {
    encode(&Cause::RestartWithNewPort(RestartWithNewPort { current, new }))
}

/// An ABORT chunk of encoded causes.
pub(crate) fn write_abort(out: &mut Vec<u8>, reflected_tag: bool, causes: &[u8]) {
    Abort { reflected_tag, causes: Causes::new(causes) }.emit(out);
}

/// An ERROR chunk of encoded causes.
pub(crate) fn write_error(out: &mut Vec<u8>, causes: &[u8]) {
    ErrorChunk { causes: Causes::new(causes) }.emit(out);
}

/// The codes of a chunk's causes, in order; reading stops at the first that is malformed.
pub(crate) fn names_unknown_chunk(causes: Causes<'_>, kind: u8) -> bool {
    causes.iter().flatten().any(|raw| {
        raw.kind == anabranch_wire::cause::code::UNRECOGNIZED_CHUNK && raw.value.first() == Some(&kind)
    })
}

/// True if the peer reports a parameter of that type as unrecognized.
pub(crate) fn names_unknown_parameter(causes: Causes<'_>, kind: u16) -> bool {
    causes.iter().flatten().filter(|raw| raw.kind == cause::code::UNRECOGNIZED_PARAMETERS).any(|raw| {
        let mut listed = anabranch_wire::param::Params::new(raw.value).into_iter().map_while(Result::ok);
        listed.any(|parameter| parameter.kind == kind)
    })
}

/// Cause codes in their order.
pub(crate) fn codes(causes: Causes<'_>) -> Vec<u16> {
    causes.iter().map_while(Result::ok).take(MAX_CAUSES).map(|raw| raw.kind).collect()
}

/// The reason that the peer's user gave for an abort, if any.
// rfc9260:9.1-7
pub(crate) fn abort_reason(causes: Causes<'_>) -> Option<Box<AbortReason>> {
    let said = causes
        .iter()
        .map_while(Result::ok)
        .take(MAX_CAUSES)
        .find(|raw| raw.kind == cause::code::USER_INITIATED_ABORT)
        .map_or(&[][..], |raw| raw.value);
    let said = said.get(..MAX_REASON).unwrap_or(said);
    (!said.is_empty()).then(|| Box::new(AbortReason(said.to_vec())))
}

/// True if "Stale Cookie" is among the causes. The measure of staleness in it is not read; nothing depends on it.
pub(crate) fn names_stale_cookie(causes: Causes<'_>) -> bool {
    let mut read = causes.iter().map_while(Result::ok).take(MAX_CAUSES);
    read.any(|raw| raw.kind == cause::code::STALE_COOKIE && Cause::parse(raw).is_ok())
}
