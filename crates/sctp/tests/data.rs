//! Data: order, fragments, acknowledgements, losses, windows (RFC 9260, sections 6 and 7).

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

use crate::common;

use anabranch_base::{Duration, Rng};
use anabranch_sctp::{Config, Event, Message, SendError};
use anabranch_wire::{Checksum, Packet};
use bytes::Bytes;
use common::{Pair, Side};

const SECOND: Duration = Duration::from_secs(1);

/// A configuration for one-way bulk data: one 1452-byte chunk a packet, a SACK each, a window that does not grow.
fn steady(profile: &str, packets: u64) -> Config {
    let mut config = Config::named(profile).unwrap();
    config.sack.every = 1;
    config.limits.send_buffer = 10 << 20;
    config.congestion.max_burst = anabranch_sctp::config::MaxBurst::Off;
    config.congestion.initial_window = anabranch_sctp::config::InitialWindow::Packets(packets as u16);
    config.congestion.initial_ssthresh = Some(1);
    config.limits.receive_window = 1 << 20;
    config.timers.heartbeat_interval = Duration::ZERO;
    config
}

fn tsns(pair: &Pair, from: Side) -> Vec<u32> {
    pair.log
        .iter()
        .filter(|p| p.from == from)
        .flat_map(|p| p.data().iter().map(|d| d.tsn.get()).collect::<Vec<_>>())
        .collect()
}

#[test]
fn delayed_sacks_follow_every_second_packet_and_200_ms() {
    let (mut pair, a, _) = Pair::established(1, &Config::rfc9260());
    for _ in 0..3 {
        pair.send(Side::A, a, 0, &[1; 1452]);
    }
    pair.run_for(SECOND);
    let log: Vec<(u64, String)> =
        pair.log.iter().map(|p| ((p.at - pair.log[0].at).as_millis(), p.words().join("+"))).collect();
    // The first DATA chunk of an association at once, then after two packets... the second and third together.
    let sacks: Vec<u64> = log.iter().filter(|(_, w)| w.starts_with("SACK")).map(|(t, _)| *t).collect();
    assert_eq!(sacks, [10, 10], "{log:?}");
    pair.log.clear();
    pair.send(Side::A, a, 0, &[1; 10]);
    pair.run_for(SECOND);
    assert_eq!((pair.log[1].at - pair.log[0].at).as_millis(), 210, "one packet waits SACK.Delay");
}

// rfc9260:6.10-4
#[test]
fn small_messages_share_a_packet_and_a_sack_rides_with_data() {
    let (mut pair, a, z) = Pair::established(2, &Config::rfc9260());
    pair.send(Side::A, a, 0, b"first");
    pair.run_for(SECOND);
    pair.log.clear();
    for i in 0..10 {
        pair.send(Side::A, a, i % 3, &[2; 100]);
    }
    pair.send(Side::Z, z, 0, b"back");
    pair.pump();
    assert_eq!(pair.log[0].data().len(), 10, "{:?}", pair.ladder());
    pair.run_for(Duration::from_millis(15));
    pair.send(Side::Z, z, 0, b"more");
    pair.pump();
    assert!(pair.log.iter().any(|p| p.has("SACK") && p.has("DATA")), "{:?}", pair.ladder());
}

// rfc9260:6.10-5
#[test]
fn messages_of_every_size_arrive_whole_and_in_order() {
    for (seed, batch) in [(3, 1), (4, 16)] {
        let mut config = Config::rfc9260();
        config.limits.send_buffer = 4 << 20;
        let (mut pair, a, _) = Pair::established(seed, &config);
        pair.max_packets = batch;
        let sizes = [1, 2, 3, 4, 1451, 1452, 1453, 2904, 2905, 65_536, 300_000, 7];
        for (i, size) in sizes.iter().enumerate() {
            pair.send(Side::A, a, 0, &vec![i as u8; *size]);
        }
        pair.run_for(SECOND * 60);
        let got: Vec<usize> = pair.received.iter().map(|(_, m)| m.len()).collect();
        assert_eq!(got, sizes);
        for (i, (_, m)) in pair.received.iter().enumerate() {
            assert!(m.clone().into_bytes().iter().all(|b| *b == i as u8));
        }
        for packet in &pair.log {
            assert!(packet.bytes.len() <= 1480);
            Packet::parse(&packet.bytes, Checksum::Verify).unwrap();
        }
    }
}

