//! Unrecognized Parameters: the INIT ACK held parameters whose type asks for this report (RFC 9260 section 3.3.10.8).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-------------------------------+-------------------------------+
//! |            code = 8           |             length            |
//! +-------------------------------+-------------------------------+
//! |                    unrecognized parameters                    |
//! +---------------------------------------------------------------+
//! ```

use super::{RawCause, code};
use crate::emit;
use crate::error::TlvError;
use crate::param::Params;

/// An Unrecognized Parameters cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnrecognizedParameters<'a> {
    /// The parameters, copied.
    pub parameters: Params<'a>,
}

impl<'a> UnrecognizedParameters<'a> {
    /// Cause code.
    pub const CODE: u16 = code::UNRECOGNIZED_PARAMETERS;

    /// Reads the cause.
    ///
    /// # Errors
    /// None today: the parameters are parsed when they are iterated over.
    pub fn parse(raw: RawCause<'a>) -> Result<Self, TlvError> {
        Ok(Self { parameters: Params::new(raw.value) })
    }

    /// Appends the cause, padded.
    pub fn emit(&self, out: &mut Vec<u8>) {
        emit::tlv(out, Self::CODE, self.parameters.bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::param::tests::layout;

    #[test]
    fn bytes_on_the_wire() {
        let bytes = [0, 8, 0, 8, 128, 0, 0, 4];
        layout(
            &UnrecognizedParameters { parameters: Params::new(&[128, 0, 0, 4]) },
            UnrecognizedParameters::emit,
            UnrecognizedParameters::parse,
            &bytes,
        );
    }
}
