//! A message that must not leave again does not, by whatever means its loss was found: not only by T3-rtx and SACKs
//! (RFC 3758, 4.1; RFC 7496, 3.1).
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use crate::common;

use std::sync::Arc;

use anabranch_base::{Duration, Instant};
use anabranch_sctp::config::SubflowLevel;
use anabranch_sctp::{AssociationId, Config, Event, Message};
use anabranch_wire::chunk::{CookieAck, kind};
use anabranch_wire::param::{ForwardTsnSupported, Param, SupportedExtensions};
use bytes::Bytes;
use common::script::Script;
use common::{PORT, Pair, Side, address, subflow_config};

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn config() -> Config {
    Config::rfc9260().with(|c| c.extensions.partial_reliability = true)
}

/// A message that is found again in packets.
fn marked(mark: u8, len: usize) -> Message {
    Message::new(0, Bytes::from(vec![mark; len])).tell_fate()
}

fn send(pair: &mut Pair, side: Side, id: AssociationId, message: Message) {
    let now = pair.now;
    pair.endpoint(side).association(id).unwrap().send(now, message).unwrap();
}

/// When a message left.
fn left(pair: &Pair, side: Side, mark: u8) -> Vec<Instant> {
    let carries = |bytes: &[u8]| bytes.windows(50).any(|window| window.iter().all(|byte| *byte == mark));
    pair.log
        .iter()
        .filter(|logged| logged.from == side && carries(&logged.bytes))
        .map(|logged| logged.at)
        .collect()
}

fn given_up(pair: &Pair) -> usize {
    pair.events.iter().filter(|(.., event)| matches!(event, Event::Abandoned { sent: true, .. })).count()
}

/// T1-cookie expires, and DATA that rode with the COOKIE ECHO rides again (RFC 9260, 5.1 C): what may not leave so often, or so late, is
/// given up, and skipped by the peer once the association is up.
#[test]
fn what_rode_with_a_cookie_echo_that_was_lost() {
    let limited = |mark: u8, most: u16| (marked(mark, 100).max_retransmissions(most), usize::from(most) + 1);
    let cases = [limited(0xA1, 0), limited(0xA1, 1), (marked(0xA1, 100).lifetime(ms(500)), 1)];
    for (message, most) in cases {
        let (mut pair, a) = Pair::connecting(1, &config());
        send(&mut pair, Side::A, a, message);
        let mut lost = 0;
        pair.drop_if(move |packet| {
            let drops = packet.has("COOKIE-ECHO") && lost < 2;
            lost += u32::from(drops);
            drops
        });
        pair.run_for(ms(20_000));
        assert_eq!((left(&pair, Side::A, 0xA1).len(), given_up(&pair)), (most, 1), "{:?}", pair.ladder());
        // The number that was given up keeps nothing back.
        send(&mut pair, Side::A, a, marked(0xA2, 100));
        pair.run_for(ms(20_000));
        assert!(pair.saw(Side::A, |event| matches!(event, Event::Delivered { .. })));
        assert_eq!(pair.a.view(a).unwrap().unacknowledged_chunks(), 0);
    }
}

/// ICMP says that a packet was too big (RFC 8899, 4.6.1): its chunks leave again at once, except for messages that must not.
#[test]
fn what_was_too_big_for_the_path() {
    for most in [0, 1] {
        let (mut pair, a, _) = Pair::established(1, &Config::for_networks());
        (pair.carries, pair.routers_answer) = (Some(1000), true);
        send(&mut pair, Side::A, a, marked(0xA1, 1100).max_retransmissions(most));
        pair.run_for(ms(20_000));
        assert_eq!(left(&pair, Side::A, 0xA1).len(), usize::from(most) + 1);
        assert_eq!(given_up(&pair), usize::from(most == 0));
    }
}

/// A cookie was stale, and what rode with it was thrown away (RFC 9260, 5.2.6): the next INIT ACK says whether the peer skips what must
/// not leave again. If it does not, all of it is reliable.
#[test]
fn what_rode_with_a_stale_cookie() {
    let extensions = [
        Param::ForwardTsnSupported(ForwardTsnSupported),
        Param::SupportedExtensions(SupportedExtensions { chunk_types: &[kind::FORWARD_TSN] }),
    ];
    for (second, times) in [(&extensions[..], 1), (&[], 2)] {
        for message in [marked(0xA1, 100).max_retransmissions(0), marked(0xA1, 100).lifetime(ms(100))] {
            let mut script = Script::calling(&config());
            let a = script.a;
            send(&mut script.pair, Side::A, a, message);
            script.init_ack_with(10, &extensions);
            script.stale_cookie();
            script.pair.run_for(ms(200));
            assert_eq!(given_up(&script.pair), 0, "nobody knows yet whether it may be given up");
            script.init_ack_with(10, second);
            script.send(|out| CookieAck.emit(out));
            assert_eq!(left(&script.pair, Side::A, 0xA1).len(), times, "{:?}", script.pair.ladder());
            let skips = script.pair.log.iter().any(|packet| packet.kinds().contains(&kind::FORWARD_TSN));
            assert_eq!((skips, given_up(&script.pair)), (times == 1, usize::from(times == 1)));
        }
    }
}

/// The peer does not know SF-DATA after all: data sent under other FIDs leaves again on subflow 0, except for messages that must not.
#[test]
fn what_was_sent_under_fids_that_end() {
    let config = subflow_config(SubflowLevel::One, 3).with(|c| c.extensions.partial_reliability = true);
    let mut pair = Pair::sealed(1);
    pair.tamper(|_, bytes| {
        if bytes.get(12) == Some(&kind::INIT_ACK) {
            let at = bytes.windows(2).position(|window| window == [0xB0, 0x5F]).unwrap();
            bytes[at + 1] = 0x5E;
        }
    });
    pair.z.listen(Arc::new(config.clone())).unwrap();
    let now = pair.now;
    pair.a.connect(now, address(Side::Z), PORT, Arc::new(config)).unwrap();
    pair.run_for(ms(200));
    let z = pair.id_of(Side::Z);
    assert_eq!(pair.z.view(z).unwrap().subflow_level(), SubflowLevel::One);
    for (mark, stream, most) in [(0xA1, 1, 0), (0xA2, 1, 1), (0xA3, 2, 0), (0xA4, 2, 1)] {
        let message = Message { stream, ..marked(mark, 100) }.max_retransmissions(most);
        send(&mut pair, Side::Z, z, message);
    }
    pair.run_for(ms(20_000));
    assert_eq!(pair.z.view(z).unwrap().stats().sf_downgrades, 1);
    let times = [0xA1, 0xA2, 0xA3, 0xA4].map(|mark| left(&pair, Side::Z, mark).len());
    assert_eq!(times, [1, 2, 1, 2], "{:?}", pair.ladder());
    assert_eq!(given_up(&pair), 2);
    let arrived: Vec<u8> = pair.received.drain(..).map(|(_, message)| message.into_bytes()[0]).collect();
    assert_eq!(arrived, [0xA2, 0xA4], "the peer skips what was given up");
    assert_eq!(pair.z.view(z).unwrap().unacknowledged_chunks(), 0);
}
