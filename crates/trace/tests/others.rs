//! Captures as other people make them: recorded twice, in parts, with clocks that go back, with chunks of other stacks.

use anabranch_tcp::header::Flags;
use anabranch_trace::report::FlowReport;
use anabranch_trace::{Reason, Trace};
use anabranch_wire::chunk::{Init, InitKind};
use anabranch_wire::param::Params;
use anabranch_wire::{Tsn, adler32};

use crate::common::{A, B, Order, data, sctp, segment, told, trace, v4, v6};

/// Ethernet around a packet, with a VLAN tag or without.
fn ethernet(from: u8, vlan: Option<u16>, packet: &[u8]) -> Vec<u8> {
    let mut out = vec![2, 0, 0, 0, 0, 0xee, 2, 0, 0, 0, 0, from];
    if let Some(vlan) = vlan {
        out.extend([0x81, 0]);
        out.extend(vlan.to_be_bytes());
    }
    out.extend([8, 0]);
    out.extend(packet);
    out
}

/// A pcap file; times in microseconds.
fn pcap(link: u32, frames: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let frames: Vec<_> = frames
        .iter()
        .map(|(us, frame)| ((us / 1_000_000) as u32, (us % 1_000_000) as u32, frame.as_slice(), frame.len()))
        .collect();
    Order(false).pcap(0xa1b2_c3d4, link, &frames)
}

/// The packet one hop further.
fn routed(packet: &[u8]) -> Vec<u8> {
    let mut out = packet.to_vec();
    out[8] -= 1;
    out
}

/// With the identification of IPv4.
fn numbered(packet: &[u8], id: u16) -> Vec<u8> {
    let mut out = packet.to_vec();
    out[4..6].copy_from_slice(&id.to_be_bytes());
    out
}

fn init(back: bool, tag: u32) -> Vec<u8> {
    let mut packet = sctp(back, |out| {
        let kind = if back { InitKind::InitAck } else { InitKind::Init };
        Init {
            initiate_tag: tag,
            a_rwnd: 65_536,
            outbound_streams: 10,
            inbound_streams: 10,
            initial_tsn: Tsn::new(100),
            params: Params::EMPTY,
        }
        .emit(kind, out);
    });
    if !back {
        // INIT has the tag 0, so another checksum.
        packet[24..28].fill(0);
        let sum = anabranch_wire::crc32c::packet_checksum(&packet[20..]);
        packet[28..32].copy_from_slice(&anabranch_wire::crc32c::store(sum));
    }
    packet
}

fn chunk(back: bool, kind: u8) -> Vec<u8> {
    sctp(back, |out| out.extend([kind, 0, 0, 4]))
}

/// A whole association: a handshake, six chunks of data each acknowledged, a shutdown. Times in microseconds.
fn association() -> Vec<(u64, Vec<u8>)> {
    let mut out = vec![
        (0, init(false, 2)),
        (10_000, init(true, 1)),
        (20_000, sctp(false, |out| out.extend([10, 0, 0, 8, 1, 2, 3, 4]))),
        (30_000, chunk(true, 11)),
    ];
    for at in 0..6 {
        out.push((40_000 + 20_000 * u64::from(at), data(100 + at, 500)));
        out.push((50_000 + 20_000 * u64::from(at), told(100 + at, &[], &[])));
    }
    out.push((170_000, sctp(false, |out| out.extend([7, 0, 0, 8, 0, 0, 0, 99]))));
    out.push((180_000, chunk(true, 8)));
    out.push((190_000, chunk(false, 14)));
    out
}

