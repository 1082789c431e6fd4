//! Handshake, acknowledging, windows, close and refusal, rule by rule.

use crate::common::{Fate, PORT, Pair, ms, payload};
use anabranch_base::{Dscp, Duration, Ecn, Instant, Meta, Rng};
use anabranch_tcp::header::{self, Flags, Header};
use anabranch_tcp::{Config, Event, Failure, InitialWindow, Stack, State, Timer};
use bytes::Bytes;
use std::net::SocketAddr;
use std::sync::Arc;

fn at(n: u64) -> Instant {
    Instant::ZERO + ms(n)
}

fn config() -> Config {
    Config { timestamps: false, mss: 1000, ..Config::default() }
}

#[test]
fn options_are_used_only_when_both_offer_them() {
    for bits in 0..8 {
        let [sack, timestamps, window_scaling] = [1, 2, 4].map(|b| bits & b != 0);
        let server = Config { sack, timestamps, window_scaling, ..Config::default() };
        let mut pair = Pair::new(Config::default(), server).upload(&payload(50_000));
        pair.rule = Box::new(|p| if p.from_client && p.number == 5 { Fate::Drop } else { Fate::Pass });
        pair.finish();
        assert_eq!(pair.server.received.len(), 50_000);
        let answer = pair.log.iter().find(|p| !p.from_client).unwrap().header.options;
        assert_eq!(answer.sack_permitted, sack);
        assert_eq!(answer.timestamps.is_some(), timestamps);
        assert_eq!(answer.window_scale.is_some(), window_scaling);
        let later = pair.log.iter().filter(|p| !p.has(Flags::SYN));
        assert!(later.clone().all(|p| p.header.options.timestamps.is_some() == timestamps));
        assert_eq!(later.clone().any(|p| !p.header.options.sack.as_slice().is_empty()), sack);
    }
}

#[test]
fn segments_respect_the_smaller_mss_and_the_space_options_take() {
    let small = Config { mss: 700, ..Config::default() };
    let mut pair = Pair::new(Config::default(), small).upload(&payload(50_000));
    pair.finish();
    assert_eq!(pair.log.iter().map(|p| p.len + p.header.size() - 20).max(), Some(700));
}

#[test]
fn syn_is_repeated_with_doubling_intervals_then_given_up() {
    let config = Config { syn_retransmissions: 3, ..config() };
    let mut pair = Pair::same(&config).with_rule(|_| Fate::Drop);
    pair.finish();
    let times: Vec<u64> = pair.log.iter().map(|p| (p.at - Instant::ZERO).as_millis()).collect();
    assert_eq!(times, [0, 1000, 3000, 7000]);
    assert_eq!(pair.client.events, [Event::Failed { why: Failure::HandshakeTimeout }]);
    assert_eq!(pair.client_state(), State::Closed);
}

#[test]
fn a_lost_syn_means_one_segment_and_three_seconds() {
    let mut pair = Pair::same(&config())
        .upload(&payload(20_000))
        .with_rule(|p| if p.from_client && p.number == 1 || p.is_data() { Fate::Drop } else { Fate::Pass });
    pair.run(Duration::from_secs(5));
    let data: Vec<u64> =
        pair.log.iter().filter(|p| p.is_data()).map(|p| (p.at - Instant::ZERO).as_millis()).collect();
    // RFC 5681, section 3.1, and RFC 6298, 5.7.
    assert_eq!(data, [1020, 4020]);
}

#[test]
fn initial_windows() {
    let first_flight = |initial_window, mss| {
        let config = Config { initial_window, mss, timestamps: false, ..Config::default() };
        let mut pair = Pair::same(&config).upload(&payload(100_000));
        pair.run_until(at(35));
        pair.client_stats().packets_sent
    };
    assert_eq!(first_flight(InitialWindow::Segments(2), 1460), 2);
    assert_eq!(first_flight(InitialWindow::Rfc3390, 1460), 3);
    assert_eq!(first_flight(InitialWindow::Rfc3390, 1000), 4);
    assert_eq!(first_flight(InitialWindow::Rfc3390, 4000), 2);
    assert_eq!(first_flight(InitialWindow::Rfc6928, 1460), 10);
}

