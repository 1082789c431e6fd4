//! Rules of RFC 9260, by section.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

use crate::common;

use std::net::SocketAddr;
use std::sync::Arc;

use anabranch_base::{Duration, Instant, Meta, Rng};
use anabranch_sctp::config::{InitialWindow, MaxBurst, RttSampling};
use anabranch_sctp::{CloseReason, Config, Endpoint, EndpointConfig, Event, Message, State};
use anabranch_wire::chunk::{Chunk, Init};
use anabranch_wire::{Checksum, Packet, Tsn};
use bytes::Bytes;
use common::script::Script;
use common::{Logged, PORT, Pair, Side};

fn init_of(logged: &Logged) -> (u32, Tsn) {
    let packet = Packet::parse(&logged.bytes, Checksum::Verify).unwrap();
    match Chunk::parse(packet.chunks().next().unwrap().unwrap()).unwrap() {
        Chunk::Init(Init { initiate_tag, initial_tsn, .. })
        | Chunk::InitAck(Init { initiate_tag, initial_tsn, .. }) => (initiate_tag, initial_tsn),
        other => panic!("{other:?}"),
    }
}

fn closed(pair: &Pair, side: Side) -> Option<CloseReason> {
    pair.events.iter().find_map(|(s, _, e)| match e {
        Event::Closed(reason) if *s == side => Some(reason.clone()),
        _ => None,
    })
}

fn at_ms(logged: &Logged) -> u64 {
    logged.at.as_nanos() / 1_000_000
}

/// 5.2.1: in COOKIE-WAIT and COOKIE-ECHOED the answer to an INIT repeats our own tag and Initial TSN, and changes
/// nothing.
// rfc9260:5.2.1-1 rfc9260:5.2.1-6
#[test]
fn s5_2_1_an_init_while_setting_up() {
    for echoed in [false, true] {
        let (mut pair, a) = Pair::connecting(1, &Config::rfc9260());
        pair.drop_if(move |p| p.from == Side::Z && (!echoed || p.has("COOKIE-ACK")));
        pair.run_for(Duration::from_millis(50));
        let state = if echoed { State::CookieEchoed } else { State::CookieWait };
        assert_eq!(pair.a.view(a).unwrap().state(), state);
        let own = init_of(&pair.log[0]);
        let mut other = Pair::new(2);
        other.z.connect(other.now, common::address(Side::A), PORT, Arc::new(Config::rfc9260())).unwrap();
        other.pump();
        let init = other.log[0].bytes.clone();
        pair.log.clear();
        pair.inject(Side::Z, &init);
        pair.pump();
        assert_eq!(pair.names(), ["A: INIT-ACK"]);
        assert_eq!(init_of(&pair.log[0]), own, "echoed {echoed}");
        assert_eq!(pair.a.view(a).unwrap().state(), state);
    }
}

/// 5.2.4 B: both sides ask, with data waiting on both, whichever packet is lost; nothing is lost or doubled.
#[test]
fn s5_2_4_collisions_with_data_and_a_loss_anywhere() {
    for with_data in [true, false] {
        for lost in 0..14 {
            let config = Config::rfc9260().with(|c| c.emulation.data_with_cookie = with_data);
            let (mut pair, a) = Pair::connecting(3, &config);
            pair.a.listen(Arc::new(config.clone())).unwrap();
            let now = pair.now;
            let z = pair.z.connect(now, common::address(Side::A), PORT, Arc::new(config)).unwrap();
            let mut count = 0;
            pair.drop_if(move |_| {
                count += 1;
                count == lost
            });
            for i in 0..5 {
                pair.send(Side::A, a, 0, &[i; 900]);
                pair.send(Side::Z, z, 0, &[i; 900]);
            }
            pair.run_for(Duration::from_secs(20));
            for side in [Side::A, Side::Z] {
                let got: Vec<u8> = pair
                    .received
                    .iter()
                    .filter(|(s, _)| *s == side)
                    .map(|(_, m)| m.clone().into_bytes()[0])
                    .collect();
                assert_eq!(got, [0, 1, 2, 3, 4], "{side:?}, lost {lost}: {:?}", pair.ladder());
            }
            assert_eq!((pair.a.associations(), pair.z.associations()), (1, 1));
        }
    }
}

