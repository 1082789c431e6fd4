//! Loss detection by time: RACK (RFC 8985, section 6) carried over to SCTP, for each lane on its own.
//!
//! Gap blocks and the cumulative TSN take the place of SACK blocks, duplicate TSNs that of DSACK. The suspects of [`Loss`] are in
//! the order of sending, which as a rule is that of their numbers; those sent again have a list of their own. Each is looked at when
//! it is the oldest: a constant number of times, however large the window.

use std::collections::VecDeque;

use anabranch_base::{Duration, Instant};
use anabranch_transport::rack::{Probe, ProbeAnswer, Rack as Core};

use super::loss::Loss;
use crate::sender::flight::{ChunkState, Flight, LaneAck, SentChunk};

/// "DupThresh": so many chunks acknowledged above a hole make reordering unlikely.
const DUP_THRESHOLD: u64 = 3;

#[derive(Debug)]
pub(crate) struct Rack {
    core: Core,
    /// Retransmissions, in the order of sending.
    resent: VecDeque<(Instant, u64)>,
    probe: Option<Probe>,
}

/// State of a lane that RACK needs besides its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Circumstances {
    pub(crate) now: Instant,
    pub(crate) min_rtt: Option<Duration>,
    pub(crate) srtt: Option<Duration>,
    /// The last sample of the round trip.
    pub(crate) newest_rtt: Duration,
    pub(crate) in_recovery: bool,
    /// Number of chunks acknowledged above the earliest unacknowledged one.
    pub(crate) acked_above: u64,
}

impl Rack {
    pub(crate) fn new() -> Self {
        Self { core: Core::new(true), resent: VecDeque::new(), probe: None }
    }

    /// A chunk is being sent again.
    pub(crate) fn resent(&mut self, now: Instant, seq: u64) {
        self.resent.push_back((now, seq));
    }

    /// Takes the list of retransmissions, for another lane.
    pub(crate) fn take_resent(&mut self) -> VecDeque<(Instant, u64)> {
        std::mem::take(&mut self.resent)
    }

    /// Takes over the retransmissions of another lane: "RACK_sent_after" goes by the time of each (RFC 8985, 6.2, step 5).
    pub(crate) fn adopt(&mut self, resent: VecDeque<(Instant, u64)>) {
        self.resent.extend(resent);
        self.resent.make_contiguous().sort_unstable();
    }

    /// Forgets retransmissions and probe: T3-rtx has expired, or the chunks have gone to another lane.
    pub(crate) fn forget(&mut self) {
        self.resent.clear();
        self.probe = None;
    }

    /// Numbers begin anew: forgets the old ones that end the probe and the round trip to which duplicates belong.
    pub(crate) fn forget_numbers(&mut self) {
        self.forget();
        self.core.end_round();
    }

    /// A duplicate was reported: a retransmission was needless. Once a round trip the reordering window grows: "RACK.
    /// reo_wnd_mult += 1" (RFC 8985, 6.2, step 4).
    pub(crate) fn duplicate(&mut self, flight: &Flight, seq: u64) {
        if self.probe.is_some_and(|probe| probe.resent == Some(seq)) {
            self.probe = None; // the original had arrived
            return;
        }
        // The original came after all. RFC 8985 takes this for reordering only if the chunk was not retransmitted.
        self.core.note_reordering();
        self.core.duplicate(flight.first(), flight.next());
    }

    /// A recovery is over.
    pub(crate) fn recovered(&mut self) {
        self.core.recovered();
    }

    /// Reordering window: the time by which a chunk may arrive later than chunks sent after it (RFC 8985, 6.2, step 4).
    fn window(&self, c: &Circumstances) -> Duration {
        let hurry = c.in_recovery || c.acked_above >= DUP_THRESHOLD;
        // A quarter of it is a whole number of nanoseconds.
        let least = Duration::from_nanos(c.min_rtt.unwrap_or(self.core.rtt()).as_nanos() & !3);
        self.core.window(hurry, Some(least), Some(c.srtt.unwrap_or(self.core.rtt())))
    }

    /// The chunks that a SACK delivered (RFC 8985, 6.2, steps 2 and 3). The newest transmission counts.
    ///
    /// "If the RTT is less than the minimum" the answer is to the original: that minimum may be from long ago, before a
    /// queue stood on the path. The answer to an original that comes shortly after its retransmission would make
    /// RACK.rtt as short, and all chunks in flight lost. So an answer in less than half of the last round trip that
    /// was measured without a retransmission, or of the smoothed one where that is shorter, is ambiguous as well.
    pub(crate) fn delivered(&mut self, c: &Circumstances, ack: &LaneAck) {
        let once = ack.newest_once.map(|(seq, sent)| (sent, seq));
        let least = c.min_rtt.max(c.srtt.map(|srtt| srtt.min(c.newest_rtt) / 2));
        let resent = ack.newest_resent.filter(|(sent, _)| !Core::<u64>::is_of_original(*sent, c.now, least));
        if let Some((sent, seq)) = once.max(resent) {
            self.core.delivered(sent, seq, c.now);
        }
    }

