//! Attacks on messages that may be given up (RFC 3758, RFC 7496): a peer that restarts, changes its mind, resets streams or opens its
//! window by a byte while messages are given up (docs/explanation/attacks.md, group D).
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

use crate::common;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use anabranch_base::Duration;
use anabranch_sctp::{Config, Direction, Event, Message, MessageId, Reliability, SendError, State};
use anabranch_wire::cause::{Cause, Causes, UnrecognizedParameters};
use anabranch_wire::chunk::{Chunk, CookieEcho, ErrorChunk, Init, InitKind, kind};
use anabranch_wire::param::{ForwardTsnSupported, Param, Params, SupportedExtensions};
use anabranch_wire::{Checksum, Packet, Tsn};
use bytes::Bytes;
use common::script::{Script, TAG_Z, TSN_Z, packet};
use common::{Pair, Side};

const WINDOW: u32 = 100_000;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn config() -> Config {
    Config::rfc9260().with(|c| {
        c.extensions.partial_reliability = true;
        c.timers.heartbeat_interval = Duration::ZERO;
    })
}

fn extensions(interleaving: bool) -> [Param<'static>; 2] {
    let types = if interleaving { &[0x40, 0xC0, 0xC2][..] } else { &[0xC0] };
    [
        Param::ForwardTsnSupported(ForwardTsnSupported),
        Param::SupportedExtensions(SupportedExtensions { chunk_types: types }),
    ]
}

/// A peer that skips messages that are given up.
fn established(config: &Config) -> Script {
    let script = Script::established_with(config, &extensions(config.extensions.interleaving));
    assert!(script.pair.a.view(script.a).unwrap().is_partially_reliable());
    script
}

fn message(stream: u16, len: usize) -> Message {
    Message::new(stream, Bytes::from(vec![7; len])).tell_fate()
}

fn send(script: &mut Script, message: Message) -> MessageId {
    let now = script.pair.now;
    let id = script.pair.a.association(script.a).unwrap().send(now, message);
    let id = id.unwrap_or_else(|why| panic!("{why}: {:?} at {now}", script.closed()));
    script.pair.pump();
    audit(script);
    id
}

#[track_caller]
fn audit(script: &Script) {
    script.pair.a.view(script.a).unwrap().audit().unwrap();
}

/// The fate reported of each message, in order; none has two fates.
#[track_caller]
fn fates(script: &Script) -> BTreeMap<u64, &'static str> {
    let mut all = BTreeMap::new();
    for (_, _, event) in &script.pair.events {
        let (message, fate) = match event {
            Event::Delivered { message, .. } => (message, "delivered"),
            Event::Abandoned { message, .. } => (message, "abandoned"),
            Event::Failed { message, .. } => (message, "failed"),
            _ => continue,
        };
        assert_eq!(all.insert(message.0, fate), None, "{event:?} is the second fate");
    }
    all
}

/// Chunk types of all that left since the log was cleared.
fn kinds(script: &Script) -> Vec<u8> {
    script.pair.log.iter().flat_map(common::Logged::kinds).collect()
}

fn forwards(script: &Script) -> usize {
    kinds(script).iter().filter(|kind| [0xC0, 0xC2].contains(*kind)).count()
}

