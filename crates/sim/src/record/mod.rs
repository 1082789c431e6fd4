//! What a run keeps besides its summary.

mod columns;
mod pcapng;
mod recorder;
mod series;
mod shares;

pub use columns::Columns;
pub(crate) use pcapng::{Capture, Interface, Packet};
pub(crate) use recorder::Recorder;
pub(crate) use series::{EndSeries, LinkSeries, Ticks};
pub(crate) use shares::{Share, Shares};
