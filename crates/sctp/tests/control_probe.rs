//! COOKIE ECHO, SHUTDOWN and SHUTDOWN ACK are sent once more after two round trips without an answer (docs/reference/extensions.md): what a lost one
//! costs, and that nobody gets more than one packet by it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

use crate::common;

use anabranch_base::{Duration, Instant};
use anabranch_sctp::config::ErrorDetection;
use anabranch_sctp::{AssociationId, CloseReason, Config, Event};
use anabranch_wire::chunk::kind;
use anabranch_wire::{Checksum, Packet};
use common::single_loss::SingleLoss;
use common::{Logged, Pair, Side};

/// One way.
const LATENCY: u64 = 10;
const ROUND_TRIP: Duration = Duration::from_millis(2 * LATENCY);

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

fn rfc9260(probes: bool) -> Config {
    Config::rfc9260().with(|c| c.timers.control_probe = probes)
}

fn modern(probes: bool) -> Config {
    Config::modern().with(|c| c.timers.control_probe = probes)
}

/// The first so many packets with a chunk of that type.
fn first(count: u32, chunk: u8) -> impl FnMut(&Logged) -> bool + 'static {
    let mut seen = 0;
    move |p| {
        let hit = p.kinds().contains(&chunk);
        seen += u32::from(hit);
        hit && seen <= count
    }
}

/// When packets of a side with a chunk of that type left.
fn times(pair: &Pair, from: Side, chunk: u8) -> Vec<Instant> {
    pair.log.iter().filter(|p| p.from == from && p.kinds().contains(&chunk)).map(|p| p.at).collect()
}

