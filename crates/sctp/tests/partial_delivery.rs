//! Messages that the receive buffer cannot hold are handed over in parts (RFC 9260, 6.9; RFC 6458, 8.1.21), and what a peer can
//! make the receiver hold is bounded (docs/explanation/engines.md, "Bounds on memory").
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

use crate::common;

use std::collections::VecDeque;
use std::sync::Arc;

use anabranch_base::{Duration, Rng};
use anabranch_sctp::config::StreamScheduling;
use anabranch_sctp::{
    Association, AssociationId, Config, Endpoint, EndpointConfig, Event, Message, Part, SendError, State,
    SubflowLevel,
};
use anabranch_wire::chunk::{Chunk, Data, DataFlags, IData, Skipped, i_forward_tsn};
use anabranch_wire::{Checksum, ChecksumOut, CommonHeader, Mid, Packet, PacketBuilder, Ssn, Tsn};
use bytes::Bytes;
use common::{PORT, Pair, Side, address, subflow_config};

/// Three messages of 1 MB, or ten of 300 kB, take turns in a window of 1 MiB: none of them can be whole before it closes.
// rfc8260:2.2.2-6
#[test]
fn messages_that_take_turns_in_the_window() {
    for (count, len) in [(3, 1_000_000), (10, 300_000)] {
        let config = Config::rfc9260().with(|c| {
            c.extensions.interleaving = true;
            c.streams.scheduling = StreamScheduling::RoundRobinPacket;
            c.limits.send_buffer = 8 << 20;
        });
        let (mut pair, a, _) = Pair::between(1, &config, &config);
        pair.send_all(Side::A, a, count, 1, len);
        pair.run_for(Duration::from_secs(20));
        pair.check_all(Side::Z, count, 1);
    }
}

/// Messages sent that must arrive: each once, those of a stream in order.
#[derive(Debug, Default)]
struct Expected {
    ordered: Vec<VecDeque<Vec<u8>>>,
    unordered: Vec<Vec<u8>>,
}

impl Expected {
    fn check(&mut self, pair: &mut Pair, what: &str) {
        for (_, message) in pair.received.drain(..) {
            let (stream, unordered) = (usize::from(message.stream), message.unordered);
            let bytes = message.into_bytes();
            if unordered {
                let at = self.unordered.iter().position(|sent| *sent == bytes);
                let at = at.unwrap_or_else(|| panic!("{what}: an unordered message that was not sent"));
                self.unordered.swap_remove(at);
            } else {
                let next = self.ordered[stream].pop_front();
                assert!(next.as_deref() == Some(&bytes[..]), "{what}: stream {stream} out of order");
            }
        }
    }

    fn left(&self) -> usize {
        self.ordered.iter().map(VecDeque::len).sum::<usize>() + self.unordered.len()
    }
}

