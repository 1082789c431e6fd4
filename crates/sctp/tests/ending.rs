//! Ends of associations for their user: with a deadline, all of an endpoint at once, and freed without being asked.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]
#![allow(dead_code, reason = "the harness has more than this file needs")]

use crate::network;

use std::sync::Arc;

use anabranch_base::{Duration, Rng};
use anabranch_sctp::{
    AbortReason, AssociationId, CloseReason, Config, ConnectError, Endpoint, EndpointConfig, EndpointEvent,
    Event, Message, State,
};
use anabranch_wire::chunk::kind;
use network::{Datagram, Network, PORT, at, init, ip};

const A: u8 = 1;
const Z: u8 = 2;
const X: u8 = 9;

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A and Z; both listen, and free closed associations if `free`.
fn two(free: bool) -> (Network, usize, usize) {
    let mut net = Network::default();
    let (a, z) = (net.add(1, "a", &[A]), net.add(1, "z", &[Z]));
    for (host, last) in [(a, A), (z, Z)] {
        let config = EndpointConfig { keep_closed: !free, ..EndpointConfig::new(at(ip(last)), PORT) };
        net.hosts[host].endpoint = Endpoint::new(config, Rng::stream(1, "end", &last.to_string()).secret());
        net.listen(host);
    }
    (net, a, z)
}

fn up(net: &mut Network, a: usize, z: usize) -> (AssociationId, AssociationId) {
    let id = net.connect(a, ip(Z));
    net.run_for(ms(100));
    (id, net.association_with(z, ip(A)).unwrap())
}

fn closed(net: &Network, host: usize, id: AssociationId) -> Option<CloseReason> {
    net.hosts[host].events.iter().find_map(|(i, event)| match event {
        Event::Closed(reason) if *i == id => Some(reason.clone()),
        _ => None,
    })
}

fn shutdown_within(net: &mut Network, host: usize, id: AssociationId, patience: Duration) {
    let now = net.now;
    net.hosts[host].endpoint.association(id).unwrap().shutdown_within(now, patience);
}

/// A peer that does not answer: the end comes when the user wants it, and messages that were not delivered are handed back.
#[test]
fn a_shutdown_takes_no_longer_than_the_user_waits() {
    let (mut net, a, z) = two(false);
    let (id, _) = up(&mut net, a, z);
    net.unreachable = vec![ip(Z)];
    net.send(a, id, b"lost");
    shutdown_within(&mut net, a, id, secs(7));
    net.run_for(ms(6999));
    assert_eq!(net.state(a, id), State::ShutdownPending);
    let sent = net.log.len();
    net.run_for(ms(2));
    assert_eq!(closed(&net, a, id), Some(CloseReason::ShutdownDeadline));
    assert_eq!(net.log[sent..].iter().map(Datagram::kinds).collect::<Vec<_>>(), [[kind::ABORT]]);
    assert!(net.hosts[a].events.contains(&(id, Event::SendFailed { unsent: 0, unacknowledged: 1 })));
    let back = net.hosts[a].endpoint.association(id).unwrap().receive_unacknowledged().unwrap();
    assert_eq!(&back.into_bytes()[..], b"lost");
}

/// The peer reads why.
#[test]
fn the_peer_is_told_of_the_deadline() {
    let (mut net, a, z) = two(false);
    let (id, back) = up(&mut net, a, z);
    net.unreachable = vec![ip(A)];
    shutdown_within(&mut net, a, id, secs(2));
    net.run_for(secs(3));
    let reason = Some(Box::new(AbortReason(b"the shutdown took too long".to_vec())));
    assert_eq!(closed(&net, z, back), Some(CloseReason::AbortedByPeer { causes: vec![12], reason }));
}

/// In time: nothing of the deadline is left; and a peer that was never there costs no more than the deadline either.
#[test]
fn a_shutdown_in_time_is_graceful() {
    let (mut net, a, z) = two(false);
    let (id, back) = up(&mut net, a, z);
    net.send(a, id, b"last words");
    shutdown_within(&mut net, a, id, secs(2));
    net.run_for(secs(5));
    assert_eq!(closed(&net, a, id), Some(CloseReason::Graceful));
    assert_eq!(closed(&net, z, back), Some(CloseReason::Graceful));
    assert_eq!(net.received_from(z, ip(A)), [b"last words"]);
    let nobody = net.connect(a, ip(X));
    net.send(a, nobody, b"hello?");
    shutdown_within(&mut net, a, nobody, secs(2));
    net.run_for(secs(3));
    assert_eq!(closed(&net, a, nobody), Some(CloseReason::ShutdownDeadline));
}

