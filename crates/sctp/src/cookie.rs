//! The State Cookie (RFC 9260, 5.1.3): everything needed to set up an association, under a MAC, so that answering
//! an INIT keeps no state. The MAC is checked before anything is read but the number of the key that it is to be checked with.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use anabranch_base::{Duration, Instant};
use anabranch_wire::Tsn;
use hmac::{Hmac, Mac};
use sha2::Sha256;

use crate::address::MAX_PEER_ADDRESSES;
use crate::negotiation::offer::Extensions;

const MAC_LEN: usize = 32;
/// Length of the filling, where cookies are filled up.
const FILLING_LEN: usize = 2;
const FIXED_LEN: usize = 8 + 8 + 4 * 7 + 2 * 4 + 1;
const ADDRESS_LEN: usize = 17;
/// Offset of the number of addresses: the last byte of the part that has a fixed length.
const COUNT_AT: usize = FIXED_LEN - 1;
/// In the number of addresses: a UDP port follows. Without UDP encapsulation there is none, and no byte for it.
const WITH_UDP_PORT: u8 = 0x80;
/// In the number of addresses: which key signed. There are fewer addresses than would need these bits.
const KEY_NUMBER: u8 = 0x60;
const KEY_NUMBER_SHIFT: u32 = KEY_NUMBER.trailing_zeros();
const _: () = assert!(MAX_PEER_ADDRESSES < 1 << KEY_NUMBER_SHIFT);

/// Contents of a cookie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cookie {
    pub(crate) created: Instant,
    pub(crate) life: Duration,
    pub(crate) local_tag: u32,
    pub(crate) peer_tag: u32,
    /// Tie-Tags of the association that existed when the INIT came, or 0 (5.2.2).
    pub(crate) local_tie: u32,
    pub(crate) peer_tie: u32,
    pub(crate) local_initial_tsn: Tsn,
    pub(crate) peer_initial_tsn: Tsn,
    pub(crate) peer_rwnd: u32,
    pub(crate) outbound_streams: u16,
    pub(crate) inbound_streams: u16,
    pub(crate) local_port: u16,
    pub(crate) peer_port: u16,
    /// Addresses of the peer. The source of its INIT, where the INIT ACK goes, comes first.
    pub(crate) addresses: Vec<IpAddr>,
    /// UDP port that the INIT ACK goes to under UDP encapsulation (RFC 6951), else 0.
    pub(crate) udp_port: u16,
    /// Extensions that were agreed on: answering an INIT keeps no other memory of them.
    pub(crate) extensions: Extensions,
}

/// The key that signs cookies. Drawn from the endpoint's random stream; never leaves it.
#[derive(Clone)]
pub(crate) struct CookieKey([u8; 32]);

impl std::fmt::Debug for CookieKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CookieKey(..)")
    }
}

/// Number of the key of an endpoint that signed a cookie. It stands in a byte that a cookie has anyway, and reveals
/// only the number of key replacements, modulo the number of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyNumber(u8);

impl KeyNumber {
    pub(crate) const FIRST: Self = Self(0);
    /// Number of keys.
    pub(crate) const COUNT: usize = (KEY_NUMBER >> KEY_NUMBER_SHIFT) as usize + 1;

    /// The number of the next key.
    pub(crate) fn next(self) -> Self {
        Self((self.0 + 1) % Self::COUNT as u8)
    }

    /// Key number in a cookie that is not verified: any host may have written it.
    pub(crate) fn of(sealed: &[u8]) -> Option<Self> {
        sealed.get(COUNT_AT).map(|byte| Self((byte & KEY_NUMBER) >> KEY_NUMBER_SHIFT))
    }

    /// Writes it into the contents of a cookie.
    pub(crate) fn write(self, contents: &mut [u8]) {
        if let Some(byte) = contents.get_mut(COUNT_AT) {
            *byte = (*byte & !KEY_NUMBER) | (self.0 << KEY_NUMBER_SHIFT);
        }
    }

    #[cfg(test)]
    pub(crate) fn test(number: u8) -> Self {
        Self(number)
    }
}

impl CookieKey {
    pub(crate) fn new(key: [u8; 32]) -> Self {
        Self(key)
    }

