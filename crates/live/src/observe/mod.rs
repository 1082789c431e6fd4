//! Observers of an endpoint: captures, qlog, spans and events of `tracing`, metrics. None of them costs anything per
//! packet unless the user has asked for it.

mod capture;
mod file;
mod metrics;
mod qlog;
pub(crate) mod spans;
mod timed_event;
mod watch;

pub use capture::{Capture, CaptureOptions};
pub use file::Recorded;
pub(crate) use metrics::{Totals, publish_endpoint};
pub use qlog::{Qlog, Vantage};
pub(crate) use timed_event::TimedEvent;
pub(crate) use watch::Watch;
