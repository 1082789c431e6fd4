//! The number of INITs that are answered in a second, where the user sets a limit: an INIT ACK is larger than its INIT, and costs a signature.

use anabranch_base::{Duration, Instant};

/// An allowance that has not been used for so long is lost: a burst has at most the answers of a second.
const BURST: Duration = Duration::from_secs(1);

/// Answers that may still be given.
#[derive(Debug, Default)]
pub(super) struct InitAllowance {
    /// When all answers so far are paid for, each with an equal part of a second.
    paid: Option<Instant>,
}

impl InitAllowance {
    /// True if another INIT may be answered, of `rate` a second; 0 is no limit.
    pub(super) fn take(&mut self, now: Instant, rate: u32) -> bool {
        if rate == 0 {
            return true;
        }
        let price = BURST / u64::from(rate);
        let latest = now + BURST;
        // A clock that has stepped back owes no more than a burst.
        let paid = self.paid.map_or(now, |paid| paid.max(now)).min(latest);
        let allowed = paid + price <= latest;
        self.paid = Some(if allowed { paid + price } else { paid });
        allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A burst of a second's worth, then the rate; unused allowance does not add up, and a clock that steps back blocks nothing.
    #[test]
    fn so_many_in_a_second() {
        let mut allowance = InitAllowance::default();
        let taken = |allowance: &mut InitAllowance, at: u64| {
            let now = Instant::ZERO + Duration::from_millis(at);
            (0..10_000).filter(|_| allowance.take(now, 100)).count()
        };
        assert_eq!(taken(&mut allowance, 5_000), 100);
        assert_eq!(taken(&mut allowance, 5_500), 50);
        assert_eq!(taken(&mut allowance, 5_505), 0);
        assert_eq!(taken(&mut allowance, 100_000), 100);
        assert_eq!(taken(&mut allowance, 1_000), 0);
        assert_eq!(taken(&mut allowance, 2_000), 100);
        assert!((0..1000).all(|_| allowance.take(Instant::ZERO, 0)), "no limit");
    }
}
