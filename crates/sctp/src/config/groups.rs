//! The groups of a [`Config`](super::Config).

use anabranch_base::Duration;
use anabranch_transport::congestion::{FccClock, FccRounding, FccStep};
use anabranch_wire::sf::CodePoints;

use super::buffers::SendBufferCounts;
use super::congestion::{CongestionControl, FastRecovery, InitialWindow, MaxBurst, Reduction};
use super::coupling::{AdaptiveCut, Coupling, FccCount};
use super::detection::ErrorDetection;
use super::ecn::{EcnBackoff, EcnMode};
use super::emulation::{ImmediateBit, LossDetection, Quirks, WindowUnit};
use super::streams::StreamScheduling;
use super::subflows::{SubflowLevel, SubflowScheduler, SubflowSpec};
use super::timers::RttSampling;

/// How many streams there are, and which speaks next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamConfig {
    /// Outbound streams asked for.
    pub outbound: u16,
    /// Inbound streams allowed (MIS).
    pub inbound: u16,
    /// Outbound streams that a peer may ask us to have.
    pub max_outbound: u16,
    /// Whether messages are counted by stream ([`Snapshot::streams`](crate::Snapshot::streams)): some 50 bytes for each that is
    /// used.
    pub statistics: bool,
    /// Which stream speaks next.
    pub scheduling: StreamScheduling,
    /// Streams and their values: priorities (the smaller goes first) or weights, as the scheduling needs. Others have 1.
    pub values: Vec<(u16, u16)>,
}

/// What an association may take, of memory and of patience.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitConfig {
    /// Receive buffer of the association, bytes: the first a_rwnd.
    pub receive_window: u32,
    /// How far it grows with what the user reads in a round trip, bytes; no more than `receive_window`: it stays. All associations of an
    /// endpoint have a limit, too ([`EndpointConfig::window_budget`](crate::EndpointConfig::window_budget)).
    pub max_receive_window: u32,
    /// Percent of the receive window, 1 to 50, that messages in the making may hold before the one that grows is handed to
    /// the user in parts (RFC 9260, 6.9; RFC 6458, 8.1.21).
    pub partial_delivery_point: u8,
    /// Bytes of a message that are here and in sequence, and more than which is not waited for: it is handed over in parts, each with
    /// the next so many and more, on each stream by itself (RFC 6458, 8.1.21). 0: such a point does not exist. No more than
    /// the receive window.
    pub partial_delivery_bytes: usize,
    /// Bytes of the send buffer: with so many in it `send` says `Full`. Each subflow has one where only what waits counts.
    pub send_buffer: usize,
    /// How far the send buffer grows with the congestion window, bytes; no more than `send_buffer`: it stays.
    pub max_send_buffer: usize,
    /// What counts against the send buffer.
    pub send_buffer_counts: SendBufferCounts,
    /// Bytes of one stream in the send buffer, with which `send` says `StreamFull` for this stream; 0: only the buffer as a whole
    /// is limited.
    pub stream_send_buffer: usize,
    /// Bytes of one stream that find room although the send buffer is full, so that streams which fill it do not stop the others. What
    /// all streams have of this together is half of the buffer at most, and a longer message is taken while the buffer is
    /// exceeded by less than half. 0: who comes first has it all.
    pub stream_send_minimum: usize,
    /// Largest user message accepted, in either direction, bytes.
    pub max_message: usize,
    /// Most user data of one DATA chunk, bytes, where the path allows more; 0: what the path allows (RFC 9260, 6.9; RFC 6458,
    /// 8.1.16).
    pub max_fragment: usize,
    /// Association.Max.Retrans.
    pub association_max_retrans: u32,
    /// Path.Max.Retrans.
    pub path_max_retrans: u32,
    /// Max.Init.Retransmits.
    pub max_init_retransmits: u32,
}

impl LimitConfig {
    /// Most user data of one DATA chunk where a packet has room for so much, bytes.
    #[inline]
    pub(crate) fn most_payload(&self, room: usize) -> usize {
        match self.max_fragment {
            0 => room,
            most => room.min(most),
        }
    }

    /// The send buffer, as large as it may grow, bytes.
    #[inline]
    pub(crate) fn largest_send_buffer(&self) -> usize {
        self.send_buffer.max(self.max_send_buffer)
    }

    /// The receive window, as large as it may grow, bytes.
    #[inline]
    pub(crate) fn largest_receive_window(&self) -> u32 {
        self.receive_window.max(self.max_receive_window)
    }
}