/// A life with a window that most messages do not fit. Answers the time it took.
fn life(seed: u64) -> Duration {
    let mut rng = Rng::stream(seed, "test", "windows");
    let mut pick = |n: u64| rng.below(n) as usize;
    let streams = 1 + pick(6);
    let (level, interleaving, subflows) = [
        (SubflowLevel::Zero, false, 1),
        (SubflowLevel::Zero, false, 3),
        (SubflowLevel::Zero, true, 1),
        (SubflowLevel::Zero, true, 3),
        (SubflowLevel::One, false, 3),
        (SubflowLevel::Sf2007, false, 3),
    ][pick(6)];
    let window = [1500, 2000, 3000, 4000, 7000, 10_000, 20_000, 64 << 10][pick(8)];
    let config = subflow_config(level, subflows).with(|c| {
        c.extensions.interleaving = interleaving;
        c.streams.scheduling = StreamScheduling::ALL[pick(StreamScheduling::ALL.len() as u64)];
        c.limits.receive_window = window as u32;
        c.limits.association_max_retrans = 1000;
        c.timers.rto_max = Duration::from_secs(2);
        c.timers.heartbeat_interval = Duration::ZERO;
        c.mtu = [600, 1500, 1500, 9000][pick(4)];
        c.limits.partial_delivery_point = [1, 25, 50][pick(3)];
    });
    let what = format!(
        "seed {seed}: {level:?}, interleaving {interleaving}, {subflows} subflows, window {window}, {streams} streams, {:?}",
        config.streams.scheduling
    );
    let (mut pair, a, z) = Pair::between(seed, &config, &config);
    let loss = [0, 20][pick(2)];
    let mut dice = Rng::stream(seed, "loss", "windows");
    pair.drop_if(move |_| loss > 0 && dice.below(loss) == 0);
    let mut expected = Expected { ordered: vec![VecDeque::new(); streams], ..Expected::default() };
    let (mut total, mut pauses) = (0, pick(4));
    while total < 8 * window || total < 30_000 {
        let largest = [10, 100, 1500, window / 2, window, 3 * window, 20 * window][pick(7)] as u64;
        let (len, stream, unordered) = (1 + pick(largest), pick(streams as u64), pick(4) == 0);
        let mut payload = vec![0; len];
        payload.iter_mut().enumerate().for_each(|(i, byte)| *byte = (i / 3 + len + stream) as u8);
        let message = Message { unordered, ..Message::new(stream as u16, Bytes::from(payload.clone())) };
        match pair.a.association(a).unwrap().send(pair.now, message) {
            Ok(_) if unordered => expected.unordered.push(payload),
            Ok(_) => expected.ordered[stream].push_back(payload),
            Err(SendError::Full) => break,
            Err(error) => panic!("{what}: {error}"),
        }
        total += len;
    }
    let start = pair.now;
    while expected.left() > 0 {
        let limit = pair.now + Duration::from_secs(1);
        pair.reads[1] = pauses == 0 || pick(3) > 0;
        pauses = pauses.saturating_sub(1);
        while pair.step(limit) {
            assert_eq!(pair.z.view(z).unwrap().audit(), Ok(()), "{what}");
            expected.check(&mut pair, &what);
        }
        pair.now = limit;
        expected.check(&mut pair, &what);
        let stuck = pair.now > start + Duration::from_secs(200);
        let left = expected.left();
        assert!(!stuck, "{what}: {left} left; {:?}", pair.a.view(a).map(Association::stats));
    }
    pair.now - start
}

/// No combination of window, sizes of messages, streams, and encoding stalls for ever where the user reads.
#[test]
fn windows_of_any_size() {
    for seed in 0..300 {
        life(seed);
    }
}

/// `LIVES=5000 cargo test --release --test partial_delivery -- --ignored`
#[test]
#[ignore = "takes as long as it is told to: make soak"]
fn windows_of_any_size_for_long() {
    let lives: u64 = std::env::var("LIVES").ok().and_then(|n| n.parse().ok()).unwrap_or(2000);
    let first: u64 = std::env::var("FIRST").ok().and_then(|n| n.parse().ok()).unwrap_or(1000);
    let longest = (first..first + lives).map(|seed| (life(seed), seed)).max();
    println!("{longest:?}");
}

/// A lying peer: chunks in the name of A, with its tag and the TSN behind the last.
struct Liar {
    pair: Pair,
    z: AssociationId,
    tag: u32,
    next: u32,
    interleaved: bool,
}

const LEN: usize = 1000;

impl Liar {
    fn new(config: &Config) -> Self {
        let (mut pair, a, z) = Pair::between(5, config, config);
        pair.send(Side::A, a, 0, b"a");
        pair.run_for(Duration::from_secs(1));
        pair.received.clear();
        pair.parts = true;
        // A knows nothing of the chunks sent in its name.
        pair.drop_if(|p| p.from == Side::Z);
        let sent = pair.log.iter().rev().filter(|p| p.from == Side::A);
        let found = sent.filter_map(|p| {
            let packet = Packet::parse(&p.bytes, Checksum::Verify).unwrap();
            let tsn = packet.chunks().find_map(|raw| match Chunk::parse(raw.unwrap()).unwrap() {
                Chunk::Data(data) => Some(data.tsn.get()),
                Chunk::IData(data) => Some(data.tsn.get()),
                _ => None,
            });
            Some((packet.header().verification_tag, tsn?.wrapping_add(1)))
        });
        let (tag, next) = found.max_by_key(|(_, next)| *next).unwrap();
        Self { pair, z, tag, next, interleaved: config.extensions.interleaving }
    }

    fn raw(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let mut out = Vec::new();
        let header = CommonHeader { source_port: PORT, destination_port: PORT, verification_tag: self.tag };
        let mut builder = PacketBuilder::new(&mut out, header);
        write(builder.buffer());
        builder.finish(ChecksumOut::Compute);
        self.pair.inject(Side::A, &out);
        self.pair.pump();
        assert_eq!(self.pair.z.view(self.z).unwrap().audit(), Ok(()));
    }

