//! Bit errors: the longer a frame, the more often it is lost.

use anabranch_base::Rng;

use super::model::{Applies, LossModel};
use crate::Frame;

/// Every bit is wrong with the same probability, on its own, and a frame with a wrong bit is lost: the link has a checksum.
/// Patterns of kind bit-error damage frames and deliver them.
///
/// One uniform number in [0, 1) is drawn for each frame, so a frame lost at one rate is lost at every larger one too.
#[derive(Clone, Debug)]
pub struct BitErrors {
    /// The logarithm of the probability that a bit is right.
    log_right: f64,
    applies: Applies,
    rng: Rng,
    /// The last size and its probability of loss.
    last: (u32, f64),
}

impl BitErrors {
    /// `rate` is the probability that a bit is wrong, 0 to 1.
    #[must_use]
    pub fn new(rate: f64, applies: Applies, rng: Rng) -> Self {
        Self { log_right: (-rate).ln_1p(), applies, rng, last: (0, 0.0) }
    }

    fn probability(&mut self, size: u32) -> f64 {
        if self.last.0 != size {
            let bits = 8.0 * f64::from(size);
            // 1 - (1 - rate)^bits, exact for small rates too.
            self.last = (size, -(bits * self.log_right).exp_m1());
        }
        self.last.1
    }
}

impl LossModel for BitErrors {
    fn is_lost(&mut self, frame: &Frame) -> bool {
        if !self.applies.to(frame) {
            return false;
        }
        let p = self.probability(frame.size);
        self.rng.chance(p)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_lost_when_any_of_its_bits_is_wrong() {
        let rng = Rng::stream(1, "link:test", "loss");
        let mut model = BitErrors::new(1e-5, Applies::default(), rng.clone());
        // 12000 bits: 1 - 0.99999^12000.
        assert!((model.probability(1500) - 0.113_080_1).abs() < 1e-6, "{}", model.probability(1500));
        assert!((model.probability(40) - 0.003_194_9).abs() < 1e-6);
        let frame = Frame { size: 1500, ..Frame::default() };
        let lost = (0..200_000).filter(|_| model.is_lost(&frame)).count() as f64;
        // Four standard deviations of 142.
        assert!((lost - 22_616.0).abs() < 566.0, "{lost}");
        let mut tiny = BitErrors::new(1e-15, Applies::default(), rng.clone());
        assert!((tiny.probability(1500) / 1.2e-11 - 1.0).abs() < 1e-6);
        assert!(BitErrors::new(1.0, Applies::default(), rng.clone()).is_lost(&frame));
        assert!(!BitErrors::new(0.0, Applies::default(), rng).is_lost(&frame));
    }
}
