//! How chunks, parameters and causes are written: header first, then the value, then the length is filled in and
//! the whole padded with zeros. The start of each is a multiple of four away from the start of the packet, so
//! padding depends on its own length only.

use crate::padding::padded;

/// The largest number a length field holds.
pub(crate) const MAX_LENGTH: usize = u16::MAX as usize;

/// Writes a chunk header without its length; returns where it starts.
// rfc9260:3-2
#[inline]
pub(crate) fn begin_chunk(out: &mut Vec<u8>, kind: u8, flags: u8) -> usize {
    let start = out.len();
    out.extend_from_slice(&[kind, flags, 0, 0]);
    start
}

/// Writes the header of a parameter or cause without its length; returns where it starts.
#[inline]
pub(crate) fn begin_tlv(out: &mut Vec<u8>, kind: u16) -> usize {
    let start = out.len();
    let [hi, lo] = kind.to_be_bytes();
    out.extend_from_slice(&[hi, lo, 0, 0]);
    start
}

/// Fills in the length of the chunk or parameter that begins at `start`, and pads it. The last `uncounted` bytes are padding of the last
/// parameter, which "the Chunk Length field does not count" (section 3.2).
///
/// A value too long for a length field is cut: the output is always well-formed. No packet holds such a value,
/// so callers that keep to a packet size never see this. Returns how much padding was added.
// rfc9260:3.2-1 rfc9260:3.2-2 rfc9260:3.2-3 rfc9260:3.3.1-8 rfc9260:3.3.1-9 rfc9260:3.3.1-10
#[inline]
pub(crate) fn end(out: &mut Vec<u8>, start: usize, uncounted: usize) -> usize {
    let mut length = out.len() - start - uncounted;
    if length > MAX_LENGTH {
        length = MAX_LENGTH;
        out.truncate(start + MAX_LENGTH);
    }
    if let Some(field) = out.get_mut(start + 2..start + 4) {
        field.copy_from_slice(&(length as u16).to_be_bytes());
    }
    out.resize(start + padded(length), 0);
    padded(length) - length
}

/// A whole parameter or cause with the value `value`. Returns how much padding was added.
// rfc9260:3.2.1-1 rfc9260:3.2.1-2
pub(crate) fn tlv(out: &mut Vec<u8>, kind: u16, value: &[u8]) -> usize {
    let start = begin_tlv(out, kind);
    out.extend_from_slice(value);
    end(out, start, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    // rfc9260:3.2-1 rfc9260:3.2-2 rfc9260:3.2-3
    #[test]
    fn pads_and_counts() {
        for (len, padding) in [(0, 0), (1, 3), (2, 2), (3, 1), (4, 0)] {
            let mut out = vec![9; 3];
            assert_eq!(tlv(&mut out, 0x8008, &[1; 4][..len]), padding);
            assert_eq!(out.len(), 3 + 4 + len + padding);
            assert_eq!(out[3..7], [0x80, 0x08, 0, 4 + len as u8]);
            assert!(out[7 + len..].iter().all(|&b| b == 0));
        }
    }

    #[test]
    fn a_value_that_is_too_long_is_cut() {
        let mut out = Vec::new();
        assert_eq!(tlv(&mut out, 7, &vec![1; 70_000]), 1);
        assert_eq!(out.len(), 65_536);
        assert_eq!(out[..4], [0, 7, 255, 255]);
    }
}
