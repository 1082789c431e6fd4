//! HEARTBEAT and HEARTBEAT ACK: is this path alive, and is it the peer's? (RFC 9260 sections 3.3.5 and 3.3.6).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---------------+---------------+-------------------------------+
//! | type = 4 or 5 |     flags     |            length             |
//! +---------------+---------------+-------------------------------+
//! |   Heartbeat Info parameter = 1  |          length             |
//! +---------------------------------------------------------------+
//! |        information that only the sender understands           |
//! +---------------------------------------------------------------+
//! ```

use super::kind;
use super::raw::RawChunk;
use crate::emit::{begin_chunk, end};
use crate::error::ChunkError;
use crate::param::{HeartbeatInfo, ParamWriter, Params};

/// The type of the chunk: request or acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HeartbeatKind {
    /// HEARTBEAT.
    Request,
    /// HEARTBEAT ACK.
    Ack,
}

/// A HEARTBEAT or HEARTBEAT ACK: the acknowledgement returns the parameters of the request unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heartbeat<'a> {
    /// Information that the receiver returns unchanged.
    pub info: HeartbeatInfo<'a>,
}

/// Appends the HEARTBEAT ACK for a HEARTBEAT chunk with this value: "the Heartbeat Information TLV, together with any other received
/// TLVs, copied unchanged from the received HEARTBEAT chunk" (RFC 9260, 8.3).
pub fn emit_answer(value: &[u8], out: &mut Vec<u8>) {
    let start = begin_chunk(out, kind::HEARTBEAT_ACK, 0);
    out.extend_from_slice(value);
    end(out, start, 0);
}

impl<'a> Heartbeat<'a> {
    /// Bytes before the information, chunk header included.
    pub const HEADER: usize = 8;

    /// Reads the mandatory parameter; bytes behind it are ignored.
    ///
    /// # Errors
    /// The parameter is missing or malformed.
    pub fn parse(raw: RawChunk<'a>) -> Result<Self, ChunkError> {
        let missing = ChunkError::NoHeartbeatInfo { kind: raw.kind };
        let param = Params::new(raw.value).iter().next().ok_or(missing)?.map_err(|_| missing)?;
        if param.kind != HeartbeatInfo::KIND {
            return Err(missing);
        }
        Ok(Self { info: HeartbeatInfo { info: param.value } })
    }

    /// Appends the chunk, padded.
    pub fn emit(&self, which: HeartbeatKind, out: &mut Vec<u8>) {
        let kind = match which {
            HeartbeatKind::Request => kind::HEARTBEAT,
            HeartbeatKind::Ack => kind::HEARTBEAT_ACK,
        };
        let start = begin_chunk(out, kind, 0);
        let mut params = ParamWriter::new(out);
        params.raw(HeartbeatInfo::KIND, self.info.info);
        let padding = params.last_padding();
        end(out, start, padding);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::tests::{Mutated, length_cases, raw};

    #[test]
    fn layout() {
        let mut out = Vec::new();
        Heartbeat { info: HeartbeatInfo { info: b"hello" } }.emit(HeartbeatKind::Ack, &mut out);
        assert_eq!(out, [5, 0, 0, 13, 0, 1, 0, 9, b'h', b'e', b'l', b'l', b'o', 0, 0, 0]);
        assert_eq!(Heartbeat::parse(raw(&out)).unwrap().info.info, b"hello");
    }

    #[test]
    fn an_answer_returns_the_value() {
        let value = [0, 1, 0, 6, 7, 7, 0, 0, 0xc7, 0x77, 0, 5, 9];
        let mut out = Vec::new();
        emit_answer(&value, &mut out);
        assert_eq!(out[..4], [5, 0, 0, 17]);
        assert_eq!(out[4..17], value);
        assert_eq!(out[17..], [0, 0, 0]);
        assert_eq!(Heartbeat::parse(raw(&out)).unwrap().info.info, [7, 7]);
    }

    #[test]
    fn padding_counted_in_the_chunk_length() {
        let bytes = [4, 0, 0, 12, 0, 1, 0, 6, 7, 7, 0, 0];
        assert_eq!(Heartbeat::parse(raw(&bytes)).unwrap().info.info, [7, 7]);
    }

    #[test]
    fn parameter_missing_or_of_another_type() {
        let missing = Err(ChunkError::NoHeartbeatInfo { kind: 4 });
        assert_eq!(Heartbeat::parse(raw(&[4, 0, 0, 4])), missing);
        assert_eq!(Heartbeat::parse(raw(&[4, 0, 0, 8, 0, 2, 0, 4])), missing);
        assert_eq!(Heartbeat::parse(raw(&[4, 0, 0, 8, 0, 1, 0, 3])), missing);
        assert_eq!(Heartbeat::parse(raw(&[4, 0, 0, 8, 0, 1, 0, 5])), missing);
    }

    #[test]
    fn lengths_around_the_header() {
        for Mutated { length, mut bytes } in length_cases(kind::HEARTBEAT, Heartbeat::HEADER) {
            bytes[4..8].copy_from_slice(&[0, 1, 0, 4]);
            assert_eq!(Heartbeat::parse(raw(&bytes)).is_ok(), length >= 8, "length {length}");
        }
    }
}