/// A message a little larger than a packet must be cut; its tail shares a packet with the head of the next.
#[test]
fn messages_larger_than_a_packet_fill_packets() {
    let (mut pair, a, _) = Pair::established(16, &steady("rfc9260", 1000));
    for _ in 0..100 {
        pair.send(Side::A, a, 0, &[0; 1468]);
    }
    pair.run_for(SECOND);
    assert_eq!(pair.received.len(), 100);
    let packets = pair.log.iter().filter(|p| p.has("DATA")).count();
    assert!(packets <= 105, "146,800 bytes of user data need 102 packets of 1,452: {packets}");
}

/// Claim L-F9 of Alamgir et al. (2005) (Fig 9): cwnd of 17, one chunk lost; with the rules of RFC 2960 three new TSNs leave on
/// the first three reports, the lost one on the fourth although the flight fills the window, and cwnd becomes 8.
// rfc9260:7.2.4-4
#[test]
fn figure_9_fast_retransmit_on_the_fourth_report_ignores_the_window() {
    let config = steady("ns2-2.28", 17);
    let (mut pair, a, _) = Pair::established(5, &config);
    for _ in 0..60 {
        pair.send(Side::A, a, 0, &[0; 1452]);
    }
    // Packet number 7 of the first window is lost, once.
    let mut count = 0;
    pair.drop_if(move |p| {
        count += usize::from(p.from == Side::A);
        p.from == Side::A && count == 7
    });
    pair.run_for(Duration::from_millis(25));
    let sent = tsns(&pair, Side::A);
    let first = sent[0];
    let relative: Vec<u32> = sent.iter().map(|t| t - first).collect();
    // 17 sent at once; SACKs 1 to 6 move the cumulative point and let 6 more leave (17..=22); then every report lets
    // one more leave, until the fourth brings TSN 6 again.
    let mut expected: Vec<u32> = (0..17).collect();
    expected.extend(17..23);
    expected.extend([23, 24, 25]);
    expected.push(6);
    assert_eq!(relative[..27], expected[..], "{relative:?}");
    let stats = pair.a.view(a).unwrap().stats();
    assert_eq!((stats.fast_retransmits, stats.retransmissions, stats.timeouts), (1, 1, 0));
    assert_eq!(stats.cwnd, 17 * 1468 / 2, "17 halves to 8.5, which Fig 9 plots as 8");
    pair.run_for(SECOND * 5);
    assert_eq!(pair.received.len(), 60);
}

// rfc9260:7.2.3-1
#[test]
fn rfc_9260_marks_on_the_third_report_and_cuts_once_a_window() {
    let config = steady("rfc9260", 20);
    let (mut pair, a, _) = Pair::established(6, &config);
    for _ in 0..100 {
        pair.send(Side::A, a, 0, &[0; 1452]);
    }
    let mut count = 0;
    pair.drop_if(move |p| {
        count += usize::from(p.from == Side::A);
        p.from == Side::A && [3, 6, 9, 12].contains(&count)
    });
    pair.run_for(SECOND * 10);
    let stats = pair.a.view(a).unwrap().stats();
    assert_eq!(
        (stats.congestion_events, stats.timeouts, stats.retransmissions),
        (1, 0, 4),
        "{:?}",
        pair.ladder()
    );
    assert_eq!(pair.received.len(), 100);
    // The same losses under RFC 2960: no recovery point, more than one cut.
    let (mut old, a, _) = Pair::established(6, &steady("rfc2960", 20));
    for _ in 0..100 {
        old.send(Side::A, a, 0, &[0; 1452]);
    }
    let mut count = 0;
    old.drop_if(move |p| {
        count += usize::from(p.from == Side::A);
        p.from == Side::A && [3, 6, 9, 12].contains(&count)
    });
    old.run_for(SECOND * 10);
    assert!(old.a.view(a).unwrap().stats().congestion_events > 1);
    assert_eq!(old.received.len(), 100);
}

