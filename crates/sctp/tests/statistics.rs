//! Counters of the statistics: each number has a life in which it is known.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]
#![allow(dead_code, reason = "the harness has more than this file needs")]

use crate::common;

use std::sync::Arc;

use anabranch_base::Duration;
use anabranch_sctp::config::EcnMode;
use anabranch_sctp::{Config, Direction, Message, Negotiated, Snapshot, State, SubflowLevel};
use bytes::Bytes;
use common::{Pair, Side, address};

fn snapshot(pair: &Pair, side: Side, id: anabranch_sctp::AssociationId) -> Snapshot {
    let endpoint = if side == Side::A { &pair.a } else { &pair.z };
    endpoint.view(id).unwrap().snapshot()
}

/// One chunk in the middle is lost, and three behind it show it: everything is counted once, on both sides.
#[test]
fn a_lost_chunk_is_counted_once_on_each_side() {
    let (mut pair, a, z) = Pair::established(1, &Config::rfc9260());
    let mut sent = 0;
    pair.drop_if(move |packet| {
        sent += u32::from(packet.from == Side::A && packet.has("DATA"));
        packet.from == Side::A && packet.has("DATA") && sent == 8
    });
    for _ in 0..20 {
        pair.send(Side::A, a, 0, &[7; 1400]);
    }
    pair.run_for(Duration::from_millis(800));
    let ours = snapshot(&pair, Side::A, a);
    let stats = &ours.stats;
    assert_eq!((stats.chunks_sent, stats.retransmissions, stats.retransmissions_fast), (21, 1, 1));
    assert_eq!((stats.retransmissions_timeout, stats.retransmissions_probe), (0, 0));
    assert_eq!((stats.chunks_lost, stats.retransmissions_spurious, stats.timeouts), (1, 0, 0));
    assert_eq!((stats.min_rtt, stats.flight, stats.queued_bytes), (Some(Duration::from_millis(20)), 0, 0));
    assert!(stats.last_rtt >= stats.min_rtt && stats.rttvar.is_some() && stats.peer_window > 100_000);
    let theirs = snapshot(&pair, Side::Z, z).stats;
    assert!(theirs.out_of_order_received >= 4, "three behind the hole, and what fills it: {theirs:?}");
    assert_eq!((theirs.duplicates_received, theirs.messages_delivered), (0, 20));
    let peers = snapshot(&pair, Side::Z, z);
    let (path, subflow) = (&peers.paths[0], &peers.subflows[0]);
    assert_eq!(
        (path.out_of_order_received, subflow.out_of_order_received),
        (theirs.out_of_order_received, theirs.out_of_order_received)
    );
    // Paths and subflows say the same.
    let (path, subflow) = (&ours.paths[0], &ours.subflows[0]);
    assert_eq!((ours.paths.len(), ours.subflows.len()), (1, 1));
    assert_eq!((path.address, path.primary, path.confirmed), (address(Side::Z), true, true));
    assert_eq!((path.packets_sent, path.retransmissions, path.chunks_lost), (stats.packets_sent, 1, 1));
    assert_eq!((path.cwnd, path.srtt, path.rto, path.mtu), (stats.cwnd, stats.srtt, stats.rto, 1500));
    assert_eq!((path.ssthresh, path.last_rtt), (stats.ssthresh, stats.last_rtt));
    assert_eq!(
        (path.retransmissions_fast, path.retransmissions_timeout, path.retransmissions_spurious),
        (1, 0, 0)
    );
    assert_eq!((path.payload_bytes_unique, path.payload_bytes_sent), (20 * 1400, 21 * 1400));
    assert_eq!((subflow.retransmissions_fast, subflow.chunks_lost, subflow.chunks_unique), (1, 1, 20));
    assert_eq!(ours.streams, []);
}

/// SACKs are lost, T3-rtx sends again what had arrived: the reason is the timeout, and the peer's duplicates tell that it was
/// needless.
#[test]
fn needless_retransmissions_are_counted() {
    let (mut pair, a, z) = Pair::established(2, &Config::rfc9260());
    pair.drop_if(|packet| packet.from == Side::Z && packet.has("SACK"));
    for _ in 0..3 {
        pair.send(Side::A, a, 0, &[7; 500]);
    }
    pair.run_for(Duration::from_millis(900));
    pair.drop_if(|_| false);
    pair.run_for(Duration::from_secs(3));
    let ours = snapshot(&pair, Side::A, a);
    let needless = ours.stats.retransmissions_spurious;
    assert_eq!(
        (ours.paths[0].retransmissions_spurious, ours.subflows[0].retransmissions_spurious),
        (needless, needless)
    );
    let stats = ours.stats;
    assert!(stats.timeouts >= 1);
    assert!(stats.retransmissions_timeout >= 1, "{stats:?}");
    assert_eq!(stats.retransmissions, stats.retransmissions_timeout);
    let duplicates = snapshot(&pair, Side::Z, z).stats.duplicates_received;
    assert_eq!((stats.retransmissions_spurious, stats.retransmissions), (duplicates, duplicates));
    assert!(stats.chunks_lost >= stats.retransmissions);
}