#[test]
fn delayed_acknowledgements() {
    // Three segments: an acknowledgement for the second, and for the third when the timer ends.
    let mut pair = Pair::same(&config());
    pair.client.offer = payload(3000);
    pair.run(Duration::from_secs(5));
    let acks: Vec<u64> = pair
        .log
        .iter()
        .filter(|p| !p.from_client && !p.has(Flags::SYN))
        .map(|p| (p.at - Instant::ZERO).as_millis())
        .collect();
    assert_eq!(acks, [30, 230]);
    let mut pair = Pair::same(&Config { delayed_ack: false, ..config() });
    pair.client.offer = payload(3000);
    pair.run(Duration::from_secs(5));
    assert_eq!(pair.server_stats().acks_sent, 3);
    // The first two at once, as a young Linux connection does.
    let mut pair = Pair::same(&Config { quick_acks: 2, ..config() });
    pair.client.offer = payload(3000);
    pair.run(at(100) - Instant::ZERO);
    assert_eq!(pair.server_stats().acks_sent, 2);
}

#[test]
fn out_of_order_and_hole_filling_segments_are_acknowledged_at_once() {
    let mut pair = Pair::same(&config()).with_rule(|p| {
        // The second data segment arrives 5 ms late.
        if p.from_client && p.is_data() && p.number == 3 { Fate::Delay(ms(5)) } else { Fate::Pass }
    });
    pair.client.offer = payload(3000);
    pair.run(at(100) - Instant::ZERO);
    let acks: Vec<_> = pair
        .log
        .iter()
        .filter(|p| !p.from_client && !p.has(Flags::SYN))
        .map(|p| ((p.at - Instant::ZERO).as_millis(), p.header.options.sack.as_slice().len()))
        .collect();
    assert_eq!(acks, [(30, 1), (35, 0)]);
}

#[test]
fn nagle_waits_for_the_acknowledgement() {
    for (nagle, segments) in [(false, 5), (true, 2)] {
        let mut pair = Pair::same(&Config { nagle, delayed_ack: false, ..config() });
        pair.run(ms(100));
        for _ in 0..5 {
            pair.client.offer = payload(100);
            pair.settle();
        }
        pair.run(ms(100));
        assert_eq!(pair.client_stats().packets_sent, segments, "nagle {nagle}");
        assert_eq!(pair.server.received.len(), 500);
    }
}

#[test]
fn a_shut_window_is_probed_and_opens() {
    let server = Config { receive_buffer: 10_000, ..config() };
    let mut pair = Pair::new(config(), server);
    pair.server.reads = false;
    pair.client.offer = payload(30_000);
    pair.run(Duration::from_secs(20));
    let stats = pair.client_stats();
    assert!((4..=6).contains(&stats.window_probes), "at 1, 3, 7, 15 s: {stats:?}");
    assert_eq!((stats.timeouts, stats.fast_retransmits), (0, 0), "a shut window is not congestion");
    let kind = pair.client.stack.poll_timeout().unwrap().1;
    assert_eq!(kind, Timer::Persist);
    pair.server.reads = true;
    pair.client.close_after_offer = true;
    pair.finish();
    assert_eq!(pair.server.received, payload(30_000));
}

/// The window update is lost: only the probe finds out.
#[test]
fn a_lost_window_update_is_found_by_the_probe() {
    let server = Config { receive_buffer: 10_000, ..config() };
    let mut pair = Pair::new(config(), server);
    pair.server.reads = false;
    pair.client.offer = payload(30_000);
    pair.run(ms(500));
    pair.server.reads = true;
    let mut first = true;
    pair.rule =
        Box::new(move |p| if !p.from_client && std::mem::take(&mut first) { Fate::Drop } else { Fate::Pass });
    pair.run(Duration::from_secs(10));
    assert_eq!(pair.server.received, payload(30_000));
}

#[test]
fn the_send_buffer_is_a_limit_and_says_when_there_is_room() {
    let mut pair = Pair::same(&Config { send_buffer: 5000, ..config() });
    pair.run(ms(100));
    let id = pair.client.id.unwrap();
    assert_eq!(pair.client.stack.send(pair.now, id, payload(4000)), Ok(4000));
    assert_eq!(pair.client.stack.send(pair.now, id, payload(4000)), Ok(1000));
    assert_eq!(pair.client.stack.send(pair.now, id, payload(4000)), Ok(0));
    pair.run(Duration::from_secs(1));
    assert!(pair.client.events.contains(&Event::Writable));
    assert_eq!(pair.server.received.len(), 5000);
}

