use anabranch_base::{Duration, Instant};

use super::convert::{from_list, from_mahimahi, to_list};
use super::generate::{Places, Values, generate};
use super::*;
use crate::{Applies, Counts, DropTail, Frame, Link, LinkConfig, Loss, LossAt, Queue, Rate};

fn read(body: &str) -> Pattern {
    format!("anabranch-pattern 1\n{body}").parse().unwrap()
}

fn refused(body: &str) -> String {
    format!("anabranch-pattern 1\n{body}").parse::<Pattern>().unwrap_err().to_string()
}

/// A link of 8 Mbit/s and 10 ms: a packet of 1000 bytes takes 1 ms.
fn link(patterns: Vec<Pattern>) -> Link {
    let config = LinkConfig {
        rate: Rate::BitsPerSecond(8_000_000),
        delay: Duration::from_millis(10),
        queue: Queue::DropTail(DropTail::new(None, None, Counts::Ns2)),
        loss: Loss::None,
        loss_at: LossAt::Exit,
    };
    Link::new(config).with_patterns(patterns.into_iter().map(|p| (p, Applies::default())).collect())
}

/// Sends `count` packets at once and says which arrive, at which microsecond.
fn run(mut link: Link, count: u32) -> Vec<(u32, u64)> {
    for id in 1..=count {
        link.handle_frame(Instant::ZERO, Frame { id, size: 1000, bytes: vec![0; 980], ..Frame::default() });
    }
    drain(&mut link)
}

fn drain(link: &mut Link) -> Vec<(u32, u64)> {
    let mut arrived = Vec::new();
    while let Some(at) = link.poll_timeout() {
        while let Some(frame) = link.poll_delivery(at) {
            arrived.push((frame.id, at.as_nanos() / 1_000));
        }
    }
    arrived
}

#[test]
fn text_is_read_and_written_the_same() {
    for body in [
        "kind loss\ndriven data\n3\n5-7\n",
        "kind loss\ndriven time\nlength 100\nrepeat\n1\n",
        "kind bit-error\ndriven data\n7: 33 65\n",
        "kind delay\ndriven time\n1: 20 ms\n100: 1500 us\n",
        "kind bandwidth\ndriven data\nlength 10\n1: 3 Mbit/s\n4: 0 bit/s\n",
        "kind reorder\ndriven data\nhold 500000000 ns\n8: 3\n",
        "kind duplicate\ndriven data\n9: 1\n",
        "kind trigger\ndriven data\n9: 0\n",
    ] {
        let text = format!("anabranch-pattern 1\n{body}");
        assert_eq!(text.parse::<Pattern>().unwrap().to_string(), text);
    }
    let loose = read("# by hand\n\nkind loss # of packets\n 4 - 6 \n");
    assert_eq!(loose.entries(), [Entry { first: 4, last: 6, value: Value::Lost }]);
    assert_eq!((loose.driven(), loose.marked()), (Driven::Data, 3));
}

#[test]
fn what_makes_no_sense_is_refused_in_one_sentence() {
    for (body, told) in [
        ("kind los\n", "line 2: no kind \"los\"; allowed: loss, bit-error"),
        ("3\n", "line 2: \"kind ...\" comes before the first position"),
        ("kind loss\n5\n4\n", "line 4: position 4 is out of order"),
        ("kind loss\n5-4\n", "line 3: positions 5-4 end before they start"),
        ("kind loss\n0\n", "line 3: \"0\" is no whole number of 1 to"),
        ("kind loss\n3: 1\n", "line 3: a loss has no value"),
        ("kind delay\n3\n", "line 3: a value is missing, as in \"3: 20 ms\""),
        ("kind delay\n3: 20\n", "has no unit"),
        ("kind delay\n3-4: 20 ms\n", "positions 3-4: a delay holds until the next entry"),
        ("kind loss\nlength 3\n4\n", "position 4 lies beyond the length 3"),
        ("kind loss\nrepeat\n4\n", "a pattern that repeats needs a length"),
        ("kind loss\n4\nlength 9\n", "\"length\" after the first position"),
        ("kind loss\nkind loss\n", "line 3: \"kind\" stands twice"),
        ("kind loss\nhold 1 s\n4\n", "\"hold\" has a meaning only in a pattern of kind reorder"),
        ("kind loss\nwrong\n", "unknown word \"wrong\"; allowed: kind, driven"),
        ("driven data\n", "the line \"kind ...\" is missing"),
    ] {
        let error = refused(body);
        assert!(error.contains(told) && !error.contains('\n'), "{body:?}: {error}");
    }
    assert!("x".parse::<Pattern>().unwrap_err().to_string().contains("line 1: \"x\" is no pattern"));
    assert!("".parse::<Pattern>().is_err());
}

