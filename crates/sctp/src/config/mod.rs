//! What an association may be told. One flat struct; a profile ([`Config::named`]) is nothing but a set of values.
//!
//! Where RFC 9260 names a parameter, the field has its name and the default is the RFC's (section 16). Values that
//! only exist because older stacks behave differently say which stack.

mod congestion;
mod coupling;
mod emulation;
mod keys;
mod parts;
mod profiles;
mod stacks;
mod subflows;
mod text;

use anabranch_base::{Dscp, Duration};
use anabranch_wire::sf::CodePoints;

use crate::receiver::AckPolicy;

pub use anabranch_transport::congestion::{Algorithm, FccClock, FccRounding, FccStep};
pub use congestion::CongestionControl;
pub use coupling::{AdaptiveCut, Coupling, FccCount};
pub use emulation::{ImmediateBit, LossDetection, Quirks, WindowUnit};
pub use keys::{ConfigError, Key};
pub use subflows::{SubflowLevel, SubflowScheduler, SubflowSpec};

/// How the first congestion window is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitialWindow {
    /// min(4 PMDCS, max(2 PMDCS, 4404)) bytes, 4344 for IPv6 (RFC 9260, 7.2.1).
    Rfc9260,
    /// min(4 MTU, max(2 MTU, 4380)) bytes (RFC 4960, 7.2.1).
    Rfc4960,
    /// A number of PMDCS or MTU, as [`Config::window_unit`] has it (RFC 2960 used 2).
    Packets(u16),
}

/// What limits a burst of new packets (Max.Burst).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaxBurst {
    /// No limit.
    Off,
    /// cwnd is treated as at most flight + n PMDCS each time something may be sent (RFC 9260, 6.1 D).
    Clamp(u16),
    /// At most n packets in answer to a SACK that acknowledges a chunk fast retransmitted earlier; no limit
    /// otherwise (the ns-2 module's reading of the implementer's guide).
    AfterRecovery(u16),
}

/// How often one loss event may cut the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FastRecovery {
    /// Every new loss indication cuts (RFC 2960: no recovery point).
    Off,
    /// None until the cumulative TSN reaches the exit point (RFC 9260, 7.2.4).
    UntilExit,
    /// A lost TSN above the recovery point cuts again even before the exit (ns-2.35).
    PerWindow,
}

/// Which chunks give round-trip samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RttSampling {
    /// One chunk a round trip is timed (RFC 9260, 6.3.1 C4).
    OncePerRoundTrip,
    /// One chunk a round trip is timed, and a measurement goes on when chunks before it are lost and sent again (Linux).
    ThroughLoss,
    /// Every SACK that newly acknowledges a chunk sent once gives a sample.
    EveryAck,
}

/// Which stream speaks next (RFC 8260, section 3). With I-DATA streams change after a chunk, with DATA after a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamScheduling {
    /// Messages leave in the order they were given.
    Fcfs,
    /// Each stream in turn.
    RoundRobin,
    /// Each stream in turn, for a packet.
    RoundRobinPacket,
    /// The stream with the smallest value; those with the same value take turns.
    Priority,
    /// Bytes in equal shares.
    FairCapacity,
    /// Bytes in proportion to the values of the streams.
    WeightedFair,
}

impl StreamScheduling {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Fcfs,
        Self::RoundRobin,
        Self::RoundRobinPacket,
        Self::Priority,
        Self::FairCapacity,
        Self::WeightedFair,
    ];

    /// Its name in a configuration.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fcfs => "fcfs",
            Self::RoundRobin => "round-robin",
            Self::RoundRobinPacket => "round-robin-packet",
            Self::Priority => "priority",
            Self::FairCapacity => "fair-capacity",
            Self::WeightedFair => "wfq",
        }
    }
}

/// Whether the CRC32c is computed and verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checksums {
    /// As RFC 9260, 6.8 demands.
    Crc32c,
    /// Neither computed nor verified: for simulations that want speed, never for a network.
    Elided,
}

