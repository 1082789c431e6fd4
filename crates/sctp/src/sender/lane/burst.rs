//! Max.Burst: the limit on packets that leave before the next SACK (RFC 9260, 6.1 D).

use anabranch_base::cold_path;

use crate::config::MaxBurst;

/// The limit on packets that leave at once.
#[derive(Debug)]
pub(in crate::sender) struct Burst {
    rule: MaxBurst,
    /// Max.Burst as a clamp: the unit of windows, and the bytes in flight from which on no new data may leave.
    unit: u32,
    window: u64,
    /// Bytes that have left the flight since the last new data left.
    freed: u32,
    /// After recovery: true if the limit applies, and the packets sent since the last SACK.
    limited: bool,
    packets: u16,
    blocked: bool,
}

impl Burst {
    /// A limit for a lane with nothing in flight.
    pub(super) fn new(rule: MaxBurst, unit: u32) -> Self {
        let mut burst =
            Self { rule, unit, window: u64::MAX, freed: 0, limited: false, packets: 0, blocked: false };
        burst.open(0);
        burst
    }

    /// The unit of windows, bytes.
    #[inline]
    pub(super) fn unit(&self) -> u64 {
        self.unit.into()
    }

    /// True if one more chunk may leave while so many bytes are in flight.
    #[inline]
    pub(super) fn lets(&self, flight: u64) -> bool {
        flight < self.window && !self.blocked
    }

    /// The user has set the rule.
    pub(super) fn follow(&mut self, rule: MaxBurst, flight: u64) {
        if self.rule != rule {
            self.rule = rule;
            (self.window, self.limited) = (u64::MAX, false);
            self.open(flight);
        }
    }

    /// A new occasion to send, with so much in flight: the allowance of Max.Burst begins anew.
    // rfc9260:6.1-14 rfc9260:6.1-15
    pub(super) fn open(&mut self, flight: u64) {
        self.freed = 0;
        self.open_after_sack(flight);
    }

    /// Max.Burst begins anew with a SACK: the bytes that it has taken out of the flight may count.
    pub(super) fn open_after_sack(&mut self, flight: u64) {
        self.packets = 0;
        self.blocked = false;
        let unit = u64::from(self.unit);
        match self.rule {
            MaxBurst::Clamp(n) => self.window = flight + u64::from(n) * unit,
            MaxBurst::Acknowledged(n) => {
                let most = (u64::from(n) * unit).max(2 * u64::from(self.freed));
                self.window = flight + most;
            }
            MaxBurst::Off | MaxBurst::AfterRecovery(_) => {}
        }
    }

    /// A packet with new data was begun.
    #[inline]
    pub(super) fn packet_begun(&mut self) {
        self.freed = 0;
        if let MaxBurst::AfterRecovery(n) = self.rule {
            cold_path();
            self.packets += 1;
            if self.limited && self.packets >= n {
                self.limited = false;
                self.blocked = true;
            }
        }
    }

    /// So many bytes have left the flight.
    #[inline]
    pub(super) fn acknowledged(&mut self, bytes: u64) {
        // The flight is never larger than the peer's window of 32 bits.
        self.freed = self.freed.wrapping_add(bytes as u32);
    }

    /// The cumulative TSN passed a fast retransmitted chunk: the rule [`MaxBurst::AfterRecovery`] applies next.
    pub(in crate::sender) fn limit_next(&mut self) {
        self.limited = true;
    }

    /// Windows are counted in so many bytes.
    pub(super) fn resize(&mut self, unit: u32) {
        self.unit = unit;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clamp_opens_with_every_sack() {
        let mut burst = Burst::new(MaxBurst::Clamp(2), 1000);
        assert!(burst.lets(1999) && !burst.lets(2000));
        burst.open_after_sack(5000);
        assert!(burst.lets(6999) && !burst.lets(7000));
        burst.follow(MaxBurst::Off, 5000);
        assert!(burst.lets(1 << 40));
    }

    #[test]
    fn twice_what_was_acknowledged_may_leave_until_new_data_has_left() {
        let mut burst = Burst::new(MaxBurst::Acknowledged(2), 1000);
        burst.acknowledged(4000);
        burst.open_after_sack(0);
        assert!(burst.lets(7999) && !burst.lets(8000));
        burst.packet_begun();
        burst.open_after_sack(0);
        assert!(!burst.lets(2000));
    }

    #[test]
    fn after_recovery_so_many_packets_leave_before_the_next_sack() {
        let mut burst = Burst::new(MaxBurst::AfterRecovery(2), 1000);
        burst.limit_next();
        burst.packet_begun();
        assert!(burst.lets(1 << 20));
        burst.packet_begun();
        assert!(!burst.lets(0));
        burst.open_after_sack(0);
        assert!(burst.lets(1 << 20));
    }
}
