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
    Ok(())
}

proptest! {
    #[test]
    fn sums_hold_whatever_the_peer_reports(steps in prop::collection::vec((0_u8..7, 0_u64..2500, 0_u64..900), 1..80)) {
        let mut f = filled(20);
        let (mut una, mut end) = (1, 1 + 20 * MSS);
        for (what, at, len) in steps {
            match what {
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
                        f.resend(i, Instant::ZERO);
                    }
                }
                5 => f.clear_sacks(),
                _ => {
                    if len < 200 {
                        f.mark_all_lost();
                    }
                    f.push(end, MSS as u32, false, Instant::ZERO);
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
    let small = per_segment(10);
    for window in [1_000, 100_000] {
        assert!(per_segment(window) <= small + 1.0, "{window}: {} against {small}", per_segment(window));
    }
}
