//! Reports to a user about the send buffer: the amount in it, a stream that is full, little that is left
//! (docs/explanation/engines.md, "The send buffer").
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

use crate::common;

use anabranch_base::Duration;
use anabranch_sctp::config::SendBufferCounts;
use anabranch_sctp::{AssociationHandle, AssociationId, Config, Event, Message, SendError};
use bytes::Bytes;
use common::{Pair, Side};

const SECOND: Duration = Duration::from_secs(1);

fn handle(pair: &mut Pair, id: AssociationId) -> AssociationHandle<'_> {
    pair.a.association(id).unwrap()
}

fn send(pair: &mut Pair, id: AssociationId, stream: u16, len: usize) -> Result<(), SendError> {
    let now = pair.now;
    handle(pair, id).send(now, Message::new(stream, Bytes::from(vec![stream as u8; len]))).map(|_| ())
}

fn lows(pair: &Pair) -> Vec<Option<u16>> {
    let low = |event: &Event| match event {
        Event::BufferedLow { stream } => Some(*stream),
        _ => None,
    };
    pair.events.iter().filter(|(side, ..)| *side == Side::A).filter_map(|(.., event)| low(event)).collect()
}

fn writables(pair: &Pair) -> Vec<Option<u16>> {
    let writable = |event: &Event| match event {
        Event::Writable { stream } => Some(*stream),
        _ => None,
    };
    pair.events
        .iter()
        .filter(|(side, ..)| *side == Side::A)
        .filter_map(|(.., event)| writable(event))
        .collect()
}

/// The smallest messages fill the send buffer with what is kept of each, long before their payload does: what waits is bounded in
/// memory, and room is told of.
#[test]
fn what_is_kept_of_small_messages_fills_the_buffer() {
    let config = Config::rfc9260().with(|c| {
        c.limits.send_buffer = 96_000;
        c.limits.receive_window = 65_536;
    });
    let (mut pair, a, _) = Pair::established(7, &config);
    pair.drop_if(|p| p.from == Side::Z);
    let mut taken = 0;
    while send(&mut pair, a, 0, 1) == Ok(()) {
        taken += 1;
        assert!(taken < 10_000, "no end");
        pair.pump();
    }
    let (held, bound) = pair.a.view(a).unwrap().holdings();
    assert!((1500..6000).contains(&taken), "{taken}");
    assert!(held <= bound, "{held} of {bound}");
    assert_eq!(send(&mut pair, a, 0, 1), Err(SendError::Full));
    pair.drop_if(|_| false);
    pair.run_for(Duration::from_secs(20));
    assert!(writables(&pair).contains(&None));
    assert_eq!(send(&mut pair, a, 0, 1), Ok(()));
}

/// A stream that is full says so for itself; others go on, and each learns when it may.
#[test]
fn a_full_stream_stops_no_other() {
    let config = Config::rfc9260().with(|c| c.limits.stream_send_buffer = 20_000);
    let (mut pair, a, _) = Pair::established(1, &config);
    let mut accepted = [0; 3];
    for stream in 0..3 {
        loop {
            match send(&mut pair, a, stream, 1000) {
                Ok(()) => accepted[usize::from(stream)] += 1,
                Err(error) => {
                    assert_eq!(error, SendError::StreamFull { stream });
                    break;
                }
            }
        }
    }
    assert_eq!(accepted, [20, 20, 20]);
    assert_eq!(send(&mut pair, a, 3, 1000), Ok(()));
    assert_eq!(handle(&mut pair, a).buffered_bytes(Some(1)), 20_000);
    assert_eq!(handle(&mut pair, a).buffered_bytes(None), 61_000);
    pair.run_for(SECOND);
    let mut told = writables(&pair);
    told.sort_unstable();
    assert_eq!(told, [Some(0), Some(1), Some(2)], "each once");
    assert_eq!(send(&mut pair, a, 0, 1000), Ok(()));
    assert_eq!(handle(&mut pair, a).buffered_bytes(None), 1000);
    pair.run_for(SECOND);
    assert_eq!(writables(&pair).len(), 3);
}

