//! Errors of a header.

/// Reason why a segment cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// Shorter than a header.
    #[error("TCP segment of {0} bytes is shorter than the 20-byte header")]
    Short(usize),
    /// The data offset is below 5 words or beyond the end.
    #[error("TCP data offset of {offset} bytes does not fit a segment of {len} bytes")]
    DataOffset {
        /// Header length that the segment claims.
        offset: usize,
        /// Length of the segment.
        len: usize,
    },
    /// An option is longer than the header, or has a wrong length.
    #[error("TCP option {0} has a wrong length")]
    Option(u8),
}
