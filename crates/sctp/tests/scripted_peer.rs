//! One endpoint against a peer that is written down packet by packet: it sends packets that a well-behaved stack never would.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

use crate::common;

use std::sync::Arc;

use anabranch_base::{Duration, Rng};
use anabranch_sctp::{Config, Event, Message, State};
use anabranch_wire::cause::Causes;
use anabranch_wire::chunk::{
    Abort, Chunk, CookieAck, Data, DataFlags, GapBlock, Heartbeat, HeartbeatKind, Init, InitKind,
    ShutdownAck, kind, sack,
};
use anabranch_wire::param::{HeartbeatInfo, Ipv6Address, Param, Params, StateCookie};
use anabranch_wire::{Checksum, Packet, Tsn};
use bytes::Bytes;
use common::script::{Script, TAG_Z, TSN_Z, data, packet};
use common::{Pair, Side};

/// 5.2.6 and Max.Init.Retransmits: a peer whose cookies are always stale must not keep us trying for ever.
#[test]
fn stale_cookies_without_end_are_given_up() {
    let config = Config::rfc9260();
    let mut script = Script::calling(&config);
    for round in 0..100 {
        script.init_ack(10);
        script.stale_cookie();
        if script.closed().is_some() {
            assert!(round >= config.limits.max_init_retransmits, "given up after {round}");
            return;
        }
    }
    panic!("100 stale cookies and still trying");
}

/// The first fragment of a message has left with a COOKIE ECHO; the second handshake grants fewer streams.
#[test]
fn streams_taken_back_after_a_stale_cookie() {
    let mut script = Script::calling(&Config::rfc9260());
    let (now, a) = (script.pair.now, script.a);
    for (stream, len) in [(5, 5000), (0, 1), (1, 1)] {
        script
            .pair
            .a
            .association(a)
            .unwrap()
            .send(now, Message::new(stream, Bytes::from(vec![7; len])))
            .unwrap();
    }
    script.init_ack(10);
    assert!(script.pair.log.iter().any(|p| p.has("DATA")), "a fragment rode with COOKIE ECHO");
    script.stale_cookie();
    script.init_ack(1);
    script.send(|out| CookieAck.emit(out));
    script.pair.run_for(Duration::from_secs(10));
    assert_eq!(script.state(), State::Established);
    let dropped = script.pair.saw(Side::A, |e| matches!(e, Event::StreamsReduced { messages_dropped: 2 }));
    assert!(dropped, "{:?}", script.pair.events);
}

/// A chunk that follows the end in the same packet, or came before it, starts no timer and keeps nothing alive.
#[test]
fn an_association_that_ended_in_a_packet_with_data_can_be_released() {
    for aborted in [true, false] {
        let mut script = Script::established(&Config::rfc9260());
        script.send(|out| {
            data(TSN_Z, 0, b"data").emit(out);
            if aborted {
                Abort { reflected_tag: false, causes: Causes::EMPTY }.emit(out);
            } else {
                data(TSN_Z + 1, 0, b"").emit(out);
            }
        });
        assert!(script.closed().is_some());
        script.pair.run_for(Duration::from_secs(100));
        let last = script.pair.events.last().unwrap();
        assert!(matches!(last.2, Event::Closed(_)), "{last:?}");
        assert!(script.pair.a.release(script.a), "nothing is left to do");
    }
}

/// 6.10: "the total size of the resulting SCTP packet MUST be less than or equal to the current PMTU".
// rfc9260:6.10-1
#[test]
fn answers_to_many_requests_fit_into_packets() {
    let config = Config::rfc9260();
    let limit = config.max_packet() as usize;
    let mut script = Script::established(&config);
    let tag = script.tag_a;
    let info = [9; 1400];
    for i in 0..20 {
        let bytes = packet(tag, |out| {
            if i % 2 == 0 {
                Heartbeat { info: HeartbeatInfo { info: &info } }.emit(HeartbeatKind::Request, out);
            } else {
                // An unknown chunk that wants to be reported, and then skipped.
                out.extend_from_slice(&[0xC3, 0, 5, 0]);
                out.resize(out.len() + 0x500 - 4, 1);
            }
        });
        script.pair.inject(Side::Z, &bytes);
    }
    script.pair.pump();
    let sizes: Vec<usize> = script.pair.log.iter().map(|p| p.bytes.len()).collect();
    assert!(
        script.pair.log.iter().any(|p| p.has("ERROR"))
            && script.pair.log.iter().any(|p| p.has("HEARTBEAT-ACK"))
    );
    assert!(sizes.iter().all(|s| *s <= limit), "limit {limit}: {sizes:?}");
    assert!(!script.pair.a.view(script.a).unwrap().state().eq(&State::Closed));
}

