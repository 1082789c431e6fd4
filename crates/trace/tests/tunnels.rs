//! Where SCTP is found: bare, exported, in tunnels, quoted by ICMP, in UDP at a port that no option names.

use anabranch_wire::chunk::{Init, InitKind};
use anabranch_wire::param::Params;
use anabranch_wire::{ChecksumOut, CommonHeader, PacketBuilder, Tsn};

use crate::common::{A, B, Order, data, told, trace, v4, v6};

fn file(link: u32, frames: &[Vec<u8>]) -> Vec<u8> {
    let frames: Vec<_> =
        (0..).zip(frames).map(|(at, frame)| (at, 0, frame.as_slice(), frame.len())).collect();
    Order(false).pcap(0xa1b2_c3d4, link, &frames)
}

fn udp(from: u16, to: u16, payload: &[u8]) -> Vec<u8> {
    let mut out = from.to_be_bytes().to_vec();
    out.extend(to.to_be_bytes());
    out.extend((payload.len() as u16 + 8).to_be_bytes());
    out.extend([0, 0]);
    out.extend(payload);
    out
}

fn ethernet(kind: u16, packet: &[u8]) -> Vec<u8> {
    [&[0xaa; 12], &kind.to_be_bytes()[..], packet].concat()
}

const OUTER: ([u8; 4], [u8; 4]) = ([198, 51, 100, 1], [198, 51, 100, 2]);

fn outer(protocol: u8, payload: &[u8]) -> Vec<u8> {
    v4(protocol, OUTER.0, OUTER.1, payload)
}

#[test]
fn the_flow_inside_of_tunnels() {
    let packet = data(7, 100);
    let bridged = ethernet(0x0800, &packet);
    let six = v6(132, &[], &packet[20..]);
    let join = |head: &[u8], rest: &[u8]| [head, rest].concat();
    let gre = |head: &[u8], rest: &[u8]| outer(47, &join(head, rest));
    let labels = [0, 1, 0x10, 64, 0, 2, 0x11, 64];
    let over = |port, head: &[u8], rest: &[u8]| outer(17, &udp(50_000, port, &join(head, rest)));
    let frames: Vec<(&str, u32, Vec<u8>)> = vec![
        ("GRE", 101, gre(&[0, 0, 8, 0], &packet)),
        ("GRE of IPv6", 101, gre(&[0, 0, 0x86, 0xdd], &six)),
        (
            "GRE with checksum, key and sequence",
            101,
            gre(&[0xb0, 0, 8, 0, 1, 2, 0, 0, 0, 0, 0, 9, 0, 0, 0, 1], &packet),
        ),
        ("GRE of Ethernet", 101, gre(&[0x20, 0, 0x65, 0x58, 0, 0, 1, 0], &bridged)),
        (
            "GRE of PPTP",
            101,
            gre(&[0x30, 0x81, 0x88, 0x0b, 0, 9, 0, 9, 0, 0, 0, 1, 0, 0, 0, 1, 0xff, 3, 0, 0x21], &packet),
        ),
        ("ERSPAN II", 101, gre(&[0x10, 0, 0x88, 0xbe, 0, 0, 0, 1, 0x10, 1, 0, 1, 0, 0, 0, 0], &bridged)),
        (
            "ERSPAN III",
            101,
            gre(&[&[0x10, 0, 0x22, 0xeb, 0, 0, 0, 1][..], &[0x20; 11], &[0]].concat(), &bridged),
        ),
        ("MPLS on Ethernet", 1, ethernet(0x8847, &join(&labels, &packet))),
        ("pseudowire with a control word", 1, ethernet(0x8847, &join(&labels, &join(&[0; 4], &bridged)))),
        ("MPLS alone", 219, join(&labels, &packet)),
        ("MPLS on IP", 101, outer(137, &join(&labels, &packet))),
        ("MPLS in UDP", 101, over(6635, &labels, &packet)),
        ("MPLS in GRE", 101, gre(&[0, 0, 0x88, 0x47], &join(&labels, &packet))),
        ("VXLAN", 101, over(4789, &[8, 0, 0, 0, 0, 0, 42, 0], &bridged)),
        (
            "VXLAN with a VLAN inside",
            101,
            over(8472, &[8, 0, 0, 0, 0, 0, 42, 0], &ethernet(0x8100, &join(&[0, 5, 8, 0], &packet))),
        ),
        ("Geneve", 101, over(6081, &[1, 0, 0x65, 0x58, 0, 0, 42, 0, 0, 1, 0, 0], &bridged)),
        ("GTP-U", 101, over(2152, &[0x30, 0xff, 0, 148, 0, 0, 0, 1], &packet)),
        (
            "GTP-U with an extension",
            101,
            over(2152, &[0x34, 0xff, 0, 156, 0, 0, 0, 1, 0, 0, 0, 0x85, 1, 0x10, 9, 0], &packet),
        ),
        ("IP in IP", 101, outer(4, &packet)),
        ("IPv6 in IP", 101, outer(41, &six)),
        ("EtherIP", 101, outer(97, &join(&[0x30, 0], &bridged))),
        (
            "GRE in VXLAN",
            101,
            over(4789, &[8, 0, 0, 0, 0, 0, 42, 0], &ethernet(0x0800, &gre(&[0, 0, 8, 0], &packet))),
        ),
    ];
    for (name, link, frame) in frames {
        let bytes = file(link, std::slice::from_ref(&frame));
        let trace = trace(&bytes);
        let line = trace.lines().next().unwrap_or_else(|| panic!("{name}: {:?}", trace.skipped()));
        assert!(line.info.starts_with("5000 > 9 tag=0x00000001 DATA BE tsn=7"), "{name}: {}", line.info);
        assert!(!line.info.contains("checksum"), "{name}: {}", line.info);
        let flow = &trace.flows()[0];
        assert!(
            flow.client == "10.0.0.1:5000" || flow.client == "[2020:2020:2020:2020:2020:2020:2020:2020]:5000",
            "{name}"
        );
        assert_eq!(flow.forward.purposes.payload, 100, "{name}");
        // Every byte of the outermost datagram counts, and no byte of the link.
        let link = match link {
            1 => 14 + labels.len(),
            219 => labels.len(),
            _ => 0,
        };
        let expected = if name.starts_with("pseudowire") { packet.len() } else { frame.len() - link };
        assert_eq!(flow.forward.bytes, expected as u64, "{name}");
    }
}

