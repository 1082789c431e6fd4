//! The encoding of the thesis of 2007 (docs/explanation/subflows.md, sf2007): which chunks it gives a layout of its own.

use anabranch_wire::chunk::kind;
use anabranch_wire::sf2007::{Data, Sack, SetupParams};
use anabranch_wire::{ChunkError, Mid, RawChunk, Tsn};

use super::DataChunk;

/// A chunk that has another layout than in RFC 9260.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Incoming<'a> {
    Data(Data<'a>),
    Sack(Sack<'a>),
    /// COOKIE ACK, with the parameters of the peer's subflows.
    CookieAck(SetupParams<'a>),
}

/// Reads a chunk; `None`: it is as in RFC 9260.
pub(crate) fn read(raw: RawChunk<'_>) -> Option<Result<Incoming<'_>, ChunkError>> {
    match raw.kind {
        kind::DATA => Some(Data::parse(raw).map(Incoming::Data)),
        kind::SACK => Some(Sack::parse(raw).map(Incoming::Sack)),
        kind::COOKIE_ACK => Some(Ok(Incoming::CookieAck(SetupParams::new(raw.value)))),
        _ => None,
    }
}

/// Contents of a data chunk; its number has 24 bits, and is taken for the one closest to `near`.
pub(crate) fn data_chunk<'a>(data: &Data<'a>, near: Tsn) -> DataChunk<'a> {
    DataChunk {
        flags: data.flags,
        tsn: data.fsn.widen(near),
        stream: data.stream,
        mid: Mid::new(u32::from(data.ssn.get())),
        fragment: 0,
        ppid: data.ppid,
        payload: data.payload,
    }
}