#[test]
fn losses_fall_where_the_pattern_says_and_begin_anew() {
    let arrived = run(link(vec![read("kind loss\nlength 4\nrepeat\n2\n4\n")]), 8);
    assert_eq!(arrived, [(1, 11_000), (3, 13_000), (5, 15_000), (7, 17_000)]);
    let once = run(link(vec![read("kind loss\n2-3\n")]), 5);
    assert_eq!(once.iter().map(|a| a.0).collect::<Vec<_>>(), [1, 4, 5]);
    // By time: packet k has been sent at k ms, which is position k + 1.
    let timed = run(link(vec![read("kind loss\ndriven time\n3\n")]), 4);
    assert_eq!(timed.iter().map(|a| a.0).collect::<Vec<_>>(), [1, 3, 4]);
}

#[test]
fn delays_hold_until_the_next_entry_and_nobody_overtakes() {
    let arrived = run(link(vec![read("kind delay\n2: 20 ms\n4: 5 ms\n")]), 6);
    // The fourth would arrive at 9 ms: it stays behind the third.
    assert_eq!(arrived, [(1, 11_000), (2, 22_000), (3, 23_000), (4, 23_000), (5, 23_000), (6, 23_000)]);
    let again = run(link(vec![read("kind delay\nlength 2\nrepeat\n2: 20 ms\n")]), 4);
    // In the second cycle the last value of the first still holds.
    assert_eq!(again, [(1, 11_000), (2, 22_000), (3, 23_000), (4, 24_000)]);
}

#[test]
fn a_rate_that_changes_by_packet_or_by_millisecond() {
    let by_packet = run(link(vec![read("kind bandwidth\n2: 4 Mbit/s\n3: 8 Mbit/s\n")]), 3);
    assert_eq!(by_packet, [(1, 11_000), (2, 13_000), (3, 14_000)]);
    // 8 Mbit/s for 1.5 ms, an outage of 2.5 ms is not expressible: positions are milliseconds. From 2 ms on nothing, from
    // 5 ms on half the rate: the third packet starts at 2 ms and has sent nothing until 5 ms.
    let by_time = run(link(vec![read("kind bandwidth\ndriven time\n3: 0 bit/s\n6: 4 Mbit/s\n")]), 4);
    assert_eq!(by_time, [(1, 11_000), (2, 12_000), (3, 17_000), (4, 19_000)]);
    // Half a packet before the change, half after it.
    let across = run(link(vec![read("kind bandwidth\ndriven time\n1: 4 Mbit/s\n2: 2 Mbit/s\n")]), 1);
    assert_eq!(across, [(1, 13_000)]);
    let repeated =
        run(link(vec![read("kind bandwidth\ndriven time\nlength 2\nrepeat\n1: 8 Mbit/s\n2: 0 bit/s\n")]), 3);
    assert_eq!(repeated, [(1, 11_000), (2, 13_000), (3, 15_000)]);
    // Stopped for ever: packets wait, and nothing runs in circles.
    let stopped = run(link(vec![read("kind bandwidth\ndriven time\nlength 2\nrepeat\n1: 0 bit/s\n")]), 3);
    assert_eq!(stopped, []);
    let dead = run(link(vec![read("kind bandwidth\n2: 0 bit/s\n")]), 3);
    assert_eq!(dead, [(1, 11_000)]);
}