#[test]
fn an_idle_connection_starts_slowly_again() {
    for (restart, burst) in [(true, 2), (false, 20)] {
        let config = Config {
            slow_start_restart: restart,
            initial_window: InitialWindow::Segments(2),
            delayed_ack: false,
            ..config()
        };
        let mut pair = Pair::same(&config);
        pair.client.offer = payload(200_000);
        pair.run(Duration::from_secs(10));
        let before = pair.client_stats().packets_sent;
        pair.client.offer = payload(20_000);
        pair.settle();
        assert_eq!(pair.client_stats().packets_sent - before, burst, "restart {restart}");
    }
}

#[test]
fn both_ends_open_at_once() {
    let mut pair = Pair::idle(config());
    let far = |last| SocketAddr::from(([10, 0, 0, last], 7000));
    let config = Arc::new(config());
    pair.client.id = Some(pair.client.stack.connect(pair.now, 7000, far(2), Arc::clone(&config)));
    pair.server.id = Some(pair.server.stack.connect(pair.now, 7000, far(1), config));
    pair.client.offer = payload(5000);
    pair.server.offer = payload(7000);
    pair.run(Duration::from_secs(5));
    assert_eq!((pair.client_state(), pair.server_state()), (State::Established, State::Established));
    assert_eq!((pair.client.received.len(), pair.server.received.len()), (7000, 5000));
    assert!(pair.client.events.contains(&Event::Connected) && pair.server.events.contains(&Event::Connected));
}

#[test]
fn both_ends_close_at_once() {
    let mut pair = Pair::same(&config());
    pair.run(ms(100));
    let (client, server) = (pair.client.id.unwrap(), pair.server.id.unwrap());
    pair.client.stack.close(pair.now, client);
    pair.server.stack.close(pair.now, server);
    assert_eq!((pair.client_state(), pair.server_state()), (State::FinWait1, State::FinWait1));
    pair.run(ms(100));
    assert_eq!((pair.client_state(), pair.server_state()), (State::TimeWait, State::TimeWait));
    assert_eq!(pair.client.stack.poll_timeout().map(|t| t.1), Some(Timer::TimeWait));
    pair.finish();
    assert_eq!((pair.client_state(), pair.server_state()), (State::Closed, State::Closed));
}

#[test]
fn states_of_a_close_in_turn_with_data_in_the_half_closed_direction() {
    let mut pair = Pair::same(&config());
    pair.server.close_in_turn = false;
    pair.run(ms(100));
    let (client, server) = (pair.client.id.unwrap(), pair.server.id.unwrap());
    pair.client.stack.close(pair.now, client);
    pair.run(ms(100));
    assert_eq!((pair.client_state(), pair.server_state()), (State::FinWait2, State::CloseWait));
    assert!(pair.client.stack.send(pair.now, client, payload(1)).is_err());
    pair.server.offer = payload(40_000);
    pair.run(Duration::from_secs(2));
    assert_eq!(pair.client.received, payload(40_000));
    pair.server.stack.close(pair.now, server);
    assert_eq!(pair.server_state(), State::LastAck);
    pair.run(ms(100));
    assert_eq!((pair.client_state(), pair.server_state()), (State::TimeWait, State::Closed));
}

#[test]
fn abort_resets_the_peer() {
    let mut pair = Pair::same(&config());
    pair.run(ms(100));
    let client = pair.client.id.unwrap();
    pair.client.stack.abort(pair.now, client);
    pair.run(ms(100));
    assert_eq!((pair.client_state(), pair.server_state()), (State::Closed, State::Closed));
    assert_eq!(pair.server.events.last(), Some(&Event::Reset));
}

#[test]
fn a_port_without_listener_refuses() {
    let mut pair = Pair::idle(config());
    let remote = SocketAddr::from(([10, 0, 0, 2], PORT + 1));
    pair.client.id = Some(pair.client.stack.connect(pair.now, 1, remote, Arc::new(config())));
    pair.finish();
    assert_eq!(pair.client.events, [Event::Reset]);
    assert_eq!(pair.server.stack.stack_stats().unmatched, 1);
}

#[test]
fn a_dead_peer_is_given_up() {
    let config = Config { retransmissions: 3, ..config() };
    let mut pair = Pair::same(&config);
    pair.run(ms(100));
    pair.rule = Box::new(|_| Fate::Drop);
    pair.client.offer = payload(1000);
    pair.finish();
    assert_eq!(pair.client.events.last(), Some(&Event::Failed { why: Failure::RetransmissionLimit }));
    assert_eq!(pair.client_stats().timeouts, 3);
}

