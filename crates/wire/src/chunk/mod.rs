//! Every chunk of RFC 9260 and of the subflow extension SF, one file each.
//!
//! A chunk is parsed from a [`RawChunk`], whose type the caller has looked at already (`parse` of a single chunk
//! reads lengths, not the type); [`Chunk::parse`] does both.

mod abort;
mod cookie_ack;
mod cookie_echo;
pub mod data;
mod ecn;
mod error;
pub mod forward_tsn;
pub mod heartbeat;
mod i_data;
pub mod i_forward_tsn;
pub mod init;
pub mod kind;
pub(crate) mod raw;
mod re_config;
pub mod sack;
mod sf_data;
pub mod sf_forward;
pub mod sf_sack;
mod shutdown;
mod shutdown_ack;
mod shutdown_complete;

pub use abort::Abort;
pub use cookie_ack::CookieAck;
pub use cookie_echo::CookieEcho;
pub use data::{Data, DataFlags};
pub use ecn::{Cwr, Ecne};
pub use error::ErrorChunk;
pub use forward_tsn::{ForwardTsn, SkippedSsn};
pub use heartbeat::{Heartbeat, HeartbeatKind};
pub use i_data::IData;
pub use i_forward_tsn::{IForwardTsn, Skipped};
pub use init::{Init, InitKind};
pub use re_config::ReConfig;
pub use sack::{GapBlock, Sack};
pub use sf_data::SfData;
pub use sf_forward::SfForward;
pub use sf_sack::{EcnCounters, ReceiveTime, SfSack, SfSackHead};
pub use shutdown::Shutdown;
pub use shutdown_ack::ShutdownAck;
pub use shutdown_complete::ShutdownComplete;

pub use crate::unknown::chunk_action as unknown_action;

use crate::error::ChunkError;
use crate::sf::CodePoints;
use raw::RawChunk;