/// The peer has lost its memory and asks again, with these extensions.
fn restart(script: &mut Script, params: &[Param<'_>]) {
    let mut listed = Vec::new();
    for param in params {
        param.emit(&mut listed);
    }
    let tag = TAG_Z ^ 1;
    let init = packet(0, |out| {
        Init {
            initiate_tag: tag,
            a_rwnd: WINDOW,
            outbound_streams: 10,
            inbound_streams: 10,
            initial_tsn: Tsn::new(TSN_Z),
            params: Params::new(&listed),
        }
        .emit(InitKind::Init, out);
    });
    script.pair.inject(Side::Z, &init);
    script.pair.pump();
    let answer = script.pair.log.iter().rfind(|p| p.has("INIT-ACK")).unwrap().bytes.clone();
    let parsed = Packet::parse(&answer, Checksum::Verify).unwrap();
    assert_eq!(parsed.header().verification_tag, tag);
    let Chunk::InitAck(ack) = Chunk::parse(parsed.chunks().next().unwrap().unwrap()).unwrap() else {
        panic!()
    };
    let cookie = ack.params.iter().map(Result::unwrap).find(|p| p.kind == 7).unwrap().value.to_vec();
    (script.tag_a, script.tsn_a) = (ack.initiate_tag, ack.initial_tsn.get());
    script.pair.log.clear();
    script.send(|out| CookieEcho { cookie: &cookie }.emit(out));
    assert_eq!(script.state(), State::Established);
    assert!(script.pair.saw(Side::A, |event| matches!(event, Event::Restarted { .. })));
}

/// The peer restarts when messages were given up, are being given up, wait, or were begun: each has one fate, nothing of the old numbers
/// is told to the new incarnation, and its first message has the first number.
#[test]
fn a_restart_while_messages_are_given_up() {
    for interleaving in [false, true] {
        for moment in 0..4 {
            let config = config().with(|c| c.extensions.interleaving = interleaving);
            let mut script = established(&config);
            let mut sent = Vec::new();
            for n in 0..8 {
                sent.push(send(&mut script, message(n % 3, 1000).max_retransmissions(0)));
            }
            sent.push(send(&mut script, message(4, 60_000).lifetime(ms(900))));
            sent.push(send(&mut script, message(5, 100)));
            match moment {
                0 => {}
                // T3-rtx has given up the lost messages, and the FORWARD-TSN gets no answer.
                1 => script.pair.run_for(ms(1100)),
                2 => script.pair.run_for(ms(10_000)),
                // The window is closed, and lifetimes have ended behind it.
                _ => {
                    script.sack(2, 0, &[(2, 2)]);
                    script.pair.run_for(ms(5000));
                }
            }
            audit(&script);
            script.pair.log.clear();
            restart(&mut script, &extensions(interleaving));
            audit(&script);
            let fates_now = fates(&script);
            assert_eq!(fates_now.len(), sent.len(), "{interleaving} {moment}: {fates_now:?}");
            assert_eq!(forwards(&script), 0, "{interleaving} {moment}");
            script.pair.log.clear();
            script.pair.run_for(ms(20_000));
            assert_eq!((kinds(&script), forwards(&script)), (vec![], 0), "{interleaving} {moment}");
            let last = send(&mut script, message(1, 100).max_retransmissions(0));
            let first = if interleaving { kind::I_DATA } else { kind::DATA };
            assert_eq!(kinds(&script), [first]);
            script.sack(1, WINDOW, &[]);
            assert_eq!(fates(&script).get(&last.0), Some(&"delivered"), "{interleaving} {moment}");
            audit(&script);
        }
    }
}

/// The incarnation that follows does not skip: what is asked for then is refused, policies of streams have no effect, and what is lost is
/// sent again as often as it takes.
#[test]
fn a_restart_that_knows_no_partial_reliability() {
    let mut script = established(&config());
    script
        .pair
        .a
        .association(script.a)
        .unwrap()
        .set_reliability(None, Reliability::Retransmissions(0))
        .unwrap();
    send(&mut script, message(0, 1000));
    script.pair.run_for(ms(3000));
    assert_eq!(fates(&script).get(&0), Some(&"abandoned"));
    restart(&mut script, &[]);
    assert!(!script.pair.a.view(script.a).unwrap().is_partially_reliable());
    script.pair.log.clear();
    let now = script.pair.now;
    let refused = script.pair.a.association(script.a).unwrap().send(now, message(0, 10).lifetime(ms(1)));
    assert!(matches!(refused, Err(SendError::Reliable { .. })), "{refused:?}");
    let kept = send(&mut script, message(0, 1000));
    script.pair.run_for(ms(20_000));
    assert_eq!(forwards(&script), 0);
    assert!(script.left().len() > 3, "{:?}", script.left());
    script.sack(1, WINDOW, &[]);
    assert_eq!(fates(&script).get(&kept.0), Some(&"delivered"));
    audit(&script);
}

fn unrecognized(script: &mut Script, kind: u16) {
    let mut parameters = kind.to_be_bytes().to_vec();
    parameters.extend_from_slice(&[0, 4]);
    let mut causes = Vec::new();
    Cause::UnrecognizedParameters(UnrecognizedParameters { parameters: Params::new(&parameters) })
        .emit(&mut causes);
    script.send(|out| ErrorChunk { causes: Causes::new(&causes) }.emit(out));
}

/// RFC 3758, 3.3.3: after an ERROR that does not recognize Forward-TSN-Supported "the endpoint MUST just mark the
/// association as not supporting partial reliability": from then on nothing more is given up, as the peer would wait
/// for it for ever. Messages that have left are sent reliably; messages that have not, and may not be sent reliably,
/// are handed back.
// rfc3758:3.3.3-3
#[test]
fn a_peer_that_takes_partial_reliability_back() {
    for interleaving in [false, true] {
        let mut script = established(&config().with(|c| c.extensions.interleaving = interleaving));
        let once = send(&mut script, message(0, 1000).max_retransmissions(0));
        let timed = send(&mut script, message(1, 1000).lifetime(ms(500)));
        script.sack(0, 0, &[]);
        let begun = send(&mut script, message(2, 4000).lifetime(ms(700)));
        let waits = send(&mut script, message(3, 1000).lifetime(ms(700)));
        let either = send(&mut script, message(4, 1000).lifetime(ms(700)).or_reliable());
        unrecognized(&mut script, 0xC000);
        audit(&script);
        assert_eq!(script.state(), State::Established);
        let told = fates(&script);
        assert_eq!(told.get(&waits.0), Some(&"failed"), "{told:?}");
        assert!(!told.contains_key(&either.0) && !told.contains_key(&once.0), "{told:?}");
        script.pair.run_for(ms(2000));
        script.sack(0, WINDOW, &[]);
        let mut got = BTreeSet::new();
        if interleaving {
            // The script acknowledges every chunk that has left.
            for _ in 0..200 {
                script.pair.run_for(ms(100));
                let numbers = sent_tsns(&script);
                got.extend(numbers);
                let through = (0..).find(|n| !got.contains(n)).unwrap();
                script.sack(through, WINDOW, &[]);
            }
        } else {
            script.be_honest(ms(20_000), WINDOW, &mut got);
        }
        assert_eq!(forwards(&script), 0, "{interleaving}");
        let told = fates(&script);
        for id in [once, timed, either] {
            assert_eq!(told.get(&id.0), Some(&"delivered"), "{interleaving} {id:?}: {told:?}");
        }
        assert!(told.contains_key(&begun.0) && told.len() == 5, "{told:?}");
        audit(&script);
    }
}

/// Numbers of all data that left since the log was cleared, DATA or I-DATA, from 0 on.
fn sent_tsns(script: &Script) -> Vec<u32> {
    let mut all = Vec::new();
    for logged in &script.pair.log {
        let packet = Packet::parse(&logged.bytes, Checksum::Ignore).unwrap();
        for raw in packet.chunks() {
            match Chunk::parse(raw.unwrap()).unwrap() {
                Chunk::Data(data) => all.push(data.tsn.get().wrapping_sub(script.tsn_a)),
                Chunk::IData(data) => all.push(data.tsn.get().wrapping_sub(script.tsn_a)),
                _ => {}
            }
        }
    }
    all
}

/// The peer opens its window by one byte, now and then, drops every probe, and skips the messages that it is told to. No message fits.
/// Lifetimes end behind the window: each message has one fate, packets stay few, and once the window opens everything flows.
#[test]
fn windows_of_one_byte_and_lifetimes() {
    for len in [2, 3, 1000] {
        let mut script = established(&config());
        let (mut sent, mut packets, mut through) = (0, 0, 0);
        script.sack(0, 1, &[]);
        for round in 0..600_u64 {
            let message = match round % 3 {
                0 => message(0, len).lifetime(ms(1500)),
                1 => message(1, len).max_retransmissions(1),
                _ => message(2, len).priority(3).lifetime(ms(round)),
            };
            send(&mut script, message);
            sent += 1;
            script.pair.run_for(ms(1000));
            through = skipped_to(&script).max(through);
            packets += script.pair.log.len();
            script.pair.log.clear();
            audit(&script);
            script.sack(through, u32::from(round % 2 == 0), &[]);
        }
        assert_eq!(script.state(), State::Established, "{len}: {:?}", script.closed());
        // A probe, a FORWARD-TSN or both a second, no more.
        assert!(packets <= 2 * 600, "{len}: {packets} packets");
        let told = fates(&script).len() as u64;
        assert!(told > sent / 3, "{len}: {told} of {sent}");
        let last = send(&mut script, message(5, 100));
        let mut got: BTreeSet<u32> = (0..through).collect();
        for _ in 0..100 {
            got.extend(script.left());
            got.extend(0..skipped_to(&script));
            let next = (0..).find(|n| !got.contains(n)).unwrap();
            script.pair.log.clear();
            script.sack(next, WINDOW, &[]);
            script.pair.run_for(ms(200));
        }
        assert_eq!(fates(&script).get(&last.0), Some(&"delivered"), "{len}");
        assert_eq!(fates(&script).len() as u64, sent + 1, "{len}");
        script.has_sent_all();
    }
}

/// One past the highest number that a FORWARD-TSN has named since the log was cleared.
fn skipped_to(script: &Script) -> u32 {
    let mut highest = 0;
    for logged in &script.pair.log {
        let packet = Packet::parse(&logged.bytes, Checksum::Ignore).unwrap();
        for raw in packet.chunks() {
            if let Chunk::ForwardTsn(forward) = Chunk::parse(raw.unwrap()).unwrap() {
                highest = highest.max(forward.cumulative.next().get().wrapping_sub(script.tsn_a));
            }
        }
    }
    highest
}

/// A stream is reset while messages of it are given up and others wait for the reset, some of which are given up there: the peer
/// performs it or refuses, and data, FORWARD-TSNs or RE-CONFIGs get lost. Each message has one fate, what is reliable comes once and in
/// order, and the stream goes on.
#[test]
fn a_reset_while_messages_are_given_up() {
    for interleaving in [false, true] {
        for refuses in [false, true] {
            for lost in [&[kind::DATA, kind::I_DATA][..], &[0xC0, 0xC2], &[kind::RE_CONFIG], &[]] {
                let what = format!("{interleaving} {refuses} {lost:?}");
                let config = config().with(|c| {
                    c.extensions.interleaving = interleaving;
                    c.extensions.reconfiguration = true;
                });
                let peer = config.clone().with(|c| c.extensions.peer_resets_streams = !refuses);
                let (mut pair, a, _) = Pair::between(5, &config, &peer);
                let cut = Rc::new(Cell::new(true));
                let (cut_now, all_data) = (Rc::clone(&cut), Rc::new(Cell::new(true)));
                let data_now = Rc::clone(&all_data);
                let lost = lost.to_vec();
                pair.drop_if(move |p| {
                    let has = |list: &[u8]| p.kinds().iter().any(|kind| list.contains(kind));
                    let data = data_now.get() && has(&[kind::DATA, kind::I_DATA]);
                    p.from == Side::A && cut_now.get() && (data || has(&lost))
                });
                let mut sent = 0_u8;
                let mut send = |pair: &mut Pair, message: Message| {
                    let payload = Bytes::from(vec![sent; 700]);
                    sent += 1;
                    let now = pair.now;
                    let message = Message { payload, ..message }.tell_fate();
                    pair.a.association(a).unwrap().send(now, message).unwrap();
                    pair.pump();
                };
                for n in 0..5 {
                    send(&mut pair, Message { unordered: n == 3, ..message(1, 1) }.max_retransmissions(0));
                }
                pair.run_for(ms(1100));
                all_data.set(false);
                let now = pair.now;
                pair.a.association(a).unwrap().reset_streams(now, Direction::Outgoing, &[1]).unwrap();
                pair.pump();
                send(&mut pair, message(1, 1).lifetime(ms(300)));
                send(&mut pair, message(1, 1));
                send(&mut pair, Message { unordered: true, ..message(1, 1) }.lifetime(Duration::ZERO));
                send(&mut pair, message(1, 1).priority(3));
                send(&mut pair, message(2, 1));
                pair.run_for(ms(4000));
                cut.set(false);
                pair.run_for(ms(60_000));
                send(&mut pair, message(1, 1));
                pair.run_for(ms(1000));
                pair.a.view(a).unwrap().audit().unwrap();
                let mut fates = BTreeMap::new();
                for (_, _, event) in &pair.events {
                    if let Event::Delivered { message, .. } | Event::Abandoned { message, .. } = event {
                        assert_eq!(fates.insert(message.0, event), None, "{what}");
                    }
                }
                assert_eq!(fates.len(), 11, "{what}: {fates:?}");
                for reliable in [6, 9, 10] {
                    assert!(matches!(fates[&reliable], Event::Delivered { .. }), "{what}: {fates:?}");
                }
                let mut came: Vec<u8> = pair
                    .received
                    .iter()
                    .filter(|(_, message)| message.stream == 1 && !message.unordered)
                    .map(|(_, message)| message.clone().into_bytes()[0])
                    .collect();
                assert!(
                    came.is_sorted() && came.contains(&6) && came.last() == Some(&10),
                    "{what}: {came:?}"
                );
                came.dedup();
                let delivered =
                    fates.values().filter(|event| matches!(event, Event::Delivered { .. })).count();
                assert!(pair.received.len() >= delivered, "{what}: {} came", pair.received.len());
            }
        }
    }
}