/// A stream that has filled the buffer of all stops no other: each finds room for its minimum, until the buffer is exceeded by half.
#[test]
fn every_stream_has_its_minimum_in_a_full_buffer() {
    for counts in [SendBufferCounts::Unsent, SendBufferCounts::Unacknowledged] {
        let config = Config::rfc9260().with(|c| {
            c.limits.send_buffer = 40_000;
            c.limits.stream_send_minimum = 3000;
            c.limits.send_buffer_counts = counts;
        });
        let (mut pair, a, _) = Pair::established(8, &config);
        let mut accepted = [0; 10];
        for stream in 0..10 {
            loop {
                match send(&mut pair, a, stream, 1000) {
                    Ok(()) => accepted[usize::from(stream)] += 1,
                    Err(error) => break assert_eq!(error, SendError::Full),
                }
            }
        }
        // The bytes of the first stream count as a minimum, too, and so does the memory that each message takes
        // besides its payload.
        assert_eq!(accepted, [39, 3, 3, 3, 3, 3, 2, 0, 0, 0], "{counts:?}");
        pair.run_for(SECOND);
        assert_eq!(writables(&pair), [None], "{counts:?}");
        assert_eq!(pair.received.len(), 56);
        assert_eq!(handle(&mut pair, a).audit(), Ok(()));
        // A long message is taken while the buffer is exceeded by less than half, a short one then, too.
        send(&mut pair, a, 0, 40_000).unwrap();
        assert_eq!(send(&mut pair, a, 0, 1), Err(SendError::Full));
        send(&mut pair, a, 1, 50_000).unwrap();
        assert_eq!(send(&mut pair, a, 2, 3001), Err(SendError::Full));
        for stream in 2..6 {
            assert_eq!(send(&mut pair, a, stream, 3000), Ok(()));
            assert_eq!(send(&mut pair, a, stream, 1), Err(SendError::Full));
        }
    }
}

/// As they are shipped: whatever one stream puts into the buffer, another one is taken.
#[test]
fn a_large_message_stops_no_other_stream_by_default() {
    for config in [Config::webrtc(), Config::modern()] {
        let (mut pair, a, _) = Pair::established(10, &config);
        send(&mut pair, a, 0, 1_000_000).unwrap();
        assert_eq!(send(&mut pair, a, 0, 1), Err(SendError::Full));
        for stream in 1..9 {
            assert_eq!(send(&mut pair, a, stream, 1000), Ok(()), "{} {stream}", config.profile);
        }
        pair.run_for(Duration::from_secs(30));
        let sizes: Vec<usize> = pair.received.iter().map(|(_, received)| received.len()).collect();
        assert_eq!(sizes.iter().filter(|size| **size == 1000).count(), 8, "{}", config.profile);
        assert!(
            pair.events
                .iter()
                .any(|(side, _, event)| *side == Side::A && *event == Event::Writable { stream: None })
        );
    }
}

/// Less important messages make room first (RFC 7496, 3.2); where there are none, a stream has its minimum.
#[test]
fn what_is_less_important_goes_before_a_minimum_is_used() {
    for counts in [SendBufferCounts::Unsent, SendBufferCounts::Unacknowledged] {
        let config = Config::webrtc().with(|c| {
            c.limits.send_buffer = 20_000;
            c.limits.stream_send_minimum = 3000;
            c.limits.send_buffer_counts = counts;
        });
        let (mut pair, a, _) = Pair::established(9, &config);
        let mut send = |stream, priority, len| {
            let now = pair.now;
            let message = Message::new(stream, Bytes::from(vec![1; len])).priority(priority);
            handle(&mut pair, a).send(now, message).map(|_| ())
        };
        while send(0, 9, 1000).is_ok() {}
        for _ in 0..4 {
            send(1, 1, 1000).unwrap();
        }
        assert_eq!(send(0, 9, 1000), Err(SendError::Full));
        for _ in 0..3 {
            send(2, 9, 1000).unwrap();
        }
        assert_eq!(send(2, 9, 1000), Err(SendError::Full));
        let given_up = handle(&mut pair, a).abandoned(None, None).unsent;
        assert_eq!(given_up, 4, "{counts:?}: one for each of the more important ones, none for a minimum");
    }
}

