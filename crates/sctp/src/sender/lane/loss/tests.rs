use super::*;
use crate::sender::flight::AckOutcome;
use crate::sender::flight::tests::{blocks, flight_of};

struct Run {
    flight: Flight,
    loss: Loss,
    out: AckOutcome,
}

impl Run {
    fn new(n: u64, threshold: u8) -> Self {
        Self { flight: flight_of(n), loss: Loss::new(threshold, false), out: AckOutcome::default() }
    }

    /// Applies a SACK; returns the numbers of the chunks that it marks.
    fn sack(&mut self, next: u64, above: &[u64], all_missing: bool) -> Vec<u64> {
        let gaps = blocks(next, above.iter().copied());
        self.flight.acknowledge(next, gaps.into_iter(), 1, &mut self.out).unwrap();
        let mut marked = Vec::new();
        let (newly, highest) = (self.out.lanes[0].highest_newly_acked, self.out.highest_acked);
        if let Some(limit) = self.loss.limit(&self.flight, newly, highest, all_missing) {
            self.loss.report(&mut self.flight, limit, |seq, _| marked.push(seq));
        }
        marked
    }
}

// rfc9260:6.7-5 rfc9260:7.2.4-2
#[test]
fn the_third_report_marks_and_the_fourth_with_the_older_threshold() {
    for threshold in [3, 4] {
        let mut run = Run::new(20, threshold);
        for report in 1..=5_u64 {
            let above: Vec<u64> = (6..6 + report).collect();
            let expected = if report == u64::from(threshold) { vec![5] } else { vec![] };
            assert_eq!(run.sack(5, &above, false), expected, "threshold {threshold}, report {report}");
        }
    }
}

// rfc9260:7.2.4-3
#[test]
fn reports_count_only_below_the_highest_newly_acknowledged() {
    let mut run = Run::new(20, 3);
    assert!(run.sack(0, &[1, 10], false).is_empty());
    // New acknowledgements of 2, 3, 4: chunk 0 is reported, chunks 5 to 9 are not (HTNA).
    assert!(run.sack(0, &[1, 2, 10], false).is_empty());
    assert_eq!(run.sack(0, &[1, 2, 3, 10], false), [0]);
    assert!(run.sack(0, &[1, 2, 3, 4, 10], false).is_empty());
    // A SACK without news reports nothing.
    for _ in 0..5 {
        assert!(run.sack(0, &[1, 2, 3, 4, 10], false).is_empty());
    }
    assert!(run.sack(0, &[1, 2, 3, 4, 10, 11], false).is_empty(), "second report for 5 to 9");
    assert_eq!(run.sack(0, &[1, 2, 3, 4, 10, 11, 12], false), [5, 6, 7, 8, 9]);
}

#[test]
fn in_fast_recovery_a_moving_cumulative_point_reports_everything_missing() {
    let mut run = Run::new(20, 3);
    assert!(run.sack(0, &[1, 3, 5, 9], false).is_empty());
    // 0 arrives: the point moves to 2. HTNA is 0, but in Fast Recovery 2, 4, 6, 7, 8 are all reported.
    assert!(run.sack(2, &[3, 5, 9], true).is_empty());
    let marked = run.sack(4, &[5, 9], true);
    assert_eq!(marked, [4, 6, 7, 8]);
}

#[test]
fn a_chunk_is_fast_retransmitted_once_and_by_timeout_as_often_as_needed() {
    let mut run = Run::new(10, 3);
    run.sack(0, &[1], false);
    run.sack(0, &[1, 2], false);
    assert_eq!(run.sack(0, &[1, 2, 3], false), [0]);
    assert_eq!(run.loss.next_lost(&run.flight), Some(0));
    run.flight.get_mut(0).unwrap().state = ChunkState::InFlight;
    run.loss.retransmitted(0, false);
    assert_eq!(run.loss.next_lost(&run.flight), None);
    for last in 4..8_u64 {
        assert!(run.sack(0, &(1..=last).collect::<Vec<_>>(), false).is_empty(), "ineligible");
    }
    let mut marked = 0;
    run.loss.mark_lane(&mut run.flight, LaneId::FIRST, |_| marked += 1);
    assert_eq!(marked, 3, "0, 8 and 9 were in flight");
    assert_eq!(run.loss.next_lost(&run.flight), Some(0));
}

#[test]
fn what_is_acknowledged_meanwhile_is_not_sent_again() {
    let mut run = Run::new(10, 3);
    let mut marked = 0;
    run.loss.mark_lane(&mut run.flight, LaneId::FIRST, |_| marked += 1);
    assert_eq!(marked, 10);
    run.sack(2, &[3], false);
    assert_eq!(run.loss.next_lost(&run.flight), Some(2));
    run.sack(3, &[3], false);
    assert_eq!(run.loss.next_lost(&run.flight), Some(4));
}
