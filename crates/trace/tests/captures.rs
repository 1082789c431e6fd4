//! Captures byte by byte, as the format documents say; and damaged ones.

use anabranch_tcp::header::Flags;
use anabranch_trace::{Assumptions, Bottleneck, Capture, CaptureError, Filter, Reading, Reason, Trace};
use proptest::prelude::*;

use crate::common::{A, B, Order, data, infos, plain, segment, told, trace, trace_with, v4, v6};

const SHOWN: &str = "5000 > 80 ACK seq=0-100 ack=1 win=60000 len=100";

#[test]
fn classic_pcap_of_both_orders_and_units() {
    for order in [Order(false), Order(true)] {
        for (magic, unit) in [(0xa1b2_c3d4, 1000), (0xa1b2_3c4d, 1)] {
            let packet = plain();
            let file =
                order.pcap(magic, 101, &[(5, 7, &packet, packet.len()), (6, 9, &packet, packet.len())]);
            let capture = Capture::read(&file).unwrap();
            let times: Vec<i64> = capture.frames.iter().map(|frame| frame.time_ns).collect();
            assert_eq!(times, [5_000_000_000 + 7 * unit, 6_000_000_000 + 9 * unit]);
            assert_eq!(infos(&file), [SHOWN, SHOWN]);
            // Cut in the middle of the second packet: the first counts.
            let cut = &file[..file.len() - 3];
            assert_eq!(infos(cut).len(), 1);
            assert_eq!(Capture::read(cut).unwrap().notes.len(), 1);
        }
    }
}

#[test]
fn pcapng_of_both_orders_with_clocks_and_all_packet_blocks() {
    let packet = plain();
    let mut file = Vec::new();
    for order in [Order(false), Order(true)] {
        let offset = if order.0 { 100_i64.to_be_bytes() } else { 100_i64.to_le_bytes() };
        order.section(&mut file);
        order.interface(&mut file, 101, 0, &[(2, b"first"), (0, b"")]);
        order.interface(&mut file, 101, 0, &[(9, &[9]), (14, &offset), (0, b"")]);
        order.interface(&mut file, 101, 0, &[(9, &[0x80 | 10])]);
        order.enhanced(&mut file, 0, 3_000_001, &packet);
        order.enhanced(&mut file, 1, 4_000_000_001, &packet);
        order.enhanced(&mut file, 2, 5 << 10 | 512, &packet);
        // The obsolete block: interface and drops of 16 bits.
        let mut body = order.u16(1).to_vec();
        body.extend(order.u16(9));
        for field in [1, 705_032_704, packet.len() as u32, packet.len() as u32] {
            body.extend(order.u32(field));
        }
        body.extend(&packet);
        order.block(&mut file, 2, &body);
        // The simple one: no time.
        let mut body = order.u32(packet.len() as u32).to_vec();
        body.extend(&packet);
        order.block(&mut file, 3, &body);
        // Unknown, statistics.
        order.block(&mut file, 5, &[0; 12]);
        order.block(&mut file, 0x0bad_beef, &[1, 2, 3]);
    }
    let capture = Capture::read(&file).unwrap();
    let seen: Vec<(u32, i64)> = capture.frames.iter().map(|frame| (frame.interface, frame.time_ns)).collect();
    let one = [
        (0, 3_000_001_000),
        (1, 104_000_000_001),
        (2, 5_500_000_000),
        (1, 105_000_000_000),
        (0, 105_000_000_000),
    ];
    let two = one.map(|(interface, time)| (interface + 3, time));
    assert_eq!(seen, [one, two].concat());
    assert_eq!(capture.interface_name(0), "first");
    assert_eq!(capture.interface_name(4), "4");
    assert!(capture.notes[0].starts_with("2 packets have no time stamp"), "{:?}", capture.notes);
    // The same packet again and again, on one interface and on another: some of them are taken for copies.
    assert!(infos(&file).iter().all(|info| info.starts_with(SHOWN)));
}

