//! Forward-TSN-Supported: the sender speaks partial reliability (RFC 3758 section 3.1).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-------------------------------+-------------------------------+
//! |         type = 0xC000         |           length = 4          |
//! +-------------------------------+-------------------------------+
//! ```

use super::{RawParam, kind};
use crate::emit;
use crate::error::TlvError;

/// A Forward-TSN-Supported parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForwardTsnSupported;

impl ForwardTsnSupported {
    /// Parameter type.
    pub const KIND: u16 = kind::FORWARD_TSN_SUPPORTED;

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
        let bytes = [192, 0, 0, 4];
        layout(&ForwardTsnSupported, ForwardTsnSupported::emit, ForwardTsnSupported::parse, &bytes);
    }

    #[test]
    fn lengths_around_the_only_one() {
        for (length, bytes) in length_cases(ForwardTsnSupported::KIND, 4) {
            let raw = crate::param::tests::raw(&bytes);
            assert_eq!(ForwardTsnSupported::parse(raw).is_ok(), length == 4, "length {length}");
        }
    }
}
