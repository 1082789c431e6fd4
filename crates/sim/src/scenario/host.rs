//! A node of the network.

use std::net::IpAddr;

use anabranch_base::{Duration, Rng};

/// A node: an end host when a flow starts or ends there, else a router.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Host {
    /// Its name, unique among the hosts.
    pub name: String,
    /// Its addresses. Empty: the simulator numbers it.
    pub addresses: Vec<IpAddr>,
    /// How long the host takes to hand an arriving packet to its transport. `None`: no time at all.
    pub processing: Option<TimeDraw>,
}

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
