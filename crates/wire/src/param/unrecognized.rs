//! Unrecognized Parameter: a parameter of the INIT that its receiver did not know (RFC 9260 section 3.3.3.1.2).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-------------------------------+-------------------------------+
//! |            type = 8           |             length            |
//! +-------------------------------+-------------------------------+
//! |                 unrecognized parameter, padded                |
//! +---------------------------------------------------------------+
//! ```

use super::{RawParam, kind};
use crate::emit;
use crate::error::TlvError;

/// An Unrecognized Parameter parameter, in an INIT ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnrecognizedParameter<'a> {
    /// The parameter, complete with type, length and value.
    pub parameter: &'a [u8],
}

impl<'a> UnrecognizedParameter<'a> {
    /// Parameter type.
    pub const KIND: u16 = kind::UNRECOGNIZED;

    /// Reads the parameter.
    ///
    /// # Errors
    /// None today: any value will do.
    pub fn parse(raw: RawParam<'a>) -> Result<Self, TlvError> {
        Ok(Self { parameter: raw.value })
    }

    /// Appends the parameter, padded.
    pub fn emit(&self, out: &mut Vec<u8>) {
        emit::tlv(out, Self::KIND, self.parameter);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::param::tests::layout;

    #[test]
    fn bytes_on_the_wire() {
        let bytes = [0, 8, 0, 9, 1, 2, 3, 4, 5, 0, 0, 0];
        layout(
            &UnrecognizedParameter { parameter: &[1, 2, 3, 4, 5] },
            UnrecognizedParameter::emit,
            UnrecognizedParameter::parse,
            &bytes,
        );
    }
}
