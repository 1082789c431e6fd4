//! Loss and the congestion window of a lane (RFC 9260, 7).

use super::entry::group;
use crate::config::values::kinds::{
    CONGESTION_CONTROL, ECN_BACKOFF, FAST_RECOVERY, FROM_ONE, INITIAL_WINDOW, LOSS_DETECTION, MAX_BURST,
    OPTIONAL_PMDCS, PMDCS, REDUCTION, REPORTS, SSTHRESH, SWITCH,
};
use crate::config::values::{
    CongestionControl, EcnBackoff, FastRecovery, InitialWindow, LossDetection, MaxBurst, Reduction,
};

group! {
    /// Loss and the congestion window of a lane (RFC 9260, 7).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct CongestionConfig {
        /// Growth and reduction of a lane's window. BIC and Vegas know no couplings other than
        /// [`Coupling::Independent`](crate::Coupling::Independent) and [`Coupling::Shared`](crate::Coupling::Shared).
        control: CongestionControl = CongestionControl::RENO => {
            congestion_control: CONGESTION_CONTROL, []
            "how the window of a lane grows and shrinks: RFC 9260, or in the words of TCP's `controller` and `hystart`" ("RFC 9260, 7")
        };
        /// CUBIC: whether fast convergence (RFC 9438, 4.7) is left out where the window has not grown since the last cut, or is the one before
        /// but for 5 %.
        gentle_convergence: bool = false => {
            gentle_convergence: SWITCH, []
            "CUBIC: no fast convergence where the window has not grown since the last cut, or is the one before but for 5 %" ("RFC 9438, 4.7")
        };
        /// First congestion window.
        initial_window: InitialWindow = InitialWindow::Rfc9260 => {
            initial_window: INITIAL_WINDOW, []
            "first congestion window" ("RFC 9260, 7.2.1")
        };
        /// True if data that does not fill a packet waits while other data is outstanding, as in Nagle's algorithm
        /// for TCP. Such data leaves together when nothing is outstanding any more.
        nagle: bool = false => {
            nagle: SWITCH, [live]
            "what does not fill a packet waits while data is outstanding (RFC 6458, 8.1.5)" ("RFC 6458, 8.1.5")
        };
        /// First slow-start threshold, bytes; `None`: the peer's first a_rwnd.
        // "The initial value of ssthresh SHOULD be arbitrarily high" (7.2.1).
        initial_ssthresh: Option<u64> = Some(1 << 30) => {
            initial_ssthresh: SSTHRESH, []
            "first slow-start threshold" ("RFC 9260, 7.2.1")
        };
        /// Smallest ssthresh after a loss, in PMDCS (RFC 9260: 4; RFC 2960: 2).
        ssthresh_floor: u16 = 4 => {
            ssthresh_floor: PMDCS, []
            "smallest ssthresh after a loss" ("RFC 9260, 7.2.3")
        };
        /// L of slow start: at most this many PMDCS of growth for a SACK.
        slow_start_limit: u16 = 1 => {
            slow_start_limit: FROM_ONE, []
            "L of slow start" ("RFC 9260, 7.2.1")
        };
        /// True if a cwnd equal to ssthresh, as after a fast retransmit, is slow start (RFC 2960 and RFC 9260,
        /// 7.2.1); false: congestion avoidance (RFC 5681 leaves TCP the choice).
        slow_start_at_ssthresh: bool = true => {
            slow_start_at_ssthresh: SWITCH, []
            "cwnd equal to ssthresh, as after a fast retransmit, is slow start" ("RFC 9260, 7.2.1")
        };
        /// True if cwnd grows only with SACKs that move the cumulative point; RFC 8540, 3.22, lets it grow with every
        /// new acknowledgement.
        growth_needs_advance: bool = true => {
            growth_needs_advance: SWITCH, []
            "cwnd grows only when the cumulative point moves (RFC 8540, 3.22 lets any new acknowledgement do)" ("RFC 9260, 7.2.1")
        };
        /// True if chunks that were given up and are acknowledged all the same, before the peer was told to skip
        /// them, count in slow start. RFC 3758, 3.5, A2, forbids it; without it a flow whose messages expire at about
        /// the time their SACK comes never leaves the first window.
        credit_given_up: bool = false => {
            credit_given_up: SWITCH, []
            "chunks given up that have arrived all the same count in slow start, against RFC 3758 (3.5, A2)" ("RFC 3758, 3.5")
        };
        /// Method of loss detection.
        loss_detection: LossDetection = LossDetection::MissingReports => {
            loss_detection: LOSS_DETECTION, []
            "how loss is found: by counting missing reports, or by time as well (RFC 8985)" ("RFC 8985")
        };
        /// True if the last packet is sent again after two round trips without a SACK (RFC 8985, section 7): only
        /// with [`LossDetection::Rack`].
        tail_loss_probe: bool = false => {
            tail_loss_probe: SWITCH, []
            "the last packet is sent again after two round trips without a SACK (RFC 8985, 7)" ("RFC 8985, 7")
        };
        /// Missing reports that make a fast retransmit (RFC 9260: 3; RFC 2960: 4).
        fast_retransmit_threshold: u8 = 3 => {
            fast_retransmit_threshold: REPORTS, []
            "missing reports that make a fast retransmit" ("RFC 9260, 7.2.4")
        };
        /// Number of window reductions that one loss event may cause.
        fast_recovery: FastRecovery = FastRecovery::UntilExit => {
            fast_recovery: FAST_RECOVERY, []
            "how often one loss event may cut the window" ("RFC 9260, 7.2.4")
        };
        /// Course of the window reduction when losses are found.
        reduction: Reduction = Reduction::AtOnce => {
            reduction: REDUCTION, []
            "how the window comes down in Fast Recovery: at once, or by proportional rate reduction (RFC 9937)" ("RFC 9937")
        };
        /// True if a cut is taken back when everything that was sent again is reported as a duplicate (RFC 3708; RFC
        /// 9438, 4.9): only controllers other than
        /// [`CongestionControl::RENO`](crate::config::CongestionControl::RENO) remember the window before the cut.
        undo: bool = false => {
            undo: SWITCH, []
            "a cut is taken back when all that was sent again is reported as a duplicate (RFC 3708); not with reno" ("RFC 3708")
        };
        /// True if losses of chunks sent before T3-rtx expired do not cut the window a second time (RFC 6582, 3.2);
        /// false: they do (RFC 9260).
        timeout_keeps_exit: bool = false => {
            timeout_keeps_exit: SWITCH, []
            "losses of what had been sent when T3-rtx expired make no second cut (RFC 6582, 3.2)" ("RFC 6582, 3.2")
        };
        /// True if the loss of a chunk that was sent again since T3-rtx expired reduces the window once more (RFC
        /// 5681, 4.3), once a round trip: the window grows in that phase. In Fast Recovery, where it does not grow,
        /// there is no such reduction.
        lost_again_cuts: bool = false => {
            lost_again_cuts: SWITCH, []
            "what T3-rtx has sent again and is lost as well reduces the window once more (RFC 5681, 4.3)" ("RFC 5681, 4.3")
        };
        /// Limit on a burst of new packets.
        max_burst: MaxBurst = MaxBurst::Clamp(4) => {
            max_burst: MAX_BURST, [live]
            "limit on a burst of new packets" ("RFC 9260, 6.1")
        };
        /// True if partial_bytes_acked is brought back to cwnd while the window is not full (RFC 9260, 7.2.2).
        pba_clamp: bool = true => {
            pba_clamp: SWITCH, []
            "partial_bytes_acked is held at cwnd while the window is not full" ("RFC 9260, 7.2.2")
        };
        /// Floor, in PMDCS, down to which cwnd halves for every RTO without transmission (RFC 9260, 7.2.1); `None`:
        /// it does not halve.
        idle_decay_floor: Option<u16> = Some(4) => {
            idle_decay_floor: OPTIONAL_PMDCS, []
            "cwnd halves for each idle RTO, down to this" ("RFC 9260, 7.2.1")
        };
        /// True if a window that the user does not fill is kept for five minutes, and a loss reduces the part of it
        /// that was used (RFC 7661): only controllers other than
        /// [`CongestionControl::RENO`](crate::config::CongestionControl::RENO) support it.
        window_validation: bool = false => {
            window_validation: SWITCH, []
            "a window that is not filled is kept for five minutes, and a loss reduces what was used of it (RFC 7661); not with reno" ("RFC 7661")
        };
        /// Window reduction after a router's mark, with [`EcnMode::Classic`](crate::config::EcnMode::Classic).
        ecn_backoff: EcnBackoff = EcnBackoff::AsLoss => {
            ecn_backoff: ECN_BACKOFF, []
            "ecn classic: a mark reduces the window as a loss does, or by a fifth, 0.15 with CUBIC (RFC 8511)" ("RFC 8511")
        };
    }
}