    /// Marks lost chunks (RFC 8985, 6.2, step 5), and returns the time at which to look again.
    pub(crate) fn detect(
        &mut self,
        flight: &mut Flight,
        loss: &mut Loss,
        c: &Circumstances,
        highest_acked: Option<u64>,
        mut marked: impl FnMut(u64, &SentChunk),
    ) -> Option<Instant> {
        self.core.newest()?;
        let (suspects, late) = loss.suspects_up_to(flight, highest_acked);
        if late {
            self.core.note_reordering();
        }
        // A suspect that was acknowledged after all came late: that is reordering.
        while let Some(&seq) = suspects.front() {
            if flight.get(seq).is_some_and(|chunk| chunk.state == ChunkState::InFlight) {
                break;
            }
            if flight.get(seq).is_none_or(|chunk| chunk.state == ChunkState::GapAcked) {
                self.core.note_reordering();
            }
            suspects.pop_front();
        }
        let wait = self.core.rtt() + self.window(c);
        let core = &self.core;
        let mut lost = Vec::new();
        while let Some(&seq) = suspects.front() {
            let Some(chunk) = flight.get(seq).filter(|chunk| chunk.state == ChunkState::InFlight) else {
                suspects.pop_front();
                continue;
            };
            if core.deadline(chunk.sent_at, seq, wait).is_none_or(|at| at > c.now) {
                break;
            }
            lost.push(seq);
            suspects.pop_front();
        }
        let deadline = |seq: &u64| core.deadline(flight.get(*seq)?.sent_at, *seq, wait);
        let first = suspects.front().and_then(deadline);
        // "The timer ... is set to expire ... for the longest" of them (RFC 8985, 6.2, step 5): one expiry for all.
        let mut look_again = suspects.back().and_then(deadline).max(first);
        while let Some(&(sent, seq)) = self.resent.front() {
            let current =
                flight.get(seq).is_some_and(|c| c.state == ChunkState::InFlight && c.sent_at == sent);
            if current && core.deadline(sent, seq, wait).is_none_or(|at| at > c.now) {
                break;
            }
            self.resent.pop_front();
            if current {
                lost.push(seq);
            }
        }
        let older = self.resent.partition_point(|(sent, seq)| core.deadline(*sent, *seq, wait).is_some());
        if let Some((sent, _)) = older.checked_sub(1).and_then(|last| self.resent.get(last)) {
            look_again = look_again.max(Some(*sent + wait));
        }
        // A chunk that is due already has just been judged: a timer in the past would expire again and again.
        look_again = look_again.filter(|at| *at > c.now);
        lost.sort_unstable();
        for seq in lost {
            if let Some(chunk) = loss.mark(flight, seq) {
                marked(seq, chunk);
            }
        }
        look_again
    }

    pub(crate) fn probes(&self) -> bool {
        self.probe.is_some()
    }

    /// A tail loss probe leaves.
    pub(crate) fn probe(&mut self, flight: &Flight, resent: Option<u64>) {
        self.probe = Some(Probe { end: flight.next(), resent });
    }

