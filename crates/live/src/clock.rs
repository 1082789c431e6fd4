//! The one clock of an endpoint.
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "a driver of sockets has a real clock; this file is the only one that reads it"
)]

use anabranch_base::Instant;

/// Monotonic time since the clock was made, as the core counts it. It never goes backwards, even if the time of day is set;
/// whether it goes on while the machine sleeps is up to the operating system, and the core stands either.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    epoch: std::time::Instant,
    /// Tests let it jump, also back, or stand still.
    #[cfg(test)]
    injected: std::sync::Arc<std::sync::Mutex<Injected>>,
}

/// The faults that a test injects into a clock: an offset in nanoseconds, or a time at which it stands still.
#[cfg(test)]
#[derive(Debug, Default)]
struct Injected {
    ahead: i64,
    stands_at: Option<u64>,
}

#[cfg(test)]
thread_local! {
    /// Nanoseconds by which the time of day was set forward in this thread.
    static SET_FORWARD: std::cell::Cell<i64> = const { std::cell::Cell::new(0) };
}

impl Clock {
    pub(crate) fn new() -> Self {
        Self {
            epoch: std::time::Instant::now(),
            #[cfg(test)]
            injected: std::sync::Arc::default(),
        }
    }

    pub(crate) fn now(&self) -> Instant {
        // 2^64 ns are 584 years.
        let now = self.epoch.elapsed().as_nanos() as u64;
        #[cfg(test)]
        let now = self.as_injected(now);
        Instant::from_nanos(now)
    }

    #[cfg(test)]
    fn injected(&self) -> std::sync::MutexGuard<'_, Injected> {
        self.injected.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    #[cfg(test)]
    fn as_injected(&self, now: u64) -> u64 {
        let injected = self.injected();
        injected.stands_at.unwrap_or_else(|| now.saturating_add_signed(injected.ahead))
    }

    /// Lets it jump by so many nanoseconds, back if they are negative.
    #[cfg(test)]
    pub(crate) fn jump(&self, by: i64) {
        self.injected().ahead += by;
    }

    /// Stops the clock, or lets it go on with the time that it would have had without the stop.
    #[cfg(test)]
    pub(crate) fn stand_still(&self, still: bool) {
        let now = self.now().as_nanos();
        self.injected().stands_at = still.then_some(now);
    }

    /// Sets the time of day forward for this thread, back if that is negative.
    #[cfg(test)]
    pub(crate) fn set_time_of_day_forward(nanoseconds: i64) {
        SET_FORWARD.set(SET_FORWARD.get() + nanoseconds);
    }

    /// Nanoseconds since 1970, as the system has them now.
    pub(crate) fn time_of_day() -> Instant {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let since = u64::try_from(since.as_nanos()).unwrap_or(u64::MAX);
        #[cfg(test)]
        let since = since.saturating_add_signed(SET_FORWARD.get());
        Instant::from_nanos(since)
    }

    /// A time since 1970 in the form of RFC 3339.
    pub(crate) fn in_words(at: Instant) -> String {
        let at = std::time::UNIX_EPOCH + std::time::Duration::from_nanos(at.as_nanos());
        humantime::format_rfc3339_millis(at).to_string()
    }

    /// A point in time of this clock for a timer of tokio; `None` for one that never comes.
    pub(crate) fn at(&self, at: Instant) -> Option<tokio::time::Instant> {
        let since = at.as_nanos();
        #[cfg(test)]
        let since = since.saturating_add_signed(-self.injected().ahead);
        let since = std::time::Duration::from_nanos(since);
        self.epoch.checked_add(since).map(tokio::time::Instant::from_std)
    }
}
