//! Users who wait for room, and what can be taken back from an association that has ended: in situations that are seldom.

use std::sync::Arc;

use anabranch_base::{Dscp, Duration, Instant, Rng};
use anabranch_sctp::config::{SendBufferCounts, SubflowLevel};
use anabranch_sctp::{
    AssociationHandle, AssociationId, Config, Endpoint, EndpointConfig, EndpointEvent, Event, Message,
    SendError, SubflowSpec,
};
use anabranch_wire::cause::{Cause, Causes, UnrecognizedParameters};
use anabranch_wire::chunk::ErrorChunk;
use anabranch_wire::param::{ForwardTsnSupported, Param, Params, SupportedExtensions};
use bytes::Bytes;

use crate::common::script::Script;
use crate::common::{PORT, Pair, Side, address, subflow_config};

const SECOND: Duration = Duration::from_secs(1);

fn of(pair: &mut Pair, id: AssociationId) -> AssociationHandle<'_> {
    pair.a.association(id).unwrap()
}

fn kilobyte() -> Bytes {
    Bytes::from_static(&[7; 1000])
}

fn told(pair: &Pair) -> Vec<Event> {
    pair.events.iter().filter(|(side, ..)| *side == Side::A).map(|(.., event)| event.clone()).collect()
}

fn partially_reliable() -> Config {
    Config::rfc9260().with(|c| c.extensions.partial_reliability = true)
}

/// Ten messages on a stream in a sequence space of its own, that is opened by the handshake or `late`, where the send buffer counts what
/// is not acknowledged.
fn in_a_space_of_its_own(stream_send_buffer: usize, late: bool) -> (Option<SendError>, Vec<Event>) {
    let config = subflow_config(SubflowLevel::One, if late { 1 } else { 2 }).with(|c| {
        c.limits.send_buffer_counts = SendBufferCounts::Unacknowledged;
        c.limits.stream_send_buffer = stream_send_buffer;
        c.subflows.max = 4;
    });
    let (mut pair, a) = Pair::connecting(14, &config);
    if late {
        pair.run_for(Duration::from_millis(300));
        let spec = SubflowSpec { streams: vec![1], ..SubflowSpec::new(Dscp::new(9).unwrap()) };
        let now = pair.now;
        of(&mut pair, a).add_subflow(now, &spec).unwrap();
    }
    of(&mut pair, a).set_low_threshold(Some(1), Some(100)).unwrap();
    let now = pair.now;
    let refused = (0..10).find_map(|_| of(&mut pair, a).send(now, Message::new(1, kilobyte())).err());
    pair.run_for(SECOND * 10);
    assert_eq!(of(&mut pair, a).buffered_bytes(Some(1)), 0);
    (refused, told(&pair))
}

#[test]
fn a_space_that_is_opened_after_the_last_send_is_counted_too() {
    for late in [false, true] {
        let (refused, told) = in_a_space_of_its_own(0, late);
        assert!(
            refused.is_none() && told.contains(&Event::BufferedLow { stream: Some(1) }),
            "{late} {told:?}"
        );
        let (refused, told) = in_a_space_of_its_own(5000, late);
        assert_eq!(refused, Some(SendError::StreamFull { stream: 1 }));
        assert!(told.contains(&Event::Writable { stream: Some(1) }), "late {late}: {told:?}");
    }
}

#[test]
fn counting_may_begin_while_a_stream_waits() {
    let config = Config::rfc9260().with(|c| c.limits.stream_send_buffer = 20_000);
    let (mut pair, a, _) = Pair::established(15, &config);
    let now = pair.now;
    of(&mut pair, a).set_low_threshold(Some(1), Some(100)).unwrap();
    while of(&mut pair, a).send(now, Message::new(1, kilobyte())).is_ok() {}
    of(&mut pair, a).set(now, "send_buffer_counts", "unacknowledged").unwrap();
    pair.run_for(SECOND * 10);
    let told = told(&pair);
    assert!(told.contains(&Event::Writable { stream: Some(1) }), "{told:?}");
    assert!(told.contains(&Event::BufferedLow { stream: Some(1) }), "{told:?}");
}

