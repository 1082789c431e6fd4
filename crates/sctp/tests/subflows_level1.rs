//! The extension SF end to end: subflows with sequence spaces of their own.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use crate::common;

use std::collections::BTreeSet;
use std::sync::Arc;

use anabranch_base::{Dscp, Duration, Rng};
use anabranch_sctp::{CloseReason, Config, Endpoint, EndpointConfig, Event, SubflowLevel, SubflowSpec};
use anabranch_wire::chunk::{Chunk, kind};
use anabranch_wire::{Checksum, Packet};
use common::{Logged, PORT, Pair, Side, address, subflow_config};

fn level1(subflows: u8) -> Config {
    subflow_config(SubflowLevel::One, subflows)
}

fn graceful(event: &Event) -> bool {
    matches!(event, Event::Closed(CloseReason::Graceful))
}

fn lose(pair: &mut Pair, seed: u64, one_in: u64) {
    let mut rng = Rng::stream(seed, "loss", "test");
    pair.drop_if(move |_| rng.below(one_in) == 0);
}

#[test]
fn each_subflow_has_its_own_chunks_and_code_point() {
    let (mut pair, a, z) = Pair::established(1, &level1(3));
    pair.send_all(Side::A, a, 3, 40, 900);
    pair.send_all(Side::Z, z, 3, 40, 900);
    pair.run_for(Duration::from_secs(5));
    pair.check_all(Side::Z, 3, 40);
    pair.check_all(Side::A, 3, 40);
    let used: BTreeSet<u8> = pair.log.iter().flat_map(Logged::kinds).collect();
    assert_eq!(used, BTreeSet::from([kind::SACK, kind::I_DATA, kind::SF_DATA, kind::SF_SACK]));
    for packet in &pair.log {
        let fids: BTreeSet<u8> = packet.fids().into_iter().map(|(fid, _)| fid).collect();
        assert!(fids.len() <= 1, "a packet carries data of one subflow");
        if let Some(fid) = fids.first() {
            assert_eq!(packet.dscp.get(), *fid);
        }
    }
    assert_eq!(pair.a.view(a).unwrap().subflow_level(), SubflowLevel::One);
}

#[test]
fn timestamps_give_one_way_delays() {
    let (mut pair, a, _) = Pair::established(2, &level1(2));
    pair.delay_by(|p| Duration::from_millis(if p.from == Side::A { 35 } else { 5 }));
    pair.send_all(Side::A, a, 2, 20, 900);
    pair.run_for(Duration::from_secs(3));
    // Both ends have the clock of the test: the delay is the true one.
    let delay = |index| pair.a.view(a).unwrap().subflow_stats(index).unwrap().one_way_delay_us;
    assert_eq!((delay(0), delay(1)), (None, Some(35_000)));
}

#[test]
fn losses_in_both_directions() {
    for seed in 0..20 {
        let (mut pair, a, z) = Pair::established(seed, &level1(4));
        lose(&mut pair, seed, 10);
        pair.send_all(Side::A, a, 4, 60, 2000);
        pair.send_all(Side::Z, z, 4, 30, 100);
        pair.run_for(Duration::from_secs(120));
        pair.check_all(Side::Z, 4, 60);
        pair.check_all(Side::A, 4, 30);
    }
}

#[test]
fn packets_out_of_order() {
    for seed in 0..10 {
        let (mut pair, a, _) = Pair::established(seed, &level1(3));
        pair.delay_by(move |p| {
            // A delay of its own for each packet, from its bytes.
            let mix =
                p.bytes.iter().fold(seed, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)));
            Duration::from_millis(5 + mix % 60)
        });
        pair.send_all(Side::A, a, 3, 100, 1800);
        pair.run_for(Duration::from_secs(60));
        pair.check_all(Side::Z, 3, 100);
    }
}

