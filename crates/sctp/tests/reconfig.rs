//! RE-CONFIG (RFC 6525) between two endpoints, with losses: streams that begin anew, streams that are added, numbers that
//! begin anew; no message is lost, doubled or out of order.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

use crate::common;

use std::collections::BTreeSet;
use std::sync::Arc;

use anabranch_base::{Duration, Instant, Rng};
use anabranch_sctp::{
    AssociationId, CloseReason, Config, Direction, Endpoint, EndpointConfig, Event, ReconfigError,
    Reconfigured, SendError, State,
};
use anabranch_wire::chunk::{Chunk, kind};
use anabranch_wire::param::{Param, Params, ReconfigResponse};
use anabranch_wire::{Checksum, Packet};
use common::{Logged, PORT, Pair, Side, address, meta};

fn config(interleaving: bool) -> Config {
    Config::rfc9260().with(|c| {
        c.extensions.interleaving = interleaving;
        c.extensions.reconfiguration = true;
        c.extensions.peer_resets_association = true;
        c.timers.heartbeat_interval = Duration::ZERO;
    })
}

/// Everything that RE-CONFIG chunks of a packet hold, a line a parameter.
fn requests(logged: &Logged) -> Vec<String> {
    let packet = Packet::parse(&logged.bytes, Checksum::Ignore).unwrap();
    packet
        .chunks()
        .filter_map(|raw| match Chunk::parse(raw.unwrap()).unwrap() {
            Chunk::ReConfig(chunk) => Some(chunk),
            _ => None,
        })
        .flat_map(|chunk| {
            chunk.params.iter().map(|raw| Param::parse(raw.unwrap()).unwrap().to_string()).collect::<Vec<_>>()
        })
        .collect()
}

/// The kinds of all parameters so far, with results.
fn dialogue(pair: &Pair) -> Vec<String> {
    let short = |text: &String| {
        let words: Vec<&str> = text.split(' ').collect();
        match words[0] {
            "reconfig-response" => words[2].to_owned(),
            other => other.to_owned(),
        }
    };
    pair.log
        .iter()
        .flat_map(|p| requests(p).iter().map(|r| format!("{:?} {}", p.from, short(r))).collect::<Vec<_>>())
        .collect()
}

/// Sends numbered messages, and sees that they come in order.
#[derive(Default)]
struct Counted {
    sent: std::collections::BTreeMap<(u8, u16), u32>,
    seen: usize,
    next: std::collections::BTreeMap<(u8, u16), u32>,
}

impl Counted {
    fn send(&mut self, pair: &mut Pair, side: Side, id: AssociationId, stream: u16, len: usize) {
        let number = self.sent.entry((side as u8, stream)).or_default();
        let mut payload = number.to_be_bytes().to_vec();
        payload.resize(len.max(4), stream as u8);
        let now = pair.now;
        let message = anabranch_sctp::Message::new(stream, payload);
        match pair.endpoint(side).association(id).unwrap().send(now, message) {
            Ok(_) => *number += 1,
            Err(SendError::Full) => {}
            Err(other) => panic!("{other}"),
        }
    }

    fn check(&mut self, pair: &Pair) {
        for (side, message) in pair.received.get(self.seen..).unwrap() {
            let sender = side.other() as u8;
            let stream = message.stream;
            let bytes = message.clone().into_bytes();
            let number = u32::from_be_bytes(bytes[..4].try_into().unwrap());
            let next = self.next.entry((sender, stream)).or_default();
            assert_eq!(number, *next, "stream {stream} of {sender}");
            *next += 1;
        }
        self.seen = pair.received.len();
    }

    fn all_came(&mut self, pair: &Pair) {
        self.check(pair);
        let said = dialogue(pair);
        assert_eq!(self.next, self.sent, "{:?}", said.get(said.len().saturating_sub(30)..));
    }
}

/// Message numbers of a stream as they left: (number, whether the chunk is an I-DATA chunk), first fragments only.
fn numbers(pair: &Pair, from: Side, stream: u16) -> Vec<u32> {
    let mut all = Vec::new();
    for logged in pair.log.iter().filter(|p| p.from == from && !p.dropped) {
        let packet = Packet::parse(&logged.bytes, Checksum::Ignore).unwrap();
        for raw in packet.chunks() {
            match Chunk::parse(raw.unwrap()).unwrap() {
                Chunk::Data(d) if d.stream == stream && d.flags.beginning => {
                    all.push(u32::from(d.ssn.get()));
                }
                Chunk::IData(d) if d.stream == stream && d.flags.beginning => all.push(d.mid.get()),
                _ => {}
            }
        }
    }
    all
}

fn reset(direction: Direction, streams: &[u16]) -> Event {
    Event::StreamsReset { direction, streams: streams.to_vec(), outcome: Reconfigured::Performed }
}