/// 3.2.1 and 5.1 C: what the INIT ACK had that we do not know is reported with the COOKIE ECHO, for "until the
/// COOKIE ACK chunk is returned, the sender MUST NOT send any other packets to the peer".
// rfc9260:3.2.2-2
#[test]
fn unknown_parameters_of_an_init_ack_are_reported_with_the_cookie_echo() {
    for with_data in [true, false] {
        let mut script =
            Script::calling(&Config::rfc9260().with(|c| c.emulation.data_with_cookie = with_data));
        let mut params = Vec::new();
        Param::StateCookie(StateCookie { cookie: b"cookie" }).emit(&mut params);
        params.extend_from_slice(&[0xC0, 0x77, 0, 4]);
        script.pair.log.clear();
        script.send(|out| {
            Init {
                initiate_tag: TAG_Z,
                a_rwnd: 100_000,
                outbound_streams: 1,
                inbound_streams: 1,
                initial_tsn: Tsn::new(TSN_Z),
                params: Params::new(&params),
            }
            .emit(InitKind::InitAck, out);
        });
        script.pair.run_for(Duration::from_millis(10));
        assert_eq!(script.pair.names(), ["Ax COOKIE-ECHO + ERROR"], "{with_data}");
    }
}

/// DATA on streams that do not exist is acknowledged and thrown away; the gaps that it makes must cost us no
/// unbounded memory.
#[test]
fn data_on_invalid_streams_cannot_fill_the_receive_map() {
    let mut config = Config::rfc9260();
    config.limits.receive_window = 64 << 10;
    let mut script = Script::established(&config);
    for i in 0..100_000 {
        let bytes = packet(script.tag_a, |out| data(TSN_Z + 2 * i + 1, 60_000, b".").emit(out));
        script.pair.inject(Side::Z, &bytes);
    }
    let stats = script.pair.a.view(script.a).unwrap().stats();
    assert!(stats.dropped_no_buffer > 80_000, "{stats:?}");
}

/// 8.4, rule 5: SHUTDOWN ACK is answered wherever it stands; a packet without a chunk is not answered at all.
#[test]
fn shutdown_ack_behind_a_sack_and_packets_without_chunks() {
    let mut pair = Pair::new(3);
    pair.z.listen(Arc::new(Config::rfc9260())).unwrap();
    pair.inject(
        Side::A,
        &packet(9, |out| {
            sack::emit(out, Tsn::new(1), 0, &[], &[]);
            ShutdownAck.emit(out);
        }),
    );
    pair.pump();
    assert_eq!(pair.names(), ["Z: SHUTDOWN-COMPLETE"]);
    let mut elsewhere = packet(9, |_| {});
    elsewhere[3] ^= 1;
    elsewhere[8..12].fill(0);
    let sum = anabranch_wire::crc32c::packet_checksum(&elsewhere);
    elsewhere[8..12].copy_from_slice(&anabranch_wire::crc32c::store(sum));
    pair.inject(Side::A, &elsewhere);
    pair.pump();
    assert_eq!(pair.log.len(), 1, "{:?}", pair.names());
}

/// However many addresses an INIT lists, the cookie stays at most 512 bytes.
// rfc9260:5.1.3-7
#[test]
fn cookies_stay_small() {
    let mut pair = Pair::new(4);
    pair.z.listen(Arc::new(Config::rfc9260())).unwrap();
    let mut params = Vec::new();
    for i in 1..=200_u16 {
        Ipv6Address { address: std::net::Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, i) }.emit(&mut params);
    }
    pair.inject(
        Side::A,
        &packet(0, |out| {
            Init {
                initiate_tag: 7,
                a_rwnd: 100_000,
                outbound_streams: 1,
                inbound_streams: 1,
                initial_tsn: Tsn::new(1),
                params: Params::new(&params),
            }
            .emit(InitKind::Init, out);
        }),
    );
    pair.pump();
    let answer = Packet::parse(&pair.log[0].bytes, Checksum::Verify).unwrap();
    let raw = answer.chunks().next().unwrap().unwrap();
    assert_eq!(raw.kind, kind::INIT_ACK);
    let Ok(Chunk::InitAck(init)) = Chunk::parse(raw) else { panic!("no INIT ACK") };
    let cookie = init
        .params
        .into_iter()
        .find_map(|p| match Param::parse(p.unwrap()).unwrap() {
            Param::StateCookie(c) => Some(c.cookie.len()),
            _ => None,
        })
        .unwrap();
    assert!(cookie <= 512, "{cookie}");
}

