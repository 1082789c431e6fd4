//! The sending half of a connection: the segments that may leave, those that are lost, and the time to wait.
//!
//! Sequence numbers in here are unwrapped: the SYN has 0, the first byte of data 1.
//!
//! [`Sender`] (`state`) asks its owners in order: when an acknowledgement comes (`ack`), something is lost (`loss`), the timer is armed
//! (`arming`) or expires (`timeout`), and when something may leave (`choose`). Each owner has one matter, and no other writes its
//! fields: the bytes that wait (`buffer`), round trips (`round_trips`), the window and the pace (`window`), the peer's window
//! (`peer_window`), where loss recovery stands (`recovery`), reductions that may prove needless (`spurious`), losses by time (`rack`), the
//! tail loss probe (`tail_probe`), the timer (`timer`), and the values common to all of them (`terms`).

mod ack;
mod ack_info;
mod arming;
mod buffer;
mod choose;
mod context;
mod inflight;
mod loss;
mod peer_window;
mod phase;
mod rack;
mod recovery;
mod round_trips;
mod spurious;
mod state;
mod tail_probe;
mod terms;
mod timeout;
mod timer;
mod window;

pub(crate) use ack_info::AckInfo;
pub(crate) use choose::Outgoing;
pub(crate) use context::Context;
pub(crate) use state::{Established, Sender};
