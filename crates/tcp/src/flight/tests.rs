use super::*;
use proptest::prelude::*;

const MSS: u64 = 100;

fn filled(segments: u64) -> Flight {
    let mut flight = Flight::default();
    for i in 0..segments {
        flight.push(1 + i * MSS, MSS as u32, false, Instant::ZERO);
    }
    flight
}

/// The sums against a walk over the ring.
fn check(f: &Flight) -> Result<(), TestCaseError> {
    let sum =
        |what: &dyn Fn(&Segment) -> bool| f.ring.iter().filter(|s| what(s)).map(Segment::size).sum::<u64>();
    prop_assert_eq!(f.outstanding, sum(&|_| true));
    prop_assert_eq!(f.sacked, sum(&|s| s.sacked));
    prop_assert_eq!(f.lost, sum(&|s| s.lost && !s.sacked));
    prop_assert_eq!(f.resent, sum(&|s| s.resent && !s.sacked));
    let pipe: u64 = f
        .ring
        .iter()
        .filter(|s| !s.sacked)
        .map(|s| if s.lost { 0 } else { s.size() } + if s.resent { s.size() } else { 0 })
        .sum();
    prop_assert_eq!(f.pipe(), pipe);
    // With `track_losses`, each loss has been reported once.
    prop_assert!(!f.keeps_losses || f.ring.iter().all(|s| s.sacked || !s.lost || s.resent || s.told));
    Ok(())
}

proptest! {
    #[test]
    fn sums_hold_whatever_the_peer_reports(steps in prop::collection::vec((0_u8..11, 0_u64..2500, 0_u64..900), 1..80)) {
        let mut f = Flight::default();
        f.track(true, true);
        f.track_losses(true);
        for i in 0..20 {
            f.push(1 + i * MSS, MSS as u32, false, Instant::ZERO);
        }
        let mut now = Instant::ZERO;
        let (mut una, mut end) = (1, 1 + 20 * MSS);
        for (what, at, len) in steps {
            // Now and then two things happen at the same moment.
            now += Duration::from_millis(u64::from(len % 3 > 0));
            match what {
                7 => {
                    // RACK: segments sent before something sent `at` ago, `len` or more ago.
                    let newest = Instant::from_nanos(now.as_nanos().saturating_sub(at * 10_000));
                    f.lose_older((newest, len), Duration::from_micros(len * 10), now);
                    // Nothing older than that is left without a judgement.
                    let kept = |s: &Segment| s.sacked || (s.lost && !s.resent) || (s.sent_at, s.end()) >= (newest, len)
                        || s.sent_at + Duration::from_micros(len * 10) > now;
                    prop_assert!(f.ring.iter().all(kept));
                }
                8 => f.lose_at_timeout(Duration::from_micros(len * 10), now),
                9 => f.forget_losses(),
                10 => {
                    if let Some(i) = f.last_unsacked() {
                        f.rescue(i, now);
                    }
                }
                0 => {
                    una = una.max(at.min(end));
                    f.acknowledge(una);
                }
                1 | 2 => {
                    let start = at.clamp(una, end);
                    f.sack(start, (start + len).min(end));
                }
                3 => f.mark_lost_below(f.lost_below(3, MSS)),
                4 => {
                    if let Some(i) = f.next_lost().or_else(|| f.next_hole()) {
                        f.resend(i, now);
                    }
                }
                5 => f.clear_sacks(),
                _ => {
                    if len < 200 {
                        f.mark_all_lost();
                    }
                    f.push(end, MSS as u32, false, now);
                    end += MSS;
                }
            }
            check(&f)?;
        }
    }
}

