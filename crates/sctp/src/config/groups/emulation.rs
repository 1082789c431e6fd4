//! Behaviour of other stacks. The defaults are RFC 9260's; other values serve the profiles of those stacks.

use anabranch_base::Duration;

use super::entry::group;
use super::quirks::Quirks;
use crate::config::values::WindowUnit;
use crate::config::values::kinds::{OPTIONAL_TIME, PADDED_SIZE, SWITCH, TIME, WINDOW_UNIT};

group! {
    /// Behaviour of other stacks. The defaults are RFC 9260's; other values serve the profiles of those stacks.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct EmulationConfig {
        @plain {
            /// Bugs of the stacks that the studies ran; all off but in a profile that is named after such a stack and its bugs.
            quirks: Quirks = Quirks::DEFAULT;
        }
        /// The INIT chunk is filled up to so many bytes, with a Padding parameter (RFC 4820, 4); 0 leaves it as it is. Other
        /// stacks say more of themselves, and on slow links that takes time.
        init_size: u16 = 0 => {
            init_size: PADDED_SIZE, []
            "the INIT chunk is filled up to this size; 0 B leaves it as it is" ("RFC 4820, 4")
        };
        /// The State Cookie is filled up to so many bytes; 0 leaves it as it is. Cookies of other stacks hold more, and on
        /// slow links that takes time (Andersson 2005: 240 bytes more than the handshake of TCP).
        cookie_size: u16 = 0 => {
            cookie_size: PADDED_SIZE, []
            "the State Cookie is filled up to this size; 0 B leaves it as it is" ("Andersson 2005")
        };
        /// Clock of timers and round-trip samples: a timer expires at the first tick that is late enough, a sample is a number
        /// of ticks. Zero: exact.
        timer_tick: Duration = Duration::ZERO => {
            timer_tick: TIME, []
            "clock of timers and round-trip samples; 0 s is exact" ("Linux")
        };
        /// True if long timers expire late, on coarser ticks: up to 63 ticks on the next tick, up to 8 x 63 on a
        /// multiple of 8, and so on (Linux since 4.8).
        timer_wheel: bool = false => {
            timer_wheel: SWITCH, []
            "long timers expire late, on coarser ticks (Linux since 4.8)" ("Linux")
        };
        /// True if DATA may ride with COOKIE ECHO.
        data_with_cookie: bool = true => {
            data_with_cookie: SWITCH, []
            "DATA may ride with COOKIE ECHO" ("RFC 9260, 5.1")
        };
        /// True if an INIT ACK lists all extensions that its sender supports (usrsctp); false: those that were agreed
        /// on.
        lists_all_extensions: bool = false => {
            lists_all_extensions: SWITCH, []
            "INIT ACK lists all extensions that its sender has (usrsctp), or those that were agreed on" ("usrsctp")
        };
        /// True if a chunk that fills the last hole is acknowledged at once (RFC 9260, 6.7); false: like any other
        /// (Linux).
        sack_filled_hole: bool = true => {
            sack_filled_hole: SWITCH, []
            "a chunk that fills the last hole is acknowledged at once" ("RFC 9260, 6.7")
        };
        /// Unit in which windows are counted.
        window_unit: WindowUnit = WindowUnit::Pmdcs => {
            window_unit: WINDOW_UNIT, []
            "what windows are counted in: PMDCS (RFC 9260) or the MTU of the path (RFC 2960, RFC 4960)" ("RFC 9260")
        };
        /// True if cwnd and the flight count DATA chunk headers (RFC 9260); false: user data only (Linux).
        flight_counts_headers: bool = true => {
            flight_counts_headers: SWITCH, []
            "windows count DATA chunk headers (RFC 9260), or user data only" ("RFC 9260")
        };
        /// True if cwnd and the flight count the padding of DATA chunks: "the length of the DATA chunk, including the
        /// padding, SHOULD be used" (RFC 9260, 7.2); the RFCs before it, ns-2 and Linux do not count it.
        flight_counts_padding: bool = true => {
            flight_counts_padding: SWITCH, []
            "windows count the padding of DATA chunks (RFC 9260, 7.2)" ("RFC 9260, 7.2")
        };
        /// True if the packet that exceeds cwnd is filled (ns-2); false: it ends with the chunk that exceeds it. "The
        /// sender SHOULD exceed cwnd by up to (PMDCS - 1) bytes" and "the breach of cwnd MUST constitute one packet
        /// only" (RFC 9260, 6.1 B) hold for both.
        fills_past_cwnd: bool = false => {
            fills_past_cwnd: SWITCH, []
            "the packet that exceeds cwnd is filled, instead of ending with the chunk that exceeds it" ("ns-2")
        };
        /// The first chunk against a closed window leaves at once, as in ns-2 and the kernels; otherwise "after 1 RTO" (RFC 9260,
        /// 6.1 A).
        probes_at_once: bool = false => {
            probes_at_once: SWITCH, []
            "the first chunk against a closed window leaves at once, as the kernels send it; otherwise after one RTO (6.1 A)" ("RFC 9260, 6.1")
        };
        /// True if the peer's window is charged DATA chunk headers too (ns-2); false: user data only.
        rwnd_counts_headers: bool = false => {
            rwnd_counts_headers: SWITCH, []
            "the peer's window is charged chunk headers too" ("ns-2")
        };
        /// True if a further expiry of T3-rtx at a cwnd of one PMDCS leaves ssthresh alone (ns-2, RFC 5681); false:
        /// it sets ssthresh to its floor (RFC 9260, 7.2.3).
        backoff_keeps_ssthresh: bool = false => {
            backoff_keeps_ssthresh: SWITCH, []
            "a further T3-rtx expiry at one PMDCS leaves ssthresh alone" ("RFC 5681")
        };
        /// True if, after a fast retransmit, further marked chunks wait for the next SACK (ns-2); false: they leave
        /// as cwnd allows.
        hold_after_fast_retransmit: bool = false => {
            hold_after_fast_retransmit: SWITCH, []
            "after a fast retransmit the rest waits for the next SACK" ("ns-2")
        };
        /// True if partial_bytes_acked counts cumulatively acknowledged chunks, and only while the window is full
        /// (ns-2 since 3.5); false: all newly acknowledged bytes (RFC 9260, 7.2.2).
        pba_needs_full_window: bool = false => {
            pba_needs_full_window: SWITCH, []
            "partial_bytes_acked grows only while the window is full" ("RFC 9260, 7.2.2")
        };
        /// True if bytes gap-acked earlier count again when the cumulative point passes them (ns-2 before 3.3).
        pba_counts_twice: bool = false => {
            pba_counts_twice: SWITCH, []
            "bytes gap-acked earlier count again when cumulatively acked" ("ns-2")
        };
        /// KAME's early fast retransmit: a chunk that was reported missing at least once is sent again when it is so old, or
        /// older than the smoothed round trip and its variation, whichever is longer. `None`: off.
        early_fast_retransmit: Option<Duration> = None => {
            early_fast_retransmit: OPTIONAL_TIME, []
            "a chunk reported missing once is sent again after this time (KAME's early FR)" ("KAME")
        };
        /// True if, after T3-rtx has expired, one packet is in flight until something is acknowledged (RFC 9260,
        /// 7.2.3); false: until any packet arrives (Linux).
        timeout_waits_for_ack: bool = true => {
            timeout_waits_for_ack: SWITCH, []
            "after T3-rtx one packet is in flight until something is acknowledged, not until a packet comes" ("RFC 9260, 7.2.3")
        };
    }
}
