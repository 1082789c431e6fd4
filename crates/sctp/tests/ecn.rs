//! Explicit congestion notification (RFC 3168; RFC 4960, appendix A; draft-stewart-tsvwg-sctpecn): who speaks it, what marks bring about,
//! and what lies about marks do not.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

use crate::common;

use std::cell::Cell;
use std::rc::Rc;

use anabranch_base::{Duration, Ecn, Rng};
use anabranch_sctp::config::{EcnBackoff, EcnMode};
use anabranch_sctp::{AssociationId, Config, Stats, SubflowLevel, SubflowStats};
use anabranch_wire::chunk::{Cwr, Ecne, kind, sack};
use anabranch_wire::param::{EcnCapable, Param};
use anabranch_wire::{Checksum, Packet, Tsn};
use common::script::Script;
use common::{Logged, Pair, Side, subflow_config};

fn with(mode: EcnMode) -> Config {
    Config::rfc9260().with(|c| {
        c.extensions.ecn = mode;
        c.limits.send_buffer = 4 << 20;
    })
}

fn stats(pair: &Pair, id: AssociationId) -> Stats {
    pair.a.view(id).unwrap().stats()
}

fn carries_data(p: &Logged) -> bool {
    p.kinds().iter().any(|kind| [kind::DATA, kind::I_DATA, kind::SF_DATA].contains(kind))
}

/// Selects the packets with data from A whose number among these is one of `numbers`.
fn nth(numbers: &'static [u32]) -> impl FnMut(&Logged) -> bool {
    let mut count = 0;
    move |p| {
        count += u32::from(p.from == Side::A && carries_data(p));
        p.from == Side::A && carries_data(p) && numbers.contains(&count)
    }
}

fn words<'a>(pair: &'a Pair, from: Side, name: &'a str) -> impl Iterator<Item = String> + 'a {
    let words = pair.log.iter().filter(move |p| p.from == from).flat_map(Logged::words);
    words.filter(move |word| word.split(' ').next() == Some(name))
}

/// Both must have said it, in INIT and INIT ACK, and so the cookie; then packets with data are ECN-capable, and no others.
#[test]
fn who_speaks_it() {
    for (a, z) in [
        (EcnMode::Off, EcnMode::Off),
        (EcnMode::Classic, EcnMode::Off),
        (EcnMode::Off, EcnMode::L4s),
        (EcnMode::Classic, EcnMode::L4s),
        (EcnMode::L4s, EcnMode::L4s),
    ] {
        for interleaving in [false, true] {
            let config = |mode| with(mode).with(|c| c.extensions.interleaving = interleaving);
            let (mut pair, a_id, z_id) = Pair::between(1, &config(a), &config(z));
            let both = a != EcnMode::Off && z != EcnMode::Off;
            assert_eq!(pair.a.view(a_id).unwrap().negotiated().unwrap().ecn, both);
            assert_eq!(pair.z.view(z_id).unwrap().negotiated().unwrap().ecn, both);
            for (kind, said) in [(kind::INIT, a != EcnMode::Off), (kind::INIT_ACK, both)] {
                let packet = pair.log.iter().find(|p| p.kinds() == [kind]).unwrap();
                assert_eq!(packet.bytes.windows(4).any(|w| w == [0x80, 0, 0, 4]), said, "{a:?} {z:?}");
            }
            pair.send_all(Side::A, a_id, 1, 20, 1000);
            pair.send_all(Side::Z, z_id, 1, 20, 1000);
            pair.run_for(Duration::from_secs(2));
            pair.check_all(Side::Z, 1, 20);
            for packet in &pair.log {
                let mode = if packet.from == Side::A { a } else { z };
                let expected = match mode {
                    EcnMode::Classic if both && carries_data(packet) => Ecn::Ect0,
                    EcnMode::L4s if both && carries_data(packet) => Ecn::Ect1,
                    _ => Ecn::NotEct,
                };
                assert_eq!(packet.ecn, expected, "{:?}", packet.words());
            }
        }
    }
}