// rfc6525:5.1.2-3 rfc6525:5.2.2-7
#[test]
fn a_stream_begins_anew_and_the_others_go_on() {
    for interleaving in [false, true] {
        let (mut pair, a, _) = Pair::established(1, &config(interleaving));
        let mut counted = Counted::default();
        for _ in 0..3 {
            counted.send(&mut pair, Side::A, a, 1, 3000);
            counted.send(&mut pair, Side::A, a, 2, 10);
        }
        let now = pair.now;
        pair.a.association(a).unwrap().reset_streams(now, Direction::Outgoing, &[1]).unwrap();
        for _ in 0..2 {
            counted.send(&mut pair, Side::A, a, 1, 10);
            counted.send(&mut pair, Side::A, a, 2, 10);
        }
        pair.run_for(Duration::from_secs(5));
        counted.all_came(&pair);
        assert_eq!(numbers(&pair, Side::A, 1), [0, 1, 2, 0, 1]);
        assert_eq!(numbers(&pair, Side::A, 2), [0, 1, 2, 3, 4]);
        assert_eq!(dialogue(&pair), ["A outgoing-reset", "Z result=1"]);
        // The padding of the last parameter is that of the chunk: not counted in its length.
        let request = pair.log.iter().find(|p| p.from == Side::A && p.has("RE-CONFIG")).unwrap();
        let packet = Packet::parse(&request.bytes, Checksum::Verify).unwrap();
        let raw = packet.chunks().map(Result::unwrap).find(|raw| raw.kind == 0x82).unwrap();
        assert_eq!(raw.bytes.len(), 4 + 16 + 2);
        assert!(pair.saw(Side::A, |e| *e == reset(Direction::Outgoing, &[1])));
        assert!(pair.saw(Side::Z, |e| *e == reset(Direction::Incoming, &[1])));
    }
}

// rfc6525:5.1.2-5 rfc6525:5.1.2-6 rfc6525:5.1.3-1 rfc6525:5.1.3-4 rfc6525:5.1.3-5 rfc6525:5.2.1-1
// rfc6525:5.2.2-1 rfc6525:5.2.3-1 rfc6525:5.2.3-2 rfc6525:5.2.3-5
#[test]
fn the_peer_is_asked_for_its_streams_and_answers_with_a_request() {
    let (mut pair, a, z) = Pair::established(2, &config(true));
    let mut counted = Counted::default();
    for stream in 0..3 {
        counted.send(&mut pair, Side::Z, z, stream, 5000);
        counted.send(&mut pair, Side::A, a, stream, 5000);
    }
    pair.run_for(Duration::from_secs(1));
    let now = pair.now;
    pair.a.association(a).unwrap().reset_streams(now, Direction::Both, &[0, 2]).unwrap();
    pair.run_for(Duration::from_secs(1));
    for stream in 0..3 {
        counted.send(&mut pair, Side::Z, z, stream, 10);
        counted.send(&mut pair, Side::A, a, stream, 10);
    }
    pair.run_for(Duration::from_secs(1));
    counted.all_came(&pair);
    for side in [Side::A, Side::Z] {
        assert_eq!(numbers(&pair, side, 0), [0, 0]);
        assert_eq!(numbers(&pair, side, 1), [0, 1]);
        assert_eq!(numbers(&pair, side, 2), [0, 0]);
        assert!(pair.saw(side, |e| *e == reset(Direction::Outgoing, &[0, 2])));
        assert!(pair.saw(side, |e| *e == reset(Direction::Incoming, &[0, 2])));
    }
    assert_eq!(
        dialogue(&pair),
        ["A outgoing-reset", "Z result=1", "A incoming-reset", "Z outgoing-reset", "A result=1"]
    );
    // "all of the streams being requested will be already set to 0 ... 'Nothing to do'" (5.2.3): never used.
    let now = pair.now;
    pair.a.association(a).unwrap().reset_streams(now, Direction::Incoming, &[7]).unwrap();
    pair.run_for(Duration::from_secs(1));
    assert_eq!(dialogue(&pair)[5..], ["A incoming-reset", "Z result=0"]);
}

/// E2: the request overtakes data, and is answered "In progress" until that has come.
// rfc6525:5.2.2-4 rfc6525:5.2.2-8
#[test]
fn a_reset_waits_for_what_was_sent_before() {
    let (mut pair, a, _) = Pair::established(3, &config(false));
    let mut counted = Counted::default();
    let mut lost = false;
    pair.drop_if(move |p| {
        let first = !lost && p.from == Side::A && p.has("DATA");
        lost |= first;
        first
    });
    counted.send(&mut pair, Side::A, a, 4, 1000);
    pair.pump();
    let now = pair.now;
    pair.a.association(a).unwrap().reset_streams(now, Direction::Outgoing, &[]).unwrap();
    for _ in 0..3 {
        counted.send(&mut pair, Side::A, a, 4, 1000);
    }
    pair.run_for(Duration::from_secs(20));
    counted.all_came(&pair);
    assert_eq!(numbers(&pair, Side::A, 4), [0, 0, 1, 2]);
    // It is asked again after RTO, and answered as soon as the data is there.
    let said = dialogue(&pair);
    assert_eq!(said[..2], ["A outgoing-reset", "Z result=6"]);
    assert_eq!(said.last().unwrap(), "Z result=1");
}