/// With a sequence space each, a duplicate belongs to one subflow, and what is sent again to one stream, with its reason.
#[test]
fn retransmissions_are_those_of_a_subflow_and_a_stream() {
    let config = common::subflow_config(SubflowLevel::One, 2).with(|c| c.streams.statistics = true);
    let (mut pair, a, _) = Pair::between(6, &config, &config);
    pair.drop_if(|packet| packet.from == Side::Z && packet.has("SF-SACK"));
    pair.send(Side::A, a, 1, &[7; 500]);
    pair.run_for(Duration::from_millis(900));
    pair.drop_if(|_| false);
    pair.send(Side::A, a, 0, &[7; 500]);
    pair.run_for(Duration::from_secs(3));
    let ours = snapshot(&pair, Side::A, a);
    let of =
        |at: usize| (ours.subflows[at].retransmissions_timeout, ours.subflows[at].retransmissions_spurious);
    assert_eq!((of(0), of(1)), ((0, 0), (1, 1)), "{:?}", ours.subflows);
    assert_eq!((ours.stats.retransmissions_spurious, ours.paths[0].retransmissions_spurious), (1, 1));
    let streams: Vec<_> =
        ours.streams.iter().map(|s| (s.stream, s.retransmissions, s.retransmissions_timeout)).collect();
    assert_eq!(streams, [(0, 0, 0), (1, 1, 1)]);
}

/// Subflows come and go, and with them their counters; those of the path and of the association stay.
#[test]
fn what_a_path_has_sent_outlives_its_subflows() {
    let config = common::subflow_config(SubflowLevel::Zero, 2);
    let (mut pair, a, _) = Pair::between(8, &config, &config);
    let spec = anabranch_sctp::SubflowSpec::new(anabranch_base::Dscp::new(8).unwrap());
    let mut before = (0, 0);
    for round in 0..3 {
        let mut sent = 0;
        pair.drop_if(move |packet| {
            sent += u32::from(packet.from == Side::A && packet.has("DATA"));
            packet.from == Side::A && packet.has("DATA") && sent == 2
        });
        for _ in 0..10 {
            pair.send(Side::A, a, 1, &[7; 1400]);
        }
        pair.run_for(Duration::from_secs(5));
        let ours = snapshot(&pair, Side::A, a);
        let path = &ours.paths[0];
        assert_eq!(
            (path.packets_sent, path.payload_bytes_sent, path.retransmissions, path.chunks_lost),
            (
                ours.stats.packets_sent,
                ours.stats.payload_bytes_sent,
                ours.stats.retransmissions,
                ours.stats.chunks_lost
            )
        );
        assert!(path.packets_sent > before.0 && path.chunks_lost > before.1, "round {round}: {path:?}");
        before = (path.packets_sent, path.chunks_lost);
        let now = pair.now;
        pair.a.association(a).unwrap().remove_subflow(now, 1, 0).unwrap();
        pair.run_for(Duration::from_secs(1));
        let now = pair.now;
        assert_eq!(pair.a.association(a).unwrap().add_subflow(now, &spec).unwrap(), 1);
        pair.a.association(a).unwrap().set_stream_subflow(now, 1, 1).unwrap();
        pair.run_for(Duration::from_secs(1));
    }
}

/// Messages that are given up, and chunks out of order, count for a subflow, a path and a stream.
#[test]
fn abandonment_and_reordering_are_those_of_a_subflow_and_a_stream() {
    let config = common::subflow_config(SubflowLevel::One, 2).with(|c| {
        c.streams.statistics = true;
        c.extensions.partial_reliability = true;
    });
    let (mut pair, a, z) = Pair::between(7, &config, &config);
    let mut left = 0;
    pair.drop_if(move |packet| {
        let data = packet.from == Side::A && packet.fids().iter().any(|(fid, _)| *fid == 1);
        left += u32::from(data);
        data && left == 1
    });
    for size in [1000, 1001, 1002] {
        let now = pair.now;
        let message = Message::new(1, Bytes::from(vec![1; size])).max_retransmissions(0);
        pair.a.association(a).unwrap().send(now, message).unwrap();
    }
    pair.run_for(Duration::from_secs(8));
    let ours = snapshot(&pair, Side::A, a);
    let given_up =
        |at: usize| (ours.subflows[at].messages_abandoned_unsent, ours.subflows[at].messages_abandoned_sent);
    assert_eq!((given_up(0), given_up(1)), ((0, 0), (0, 1)));
    assert_eq!((ours.paths[0].messages_abandoned_unsent, ours.paths[0].messages_abandoned_sent), (0, 1));
    let theirs = snapshot(&pair, Side::Z, z);
    let early = |at: usize| theirs.subflows[at].out_of_order_received;
    assert_eq!((early(0), early(1), theirs.paths[0].out_of_order_received), (0, 2, 2));
    let given_up: Vec<_> = ours
        .streams
        .iter()
        .map(|s| (s.stream, s.messages_abandoned_unsent, s.messages_abandoned_sent))
        .collect();
    assert_eq!(given_up, [(1, 0, 1)]);
    let streams: Vec<_> = theirs.streams.iter().map(|s| (s.stream, s.out_of_order_received)).collect();
    assert_eq!(streams, [(1, 2)]);
}

