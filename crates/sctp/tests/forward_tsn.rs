//! Messages that a peer gives up, or claims to give up: FORWARD-TSN (RFC 3758, 3.6) and the abuse of it
//! (docs/explanation/attacks.md, C3).
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

use crate::common;

use anabranch_base::{Duration, Rng};
use anabranch_sctp::{CloseReason, Config, Event, State};
use anabranch_wire::chunk::forward_tsn::SkippedSsn;
use anabranch_wire::chunk::{Chunk, Data, DataFlags, Shutdown, forward_tsn, kind};
use anabranch_wire::param::{ForwardTsnSupported, Param};
use anabranch_wire::{Checksum, Packet, Ssn, Tsn};
use common::Side;
use common::script::{STATES, Script, TSN_Z, data};

const WINDOW: u32 = 100_000;

fn config() -> Config {
    Config::rfc9260().with(|c| {
        c.extensions.partial_reliability = true;
        c.timers.heartbeat_interval = Duration::ZERO;
        c.limits.receive_window = WINDOW;
    })
}

/// Cumulative TSN, gap blocks and duplicates.
type Said = (u32, Vec<(u16, u16)>, Vec<u32>);

/// A peer that gives up what it likes. Its TSNs count from 0.
struct Giver(Script);

impl Giver {
    fn new(config: &Config) -> Self {
        let mut giver = Self::calling(config);
        giver.0.send(|out| anabranch_wire::chunk::CookieAck.emit(out));
        assert_eq!(giver.0.state(), State::Established);
        assert!(giver.0.pair.a.view(giver.0.a).unwrap().is_partially_reliable());
        giver.0.pair.log.clear();
        giver
    }

    /// The INIT ACK has arrived.
    fn calling(config: &Config) -> Self {
        let mut script = Script::calling(config);
        script.init_ack_with(10, &[Param::ForwardTsnSupported(ForwardTsnSupported)]);
        Self(script)
    }

    /// A chunk of a message: `BE`, `B`, `E`, or nothing; with `U` unordered.
    fn data(&mut self, n: u32, (stream, ssn): (u16, u16), flags: &str, payload: &[u8]) {
        let flags = DataFlags {
            beginning: flags.contains('B'),
            ending: flags.contains('E'),
            unordered: flags.contains('U'),
            immediate: false,
        };
        let tsn = Tsn::new(TSN_Z.wrapping_add(n));
        self.0.send(|out| Data { flags, tsn, stream, ssn: Ssn::new(ssn), ppid: 0, payload }.emit(out));
    }

    fn forward(&mut self, n: u32, skipped: &[(u16, u16)]) {
        let skipped = skipped.iter().map(|&(stream, ssn)| SkippedSsn { stream, ssn: Ssn::new(ssn) });
        let skipped: Vec<_> = skipped.collect();
        self.0.send(|out| forward_tsn::emit(out, Tsn::new(TSN_Z.wrapping_add(n)), &skipped));
    }

    /// Messages that the user has got since the last call.
    fn got(&mut self) -> Vec<Vec<u8>> {
        self.0.pair.received.drain(..).map(|(_, message)| message.into_bytes().to_vec()).collect()
    }

    /// Each SACK since the last call; it waits for one that is delayed.
    fn sacks(&mut self) -> Vec<Said> {
        self.0.pair.run_for(Duration::from_millis(200));
        let mut sacks = Vec::new();
        for logged in self.0.pair.log.drain(..).filter(|logged| logged.from == Side::A) {
            let packet = Packet::parse(&logged.bytes, Checksum::Verify).unwrap();
            for raw in packet.chunks() {
                if let Chunk::Sack(sack) = Chunk::parse(raw.unwrap()).unwrap() {
                    let n = |tsn: Tsn| tsn.get().wrapping_sub(TSN_Z);
                    let gaps = sack.gaps().map(|gap| (gap.start, gap.end)).collect();
                    sacks.push((n(sack.cumulative), gaps, sack.duplicates().map(n).collect()));
                }
            }
        }
        sacks
    }

    fn sack(&mut self) -> (u32, Vec<(u16, u16)>) {
        let (cumulative, gaps, _) = self.sacks().pop().unwrap();
        (cumulative, gaps)
    }

