//! INIT and INIT ACK: an endpoint's offer for an association (RFC 9260 sections 3.3.2 and 3.3.3). The two
//! share one body; an INIT ACK must carry a State Cookie.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---------------+---------------+-------------------------------+
//! | type = 1 or 2 |     flags     |            length             |
//! +---------------+---------------+-------------------------------+
//! |                         initiate tag                          |
//! +---------------------------------------------------------------+
//! |            advertised receiver window credit (bytes)          |
//! +-------------------------------+-------------------------------+
//! |        outbound streams       |       inbound streams         |
//! +-------------------------------+-------------------------------+
//! |                          initial TSN                          |
//! +---------------------------------------------------------------+
//! |                          parameters                           |
//! +---------------------------------------------------------------+
//! ```

use super::kind;
use super::raw::RawChunk;
use crate::emit::{begin_chunk, end};
use crate::error::ChunkError;
use crate::param::{ParamWriter, Params};
use crate::serial::Tsn;

/// Bytes before the parameters, chunk header included.
pub const HEADER: usize = 20;

/// The type of the chunk: INIT or INIT ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InitKind {
    /// INIT.
    Init,
    /// INIT ACK.
    InitAck,
}

/// The body of an INIT or INIT ACK chunk. Every value can be parsed, also those that the RFC forbids (a tag of 0,
/// a window below 1500, no streams): each has its own answer, which is the core's to give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Init<'a> {
    /// The verification tag of every packet towards the sender of this chunk.
    pub initiate_tag: u32,
    /// Advertised receiver window credit, bytes.
    pub a_rwnd: u32,
    /// Streams that the sender of this chunk wants to send on.
    pub outbound_streams: u16,
    /// Streams that it accepts at most.
    pub inbound_streams: u16,
    /// The first TSN that it will use.
    pub initial_tsn: Tsn,
    /// Optional and variable-length parameters.
    pub params: Params<'a>,
}

impl<'a> Init<'a> {
    /// Reads the body of an INIT or INIT ACK.
    ///
    /// # Errors
    /// Shorter than its fixed fields. Parameters are looked at when they are iterated over.
    pub fn parse(raw: RawChunk<'a>) -> Result<Self, ChunkError> {
        let (&[t0, t1, t2, t3, w0, w1, w2, w3, o0, o1, i0, i1, n0, n1, n2, n3], params) =
            raw.at_least::<16>()?;
        Ok(Self {
            initiate_tag: u32::from_be_bytes([t0, t1, t2, t3]),
            a_rwnd: u32::from_be_bytes([w0, w1, w2, w3]),
            outbound_streams: u16::from_be_bytes([o0, o1]),
            inbound_streams: u16::from_be_bytes([i0, i1]),
            initial_tsn: Tsn::new(u32::from_be_bytes([n0, n1, n2, n3])),
            params: Params::new(params),
        })
    }

    /// Appends the chunk with the parameters it holds, padded.
    // rfc9260:3.3.2.1-1 rfc9260:3.3.2-5 rfc9260:3.3.3-3
    pub fn emit(&self, which: InitKind, out: &mut Vec<u8>) {
        emit(out, which, self, |_| {});
    }
}

/// Appends an INIT or INIT ACK chunk, padded: the fixed fields and parameters of `init` (which may be
/// [`Params::EMPTY`]), then those of `more`.
pub fn emit(out: &mut Vec<u8>, which: InitKind, init: &Init<'_>, more: impl FnOnce(&mut ParamWriter<'_>)) {
    let kind = match which {
        InitKind::Init => kind::INIT,
        InitKind::InitAck => kind::INIT_ACK,
    };
    let start = begin_chunk(out, kind, 0);
    out.extend_from_slice(&init.initiate_tag.to_be_bytes());
    out.extend_from_slice(&init.a_rwnd.to_be_bytes());
    out.extend_from_slice(&init.outbound_streams.to_be_bytes());
    out.extend_from_slice(&init.inbound_streams.to_be_bytes());
    out.extend_from_slice(&init.initial_tsn.get().to_be_bytes());
    let mut params = ParamWriter::new(out);
    params.region(init.params);
    more(&mut params);
    let padding = params.last_padding();
    end(out, start, padding);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::tests::{Mutated, length_cases, raw};
    use crate::param::{EcnCapable, Param};

    fn sample(params: Params<'_>) -> Init<'_> {
        Init {
            initiate_tag: 0x0102_0304,
            a_rwnd: 0x0001_0000,
            outbound_streams: 10,
            inbound_streams: 0x0800,
            initial_tsn: Tsn::new(0x0506_0708),
            params,
        }
    }

    // rfc9260:3.3.2.1-1
    #[test]
    fn layout() {
        let mut out = Vec::new();
        emit(&mut out, InitKind::InitAck, &sample(Params::EMPTY), |params| {
            params.add(&Param::EcnCapable(EcnCapable));
            params.raw(7, b"cooky");
        });
        // The padding of the last parameter is there, and is not counted.
        assert_eq!(
            out,
            [
                2, 0, 0, 33, 1, 2, 3, 4, 0, 1, 0, 0, 0, 10, 8, 0, 5, 6, 7, 8, 0x80, 0, 0, 4, 0, 7, 0, 9,
                b'c', b'o', b'o', b'k', b'y', 0, 0, 0
            ]
        );
        let init = Init::parse(raw(&out)).unwrap();
        assert_eq!(init.params.iter().count(), 2);
        let mut again = Vec::new();
        init.emit(InitKind::InitAck, &mut again);
        assert_eq!(again, out);
    }

    #[test]
    fn parameters_after_an_unpadded_region() {
        // A region whose last parameter came without padding, and one more parameter behind it.
        let region = Params::new(&[0, 7, 0, 5, 1]);
        let mut out = Vec::new();
        emit(&mut out, InitKind::Init, &sample(region), |params| {
            params.add(&Param::EcnCapable(EcnCapable));
        });
        let kinds: Vec<u16> =
            Init::parse(raw(&out)).unwrap().params.iter().map(|p| p.unwrap().kind).collect();
        assert_eq!(kinds, [7, 0x8000]);
    }

    #[test]
    fn lengths_around_the_header() {
        for Mutated { length, bytes } in length_cases(kind::INIT, HEADER) {
            assert_eq!(Init::parse(raw(&bytes)).is_ok(), length >= HEADER, "length {length}");
        }
    }
}
