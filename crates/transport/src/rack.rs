//! The state of RACK-TLP (RFC 8985) beside the flight: the newest delivery, the reordering window, an open probe.
//!
//! The flight is walked by the protocol, which keeps it in an order of its own. Something sent is named by a number
//! that grows with the order of sending among packets of the same time: for TCP the end of a segment, for SCTP the
//! TSN.

use anabranch_base::{Duration, Instant};

/// Recoveries after which a window that grew is forgotten (RFC 8985, 6.2, step 4).
const PERSIST: u8 = 16;

/// Variables of a connection, or of a lane (RFC 8985, 5.3).
#[derive(Clone, Debug)]
pub struct Rack<P = u64> {
    /// RACK.xmit_ts and RACK.end_seq: the time and number of the delivered packet that was sent last.
    newest: Option<(Instant, P)>,
    /// RACK.rtt.
    rtt: Duration,
    /// RACK.rtt is that of `newest`.
    rtt_of_newest: bool,
    reordering_seen: bool,
    /// RACK.reo_wnd_mult and RACK.reo_wnd_persist.
    steps: u64,
    persist: u8,
    /// Duplicates belong to one round trip until this is acknowledged (RACK.dsack_round).
    duplicates_until: Option<P>,
}

impl<P: Copy + Ord> Rack<P> {
    /// Nothing has been delivered. RACK.rtt is that of every acknowledgement that brings news (RFC 8985, 6.2, step 2), or,
    /// with `rtt_of_newest`, only of one that tells of something sent later than all that had arrived.
    #[must_use]
    pub fn new(rtt_of_newest: bool) -> Self {
        Self {
            newest: None,
            rtt: Duration::ZERO,
            rtt_of_newest,
            reordering_seen: false,
            steps: 1,
            persist: 0,
            duplicates_until: None,
        }
    }

    /// RACK.rtt.
    #[must_use]
    pub fn rtt(&self) -> Duration {
        self.rtt
    }

    /// The time and number of the delivered packet that was sent last; `None` before the first.
    #[must_use]
    pub fn newest(&self) -> Option<(Instant, P)> {
        self.newest
    }

    /// Whether it is the answer to the original and not to the retransmission at `sent`: "If the RTT is less than the minimum"
    /// (RFC 8985, 6.2, step 2). Such an answer says nothing of the retransmission.
    #[must_use]
    pub fn is_of_original(sent: Instant, now: Instant, min_rtt: Option<Duration>) -> bool {
        min_rtt.is_some_and(|least| now - sent < least)
    }

    /// An acknowledgement covered a packet sent at `sent`, its newest (RFC 8985, 6.2, step 2).
    pub fn delivered(&mut self, sent: Instant, number: P, now: Instant) {
        let newer = self.newest.is_none_or(|known| (sent, number) > known);
        if newer || !self.rtt_of_newest {
            self.rtt = now - sent;
        }
        if newer {
            self.newest = Some((sent, number));
        }
    }

    /// A packet arrived after one that had been sent later (RFC 8985, 6.2, step 3).
    pub fn note_reordering(&mut self) {
        self.reordering_seen = true;
    }

    /// Whether that ever happened.
    #[must_use]
    pub fn reordering_seen(&self) -> bool {
        self.reordering_seen
    }

    /// The peer reported a duplicate: something was sent again for nothing. Once a round trip the window grows (RFC 8985, 6.2, step 4).
    /// `una` is the first number not acknowledged, `max` the first never sent.
    pub fn duplicate(&mut self, una: P, max: P) {
        if self.duplicates_until.is_none_or(|until| una >= until) {
            self.duplicates_until = Some(max);
            self.steps += 1;
            self.persist = PERSIST;
        }
    }

    /// The round trip to which duplicates belong is over: its end was a number that will not come.
    pub fn end_round(&mut self) {
        self.duplicates_until = None;
    }

    /// A recovery is over: "Reset the window after 16 DSACK-free recoveries".
    pub fn recovered(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.steps = 1;
        }
    }

    /// RACK.reo_wnd: how much later than its followers something may arrive (RFC 8985, 6.2, step 4). `hurry`: loss recovery goes on, or
    /// enough has been acknowledged above a hole to make reordering unlikely.
    #[must_use]
    pub fn window(&self, hurry: bool, min_rtt: Option<Duration>, srtt: Option<Duration>) -> Duration {
        if hurry && !self.reordering_seen {
            return Duration::ZERO;
        }
        let window = min_rtt.map_or(Duration::ZERO, |least| least * self.steps / 4);
        srtt.map_or(window, |srtt| window.min(srtt))
    }

    /// When something sent at `sent` is lost, should it not have arrived until then; `None` where nothing sent after it has
    /// (RFC 8985, 6.2, step 5). `wait` is RACK.rtt and the reordering window.
    #[inline]
    #[must_use]
    pub fn deadline(&self, sent: Instant, number: P, wait: Duration) -> Option<Instant> {
        self.newest.is_some_and(|newest| (sent, number) < newest).then(|| sent + wait)
    }
}