/// Everything an association may be told. See [`Config::keys`] for the same list as text.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Name of the profile the values came from, for reports.
    pub profile: &'static str,

    /// Largest IP packet that fits the path, bytes.
    pub mtu: u16,
    /// Bytes of IPv4 (and UDP) header in front of the SCTP common header; IPv6 adds 20.
    pub ip_overhead: u16,
    /// CRC32c or none.
    pub checksums: Checksums,

    /// Outbound streams asked for.
    pub outbound_streams: u16,
    /// Inbound streams allowed (MIS).
    pub inbound_streams: u16,
    /// Receive buffer of the association, bytes: the first a_rwnd.
    pub receive_window: u32,
    /// Bytes accepted by `send` and not yet sent, before it says `Full`.
    pub send_buffer: usize,
    /// Largest user message accepted, in either direction, bytes.
    pub max_message: usize,
    /// Which stream speaks next.
    pub stream_scheduling: StreamScheduling,
    /// Streams and their values: priorities (the smaller goes first) or weights, as the scheduling needs. Others have 1.
    pub stream_values: Vec<(u16, u16)>,
    /// Code point of the association's packets.
    pub dscp: Dscp,
    /// Subflows that an association opens with; none: a single one with [`Config::dscp`] (level 0: known to the sender
    /// alone, nothing of it on the wire).
    pub subflows: Vec<SubflowSpec>,
    /// Whose packet is next when several subflows may send.
    pub subflow_scheduler: SubflowScheduler,
    /// How the two ends know of subflows.
    pub subflow_level: SubflowLevel,
    /// Subflows that the peer may have open towards us, subflow 0 included (levels 1 and sf2007).
    pub inbound_subflows: u8,
    /// Bytes of the receive buffer that each open subflow keeps for itself (levels 1 and sf2007); together they take half
    /// of the buffer at most.
    pub subflow_floor: u32,
    /// Numbers of the extension SF.
    pub sf_codes: CodePoints,
    /// Whether I-DATA is offered (RFC 8260). Level 1 offers it in any case.
    pub interleaving: bool,
    /// Whether RE-CONFIG is offered (RFC 6525). Level 1 offers it in any case.
    pub reconfiguration: bool,
    /// Whether the peer may reset streams, its own and ours.
    pub peer_resets_streams: bool,
    /// Whether the peer may reset all streams and TSNs at once.
    pub peer_resets_association: bool,
    /// Whether the peer may add streams: its own up to [`Config::inbound_streams`], ours up to
    /// [`Config::max_outbound_streams`].
    pub peer_adds_streams: bool,
    /// Outbound streams that a peer may ask us to have.
    pub max_outbound_streams: u16,
    /// Subflows that an association may have at once, 1 to 255.
    pub max_subflows: u8,
    /// How the windows of the subflows hold together.
    pub coupling: Coupling,
    /// Fractional congestion control: the size of a step.
    pub fcc_step: FccStep,
    /// What makes a round trip.
    pub fcc_clock: FccClock,
    /// What becomes of a Phi that is no whole number.
    pub fcc_rounding: FccRounding,
    /// Which subflows are counted.
    pub fcc_count: FccCount,
    /// Coupling `adaptive`: whose window is cut when a queue overflows.
    pub adaptive_cut: AdaptiveCut,
    /// Whether Phi divides the growth of slow start too (the thesis: of congestion avoidance only).
    pub fcc_slow_start: bool,

    /// The INIT chunk is filled up to so many bytes, with a Padding parameter (RFC 4820, 4); 0 leaves it as it is. Other
    /// stacks say more of themselves, and on slow links that takes time.
    pub init_size: u16,
    /// The State Cookie is filled up to so many bytes; 0 leaves it as it is. Cookies of other stacks hold more, and on
    /// slow links that takes time (study 000: 240 bytes more than the handshake of TCP).
    pub cookie_size: u16,

    /// Clock of timers and round-trip samples: a timer expires at the first tick that is late enough, a sample is a number
    /// of ticks. Zero: exact.
    pub timer_tick: Duration,
    /// Whether long timers expire late, on coarser ticks: up to 63 ticks on the next tick, up to 8 x 63 on a multiple of 8,
    /// and so on (Linux since 4.8).
    pub timer_wheel: bool,
    /// RTO.Initial.
    pub rto_initial: Duration,
    /// RTO.Min.
    pub rto_min: Duration,
    /// RTO.Max.
    pub rto_max: Duration,
    /// Which chunks give round-trip samples.
    pub rtt_sampling: RttSampling,
    /// Association.Max.Retrans.
    pub association_max_retrans: u32,
    /// Path.Max.Retrans.
    pub path_max_retrans: u32,
    /// Max.Init.Retransmits.
    pub max_init_retransmits: u32,
    /// Valid.Cookie.Life.
    pub valid_cookie_life: Duration,
    /// HB.interval; zero turns heartbeats off.
    pub heartbeat_interval: Duration,
    /// SACK.Delay: at most 500 ms.
    pub sack_delay: Duration,
    /// A SACK for every this many packets with DATA.
    pub sack_every: u16,
    /// Whether the first DATA of an association is acknowledged at once (RFC 9260, 5.1).
    pub sack_first_at_once: bool,
    /// Whether a chunk that fills the last hole is acknowledged at once (RFC 9260, 6.7), or like any other (Linux).
    pub sack_filled_hole: bool,
    /// Which DATA chunks ask for a SACK at once.
    pub immediate_bit: ImmediateBit,
    /// Whether a DATA chunk may ask for a SACK at once (RFC 7053).
    pub immediate_bit_obeyed: bool,
    /// Whether DATA may ride with COOKIE ECHO.
    pub data_with_cookie: bool,
    /// T5-shutdown-guard, in multiples of RTO.Max (5 is recommended); zero turns it off.
    pub shutdown_guard_rto_max: u32,

    /// How the window of a lane grows and shrinks. Only [`CongestionControl::RENO`] knows couplings other than
    /// [`Coupling::Independent`] and [`Coupling::Shared`].
    pub congestion_control: CongestionControl,
    /// What windows are counted in.
    pub window_unit: WindowUnit,
    /// Whether cwnd and the flight count DATA chunk headers (RFC 9260), or user data only (Linux).
    pub flight_counts_headers: bool,
    /// First congestion window.
    pub initial_window: InitialWindow,
    /// First slow-start threshold, bytes; `None`: the peer's first a_rwnd.
    pub initial_ssthresh: Option<u64>,
    /// Smallest ssthresh after a loss, in PMDCS (RFC 9260: 4; RFC 2960: 2).
    pub ssthresh_floor: u16,
    /// Whether a further expiry of T3-rtx at a cwnd of one PMDCS leaves ssthresh alone (ns-2, RFC 5681), instead of
    /// setting it to its floor (RFC 9260, 7.2.3).
    pub backoff_keeps_ssthresh: bool,
    /// Whether a cwnd equal to ssthresh, as after a fast retransmit, is slow start (RFC 2960 and RFC 9260, 7.2.1), or
    /// congestion avoidance (RFC 5681 leaves TCP the choice).
    pub slow_start_at_ssthresh: bool,
    /// L of slow start: at most this many PMDCS of growth for a SACK.
    pub slow_start_limit: u16,
    /// How loss is found.
    pub loss_detection: LossDetection,
    /// Whether the last packet is sent again after two round trips without a SACK (RFC 8985, section 7): only with
    /// [`LossDetection::Rack`].
    pub tail_loss_probe: bool,
    /// Whether cwnd grows only with SACKs that move the cumulative point; RFC 8540, 3.22, lets every new acknowledgement do.
    pub growth_needs_advance: bool,
    /// Missing reports that make a fast retransmit (RFC 9260: 3; RFC 2960: 4).
    pub fast_retransmit_threshold: u8,
    /// How often one loss event may cut the window.
    pub fast_recovery: FastRecovery,
    /// After a fast retransmit, whether what else is marked waits for the next SACK (ns-2) or leaves as cwnd allows.
    pub hold_after_fast_retransmit: bool,
    /// What limits a burst of new packets.
    pub max_burst: MaxBurst,
    /// Whether packets are spread over the round trip, on each lane for itself. Then the bucket of the pacer stands for
    /// [`Config::max_burst`] as soon as a round trip is known.
    pub pacing: bool,
    /// How fast, in percent of cwnd / SRTT, 100 to 1000 (RFC 9002, 7.7: 125; Linux: 120).
    pub pacing_gain: u16,
    /// How fast while cwnd is below half of ssthresh, in percent of cwnd / SRTT, 100 to 1000 (Linux: 200).
    pub pacing_gain_slow_start: u16,
    /// Full packets that may leave at once after a pause, 1 to 255.
    pub pacing_burst: u8,
    /// Whether partial_bytes_acked counts cumulatively acknowledged chunks only while the window is full (ns-2
    /// since 3.5), instead of all newly acknowledged bytes (RFC 9260, 7.2.2).
    pub pba_needs_full_window: bool,
    /// Whether partial_bytes_acked is brought back to cwnd while the window is not full (RFC 9260, 7.2.2).
    pub pba_clamp: bool,
    /// Whether bytes gap-acked earlier count again when the cumulative point passes them (ns-2 before 3.3).
    pub pba_counts_twice: bool,
    /// Whether cwnd halves for every RTO without transmission (RFC 9260, 7.2.1), and down to how many PMDCS;
    /// `None` leaves it alone.
    pub idle_decay_floor: Option<u16>,
    /// Whether the peer's window is charged DATA chunk headers too (ns-2), or user data only.
    pub rwnd_counts_headers: bool,
    /// KAME's early fast retransmit: a chunk that was reported missing at least once is sent again when it is so old, or
    /// older than the smoothed round trip and its variation, whichever is longer. `None`: off.
    pub early_fast_retransmit: Option<Duration>,
    /// Whether, after T3-rtx has expired, one packet is in flight until something is acknowledged (RFC 9260, 7.2.3), or
    /// until any packet arrives (Linux).
    pub timeout_waits_for_ack: bool,
    /// Bugs of the stacks that the studies ran; all off but in a profile that is named after such a stack and its bugs.
    pub quirks: Quirks,
}

impl Config {
    /// Path Maximum DATA Chunk Size: what remains for one DATA chunk, header included, in a packet without other
    /// chunks (RFC 9260, 2.3). Rounded down to the 4-byte boundary that padding needs.
    #[must_use]
    pub fn pmdcs(&self) -> u32 {
        self.max_packet().saturating_sub(12) & !3
    }

    /// What windows are counted in, bytes.
    #[must_use]
    pub fn window_unit(&self) -> u32 {
        match self.window_unit {
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
        self.interleaving || self.subflow_level == SubflowLevel::One
    }

    /// Whether lanes have a timer besides T3-rtx that begins with a transmission.
    #[inline]
    pub(crate) fn needs_loss_timer(&self) -> bool {
        self.tail_loss_probe || self.quirks.burst_before_sack
    }

    /// When a SACK may wait.
    #[inline]
    pub(crate) fn ack_policy(&self) -> AckPolicy {
        AckPolicy {
            every: self.sack_every,
            delay: self.sack_delay,
            clock: self.clock(),
            first_at_once: self.sack_first_at_once,
        }
    }
}

impl Default for Config {
    /// The profile `rfc9260`.
    fn default() -> Self {
        Self::rfc9260()
    }
}

#[cfg(test)]
mod tests;
