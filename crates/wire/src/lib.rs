//! Bytes <-> SCTP packets: the codec of RFC 9260. No clock, no state, no randomness.
//!
//! # Parsing
//!
//! [`Packet::parse`] looks at the common header and the checksum. [`Packet::chunks`] then cuts the packet into
//! [`RawChunk`]s: type, flags, value. A caller that knows what to do with a type reads it with that chunk's
//! `parse` ([`chunk::Data`], [`chunk::Sack`]...), or any with [`chunk::Chunk::parse`]. Parameters and causes stay raw
//! regions ([`param::Params`], [`cause::Causes`]) until somebody iterates over them.
//!
//! # Writing
//!
//! [`PacketBuilder`] writes one packet at the end of the caller's buffer: the header first, then whatever chunks
//! `emit` into it, then the checksum.
//!
//! # Guarantees
//!
//! * Parsing borrows from the received bytes and allocates nothing.
//! * No bytes make it panic, read past their end, or loop longer than they are.
//! * What is malformed is told apart from what is merely wrong. A chunk whose lengths contradict each other is an
//!   error here. A chunk whose values the RFC forbids (an Initiate Tag of 0, a DATA chunk without data, gap blocks
//!   that overlap) is parsed: each has its own answer in the RFC, and giving it is the core's business.
//! * Iteration ends after the first malformed chunk, parameter or cause: what follows has no known beginning.
//! * Reserved bits and padding are ignored on the way in and zero on the way out; the padding of the last chunk, and
//!   of the last parameter in a chunk, may be missing or counted in the length ("a robust implementation is
//!   expected to accept the chunk whether or not the final padding has been included in the Chunk Length",
//!   section 3.2).
//! * What is unknown is kept as it came; [`UnknownAction`] says what its type asks for.
//! * `emit` appends, always a multiple of four bytes, and never fails. A value too long for a 16-bit length, which
//!   no packet can hold, is cut.
#![forbid(unsafe_code)]

pub mod adler32;
pub mod cause;
pub mod chunk;
pub mod crc32c;
pub mod extension;
pub mod param;
pub mod sf;
pub mod sf2007;

mod builder;
mod emit;
mod error;
mod header;
mod packet;
mod padding;
mod pretty;
mod serial;
mod tlv;
mod unknown;

pub use builder::{ChecksumOut, PacketBuilder};
pub use chunk::raw::RawChunk;
pub use error::{ChunkError, PacketError, TlvError};
pub use header::CommonHeader;
pub use packet::{Checksum, Chunks, Packet};
pub use padding::padded;
pub use serial::{Mid, Ssn, Tsn};
pub use tlv::{RawTlv, Tlvs, U16s};
pub use unknown::UnknownAction;
