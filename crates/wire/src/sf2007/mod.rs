//! The encoding of the thesis that proposed subflows (C. Zou, 2007, chapter 3, Figs 3.1 to 3.5), bit by bit.
//!
//! **For simulators and sealed test-beds only.** It gives other layouts to chunk types 0 and 3, and another meaning
//! to parameter type 0x8002, than the RFCs do: a peer with RFC 4895 must abort the handshake, and any other reads
//! garbage. Level 1 ([`crate::sf`]) is safe on networks.
//!
//! Choices where the text is silent, contradicts itself or leaves a number open:
//!
//! * Fig. 3.3: the text says "only one byte of data", the figure has two fields and a length of 6. The figure is
//!   followed: OF and MIS have one byte each, and two bytes of padding stand behind the length.
//! * Figs 3.4 and 3.5 have no type numbers. [`A_FWND`] and [`INITIAL_FSN`] are ours.
//! * Those two "parameters ... exchanged in Cookie Echo and Cookie ACK" stand behind the cookie, which a COOKIE ECHO
//!   has no length field for: see [`split_cookie`].
//! * A duplicate FSN has 32 bits in Fig. 3.2, an FSN has 24: the upper eight are zero.
//! * The chunk flags of Fig. 3.1 are U, B and E; I (RFC 7053) came later and does not exist here.

mod data;
mod fsn;
mod sack;
mod setup;
mod show;

pub use data::Data;
pub use fsn::Fsn;
pub use sack::{HEADER as SACK_HEADER, Sack, SackHead, emit as emit_sack, wire_len as sack_wire_len};
pub use setup::{A_FWND, INITIAL_FSN, SUBFLOW_CAPABLE, Setup, SetupParams, SubflowCapable, split_cookie};
pub use show::Show;