#[test]
fn t3_sends_one_packet_backs_off_and_grows_anew() {
    let config = steady("rfc9260", 10);
    let (mut pair, a, _) = Pair::established(7, &config);
    for _ in 0..10 {
        pair.send(Side::A, a, 0, &[0; 1452]);
    }
    pair.drop_if(|p| p.from == Side::A);
    pair.run_for(Duration::from_millis(1));
    pair.log.clear();
    pair.run_for(Duration::from_millis(3500));
    // RTO.Min is 1 s: expiries after 1 and 1 + 2 s, one packet each.
    assert_eq!(pair.log.len(), 2, "{:?}", pair.ladder());
    assert_eq!(tsns(&pair, Side::A)[0], tsns(&pair, Side::A)[1]);
    let stats = pair.a.view(a).unwrap().stats();
    assert_eq!((stats.timeouts, stats.cwnd, stats.rto), (2, 1468, SECOND * 4));
    pair.drop_if(|_| false);
    pair.run_for(SECOND * 10);
    assert_eq!(pair.received.len(), 10);
}

#[test]
fn association_max_retrans_ends_it() {
    // HEARTBEATs without an answer count, too (8.1): here T3-rtx is alone.
    let config = Config::rfc9260().with(|c| c.timers.heartbeat_interval = Duration::ZERO);
    let (mut pair, a, _) = Pair::established(8, &config);
    pair.send(Side::A, a, 0, b"into the void");
    pair.drop_if(|_| true);
    pair.run_for(SECOND * 2000);
    assert!(pair.saw(Side::A, |e| matches!(e, Event::Closed(_))));
    assert_eq!(pair.a.view(a).unwrap().stats().timeouts, 11, "Association.Max.Retrans = 10");
}

// rfc9260:6.1-3 rfc9260:6.1-4 rfc9260:6.1-5
#[test]
fn a_closed_window_is_probed_and_opens_again() {
    let mut config = Config::rfc9260();
    config.limits.receive_window = 6000;
    config.limits.send_buffer = 1 << 20;
    let (mut pair, a, z) = Pair::established(9, &config);
    pair.reads = [true, false];
    for i in 0..20_u8 {
        pair.send(Side::A, a, 0, &[i; 1452]);
    }
    pair.run_for(SECOND * 120);
    let stats = pair.a.view(a).unwrap().stats();
    assert!(stats.window_probes >= 1, "{stats:?}");
    assert!(pair.log.len() < 200, "probes back off: {} packets", pair.log.len());
    assert!(
        !pair.saw(Side::A, |e| matches!(e, Event::Closed(_) | Event::PathDown { .. })),
        "SACKs came all along"
    );
    let held = pair.z.view(z).unwrap().stats().payload_bytes_received_new;
    assert!((5808..=7300).contains(&held), "{held}");
    pair.reads = [true, true];
    pair.run_for(SECOND * 60);
    assert_eq!(pair.received.len(), 20);
    assert!(pair.received.iter().enumerate().all(|(i, (_, m))| m.pieces().next().unwrap()[0] == i as u8));
}

// rfc9260:6.2-6 rfc9260:6.2-11 rfc9260:6.2-12
#[test]
fn reading_sends_a_window_update() {
    let mut config = Config::rfc9260();
    config.limits.receive_window = 8000;
    let (mut pair, a, z) = Pair::established(10, &config);
    pair.reads = [true, false];
    for _ in 0..5 {
        pair.send(Side::A, a, 0, &[0; 1452]);
    }
    pair.run_for(Duration::from_millis(500));
    pair.log.clear();
    while pair.z.association(z).unwrap().receive().is_some() {}
    pair.pump();
    assert_eq!(pair.names(), ["Z: SACK"]);
}

