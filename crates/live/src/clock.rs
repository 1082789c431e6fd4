//! The one clock of an endpoint.
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "a driver of sockets has a real clock; this file is the only one that reads it"
)]

use anabranch_base::Instant;

/// Monotonic time since the clock was made, as the core counts it. It never goes backwards, whatever is done to the time of day;
/// whether it goes on while the machine sleeps is up to the operating system, and the core stands either.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    epoch: std::time::Instant,
    /// Tests let it jump.
    #[cfg(test)]
    pub(crate) ahead: std::sync::Arc<std::sync::atomic::AtomicU64>,
}

impl Clock {
    pub(crate) fn new() -> Self {
        Self {
            epoch: std::time::Instant::now(),
            #[cfg(test)]
            ahead: std::sync::Arc::default(),
        }
    }

    pub(crate) fn now(&self) -> Instant {
        // 2^64 ns are 584 years.
        Instant::from_nanos(self.epoch.elapsed().as_nanos() as u64 + self.jumped())
    }

    #[cfg(test)]
    fn jumped(&self) -> u64 {
        self.ahead.load(std::sync::atomic::Ordering::Relaxed)
    }

    #[cfg(not(test))]
    #[allow(clippy::unused_self, reason = "it has nothing to look at outside of tests")]
    fn jumped(&self) -> u64 {
        0
    }

    /// Nanoseconds since 1970, as the system has them now.
    pub(crate) fn time_of_day() -> Instant {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Instant::from_nanos(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
    }

    /// A time since 1970 in the form of RFC 3339.
    pub(crate) fn in_words(at: Instant) -> String {
        let at = std::time::UNIX_EPOCH + std::time::Duration::from_nanos(at.as_nanos());
        humantime::format_rfc3339_millis(at).to_string()
    }

    /// A point in time of this clock for a timer of tokio; `None` for one that never comes.
    pub(crate) fn at(&self, at: Instant) -> Option<tokio::time::Instant> {
        let since = std::time::Duration::from_nanos(at.as_nanos().saturating_sub(self.jumped()));
        self.epoch.checked_add(since).map(tokio::time::Instant::from_std)
    }
}
