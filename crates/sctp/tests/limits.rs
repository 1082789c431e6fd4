//! Limits of numbers and sizes: stream sequence numbers, messages beside the receive window, and impossible acknowledgements that
//! must not cost the user his association.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

use crate::common;

use std::collections::BTreeMap;

use anabranch_base::Duration;
use anabranch_sctp::config::{FccClock, InitialWindow, MaxBurst, StreamScheduling};
use anabranch_sctp::{CloseReason, Config, Event, Message, Reconfigured, State};
use anabranch_wire::Tsn;
use anabranch_wire::chunk::{Shutdown, ShutdownComplete};
use common::script::Script;
use common::{Pair, Side};

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Room for more chunks than there are stream sequence numbers.
fn wide(interleaving: bool) -> Config {
    Config::rfc9260().with(|c| {
        c.limits.send_buffer = 8 << 20;
        c.limits.receive_window = 8 << 20;
        c.congestion.initial_window = InitialWindow::Packets(4000);
        c.congestion.max_burst = MaxBurst::Off;
        c.extensions.interleaving = interleaving;
    })
}

/// RFC 9260, 1.6 has stream sequence numbers compared with serial arithmetic of 16 bits, and 6.5 has them wrap: of
/// the ordered messages of a stream that a peer has not acknowledged no two may have numbers that it cannot tell
/// apart, or would take for the wrong order. Messages beyond that wait; other streams, unordered messages and
/// messages that go on do not.
// rfc9260:6.1-23
#[test]
fn no_stream_sequence_number_is_used_twice_in_a_window() {
    let mut script = Script::established(&wide(false));
    script.sack(0, 8 << 20, &[]);
    let (now, a) = (script.pair.now, script.a);
    let send = |script: &mut Script, message: Message| {
        script.pair.a.association(a).unwrap().send(now, message).unwrap();
    };
    for _ in 0..70_000 {
        send(&mut script, Message::new(3, vec![7; 4]));
    }
    script.pair.pump();
    let mut ssns = BTreeMap::<u16, u32>::new();
    for data in script.pair.log.iter().flat_map(common::Logged::data) {
        *ssns.entry(data.ssn.get()).or_default() += 1;
    }
    assert!(ssns.values().all(|times| *times == 1), "a number was used twice");
    let outstanding = ssns.len() as u32;
    assert!((30_000..=32_767).contains(&outstanding), "{outstanding}");
    // As soon as the first is acknowledged one more may leave.
    script.pair.run_for(ms(100));
    script.pair.log.clear();
    script.sack(1, 8 << 20, &[]);
    assert_eq!(script.left(), [outstanding]);
    script.pair.log.clear();
    script.sack(1001, 8 << 20, &[]);
    assert_eq!(script.left().len(), 1000);
    // All are sent in the end, in order.
    script.be_honest(Duration::from_secs(60), 8 << 20, &mut (0..outstanding + 1001).collect());
    script.has_sent_all();
}

/// Messages of I-DATA have numbers of 32 bits, and unordered ones of DATA have none: they do not wait.
#[test]
fn only_numbers_of_16_bits_run_out() {
    for (interleaving, unordered) in [(true, false), (false, true)] {
        let config = wide(interleaving);
        let (mut pair, a, _) = Pair::between(5, &config, &config);
        pair.latency = ms(2000);
        for _ in 0..40_000 {
            let message = Message { unordered, ..Message::new(3, vec![7; 4]) };
            pair.a.association(a).unwrap().send(pair.now, message).unwrap();
        }
        pair.pump();
        assert_eq!(pair.a.view(a).unwrap().unacknowledged_chunks(), 40_000);
    }
}

/// A life with more messages than numbers, on a network that loses some: all arrive once and in order.
#[test]
fn seventy_thousand_messages_behind_a_hole() {
    let config = wide(false);
    let (mut pair, a, _) = Pair::between(6, &config, &config);
    let mut lost = 0;
    pair.drop_if(move |p| {
        // The first packet with data is lost three times.
        let first = p.from == Side::A && p.data().first().is_some_and(|data| data.ssn.get() == 0);
        lost += u32::from(first);
        first && lost <= 3
    });
    pair.send_all(Side::A, a, 1, 70_000, 4);
    pair.run_for(Duration::from_secs(60));
    pair.check_all(Side::Z, 1, 70_000);
}

/// Some stacks put a number of their own into a SHUTDOWN. Chunks that were never sent cannot have arrived: the number
/// is not believed, and the SHUTDOWN is obeyed: "discontinue sending" and finish (9.2). Outstanding data is
/// acknowledged by SACKs.
#[test]
fn an_impossible_number_in_a_shutdown_is_ignored() {
    for wrong in [1, 1000, 1 << 20, 1 << 30, (1 << 31) - 5] {
        for outstanding in [false, true] {
            let mut script = Script::established(&Config::rfc9260());
            let a = script.a;
            script.pair.send(Side::A, a, 0, &[1; 1000]);
            script.pair.pump();
            if !outstanding {
                script.sack(1, 100_000, &[]);
            }
            let cumulative = Tsn::new(script.tsn_a.wrapping_add(wrong));
            script.send(|out| Shutdown { cumulative }.emit(out));
            let expected = if outstanding { State::ShutdownReceived } else { State::ShutdownAckSent };
            assert_eq!(script.state(), expected, "{wrong} {outstanding}: {:?}", script.closed());
            script.sack(1, 100_000, &[]);
            assert_eq!(script.state(), State::ShutdownAckSent, "{wrong}");
            script.has_sent_all();
            script.send(|out| ShutdownComplete { reflected_tag: false }.emit(out));
            assert_eq!(script.closed(), Some(CloseReason::Graceful), "{wrong}");
        }
    }
}