/// Timers and the round-trip time (RFC 9260, 6.3, 8.3 and 16).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimerConfig {
    /// RTO.Initial.
    pub rto_initial: Duration,
    /// RTO.Min.
    pub rto_min: Duration,
    /// RTO.Max.
    pub rto_max: Duration,
    /// The longest RTO of INIT and COOKIE ECHO where it is to be shorter than RTO.Max (RFC 6458, 5.3.1); zero leaves it to RTO.Max.
    pub rto_max_init: Duration,
    /// Which chunks give round-trip samples.
    pub rtt_sampling: RttSampling,
    /// HB.interval; zero turns heartbeats off.
    pub heartbeat_interval: Duration,
    /// Valid.Cookie.Life.
    pub valid_cookie_life: Duration,
    /// T5-shutdown-guard, in multiples of RTO.Max (5 is recommended); zero turns it off.
    pub shutdown_guard_rto_max: u32,
    /// Whether COOKIE ECHO, SHUTDOWN and SHUTDOWN ACK are sent once more after two round trips without an answer (docs/reference/extensions.md), as
    /// RFC 8985, 7, has it of data. T1-cookie and T2-shutdown run on.
    pub control_probe: bool,
}

impl TimerConfig {
    /// The longest RTO of INIT and COOKIE ECHO.
    #[must_use]
    pub fn longest_init_rto(&self) -> Duration {
        if self.rto_max_init == Duration::ZERO { self.rto_max } else { self.rto_max_init.min(self.rto_max) }
    }
}

/// When data is acknowledged (RFC 9260, 6.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SackConfig {
    /// SACK.Delay: at most 500 ms.
    pub delay: Duration,
    /// A SACK for every this many packets with DATA.
    pub every: u16,
    /// Whether the first DATA of an association is acknowledged at once (RFC 9260, 5.1).
    pub first_at_once: bool,
    /// Which DATA chunks ask for a SACK at once.
    pub immediate_bit: ImmediateBit,
    /// Whether a DATA chunk may ask for a SACK at once (RFC 7053).
    pub immediate_bit_obeyed: bool,
}

/// Loss and the congestion window of a lane (RFC 9260, 7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CongestionConfig {
    /// How the window of a lane grows and shrinks. BIC and Vegas know no couplings other than
    /// [`Coupling::Independent`] and [`Coupling::Shared`].
    pub control: CongestionControl,
    /// CUBIC: whether fast convergence (RFC 9438, 4.7) is left out where the window has not grown since the last cut, or is the one before
    /// but for 5 %.
    pub gentle_convergence: bool,
    /// First congestion window.
    pub initial_window: InitialWindow,
    /// Whether what does not fill a packet waits while data is outstanding, as Nagle's algorithm for TCP has it. What waits when nothing
    /// is outstanding any more leaves together.
    pub nagle: bool,
    /// First slow-start threshold, bytes; `None`: the peer's first a_rwnd.
    pub initial_ssthresh: Option<u64>,
    /// Smallest ssthresh after a loss, in PMDCS (RFC 9260: 4; RFC 2960: 2).
    pub ssthresh_floor: u16,
    /// L of slow start: at most this many PMDCS of growth for a SACK.
    pub slow_start_limit: u16,
    /// Whether a cwnd equal to ssthresh, as after a fast retransmit, is slow start (RFC 2960 and RFC 9260, 7.2.1), or
    /// congestion avoidance (RFC 5681 leaves TCP the choice).
    pub slow_start_at_ssthresh: bool,
    /// Whether cwnd grows only with SACKs that move the cumulative point; RFC 8540, 3.22, lets every new acknowledgement do.
    pub growth_needs_advance: bool,
    /// Whether chunks that were given up and are acknowledged all the same, before the peer was told to skip them, count in slow start.
    /// RFC 3758, 3.5, A2, forbids it; without it a flow whose messages expire about when their SACK comes never leaves the first window.
    pub credit_given_up: bool,
    /// How loss is found.
    pub loss_detection: LossDetection,
    /// Whether the last packet is sent again after two round trips without a SACK (RFC 8985, section 7): only with
    /// [`LossDetection::Rack`].
    pub tail_loss_probe: bool,
    /// Missing reports that make a fast retransmit (RFC 9260: 3; RFC 2960: 4).
    pub fast_retransmit_threshold: u8,
    /// How often one loss event may cut the window.
    pub fast_recovery: FastRecovery,
    /// How the window comes down when losses are found.
    pub reduction: Reduction,
    /// Whether a cut is taken back when everything that was sent again is reported as a duplicate (RFC 3708; RFC 9438, 4.9): only controllers
    /// other than [`CongestionControl::RENO`] remember what was before.
    pub undo: bool,
    /// Whether losses of what had been sent when T3-rtx expired cut the window a second time (`false`, RFC 9260), or not (RFC 6582, 3.2).
    pub timeout_keeps_exit: bool,
    /// Whether the loss of what was sent again since T3-rtx has expired is a reason for one more reduction (RFC 5681, 4.3), once a round trip: the
    /// window grows then. In Fast Recovery, where it does not, there is none.
    pub lost_again_cuts: bool,
    /// What limits a burst of new packets.
    pub max_burst: MaxBurst,
    /// Whether partial_bytes_acked is brought back to cwnd while the window is not full (RFC 9260, 7.2.2).
    pub pba_clamp: bool,
    /// Whether cwnd halves for every RTO without transmission (RFC 9260, 7.2.1), and down to how many PMDCS;
    /// `None` leaves it alone.
    pub idle_decay_floor: Option<u16>,
    /// Whether a window that the user does not fill is kept for five minutes, and a loss reduces what was used of it (RFC 7661): only
    /// controllers other than [`CongestionControl::RENO`] do.
    pub window_validation: bool,
    /// What a router's mark leaves of the window, with [`EcnMode::Classic`].
    pub ecn_backoff: EcnBackoff,
}

