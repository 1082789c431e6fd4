//! The groups of a [`Config`](crate::Config): a table each, with all there is to know of a value in one place. An option that is added
//! is a row here, and where it is used.

mod congestion;
mod emulation;
pub(super) mod entry;
mod extensions;
mod limits;
mod pacing;
mod path_mtu;
mod quirks;
mod sack;
mod streams;
mod subflows;
mod timers;

pub use congestion::CongestionConfig;
pub use emulation::EmulationConfig;
pub use extensions::ExtensionConfig;
pub use limits::LimitConfig;
pub use pacing::PacingConfig;
pub use path_mtu::PathMtuConfig;
pub use quirks::Quirks;
pub use sack::SackConfig;
pub use streams::StreamConfig;
pub use subflows::SubflowConfig;
pub use timers::TimerConfig;
