//! Heartbeats as RFC 9260, 8.3 has them: overdue answers, busy paths, and the information returned.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

use crate::common;

use anabranch_base::{Duration, Instant};
use anabranch_sctp::{Config, Event, State};
use anabranch_wire::chunk::{Heartbeat, HeartbeatKind, kind};
use anabranch_wire::param::HeartbeatInfo;
use anabranch_wire::{Checksum, Packet};
use common::script::Script;
use common::{Pair, Side};

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A HEARTBEAT that is due when the answer to the peer's fills a packet leaves in the next: no packet is longer than the path carries (RFC 9260,
/// 6.10).
#[test]
fn a_heartbeat_behind_an_answer_that_fills_the_packet() {
    for spare in [0, 4, 24, 28, 32] {
        let mut script = Script::established(&Config::rfc9260());
        let (now, peer) = (script.pair.now, common::address(Side::Z).ip());
        // 20 of IP, 12 of the common header, 8 of chunk and parameter.
        let info = vec![7; 1500 - 20 - 12 - 8 - spare];
        let heartbeat = Heartbeat { info: HeartbeatInfo { info: &info } };
        let bytes = common::script::packet(script.tag_a, |out| heartbeat.emit(HeartbeatKind::Request, out));
        script.pair.inject(Side::Z, &bytes);
        script.pair.a.association(script.a).unwrap().request_heartbeat(now, peer).unwrap();
        script.pair.log.clear();
        script.pair.pump();
        let sent: Vec<usize> =
            script.pair.log.iter().filter(|p| p.from == Side::A).map(|p| p.bytes.len()).collect();
        let names = script.pair.names();
        assert!(sent.iter().all(|len| *len <= 1480), "{spare}: {sent:?}");
        assert_eq!(sent.len(), if spare < 28 { 2 } else { 1 }, "{names:?}");
        assert!(
            names.iter().any(|name| name.contains("HEARTBEAT-ACK") || name.contains("HEARTBEAT_ACK")),
            "{names:?}"
        );
    }
}

/// A path that is down after the first error, with a heartbeat every 30 s.
fn config() -> Config {
    Config::rfc9260().with(|c| {
        c.limits.path_max_retrans = 0;
        c.timers.heartbeat_interval = Duration::from_secs(30);
    })
}

/// Waits for the next HEARTBEAT of A: when it left, and its information.
fn next_heartbeat(script: &mut Script) -> (Instant, Vec<u8>) {
    script.pair.log.clear();
    for _ in 0..1000 {
        let limit = script.pair.now + ms(60_000);
        script.pair.step(limit);
        let sent = script.pair.log.iter().rev().find(|p| p.from == Side::A && p.has("HEARTBEAT"));
        if let Some(sent) = sent {
            let packet = Packet::parse(&sent.bytes, Checksum::Verify).unwrap();
            let raw = packet.chunks().map(Result::unwrap).find(|raw| raw.kind == kind::HEARTBEAT).unwrap();
            return (sent.at, Heartbeat::parse(raw).unwrap().info.info.to_vec());
        }
    }
    panic!("no HEARTBEAT");
}

fn is_down(script: &Script) -> bool {
    let last = script.pair.events.iter().rev().find_map(|(_, _, event)| match event {
        Event::PathDown { .. } => Some(true),
        Event::PathUp { .. } => Some(false),
        _ => None,
    });
    last.unwrap_or(false)
}

fn answer(script: &mut Script, info: &[u8]) {
    script.send(|out| Heartbeat { info: HeartbeatInfo { info } }.emit(HeartbeatKind::Ack, out));
}

/// 8.3: "increment the respective error counter of the destination transport address each time a HEARTBEAT chunk is sent to that
/// address and not acknowledged within one RTO", and not a heartbeat interval later. An answer that comes after all clears it.
// rfc9260:8.3-3
#[test]
fn a_missed_heartbeat_counts_after_an_rto() {
    let mut script = Script::established(&config());
    let (sent, info) = next_heartbeat(&mut script);
    let rto = script.pair.a.view(script.a).unwrap().stats().rto;
    assert_eq!(rto, ms(1000));
    script.pair.run_for(rto - ms(1));
    assert!(!is_down(&script));
    script.pair.run_for(ms(1));
    assert_eq!(script.pair.now, sent + rto);
    assert!(is_down(&script));
    // "exponential backoff of the RTO if the previous HEARTBEAT chunk is unanswered".
    assert_eq!(script.pair.a.view(script.a).unwrap().stats().rto, ms(2000));
    script.pair.run_for(ms(500));
    answer(&mut script, &info);
    assert!(!is_down(&script));
    // The next is sent all the same, and one that is answered in time counts nothing.
    let (sent_next, info) = next_heartbeat(&mut script);
    assert!(sent_next < sent + ms(32_000), "{sent_next}");
    script.pair.run_for(ms(100));
    answer(&mut script, &info);
    script.pair.run_for(ms(5000));
    assert!(!is_down(&script));
    assert_eq!(script.state(), State::Established);
}

/// Each missed one counts once: with Path.Max.Retrans 5 the sixth takes the path down, an RTO after it was sent.
#[test]
fn each_missed_heartbeat_counts_once() {
    let config = config().with(|c| {
        c.limits.path_max_retrans = 5;
        c.limits.association_max_retrans = 10;
    });
    let mut script = Script::established(&config);
    for missed in 1..=6 {
        let (sent, _) = next_heartbeat(&mut script);
        let rto = script.pair.a.view(script.a).unwrap().stats().rto;
        script.pair.run_for(sent + rto - script.pair.now - ms(1));
        assert!(!is_down(&script), "{missed}");
        script.pair.run_for(ms(2));
        assert_eq!(is_down(&script), missed == 6, "{missed}");
    }
}