    /// a_rwnd of the SACK that an old FORWARD-TSN calls for.
    fn window(&mut self) -> u32 {
        self.forward(0, &[]);
        let packet = Packet::parse(&self.0.pair.log.last().unwrap().bytes, Checksum::Verify).unwrap();
        let Chunk::Sack(sack) = Chunk::parse(packet.chunks().next().unwrap().unwrap()).unwrap() else {
            panic!()
        };
        let window = sack.a_rwnd;
        self.0.pair.log.clear();
        window
    }

    #[track_caller]
    fn audit(&self) {
        self.0.pair.a.view(self.0.a).unwrap().audit().unwrap();
    }

    /// Nothing is held, and the association lives.
    #[track_caller]
    fn is_clean(&mut self) {
        self.audit();
        assert_eq!((self.0.state(), self.window()), (State::Established, WINDOW));
    }
}

/// The example of 3.6, and what comes late.
// rfc3758:3.6-1
// rfc3758:3.6-2 rfc3758:3.6-3 rfc3758:3.1-2
#[test]
fn the_cumulative_point_moves_as_far_as_it_can() {
    let mut giver = Giver::new(&config());
    for n in [0, 2, 3, 5] {
        giver.data(n, (n as u16, 0), "BE", b"x");
    }
    assert_eq!(giver.sack(), (0, vec![(2, 3), (5, 5)]));
    giver.forward(1, &[(1, 0)]);
    assert_eq!(giver.sack(), (3, vec![(2, 2)]));
    // "if a TSN that was skipped does arrive ... the receiver will drop the chunk and report it as a duplicate".
    giver.data(1, (1, 0), "BE", b"late");
    assert_eq!(giver.sacks(), [(3, vec![(2, 2)], vec![1])]);
    assert_eq!(giver.got().len(), 4);
    giver.forward(4, &[]);
    giver.is_clean();
}

/// 3.6: "the data receiver MUST treat this FORWARD TSN as out-of-date and MUST NOT update its Cumulative TSN. The receiver SHOULD
/// send a SACK".
// rfc3758:3.6-4 rfc3758:3.6-5
#[test]
fn old_ones_are_answered_at_once_and_change_nothing() {
    let mut giver = Giver::new(&config());
    giver.data(0, (0, 0), "BE", b"x");
    giver.data(1, (0, 1), "B", b"y");
    giver.sacks();
    for n in [1, 0, u32::MAX, 1 << 31, u32::MAX - 1000] {
        giver.forward(n, &[(0, 7), (3, 9)]);
        assert_eq!(giver.0.pair.names(), ["Ax SACK"], "{n}");
        assert_eq!(giver.sack(), (1, vec![]));
    }
    giver.data(2, (0, 1), "E", b"z");
    giver.data(3, (3, 0), "BE", b"w");
    assert_eq!(giver.got(), [&b"x"[..], b"yz", b"w"]);
    giver.is_clean();
}

/// 3.6: "Any time a FORWARD TSN chunk arrives, for the purposes of sending a SACK, the receiver MUST follow the same rules as if a
/// DATA chunk had been received (i.e., follow the delayed sack rules ...)".
// rfc3758:3.6-6
#[test]
fn it_is_acknowledged_like_data() {
    let mut giver = Giver::new(&config());
    giver.forward(0, &[]);
    assert_eq!(giver.0.pair.names(), ["Ax SACK"], "the first of all is acknowledged at once");
    giver.sacks();
    giver.forward(1, &[]);
    assert!(giver.0.pair.names().is_empty(), "it may wait for 200 ms");
    assert_eq!(giver.sack(), (1, vec![]));
    giver.forward(2, &[]);
    giver.forward(3, &[]);
    assert_eq!(giver.0.pair.names(), ["Ax SACK"], "every second packet");
    giver.sacks();
    giver.data(6, (0, 0), "BE", b"x");
    giver.sacks();
    giver.forward(4, &[]);
    assert_eq!(giver.0.pair.names(), ["Ax SACK"], "a hole is left");
}

/// Ordered messages behind what is skipped are delivered, of the listed streams only.
// rfc3758:3.6-7 rfc3758:3.6-8
#[test]
fn stranded_messages_are_delivered() {
    let mut giver = Giver::new(&config());
    for (n, stream, ssn, payload) in
        [(1, 0, 1, b"a1"), (3, 0, 3, b"a3"), (5, 1, 1, b"b1"), (6, 0, 4, b"a4"), (8, 1, 2, b"b2")]
    {
        giver.data(n, (stream, ssn), "BE", payload);
    }
    assert!(giver.got().is_empty());
    // Those at and before the number that is listed, and those behind it that follow.
    giver.forward(2, &[(0, 2)]);
    assert_eq!(giver.got(), [b"a1", b"a3", b"a4"]);
    giver.forward(4, &[]);
    assert!(giver.got().is_empty(), "a stream that is not listed waits");
    giver.forward(7, &[(1, 0)]);
    assert_eq!(giver.got(), [b"b1", b"b2"]);
    giver.is_clean();
}