#[test]
fn link_types() {
    let packet = plain();
    let ethernet = |kinds: &[u8]| [&[0xaa; 12], kinds, packet.as_slice(), &[0; 4]].concat();
    let cooked = [&[0, 0, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0, 8, 0], packet.as_slice()].concat();
    let cooked2 = [&[8, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0], packet.as_slice()].concat();
    let frames: [(u32, Vec<u8>); 13] = [
        (1, ethernet(&[8, 0])),
        (1, ethernet(&[0x81, 0, 0, 5, 8, 0])),
        (1, ethernet(&[0x88, 0xa8, 0, 5, 0x81, 0, 0, 6, 8, 0])),
        (1, ethernet(&[0, 148, 0xaa, 0xaa, 3, 0, 0, 0, 8, 0])),
        (1, ethernet(&[0x88, 0x64, 0x11, 0, 0, 1, 0, 142, 0, 0x21])),
        (0, [&[2, 0, 0, 0], packet.as_slice()].concat()),
        (108, [&[0, 0, 0, 2], packet.as_slice()].concat()),
        (101, packet.clone()),
        (228, packet.clone()),
        (12, packet.clone()),
        (113, cooked),
        (276, cooked2),
        (9, [&[0xff, 3, 0, 0x21], packet.as_slice()].concat()),
    ];
    for (link, frame) in frames {
        let file = Order(false).pcap(0xa1b2_c3d4, link, &[(0, 0, &frame, frame.len())]);
        assert_eq!(infos(&file), [SHOWN], "link type {link}");
    }
    let file = Order(false).pcap(0xa1b2_c3d4, 1, &[(0, 0, &[0xaa, 0xaa].repeat(20), 40)]);
    assert_eq!(trace(&file).skipped().values().sum::<u64>(), 1);
    let file = Order(false).pcap(0xa1b2_c3d4, 147, &[(0, 0, &packet, packet.len())]);
    assert_eq!(trace(&file).skipped().keys().next().unwrap(), "link type 147 is not known");
}

#[test]
fn ipv6_extension_headers_parts_and_udp() {
    let bare = &plain()[20..];
    // Hop-by-hop, destination options of two units, a fragment header of an unfragmented datagram.
    let mut extension = vec![60, 0, 1, 4, 0, 0, 0, 0];
    extension.extend([44, 1, 1, 12]);
    extension.extend([0; 12]);
    extension.extend([6, 0, 0, 0, 0, 0, 0, 9]);
    let whole = v6(0, &extension, bare);
    let part = v6(44, &[6, 0, 0, 0x10, 0, 0, 0, 9], &[1, 2, 3]);
    let packet = data(10, 100);
    let mut udp = vec![0x26, 0xab, 0x26, 0xab];
    udp.extend(((packet.len() - 20 + 8) as u16).to_be_bytes());
    udp.extend([0, 0]);
    udp.extend(&packet[20..]);
    let udp = v4(17, A, B, &udp);
    let tunnel = v4(4, A, B, &plain());
    let packets: Vec<&[u8]> = vec![&whole, &part, &udp, &tunnel];
    let packets: Vec<_> = packets.into_iter().map(|packet| (0, 0, packet, packet.len())).collect();
    let file = Order(true).pcap(0xa1b2_c3d4, 101, &packets);
    let lines: Vec<_> = trace(&file).lines().collect();
    assert!(lines[0].info.starts_with("5000 > 80 ACK seq=0-100"), "{}", lines[0].info);
    assert_eq!(lines[1].info, "bytes from 16 of protocol 6 id=0x9 (last)");
    assert_eq!(lines[2].protocol, "SCTP/UDP");
    assert!(lines[2].info.starts_with("5000 > 9 tag=0x00000001 DATA"), "{}", lines[2].info);
    assert_eq!((lines[3].info.as_str(), lines[3].size), (SHOWN, 160));
}

