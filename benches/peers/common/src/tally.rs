//! A tally of sent or received data: messages, bytes and two digests.

use std::collections::BTreeMap;

use serde::Serialize;

/// A count of messages. `digest` tells whether each stream carried the same bytes in the same order, `sum` whether there were the
/// same messages in any order.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Whole messages.
    pub messages: u64,
    /// User data.
    pub bytes: u64,
    streams: BTreeMap<u16, crc32fast::Hasher>,
    sum: u64,
    current: crc32fast::Hasher,
    quiet: bool,
}

/// A tally as it is reported.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Count {
    /// Whole messages.
    pub messages: u64,
    /// User data.
    pub bytes: u64,
    /// Sum over the streams of (2 stream + 1) times the CRC-32 of all its bytes, modulo 2^64, as hexadecimal digits.
    pub digest: String,
    /// Sum of the CRC-32 of each message, modulo 2^64, as hexadecimal digits.
    pub sum: String,
}

impl Tally {
    /// An empty one. A quiet one makes no digests.
    #[must_use]
    pub fn new(quiet: bool) -> Self {
        Self { quiet, ..Self::default() }
    }

    /// A part of a message.
    pub fn part(&mut self, stream: u16, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        if !self.quiet {
            self.current.update(bytes);
            self.streams.entry(stream).or_default().update(bytes);
        }
    }

    /// The message whose parts were told is whole.
    pub fn end(&mut self) {
        self.messages += 1;
        if !self.quiet {
            self.sum = self.sum.wrapping_add(u64::from(std::mem::take(&mut self.current).finalize()));
        }
    }

    /// A whole message.
    pub fn message(&mut self, stream: u16, bytes: &[u8]) {
        self.part(stream, bytes);
        self.end();
    }

    /// As it is reported.
    #[must_use]
    pub fn count(&self) -> Count {
        let digest = self.streams.iter().fold(0_u64, |sum, (&stream, hash)| {
            let weight = 2 * u64::from(stream) + 1;
            sum.wrapping_add(weight.wrapping_mul(u64::from(hash.clone().finalize())))
        });
        Count {
            messages: self.messages,
            bytes: self.bytes,
            digest: format!("{digest:016x}"),
            sum: format!("{:016x}", self.sum),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Tally;

    fn of(messages: &[(u16, &[u8])]) -> (String, String) {
        let mut tally = Tally::new(false);
        for (stream, bytes) in messages {
            tally.message(*stream, bytes);
        }
        (tally.count().digest, tally.count().sum)
    }

    #[test]
    fn the_digest_sees_the_order_within_a_stream_and_the_sum_does_not() {
        let (digest, sum) = of(&[(0, b"one"), (1, b"two"), (0, b"three")]);
        assert_eq!(of(&[(1, b"two"), (0, b"one"), (0, b"three")]), (digest.clone(), sum.clone()));
        let turned = of(&[(0, b"three"), (1, b"two"), (0, b"one")]);
        assert_eq!(turned.1, sum);
        assert_ne!(turned.0, digest);
        let other_stream = of(&[(0, b"one"), (2, b"two"), (0, b"three")]);
        assert_ne!(other_stream.0, digest);
        assert_ne!(of(&[(0, b"one"), (1, b"two")]).1, sum);
    }

    #[test]
    fn parts_make_a_message() {
        let mut tally = Tally::new(false);
        tally.part(3, b"he");
        tally.part(3, b"llo");
        tally.end();
        let count = tally.count();
        assert_eq!((count.digest, count.sum), of(&[(3, b"hello")]));
        assert_eq!((count.messages, count.bytes), (1, 5));
    }
}