/// 5.1.1: a collision grants streams, too; messages queued beyond are dropped and reported.
// rfc9260:5.1.1-3
#[test]
fn s5_1_1_streams_granted_in_a_collision() {
    let config = Config::rfc9260();
    let (mut pair, a) = Pair::connecting(4, &config);
    pair.a.listen(Arc::new(config.clone())).unwrap();
    let now = pair.now;
    let few = config.with(|c| c.streams.inbound = 2);
    pair.z.listen(Arc::new(few.clone())).unwrap();
    pair.z.connect(now, common::address(Side::A), PORT, Arc::new(few)).unwrap();
    // Z's handshake wins: A's INIT is lost.
    pair.drop_if(|p| p.from == Side::A && p.has("INIT"));
    pair.send(Side::A, a, 7, b"nowhere to go");
    pair.send(Side::A, a, 1, b"fine");
    pair.run_for(Duration::from_secs(10));
    assert_eq!(pair.a.view(a).unwrap().outbound_streams(), 2);
    assert!(
        pair.saw(Side::A, |e| matches!(e, Event::StreamsReduced { messages_dropped: 1 })),
        "{:?}",
        pair.events
    );
    assert_eq!(pair.received.len(), 1, "{:?}", pair.ladder());
    assert!(!pair.names().iter().any(|n| n.contains("ERROR")), "{:?}", pair.names());
}

/// 6.1 A: the window closes, and every window update is lost: probes find out.
#[test]
fn s6_1_a_closed_window_whose_updates_are_lost() {
    let mut config = Config::rfc9260();
    config.limits.receive_window = 8000;
    config.timers.rto_max = Duration::from_secs(10);
    let (mut pair, a, _) = Pair::established(5, &config);
    pair.reads = [true, false];
    for _ in 0..40 {
        pair.send(Side::A, a, 0, &[1; 1000]);
    }
    pair.run_for(Duration::from_secs(600));
    assert_eq!(pair.a.view(a).unwrap().state(), State::Established, "probes that are answered are no errors");
    assert!(pair.a.view(a).unwrap().stats().window_probes > 0);
    // The reader wakes up; the updates that tell of it are lost for a while.
    let until = pair.now + Duration::from_secs(3);
    pair.drop_if(move |p| p.from == Side::Z && p.at < until);
    pair.reads = [true, true];
    pair.run_for(Duration::from_secs(120));
    assert_eq!(pair.received.len(), 40, "{:?}", pair.a.view(a).map(anabranch_sctp::Association::stats));
}

/// 6.1 A: "the sender MUST NOT" give up on a peer that keeps answering, but one that does not is unreachable.
#[test]
fn s6_1_a_closed_window_of_a_peer_that_died() {
    let mut config = Config::rfc9260();
    config.limits.receive_window = 4000;
    config.limits.association_max_retrans = 3;
    config.timers.heartbeat_interval = Duration::ZERO;
    let (mut pair, a, _) = Pair::established(6, &config);
    pair.reads = [true, false];
    for _ in 0..10 {
        pair.send(Side::A, a, 0, &[1; 1000]);
    }
    pair.run_for(Duration::from_secs(200));
    pair.drop_if(|_| true);
    pair.run_for(Duration::from_secs(600));
    assert!(matches!(closed(&pair, Side::A), Some(CloseReason::Unreachable { .. })));
}

/// 6.2: "a duplicate DATA chunk ... with no new DATA chunk" is answered at once, and its TSN is listed.
// rfc9260:6.2-20 rfc9260:6.2-21
#[test]
fn s6_2_duplicates_are_reported_at_once() {
    let (mut pair, a, _) = Pair::established(7, &Config::rfc9260());
    for _ in 0..2 {
        pair.send(Side::A, a, 0, b"x");
        pair.run_for(Duration::from_millis(500));
    }
    let twice = pair.log.iter().rfind(|p| p.from == Side::A && p.has("DATA")).unwrap().clone();
    let tsn = twice.data()[0].tsn;
    pair.log.clear();
    pair.inject(Side::A, &twice.bytes);
    pair.pump();
    let packet = Packet::parse(&pair.log[0].bytes, Checksum::Verify).unwrap();
    let Ok(Chunk::Sack(sack)) = Chunk::parse(packet.chunks().next().unwrap().unwrap()) else {
        panic!("no SACK")
    };
    assert_eq!(sack.duplicates().collect::<Vec<_>>(), [tsn]);
    assert_eq!((pair.log.len(), pair.received.len()), (1, 2));
}

