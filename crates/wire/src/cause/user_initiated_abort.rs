//! User-Initiated Abort: the user of the sender asked for the ABORT (RFC 9260 section 3.3.10.12).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-------------------------------+-------------------------------+
//! |           code = 12           |             length            |
//! +-------------------------------+-------------------------------+
//! |               reason of the upper layer, padded               |
//! +---------------------------------------------------------------+
//! ```

use super::{RawCause, code};
use crate::emit;
use crate::error::TlvError;

/// A User-Initiated Abort cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserInitiatedAbort<'a> {
    /// The upper layer's reason for the abort; any bytes.
    pub reason: &'a [u8],
}

impl<'a> UserInitiatedAbort<'a> {
    /// Cause code.
    pub const CODE: u16 = code::USER_INITIATED_ABORT;

    /// Reads the cause.
    ///
    /// # Errors
    /// None today: any value will do.
    pub fn parse(raw: RawCause<'a>) -> Result<Self, TlvError> {
        Ok(Self { reason: raw.value })
    }

    /// Appends the cause, padded.
    pub fn emit(&self, out: &mut Vec<u8>) {
        emit::tlv(out, Self::CODE, self.reason);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::param::tests::layout;

    #[test]
    fn bytes_on_the_wire() {
        let bytes = [0, 12, 0, 9, 1, 2, 3, 4, 5, 0, 0, 0];
        layout(
            &UserInitiatedAbort { reason: &[1, 2, 3, 4, 5] },
            UserInitiatedAbort::emit,
            UserInitiatedAbort::parse,
            &bytes,
        );
    }
}