/// Code points with round trips of 20 and 200 ms: every subflow has its own estimate, and no packet of the slow one is ever
/// taken for lost because the fast one's arrived (false sharing).
#[test]
fn unequal_paths_are_not_mixed_up() {
    let (mut pair, a, _) = Pair::established(3, &level1(3));
    let latency = |dscp: Dscp| [10, 100, 40][usize::from(dscp.get())];
    pair.delay_by(move |p| Duration::from_millis(latency(p.dscp)));
    pair.send_all(Side::A, a, 3, 400, 1000);
    pair.run_for(Duration::from_secs(60));
    pair.check_all(Side::Z, 3, 400);
    let association = pair.a.view(a).unwrap();
    for index in 0..3 {
        let stats = association.subflow_stats(index).unwrap();
        let events = (stats.fast_retransmits, stats.timeouts, stats.retransmissions);
        assert_eq!(events, (0, 0, 0), "subflow {index}");
        // Acknowledgements leave with the code point of the receiver's own subflow of that number.
        let expected = Duration::from_millis(2 * latency(Dscp::new(index).unwrap()));
        assert_eq!(stats.min_rtt, Some(expected), "subflow {index}");
    }
}

#[test]
fn losses_of_one_subflow_are_its_own() {
    let (mut pair, a, _) = Pair::established(4, &level1(2));
    let mut rng = Rng::stream(4, "loss", "test");
    pair.drop_if(move |p| p.from == Side::A && p.dscp.get() == 1 && rng.below(8) == 0);
    pair.send_all(Side::A, a, 2, 500, 1000);
    pair.run_for(Duration::from_secs(100));
    pair.check_all(Side::Z, 2, 500);
    let association = pair.a.view(a).unwrap();
    let (clean, lossy) = (association.subflow_stats(0).unwrap(), association.subflow_stats(1).unwrap());
    assert!(lossy.retransmissions > 10 && lossy.fast_retransmits > 0);
    assert_eq!((clean.retransmissions, clean.fast_retransmits, clean.timeouts), (0, 0, 0));
    assert!(clean.cwnd > 2 * lossy.cwnd, "{} and {}", clean.cwnd, lossy.cwnd);
}

/// Streams move, subflows come, go and are merged while everything is lossy: nothing is lost, nothing comes twice, every
/// stream keeps its order.
#[test]
fn changes_while_data_flows() {
    let (mut opened, mut closed) = (0, 0);
    for seed in 0..25 {
        let (mut pair, a, _) = Pair::established(seed, &level1(3));
        lose(&mut pair, seed, 15);
        let mut rng = Rng::stream(seed, "changes", "test");
        let mut sent = [0_u32; 6];
        for round in 0..120 {
            for _ in 0..rng.below(6) {
                let stream = rng.below(6) as u16;
                let len = [10, 1000, 4000][rng.below(3) as usize];
                pair.send_numbered(Side::A, a, stream, sent[usize::from(stream)], len);
                sent[usize::from(stream)] += 1;
            }
            let (now, stream) = (pair.now, rng.below(6) as u16);
            let pick = |rng: &mut Rng| rng.below(6) as u8;
            let (one, other) = (pick(&mut rng), pick(&mut rng));
            // A refusal (not open, the same, too many) is as good as any answer.
            match rng.below(8) {
                0 | 1 => drop(pair.a.association(a).unwrap().set_stream_subflow(now, stream, one)),
                2 => {
                    drop(pair.a.association(a).unwrap().set_stream_dscp(
                        now,
                        stream,
                        Dscp::new(one).unwrap(),
                    ));
                }
                3 => drop(
                    pair.a
                        .association(a)
                        .unwrap()
                        .add_subflow(now, &SubflowSpec::new(Dscp::new(10 + one).unwrap())),
                ),
                4 if one != 0 => {
                    closed +=
                        u32::from(pair.a.association(a).unwrap().remove_subflow(now, one, other).is_ok());
                }
                5 if one != 0 && round % 4 == 0 => {
                    drop(pair.a.association(a).unwrap().merge_subflows(now, one, other));
                }
                _ => {}
            }
            pair.run_for(Duration::from_millis(rng.below(120)));
        }
        pair.run_for(Duration::from_secs(150));
        let got = pair.in_order(Side::Z);
        for (stream, count) in sent.iter().enumerate() {
            assert_eq!(
                got.get(&(stream as u16)).copied().unwrap_or(0),
                *count,
                "seed {seed} stream {stream}"
            );
        }
        opened += pair.log.iter().filter(|p| p.kinds().contains(&kind::RE_CONFIG)).count();
        assert!(!pair.log.iter().any(|p| p.has("ABORT") || p.has("ERROR")), "seed {seed}");
        let now = pair.now;
        pair.a.association(a).unwrap().shutdown(now);
        pair.run_for(Duration::from_secs(100));
        assert!(pair.saw(Side::A, graceful) && pair.saw(Side::Z, graceful), "seed {seed}: {:?}", pair.events);
    }
    assert!(opened > 100 && closed > 50, "{opened} requests, {closed} closed");
}