    // rfc9260:5.1.3-3
    fn mac(&self, contents: &[u8]) -> Option<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).ok()?;
        mac.update(contents);
        Some(mac)
    }

    /// Contents, with the number of this key, and MAC. With a `size` other than 0 the contents are filled up with zeros, so that the whole has that size
    /// where it is not larger anyway; the length of the filling stands before the MAC.
    // rfc9260:3.3.3.1.1-1 rfc9260:5.1.3-1
    pub(crate) fn seal(&self, number: KeyNumber, cookie: &Cookie, size: u16) -> Vec<u8> {
        let mut out = cookie.encode();
        number.write(&mut out);
        if size > 0 {
            let filling = usize::from(size).saturating_sub(out.len() + FILLING_LEN + MAC_LEN) as u16;
            out.resize(out.len() + usize::from(filling), 0);
            out.extend_from_slice(&filling.to_be_bytes());
        }
        if let Some(mac) = self.mac(&out) {
            out.extend_from_slice(&mac.finalize().into_bytes());
        }
        out
    }

    /// The contents, if this key signed them.
    pub(crate) fn open(&self, sealed: &[u8]) -> Option<Cookie> {
        let (contents, mac) = sealed.split_at_checked(sealed.len().checked_sub(MAC_LEN)?)?;
        // Compared in constant time by the library.
        self.mac(contents)?.verify_slice(mac).ok()?;
        // Contents are read to their end, so those with a filling are never taken for those without.
        let plain = Cookie::decode(contents);
        if plain.is_some() {
            return plain;
        }
        let (contents, filling) = contents.split_last_chunk::<FILLING_LEN>()?;
        let end = contents.len().checked_sub(usize::from(u16::from_be_bytes(*filling)))?;
        Cookie::decode(contents.get(..end)?)
    }
}

impl Cookie {
    /// The address to which the INIT ACK was sent, which the echo of the cookie confirms: "For the receiver of the
    /// COOKIE ECHO chunk, the only CONFIRMED address is the address to which the packet containing the INIT ACK chunk
    /// was sent" (5.4).
    pub(crate) fn shown(&self) -> Option<SocketAddr> {
        self.addresses.first().map(|address| SocketAddr::new(*address, self.udp_port))
    }

    /// The peer's SCTP port and ours.
    pub(crate) fn ports(&self) -> (u16, u16) {
        (self.peer_port, self.local_port)
    }