// rfc6525:5.1.2-7 rfc6525:5.2.1-4 rfc6525:5.2.2-6
// rfc8260:2.3.2-1
#[test]
fn every_packet_may_be_lost_once() {
    for interleaving in [false, true] {
        for lost in 0..24 {
            let (mut pair, a, z) = Pair::established(4, &config(interleaving));
            let mut counted = Counted::default();
            let mut count = 0;
            pair.drop_if(move |_| {
                count += 1;
                count == lost + 1
            });
            for round in 0..3 {
                for stream in [0, 3] {
                    counted.send(&mut pair, Side::A, a, stream, 2000);
                    counted.send(&mut pair, Side::Z, z, stream, 500);
                }
                let now = pair.now;
                match round {
                    0 => pair.a.association(a).unwrap().reset_streams(now, Direction::Both, &[3]).unwrap(),
                    1 => pair.z.association(z).unwrap().reset_association(now).unwrap(),
                    _ => pair.a.association(a).unwrap().add_streams(now, 2, 3).unwrap(),
                }
                for stream in [0, 3] {
                    counted.send(&mut pair, Side::A, a, stream, 100);
                    counted.send(&mut pair, Side::Z, z, stream, 100);
                }
                pair.run_for(Duration::from_millis(30));
            }
            pair.run_for(Duration::from_secs(60));
            counted.all_came(&pair);
            for (side, id) in [(Side::A, a), (Side::Z, z)] {
                let done =
                    |e: &Event| matches!(e, Event::AssociationReset { outcome: Reconfigured::Performed });
                assert!(pair.saw(side, done), "packet {lost}: {:?} {:?}", pair.events, dialogue(&pair));
                let assoc = pair.endpoint(side).view(id).unwrap();
                assert_eq!(assoc.outbound_streams(), if side == Side::A { 12 } else { 13 });
                assert_eq!((assoc.state(), assoc.queued_bytes()), (State::Established, 0));
            }
        }
    }
}

/// 5.1.4 and 5.2.4: where the TSNs go on.
// rfc6525:5.1.4-1 rfc6525:5.1.4-3 rfc6525:5.1.4-4 rfc6525:5.1.4-7 rfc6525:5.2.4-5 rfc6525:5.2.7-5
// rfc6525:5.2.7-6
#[test]
fn tsns_begin_anew_on_both_sides() {
    let (mut pair, a, z) = Pair::established(5, &config(false));
    let mut counted = Counted::default();
    let first_tsn = |pair: &Pair, side| {
        pair.log.iter().filter(|p| p.from == side).flat_map(Logged::data).map(|d| d.tsn).next().unwrap()
    };
    for _ in 0..5 {
        counted.send(&mut pair, Side::A, a, 0, 10);
        counted.send(&mut pair, Side::Z, z, 0, 10);
    }
    pair.run_for(Duration::from_secs(1));
    let before = [first_tsn(&pair, Side::A), first_tsn(&pair, Side::Z)];
    pair.log.clear();
    let now = pair.now;
    pair.a.association(a).unwrap().reset_association(now).unwrap();
    assert_eq!(pair.a.association(a).unwrap().reset_association(now), Err(ReconfigError::TooSoon));
    counted.send(&mut pair, Side::A, a, 0, 10);
    pair.run_for(Duration::from_secs(1));
    counted.send(&mut pair, Side::Z, z, 0, 10);
    pair.run_for(Duration::from_secs(1));
    counted.all_came(&pair);
    // "the smallest TSN not acknowledged by the receiver of the request plus 2^31"; "the highest TSN sent ... plus 1".
    assert_eq!(first_tsn(&pair, Side::A), before[0].add(5).add(1 << 31));
    assert_eq!(first_tsn(&pair, Side::Z), before[1].add(5));
    assert_eq!((numbers(&pair, Side::A, 0), numbers(&pair, Side::Z, 0)), (vec![0], vec![0]));
    // Late packets from before are neither delivered nor believed.
    let old: Vec<Vec<u8>> = pair.log.iter().map(|p| p.bytes.clone()).collect();
    pair.run_for(Duration::from_secs(40));
    let now = pair.now;
    pair.a.association(a).unwrap().reset_association(now).unwrap();
    pair.run_for(Duration::from_secs(1));
    let received = pair.received.len();
    for bytes in &old {
        pair.inject(Side::A, bytes);
        pair.inject(Side::Z, bytes);
        pair.pump();
    }
    counted.send(&mut pair, Side::A, a, 0, 10);
    pair.run_for(Duration::from_secs(5));
    counted.all_came(&pair);
    assert_eq!(pair.received.len(), received + 1);
    assert_eq!(pair.z.view(z).unwrap().state(), State::Established);
}

