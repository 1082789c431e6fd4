//! The sockets interface over the sans-I/O core, driven by the script's clock: one-to-one and one-to-many, blocking and not.
//! A call that blocks is tried again after each event.

mod ancillary;
mod answer;
mod calls;
mod fields;
mod notify;
mod options;
mod path_options;
mod receive;
mod send;
mod socket;

pub(crate) use answer::Answer;
pub(crate) use calls::Sockets;