/// A FID that is used again has the next epoch, and its sequence numbers start where SF-ADD says.
#[test]
fn a_fid_is_used_again() {
    let (mut pair, a, z) = Pair::established(5, &level1(2));
    for epoch in 0..6_u8 {
        pair.log.clear();
        pair.received.clear();
        for n in 0..20 {
            pair.send_numbered(Side::A, a, 1, u32::from(epoch) * 20 + n, 1000);
        }
        pair.run_for(Duration::from_secs(3));
        let data: Vec<(u8, u8)> = pair
            .log
            .iter()
            .flat_map(|p| {
                let packet =
                    anabranch_wire::Packet::parse(&p.bytes, anabranch_wire::Checksum::Ignore).unwrap();
                let chunks =
                    packet.chunks().map(|raw| anabranch_wire::chunk::Chunk::parse(raw.unwrap()).unwrap());
                chunks
                    .filter_map(|chunk| match chunk {
                        anabranch_wire::chunk::Chunk::SfData(data) => Some((data.fid, data.epoch)),
                        _ => None,
                    })
                    .collect::<Vec<_>>()
            })
            .collect();
        assert_eq!(data.first(), Some(&(1, epoch)), "epoch {epoch}");
        assert_eq!(pair.received.len(), 20, "epoch {epoch}");
        let now = pair.now;
        pair.a.association(a).unwrap().remove_subflow(now, 1, 0).unwrap();
        pair.run_for(Duration::from_secs(1));
        let now = pair.now;
        let spec = SubflowSpec { streams: vec![1], ..SubflowSpec::new(Dscp::new(7).unwrap()) };
        assert_eq!(pair.a.association(a).unwrap().add_subflow(now, &spec), Ok(1));
        pair.run_for(Duration::from_secs(1));
    }
    assert_eq!(pair.z.view(z).unwrap().stats().sf_unknown, 0);
}

/// A subflow that has stalled behind a hole must not freeze the others, whatever it had outstanding: each has a floor.
#[test]
fn one_stalled_subflow_does_not_freeze_the_rest() {
    for stalled in 0..3_u8 {
        for seed in 0..4 {
            let config = level1(3).with(|c| c.limits.receive_window = 64 << 10);
            let (mut pair, a, _) = Pair::established(seed, &config);
            // The first chunk of one subflow does not get through for half a minute.
            let (mut first, until) = (None, pair.now + Duration::from_secs(30));
            pair.drop_if(move |p| {
                let of_stalled = p.fids().into_iter().find(|(fid, _)| *fid == stalled);
                let Some((_, number)) = of_stalled.filter(|_| p.from == Side::A) else { return false };
                p.at < until && *first.get_or_insert(number) == number
            });
            pair.send_all(Side::A, a, 3, 180, 1400);
            pair.run_for(Duration::from_secs(29));
            let got = pair.in_order(Side::Z);
            for stream in 0..3 {
                let expected = if stream == u16::from(stalled) { 0 } else { 180 };
                assert_eq!(
                    got.get(&stream).copied().unwrap_or(0),
                    expected,
                    "stalled {stalled}, stream {stream}"
                );
            }
            pair.run_for(Duration::from_secs(90));
            pair.check_all(Side::Z, 3, 180);
        }
    }
}

