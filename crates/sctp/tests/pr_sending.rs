//! Messages that a sender gives up, and its reports of them to the peer (RFC 3758, 3.5), against a peer that is
//! written down packet by packet.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

use crate::common;

use anabranch_base::{Dscp, Duration};
use anabranch_sctp::config::{InitialWindow, MaxBurst};
use anabranch_sctp::{
    Abandonments, CloseReason, Config, Event, Message, MessageId, Policy, Reconfigured, Reliability,
    SendError, State, SubflowError, SubflowLevel, SubflowSpec,
};
use anabranch_wire::chunk::{Chunk, CookieAck, ReConfig};
use anabranch_wire::param::{ForwardTsnSupported, Param, Params, ReconfigResponse, SupportedExtensions};
use anabranch_wire::{Checksum, Packet, Tsn};
use bytes::Bytes;
use common::Side;
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

/// A peer that skips messages that are given up.
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

/// Stream, whether unordered, number.
type Skipped = Vec<(u16, bool, u32)>;

/// Every FORWARD-TSN and I-FORWARD-TSN since the log was cleared: one past the number that it names, counted from A's first, and
/// what it skips: stream, whether unordered, number.
fn forwards(script: &Script) -> Vec<(u32, Skipped)> {
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

/// Fates of messages, as numbers: delivered, given up before or after it was sent, failed.
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
// rfc3758:3.5-7 rfc3758:3.5-10 rfc3758:3.5-14
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

/// RFC 3758, 3.5, A3 and F5: a chunk that is found missing and must not leave again takes its whole message along, and the window
/// shrinks as it does when a chunk is sent again.
// rfc3758:3.5-2 rfc3758:3.5-3 rfc3758:3.5-4 rfc3758:3.5-17
#[test]
fn a_lost_fragment_gives_up_its_message() {
    let mut script =
        established(&config().with(|c| c.congestion.initial_window = InitialWindow::Packets(10)));
    send(&mut script, message(0, 3000).max_retransmissions(0));
    for _ in 0..4 {
        send(&mut script, message(1, 500));
    }
    let all: Vec<u32> = (0..7).collect();
    assert_eq!(script.left(), all);
    script.pair.log.clear();
    // The first fragment is missing: the second and the third are there, and in the end the peer has no use for them.
    script.sack(0, WINDOW, &[(2, 2)]);
    script.sack(0, WINDOW, &[(2, 4)]);
    assert_eq!(forwards(&script), []);
    script.sack(0, WINDOW, &[(2, 5)]);
    assert_eq!((script.left(), forwards(&script)), (vec![], vec![(3, vec![(0, false, 0)])]));
    assert_eq!(script.pair.a.view(script.a).unwrap().stats().congestion_events, 1);
    audit(&script);
    assert_eq!(fates(&mut script), [Fate::Sent(0)]);
    // "sending a duplicate FORWARD TSN" waits for a round trip (F2).
    script.sack(0, WINDOW, &[(2, 6)]);
    assert_eq!(forwards(&script).len(), 1);
    script.sack(7, WINDOW, &[]);
    assert_eq!(fates(&mut script), [1, 2, 3, 4].map(Fate::Delivered));
    script.has_sent_all();
}

/// The picture of RFC 3758, 3.5, C2: the point moves over what was given up, and neither over what gap blocks have nor over what is
/// outstanding.
// rfc3758:3.5-19
#[test]
fn the_point_stops_before_what_is_not_given_up() {
    let mut script =
        established(&config().with(|c| c.congestion.initial_window = InitialWindow::Packets(10)));
    for number in 0..6 {
        let given_up = [0, 1, 4].contains(&number);
        let message = message(number, 500);
        send(&mut script, if given_up { message.max_retransmissions(0) } else { message });
    }
    script.pair.log.clear();
    // 2 and 5 have arrived; the others are lost at once when T3-rtx expires: 0, 1 and 4 are given up, 3 leaves again.
    script.sack(0, WINDOW, &[(3, 3), (6, 6)]);
    script.pair.run_for(ms(1500));
    assert_eq!(forwards(&script), [(2, vec![(0, false, 0), (1, false, 0)])]);
    assert_eq!(script.left(), [3]);
    script.pair.log.clear();
    // The peer has skipped 0 and 1, and gone on over 2: 3 is the next.
    script.sack(3, WINDOW, &[(3, 3)]);
    assert_eq!(forwards(&script), []);
    script.sack(4, WINDOW, &[(2, 2)]);
    assert_eq!(forwards(&script), [(5, vec![(4, false, 0)])]);
    script.sack(6, WINDOW, &[]);
    script.has_sent_all();
}

/// "A chunk ... before it was assigned a TSN": a message that never left uses up neither a TSN nor a stream sequence
/// number.
// rfc3758:4.1-3 rfc3758:4.1-4
#[test]
fn what_never_left_uses_no_number() {
    let mut script = established(&config());
    send(&mut script, message(0, 1000));
    script.sack(1, 0, &[]);
    script.pair.log.clear();
    for lifetime in [0, 100, 400] {
        send(&mut script, message(0, 1000).lifetime(ms(lifetime)));
    }
    send(&mut script, message(0, 1000));
    script.pair.run_for(ms(500));
    assert_eq!(fates(&mut script), [Fate::Delivered(0), Fate::Unsent(1), Fate::Unsent(2), Fate::Unsent(3)]);
    assert_eq!((script.left(), forwards(&script)), (vec![], vec![]));
    script.sack(1, WINDOW, &[]);
    assert_eq!(script.left(), [1]);
    let ssn = script.pair.log.iter().flat_map(|p| p.data().iter().map(|d| d.ssn.get()).collect::<Vec<_>>());
    assert_eq!(ssn.collect::<Vec<_>>(), [1]);
    script.sack(2, WINDOW, &[]);
    assert_eq!(fates(&mut script), [Fate::Delivered(4)]);
    let view = script.pair.a.view(script.a).unwrap();
    assert_eq!(view.abandoned(None, None), Abandonments { unsent: 3, sent: 0 });
}

/// A lifetime of zero: at once or never. One of centuries never ends.
#[test]
fn lifetimes_of_zero_and_of_centuries() {
    let mut script = established(&config());
    send(&mut script, message(0, 1000).lifetime(Duration::ZERO));
    assert_eq!(script.left(), [0]);
    send(&mut script, message(0, 1000).lifetime(Duration::MAX));
    send(&mut script, message(0, 1000).lifetime(Duration::from_secs(400 * 365 * 86_400)));
    script.sack(3, WINDOW, &[]);
    assert_eq!(fates(&mut script), [0, 1, 2].map(Fate::Delivered));
    script.has_sent_all();
    script.pair.run_for(Duration::from_secs(2));
    assert_eq!(script.pair.a.poll_timeout(), None, "nothing waits for the end of a century");
}

/// A message of which a part has left: the peer may have all of that part, and can only be told by a TSN that it does
/// not have. That TSN carries nothing, and is given to nothing else.
// rfc3758:4.1-5 rfc3758:4.1-6 rfc3758:3.5-16
#[test]
fn half_a_message_is_given_up_with_a_number_of_its_own() {
    let mut script = established(&config());
    send(&mut script, message(2, 20_000).lifetime(ms(50)));
    let left = script.left();
    let next = left.len() as u32;
    assert!(next >= 3);
    send(&mut script, message(2, 100));
    script.pair.log.clear();
    script.sack(next, WINDOW, &[]);
    // More of it leaves with the SACK.
    let more = script.left().len() as u32;
    let next = next + more;
    script.pair.log.clear();
    script.pair.run_for(ms(60));
    assert_eq!(fates(&mut script), [Fate::Sent(0)]);
    assert_eq!(forwards(&script), [(next + 1, vec![(2, false, 0)])]);
    assert_eq!(script.left(), [next + 1], "the next message follows");
    script.sack(next + 2, WINDOW, &[]);
    assert_eq!(fates(&mut script), [Fate::Delivered(1)]);
    script.has_sent_all();
}

/// RFC 3758, 3.5, A2: "MUST NOT advance the cwnd based on this 'abandoned' data chunk", although it has arrived; but
/// where the option asks for it.
// rfc3758:3.5-3
#[test]
fn what_was_given_up_and_has_arrived_is_credited_where_that_is_wanted() {
    for (wanted, grows) in [(false, 0), (true, 1)] {
        let config = config().with(|c| c.congestion.credit_given_up = wanted);
        let mut script = established(&config);
        let cwnd = |script: &Script| script.pair.a.view(script.a).unwrap().snapshot().subflows[0].cwnd;
        send(&mut script, message(2, 50_000).lifetime(ms(50)));
        let sent = script.left().len() as u32;
        let before = cwnd(&script);
        script.pair.run_for(ms(60));
        assert_eq!(fates(&mut script), [Fate::Sent(0)]);
        // Acknowledged before the FORWARD-TSN has arrived, which names one number more.
        script.sack(sent, WINDOW, &[]);
        assert_eq!(cwnd(&script) > before, grows == 1, "credit_given_up = {wanted}");
        audit(&script);
    }
}

/// RFC 3758, 3.5, F5: a chunk that is given up in flight and turns out to be lost shrinks the window all the same.
// rfc3758:3.5-20
#[test]
fn a_loss_of_what_was_given_up_in_flight_is_a_loss() {
    let mut script = established(&config());
    send(&mut script, message(2, 50_000).lifetime(ms(50)));
    let next = script.left().len() as u32;
    script.pair.run_for(ms(60));
    // It was given up; other data follows behind it.
    assert_eq!(fates(&mut script), [Fate::Sent(0)]);
    for _ in 0..4 {
        send(&mut script, message(3, 100));
    }
    let before = script.pair.a.view(script.a).unwrap().stats();
    // Those arrive, the FORWARD-TSN is still on its way, and of the first chunk nothing is heard.
    let offset = next as u16 + 2;
    for arrived in 0..3 {
        script.sack(0, WINDOW, &[(2, next as u16), (offset, offset + arrived)]);
    }
    let after = script.pair.a.view(script.a).unwrap().stats();
    assert_eq!((before.congestion_events, after.congestion_events), (0, 1));
    audit(&script);
    script.sack(next + 5, WINDOW, &[]);
    script.has_sent_all();
}

/// C4: "Each stream SHOULD only be reported once", with the highest, in the order in which they were given up; what is unordered has no
/// number in DATA, and is not reported.
// rfc3758:3.5-9 rfc3758:3.5-11
#[test]
fn each_stream_is_named_once_and_unordered_messages_are_not() {
    for interleaving in [false, true] {
        let config = config().with(|c| {
            c.congestion.initial_window = InitialWindow::Packets(10);
            c.extensions.interleaving = interleaving;
        });
        let mut script = established(&config);
        for (stream, unordered) in [(1, false), (0, false), (1, false), (3, true), (1, false), (3, true)] {
            let message = Message { unordered, ..message(stream, 100) };
            send(&mut script, message.max_retransmissions(0));
        }
        script.pair.log.clear();
        script.pair.run_for(ms(1500));
        let mut expected = vec![(1, false, 2), (0, false, 0)];
        if interleaving {
            // "U bit ... the unordered messages": I-DATA numbers them (RFC 8260, 2.3.1).
            expected.push((3, true, 1));
        }
        assert_eq!(forwards(&script), [(6, expected)]);
    }
}

/// C4: "If the total size of the FORWARD TSN does NOT fit in a single MTU, then the sender of the FORWARD TSN SHOULD lower the
/// Advanced.Peer.Ack.Point to the last TSN that will fit in a single MTU".
// rfc3758:3.5-12
#[test]
fn what_does_not_fit_a_packet_waits_for_the_next() {
    let config = config().with(|c| {
        c.mtu = 576;
        c.streams.outbound = 300;
        c.congestion.initial_window = InitialWindow::Packets(100);
        c.congestion.max_burst = MaxBurst::Off;
    });
    let mut script = Script::calling(&config);
    script.init_ack_with(300, &[Param::ForwardTsnSupported(ForwardTsnSupported)]);
    script.send(|out| CookieAck.emit(out));
    for stream in 0..200 {
        send(&mut script, message(stream, 10).max_retransmissions(0));
    }
    assert_eq!(script.left().len(), 200);
    script.pair.log.clear();
    script.pair.run_for(ms(1500));
    let sent = forwards(&script);
    // 576 - 20 (IP) - 12 (common header) - 8 (FORWARD-TSN), 4 for each stream.
    assert_eq!(sent.iter().map(|(point, list)| (*point, list.len())).collect::<Vec<_>>(), [(134, 134)]);
    script.pair.log.clear();
    script.sack(134, WINDOW, &[]);
    assert_eq!(forwards(&script).iter().map(|(p, l)| (*p, l.len())).collect::<Vec<_>>(), [(200, 66)]);
    script.sack(200, WINDOW, &[]);
    script.has_sent_all();
}

/// A5, C5: one that is lost leaves again with T3-rtx, and a peer that never answers is unreachable in the end.
// rfc3758:3.5-13
#[test]
fn a_peer_that_never_answers() {
    let mut script = established(&config());
    let id = send(&mut script, message(0, 1000).max_retransmissions(0).context(77));
    script.pair.log.clear();
    script.pair.run_for(Duration::from_secs(3600));
    assert_eq!(script.left(), []);
    assert_eq!(forwards(&script).len(), 10);
    assert_eq!(script.closed(), Some(CloseReason::Unreachable { limit: "Association.Max.Retrans" }));
    let told = Event::Abandoned { message: id, context: 77, sent: true };
    assert!(script.pair.events.iter().any(|(_, _, event)| *event == told));
    assert!(!script.pair.events.iter().any(|(_, _, event)| matches!(event, Event::SendFailed { .. })));
    let now = script.pair.now;
    assert!(script.pair.a.association(script.a).unwrap().send(now, message(0, 1)).is_err());
}

/// A peer that never opens its window, and messages with lifetimes without end: memory is bounded by the send buffer, as always.
#[test]
fn a_closed_window_and_many_lifetimes() {
    let mut script = established(&config().with(|c| c.limits.send_buffer = 10_000));
    send(&mut script, message(0, 1000));
    script.sack(1, 0, &[]);
    let mut told = 0;
    for _ in 0..200 {
        let now = script.pair.now;
        while script.pair.a.association(script.a).unwrap().send(now, message(1, 100).lifetime(ms(30))).is_ok()
        {
        }
        assert!(script.pair.a.view(script.a).unwrap().queued_bytes() <= 10_000);
        script.pair.run_for(ms(40));
        audit(&script);
        told += fates(&mut script).iter().filter(|fate| matches!(fate, Fate::Unsent(_))).count();
        script.sack(1, 0, &[]);
        if script.state() != State::Established {
            break;
        }
    }
    assert!(told >= 10_000, "{told}");
}

/// "receipt of the SACK ... never sent": the number that stands for the rest of a message has not been told to anybody, and nobody
/// can acknowledge it.
#[test]
fn a_peer_that_acknowledges_what_it_was_not_told() {
    let mut script = established(&config());
    send(&mut script, message(0, 1000));
    send(&mut script, message(2, 20_000).lifetime(ms(50)));
    let next = script.left().len() as u32;
    script.pair.run_for(ms(60));
    assert_eq!(fates(&mut script), [Fate::Sent(1)]);
    assert_eq!(forwards(&script), [], "the first message is outstanding");
    script.sack(next + 1, WINDOW, &[]);
    let what = "a SACK acknowledges a TSN that was never sent";
    assert_eq!(script.closed(), Some(CloseReason::ProtocolViolation { what }));
}

/// A shutdown waits until the peer has skipped the messages that were given up.
#[test]
fn a_shutdown_waits_for_what_is_skipped() {
    for sent in [true, false] {
        let mut script = established(&config());
        if sent {
            send(&mut script, message(0, 1000).max_retransmissions(0));
        } else {
            send(&mut script, message(0, 1000));
            script.sack(1, 0, &[]);
            send(&mut script, message(0, 1000).lifetime(ms(900)));
        }
        let now = script.pair.now;
        script.pair.a.association(script.a).unwrap().shutdown(now);
        script.pair.run_for(ms(500));
        assert_eq!(script.state(), State::ShutdownPending);
        script.pair.run_for(ms(900));
        if sent {
            assert_eq!((script.state(), forwards(&script).len()), (State::ShutdownPending, 1));
            script.sack(1, WINDOW, &[]);
        }
        assert_eq!(script.state(), State::ShutdownSent);
    }
}

/// A peer without the extension: the caller is told, at once or, where the handshake was still to tell, with the message back.
#[test]
fn a_peer_that_skips_nothing() {
    let refused = |why| Err(SendError::Reliable { why });
    let mut off = Script::established(&config().with(|c| c.extensions.partial_reliability = false));
    let now = off.pair.now;
    let mut a = off.pair.a.association(off.a).unwrap();
    let why = "partial reliability is not offered (option `partial_reliability`)";
    assert_eq!(a.send(now, message(0, 10).lifetime(ms(1))), refused(why));
    drop(a);
    let mut plain = Script::established(&config());
    let now = plain.pair.now;
    let mut a = plain.pair.a.association(plain.a).unwrap();
    let why = "the peer does not know partial reliability (RFC 3758)";
    assert_eq!(a.send(now, message(0, 10).lifetime(ms(1))), refused(why));
    assert_eq!(a.set_reliability(None, Reliability::Retransmissions(0)), Err(SendError::Reliable { why }));
    assert!(a.send(now, message(0, 10).max_retransmissions(0).or_reliable()).is_ok());
    drop(a);
    plain.pair.pump();
    plain.pair.log.clear();
    plain.pair.run_for(ms(1500));
    assert_eq!((plain.left(), forwards(&plain)), (vec![0], vec![]), "it is reliable");
    // Before the INIT ACK nobody knows.
    let mut early = Script::calling(&config());
    let now = early.pair.now;
    let mut a = early.pair.a.association(early.a).unwrap();
    let id = a.send(now, message(0, 10).lifetime(ms(60_000)).context(5)).unwrap();
    a.send(now, message(0, 20).lifetime(ms(60_000)).or_reliable()).unwrap();
    a.send(now, message(0, 30)).unwrap();
    drop(a);
    early.init_ack(10);
    early.send(|out| CookieAck.emit(out));
    assert_eq!(fates(&mut early), [Fate::Failed(0)]);
    audit(&early);
    let mut a = early.pair.a.association(early.a).unwrap();
    let back = a.receive_unsent().unwrap();
    assert_eq!((back.id, back.context, back.len()), (Some(id), 5, 10));
    assert!(a.receive_unsent().is_none());
    drop(a);
    early.sack(2, WINDOW, &[]);
    assert_eq!(fates(&mut early), [Fate::Delivered(1), Fate::Delivered(2)]);
}

/// RFC 7496, 3.2: where the send buffer is full, the message that matters least makes room, and nothing is given up
/// in vain.
#[test]
fn priorities_decide_what_a_full_buffer_keeps() {
    let mut script = established(&config().with(|c| c.limits.send_buffer = 5000));
    send(&mut script, message(0, 1000));
    script.sack(1, 0, &[]);
    fates(&mut script);
    let mut ids = Vec::new();
    for value in [5, 9, 9, 7, 1] {
        ids.push(send(&mut script, message(0, 1000).priority(value)).0);
    }
    let now = script.pair.now;
    let mut a = script.pair.a.association(script.a).unwrap();
    // Not for one that matters as little.
    assert_eq!(a.send(now, message(0, 100).priority(9)), Err(SendError::Full));
    drop(a);
    assert_eq!(fates(&mut script), []);
    send(&mut script, message(0, 1000).priority(8));
    assert_eq!(fates(&mut script), [Fate::Unsent(ids[2])], "the younger of two");
    send(&mut script, message(0, 1000));
    assert_eq!(fates(&mut script), [Fate::Unsent(ids[1])]);
    let view = script.pair.a.view(script.a).unwrap();
    assert_eq!(view.abandoned(Some(0), Some(Policy::Priority)), Abandonments { unsent: 2, sent: 0 });
    script.sack(1, WINDOW, &[]);
    script.pair.run_for(ms(10));
    audit(&script);
}

/// Streams have policies, and messages that say otherwise have their own.
#[test]
fn a_stream_has_a_policy() {
    let mut script = established(&config());
    let mut a = script.pair.a.association(script.a).unwrap();
    a.set_reliability(None, Reliability::Retransmissions(0)).unwrap();
    a.set_reliability(Some(1), Reliability::Full).unwrap();
    let nowhere = SendError::NoSuchStream { stream: 10, streams: 10 };
    assert_eq!(a.set_reliability(Some(10), Reliability::Full), Err(nowhere));
    drop(a);
    for stream in 0..3 {
        let plain = Message::new(stream, Bytes::from_static(b"plain"));
        send(&mut script, if stream == 2 { plain.reliability(Reliability::Full) } else { plain });
    }
    assert_eq!(script.left(), [0, 1, 2]);
    script.pair.log.clear();
    script.pair.run_for(ms(1500));
    assert_eq!((script.left(), forwards(&script)), (vec![1, 2], vec![(1, vec![(0, false, 0)])]));
    assert_eq!(fates(&mut script), [], "nobody has asked");
}

/// RFC 6458, 6.1.9.
#[test]
fn the_sender_is_dry() {
    let mut script = established(&config());
    let now = script.pair.now;
    let dry = |script: &mut Script| {
        let events = std::mem::take(&mut script.pair.events);
        events.iter().filter(|(_, _, event)| *event == Event::SenderDry).count()
    };
    script.pair.a.association(script.a).unwrap().tell_when_dry(now, true);
    script.pair.pump();
    assert_eq!(dry(&mut script), 1, "at once");
    let plain = || Message::new(0, Bytes::from_static(b"plain"));
    send(&mut script, plain());
    send(&mut script, plain());
    script.sack(1, WINDOW, &[]);
    assert_eq!(dry(&mut script), 0);
    script.sack(2, WINDOW, &[]);
    script.sack(2, WINDOW, &[]);
    assert_eq!(dry(&mut script), 1);
    // A message that was given up is no outstanding data any more.
    send(&mut script, plain().max_retransmissions(0));
    script.pair.run_for(ms(1500));
    assert_eq!(dry(&mut script), 1);
    let now = script.pair.now;
    script.pair.a.association(script.a).unwrap().tell_when_dry(now, false);
    send(&mut script, plain());
    script.sack(4, WINDOW, &[]);
    assert_eq!(dry(&mut script), 0);
}

/// An abort fails the messages that are not acknowledged: each has one fate, and comes back with its mark.
#[test]
fn an_abort_fails_what_is_left() {
    let mut script = established(&config());
    for context in 0..10 {
        send(&mut script, message(context as u16 % 3, 1000).context(context));
    }
    let left = script.left().len();
    assert!((1..10).contains(&left));
    script.sack(1, WINDOW, &[(2, 2)]);
    let left = script.left().len();
    script.pair.a.association(script.a).unwrap().abort(script.pair.now, b"");
    script.pair.pump();
    let mut told = fates(&mut script);
    assert_eq!(told.remove(0), Fate::Delivered(0));
    told.sort_by_key(|fate| if let Fate::Failed(number) = fate { *number } else { u64::MAX });
    assert_eq!(told, (1..10).map(Fate::Failed).collect::<Vec<_>>());
    let mut a = script.pair.a.association(script.a).unwrap();
    let mut contexts: Vec<u32> = Vec::new();
    while let Some(message) = a.receive_unacknowledged() {
        assert_eq!(message.id, Some(MessageId(u64::from(message.context))));
        contexts.push(message.context);
    }
    assert_eq!(contexts.len(), left - 1);
    while let Some(message) = a.receive_unsent() {
        contexts.push(message.context);
    }
    contexts.sort_unstable();
    assert_eq!(contexts, (1..10).collect::<Vec<_>>());
}

/// A message that names a code point leaves with it: its stream goes to the subflow that has it, unless others of the stream are under
/// way.
#[test]
fn a_message_chooses_the_subflow_of_its_stream() {
    let point = |dscp| Dscp::new(dscp).unwrap();
    let config = config().with(|c| {
        c.subflows.open = [0, 8].map(|dscp| SubflowSpec::new(point(dscp))).to_vec();
        c.subflows.max = 3;
    });
    let mut script = established(&config);
    let hand_in = |script: &mut Script, message| {
        let now = script.pair.now;
        script.pair.a.association(script.a).unwrap().send(now, message).map(|_| ())
    };
    let subflows = |script: &Script| {
        let all = script.pair.a.view(script.a).unwrap().snapshot().subflows;
        all.iter().map(|s| (s.dscp.get(), s.packets_sent)).collect::<Vec<_>>()
    };
    // One that is open, and a new one.
    send(&mut script, message(1, 10).dscp(point(8)));
    send(&mut script, message(2, 10).dscp(point(16)));
    assert_eq!(subflows(&script), [(0, 0), (8, 1), (16, 1)]);
    // It stays there: the next need not say so. Another one must wait until nothing is under way.
    send(&mut script, message(2, 10));
    let other = || message(2, 10).dscp(point(8));
    let busy = Err(SendError::OtherSubflow { stream: 2, dscp: 16, asked: 8 });
    assert_eq!(hand_in(&mut script, other()), busy);
    let told = |script: &mut Script| {
        let events = std::mem::take(&mut script.pair.events).into_iter().map(|(_, _, event)| event);
        events.filter(|event| matches!(event, Event::Writable { .. })).collect::<Vec<_>>()
    };
    script.sack(2, 100_000, &[]);
    assert_eq!(told(&mut script), []);
    script.sack(3, 100_000, &[]);
    assert_eq!(told(&mut script), [Event::Writable { stream: Some(2) }]);
    assert_eq!(hand_in(&mut script, other()), Ok(()));
    script.pair.pump();
    assert_eq!(subflows(&script), [(0, 0), (8, 2), (16, 2)]);
    // Somebody else gives the stream the code point that was asked for: told as well, although something is under way.
    assert_eq!(
        hand_in(&mut script, message(2, 10).dscp(point(16))),
        Err(SendError::OtherSubflow { stream: 2, dscp: 8, asked: 16 })
    );
    let now = script.pair.now;
    script.pair.a.association(script.a).unwrap().set_stream_dscp(now, 2, point(16)).unwrap();
    script.sack(3, 100_000, &[]);
    assert_eq!(told(&mut script), [Event::Writable { stream: Some(2) }]);
    script.pair.a.association(script.a).unwrap().set_stream_dscp(now, 2, point(8)).unwrap();
    // No more subflows than are allowed; the stream stays where it is, and so it does for a message that nobody takes.
    let why = SubflowError::TooMany { limit: 3 };
    let refused = hand_in(&mut script, message(3, 10).dscp(point(24)));
    assert_eq!(refused, Err(SendError::NoSubflow { asked: 24, why }));
    // As nothing names streams they take the subflows in turn: 3 began with the second.
    assert_eq!(hand_in(&mut script, message(3, 0).dscp(point(16))), Err(SendError::Empty));
    send(&mut script, message(3, 10));
    assert_eq!(subflows(&script), [(0, 0), (8, 3), (16, 2)]);
    audit(&script);
}

/// A stream that is about to move has the code point of its new subflow: nothing leaves with another code point than
/// it asks for. A message that the peer cannot have moves nothing.
#[test]
fn a_stream_that_moves_has_the_code_point_to_come() {
    let point = |dscp| Dscp::new(dscp).unwrap();
    let config = config().with(|c| c.subflows.max = 3);
    let mut script = established(&config);
    let now = script.pair.now;
    let mut a = script.pair.a.association(script.a).unwrap();
    a.send(now, message(0, 200_000)).unwrap();
    drop(a);
    script.pair.pump(); // it has begun to leave
    let mut a = script.pair.a.association(script.a).unwrap();
    a.set_stream_dscp(now, 0, point(46)).unwrap();
    let refused = a.send(now, message(0, 10).dscp(point(0)));
    assert_eq!(refused, Err(SendError::OtherSubflow { stream: 0, dscp: 46, asked: 0 }));
    a.send(now, message(0, 10).dscp(point(46))).unwrap();
    // A peer that skips nothing: the message is refused, and its stream stays where it was.
    let mut plain = Script::established(&config);
    let now = plain.pair.now;
    let mut a = plain.pair.a.association(plain.a).unwrap();
    let once = message(0, 10).max_retransmissions(0).dscp(point(46));
    assert!(matches!(a.send(now, once), Err(SendError::Reliable { .. })));
    assert_eq!(a.subflow_stats(1), None);
}

/// "sf2007 says why it cannot": the encoding of the thesis has nothing that tells the peer what to skip.
#[test]
fn the_encoding_of_2007_gives_nothing_up() {
    let config = Config::sf2007().with(|c| {
        c.extensions.partial_reliability = true;
        c.subflows.open = (0..2).map(|index| SubflowSpec::new(Dscp::new(index).unwrap())).collect();
    });
    let (mut pair, a, _) = common::Pair::established(1, &config);
    assert_eq!(pair.a.view(a).unwrap().subflow_level(), SubflowLevel::Sf2007);
    let now = pair.now;
    let once = message(0, 10).max_retransmissions(0);
    let refused = pair.a.association(a).unwrap().send(now, once.clone()).unwrap_err();
    assert!(matches!(refused, SendError::Reliable { .. }));
    assert!(refused.to_string().contains("sf2007"), "{refused}");
    pair.a.association(a).unwrap().send(now, once.or_reliable()).unwrap();
}

/// TSNs and stream sequence numbers wrap while messages are given up: the FORWARD-TSN names what it did before. An SSN/TSN reset, which
/// lets the peer choose our next TSN (RFC 6525, 5.2.7, H5), brings the wrap near.
#[test]
fn giving_up_around_the_wrap() {
    let config = config().with(|c| {
        c.extensions.reconfiguration = true;
        c.extensions.peer_resets_association = true;
        c.congestion.initial_window = InitialWindow::Packets(10);
    });
    let extensions = [
        Param::ForwardTsnSupported(ForwardTsnSupported),
        Param::SupportedExtensions(SupportedExtensions { chunk_types: &[0x82, 0xC0] }),
    ];
    let mut script = Script::established_with(&config, &extensions);
    let now = script.pair.now;
    script.pair.a.association(script.a).unwrap().reset_association(now).unwrap();
    script.pair.pump();
    // The first request has the number of the first TSN.
    let request = script.tsn_a;
    let first = 0xFFFF_FFFD_u32;
    let answer = ReconfigResponse { request, result: 1, next_tsns: Some((Tsn::new(77), Tsn::new(first))) };
    let mut params = Vec::new();
    Param::ReconfigResponse(answer).emit(&mut params);
    script.send(|out| ReConfig { params: Params::new(&params) }.emit(out));
    let performed = Event::AssociationReset { outcome: Reconfigured::Performed };
    assert!(script.pair.saw(Side::A, |event| *event == performed));
    fates(&mut script);
    // 2^32 - 3 to 2^32 - 1 are given up, and 0 and 1.
    script.tsn_a = first;
    script.pair.log.clear();
    for _ in 0..5 {
        send(&mut script, message(3, 1000).max_retransmissions(0));
    }
    send(&mut script, message(4, 1000));
    assert_eq!(script.left(), [0, 1, 2, 3, 4, 5]);
    script.pair.log.clear();
    for last in 6..9 {
        script.sack(0, WINDOW, &[(6, 6)]);
        send(&mut script, message(4, 1000));
        script.sack(0, WINDOW, &[(6, last)]);
    }
    assert_eq!(forwards(&script).first(), Some(&(5, vec![(3, false, 4)])));
    assert_eq!(fates(&mut script).len(), 5);
    audit(&script);
    script.sack(9, WINDOW, &[]);
    assert_eq!(script.pair.a.view(script.a).unwrap().unacknowledged_chunks(), 0);
    // The numbers of a stream wrap, too.
    let mut acknowledged = 9;
    let mut ssn = 5_u16;
    for round in 0..6554_u32 {
        script.pair.log.clear();
        for _ in 0..10 {
            send(&mut script, message(3, 10).max_retransmissions(0));
        }
        acknowledged += 10;
        ssn = ssn.wrapping_add(10);
        if round % 500 == 0 || round > 6550 {
            script.pair.run_for(Duration::from_secs(70));
            let named = vec![(3, false, u32::from(ssn.wrapping_sub(1)))];
            assert_eq!(forwards(&script).first(), Some(&(acknowledged, named)), "round {round}");
        }
        script.sack(acknowledged, WINDOW, &[]);
    }
    assert!(ssn < 100, "it has wrapped");
    audit(&script);
}
