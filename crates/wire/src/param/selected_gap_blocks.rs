//! Selected Gap Blocks: SACKs may leave out gap blocks where both sides say so (docs/reference/extensions.md).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-------------------------------+-------------------------------+
//! |         type = 0xB15A         |           length = 4          |
//! +-------------------------------+-------------------------------+
//! ```

use super::{RawParam, kind};
use crate::emit;
use crate::error::TlvError;

/// A Selected Gap Blocks parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SelectedGapBlocks;

impl SelectedGapBlocks {
    /// Parameter type.
    pub const KIND: u16 = kind::SELECTED_GAP_BLOCKS;

    /// Reads the parameter.
    ///
    /// # Errors
    /// Its length is not 4.
    pub fn parse(raw: RawParam<'_>) -> Result<Self, TlvError> {
        let [] = raw.exactly()?;
        Ok(Self)
    }

    /// Appends the parameter, padded.
    pub fn emit(&self, out: &mut Vec<u8>) {
        emit::tlv(out, Self::KIND, &[]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::param::tests::{layout, length_cases};

    #[test]
    fn bytes_on_the_wire() {
        let bytes = [0xB1, 0x5A, 0, 4];
        layout(&SelectedGapBlocks, SelectedGapBlocks::emit, SelectedGapBlocks::parse, &bytes);
    }

    #[test]
    fn lengths_around_the_only_one() {
        for (length, bytes) in length_cases(SelectedGapBlocks::KIND, 4) {
            let raw = crate::param::tests::raw(&bytes);
            assert_eq!(SelectedGapBlocks::parse(raw).is_ok(), length == 4, "length {length}");
        }
    }
}
