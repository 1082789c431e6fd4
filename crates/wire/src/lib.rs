//! Bytes <-> SCTP packets: the codec of RFC 9260. No clock, no state, no randomness.
//!
//! # Parsing
//!
//! [`Packet::parse`] looks at the common header and the checksum. [`Packet::chunks`] then cuts the packet into
//! [`RawChunk`]s: type, flags, value. A caller that handles a type reads it with that chunk's
//! `parse` ([`chunk::Data`], [`chunk::Sack`]...), or any with [`chunk::Chunk::parse`]. Parameters and causes stay raw
//! regions ([`param::Params`], [`cause::Causes`]) until a caller iterates over them.
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
//! * Malformed chunks are told apart from merely wrong ones. A chunk whose lengths contradict each other is an
//!   error here. A chunk whose values the RFC forbids (an Initiate Tag of 0, a DATA chunk without data, gap blocks
//!   that overlap) is parsed: each has its own answer in the RFC, and giving it is the core's business.
//! * Iteration ends after the first malformed chunk, parameter or cause: the next has no known beginning.
//! * Reserved bits and padding are ignored on the way in and zero on the way out; the padding of the last chunk, and
//!   of the last parameter in a chunk, may be missing or counted in the length ("a robust implementation is
//!   expected to accept the chunk whether or not the final padding has been included in the Chunk Length",
//!   section 3.2).
//! * Unknown types are kept as they came; [`UnknownAction`] is the handling that the type asks for.
//! * `emit` appends, always a multiple of four bytes, and never fails. A value too long for a 16-bit length, which
//!   no packet can hold, is cut.
//!
//! # Example
//!
//! ```
//! use anabranch_wire::chunk::{Chunk, Data, DataFlags};
//! use anabranch_wire::{Checksum, ChecksumOut, CommonHeader, Packet, PacketBuilder, Ssn, Tsn};
//!
//! let header = CommonHeader { source_port: 5000, destination_port: 5001, verification_tag: 7 };
//! let data = Data {
//!     flags: DataFlags::WHOLE, tsn: Tsn::new(1), stream: 0, ssn: Ssn::new(0), ppid: 0, payload: b"hello",
//! };
//! let mut buffer = Vec::new();
//! let mut builder = PacketBuilder::new(&mut buffer, header);
//! data.emit(builder.buffer());
//! builder.finish(ChecksumOut::Compute);
//!
//! let packet = Packet::parse(&buffer, Checksum::Verify)?;
//! let raw = packet.chunks().next().expect("there is a chunk")?;
//! assert_eq!(Chunk::parse(raw)?, Chunk::Data(data));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
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