/// 6.3.2 R3 and 6.3.3: T3-rtx runs from the last advance of the cumulative TSN, and doubles with each expiry.
// rfc9260:6.1-19
#[test]
fn s6_3_t3_restarts_with_progress_and_backs_off() {
    let mut config = Config::rfc9260();
    config.sack.delay = Duration::ZERO;
    let (mut pair, a, _) = Pair::established(8, &config);
    let start = pair.now;
    // Packets 300 ms apart: a timer that was never restarted would expire in between.
    for _ in 0..10 {
        pair.send(Side::A, a, 0, &[1; 500]);
        pair.run_for(Duration::from_millis(300));
    }
    assert_eq!(pair.a.view(a).unwrap().stats().timeouts, 0);
    pair.log.clear();
    pair.drop_if(|p| p.from == Side::A);
    pair.send(Side::A, a, 0, &[2; 500]);
    let sent = pair.now;
    pair.run_for(Duration::from_secs(20));
    let waits: Vec<u64> = pair
        .log
        .iter()
        .filter(|p| p.from == Side::A && p.has("DATA"))
        .map(|p| (p.at - sent).as_millis())
        .collect();
    assert_eq!(waits, [0, 1000, 3000, 7000, 15_000], "{start}");
}

/// 6.3.1 C5, Karn: a chunk that was sent twice gives no sample, however late its SACK comes.
// rfc9260:6.3.1-5
#[test]
fn s6_3_1_c5_no_sample_of_what_was_sent_twice() {
    for sampling in [RttSampling::OncePerRoundTrip, RttSampling::EveryAck] {
        let config = Config::rfc9260().with(|c| {
            c.timers.rtt_sampling = sampling;
            c.timers.heartbeat_interval = Duration::ZERO;
        });
        let (mut pair, a, _) = Pair::established(9, &config);
        let mut first = true;
        pair.drop_if(move |p| p.has("DATA") && std::mem::take(&mut first));
        pair.send(Side::A, a, 0, b"x");
        pair.run_for(Duration::from_secs(5));
        let stats = pair.a.view(a).unwrap().stats();
        assert_eq!((stats.timeouts, stats.rtt_samples), (1, 0), "{sampling:?}");
        assert_eq!(
            stats.rto,
            Duration::from_secs(2),
            "C5 and 6.3.1: the backed-off RTO stays until a new sample"
        );
        pair.send(Side::A, a, 0, b"x");
        pair.run_for(Duration::from_secs(5));
        assert_eq!(pair.a.view(a).unwrap().stats().rtt_samples, 1);
        assert_eq!(pair.a.view(a).unwrap().stats().rto, Duration::from_secs(1));
    }
}

/// 7.2.1: "max(cwnd / 2, 4 * PMDCS) once per RTO" without transmission, ssthresh first set to cwnd.
// rfc9260:7.2.1-10 rfc9260:7.2.1-11
#[test]
fn s7_2_1_an_idle_window_decays() {
    let config = Config::rfc9260().with(|c| {
        c.congestion.max_burst = MaxBurst::Off;
        c.limits.send_buffer = 1 << 20;
    });
    let (mut pair, a, _) = Pair::established(10, &config);
    for _ in 0..200 {
        pair.send(Side::A, a, 0, &[1; 1400]);
    }
    pair.run_for(Duration::from_secs(3));
    let grown = pair.a.view(a).unwrap().stats().cwnd;
    assert!(grown > 16 * u64::from(config.pmdcs()), "{grown}");
    pair.run_for(Duration::from_millis(100));
    pair.send(Side::A, a, 0, b"x");
    let after = pair.a.view(a).unwrap().stats().cwnd;
    assert!(after <= grown / 2 && after >= grown / 8, "{grown} {after}");
    pair.run_for(Duration::from_secs(100));
    pair.send(Side::A, a, 0, b"x");
    assert_eq!(pair.a.view(a).unwrap().stats().cwnd, 4 * u64::from(config.pmdcs()));
}

