//! Bugs that Hurtig et al. (2006) saw in the stacks of 2006 (its sections 6 and 7). No rule asks for any of them.

use super::entry::group;
use crate::config::values::kinds::SWITCH;

group! {
    /// Bugs that Hurtig et al. (2006) saw in the stacks of 2006 (its sections 6 and 7). No rule asks for any of them.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Quirks {
        /// KAME: the round trip of the handshake sets the RTO. Its packets are small, so on slow links the RTO is too short for
        /// the first DATA (Hurtig et al. 2006, 6.2.1, 6.4.1).
        handshake_rto: bool = false => {
            quirk_handshake_rto: SWITCH, []
            "the round trip of the handshake sets the RTO (KAME)" ("Hurtig et al. 2006, 6.2.1")
        };
        /// KAME: "does not care if the COOKIE_ACK is lost": DATA that arrives in COOKIE-ECHOED ends the handshake (Hurtig et al. 2006, 6.2.2).
        cookie_ack_optional: bool = false => {
            quirk_cookie_ack_optional: SWITCH, []
            "DATA in COOKIE-ECHOED stands for a lost COOKIE ACK (KAME)" ("Hurtig et al. 2006, 6.2.2")
        };
        /// T3-rtx does not back off, so once the RTO is too short everything is sent twice. KAME: "the RTO timer did not
        /// back-off accordingly" (Hurtig et al. 2006, 6.4.1, one position only); LKSCTP: spurious retransmissions continue "throughout the entire
        /// association" (Hurtig et al. 2006, 7.2.1).
        faulty_recovery: bool = false => {
            quirk_faulty_recovery: SWITCH, []
            "an expiry of T3-rtx does not back off the RTO (KAME, LKSCTP)" ("Hurtig et al. 2006, 6.4.1")
        };
        /// KAME: "when the first data packet is sent KAME waits for about 400ms [at an RTO.Min of 200 ms] and then sends three
        /// additional packets, even if no SACK has been received" (Hurtig et al. 2006, 6.4.1).
        burst_before_sack: bool = false => {
            quirk_burst_before_sack: SWITCH, []
            "twice RTO.Min after a window of one packet was sent, three more leave without a SACK (KAME)" ("Hurtig et al. 2006, 6.4.1")
        };
        /// LKSCTP: "unable to recover a loss of the first data packet with the fast retransmit mechanism" (Hurtig et al. 2006, 6.2.2).
        first_chunk_by_timeout: bool = false => {
            quirk_first_chunk_by_timeout: SWITCH, []
            "the first DATA chunk of an association is never fast retransmitted (LKSCTP)" ("Hurtig et al. 2006, 6.2.2")
        };
        /// LKSCTP: "starts to spuriously retransmit packets that are in flight when the retransmission of the fifth packet is
        /// conducted", unless SACKs were delayed before (Hurtig et al. 2006, 7.2.1). A fast retransmit does not restart T3-rtx, which then expires
        /// before the answer can be there, and the chunks in flight are sent again; delayed SACKs in the samples make the RTO long
        /// enough. The packet logs of Linux 6.1 show the same.
        t3_runs_on: bool = false => {
            quirk_t3_runs_on: SWITCH, []
            "a fast retransmit of the earliest chunk does not restart T3-rtx, which expires for no reason (LKSCTP)" ("Hurtig et al. 2006, 7.2.1")
        };
        /// Linux: fragments of I-DATA count from 0 with the second of a message, on the way out and on the way in.
        /// RFC 8260, 2.1 has them "starting from 0", with the first, which shows its PPID instead; so an
        /// implementation of the RFC never has a fragmented message of its own delivered by Linux, nor takes one from
        /// it.
        fsn_from_second: bool = false => {
            quirk_fsn_from_second: SWITCH, []
            "fragments of I-DATA are numbered from 0 with the second of a message, not with the first (Linux)" ("RFC 8260, 2.1")
        };
        /// "The implementation is unable to undo this exponential back-off when new acknowledgments are received" (Hurtig et al. 2006, 7.1.2).
        backoff_stays: bool = false => {
            quirk_backoff_stays: SWITCH, []
            "a round-trip sample does not undo the backing off of the RTO" ("Hurtig et al. 2006, 7.1.2")
        };
    }
}
