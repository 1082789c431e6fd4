//! Cause codes (RFC 9260 table 11).

/// Invalid Stream Identifier.
pub const INVALID_STREAM: u16 = 1;
/// Missing Mandatory Parameter.
pub const MISSING_PARAMETERS: u16 = 2;
/// Stale Cookie.
pub const STALE_COOKIE: u16 = 3;
/// Out of Resource.
pub const OUT_OF_RESOURCE: u16 = 4;
/// Unresolvable Address.
pub const UNRESOLVABLE_ADDRESS: u16 = 5;
/// Unrecognized Chunk Type.
pub const UNRECOGNIZED_CHUNK: u16 = 6;
/// Invalid Mandatory Parameter.
pub const INVALID_MANDATORY_PARAMETER: u16 = 7;
/// Unrecognized Parameters.
pub const UNRECOGNIZED_PARAMETERS: u16 = 8;
/// No User Data.
pub const NO_USER_DATA: u16 = 9;
/// Cookie Received While Shutting Down.
pub const COOKIE_WHILE_SHUTTING_DOWN: u16 = 10;
/// Restart of an Association with New Addresses.
pub const RESTART_WITH_NEW_ADDRESSES: u16 = 11;
/// User-Initiated Abort.
pub const USER_INITIATED_ABORT: u16 = 12;
/// Protocol Violation.
pub const PROTOCOL_VIOLATION: u16 = 13;
/// Restart of an Association with New Encapsulation Port (draft-ietf-tsvwg-rfc6951-bis).
pub const RESTART_WITH_NEW_PORT: u16 = 14;
/// SF-Violation (extension SF, [`CodePoints`](crate::sf::CodePoints)).
pub const SF_VIOLATION: u16 = crate::sf::CodePoints::DEFAULT.violation;
