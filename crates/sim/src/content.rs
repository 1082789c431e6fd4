//! The content that applications send: bytes that depend on the place in the stream, so that a receiver can tell
//! whether they came whole and in order, without keeping a copy.

use bytes::Bytes;

/// A prime, so that no power of two and no packet size is a period.
const PERIOD: usize = 4093;
const LONGEST: usize = 65_536;
static PATTERN: [u8; PERIOD + LONGEST] = pattern();

const fn pattern() -> [u8; PERIOD + LONGEST] {
    let mut out = [0; PERIOD + LONGEST];
    let mut i = 0;
    while i < out.len() {
        if i < PERIOD {
            // Any sequence without a short period would do.
            let x = (i as u32).wrapping_mul(2_654_435_761);
            out[i] = (x >> 24) as u8 ^ (x >> 13) as u8;
        } else {
            out[i] = out[i - PERIOD];
        }
        i += 1;
    }
    out
}

/// `len` bytes of `stream` from `position` on. No copy and no counting of references up to 64 KiB.
pub(crate) fn content(stream: u16, position: u64, len: usize) -> Bytes {
    let start = offset(stream, position);
    match PATTERN.get(start..start + len) {
        Some(part) if len <= LONGEST => Bytes::from_static(part),
        _ => PATTERN[..PERIOD].iter().copied().cycle().skip(start).take(len).collect(),
    }
}

/// Whether `bytes` are the [`content`] of that place.
pub(crate) fn is_content(stream: u16, position: u64, bytes: &[u8]) -> bool {
    let mut at = offset(stream, position);
    for part in bytes.chunks(LONGEST) {
        if PATTERN.get(at..at + part.len()) != Some(part) {
            return false;
        }
        at = (at + part.len()) % PERIOD;
    }
    true
}

fn offset(stream: u16, position: u64) -> usize {
    ((position % PERIOD as u64) as usize + usize::from(stream) * 617) % PERIOD
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_is_recognised_and_nothing_else_is() {
        for (stream, position, len) in [(0, 0, 1), (3, 4092, 5000), (9, 1 << 40, 65_536), (1, 7, 200_000)] {
            let bytes = content(stream, position, len);
            assert_eq!(bytes.len(), len);
            assert!(is_content(stream, position, &bytes), "{stream} {position} {len}");
            if len > 4 {
                assert!(!is_content(stream, position + 1, &bytes));
                assert!(!is_content(stream + 1, position, &bytes));
                let mut broken = bytes.to_vec();
                broken[len / 2] ^= 1;
                assert!(!is_content(stream, position, &broken));
            }
        }
        // Pieces are the whole.
        let whole = content(2, 100, 9000);
        assert_eq!(whole[5000..], content(2, 5100, 4000)[..]);
    }
}