/// Of the profiles `modern` has it, and the encoding of 2007 goes without.
#[test]
fn who_does_not() {
    for name in Config::PROFILES {
        let expected = if name == "modern" { EcnMode::Classic } else { EcnMode::Off };
        assert_eq!(Config::named(name).unwrap().extensions.ecn, expected, "{name}");
    }
    assert_eq!(Config::for_networks().extensions.ecn, EcnMode::Classic);
    let config = Config::sf2007().with(|c| c.extensions.ecn = EcnMode::Classic);
    let config = config.with(|c| c.subflows.open = subflow_config(SubflowLevel::Sf2007, 2).subflows.open);
    let (mut pair, a, _) = Pair::established(1, &config);
    assert_eq!(pair.a.view(a).unwrap().subflow_level(), SubflowLevel::Sf2007);
    assert!(!pair.a.view(a).unwrap().negotiated().unwrap().ecn);
    pair.send_all(Side::A, a, 2, 10, 500);
    pair.run_for(Duration::from_secs(2));
    assert!(pair.log.iter().all(|p| p.ecn == Ecn::NotEct));
    let model = Config::rfc9260().with(|c| c.extensions.ecn = EcnMode::L4s);
    assert!(model.clone().set("congestion_control", "bbr").is_err(), "no scalable response");
}

/// Data that rides with COOKIE ECHO, retransmissions and window probes are not ECN-capable.
#[test]
fn what_is_never_marked() {
    let (mut pair, a) = Pair::connecting(2, &with(EcnMode::Classic));
    pair.send_all(Side::A, a, 1, 40, 1000);
    pair.drop_if(nth(&[12]));
    pair.run_for(Duration::from_secs(5));
    pair.check_all(Side::Z, 1, 40);
    let cookie = pair.log.iter().find(|p| p.has("COOKIE-ECHO")).unwrap();
    assert!(cookie.has("DATA") && cookie.ecn == Ecn::NotEct);
    let lost = pair.log.iter().find(|p| p.dropped).unwrap();
    assert_eq!(lost.ecn, Ecn::Ect0);
    let tsn = lost.data()[0].tsn;
    let again = pair.log.iter().filter(|p| !p.dropped && p.data().iter().any(|data| data.tsn == tsn));
    assert_eq!(again.map(|p| p.ecn).collect::<Vec<_>>(), [Ecn::NotEct]);
    // Nobody reads: the window closes, and is probed.
    let config = with(EcnMode::Classic).with(|c| c.limits.receive_window = 8000);
    let (mut pair, a, _) = Pair::established(3, &config);
    pair.reads[Side::Z as usize] = false;
    pair.send_all(Side::A, a, 1, 40, 1000);
    pair.run_for(Duration::from_secs(20));
    let probes = stats(&pair, a).window_probes;
    assert!(probes > 0);
    let last = pair.log.iter().rev().find(|p| p.from == Side::A && carries_data(p)).unwrap();
    assert_eq!(last.ecn, Ecn::NotEct, "a probe");
}

/// A mark: ECNE with the TSN of the marked packet in front of each SACK until CWR has come; the window halves once, and nothing is sent
/// again.
#[test]
fn one_mark() {
    let (mut pair, a, _) = Pair::established(4, &with(EcnMode::Classic));
    pair.mark_if(nth(&[60]));
    pair.send_all(Side::A, a, 1, 400, 1400);
    pair.run_for(Duration::from_secs(5));
    pair.check_all(Side::Z, 1, 400);
    let seen = stats(&pair, a);
    assert_eq!((seen.ecn_reductions, seen.congestion_events, seen.retransmissions), (1, 0, 0));
    let marked = pair.log.iter().filter(|p| p.from == Side::A && carries_data(p)).nth(59).unwrap();
    let tsn = marked.data()[0].tsn;
    let echoes: Vec<_> = pair.log.iter().filter(|p| p.has("ECNE")).collect();
    assert!(!echoes.is_empty() && echoes.len() < 40, "{}", echoes.len());
    for echo in &echoes {
        assert_eq!(echo.words()[0], format!("ECNE {tsn} 1"));
        assert!(echo.words()[1].starts_with("SACK"), "{:?}", echo.words());
    }
    assert_eq!(words(&pair, Side::A, "CWR").collect::<Vec<_>>(), [format!("CWR {tsn}")]);
    let last = echoes.last().unwrap().at;
    let cwr = pair.log.iter().find(|p| p.has("CWR")).unwrap().at;
    assert!(last < cwr + pair.latency + Duration::from_millis(1), "it ends with CWR");
    let z = pair.id_of(Side::Z);
    assert_eq!(pair.z.view(z).unwrap().stats().packets_marked, 1);
}

