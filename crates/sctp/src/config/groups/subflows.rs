//! Subflows: which there are, how the two ends know of them, and how their windows hold together.

use anabranch_transport::congestion::{FccClock, FccRounding, FccStep};
use anabranch_wire::sf::CodePoints;

use super::entry::group;
use crate::config::values::kinds::{
    ADAPTIVE_CUT, CODE_POINTS, COUPLING, FCC_CLOCK, FCC_COUNT, FCC_ROUNDING, FCC_STEP, SUBFLOW_LEVEL,
    SUBFLOW_SCHEDULER, SUBFLOWS, SWITCH, size,
};
use crate::config::values::{AdaptiveCut, Coupling, FccCount, SubflowLevel, SubflowScheduler, SubflowSpec};

group! {
    /// Subflows: which there are, how the two ends know of them, and how their windows hold together.
    #[derive(Clone, Debug, PartialEq)]
    pub struct SubflowConfig {
        @plain {
            /// Subflows that an association opens with; none: a single one with [`Config::dscp`](crate::Config::dscp) (level 0: known to the sender
            /// alone, nothing of it on the wire).
            open: Vec<SubflowSpec> = Vec::new();
        }
        /// Order in which subflows send, when several may.
        scheduler: SubflowScheduler = SubflowScheduler::Fcfs => {
            subflow_scheduler: SUBFLOW_SCHEDULER, [live]
            "whose packet is next when several subflows may send" ("SF-SCTP")
        };
        /// Signalling of subflows between the two ends.
        level: SubflowLevel = SubflowLevel::Zero => {
            subflow_level: SUBFLOW_LEVEL, [promised]
            "how the two ends know of subflows" ("SF-SCTP")
        };
        /// Subflows that the peer may have open towards us, subflow 0 included (levels 1 and sf2007).
        max_inbound: u8 = 16 => {
            inbound_subflows: SUBFLOWS, [promised]
            "subflows that the peer may have open towards us (levels 1 and sf2007)" ("SF-SCTP")
        };
        /// Subflows that an association may have at once, 1 to 255.
        max: u8 = 64 => {
            max_subflows: SUBFLOWS, [promised]
            "subflows that an association may have at once" ("SF-SCTP")
        };
        /// Bytes of the receive buffer that each open subflow keeps for itself (levels 1 and sf2007); together they take half
        /// of the buffer at most.
        buffer_floor: u32 = 3000 => {
            subflow_floor: size(), [promised]
            "receive buffer that each open subflow keeps for itself (levels 1 and sf2007)" ("SF-SCTP")
        };
        /// Numbers of the extension SF.
        codes: CodePoints = CodePoints::DEFAULT => {
            sf_codes: CODE_POINTS, [promised]
            "numbers of the extension SF" ("SF-SCTP")
        };
        /// Coupling of the subflows' congestion windows.
        coupling: Coupling = Coupling::Independent => {
            coupling: COUPLING, [live promised]
            "how the windows of the subflows hold together" ("SF-SCTP")
        };
        /// Fractional congestion control: the size of a step.
        fcc_step: FccStep = FccStep::Packet => {
            fcc_step: FCC_STEP, []
            "a packet in Phi round trips, or the Phi-th part of one in each" ("SF-SCTP")
        };
        /// Clock of fractional congestion control: the event that ends a round trip.
        fcc_clock: FccClock = FccClock::Bytes => {
            fcc_clock: FCC_CLOCK, []
            "fractional congestion control: what makes a round trip" ("SF-SCTP")
        };
        /// Rounding of a Phi that is no whole number.
        fcc_rounding: FccRounding = FccRounding::Exact => {
            fcc_rounding: FCC_ROUNDING, []
            "what becomes of a Phi that is no whole number" ("SF-SCTP")
        };
        /// The subflows that count for Phi.
        fcc_count: FccCount = FccCount::Configured => {
            fcc_count: FCC_COUNT, [live]
            "the subflows that are counted: all that are open, or those with something to send" ("SF-SCTP")
        };
        /// True if Phi divides the growth of slow start too (the thesis: of congestion avoidance only).
        fcc_slow_start: bool = false => {
            fcc_slow_start: SWITCH, []
            "Phi divides the growth of slow start too" ("SF-SCTP")
        };
        /// Coupling `adaptive`: whose window is cut when a queue overflows.
        adaptive_cut: AdaptiveCut = AdaptiveCut::Group => {
            adaptive_cut: ADAPTIVE_CUT, [live]
            "coupling adaptive: whose window is cut when a queue overflows" ("RFC 8382")
        };
    }
}