    /// Compares an acknowledgement with the probe (RFC 8985, 7.4.2). As duplicates are reported, an acknowledgement without a duplicate
    /// that passes all numbers sent before the probe shows that the probe was needed.
    pub(crate) fn probe_answered(&mut self, flight: &Flight) -> ProbeAnswer {
        let Some(probe) = self.probe else { return ProbeAnswer::Open };
        let answer = probe.answer(flight.first(), false);
        if answer != ProbeAnswer::Open {
            self.probe = None;
        }
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sender::flight::AckOutcome;
    use crate::sender::flight::tests::{blocks, flight_of};

    const RTT: Duration = Duration::from_millis(80);

    struct Run {
        flight: Flight,
        loss: Loss,
        rack: Rack,
        acked_above: u64,
    }

    impl Run {
        /// Chunk `i` was sent at `i` milliseconds.
        fn new(n: u64) -> Self {
            let mut flight = flight_of(n);
            for (seq, chunk) in flight.iter_mut() {
                chunk.sent_at = Instant::ZERO + Duration::from_millis(seq);
            }
            Self { flight, loss: Loss::new(3, false), rack: Rack::new(), acked_above: 0 }
        }

        fn circumstances(&self, ms: u64) -> Circumstances {
            Circumstances {
                now: Instant::ZERO + Duration::from_millis(ms),
                min_rtt: Some(RTT),
                srtt: Some(RTT),
                newest_rtt: RTT,
                in_recovery: false,
                acked_above: self.acked_above,
            }
        }

        /// A SACK at so many milliseconds: returns the chunks found lost, and the time of the next look.
        fn sack(&mut self, ms: u64, next: u64, above: &[u64]) -> (Vec<u64>, Option<u64>) {
            let mut out = AckOutcome::default();
            let gaps = blocks(next, above.iter().copied());
            self.flight.acknowledge(next, gaps.into_iter(), 1, &mut out).unwrap();
            self.acked_above = above.len() as u64;
            let c = self.circumstances(ms);
            self.rack.delivered(&c, &out.lanes[0]);
            self.detect(ms, out.lanes[0].highest_newly_acked)
        }

        fn detect(&mut self, ms: u64, highest: Option<u64>) -> (Vec<u64>, Option<u64>) {
            let c = self.circumstances(ms);
            let mut lost = Vec::new();
            let again =
                self.rack.detect(&mut self.flight, &mut self.loss, &c, highest, |seq, _| lost.push(seq));
            (lost, again.map(|at| (at - Instant::ZERO).as_nanos() / 1_000_000))
        }
    }

    /// A hole waits for a quarter of the shortest round trip after the newest delivery, and is lost then.
    #[test]
    fn a_hole_is_lost_after_the_reordering_window() {
        let mut run = Run::new(10);
        // Chunk 1, sent at 1 ms, was delivered in 80 ms: 0 has until 0 + 80 + 20 ms.
        assert_eq!(run.sack(81, 0, &[1]), (vec![], Some(100)));
        assert_eq!(run.detect(99, None), (vec![], Some(100)));
        assert_eq!(run.detect(100, None), (vec![0], None));
    }

    /// With three chunks acknowledged above a hole, and no reordering so far, the hole is lost at once.
    #[test]
    fn three_chunks_above_a_hole_make_it_lost_at_once() {
        let mut run = Run::new(10);
        assert_eq!(run.sack(82, 0, &[1, 2]), (vec![], Some(100)));
        assert_eq!(run.sack(83, 0, &[1, 2, 3]), (vec![0], None));
    }

    /// A late chunk makes the reordering window stay; duplicates make it grow, once a round trip.
    #[test]
    fn reordering_and_duplicates_widen_the_window() {
        let mut run = Run::new(40);
        assert_eq!(run.sack(82, 0, &[1, 2]).0, []);
        assert_eq!(run.sack(90, 3, &[]), (vec![], None));
        assert!(run.rack.core.reordering_seen());
        // Chunk 7 was delivered in 80 ms; 3 to 6 have 80 + 20 ms.
        assert_eq!(run.sack(87, 3, &[7, 8, 9]).1, Some(6 + 78 + 20));
        run.rack.duplicate(&run.flight, 1);
        run.rack.duplicate(&run.flight, 2);
        assert_eq!(run.detect(88, None).1, Some(6 + 78 + 40));
        for _ in 0..16 {
            run.rack.recovered();
        }
        assert_eq!(run.detect(88, None).1, Some(6 + 78 + 20));
    }

    /// The shortest round trip is from long ago, before a queue stood on the path: an answer long before the usual time is to the original.
    #[test]
    fn an_answer_soon_after_a_retransmission_is_none_to_it() {
        for (srtt, lost) in [(1000, vec![]), (100, vec![0])] {
            let mut run = Run::new(10);
            assert_eq!(run.sack(83, 0, &[1, 2, 3]).0, [0]);
            // Chunk 4 is sent again at 900 ms, long after all others; an answer comes 100 ms later.
            let at = Instant::ZERO + Duration::from_millis(900);
            let chunk = run.flight.get_mut(4).unwrap();
            (chunk.sent_at, chunk.transmissions) = (at, 2);
            run.rack.resent(at, 4);
            for seq in [0, 5] {
                run.flight.get_mut(seq).unwrap().state = ChunkState::InFlight;
            }
            let mut out = AckOutcome::default();
            let gaps = blocks(0, [1, 2, 3, 4]);
            run.flight.acknowledge(0, gaps.into_iter(), 1, &mut out).unwrap();
            let rtt = Duration::from_millis(srtt);
            let c = Circumstances { srtt: Some(rtt), newest_rtt: rtt, ..run.circumstances(1000) };
            run.rack.delivered(&c, &out.lanes[0]);
            let newest = run.rack.core.newest().map(|(_, seq)| seq);
            assert_eq!(newest, Some(if lost.is_empty() { 3 } else { 4 }), "SRTT {srtt} ms");
        }
    }

    /// A retransmission is lost when a chunk sent later was delivered and a round trip has passed.
    #[test]
    fn a_lost_retransmission_is_found() {
        let mut run = Run::new(10);
        assert_eq!(run.sack(83, 0, &[1, 2, 3]).0, [0]);
        let at = Instant::ZERO + Duration::from_millis(83);
        assert_eq!(run.loss.next_lost(&run.flight), Some(0));
        run.loss.retransmitted(0, false);
        let chunk = run.flight.get_mut(0).unwrap();
        (chunk.state, chunk.sent_at, chunk.transmissions) = (ChunkState::InFlight, at, 2);
        run.rack.resent(at, 0);
        // Deliveries of chunks sent earlier do not show the retransmission lost.
        assert_eq!(run.sack(89, 0, &[1, 2, 3, 4, 5, 6, 7, 8]).0, []);
        // Chunk 9 was sent at 90 ms, after the retransmission, and is delivered.
        run.flight.get_mut(9).unwrap().sent_at = Instant::ZERO + Duration::from_millis(90);
        assert_eq!(run.sack(170, 0, &[1, 2, 3, 4, 5, 6, 7, 8, 9]).0, [0]);
    }
}
