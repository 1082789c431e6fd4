use super::*;
use proptest::prelude::*;
use std::net::{Ipv4Addr, Ipv6Addr};

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

fn hex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap()).collect()
}

/// Captured on a Linux machine's loopback: a SYN to a closed port, and the RST that came back. The RST's checksum
/// was computed by the kernel; the SYN's was left to hardware that loopback does not have.
#[test]
fn real_packets() {
    let syn = hex("d83610017e0a647500000000a002ffd7fe3000000204ffd70402080a9de3e2a6000000000103030a");
    let (header, payload) = Header::parse(&syn).unwrap();
    assert_eq!((header.source, header.destination, header.seq), (0xd836, 0x1001, 0x7e0a_6475));
    assert_eq!(header.flags, Flags::SYN);
    let expected = Options {
        mss: Some(0xffd7),
        window_scale: Some(10),
        sack_permitted: true,
        timestamps: Some((0x9de3_e2a6, 0)),
        sack: SackBlocks::default(),
    };
    assert_eq!(header.options, expected);
    assert!(payload.is_empty());
    // We order and pad options as this stack does.
    let mut again = Vec::new();
    header.emit(&mut again);
    assert_eq!((&again[..16], &again[18..]), (&syn[..16], &syn[18..]));

    let rst = hex("1001d836000000007e0a647650140000e7150000");
    assert!(verify(&rst, LOOPBACK, LOOPBACK));
    let (header, _) = Header::parse(&rst).unwrap();
    assert_eq!((header.flags, header.ack), (Flags::RST | Flags::ACK, 0x7e0a_6476));
    let mut again = Vec::new();
    header.emit(&mut again);
    seal(&mut again, LOOPBACK, LOOPBACK);
    assert_eq!(again, rst);
}

#[test]
fn wrong_lengths_are_refused() {
    let mut segment = vec![0_u8; 20];
    assert_eq!(Header::parse(&segment[..19]), Err(ParseError::Short(19)));
    segment[12] = 0x40;
    assert_eq!(Header::parse(&segment), Err(ParseError::DataOffset { offset: 16, len: 20 }));
    segment[12] = 0x60;
    assert_eq!(Header::parse(&segment), Err(ParseError::DataOffset { offset: 24, len: 20 }));
    segment.extend_from_slice(&[8, 10, 0, 0]);
    assert_eq!(Header::parse(&segment), Err(ParseError::Option(8)));
    segment[20..].copy_from_slice(&[99, 1, 0, 0]);
    assert_eq!(Header::parse(&segment), Err(ParseError::Option(99)));
    // An option that we do not know is skipped.
    segment[20..].copy_from_slice(&[99, 3, 7, 0]);
    assert!(Header::parse(&segment).is_ok());
}

/// RFC 1071 the slow way: 16-bit big-endian words, carries added back.
fn slow_checksum(segment: &[u8], source: &[u8], destination: &[u8]) -> u16 {
    let mut all = [source, destination].concat();
    all.extend_from_slice(&(segment.len() as u32).to_be_bytes());
    all.extend_from_slice(&[0, 0, 0, 6]);
    all.extend_from_slice(segment);
    if all.len() % 2 == 1 {
        all.push(0);
    }
    let mut sum = 0_u32;
    for word in all.chunks(2) {
        sum += u32::from(word[0]) << 8 | u32::from(word[1]);
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

fn any_header() -> impl Strategy<Value = Header> {
    let sack = prop::collection::vec(any::<(u32, u32)>(), 0..4);
    let options =
        (any::<Option<u16>>(), any::<Option<u8>>(), any::<bool>(), any::<Option<(u32, u32)>>(), sack)
            .prop_map(|(mss, window_scale, sack_permitted, timestamps, blocks)| {
                let mut sack = SackBlocks::default();
                // 40 bytes hold three blocks beside a timestamp, none beside everything.
                let most = if mss.is_some() || window_scale.is_some() || sack_permitted { 1 } else { 3 };
                blocks.iter().take(most).for_each(|(a, b)| sack.push(*a, *b));
                Options { mss, window_scale, sack_permitted, timestamps, sack }
            });
    (any::<[u16; 4]>(), any::<[u32; 2]>(), any::<u8>(), options).prop_map(|(w, d, flags, options)| Header {
        source: w[0],
        destination: w[1],
        seq: d[0],
        ack: d[1],
        flags: Flags(flags),
        window: w[2],
        urgent: w[3],
        options,
    })
}

proptest! {
    #[test]
    fn emit_then_parse_is_the_same(header in any_header(), payload in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut segment = Vec::new();
        header.emit(&mut segment);
        prop_assert_eq!(segment.len(), header.size());
        segment.extend_from_slice(&payload);
        let (back, rest) = Header::parse(&segment).unwrap();
        prop_assert_eq!(back, header);
        prop_assert_eq!(rest, &payload[..]);
    }

    #[test]
    fn arbitrary_bytes_never_panic_and_reparse(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        let mut bytes = bytes;
        // Half of the time with an offset that fits, so that options are reached.
        if bytes.len() >= 60 && bytes[0] % 2 == 0 {
            bytes[12] = 0xf0;
        }
        if let Ok((header, _)) = Header::parse(&bytes) {
            let mut again = Vec::new();
            header.emit(&mut again);
            if header.size() <= 60 {
                prop_assert_eq!(Header::parse(&again).unwrap().0, header);
            }
        }
    }

    #[test]
    fn checksum_agrees_with_the_slow_way_and_finds_flipped_bits(
        payload in prop::collection::vec(any::<u8>(), 0..300), a in any::<u32>(), b in any::<u128>(), flip in any::<u16>(),
    ) {
        let mut segment = Vec::new();
        Header { seq: a, ..Header::default() }.emit(&mut segment);
        segment.extend_from_slice(&payload);
        let v4 = (Ipv4Addr::from(a), Ipv4Addr::from(!a));
        prop_assert_eq!(checksum(&segment, v4.0.into(), v4.1.into()), slow_checksum(&segment, &v4.0.octets(), &v4.1.octets()));
        let v6 = (Ipv6Addr::from(b), Ipv6Addr::from(b.rotate_left(9)));
        prop_assert_eq!(checksum(&segment, v6.0.into(), v6.1.into()), slow_checksum(&segment, &v6.0.octets(), &v6.1.octets()));
        seal(&mut segment, v6.0.into(), v6.1.into());
        prop_assert!(verify(&segment, v6.0.into(), v6.1.into()));
        let at = usize::from(flip) % segment.len();
        segment[at] ^= 1 << (flip % 8);
        prop_assert!(!verify(&segment, v6.0.into(), v6.1.into()));
    }
}