/// 8.3: a path is idle "if no new chunk that can be used for updating path RTT ... has been sent to it within the
/// current heartbeat period". Retransmitted chunks cannot be used for that (6.3.1, C5): a path on which only T3-rtx
/// sends is probed.
#[test]
fn what_is_sent_again_does_not_make_a_path_busy() {
    let config = config().with(|c| {
        c.limits.path_max_retrans = 100;
        c.limits.association_max_retrans = 100;
        c.timers.heartbeat_interval = Duration::from_secs(10);
        c.timers.rto_max = ms(3000);
    });
    let mut script = Script::established(&config);
    script.pair.send(Side::A, script.a, 0, &[1; 1000]);
    script.pair.run_for(ms(60_000));
    let sent = |name: &str| script.pair.log.iter().filter(|p| p.from == Side::A && p.has(name)).count();
    assert!(sent("DATA") > 15, "{}", sent("DATA"));
    // One in each period of 10 s and an RTO of 3 s, but the first, in which the data was new.
    assert!((3..=5).contains(&sent("HEARTBEAT")), "{}", sent("HEARTBEAT"));
}

/// 8.3: "together with any other received TLVs, copied unchanged from the received HEARTBEAT chunk".
#[test]
fn a_heartbeat_is_returned_with_all_its_parameters() {
    let others: [&[u8]; 4] = [
        &[],
        &[0xc7, 0x77, 0, 6, 5, 6, 0, 0],
        // The same as the mandatory one, and one without a value.
        &[0, 1, 0, 8, 1, 2, 3, 4, 0x12, 0x34, 0, 4],
        // Padding that is not counted in the length of the chunk.
        &[0xc7, 0x77, 0, 5, 5],
    ];
    for other in others {
        let mut script = Script::established(&Config::rfc9260());
        let mut value = vec![0, 1, 0, 7, 9, 9, 9, 0];
        value.extend_from_slice(other);
        script.send(|out| {
            out.extend_from_slice(&[kind::HEARTBEAT, 0, 0, 4 + value.len() as u8]);
            out.extend_from_slice(&value);
            out.resize(out.len().next_multiple_of(4), 0);
        });
        let answer = script.pair.log.iter().find(|p| p.has("HEARTBEAT-ACK")).unwrap();
        let packet = Packet::parse(&answer.bytes, Checksum::Verify).unwrap();
        let raw = packet.chunks().next().unwrap().unwrap();
        assert_eq!(raw.value, value, "{other:?}");
    }
}

/// 8.1: "The receiver of the HEARTBEAT ACK MAY choose not to clear the counter if there is outstanding data on the association. This
/// allows for handling the possible difference in reachability based on DATA chunks and HEARTBEAT chunks." A path that carries one and
/// not the other would keep an association for ever.
#[test]
fn answered_heartbeats_do_not_make_up_for_data_that_is_lost() {
    let (mut pair, a, _) = Pair::established(8, &Config::rfc9260());
    pair.drop_if(|p| p.from == Side::A && p.has("DATA"));
    pair.send(Side::A, a, 0, &[1; 1000]);
    pair.run_for(Duration::from_secs(400));
    assert!(pair.log.iter().any(|p| p.from == Side::Z && p.has("HEARTBEAT-ACK")));
    assert_eq!(pair.a.view(a).unwrap().state(), State::Closed);
    assert_eq!(pair.a.view(a).unwrap().stats().timeouts, 11, "Association.Max.Retrans = 10");
    // Without data they keep it.
    let (mut pair, a, _) = Pair::established(8, &Config::rfc9260());
    pair.run_for(Duration::from_secs(3600));
    assert_eq!(pair.a.view(a).unwrap().state(), State::Established);
}

/// 8.3: "Upon the receipt of the HEARTBEAT ACK chunk, the sender of the HEARTBEAT chunk SHOULD clear the error counter". The answer must be
/// to that HEARTBEAT: with any byte of the information changed it clears nothing (RFC 8540: only a valid one counts).
#[test]
fn an_answer_with_a_wrong_nonce_clears_no_error() {
    let mut script = Script::established(&config());
    let (_, info) = next_heartbeat(&mut script);
    script.pair.run_for(ms(1000));
    assert!(is_down(&script));
    for at in 0..info.len() {
        let mut forged = info.clone();
        forged[at] ^= 1;
        answer(&mut script, &forged);
        assert!(is_down(&script), "byte {at}");
    }
    answer(&mut script, &info);
    assert!(!is_down(&script));
}

/// 8.1: "When a HEARTBEAT ACK chunk is received from the peer endpoint, the counter SHOULD also be reset", which a forged one does not do: a
/// peer that has gone is given up after Association.Max.Retrans HEARTBEATs.
#[test]
fn forged_answers_keep_no_association_alive() {
    let mut script = Script::established(&config().with(|c| c.limits.association_max_retrans = 3));
    for _ in 0..4 {
        assert_eq!(script.state(), State::Established);
        let (_, mut forged) = next_heartbeat(&mut script);
        forged[4] ^= 1;
        answer(&mut script, &forged);
    }
    script.pair.run_for(ms(60_000));
    assert_eq!(script.state(), State::Closed);
}