/// 7.2.3: after T3-rtx the window grows by slow start, also when the timer expired during Fast Recovery.
// rfc9260:7.2.3-2
#[test]
fn s7_2_3_slow_start_after_a_timeout_in_fast_recovery() {
    let config = Config::rfc9260().with(|c| {
        c.congestion.max_burst = MaxBurst::Off;
        c.limits.send_buffer = 4 << 20;
        c.timers.heartbeat_interval = Duration::ZERO;
    });
    let (mut pair, a, _) = Pair::established(11, &config);
    for _ in 0..400 {
        pair.send(Side::A, a, 0, &[1; 1400]);
    }
    pair.run_for(Duration::from_millis(120));
    // One packet is lost, which starts Fast Recovery; then everything is, retransmission and all.
    let start = pair.now;
    let mut count = 0;
    pair.drop_if(move |p| {
        count += usize::from(p.from == Side::A && p.has("DATA"));
        p.from == Side::A && (count == 1 || (count > 6 && p.at < start + Duration::from_millis(1200)))
    });
    pair.run_for(Duration::from_secs(30));
    let stats = pair.a.view(a).unwrap().stats();
    assert!(stats.fast_retransmits > 0 && stats.timeouts > 0, "{stats:?}");
    assert_eq!(pair.received.len(), 400);
    let done = pair.log.iter().filter(|p| p.from == Side::A && p.has("DATA")).map(at_ms).max().unwrap();
    let took = done - start.as_nanos() / 1_000_000;
    assert!(took < 3700, "{took} ms, {stats:?}");
}

/// 8.1 to 8.3: heartbeats every HB.interval + RTO (+- 50 % of the RTO); each that is not answered counts; the counter
/// is cleared by an answer.
// rfc9260:8.1-6 rfc9260:8.3-7 rfc9260:8.3-9 rfc9260:8.3-11 rfc9260:8.3-13
#[test]
fn s8_3_heartbeat_times_and_counters() {
    let mut config = Config::rfc9260();
    config.timers.heartbeat_interval = Duration::from_secs(10);
    config.limits.path_max_retrans = 2;
    config.limits.association_max_retrans = 8;
    let (mut pair, a, _) = Pair::established(12, &config);
    pair.run_for(Duration::from_secs(200));
    let beats: Vec<u64> =
        pair.log.iter().filter(|p| p.from == Side::A && p.has("HEARTBEAT")).map(at_ms).collect();
    assert!(beats.len() >= 16, "{beats:?}");
    let gaps: Vec<u64> = beats.windows(2).map(|w| w[1] - w[0]).collect();
    assert!(gaps.iter().all(|g| (10_500..=11_500).contains(g)), "{gaps:?}");
    assert!(gaps.windows(2).any(|w| w[0] != w[1]), "jitter: {gaps:?}");
    // Five without an answer: the path goes down after the third; then one comes through.
    let mut lost = 0;
    pair.drop_if(move |p| {
        lost += usize::from(p.from == Side::A && p.has("HEARTBEAT"));
        p.from == Side::A && lost <= 5
    });
    pair.run_for(Duration::from_secs(300));
    assert!(pair.saw(Side::A, |e| matches!(e, Event::PathDown { path: 0 })), "{:?}", pair.events);
    assert!(pair.saw(Side::A, |e| matches!(e, Event::PathUp { path: 0 })), "{:?}", pair.events);
    assert_eq!(pair.a.view(a).unwrap().state(), State::Established);
    // "discontinued after sending either a SHUTDOWN chunk or SHUTDOWN ACK chunk".
    pair.drop_if(|p| p.from == Side::Z);
    pair.a.association(a).unwrap().shutdown(pair.now);
    pair.log.clear();
    pair.run_for(Duration::from_secs(100));
    assert!(pair.log.iter().all(|p| p.from == Side::Z || !p.has("HEARTBEAT")), "{:?}", pair.names());
}

/// 9.2: shutdown with data in both directions, whichever packet is lost.
#[test]
fn s9_2_shutdown_with_data_both_ways_and_a_loss_anywhere() {
    for both in [false, true] {
        for lost in 0..40 {
            let (mut pair, a, z) = Pair::established(13, &Config::rfc9260());
            let mut count = 0;
            pair.drop_if(move |_| {
                count += 1;
                count == lost
            });
            for _ in 0..8 {
                pair.send(Side::A, a, 0, &[1; 1000]);
                pair.send(Side::Z, z, 0, &[2; 3000]);
            }
            pair.a.association(a).unwrap().shutdown(pair.now);
            if both {
                pair.z.association(z).unwrap().shutdown(pair.now);
            }
            pair.run_for(Duration::from_secs(60));
            assert_eq!(pair.received.len(), 16, "lost {lost}: {:?}", pair.ladder());
            for side in [Side::A, Side::Z] {
                assert_eq!(closed(&pair, side), Some(CloseReason::Graceful), "{lost}: {:?}", pair.ladder());
            }
            assert!(pair.a.release(a) && pair.z.release(z));
            assert!(
                pair.a.view(a).map(anabranch_sctp::Association::stats).is_none() && !pair.a.release(a),
                "an id is good once"
            );
        }
    }
}

