//! How the window comes down during fast recovery, when not at once: proportional rate reduction (RFC 9937), and what Linux had
//! before it.

/// A reduction under way.
///
/// Bytes are counted in whole units: of a byte, or, as Linux counts, of a segment.
#[derive(Clone, Debug)]
pub struct Reducing {
    halving: bool,
    /// A full packet, bytes.
    mss: u64,
    /// What is counted in, bytes.
    unit: u64,
    /// The window at the moment, bytes.
    window: u64,
    /// What was in flight when recovery began (RecoverFS).
    prior: u64,
    /// Bytes that the peer has reported since (prr_delivered).
    delivered: u64,
    /// Bytes sent since (prr_out).
    out: u64,
    /// Rate halving: acknowledgements since.
    acks: u64,
}

impl Reducing {
    /// Proportional rate reduction; recovery begins with `prior` bytes in flight, a full packet has `mss`, and what is sent and
    /// reported is counted in whole `unit` bytes.
    #[must_use]
    pub fn proportional(prior: u64, mss: u64, unit: u64) -> Self {
        let mss = mss.max(1);
        Self {
            halving: false,
            mss,
            unit: unit.max(1),
            window: prior,
            prior: prior.max(mss),
            delivered: 0,
            out: 0,
            acks: 0,
        }
    }

    /// Rate halving (Linux before 3.2).
    #[must_use]
    pub fn halving(prior: u64, mss: u64) -> Self {
        Self { halving: true, ..Self::proportional(prior, mss, mss) }
    }

    /// The window at the moment, bytes.
    #[inline]
    #[must_use]
    pub fn window(&self) -> u64 {
        self.window
    }

    /// So many bytes were sent, new or again.
    pub fn on_sent(&mut self, bytes: u64) {
        self.out += bytes;
    }

    /// An acknowledgement in recovery reported `delivered` bytes and left `pipe` in flight. `safe`: it moved the cumulative point
    /// (and, as RFC 9937 has it, told of no further loss).
    pub fn on_ack(&mut self, delivered: u64, safe: bool, pipe: u64, ssthresh: u64) {
        if self.halving {
            self.halve(pipe, ssthresh);
        } else {
            self.reduce(delivered, safe, pipe, ssthresh);
        }
    }

    /// RFC 9937, section 6.2.
    fn reduce(&mut self, delivered: u64, safe: bool, pipe: u64, ssthresh: u64) {
        self.delivered += delivered;
        let unit = self.unit;
        let whole = |bytes: u64| bytes.div_ceil(unit) * unit;
        let mut count = if pipe > ssthresh {
            // "SndCnt = CEIL(prr_delivered * ssthresh / RecoverFS) - prr_out".
            let share = u128::from(self.delivered) * u128::from(ssthresh) / u128::from(self.prior);
            whole(u64::try_from(share).unwrap_or(u64::MAX / 2)).saturating_sub(self.out)
        } else {
            // The slow-start reduction bound; the packet on top only when the acknowledgement is a safe one.
            let limit = whole(self.delivered).saturating_sub(self.out).max(whole(delivered))
                + if safe { self.mss } else { 0 };
            whole(ssthresh - pipe).min(limit)
        };
        if self.out == 0 {
            // The fast retransmission itself.
            count = count.max(self.mss);
        }
        self.window = pipe + count;
    }

    /// Linux before 3.2: a segment less for every second acknowledgement, never above what is in flight plus one.
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
        let mut prr = Reducing::proportional(100 * MSS, MSS, 1);
        let (mut pipe, mut sent) = (99 * MSS, 0);
        for ack in 0..99 {
            pipe -= MSS;
            prr.on_ack(MSS, false, pipe, 70 * MSS);
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

    /// More was lost than the window comes down by: what arrives may be followed by as much, and by one packet more.
    #[test]
    fn no_burst_where_many_were_lost() {
        let mut prr = Reducing::proportional(100 * MSS, MSS, 1);
        let mut pipe = 20 * MSS;
        let mut most = 0;
        for _ in 0..60 {
            pipe -= MSS;
            prr.on_ack(MSS, true, pipe, 50 * MSS);
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
        let mut prr = Reducing::proportional(0, 0, 0);
        prr.on_ack(0, false, 0, 0);
        prr.on_ack(1 << 40, true, 1 << 40, 1 << 39);
        assert!(prr.window() >= 1 << 40);
    }
}