/// Window left by a mark: half, as by a loss; with RFC 8511 0.8, with CUBIC 0.7 and 0.85. In slow start always as
/// much as after a loss.
#[test]
fn what_is_left() {
    for (control, backoff, slow_start, left) in [
        ("reno", EcnBackoff::AsLoss, false, 0.5),
        ("reno", EcnBackoff::Abe, false, 0.8),
        ("reno", EcnBackoff::Abe, true, 0.5),
        ("cubic", EcnBackoff::AsLoss, false, 0.7),
        ("cubic", EcnBackoff::Abe, false, 0.85),
        ("cubic", EcnBackoff::Abe, true, 0.7),
    ] {
        let mut config = with(EcnMode::Classic).with(|c| {
            c.congestion.ecn_backoff = backoff;
            c.congestion.initial_ssthresh = Some(if slow_start { 1 << 30 } else { 20_000 });
        });
        config.set("congestion_control", control).unwrap();
        let (mut pair, a, _) = Pair::established(5, &config);
        pair.mark_if(nth(&[100]));
        pair.send_all(Side::A, a, 1, 400, 1400);
        while stats(&pair, a).ecn_reductions == 0 {
            let limit = pair.now + Duration::from_secs(1);
            assert!(pair.step(limit));
        }
        let after = stats(&pair, a).cwnd as f64 / stats(&pair, a).cwnd_peak as f64;
        assert!((after - left).abs() < 0.01, "{control} {backoff:?}: {after}");
    }
}

/// CWR is lost twice: ECNE goes on, CWR is repeated once a round trip, and the window is cut once.
#[test]
fn cwr_is_lost() {
    let (mut pair, a, _) = Pair::established(6, &with(EcnMode::Classic));
    pair.mark_if(nth(&[60]));
    let lost = Rc::new(Cell::new(0));
    let count = Rc::clone(&lost);
    pair.drop_if(move |p| {
        let cwr = p.from == Side::A && p.has("CWR") && count.get() < 2;
        count.set(count.get() + u32::from(cwr));
        cwr
    });
    pair.send_all(Side::A, a, 1, 600, 1400);
    pair.run_for(Duration::from_secs(10));
    pair.check_all(Side::Z, 1, 600);
    assert_eq!(stats(&pair, a).ecn_reductions, 1);
    assert_eq!(lost.get(), 2);
    let sent: Vec<_> = pair.log.iter().filter(|p| p.has("CWR")).map(|p| p.at).collect();
    assert_eq!(sent.len(), 3);
    assert!(sent.windows(2).all(|two| two[1] - two[0] >= Duration::from_millis(19)), "{sent:?}");
    let last = pair.log.iter().rev().find(|p| p.has("ECNE")).unwrap().at;
    assert!(last < sent[2] + Duration::from_millis(11));
}

/// Every packet is marked: the window is cut once in a round trip, and never below its floor.
#[test]
fn once_in_a_round_trip() {
    for mode in [EcnMode::Classic, EcnMode::L4s] {
        let (mut pair, a, _) = Pair::established(7, &with(mode));
        pair.mark_if(carries_data);
        let begin = pair.now;
        pair.send_all(Side::A, a, 1, 300, 1400);
        pair.run_for(Duration::from_secs(20));
        pair.check_all(Side::Z, 1, 300);
        let seen = stats(&pair, a);
        let data = pair.log.iter().filter(|p| p.from == Side::A && carries_data(p));
        let trips = (data.map(|p| p.at).max().unwrap() - begin).as_millis() / 20;
        assert!(seen.ecn_reductions > 5 && seen.ecn_reductions <= trips + 1, "{seen:?} in {trips}");
        assert_eq!((seen.retransmissions, seen.timeouts), (0, 0));
        assert!(seen.cwnd >= 4 * 1400, "{}", seen.cwnd);
        // A CWR for each cut, or once a round trip while ECNE goes on.
        assert!(words(&pair, Side::A, "CWR").count() as u64 <= trips + 2);
    }
}

