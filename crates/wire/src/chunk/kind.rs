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
/// Authentication (RFC 4895).
pub const AUTH: u8 = 0x0F;
/// Selective acknowledgement of data that will not be dropped (draft-tuexen-tsvwg-sctp-multipath).
pub const NR_SACK: u8 = 0x10;
/// Payload data with a message identifier (RFC 8260).
pub const I_DATA: u8 = 0x40;
/// Address configuration acknowledgement (RFC 5061).
pub const ASCONF_ACK: u8 = 0x80;
/// Packet dropped (draft-stewart-sctp-pktdrprep).
pub const PACKET_DROPPED: u8 = 0x81;
/// Re-configuration (RFC 6525).
pub const RE_CONFIG: u8 = 0x82;
/// Padding (RFC 4820).
pub const PAD: u8 = 0x84;
/// Forward cumulative TSN: the sender abandons DATA (RFC 3758).
pub const FORWARD_TSN: u8 = 0xC0;
/// Address configuration change (RFC 5061).
pub const ASCONF: u8 = 0xC1;
/// I-DATA's FORWARD-TSN (RFC 8260).
pub const I_FORWARD_TSN: u8 = 0xC2;
/// Payload data of a subflow (extension SF, [`CodePoints`](crate::sf::CodePoints)).
pub const SF_DATA: u8 = crate::sf::CodePoints::DEFAULT.data;
/// Selective acknowledgement of a subflow (extension SF).
pub const SF_SACK: u8 = crate::sf::CodePoints::DEFAULT.sack;
/// Forward the cumulative STSN of a subflow (extension SF).
pub const SF_FORWARD: u8 = crate::sf::CodePoints::DEFAULT.forward;

/// The name of a chunk type; `None` for one that nothing here reads.
#[must_use]
pub const fn name(kind: u8) -> Option<&'static str> {
    Some(match kind {
        DATA => "DATA",
        INIT => "INIT",
        INIT_ACK => "INIT ACK",
        SACK => "SACK",
        HEARTBEAT => "HEARTBEAT",
        HEARTBEAT_ACK => "HEARTBEAT ACK",
        ABORT => "ABORT",
        SHUTDOWN => "SHUTDOWN",
        SHUTDOWN_ACK => "SHUTDOWN ACK",
        ERROR => "ERROR",
        COOKIE_ECHO => "COOKIE ECHO",
        COOKIE_ACK => "COOKIE ACK",
        ECNE => "ECNE",
        CWR => "CWR",
        SHUTDOWN_COMPLETE => "SHUTDOWN COMPLETE",
        AUTH => "AUTH",
        NR_SACK => "NR-SACK",
        I_DATA => "I-DATA",
        ASCONF_ACK => "ASCONF-ACK",
        PACKET_DROPPED => "PKTDROP",
        RE_CONFIG => "RE-CONFIG",
        PAD => "PAD",
        FORWARD_TSN => "FORWARD-TSN",
        ASCONF => "ASCONF",
        I_FORWARD_TSN => "I-FORWARD-TSN",
        SF_DATA => "SF-DATA",
        SF_SACK => "SF-SACK",
        SF_FORWARD => "SF-FORWARD",
        _ => return None,
    })
}