/// 3.6: "The receiver MUST remove any partially reassembled message, which is still missing one or more TSNs earlier than or equal to
/// the new cumulative TSN point", ordered or not.
// rfc3758:3.6-10
#[test]
fn parts_of_what_is_given_up_are_removed() {
    for unordered in [false, true] {
        let flags = |flags: &str| if unordered { format!("U{flags}") } else { flags.to_owned() };
        for lost in 0..3 {
            let mut giver = Giver::new(&config());
            for n in (0..3).filter(|n| *n != lost) {
                giver.data(n, (0, 0), &flags(["B", "", "E"][n as usize]), &[0; 100]);
            }
            giver.data(3, (0, u16::from(!unordered)), &flags("BE"), b"next");
            let skipped = [(0, 0)];
            giver.forward(2, if unordered { &[] } else { &skipped });
            assert_eq!(giver.got(), [b"next"], "{unordered} {lost}");
            assert_eq!(giver.sack(), (3, vec![]));
            giver.is_clean();
        }
    }
}

/// "In the event that the receiver has invoked the partial delivery API, a notification SHOULD also be generated".
// rfc3758:3.6-11
#[test]
fn the_user_hears_of_a_message_that_does_not_end() {
    for unordered in [false, true] {
        let mut giver = Giver::new(&config());
        giver.0.pair.parts = true;
        let flags = if unordered { ["UB", "U", "UE"] } else { ["B", "", "E"] };
        let mut n = 0;
        while giver.0.pair.received.is_empty() {
            giver.data(n, (2, 0), flags[usize::from(n > 0)], &[7; 1400]);
            n += 1;
        }
        let message = giver.0.pair.received[0].1.part.unwrap().message;
        giver.forward(n, if unordered { &[] } else { &[(2, 0)] });
        let told = Event::PartialDeliveryAborted { stream: 2, unordered, message };
        assert!(giver.0.pair.saw(Side::A, |event| *event == told));
        giver.data(n + 1, (2, u16::from(!unordered)), "BE", b"next");
        assert_eq!(giver.got().pop().unwrap(), b"next");
        giver.is_clean();
        // Old news: the message is not there to be given up again.
        giver.forward(n, &[(2, 0)]);
        giver.forward(n + 2, &[(2, 1)]);
        let aborted = |event: &Event| matches!(event, Event::PartialDeliveryAborted { .. });
        assert_eq!(giver.0.pair.events.iter().filter(|(_, _, event)| aborted(event)).count(), 1);
    }
}

/// Further ahead than a peer can have sent that obeys the window: it moves nothing, and the peer hears where it stands.
#[test]
fn further_ahead_than_could_be_sent() {
    for n in [131_073 + 1, 1 << 20, 1 << 30, (1 << 31) - 1] {
        let mut giver = Giver::new(&config());
        giver.data(1, (0, 1), "BE", b"x");
        giver.sacks();
        giver.forward(n, &[(0, 0), (1, 70)]);
        assert_eq!(giver.0.pair.names(), ["Ax SACK"], "{n}");
        assert_eq!(giver.sack(), (u32::MAX, vec![(2, 2)]));
        assert!(giver.got().is_empty());
        giver.data(0, (0, 0), "BE", b"w");
        giver.data(2, (1, 0), "BE", b"y");
        assert_eq!(giver.got(), [b"w", b"x", b"y"]);
        giver.is_clean();
    }
    let mut giver = Giver::new(&config());
    giver.data(1, (0, 1), "BE", b"x");
    giver.forward(131_073, &[(0, 0)]);
    assert_eq!((giver.sack(), giver.got()), ((131_073, vec![]), vec![b"x".to_vec()]));
}