/// Both ask at once: one for new numbers on both sides, the other for the streams of the first. Neither may wait for the other's end: the
/// reset of a stream fails at once, with the code for it, and may be asked for again.
#[test]
fn an_ssn_tsn_reset_and_a_reset_of_incoming_streams_cross() {
    let (mut pair, a, z) = Pair::established(5, &config(false));
    let mut counted = Counted::default();
    for (side, id) in [(Side::A, a), (Side::Z, z)] {
        counted.send(&mut pair, side, id, 3, 10);
    }
    pair.run_for(Duration::from_secs(1));
    pair.events.clear();
    let now = pair.now;
    pair.a.association(a).unwrap().reset_association(now).unwrap();
    pair.z.association(z).unwrap().reset_streams(now, Direction::Incoming, &[3]).unwrap();
    pair.run_for(Duration::from_secs(2));
    let refused = Event::StreamsReset {
        direction: Direction::Incoming,
        streams: vec![3],
        outcome: Reconfigured::Failed { result: 4 },
    };
    let performed = Event::AssociationReset { outcome: Reconfigured::Performed };
    for (side, expected) in [(Side::A, &performed), (Side::Z, &performed), (Side::Z, &refused)] {
        let count = pair.events.iter().filter(|(at, _, event)| *at == side && event == expected).count();
        assert_eq!(count, 1, "{side:?} {expected:?}: {:?}", pair.events);
    }
    for (side, id) in [(Side::A, a), (Side::Z, z)] {
        counted.send(&mut pair, side, id, 3, 10);
    }
    let now = pair.now;
    pair.z.association(z).unwrap().reset_streams(now, Direction::Incoming, &[3]).unwrap();
    pair.run_for(Duration::from_secs(2));
    counted.all_came(&pair);
    assert!(pair.events.contains(&(Side::Z, z, reset(Direction::Incoming, &[3]))));
}

/// Packets go to and fro, and nobody looks at events.
fn exchange_unheard(now: Instant, ends: &mut [Endpoint; 2]) {
    let mut quiet = false;
    while !quiet {
        quiet = true;
        for (at, from) in [(0, Side::A), (1, Side::Z)] {
            let mut packet = Vec::new();
            while ends[at].poll_transmit(now, 1, &mut packet).is_some() {
                quiet = false;
                ends[1 - at].handle_datagram(now, meta(from), &packet);
                packet.clear();
            }
        }
    }
}

/// A user who asked for something 300 times and looks at no event meanwhile hears of each at last; of the peer, who did not ask, no more
/// than 256 events wait.
#[test]
fn what_became_of_a_request_is_told_however_late_one_asks() {
    let config = config(false);
    let end = |side| {
        let seed = Rng::stream(7, if side == Side::A { "a" } else { "z" }, "test").secret();
        Endpoint::new(EndpointConfig::new(address(side), PORT), seed)
    };
    let (mut now, mut ends) = (Instant::ZERO, [end(Side::A), end(Side::Z)]);
    ends[1].listen(Arc::new(config.clone())).unwrap();
    let a = ends[0].connect(now, address(Side::Z), PORT, Arc::new(config)).unwrap();
    exchange_unheard(now, &mut ends);
    for number in 0..300_u32 {
        let direction = if number % 2 == 0 { Direction::Outgoing } else { Direction::Incoming };
        // Something must have been sent on the stream, or there is nothing to reset.
        ends[0].association(a).unwrap().send(now, anabranch_sctp::Message::new(1, "one")).unwrap();
        exchange_unheard(now, &mut ends);
        ends[0].association(a).unwrap().reset_streams(now, direction, &[1]).unwrap();
        exchange_unheard(now, &mut ends);
        now += Duration::from_secs(1);
        ends.iter_mut().for_each(|end| end.handle_timeout(now));
        exchange_unheard(now, &mut ends);
    }
    let told = ends.each_mut().map(|end| {
        let mut outcomes = 0;
        let mut all = 0;
        while let Some((_, event)) = end.poll_event() {
            all += 1;
            outcomes += usize::from(matches!(event, Event::StreamsReset { .. }));
        }
        (outcomes, all)
    });
    assert_eq!(told[0].0, 300);
    assert!(told[1].1 <= 256 + 4, "{told:?}");
}

// rfc6525:5.2.5-1 rfc6525:5.2.5-2 rfc6525:5.2.6-1
#[test]
fn more_streams_for_both() {
    let (mut pair, a, z) = Pair::established(6, &config(false));
    let now = pair.now;
    let message = |stream| anabranch_sctp::Message::new(stream, bytes::Bytes::from_static(b"12345"));
    assert!(matches!(
        pair.a.association(a).unwrap().send(now, message(10)),
        Err(SendError::NoSuchStream { streams: 10, .. })
    ));
    pair.a.association(a).unwrap().add_streams(now, 5, 1).unwrap();
    pair.run_for(Duration::from_secs(1));
    let now = pair.now;
    pair.a.association(a).unwrap().send(now, message(14)).unwrap();
    assert!(pair.a.association(a).unwrap().send(now, message(15)).is_err());
    pair.z.association(z).unwrap().send(now, message(10)).unwrap();
    pair.run_for(Duration::from_secs(1));
    assert_eq!(pair.received.len(), 2);
    assert_eq!(
        dialogue(&pair),
        ["A add-outgoing", "Z result=1", "A add-incoming", "Z result=1", "Z add-outgoing", "A result=1"]
    );
    let added = |outbound, inbound| Event::StreamsAdded {
        outbound_streams: outbound,
        inbound_streams: inbound,
        outcome: Reconfigured::Performed,
    };
    assert!(pair.saw(Side::A, |e| *e == added(15, 11)));
    assert!(pair.saw(Side::Z, |e| *e == added(11, 15)));
}