#[test]
fn packets_are_passed_by_as_many_as_the_pattern_says() {
    let arrived = run(link(vec![read("kind reorder\n2: 2\n")]), 5);
    assert_eq!(arrived, [(1, 11_000), (3, 13_000), (4, 14_000), (2, 14_000), (5, 15_000)]);
    // No packet passes it: it waits as long as the pattern says.
    let alone = run(link(vec![read("kind reorder\nhold 30 ms\n2: 2\n")]), 2);
    assert_eq!(alone, [(1, 11_000), (2, 42_000)]);
    // Both are held; the third passes them in turn.
    let two = run(link(vec![read("kind reorder\n1-2: 1\n")]), 3);
    assert_eq!(two.iter().map(|a| a.0).collect::<Vec<_>>(), [3, 1, 2]);
}

#[test]
fn copies_follow_and_bits_flip() {
    let arrived = run(link(vec![read("kind duplicate\n2: 2\n")]), 3);
    assert_eq!(arrived.iter().map(|a| a.0).collect::<Vec<_>>(), [1, 2, 2, 2, 3]);
    let mut broken = link(vec![read("kind bit-error\n1: 0 15 80000\n2: 3\n")]);
    broken.handle_frame(Instant::ZERO, Frame { id: 1, size: 22, bytes: vec![0; 2], ..Frame::default() });
    broken.handle_frame(Instant::ZERO, Frame { id: 2, size: 20, ..Frame::default() });
    let mut seen = Vec::new();
    while let Some(at) = broken.poll_timeout() {
        while let Some(frame) = broken.poll_delivery(at) {
            seen.push((frame.id, frame.bytes));
        }
    }
    assert_eq!(seen, [(1, vec![0x80, 0x01])]);
    let dropped = broken.poll_dropped().unwrap();
    assert_eq!(dropped.frame.id, 2, "a packet without bytes is destroyed by any bit error");
}

#[test]
fn triggers_report_and_patterns_add_up() {
    let mut both =
        link(vec![read("kind trigger\n2: 7\n"), read("kind loss\n2\n"), read("kind delay\n3: 15 ms\n")]);
    for id in 1..=3 {
        both.handle_frame(Instant::ZERO, Frame { id, size: 1000, ..Frame::default() });
    }
    assert_eq!(drain(&mut both), [(1, 11_000), (3, 18_000)]);
    assert_eq!(both.poll_signal(), Some(Signal { at: Instant::from_nanos(2_000_000), value: 7 }));
    assert_eq!(both.poll_signal(), None);
}

#[test]
fn only_the_packets_that_it_applies_to_are_counted() {
    let config = LinkConfig {
        rate: Rate::Infinite,
        delay: Duration::ZERO,
        queue: Queue::DropTail(DropTail::new(None, None, Counts::Ns2)),
        loss: Loss::None,
        loss_at: LossAt::Exit,
    };
    let applies = Applies { data_only: true, flow: Some(4), ..Applies::default() };
    let mut link = Link::new(config).with_patterns(vec![(read("kind loss\n2\n"), applies)]);
    for (id, flow, data) in [(1, 4, true), (2, 4, false), (3, 3, true), (4, 4, true), (5, 4, true)] {
        link.handle_frame(Instant::ZERO, Frame { id, flow, data, ..Frame::default() });
    }
    assert_eq!(drain(&mut link).iter().map(|a| a.0).collect::<Vec<_>>(), [1, 2, 3, 5]);
}

#[test]
fn an_empty_pattern_changes_nothing() {
    let plain = run(link(vec![]), 50);
    assert_eq!(run(link(vec![read("kind loss\n")]), 50), plain);
    let own = run(link(vec![read("kind bandwidth\ndriven time\nlength 7\nrepeat\n1: 8 Mbit/s\n")]), 50);
    assert_eq!(own, plain);
}