// rfc9260:1.6-5 rfc9260:6.5-5
#[test]
fn a_loss_at_the_wrap_of_the_ssn() {
    let mut config = Config::rfc9260();
    config.limits.send_buffer = 64 << 20;
    let (mut pair, a, _) = Pair::established(11, &config);
    pair.latency = Duration::from_millis(1);
    let mut lost = 0;
    pair.drop_if(move |p| {
        let hit = p.from == Side::A
            && p.data().iter().any(|d| (65_533..=65_535).contains(&d.ssn.get()) || d.ssn.get() == 1);
        lost += u32::from(hit);
        hit && lost <= 3
    });
    let total = 200_000_u32;
    for i in 0..total {
        pair.send(Side::A, a, 0, &i.to_be_bytes());
    }
    pair.run_for(SECOND * 600);
    assert_eq!(
        pair.received.len(),
        total as usize,
        "{:?}",
        pair.a.view(a).map(anabranch_sctp::Association::stats)
    );
    for (i, (_, m)) in pair.received.iter().enumerate() {
        assert_eq!(m.pieces().next().unwrap()[..], (i as u32).to_be_bytes());
    }
}

// rfc9260:3.3.1-5 rfc9260:6.5-1
#[test]
fn a_full_send_buffer_says_so_and_later_takes_more() {
    let mut config = Config::rfc9260();
    config.limits.send_buffer = 10_000;
    let (mut pair, a, _) = Pair::established(12, &config);
    let mut accepted = 0;
    let message = Message::new(0, Bytes::from(vec![0; 1452]));
    while pair.a.association(a).unwrap().send(pair.now, message.clone()).is_ok() {
        accepted += 1;
    }
    assert_eq!(accepted, 7);
    assert_eq!(pair.a.association(a).unwrap().send(pair.now, message.clone()), Err(SendError::Full));
    pair.run_for(SECOND);
    assert!(pair.saw(Side::A, |e| *e == Event::Writable { stream: None }));
    assert!(pair.a.association(a).unwrap().send(pair.now, message).is_ok());
    let empty = Message::new(0, Bytes::new());
    assert_eq!(pair.a.association(a).unwrap().send(pair.now, empty), Err(SendError::Empty));
    let stream = Message::new(10, Bytes::from_static(b"x"));
    assert_eq!(
        pair.a.association(a).unwrap().send(pair.now, stream),
        Err(SendError::NoSuchStream { stream: 10, streams: 10 })
    );
}

/// Batches of equal-sized packets hold the same bytes as packets asked for one by one.
#[test]
fn batches_are_equal_sized_and_change_nothing() {
    let run = |max| {
        let mut config = Config::rfc9260();
        config.limits.send_buffer = 1 << 20;
        let (mut pair, a, _) = Pair::established(13, &config);
        pair.max_packets = max;
        for i in 0..30_usize {
            pair.send(Side::A, a, 0, &vec![i as u8; 700 * i + 1]);
        }
        pair.run_for(SECOND * 20);
        assert_eq!(pair.received.len(), 30);
        pair.log.iter().map(|p| p.bytes.clone()).collect::<Vec<_>>()
    };
    let single = run(1);
    assert!(single == run(8) && single == run(64));
}