#[test]
fn parts_of_a_tunnel_are_put_together() {
    let mut packet = outer(47, &[&[0, 0, 8, 0], data(7, 1400).as_slice()].concat());
    let rest = packet.split_off(20 + 720);
    let mut second = packet[..20].to_vec();
    packet[2..4].copy_from_slice(&740_u16.to_be_bytes());
    packet[6..8].copy_from_slice(&0x2000_u16.to_be_bytes());
    second[2..4].copy_from_slice(&(20 + rest.len() as u16).to_be_bytes());
    second[6..8].copy_from_slice(&90_u16.to_be_bytes());
    second.extend(rest);
    let bytes = file(101, &[packet, second]);
    let trace = trace(&bytes);
    let flow = &trace.flows()[0];
    assert_eq!((flow.client.as_str(), flow.forward.purposes.payload), ("10.0.0.1:5000", 1400));
    assert_eq!((flow.forward.wrong_checksums, flow.forward.bytes), (0, 1400 + 16 + 12 + 20 + 4 + 2 * 20));
}

#[test]
fn what_only_looks_like_a_tunnel_stays_what_it_is() {
    let frames = [
        outer(47, &[0x40, 0, 8, 0, 0, 0, 0, 0]),
        outer(47, &[0, 0, 8, 0, 0x99]),
        outer(17, &udp(4789, 4789, &[0; 40])),
        outer(17, &udp(2152, 2152, &[0x32, 1, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0])),
        outer(17, &udp(2152, 2152, &[0x34, 0xff, 0, 8, 0, 0, 0, 1, 0, 0, 0, 0x85, 0, 0, 0, 0])),
        ethernet(0x8847, &[0, 0, 0, 1]),
    ];
    let bytes = file(101, &frames[..5]);
    let trace_of_ip = trace(&bytes);
    let protocols: Vec<_> = trace_of_ip.lines().map(|line| line.protocol).collect();
    assert_eq!(protocols, ["IP", "IP", "UDP", "UDP", "UDP"]);
    let bytes = file(1, &frames[5..]);
    assert_eq!(trace(&bytes).skipped().keys().next().unwrap(), "the labels of MPLS is cut or malformed");
}