/// A message longer than `max_message` ends the association: there is no way to deliver it, and its sender would
/// wait for ever.
#[test]
fn a_message_without_end_is_refused() {
    let mut config = Config::rfc9260();
    config.limits.receive_window = 20_000;
    config.limits.max_message = 50_000;
    let mut script = Script::established(&config);
    let part = [1; 1000];
    for i in 0..60 {
        let flags = DataFlags { beginning: i == 0, ending: false, ..DataFlags::WHOLE };
        script.send(|out| Data { flags, ..data(TSN_Z + i, 0, &part) }.emit(out));
        assert_eq!(script.closed().is_some(), i >= 50, "fragment {i}");
    }
    assert!(script.pair.log.iter().any(|p| p.has("ABORT")));
}

/// A peer that says anything at all in its SACKs, as long as it was sent: takes back what it acknowledged, reports in
/// any order, opens and closes its window. Then it comes to its senses: everything is sent that it misses.
#[test]
fn sacks_at_random_and_then_honest_ones() {
    for seed in 0..300 {
        let mut rng = Rng::stream(seed, "test", "sacks");
        // The script does not speak sf2007.
        let names = Config::PROFILES.map(|name| if name == "sf2007" { "rfc2960" } else { name });
        let mut config = Config::named(names[(seed % names.len() as u64) as usize]).unwrap();
        config.limits.association_max_retrans = 10_000;
        config.timers.heartbeat_interval = Duration::ZERO;
        let mut script = Script::established(&config);
        let (a, first) = (script.a, script.tsn_a);
        let count = 1 + rng.below(60) as u32;
        for _ in 0..count {
            script.pair.send(Side::A, a, 0, &vec![1; 1 + rng.below(3000) as usize]);
        }
        script.pair.pump();
        let (mut cumulative, mut next) = (0, 0);
        let mut received = std::collections::BTreeSet::new();
        for round in 0..400 {
            for packet in script.pair.log.drain(..) {
                for chunk in packet.data() {
                    let offset = chunk.tsn.get().wrapping_sub(first);
                    next = next.max(offset + 1);
                    if round >= 200 {
                        received.insert(offset);
                    }
                }
            }
            let mut blocks = Vec::new();
            if round < 200 {
                cumulative += rng.below(u64::from(next - cumulative) / 4 + 1) as u32;
                let open = u64::from(next - cumulative);
                for _ in 0..rng.below(5) {
                    let start = 1 + rng.below(open.max(1));
                    let end = start + rng.below(open.saturating_sub(start) + 1);
                    if end <= open {
                        blocks.push(GapBlock { start: start as u16, end: end as u16 });
                    }
                }
                if rng.chance(0.5) {
                    blocks.sort_unstable_by_key(|b| b.start);
                }
            } else {
                while received.contains(&cumulative) {
                    cumulative += 1;
                }
            }
            let a_rwnd = if round < 200 { rng.below(20_000) as u32 } else { 50_000 };
            let acknowledged = Tsn::new(first.wrapping_add(cumulative).wrapping_sub(1));
            script.send(|out| sack::emit(out, acknowledged, a_rwnd, &blocks, &[]));
            assert_eq!(script.state(), State::Established, "seed {seed}: {:?}", script.closed());
            let wait = if round < 200 { rng.below(400) } else { 1000 };
            script.pair.run_for(Duration::from_millis(wait));
            let association = script.pair.a.view(a).unwrap();
            let flight = association.flight_bytes();
            assert!(flight <= u64::from(next + count) * 3016, "{flight}");
        }
        let association = script.pair.a.view(a).unwrap();
        let left = (association.flight_bytes(), association.queued_bytes());
        assert_eq!(
            left,
            (0, 0),
            "seed {seed} {}: {:?}",
            config.profile,
            script.pair.a.view(a).map(anabranch_sctp::Association::stats)
        );
    }
}