/// Long lossy transfers both ways, ordered and unordered, on several streams: everything arrives once, in order.
#[test]
fn lossy_transfers_deliver_everything_once() {
    for profile in Config::PROFILES {
        for seed in 100..106_u64 {
            let mut config = Config::named(profile).unwrap();
            config.streams.outbound = 5;
            config.limits.send_buffer = 64 << 20;
            config.limits.receive_window = 100_000;
            let (mut pair, a, z) = Pair::established(seed, &config);
            let mut rng = Rng::stream(seed, "test", "loss");
            pair.drop_if(move |_| rng.chance(0.05));
            let mut sizes = Rng::stream(seed, "test", "sizes");
            let mut sent = [Vec::new(), Vec::new()];
            for i in 0..400_u32 {
                for (side, id) in [(Side::A, a), (Side::Z, z)] {
                    let stream = (i % 5) as u16;
                    let mut payload = vec![i as u8; 4 + sizes.below(6000) as usize];
                    payload[..4].copy_from_slice(&i.to_be_bytes());
                    let message = Message { unordered: stream == 4, ..Message::new(stream, payload.clone()) };
                    let now = pair.now;
                    pair.endpoint(side).association(id).unwrap().send(now, message).unwrap();
                    sent[side as usize].push((stream, payload));
                }
            }
            pair.run_for(SECOND * 3000);
            for side in [Side::A, Side::Z] {
                let mut got: Vec<(u16, Vec<u8>)> = pair
                    .received
                    .iter()
                    .filter(|(s, _)| *s == side)
                    .map(|(_, m)| (m.stream, m.clone().into_bytes().to_vec()))
                    .collect();
                // Within an ordered stream the order must hold; the unordered one is sorted first.
                got.sort_by_key(|(stream, payload)| {
                    (*stream, if *stream == 4 { payload[..4].to_vec() } else { vec![] })
                });
                let mut want = sent[side.other() as usize].clone();
                want.sort_by_key(|(stream, _)| *stream);
                assert!(
                    got == want,
                    "profile {profile}, seed {seed}: {} of {} messages",
                    got.len(),
                    want.len()
                );
            }
            let stats = pair.a.view(a).unwrap().stats();
            assert!(stats.retransmissions > 0 && pair.a.view(a).unwrap().flight_bytes() == 0);
        }
    }
}

#[test]
fn same_seed_same_bytes() {
    let run = |seed| {
        let (mut pair, a, _) = Pair::established(seed, &Config::rfc9260());
        let mut rng = Rng::stream(5, "test", "loss");
        pair.drop_if(move |_| rng.chance(0.1));
        for i in 0..100_u8 {
            pair.send(Side::A, a, 0, &[i; 500]);
        }
        pair.run_for(SECOND * 300);
        pair.log.iter().map(|p| (p.at, p.bytes.clone())).collect::<Vec<_>>()
    };
    assert!(run(1) == run(1));
    assert!(run(1) != run(2));
}

/// Reordering on the wire costs no message and no order.
#[test]
fn reordered_packets() {
    let (mut pair, a, z) = Pair::established(14, &Config::rfc9260());
    for i in 0..200_u8 {
        pair.send(Side::A, a, 0, &[i; 300]);
    }
    let mut held: Vec<Vec<u8>> = Vec::new();
    for _ in 0..4000 {
        // Packets that A sends at one time are handed over in reverse.
        let mut buf = Vec::new();
        let now = pair.now;
        while pair.a.poll_transmit(now, 1, &mut buf).is_some() {
            held.push(std::mem::take(&mut buf));
        }
        for packet in held.drain(..).rev() {
            pair.inject(Side::A, &packet);
        }
        let mut back = Vec::new();
        while pair.z.poll_transmit(now, 1, &mut back).is_some() {
            let packet = std::mem::take(&mut back);
            pair.inject(Side::Z, &packet);
        }
        while pair.z.poll_event().is_some() {}
        while let Some(message) = pair.z.association(z).unwrap().receive() {
            pair.received.push((Side::Z, message));
        }
        pair.now += Duration::from_millis(1);
        let now = pair.now;
        pair.a.handle_timeout(now);
        pair.z.handle_timeout(now);
    }
    let got: Vec<u8> = pair.received.iter().map(|(_, m)| m.pieces().next().unwrap()[0]).collect();
    assert_eq!(
        got,
        (0..200).collect::<Vec<u8>>(),
        "{:?} {:?}",
        pair.a.view(a).map(anabranch_sctp::Association::stats),
        pair.z.view(z).map(anabranch_sctp::Association::stats)
    );
}