fn gaps(times: &[Instant]) -> Vec<Duration> {
    times.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

fn closed(pair: &Pair, side: Side) -> bool {
    pair.saw(side, |e| *e == Event::Closed(CloseReason::Graceful))
}

/// Time from the user's wish until each side has closed, A's first; the whole ladder is in the pair.
fn close(pair: &mut Pair, a: AssociationId) -> [Duration; 2] {
    let start = pair.now;
    pair.a.association(a).unwrap().shutdown(start);
    let mut took = [None; 2];
    while pair.step(start + secs(100)) && took.contains(&None) {
        for (took, side) in took.iter_mut().zip([Side::A, Side::Z]) {
            if closed(pair, side) {
                took.get_or_insert(pair.now - start);
            }
        }
    }
    took.map(|took| took.unwrap_or(secs(100)))
}

/// An association that knows its round trip by data, and closes with the first packet with that chunk lost.
fn close_with_loss(config: &Config, lost: Option<u8>) -> ([Duration; 2], Pair) {
    let (mut pair, a, _) = Pair::established(1, config);
    pair.send(Side::A, a, 0, b"hello");
    pair.run_for(secs(1));
    pair.log.clear();
    if let Some(chunk) = lost {
        pair.drop_if(first(1, chunk));
    }
    let took = close(&mut pair, a);
    (took, pair)
}

/// The loss of each chunk of a shutdown costs two round trips, instead of a second.
#[test]
fn a_lost_chunk_of_a_shutdown_costs_two_round_trips() {
    for (off, on) in [(rfc9260(false), rfc9260(true)), (modern(false), modern(true))] {
        let (none, _) = close_with_loss(&on, None);
        assert_eq!(none, [ROUND_TRIP, ROUND_TRIP * 3 / 2], "{}", on.profile);
        for chunk in [kind::SHUTDOWN, kind::SHUTDOWN_ACK, kind::SHUTDOWN_COMPLETE] {
            let (before, _) = close_with_loss(&off, Some(chunk));
            let (after, pair) = close_with_loss(&on, Some(chunk));
            let name = format!("{}, {chunk}: {before:?}, {after:?}: {:#?}", on.profile, pair.ladder());
            assert!(before[1] >= secs(1), "{name}");
            assert_eq!(after[1], none[1] + ROUND_TRIP * 2, "{name}");
        }
    }
}

/// Nothing is lost: nothing is sent for the probe's sake.
#[test]
fn without_a_loss_nothing_more_is_sent() {
    let whole = |config: &Config| {
        let (mut pair, a, _) = Pair::between(1, config, config);
        pair.send(Side::A, a, 0, b"hello");
        pair.run_for(secs(1));
        close(&mut pair, a);
        pair.names()
    };
    assert_eq!(whole(&modern(true)), whole(&modern(false)));
    assert_eq!(whole(&rfc9260(true)), whole(&rfc9260(false)));
}

/// The peer is gone. One packet more, and T2-shutdown as without: its times, the backing off, the errors that end it.
#[test]
fn t2_shutdown_runs_as_without() {
    let sent = |probes: bool| {
        let (mut pair, a, _) = Pair::established(1, &rfc9260(probes));
        pair.send(Side::A, a, 0, b"hello");
        pair.run_for(secs(1));
        pair.log.clear();
        pair.drop_if(|_| true);
        let start = pair.now;
        pair.a.association(a).unwrap().shutdown(start);
        pair.run_for(secs(3600));
        assert!(pair.saw(Side::A, |e| *e == Event::Closed(CloseReason::ShutdownGuard)));
        let all: Vec<Duration> =
            times(&pair, Side::A, kind::SHUTDOWN).into_iter().map(|at| at - start).collect();
        let end = pair.log.iter().rev().find(|p| p.kinds() == [kind::ABORT]).unwrap().at - start;
        (all, end)
    };
    let ((with, end), (without, end_without)) = (sent(true), sent(false));
    assert_eq!(with[..2], [Duration::ZERO, ROUND_TRIP * 2]);
    assert_eq!([&with[..1], &with[2..]].concat(), without);
    assert_eq!(without[1], secs(1));
    assert_eq!(end, end_without);
}

/// The other side of it: SHUTDOWN ACK without an answer.
#[test]
fn shutdown_ack_is_probed_for_once() {
    let (mut pair, a, _) = Pair::established(1, &rfc9260(true));
    pair.send(Side::A, a, 0, b"hello");
    pair.run_for(secs(1));
    pair.log.clear();
    pair.drop_if(|p| p.from == Side::Z);
    let start = pair.now;
    pair.a.association(a).unwrap().shutdown(start);
    pair.run_for(ms(990));
    // Z answers A's SHUTDOWN, and once more as A probes. Its own wait begins anew with the second.
    let answered = [ms(LATENCY), ms(LATENCY) + ROUND_TRIP * 2, ms(LATENCY) + ROUND_TRIP * 4];
    let sent = times(&pair, Side::Z, kind::SHUTDOWN_ACK);
    assert_eq!(sent.iter().map(|at| *at - start).collect::<Vec<_>>(), answered, "{:#?}", pair.ladder());
}

/// A packet that the peer still sends in SHUTDOWN-SENT restarts T2-shutdown (9.2), and the wait for the probe with
/// it: the peer lives.
#[test]
fn every_packet_of_the_peer_begins_the_wait_anew() {
    let (mut pair, a, z) = Pair::established(1, &rfc9260(true));
    pair.send(Side::A, a, 0, b"hello");
    pair.run_for(secs(1));
    pair.log.clear();
    // Z does not hear of the shutdown, and goes on sending.
    pair.drop_if(|p| p.from == Side::A && p.kinds().contains(&kind::SHUTDOWN));
    let start = pair.now;
    pair.a.association(a).unwrap().shutdown(start);
    for _ in 0..20 {
        pair.send(Side::Z, z, 0, b"more");
        pair.run_for(ms(30));
    }
    pair.run_for(ms(900));
    let sent = times(&pair, Side::A, kind::SHUTDOWN);
    // One at first, one for each message, and the probe two round trips after the last.
    assert_eq!(sent.len(), 22, "{:#?}", pair.ladder());
    assert_eq!(sent[21] - sent[20], ROUND_TRIP * 2);
}

/// A and Z: how long until A is up, and the ladder; packets for which `drop` is true are lost.
fn connect(
    config: &Config,
    drop: impl FnMut(&Logged) -> bool + 'static,
    text: Option<&[u8]>,
) -> (Duration, Pair) {
    let (mut pair, a) = Pair::connecting(1, config);
    if let Some(text) = text {
        pair.send(Side::A, a, 0, text);
    }
    pair.drop_if(drop);
    let up = |pair: &Pair| pair.saw(Side::A, |e| matches!(e, Event::Established { .. }));
    while !up(&pair) && pair.step(Instant::ZERO + secs(100)) {}
    (pair.now - Instant::ZERO, pair)
}

/// A lost COOKIE ECHO or COOKIE ACK costs two round trips, where it was a second.
#[test]
fn a_lost_cookie_costs_two_round_trips() {
    for chunk in [kind::COOKIE_ECHO, kind::COOKIE_ACK] {
        let (none, _) = connect(&modern(true), |_| false, None);
        let (before, _) = connect(&modern(false), first(1, chunk), None);
        let (after, pair) = connect(&modern(true), first(1, chunk), None);
        assert_eq!(
            [none, before, after],
            [ROUND_TRIP * 2, ROUND_TRIP * 2 + secs(1), ROUND_TRIP * 4],
            "{:?}",
            pair.ladder()
        );
    }
}

/// A request rides with the COOKIE ECHO, and again with the probe: it is there with the association. Without probes of data T3-rtx
/// repeats it.
#[test]
fn what_rode_with_the_cookie_rides_with_the_probe() {
    let (_, mut pair) = connect(&modern(true), first(1, kind::COOKIE_ECHO), Some(b"request"));
    assert_eq!(pair.received.len(), 1, "{:?}", pair.ladder());
    pair.run_for(secs(3));
    let names = pair.names();
    assert_eq!(
        names[2..5],
        ["Ax COOKIE-ECHO + DATA", "A: COOKIE-ECHO + DATA", "Z: COOKIE-ACK + SACK"],
        "{names:#?}"
    );
    let id = pair.id_of(Side::A);
    let stats = pair.a.view(id).unwrap().stats();
    assert_eq!((stats.timeouts, stats.retransmissions), (0, 1));
    let (_, mut pair) = connect(&rfc9260(true), first(1, kind::COOKIE_ECHO), Some(b"request"));
    assert_eq!(pair.received.len(), 0);
    pair.run_for(secs(2));
    assert_eq!(pair.received.len(), 1, "{:?}", pair.ladder());
}

/// The COOKIE ACK was lost, and the data was there: the probe was for nothing, and costs no window.
#[test]
fn a_needless_probe_with_data_costs_no_window() {
    let (_, mut pair) = connect(&modern(true), first(1, kind::COOKIE_ACK), Some(b"request"));
    pair.run_for(secs(3));
    let id = pair.id_of(Side::A);
    let stats = pair.a.view(id).unwrap().stats();
    assert_eq!(
        (stats.timeouts, stats.congestion_events, pair.received.len()),
        (0, 0, 1),
        "{:?}",
        pair.ladder()
    );
}

/// A peer that is gone after its INIT ACK: one COOKIE ECHO more, T1-cookie and the number of attempts as without.
#[test]
fn t1_cookie_runs_as_without() {
    let sent = |probes: bool| {
        let lost = |p: &Logged| p.kinds().contains(&kind::COOKIE_ECHO);
        let (_, mut pair) = connect(&rfc9260(probes), lost, Some(b"request"));
        pair.run_for(secs(3600));
        assert!(pair.saw(Side::A, |e| matches!(e, Event::Closed(CloseReason::Unreachable { .. }))));
        times(&pair, Side::A, kind::COOKIE_ECHO)
    };
    let (with, without) = (sent(true), sent(false));
    assert_eq!(with[1] - with[0], ROUND_TRIP * 2);
    assert_eq!([&with[..1], &with[2..]].concat(), without);
}

/// INIT was sent again: which of the two the answer is for is not known, and without a round trip nothing is probed for.
#[test]
fn no_round_trip_no_probe() {
    let mut inits = first(1, kind::INIT);
    let mut cookies = first(1, kind::COOKIE_ECHO);
    let (_, pair) = connect(&modern(true), move |p| inits(p) || cookies(p), None);
    assert_eq!(gaps(&times(&pair, Side::A, kind::COOKIE_ECHO)), [secs(1)], "{:?}", pair.ladder());
}

/// Two round trips are longer than the timer: the timer repeats the chunk, once.
#[test]
fn a_timer_that_is_due_sooner_takes_its_place() {
    let (mut pair, _) = Pair::connecting(1, &modern(true));
    pair.latency = ms(300);
    pair.drop_if(first(1, kind::COOKIE_ECHO));
    pair.run_for(secs(3));
    assert_eq!(gaps(&times(&pair, Side::A, kind::COOKIE_ECHO)), [secs(1)], "{:?}", pair.ladder());
}

/// A host needs time to answer: ten milliseconds, however short the round trip is.
#[test]
fn a_probe_waits_for_ten_milliseconds() {
    let (mut pair, a, _) = Pair::established(1, &modern(true));
    pair.latency = Duration::from_micros(50);
    for _ in 0..80 {
        // Two packets, whose SACK is not delayed.
        pair.send(Side::A, a, 0, &[1; 1400]);
        pair.send(Side::A, a, 0, &[2; 1400]);
        pair.run_for(secs(1));
    }
    pair.drop_if(first(1, kind::SHUTDOWN));
    pair.log.clear();
    close(&mut pair, a);
    assert_eq!(gaps(&times(&pair, Side::A, kind::SHUTDOWN)), [ms(10)], "{:?}", pair.ladder());
}

/// An end that has only received uses the round trip of the handshake.
#[test]
fn who_only_receives_goes_by_the_handshake() {
    let (mut pair, _, z) = Pair::established(1, &modern(true));
    pair.send(Side::Z, z, 0, b"hello");
    pair.run_for(secs(1));
    pair.drop_if(first(1, kind::SHUTDOWN_ACK));
    pair.log.clear();
    let now = pair.now;
    pair.z.association(z).unwrap().shutdown(now);
    pair.run_for(ms(990));
    assert!(closed(&pair, Side::A) && closed(&pair, Side::Z), "{:?}", pair.ladder());
}

/// The peer has forgotten the association, and takes nothing without a checksum (RFC 9653, 5.3).
#[test]
fn a_probe_has_a_checksum() {
    let config = modern(true).with(|c| c.extensions.zero_checksum = Some(ErrorDetection::Dtls));
    let (took, pair) = close_with_loss(&config, Some(kind::SHUTDOWN_COMPLETE));
    assert!(took[1] < ms(200), "{took:?}");
    let acks: Vec<&Logged> = pair.log.iter().filter(|p| p.kinds() == [kind::SHUTDOWN_ACK]).collect();
    let sum = |p: &Logged| Packet::parse(&p.bytes, Checksum::Ignore).unwrap().checksum();
    assert_eq!(sum(acks[0]), 0);
    assert!(Packet::parse(&acks[1].bytes, Checksum::Verify).is_ok());
}

/// The COOKIE ACK is lost, and a window of data comes behind it: who is in COOKIE-ECHOED discards all of it (RFC 9260, 6). Its sender has no
/// sample of the round trip, but probes when the second COOKIE ECHO comes, not after a second.
#[test]
fn data_behind_a_lost_cookie_ack_is_probed_for() {
    let network = (10_000_000, 50);
    let run = |probes: bool, k| SingleLoss::run(&modern(probes), network, k, Instant::ZERO).times[2];
    let none = run(true, 0);
    assert!((none - run(false, 0)).abs() < 1e-9);
    let (with, without) = (run(true, 2) - none, run(false, 2) - none);
    // Discarded packets count as lost: a round trip in which one packet leaves, two, four, and the rest.
    assert!(without > 1.2 && with < 0.65, "{without} {with}");
}

/// An attacker who has overheard a COOKIE ECHO sends it again and again: one probe, until its answer comes, and none
/// when anything has been acknowledged.
#[test]
fn a_cookie_echo_that_is_repeated_gets_one_probe() {
    let (mut pair, _) = Pair::connecting(1, &modern(true));
    pair.run_for(ms(31));
    let cookie = pair.log.iter().find(|p| p.kinds().contains(&kind::COOKIE_ECHO)).unwrap().bytes.clone();
    let z = pair.id_of(Side::Z);
    for _ in 0..4 {
        pair.send(Side::Z, z, 0, &[1; 1400]);
    }
    pair.pump();
    let data = |pair: &Pair| times(pair, Side::Z, kind::DATA).len();
    assert_eq!(data(&pair), 4);
    for _ in 0..5 {
        pair.inject(Side::A, &cookie);
        pair.pump();
    }
    assert_eq!(data(&pair), 5, "{:?}", pair.ladder());
    pair.run_for(ms(500));
    pair.inject(Side::A, &cookie);
    pair.pump();
    assert_eq!(data(&pair), 5, "{:?}", pair.ladder());
}