/// The handshake, a heartbeat and the end: each control chunk under its name, on both sides.
#[test]
fn control_chunks_are_counted_by_type() {
    let config = Config::rfc9260().with(|c| c.extensions.reconfiguration = true);
    let (mut pair, a, z) = Pair::between(3, &config, &config);
    let now = pair.now;
    pair.a.association(a).unwrap().request_heartbeat(now, address(Side::Z).ip()).unwrap();
    pair.a.association(a).unwrap().reset_streams(now, Direction::Outgoing, &[1]).unwrap();
    pair.run_for(Duration::from_millis(500));
    let now = pair.now;
    pair.a.association(a).unwrap().shutdown(now);
    pair.run_for(Duration::from_millis(500));
    let (ours, theirs) = (snapshot(&pair, Side::A, a), snapshot(&pair, Side::Z, z));
    assert_eq!((ours.state, theirs.state), (State::Closed, State::Closed));
    let (sent, received) = (ours.control.sent, ours.control.received);
    assert_eq!((sent.init, received.init_ack, sent.cookie_echo, received.cookie_ack), (1, 1, 1, 1));
    assert_eq!((sent.heartbeat, received.heartbeat_ack, sent.re_config, received.re_config), (1, 1, 1, 1));
    assert_eq!((sent.shutdown, received.shutdown_ack, sent.shutdown_complete), (1, 1, 1));
    assert_eq!((sent.abort, sent.error, sent.other, received.other), (0, 0, 0, 0));
    // Chunks that one has sent the other has received; INIT and INIT ACK are the endpoint's.
    let named = |chunks: anabranch_sctp::ControlChunks| {
        chunks.named().filter(|(name, _)| !name.starts_with("init")).collect::<Vec<_>>()
    };
    assert_eq!(named(sent), named(theirs.control.received));
    assert_eq!(named(received), named(theirs.control.sent));
}

/// The chunks of ECN and of level 1 have names of their own.
#[test]
fn chunks_of_extensions_are_counted_by_type() {
    let classic = Config::rfc9260().with(|c| c.extensions.ecn = EcnMode::Classic);
    let (mut pair, a, z) = Pair::between(3, &classic, &classic);
    let mut left = 0;
    pair.mark_if(move |packet| {
        left += u32::from(packet.from == Side::A && packet.has("DATA"));
        packet.from == Side::A && left == 8
    });
    pair.send_all(Side::A, a, 1, 40, 1000);
    pair.run_for(Duration::from_secs(3));
    let (ours, theirs) = (snapshot(&pair, Side::A, a).control, snapshot(&pair, Side::Z, z).control);
    assert!(ours.received.ecne > 0 && ours.sent.cwr > 0, "{ours:?}");
    assert_eq!((ours.received.ecne, ours.sent.cwr), (theirs.sent.ecne, theirs.received.cwr));
    assert_eq!((ours.sent.other, ours.received.other, theirs.sent.other), (0, 0, 0));

    let level =
        common::subflow_config(SubflowLevel::One, 2).with(|c| c.extensions.partial_reliability = true);
    let (mut pair, a, z) = Pair::between(4, &level, &level);
    let mut left = 0;
    pair.drop_if(move |packet| {
        let data = packet.from == Side::A && packet.fids().iter().any(|(fid, _)| *fid == 1);
        left += u32::from(data);
        data && left == 1
    });
    for _ in 0..5 {
        let message = Message::new(1, Bytes::from(vec![1; 1000])).max_retransmissions(0);
        let now = pair.now;
        pair.a.association(a).unwrap().send(now, message).unwrap();
    }
    pair.run_for(Duration::from_secs(5));
    let (ours, theirs) = (snapshot(&pair, Side::A, a).control, snapshot(&pair, Side::Z, z).control);
    assert!(ours.received.sf_sack > 0 && ours.sent.sf_forward > 0, "{ours:?}");
    assert_eq!(
        (ours.received.sf_sack, ours.sent.sf_forward),
        (theirs.sent.sf_sack, theirs.received.sf_forward)
    );
    assert_eq!(
        (ours.sent.other, theirs.sent.other, ours.received.other, theirs.received.other),
        (0, 0, 0, 0)
    );
}