#[test]
fn a_syn_reopens_a_connection_in_time_wait() {
    let mut pair = Pair::same(&config());
    pair.server.close_in_turn = false;
    pair.run(ms(100));
    let (client, server) = (pair.client.id.unwrap(), pair.server.id.unwrap());
    pair.server.stack.close(pair.now, server);
    pair.run(ms(100));
    pair.client.stack.close(pair.now, client);
    pair.run(ms(100));
    assert_eq!((pair.client_state(), pair.server_state()), (State::Closed, State::TimeWait));
    pair.call(config());
    pair.run(ms(100));
    assert_eq!((pair.client_state(), pair.server_state()), (State::Established, State::Established));
    assert_ne!(pair.server.id, Some(server));
}

#[test]
fn half_open_connections_are_bounded() {
    let mut stack = Stack::new(([10, 0, 0, 2], 0).into(), Rng::stream(1, "host", "iss"));
    stack.listen(PORT, Arc::new(Config { backlog: 10, ..config() }));
    for port in 1..=50 {
        let header = Header { source: port, destination: PORT, flags: Flags::SYN, ..Header::default() };
        let segment = sealed(&header, &[]);
        stack.handle_datagram(Instant::ZERO, meta(), &segment);
    }
    assert_eq!(stack.stack_stats().syn_overflow, 40);
    // They are forgotten in the end, and others find room.
    let mut now = Instant::ZERO;
    loop {
        let mut buf = Vec::new();
        while stack.poll_transmit(now, 1, &mut buf).is_some() {}
        let Some((next, _)) = stack.poll_timeout() else { break };
        now = next;
        stack.handle_timeout(now);
    }
    assert_eq!(stack.poll_event(), None, "nobody was told of them");
    let header = Header { source: 99, destination: PORT, flags: Flags::SYN, ..Header::default() };
    stack.handle_datagram(at(1_000_000), meta(), &sealed(&header, &[]));
    assert_eq!(stack.stack_stats().syn_overflow, 40);
}

fn meta() -> Meta {
    let end = |last| SocketAddr::from(([10, 0, 0, last], 0));
    Meta { source: end(1), destination: end(2), dscp: Dscp::DEFAULT, ecn: Ecn::NotEct }
}

fn sealed(header: &Header, payload: &[u8]) -> Vec<u8> {
    let mut segment = Vec::new();
    header.emit(&mut segment);
    segment.extend_from_slice(payload);
    header::seal(&mut segment, meta().source.ip(), meta().destination.ip());
    segment
}

#[test]
fn corrupted_segments_are_counted_and_repaired() {
    let mut pair = Pair::same(&config());
    pair.run(ms(100));
    let header = Header { source: 40_000, destination: PORT, flags: Flags::RST, ..Header::default() };
    let mut segment = sealed(&header, b"x");
    segment[20] ^= 1;
    pair.deliver(true, &segment);
    pair.deliver(true, &segment[..10]);
    let stats = *pair.server.stack.stack_stats();
    assert_eq!((stats.bad_checksum, stats.malformed), (1, 1));
    assert_eq!(pair.server_state(), State::Established);
}

/// A blind RST or SYN inside the window gets a challenge, outside nothing happens (RFC 5961).
#[test]
fn blind_attacks_do_not_end_a_connection() {
    let mut pair = Pair::same(&config());
    pair.run(ms(100));
    let next = pair.log.iter().rfind(|p| p.from_client).unwrap().header.seq;
    for (offset, flags) in
        [(1, Flags::RST), (1, Flags::SYN), (2_000_000_000, Flags::RST), (5, Flags::SYN | Flags::RST)]
    {
        let header = Header {
            source: 40_000,
            destination: PORT,
            seq: next.wrapping_add(offset),
            flags,
            ..Header::default()
        };
        pair.deliver(true, &sealed(&header, &[]));
        pair.settle();
        assert_eq!(pair.server_state(), State::Established);
    }
    assert_eq!(pair.server_stats().acks_sent, 2 + 1, "two challenges to RST and SYN, one to both");
    let header =
        Header { source: 40_000, destination: PORT, seq: next, flags: Flags::RST, ..Header::default() };
    pair.deliver(true, &sealed(&header, &[]));
    assert_eq!(pair.server_state(), State::Closed);
}

