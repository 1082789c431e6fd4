//! What an association may be told, in groups; a profile ([`Config::named`]) is nothing but a set of values. As text every value
//! has one flat name ([`Config::keys`]).
//!
//! Where RFC 9260 names a parameter, the field has its name and the default is the RFC's (section 16). Values that
//! only exist because older stacks behave differently say which stack.

mod buffers;
mod by_name;
mod congestion;
mod coupling;
mod detection;
mod ecn;
mod emulation;
mod error;
mod groups;
mod key;
mod keys;
mod live;
mod names;
mod parts;
mod path_mtu;
mod profiles;
mod stacks;
mod streams;
mod subflows;
mod text;
mod timers;
mod validate;

use anabranch_base::Dscp;

pub use anabranch_transport::congestion::{Algorithm, FccClock, FccRounding, FccStep};
pub use buffers::SendBufferCounts;
pub use congestion::{CongestionControl, FastRecovery, InitialWindow, MaxBurst, Reduction};
pub use coupling::{AdaptiveCut, Coupling, FccCount};
pub use detection::ErrorDetection;
pub use ecn::{EcnBackoff, EcnMode};
pub use emulation::{ImmediateBit, LossDetection, Quirks, WindowUnit};
pub use error::{ChangeError, ConfigError};
pub use groups::{
    CongestionConfig, EmulationConfig, ExtensionConfig, LimitConfig, PacingConfig, SackConfig, StreamConfig,
    SubflowConfig, TimerConfig,
};
pub use key::Key;
pub use path_mtu::{MtuDiscovery, PathMtuConfig};
pub use streams::StreamScheduling;
pub use subflows::{SubflowLevel, SubflowScheduler, SubflowSpec};
pub use timers::RttSampling;

/// Whether the CRC32c is computed and verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checksums {
    /// As RFC 9260, 6.8 demands.
    Crc32c,
    /// The checksum is neither computed nor verified: for simulations that want speed, never for a network.
    Elided,
}

/// Everything an association may be told. See [`Config::keys`] for the same list as text.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Name of the profile the values came from, for reports.
    pub profile: &'static str,
    /// Largest IP packet that fits the path, bytes.
    pub mtu: u16,
    /// Bytes of IPv4 header in front of the SCTP common header; IPv6 adds 20, and UDP encapsulation 8.
    pub ip_overhead: u16,
    /// CRC32c or none.
    pub checksums: Checksums,
    /// Code point of the association's packets.
    pub dscp: Dscp,
    /// How many streams there are, and which speaks next.
    pub streams: StreamConfig,
    /// What an association may take, of memory and of patience.
    pub limits: LimitConfig,
    /// Timers and the round-trip time (RFC 9260, 6.3, 8.3 and 16).
    pub timers: TimerConfig,
    /// When data is acknowledged (RFC 9260, 6.2).
    pub sack: SackConfig,
    /// Loss and the congestion window of a lane (RFC 9260, 7).
    pub congestion: CongestionConfig,
    /// How packets are spread over the round trip.
    pub pacing: PacingConfig,
    /// Subflows: which there are, how the two ends know of them, and how their windows hold together.
    pub subflows: SubflowConfig,
    /// How the MTU of a path becomes known.
    pub path_mtu: PathMtuConfig,
    /// What is offered to the peer, and what the peer may do with it.
    pub extensions: ExtensionConfig,
    /// What other stacks do differently. The defaults are RFC 9260's; other values serve the profiles of those stacks.
    pub emulation: EmulationConfig,
}

impl Config {
    /// These values with a change.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// Path Maximum DATA Chunk Size: what remains for one DATA chunk, header included, in a packet without other
    /// chunks (RFC 9260, 2.3). Rounded down to the 4-byte boundary that padding needs.
    ///
    /// As the two sizes below it is that of an IPv4 path without UDP that carries packets of the configured MTU. An association goes by
    /// the sizes of its paths.
    #[must_use]
    pub fn pmdcs(&self) -> u32 {
        self.max_packet().saturating_sub(12) & !3
    }

    /// What windows are counted in, bytes.
    #[must_use]
    pub fn window_unit(&self) -> u32 {
        match self.emulation.window_unit {
            WindowUnit::Pmdcs => self.pmdcs(),
            WindowUnit::Mtu => u32::from(self.mtu),
        }
    }

    /// Largest SCTP packet, common header included, bytes.
    #[must_use]
    pub fn max_packet(&self) -> u32 {
        u32::from(self.mtu.saturating_sub(self.ip_overhead)).max(512) & !3
    }

    /// Whether I-DATA is offered, for its own sake or because level 1 stands on it.
    #[must_use]
    pub fn offers_interleaving(&self) -> bool {
        self.extensions.interleaving || self.subflows.level == SubflowLevel::One
    }

    /// Whether I-FORWARD-TSN is offered: partial reliability together with I-DATA (RFC 8260, 2.3.1), or level 1, which lists it.
    pub(crate) fn offers_i_forward_tsn(&self) -> bool {
        self.offers_interleaving()
            && (self.extensions.partial_reliability || self.subflows.level == SubflowLevel::One)
    }

    /// Whether lanes have a timer besides T3-rtx that begins with a transmission.
    #[inline]
    pub(crate) fn needs_loss_timer(&self) -> bool {
        self.congestion.tail_loss_probe || self.emulation.quirks.burst_before_sack
    }
}

#[cfg(test)]
mod tests;