/// IsLost as RFC 6675 states it, for every segment, by looking at all of them.
#[test]
fn is_lost_agrees_with_the_definition() {
    for pattern in 0_u32..1 << 10 {
        let mut f = filled(10);
        for i in (0..10).filter(|i| pattern >> i & 1 == 1) {
            f.sack(1 + i * MSS, 1 + (i + 1) * MSS);
        }
        f.mark_lost_below(f.lost_below(3, MSS));
        for (i, s) in f.ring.iter().enumerate().filter(|(_, s)| !s.sacked) {
            let above = pattern >> i;
            let runs = (above & !(above << 1)).count_ones();
            let bytes = u64::from(above.count_ones()) * MSS;
            assert_eq!(s.lost, runs >= 3 || bytes > 2 * MSS, "{pattern:010b} segment {i}");
        }
    }
}

/// Operations per segment do not grow with the window.
#[test]
fn work_per_segment_does_not_depend_on_the_window() {
    let per_segment = |window: u64| {
        let mut f = filled(window);
        // Every tenth is lost; each other segment is SACKed one by one, then the holes are sent and acknowledged.
        for i in (0..window).filter(|i| i % 10 != 0) {
            f.sack(1 + i * MSS, 1 + (i + 1) * MSS);
            f.mark_lost_below(f.lost_below(3, MSS));
        }
        while let Some(i) = f.next_lost() {
            f.resend(i, Instant::ZERO);
        }
        f.acknowledge(1 + window * MSS);
        assert!(f.is_empty());
        f.steps as f64 / window as f64
    };
    // The same by time: a millisecond between sendings, half of the holes within the reordering window for a while.
    let by_time = |window: u64| {
        let ms = Duration::from_millis;
        let mut f = Flight::default();
        f.track(true, true);
        for i in 0..window {
            f.push(1 + i * MSS, MSS as u32, false, Instant::ZERO + ms(i));
        }
        for i in (0..window).filter(|i| i % 10 != 0) {
            f.forget_news();
            f.sack(1 + i * MSS, 1 + (i + 1) * MSS);
            let now = Instant::ZERO + ms(i + 100);
            f.lose_older((Instant::ZERO + ms(i), 1 + (i + 1) * MSS), ms(105), now);
        }
        f.acknowledge(1 + window * MSS);
        f.steps as f64 / window as f64
    };
    let small_by_time = by_time(10);
    for window in [1_000, 100_000] {
        let steps = by_time(window);
        assert!(steps <= small_by_time + 4.0, "{window}: {steps} against {small_by_time}");
    }
    let small = per_segment(10);
    for window in [1_000, 100_000] {
        assert!(per_segment(window) <= small + 1.0, "{window}: {} against {small}", per_segment(window));
    }
}

/// A lost transmission is reported once, even if it is marked lost again, and again only when the segment has left again.
#[test]
fn each_sending_is_lost_once() {
    let at = |n| Instant::ZERO + Duration::from_millis(n);
    let mut f = filled(4);
    f.track_losses(true);
    f.mark_front_lost();
    f.mark_lost_below(1 + 2 * MSS);
    let first = |sizes: usize| vec![Lost { sent_at: at(0), size: MSS }; sizes];
    assert_eq!(f.take_losses(), first(2));
    // An undo and a second judgement without a sending between.
    f.forget_losses();
    f.mark_lost_below(1 + 2 * MSS);
    assert_eq!(f.take_losses(), first(0));
    f.resend(0, at(10));
    f.mark_all_lost();
    let again = Lost { sent_at: at(10), size: MSS };
    assert_eq!(f.take_losses(), [vec![again], first(2)].concat());
    f.mark_all_lost();
    f.lose_at_timeout(Duration::ZERO, at(20));
    assert_eq!(f.take_losses(), first(0));
    // A segment SACKed, then given up as unSACKed, counts as delivered once.
    let mut f = filled(2);
    f.track_losses(true);
    f.sack(1 + MSS, 1 + 2 * MSS);
    f.clear_sacks();
    f.mark_all_lost();
    assert_eq!(f.take_losses(), first(1));
    // Losses are not tracked.
    let mut f = filled(2);
    f.mark_all_lost();
    assert_eq!(f.take_losses(), first(0));
}