/// A restart of the peer does not make the user wait for longer.
#[test]
fn the_deadline_outlives_a_restart_of_the_peer() {
    let (mut net, a, z) = two(false);
    let (_, back) = up(&mut net, a, z);
    net.unreachable = vec![ip(A)];
    net.send(z, back, b"lost");
    shutdown_within(&mut net, z, back, secs(5));
    net.run_for(secs(1));
    let fresh = EndpointConfig::new(at(ip(A)), PORT).keeping_closed();
    net.hosts[a].endpoint = Endpoint::new(fresh, Rng::stream(2, "end", "fresh").secret());
    net.hosts[a].events.clear();
    net.unreachable.clear();
    net.connect(a, ip(Z));
    net.run_for(ms(25));
    net.unreachable = vec![ip(A)];
    net.run_for(ms(10));
    let restarted = net.hosts[z].events.iter().find_map(|(_, event)| match event {
        Event::Restarted { unsent, unacknowledged, received_bytes_lost } => {
            Some((*unsent, *unacknowledged, *received_bytes_lost))
        }
        _ => None,
    });
    assert_eq!(restarted, Some((0, 1, 0)), "what was lost is told");
    net.run_for(secs(3));
    assert_eq!(closed(&net, z, back), None);
    net.run_for(secs(1));
    assert_eq!(closed(&net, z, back), Some(CloseReason::ShutdownDeadline));
}

/// A peer restarts again and again, and the user takes nothing back: memory is bounded, and the user is told of messages that are forgotten.
#[test]
fn what_is_forgotten_after_many_restarts_is_told() {
    let (mut net, a, z) = two(false);
    let (_, back) = up(&mut net, a, z);
    let limits = Config::rfc9260().limits;
    let most = 2 * limits.send_buffer + limits.receive_window as usize;
    let (mut accepted, mut forgotten) = (0, 0);
    for round in 0..12 {
        net.unreachable = vec![ip(A)];
        let now = net.now;
        let payload = bytes::Bytes::from(vec![round; 10_000]);
        while net.hosts[z]
            .endpoint
            .association(back)
            .unwrap()
            .send(now, Message::new(0, payload.clone()))
            .is_ok()
        {
            accepted += 1;
        }
        net.run_for(ms(200));
        let fresh = EndpointConfig::new(at(ip(A)), PORT).keeping_closed();
        let secret = Rng::stream(u64::from(round), "end", "fresh").secret();
        net.hosts[a].endpoint = Endpoint::new(fresh, secret);
        net.unreachable.clear();
        net.hosts[a].endpoint.connect(net.now, at(ip(Z)), PORT, Arc::new(Config::rfc9260())).unwrap();
        net.run_for(ms(25));
    }
    for (_, event) in &net.hosts[z].events {
        if let Event::ReturnedForgotten { messages } = event {
            forgotten += messages;
        }
    }
    let mut z = net.hosts[z].endpoint.association(back).unwrap();
    let (mut kept, mut bytes) = (0, 0);
    while let Some(message) = z.receive_unacknowledged().or_else(|| z.receive_unsent()) {
        (kept, bytes) = (kept + 1, bytes + message.len());
    }
    assert!(forgotten > 0 && bytes <= most, "{forgotten} messages forgotten, {bytes} bytes kept of {most}");
    assert_eq!(forgotten + kept, accepted);
}

/// An endpoint that drains: one association ends at once, one needs its deadline, nobody comes in, and the user hears when it is
/// over, once.
#[test]
fn an_endpoint_drains() {
    let (mut net, a, z) = two(false);
    let (id, back) = up(&mut net, a, z);
    net.connect(z, ip(X));
    net.run_for(ms(100));
    let now = net.now;
    net.hosts[z].endpoint.drain(now, Some(secs(4)));
    assert!(net.hosts[z].endpoint.is_draining());
    net.throw(ip(X + 1), ip(Z), init(7, &[]));
    net.run_for(secs(1));
    assert_eq!(net.take(ip(X + 1))[0].kinds(), [kind::ABORT]);
    assert_eq!(closed(&net, a, id), Some(CloseReason::Graceful));
    assert_eq!(closed(&net, z, back), Some(CloseReason::Graceful));
    let endpoint = &mut net.hosts[z].endpoint;
    let config = Arc::new(Config::rfc9260());
    assert_eq!(endpoint.connect(now, at(ip(A)), PORT, Arc::clone(&config)), Err(ConnectError::Draining));
    assert_eq!(endpoint.listen(config), Err(ConnectError::Draining));
    // Nothing was promised to the peer that does not answer, so that one has ended, too.
    assert_eq!(endpoint.poll_endpoint_event(), Some(EndpointEvent::Drained));
    assert_eq!(endpoint.poll_endpoint_event(), None);
}