/// 9.2: DATA in SHUTDOWN-SENT is answered with SHUTDOWN at once, and with a SACK where there are gaps.
// rfc9260:9.2-6 rfc9260:9.2-9 rfc9260:9.2-10
#[test]
fn s9_2_data_in_shutdown_sent() {
    let (mut pair, a, z) = Pair::established(14, &Config::rfc9260());
    // Z does not hear the SHUTDOWN and goes on talking; its first packet is lost.
    let mut first = true;
    pair.drop_if(move |p| {
        (p.from == Side::A && p.has("SHUTDOWN") && p.words().len() == 1)
            || (p.has("DATA") && std::mem::take(&mut first))
    });
    pair.a.association(a).unwrap().shutdown(pair.now);
    pair.pump();
    for _ in 0..3 {
        pair.send(Side::Z, z, 0, &[3; 1400]);
    }
    pair.run_for(Duration::from_millis(300));
    let answers: Vec<String> = pair.names().into_iter().filter(|n| n.starts_with('A')).skip(1).collect();
    assert!(!answers.is_empty() && answers.iter().all(|n| n == "A: SACK + SHUTDOWN"), "{answers:?}");
    pair.drop_if(|_| false);
    pair.run_for(Duration::from_secs(30));
    assert_eq!(pair.received.len(), 3);
    assert_eq!(closed(&pair, Side::Z), Some(CloseReason::Graceful));
}

/// 1.6: TSNs wrap at 2^32. Seeds whose first TSN lies just below, with loss, duplication and gaps across the wrap.
// rfc9260:1.6-4
#[test]
fn s1_6_tsns_wrap() {
    for (seed, initial, chunks) in [(8_575_372, 0xffff_ff38_u32, 400), (2_109_710, 0xffff_fb13, 3000)] {
        let config = Config::rfc9260().with(|c| c.limits.send_buffer = 64 << 20);
        let (mut pair, a) = Pair::connecting(seed, &config);
        pair.run_for(Duration::from_millis(100));
        assert_eq!(init_of(&pair.log[0]).1.get(), initial, "a seed for this very wrap");
        let mut rng = Rng::stream(seed, "test", "loss");
        pair.drop_if(move |_| rng.chance(0.05));
        for i in 0..chunks {
            pair.send(Side::A, a, (i % 3) as u16, &u32::to_be_bytes(i).repeat(300));
        }
        pair.run_for(Duration::from_secs(2000));
        let mut next = [0_u32, 1, 2];
        for (_, message) in &pair.received {
            let stream = usize::from(message.stream);
            assert_eq!(message.clone().into_bytes()[..4], next[stream].to_be_bytes());
            next[stream] += 3;
        }
        assert_eq!(
            pair.received.len(),
            chunks as usize,
            "{:?}",
            pair.a.view(a).map(anabranch_sctp::Association::stats)
        );
        assert_eq!(pair.a.view(a).unwrap().flight_bytes(), 0);
    }
}

/// 3.3.2: as many streams as 16 bits can count.
#[test]
fn s3_3_2_all_65535_streams() {
    let config = Config::rfc9260().with(|c| {
        c.streams.outbound = 65_535;
        c.streams.inbound = 65_535;
        c.limits.send_buffer = 64 << 20;
    });
    let (mut pair, a, _) = Pair::established(15, &config);
    assert_eq!(pair.a.view(a).unwrap().outbound_streams(), 65_535);
    for stream in (0..65_535).rev() {
        pair.send(Side::A, a, stream, &stream.to_be_bytes());
    }
    pair.run_for(Duration::from_secs(60));
    assert_eq!(pair.received.len(), 65_535);
    assert!(pair.received.iter().all(|(_, m)| m.clone().into_bytes()[..] == m.stream.to_be_bytes()));
    let now = pair.now;
    assert!(
        pair.a.association(a).unwrap().send(now, Message::new(65_535, Bytes::from_static(b"x"))).is_err()
    );
}

/// 6.9: fragments at the smallest packet that is allowed, in batches.
#[test]
fn s6_9_the_smallest_mtu() {
    let mut config = Config::rfc9260();
    config.set("mtu", "576").unwrap();
    config.set("ip_overhead", "120").unwrap();
    let (mut pair, a, z) = Pair::established(16, &config);
    pair.max_packets = 10;
    let mut rng = Rng::stream(1, "test", "loss");
    pair.drop_if(move |_| rng.chance(0.03));
    for i in 1..60_usize {
        pair.send(Side::A, a, 0, &vec![i as u8; i * 37]);
        pair.send(Side::Z, z, 1, &vec![i as u8; i * 41]);
    }
    pair.run_for(Duration::from_secs(400));
    assert_eq!(pair.received.len(), 118);
    assert!(pair.log.iter().all(|p| p.bytes.len() <= config.max_packet() as usize));
}

