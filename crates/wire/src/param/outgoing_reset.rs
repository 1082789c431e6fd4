//! Outgoing SSN Reset Request: the sender starts some or all of its streams anew (RFC 6525 section 4.1).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-------------------------------+-------------------------------+
//! |           type = 13           |       length = 16 + 2 N       |
//! +-------------------------------+-------------------------------+
//! |            re-configuration request sequence number           |
//! +---------------------------------------------------------------+
//! |            re-configuration response sequence number          |
//! +---------------------------------------------------------------+
//! |                   sender's last assigned TSN                  |
//! +-------------------------------+-------------------------------+
//! |        stream number 1        |        stream number 2        |
//! +-------------------------------+-------------------------------+
//! |                              ...                              |
//! +---------------------------------------------------------------+
//! ```

use super::{RawParam, kind};
use crate::emit;
use crate::error::TlvError;
use crate::serial::Tsn;
use crate::tlv::U16s;

/// An Outgoing SSN Reset Request parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutgoingReset<'a> {
    /// Number of the request.
    pub request: u32,
    /// Number of the peer's request that this one answers, else of the last request that the peer made.
    pub response: u32,
    /// The last TSN that the sender has given.
    pub last_tsn: Tsn,
    streams: &'a [u8],
}

impl<'a> OutgoingReset<'a> {
    /// Parameter type.
    pub const KIND: u16 = kind::OUTGOING_RESET;
    /// Bytes before the stream numbers, parameter header included.
    pub const HEADER: usize = 16;

    /// Reads the parameter.
    ///
    /// # Errors
    /// Shorter than its fixed fields, or half of a stream number stands at its end.
    pub fn parse(raw: RawParam<'a>) -> Result<Self, TlvError> {
        let (&[a0, a1, a2, a3, b0, b1, b2, b3, t0, t1, t2, t3], streams) = raw.at_least::<12>()?;
        if streams.len() % 2 != 0 {
            return Err(raw.wrong_length(raw.bytes.len() - 1));
        }
        Ok(Self {
            request: u32::from_be_bytes([a0, a1, a2, a3]),
            response: u32::from_be_bytes([b0, b1, b2, b3]),
            last_tsn: Tsn::new(u32::from_be_bytes([t0, t1, t2, t3])),
            streams,
        })
    }

    /// The streams; none listed means all of them.
    #[must_use]
    pub fn streams(&self) -> U16s<'a> {
        U16s::new(self.streams)
    }

    /// Appends the parameter, padded.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let start = emit::begin_tlv(out, Self::KIND);
        fixed(out, self.request, self.response, self.last_tsn);
        out.extend_from_slice(self.streams);
        emit::end(out, start, 0);
    }
}

fn fixed(out: &mut Vec<u8>, request: u32, response: u32, last_tsn: Tsn) {
    for word in [request, response, last_tsn.get()] {
        out.extend_from_slice(&word.to_be_bytes());
    }
}

/// The value of the parameter, without its header, for [`ParamWriter::raw`](super::ParamWriter::raw).
// rfc6525:4.1-1
#[must_use]
pub fn value(request: u32, response: u32, last_tsn: Tsn, streams: &[u16]) -> Vec<u8> {
    let mut out = Vec::with_capacity(12 + 2 * streams.len());
    fixed(&mut out, request, response, last_tsn);
    out.extend(streams.iter().flat_map(|stream| stream.to_be_bytes()));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::param::tests::{layout, length_cases, raw};

    #[test]
    fn bytes_on_the_wire() {
        let bytes = [0, 13, 0, 18, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0, 0];
        let reset = OutgoingReset {
            request: 0x0102_0304,
            response: 0x0506_0708,
            last_tsn: Tsn::new(0x090A_0B0C),
            streams: &[13, 14],
        };
        layout(&reset, OutgoingReset::emit, OutgoingReset::parse, &bytes);
        assert!(reset.streams().eq([0x0D0E]));
        assert_eq!(value(0x0102_0304, 0x0506_0708, Tsn::new(0x090A_0B0C), &[0x0D0E]), bytes[4..18]);
    }

    // rfc6525:4.1-1
    #[test]
    fn lengths() {
        for (length, bytes) in length_cases(13, 20) {
            let good = length >= 16 && length % 2 == 0;
            assert_eq!(OutgoingReset::parse(raw(&bytes)).is_ok(), good, "length {length}");
        }
    }
}