    /// A chunk `ahead` of the next TSN: of a stream, of its message `number`, a fragment.
    fn chunk(&mut self, ahead: u32, which: (u16, u32, u32), kind: char, unordered: bool, payload: &[u8]) {
        let (stream, number, fsn) = which;
        let flags = DataFlags {
            immediate: false,
            unordered,
            beginning: "BW".contains(kind),
            ending: "EW".contains(kind),
        };
        let tsn = Tsn::new(self.next.wrapping_add(ahead));
        let interleaved = self.interleaved;
        let ppid_or_fsn = if flags.beginning { 7 } else { fsn };
        self.raw(|out| {
            if interleaved {
                IData { flags, tsn, stream, mid: Mid::new(number), ppid_or_fsn, payload }.emit(out);
            } else {
                Data { flags, tsn, stream, ssn: Ssn::new(number as u16), ppid: 7, payload }.emit(out);
            }
        });
    }

    fn closed(&self) -> bool {
        self.pair.z.view(self.z).unwrap().state() == State::Closed
    }

    /// Parts that the user has been given: unordered, message, more, bytes.
    fn parts(&mut self) -> Vec<(bool, u32, bool, usize)> {
        let parts = self.pair.received.drain(..).map(|(_, m)| {
            let part = m.part.unwrap_or(Part { message: 0, more: false });
            (m.unordered, part.message, part.more, m.len())
        });
        parts.collect()
    }

    fn aborted(&self) -> Vec<(u16, bool, u32)> {
        let all = self.pair.events.iter().filter_map(|(side, _, event)| match event {
            Event::PartialDeliveryAborted { stream, unordered, message } if *side == Side::Z => {
                Some((*stream, *unordered, *message))
            }
            _ => None,
        });
        all.collect()
    }
}

fn config(interleaved: bool, window: u32) -> Config {
    Config::rfc9260().with(|c| {
        c.extensions.interleaving = interleaved;
        c.extensions.reconfiguration = true;
        c.limits.receive_window = window;
        c.timers.heartbeat_interval = Duration::ZERO;
    })
}

/// Nobody reads, or the data that comes cannot be read: never does the receiver hold more than its bound, which the audit knows.
#[test]
fn lies_are_bounded() {
    for case in 0..12 {
        let (interleaved, reads, size) = (case % 2 == 0, case / 2 % 2 == 0, [1, 30, 1000][case / 4]);
        let payload = vec![7; size];
        let fresh = || {
            let mut liar = Liar::new(&config(interleaved, 64 << 10));
            liar.pair.reads[1] = reads;
            liar
        };
        // One message without end.
        let mut liar = fresh();
        for i in 0..1400 {
            liar.chunk(i, (1, 0, i), if i == 0 { 'B' } else { 'M' }, false, &payload);
        }
        // The same without its beginning; then backwards, so that every chunk is the first of its kind.
        for backwards in [false, true] {
            let mut liar = fresh();
            for i in 1..1400 {
                let at = if backwards { 1401 - i } else { i };
                liar.chunk(at, (1, 0, at), 'M', false, &payload);
            }
        }
        // Beginnings of many messages, each of which the user may have at once, and no end.
        for unordered in [false, true] {
            let mut liar = fresh();
            for i in 0..1400 {
                let which = if unordered { (1, i, 0) } else { ((i % 10) as u16, i / 10, 0) };
                liar.chunk(2 * i, which, 'B', unordered, &payload);
            }
        }
        // Messages of many fragments that come backwards, whole: as many pieces.
        let mut liar = fresh();
        for message in 0..30 {
            for i in (0..100).rev() {
                let kind = if i == 0 {
                    'B'
                } else if i == 99 {
                    'E'
                } else {
                    'M'
                };
                liar.chunk(100 * message + i, (1, message, i), kind, false, &payload);
            }
        }
        // Whole messages that wait for one that is missing, some of them alone.
        let mut liar = fresh();
        for i in 1..1400 {
            liar.chunk(i + i / 7, (1, i, 0), 'W', false, &payload);
        }
    }
}

