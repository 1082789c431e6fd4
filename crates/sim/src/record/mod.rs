//! What a run keeps besides its summary.

mod columns;
mod pcapng;
mod recorder;

pub use columns::Columns;
pub(crate) use pcapng::{Capture, Interface, Packet};
pub(crate) use recorder::Recorder;