#[test]
fn what_was_not_kept_is_not_made_up() {
    // IP and common header, 16 bytes of DATA, nothing of the 1000 bytes behind it; then less than the fields of DATA.
    let packet = data(77, 1000);
    let file = Order(false).pcap(
        0xa1b2_c3d4,
        101,
        &[(0, 0, &packet, 52), (1, 0, &packet, 40), (2, 0, &packet, 22), (3, 0, &packet, 10)],
    );
    let trace = trace(&file);
    let lines: Vec<_> = trace.lines().collect();
    assert!(lines[0].info.contains("tsn=77") && lines[0].info.contains("[cut]"), "{}", lines[0].info);
    assert_eq!(lines[1].info, "5000 > 9 tag=0x00000001 [cut]");
    assert!(lines[2].info.contains("shorter"), "{}", lines[2].info);
    assert_eq!(lines.len(), 3);
    let flow = &trace.flows()[0];
    assert_eq!((flow.forward.purposes.payload, flow.forward.purposes.payload_again), (1000, 0));
    assert_eq!((flow.forward.packets, flow.forward.bytes), (2, 2 * packet.len() as u64));
}

/// Packets with times in milliseconds.
fn file(packets: &[(u32, Vec<u8>)]) -> Vec<u8> {
    let packets: Vec<_> = packets
        .iter()
        .map(|(ms, packet)| (ms / 1000, ms % 1000 * 1000, packet.as_slice(), packet.len()))
        .collect();
    Order(false).pcap(0xa1b2_c3d4, 101, &packets)
}

fn reasons(file: &[u8]) -> Vec<(u64, Reason, bool)> {
    let list = trace(file).retransmissions();
    list.iter().map(|again| (again.number, again.reason, again.spurious.is_some())).collect()
}

#[test]
fn sctp_fast_retransmit_timeout_and_duplicates() {
    let mut packets: Vec<(u32, Vec<u8>)> = vec![(0, data(100, 500)), (50, told(100, &[], &[]))];
    packets.extend((101..=105).map(|tsn| (100, data(tsn, 500))));
    packets.push((150, told(100, &[(2, 2)], &[])));
    packets.push((151, told(100, &[(2, 3)], &[])));
    packets.push((152, told(100, &[(2, 4)], &[])));
    packets.push((153, data(101, 500))); // 11: three reports
    packets.push((203, told(105, &[], &[])));
    packets.push((210, data(106, 500)));
    packets.push((211, data(107, 500)));
    packets.push((1300, data(106, 500))); // 15: silence
    packets.push((1300, data(107, 500))); // 16: behind it
    packets.push((1350, told(107, &[], &[106]))); // 106 had arrived
    packets.push((1400, data(107, 500))); // 18: acknowledged
    let file = file(&packets);
    assert_eq!(
        reasons(&file),
        [
            (11, Reason::FastRetransmit, false),
            (15, Reason::Timeout, true),
            (16, Reason::AfterTimeout, false),
            (18, Reason::Unneeded, true),
        ]
    );
    let flow = &trace(&file).flows()[0];
    assert_eq!(flow.forward.purposes.payload, 8 * 500);
    assert_eq!(flow.forward.purposes.payload_again, 4 * 500);
    assert_eq!(flow.forward.bytes, 12 * (20 + 12 + 16 + 500));
    assert_eq!(flow.back.purposes.acknowledgements, flow.back.bytes);
    assert_eq!(flow.back.bytes, 6 * (20 + 12 + 16) + 3 * 4 + 4);
}