/// A message longer than `max_message` ends the association, however many parts of it have been read, and though its first
/// fragment comes last.
#[test]
fn the_longest_message_counts_parts_and_orphans() {
    for interleaved in [false, true] {
        let config = config(interleaved, 20_000).with(|c| c.limits.max_message = 50_000);
        let mut liar = Liar::new(&config);
        for i in 0..50 {
            liar.chunk(i, (1, 0, i), if i == 0 { 'B' } else { 'M' }, false, &[7; LEN]);
        }
        assert!(!liar.closed());
        assert!(liar.parts().len() > 2, "it is read while it grows");
        liar.chunk(50, (1, 0, 50), 'E', false, &[7; LEN]);
        assert!(liar.closed());
        let mut liar = Liar::new(&config.with(|c| c.limits.max_message = 5000));
        for i in (0..6).rev() {
            let kind = if i == 0 {
                'B'
            } else if i == 5 {
                'E'
            } else {
                'M'
            };
            liar.chunk(i, (1, 0, i), kind, false, &[7; LEN]);
        }
        assert!(liar.closed() && liar.parts().is_empty());
    }
}

/// The user gets short messages whole, long ones in parts under a number, two of one stream side by side where they
/// are unordered, and an event when one will not end.
#[test]
fn parts_and_their_numbers() {
    let window = 20_000;
    // DATA: one message after the other.
    let mut liar = Liar::new(&config(false, window));
    liar.chunk(0, (1, 0, 0), 'B', false, &[1; LEN]);
    liar.chunk(1, (1, 0, 1), 'E', false, &[1; LEN]);
    assert_eq!(liar.parts(), [(false, 0, false, 2 * LEN)]);
    for i in 0..20 {
        let kind = if i == 0 {
            'B'
        } else if i == 19 {
            'E'
        } else {
            'M'
        };
        liar.chunk(2 + i, (1, 1, i), kind, false, &[1; LEN]);
    }
    assert_eq!(
        liar.parts(),
        [(false, 1, true, 9 * LEN), (false, 1, true, 9 * LEN), (false, 1, false, 2 * LEN)]
    );
    // One whose turn it is not waits; the one before it is handed over as far as it goes.
    let mut liar = Liar::new(&config(false, window));
    for i in 2..12 {
        liar.chunk(i, (1, 1, 0), if i == 2 { 'B' } else { 'M' }, false, &[2; LEN]);
    }
    assert_eq!(liar.parts(), []);
    liar.chunk(0, (1, 0, 0), 'B', false, &[1; LEN]);
    assert_eq!(liar.parts(), [(false, 1, true, LEN)]);
    liar.chunk(1, (1, 0, 0), 'E', false, &[1; LEN]);
    liar.chunk(12, (1, 1, 0), 'E', false, &[2; LEN]);
    assert_eq!(liar.parts(), [(false, 1, false, LEN), (false, 0, false, 11 * LEN)]);
    // I-DATA: two unordered messages of a stream at once.
    let may_forward = config(true, window).with(|c| c.subflows.level = SubflowLevel::One);
    let mut liar = Liar::new(&may_forward);
    for i in 0..20 {
        liar.chunk(i, (1, i % 2, i / 2), if i < 2 { 'B' } else { 'M' }, true, &[1; LEN]);
    }
    let parts = liar.parts();
    assert_eq!(parts.iter().map(|part| part.1).collect::<std::collections::BTreeSet<_>>().len(), 2);
    assert!(parts.iter().all(|part| part.2), "{parts:?}");
    // The peer gives one up; the rest of the other ends.
    let skipped = [Skipped { stream: 1, unordered: true, mid: Mid::new(0) }];
    let last = Tsn::new(liar.next.wrapping_add(20));
    liar.raw(|out| i_forward_tsn::emit(out, last, &skipped));
    assert_eq!(liar.aborted().len(), 1);
    assert_eq!((liar.aborted()[0].0, liar.aborted()[0].1), (1, true));
    liar.chunk(21, (1, 1, 10), 'E', true, &[1; LEN]);
    let parts = liar.parts();
    let (last, before) = parts.split_last().unwrap();
    assert!(!last.2 && before.iter().all(|part| part.2) && last.1 != liar.aborted()[0].2, "{parts:?}");
}