// rfc9260:6.5-2
#[test]
fn an_invalid_stream_is_acknowledged_and_reported() {
    let mut wide = Config::rfc9260();
    wide.streams.outbound = 20;
    let mut narrow = Config::rfc9260();
    narrow.streams.inbound = 3;
    let mut pair = Pair::new(15);
    pair.z.listen(std::sync::Arc::new(narrow)).unwrap();
    let a =
        pair.a.connect(pair.now, common::address(Side::Z), common::PORT, std::sync::Arc::new(wide)).unwrap();
    // Queued before the peer's limit is known.
    pair.send(Side::A, a, 10, b"too far");
    pair.send(Side::A, a, 1, b"fine");
    pair.run_for(SECOND);
    assert!(pair.saw(Side::A, |e| *e == Event::StreamsReduced { messages_dropped: 1 }));
    assert_eq!(pair.received.len(), 1);
    // A packet that names a stream beyond the limit all the same.
    pair.send(Side::A, a, 2, b"changed");
    let mut buf = Vec::new();
    pair.a.poll_transmit(pair.now, 1, &mut buf).unwrap();
    buf[12 + 8..12 + 10].copy_from_slice(&7_u16.to_be_bytes());
    let sum = anabranch_wire::crc32c::packet_checksum(&buf);
    buf[8..12].copy_from_slice(&anabranch_wire::crc32c::store(sum));
    pair.log.clear();
    pair.inject(Side::A, &buf);
    pair.run_for(Duration::from_millis(250));
    let words: Vec<String> = pair.log.iter().flat_map(common::Logged::words).collect();
    assert!(words.iter().any(|w| w == "ERROR") && words.iter().any(|w| w.starts_with("SACK")), "{words:?}");
    assert_eq!(pair.received.len(), 1);
}

/// RFC 9260, 6.1 D: Max.Burst limits the packets that leave at once. Where one SACK acknowledges many packets,
/// `acknowledged N` lets as many follow as have left the network, and twice as many at most; after a pause it is as
/// strict as `clamp N`.
#[test]
fn a_burst_follows_what_was_acknowledged_at_once() {
    use anabranch_sctp::config::MaxBurst;
    let bursts = |rule| {
        let mut config = steady("rfc9260", 64);
        config.congestion.max_burst = rule;
        config.sack.every = 16;
        let (mut pair, a, _) = Pair::established(1, &config);
        for _ in 0..400 {
            pair.send(Side::A, a, 0, &[1; 1452]);
        }
        while pair.received.len() < 400 {
            pair.run_for(Duration::from_millis(10));
        }
        let running = bursts_of(&pair, |_| true);
        // A pause that is shorter than the RTO: cwnd does not decay. All is acknowledged by then.
        pair.run_for(Duration::from_millis(400));
        let pause = pair.now;
        for _ in 0..200 {
            pair.send(Side::A, a, 0, &[1; 1452]);
        }
        pair.run_for(Duration::from_secs(60));
        (running, bursts_of(&pair, |at| at >= pause))
    };
    let (clamped, conserving) = (bursts(MaxBurst::Clamp(4)), bursts(MaxBurst::Acknowledged(4)));
    assert!(clamped.0.iter().all(|burst| *burst <= 4), "{clamped:?}");
    assert!(conserving.0.first() == Some(&4) && conserving.1.first() == Some(&4), "{conserving:?}");
    let longest = conserving.0.iter().max().copied();
    assert!(longest.is_some_and(|longest| longest > 32), "{conserving:?}");
}

/// Numbers of packets with data that left at one time, in order.
fn bursts_of(pair: &Pair, when: impl Fn(anabranch_base::Instant) -> bool) -> Vec<u32> {
    let mut sizes: Vec<(_, u32)> = Vec::new();
    for packet in pair.log.iter().filter(|p| p.from == Side::A && p.has("DATA") && when(p.at)) {
        match sizes.last_mut() {
            Some((at, size)) if *at == packet.at => *size += 1,
            _ => sizes.push((packet.at, 1)),
        }
    }
    sizes.into_iter().map(|(_, size)| size).collect()
}

