//! Random numbers that cannot be guessed from others of the same generator.

use rand_chacha::ChaCha20Rng;
use rand_core::{RngCore, SeedableRng};

/// The generator for tags, sequence numbers, keys and nonces: ChaCha20 under a seed of 32 bytes. The seed comes from
/// outside: from the operating system where there is a network, from [`Rng::secret`](crate::Rng::secret) where a run
/// must repeat.
///
/// It keeps the seed and a place, not the block of numbers around it: an association has one, and draws a few numbers in its
/// life.
#[derive(Clone)]
pub struct SecretRng {
    seed: [u8; 32],
    /// In words of 32 bits.
    place: u64,
}

impl std::fmt::Debug for SecretRng {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretRng(..)")
    }
}

impl SecretRng {
    /// From a seed with 256 secret bits.
    #[must_use]
    pub fn from_seed(seed: [u8; 32]) -> Self {
        Self { seed, place: 0 }
    }

    /// Fills `out` with random bytes.
    pub fn fill(&mut self, out: &mut [u8]) {
        let mut stream = ChaCha20Rng::from_seed(self.seed);
        stream.set_word_pos(u128::from(self.place));
        stream.fill_bytes(out);
        self.place += out.len().div_ceil(4) as u64;
    }

    /// 32 bytes: a key, or the seed of another.
    pub fn key(&mut self) -> [u8; 32] {
        let mut key = [0; 32];
        self.fill(&mut key);
        key
    }

    /// Another stream, of which this one and its numbers say nothing.
    #[must_use]
    pub fn fork(&mut self) -> Self {
        Self::from_seed(self.key())
    }

    /// 32 uniform bits.
    pub fn u32(&mut self) -> u32 {
        let mut word = [0; 4];
        self.fill(&mut word);
        u32::from_le_bytes(word)
    }

    /// 32 uniform bits and another stream, as [`SecretRng::u32`] and [`SecretRng::fork`] give them one after the other, for the work of one
    /// draw.
    #[must_use]
    pub fn u32_and_fork(&mut self) -> (u32, Self) {
        let mut drawn = [0; 36];
        self.fill(&mut drawn);
        let [a, b, c, d, key @ ..] = drawn;
        (u32::from_le_bytes([a, b, c, d]), Self::from_seed(key))
    }

    /// Two times 32 uniform bits, as [`SecretRng::u32`] gives them one after the other.
    pub fn u32_pair(&mut self) -> (u32, u32) {
        let both = self.u64();
        (both as u32, (both >> 32) as u32)
    }

    /// 64 uniform bits.
    pub fn u64(&mut self) -> u64 {
        let mut words = [0; 8];
        self.fill(&mut words);
        u64::from_le_bytes(words)
    }

    /// Uniform in `0..bound`; 0 for a bound of 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        // Multiply-shift: the bias is below bound / 2^64.
        ((u128::from(self.u64()) * u128::from(bound)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8439, A.1, test vector 1: the key stream of a key of zeros.
    #[test]
    fn it_is_chacha20() {
        let mut rng = SecretRng::from_seed([0; 32]);
        let mut out = [0; 8];
        rng.fill(&mut out);
        assert_eq!(out, [0x76, 0xb8, 0xe0, 0xad, 0xa0, 0xf1, 0x3d, 0x90]);
        assert_eq!(rng.u32(), u32::from_le_bytes([0x40, 0x5d, 0x6a, 0xe5]));
        assert_eq!(rng.u64(), u64::from_le_bytes([0x53, 0x86, 0xbd, 0x28, 0xbd, 0xd2, 0x19, 0xb8]));
    }

    #[test]
    fn a_pair_is_two_draws() {
        let (mut one, mut other) = (SecretRng::from_seed([5; 32]), SecretRng::from_seed([5; 32]));
        for _ in 0..100 {
            assert_eq!(one.u32_pair(), (other.u32(), other.u32()));
        }
    }

    #[test]
    fn a_number_and_a_fork_are_two_draws() {
        let (mut one, mut other) = (SecretRng::from_seed([6; 32]), SecretRng::from_seed([6; 32]));
        for _ in 0..100 {
            let (number, mut fork) = one.u32_and_fork();
            assert_eq!((number, fork.u64()), (other.u32(), other.fork().u64()));
        }
        assert_eq!(one.u64(), other.u64());
    }

    #[test]
    fn forks_go_their_own_way_and_repeat() {
        let draw = |rng: &mut SecretRng| [rng.u64(), rng.u64()];
        let mut one = SecretRng::from_seed([7; 32]);
        let (mut a, mut b) = (one.fork(), one.fork());
        let drawn = [draw(&mut one), draw(&mut a), draw(&mut b)];
        assert!(drawn[0] != drawn[1] && drawn[1] != drawn[2] && drawn[0] != drawn[2]);
        let mut again = SecretRng::from_seed([7; 32]);
        assert_eq!(drawn[1], draw(&mut again.fork()));
        assert!((0..1000).all(|_| again.below(7) < 7));
        assert_eq!(again.below(0), 0);
    }

    // rfc9260:5.1.3-4 rfc9260:14.1-1
    #[test]
    fn it_does_not_show_its_seed() {
        assert_eq!(format!("{:?}", SecretRng::from_seed([9; 32])), "SecretRng(..)");
    }
}
