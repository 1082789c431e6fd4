//! Incoming SSN Reset Request: the sender asks the peer to start some or all of the peer's streams anew (RFC 6525
//! section 4.2).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-------------------------------+-------------------------------+
//! |           type = 14           |        length = 8 + 2 N       |
//! +-------------------------------+-------------------------------+
//! |            re-configuration request sequence number           |
//! +-------------------------------+-------------------------------+
//! |        stream number 1        |        stream number 2        |
//! +-------------------------------+-------------------------------+
//! |                              ...                              |
//! +---------------------------------------------------------------+
//! ```

use super::{RawParam, kind};
use crate::emit;
use crate::error::TlvError;
use crate::tlv::U16s;

/// An Incoming SSN Reset Request parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IncomingReset<'a> {
    /// Number of the request.
    pub request: u32,
    streams: &'a [u8],
}

impl<'a> IncomingReset<'a> {
    /// Parameter type.
    pub const KIND: u16 = kind::INCOMING_RESET;
    /// Bytes before the stream numbers, parameter header included.
    pub const HEADER: usize = 8;

    /// Reads the parameter.
    ///
    /// # Errors
    /// Shorter than its fixed field, or half of a stream number stands at its end.
    pub fn parse(raw: RawParam<'a>) -> Result<Self, TlvError> {
        let (&request, streams) = raw.at_least::<4>()?;
        if streams.len() % 2 != 0 {
            return Err(raw.wrong_length(raw.bytes.len() - 1));
        }
        Ok(Self { request: u32::from_be_bytes(request), streams })
    }

    /// The streams; none listed means all of them.
    #[must_use]
    pub fn streams(&self) -> U16s<'a> {
        U16s::new(self.streams)
    }

    /// Appends the parameter, padded.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let start = emit::begin_tlv(out, Self::KIND);
        out.extend_from_slice(&self.request.to_be_bytes());
        out.extend_from_slice(self.streams);
        emit::end(out, start, 0);
    }
}

/// The value of the parameter, without its header, for [`ParamWriter::raw`](super::ParamWriter::raw).
// rfc6525:4.2-1
#[must_use]
pub fn value(request: u32, streams: &[u16]) -> Vec<u8> {
    let mut out = Vec::with_capacity(4 + 2 * streams.len());
    out.extend_from_slice(&request.to_be_bytes());
    out.extend(streams.iter().flat_map(|stream| stream.to_be_bytes()));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::param::tests::{layout, length_cases, raw};

    #[test]
    fn bytes_on_the_wire() {
        let bytes = [0, 14, 0, 12, 1, 2, 3, 4, 5, 6, 7, 8];
        let reset = IncomingReset { request: 0x0102_0304, streams: &[5, 6, 7, 8] };
        layout(&reset, IncomingReset::emit, IncomingReset::parse, &bytes);
        assert!(reset.streams().eq([0x0506, 0x0708]));
        assert_eq!(value(0x0102_0304, &[0x0506, 0x0708]), bytes[4..]);
    }

    // rfc6525:4.2-1
    #[test]
    fn lengths() {
        for (length, bytes) in length_cases(14, 12) {
            let good = length >= 8 && length % 2 == 0;
            assert_eq!(IncomingReset::parse(raw(&bytes)).is_ok(), good, "length {length}");
        }
    }
}