/// How packets are spread over the round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacingConfig {
    /// Whether packets are spread over the round trip, on each lane for itself. Then the bucket of the pacer stands for
    /// [`CongestionConfig::max_burst`] as soon as a round trip is known.
    pub enabled: bool,
    /// How fast, in percent of cwnd / SRTT, 100 to 1000 (RFC 9002, 7.7: 125; Linux: 120).
    pub gain: u16,
    /// How fast while cwnd is below half of ssthresh, in percent of cwnd / SRTT, 100 to 1000 (Linux: 200).
    pub gain_slow_start: u16,
    /// Full packets that may leave at once after a pause, 1 to 255.
    pub burst: u8,
    /// What comes due in so long leaves together, two packets at least and 64 KiB at most; zero: each packet when it is due.
    pub quantum: Duration,
}

/// Subflows: which there are, how the two ends know of them, and how their windows hold together.
#[derive(Clone, Debug, PartialEq)]
pub struct SubflowConfig {
    /// Subflows that an association opens with; none: a single one with [`Config::dscp`](super::Config::dscp) (level 0: known to the sender
    /// alone, nothing of it on the wire).
    pub open: Vec<SubflowSpec>,
    /// Whose packet is next when several subflows may send.
    pub scheduler: SubflowScheduler,
    /// How the two ends know of subflows.
    pub level: SubflowLevel,
    /// Subflows that the peer may have open towards us, subflow 0 included (levels 1 and sf2007).
    pub max_inbound: u8,
    /// Subflows that an association may have at once, 1 to 255.
    pub max: u8,
    /// Bytes of the receive buffer that each open subflow keeps for itself (levels 1 and sf2007); together they take half
    /// of the buffer at most.
    pub buffer_floor: u32,
    /// Numbers of the extension SF.
    pub codes: CodePoints,
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
    /// Whether Phi divides the growth of slow start too (the thesis: of congestion avoidance only).
    pub fcc_slow_start: bool,
    /// Coupling `adaptive`: whose window is cut when a queue overflows.
    pub adaptive_cut: AdaptiveCut,
}

/// What is offered to the peer, and what the peer may do with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExtensionConfig {
    /// Whether I-DATA is offered (RFC 8260). Level 1 offers it in any case.
    pub interleaving: bool,
    /// Whether RE-CONFIG is offered (RFC 6525). Level 1 offers it in any case.
    pub reconfiguration: bool,
    /// Whether partial reliability is offered (RFC 3758; with I-DATA RFC 8260, 2.3.1): messages that are given up need not arrive.
    pub partial_reliability: bool,
    /// Whether the peer may reset streams, its own and ours.
    pub peer_resets_streams: bool,
    /// Whether the peer may reset all streams and TSNs at once.
    pub peer_resets_association: bool,
    /// Whether the peer may add streams: its own up to [`StreamConfig::inbound`], ours up to
    /// [`StreamConfig::max_outbound`].
    pub peer_adds_streams: bool,
    /// What below SCTP finds the errors of every packet that comes and goes, so that packets may have a checksum of zero (RFC
    /// 9653): it is announced to the peer, and used towards a peer that announces the same. `None`: nothing does.
    pub zero_checksum: Option<ErrorDetection>,
    /// Whether INIT says that this endpoint has addresses of the type it is sent from only (RFC 9260, 5.1.2): as a socket of one
    /// address family does. Without that the peer may list addresses of any type.
    pub address_types: bool,
    /// What the layer above tells its peer in the handshake: Adaptation Layer Indication (RFC 5061, 4.2.6).
    pub adaptation_indication: Option<u32>,
    /// Whether ECN is offered (RFC 3168; RFC 4960, appendix A), and what packets with data leave as where the peer has it, too.
    pub ecn: EcnMode,
    /// A SACK lists at most so many gap blocks, those that changed last and others in turn, where the peer has this, too
    /// (docs/reference/extensions.md). 0: it is not offered, and SACKs list what fits.
    pub selected_gap_blocks: u16,
}