// rfc6525:3.1-1 rfc6525:5.2.1-5 rfc6525:5.2.5-3 rfc6525:5.2.6-2
#[test]
fn what_the_peer_may_not() {
    let mut strict = config(false);
    strict.extensions.peer_resets_streams = false;
    strict.extensions.peer_resets_association = false;
    strict.extensions.peer_adds_streams = false;
    let (mut pair, a, _) = Pair::established(7, &strict);
    let mut counted = Counted::default();
    counted.send(&mut pair, Side::A, a, 1, 10);
    let now = pair.now;
    pair.a.association(a).unwrap().reset_streams(now, Direction::Both, &[1]).unwrap();
    pair.a.association(a).unwrap().add_streams(now, 1, 1).unwrap();
    pair.a.association(a).unwrap().reset_association(now).unwrap();
    counted.send(&mut pair, Side::A, a, 1, 10);
    pair.run_for(Duration::from_secs(10));
    counted.all_came(&pair);
    // The numbers go on as if nothing had been asked for.
    assert_eq!(numbers(&pair, Side::A, 1), [0, 1]);
    let denied = pair.events.iter().filter(|(side, _, event)| {
        *side == Side::A
            && matches!(
                event,
                Event::StreamsReset { outcome: Reconfigured::Denied, .. }
                    | Event::StreamsAdded { outcome: Reconfigured::Denied, .. }
                    | Event::AssociationReset { outcome: Reconfigured::Denied }
            )
    });
    assert_eq!(denied.count(), 5, "{:?}", pair.events);
    // Limits: more streams than `inbound_streams` of the other side allows.
    let narrow = config(false).with(|c| {
        c.streams.inbound = 12;
        c.streams.max_outbound = 11;
    });
    let (mut pair, a, _) = Pair::established(8, &narrow);
    let now = pair.now;
    assert_eq!(
        pair.a.association(a).unwrap().add_streams(now, 0, 3),
        Err(ReconfigError::TooManyStreams { limit: 12 })
    );
    pair.a.association(a).unwrap().add_streams(now, 3, 2).unwrap();
    pair.run_for(Duration::from_secs(1));
    assert_eq!(dialogue(&pair), ["A add-outgoing", "Z result=2", "A add-incoming", "Z result=2"]);
}

// rfc6525:5.1.1-2 rfc6525:5.1.1-3
#[test]
fn nothing_without_agreement() {
    for (ours, theirs) in [(true, false), (false, true), (false, false)] {
        let mut pair = Pair::new(9);
        let with = |on| std::sync::Arc::new(config(false).with(|c| c.extensions.reconfiguration = on));
        pair.z.listen(with(theirs)).unwrap();
        let now = pair.now;
        let a = pair.a.connect(now, common::address(Side::Z), common::PORT, with(ours)).unwrap();
        assert_eq!(
            pair.a.association(a).unwrap().reset_streams(now, Direction::Both, &[]),
            Err(ReconfigError::NotUp)
        );
        pair.run_for(Duration::from_secs(1));
        let now = pair.now;
        assert_eq!(pair.a.association(a).unwrap().add_streams(now, 1, 1), Err(ReconfigError::NotSupported));
        let z = pair.id_of(Side::Z);
        assert_eq!(pair.z.association(z).unwrap().reset_association(now), Err(ReconfigError::NotSupported));
    }
    let (mut pair, a, _) = Pair::established(10, &config(false));
    let now = pair.now;
    assert_eq!(
        pair.a.association(a).unwrap().reset_streams(now, Direction::Incoming, &[3, 10]),
        Err(ReconfigError::NoSuchStream { stream: 10, streams: 10 })
    );
    let many: Vec<u16> = vec![0; 2000];
    assert!(matches!(
        pair.a.association(a).unwrap().reset_streams(now, Direction::Outgoing, &many),
        Err(ReconfigError::TooManyListed { listed: 2000, .. })
    ));
    // The longest list that is taken fits a packet.
    pair.a.association(a).unwrap().reset_streams(now, Direction::Both, &many[..700]).unwrap();
    pair.run_for(Duration::from_secs(1));
    let limit = config(false).max_packet() as usize;
    assert!(pair.log.iter().all(|p| p.bytes.len() <= limit));
    assert_eq!(dialogue(&pair).len(), 4, "{:?}", dialogue(&pair));
    pair.a.association(a).unwrap().shutdown(now);
    assert_eq!(
        pair.a.association(a).unwrap().reset_streams(now, Direction::Both, &[]),
        Err(ReconfigError::Closing)
    );
}