/// Streams are counted where the configuration asks for it, and nowhere else.
#[test]
fn streams_are_counted_where_it_is_asked_for() {
    let config = Config::rfc9260().with(|c| c.streams.statistics = true);
    let (mut pair, a, z) = Pair::between(4, &config, &config);
    for (stream, count) in [(0u16, 3), (9, 2)] {
        for _ in 0..count {
            let message = Message::new(stream, Bytes::from(vec![1; 2000]));
            pair.a.association(a).unwrap().send(pair.now, message).unwrap();
        }
    }
    pair.run_for(Duration::from_secs(1));
    for (side, id, direction) in [(Side::A, a, Direction::Outgoing), (Side::Z, z, Direction::Incoming)] {
        let seen: Vec<_> = snapshot(&pair, side, id)
            .streams
            .iter()
            .map(|s| (s.direction, s.stream, s.messages, s.payload_bytes, s.retransmissions))
            .collect();
        assert_eq!(seen, [(direction, 0, 3, 6000, 0), (direction, 9, 2, 4000, 0)]);
    }
}

/// Losses, and needless retransmissions, count for their stream; together streams have the counts of the association.
#[test]
fn losses_and_needless_retransmissions_of_streams() {
    let config = Config::rfc9260().with(|c| c.streams.statistics = true);
    let (mut pair, a, _) = Pair::between(8, &config, &config);
    let mut left = 0;
    pair.drop_if(move |packet| {
        let data = packet.from == Side::A && packet.has("DATA");
        left += u32::from(data);
        data && left == 2
    });
    for stream in [1, 2, 1, 1, 1, 1, 3] {
        pair.send(Side::A, a, stream, &[1; 1400]);
    }
    pair.run_for(Duration::from_secs(5));
    // Nothing comes back for a while: what leaves now is sent again in vain.
    pair.drop_if({
        let until = pair.now + Duration::from_millis(1500);
        move |packet| packet.from == Side::Z && packet.at < until
    });
    pair.send(Side::A, a, 3, &[1; 1400]);
    pair.run_for(Duration::from_secs(10));
    let ours = snapshot(&pair, Side::A, a);
    let seen: Vec<_> =
        ours.streams.iter().map(|s| (s.stream, s.chunks_lost, s.retransmissions_spurious)).collect();
    let (lost, spurious) = (ours.stats.chunks_lost, ours.stats.retransmissions_spurious);
    assert!(seen[2].1 > 0 && seen[2].2 > 0, "{seen:?}");
    assert_eq!(seen, [(1, 0, 0), (2, 1, 0), (3, lost - 1, spurious)]);
}

/// Outcome of the negotiation, on both sides, and nothing before the peer has said anything.
#[test]
fn what_was_negotiated() {
    let config = |adaptation, streams| {
        Config::rfc9260().with(|c| {
            c.extensions.interleaving = true;
            c.extensions.reconfiguration = true;
            c.extensions.partial_reliability = true;
            c.extensions.adaptation_indication = Some(adaptation);
            c.streams.outbound = streams;
        })
    };
    let mut pair = Pair::new(5);
    pair.z.listen(Arc::new(config(2, 7))).unwrap();
    let a = pair.a.connect(pair.now, address(Side::Z), common::PORT, Arc::new(config(1, 300))).unwrap();
    assert_eq!(pair.a.view(a).unwrap().negotiated(), None);
    pair.run_for(Duration::from_millis(200));
    let expected = Negotiated {
        outbound_streams: 300,
        inbound_streams: 7,
        interleaving: true,
        reconfiguration: true,
        partial_reliability: true,
        subflow_level: SubflowLevel::Zero,
        sends_zero_checksum: false,
        takes_zero_checksum: false,
        ecn: false,
        adaptation: Some(2),
    };
    assert_eq!(pair.a.view(a).unwrap().negotiated(), Some(expected));
    let z = pair.events.iter().find(|(side, ..)| *side == Side::Z).unwrap().1;
    let theirs = Negotiated { outbound_streams: 7, inbound_streams: 300, adaptation: Some(1), ..expected };
    assert_eq!(pair.z.view(z).unwrap().negotiated(), Some(theirs));
    // Towards a peer without any of it: off.
    let (plain, a, _) = Pair::between(6, &config(1, 300), &Config::rfc9260());
    let seen = plain.a.view(a).unwrap().negotiated().unwrap();
    assert!(
        !seen.interleaving && !seen.reconfiguration && !seen.partial_reliability && seen.adaptation.is_none()
    );
}