/// A subflow whose part of the peer's buffer is in use is not asked for data: its messages are older, but it cannot send them, and
/// those of the other can go.
#[test]
fn one_without_room_does_not_keep_the_others_waiting() {
    for slow in 0..2_u8 {
        let config = level1(2).with(|c| {
            c.limits.receive_window = 96 << 10;
            c.subflows.buffer_floor = 24 << 10;
        });
        let config = config.with(|c| {
            c.subflows.max_inbound = 2;
            c.limits.send_buffer = 4 << 20;
        });
        let (mut pair, a, _) = Pair::established(9, &config);
        // Round trips of 500 and 20 ms.
        pair.delay_by(move |p| {
            let is_slow = p.from == Side::A && p.fids().iter().any(|(fid, _)| *fid == slow);
            Duration::from_millis(if is_slow { 490 } else { 10 })
        });
        for n in 0..1500 {
            pair.send_numbered(Side::A, a, u16::from(slow), n, 1400);
        }
        pair.run_for(Duration::from_secs(4));
        // 1.4 MB in round trips of 20 ms and of a floor at least: 1.2 s.
        for n in 0..1000 {
            pair.send_numbered(Side::A, a, u16::from(1 - slow), n, 1400);
        }
        pair.run_for(Duration::from_secs(2));
        let got = pair.in_order(Side::Z);
        assert_eq!(got.get(&u16::from(1 - slow)), Some(&1000), "slow {slow}: {got:?}");
        pair.run_for(Duration::from_secs(60));
        assert_eq!(pair.in_order(Side::Z).get(&u16::from(slow)), Some(&1500), "slow {slow}");
    }
}

/// The user does not read, every window closes; then he reads, and the window updates are lost: probes find out.
#[test]
fn closed_windows_are_probed_subflow_by_subflow() {
    let config = level1(3).with(|c| c.limits.receive_window = 32 << 10);
    let (mut pair, a, z) = Pair::established(6, &config);
    pair.reads = [true, false];
    pair.send_all(Side::A, a, 3, 60, 1400);
    pair.run_for(Duration::from_secs(20));
    assert!(pair.received.is_empty());
    let held = pair.z.view(z).unwrap().stats().payload_bytes_received_new;
    assert!((20_000..=35_000).contains(&held), "{held}");
    let dropped_until = pair.now + Duration::from_millis(500);
    pair.drop_if(move |p| p.from == Side::Z && p.at < dropped_until);
    pair.reads = [true, true];
    pair.run_for(Duration::from_secs(120));
    pair.check_all(Side::Z, 3, 60);
    assert!(pair.a.view(a).unwrap().stats().window_probes >= 2);
}

/// A message longer than the receive buffer must not close its subflow's window for ever.
#[test]
fn messages_longer_than_the_buffer() {
    let config = level1(3).with(|c| {
        c.limits.receive_window = 32 << 10;
        c.limits.max_message = 1 << 20;
    });
    let (mut pair, a, _) = Pair::established(6, &config);
    pair.send_all(Side::A, a, 3, 2, 100_000);
    pair.run_for(Duration::from_secs(120));
    pair.check_all(Side::Z, 3, 2);
}

#[test]
fn the_end_waits_for_every_subflow() {
    for seed in 0..10 {
        let (mut pair, a, z) = Pair::established(seed, &level1(4));
        lose(&mut pair, seed, 5);
        pair.send_all(Side::A, a, 4, 50, 500);
        pair.send_all(Side::Z, z, 4, 50, 500);
        let now = pair.now;
        pair.a.association(a).unwrap().shutdown(now);
        pair.run_for(Duration::from_secs(250));
        pair.check_all(Side::Z, 4, 50);
        assert!(pair.saw(Side::A, graceful) && pair.saw(Side::Z, graceful), "seed {seed}: {:?}", pair.events);
    }
}

