//! Models of random loss on a link.

mod bit_errors;
mod bursts;
mod model;

pub use bit_errors::BitErrors;
pub use bursts::{BurstParameters, GilbertElliott};
pub use model::{Applies, LossModel};

use anabranch_base::Rng;

use crate::Frame;

/// One of the models.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Loss {
    /// Nothing is lost.
    #[default]
    None,
    /// Every frame on its own, with one probability.
    Bernoulli(Bernoulli),
    /// The frames at given places.
    Positions(Positions),
    /// Losses in bursts.
    GilbertElliott(Box<GilbertElliott>),
    /// Every bit on its own, with one probability.
    BitErrors(Box<BitErrors>),
}

impl Loss {
    /// The models that are there, out of the way of links that lose nothing.
    #[inline(never)]
    fn ask(&mut self, frame: &Frame) -> bool {
        match self {
            Self::None => false,
            Self::Bernoulli(model) => model.is_lost(frame),
            Self::Positions(model) => model.is_lost(frame),
            Self::GilbertElliott(model) => model.is_lost(frame),
            Self::BitErrors(model) => model.is_lost(frame),
        }
    }
}

impl LossModel for Loss {
    #[inline]
    fn is_lost(&mut self, frame: &Frame) -> bool {
        !matches!(self, Self::None) && self.ask(frame)
    }
}

/// Every frame is lost with the same probability, independent of the others.
///
/// One uniform number in [0, 1) is drawn for each frame and the frame is lost when it is below `p`. So with the same
/// stream, a frame lost at one `p` is lost at every larger one too: sweeps over `p` have common random numbers.
#[derive(Clone, Debug)]
pub struct Bernoulli {
    p: f64,
    applies: Applies,
    rng: Rng,
}

impl Bernoulli {
    /// `p` from 0 to 1.
    #[must_use]
    pub const fn new(p: f64, applies: Applies, rng: Rng) -> Self {
        Self { p, applies, rng }
    }
}

impl LossModel for Bernoulli {
    #[inline]
    fn is_lost(&mut self, frame: &Frame) -> bool {
        self.applies.to(frame) && self.rng.chance(self.p)
    }
}

/// The frames at given places are lost, counted from 1 among those that the model applies to.
#[derive(Clone, Debug)]
pub struct Positions {
    /// Descending, so that the next one is at the end.
    places: Vec<u64>,
    applies: Applies,
    seen: u64,
}

impl Positions {
    /// `places` in any order; a place named twice counts once.
    #[must_use]
    pub fn new(mut places: Vec<u64>, applies: Applies) -> Self {
        places.sort_unstable_by(|a, b| b.cmp(a));
        places.dedup();
        if places.last() == Some(&0) {
            places.pop();
        }
        Self { places, applies, seen: 0 }
    }
}

impl LossModel for Positions {
    #[inline]
    fn is_lost(&mut self, frame: &Frame) -> bool {
        if !self.applies.to(frame) {
            return false;
        }
        self.seen += 1;
        let lost = self.places.last() == Some(&self.seen);
        if lost {
            self.places.pop();
        }
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bernoulli_loses_as_often_as_it_says() {
        for (p, seed) in [(0.01, 1), (0.2, 2), (1e-3, 3)] {
            let mut model = Bernoulli::new(p, Applies::default(), Rng::stream(seed, "link:test", "loss"));
            let n = 1_000_000_u32;
            let lost = (0..n).filter(|_| model.is_lost(&Frame::default())).count() as f64;
            let mean = f64::from(n) * p;
            let sd = (mean * (1.0 - p)).sqrt();
            assert!((lost - mean).abs() < 4.0 * sd, "p {p}: {lost} lost, expected {mean} +- {sd}");
        }
        let rng = Rng::stream(1, "link:test", "loss");
        assert!(!Bernoulli::new(0.0, Applies::default(), rng.clone()).is_lost(&Frame::default()));
        assert!(Bernoulli::new(1.0, Applies::default(), rng).is_lost(&Frame::default()));
    }

    #[test]
    fn frames_that_the_model_does_not_apply_to_take_no_random_number() {
        let rng = Rng::stream(9, "link:test", "loss");
        let applies = Applies { data_only: true, ..Applies::default() };
        let data = Frame { data: true, ..Frame::default() };
        let mut plain = Bernoulli::new(0.5, applies, rng.clone());
        let mut mixed = Bernoulli::new(0.5, applies, rng);
        for _ in 0..100 {
            assert!(!mixed.is_lost(&Frame::default()));
            assert_eq!(plain.is_lost(&data), mixed.is_lost(&data));
        }
    }

    #[test]
    fn a_larger_p_loses_what_a_smaller_one_does() {
        let rng = Rng::stream(4, "link:test", "loss");
        let mut small = Bernoulli::new(0.05, Applies::default(), rng.clone());
        let mut large = Bernoulli::new(0.1, Applies::default(), rng);
        let frame = Frame::default();
        let both: Vec<_> = (0..10_000).map(|_| (small.is_lost(&frame), large.is_lost(&frame))).collect();
        assert!(both.iter().all(|&(s, l)| l || !s));
        assert!(both.iter().any(|&(s, l)| l && !s));
    }

    #[test]
    fn positions_count_from_one_within_their_flow() {
        let mut model = Positions::new(
            vec![4, 1, 1, 0],
            Applies { data_only: true, flow: Some(7), ..Applies::default() },
        );
        let frame = |flow, data| Frame { flow, data, ..Frame::default() };
        assert!(!model.is_lost(&frame(3, true)));
        assert!(!model.is_lost(&frame(7, false)));
        let lost: Vec<_> = (0..6).map(|_| model.is_lost(&frame(7, true))).collect();
        assert_eq!(lost, [true, false, false, true, false, false]);
    }

    #[test]
    fn a_loss_may_look_at_some_code_points_only() {
        let dscp = |value| anabranch_base::Dscp::new(value).unwrap();
        let applies = Applies { dscp: [dscp(0), dscp(10)].into_iter().collect(), ..Applies::default() };
        let mut model = Bernoulli::new(1.0, applies, Rng::stream(1, "link:test", "loss"));
        let lost: Vec<u8> =
            (0..64).filter(|&d| model.is_lost(&Frame { dscp: dscp(d), ..Frame::default() })).collect();
        assert_eq!(lost, [0, 10]);
    }
}
