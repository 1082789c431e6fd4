//! The types that values of a configuration have, and how each is read from text and shown as it.

mod buffers;
mod checksums;
mod congestion;
mod coupling;
mod detection;
mod ecn;
mod emulation;
pub(super) mod kinds;
mod path_mtu;
mod streams;
mod subflows;
mod text;
mod timers;

pub use buffers::SendBufferCounts;
pub use checksums::Checksums;
pub use congestion::{CongestionControl, FastRecovery, InitialWindow, MaxBurst, Reduction};
pub use coupling::{AdaptiveCut, Coupling, FccCount};
pub use detection::ErrorDetection;
pub use ecn::{EcnBackoff, EcnMode};
pub use emulation::{ImmediateBit, LossDetection, WindowUnit};
pub use path_mtu::MtuDiscovery;
pub use streams::StreamScheduling;
pub use subflows::{SubflowLevel, SubflowScheduler, SubflowSpec};
pub use timers::RttSampling;