/// A connection with data, a hole that three duplicate acknowledgements tell of, microseconds apart, and its retransmission.
fn connection() -> Vec<(u64, Vec<u8>)> {
    let ack = |number| segment(true, 1, number, Flags::ACK, &[], 0);
    let send = |seq| segment(false, seq, 1, Flags::ACK, &[], 100);
    let mut out = vec![
        (0, segment(false, 999, 0, Flags::SYN, &[], 0)),
        (50_000, segment(true, 0, 1000, Flags::SYN | Flags::ACK, &[], 0)),
        (50_100, segment(false, 1000, 1, Flags::ACK, &[], 0)),
    ];
    for at in 0..8 {
        out.push((60_000 + 10 * u64::from(at), send(1000 + 100 * at)));
    }
    out.push((110_000, ack(1100)));
    for at in 0..6 {
        out.push((110_010 + 10 * at, ack(1100)));
    }
    out.push((110_200, send(1100)));
    out.push((160_000, ack(1800)));
    // The same bytes 200 ms after they were sent first, with the identification 0 of a stack that forbids fragments.
    out.push((260_000, send(1800)));
    out.push((460_100, send(1800)));
    out.push((510_000, ack(1900)));
    out.into_iter().map(|(us, packet)| (us, numbered(&packet, 0))).collect()
}

/// Compares all but the fields that may differ: start, copies, interface.
fn same(one: &FlowReport, other: &FlowReport) {
    let plain = |flow: &FlowReport| {
        let mut flow = flow.clone();
        flow.start_s = 0.0;
        for side in [&mut flow.forward, &mut flow.back] {
            side.copies = 0;
            side.interface = None;
        }
        flow
    };
    assert_eq!(plain(one), plain(other));
}

fn reasons(trace: &Trace<'_>) -> Vec<Reason> {
    trace.retransmissions().iter().map(|again| again.reason).collect()
}

#[test]
fn recorded_twice_counts_once() {
    for packets in [association(), connection()] {
        let once: Vec<_> = packets.iter().map(|(us, packet)| (*us, ethernet(1, None, packet))).collect();
        let once = pcap(1, &once);
        let single = trace(&once);
        assert!(single.capture().notes.is_empty(), "{:?}", single.capture().notes);
        assert!(single.lines().all(|line| line.copy_of.is_none()));
        // A mirror port; one that tags; a host that routes, with other addresses on the link; a switch between VLANs.
        type Way<'a> = &'a dyn Fn(&[u8]) -> Vec<u8>;
        let ways: [(&str, Way<'_>); 5] = [
            ("mirrored", &|packet| ethernet(1, None, packet)),
            ("VLAN added", &|packet| ethernet(1, Some(7), packet)),
            ("routed", &|packet| ethernet(3, None, &routed(packet))),
            ("other link", &|packet| ethernet(3, None, packet)),
            ("marked on its way", &|packet| {
                let mut packet = routed(packet);
                packet[1] |= 3;
                ethernet(3, None, &packet)
            }),
        ];
        for (name, second) in ways {
            let mut frames = Vec::new();
            for (us, packet) in &packets {
                frames.push((*us, ethernet(1, None, packet)));
                frames.push((us + 5, second(packet)));
            }
            frames.sort_by_key(|(us, _)| *us);
            let file = pcap(1, &frames);
            let twice = trace(&file);
            let copies = twice.lines().filter(|line| line.copy_of.is_some()).count();
            assert_eq!(copies, packets.len(), "{name}");
            let note = format!("{} packets are copies of one recorded before", packets.len());
            assert!(twice.capture().notes[0].starts_with(&note), "{:?}", twice.capture().notes);
            let (one, two) = (single.flows(), twice.flows());
            assert_eq!(two.len(), 1);
            same(&one[0], &two[0]);
            assert_eq!(two[0].forward.copies, two[0].forward.packets, "{name}");
            assert_eq!(reasons(&single), reasons(&twice), "{name}");
            let rate = anabranch_trace::Bottleneck { rate_bps: 1_000_000, limit: None };
            let sums = |trace: &Trace<'_>| -> u64 {
                trace.bottlenecks(rate, None).iter().map(|report| report.occupancy.packets).sum()
            };
            assert_eq!(sums(&twice), packets.len() as u64, "{name}");
        }
    }
}