/// A packet of the same window is marked and another lost, in either order: one cut.
#[test]
fn a_mark_and_a_loss_of_one_window() {
    for (marked, lost) in [(&[60][..], &[70][..]), (&[70], &[60])] {
        let (mut pair, a, _) = Pair::established(8, &with(EcnMode::Classic));
        pair.mark_if(nth(marked));
        pair.drop_if(nth(lost));
        pair.send_all(Side::A, a, 1, 300, 1400);
        let mut peak = 0;
        while stats(&pair, a).ecn_reductions + stats(&pair, a).congestion_events == 0 {
            peak = stats(&pair, a).cwnd;
            let limit = pair.now + Duration::from_secs(1);
            assert!(pair.step(limit));
        }
        pair.run_for(Duration::from_millis(15));
        assert!(stats(&pair, a).cwnd >= peak * 2 / 5, "{} of {peak}", stats(&pair, a).cwnd);
        pair.run_for(Duration::from_secs(5));
        pair.check_all(Side::Z, 1, 300);
        assert_eq!(stats(&pair, a).retransmissions, 1);
    }
}

fn call(mode: EcnMode) -> Script {
    let mut script = Script::established_with(&with(mode), &[Param::EcnCapable(EcnCapable)]);
    let a = script.a;
    script.pair.send_all(Side::A, a, 1, 400, 1400);
    script.pair.pump();
    script
}

/// Acknowledges so many chunks one by one, so that the window grows.
fn grow(script: &mut Script, chunks: u32) -> Tsn {
    let tsn_a = script.tsn_a;
    for n in 0..chunks {
        script.pair.now += Duration::from_millis(1);
        script.send(|out| sack::emit(out, Tsn::new(tsn_a.wrapping_add(n)), 1 << 20, &[], &[]));
    }
    Tsn::new(tsn_a.wrapping_add(chunks))
}

/// ECNE about a chunk that was never sent, and about one that is long past: neither cut nor CWR.
#[test]
fn forged_and_stale_reports() {
    let mut script = call(EcnMode::Classic);
    let next = grow(&mut script, 290);
    let before = stats(&script.pair, script.a);
    script.pair.log.clear();
    for distance in [5000, 100_000, 1 << 30, (1 << 31) - 400] {
        for tsn in [next.add(distance), next.sub(distance)] {
            for rest in [&[][..], &[0xff; 4]] {
                script.send(|out| Ecne { tsn, rest }.emit(out));
                script.send(|out| Cwr { tsn, rest }.emit(out));
            }
        }
    }
    let after = stats(&script.pair, script.a);
    assert_eq!((after.ecn_reductions, after.cwnd), (0, before.cwnd));
    assert!(script.pair.log.is_empty(), "{:?}", script.pair.ladder());
    // Of the association, but of long ago: a CWR ends what may be an ECNE that nobody has answered, and no more.
    script.send(|out| Ecne { tsn: next.sub(290), rest: &[] }.emit(out));
    assert_eq!(stats(&script.pair, script.a).cwnd, before.cwnd);
    assert_eq!(words(&script.pair, Side::A, "CWR").count(), 1);
}