/// Packets of an association whose ends have the same port.
fn alike(tag: u32, fill: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    let header = CommonHeader { source_port: 5000, destination_port: 5000, verification_tag: tag };
    let mut builder = PacketBuilder::new(&mut out, header);
    fill(builder.buffer());
    builder.finish(ChecksumOut::Compute);
    out
}

fn init(kind: InitKind, tag: u32) -> impl FnOnce(&mut Vec<u8>) {
    move |out| {
        let params = Params::EMPTY;
        let (initiate_tag, a_rwnd, outbound_streams, inbound_streams) = (tag, 65_536, 1, 1);
        Init { initiate_tag, a_rwnd, outbound_streams, inbound_streams, initial_tsn: Tsn::new(1), params }
            .emit(kind, out);
    }
}

#[test]
fn sctp_without_ip() {
    let frames = [data(7, 100)[20..].to_vec(), told(7, &[], &[])[20..].to_vec()];
    let bytes = file(248, &frames);
    let bare = trace(&bytes);
    let flow = &bare.flows()[0];
    assert_eq!((flow.client.as_str(), flow.server.as_str()), ("0.0.0.0:5000", "0.0.0.0:9"));
    assert_eq!((flow.forward.bytes, flow.back.packets), (128, 1));
    assert!(flow.forward.rtt.is_some());
    assert!(bare.capture().notes.iter().any(|note| note.starts_with("frames without IP have no addresses")));
    // One port at both ends, as WebRTC has it: tags tell the directions apart. Both sides begin at once, or one.
    for both in [false, true] {
        let mut frames = vec![alike(0, init(InitKind::Init, 11))];
        if both {
            frames.push(alike(0, init(InitKind::Init, 22)));
        }
        frames.push(alike(11, init(InitKind::InitAck, 22)));
        if both {
            frames.push(alike(22, init(InitKind::InitAck, 11)));
        }
        frames.push(alike(22, |out| out.extend([10, 0, 0, 8, 1, 2, 3, 4])));
        frames.push(alike(11, |out| out.extend([11, 0, 0, 4])));
        let bytes = file(248, &frames);
        let trace = trace(&bytes);
        let flows = trace.flows();
        assert_eq!(flows.len(), 1, "both {both}");
        let expected = if both { (3, 3) } else { (2, 2) };
        assert_eq!((flows[0].forward.packets, flows[0].back.packets), expected, "both {both}");
        assert!(flows[0].handshake_s.is_some());
    }
}

fn tag(kind: u16, value: &[u8]) -> Vec<u8> {
    [&kind.to_be_bytes()[..], &(value.len() as u16).to_be_bytes(), value].concat()
}

#[test]
fn pdus_that_wireshark_exported() {
    let packet = data(7, 100);
    let addresses = [tag(20, &A), tag(21, &B)].concat();
    let exported = |name: &[u8], rest: &[u8]| {
        [tag(12, name), addresses.clone(), tag(25, &[0, 0, 0x13, 0x88]), tag(0, &[]), rest.to_vec()].concat()
    };
    let frames = [
        exported(b"sctp", &packet[20..]),
        exported(b"sctp\0\0\0\0", &packet[20..]),
        exported(b"ip", &packet),
    ];
    let bytes = file(252, &frames);
    let read = trace(&bytes);
    assert_eq!(read.lines().filter(|line| line.info.contains("DATA BE tsn=7")).count(), 3);
    assert_eq!(read.flows()[0].client, "10.0.0.1:5000");
    assert_eq!(read.flows()[0].forward.bytes, 2 * 128 + 148);
    let bytes = file(252, &[exported(b"s1ap\x1b", b"x"), tag(12, b"sctp"), tag(0, &[])]);
    let skipped = trace(&bytes).skipped().keys().cloned().collect::<Vec<_>>();
    assert_eq!(
        skipped,
        [
            "an exported PDU of the protocol s1ap\\u{1b}; allowed: sctp, ip",
            "an exported PDU of the protocol without a name; allowed: sctp, ip",
            "the header of an exported PDU is cut or malformed"
        ]
    );
}