#[test]
fn recorded_on_all_interfaces_counts_once() {
    // `tcpdump -i any` of a host that forwards: Linux cooked, version 2, with the index of the interface and whether it came or left.
    let cooked = |index: u8, kind: u8, packet: &[u8]| {
        let head = [8, 0, 0, 0, 0, 0, 0, index, 0, 1, kind, 6, 2, 0, 0, 0, 0, index, 0, 0];
        [&head[..], packet].concat()
    };
    for packets in [association(), connection()] {
        let file = pcap(101, &packets);
        let single = trace(&file).flows();
        let mut frames = Vec::new();
        let mut interfaces = Vec::new();
        Order(false).section(&mut interfaces);
        Order(false).interface(&mut interfaces, 101, 0, &[(2, b"in")]);
        Order(false).interface(&mut interfaces, 101, 0, &[(2, b"out")]);
        for (us, packet) in &packets {
            frames.push((*us, cooked(2, 0, packet)));
            frames.push((us + 5, cooked(3, 4, &routed(packet))));
            Order(false).enhanced(&mut interfaces, 0, *us, packet);
            Order(false).enhanced(&mut interfaces, 1, us + 5, &routed(packet));
        }
        frames.sort_by_key(|(us, _)| *us);
        for file in [pcap(276, &frames), interfaces] {
            let twice = trace(&file);
            assert_eq!(twice.lines().filter(|line| line.copy_of.is_some()).count(), packets.len());
            same(&single[0], &twice.flows()[0]);
        }
    }
}

#[test]
fn a_queue_in_the_recording_host_and_a_loss_behind_it() {
    // Routed with up to 90 ms in a queue; the second chunk is lost there and sent again after a second.
    let mut frames = Vec::new();
    let packets =
        [(0, 100), (100_000, 101), (200_000, 102), (300_000, 103), (1_300_000, 101), (1_400_000, 104)];
    for (at, (us, tsn)) in packets.into_iter().enumerate() {
        let packet = data(tsn, 500);
        frames.push((us, ethernet(1, None, &packet)));
        if at != 1 {
            frames.push((us + 90_000 - 10_000 * at as u64, ethernet(3, None, &routed(&packet))));
        }
    }
    frames.sort_by_key(|(us, _)| *us);
    let file = pcap(1, &frames);
    let trace = trace(&file);
    let flow = &trace.flows()[0];
    assert_eq!((flow.forward.packets, flow.forward.copies), (6, 5));
    assert_eq!((flow.forward.purposes.payload, flow.forward.purposes.payload_again), (2500, 500));
    assert_eq!(trace.retransmissions().len(), 1);
}

#[test]
fn what_was_sent_again_is_no_copy() {
    // Equal bytes 3 ms later, in one packet of many: a retransmission, and too early for a timer.
    let mut packets = association();
    packets.insert(5, (43_000, data(100, 500)));
    let file = pcap(101, &packets);
    let early = trace(&file);
    assert_eq!(reasons(&early), [Reason::EarlyNotExplained]);
    assert_eq!(early.flows()[0].forward.purposes.payload_again, 500);
    // The same where everything was recorded twice: each sending counts once.
    let mut frames = Vec::new();
    for (us, packet) in &packets {
        frames.push((*us, packet.clone()));
        frames.push((us + 5, packet.clone()));
    }
    let file = pcap(101, &frames);
    let twice = trace(&file);
    same(&early.flows()[0], &twice.flows()[0]);
    assert_eq!(reasons(&twice), [Reason::EarlyNotExplained]);
    // Nothing else is in the capture: no way to know, so nothing is taken away.
    let file = pcap(101, &[(0, data(1, 100)), (3000, data(1, 100))]);
    assert_eq!(trace(&file).flows()[0].forward.packets, 2);
    // A path of one hop less, taken by a retransmission only.
    let mut packets = association();
    packets.insert(5, (43_000, routed(&data(100, 500))));
    let file = pcap(101, &packets);
    assert_eq!(reasons(&trace(&file)), [Reason::EarlyNotExplained]);
    // An INIT without an answer, again and again.
    let packets: Vec<_> = [0, 1, 3, 7].map(|s| (s * 1_000_000, init(false, 2))).to_vec();
    let file = pcap(101, &packets);
    let unanswered = trace(&file);
    assert_eq!(unanswered.flows()[0].forward.packets, 4);
    assert_eq!(reasons(&unanswered), [Reason::Timeout; 3]);
}