/// A tail loss probe that is on its way (RFC 8985, 7.4).
#[derive(Clone, Copy, Debug)]
pub struct Probe<P = u64> {
    /// TLP.end_seq: the first number that had not been sent when it left.
    pub end: P,
    /// The number that was sent again; `None`: new data (TLP.is_retrans).
    pub resent: Option<P>,
}

/// The result of a tail loss probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeAnswer {
    /// Nothing is known yet.
    Open,
    /// Nothing was lost.
    Needless,
    /// The probe repaired a loss: "invoke a congestion control response" (RFC 8985, 7.4.2).
    Repaired,
}

impl<P: Copy + Ord> Probe<P> {
    /// The result of the probe by an acknowledgement of everything below `una` that reports no duplicate. `repeated`:
    /// it acknowledges nothing new.
    #[must_use]
    pub fn answer(&self, una: P, repeated: bool) -> ProbeAnswer {
        match self.resent {
            None if una >= self.end => ProbeAnswer::Needless,
            Some(_) if una > self.end => ProbeAnswer::Repaired,
            // The original and the probe have arrived.
            Some(_) if una == self.end && repeated => ProbeAnswer::Needless,
            _ => ProbeAnswer::Open,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(n: u64) -> Instant {
        Instant::ZERO + ms(n)
    }

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    /// RACK_update: the packet sent last, ties broken by the number.
    #[test]
    fn the_newest_is_the_one_sent_last() {
        for (of_newest, later) in [(false, ms(26)), (true, ms(20))] {
            let mut rack = Rack::new(of_newest);
            assert_eq!((rack.newest(), rack.deadline(at(0), 0, ms(1))), (None, None));
            rack.delivered(at(10), 2, at(30));
            rack.delivered(at(10), 3, at(30));
            assert_eq!((rack.newest(), rack.rtt()), (Some((at(10), 3)), ms(20)));
            // An older one arrives late: the newest stays.
            rack.delivered(at(5), 1, at(31));
            assert_eq!((rack.newest(), rack.rtt()), (Some((at(10), 3)), later));
            assert_eq!(rack.deadline(at(10), 2, ms(20)), Some(at(30)), "at the same time, and before it");
            assert_eq!(rack.deadline(at(10), 3, ms(20)), None);
            assert_eq!(rack.deadline(at(11), 1, ms(20)), None);
        }
    }

    #[test]
    fn sooner_than_the_shortest_round_trip_is_the_original() {
        let of_original = |sent, now, least| Rack::<u64>::is_of_original(at(sent), at(now), least);
        assert!(of_original(50, 69, Some(ms(20))));
        assert!(!of_original(50, 70, Some(ms(20))));
        assert!(!of_original(50, 51, None));
    }

    #[test]
    fn a_quarter_of_the_shortest_round_trip_or_nothing() {
        let mut rack = Rack::<u32>::new(false);
        let (least, srtt) = (Some(ms(80)), Some(ms(90)));
        assert_eq!(rack.window(false, least, srtt), ms(20));
        assert_eq!(rack.window(true, least, srtt), Duration::ZERO);
        assert_eq!(rack.window(false, None, srtt), Duration::ZERO, "nothing was measured");
        rack.note_reordering();
        assert_eq!(rack.window(true, least, srtt), ms(20));
        for round in 0..9 {
            rack.duplicate(round, round + 1);
        }
        assert_eq!(rack.window(true, least, None), ms(200));
        assert_eq!(rack.window(true, least, srtt), ms(90), "SRTT at most");
    }

    /// Step 4: one step a round with a duplicate; back after 16 recoveries without.
    #[test]
    fn duplicates_widen_the_window_once_a_round_trip() {
        let mut rack = Rack::new(false);
        rack.duplicate(10, 20);
        rack.duplicate(15, 25);
        assert_eq!(rack.steps, 2, "the same round");
        rack.duplicate(20, 30);
        assert_eq!(rack.steps, 3);
        for _ in 0..15 {
            rack.recovered();
        }
        assert_eq!(rack.steps, 3);
        rack.recovered();
        assert_eq!(rack.steps, 1);
    }

    /// RFC 8985, 7.4.2, without the duplicates that the peer reports.
    #[test]
    fn what_becomes_of_a_probe() {
        let new = Probe { end: 10, resent: None };
        assert_eq!(new.answer(9, false), ProbeAnswer::Open);
        assert_eq!(new.answer(10, false), ProbeAnswer::Needless);
        let again = Probe { end: 10, resent: Some(9) };
        assert_eq!(again.answer(10, false), ProbeAnswer::Open, "the original, or the probe");
        assert_eq!(again.answer(10, true), ProbeAnswer::Needless, "both");
        assert_eq!(again.answer(11, false), ProbeAnswer::Repaired);
        assert_eq!(again.answer(9, true), ProbeAnswer::Open);
    }
}