/// TSNs wrap, and so do what is given up.
#[test]
fn around_the_wrap() {
    let mut giver = Giver::new(&config());
    let mut n = 0_u32;
    let mut ssn = 0_u16;
    for step in std::iter::repeat_n(100_000_u32, 43_000).chain([7]) {
        n = n.wrapping_add(step);
        ssn = ssn.wrapping_add(20_000);
        giver.forward(n.wrapping_sub(1), &[(0, ssn.wrapping_sub(1))]);
        giver.0.pair.log.clear();
    }
    giver.data(n, (0, ssn), "BE", b"x");
    assert_eq!((giver.sack(), giver.got()), ((n, vec![]), vec![b"x".to_vec()]));
    giver.is_clean();
}

/// Streams that do not exist are passed over, those beside them are not; SSNs of what was delivered long ago say nothing.
#[test]
fn streams_that_do_not_exist_and_numbers_that_go_back() {
    let mut giver = Giver::new(&config());
    for (n, stream, ssn) in [(0, 0, 0), (1, 0, 1), (3, 1, 1), (5, 0, 2)] {
        giver.data(n, (stream, ssn), "BE", b"x");
    }
    assert_eq!(giver.got().len(), 3);
    giver.forward(2, &[(10, 5), (65_535, 65_535), (1, 0), (11, 0), (0, 0), (0, 1), (0, 0x8003)]);
    assert_eq!(giver.got().len(), 1);
    giver.forward(4, &[(1, 0), (1, 1), (0, 0xFFFF), (1, 0x8003)]);
    giver.data(6, (0, 3), "BE", b"y");
    giver.data(7, (1, 2), "BE", b"z");
    assert_eq!(giver.got(), [b"y", b"z"]);
    giver.is_clean();
}

/// As many entries as a chunk can hold, each for a stream of its own or all for one, over and over, while messages wait: time is in
/// proportion to the entries and to what is delivered, and nothing is kept.
#[test]
fn as_many_entries_as_fit() {
    let many = config().with(|c| c.streams.inbound = 65_535);
    for one in [false, true] {
        let mut giver = Giver::new(&many);
        for n in 0..300 {
            // On each stream the first message is missing.
            giver.data(1 + n, ((n % 10) as u16, 1 + (n / 10) as u16), "BE", b"waits");
        }
        giver.0.pair.log.clear();
        let entries = |round: u16| -> Vec<(u16, u16)> {
            (0..16_381).map(|i| if one { (9, i) } else { (i, round) }).collect()
        };
        for round in 0..300_u16 {
            giver.forward(u32::from(round) * 100, &entries(round));
            giver.0.pair.log.clear();
        }
        giver.audit();
        assert_eq!(giver.got().len(), if one { 30 } else { 300 });
    }
}

/// 3.3.1: "It MUST instead act as if it does NOT support the FORWARD TSN chunk, returning an ERROR to the peer upon
/// receipt of any FORWARD TSN", whichever side did not say that it knows it. The chunks that follow in the packet are
/// read (0xC0).
// rfc3758:3.3.1-1 rfc3758:3.3.2-3
#[test]
fn without_negotiation() {
    for config in [config(), config().with(|c| c.extensions.partial_reliability = false)] {
        let mut script = Script::established(&config);
        let tell = |script: &mut Script| {
            script.send(|out| {
                forward_tsn::emit(out, Tsn::new(TSN_Z + 5), &[]);
                data(TSN_Z, 0, b"behind it").emit(out);
            });
        };
        tell(&mut script);
        let names = script.pair.names();
        assert!(
            names.contains(&"Ax ERROR".to_owned()) || names.contains(&"Ax ERROR + SACK".to_owned()),
            "{names:?}"
        );
        assert_eq!(script.pair.received.len(), 1);
        assert_eq!(script.state(), State::Established);
    }
    // The other way round: the peer offers it, we do not.
    let off = config().with(|c| c.extensions.partial_reliability = false);
    let mut giver = Giver::calling(&off);
    giver.0.send(|out| anabranch_wire::chunk::CookieAck.emit(out));
    giver.0.pair.log.clear();
    giver.forward(5, &[]);
    assert_eq!(giver.0.pair.names(), ["Ax ERROR"]);
    giver.data(0, (0, 0), "BE", b"x");
    assert_eq!(giver.sack(), (0, vec![]));
}

