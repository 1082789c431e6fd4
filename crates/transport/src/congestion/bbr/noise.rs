//! Losses that come at any load: bit errors, radio. They say nothing of a queue, and a sender that slows down because
//! of them leaves a part of the rate unused.
//!
//! They are counted in rounds in which no queue can have overflowed: those of cruising, at no more than the rate that the path
//! delivers, with round trips near the shortest; and those of Startup after which the rate still grew by a quarter. A policer drops
//! nothing below its rate, and a queue that others fill makes round trips long: neither is learnt here.

use super::constants::LOSS_THRESH;

/// A path that loses more at any load is taken for full, as before.
const MOST: f64 = 0.25;
/// Counted packets from which on older ones count half.
const MEMORY: u64 = 2000;
/// Fewer say nothing.
const LEAST: u64 = 40;
/// Standard deviations by which the losses of a round trip may exceed those expected.
const DEVIATIONS: f64 = 2.5;
/// Of a few packets chance allows any part: a larger one tells of a queue all the same, so that the bytes in flight
/// stay bounded.
const HIGHEST: f64 = 0.9;

#[derive(Clone, Debug)]
pub(super) struct Noise {
    unit: u64,
    lost: u64,
    sent: u64,
    /// Lost and sent in the last round of Startup: counted when the next one has shown that the path was not full.
    pending: (u64, u64),
    /// Packets were counted since the last turn of probing began.
    heard: bool,
    /// The part of the sent bytes that is lost at any load.
    part: f64,
}

impl Noise {
    pub(super) fn new(unit: u64) -> Self {
        Self { unit: unit.max(1), lost: 0, sent: 0, pending: (0, 0), heard: false, part: 0.0 }
    }

    /// A full packet has another size from now on, bytes.
    pub(super) fn resize(&mut self, unit: u64) {
        self.unit = unit.max(1);
    }

    /// Lost and delivered in a quiet round, bytes.
    pub(super) fn count(&mut self, (lost, delivered): (u64, u64)) {
        self.lost = self.lost.saturating_add(lost);
        self.sent = self.sent.saturating_add(lost).saturating_add(delivered);
        while self.sent > MEMORY * self.unit {
            self.sent /= 2;
            self.lost /= 2;
        }
        self.heard = true;
        let enough = self.sent >= LEAST * self.unit;
        self.part = if enough { (self.lost as f64 / self.sent as f64).min(MOST) } else { 0.0 };
    }

    /// A round of Startup has ended; `grew`: by a quarter at least, so the one before it had found the path not full.
    pub(super) fn count_startup(&mut self, losses: (u64, u64), grew: bool) {
        if grew {
            let before = self.pending;
            self.count(before);
        }
        self.pending = losses;
    }

    /// A turn of probing begins: an old estimate that nothing has confirmed is halved.
    pub(super) fn age(&mut self) {
        if !std::mem::take(&mut self.heard) {
            self.lost /= 2;
            self.part /= 2.0;
        }
    }

    /// How much of `bytes` may be lost before it tells of a queue: `LossThresh`, and the noise.
    pub(super) fn threshold(&self, bytes: u64) -> f64 {
        let packets = (bytes / self.unit).max(1) as f64;
        let deviation = (self.part * (1.0 - self.part) / packets).sqrt();
        (LOSS_THRESH + self.part + DEVIATIONS * deviation).min(HIGHEST)
    }

    /// Bytes that must be sent for so many to arrive.
    pub(super) fn sent_for(&self, delivered: f64) -> f64 {
        delivered / (1.0 - self.part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quiet_losses_raise_the_threshold_and_are_forgotten() {
        let mut noise = Noise::new(1000);
        assert!((noise.threshold(100_000) - 0.02).abs() < 1e-9);
        noise.count((1000, 30_000));
        assert!((noise.threshold(100_000) - 0.02).abs() < 1e-9, "too few to say");
        noise.count((9000, 60_000));
        assert!(noise.threshold(1_000_000) > 0.12 && noise.threshold(1_000_000) < 0.16);
        assert!(noise.threshold(10_000) > 0.3, "few packets vary much");
        for _ in 0..40 {
            noise.count((0, 200_000));
        }
        assert!((noise.threshold(1_000_000) - 0.02).abs() < 1e-3);
        noise.count((4_000_000, 1));
        assert!(noise.sent_for(75.0) <= 100.01, "never more than a third on top");
    }

    #[test]
    fn the_round_that_filled_the_path_is_not_counted() {
        let mut noise = Noise::new(1000);
        noise.count_startup((0, 100_000), true);
        noise.count_startup((100_000, 100_000), true);
        noise.count_startup((100_000, 100_000), false);
        assert!(noise.part.abs() < 1e-9);
        noise.age();
        noise.age();
        assert!((noise.sent_for(1.0) - 1.0).abs() < 1e-9);
    }
}