#[test]
fn a_full_subflow_is_removed_and_its_place_used_again() {
    for reuse in [false, true] {
        let config = Config::rfc9260().with(|c| {
            c.subflows.max = 3;
            c.limits.send_buffer = 20_000;
        });
        let (mut pair, a) = Pair::connecting(3, &config);
        let now = pair.now;
        let spec = |stream: u16, dscp: u8| SubflowSpec {
            streams: vec![stream],
            ..SubflowSpec::new(Dscp::new(dscp).unwrap())
        };
        let one = of(&mut pair, a).add_subflow(now, &spec(1, 8)).unwrap();
        while of(&mut pair, a).send(now, Message::new(1, kilobyte())).is_ok() {}
        of(&mut pair, a).remove_subflow(now, one, 0).unwrap();
        if reuse {
            assert_eq!(of(&mut pair, a).add_subflow(now, &spec(2, 9)), Ok(one));
        }
        pair.run_for(SECOND * 5);
        assert_eq!(of(&mut pair, a).buffered_bytes(None), 0);
        assert!(told(&pair).contains(&Event::Writable { stream: None }), "reuse {reuse}");
    }
}

/// A full send buffer, however it counts: what is less important makes room, and only so much of it (RFC 7496, 3.2).
#[test]
fn less_important_messages_make_room_in_every_kind_of_buffer() {
    let stream_full = partially_reliable().with(|c| c.limits.stream_send_buffer = 10_000);
    let all_full = partially_reliable().with(|c| {
        c.limits.send_buffer = 10_000;
        c.limits.send_buffer_counts = SendBufferCounts::Unacknowledged;
    });
    let both_full = all_full.clone().with(|c| c.limits.stream_send_buffer = 10_000);
    for config in [stream_full, all_full, both_full] {
        let (mut pair, a, _) = Pair::established(4, &config);
        let now = pair.now;
        let message = |value| Message::new(0, kilobyte()).priority(value).tell_fate();
        while of(&mut pair, a).send(now, message(9)).is_ok() {}
        assert!(of(&mut pair, a).send(now, message(9)).is_err(), "as important as the others");
        assert!(of(&mut pair, a).send(now, message(1)).is_ok());
        pair.pump();
        let given_up = told(&pair).iter().filter(|event| matches!(event, Event::Abandoned { .. })).count();
        assert_eq!(given_up, 1);
    }
}

/// A stream that is full, and a peer that takes partial reliability back: what may not be reliable is handed back, and there is room.
#[test]
fn messages_that_are_handed_back_make_room() {
    let config = partially_reliable().with(|c| c.limits.stream_send_buffer = 5000);
    let extensions = [
        Param::ForwardTsnSupported(ForwardTsnSupported),
        Param::SupportedExtensions(SupportedExtensions { chunk_types: &[0xC0] }),
    ];
    let mut script = Script::established_with(&config, &extensions);
    let (a, now) = (script.a, script.pair.now);
    of(&mut script.pair, a).send(now, Message::new(0, kilobyte())).unwrap();
    script.pair.pump();
    script.sack(1, 0, &[]); // a closed window
    of(&mut script.pair, a).set_low_threshold(Some(1), Some(100)).unwrap();
    let message = || Message::new(1, kilobyte()).lifetime(SECOND * 1000).tell_fate();
    while of(&mut script.pair, a).send(now, message()).is_ok() {}
    script.pair.pump();
    let mut causes = Vec::new();
    let parameters = Params::new(&[0xC0, 0, 0, 4]);
    Cause::UnrecognizedParameters(UnrecognizedParameters { parameters }).emit(&mut causes);
    script.send(|out| ErrorChunk { causes: Causes::new(&causes) }.emit(out));
    script.pair.run_for(SECOND * 5);
    let told = told(&script.pair);
    assert!(told.contains(&Event::Writable { stream: Some(1) }), "{told:?}");
    assert!(told.contains(&Event::BufferedLow { stream: Some(1) }), "{told:?}");
}

