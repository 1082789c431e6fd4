//! The table of all values: name, field, how it is read and shown, what it does.

use super::key::{BYTES, COUNT, DURATION, Key, SWITCH, key};
#[allow(clippy::wildcard_imports, reason = "the table names nearly all of them")]
use super::text::*;
use super::{
    CongestionControl, Coupling, EcnBackoff, EcnMode, ImmediateBit, LossDetection, MtuDiscovery, Reduction,
    SendBufferCounts, SubflowLevel, WindowUnit,
};

/// The table; sorted by name.
pub(super) static KEYS: &[Key] = &[
    key!(
        adaptation_indication: extensions.adaptation_indication,
        optional_number,
        show_optional,
        "a number of 0 to 4294967295 or \"off\"",
        "what the layer above tells the peer's in the handshake (RFC 5061)"
    ),
    key!(
        adaptive_cut: subflows.adaptive_cut,
        adaptive_cut,
        show_adaptive_cut,
        "\"group\" or \"lane\"",
        "coupling adaptive: whose window is cut when a queue overflows"
    ),
    key!(
        address_types: extensions.address_types,
        switch,
        shown,
        SWITCH,
        "INIT says that this endpoint has addresses of the type it is sent from only (RFC 9260, 5.1.2)"
    ),
    key!(association_max_retrans: limits.association_max_retrans, count, shown, COUNT, "Association.Max.Retrans"),
    key!(
        backoff_keeps_ssthresh: emulation.backoff_keeps_ssthresh,
        switch,
        shown,
        SWITCH,
        "a further T3-rtx expiry at one PMDCS leaves ssthresh alone"
    ),
    key!(
        checksums: checksums,
        checksums,
        show_checksums,
        "\"crc32c\" or \"elided\"",
        "whether CRC32c is computed and verified"
    ),
    key!(
        congestion_control: congestion.control,
        CongestionControl::parse,
        shown,
        CongestionControl::EXPECTED,
        "how the window of a lane grows and shrinks: RFC 9260, or in the words of TCP's `controller` and `hystart`"
    ),
    key!(
        control_probe: timers.control_probe,
        switch,
        shown,
        SWITCH,
        "COOKIE ECHO, SHUTDOWN and SHUTDOWN ACK are sent once more after two round trips without an answer (docs/reference/extensions.md)"
    ),
    key!(
        cookie_size: emulation.cookie_size,
        cookie_size,
        show_bytes,
        "a size of 0 B to 480 B",
        "the State Cookie is filled up to this size; 0 B leaves it as it is"
    ),
    key!(
        coupling: subflows.coupling,
        Coupling::parse,
        shown,
        "\"independent\", \"shared\", \"fcc(n)\", \"fcc(n^2)\", \"fcc(2n^2)\", \"fcc(NUMBER from 1)\", \"lia\", \"olia\" or \"adaptive\"",
        "how the windows of the subflows hold together"
    ),
    key!(
        credit_given_up: congestion.credit_given_up,
        switch,
        shown,
        SWITCH,
        "chunks given up that have arrived all the same count in slow start, against RFC 3758 (3.5, A2)"
    ),
    key!(data_with_cookie: emulation.data_with_cookie, switch, shown, SWITCH, "DATA may ride with COOKIE ECHO"),
    key!(dscp: dscp, dscp, show_dscp, "a code point of 0 to 63", "code point of the association's packets"),
    key!(
        early_fast_retransmit: emulation.early_fast_retransmit,
        optional_duration,
        show_optional_duration,
        "a time in ns, us, ms, s, min or h such as \"200 ms\", or \"off\"",
        "a chunk reported missing once is sent again after this time (KAME's early FR)"
    ),
    key!(
        ecn: extensions.ecn,
        EcnMode::parse,
        shown,
        "\"off\", \"classic\" or \"l4s\"; l4s not with bbr",
        "routers may mark packets with data instead of dropping them (RFC 3168): ECT(0), or ECT(1) with a proportional response (RFC 9331)"
    ),
    key!(
        ecn_backoff: congestion.ecn_backoff,
        EcnBackoff::parse,
        shown,
        "\"as-loss\" or \"abe\"",
        "ecn classic: a mark reduces the window as a loss does, or by a fifth, 0.15 with CUBIC (RFC 8511)"
    ),
    key!(
        fast_recovery: congestion.fast_recovery,
        fast_recovery,
        show_recovery,
        "\"off\", \"until-exit\" or \"per-window\"",
        "how often one loss event may cut the window"
    ),
    key!(
        fast_retransmit_threshold: congestion.fast_retransmit_threshold,
        count,
        shown,
        "a whole number of 1 to 255",
        "missing reports that make a fast retransmit"
    ),
    key!(
        fcc_clock: subflows.fcc_clock,
        fcc_clock,
        show_fcc_clock,
        "\"bytes\" or \"round-trips\"",
        "fractional congestion control: what makes a round trip"
    ),
    key!(
        fcc_count: subflows.fcc_count,
        fcc_count,
        show_fcc_count,
        "\"configured\" or \"active\"",
        "the subflows that are counted: all that are open, or those with something to send"
    ),
    key!(
        fcc_rounding: subflows.fcc_rounding,
        fcc_rounding,
        show_fcc_rounding,
        "\"exact\", \"floor\", \"ceil\" or \"nearest\"",
        "what becomes of a Phi that is no whole number"
    ),
    key!(fcc_slow_start: subflows.fcc_slow_start, switch, shown, SWITCH, "Phi divides the growth of slow start too"),
    key!(
        fcc_step: subflows.fcc_step,
        fcc_step,
        show_fcc_step,
        "\"packet\" or \"fraction\"",
        "a packet in Phi round trips, or the Phi-th part of one in each"
    ),
    key!(
        fills_past_cwnd: emulation.fills_past_cwnd,
        switch,
        shown,
        SWITCH,
        "the packet that exceeds cwnd is filled, instead of ending with the chunk that exceeds it"
    ),
    key!(
        flight_counts_headers: emulation.flight_counts_headers,
        switch,
        shown,
        SWITCH,
        "windows count DATA chunk headers (RFC 9260), or user data only"
    ),
    key!(
        flight_counts_padding: emulation.flight_counts_padding,
        switch,
        shown,
        SWITCH,
        "windows count the padding of DATA chunks (RFC 9260, 7.2)"
    ),
    key!(
        gentle_convergence: congestion.gentle_convergence,
        switch,
        shown,
        SWITCH,
        "CUBIC: no fast convergence where the window has not grown since the last cut, or is the one before but for 5 %"
    ),
    key!(
        growth_needs_advance: congestion.growth_needs_advance,
        switch,
        shown,
        SWITCH,
        "cwnd grows only when the cumulative point moves (RFC 8540, 3.22 lets any new acknowledgement do)"
    ),
    key!(heartbeat_interval: timers.heartbeat_interval, duration, show_duration, DURATION, "HB.interval; 0 s turns heartbeats off"),
    key!(
        hold_after_fast_retransmit: emulation.hold_after_fast_retransmit,
        switch,
        shown,
        SWITCH,
        "after a fast retransmit the rest waits for the next SACK"
    ),
    key!(
        idle_decay_floor: congestion.idle_decay_floor,
        optional_count,
        show_optional,
        "a number of PMDCS or \"off\"",
        "cwnd halves for each idle RTO, down to this"
    ),
    key!(
        immediate_bit: sack.immediate_bit,
        ImmediateBit::parse,
        shown,
        "\"off\", \"shutdown\", \"shutdown-kept\" or \"last\"",
        "which DATA chunks ask for a SACK at once"
    ),
    key!(immediate_bit_obeyed: sack.immediate_bit_obeyed, switch, shown, SWITCH, "a DATA chunk may ask for a SACK at once (RFC 7053)"),
    key!(inbound_streams: streams.inbound, count, shown, COUNT, "inbound streams allowed"),
    key!(
        inbound_subflows: subflows.max_inbound,
        subflow_count,
        shown,
        "a whole number of 1 to 255",
        "subflows that the peer may have open towards us (levels 1 and sf2007)"
    ),
    key!(
        init_size: emulation.init_size,
        cookie_size,
        show_bytes,
        "a size of 0 B to 480 B",
        "the INIT chunk is filled up to this size; 0 B leaves it as it is"
    ),
    key!(
        initial_ssthresh: congestion.initial_ssthresh,
        optional_bytes,
        show_ssthresh,
        "a size in B, kB, MB, GB, KiB, MiB or GiB, or \"peer-rwnd\"",
        "first slow-start threshold"
    ),
    key!(
        initial_window: congestion.initial_window,
        initial_window,
        show_window,
        "\"rfc9260\", \"rfc4960\" or a number of PMDCS (or MTU, as `window_unit` has it)",
        "first congestion window"
    ),
    key!(interleaving: extensions.interleaving, switch, shown, SWITCH, "I-DATA is offered; level 1 offers it in any case"),
    key!(ip_overhead: ip_overhead, count, shown, COUNT, "bytes of IPv4 header in front of SCTP; IPv6 adds 20, UDP 8"),
    key!(
        lists_all_extensions: emulation.lists_all_extensions,
        switch,
        shown,
        SWITCH,
        "INIT ACK lists all extensions that its sender has (usrsctp), or those that were agreed on"
    ),
    key!(
        loss_detection: congestion.loss_detection,
        LossDetection::parse,
        shown,
        "\"missing-reports\" or \"rack\"",
        "how loss is found: by counting missing reports, or by time as well (RFC 8985)"
    ),
    key!(
        lost_again_cuts: congestion.lost_again_cuts,
        switch,
        shown,
        SWITCH,
        "what T3-rtx has sent again and is lost as well reduces the window once more (RFC 5681, 4.3)"
    ),
    key!(
        max_burst: congestion.max_burst,
        max_burst,
        show_burst,
        "\"off\", \"clamp N\", \"acknowledged N\" or \"after-recovery N\"",
        "limit on a burst of new packets"
    ),
    key!(max_fragment: limits.max_fragment, bytes, shown, BYTES, "most user data of one DATA chunk; 0 B: what the path allows"),
    key!(max_init_retransmits: limits.max_init_retransmits, count, shown, COUNT, "Max.Init.Retransmits"),
    key!(max_message: limits.max_message, bytes, shown, BYTES, "largest user message"),
    key!(max_outbound_streams: streams.max_outbound, count, shown, COUNT, "outbound streams that a peer may ask us to have"),
    key!(max_receive_window: limits.max_receive_window, bytes, shown, BYTES, "the receive buffer grows up to this with what is read in a round trip; 0 B: it stays"),
    key!(max_send_buffer: limits.max_send_buffer, bytes, shown, BYTES, "the send buffer grows up to this with cwnd; 0 B: it stays"),
    key!(
        max_subflows: subflows.max,
        subflow_count,
        shown,
        "a whole number of 1 to 255",
        "subflows that an association may have at once"
    ),
    key!(mtu: mtu, count, shown, "576 to 65535", "largest IP packet of the path, bytes"),
    key!(mtu_base: path_mtu.base, count, shown, "576 to 65535", "a size that nearly every path carries, bytes: BASE_PLPMTU of RFC 8899"),
    key!(
        mtu_discovery: path_mtu.discovery,
        MtuDiscovery::parse,
        shown,
        "\"off\", \"icmp\" or \"probes\"",
        "how the MTU of a path becomes known: it is `mtu`, or ICMP says that it is less, or probes find it (RFC 8899)"
    ),
    key!(mtu_max_probes: path_mtu.max_probes, probes, shown, "a whole number of 1 to 10", "probes without an answer that make a size too large: MAX_PROBES of RFC 8899"),
    key!(
        mtu_probe_timer: path_mtu.probe_timer,
        probe_timer,
        show_duration,
        "a time of 1 s or more",
        "how long the answer to a probe is waited for, if the RTO is not longer: PROBE_TIMER of RFC 8899"
    ),
    key!(
        mtu_probes_wait_for_data: path_mtu.waits_for_data,
        switch,
        shown,
        SWITCH,
        "probes of a path begin when data leaves on it, not as soon as it is connected"
    ),
    key!(
        mtu_raise_timer: path_mtu.raise_timer,
        duration,
        show_duration,
        DURATION,
        "how long a size is kept before a larger one is looked for: PMTU_RAISE_TIMER of RFC 8899"
    ),
    key!(
        nagle: congestion.nagle,
        switch,
        shown,
        SWITCH,
        "what does not fill a packet waits while data is outstanding (RFC 6458, 8.1.5)"
    ),
    key!(outbound_streams: streams.outbound, count, shown, COUNT, "outbound streams asked for"),
    key!(
        pacing: pacing.enabled,
        switch,
        shown,
        SWITCH,
        "packets are spread over the round trip, each subflow's for itself; stands for `max_burst` once a round trip is known"
    ),
    key!(
        pacing_burst: pacing.burst,
        subflow_count,
        shown,
        "a number of packets of 1 to 255",
        "pacing: full packets that may leave at once after a pause"
    ),
    key!(
        pacing_gain: pacing.gain,
        pacing_gain,
        shown,
        "a percentage of 100 to 1000",
        "pacing: the rate in percent of cwnd / SRTT (RFC 9002, 7.7)"
    ),
    key!(
        pacing_gain_slow_start: pacing.gain_slow_start,
        pacing_gain,
        shown,
        "a percentage of 100 to 1000",
        "pacing: the rate while cwnd is below half of ssthresh, in percent of cwnd / SRTT"
    ),
    key!(
        pacing_quantum: pacing.quantum,
        duration,
        show_duration,
        DURATION,
        "pacing: what comes due in so long leaves together, two packets at least; 0 s: each packet when it is due"
    ),
    key!(
        partial_delivery_bytes: limits.partial_delivery_bytes,
        bytes,
        shown,
        BYTES,
        "a message of which more is here in sequence is handed over in parts; 0 B: however long it is"
    ),
    key!(
        partial_delivery_point: limits.partial_delivery_point,
        half_at_most,
        shown,
        "a percentage of 1 to 50",
        "what messages in the making may hold of the receive window before the one that grows is handed over in parts"
    ),
    key!(
        partial_reliability: extensions.partial_reliability,
        switch,
        shown,
        SWITCH,
        "partial reliability is offered (RFC 3758): messages with a lifetime or another limit are given up"
    ),
    key!(path_max_retrans: limits.path_max_retrans, count, shown, COUNT, "Path.Max.Retrans"),
    key!(
        pba_clamp: congestion.pba_clamp,
        switch,
        shown,
        SWITCH,
        "partial_bytes_acked is held at cwnd while the window is not full"
    ),
    key!(
        pba_counts_twice: emulation.pba_counts_twice,
        switch,
        shown,
        SWITCH,
        "bytes gap-acked earlier count again when cumulatively acked"
    ),
    key!(
        pba_needs_full_window: emulation.pba_needs_full_window,
        switch,
        shown,
        SWITCH,
        "partial_bytes_acked grows only while the window is full"
    ),
    key!(peer_adds_streams: extensions.peer_adds_streams, switch, shown, SWITCH, "the peer may add streams, its own and ours"),
    key!(peer_resets_association: extensions.peer_resets_association, switch, shown, SWITCH, "the peer may reset all streams and TSNs at once"),
    key!(peer_resets_streams: extensions.peer_resets_streams, switch, shown, SWITCH, "the peer may reset streams, its own and ours"),
    key!(
        probes_at_once: emulation.probes_at_once,
        switch,
        shown,
        SWITCH,
        "the first chunk against a closed window leaves at once, as the kernels send it; otherwise after one RTO (6.1 A)"
    ),
    key!(quirk backoff_stays, "a round-trip sample does not undo the backing off of the RTO"),
    key!(
        quirk burst_before_sack,
        "twice RTO.Min after a window of one packet was sent, three more leave without a SACK (KAME)"
    ),
    key!(quirk cookie_ack_optional, "DATA in COOKIE-ECHOED stands for a lost COOKIE ACK (KAME)"),
    key!(quirk faulty_recovery, "an expiry of T3-rtx does not back off the RTO (KAME, LKSCTP)"),
    key!(
        quirk first_chunk_by_timeout,
        "the first DATA chunk of an association is never fast retransmitted (LKSCTP)"
    ),
    key!(
        quirk fsn_from_second,
        "fragments of I-DATA are numbered from 0 with the second of a message, not with the first (Linux)"
    ),
    key!(quirk handshake_rto, "the round trip of the handshake sets the RTO (KAME)"),
    key!(
        quirk t3_runs_on,
        "a fast retransmit of the earliest chunk does not restart T3-rtx, which expires for no reason (LKSCTP)"
    ),
    key!(receive_window: limits.receive_window, bytes, shown, BYTES, "receive buffer, the first a_rwnd"),
    key!(reconfiguration: extensions.reconfiguration, switch, shown, SWITCH, "RE-CONFIG is offered; level 1 offers it in any case"),
    key!(
        reduction: congestion.reduction,
        Reduction::parse,
        shown,
        "\"at-once\" or \"prr\"",
        "how the window comes down in Fast Recovery: at once, or by proportional rate reduction (RFC 9937)"
    ),
    key!(rto_initial: timers.rto_initial, duration, show_duration, DURATION, "RTO.Initial"),
    key!(rto_max: timers.rto_max, duration, show_duration, DURATION, "RTO.Max"),
    key!(rto_max_init: timers.rto_max_init, duration, show_duration, DURATION, "longest RTO of INIT and COOKIE ECHO; 0 s is RTO.Max"),
    key!(rto_min: timers.rto_min, duration, show_duration, DURATION, "RTO.Min"),
    key!(
        rtt_sampling: timers.rtt_sampling,
        sampling,
        show_sampling,
        "\"once-per-round-trip\", \"through-loss\" or \"every-ack\"",
        "which chunks give round-trip samples"
    ),
    key!(rwnd_counts_headers: emulation.rwnd_counts_headers, switch, shown, SWITCH, "the peer's window is charged chunk headers too"),
    key!(
        sack_delay: sack.delay,
        sack_delay,
        show_duration,
        "a time of 0 ms to 500 ms; 0 ms acknowledges every packet",
        "SACK.Delay"
    ),
    key!(
        sack_every: sack.every,
        positive_u16,
        shown,
        "a whole number of 1 or more",
        "a SACK for every this many packets"
    ),
    key!(sack_filled_hole: emulation.sack_filled_hole, switch, shown, SWITCH, "a chunk that fills the last hole is acknowledged at once"),
    key!(
        sack_first_at_once: sack.first_at_once,
        switch,
        shown,
        SWITCH,
        "the first DATA of an association is acknowledged at once"
    ),
    key!(
        selected_gap_blocks: extensions.selected_gap_blocks,
        gap_blocks,
        shown,
        "0, or a whole number of 3 to 64",
        "a SACK lists at most so many gap blocks, the newest and others in turn, where the peer has this, too (docs/reference/extensions.md); 0: all that fit"
    ),
    key!(send_buffer: limits.send_buffer, bytes, shown, BYTES, "bytes of the send buffer, with which `send` says Full"),
    key!(
        send_buffer_counts: limits.send_buffer_counts,
        SendBufferCounts::parse,
        shown,
        "\"unsent\" or \"unacknowledged\"",
        "what counts against the send buffer: what waits, or also what has left and is not acknowledged (as kernels count SO_SNDBUF)"
    ),
    key!(
        sf_codes: subflows.codes,
        code_points,
        show_code_points,
        "seven numbers: SF-DATA, SF-SACK, SF-FORWARD, SF-CAP, SF-ADD, SF-DEL, SF-Violation, as in \"0x5f 0x9f 0xdf 0xb05f 0x405f 0x4060 0x5f01\"",
        "numbers of the extension SF"
    ),
    key!(shutdown_guard_rto_max: timers.shutdown_guard_rto_max, count, shown, COUNT, "T5-shutdown-guard in RTO.Max; 0 is off"),
    key!(
        slow_start_at_ssthresh: congestion.slow_start_at_ssthresh,
        switch,
        shown,
        SWITCH,
        "cwnd equal to ssthresh, as after a fast retransmit, is slow start"
    ),
    key!(slow_start_limit: congestion.slow_start_limit, positive_u16, shown, "a whole number of 1 or more", "L of slow start"),
    key!(
        ssthresh_floor: congestion.ssthresh_floor,
        positive_u16,
        shown,
        "a number of PMDCS of 1 or more",
        "smallest ssthresh after a loss"
    ),
    key!(
        stream_scheduling: streams.scheduling,
        scheduling,
        show_scheduling,
        "\"fcfs\", \"round-robin\", \"round-robin-packet\", \"priority\", \"fair-capacity\" or \"wfq\"",
        "which stream speaks next (RFC 8260, 3): with I-DATA after a chunk, with DATA after a message"
    ),
    key!(
        stream_send_buffer: limits.stream_send_buffer,
        bytes,
        shown,
        BYTES,
        "bytes of one stream in the send buffer, with which `send` says StreamFull; 0 B: no limit of its own"
    ),
    key!(
        stream_send_minimum: limits.stream_send_minimum,
        bytes,
        shown,
        BYTES,
        "bytes of one stream that find room in a full send buffer, of all streams together half of it; 0 B: who comes first has it all"
    ),
    key!(stream_statistics: streams.statistics, switch, shown, SWITCH, "messages are counted by stream"),
    key!(
        stream_values: streams.values,
        stream_values,
        show_stream_values,
        "streams and values from 0 to 65535, as in \"0=4 3=1\"",
        "priorities (smallest first) or weights of streams; others have 1"
    ),
    key!(
        subflow_floor: subflows.buffer_floor,
        bytes,
        shown,
        BYTES,
        "receive buffer that each open subflow keeps for itself (levels 1 and sf2007)"
    ),
    key!(
        subflow_level: subflows.level,
        SubflowLevel::parse,
        shown,
        "\"0\", \"1\" or \"sf2007\"",
        "how the two ends know of subflows"
    ),
    key!(
        subflow_scheduler: subflows.scheduler,
        subflow_scheduler,
        show_subflow_scheduler,
        "\"fcfs\", \"wrr\", \"priority\" or \"wfq\"",
        "whose packet is next when several subflows may send"
    ),
    key!(
        tail_loss_probe: congestion.tail_loss_probe,
        switch,
        shown,
        SWITCH,
        "the last packet is sent again after two round trips without a SACK (RFC 8985, 7)"
    ),
    key!(
        timeout_keeps_exit: congestion.timeout_keeps_exit,
        switch,
        shown,
        SWITCH,
        "losses of what had been sent when T3-rtx expired make no second cut (RFC 6582, 3.2)"
    ),
    key!(
        timeout_waits_for_ack: emulation.timeout_waits_for_ack,
        switch,
        shown,
        SWITCH,
        "after T3-rtx one packet is in flight until something is acknowledged, not until a packet comes"
    ),
    key!(
        timer_tick: emulation.timer_tick,
        duration,
        show_duration,
        DURATION,
        "clock of timers and round-trip samples; 0 s is exact"
    ),
    key!(timer_wheel: emulation.timer_wheel, switch, shown, SWITCH, "long timers expire late, on coarser ticks (Linux since 4.8)"),
    key!(
        undo: congestion.undo,
        switch,
        shown,
        SWITCH,
        "a cut is taken back when all that was sent again is reported as a duplicate (RFC 3708); not with reno"
    ),
    key!(valid_cookie_life: timers.valid_cookie_life, duration, show_duration, DURATION, "Valid.Cookie.Life"),
    key!(
        window_unit: emulation.window_unit,
        WindowUnit::parse,
        shown,
        "\"pmdcs\" or \"mtu\"",
        "what windows are counted in: PMDCS (RFC 9260) or the MTU of the path (RFC 2960, RFC 4960)"
    ),
    key!(
        window_validation: congestion.window_validation,
        switch,
        shown,
        SWITCH,
        "a window that is not filled is kept for five minutes, and a loss reduces what was used of it (RFC 7661); not with reno"
    ),
    key!(
        zero_checksum: extensions.zero_checksum,
        error_detection,
        show_error_detection,
        "\"off\" or \"dtls\"",
        "packets may have a checksum of zero, as every one of them travels in DTLS (RFC 9653)"
    ),
];
