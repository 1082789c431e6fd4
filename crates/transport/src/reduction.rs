//! How the window comes down during fast recovery, when not at once: proportional rate reduction (RFC 9937), and the rule of Linux
//! before it.

/// A reduction under way.
///
/// Bytes are counted in whole units: of a byte, or, as Linux counts, of a segment.
#[derive(Clone, Debug)]
pub struct Reducing {
    halving: bool,
    /// A full packet, bytes.
    mss: u64,
    /// The unit of counting, bytes.
    unit: u64,
    /// The window at the moment, bytes.
    window: u64,
    /// Bytes in flight when recovery began (RecoverFS).
    prior: u64,
    /// The largest window that recovery allows, bytes: that at its beginning.
    most: u64,
    /// Bytes that the peer has reported since, and reported bytes that it has taken back (prr_delivered is the difference).
    delivered: u64,
    taken_back: u64,
    /// Bytes sent since (prr_out).
    out: u64,
    /// Rate halving: acknowledgements since.
    acks: u64,
}

impl Reducing {
    /// Proportional rate reduction; recovery begins with `prior` bytes in flight and a window of `most`, a full packet has `mss`, and bytes
    /// sent and reported are counted in whole `unit` bytes.
    #[must_use]
    pub fn proportional(prior: u64, most: u64, mss: u64, unit: u64) -> Self {
        let mss = mss.max(1);
        Self {
            halving: false,
            mss,
            unit: unit.max(1),
            window: prior.min(most),
            prior: prior.max(mss),
            most,
            delivered: 0,
            taken_back: 0,
            out: 0,
            acks: 0,
        }
    }

    /// Rate halving (Linux before 3.2).
    #[must_use]
    pub fn halving(prior: u64, mss: u64) -> Self {
        Self { halving: true, ..Self::proportional(prior, prior, mss, mss) }
    }

    /// The window at the moment, bytes.
    #[inline]
    #[must_use]
    pub fn window(&self) -> u64 {
        self.window
    }

    /// So many bytes were sent, new or again.
    pub fn on_sent(&mut self, bytes: u64) {
        self.out = self.out.saturating_add(bytes);
    }

    /// An acknowledgement in recovery reported `delivered` bytes, took back `taken_back` that one before had reported, and left `pipe` in
    /// flight. `safe`: it moved the cumulative point (and, as RFC 9937 has it, told of no further loss).
    ///
    /// Bytes that are reported again count as before, and no more: "DeliveredData can be computed precisely as the
    /// change in snd.una, plus the (signed) change in SACKd" (RFC 6937, 2).
    pub fn on_ack(&mut self, delivered: u64, taken_back: u64, safe: bool, pipe: u64, ssthresh: u64) {
        if self.halving {
            return self.halve(pipe, ssthresh);
        }
        self.delivered = self.delivered.saturating_add(delivered);
        self.taken_back = self.taken_back.saturating_add(taken_back);
        self.reduce(delivered.saturating_sub(taken_back), safe, pipe, ssthresh);
    }

    /// RFC 9937, section 6.2.
    fn reduce(&mut self, newly: u64, safe: bool, pipe: u64, ssthresh: u64) {
        let all = self.delivered.saturating_sub(self.taken_back);
        let unit = self.unit;
        let whole = |bytes: u64| bytes.div_ceil(unit).saturating_mul(unit);
        let count = if pipe > ssthresh {
            // "SndCnt = CEIL(prr_delivered * ssthresh / RecoverFS) - prr_out".
            let share = u128::from(all) * u128::from(ssthresh) / u128::from(self.prior);
            whole(u64::try_from(share).unwrap_or(u64::MAX / 2)).saturating_sub(self.out)
        } else {
            // The slow-start reduction bound; the packet on top only when the acknowledgement is a safe one.
            let limit = whole(all).saturating_sub(self.out).max(whole(newly));
            let limit = limit.saturating_add(if safe { self.mss } else { 0 });
            whole(ssthresh - pipe).min(limit)
        };
        // Bytes sent by a rule decrease with the delivered bytes, and the sum stays below the window of before. Bytes
        // that the peer has taken back are in flight again, and no rule has sent them: "if the flightsize does not
        // currently reach cwnd" (RFC 9260, 6.1 B) holds for that, too.
        self.window = pipe.saturating_add(count).min(self.most.max(ssthresh));
        if self.out == 0 {
            // The fast retransmission itself leaves in any case (RFC 9260, 7.2.4, step 3).
            self.window = self.window.max(pipe.saturating_add(self.mss));
        }
    }