/// The association's buffer is full before the stream's: `send` says that.
#[test]
fn the_buffer_of_all_is_a_limit_of_its_own() {
    let config = Config::rfc9260().with(|c| {
        c.limits.stream_send_buffer = 20_000;
        c.limits.send_buffer = 30_000;
    });
    let (mut pair, a, _) = Pair::established(2, &config);
    for stream in [0, 1] {
        while send(&mut pair, a, stream, 1000).is_ok() {}
    }
    assert_eq!(send(&mut pair, a, 0, 1000), Err(SendError::StreamFull { stream: 0 }));
    assert_eq!(send(&mut pair, a, 1, 1000), Err(SendError::Full));
    assert_eq!(send(&mut pair, a, 2, 1000), Err(SendError::Full));
    pair.run_for(SECOND);
    let mut told = writables(&pair);
    told.sort_unstable();
    assert_eq!(told, [None, Some(0)]);
}

/// The events come when the amount falls from above the threshold to it or below: not before it has risen, and once each time.
#[test]
fn low_thresholds_are_crossed_downwards() {
    let (mut pair, a, _) = Pair::established(3, &Config::rfc9260());
    assert_eq!(
        handle(&mut pair, a).set_low_threshold(Some(10), Some(0)),
        Err(SendError::NoSuchStream { stream: 10, streams: 10 })
    );
    handle(&mut pair, a).set_low_threshold(Some(1), Some(5000)).unwrap();
    handle(&mut pair, a).set_low_threshold(Some(2), Some(0)).unwrap();
    handle(&mut pair, a).set_low_threshold(None, Some(8000)).unwrap();
    // 5,000 bytes are not above 5,000.
    send(&mut pair, a, 1, 5000).unwrap();
    pair.run_for(SECOND);
    assert_eq!(lows(&pair), []);
    for _ in 0..20 {
        send(&mut pair, a, 1, 1000).unwrap();
    }
    pair.pump();
    assert_eq!(lows(&pair), [], "the window holds it back: {}", handle(&mut pair, a).buffered_bytes(Some(1)));
    pair.run_for(SECOND);
    assert_eq!(lows(&pair), [None, Some(1)]);
    send(&mut pair, a, 2, 1).unwrap();
    pair.run_for(SECOND);
    assert_eq!(lows(&pair), [None, Some(1), Some(2)]);
    // No more of stream 1.
    handle(&mut pair, a).set_low_threshold(Some(1), None).unwrap();
    send(&mut pair, a, 1, 30_000).unwrap();
    pair.run_for(SECOND);
    assert_eq!(lows(&pair), [None, Some(1), Some(2), None]);
    // A stream that is above its threshold when it is set counts as having risen.
    send(&mut pair, a, 3, 30_000).unwrap();
    handle(&mut pair, a).set_low_threshold(Some(3), Some(10)).unwrap();
    pair.run_for(SECOND);
    assert_eq!(lows(&pair)[4..], [None, Some(3)]);
}

/// SO_SNDBUF: data that has left stays in the buffer until it is acknowledged.
#[test]
fn the_send_buffer_counts_what_is_not_acknowledged_if_told_to() {
    for counts in [SendBufferCounts::Unsent, SendBufferCounts::Unacknowledged] {
        let config = Config::rfc9260().with(|c| {
            c.limits.send_buffer = 10_000;
            c.limits.send_buffer_counts = counts;
        });
        let (mut pair, a, _) = Pair::established(4, &config);
        let mut accepted = 0;
        // Messages that may leave do so as soon as they are written; nothing is acknowledged yet.
        while send(&mut pair, a, 0, 1000).is_ok() {
            accepted += 1;
            pair.pump();
        }
        let unsent = counts == SendBufferCounts::Unsent;
        assert_eq!(accepted, if unsent { 15 } else { 10 }, "{counts}");
        assert_eq!(handle(&mut pair, a).buffered_bytes(Some(0)), 10_000);
        assert_eq!(handle(&mut pair, a).queued_bytes(), if unsent { 10_000 } else { 5000 });
        handle(&mut pair, a).set_low_threshold(None, Some(0)).unwrap();
        handle(&mut pair, a).set_low_threshold(Some(0), Some(2000)).unwrap();
        pair.drop_if(|p| p.from == Side::Z);
        pair.run_for(SECOND / 2);
        assert_eq!((writables(&pair), lows(&pair)), (vec![], vec![]), "nothing was acknowledged");
        pair.drop_if(|_| false);
        pair.run_for(Duration::from_secs(60));
        assert_eq!(writables(&pair), [None]);
        assert_eq!(lows(&pair), [Some(0), None]);
        assert_eq!(handle(&mut pair, a).buffered_bytes(Some(0)), 0);
        assert_eq!(pair.received.len(), accepted);
        assert_eq!(handle(&mut pair, a).audit(), Ok(()));
    }
}