#[test]
fn draining_waits_for_the_last_packet() {
    let (mut net, a, z) = two(false);
    let (_, back) = up(&mut net, a, z);
    net.unreachable = vec![ip(A)];
    net.send(z, back, b"lost");
    let now = net.now;
    net.hosts[z].endpoint.drain(now, Some(secs(2)));
    net.run_for(ms(1500));
    let endpoint = &mut net.hosts[z].endpoint;
    assert_eq!(endpoint.poll_endpoint_event(), None);
    endpoint.handle_timeout(now + secs(2));
    assert_eq!(
        (endpoint.associations(), endpoint.poll_endpoint_event()),
        (0, None),
        "the ABORT has not left"
    );
    let mut abort = Vec::new();
    assert!(endpoint.poll_transmit(now + secs(2), 1, &mut abort).is_some());
    assert!(endpoint.poll_transmit(now + secs(2), 1, &mut abort).is_none());
    assert_eq!(endpoint.poll_endpoint_event(), Some(EndpointEvent::Drained));
}

/// A closed association is gone as soon as its user had the chance to look at it, without `release`.
#[test]
fn closed_associations_are_freed_without_being_asked() {
    for free in [true, false] {
        let (mut net, a, z) = two(free);
        for _ in 0..5 {
            let (id, back) = up(&mut net, a, z);
            let now = net.now;
            net.hosts[a].endpoint.association(id).unwrap().shutdown(now);
            net.run_for(ms(500));
            assert_eq!(net.hosts[a].endpoint.view(id).is_none(), free);
            assert_eq!(net.hosts[z].endpoint.view(back).is_none(), free);
            assert_eq!(closed(&net, a, id), Some(CloseReason::Graceful));
            if free {
                assert_eq!(id.index(), 0, "the place is used again");
                assert!(!net.hosts[a].endpoint.release(id));
            }
            net.hosts[z].events.clear();
        }
    }
}

/// Messages that were received and not read keep it: nothing vanishes because the peer has closed.
#[test]
fn unread_messages_keep_a_closed_association() {
    let (mut net, a, z) = two(true);
    let (id, back) = up(&mut net, a, z);
    net.send(a, id, b"for later");
    let now = net.now;
    net.hosts[a].endpoint.association(id).unwrap().shutdown(now);
    // The user of Z reads no messages: the harness would, so packets and events are moved by hand.
    let mut seen = Vec::new();
    for _ in 0..10 {
        for (from, to) in [(a, z), (z, a)] {
            let mut bytes = Vec::new();
            while let Some(sent) = net.hosts[from].endpoint.poll_transmit(now, 1, &mut bytes) {
                let source = net.hosts[from].addresses[0];
                let meta = anabranch_base::Meta {
                    source: at(source),
                    destination: sent.destination,
                    dscp: sent.dscp,
                    ecn: sent.ecn,
                };
                net.hosts[to].endpoint.handle_datagram(now, meta, &bytes);
                bytes.clear();
            }
        }
        seen.extend(std::iter::from_fn(|| net.hosts[z].endpoint.poll_event()));
    }
    assert!(seen.contains(&(back, Event::Closed(CloseReason::Graceful))), "{seen:?}");
    let endpoint = &mut net.hosts[z].endpoint;
    assert_eq!(endpoint.poll_event(), None);
    assert_eq!(&endpoint.association(back).unwrap().receive().unwrap().into_bytes()[..], b"for later");
    assert!(endpoint.association(back).unwrap().receive().is_none());
    assert!(endpoint.view(back).is_some(), "until events are asked for again");
    assert_eq!(endpoint.poll_event(), None);
    assert!(endpoint.view(back).is_none());
}
