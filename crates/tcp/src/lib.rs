//! A TCP without sockets, clock or hidden randomness, with real headers: the comparator of the laboratory.
#![forbid(unsafe_code)]

mod config;
mod event;
mod stack;
mod stats;

pub use config::{
    AckedGrowth, Config, ConfigError, Controller, InitialWindow, Key, LossRecovery, PROFILES, RttEstimator,
    RttSampling, SsthreshBase,
};
pub use event::{ConnectionId, Event, Failure, SendError, State, Timer};
pub use stack::Stack;
pub use stats::{StackStats, Stats};