/// A peer that never acknowledges: the buffer is full, and stays so until the association gives up.
#[test]
fn a_peer_that_never_acknowledges() {
    let config = Config::rfc9260().with(|c| {
        c.limits.send_buffer_counts = SendBufferCounts::Unacknowledged;
        c.limits.send_buffer = 100_000;
        c.limits.stream_send_buffer = 30_000;
        c.limits.association_max_retrans = 3;
    });
    let (mut pair, a, _) = Pair::established(5, &config);
    pair.drop_if(|p| p.from == Side::Z);
    for round in 0..30 {
        for stream in 0..10 {
            while send(&mut pair, a, stream, 999).is_ok() {}
        }
        pair.run_for(SECOND / 10);
        let buffered = handle(&mut pair, a).buffered_bytes(None);
        assert!((100_000..101_000).contains(&buffered), "round {round}: {buffered}");
        assert!(handle(&mut pair, a).buffered_bytes(Some(0)) <= 31_000);
        assert_eq!(handle(&mut pair, a).audit(), Ok(()));
    }
    assert_eq!(writables(&pair), []);
    pair.run_for(Duration::from_secs(60));
    assert!(pair.saw(Side::A, |e| matches!(e, Event::Closed(_))));
    assert!(pair.saw(Side::A, |e| matches!(e, Event::SendFailed { .. })));
}

/// Messages that wait for a stream reset count for their stream, too.
#[test]
fn what_waits_for_a_reset_is_buffered() {
    let config = Config::rfc9260().with(|c| {
        c.extensions.reconfiguration = true;
        c.limits.stream_send_buffer = 5000;
    });
    let (mut pair, a, _) = Pair::established(6, &config);
    let now = pair.now;
    handle(&mut pair, a).reset_streams(now, anabranch_sctp::Direction::Outgoing, &[4]).unwrap();
    for _ in 0..5 {
        send(&mut pair, a, 4, 1000).unwrap();
        send(&mut pair, a, 5, 1000).unwrap();
    }
    assert_eq!(handle(&mut pair, a).buffered_bytes(Some(4)), 5000);
    assert_eq!(send(&mut pair, a, 4, 1000), Err(SendError::StreamFull { stream: 4 }));
    pair.run_for(SECOND);
    assert!(writables(&pair).contains(&Some(4)));
    assert_eq!(pair.received.len(), 10);
}

/// The peer grants fewer streams than were written to: messages that go back to the user are not buffered any more.
#[test]
fn streams_that_the_peer_does_not_grant_are_not_buffered() {
    let ask = Config::rfc9260().with(|c| c.streams.outbound = 20);
    let grant = Config::rfc9260().with(|c| c.streams.inbound = 10);
    let mut pair = Pair::sealed(7);
    pair.z.listen(std::sync::Arc::new(grant)).unwrap();
    let now = pair.now;
    let a = pair.a.connect(now, common::address(Side::Z), common::PORT, std::sync::Arc::new(ask)).unwrap();
    handle(&mut pair, a).set_low_threshold(Some(15), Some(100)).unwrap();
    send(&mut pair, a, 15, 1000).unwrap();
    assert_eq!(handle(&mut pair, a).buffered_bytes(Some(15)), 1000);
    pair.run_for(SECOND);
    assert_eq!(handle(&mut pair, a).buffered_bytes(Some(15)), 0);
    assert_eq!(lows(&pair), [Some(15)]);
    assert!(handle(&mut pair, a).receive_unsent().is_some());
}
