//! The sending half of a connection: what may leave, what is lost, how long to wait.
//!
//! Sequence numbers in here are unwrapped: the SYN has 0, the first byte of data 1.
//!
//! `state` is what it holds; each of the others is one thing that happens to it.

mod ack;
mod ack_info;
mod by_time;
mod choose;
mod doubt;
mod inflight;
mod pacing;
mod rack;
mod recovery;
mod spurious;
mod state;
mod tail;
mod timeout;

pub(crate) use ack_info::AckInfo;
pub(crate) use choose::Outgoing;
pub(crate) use state::{Context, Sender};