#[test]
fn a_packet_that_icmp_quotes_is_shown_with_what_it_refused() {
    let packet = data(7, 100);
    let in_udp = v4(17, A, B, &udp(9899, 9899, &packet[20..]));
    let v6_packet = v6(132, &[], &packet[20..]);
    let icmp = |kind: u8, code: u8, field: [u8; 4], quote: &[u8]| {
        v4(1, B, A, &[&[kind, code, 0, 0][..], &field, quote].concat())
    };
    let frames = [
        packet.clone(),
        icmp(3, 2, [0; 4], &packet[..28]),
        icmp(3, 4, [0, 0, 5, 100], &packet),
        icmp(3, 3, [0; 4], &in_udp[..28]),
        icmp(11, 0, [0; 4], &in_udp),
        v6(58, &[], &[&[4, 1, 0, 0, 0, 0, 0, 40][..], &v6_packet].concat()),
        icmp(3, 3, [0; 4], &v4(17, A, B, &udp(53, 53, b"x"))),
        icmp(8, 0, [0; 4], &packet),
    ];
    let bytes = file(101, &frames);
    let trace = trace(&bytes);
    let lines: Vec<_> = trace.lines().map(|line| (line.protocol, line.flow, line.info)).collect();
    let ends = "refused: 10.0.0.1 > 10.0.0.2";
    let expected = [
        (
            "ICMP",
            Some(1),
            format!("protocol unreachable: the host has no SCTP; {ends} SCTP 5000 > 9 tag=0x00000001"),
        ),
        (
            "ICMP",
            Some(1),
            format!(
                "too long and not to be fragmented, next MTU 1380; {ends} SCTP 5000 > 9 tag=0x00000001 DATA"
            ),
        ),
        (
            "ICMP",
            None,
            format!("port unreachable: no process has this UDP port; {ends} UDP 9899 > 9899 SCTP"),
        ),
        ("ICMP", Some(1), format!("no hops left; {ends} UDP 9899 > 9899 SCTP 5000 > 9 tag=0x00000001 DATA")),
    ];
    for (at, (protocol, flow, info)) in expected.into_iter().enumerate() {
        assert_eq!(lines[at + 1], (protocol, flow, info));
    }
    assert_eq!(lines[5].0, "ICMPv6");
    assert!(
        lines[5].2.starts_with("next header not recognized: the host has no SCTP; refused: "),
        "{}",
        lines[5].2
    );
    assert_eq!((lines[6].2.as_str(), lines[7].2.as_str()), ("protocol 1", "protocol 1"));
    assert_eq!(
        trace.flows()[0].forward.packets + trace.flows()[0].back.packets,
        1,
        "a quotation is no packet"
    );
}

#[test]
fn sctp_in_udp_at_a_port_that_was_not_named() {
    let packet = data(7, 100);
    let good = |from, to| v4(17, A, B, &udp(from, to, &packet[20..]));
    let mut damaged = good(40_000, 12_345);
    damaged[60] ^= 1;
    let frames = [good(40_000, 12_345), good(40_001, 12_345), damaged, v4(17, A, B, &udp(53, 53, &[7; 40]))];
    let bytes = file(101, &frames);
    let hint = trace(&bytes);
    assert!(hint.flows().is_empty());
    assert_eq!(
        hint.capture().notes,
        [
            "2 UDP datagrams of port 12345 hold SCTP with a valid CRC32c and are not read as such: --udp-port 12345 reads them"
        ]
    );
    assert_eq!(hint.lines().next().unwrap().info, "40000 > 12345 holds SCTP with a valid CRC32c");
    let bytes = file(101, &[good(7000, 7001), good(8000, 8000)]);
    assert!(trace(&bytes).capture().notes[0].contains("of ports 7000, 8000 hold SCTP"));
    let bytes = file(101, &[good(9899, 9899), frames[3].clone()]);
    assert!(!trace(&bytes).capture().notes.iter().any(|note| note.contains("--udp-port")));
}
