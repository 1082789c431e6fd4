//! Configuration of an association, in groups; a profile ([`Config::named`]) is nothing but a set of values. As text
//! every value has one flat name ([`Config::keys`]).
//!
//! Where RFC 9260 names a parameter, the field has its name and the default is the RFC's (section 16). Values that
//! only exist because older stacks behave differently say which stack.

mod by_name;
mod error;
mod groups;
mod key;
mod live;
mod names;
mod parts;
mod profiles;
mod stacks;
mod validate;
mod values;

use anabranch_base::Dscp;

pub use anabranch_transport::congestion::{Algorithm, FccClock, FccRounding, FccStep};
pub use error::{ChangeError, ConfigError};
pub use groups::{
    CongestionConfig, EmulationConfig, ExtensionConfig, LimitConfig, PacingConfig, PathMtuConfig, Quirks,
    SackConfig, StreamConfig, SubflowConfig, TimerConfig,
};
pub use key::Key;
pub use values::{
    AdaptiveCut, Checksums, CongestionControl, Coupling, EcnBackoff, EcnMode, ErrorDetection, FastRecovery,
    FccCount, ImmediateBit, InitialWindow, LossDetection, MaxBurst, MtuDiscovery, Reduction, RttSampling,
    SendBufferCounts, StreamScheduling, SubflowLevel, SubflowScheduler, SubflowSpec, WindowUnit,
};

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
    /// Numbers of streams, and the order in which streams send.
    pub streams: StreamConfig,
    /// Limits of an association: memory, and attempts.
    pub limits: LimitConfig,
    /// Timers and the round-trip time (RFC 9260, 6.3, 8.3 and 16).
    pub timers: TimerConfig,
    /// When data is acknowledged (RFC 9260, 6.2).
    pub sack: SackConfig,
    /// Loss and the congestion window of a lane (RFC 9260, 7).
    pub congestion: CongestionConfig,
    /// Pacing: packets spread over the round trip.
    pub pacing: PacingConfig,
    /// Subflows: their number, their signalling between the two ends, and the coupling of their windows.
    pub subflows: SubflowConfig,
    /// Path MTU discovery.
    pub path_mtu: PathMtuConfig,
    /// Extensions offered to the peer, and the requests that the peer may make with them.
    pub extensions: ExtensionConfig,
    /// Behaviour of other stacks. The defaults are RFC 9260's; other values serve the profiles of those stacks.
    pub emulation: EmulationConfig,
}

impl Config {
    /// These values with a change.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// Path Maximum DATA Chunk Size: the room for one DATA chunk, header included, in a packet without other
    /// chunks (RFC 9260, 2.3). Rounded down to the 4-byte boundary that padding needs.
    ///
    /// As the two sizes below it is that of an IPv4 path without UDP that carries packets of the configured MTU. An association goes by
    /// the sizes of its paths.
    #[must_use]
    pub fn pmdcs(&self) -> u32 {
        self.max_packet().saturating_sub(12) & !3
    }

    /// Unit in which windows are counted, bytes.
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

    /// True if I-DATA is offered, for its own sake or because level 1 stands on it.
    #[must_use]
    pub fn offers_interleaving(&self) -> bool {
        self.extensions.interleaving || self.subflows.level == SubflowLevel::One
    }

    /// True if I-FORWARD-TSN is offered: partial reliability together with I-DATA (RFC 8260, 2.3.1), or level 1,
    /// which lists it.
    pub(crate) fn offers_i_forward_tsn(&self) -> bool {
        self.offers_interleaving()
            && (self.extensions.partial_reliability || self.subflows.level == SubflowLevel::One)
    }

    /// True if lanes have a timer besides T3-rtx that begins with a transmission.
    #[inline]
    pub(crate) fn needs_loss_timer(&self) -> bool {
        self.congestion.tail_loss_probe || self.emulation.quirks.burst_before_sack
    }
}

#[cfg(test)]
mod tests;
