//! Supported Extensions: chunk types beyond the base protocol that the sender speaks (RFC 5061 section 4.2.7).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-------------------------------+-------------------------------+
//! |         type = 0x8008         |             length            |
//! +-------------------------------+-------------------------------+
//! |               chunk types, one byte each, padded              |
//! +---------------------------------------------------------------+
//! ```

use super::{RawParam, kind};
use crate::emit;
use crate::error::TlvError;

/// A Supported Extensions parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SupportedExtensions<'a> {
    /// One chunk type a byte.
    pub chunk_types: &'a [u8],
}

impl<'a> SupportedExtensions<'a> {
    /// Parameter type.
    pub const KIND: u16 = kind::SUPPORTED_EXTENSIONS;

    /// Reads the parameter.
    ///
    /// # Errors
    /// None today: any value will do.
    pub fn parse(raw: RawParam<'a>) -> Result<Self, TlvError> {
        Ok(Self { chunk_types: raw.value })
    }

    /// Appends the parameter, padded.
    pub fn emit(&self, out: &mut Vec<u8>) {
        emit::tlv(out, Self::KIND, self.chunk_types);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::param::tests::layout;

    #[test]
    fn bytes_on_the_wire() {
        let bytes = [128, 8, 0, 9, 1, 2, 3, 4, 5, 0, 0, 0];
        layout(
            &SupportedExtensions { chunk_types: &[1, 2, 3, 4, 5] },
            SupportedExtensions::emit,
            SupportedExtensions::parse,
            &bytes,
        );
    }
}
