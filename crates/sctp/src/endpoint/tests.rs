use std::collections::VecDeque;
use std::net::SocketAddr;

use anabranch_base::{Dscp, Duration, Ecn, Meta, Rng};
use anabranch_wire::chunk::{GapBlock, Init, InitKind, kind, sack};
use anabranch_wire::param::Params;
use anabranch_wire::{Checksum, ChecksumOut, CommonHeader, Packet, PacketBuilder, Tsn};
use bytes::Bytes;

use super::*;
use crate::config::{Config, InitialWindow, MaxBurst, SubflowLevel, SubflowSpec};
use crate::cookie::Cookie;
use crate::message::Message;
use crate::state::State;

/// Work per packet of a whole association at a window of `window` chunks: chunks visited in the flight, ranges in the
/// receive map, entries pushed into the timer heap. `lossy` loses every hundredth packet of the first window.
fn work_per_packet(window: u64, lossy: bool) -> [f64; 3] {
    let mut config = Config::rfc9260();
    config.congestion.initial_window = InitialWindow::Packets(u16::MAX);
    config.congestion.max_burst = MaxBurst::Off;
    config.limits.receive_window = 1 << 30;
    config.limits.send_buffer = 1 << 30;
    config.sack.every = 1;
    // One chunk of 516 bytes a packet: the first window of 65,535 PMDCS holds 100,000 of them.
    config.mtu = 1000;
    let config = Arc::new(config);
    let at: [SocketAddr; 2] = [([10, 0, 0, 1], 0).into(), ([10, 0, 0, 2], 0).into()];
    let mut ends: Vec<Endpoint> = at
        .iter()
        .map(|a| {
            Endpoint::new(
                EndpointConfig::new(*a, 9).keeping_closed(),
                Rng::stream(1, "test", "work").secret(),
            )
        })
        .collect();
    let mut now = Instant::ZERO;
    ends[1].listen(Arc::clone(&config)).unwrap();
    let id = ends[0].connect(now, at[1], 9, config).unwrap();
    let mut wire: [VecDeque<Vec<u8>>; 2] = [VecDeque::new(), VecDeque::new()];
    let (mut sent, mut lost) = (0_u64, 0_u64);
    let payload = Bytes::from(vec![0; 500]);
    for _ in 0..window {
        ends[0].association(id).unwrap().send(now, Message::new(0, payload.clone())).unwrap();
    }
    // Everything that wants to leave leaves; then everything on the wire arrives, in order, side by side.
    loop {
        for side in 0..2 {
            let mut buf = Vec::new();
            while ends[side].poll_transmit(now, 1, &mut buf).is_some() {
                let packet = std::mem::take(&mut buf);
                sent += u64::from(side == 0);
                if lossy && side == 0 && sent % 100 == 50 && sent < window {
                    lost += 1;
                } else {
                    wire[side].push_back(packet);
                }
            }
            while ends[side].poll_event().is_some() {}
        }
        let receiver = AssociationId { index: 0, generation: 0 };
        while ends[1].association(receiver).is_some_and(|mut z| z.receive().is_some()) {}
        if wire.iter().all(VecDeque::is_empty) {
            let next = ends.iter_mut().filter_map(Endpoint::poll_timeout).map(|t| t.0).min().unwrap();
            if ends[0].view(id).unwrap().flight_bytes() == 0 && ends[0].view(id).unwrap().queued_bytes() == 0
            {
                break;
            }
            now = next.max(now);
            ends.iter_mut().for_each(|e| e.handle_timeout(now));
            continue;
        }
        now += Duration::from_millis(5);
        for side in 0..2 {
            let meta =
                Meta { source: at[side], destination: at[1 - side], dscp: Dscp::DEFAULT, ecn: Ecn::NotEct };
            // Each packet is answered before the next arrives, as on a wire.
            while let Some(packet) = wire[side].pop_front() {
                ends[1 - side].handle_datagram(now, meta, &packet);
                let mut buf = Vec::new();
                while ends[1 - side].poll_transmit(now, 1, &mut buf).is_some() {
                    let packet = std::mem::take(&mut buf);
                    sent += u64::from(side == 1);
                    if lossy && side == 1 && sent % 100 == 50 && sent < window {
                        lost += 1;
                    } else {
                        wire[1 - side].push_back(packet);
                    }
                }
            }
        }
    }
    let stats = ends[1].view(AssociationId { index: 0, generation: 0 }).unwrap().stats();
    assert_eq!(stats.payload_bytes_received_new, window * 500, "everything arrived");
    assert_eq!(lossy && window >= 100, lost > 0);
    let (flight, _) = ends[0].view(id).unwrap().work();
    let (_, received) = ends[1].view(AssociationId { index: 0, generation: 0 }).unwrap().work();
    [flight, received, ends[0].registry.pushes + ends[1].registry.pushes].map(|w| w as f64 / window as f64)
}

