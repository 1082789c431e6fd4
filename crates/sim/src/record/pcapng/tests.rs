use super::*;

fn packet(bytes: &[u8]) -> Packet<'_> {
    Packet {
        source: IpAddr::from([192, 168, 0, 1]),
        destination: IpAddr::from([192, 168, 0, 199]),
        protocol: 17,
        dscp: Dscp::DEFAULT,
        ecn: Ecn::NotEct,
        id: 0,
        bytes,
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// Splits a capture into (type, body), checking both lengths of every block.
fn blocks(mut file: &[u8]) -> Vec<(u32, Vec<u8>)> {
    let mut out = Vec::new();
    while !file.is_empty() {
        let length = u32_at(file, 4) as usize;
        assert_eq!(length % 4, 0);
        assert_eq!(u32_at(file, length - 4) as usize, length);
        out.push((u32_at(file, 0), file[8..length - 4].to_vec()));
        file = &file[length..];
    }
    out
}

#[test]
fn the_checksum_of_a_known_header_is_right() {
    // The example that every textbook uses: 4500 0073 0000 4000 4011 b861 c0a8 0001 c0a8 00c7.
    let payload = [0; 0x73 - 20];
    let header = ipv4_header([192, 168, 0, 1].into(), [192, 168, 0, 199].into(), &packet(&payload));
    assert_eq!(header[10..12], [0xb8, 0x61]);
    // Whatever the header, the sum over all of it with its checksum is all ones.
    for id in [0, 1, 0x7fff, 0xffff] {
        let other = Packet { id, dscp: Dscp::new(46).unwrap(), ecn: Ecn::Ce, ..packet(&payload) };
        let header = ipv4_header([10, 0, 1, 1].into(), [255, 255, 255, 254].into(), &other);
        assert_eq!(internet_checksum(&header), 0, "id {id}");
        assert_eq!(header[1], 46 << 2 | 3);
    }
}

#[test]
fn the_file_has_a_section_its_interfaces_and_its_packets() {
    let interfaces = [
        Interface { name: "up".into(), speed: Some(10_000_000) },
        Interface { name: "down".into(), speed: None },
    ];
    let mut capture = Capture::new(&interfaces);
    let at = Instant::from_nanos(0x1_2345_6789);
    capture.packet(at, 1, &packet(&[1, 2, 3, 4, 5]));
    capture.packet(at, 0, &packet(&[7; 8]));
    let blocks = blocks(&capture.finish());
    assert_eq!(blocks.iter().map(|b| b.0).collect::<Vec<_>>(), [0x0a0d_0d0a, 1, 1, 6, 6]);
    assert_eq!(u32_at(&blocks[0].1, 0), 0x1a2b_3c4d);
    assert_eq!(blocks[1].1[..2], 101_u16.to_le_bytes());
    assert_eq!(blocks[1].1[8..14], [2, 0, 2, 0, b'u', b'p']);
    // Nanoseconds, in both.
    assert!(blocks[1..3].iter().all(|b| b.1.windows(5).any(|w| w == [9, 0, 1, 0, 9])));
    let body = &blocks[3].1;
    assert_eq!(u32_at(body, 0), 1);
    assert_eq!((u32_at(body, 4), u32_at(body, 8)), (1, 0x2345_6789));
    assert_eq!((u32_at(body, 12), u32_at(body, 16)), (25, 25));
    assert_eq!(body[20], 0x45);
    assert_eq!(body[40..45], [1, 2, 3, 4, 5]);
    assert_eq!(body.len(), 20 + 28);
    assert_eq!(blocks[4].1.len(), 20 + 28);
}

#[test]
fn ipv6_addresses_make_an_ipv6_header() {
    let mut capture = Capture::new(&[Interface { name: "x".into(), speed: None }]);
    let source = IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, 1]);
    capture.packet(
        Instant::ZERO,
        0,
        &Packet { source, destination: source, protocol: 132, ..packet(&[9; 16]) },
    );
    let body = &blocks(&capture.finish())[2].1;
    assert_eq!(u32_at(body, 12), 56);
    assert_eq!(body[20] >> 4, 6);
    assert_eq!(body[24..28], [0, 16, 132, 64]);
    assert_eq!(body[28..30], [0x20, 0x01]);
}
