//! Times that are fixed or drawn.

use anabranch_base::{Duration, Rng};

/// A time, fixed or drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeDraw {
    /// Always the same.
    Fixed(Duration),
    /// Uniform between the two, the first included.
    Uniform(Duration, Duration),
    /// Exponential with this mean.
    Exponential(Duration),
}

impl TimeDraw {
    /// One draw. A fixed time takes no random number.
    pub fn draw(&self, rng: &mut Rng) -> Duration {
        match *self {
            Self::Fixed(time) => time,
            Self::Uniform(low, high) => {
                low + Duration::from_nanos(rng.below(high.saturating_sub(low).as_nanos()))
            }
            Self::Exponential(mean) => Duration::from_secs_f64(rng.exponential(mean.as_secs_f64())),
        }
    }
}