/// Figures of an ended association: nothing is under way any more, and its books are in order.
#[test]
fn the_books_of_an_association_that_has_ended() {
    for ends in 0..3 {
        let (mut pair, a, z) = Pair::established(8, &Config::rfc9260());
        pair.drop_if(move |p| p.from == Side::A && ends > 0 && p.has("DATA"));
        pair.send(Side::A, a, 0, &[1; 20_000]);
        pair.pump();
        match ends {
            0 => pair.a.association(a).unwrap().abort(pair.now, b"enough"),
            1 => pair.z.association(z).unwrap().abort(pair.now, b"enough"),
            _ => pair.run_for(Duration::from_secs(1000)),
        }
        pair.run_for(ms(100));
        let association = pair.a.view(a).unwrap();
        assert_eq!(association.state(), State::Closed, "{ends}");
        association.audit().unwrap();
        assert_eq!((association.flight_bytes(), association.unacknowledged_chunks()), (0, 0), "{ends}");
    }
}

/// Ten messages of 300 kB, as Linux 6.1 sends and takes them, with I-DATA and without, one stream after the other or in turns, into a
/// window that holds three of them, and one that holds none: all arrive.
#[test]
fn long_messages_of_linux() {
    for interleaving in [false, true] {
        for scheduling in [StreamScheduling::Fcfs, StreamScheduling::RoundRobin] {
            for window in [1 << 20, 212_992, 106_496] {
                let config = Config::named("linux-6.1").unwrap().with(|c| {
                    c.extensions.interleaving = interleaving;
                    c.streams.scheduling = scheduling;
                    c.limits.receive_window = window;
                    c.limits.send_buffer = 8 << 20;
                });
                let (mut pair, a, _) = Pair::between(9, &config, &config);
                pair.send_all(Side::A, a, 5, 2, 300_000);
                pair.run_for(Duration::from_secs(600));
                pair.check_all(Side::Z, 5, 2);
            }
        }
    }
}

fn resettable() -> Config {
    Config::rfc9260().with(|c| {
        c.extensions.reconfiguration = true;
        c.extensions.peer_resets_association = true;
        c.limits.send_buffer = 4 << 20;
        c.timers.heartbeat_interval = Duration::ZERO;
        c.timers.rto_min = ms(8000);
        // The first data after a reset is acknowledged at once; here all is.
        c.sack.delay = Duration::ZERO;
        c.subflows.fcc_clock = FccClock::RoundTrips;
    })
}

/// After an SSN/TSN reset numbers are counted from the beginning, and so is whatever waits for a number: the end of a round trip, at which
/// Vegas and HyStart++ look at the delay, and fractional windows grow. It waited for a number of before the reset, thousands of chunks
/// later. The window goes the way that it goes without a reset.
#[test]
fn round_trips_begin_anew_with_the_numbers() {
    let windows = |control: &str, coupling: &str, resets: bool| -> Vec<u64> {
        let mut config = resettable();
        config.set("congestion_control", control).unwrap();
        config.set("coupling", coupling).unwrap();
        let (mut pair, a, _) = Pair::established(3, &config);
        pair.link(1_500_000, ms(40));
        if control == "cubic+hystart" {
            // One by one, so that slow start goes on.
            for _ in 0..1000 {
                pair.send(Side::A, a, 0, &[0; 4]);
                pair.run_for(ms(100));
            }
        } else {
            // As much as the window lets through, after a loss that ends slow start.
            let mut lost = false;
            pair.drop_if(move |p| p.has("DATA") && !std::mem::replace(&mut lost, true));
            (0..600).for_each(|_| pair.send(Side::A, a, 0, &[0; 1400]));
            pair.run_for(ms(6000));
        }
        pair.link(6_000_000, ms(40));
        if resets {
            pair.a.association(a).unwrap().reset_association(pair.now).unwrap();
        }
        pair.run_for(ms(2000));
        let performed = Event::AssociationReset { outcome: Reconfigured::Performed };
        assert_eq!(pair.saw(Side::A, |e| *e == performed), resets);
        for _ in 0..600 {
            pair.send(Side::A, a, 0, &[0; 1400]);
        }
        let window = |pair: &mut Pair| {
            pair.run_for(ms(50));
            pair.a.view(a).unwrap().stats().cwnd
        };
        (0..60).map(|_| window(&mut pair)).collect()
    };
    for (control, coupling) in
        [("vegas", "independent"), ("cubic+hystart", "independent"), ("reno", "fcc(2)")]
    {
        let (with, without) = (windows(control, coupling, true), windows(control, coupling, false));
        assert!(without.first() < without.last(), "{control} {without:?}");
        assert_eq!(with, without, "{control}");
    }
}
