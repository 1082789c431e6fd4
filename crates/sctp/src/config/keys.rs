//! Every value by name, so that a scenario file or a command line can set it.

use anabranch_base::{Dscp, Duration};
use anabranch_wire::sf::CodePoints;

use super::{
    AdaptiveCut, Checksums, Config, Coupling, FastRecovery, FccClock, FccCount, FccRounding, FccStep,
    InitialWindow, MaxBurst, RttSampling, StreamScheduling, SubflowLevel, SubflowScheduler,
};

/// A value that cannot be set as asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// No such value.
    #[error("unknown SCTP option `{key}`; allowed are {allowed}")]
    UnknownKey {
        /// What was asked for.
        key: String,
        /// Comma-separated list.
        allowed: String,
    },
    /// The text does not fit the value.
    #[error("SCTP option `{key}`: `{value}` is not allowed; expected {expected}")]
    BadValue {
        /// Which value.
        key: &'static str,
        /// What it was given.
        value: String,
        /// What it takes.
        expected: &'static str,
    },
}

/// One settable value.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// What it takes.
    pub expected: &'static str,
    /// What it does.
    pub doc: &'static str,
    set: fn(&mut Config, &str) -> Option<()>,
    get: fn(&Config) -> String,
}

macro_rules! key {
    ($field:ident, $parse:path, $show:expr, $expected:expr, $doc:expr) => {
        Key {
            name: stringify!($field),
            expected: $expected,
            doc: $doc,
            set: |c, v| {
                c.$field = $parse(v)?;
                Some(())
            },
            get: |c| $show(&c.$field),
        }
    };
}

const DURATION: &str = "a time such as \"200 ms\" or \"1 s\"";
const BYTES: &str = "a size such as \"1468 B\" or \"64 KiB\"";
const COUNT: &str = "a whole number";
const SWITCH: &str = "true or false";

