//! The alphabet of an attacker: the chunk kinds of the published model and the two INITs with a tag of zero, each under three tags.

use anabranch_wire::crc32c;

/// Packets that the attacker sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Forged {
    Init,
    InitTagZero,
    InitAck,
    InitAckTagZero,
    Abort,
    Shutdown,
    ShutdownAck,
    /// A cookie that nobody made.
    CookieEcho,
    /// The last cookie that the peer echoed.
    CookieReplayed,
    CookieAck,
    ShutdownComplete,
    StaleCookie,
    Data,
    Sack,
}

pub(crate) const ALPHABET: [Forged; 14] = [
    Forged::Init,
    Forged::InitTagZero,
    Forged::InitAck,
    Forged::InitAckTagZero,
    Forged::Abort,
    Forged::Shutdown,
    Forged::ShutdownAck,
    Forged::CookieEcho,
    Forged::CookieReplayed,
    Forged::CookieAck,
    Forged::ShutdownComplete,
    Forged::StaleCookie,
    Forged::Data,
    Forged::Sack,
];

/// Under which verification tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tag {
    /// The tag of the association: the attacker is on the path.
    Right,
    Wrong,
    Zero,
}

/// A number that nobody draws here.
pub(crate) const WRONG: u32 = 0x0666_0666;

/// Values that the attacker has observed.
#[derive(Clone, Copy, Default)]
pub(crate) struct Observed<'a> {
    /// First TSN of the victim, and of its peer.
    pub(crate) tsns: (u32, u32),
    pub(crate) cookie: Option<&'a [u8]>,
}

/// The packet; `None` where there is nothing to replay.
pub(crate) fn forge(what: Forged, tag: u32, port: u16, observed: Observed<'_>) -> Option<Vec<u8>> {
    let init = |tag: u32| {
        let mut body = tag.to_be_bytes().to_vec();
        body.extend_from_slice(&[0, 1, 0, 0, 0, 2, 0, 2]);
        body.extend_from_slice(&WRONG.to_be_bytes());
        body
    };
    let init_ack = |tag: u32| {
        let mut body = init(tag);
        body.extend_from_slice(&[0, 7, 0, 8, 1, 2, 3, 4]);
        body
    };
    let before = observed.tsns.0.wrapping_sub(1).to_be_bytes();
    let (kind, flags, body) = match what {
        Forged::Init => (1, 0, init(WRONG)),
        Forged::InitTagZero => (1, 0, init(0)),
        Forged::InitAck => (2, 0, init_ack(WRONG)),
        Forged::InitAckTagZero => (2, 0, init_ack(0)),
        Forged::Abort => (6, 0, Vec::new()),
        Forged::Shutdown => (7, 0, before.to_vec()),
        Forged::ShutdownAck => (8, 0, Vec::new()),
        Forged::CookieEcho => (10, 0, vec![9; 80]),
        Forged::CookieReplayed => (10, 0, observed.cookie?.to_vec()),
        Forged::CookieAck => (11, 0, Vec::new()),
        Forged::ShutdownComplete => (14, 0, Vec::new()),
        Forged::StaleCookie => (9, 0, vec![0, 3, 0, 8, 0, 0, 0, 99]),
        Forged::Data => {
            let mut body = observed.tsns.1.to_be_bytes().to_vec();
            body.extend_from_slice(&[0, 0, 0, 0, 0, 0, 0, 0, b'E', b'V', b'I', b'L']);
            (0, 3, body)
        }
        Forged::Sack => (3, 0, [&before[..], &[0, 1, 0, 0, 0, 0, 0, 0]].concat()),
    };
    let mut packet = [port.to_be_bytes(), port.to_be_bytes()].concat();
    packet.extend_from_slice(&tag.to_be_bytes());
    packet.extend_from_slice(&[0; 4]);
    packet.extend_from_slice(&[kind, flags]);
    packet.extend_from_slice(&(body.len() as u16 + 4).to_be_bytes());
    packet.extend_from_slice(&body);
    packet.resize(packet.len().next_multiple_of(4), 0);
    let sum = crc32c::packet_checksum(&packet);
    packet[8..12].copy_from_slice(&crc32c::store(sum));
    Some(packet)
}