/// In every state: only where DATA is taken does it move anything; SHUTDOWN-SENT answers with SHUTDOWN (9.2), whose cumulative TSN it
/// has moved.
#[test]
fn in_every_state() {
    for state in STATES {
        let mut giver = if state == State::CookieEchoed || state == State::CookieWait {
            Giver::calling(&config())
        } else {
            Giver::new(&config())
        };
        let (now, a) = (giver.0.pair.now, giver.0.a);
        if matches!(state, State::ShutdownPending | State::ShutdownReceived) {
            giver.0.pair.send(Side::A, a, 0, &[1; 100]);
            giver.0.pair.pump();
        }
        match state {
            State::ShutdownPending | State::ShutdownSent => {
                giver.0.pair.a.association(a).unwrap().shutdown(now);
                giver.0.pair.pump();
            }
            State::ShutdownReceived | State::ShutdownAckSent => {
                let cumulative = Tsn::new(giver.0.tsn_a.wrapping_sub(1));
                giver.0.send(|out| Shutdown { cumulative }.emit(out));
            }
            State::CookieWait => giver.0 = Script::calling(&config()),
            _ => {}
        }
        assert_eq!(giver.0.state(), state);
        giver.0.pair.log.clear();
        giver.forward(4, &[(0, 3)]);
        assert_eq!(giver.0.state(), state);
        let names = giver.0.pair.names();
        match state {
            State::Established | State::ShutdownPending => assert_eq!(names, ["Ax SACK"], "{state:?}"),
            State::ShutdownSent => {
                let packet = Packet::parse(&giver.0.pair.log[0].bytes, Checksum::Verify).unwrap();
                let raw = packet.chunks().find(|raw| raw.unwrap().kind == kind::SHUTDOWN).unwrap().unwrap();
                let Chunk::Shutdown(shutdown) = Chunk::parse(raw).unwrap() else { panic!() };
                assert_eq!(shutdown.cumulative, Tsn::new(TSN_Z + 4));
            }
            _ => assert!(names.is_empty() || names == ["Ax ERROR"], "{state:?}: {names:?}"),
        }
    }
}

/// A chunk that is cut off, or has half an entry, is malformed: the rest of the packet is not read, and nothing has moved.
#[test]
fn lengths_that_do_not_fit() {
    for length in 4..=20_u8 {
        let mut giver = Giver::new(&config());
        giver.0.send(|out| {
            out.extend_from_slice(&[kind::FORWARD_TSN, 0, 0, length]);
            out.extend_from_slice(&(TSN_Z + 1).to_be_bytes());
            out.resize(12 + usize::from(length.max(8)), 0);
            out.resize(out.len().next_multiple_of(4), 0);
        });
        giver.audit();
        let good = length >= 8 && length % 4 == 0;
        assert_eq!(giver.sacks().pop().map(|(cumulative, ..)| cumulative), good.then_some(1), "{length}");
    }
}

/// Anything at all: chunks near each other in number, of any kind and flags, with FORWARD-TSNs in between. Memory stays within its bound, a
/// packet has one answer or two, and if the association ends it is for a violation.
#[test]
fn anything_at_all() {
    let mut ended = 0;
    for seed in 0..400 {
        let mut rng = Rng::stream(seed, "test", "forward");
        let mut giver = Giver::new(&config().with(|c| c.limits.receive_window = 20_000));
        let mut base = 0_u32;
        for _ in 0..200 {
            let n = base.wrapping_add(rng.below(12) as u32).wrapping_sub(2);
            let ssn = rng.below(6) as u16;
            let stream = rng.below(3) as u16;
            if rng.below(4) == 0 {
                let entries: Vec<_> = (0..rng.below(4))
                    .map(|_| (rng.below(12) as u16, if rng.below(9) == 0 { rng.u32() as u16 } else { ssn }))
                    .collect();
                let n = if rng.below(9) == 0 { rng.u32() } else { n };
                giver.forward(n, &entries);
                base = base.wrapping_add(rng.below(3) as u32);
            } else {
                let flags = ["BE", "B", "E", "BE", "UBE", "UB", "UBE", "BE"][rng.below(8) as usize];
                giver.data(n, (stream, ssn), flags, &vec![7; 1 + rng.below(1400) as usize]);
            }
            giver.audit();
            assert!(giver.0.pair.log.len() <= 2, "{:?}", giver.0.pair.names());
            giver.0.pair.log.clear();
            if giver.0.state() == State::Closed {
                assert!(matches!(giver.0.closed(), Some(CloseReason::ProtocolViolation { .. })));
                ended += 1;
                break;
            }
        }
    }
    assert!(ended > 0, "contradictions are told");
}
