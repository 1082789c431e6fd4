//! Re-configuration Response: the result of a request (RFC 6525 section 4.4).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-------------------------------+-------------------------------+
//! |          type = 16            |        length = 12 or 20      |
//! +-------------------------------+-------------------------------+
//! |            re-configuration response sequence number          |
//! +---------------------------------------------------------------+
//! |                            result                             |
//! +---------------------------------------------------------------+
//! |                sender's next TSN (optional)                   |
//! +---------------------------------------------------------------+
//! |                receiver's next TSN (optional)                 |
//! +---------------------------------------------------------------+
//! ```

use super::{RawParam, kind};
use crate::emit;
use crate::error::TlvError;
use crate::serial::Tsn;

/// A Re-configuration Response parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReconfigResponse {
    /// Number of the request that is answered.
    pub request: u32,
    /// 0 nothing to do, 1 performed, 2 denied, 3 wrong SSN, 4 a request is in progress already, 5 bad sequence number,
    /// 6 in progress.
    pub result: u32,
    /// After an SSN/TSN reset: the sender's and the receiver's next TSN.
    pub next_tsns: Option<(Tsn, Tsn)>,
}

impl ReconfigResponse {
    /// Parameter type.
    pub const KIND: u16 = kind::RECONFIG_RESPONSE;

    /// Reads the parameter.
    ///
    /// # Errors
    /// A length other than 12 and 20.
    // rfc6525:4.4-2
    pub fn parse(raw: RawParam<'_>) -> Result<Self, TlvError> {
        let (&[r0, r1, r2, r3, c0, c1, c2, c3], rest) = raw.at_least::<8>()?;
        let next_tsns = match *rest {
            [] => None,
            [a, b, c, d, e, f, g, h] => {
                Some((Tsn::new(u32::from_be_bytes([a, b, c, d])), Tsn::new(u32::from_be_bytes([e, f, g, h]))))
            }
            _ => return Err(raw.wrong_length(12)),
        };
        Ok(Self {
            request: u32::from_be_bytes([r0, r1, r2, r3]),
            result: u32::from_be_bytes([c0, c1, c2, c3]),
            next_tsns,
        })
    }

    /// Appends the parameter.
    // rfc6525:4.4-1
    pub fn emit(&self, out: &mut Vec<u8>) {
        let start = emit::begin_tlv(out, Self::KIND);
        out.extend_from_slice(&self.request.to_be_bytes());
        out.extend_from_slice(&self.result.to_be_bytes());
        if let Some((sender, receiver)) = self.next_tsns {
            out.extend_from_slice(&sender.get().to_be_bytes());
            out.extend_from_slice(&receiver.get().to_be_bytes());
        }
        emit::end(out, start, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::param::tests::{layout, length_cases, raw};

    #[test]
    fn bytes_on_the_wire() {
        let bytes = [0, 16, 0, 12, 1, 2, 3, 4, 0, 0, 0, 6];
        let short = ReconfigResponse { request: 0x0102_0304, result: 6, next_tsns: None };
        layout(&short, ReconfigResponse::emit, ReconfigResponse::parse, &bytes);
        let bytes = [0, 16, 0, 20, 1, 2, 3, 4, 0, 0, 0, 1, 5, 6, 7, 8, 9, 10, 11, 12];
        let next_tsns = Some((Tsn::new(0x0506_0708), Tsn::new(0x090A_0B0C)));
        let long = ReconfigResponse { result: 1, next_tsns, ..short };
        layout(&long, ReconfigResponse::emit, ReconfigResponse::parse, &bytes);
    }

    // rfc6525:4.4-1 rfc6525:4.4-2
    #[test]
    fn lengths() {
        for (length, bytes) in length_cases(16, 24) {
            let good = length == 12 || length == 20;
            assert_eq!(ReconfigResponse::parse(raw(&bytes)).is_ok(), good, "length {length}");
        }
    }
}