/// A storm of reports, each about another packet in flight and of any number of marks: one cut, and hardly a packet in answer.
#[test]
fn a_storm_of_reports() {
    for (mode, control) in [
        (EcnMode::Classic, "reno"),
        (EcnMode::Classic, "cubic"),
        (EcnMode::Classic, "bbr"),
        (EcnMode::L4s, "reno"),
    ] {
        let mut config = with(mode);
        config.set("congestion_control", control).unwrap();
        let mut script = Script::established_with(&config, &[Param::EcnCapable(EcnCapable)]);
        let a = script.a;
        script.pair.send_all(Side::A, a, 1, 400, 1400);
        script.pair.pump();
        let next = grow(&mut script, 60);
        let before = stats(&script.pair, a).cwnd;
        script.pair.log.clear();
        for n in 0..2000_u32 {
            let rest = [1, 7, u32::MAX][n as usize % 3].to_be_bytes();
            script.send(|out| Ecne { tsn: next.add(n % 30), rest: &rest }.emit(out));
        }
        let seen = stats(&script.pair, a);
        assert!(seen.ecn_reductions <= 1, "{control}: {}", seen.ecn_reductions);
        assert!(seen.cwnd >= before / 2 - 1, "{control}: {} of {before}", seen.cwnd);
        assert!(script.pair.log.len() <= 2, "{control}: {:?}", script.pair.names());
        grow_on(&mut script, next, 40);
        assert_eq!(stats(&script.pair, a).retransmissions, 0);
    }
}

fn grow_on(script: &mut Script, next: Tsn, chunks: u32) {
    for n in 0..chunks {
        script.pair.now += Duration::from_millis(1);
        script.send(|out| sack::emit(out, next.add(n), 1 << 20, &[], &[]));
    }
}

/// A peer that sends the chunk of RFC 4960, without a number, behind the SACK that acknowledges the marked packet.
#[test]
fn the_chunk_of_rfc_4960() {
    let mut script = call(EcnMode::Classic);
    let next = grow(&mut script, 60);
    let before = stats(&script.pair, script.a).cwnd;
    script.pair.log.clear();
    script.send(|out| {
        sack::emit(out, next, 1 << 20, &[], &[]);
        Ecne { tsn: next, rest: &[] }.emit(out);
    });
    let seen = stats(&script.pair, script.a);
    assert_eq!(seen.ecn_reductions, 1);
    assert!(seen.cwnd <= before * 3 / 5, "{} of {before}", seen.cwnd);
    assert_eq!(words(&script.pair, Side::A, "CWR").collect::<Vec<_>>(), [format!("CWR {next}")]);
}

/// Without the peer's number of marked packets there is no scalable response: packets leave as ECT(0).
#[test]
fn l4s_needs_numbers() {
    let mut script = call(EcnMode::L4s);
    let next = grow(&mut script, 60);
    assert!(script.pair.log.iter().filter(|p| carries_data(p)).all(|p| p.ecn == Ecn::Ect1));
    let before = stats(&script.pair, script.a).cwnd;
    script.send(|out| Ecne { tsn: next, rest: &[] }.emit(out));
    assert!(stats(&script.pair, script.a).cwnd <= before / 2);
    script.pair.log.clear();
    grow_on(&mut script, next, 60);
    let data: Vec<Ecn> = script.pair.log.iter().filter(|p| carries_data(p)).map(|p| p.ecn).collect();
    assert!(data.len() > 10 && data.iter().all(|field| *field == Ecn::Ect0), "{data:?}");
}

/// T3-rtx ends the reduction by a mark: the window grows from one packet on, as ever.
#[test]
fn a_mark_and_then_a_timeout() {
    let windows = |marks: &'static [u32]| {
        let (mut pair, a, _) = Pair::established(14, &with(EcnMode::Classic));
        pair.mark_if(nth(marks));
        pair.send_all(Side::A, a, 1, 400, 1400);
        while stats(&pair, a).packets_sent < 80 {
            let limit = pair.now + Duration::from_secs(1);
            assert!(pair.step(limit));
        }
        let until = pair.now + Duration::from_millis(900);
        pair.drop_if(move |p| p.from == Side::A && p.at < until);
        while stats(&pair, a).timeouts == 0 {
            let limit = pair.now + Duration::from_secs(2);
            assert!(pair.step(limit));
        }
        pair.run_for(Duration::from_millis(600));
        stats(&pair, a).cwnd
    };
    let (plain, marked) = (windows(&[]), windows(&[60]));
    assert!(marked > 4 * 1400 && marked >= plain / 2, "{marked} beside {plain}");
}