#[test]
fn generators_make_what_they_say() {
    let lost = Values::Same(Value::Lost);
    let make = |places: Places, length| generate(&places, &lost, Driven::Data, length, false, 7).unwrap();
    assert_eq!(make(Places::At(vec![(5, 6), (1, 1), (7, 7)]), 9).to_string().lines().last(), Some("5-7"));
    let regular = make(Places::Regular { every: 10, length: 3 }, 32);
    assert_eq!(to_list(&regular).lines().collect::<Vec<_>>().join(" "), "10 11 12 20 21 22 30 31 32");
    let n = 400_000;
    let share = |pattern: &Pattern| pattern.marked() as f64 / n as f64;
    let random = make(Places::Random { p: 0.01 }, n);
    assert!((share(&random) - 0.01).abs() < 4.0 * (0.01_f64 / n as f64).sqrt());
    let bursts = make(Places::Bursts { p: 0.001, mean: 5.0 }, n);
    let mean = bursts.marked() as f64 / bursts.entries().len() as f64;
    assert!((mean - 5.0).abs() < 1.0, "{mean}");
    // Stationary: 0.01 / (0.01 + 0.25) of the time in the bad state.
    let model = Places::GilbertElliott { to_bad: 0.01, to_good: 0.25, good: 0.0, bad: 0.5 };
    assert!((share(&make(model, n)) - 0.5 * 0.01 / 0.26).abs() < 0.0015);
    assert_eq!(make(Places::Random { p: 0.1 }, 100), make(Places::Random { p: 0.1 }, 100));
    let wrong = |places, values| generate(&places, &values, Driven::Data, 9, false, 1).is_err();
    assert!(wrong(Places::Random { p: 1.5 }, lost.clone()));
    assert!(wrong(Places::Regular { every: 2, length: 3 }, lost.clone()));
    assert!(wrong(Places::At(vec![(10, 10)]), lost.clone()));
    assert!(wrong(Places::At(vec![]), Values::RandomBits { count: 3, below: 2 }));
    let bits = Values::RandomBits { count: 3, below: 8 };
    let bits = generate(&Places::At(vec![(2, 4)]), &bits, Driven::Data, 9, false, 1).unwrap();
    assert!(
        bits.entries().len() == 3
            && bits.entries().iter().all(|e| matches!(&e.value, Value::Bits(b) if b.len() == 3))
    );
}

#[test]
fn other_formats() {
    // Two opportunities in the first millisecond, none in the second, one in the third.
    let trace = from_mahimahi("0\n1\n3\n", 1).unwrap();
    let rate = 1_504 * 8 * 1_000;
    let values: Vec<_> = trace.entries().iter().map(|e| (e.first, e.value.clone())).collect();
    assert_eq!(values, [(1, Value::Rate(2 * rate)), (2, Value::Rate(0)), (3, Value::Rate(rate))]);
    assert!(trace.repeats() && trace.length() == Some(3));
    assert_eq!(from_mahimahi("0\n1\n3\n", 3).unwrap().entries().len(), 1);
    // The longest bin, and the last millisecond that there is.
    assert_eq!(from_mahimahi("0\n1\n3\n", u64::MAX).unwrap().entries().len(), 1);
    let text = format!("1\n{}\n", u64::MAX);
    let read = from_mahimahi(&text, u64::MAX / 2);
    assert!(read.is_err() || read.is_ok_and(|pattern| !pattern.entries().is_empty()));
    for (text, told) in [
        ("x\n", "line 1"),
        ("2\n1\n", "line 2: 1 ms comes before"),
        ("", "delivers nothing"),
        ("0\n", "delivers nothing"),
    ] {
        assert!(from_mahimahi(text, 1).unwrap_err().to_string().contains(told));
    }
    let list = from_list("3, 5-7\n9", Driven::Data).unwrap();
    assert_eq!(to_list(&list), "3\n5\n6\n7\n9\n");
    assert!(from_list("3, x", Driven::Data).is_err() && from_list("0", Driven::Data).is_err());
}
