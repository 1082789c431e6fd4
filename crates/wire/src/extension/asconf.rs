//! ASCONF and ASCONF-ACK: addresses of a living association change (RFC 5061 section 4.1).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---------------+---------------+-------------------------------+
//! | 0xC1 or 0x80  |     flags     |            length             |
//! +---------------+---------------+-------------------------------+
//! |                        sequence number                        |
//! +---------------------------------------------------------------+
//! |     ASCONF: an address of the association, as a parameter     |
//! +---------------------------------------------------------------+
//! |              requests, or the answers to them                 |
//! +---------------------------------------------------------------+
//! ```

use crate::chunk::kind;
use crate::chunk::raw::RawChunk;
use crate::error::{ChunkError, TlvError};
use crate::param::{Params, RawParam};

/// An ASCONF chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asconf<'a> {
    /// Counts on from chunk to chunk.
    pub sequence: u32,
    /// First an address that the association has, then the requests.
    pub params: Params<'a>,
}

impl<'a> Asconf<'a> {
    /// Chunk type.
    pub const KIND: u8 = kind::ASCONF;

    /// Reads the chunk.
    ///
    /// # Errors
    /// Shorter than its fixed fields.
    pub fn parse(raw: RawChunk<'a>) -> Result<Self, ChunkError> {
        let (&sequence, rest) = raw.at_least::<4>()?;
        Ok(Self { sequence: u32::from_be_bytes(sequence), params: Params::new(rest) })
    }
}

/// An ASCONF-ACK chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AsconfAck<'a> {
    /// Sequence number of the ASCONF that it answers.
    pub sequence: u32,
    /// Answers; a request without one was done.
    pub params: Params<'a>,
}

impl<'a> AsconfAck<'a> {
    /// Chunk type.
    pub const KIND: u8 = kind::ASCONF_ACK;

    /// Reads the chunk.
    ///
    /// # Errors
    /// Shorter than its fixed fields.
    pub fn parse(raw: RawChunk<'a>) -> Result<Self, ChunkError> {
        let (&sequence, rest) = raw.at_least::<4>()?;
        Ok(Self { sequence: u32::from_be_bytes(sequence), params: Params::new(rest) })
    }
}

/// A request of an ASCONF, or an answer to one (RFC 5061 sections 4.2.1 to 4.2.5): a number that ties the two, and behind it an address
/// parameter (Add, Delete, Set Primary), error causes (Error Cause Indication) or nothing (Success).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Correlated<'a> {
    /// Correlation identifier, the same in the request and in its answer.
    pub correlation: u32,
    /// Bytes after the known fields.
    pub rest: &'a [u8],
}

impl<'a> Correlated<'a> {
    /// Reads the parameter.
    ///
    /// # Errors
    /// Shorter than its fixed field.
    pub fn parse(raw: RawParam<'a>) -> Result<Self, TlvError> {
        let (&correlation, rest) = raw.at_least::<4>()?;
        Ok(Self { correlation: u32::from_be_bytes(correlation), rest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::tests::raw;
    use crate::param;

    #[test]
    fn layout() {
        // The example of RFC 5061 section 4.2.1 in an ASCONF.
        let bytes = [
            0xC1, 0, 0, 32, 0, 0, 0, 5, 0, 5, 0, 8, 192, 0, 2, 9, 0xC0, 1, 0, 16, 1, 2, 0x34, 0x74, 0, 5, 0,
            8, 192, 0, 2, 1,
        ];
        let chunk = Asconf::parse(raw(&bytes)).unwrap();
        let params: Vec<_> = chunk.params.iter().map(Result::unwrap).collect();
        assert_eq!((chunk.sequence, params.len(), params[1].kind), (5, 2, param::kind::ADD_IP_ADDRESS));
        let request = Correlated::parse(params[1]).unwrap();
        assert_eq!((request.correlation, request.rest), (0x0102_3474, &bytes[24..]));
        let answer = AsconfAck::parse(raw(&[0x80, 0, 0, 8, 0, 0, 0, 5])).unwrap();
        assert_eq!((answer.sequence, answer.params.iter().count()), (5, 0));
        assert!(AsconfAck::parse(raw(&[0x80, 0, 0, 6, 0, 0, 0, 5])).is_err());
        assert!(
            Correlated::parse(RawParam { kind: 0xC005, value: &[1], bytes: &[0xC0, 5, 0, 5, 1] }).is_err()
        );
    }
}
