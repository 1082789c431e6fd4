//! Losses that come in bursts: the model of Gilbert (1960) and Elliott (1963).

use anabranch_base::Rng;

use super::model::{Applies, LossModel};
use crate::Frame;

/// A link that is now in a good state and now in a bad one. With each frame it may change its state; then the frame is lost
/// with the probability of the state.
///
/// Two uniform numbers in [0, 1) are drawn for each frame, one for the state and one for the loss.
#[derive(Clone, Debug)]
pub struct GilbertElliott {
    parameters: BurstParameters,
    is_bad: bool,
    applies: Applies,
    rng: Rng,
}

/// Probabilities, 0 to 1. The share of frames that meet the bad state is `to_bad / (to_bad + to_good)`, and a visit there
/// lasts `1 / to_good` frames on average.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BurstParameters {
    /// From good to bad, with each frame (p).
    pub to_bad: f64,
    /// From bad to good, with each frame (r).
    pub to_good: f64,
    /// Loss in the good state (1 - k).
    pub good: f64,
    /// Loss in the bad state (1 - h).
    pub bad: f64,
}

impl GilbertElliott {
    /// Starts in the good state.
    #[must_use]
    pub const fn new(parameters: BurstParameters, applies: Applies, rng: Rng) -> Self {
        Self { parameters, is_bad: false, applies, rng }
    }
}

impl LossModel for GilbertElliott {
    fn is_lost(&mut self, frame: &Frame) -> bool {
        if !self.applies.to(frame) {
            return false;
        }
        let BurstParameters { to_bad, to_good, good, bad } = self.parameters;
        let change = self.rng.chance(if self.is_bad { to_good } else { to_bad });
        self.is_bad ^= change;
        self.rng.chance(if self.is_bad { bad } else { good })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_have_the_length_and_the_share_that_they_should() {
        // In the bad state everything is lost: geometric bursts of mean 1/0.2 = 5, and 0.01/0.21 of the frames.
        let parameters = BurstParameters { to_bad: 0.01, to_good: 0.2, good: 0.0, bad: 1.0 };
        let rng = Rng::stream(5, "link:test", "loss");
        let mut model = GilbertElliott::new(parameters, Applies::default(), rng);
        let (mut lost, mut bursts, mut before) = (0_u32, 0_u32, false);
        let n = 2_000_000_u32;
        for _ in 0..n {
            let now = model.is_lost(&Frame::default());
            lost += u32::from(now);
            bursts += u32::from(now && !before);
            before = now;
        }
        let share = f64::from(lost) / f64::from(n);
        assert!((share / (0.01 / 0.21) - 1.0).abs() < 0.03, "{share}");
        let length = f64::from(lost) / f64::from(bursts);
        assert!((length - 5.0).abs() < 0.12, "{length}");
    }

    #[test]
    fn with_one_loss_for_both_states_it_is_bernoulli() {
        let parameters = BurstParameters { to_bad: 0.3, to_good: 0.3, good: 0.1, bad: 0.1 };
        let rng = Rng::stream(6, "link:test", "loss");
        let mut model = GilbertElliott::new(parameters, Applies::default(), rng);
        let lost = (0..1_000_000).filter(|_| model.is_lost(&Frame::default())).count() as f64;
        // Four standard deviations of 300.
        assert!((lost - 100_000.0).abs() < 1_200.0, "{lost}");
    }
}
