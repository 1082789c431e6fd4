//! How far chunks, parameters and causes are padded (RFC 9260 section 3.2).

/// A length rounded up to the next multiple of four: the size of a chunk, a parameter or a cause of `len` bytes
/// with its padding.
#[inline]
#[must_use]
pub const fn padded(len: usize) -> usize {
    (len + 3) & !3
}
