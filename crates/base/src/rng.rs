//! Random streams: one per (seed, entity, purpose), so that adding an entity changes no other's draws.

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::SecretRng;

/// One stream of random numbers. The algorithm (xoshiro256++) is named on purpose: the same seed must give the
/// same run in every later version.
#[derive(Clone, Debug)]
pub struct Rng(Xoshiro256PlusPlus);

impl Rng {
    /// The stream of `entity` for `purpose` in the run with `seed`.
    ///
    /// Names, not numbers: `Rng::stream(7, "link:bottleneck", "loss")` stays the same stream when links are added.
    #[must_use]
    pub fn stream(seed: u64, entity: &str, purpose: &str) -> Self {
        let mut state = Absorb(mix(seed ^ 0x616e_6162_7261_6e63));
        state.bytes(entity.as_bytes());
        state.bytes(purpose.as_bytes());
        let mut key = [0_u8; 32];
        for (i, part) in key.chunks_exact_mut(8).enumerate() {
            part.copy_from_slice(&mix(state.0.wrapping_add(i as u64)).to_le_bytes());
        }
        Self(Xoshiro256PlusPlus::from_seed(key))
    }

    /// 64 uniform bits.
    pub fn u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// 32 uniform bits.
    pub fn u32(&mut self) -> u32 {
        (self.0.next_u64() >> 32) as u32
    }

    /// Uniform in [0, 1) with 53 bits.
    pub fn f64(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Uniform in `0..bound`; 0 for a bound of 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        // Multiply-shift: the bias is below bound / 2^64.
        ((u128::from(self.u64()) * u128::from(bound)) >> 64) as u64
    }

    /// True with probability `p`.
    pub fn chance(&mut self, p: f64) -> bool {
        self.f64() < p
    }

    /// Exponential with the given mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.f64()).ln()
    }

    /// A stream of secrets that repeats with this one: for simulations and tests.
    pub fn secret(&mut self) -> SecretRng {
        let mut seed = [0; 32];
        self.fill(&mut seed);
        SecretRng::from_seed(seed)
    }

    /// Fills `out` with random bytes.
    pub fn fill(&mut self, out: &mut [u8]) {
        self.0.fill_bytes(out);
    }
}

/// Length-prefixed absorption, so that ("ab", "c") and ("a", "bc") differ.
struct Absorb(u64);

impl Absorb {
    fn word(&mut self, word: u64) {
        self.0 = mix(self.0.rotate_left(23) ^ word);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.word(bytes.len() as u64);
        for part in bytes.chunks(8) {
            let mut word = [0_u8; 8];
            word[..part.len()].copy_from_slice(part);
            self.word(u64::from_le_bytes(word));
        }
    }
}

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014).
fn mix(x: u64) -> u64 {
    let mut z = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_seed_entity_and_purpose_and_repeat() {
        let first = |s, e, p| Rng::stream(s, e, p).u64();
        let a = first(1, "link:a", "loss");
        assert_eq!(a, first(1, "link:a", "loss"));
        assert_ne!(a, first(2, "link:a", "loss"));
        assert_ne!(a, first(1, "link:b", "loss"));
        assert_ne!(a, first(1, "link:a", "start"));
        assert_ne!(first(1, "ab", "c"), first(1, "a", "bc"));
    }

    #[test]
    fn uniform_and_exponential_have_their_means() {
        let mut rng = Rng::stream(3, "test", "moments");
        let n = 100_000;
        let mean = (0..n).map(|_| rng.f64()).sum::<f64>() / f64::from(n);
        assert!((mean - 0.5).abs() < 0.005, "{mean}");
        let mean = (0..n).map(|_| rng.exponential(2.0)).sum::<f64>() / f64::from(n);
        assert!((mean - 2.0).abs() < 0.03, "{mean}");
        assert!((0..1000).all(|_| rng.below(7) < 7));
        assert_eq!(rng.below(0), 0);
    }
}
