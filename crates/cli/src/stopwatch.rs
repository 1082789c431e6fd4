//! How long something takes, in real time.

use anabranch_base::Instant;

/// Real time since it was made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopwatch(tokio::time::Instant);

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self(tokio::time::Instant::now())
    }

    pub(crate) fn time(self) -> Instant {
        Instant::from_nanos(self.0.elapsed().as_nanos() as u64)
    }

    pub(crate) fn seconds(self) -> f64 {
        self.time().as_secs_f64()
    }
}
