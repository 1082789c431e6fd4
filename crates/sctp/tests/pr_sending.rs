//! What a sender gives up, and what it tells the peer of it (RFC 3758, 3.5), against a peer that is written down packet by packet.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

mod common;

use anabranch_base::Duration;
use anabranch_sctp::{Abandonments, Config, Event, Message, MessageId, Policy};
use anabranch_wire::chunk::Chunk;
use anabranch_wire::param::{ForwardTsnSupported, Param, SupportedExtensions};
use anabranch_wire::{Checksum, Packet};
use bytes::Bytes;
use common::script::Script;

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

/// A peer that skips what is given up.
fn established(config: &Config) -> Script {
    let types = if config.extensions.interleaving { &[0x40, 0xC0, 0xC2][..] } else { &[0xC0] };
    let extensions = [
        Param::ForwardTsnSupported(ForwardTsnSupported),
        Param::SupportedExtensions(SupportedExtensions { chunk_types: types }),
    ];
    let script = Script::established_with(config, &extensions);
    assert!(script.pair.a.view(script.a).unwrap().is_partially_reliable());
    script
}

fn message(stream: u16, len: usize) -> Message {
    Message::new(stream, Bytes::from(vec![7; len])).tell_fate()
}

fn send(script: &mut Script, message: Message) -> MessageId {
    let now = script.pair.now;
    let id = script.pair.a.association(script.a).unwrap().send(now, message).unwrap();
    script.pair.pump();
    audit(script);
    id
}

#[track_caller]
fn audit(script: &Script) {
    script.pair.a.view(script.a).unwrap().audit().unwrap();
}

/// Every FORWARD-TSN and I-FORWARD-TSN since the log was cleared: one past the number that it names, counted from A's first, and
/// what it skips: stream, whether unordered, number.
fn forwards(script: &Script) -> Vec<(u32, Vec<(u16, bool, u32)>)> {
    let mut all = Vec::new();
    for logged in &script.pair.log {
        let packet = Packet::parse(&logged.bytes, Checksum::Ignore).unwrap();
        for raw in packet.chunks() {
            match Chunk::parse(raw.unwrap()).unwrap() {
                Chunk::ForwardTsn(forward) => {
                    let skipped = forward.skipped().map(|s| (s.stream, false, u32::from(s.ssn.get())));
                    all.push((forward.cumulative.next().get().wrapping_sub(script.tsn_a), skipped.collect()));
                }
                Chunk::IForwardTsn(forward) => {
                    let skipped = forward.skipped().map(|s| (s.stream, s.unordered, s.mid.get()));
                    all.push((forward.cumulative.next().get().wrapping_sub(script.tsn_a), skipped.collect()));
                }
                _ => {}
            }
        }
    }
    all
}

/// What became of messages, as numbers: delivered, given up before or after it was sent, failed.
#[derive(Debug, PartialEq, Eq)]
enum Fate {
    Delivered(u64),
    Unsent(u64),
    Sent(u64),
    Failed(u64),
}

fn fates(script: &mut Script) -> Vec<Fate> {
    let events = std::mem::take(&mut script.pair.events);
    let fate = |event: &Event| match event {
        Event::Delivered { message, .. } => Some(Fate::Delivered(message.0)),
        Event::Abandoned { message, sent: false, .. } => Some(Fate::Unsent(message.0)),
        Event::Abandoned { message, sent: true, .. } => Some(Fate::Sent(message.0)),
        Event::Failed { message, .. } => Some(Fate::Failed(message.0)),
        _ => None,
    };
    events.iter().filter_map(|(_, _, event)| fate(event)).collect()
}

/// RFC 7496, 3.1: a limit of 0 is one transmission. "the data sender MUST send the data receiver a FORWARD TSN chunk" (RFC 3758, 3.5,
/// C3) when T3-rtx has expired, and what is ordered is named with its stream (C4).
#[test]
fn without_retransmissions_a_timeout_gives_up() {
    let mut script = established(&config());
    let id = send(&mut script, message(3, 1000).max_retransmissions(0));
    assert_eq!((script.left(), id), (vec![0], MessageId(0)));
    script.pair.log.clear();
    script.pair.run_for(ms(1100));
    assert_eq!((script.left(), forwards(&script)), (vec![], vec![(1, vec![(3, false, 0)])]));
    assert_eq!(fates(&mut script), [Fate::Sent(0)]);
    audit(&script);
    script.sack(1, WINDOW, &[]);
    script.has_sent_all();
    // Nothing is owed any more: nobody hears anything for a minute.
    script.pair.log.clear();
    script.pair.run_for(Duration::from_secs(60));
    assert!(script.pair.log.is_empty());
    send(&mut script, message(3, 1000));
    assert_eq!(script.left(), [1]);
    script.sack(2, WINDOW, &[]);
    assert_eq!(fates(&mut script), [Fate::Delivered(1)]);
    let view = script.pair.a.view(script.a).unwrap();
    assert_eq!(view.abandoned(Some(3), Some(Policy::Retransmissions)), Abandonments { unsent: 0, sent: 1 });
    assert_eq!(view.abandoned(None, Some(Policy::Lifetime)), Abandonments::default());
}