/// The table; sorted by name.
static KEYS: &[Key] = &[
    key!(
        adaptive_cut,
        adaptive_cut,
        show_adaptive_cut,
        "\"group\" or \"lane\"",
        "coupling adaptive: whose window is cut when a queue overflows"
    ),
    key!(association_max_retrans, count, shown, COUNT, "Association.Max.Retrans"),
    key!(
        backoff_keeps_ssthresh,
        switch,
        shown,
        SWITCH,
        "a further T3-rtx expiry at one PMDCS leaves ssthresh alone"
    ),
    key!(
        checksums,
        checksums,
        show_checksums,
        "\"crc32c\" or \"elided\"",
        "whether CRC32c is computed and verified"
    ),
    key!(
        coupling,
        Coupling::parse,
        shown,
        "\"independent\", \"shared\", \"fcc(n)\", \"fcc(n^2)\", \"fcc(2n^2)\", \"fcc(NUMBER)\", \"lia\", \"olia\" or \"adaptive\"",
        "how the windows of the subflows hold together"
    ),
    key!(data_with_cookie, switch, shown, SWITCH, "DATA may ride with COOKIE ECHO"),
    key!(dscp, dscp, show_dscp, "a code point of 0 to 63", "code point of the association's packets"),
    key!(
        fast_recovery,
        fast_recovery,
        show_recovery,
        "\"off\", \"until-exit\" or \"per-window\"",
        "how often one loss event may cut the window"
    ),
    key!(
        fast_retransmit_threshold,
        count,
        shown,
        "a whole number of 1 to 255",
        "missing reports that make a fast retransmit"
    ),
    key!(
        fcc_clock,
        fcc_clock,
        show_fcc_clock,
        "\"bytes\" or \"round-trips\"",
        "fractional congestion control: what makes a round trip"
    ),
    key!(
        fcc_count,
        fcc_count,
        show_fcc_count,
        "\"configured\" or \"active\"",
        "the subflows that are counted: all that are open, or those with something to send"
    ),
    key!(
        fcc_rounding,
        fcc_rounding,
        show_fcc_rounding,
        "\"exact\", \"floor\", \"ceil\" or \"nearest\"",
        "what becomes of a Phi that is no whole number"
    ),
    key!(fcc_slow_start, switch, shown, SWITCH, "Phi divides the growth of slow start too"),
    key!(
        fcc_step,
        fcc_step,
        show_fcc_step,
        "\"packet\" or \"fraction\"",
        "a packet in Phi round trips, or the Phi-th part of one in each"
    ),
    key!(heartbeat_interval, duration, show_duration, DURATION, "HB.interval; 0 s turns heartbeats off"),
    key!(
        hold_after_fast_retransmit,
        switch,
        shown,
        SWITCH,
        "after a fast retransmit the rest waits for the next SACK"
    ),
    key!(
        idle_decay_floor,
        optional_count,
        show_optional,
        "a number of PMDCS or \"off\"",
        "cwnd halves for each idle RTO, down to this"
    ),
    key!(inbound_streams, count, shown, COUNT, "inbound streams allowed"),
    key!(
        inbound_subflows,
        subflow_count,
        shown,
        "a whole number of 1 to 255",
        "subflows that the peer may have open towards us (levels 1 and sf2007)"
    ),
    key!(
        initial_ssthresh,
        optional_bytes,
        show_ssthresh,
        "a size or \"peer-rwnd\"",
        "first slow-start threshold"
    ),
    key!(
        initial_window,
        initial_window,
        show_window,
        "\"rfc9260\", \"rfc4960\" or a number of PMDCS",
        "first congestion window"
    ),
    key!(interleaving, switch, shown, SWITCH, "I-DATA is offered; level 1 offers it in any case"),
    key!(ip_overhead, count, shown, COUNT, "bytes of header in front of SCTP"),
    key!(
        max_burst,
        max_burst,
        show_burst,
        "\"off\", \"clamp N\" or \"after-recovery N\"",
        "limit on a burst of new packets"
    ),
    key!(max_init_retransmits, count, shown, COUNT, "Max.Init.Retransmits"),
    key!(max_message, bytes, shown, BYTES, "largest user message"),
    key!(max_outbound_streams, count, shown, COUNT, "outbound streams that a peer may ask us to have"),
    key!(
        max_subflows,
        subflow_count,
        shown,
        "a whole number of 1 to 255",
        "subflows that an association may have at once"
    ),
    key!(mtu, count, shown, "576 to 65535", "largest IP packet of the path, bytes"),
    key!(outbound_streams, count, shown, COUNT, "outbound streams asked for"),
    key!(path_max_retrans, count, shown, COUNT, "Path.Max.Retrans"),
    key!(
        pba_clamp,
        switch,
        shown,
        SWITCH,
        "partial_bytes_acked is held at cwnd while the window is not full"
    ),
    key!(
        pba_counts_twice,
        switch,
        shown,
        SWITCH,
        "bytes gap-acked earlier count again when cumulatively acked"
    ),
    key!(
        pba_needs_full_window,
        switch,
        shown,
        SWITCH,
        "partial_bytes_acked grows only while the window is full"
    ),
    key!(peer_adds_streams, switch, shown, SWITCH, "the peer may add streams, its own and ours"),
    key!(peer_resets_association, switch, shown, SWITCH, "the peer may reset all streams and TSNs at once"),
    key!(peer_resets_streams, switch, shown, SWITCH, "the peer may reset streams, its own and ours"),
    key!(receive_window, bytes, shown, BYTES, "receive buffer, the first a_rwnd"),
    key!(reconfiguration, switch, shown, SWITCH, "RE-CONFIG is offered; level 1 offers it in any case"),
    key!(rto_initial, duration, show_duration, DURATION, "RTO.Initial"),
    key!(rto_max, duration, show_duration, DURATION, "RTO.Max"),
    key!(rto_min, duration, show_duration, DURATION, "RTO.Min"),
    key!(
        rtt_sampling,
        sampling,
        show_sampling,
        "\"once-per-round-trip\" or \"every-ack\"",
        "which chunks give round-trip samples"
    ),
    key!(rwnd_counts_headers, switch, shown, SWITCH, "the peer's window is charged chunk headers too"),
    key!(
        sack_delay,
        sack_delay,
        show_duration,
        "a time of 0 ms to 500 ms; 0 ms acknowledges every packet",
        "SACK.Delay"
    ),
    key!(
        sack_every,
        positive_u16,
        shown,
        "a whole number of 1 or more",
        "a SACK for every this many packets"
    ),
    key!(send_buffer, bytes, shown, BYTES, "bytes accepted and not yet sent"),
    key!(
        sf_codes,
        code_points,
        show_code_points,
        "seven numbers: SF-DATA, SF-SACK, SF-FORWARD, SF-CAP, SF-ADD, SF-DEL, SF-Violation, as in \"0x5f 0x9f 0xdf 0xb05f 0x405f 0x4060 0x5f01\"",
        "numbers of the extension SF"
    ),
    key!(shutdown_guard_rto_max, count, shown, COUNT, "T5-shutdown-guard in RTO.Max; 0 is off"),
    key!(
        slow_start_at_ssthresh,
        switch,
        shown,
        SWITCH,
        "cwnd equal to ssthresh, as after a fast retransmit, is slow start"
    ),
    key!(slow_start_limit, positive_u16, shown, "a whole number of 1 or more", "L of slow start"),
    key!(
        ssthresh_floor,
        positive_u16,
        shown,
        "a number of PMDCS of 1 or more",
        "smallest ssthresh after a loss"
    ),
    key!(
        stream_scheduling,
        scheduling,
        show_scheduling,
        "\"fcfs\", \"round-robin\", \"round-robin-packet\", \"priority\", \"fair-capacity\" or \"wfq\"",
        "which stream speaks next (RFC 8260, 3): with I-DATA after a chunk, with DATA after a message"
    ),
    key!(
        stream_values,
        stream_values,
        show_stream_values,
        "streams and values from 0 to 65535, as in \"0=4 3=1\"",
        "priorities (smallest first) or weights of streams; others have 1"
    ),
    key!(
        subflow_floor,
        bytes,
        shown,
        BYTES,
        "receive buffer that each open subflow keeps for itself (levels 1 and sf2007)"
    ),
    key!(
        subflow_level,
        SubflowLevel::parse,
        shown,
        "\"0\", \"1\" or \"sf2007\"",
        "how the two ends know of subflows"
    ),
    key!(
        subflow_scheduler,
        subflow_scheduler,
        show_subflow_scheduler,
        "\"fcfs\", \"wrr\", \"priority\" or \"wfq\"",
        "whose packet is next when several subflows may send"
    ),
    key!(valid_cookie_life, duration, show_duration, DURATION, "Valid.Cookie.Life"),
];

