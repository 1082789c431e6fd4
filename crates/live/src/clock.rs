//! The one clock of an endpoint.
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "a driver of sockets has a real clock; this file is the only one that reads it"
)]

use anabranch_base::Instant;

/// Monotonic time since the clock was made, as the core counts it. It never goes backwards, whatever is done to the time of day;
/// whether it goes on while the machine sleeps is up to the operating system, and the core stands either.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    epoch: std::time::Instant,
}

impl Clock {
    pub(crate) fn new() -> Self {
        Self { epoch: std::time::Instant::now() }
    }

    pub(crate) fn now(&self) -> Instant {
        // 2^64 ns are 584 years.
        Instant::from_nanos(self.epoch.elapsed().as_nanos() as u64)
    }

    /// The same point in time for a timer of tokio; `None` for one that never comes.
    pub(crate) fn at(&self, at: Instant) -> Option<tokio::time::Instant> {
        let since = std::time::Duration::from_nanos(at.as_nanos());
        self.epoch.checked_add(since).map(tokio::time::Instant::from_std)
    }
}
