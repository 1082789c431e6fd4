//! Running a script.

mod failure;
mod options;
mod runner;
mod sysctl;
mod wire;

pub use failure::Failure;
pub use options::Options;
pub use runner::run;