#[test]
fn control_chunks_that_come_again_early_are_not_called_timeouts() {
    let mut packets = association();
    packets.insert(1, (3000, init(false, 2)));
    let file = pcap(101, &packets);
    let list = trace(&file).retransmissions();
    assert_eq!((list[0].what, list[0].reason), ("INIT", Reason::EarlyNotExplained));
}

/// Cuts a datagram of IPv4 into parts of so many bytes of payload.
fn cut(packet: &[u8], id: u16, size: usize) -> Vec<Vec<u8>> {
    let payload = &packet[20..];
    let parts = payload.chunks(size).enumerate().map(|(at, part)| {
        let mut out = packet[..20].to_vec();
        out[2..4].copy_from_slice(&(20 + part.len() as u16).to_be_bytes());
        out[4..6].copy_from_slice(&id.to_be_bytes());
        let more = if (at + 1) * size < payload.len() { 0x2000 } else { 0 };
        out[6..8].copy_from_slice(&((at * size / 8) as u16 | more).to_be_bytes());
        out.extend(part);
        out
    });
    parts.collect()
}

#[test]
fn parts_of_datagrams_are_put_together() {
    let mut packets = association();
    packets[4].1 = data(100, 2800);
    let whole = pcap(101, &packets);
    let whole = trace(&whole);
    for (orderly, size) in [(true, 1480), (false, 1480), (true, 400)] {
        let mut frames = packets.clone();
        let mut parts = cut(&packets[4].1, 77, size);
        if !orderly {
            parts.reverse();
        }
        let count = parts.len();
        frames.splice(4..=4, parts.into_iter().map(|part| (40_000, part)));
        let file = pcap(101, &frames);
        let trace = trace(&file);
        let lines: Vec<_> = trace.lines().collect();
        let last = &lines[3 + count];
        let shown = format!(" len=2800 [put together from {count} parts]");
        assert!(last.info.ends_with(&shown), "{}", last.info);
        let waits = format!("[put together in frame {}]", 4 + count);
        assert!(lines[4].info.ends_with(&waits), "{}", lines[4].info);
        let (flow, expected) = (&trace.flows()[0], &whole.flows()[0]);
        assert_eq!(flow.forward.purposes.payload, 2800 + 5 * 500);
        assert_eq!((flow.forward.packets, flow.forward.wrong_checksums), (expected.forward.packets, 0));
        assert_eq!(flow.forward.bytes, expected.forward.bytes + 20 * (count as u64 - 1));
        assert_eq!(flow.forward.rtt, expected.forward.rtt);
        assert!(trace.retransmissions().is_empty() && trace.capture().notes.is_empty());
    }
}

#[test]
fn parts_of_ipv6_tcp_and_udp_are_put_together() {
    let sctp = &data(100, 1500)[20..];
    let part = |offset: u16, more: u16, bytes: &[u8], next| {
        let bits = (offset | more).to_be_bytes();
        v6(44, &[next, 0, bits[0], bits[1], 0, 0, 0, 9], bytes)
    };
    let tcp = segment(false, 1001, 1, Flags::ACK, &[], 1000);
    let mut udp = vec![0x26, 0xab, 0x26, 0xab];
    udp.extend((sctp.len() as u16 + 8).to_be_bytes());
    udp.extend([0, 0]);
    udp.extend(sctp);
    let mut frames = vec![(0, part(0, 1, &sctp[..1000], 132)), (1, part(1000, 0, &sctp[1000..], 132))];
    for packet in [tcp, v4(17, A, B, &udp)] {
        frames.extend(cut(&packet, 5, 800).into_iter().map(|part| (2, part)));
    }
    let file = pcap(101, &frames);
    let trace = trace(&file);
    let infos: Vec<_> = trace.lines().map(|line| (line.protocol, line.info)).collect();
    assert!(infos[1].1.contains("len=1500 [put together"), "{infos:?}");
    assert_eq!(
        infos[3],
        ("TCP", "5000 > 80 ACK seq=0-1000 ack=1 win=60000 len=1000 [put together from 2 parts]".to_owned())
    );
    assert_eq!(infos[5].0, "SCTP/UDP");
    assert!(infos[5].1.contains("len=1500 [put together"), "{infos:?}");
    assert!(trace.flows().iter().all(|flow| flow.forward.wrong_checksums == 0));
}