/// "flight, receive map and timers cost O(1) per packet on average however large the window is".
#[test]
fn work_per_packet_does_not_grow_with_the_window() {
    for lossy in [false, true] {
        for window in [10, 1_000, 100_000] {
            let [flight, received, timers] = work_per_packet(window, lossy);
            // The handshake and its timers are shared by few packets at a window of 10.
            let limit = if window == 10 { 3.0 } else { 0.1 };
            assert!(timers < limit, "timers: {timers} a packet at {window}, lossy {lossy}");
            assert!(flight < 8.0, "flight: {flight} chunks a packet at {window}, lossy {lossy}");
            assert!(received < 12.0, "receive map: {received} ranges a packet at {window}, lossy {lossy}");
        }
    }
}

/// Chunks read for each of `count` messages that a timeout gives up: limit 0, all of them in flight, and no answer.
fn work_of_giving_up(level: SubflowLevel, subflows: u8, count: u32) -> u64 {
    let spec = |index: u8| SubflowSpec {
        streams: vec![u16::from(index)],
        ..SubflowSpec::new(Dscp::new(index).unwrap())
    };
    let config = Arc::new(Config::rfc9260().with(|c| {
        c.subflows.level = level;
        c.subflows.open = (0..subflows).map(spec).collect();
        c.extensions.partial_reliability = true;
        c.congestion.initial_window = InitialWindow::Packets(u16::MAX);
        c.congestion.max_burst = MaxBurst::Off;
        (c.limits.receive_window, c.limits.send_buffer) = (8 << 20, 8 << 20);
    }));
    let (mut ends, id) = shaken(&config);
    let (mut now, mut packet) = (Instant::ZERO, Vec::new());
    assert_eq!(ends[0].view(id).unwrap().subflow_level(), level);
    for n in 0..count {
        let message = Message::new((n % u32::from(subflows)) as u16, "x").max_retransmissions(0);
        ends[0].association(id).unwrap().send(now, message).unwrap();
    }
    while ends[0].poll_transmit(now, 1, &mut packet).is_some() {
        packet.clear();
    }
    assert_eq!(ends[0].view(id).unwrap().unacknowledged_chunks(), count as usize);
    let before = ends[0].view(id).unwrap().chunks_read();
    while ends[0].view(id).unwrap().abandoned(None, None).sent < u64::from(count) {
        now = ends[0].poll_timeout().unwrap().0.max(now);
        ends[0].handle_timeout(now);
    }
    (ends[0].view(id).unwrap().chunks_read() - before) / u64::from(count)
}

/// A timeout that gives up everything in flight looks at each chunk a constant number of times (RFC 3758, 3.5, A3 and C2).
#[test]
fn work_of_giving_up_does_not_grow_with_the_flight() {
    for (level, subflows) in [(SubflowLevel::Zero, 1), (SubflowLevel::Zero, 2), (SubflowLevel::One, 2)] {
        for count in [100, 1_000, 10_000] {
            let work = work_of_giving_up(level, subflows, count);
            assert!(work < 40, "{work} chunks read for each of {count}, {level:?}, {subflows} subflows");
        }
    }
}

/// A sender and the chunks it has in flight: so many messages of a byte, one a chunk, none acknowledged.
fn with_in_flight(count: u32) -> ([Endpoint; 2], AssociationId, Instant) {
    let config = Arc::new(Config::rfc9260().with(|c| {
        c.congestion.initial_window = InitialWindow::Packets(u16::MAX);
        c.congestion.max_burst = MaxBurst::Off;
        (c.limits.receive_window, c.limits.send_buffer) = (8 << 20, 8 << 20);
    }));
    let (mut ends, id) = shaken(&config);
    let now = Instant::ZERO;
    for _ in 0..count {
        ends[0].association(id).unwrap().send(now, Message::new(0, "x")).unwrap();
    }
    let mut packet = Vec::new();
    while ends[0].poll_transmit(now, 1, &mut packet).is_some() {
        packet.clear();
    }
    assert_eq!(ends[0].view(id).unwrap().unacknowledged_chunks(), count as usize);
    (ends, id, now)
}

const AT: [([u8; 4], u16); 2] = [([10, 0, 0, 1], 0), ([10, 0, 0, 2], 0)];

/// Of a packet from the one end to the other.
fn meta(from: usize) -> Meta {
    let (source, destination) = (AT[from].into(), AT[1 - from].into());
    Meta { source, destination, dscp: Dscp::DEFAULT, ecn: Ecn::NotEct }
}

/// Two endpoints, the first of which is about to call the second.
fn calling(config: &Arc<Config>) -> ([Endpoint; 2], AssociationId) {
    let endpoint = |at: ([u8; 4], u16)| {
        let secret = Rng::stream(1, "test", &format!("{at:?}")).secret();
        Endpoint::new(EndpointConfig::new(at.into(), 9), secret)
    };
    let mut ends = AT.map(endpoint);
    let now = Instant::ZERO;
    ends[1].listen(Arc::clone(config)).unwrap();
    let id = ends[0].connect(now, AT[1].into(), 9, Arc::clone(config)).unwrap();
    (ends, id)
}

/// Hands over all that one of them has to send.
fn carry(ends: &mut [Endpoint; 2], from: usize) {
    let mut packet = Vec::new();
    while ends[from].poll_transmit(Instant::ZERO, 1, &mut packet).is_some() {
        ends[1 - from].handle_datagram(Instant::ZERO, meta(from), &std::mem::take(&mut packet));
    }
}