/// What other stacks do differently. The defaults are RFC 9260's; other values serve the profiles of those stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EmulationConfig {
    /// The INIT chunk is filled up to so many bytes, with a Padding parameter (RFC 4820, 4); 0 leaves it as it is. Other
    /// stacks say more of themselves, and on slow links that takes time.
    pub init_size: u16,
    /// The State Cookie is filled up to so many bytes; 0 leaves it as it is. Cookies of other stacks hold more, and on
    /// slow links that takes time (Andersson 2005: 240 bytes more than the handshake of TCP).
    pub cookie_size: u16,
    /// Clock of timers and round-trip samples: a timer expires at the first tick that is late enough, a sample is a number
    /// of ticks. Zero: exact.
    pub timer_tick: Duration,
    /// Whether long timers expire late, on coarser ticks: up to 63 ticks on the next tick, up to 8 x 63 on a multiple of 8,
    /// and so on (Linux since 4.8).
    pub timer_wheel: bool,
    /// Whether DATA may ride with COOKIE ECHO.
    pub data_with_cookie: bool,
    /// Whether an INIT ACK lists all extensions that its sender has (usrsctp), or those that were agreed on.
    pub lists_all_extensions: bool,
    /// Whether a chunk that fills the last hole is acknowledged at once (RFC 9260, 6.7), or like any other (Linux).
    pub sack_filled_hole: bool,
    /// What windows are counted in.
    pub window_unit: WindowUnit,
    /// Whether cwnd and the flight count DATA chunk headers (RFC 9260), or user data only (Linux).
    pub flight_counts_headers: bool,
    /// Whether they count the padding of DATA chunks: "the length of the DATA chunk, including the padding, SHOULD be used" (RFC 9260,
    /// 7.2); the RFCs before it, ns-2 and Linux do not say so, and do not.
    pub flight_counts_padding: bool,
    /// Whether the packet that exceeds cwnd is filled (ns-2), or ends with the chunk that exceeds it. "The sender SHOULD exceed
    /// cwnd by up to (PMDCS - 1) bytes" and "the breach of cwnd MUST constitute one packet only" (RFC 9260, 6.1 B) hold for both.
    pub fills_past_cwnd: bool,
    /// The first chunk against a closed window leaves at once, as in ns-2 and the kernels; otherwise "after 1 RTO" (RFC 9260,
    /// 6.1 A).
    pub probes_at_once: bool,
    /// Whether the peer's window is charged DATA chunk headers too (ns-2), or user data only.
    pub rwnd_counts_headers: bool,
    /// Whether a further expiry of T3-rtx at a cwnd of one PMDCS leaves ssthresh alone (ns-2, RFC 5681), instead of
    /// setting it to its floor (RFC 9260, 7.2.3).
    pub backoff_keeps_ssthresh: bool,
    /// After a fast retransmit, whether what else is marked waits for the next SACK (ns-2) or leaves as cwnd allows.
    pub hold_after_fast_retransmit: bool,
    /// Whether partial_bytes_acked counts cumulatively acknowledged chunks only while the window is full (ns-2
    /// since 3.5), instead of all newly acknowledged bytes (RFC 9260, 7.2.2).
    pub pba_needs_full_window: bool,
    /// Whether bytes gap-acked earlier count again when the cumulative point passes them (ns-2 before 3.3).
    pub pba_counts_twice: bool,
    /// KAME's early fast retransmit: a chunk that was reported missing at least once is sent again when it is so old, or
    /// older than the smoothed round trip and its variation, whichever is longer. `None`: off.
    pub early_fast_retransmit: Option<Duration>,
    /// Whether, after T3-rtx has expired, one packet is in flight until something is acknowledged (RFC 9260, 7.2.3), or
    /// until any packet arrives (Linux).
    pub timeout_waits_for_ack: bool,
    /// Bugs of the stacks that the studies ran; all off but in a profile that is named after such a stack and its bugs.
    pub quirks: Quirks,
}