    // rfc9260:5.1.3-2 rfc9260:5.1.3-7
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(FIXED_LEN + self.addresses.len() * ADDRESS_LEN + MAC_LEN);
        out.extend_from_slice(&self.created.as_nanos().to_be_bytes());
        out.extend_from_slice(&self.life.as_nanos().to_be_bytes());
        let words = [
            self.local_tag,
            self.peer_tag,
            self.local_tie,
            self.peer_tie,
            self.local_initial_tsn.get(),
            self.peer_initial_tsn.get(),
            self.peer_rwnd,
        ];
        for word in words {
            out.extend_from_slice(&word.to_be_bytes());
        }
        for half in [self.outbound_streams, self.inbound_streams, self.local_port, self.peer_port] {
            out.extend_from_slice(&half.to_be_bytes());
        }
        // The INIT ACK must fit a packet and stay small: "An implementation SHOULD make the cookie as small as
        // possible".
        let addresses = &self.addresses[..self.addresses.len().min(MAX_PEER_ADDRESSES)];
        if self.udp_port == 0 {
            out.push(addresses.len() as u8);
        } else {
            out.push(addresses.len() as u8 | WITH_UDP_PORT);
            out.extend_from_slice(&self.udp_port.to_be_bytes());
        }
        for address in addresses {
            match address {
                IpAddr::V4(v4) => {
                    out.push(4);
                    out.extend_from_slice(&v4.octets());
                    out.extend_from_slice(&[0; 12]);
                }
                IpAddr::V6(v6) => {
                    out.push(6);
                    out.extend_from_slice(&v6.octets());
                }
            }
        }
        self.extensions.encode(&mut out);
        out
    }

    pub(crate) fn decode(mut bytes: &[u8]) -> Option<Self> {
        let b = &mut bytes;
        let created = Instant::from_nanos(u64::from_be_bytes(take(b)?));
        let life = Duration::from_nanos(u64::from_be_bytes(take(b)?));
        let mut word = || take(b).map(u32::from_be_bytes);
        let (local_tag, peer_tag, local_tie, peer_tie) = (word()?, word()?, word()?, word()?);
        let (local_initial_tsn, peer_initial_tsn, peer_rwnd) =
            (Tsn::new(word()?), Tsn::new(word()?), word()?);
        let mut half = || take(b).map(u16::from_be_bytes);
        let (outbound_streams, inbound_streams, local_port, peer_port) = (half()?, half()?, half()?, half()?);
        let [count] = take(b)?;
        let udp_port = if count & WITH_UDP_PORT == 0 {
            0
        } else {
            // One way to write each: 0 has no bytes.
            Some(u16::from_be_bytes(take(b)?)).filter(|port| *port != 0)?
        };
        let count = count & !(WITH_UDP_PORT | KEY_NUMBER);
        let mut addresses = Vec::with_capacity(usize::from(count).min(MAX_PEER_ADDRESSES));
        for _ in 0..count {
            let [family] = take(b)?;
            let octets: [u8; 16] = take(b)?;
            let [a, c, d, e, ..] = octets;
            addresses.push(match family {
                4 => IpAddr::V4(Ipv4Addr::new(a, c, d, e)),
                6 => IpAddr::V6(Ipv6Addr::from(octets)),
                _ => return None,
            });
        }
        let extensions = Extensions::decode(bytes)?;
        Some(Self {
            created,
            life,
            local_tag,
            peer_tag,
            local_tie,
            peer_tie,
            local_initial_tsn,
            peer_initial_tsn,
            peer_rwnd,
            outbound_streams,
            inbound_streams,
            local_port,
            peer_port,
            addresses,
            udp_port,
            extensions,
        })
    }
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (head, tail) = bytes.split_first_chunk::<N>()?;
    *bytes = tail;
    Some(*head)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::{any, prop, prop_assert_eq, proptest};

    pub(crate) fn cookie() -> Cookie {
        Cookie {
            created: Instant::from_nanos(5),
            life: Duration::from_secs(60),
            local_tag: 1,
            peer_tag: 2,
            local_tie: 3,
            peer_tie: 4,
            local_initial_tsn: Tsn::new(5),
            peer_initial_tsn: Tsn::new(6),
            peer_rwnd: 7,
            outbound_streams: 8,
            inbound_streams: 9,
            local_port: 10,
            peer_port: 11,
            addresses: vec![IpAddr::from([10, 0, 0, 1]), IpAddr::V6(Ipv6Addr::LOCALHOST)],
            udp_port: 0,
            extensions: Extensions { interleaving: true, ..Extensions::default() },
        }
    }

    // rfc9260:3.3.3.1.1-1 rfc9260:5.1.3-1 rfc9260:5.1.3-2 rfc9260:5.1.3-3
    #[test]
    fn any_change_is_refused() {
        let key = CookieKey::new([1; 32]);
        let natural = key.seal(KeyNumber::FIRST, &cookie(), 0).len();
        assert!(natural <= 512);
        for (size, len) in [(0, natural), (1, natural + 2), (300, 300)] {
            refuses_changes(&key, size, len);
        }
    }

    fn refuses_changes(key: &CookieKey, size: u16, len: usize) {
        let sealed = key.seal(KeyNumber::FIRST, &cookie(), size);
        assert_eq!(sealed.len(), len);
        assert_eq!(key.open(&sealed), Some(cookie()));
        for bit in 0..sealed.len() * 8 {
            let mut forged = sealed.clone();
            forged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(key.open(&forged), None, "bit {bit}");
        }
        for len in 0..sealed.len() {
            assert_eq!(key.open(&sealed[..len]), None);
        }
        let mut longer = sealed.clone();
        longer.push(0);
        assert_eq!(key.open(&longer), None);
        assert_eq!(CookieKey::new([2; 32]).open(&sealed), None);
    }

    #[test]
    fn a_udp_port_costs_two_bytes_where_there_is_one() {
        let key = CookieKey::new([3; 32]);
        let most = vec![IpAddr::V6(Ipv6Addr::LOCALHOST); MAX_PEER_ADDRESSES];
        let plain = Cookie { addresses: most, ..cookie() };
        let encapsulated = Cookie { udp_port: 9899, ..plain.clone() };
        let sealed = key.seal(KeyNumber::FIRST, &encapsulated, 0);
        assert_eq!(sealed.len(), key.seal(KeyNumber::FIRST, &plain, 0).len() + 2);
        assert!(sealed.len() <= 512);
        assert_eq!(key.open(&sealed).and_then(|c| c.shown()), Some((Ipv6Addr::LOCALHOST, 9899).into()));
    }

    proptest! {
        /// The decoder alone, as if the MAC had been forged.
        #[test]
        fn decoding_any_bytes_is_safe(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Some(cookie) = Cookie::decode(&bytes) {
                prop_assert_eq!(cookie.encode().len(), bytes.len());
            }
        }
    }
}