#[test]
fn tcp_reasons() {
    let ack = |number, sack: &[(u32, u32)]| segment(true, 1, number, Flags::ACK, sack, 0);
    let send = |seq| segment(false, seq, 1, Flags::ACK, &[], 100);
    let mut packets: Vec<(u32, Vec<u8>)> = vec![
        (0, segment(false, 999, 0, Flags::SYN, &[], 0)),
        (50, segment(true, 0, 1000, Flags::SYN | Flags::ACK, &[], 0)),
        (50, segment(false, 1000, 1, Flags::ACK, &[], 0)),
    ];
    packets.extend((0..5).map(|at| (60, send(1000 + 100 * at)))); // 4 to 8
    packets.push((110, ack(1100, &[])));
    packets.push((111, ack(1100, &[(1200, 1300)])));
    packets.push((112, ack(1100, &[(1200, 1400)])));
    packets.push((113, ack(1100, &[(1200, 1500)])));
    packets.push((114, send(1100))); // 13
    packets.push((164, ack(1500, &[])));
    packets.push((165, send(1500)));
    packets.push((165, send(1600))); // 16
    packets.push((280, send(1600))); // 17: the last, too soon for a timer
    packets.push((330, ack(1500, &[(1600, 1700)])));
    packets.push((331, send(1500))); // 19: one report
    packets.push((381, ack(1700, &[])));
    packets.push((390, ack(1700, &[(1600, 1700)]))); // D-SACK
    packets.push((400, send(1200))); // 22: acknowledged long ago
    packets.push((500, segment(false, 1700, 1, Flags::ACK | Flags::FIN, &[], 0)));
    packets.push((1700, segment(false, 1700, 1, Flags::ACK | Flags::FIN, &[], 0))); // 24
    let file = file(&packets);
    assert_eq!(
        reasons(&file),
        [
            (13, Reason::FastRetransmit, false),
            (17, Reason::TailProbe, true),
            (19, Reason::Early, false),
            (22, Reason::Unneeded, true),
            (24, Reason::Timeout, false),
        ]
    );
    let flow = &trace(&file).flows()[0];
    assert_eq!(flow.handshake_s, Some(0.05));
    assert_eq!((flow.forward.purposes.payload, flow.forward.purposes.payload_again), (700, 400));
    let total: usize = packets.iter().map(|(_, packet)| packet.len()).sum();
    assert_eq!(flow.forward.bytes + flow.back.bytes, total as u64);
    let rtt = flow.forward.rtt.as_ref().unwrap();
    assert_eq!((rtt.min_s, rtt.max_s), (0.05, 0.05));
}

#[test]
fn files_that_are_no_captures() {
    for (bytes, expected) in [
        (b"".as_slice(), "0 bytes are no capture; allowed: pcapng, pcap"),
        (b"\x1f\x8b\x08\x00", "a file compressed with gzip: decompress it first; allowed: pcapng, pcap"),
        (b"snoop\0\0\0", "a capture in the format snoop; allowed: pcapng, pcap (editcap converts it)"),
        (b"#!/b", "no capture: it begins with [23, 21, 2f, 62]; allowed: pcapng, pcap"),
        (b"\xd4\xc3\xb2\xa1", "4 bytes are no capture; allowed: pcapng, pcap"),
    ] {
        assert_eq!(Capture::read(bytes).unwrap_err().to_string(), expected);
    }
    let wrong = Capture::read(b"\x0a\x0d\x0d\x0a\x1c\0\0\0abcdefghijklmnopqrst");
    assert!(matches!(wrong, Err(CaptureError::Header(_))));
}

/// A file with everything in it that has a reader.
fn sample(pcapng: bool) -> Vec<u8> {
    let mut packets: Vec<Vec<u8>> = vec![plain(), data(1, 30), data(2, 30), told(1, &[(2, 3)], &[1])];
    packets.push(segment(true, 9, 1001, Flags::ACK, &[(1101, 1201), (1301, 1401)], 0));
    packets.push(segment(false, 1001, 1, Flags::ACK, &[], 100));
    packets.push(v6(0, &[60, 0, 1, 4, 0, 0, 0, 0, 6, 0, 1, 4, 0, 0, 0, 0], &plain()[20..]));
    packets.push(v4(17, A, B, &[&[0x26, 0xab, 0, 9, 0, 60, 0, 0], &data(3, 4)[20..]].concat()));
    packets.push(v4(47, A, B, &[&[0, 0, 8, 0], plain().as_slice()].concat()));
    packets.push(v4(
        17,
        A,
        B,
        &[&[0, 9, 8, 0x68, 0, 88, 0, 0, 0x30, 0xff, 0, 72, 0, 0, 0, 1], data(4, 4).as_slice()].concat(),
    ));
    packets.push(v4(1, B, A, &[&[3, 2, 0, 0, 0, 0, 0, 0], data(4, 4).as_slice()].concat()));
    let mut part = v4(132, A, B, &data(5, 60)[20..]);
    part[6..8].copy_from_slice(&[0x20, 0]);
    let mut rest = v4(132, A, B, b"behind");
    rest[6..8].copy_from_slice(&[0, 11]);
    packets.extend([part.clone(), part, rest]);
    if !pcapng {
        let packets: Vec<_> =
            (0..).zip(&packets).map(|(at, packet)| (at, 0, packet.as_slice(), packet.len())).collect();
        return Order(true).pcap(0xa1b2_c3d4, 101, &packets);
    }
    let mut out = Vec::new();
    Order(false).section(&mut out);
    Order(false).interface(&mut out, 101, 0, &[(9, &[9])]);
    Order(false).interface(&mut out, 1, 96, &[(2, b"x")]);
    for (at, packet) in (0..).zip(&packets) {
        Order(false).enhanced(&mut out, at % 2, u64::from(at) << 20, packet);
    }
    out
}