/// The association is up.
fn shaken(config: &Arc<Config>) -> ([Endpoint; 2], AssociationId) {
    let (mut ends, id) = calling(config);
    for turn in 0..8 {
        carry(&mut ends, turn % 2);
    }
    (ends, id)
}

fn packet_with(tag: u32, write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    let header = CommonHeader { source_port: 9, destination_port: 9, verification_tag: tag };
    let mut builder = PacketBuilder::new(&mut out, header);
    write(builder.buffer());
    builder.finish(ChecksumOut::Compute);
    out
}

/// Chunks visited and read for each gap block of SACKs that acknowledge every second chunk of twice as many in flight: first, and again.
fn work_of_gap_blocks(count: u16) -> [u64; 2] {
    let (mut ends, id, now) = with_in_flight(2 * u32::from(count));
    let association = ends[0].view(id).unwrap();
    let (tag, cumulative) = (association.tags().0, association.initial_tsn().get().wrapping_sub(1));
    let gaps: Vec<GapBlock> = (1..=count).map(|n| GapBlock { start: 2 * n, end: 2 * n }).collect();
    let bytes = packet_with(tag, |out| sack::emit(out, Tsn::new(cumulative), 8 << 20, &gaps, &[]));
    let work = |ends: &[Endpoint; 2]| {
        let association = ends[0].view(id).unwrap();
        association.work().0 + association.chunks_read()
    };
    [(), ()].map(|()| {
        let before = work(&ends);
        ends[0].handle_datagram(now, meta(1), &bytes);
        assert_eq!(ends[0].view(id).unwrap().unacknowledged_chunks(), usize::from(count), "every second one");
        (work(&ends) - before) / u64::from(count)
    })
}

/// "No O(n^2)": a SACK with thousands of gap blocks costs as much for each as one with ten, the first time and when it comes again.
#[test]
fn work_of_gap_blocks_does_not_grow_with_their_number() {
    for count in [10, 500, 4_000] {
        for work in work_of_gap_blocks(count) {
            assert!(work < 40, "{work} chunks for each of {count} blocks");
        }
    }
}

/// The State Cookie of the INIT ACK that an endpoint sends next, and the packet.
fn next_cookie(endpoint: &mut Endpoint, now: Instant) -> (Cookie, Vec<u8>) {
    let mut bytes = Vec::new();
    endpoint.poll_transmit(now, 1, &mut bytes).unwrap();
    let packet = Packet::parse(&bytes, Checksum::Verify).unwrap();
    let raw = packet.chunks().next().unwrap().unwrap();
    assert_eq!(raw.kind, kind::INIT_ACK);
    let ack = Init::parse(raw).unwrap();
    let sealed = ack.params.iter().map(Result::unwrap).find(|param| param.kind == 7).unwrap().value;
    (endpoint.admission.open_cookie(now, sealed).unwrap(), bytes)
}

/// "For a normal association INIT chunk ..., the Tie-Tags MUST be set to 0" (RFC 9260, 5.2.2). "For an endpoint that is in the COOKIE-ECHOED
/// state, it MUST populate its Tie-Tags within both the association TCB and inside the State Cookie" (5.2.1), and later on, too. In
/// COOKIE-WAIT there is no tag of the peer that they could be made of.
// rfc9260:5.2.1-12 rfc9260:5.2.2-10
#[test]
fn cookies_have_tie_tags_from_cookie_echoed_on() {
    let (mut ends, id) = calling(&Arc::new(Config::rfc9260()));
    let now = Instant::ZERO;
    let unexpected = Init {
        initiate_tag: 7,
        a_rwnd: 100_000,
        outbound_streams: 1,
        inbound_streams: 1,
        initial_tsn: Tsn::new(1),
        params: Params::EMPTY,
    };
    let unexpected = packet_with(0, |out| unexpected.emit(InitKind::Init, out));
    carry(&mut ends, 0);
    let (normal, init_ack) = next_cookie(&mut ends[1], now);
    assert_eq!((normal.local_tie, normal.peer_tie), (0, 0), "CLOSED");
    ends[0].handle_datagram(now, meta(1), &unexpected);
    let (waiting, _) = next_cookie(&mut ends[0], now);
    assert_eq!((waiting.local_tie, waiting.peer_tie), (0, 0), "COOKIE-WAIT");
    ends[0].handle_datagram(now, meta(1), &init_ack);
    for state in [State::CookieEchoed, State::Established] {
        assert_eq!(ends[0].view(id).unwrap().state(), state);
        // Packets that the end itself has ready leave first.
        carry(&mut ends, 0);
        ends[0].handle_datagram(now, meta(1), &unexpected);
        let (cookie, _) = next_cookie(&mut ends[0], now);
        let ties = ends[0].admission.tie_tags(ends[0].view(id).unwrap().tags());
        assert!(ties.0 != 0 && ties.1 != 0);
        assert_eq!((cookie.local_tie, cookie.peer_tie), ties, "{state:?}");
        carry(&mut ends, 1);
    }
}
