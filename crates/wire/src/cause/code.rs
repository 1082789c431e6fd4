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
/// Request to Delete Last Remaining IP Address (RFC 5061).
pub const DELETE_LAST_ADDRESS: u16 = 0x00A0;
/// Operation Refused Due to Resource Shortage (RFC 5061).
pub const RESOURCE_SHORTAGE: u16 = 0x00A1;
/// Request to Delete Source IP Address (RFC 5061).
pub const DELETE_SOURCE_ADDRESS: u16 = 0x00A2;
/// Association Aborted Due to Illegal ASCONF-ACK (RFC 5061).
pub const ILLEGAL_ASCONF_ACK: u16 = 0x00A3;
/// Request Refused - No Authorization (RFC 5061).
pub const NO_AUTHORIZATION: u16 = 0x00A4;
/// Unsupported HMAC Identifier (RFC 4895).
pub const UNSUPPORTED_HMAC: u16 = 0x0105;
/// SF-Violation (extension SF, [`CodePoints`](crate::sf::CodePoints)).
pub const SF_VIOLATION: u16 = crate::sf::CodePoints::DEFAULT.violation;