/// 5.1.1: RTO, doubled at every expiry, and the error counters.
// rfc6525:5.1.1-8 rfc6525:5.1.1-9
#[test]
fn a_request_without_answer_ends_the_association() {
    let (mut pair, a, _) = Pair::established(11, &config(false));
    pair.drop_if(|p| p.from == Side::A);
    let start = pair.now;
    pair.a.association(a).unwrap().add_streams(start, 1, 0).unwrap();
    pair.run_for(Duration::from_secs(1000));
    let times: Vec<f64> = pair.log.iter().map(|p| (p.at - start).as_secs_f64()).collect();
    // RTO.Min is 1 s, RTO.Max 60 s. The last is an ABORT, when the peer is given up.
    assert_eq!(times.len(), 12, "{times:?}");
    assert_eq!(times[..8], [0.0, 1.0, 3.0, 7.0, 15.0, 31.0, 63.0, 123.0]);
    assert_eq!(pair.log.last().unwrap().bytes[12], kind::ABORT);
    let reason = Event::Closed(CloseReason::Unreachable { limit: "Association.Max.Retrans" });
    assert!(pair.saw(Side::A, |e| *e == reason), "{:?}", pair.events);
    assert!(pair.a.poll_timeout().is_none());
}

/// "In progress" for ever is no error of the path (H2).
// rfc6525:5.2.7-3
#[test]
fn a_peer_that_works_on_it_is_not_dead() {
    let (mut pair, a, _) = Pair::established(12, &config(false));
    // No data of A arrives; the requests do.
    pair.drop_if(|p| p.from == Side::A && p.has("DATA"));
    let mut counted = Counted::default();
    counted.send(&mut pair, Side::A, a, 0, 10);
    pair.pump();
    let now = pair.now;
    pair.a.association(a).unwrap().reset_streams(now, Direction::Outgoing, &[0]).unwrap();
    pair.run_for(Duration::from_secs(12));
    let asked = dialogue(&pair).iter().filter(|d| *d == "A outgoing-reset").count();
    assert!(asked >= 4, "{:?}", dialogue(&pair));
    pair.drop_if(|_| false);
    pair.run_for(Duration::from_secs(60));
    counted.all_came(&pair);
    assert!(pair.saw(Side::A, |e| *e == reset(Direction::Outgoing, &[0])));
}

#[test]
fn held_messages_are_sent_before_the_end_and_lost_by_a_restart() {
    let (mut pair, a, z) = Pair::established(13, &config(true));
    let mut counted = Counted::default();
    counted.send(&mut pair, Side::A, a, 0, 10);
    let now = pair.now;
    pair.a.association(a).unwrap().reset_streams(now, Direction::Outgoing, &[]).unwrap();
    for stream in 0..5 {
        counted.send(&mut pair, Side::A, a, stream, 2000);
    }
    assert!(pair.a.view(a).unwrap().queued_bytes() >= 10_000);
    pair.a.association(a).unwrap().shutdown(now);
    pair.run_for(Duration::from_secs(5));
    counted.all_came(&pair);
    for (side, id) in [(Side::A, a), (Side::Z, z)] {
        assert!(pair.saw(side, |e| *e == Event::Closed(CloseReason::Graceful)), "{:?}", pair.events);
        assert!(pair.endpoint(side).release(id));
    }
}

#[test]
fn the_send_buffer_bounds_what_is_held() {
    let (mut pair, a, _) = Pair::established(14, &config(false).with(|c| c.limits.send_buffer = 10_000));
    pair.drop_if(|p| p.from == Side::A);
    let mut counted = Counted::default();
    counted.send(&mut pair, Side::A, a, 0, 10);
    let now = pair.now;
    pair.a.association(a).unwrap().reset_streams(now, Direction::Outgoing, &[0]).unwrap();
    for _ in 0..100 {
        counted.send(&mut pair, Side::A, a, 0, 1000);
    }
    let queued = pair.a.view(a).unwrap().queued_bytes();
    assert!((10_000..11_100).contains(&queued), "{queued}");
    pair.drop_if(|_| false);
    pair.run_for(Duration::from_secs(30));
    counted.all_came(&pair);
    assert!(pair.saw(Side::A, |e| *e == Event::Writable { stream: None }));
}