/// A message may be longer than the receive buffer: it is read in parts (RFC 9260, 6.9).
// rfc9260:6.9-15
#[test]
fn a_message_longer_than_the_receive_buffer() {
    for (window, len, probes) in [(1 << 20, 16 << 20, 0), (1500, 20_000, 13), (4000, 4001, 0)] {
        let mut config = Config::rfc9260();
        config.limits.receive_window = window;
        config.congestion.max_burst = anabranch_sctp::config::MaxBurst::Off;
        let (mut pair, a, _) = Pair::established(21, &config);
        let payload: Vec<u8> = (0..len).map(|i: u32| (i / 7) as u8).collect();
        pair.send(Side::A, a, 3, &payload);
        pair.run_for(Duration::from_secs(60));
        assert_eq!(
            pair.received.len(),
            1,
            "{window} {len}: {:?}",
            pair.a.view(a).map(anabranch_sctp::Association::stats)
        );
        let (_, message) = pair.received.remove(0);
        assert!(message.into_bytes() == payload);
        assert!(
            pair.a.view(a).unwrap().stats().window_probes <= probes,
            "{window} {len}: {:?}",
            pair.a.view(a).map(anabranch_sctp::Association::stats)
        );
    }
}

/// DATA has nothing but its TSNs to say which fragments belong together: while one subflow is in the middle of a message, no
/// other sends anything new under the same numbering. With I-DATA they may all send at once.
#[test]
fn long_messages_of_several_subflows_at_level_0() {
    for (interleaving, level) in [
        (false, anabranch_sctp::SubflowLevel::Zero),
        (true, anabranch_sctp::SubflowLevel::Zero),
        (false, anabranch_sctp::SubflowLevel::Sf2007),
    ] {
        for seed in 0..8 {
            let config = common::subflow_config(level, 4).with(|c| c.extensions.interleaving = interleaving);
            // With sf2007: two subflows of their own, two inside the first.
            let narrow = config.clone().with(|c| c.subflows.max_inbound = 2);
            let (mut pair, a, _) = Pair::between(seed, &config, &narrow);
            let mut rng = anabranch_base::Rng::stream(seed, "loss", "test");
            pair.drop_if(move |_| rng.below(15) == 0);
            for n in 0..40 {
                for stream in 0..4 {
                    let len = [100, 3000, 9000, 20_000][(usize::from(stream) + n as usize) % 4];
                    pair.send_numbered(Side::A, a, stream, n, len);
                }
            }
            pair.run_for(Duration::from_secs(2));
            let now = pair.now;
            pair.a.association(a).unwrap().set_stream_subflow(now, 0, 2).unwrap();
            pair.run_for(Duration::from_secs(150));
            pair.check_all(Side::Z, 4, 40);
        }
    }
}

/// "When calculating the number of packets to transmit, and particularly when using the formula above, cwnd SHOULD NOT be changed permanently"
/// (6.1 D): behind a pause four packets leave at once, and the window is as large as before.
// rfc9260:6.1-15
#[test]
fn a_limited_burst_takes_nothing_from_the_window() {
    let config = Config::rfc9260().with(|c| {
        c.congestion.max_burst = anabranch_sctp::config::MaxBurst::Clamp(4);
        c.limits.send_buffer = 1 << 20;
        c.sack.every = 1;
    });
    let (mut pair, a, _) = Pair::established(1, &config);
    let cwnd = |pair: &Pair| pair.a.view(a).unwrap().stats().cwnd;
    let send = |pair: &mut Pair| (0..300).for_each(|_| pair.send(Side::A, a, 0, &[1; 1452]));
    send(&mut pair);
    // The pause is shorter than the RTO: the window does not decay.
    pair.run_for(Duration::from_millis(600));
    assert_eq!(pair.received.len(), 300);
    let before = cwnd(&pair);
    assert!(before > 20 * u64::from(config.pmdcs()), "{before}");
    let pause = pair.now;
    send(&mut pair);
    pair.pump();
    assert_eq!(bursts_of(&pair, |at| at >= pause), [4]);
    assert_eq!(cwnd(&pair), before, "while only four packets may leave");
    pair.run_for(Duration::from_secs(10));
    assert!(cwnd(&pair) >= before, "{} after {before}", cwnd(&pair));
}