fn subflow(pair: &Pair, a: AssociationId, index: u8) -> SubflowStats {
    pair.a.view(a).unwrap().subflow_stats(index).unwrap()
}

/// Marks on the packets of one subflow: its lane slows down, that of the other is as without. At level 0 ECNE names the packet; at level 1
/// SF-SACK has counters, and there is neither ECNE nor CWR.
#[test]
fn each_lane_for_itself() {
    for level in [SubflowLevel::Zero, SubflowLevel::One] {
        let config = subflow_config(level, 2).with(|c| {
            c.extensions.ecn = EcnMode::Classic;
            // A SACK of one lane alone speaks of more of its packets than one of both.
            c.congestion.slow_start_limit = 100;
        });
        let windows = |marks: bool| {
            let (mut pair, a, _) = Pair::established(9, &config);
            let mut count = 0;
            pair.mark_if(move |p| {
                count += u32::from(p.dscp.get() == 1 && carries_data(p));
                marks && p.dscp.get() == 1 && carries_data(p) && count % 50 == 0
            });
            pair.send_all(Side::A, a, 2, 500, 1400);
            pair.run_for(Duration::from_millis(400));
            let peaks = (subflow(&pair, a, 0).cwnd, subflow(&pair, a, 1).cwnd);
            let seen = stats(&pair, a);
            assert_eq!(seen.ecn_reductions > 0, marks, "{level:?}");
            assert_eq!(seen.retransmissions, 0);
            let kinds: Vec<u8> = pair.log.iter().flat_map(Logged::kinds).collect();
            let chunks = kinds.contains(&kind::ECNE) && kinds.contains(&kind::CWR);
            assert_eq!(chunks, marks && level == SubflowLevel::Zero, "{level:?}");
            assert!(pair.log.iter().filter(|p| carries_data(p)).all(|p| p.ecn == Ecn::Ect0));
            peaks
        };
        let (plain, marked) = (windows(false), windows(true));
        assert!(marked.0 >= plain.0, "{level:?}: {marked:?} beside {plain:?}");
        assert!(marked.1 < plain.1 / 2, "{level:?}: {marked:?} beside {plain:?}");
    }
}

/// Level 1: the counters are those of the packets, without a mark, too.
#[test]
fn counters_of_subflows() {
    let config = subflow_config(SubflowLevel::One, 2).with(|c| c.extensions.ecn = EcnMode::L4s);
    let (mut pair, a, _) = Pair::established(10, &config);
    let mut count = 0;
    pair.mark_if(move |p| {
        count += u32::from(p.dscp.get() == 1);
        p.dscp.get() == 1 && count % 10 == 0
    });
    pair.send_all(Side::A, a, 2, 200, 1400);
    pair.run_for(Duration::from_secs(5));
    pair.check_all(Side::Z, 2, 200);
    let sent = pair.log.iter().filter(|p| p.from == Side::A && p.dscp.get() == 1 && carries_data(p)).count();
    let last = pair.log.iter().rev().find(|p| p.kinds().contains(&kind::SF_SACK)).unwrap();
    let packet = Packet::parse(&last.bytes, Checksum::Ignore).unwrap();
    let raw = packet.chunks().map(|raw| raw.unwrap()).find(|raw| raw.kind == kind::SF_SACK).unwrap();
    let sack = anabranch_wire::chunk::SfSack::parse(raw).unwrap();
    let counters = sack.counters().unwrap();
    assert_eq!(counters.ect1 + counters.ce, sent as u32);
    assert!(counters.ce as usize >= sent / 10 - 2 && counters.ect0 == 0, "{counters:?}");
    assert!(stats(&pair, a).ecn_reductions > 0);
}

