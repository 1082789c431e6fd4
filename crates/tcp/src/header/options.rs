//! TCP options: MSS (RFC 9293), window scale and timestamps (RFC 7323), SACK (RFC 2018).

use super::error::ParseError;

const END: u8 = 0;
const NOP: u8 = 1;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;

/// Up to four SACK blocks, each `[left, right)` as it travels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks {
    blocks: [(u32, u32); 4],
    count: u8,
}

impl SackBlocks {
    /// Adds a block; silently full after four.
    pub fn push(&mut self, left: u32, right: u32) {
        if let Some(slot) = self.blocks.get_mut(usize::from(self.count)) {
            *slot = (left, right);
            self.count += 1;
        }
    }

    /// The blocks in order.
    #[must_use]
    pub fn as_slice(&self) -> &[(u32, u32)] {
        self.blocks.get(..usize::from(self.count)).unwrap_or(&[])
    }
}

/// The options that we know. Others are skipped when parsing (RFC 9293, section 3.1: "MUST-6").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Maximum segment size; SYN only.
    pub mss: Option<u16>,
    /// Shift of the window field; SYN only. RFC 7323 caps it at 14, the reader does that.
    pub window_scale: Option<u8>,
    /// SACK may be used; SYN only.
    pub sack_permitted: bool,
    /// TSval and TSecr.
    pub timestamps: Option<(u32, u32)>,
    /// SACK blocks.
    pub sack: SackBlocks,
}

impl Options {
    pub(super) fn parse(mut bytes: &[u8]) -> Result<Self, ParseError> {
        let mut options = Self::default();
        loop {
            match bytes {
                [] | [END, ..] => return Ok(options),
                [NOP, rest @ ..] => bytes = rest,
                [kind, len, rest @ ..] => {
                    let wrong = ParseError::Option(*kind);
                    let body_len = usize::from(*len).checked_sub(2).ok_or(wrong)?;
                    let (body, rest) = rest.split_at_checked(body_len).ok_or(wrong)?;
                    options.option(*kind, body)?;
                    bytes = rest;
                }
                [kind] => return Err(ParseError::Option(*kind)),
            }
        }
    }

    fn option(&mut self, kind: u8, body: &[u8]) -> Result<(), ParseError> {
        match (kind, body) {
            (MSS, [a, b]) => self.mss = Some(u16::from_be_bytes([*a, *b])),
            (WINDOW_SCALE, [shift]) => self.window_scale = Some(*shift),
            (SACK_PERMITTED, []) => self.sack_permitted = true,
            (TIMESTAMPS, [a, b, c, d, e, f, g, h]) => {
                self.timestamps =
                    Some((u32::from_be_bytes([*a, *b, *c, *d]), u32::from_be_bytes([*e, *f, *g, *h])));
            }
            (SACK, blocks) if !blocks.is_empty() && blocks.len() % 8 == 0 => {
                for b in blocks.chunks_exact(8) {
                    self.sack.push(
                        u32::from_be_bytes([b[0], b[1], b[2], b[3]]),
                        u32::from_be_bytes([b[4], b[5], b[6], b[7]]),
                    );
                }
            }
            (MSS | WINDOW_SCALE | SACK_PERMITTED | TIMESTAMPS | SACK, _) => {
                return Err(ParseError::Option(kind));
            }
            _ => {}
        }
        Ok(())
    }

    /// Length as emitted, a multiple of 4.
    #[must_use]
    pub fn size(&self) -> usize {
        let mut len = 0;
        if self.mss.is_some() {
            len += 4;
        }
        if self.window_scale.is_some() {
            len += 4;
        }
        if self.timestamps.is_some() {
            len += 12;
        } else if self.sack_permitted {
            len += 4;
        }
        let blocks = self.sack.as_slice().len();
        if blocks > 0 {
            len += 4 + 8 * blocks;
        }
        len
    }

    /// In the order and with the padding that most stacks use; SACK-permitted takes the padding of the timestamp.
    pub(super) fn emit(&self, buf: &mut Vec<u8>) {
        if let Some(mss) = self.mss {
            let [a, b] = mss.to_be_bytes();
            buf.extend_from_slice(&[MSS, 4, a, b]);
        }
        if let Some((value, echo)) = self.timestamps {
            let pad = if self.sack_permitted { [SACK_PERMITTED, 2] } else { [NOP, NOP] };
            buf.extend_from_slice(&pad);
            buf.extend_from_slice(&[TIMESTAMPS, 10]);
            buf.extend_from_slice(&value.to_be_bytes());
            buf.extend_from_slice(&echo.to_be_bytes());
        } else if self.sack_permitted {
            buf.extend_from_slice(&[NOP, NOP, SACK_PERMITTED, 2]);
        }
        if let Some(shift) = self.window_scale {
            buf.extend_from_slice(&[NOP, WINDOW_SCALE, 3, shift]);
        }
        let blocks = self.sack.as_slice();
        if !blocks.is_empty() {
            buf.extend_from_slice(&[NOP, NOP, SACK, (2 + 8 * blocks.len()) as u8]);
            for (left, right) in blocks {
                buf.extend_from_slice(&left.to_be_bytes());
                buf.extend_from_slice(&right.to_be_bytes());
            }
        }
    }
}