/// Every question, so that nothing is left that could panic.
fn ask_everything(bytes: &[u8]) {
    let Ok(capture) = Capture::read(bytes) else { return };
    let trace = Trace::new(capture, &Reading::default(), &Filter::default(), &Assumptions::default());
    assert!(trace.lines().all(|line| line.number > 0));
    for flow in trace.flows() {
        for side in [&flow.forward, &flow.back] {
            let again: u64 = side.reasons.values().sum();
            assert!(side.spurious <= again && side.purposes.total() == side.bytes);
        }
    }
    let _ = trace.retransmissions();
    for report in trace.bottlenecks(Bottleneck { rate_bps: 1, limit: Some(2) }, None) {
        assert_eq!(report.passages.len() as u64, report.occupancy.packets);
    }
    let all = Filter { flows: vec![1, 2, 3], ..Filter::default() };
    if let Ok((svg, _)) = trace.plot(&all, None) {
        assert!(svg.ends_with("</svg>\n") && !svg.contains("NaN") && !svg.contains("inf"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn mutated_captures(
        pcapng: bool,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..12),
        cut in prop::option::weighted(0.3, any::<prop::sample::Index>()),
    ) {
        let mut bytes = sample(pcapng);
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        ask_everything(&bytes);
    }

    #[test]
    fn noise_behind_a_header(pcapng: bool, link in 0_u32..300, noise in prop::collection::vec(any::<u8>(), 0..300)) {
        let bytes = if pcapng {
            let mut out = Vec::new();
            Order(true).section(&mut out);
            Order(true).interface(&mut out, link as u16, 0, &[]);
            Order(true).enhanced(&mut out, 0, u64::MAX, &noise);
            out.extend(&noise);
            out
        } else {
            Order(false).pcap(0xa1b2_3c4d, link, &[(u32::MAX, u32::MAX, &noise, noise.len())])
        };
        ask_everything(&bytes);
    }

    #[test]
    fn noise_inside_ip(protocol in prop::sample::select(vec![6_u8, 17, 132, 4, 41, 1, 47, 58, 97, 137]), noise in prop::collection::vec(any::<u8>(), 0..200)) {
        let packet = v4(protocol, A, B, &noise);
        let file = Order(false).pcap(0xa1b2_3c4d, 101, &[(0, 0, &packet, packet.len()), (1, 0, &packet, packet.len())]);
        ask_everything(&file);
    }
}

#[test]
fn filters() {
    let packets = [(0, plain()), (10, data(1, 10)), (20, data(2, 10)), (30, told(2, &[], &[]))];
    let file = file(&packets);
    let count = |filter: Filter| trace_with(&file, &filter).lines().count();
    assert_eq!(count(Filter { flows: vec![2], ..Filter::default() }), 3);
    assert_eq!(count(Filter { protocol: Some(anabranch_trace::Protocol::Tcp), ..Filter::default() }), 1);
    assert_eq!(count(Filter { from_ns: Some(10_000_000), to_ns: Some(30_000_000), ..Filter::default() }), 2);
    assert_eq!(count(Filter { interfaces: vec!["0".to_owned()], ..Filter::default() }), 4);
    assert_eq!(count(Filter { interfaces: vec!["1".to_owned()], ..Filter::default() }), 0);
    let flows = trace_with(&file, &Filter { flows: vec![2], ..Filter::default() }).flows();
    assert_eq!((flows.len(), flows[0].id, flows[0].protocol), (1, 2, "SCTP"));
}
