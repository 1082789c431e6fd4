//! Configuration of a connection: every rule as a value, and profiles, which are sets of them.

mod parts;
mod profiles;
mod table;
#[cfg(test)]
mod tests;
mod value;

pub use anabranch_transport::congestion::{AckedGrowth, Algorithm};
pub use profiles::PROFILES;
pub use table::{Config, ConfigError, Key};
pub use value::{InitialWindow, LossRecovery, Percent, Reduction, RttEstimator, RttSampling, SsthreshBase};