/// A peer that forgot everything begins anew: every subflow of both sides does, too (RFC 9260, 5.2.4 A).
#[test]
fn a_restart_resets_every_subflow() {
    let config = level1(3);
    let (mut pair, a, z) = Pair::established(8, &config);
    pair.send_all(Side::A, a, 3, 10, 900);
    pair.send_all(Side::Z, z, 3, 10, 900);
    pair.run_for(Duration::from_secs(2));
    let mut forgetful = Endpoint::new(
        EndpointConfig::new(address(Side::A), PORT).keeping_closed(),
        Rng::stream(99, "a", "again").secret(),
    );
    let id = forgetful.connect(pair.now, address(Side::Z), PORT, Arc::new(config)).unwrap();
    pair.a = forgetful;
    pair.run_for(Duration::from_secs(1));
    assert!(pair.saw(Side::Z, |e| matches!(e, Event::Restarted { .. })));
    pair.received.clear();
    pair.send_all(Side::A, id, 3, 20, 900);
    pair.send_all(Side::Z, z, 3, 20, 900);
    pair.run_for(Duration::from_secs(5));
    pair.check_all(Side::Z, 3, 20);
    pair.check_all(Side::A, 3, 20);
    assert_eq!(pair.z.view(z).unwrap().subflow_level(), SubflowLevel::One);
}

/// Messages without an order may come in any, but they all come, once.
#[test]
fn unordered_messages() {
    let (mut pair, a, _) = Pair::established(9, &level1(3));
    lose(&mut pair, 9, 8);
    for n in 0..300_u32 {
        let payload = bytes::Bytes::copy_from_slice(&n.to_be_bytes());
        let message = anabranch_sctp::Message::new((n % 3) as u16, payload);
        let now = pair.now;
        pair.a
            .association(a)
            .unwrap()
            .send(now, anabranch_sctp::Message { unordered: true, ..message })
            .unwrap();
    }
    pair.run_for(Duration::from_secs(60));
    let mut got: Vec<u32> = pair
        .received
        .iter()
        .map(|(_, m)| u32::from_be_bytes(m.clone().into_bytes()[..].try_into().unwrap()))
        .collect();
    got.sort_unstable();
    assert_eq!(got, (0..300).collect::<Vec<_>>());
}

/// A reader that catches up says so of the subflows on which something has come. Of others there is nothing to acknowledge, and a peer
/// that opens one later, with a number of its own, would take it for an acknowledgement of what it never sent.
#[test]
fn spaces_on_which_nothing_came_are_not_acknowledged() {
    let config = |subflows| level1(subflows).with(|c| c.limits.receive_window = 100_000);
    // Z has FIDs open that A has not.
    let (mut pair, a, _) = Pair::between(4, &config(2), &config(4));
    let codes = level1(1).subflows.codes;
    pair.reads[Side::Z as usize] = false;
    for n in 0..200 {
        pair.send_numbered(Side::A, a, 1, n, 1000);
    }
    pair.run_for(Duration::from_secs(10));
    pair.reads[Side::Z as usize] = true;
    pair.run_for(Duration::from_secs(30));
    let mut acknowledged = BTreeSet::new();
    for logged in pair.log.iter().filter(|p| p.from == Side::Z) {
        let packet = Packet::parse(&logged.bytes, Checksum::Verify).unwrap();
        for raw in packet.chunks() {
            if let Ok(Chunk::SfSack(sack)) = Chunk::parse_with(raw.unwrap(), &codes) {
                acknowledged.insert(sack.head.fid);
            }
        }
    }
    assert_eq!(acknowledged, BTreeSet::from([1]));
}
