//! Recordings of a run besides its summary.

mod columns;
mod end_series;
mod link_series;
mod recorder;
mod shares;
mod ticks;

pub(crate) use anabranch_trace::write::{Capture, Interface, Packet};
pub use anabranch_trace::write::{CaptureFile, CaptureFormat};
pub use columns::Columns;
pub(crate) use end_series::EndSeries;
pub(crate) use link_series::LinkSeries;
pub(crate) use recorder::Recorder;
pub(crate) use shares::{Share, Shares};
pub(crate) use ticks::Ticks;