/// Valid checksums, hostile everything else: no panic, bounded memory, and the connection still works.
#[test]
fn hostile_segments() {
    for seed in 0..20 {
        let mut rng = Rng::stream(seed, "test", "hostile");
        let mut pair = Pair::same(&Config::default());
        pair.run(ms(100));
        let (to_server, to_client) = {
            let last = |from_client| pair.log.iter().rfind(|p| p.from_client == from_client).unwrap().header;
            (last(true), last(false))
        };
        for i in 0..2_000 {
            let server = rng.chance(0.5);
            let base = if server { to_server } else { to_client };
            let mut header = base;
            let near = |rng: &mut Rng, x: u32| match rng.below(4) {
                0 => x,
                1 => rng.u32(),
                _ => x.wrapping_add(rng.below(200_000) as u32).wrapping_sub(100_000),
            };
            header.seq = near(&mut rng, base.seq);
            header.ack = near(&mut rng, base.ack);
            // Not RST: it may rightly end the connection.
            header.flags = Flags(rng.below(256) as u8 & !4);
            header.window = rng.u32() as u16;
            for _ in 0..rng.below(5) {
                let (left, right) = (near(&mut rng, base.ack), near(&mut rng, base.ack));
                header.options.sack.push(left, right);
            }
            if header.options.size() > 40 {
                header.options.timestamps = None;
            }
            let mut segment = Vec::new();
            header.emit(&mut segment);
            segment.extend_from_slice(&payload(rng.below(1500) as usize));
            let (a, b) = (meta().source.ip(), meta().destination.ip());
            let (source, destination) = if server { (a, b) } else { (b, a) };
            header::seal(&mut segment, source, destination);
            pair.deliver(server, &segment);
            if i % 7 == 0 {
                pair.client.offer = payload(3000);
            }
            pair.run(ms(rng.below(50)));
        }
        pair.run(Duration::from_secs(600));
    }
}

#[test]
fn batches_have_equal_packets() {
    let mut stack = Pair::same(&Config { initial_window: InitialWindow::Segments(20), ..config() });
    stack.run(ms(100));
    let id = stack.client.id.unwrap();
    stack.client.stack.send(stack.now, id, payload(10_500)).unwrap();
    let mut buf = Vec::new();
    let first = stack.client.stack.poll_transmit(stack.now, 8, &mut buf).unwrap();
    assert_eq!((first.segment_size, first.size, first.packets()), (1020, 8 * 1020, 8));
    buf.clear();
    let second = stack.client.stack.poll_transmit(stack.now, 8, &mut buf).unwrap();
    assert_eq!((second.segment_size, second.size, second.packets()), (1020, 2 * 1020 + 520, 3));
    assert!(stack.client.stack.poll_transmit(stack.now, 8, &mut buf).is_none());
}

#[test]
fn ipv6() {
    let end = |last: u16, port| {
        SocketAddr::new(std::net::Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, last).into(), port)
    };
    let mut a = Stack::new(end(1, 0), Rng::stream(1, "a", "iss"));
    let mut b = Stack::new(end(2, 0), Rng::stream(1, "b", "iss"));
    b.listen(80, Arc::new(Config::default()));
    let id = a.connect(Instant::ZERO, 1024, end(2, 80), Arc::new(Config::default()));
    a.send(Instant::ZERO, id, Bytes::from_static(b"hello")).unwrap();
    for _ in 0..5 {
        relay(&mut a, &mut b, end(1, 0), end(2, 0));
        relay(&mut b, &mut a, end(2, 0), end(1, 0));
    }
    assert_eq!(a.state(id), Some(State::Established));
    let (peer, event) = b.poll_event().unwrap();
    assert_eq!(event, Event::Accepted);
    assert_eq!(b.receive(Instant::ZERO, peer).as_deref(), Some(&b"hello"[..]));
}

fn relay(from: &mut Stack, to: &mut Stack, source: SocketAddr, destination: SocketAddr) {
    let mut buf = Vec::new();
    while from.poll_transmit(Instant::ZERO, 1, &mut buf).is_some() {
        let meta = Meta { source, destination, dscp: Dscp::DEFAULT, ecn: Ecn::NotEct };
        to.handle_datagram(Instant::ZERO, meta, &buf);
        buf.clear();
    }
}

/// Same calls, same seed: the same bytes.
#[test]
fn runs_repeat() {
    let run = || {
        let mut rng = Rng::stream(5, "test", "network");
        let mut pair = Pair::same(&Config::default())
            .upload(&payload(200_000))
            .with_rule(move |_| if rng.chance(0.05) { Fate::Drop } else { Fate::Pass });
        pair.finish();
        format!("{:?} {:?}", pair.log, pair.trace)
    };
    assert_eq!(run(), run());
}
