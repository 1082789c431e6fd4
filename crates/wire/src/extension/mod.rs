//! Chunks and parameters of extensions that other stacks speak and this one does not: they are read and named for
//! readers of captures. To the core they are unknown ([`Chunk::Unknown`](crate::chunk::Chunk),
//! [`Param::Unknown`](crate::param::Param)), and are answered as such.

pub mod asconf;
pub mod auth;
pub mod nr_sack;
mod packet_dropped;

pub use asconf::{Asconf, AsconfAck, Correlated};
pub use auth::Auth;
pub use nr_sack::NrSack;
pub use packet_dropped::PacketDropped;
