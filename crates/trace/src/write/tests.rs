use super::headers::{internet_checksum, ipv4_header};
use std::net::IpAddr;

use anabranch_base::{Dscp, Ecn};

use super::*;

fn packet(bytes: &[u8]) -> Packet<'_> {
    Packet {
        source: IpAddr::from([192, 168, 0, 1]),
        destination: IpAddr::from([192, 168, 0, 199]),
        protocol: 17,
        dscp: Dscp::DEFAULT,
        ecn: Ecn::NotEct,
        id: 0,
        way: None,
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
    // The sum over any header with its checksum is all ones.
    for id in [0, 1, 0x7fff, 0xffff] {
        let other = Packet { id, dscp: Dscp::new(46).unwrap(), ecn: Ecn::Ce, ..packet(&payload) };
        let header = ipv4_header([10, 0, 1, 1].into(), [255, 255, 255, 254].into(), &other);
        assert_eq!(internet_checksum(&header), 0, "id {id}");
        assert_eq!(header[1], 46 << 2 | 3);
    }
}

#[test]
fn the_file_has_a_section_its_interfaces_and_its_packets() {
    let interfaces = vec![
        Interface { name: "up".into(), speed: Some(10_000_000), from: 0, to: 1 },
        Interface { name: "down".into(), speed: None, from: 1, to: 0x0102_0304 },
    ];
    let mut capture = Capture::new(interfaces, None, None);
    let at = Instant::from_nanos(0x1_2345_6789);
    capture.packet(at, 1, &packet(&[1, 2, 3, 4, 5]));
    capture.packet(at, 0, &packet(&[7; 8]));
    let blocks = blocks(&capture.finish().unwrap().unwrap());
    assert_eq!(blocks.iter().map(|b| b.0).collect::<Vec<_>>(), [0x0a0d_0d0a, 1, 1, 6, 6]);
    assert_eq!(u32_at(&blocks[0].1, 0), 0x1a2b_3c4d);
    // LINKTYPE_ETHERNET, the same for all.
    assert!(blocks[1..3].iter().all(|b| b.1[..2] == [1, 0]));
    assert_eq!(blocks[1].1[8..14], [2, 0, 2, 0, b'u', b'p']);
    // Nanoseconds, in both.
    assert!(blocks[1..3].iter().all(|b| b.1.windows(5).any(|w| w == [9, 0, 1, 0, 9])));
    let body = &blocks[3].1;
    assert_eq!(u32_at(body, 0), 1);
    assert_eq!((u32_at(body, 4), u32_at(body, 8)), (1, 0x2345_6789));
    assert_eq!((u32_at(body, 12), u32_at(body, 16)), (14 + 25, 14 + 25));
    // To the node at the far end, from the one at the near end; IPv4.
    assert_eq!(body[20..34], [2, 0, 1, 2, 3, 4, 2, 0, 0, 0, 0, 1, 8, 0]);
    assert_eq!(body[34], 0x45);
    assert_eq!(body[54..59], [1, 2, 3, 4, 5]);
    assert_eq!(body.len(), 20 + 40);
    assert_eq!(blocks[4].1.len(), 20 + 44);
}

#[test]
fn ipv6_addresses_make_an_ipv6_header() {
    let mut capture = Capture::new(vec![interface("x")], None, None);
    let source = IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, 1]);
    capture.packet(
        Instant::ZERO,
        0,
        &Packet { source, destination: source, protocol: 132, ..packet(&[9; 16]) },
    );
    let body = &blocks(&capture.finish().unwrap().unwrap())[2].1;
    assert_eq!(u32_at(body, 12), 14 + 56);
    assert_eq!(body[32..34], [0x86, 0xdd]);
    assert_eq!(body[34] >> 4, 6);
    assert_eq!(body[38..42], [0, 16, 132, 64]);
    assert_eq!(body[42..44], [0x20, 0x01]);
}

fn interface(name: &str) -> Interface {
    Interface { name: name.into(), speed: None, from: 0, to: 1 }
}

#[test]
fn udp_over_ipv6_has_a_checksum_and_over_ipv4_none() {
    let mut capture = Capture::new(vec![interface("x")], None, None);
    let bytes = [0xc3, 0x50, 0xee, 0x48, 0, 11, 0, 0, 1, 2, 3];
    let v6 = IpAddr::from([0xfd00, 0, 0, 0, 0, 0, 0, 1]);
    capture.packet(Instant::ZERO, 0, &Packet { source: v6, destination: v6, ..packet(&bytes) });
    capture.packet(Instant::ZERO, 0, &packet(&bytes));
    let blocks = blocks(&capture.finish().unwrap().unwrap());
    let datagram = &blocks[2].1[20 + 14 + 40..][..11];
    assert_ne!(datagram[6..8], [0, 0]);
    // With the pseudo-header the sum is all ones.
    let mut covered = [[0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]; 2].concat();
    covered.extend([0, 0, 0, 11, 0, 0, 0, 17]);
    covered.extend(datagram);
    assert_eq!(internet_checksum(&covered), 0);
    assert_eq!(blocks[3].1[20 + 14 + 20..][..11], bytes);
}