impl Config {
    /// Every settable value, sorted by name.
    #[must_use]
    pub fn keys() -> &'static [Key] {
        KEYS
    }

    /// Sets one value from text.
    ///
    /// # Errors
    /// When there is no such value, or the text does not fit it; the message lists what is allowed.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), ConfigError> {
        let Some(entry) = KEYS.iter().find(|k| k.name == key) else {
            let allowed = KEYS.iter().map(|k| k.name).collect::<Vec<_>>().join(", ");
            return Err(ConfigError::UnknownKey { key: key.to_owned(), allowed });
        };
        let mut changed = self.clone();
        let ok = (entry.set)(&mut changed, value.trim()).is_some()
            && changed.mtu >= 576
            && changed.fast_retransmit_threshold > 0
            && changed.rto_min <= changed.rto_max
            && changed.receive_window >= 1500
            && changed.outbound_streams > 0
            && changed.inbound_streams > 0
            && changed.send_buffer > 0
            && changed.max_message > 0
            && changed.ip_overhead <= 120;
        if !ok {
            return Err(ConfigError::BadValue {
                key: entry.name,
                value: value.to_owned(),
                expected: entry.expected,
            });
        }
        *self = changed;
        Ok(())
    }

    /// One value as text, as [`Config::set`] would take it; `None` when there is no such value.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<String> {
        KEYS.iter().find(|k| k.name == key).map(|k| (k.get)(self))
    }
}

fn count<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.parse().ok()
}

fn positive_u16(text: &str) -> Option<u16> {
    text.parse().ok().filter(|n| *n > 0)
}

fn shown<T: ToString>(value: &T) -> String {
    value.to_string()
}

fn switch(text: &str) -> Option<bool> {
    text.parse().ok()
}

fn number_and_unit(text: &str) -> Option<(f64, &str)> {
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let number: f64 = number.trim().parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some((number, unit.trim()))
}

fn duration(text: &str) -> Option<Duration> {
    let (number, unit) = number_and_unit(text)?;
    let scale = match unit {
        "s" => 1.0,
        "ms" => 1e-3,
        "us" => 1e-6,
        "ns" => 1e-9,
        "min" => 60.0,
        _ => return None,
    };
    Some(Duration::from_secs_f64(number * scale))
}

fn sack_delay(text: &str) -> Option<Duration> {
    // "MUST NOT allow the maximum delay to be configured to be more than 500 ms" (RFC 9260, 6.2).
    duration(text).filter(|d| *d <= Duration::from_millis(500))
}