/// Any chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chunk<'a> {
    /// Type 0.
    Data(Data<'a>),
    /// Type 1.
    Init(Init<'a>),
    /// Type 2.
    InitAck(Init<'a>),
    /// Type 3.
    Sack(Sack<'a>),
    /// Type 4.
    Heartbeat(Heartbeat<'a>),
    /// Type 5.
    HeartbeatAck(Heartbeat<'a>),
    /// Type 6.
    Abort(Abort<'a>),
    /// Type 7.
    Shutdown(Shutdown),
    /// Type 8.
    ShutdownAck(ShutdownAck),
    /// Type 9.
    Error(ErrorChunk<'a>),
    /// Type 10.
    CookieEcho(CookieEcho<'a>),
    /// Type 11.
    CookieAck(CookieAck),
    /// Type 12.
    Ecne(Ecne<'a>),
    /// Type 13.
    Cwr(Cwr<'a>),
    /// Type 14.
    ShutdownComplete(ShutdownComplete),
    /// Type 0x40.
    IData(IData<'a>),
    /// Type 0x82.
    ReConfig(ReConfig<'a>),
    /// Type 0xC0.
    ForwardTsn(ForwardTsn<'a>),
    /// Type 0xC2.
    IForwardTsn(IForwardTsn<'a>),
    /// Type 0x5F, or as [`CodePoints::data`] says.
    SfData(SfData<'a>),
    /// Type 0x9F, or as [`CodePoints::sack`] says.
    SfSack(SfSack<'a>),
    /// Type 0xDF, or as [`CodePoints::forward`] says.
    SfForward(SfForward<'a>),
    /// Any other type, kept as it is.
    Unknown(RawChunk<'a>),
}

impl<'a> Chunk<'a> {
    /// Reads the chunk that its type says.
    ///
    /// # Errors
    /// Its length does not fit its type.
    pub fn parse(raw: RawChunk<'a>) -> Result<Self, ChunkError> {
        Ok(match raw.kind {
            kind::DATA => Self::Data(Data::parse(raw)?),
            kind::INIT => Self::Init(Init::parse(raw)?),
            kind::INIT_ACK => Self::InitAck(Init::parse(raw)?),
            kind::SACK => Self::Sack(Sack::parse(raw)?),
            kind::HEARTBEAT => Self::Heartbeat(Heartbeat::parse(raw)?),
            kind::HEARTBEAT_ACK => Self::HeartbeatAck(Heartbeat::parse(raw)?),
            kind::ABORT => Self::Abort(Abort::parse(raw)?),
            kind::SHUTDOWN => Self::Shutdown(Shutdown::parse(raw)?),
            kind::SHUTDOWN_ACK => Self::ShutdownAck(ShutdownAck::parse(raw)?),
            kind::ERROR => Self::Error(ErrorChunk::parse(raw)?),
            kind::COOKIE_ECHO => Self::CookieEcho(CookieEcho::parse(raw)?),
            kind::COOKIE_ACK => Self::CookieAck(CookieAck::parse(raw)?),
            kind::ECNE => Self::Ecne(Ecne::parse(raw)?),
            kind::CWR => Self::Cwr(Cwr::parse(raw)?),
            kind::SHUTDOWN_COMPLETE => Self::ShutdownComplete(ShutdownComplete::parse(raw)?),
            kind::I_DATA => Self::IData(IData::parse(raw)?),
            kind::RE_CONFIG => Self::ReConfig(ReConfig::parse(raw)?),
            kind::FORWARD_TSN => Self::ForwardTsn(ForwardTsn::parse(raw)?),
            kind::I_FORWARD_TSN => Self::IForwardTsn(IForwardTsn::parse(raw)?),
            kind::SF_DATA => Self::SfData(SfData::parse(raw)?),
            kind::SF_SACK => Self::SfSack(SfSack::parse(raw)?),
            kind::SF_FORWARD => Self::SfForward(SfForward::parse(raw)?),
            _ => Self::Unknown(raw),
        })
    }

    /// Reads the chunk that its type says, where the subflow extension has the types of `codes`.
    ///
    /// # Errors
    /// Its length does not fit its type.
    pub fn parse_with(raw: RawChunk<'a>, codes: &CodePoints) -> Result<Self, ChunkError> {
        if raw.kind == codes.data {
            return Ok(Self::SfData(SfData::parse(raw)?));
        }
        if raw.kind == codes.sack {
            return Ok(Self::SfSack(SfSack::parse(raw)?));
        }
        if raw.kind == codes.forward {
            return Ok(Self::SfForward(SfForward::parse(raw)?));
        }
        // A type that is the extension's by default only is not the extension's here.
        match raw.kind {
            kind::SF_DATA | kind::SF_SACK | kind::SF_FORWARD => Ok(Self::Unknown(raw)),
            _ => Self::parse(raw),
        }
    }

    /// Appends the chunk, padded. The chunks of the extension get the types of [`CodePoints::DEFAULT`].
    pub fn emit(&self, out: &mut Vec<u8>) {
        match self {
            Self::Data(chunk) => chunk.emit(out),
            Self::Init(chunk) => chunk.emit(InitKind::Init, out),
            Self::InitAck(chunk) => chunk.emit(InitKind::InitAck, out),
            Self::Sack(chunk) => chunk.emit(out),
            Self::Heartbeat(chunk) => chunk.emit(HeartbeatKind::Request, out),
            Self::HeartbeatAck(chunk) => chunk.emit(HeartbeatKind::Ack, out),
            Self::Abort(chunk) => chunk.emit(out),
            Self::Shutdown(chunk) => chunk.emit(out),
            Self::ShutdownAck(chunk) => chunk.emit(out),
            Self::Error(chunk) => chunk.emit(out),
            Self::CookieEcho(chunk) => chunk.emit(out),
            Self::CookieAck(chunk) => chunk.emit(out),
            Self::Ecne(chunk) => chunk.emit(out),
            Self::Cwr(chunk) => chunk.emit(out),
            Self::ShutdownComplete(chunk) => chunk.emit(out),
            Self::IData(chunk) => chunk.emit(out),
            Self::ReConfig(chunk) => chunk.emit(out),
            Self::ForwardTsn(chunk) => chunk.emit(out),
            Self::IForwardTsn(chunk) => chunk.emit(out),
            Self::SfData(chunk) => chunk.emit(out),
            Self::SfSack(chunk) => chunk.emit(out),
            Self::SfForward(chunk) => chunk.emit(out),
            Self::Unknown(raw) => raw.emit(out),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