#[test]
fn which_way_a_packet_goes_is_said_where_it_is_known() {
    let mut capture = Capture::new(vec![interface("x")], None, None);
    for way in [Way::In, Way::Out] {
        capture.packet(Instant::ZERO, 0, &Packet { way: Some(way), ..packet(&[1, 2, 3, 4]) });
    }
    capture.statistics(Instant::from_nanos(5), 0, 7, 2);
    let blocks = blocks(&capture.finish().unwrap().unwrap());
    // 14 + 20 + 4 bytes and two of padding; option 2, four bytes, the flags; the end of the options.
    assert_eq!(blocks[2].1[20 + 40..], [2, 0, 4, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(blocks[3].1[20 + 40..], [2, 0, 4, 0, 2, 0, 0, 0, 0, 0, 0, 0]);
    // A packet that comes in is for the near node.
    assert_eq!((blocks[2].1[25], blocks[3].1[25]), (0, 1));
    assert_eq!(blocks[4].0, 5);
    assert_eq!((blocks[4].1[16], blocks[4].1[28]), (7, 2));
}

/// A place to write to that a test can look at, or that is full after so many bytes.
#[derive(Clone)]
struct Shared(std::sync::Arc<std::sync::Mutex<Vec<u8>>>, usize);

impl Shared {
    fn with_room(room: usize) -> Self {
        Self(std::sync::Arc::default(), room)
    }
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let mut file = self.0.lock().unwrap();
        if file.len() + bytes.len() > self.1 {
            return Err(std::io::Error::other("full"));
        }
        file.extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_stream_is_what_would_have_been_in_memory() {
    let place = Shared::with_room(usize::MAX);
    let file = CaptureFile { format: CaptureFormat::Pcapng, out: Box::new(place.clone()) };
    let mut captures = [
        Capture::new(vec![interface("x")], None, None),
        Capture::new(vec![interface("x")], None, Some(file)),
    ];
    for capture in &mut captures {
        for at in 0..100 {
            capture.packet(Instant::from_nanos(at), 0, &packet(&vec![7; at as usize]));
        }
        // Written as it came: no packet waits.
        assert!(capture.block.is_empty());
    }
    let [memory, stream] = captures;
    assert_eq!(stream.finish(), Ok(None));
    assert_eq!(memory.finish().unwrap().unwrap(), *place.0.lock().unwrap());
}

#[test]
fn pcap_has_one_head_and_packets_of_all_interfaces() {
    let place = Shared::with_room(usize::MAX);
    let file = CaptureFile { format: CaptureFormat::Pcap, out: Box::new(place.clone()) };
    let mut capture = Capture::new(vec![interface("x"), interface("y")], Some(24), Some(file));
    capture.packet(Instant::from_nanos(3_000_000_005), 1, &packet(&[1, 2, 3]));
    capture.packet(Instant::from_nanos(4_000_000_000), 0, &packet(&[9; 200]));
    capture.finish().unwrap();
    let file = place.0.lock().unwrap();
    assert_eq!(file[..8], [0x4d, 0x3c, 0xb2, 0xa1, 2, 0, 4, 0]);
    assert_eq!((u32_at(&file, 16), u32_at(&file, 20)), (24 + 14, 1));
    assert_eq!((u32_at(&file, 24), u32_at(&file, 28)), (3, 5));
    // 14 + 20 + 3 bytes fit; of 14 + 20 + 200 the limit leaves 14 + 24.
    assert_eq!((u32_at(&file, 32), u32_at(&file, 36)), (37, 37));
    let second = 24 + 16 + 37;
    assert_eq!((u32_at(&file, second), u32_at(&file, second + 4)), (4, 0));
    assert_eq!((u32_at(&file, second + 8), u32_at(&file, second + 12)), (38, 234));
    assert_eq!(file.len(), second + 16 + 38);
}

#[test]
fn what_cannot_be_written_is_told_and_nothing_more_is_tried() {
    let place = Shared::with_room(200);
    let file = CaptureFile { format: CaptureFormat::Pcapng, out: Box::new(place.clone()) };
    let mut capture = Capture::new(vec![interface("x")], None, Some(file));
    capture.packet(Instant::ZERO, 0, &packet(&[1; 20]));
    assert_eq!(capture.failure(), None);
    capture.packet(Instant::ZERO, 0, &packet(&[1; 90]));
    assert_eq!(capture.failure(), Some("full"));
    let written = place.0.lock().unwrap().len();
    capture.packet(Instant::ZERO, 0, &packet(&[1; 2]));
    assert_eq!(place.0.lock().unwrap().len(), written);
    assert_eq!(capture.finish(), Err("full".to_owned()));
}