fn show_duration(value: &Duration) -> String {
    value.to_string()
}

fn bytes<T: TryFrom<u64>>(text: &str) -> Option<T> {
    let (number, unit) = number_and_unit(text)?;
    let scale = match unit {
        "B" | "" => 1.0,
        "kB" => 1e3,
        "MB" => 1e6,
        "KiB" => 1024.0,
        "MiB" => 1024.0 * 1024.0,
        "GiB" => 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    let total = number * scale;
    (total.fract() == 0.0 && total < 1e15).then(|| T::try_from(total as u64).ok())?
}

fn optional_bytes(text: &str) -> Option<Option<u64>> {
    if text == "peer-rwnd" { Some(None) } else { bytes(text).map(Some) }
}

fn optional_count(text: &str) -> Option<Option<u16>> {
    if text == "off" { Some(None) } else { count(text).map(Some) }
}

fn show_optional<T: ToString>(value: &Option<T>) -> String {
    value.as_ref().map_or_else(|| "off".to_owned(), ToString::to_string)
}

fn show_ssthresh(value: &Option<u64>) -> String {
    value.map_or_else(|| "peer-rwnd".to_owned(), |bytes| format!("{bytes} B"))
}

fn checksums(text: &str) -> Option<Checksums> {
    match text {
        "crc32c" => Some(Checksums::Crc32c),
        "elided" => Some(Checksums::Elided),
        _ => None,
    }
}

fn show_checksums(value: &Checksums) -> String {
    match value {
        Checksums::Crc32c => "crc32c".to_owned(),
        Checksums::Elided => "elided".to_owned(),
    }
}

fn subflow_count(text: &str) -> Option<u8> {
    count(text).filter(|n| *n > 0)
}

fn code_points(text: &str) -> Option<CodePoints> {
    let numbers: Vec<u16> = text
        .split_whitespace()
        .map(|word| match word.strip_prefix("0x") {
            Some(hex) => u16::from_str_radix(hex, 16).ok(),
            None => word.parse().ok(),
        })
        .collect::<Option<_>>()?;
    let [data, sack, forward, capability, add, delete, violation] = numbers.try_into().ok()?;
    let (data, sack, forward) =
        (u8::try_from(data).ok()?, u8::try_from(sack).ok()?, u8::try_from(forward).ok()?);
    let codes = CodePoints { data, sack, forward, capability, add, delete, violation };
    codes.check().is_ok().then_some(codes)
}

fn show_code_points(c: &CodePoints) -> String {
    format!(
        "{:#x} {:#x} {:#x} {:#x} {:#x} {:#x} {:#x}",
        c.data, c.sack, c.forward, c.capability, c.add, c.delete, c.violation
    )
}

fn subflow_scheduler(text: &str) -> Option<SubflowScheduler> {
    Some(match text {
        "fcfs" => SubflowScheduler::Fcfs,
        "wrr" => SubflowScheduler::WeightedRoundRobin,
        "priority" => SubflowScheduler::Priority,
        "wfq" => SubflowScheduler::WeightedFair,
        _ => return None,
    })
}

fn show_subflow_scheduler(value: &SubflowScheduler) -> String {
    match value {
        SubflowScheduler::Fcfs => "fcfs",
        SubflowScheduler::WeightedRoundRobin => "wrr",
        SubflowScheduler::Priority => "priority",
        SubflowScheduler::WeightedFair => "wfq",
    }
    .to_owned()
}

fn adaptive_cut(text: &str) -> Option<AdaptiveCut> {
    match text {
        "group" => Some(AdaptiveCut::Group),
        "lane" => Some(AdaptiveCut::Lane),
        _ => None,
    }
}

fn show_adaptive_cut(value: &AdaptiveCut) -> String {
    match value {
        AdaptiveCut::Group => "group",
        AdaptiveCut::Lane => "lane",
    }
    .to_owned()
}

fn fcc_step(text: &str) -> Option<FccStep> {
    match text {
        "packet" => Some(FccStep::Packet),
        "fraction" => Some(FccStep::Fraction),
        _ => None,
    }
}

fn show_fcc_step(value: &FccStep) -> String {
    match value {
        FccStep::Packet => "packet",
        FccStep::Fraction => "fraction",
    }
    .to_owned()
}

fn fcc_clock(text: &str) -> Option<FccClock> {
    match text {
        "bytes" => Some(FccClock::Bytes),
        "round-trips" => Some(FccClock::RoundTrips),
        _ => None,
    }
}

fn show_fcc_clock(value: &FccClock) -> String {
    match value {
        FccClock::Bytes => "bytes",
        FccClock::RoundTrips => "round-trips",
    }
    .to_owned()
}

fn fcc_rounding(text: &str) -> Option<FccRounding> {
    match text {
        "exact" => Some(FccRounding::Exact),
        "floor" => Some(FccRounding::Floor),
        "ceil" => Some(FccRounding::Ceil),
        "nearest" => Some(FccRounding::Nearest),
        _ => None,
    }
}

fn show_fcc_rounding(value: &FccRounding) -> String {
    match value {
        FccRounding::Exact => "exact",
        FccRounding::Floor => "floor",
        FccRounding::Ceil => "ceil",
        FccRounding::Nearest => "nearest",
    }
    .to_owned()
}

fn fcc_count(text: &str) -> Option<FccCount> {
    match text {
        "configured" => Some(FccCount::Configured),
        "active" => Some(FccCount::Active),
        _ => None,
    }
}

fn show_fcc_count(value: &FccCount) -> String {
    match value {
        FccCount::Configured => "configured",
        FccCount::Active => "active",
    }
    .to_owned()
}

fn dscp(text: &str) -> Option<Dscp> {
    Dscp::new(text.parse().ok()?)
}

fn show_dscp(value: &Dscp) -> String {
    value.get().to_string()
}

fn fast_recovery(text: &str) -> Option<FastRecovery> {
    match text {
        "off" => Some(FastRecovery::Off),
        "until-exit" => Some(FastRecovery::UntilExit),
        "per-window" => Some(FastRecovery::PerWindow),
        _ => None,
    }
}

fn show_recovery(value: &FastRecovery) -> String {
    match value {
        FastRecovery::Off => "off",
        FastRecovery::UntilExit => "until-exit",
        FastRecovery::PerWindow => "per-window",
    }
    .to_owned()
}

fn initial_window(text: &str) -> Option<InitialWindow> {
    match text {
        "rfc9260" => Some(InitialWindow::Rfc9260),
        "rfc4960" => Some(InitialWindow::Rfc4960),
        _ => positive_u16(text).map(InitialWindow::Packets),
    }
}

fn show_window(value: &InitialWindow) -> String {
    match value {
        InitialWindow::Rfc9260 => "rfc9260".to_owned(),
        InitialWindow::Rfc4960 => "rfc4960".to_owned(),
        InitialWindow::Packets(n) => n.to_string(),
    }
}

fn max_burst(text: &str) -> Option<MaxBurst> {
    if text == "off" {
        return Some(MaxBurst::Off);
    }
    let (kind, n) = text.split_once(' ')?;
    let n = positive_u16(n.trim())?;
    match kind {
        "clamp" => Some(MaxBurst::Clamp(n)),
        "after-recovery" => Some(MaxBurst::AfterRecovery(n)),
        _ => None,
    }
}

fn show_burst(value: &MaxBurst) -> String {
    match value {
        MaxBurst::Off => "off".to_owned(),
        MaxBurst::Clamp(n) => format!("clamp {n}"),
        MaxBurst::AfterRecovery(n) => format!("after-recovery {n}"),
    }
}

fn sampling(text: &str) -> Option<RttSampling> {
    match text {
        "once-per-round-trip" => Some(RttSampling::OncePerRoundTrip),
        "every-ack" => Some(RttSampling::EveryAck),
        _ => None,
    }
}

fn show_sampling(value: &RttSampling) -> String {
    match value {
        RttSampling::OncePerRoundTrip => "once-per-round-trip",
        RttSampling::EveryAck => "every-ack",
    }
    .to_owned()
}

fn scheduling(text: &str) -> Option<StreamScheduling> {
    StreamScheduling::ALL.into_iter().find(|kind| kind.name() == text)
}

fn show_scheduling(value: &StreamScheduling) -> String {
    value.name().to_owned()
}

fn stream_values(text: &str) -> Option<Vec<(u16, u16)>> {
    text.split_whitespace()
        .map(|pair| {
            let (stream, value) = pair.split_once('=')?;
            Some((stream.parse().ok()?, value.parse().ok()?))
        })
        .collect()
}

fn show_stream_values(values: &[(u16, u16)]) -> String {
    values.iter().map(|(stream, value)| format!("{stream}={value}")).collect::<Vec<_>>().join(" ")
}
