//! Extensions offered to the peer, and the requests that the peer may make with them.

use super::entry::group;
use crate::config::values::kinds::{ECN, GAP_BLOCKS, OPTIONAL_NUMBER, SWITCH, ZERO_CHECKSUM};
use crate::config::values::{EcnMode, ErrorDetection};

group! {
    /// Extensions offered to the peer, and the requests that the peer may make with them.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct ExtensionConfig {
        /// True if I-DATA is offered (RFC 8260). Level 1 offers it in any case.
        interleaving: bool = false => {
            interleaving: SWITCH, [promised]
            "I-DATA is offered; level 1 offers it in any case" ("RFC 8260")
        };
        /// True if RE-CONFIG is offered (RFC 6525). Level 1 offers it in any case.
        // "applications must enable this extension explicitly before it is used" (RFC 6525, 7), and an endpoint must not
        // offer I-DATA "unless the user has requested its use" (RFC 8260, 2.2.1): both are off.
        reconfiguration: bool = false => {
            reconfiguration: SWITCH, [promised]
            "RE-CONFIG is offered; level 1 offers it in any case" ("RFC 6525")
        };
        /// True if partial reliability is offered (RFC 3758; with I-DATA RFC 8260, 2.3.1): messages that are given up
        /// need not arrive.
        // Off, because none of the stacks studied has it: an association that does not use it then sends no trace of
        // it.
        partial_reliability: bool = false => {
            partial_reliability: SWITCH, [promised]
            "partial reliability is offered (RFC 3758): messages with a lifetime or another limit are given up" ("RFC 3758")
        };
        /// True if the peer may reset streams, its own and ours.
        peer_resets_streams: bool = true => {
            peer_resets_streams: SWITCH, [live]
            "the peer may reset streams, its own and ours" ("RFC 6525, 5.2.2")
        };
        /// True if the peer may reset all streams and TSNs at once.
        // Off, because such a reset discards the agreed state of both sides and is never needed by accident.
        peer_resets_association: bool = false => {
            peer_resets_association: SWITCH, [live]
            "the peer may reset all streams and TSNs at once" ("RFC 6525, 5.2.4")
        };
        /// True if the peer may add streams: its own up to
        /// [`StreamConfig::inbound`](crate::config::StreamConfig::inbound), ours up to
        /// [`StreamConfig::max_outbound`](crate::config::StreamConfig::max_outbound).
        peer_adds_streams: bool = true => {
            peer_adds_streams: SWITCH, [live]
            "the peer may add streams, its own and ours" ("RFC 6525, 5.2.5")
        };
        /// Protocol below SCTP that detects the errors of every packet that comes and goes, so that packets may have
        /// a checksum of zero (RFC 9653): it is announced to the peer, and used towards a peer that announces the
        /// same. `None`: there is none, and every packet has its checksum.
        zero_checksum: Option<ErrorDetection> = None => {
            zero_checksum: ZERO_CHECKSUM, [promised]
            "packets may have a checksum of zero, as every one of them travels in DTLS (RFC 9653)" ("RFC 9653")
        };
        /// True if INIT says that this endpoint has addresses only of the type it is sent from (RFC 9260, 5.1.2), as
        /// a socket of one address family does. Without that the peer may list addresses of any type.
        address_types: bool = false => {
            address_types: SWITCH, []
            "INIT says that this endpoint has addresses of the type it is sent from only (RFC 9260, 5.1.2)" ("RFC 9260, 5.1.2")
        };
        /// Code point for the layer above the peer, sent in the handshake: Adaptation Layer Indication (RFC 5061,
        /// 4.2.6).
        adaptation_indication: Option<u32> = None => {
            adaptation_indication: OPTIONAL_NUMBER, [promised]
            "what the layer above tells the peer's in the handshake (RFC 5061)" ("RFC 5061")
        };
        /// ECN offered to the peer (RFC 3168; RFC 4960, appendix A), and the ECN codepoint of packets with data where
        /// the peer supports it, too.
        // RFC 9260 only keeps its numbers reserved.
        ecn: EcnMode = EcnMode::Off => {
            ecn: ECN, [promised]
            "routers may mark packets with data instead of dropping them (RFC 3168): ECT(0), or ECT(1) with a proportional response (RFC 9331)" ("RFC 3168")
        };
        /// A SACK lists at most so many gap blocks, those that changed last and others in turn, where the peer has this, too
        /// (docs/reference/extensions.md). 0: it is not offered, and SACKs list as many blocks as fit.
        selected_gap_blocks: u16 = 0 => {
            selected_gap_blocks: GAP_BLOCKS, [promised]
            "a SACK lists at most so many gap blocks, the newest and others in turn, where the peer has this, too (docs/reference/extensions.md); 0: all that fit" ("docs/reference/extensions.md")
        };
    }
}