/// Two endpoints wherever they are: IPv6, and UDP-encapsulated with ports of their own.
// rfc6951:5.3-1 rfc6951:5.3-3
// rfc9260:1.3-2 rfc9260:5.1.2-1 rfc9260:5.1-3
#[test]
fn s1_3_other_addresses() {
    let places: [(SocketAddr, SocketAddr); 2] = [
        ("[2001:db8::1]:0".parse().unwrap(), "[2001:db8::2]:0".parse().unwrap()),
        ("192.0.2.1:40000".parse().unwrap(), "192.0.2.2:9899".parse().unwrap()),
    ];
    for (local, remote) in places {
        let mut a = Endpoint::new(
            EndpointConfig::new(local, 5001).keeping_closed(),
            Rng::stream(1, "a", "endpoint").secret(),
        );
        let mut z = Endpoint::new(
            EndpointConfig::new(remote, 5002).keeping_closed(),
            Rng::stream(1, "z", "endpoint").secret(),
        );
        z.listen(Arc::new(Config::rfc9260())).unwrap();
        let mut now = Instant::ZERO;
        let id = a.connect(now, remote, 5002, Arc::new(Config::rfc9260())).unwrap();
        a.association(id).unwrap().send(now, Message::new(0, Bytes::from(vec![5; 50_000]))).unwrap();
        let (mut buf, mut got) = (Vec::new(), 0);
        for _ in 0..2000 {
            now += Duration::from_millis(1);
            a.handle_timeout(now);
            z.handle_timeout(now);
            for (source, target) in [(local, remote), (remote, local)] {
                let (sender, receiver) = if source == local { (&mut a, &mut z) } else { (&mut z, &mut a) };
                while let Some(t) = sender.poll_transmit(now, 1, &mut buf) {
                    assert_eq!(t.destination, target, "address and port of the peer's own packets");
                    let meta = Meta { source, destination: target, ..common::meta(Side::A) };
                    receiver.handle_datagram(now, meta, &buf);
                    buf.clear();
                }
            }
            while let Some((id, event)) = z.poll_event() {
                if matches!(event, Event::Readable { .. }) {
                    while let Some(m) = z.association(id).unwrap().receive() {
                        got += m.len();
                    }
                }
            }
        }
        assert_eq!(got, 50_000, "{local} to {remote}");
    }
}

/// 7.2.4: "Before the above adjustments, if the received SACK chunk also acknowledges new DATA chunks and advances the Cumulative TSN Ack
/// Point, the cwnd adjustment rules defined in Sections 7.2.1 and 7.2.2 MUST be applied first": the SACK with the third report lets cwnd grow by
/// a packet, and what is halved is the larger window.
// rfc9260:7.2.4-6
#[test]
fn s7_2_4_a_window_grows_before_the_same_sack_halves_it() {
    let config = Config::rfc9260().with(|c| {
        c.congestion.max_burst = MaxBurst::Off;
        c.congestion.initial_window = InitialWindow::Packets(10);
        c.limits.send_buffer = 1 << 20;
    });
    let pmdcs = u64::from(config.pmdcs());
    let mut script = Script::established(&config);
    for _ in 0..40 {
        script.pair.send(Side::A, script.a, 0, &vec![1; pmdcs as usize - 16]);
    }
    script.pair.pump();
    let cwnd = |script: &Script| script.pair.a.view(script.a).unwrap().stats().cwnd;
    assert_eq!((script.left().len(), cwnd(&script)), (10, 10 * pmdcs));
    // The fourth is lost; three before it come late. Chunks reported as received fill the window again.
    script.sack(0, 1_000_000, &[(5, 5)]);
    script.sack(0, 1_000_000, &[(5, 6)]);
    assert_eq!(cwnd(&script), 10 * pmdcs, "the Cumulative TSN Ack Point has not moved");
    script.sack(3, 1_000_000, &[(2, 4)]);
    let stats = script.pair.a.view(script.a).unwrap().stats();
    assert_eq!((stats.fast_retransmits, stats.cwnd), (1, 11 * pmdcs / 2));
}