/// Both sides do everything at once, on a network that loses a fifth of all packets.
// rfc6525:5.1.1-4 rfc6525:5.1.1-5 rfc6525:5.2.3-4
#[test]
fn random_lives() {
    for seed in 0..60 {
        let mut rng = Rng::stream(seed, "test", "reconfig");
        let mut config = config(seed % 2 == 0);
        config.limits.association_max_retrans = 1000;
        config.limits.path_max_retrans = 1000;
        config.limits.max_init_retransmits = 100;
        config.timers.rto_max = Duration::from_secs(2);
        config.streams.scheduling = anabranch_sctp::config::StreamScheduling::ALL[rng.below(6) as usize];
        let (mut pair, a, z) = Pair::established(seed, &config);
        let mut coin = Rng::stream(seed, "test", "loss");
        pair.drop_if(move |_| coin.chance(0.2));
        let mut counted = Counted::default();
        for _ in 0..60 {
            let (side, id) = if rng.chance(0.5) { (Side::A, a) } else { (Side::Z, z) };
            for _ in 0..rng.below(4) {
                let stream = rng.below(5) as u16;
                let len = 4 + rng.below(4000) as usize;
                counted.send(&mut pair, side, id, stream, len);
            }
            let now = pair.now;
            let direction =
                [Direction::Outgoing, Direction::Incoming, Direction::Both][rng.below(3) as usize];
            let streams: Vec<u16> = (0..5).filter(|_| rng.chance(0.3)).collect();
            match rng.below(8) {
                0..=2 => pair
                    .endpoint(side)
                    .association(id)
                    .unwrap()
                    .reset_streams(now, direction, &streams)
                    .unwrap(),
                3 => pair.endpoint(side).association(id).unwrap().add_streams(now, 1, 1).unwrap(),
                4 => match pair.endpoint(side).association(id).unwrap().reset_association(now) {
                    Ok(()) | Err(ReconfigError::TooSoon) => {}
                    Err(other) => panic!("{other}"),
                },
                _ => {}
            }
            pair.run_for(Duration::from_millis(rng.below(800)));
            counted.check(&pair);
        }
        pair.drop_if(|_| false);
        pair.run_for(Duration::from_secs(400));
        counted.all_came(&pair);
        for (side, id) in [(Side::A, a), (Side::Z, z)] {
            let assoc = pair.endpoint(side).view(id).unwrap();
            assert_eq!((assoc.state(), assoc.queued_bytes()), (State::Established, 0), "seed {seed}");
        }
        let streams =
            |side: Side, id, pair: &mut Pair| pair.endpoint(side).view(id).unwrap().outbound_streams();
        assert!(streams(Side::A, a, &mut pair) > 10 || seed > 0);
    }
}

/// Requests at random from a peer that the other side believes: nothing panics, nothing grows without bound.
// rfc6525:5.2.1-2
#[test]
fn requests_without_sense() {
    for seed in 0..200 {
        let mut rng = Rng::stream(seed, "test", "nonsense");
        let (mut pair, a, z) = Pair::established(seed, &config(seed % 2 == 0));
        let mut counted = Counted::default();
        counted.send(&mut pair, Side::A, a, 0, 4);
        counted.send(&mut pair, Side::Z, z, 0, 4);
        pair.run_for(Duration::from_secs(1));
        let (tag, tsn) = {
            let logged = pair.log.iter().find(|p| p.from == Side::A).unwrap();
            let packet = Packet::parse(&logged.bytes, Checksum::Ignore).unwrap();
            let raw = packet.chunks().next().unwrap().unwrap();
            let tsn = match Chunk::parse(raw).unwrap() {
                Chunk::Data(d) => d.tsn.get(),
                Chunk::IData(d) => d.tsn.get(),
                other => panic!("{other}"),
            };
            (packet.header().verification_tag, tsn)
        };
        let mut number = tsn;
        for _ in 0..100 {
            let mut chunk = vec![0x82, 0, 0, 0];
            for _ in 0..rng.below(4) {
                let kind = 12 + rng.below(8) as u16;
                let mut value =
                    number.wrapping_add(rng.below(3) as u32).wrapping_sub(1).to_be_bytes().to_vec();
                number = number.wrapping_add(rng.below(2) as u32);
                for _ in 0..rng.below(9) {
                    let word = match rng.below(3) {
                        0 => rng.u32(),
                        1 => tsn.wrapping_add(rng.below(10) as u32),
                        _ => rng.below(12) as u32,
                    };
                    value.extend_from_slice(&word.to_be_bytes());
                }
                value.truncate(rng.below(value.len() as u64 + 3) as usize);
                chunk.extend_from_slice(&kind.to_be_bytes());
                chunk.extend_from_slice(&(4 + value.len() as u16).to_be_bytes());
                chunk.extend_from_slice(&value);
                chunk.resize(chunk.len().next_multiple_of(4), 0);
            }
            let length = (chunk.len() as u16).to_be_bytes();
            chunk[2..4].copy_from_slice(&length);
            let mut out = Vec::new();
            let header = anabranch_wire::CommonHeader {
                source_port: common::PORT,
                destination_port: common::PORT,
                verification_tag: tag,
            };
            let mut builder = anabranch_wire::PacketBuilder::new(&mut out, header);
            builder.buffer().extend_from_slice(&chunk);
            builder.finish(anabranch_wire::ChecksumOut::Compute);
            pair.inject(Side::A, &out);
            pair.pump();
            pair.run_for(Duration::from_millis(rng.below(50)));
        }
        let assoc = pair.z.view(z).unwrap();
        assert_eq!(assoc.state(), State::Established, "seed {seed}: {:?}", pair.events.last());
        assert!(assoc.outbound_streams() <= 2048);
        assert!(pair.log.len() < 2000, "{}", pair.log.len());
    }
}

