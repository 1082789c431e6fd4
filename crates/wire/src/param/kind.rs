//! Parameter types (RFC 9260 tables 6 to 10).

/// Heartbeat Info.
pub const HEARTBEAT_INFO: u16 = 1;
/// IPv4 Address.
pub const IPV4_ADDRESS: u16 = 5;
/// IPv6 Address.
pub const IPV6_ADDRESS: u16 = 6;
/// State Cookie.
pub const STATE_COOKIE: u16 = 7;
/// Unrecognized Parameter.
pub const UNRECOGNIZED: u16 = 8;
/// Cookie Preservative.
pub const COOKIE_PRESERVATIVE: u16 = 9;
/// Host Name Address (deprecated).
pub const HOST_NAME: u16 = 11;
/// Supported Address Types.
pub const SUPPORTED_ADDRESS_TYPES: u16 = 12;
/// Outgoing SSN Reset Request (RFC 6525).
pub const OUTGOING_RESET: u16 = 13;
/// Incoming SSN Reset Request (RFC 6525).
pub const INCOMING_RESET: u16 = 14;
/// SSN/TSN Reset Request (RFC 6525).
pub const ASSOCIATION_RESET: u16 = 15;
/// Re-configuration Response (RFC 6525).
pub const RECONFIG_RESPONSE: u16 = 16;
/// Add Outgoing Streams Request (RFC 6525).
pub const ADD_OUTGOING_STREAMS: u16 = 17;
/// Add Incoming Streams Request (RFC 6525).
pub const ADD_INCOMING_STREAMS: u16 = 18;
/// ECN Capable (reserved).
pub const ECN_CAPABLE: u16 = 0x8000;
/// Supported Extensions (RFC 5061).
pub const SUPPORTED_EXTENSIONS: u16 = 0x8008;
/// Zero Checksum Acceptable (RFC 9653).
pub const ZERO_CHECKSUM_ACCEPTABLE: u16 = 0x8001;
/// Random number for keys (RFC 4895).
pub const RANDOM: u16 = 0x8002;
/// Chunks that the peer is to authenticate (RFC 4895).
pub const CHUNK_LIST: u16 = 0x8003;
/// Hashes in the order of preference (RFC 4895).
pub const HMAC_ALGORITHMS: u16 = 0x8004;
/// Padding (RFC 4820).
pub const PADDING: u16 = 0x8005;
/// SACKs may list a selection of gap blocks (this project's; not assigned by IANA). Action bits 10: skipped without a word.
pub const SELECTED_GAP_BLOCKS: u16 = crate::sf::SELECTED_GAP_BLOCKS;
/// Add IP Address (RFC 5061).
pub const ADD_IP_ADDRESS: u16 = 0xC001;
/// Delete IP Address (RFC 5061).
pub const DELETE_IP_ADDRESS: u16 = 0xC002;
/// Error Cause Indication (RFC 5061).
pub const ERROR_CAUSE_INDICATION: u16 = 0xC003;
/// Set Primary Address (RFC 5061).
pub const SET_PRIMARY_ADDRESS: u16 = 0xC004;
/// Success Indication (RFC 5061).
pub const SUCCESS_INDICATION: u16 = 0xC005;
/// Adaptation Layer Indication (RFC 5061).
pub const ADAPTATION_INDICATION: u16 = 0xC006;
/// Forward-TSN-Supported (RFC 3758).
pub const FORWARD_TSN_SUPPORTED: u16 = 0xC000;
/// Capabilities of the sender for subflows (extension SF, [`CodePoints`](crate::sf::CodePoints)).
pub const SF_CAP: u16 = crate::sf::CodePoints::DEFAULT.capability;
/// Request to open a subflow (extension SF).
pub const SF_ADD: u16 = crate::sf::CodePoints::DEFAULT.add;
/// Request to close a subflow (extension SF).
pub const SF_DEL: u16 = crate::sf::CodePoints::DEFAULT.delete;