    /// Linux before 3.2: a segment less for every second acknowledgement, never above the segments in flight plus one.
    fn halve(&mut self, pipe: u64, ssthresh: u64) {
        self.acks += 1;
        if self.acks % 2 == 0 && self.window > ssthresh {
            self.window = (self.window - self.mss.min(self.window)).max(ssthresh);
        }
        self.window = self.window.min(pipe + self.mss);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    /// 100 packets were in flight and one was lost, 70 are to remain: seven leave for ten that arrive (RFC 9937, 7).
    #[test]
    fn in_proportion_while_more_is_in_flight_than_shall_be() {
        let mut prr = Reducing::proportional(100 * MSS, 100 * MSS, MSS, 1);
        let (mut pipe, mut sent) = (99 * MSS, 0);
        for ack in 0..99 {
            pipe -= MSS;
            prr.on_ack(MSS, 0, false, pipe, 70 * MSS);
            while pipe < prr.window() {
                pipe += MSS;
                sent += 1;
                prr.on_sent(MSS);
            }
            assert!(sent <= (ack + 1) * 7 / 10 + 2, "{sent} sent after {} acknowledgements", ack + 1);
            assert!(pipe <= prr.window() + MSS);
        }
        assert!((69 * MSS..=71 * MSS).contains(&pipe), "{pipe}");
    }

    /// More was lost than the window comes down by: each arrival may be followed by as much, and by one packet more.
    #[test]
    fn no_burst_where_many_were_lost() {
        let mut prr = Reducing::proportional(100 * MSS, 100 * MSS, MSS, 1);
        let mut pipe = 20 * MSS;
        let mut most = 0;
        for _ in 0..60 {
            pipe -= MSS;
            prr.on_ack(MSS, 0, true, pipe, 50 * MSS);
            let before = pipe;
            while pipe < prr.window() {
                pipe += MSS;
                prr.on_sent(MSS);
            }
            most = most.max((pipe - before) / MSS);
        }
        assert!(most <= 2, "{most} packets for one");
        assert_eq!(pipe, 50 * MSS, "slow start up to the threshold");
    }

    #[test]
    fn nothing_divides_by_zero_or_overflows() {
        let mut prr = Reducing::proportional(0, u64::MAX, 0, 0);
        prr.on_ack(0, 0, false, 0, 0);
        prr.on_ack(1 << 40, 0, true, 1 << 40, 1 << 39);
        assert!(prr.window() >= 1 << 40);
        prr.on_ack(0, u64::MAX, true, u64::MAX, u64::MAX);
        prr.on_ack(u64::MAX, u64::MAX, false, 0, u64::MAX);
        prr.on_sent(u64::MAX);
        prr.on_ack(u64::MAX, 0, true, 0, u64::MAX);
    }

    /// A peer that reports the same bytes again and again, and takes them back in between, lets them count once.
    #[test]
    fn what_is_reported_again_counts_once() {
        let mut prr = Reducing::proportional(100 * MSS, 100 * MSS, MSS, 1);
        let (mut pipe, mut sent) = (90 * MSS, 0);
        for _ in 0..300 {
            prr.on_ack(9 * MSS, 0, false, pipe, 50 * MSS);
            while pipe < prr.window() {
                pipe += MSS;
                sent += MSS;
                prr.on_sent(MSS);
            }
            pipe += 9 * MSS;
            prr.on_ack(0, 9 * MSS, false, pipe, 50 * MSS);
            assert!(prr.window() <= pipe, "nothing leaves for what is taken back");
            pipe -= 9 * MSS;
        }
        assert_eq!(sent, 5 * MSS, "half of what was delivered");
    }

    /// Bytes that were taken back, or were in flight beyond the window of before for another reason, let nothing leave.
    #[test]
    fn the_window_of_before_is_the_largest() {
        let mut prr = Reducing::proportional(300 * MSS, 100 * MSS, MSS, 1);
        assert_eq!(prr.window(), 100 * MSS);
        prr.on_sent(MSS);
        for pipe in (0..300).rev() {
            prr.on_ack(MSS, 0, true, pipe * MSS, 50 * MSS);
            assert!(prr.window() <= 100 * MSS, "{}", prr.window());
        }
        // Slow start comes back to a threshold above that window.
        let mut prr = Reducing::proportional(2 * MSS, 2 * MSS, MSS, 1);
        for _ in 0..9 {
            prr.on_ack(MSS, 0, true, MSS, 4 * MSS);
        }
        assert_eq!(prr.window(), 4 * MSS);
    }
}