/// An answer with a number that was never asked, or twice, changes nothing.
#[test]
fn answers_to_nothing() {
    let (mut pair, a, z) = Pair::established(15, &config(false));
    let mut counted = Counted::default();
    counted.send(&mut pair, Side::A, a, 0, 4);
    pair.run_for(Duration::from_secs(1));
    let packet = Packet::parse(&pair.log[0].bytes, Checksum::Ignore).unwrap();
    let tag = packet.header().verification_tag;
    for request in 0..50 {
        for result in 0..9 {
            let mut out = Vec::new();
            let header = anabranch_wire::CommonHeader {
                source_port: common::PORT,
                destination_port: common::PORT,
                verification_tag: tag,
            };
            let mut builder = anabranch_wire::PacketBuilder::new(&mut out, header);
            let response = ReconfigResponse { request, result, next_tsns: None };
            anabranch_wire::chunk::ReConfig { params: anabranch_wire::param::Params::EMPTY }
                .emit_with(builder.buffer(), |params| params.add(&Param::ReconfigResponse(response)));
            builder.finish(anabranch_wire::ChecksumOut::Compute);
            pair.inject(Side::A, &out);
        }
    }
    pair.log.clear();
    counted.send(&mut pair, Side::Z, z, 0, 4);
    pair.run_for(Duration::from_secs(1));
    counted.all_came(&pair);
    assert_eq!(pair.names(), ["Z: DATA", "A: SACK"]);
}

/// "In progress" (RFC 6525, 4.4) is no reason to ask again every RTO: what has been done is said without being asked.
#[test]
fn what_is_in_progress_is_asked_for_less_and_less() {
    let config = Config::rfc9260().with(|c| {
        c.extensions.reconfiguration = true;
        c.extensions.peer_resets_association = true;
    });
    let (mut pair, a, z) = Pair::established(9, &config);
    // While data of its own is under way the peer cannot begin anew.
    pair.drop_if(|p| p.from == Side::Z && p.has("DATA"));
    pair.send(Side::Z, z, 0, b"lost");
    pair.pump();
    pair.a.association(a).unwrap().reset_association(pair.now).unwrap();
    pair.run_for(Duration::from_secs(60));
    let asked = pair.log.iter().filter(|p| p.from == Side::A && p.has("RE-CONFIG")).count();
    assert!((3..10).contains(&asked), "{asked}");
    pair.drop_if(|_| false);
    let before = pair.events.len();
    pair.run_for(Duration::from_secs(120));
    assert!(pair.events.len() > before, "performed");
}

/// Types of the parameters that chunks other than RE-CONFIG hold, of all packets so far.
fn elsewhere(pair: &Pair) -> Vec<(u8, u16)> {
    let mut found = Vec::new();
    for logged in &pair.log {
        let packet = Packet::parse(&logged.bytes, Checksum::Ignore).unwrap();
        for raw in packet.chunks() {
            let raw = raw.unwrap();
            let params = match Chunk::parse(raw).unwrap() {
                Chunk::Init(init) | Chunk::InitAck(init) => init.params,
                Chunk::Heartbeat(_) | Chunk::HeartbeatAck(_) => Params::new(raw.value),
                _ => continue,
            };
            found.extend(params.iter().map(|param| (raw.kind, param.unwrap().kind)));
        }
    }
    found
}

/// "This parameter MUST NOT appear in any other chunk type" (RFC 6525, 4.1 to 4.6): whatever is asked for and answered, it is in RE-CONFIG,
/// which holds all six of them here.
// rfc6525:4.1-2
#[test]
fn requests_and_answers_are_in_re_config_alone() {
    let config = config(false).with(|c| c.timers.heartbeat_interval = Duration::from_secs(10));
    let (mut pair, a, _) = Pair::between(9, &config, &config);
    pair.send(Side::A, a, 1, b"data");
    let now = pair.now;
    pair.a.association(a).unwrap().reset_streams(now, Direction::Both, &[1]).unwrap();
    pair.a.association(a).unwrap().add_streams(now, 1, 1).unwrap();
    pair.run_for(Duration::from_secs(1));
    let now = pair.now;
    pair.a.association(a).unwrap().reset_association(now).unwrap();
    pair.run_for(Duration::from_secs(60));
    let all: BTreeSet<String> = dialogue(&pair).iter().map(|said| said[3..].to_owned()).collect();
    assert!(all.len() >= 6, "{all:?}");
    let elsewhere = elsewhere(&pair);
    assert!(elsewhere.iter().any(|(chunk, _)| *chunk == kind::HEARTBEAT), "{elsewhere:?}");
    assert!(elsewhere.iter().all(|(_, param)| !(13..=18).contains(param)), "{elsewhere:?}");
}
