//! Chunk types (RFC 9260 table 1).

/// Payload data.
pub const DATA: u8 = 0;
/// Initiation.
pub const INIT: u8 = 1;
/// Initiation acknowledgement.
pub const INIT_ACK: u8 = 2;
/// Selective acknowledgement.
pub const SACK: u8 = 3;
/// Heartbeat request.
pub const HEARTBEAT: u8 = 4;
/// Heartbeat acknowledgement.
pub const HEARTBEAT_ACK: u8 = 5;
/// Abort association.
pub const ABORT: u8 = 6;
/// Shutdown association.
pub const SHUTDOWN: u8 = 7;
/// Shutdown acknowledgement.
pub const SHUTDOWN_ACK: u8 = 8;
/// Operation error.
pub const ERROR: u8 = 9;
/// State cookie.
pub const COOKIE_ECHO: u8 = 10;
/// Cookie acknowledgement.
pub const COOKIE_ACK: u8 = 11;
/// Explicit congestion notification echo (reserved).
pub const ECNE: u8 = 12;
/// Congestion window reduced (reserved).
pub const CWR: u8 = 13;
/// Shutdown complete.
pub const SHUTDOWN_COMPLETE: u8 = 14;
/// Payload data with a message identifier (RFC 8260).
pub const I_DATA: u8 = 0x40;
/// Re-configuration (RFC 6525).
pub const RE_CONFIG: u8 = 0x82;
/// Padding (RFC 4820).
pub const PAD: u8 = 0x84;
/// What a sender of DATA gives up (RFC 3758).
pub const FORWARD_TSN: u8 = 0xC0;
/// I-DATA's FORWARD-TSN (RFC 8260).
pub const I_FORWARD_TSN: u8 = 0xC2;
/// Payload data of a subflow (extension SF, [`CodePoints`](crate::sf::CodePoints)).
pub const SF_DATA: u8 = crate::sf::CodePoints::DEFAULT.data;
/// Selective acknowledgement of a subflow (extension SF).
pub const SF_SACK: u8 = crate::sf::CodePoints::DEFAULT.sack;
/// Forward the cumulative STSN of a subflow (extension SF).
pub const SF_FORWARD: u8 = crate::sf::CodePoints::DEFAULT.forward;