/// An endpoint without a peer, and associations that fail there with a message each.
struct Failing {
    endpoint: Endpoint,
    begun: Vec<AssociationId>,
}

impl Failing {
    fn new(count: u16) -> Self {
        let address = |end: u8| ([10, 0, 0, end], 0).into();
        let mut endpoint =
            Endpoint::new(EndpointConfig::new(address(1), 5000), Rng::stream(1, "a", "failing").secret());
        let mut begun = Vec::new();
        for port in 0..count {
            let id =
                endpoint.connect(Instant::ZERO, address(2), port + 1, Arc::new(Config::rfc9260())).unwrap();
            let mut association = endpoint.association(id).unwrap();
            association.send(Instant::ZERO, Message::new(0, "precious").tell_fate()).unwrap();
            association.abort(Instant::ZERO, b"enough");
            drop(association);
            begun.push(id);
        }
        while endpoint.poll_transmit(Instant::ZERO, 1, &mut Vec::new()).is_some() {}
        Self { endpoint, begun }
    }

    /// All events at once, for a user who asks for all of them first, and acts then.
    fn events(&mut self) -> Vec<Event> {
        std::iter::from_fn(|| self.endpoint.poll_event()).map(|(_, event)| event).collect()
    }
}

#[test]
fn what_is_handed_back_is_there_when_all_events_were_heard() {
    let mut failing = Failing::new(1);
    assert!(failing.events().iter().any(|event| matches!(event, Event::Failed { .. })));
    let id = failing.begun[0];
    let back = failing.endpoint.association(id).unwrap().receive_unsent().unwrap();
    assert_eq!(back.into_bytes(), "precious");
    assert_eq!(failing.events(), []);
    assert!(failing.endpoint.view(id).is_none(), "it is free once all was taken back");
}

#[test]
fn what_nobody_takes_back_goes_in_the_end() {
    let mut failing = Failing::new(40);
    failing.events();
    failing.events();
    let left: Vec<bool> = failing.begun.iter().map(|id| failing.endpoint.view(*id).is_some()).collect();
    assert_eq!(left.iter().filter(|there| **there).count(), 16);
    assert!(left.ends_with(&[true; 16]), "those that ended last: {left:?}");
    // Each that went is told of, with its messages.
    let mut told = Vec::new();
    while let Some(event) = failing.endpoint.poll_endpoint_event() {
        match event {
            EndpointEvent::ClosedForgotten { id, messages } => told.push((id, messages)),
            other => assert_eq!(other, EndpointEvent::Drained),
        }
    }
    let gone: Vec<_> =
        failing.begun.iter().zip(&left).filter(|(_, left)| !**left).map(|(id, _)| (*id, 1)).collect();
    assert_eq!(told, gone);
}

/// Messages of an association that has ended, read stream by stream after all events were heard.
#[test]
fn who_reads_by_stream_frees_what_has_ended() {
    let mut pair = Pair::new(5);
    pair.reads = [true, false];
    pair.z =
        Endpoint::new(EndpointConfig::new(address(Side::Z), PORT), Rng::stream(5, "z", "reader").secret());
    let config = Arc::new(Config::rfc9260());
    pair.z.listen(Arc::clone(&config)).unwrap();
    let a = pair.a.connect(pair.now, address(Side::Z), PORT, config).unwrap();
    pair.run_for(SECOND);
    let z = pair.events.iter().find(|(side, ..)| *side == Side::Z).map(|(_, id, _)| *id).unwrap();
    assert!(pair.z.association(z).unwrap().receive_from(3).is_none());
    for stream in [3, 5] {
        pair.send(Side::A, a, stream, &[7; 100]);
    }
    pair.run_for(SECOND);
    let now = pair.now;
    of(&mut pair, a).abort(now, b"enough");
    pair.run_for(SECOND);
    while pair.z.poll_event().is_some() {}
    for stream in [3, 5] {
        assert!(pair.z.association(z).unwrap().receive_from(stream).is_some());
        assert_eq!(pair.z.poll_event(), None);
    }
    assert!(pair.z.view(z).is_none(), "all was read");
}
