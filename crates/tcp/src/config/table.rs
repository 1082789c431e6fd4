//! Every rule that can be turned on, off or up, with the reason for its default.
//!
//! The struct, its defaults, the list of keys and the text interface are generated from one table, so that a value
//! cannot be forgotten in one of them.

use super::value::{
    InitialWindow, LossRecovery, Percent, Reduction, RttEstimator, RttSampling, SsthreshBase, Value,
};
use anabranch_base::Duration;
use anabranch_transport::congestion::{AckedGrowth, Algorithm};
use std::num::NonZeroU8;

/// A configuration key or value that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// No such key.
    #[error("tcp option `{key}` does not exist; allowed: {allowed}")]
    UnknownKey {
        /// The key asked for.
        key: String,
        /// Every key, comma-separated.
        allowed: String,
    },
    /// The value does not fit the key.
    #[error("tcp option `{key}` = `{value}` is not valid; allowed: {allowed}")]
    BadValue {
        /// The key.
        key: &'static str,
        /// The value asked for.
        value: String,
        /// Its allowed values.
        allowed: String,
    },
}

/// One configuration key, for help texts and schemas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Name as in a scenario file.
    pub name: &'static str,
    /// Its effect, in one sentence.
    pub doc: &'static str,
    /// Its allowed values.
    pub allowed: &'static str,
    /// The default, which is that of profile `rfc`.
    pub default: String,
}