/// The peer has forgotten everything in the middle of a message: it will not end.
#[test]
fn a_restart_ends_what_was_delivered_in_part() {
    for interleaved in [false, true] {
        let config = config(interleaved, 20_000);
        let (mut pair, a, z) = Pair::between(5, &config, &config);
        pair.parts = true;
        pair.send(Side::A, a, 3, &[1; 200_000]);
        pair.run_for(Duration::from_millis(100));
        let part = pair.received.last().unwrap().1.part.unwrap();
        assert!(part.more);
        pair.a = Endpoint::new(
            EndpointConfig::new(address(Side::A), PORT).keeping_closed(),
            Rng::stream(77, "a", "again").secret(),
        );
        pair.events.retain(|(side, ..)| *side == Side::Z);
        pair.a.connect(pair.now, address(Side::Z), PORT, Arc::new(config)).unwrap();
        pair.run_for(Duration::from_secs(2));
        let aborted = Event::PartialDeliveryAborted { stream: 3, unordered: false, message: part.message };
        assert!(pair.saw(Side::Z, |event| *event == aborted), "{:?}", pair.events);
        assert_eq!(pair.z.view(z).unwrap().audit(), Ok(()));
    }
}

/// The peer resets a stream, or all, in the middle of a message: it will not end, and its further fragments are out of place.
// rfc6525:5.2.4-4
#[test]
fn a_reset_ends_what_was_delivered_in_part() {
    for (interleaved, stream, listed) in [(false, 1, true), (true, 1, true), (true, 1, false)] {
        let mut liar = Liar::new(&config(interleaved, 20_000));
        for i in 0..10 {
            liar.chunk(i, (stream, 0, i), if i == 0 { 'B' } else { 'M' }, false, &[7; LEN]);
        }
        let parts = liar.parts();
        assert_eq!((parts.len(), parts[0].2), (1, true));
        let last = liar.next.wrapping_add(9);
        // RE-CONFIG with an Outgoing SSN Reset Request (RFC 6525, 4.1); requests are numbered from the Initial TSN on.
        let initial = liar.next.wrapping_sub(1);
        let mut request = Vec::new();
        request.extend([0, 13]);
        request.extend((if listed { 18_u16 } else { 16 }).to_be_bytes());
        request.extend(initial.to_be_bytes());
        request.extend(0_u32.to_be_bytes());
        request.extend(last.to_be_bytes());
        if listed {
            request.extend([0, 1, 0, 0]);
        }
        let length = (4 + if listed { 18_u16 } else { 16 }).to_be_bytes();
        liar.raw(|out| {
            out.extend([130, 0, length[0], length[1]]);
            out.extend(&request);
        });
        assert_eq!(liar.aborted(), [(1, false, parts[0].1)], "{:?}", liar.pair.events);
        liar.chunk(10, (stream, 0, 0), 'W', false, &[7; LEN]);
        assert_eq!(liar.parts(), if interleaved || listed { vec![(false, 0, false, LEN)] } else { vec![] });
    }
}

/// With the values that hold by default: what the receive window is sure to hold comes whole, whatever the encoding; longer messages, up
/// to `max_message`, come in parts, and nothing stands still.
#[test]
fn what_comes_whole_by_default() {
    for interleaving in [false, true] {
        let config = Config::rfc9260().with(|c| {
            c.extensions.interleaving = interleaving;
            c.limits.send_buffer = 32 << 20;
        });
        let (window, longest) = (config.limits.receive_window as usize, config.limits.max_message);
        assert!(longest > window);
        for (len, whole) in [(480_000, true), (window / 2 + 1, false), (window, false), (longest, false)] {
            let (mut pair, a, _) = Pair::between(3, &config, &config);
            pair.parts = true;
            pair.send(Side::A, a, 0, &vec![7; len]);
            pair.run_for(Duration::from_secs(120));
            let parts: Vec<_> =
                pair.received.iter().map(|(_, message)| (message.part, message.len())).collect();
            assert_eq!(parts.iter().map(|(_, len)| len).sum::<usize>(), len, "{interleaving}");
            assert_eq!(
                parts.len() == 1 && parts[0].0.is_none(),
                whole,
                "{interleaving} {len}: {}",
                parts.len()
            );
        }
        let (mut pair, a, _) = Pair::between(3, &config, &config);
        let refused = pair.a.association(a).unwrap().send(pair.now, Message::new(0, vec![7; longest + 1]));
        assert!(matches!(refused, Err(SendError::TooLong { .. })));
    }
}