#[test]
fn parts_that_are_missing_or_overlap_are_noted() {
    let mut frames = association();
    let parts = cut(&data(100, 2800), 77, 1480);
    frames[4].1 = parts[0].clone();
    let file = pcap(101, &frames);
    let incomplete = trace(&file);
    let line = incomplete.lines().nth(4).unwrap();
    assert!(
        line.info.contains("DATA BE tsn=100") && line.info.contains("others are missing"),
        "{}",
        line.info
    );
    assert!(!line.info.contains("wrong checksum") && !line.info.contains("MALFORMED"), "{}", line.info);
    assert!(incomplete.capture().notes[0].starts_with("1 datagram came in parts of which some are missing"));
    // Lengths come from the headers: all sent bytes count, though not all were seen.
    let flow = &incomplete.flows()[0];
    assert_eq!((flow.forward.purposes.payload, flow.forward.wrong_checksums), (2800 + 5 * 500, 0));
    let mut overlap = parts[1].clone();
    overlap[6..8].copy_from_slice(&180_u16.to_be_bytes());
    frames.insert(5, (41_000, overlap));
    let file = pcap(101, &frames);
    let refused = trace(&file);
    assert!(refused.capture().notes[0].starts_with("1 datagram came in parts that overlap: refused"));
    assert_eq!(refused.flows()[0].forward.purposes.payload, 5 * 500);
}

#[test]
fn times_that_go_back_are_noted_and_not_measured() {
    let mut packets = association();
    let last = packets.len() as u64;
    for (at, (us, _)) in packets.iter_mut().enumerate() {
        *us = 9000 * (last - at as u64);
    }
    let file = pcap(101, &packets);
    let trace = trace(&file);
    let note = "times go back 18 times, first at frame 2 by 0.009000 s";
    assert!(trace.capture().notes[0].starts_with(note), "{:?}", trace.capture().notes);
    let flow = &trace.flows()[0];
    assert_eq!((flow.handshake_s, flow.duration_s), (None, 0.0));
    assert!(flow.forward.rtt.is_none() && flow.forward.goodput_bps.is_none());
    assert!(trace.lines().all(|line| line.time_s >= 0.0) && trace.retransmissions().is_empty());
    // The order is that of the file: it was opened and closed, not the other way round.
    assert_eq!(flow.ending, anabranch_trace::Ending::Closed);
    assert_eq!(flow.client, "10.0.0.1:5000");
    assert_eq!(flow.forward.purposes.payload, 3000);
}

#[test]
fn a_clock_that_is_set_back_once_and_queues_that_are_read_in_turn() {
    let mut packets = association();
    // A clock set back by ten minutes in the middle: times within each part are measured.
    for (at, (us, _)) in packets.iter_mut().enumerate() {
        *us += if at < 9 { 600_000_000 } else { 0 };
    }
    let file = pcap(101, &packets);
    let stepped = trace(&file);
    let flow = &stepped.flows()[0];
    let rtt = flow.forward.rtt.as_ref().unwrap();
    assert_eq!((rtt.samples, rtt.min_s, rtt.max_s), (5, 0.01, 0.01));
    assert!((flow.handshake_s.unwrap() - 0.03).abs() < 1e-9 && (flow.duration_s - 0.18).abs() < 1e-9);
    assert!(stepped.capture().notes[0].starts_with("times go back once, first at frame 10"));
    // Out of order by less than a millisecond: times are right, and the order is not.
    let mut packets = association();
    packets[5].0 = packets[4].0 + 400;
    packets.swap(4, 5);
    let file = pcap(101, &packets);
    let swapped = trace(&file);
    assert!(swapped.capture().notes.is_empty());
    assert!((swapped.flows()[0].forward.rtt.as_ref().unwrap().min_s - 0.0004).abs() < 1e-9);
}