/// Somebody drops packets that are ECN-capable: after the first T3-rtx packets leave without, and all arrives.
#[test]
fn a_path_that_drops_it() {
    let (mut pair, a, _) = Pair::established(11, &with(EcnMode::Classic));
    pair.drop_if(|p| p.ecn != Ecn::NotEct);
    pair.send_all(Side::A, a, 1, 100, 1400);
    pair.run_for(Duration::from_secs(10));
    pair.check_all(Side::Z, 1, 100);
    assert_eq!(stats(&pair, a).timeouts, 1);
}

/// Somebody clears the field: at level 1 the counters tell, and packets leave without; elsewhere nobody can know, and it does no harm.
#[test]
fn a_path_that_clears_it() {
    for level in [SubflowLevel::Zero, SubflowLevel::One] {
        let config = subflow_config(level, 2).with(|c| c.extensions.ecn = EcnMode::Classic);
        let (mut pair, a, _) = Pair::established(12, &config);
        pair.field_is(|_| Ecn::NotEct);
        pair.send_all(Side::A, a, 2, 400, 1400);
        pair.run_for(Duration::from_secs(10));
        pair.check_all(Side::Z, 2, 400);
        let last = pair.log.iter().rev().find(|p| p.from == Side::A && carries_data(p)).unwrap();
        assert_eq!(last.ecn == Ecn::NotEct, level == SubflowLevel::One, "{level:?}");
        assert_eq!(stats(&pair, a).ecn_reductions, 0);
    }
}

/// Marks where nobody has agreed on anything change nothing.
#[test]
fn marks_without_agreement() {
    let (mut pair, a, _) = Pair::established(13, &with(EcnMode::Off));
    pair.field_is(|_| Ecn::Ce);
    pair.send_all(Side::A, a, 1, 100, 1400);
    pair.run_for(Duration::from_secs(5));
    pair.check_all(Side::Z, 1, 100);
    assert_eq!(words(&pair, Side::Z, "ECNE").count(), 0);
    let z = pair.id_of(Side::Z);
    assert_eq!((stats(&pair, a).ecn_reductions, pair.z.view(z).unwrap().stats().packets_marked), (0, 0));
}

/// Networks that lose, mark, clear and change the field at random, with every kind of window and level: all arrives, the counts agree, and no
/// more windows are cut than there are round trips.
#[test]
fn whatever_the_network_does() {
    for seed in 0..24 {
        let mut rng = Rng::stream(seed, "ecn", "test");
        let profile = ["rfc9260", "rfc9260-rack", "modern", "rfc2960", "webrtc"][rng.below(5) as usize];
        let level = [SubflowLevel::Zero, SubflowLevel::One][rng.below(2) as usize];
        let mode = [EcnMode::Classic, EcnMode::L4s][rng.below(2) as usize];
        let config = Config::named(profile).unwrap().with(|c| {
            c.subflows.level = level;
            c.subflows.open = subflow_config(level, 3).subflows.open;
            c.limits.send_buffer = 4 << 20;
            c.extensions.ecn = mode;
        });
        let (mut pair, a, z) = Pair::established(seed, &config);
        let mut losses = Rng::stream(seed, "loss", "test");
        pair.drop_if(move |_| losses.below(30) == 0);
        let mut fields = Rng::stream(seed, "fields", "test");
        pair.field_is(move |p| match fields.below(20) {
            0..4 => Ecn::Ce,
            4 => Ecn::NotEct,
            5 => Ecn::Ect1,
            _ => p.ecn,
        });
        let begin = pair.now;
        pair.send_all(Side::A, a, 3, 60, 1400);
        pair.send_all(Side::Z, z, 3, 20, 700);
        pair.run_for(Duration::from_secs(150));
        pair.check_all(Side::Z, 3, 60);
        pair.check_all(Side::A, 3, 20);
        pair.a.view(a).unwrap().audit().unwrap();
        pair.z.view(z).unwrap().audit().unwrap();
        let data = pair.log.iter().filter(|p| p.from == Side::A && carries_data(p));
        let trips = (data.map(|p| p.at).max().unwrap() - begin).as_millis() / 20;
        let seen = stats(&pair, a);
        assert!(seen.ecn_reductions <= 3 * (trips + 1), "seed {seed}: {} in {trips}", seen.ecn_reductions);
    }
}
