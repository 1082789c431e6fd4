//! Messages with a header that identifies them: the receiver knows when each was made, and no list is kept.

use anabranch_base::Instant;
use bytes::{Bytes, BytesMut};

use crate::content::{content, is_content};
use crate::scenario::MESSAGE_HEADER;

const HEADER: usize = MESSAGE_HEADER as usize;
/// The mark at the beginning of every header: bytes without it are no message.
const MARK: u16 = 0xA0B5;

/// The header of a message: its source, number, length and time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Envelope {
    /// Its source, by its place in the flow.
    pub(super) source: u16,
    /// Its number there, from 0.
    pub(super) number: u64,
    /// Bytes, with this header.
    pub(super) size: u32,
    /// The time at which it was made.
    pub(super) born: Instant,
}

impl Envelope {
    /// The whole message.
    pub(super) fn write(&self) -> Bytes {
        let size = self.size as usize;
        let mut message = BytesMut::with_capacity(size);
        message.extend_from_slice(&self.source.to_be_bytes());
        message.extend_from_slice(&MARK.to_be_bytes());
        message.extend_from_slice(&self.size.to_be_bytes());
        message.extend_from_slice(&self.number.to_be_bytes());
        message.extend_from_slice(&self.born.as_nanos().to_be_bytes());
        message.extend_from_slice(&content(self.source, self.number, size.saturating_sub(HEADER)));
        message.freeze()
    }

    fn read(header: &[u8; HEADER]) -> Option<Self> {
        let [a, b, mark @ .., s0, s1, s2, s3, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _] = *header;
        let (_, numbers) = header.split_last_chunk::<16>().map(|(head, numbers)| (head, *numbers))?;
        let (number, born) = numbers.split_first_chunk::<8>()?;
        let born = u64::from_be_bytes(born.try_into().ok()?);
        let size = u32::from_be_bytes([s0, s1, s2, s3]);
        (u16::from_be_bytes(mark) == MARK && size >= MESSAGE_HEADER).then_some(Self {
            source: u16::from_be_bytes([a, b]),
            number: u64::from_be_bytes(*number),
            size,
            born: Instant::from_nanos(born),
        })
    }
}

/// The state of a message after its next bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opened {
    /// More of the message must come.
    Waits,
    /// The message is whole; were all of its bytes right?
    Whole(Envelope, bool),
    /// This is no message.
    Wrong,
}

/// Messages one behind the other, whose bytes come in pieces of any size.
#[derive(Debug, Default)]
pub(super) struct Opener {
    header: [u8; HEADER],
    /// Bytes of the message that have come.
    got: usize,
    envelope: Option<Envelope>,
    wrong: bool,
}

impl Opener {
    /// Whether no message has begun that is not whole.
    pub(super) fn is_between(&self) -> bool {
        self.got == 0
    }

    /// Takes bytes up to the end of a message at most; the rest belongs to the next.
    pub(super) fn take<'a>(&mut self, mut bytes: &'a [u8]) -> (Opened, &'a [u8]) {
        if self.got < HEADER {
            let missing = (HEADER - self.got).min(bytes.len());
            let (head, rest) = bytes.split_at(missing);
            if let Some(place) = self.header.get_mut(self.got..self.got + missing) {
                place.copy_from_slice(head);
            }
            self.got += missing;
            bytes = rest;
            if self.got < HEADER {
                return (Opened::Waits, bytes);
            }
            self.envelope = Envelope::read(&self.header);
        }
        let Some(envelope) = self.envelope else { return (Opened::Wrong, &[]) };
        let left = (envelope.size as usize).saturating_sub(self.got);
        let (body, rest) = bytes.split_at(left.min(bytes.len()));
        let place = envelope.number + (self.got - HEADER) as u64;
        self.wrong |= !is_content(envelope.source, place, body);
        self.got += body.len();
        if self.got < envelope.size as usize {
            return (Opened::Waits, rest);
        }
        let right = !self.wrong;
        *self = Self::default();
        (Opened::Whole(envelope, right), rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(number: u64, size: u32) -> Envelope {
        Envelope { source: 3, number, size, born: Instant::from_nanos(1_000_000 + number) }
    }

    #[test]
    fn pieces_of_any_size_are_the_messages_again() {
        let sent: Vec<Envelope> =
            [24, 25, 100, 5000, 70_000].into_iter().zip(7..).map(|(size, n)| message(n, size)).collect();
        let bytes: Vec<u8> = sent.iter().flat_map(|envelope| envelope.write().to_vec()).collect();
        for step in [1, 7, 23, 24, 1000, bytes.len()] {
            let mut opener = Opener::default();
            let mut got = Vec::new();
            for mut piece in bytes.chunks(step) {
                while !piece.is_empty() {
                    let (opened, rest) = opener.take(piece);
                    piece = rest;
                    match opened {
                        Opened::Whole(envelope, right) => {
                            assert!(right);
                            got.push(envelope);
                        }
                        Opened::Waits => assert!(piece.is_empty()),
                        Opened::Wrong => panic!("{step}"),
                    }
                }
            }
            assert_eq!(got, sent, "{step}");
        }
    }

    #[test]
    fn what_is_damaged_is_noticed() {
        let whole = message(1, 200).write();
        for at in 0..whole.len() {
            let mut broken = whole.to_vec();
            broken[at] ^= 0x40;
            let (opened, _) = Opener::default().take(&broken);
            assert_ne!(opened, Opened::Whole(message(1, 200), true), "{at}");
        }
    }
}