#[test]
fn a_beginning_that_is_missing_is_noted() {
    let packets: Vec<_> = association().split_off(5);
    let file = pcap(101, &packets);
    let late = trace(&file);
    assert_eq!(
        late.capture().notes,
        ["flow 1 began before the capture: who sent first is taken for the client"]
    );
    let flow = &late.flows()[0];
    assert!(!flow.opening_seen && flow.handshake_s.is_none());
    assert_eq!((flow.back.purposes.payload, flow.forward.purposes.payload), (5 * 500, 0));
    let packets: Vec<_> = connection().split_off(3);
    let file = pcap(101, &packets);
    assert!(trace(&file).capture().notes[0].contains("without their scale"));
    let file = pcap(101, &association());
    assert!(trace(&file).flows()[0].opening_seen);
}

/// An NR-SACK: gap blocks that may be taken back, and those that will not.
fn nr_told(cumulative: u32, gaps: &[(u16, u16)], kept: &[(u16, u16)]) -> Vec<u8> {
    sctp(true, |out| {
        out.extend([16, 0]);
        out.extend((20 + 4 * (gaps.len() + kept.len()) as u16).to_be_bytes());
        out.extend(cumulative.to_be_bytes());
        out.extend(100_000_u32.to_be_bytes());
        for count in [gaps.len(), kept.len(), 0, 0] {
            out.extend((count as u16).to_be_bytes());
        }
        for &(start, end) in gaps.iter().chain(kept) {
            out.extend(start.to_be_bytes());
            out.extend(end.to_be_bytes());
        }
    })
}

#[test]
fn nr_sack_acknowledges_as_sack_does() {
    for kept in [false, true] {
        let report =
            |last| if kept { nr_told(100, &[], &[(2, last)]) } else { nr_told(100, &[(2, last)], &[]) };
        let mut packets: Vec<_> = (100..106).map(|tsn| (u64::from(tsn) * 100, data(tsn, 500))).collect();
        packets.push((60_000, nr_told(100, &[], &[])));
        for last in 2..=4 {
            packets.push((61_000 + 1000 * u64::from(last), report(last)));
        }
        packets.push((70_000, data(101, 500)));
        packets.push((120_000, nr_told(105, &[], &[])));
        let file = pcap(101, &packets);
        let trace = trace(&file);
        let list = trace.retransmissions();
        assert_eq!((list.len(), list[0].reason, list[0].first), (1, Reason::FastRetransmit, Some(101)));
        let flow = &trace.flows()[0];
        assert_eq!(flow.forward.rtt.as_ref().unwrap().samples, 1);
        assert_eq!(flow.back.purposes.acknowledgements, flow.back.bytes);
        assert_eq!(flow.back.window_max, Some(100_000));
    }
}

#[test]
fn the_old_checksum_is_named() {
    let mut packet = data(1, 100);
    let sum = adler32::packet_checksum(&packet[20..]);
    packet[28..32].copy_from_slice(&sum.to_be_bytes());
    let mut wrong = packet.clone();
    wrong[40] ^= 1;
    let file = pcap(101, &[(0, packet), (1000, wrong)]);
    let trace = trace(&file);
    let lines: Vec<_> = trace.lines().map(|line| line.info).collect();
    assert!(lines[0].ends_with("[Adler-32, the checksum of RFC 2960]"), "{}", lines[0]);
    assert!(lines[1].ends_with("[wrong checksum]"), "{}", lines[1]);
    let flow = &trace.flows()[0];
    assert_eq!((flow.forward.old_checksums, flow.forward.wrong_checksums), (1, 1));
    assert!(trace.capture().notes.iter().any(|note| note.starts_with("1 SCTP packet has Adler-32")));
}

#[test]
fn cut_so_short_that_chunks_are_not_known_is_noted() {
    let packet = data(77, 1000);
    let file = Order(false).pcap(0xa1b2_c3d4, 101, &[(0, 0, &packet, 40), (1, 0, &packet, 60)]);
    let trace = trace(&file);
    let note = "of 1 SCTP packet so little was kept that chunks are not known";
    assert!(trace.capture().notes.iter().any(|told| told.starts_with(note)), "{:?}", trace.capture().notes);
    assert_eq!(trace.flows()[0].forward.wrong_checksums, 0);
}