macro_rules! config {
    ($( $(#[doc = $doc:literal])+ $name:ident : $ty:ty = $default:expr ; )+) => {
        /// Configuration of a connection. The default is the profile `rfc`.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Config { $( $(#[doc = $doc])+ pub $name: $ty, )+ }

        impl Default for Config {
            fn default() -> Self { Self { $( $name: $default, )+ } }
        }

        impl Config {
            /// Every key with its documentation, in the order of the table.
            #[must_use]
            pub fn keys() -> Vec<Key> {
                let default = Self::default();
                vec![ $( Key {
                    name: stringify!($name),
                    doc: concat!($($doc),+).trim_start(),
                    allowed: <$ty as Value>::ALLOWED,
                    default: Value::show(&default.$name),
                }, )+ ]
            }

            /// Sets one value by name, as a scenario file writes it.
            ///
            /// # Errors
            /// When the key does not exist or the value does not fit it; the text names the allowed values.
            pub fn set(&mut self, key: &str, value: &str) -> Result<(), ConfigError> {
                match key {
                    $( stringify!($name) => {
                        self.$name = <$ty as Value>::parse(value.trim()).ok_or_else(|| ConfigError::BadValue {
                            key: stringify!($name),
                            value: value.to_owned(),
                            allowed: <$ty as Value>::ALLOWED.to_owned(),
                        })?;
                    } )+
                    _ => return Err(ConfigError::UnknownKey {
                        key: key.to_owned(),
                        allowed: [$( stringify!($name) ),+].join(", "),
                    }),
                }
                Ok(())
            }

            /// One value by name, written as `set` reads it.
            #[must_use]
            pub fn get(&self, key: &str) -> Option<String> {
                match key { $( stringify!($name) => Some(Value::show(&self.$name)), )+ _ => None }
            }
        }
    };
}

config! {
    // ---- format and handshake
    /// Largest segment we accept and send, payload bytes plus TCP options (RFC 9293, section 3.7.1); 1460 fills an Ethernet frame.
    mss: u32 = 1460;
    /// Offer SACK and use it when the peer does too (RFC 2018).
    sack: bool = true;
    /// Most SACK blocks in one segment; the header has room for 4, for 3 beside a timestamp.
    sack_blocks: u32 = 4;
    /// Offer timestamps, use them for round-trip times and PAWS (RFC 7323); costs 12 bytes a segment.
    timestamps: bool = true;
    /// Offer window scaling (RFC 7323); without it no window exceeds 65535 bytes.
    window_scaling: bool = true;
    /// Compute and verify the checksum; off saves time where the medium cannot corrupt.
    checksum: bool = true;
    /// DSCP of every packet.
    dscp: u32 = 0;

    // ---- buffers
    /// Receive buffer: the window that is advertised when nothing is waiting to be read.
    receive_buffer: u64 = 1 << 20;
    /// The receive buffer grows up to this with the bytes that the user reads in a round trip (Linux:
    /// tcp_rcv_space_adjust); 0: it stays as it is.
    receive_buffer_limit: u64 = 0;
    /// Send buffer: bytes that `send` accepts before they are acknowledged.
    send_buffer: u64 = 4 << 20;

    // ---- acknowledging
    /// Delay acknowledgements (RFC 1122, section 4.2.3.2); off means an ACK for every segment.
    delayed_ack: bool = true;
    /// With delayed_ack: acknowledge at least every so many full segments (RFC 5681, section 4.2).
    ack_every: u32 = 2;
    /// With delayed_ack: longest delay; the RFC allows 500 ms.
    ack_delay: Duration = Duration::from_millis(200);
    /// Acknowledge so many data segments at once at the start of a connection, whatever delayed_ack says.
    quick_acks: u32 = 0;
    /// Report segments that arrive twice in the first SACK block (RFC 2883).
    dsack: bool = false;
    /// Acknowledge at once a segment that fills a hole or part of one (RFC 5681, section 4.2).
    ack_gap_fill: bool = true;

    // ---- congestion control
    /// Congestion controller; bbr follows a model of the path and is always paced, and needs sack6675 or rack and the peer's SACK: without them it is cubic.
    controller: Algorithm = Algorithm::Reno;
    /// Leave slow start by HyStart++ when the round-trip time grows (RFC 9406); not with vegas, which has its own way.
    hystart: bool = false;
    /// Hold the window at the bandwidth measured times the round-trip time, plus two segments (FreeBSD's inflight limiting, near Vegas).
    inflight_limit: bool = false;
    /// Initial window.
    initial_window: InitialWindow = InitialWindow::Rfc6928;
    /// Initial slow-start threshold; RFC 5681 wants it arbitrarily high.
    initial_ssthresh: Option<u64> = None;
    /// Growth of the window with each acknowledgement.
    growth: AckedGrowth = AckedGrowth::Bytes;
    /// With growth = bytes: most segments that one ACK may add in slow start (RFC 3465's L).
    growth_limit: u32 = 2;
    /// Grow only while the window was the limit, not the user or the receiver (RFC 7661's concern).
    growth_needs_full_window: bool = true;
    /// The quantity that a loss halves: bytes in flight (RFC 5681, equation 4) or the smallest of cwnd, send_limit
    /// and the peer's window.
    ssthresh_base: SsthreshBase = SsthreshBase::Flight;
    /// Window after a timeout, segments (RFC 5681: the loss window, 1).
    loss_window: u32 = 1;
    /// Never have more outstanding than this, whatever cwnd and the receiver allow; 0 B means no limit.
    send_limit: u64 = 0;
    /// The segment that ends the data and carries the FIN leaves whatever cwnd says (Linux).
    fin_beyond_window: bool = false;
    /// Restart from the initial window after an idle time of one RTO (RFC 5681, section 4.1).
    slow_start_restart: bool = true;
    /// Start with one segment when the SYN or SYN-ACK had to be sent again (RFC 5681, section 3.1).
    one_segment_after_handshake_loss: bool = true;
    /// With one_segment_after_handshake_loss: so many repeated SYNs or SYN-ACKs are forgiven (Linux since 2.6.39: 1).
    handshake_losses_forgiven: u32 = 0;
    /// Most data segments sent in answer to one ACK; 0 means no limit.
    max_burst: u32 = 0;
    /// Spread the segments of a window over the round trip; stands for max_burst once a round trip is known.
    pacing: bool = false;
    /// With pacing: the rate in percent of cwnd / SRTT (RFC 9002, section 7.7; Linux: 120).
    pacing_gain: Percent = Percent(120);
    /// With pacing: the rate while cwnd is below half of ssthresh, in percent of cwnd / SRTT (Linux: 200).
    pacing_gain_slow_start: Percent = Percent(200);
    /// With pacing: full segments that may leave at once after a pause.
    pacing_burst: NonZeroU8 = NonZeroU8::new(10).unwrap_or(NonZeroU8::MIN);
    /// With pacing: segments that come due in so long leave together, two at least; 0 s: each segment when it is due.
    pacing_quantum: Duration = Duration::from_millis(1);

    // ---- loss recovery
    /// Loss recovery; the SACK kinds need the peer's SACK and fall back to newreno without it.
    recovery: LossRecovery = LossRecovery::Sack6675;
    /// With sack6675: a scoreboard that holds the first segment for lost starts recovery before duplicate_threshold reports (RFC 6675, section 5, step 2); not so before that RFC.
    scoreboard_starts_recovery: bool = true;
    /// With sack6675: segments are lost that lie duplicate_threshold segments or more below the highest one SACKed,
    /// however few blocks say so (FACK).
    fack: bool = false;
    /// With sack6675 or rack: how the window comes down during fast recovery.
    reduction: Reduction = Reduction::AtOnce;
    /// Duplicate acknowledgements that start fast retransmit (RFC 5681).
    duplicate_threshold: u32 = 3;
    /// New data on the first two duplicate acknowledgements (RFC 3042).
    limited_transmit: bool = true;
    /// An ACK that changes the advertised window is no duplicate (RFC 5681, section 2).
    window_update_is_no_duplicate: bool = true;
    /// No fast retransmit before everything outstanding at the last timeout or recovery is acknowledged (RFC 6582, section 3.2, step 2).
    recovery_point: bool = true;
    /// After a NewReno recovery, at most flight + 1 segment instead of ssthresh (RFC 6582, section 3.2, step 3, option 1).
    deflate_to_flight: bool = true;
    /// Restart the retransmission timer on every partial acknowledgement (RFC 6298, section 5.3), not only the first (RFC 6582, the "Impatient" variant).
    partial_ack_restarts_timer: bool = true;
    /// A partial acknowledgement ends the backing off of the timeout; RFC 6298 waits for a round-trip sample.
    partial_ack_clears_backoff: bool = false;
    /// Restart the retransmission timer when fast retransmit begins; the RFCs leave it running.
    fast_retransmit_restarts_timer: bool = false;
    /// A SACK of something sent before the first outstanding segment was last sent restarts the retransmission timer (Linux).
    sack_restarts_timer: bool = false;
    /// A second timeout of the same segment leaves ssthresh alone (RFC 5681, section 3.1).
    ssthresh_held_on_backoff: bool = true;
    /// With sack6675: when nothing is lost and no new data can be sent, send data that is not SACKed (NextSeg rule
    /// 3).
    nextseg_rule3: bool = true;
    /// With sack6675: one retransmission of the last segment per recovery when nothing else can be sent (NextSeg rule 4).
    rescue_retransmission: bool = true;
    /// Remember SACKed data over a timeout (RFC 6675, section 5.1); RFC 2018 forgot it for fear of reneging.
    keep_sack_on_timeout: bool = true;

    /// Send a probe when an acknowledgement is overdue at the tail (TLP, RFC 8985, section 7); needs rack or sack6675.
    tlp: bool = false;
    /// With tlp: the longest time by which the peer may delay the acknowledgement of a single segment
    /// (TLP.max_ack_delay).
    tlp_ack_delay: Duration = Duration::from_millis(200);
    /// With tlp or rack: added to the reordering timer, and to the probe timer of two segments and more (Linux: 2 ms).
    probe_margin: Duration = Duration::ZERO;
    /// With rack: a DSACK widens the reordering window only when reordering has been seen, and not when it answers a probe (Linux); RFC 8985 takes any.
    rack_dsack_needs_reordering: bool = false;
    /// With tlp: the timeout that bounds the probe counts from when the first outstanding segment left, as in Linux, not from the last acknowledgement.
    rto_from_head: bool = false;
    /// After a timeout send new data first, to see whether it was spurious (F-RTO with SACK, RFC 5682, section 3); needs sack6675 or rack.
    frto: bool = false;
    /// Undo the reduction and forget the losses when it proves needless: by timestamps (RFC 3522), F-RTO, or a DSACK for every retransmission (RFC 3708).
    undo: bool = false;

    // ---- retransmission timeout
    /// Before the first round-trip sample (RFC 6298: 1 s; RFC 2988: 3 s).
    rto_initial: Duration = Duration::from_secs(1);
    /// Smallest timeout (RFC 6298: 1 s).
    rto_min: Duration = Duration::from_secs(1);
    /// Added to a measured timeout, backing off included, before rto_min is looked at (FreeBSD's slop: 200 ms).
    rto_slop: Duration = Duration::ZERO;
    /// Largest timeout, backing off included (RFC 6298: at least 60 s).
    rto_max: Duration = Duration::from_secs(60);
    /// Clock granularity G of RFC 6298; with rtt_estimator = ticks the length of a tick.
    rto_granularity: Duration = Duration::from_millis(1);
    /// The timeout falls back to this for data when the SYN had to be sent again (RFC 6298, section 5.7).
    rto_after_handshake_loss: Duration = Duration::from_secs(3);
    /// Length of a tick of the clock that timers wait for (a kernel's jiffy); 0 s means that they are exact.
    timer_tick: Duration = Duration::ZERO;
    /// With timer_tick: the longer a timer, the coarser, as in Linux's wheel since 4.8: from 63 ticks on in steps of 8, from 504 on of 64.
    timer_wheel: bool = false;
    /// Arithmetic that turns round-trip samples into a timeout.
    rtt_estimator: RttEstimator = RttEstimator::Rfc6298;
    /// The segments that are timed, and whether timestamps are preferred. Karn's rule holds for all.
    rtt_sampling: RttSampling = RttSampling::Timed;
    /// The handshake is the first round-trip sample.
    rtt_from_handshake: bool = true;
    /// A handshake whose SYN or SYN-ACK was repeated is a round-trip sample, too, by the timestamp that its acknowledgement echoes (Linux).
    rtt_from_repeated_handshake: bool = false;
    /// Begin with the round-trip time and ssthresh that earlier connections of this stack to the same host ended with (BSD's host cache, Linux's route metrics).
    host_cache: bool = false;
    /// The answer to a SYN that comes again restarts the timer of the SYN-ACK and counts as one of its repetitions; Linux 2.4 answers beside the timer.
    duplicate_syn_restarts_timer: bool = true;
    /// Retransmissions of one data segment before giving up (RFC 9293, section 3.8.3, R2).
    retransmissions: u32 = 15;
    /// Retransmissions of a SYN or SYN-ACK before giving up.
    syn_retransmissions: u32 = 6;

    // ---- small things
    /// Hold back a small segment while data is outstanding (RFC 1122, section 4.2.3.4).
    nagle: bool = false;
    /// Longest interval between zero-window probes; the first comes after one RTO.
    persist_max: Duration = Duration::from_secs(60);
    /// TIME-WAIT, twice the maximum segment lifetime.
    time_wait: Duration = Duration::from_secs(60);
    /// Half-open connections a listener holds; more SYNs are dropped.
    backlog: u32 = 128;

    // ---- quirks: mistakes of implementations that studies report, all off
    /// FreeBSD 6.0 (Hurtig et al. 2006, 7.1.1): the handshake's round trip, of bare headers, sets the first timeout to 3 RTT + rto_slop, whatever rtt_from_handshake says.
    quirk_opportunistic_rto: bool = false;
    /// FreeBSD 6.0 (Hurtig et al. 2006, 7.1.2): each retransmission after a timeout backs the timer off, no acknowledgement ends that, and duplicates that ask for the first segment sent after the timeout's recovery point start nothing.
    quirk_faulty_recovery: bool = false;
    /// FreeBSD 6.0 (Hurtig et al. 2006, 7.1.3): an acknowledgement leaves before the user reads, the next gives the window back, and as it changes the window it is no duplicate, whatever it SACKs.
    quirk_window_update: bool = false;
    /// FreeBSD 6.0 (Hurtig et al. 2006, C.1.4): the acknowledgement of our SYN-ACK grows the initial window by a segment.
    quirk_initial_window: bool = false;
}
