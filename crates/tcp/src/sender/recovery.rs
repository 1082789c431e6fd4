//! Loss recovery: its phase and start, and the counters used in it (RFC 5681, section 3.2; RFC 6582; RFC 6675; ns-2's
//! Sack1).

use super::phase::Phase;
use super::terms::Terms;
use crate::config::LossRecovery;

/// Phase of loss recovery, and the counters used in it.
#[derive(Debug)]
pub(super) struct Recovery {
    phase: Phase,
    /// No new fast retransmit before this is acknowledged; the end of the phase.
    point: Option<u64>,
    duplicates: u32,
    /// Sent by limited transmit since the last new acknowledgement: not part of RFC 5681's FlightSize.
    limited: u64,
    /// Reno and NewReno: bytes that duplicate acknowledgements add to cwnd during fast recovery.
    inflation: i64,
    /// ns-2's pipe, packets.
    ns2_pipe: i64,
    /// ns-2 sends nothing but the fast retransmission on the duplicate that starts it, even when pipe < cwnd.
    ns2_entering: bool,
    /// Partial acknowledgements in this recovery.
    partials: u32,
    rescued: bool,
    /// In `Loss`: an acknowledgement of new data has come since the timeout.
    answered: bool,
    /// The first sequence number never sent at the last timeout.
    timeout_point: Option<u64>,
}

impl Recovery {
    pub(super) fn new() -> Self {
        Self {
            phase: Phase::Open,
            point: None,
            duplicates: 0,
            limited: 0,
            inflation: 0,
            ns2_pipe: 0,
            ns2_entering: false,
            partials: 0,
            rescued: false,
            answered: false,
            timeout_point: None,
        }
    }

    #[inline]
    pub(super) fn phase(&self) -> Phase {
        self.phase
    }

    #[inline]
    pub(super) fn is_open(&self) -> bool {
        self.phase == Phase::Open
    }

    /// No new fast retransmit before this is acknowledged; the end of the phase.
    #[inline]
    pub(super) fn point(&self) -> Option<u64> {
        self.point
    }

    /// Everything that was outstanding when it began is acknowledged by `una`.
    pub(super) fn is_finished_by(&self, una: u64) -> bool {
        self.point.is_none_or(|point| una >= point)
    }

    #[inline]
    pub(super) fn duplicates(&self) -> u32 {
        self.duplicates
    }

    /// Bytes sent by limited transmit since the last new acknowledgement.
    pub(super) fn limited(&self) -> u64 {
        self.limited
    }

    /// The window of Reno and NewReno in fast recovery.
    pub(super) fn inflated(&self, window: u64) -> u64 {
        (window as i64 + self.inflation).max(0) as u64
    }

    /// ns-2's pipe, packets.
    pub(super) fn ns2_pipe(&self) -> i64 {
        self.ns2_pipe
    }

    /// True if ns-2 may send more than the fast retransmission, with a window of so many packets.
    pub(super) fn ns2_has_room(&self, window: i64) -> bool {
        !self.ns2_entering && self.ns2_pipe < window
    }

    /// ns-2 looks at SACK blocks only once the timeout's retransmission has been answered.
    pub(super) fn is_deaf(&self, terms: &Terms) -> bool {
        terms.recovery() == LossRecovery::Ns2Sack1 && self.phase == Phase::Loss && !self.answered
    }

    /// True if the rescue retransmission may still leave (RFC 6675, section 5, rule 4).
    pub(super) fn may_rescue(&self) -> bool {
        !self.rescued
    }

    pub(super) fn is_first_partial(&self) -> bool {
        self.partials == 1
    }

    /// By how many segments limited transmit may pass the window (RFC 3042).
    #[inline]
    pub(super) fn beyond_window(&self) -> u64 {
        u64::from(self.duplicates.min(2))
    }

    /// RFC 6582, section 3.2, step 2, against a second reduction for the same window of data.
    pub(super) fn may_retransmit_fast(&self, terms: &Terms, una: u64) -> bool {
        if terms.config().quirk_faulty_recovery && self.timeout_point == Some(una) {
            return false;
        }
        if !terms.config().recovery_point {
            return true;
        }
        match terms.recovery() {
            LossRecovery::Sack6675 | LossRecovery::Rack => self.is_open(),
            _ => self.point.is_none_or(|point| una > point),
        }
    }

    /// An acknowledgement is about to be read.
    #[inline]
    pub(super) fn ack_comes(&mut self) {
        self.ns2_entering = false;
    }

    /// ns-2: every ACK in recovery means that one packet has left the network.
    #[inline]
    pub(super) fn packet_left_network(&mut self) {
        if self.phase == Phase::Fast {
            self.ns2_pipe -= 1;
        }
    }

    /// New data was acknowledged outside of fast recovery.
    pub(super) fn new_ack(&mut self) {
        self.answered = true;
        self.duplicates = 0;
        self.limited = 0;
    }

    /// New data was acknowledged in fast recovery, and not all.
    pub(super) fn partial_ack(&mut self, terms: &Terms, advanced: u64) {
        self.partials += 1;
        match terms.recovery() {
            LossRecovery::NewReno | LossRecovery::Reno => {
                // RFC 6582: "deflate the congestion window by the amount of new data acknowledged ... add back SMSS".
                self.inflation -= advanced as i64;
                if advanced >= terms.mss() {
                    self.inflation += terms.mss() as i64;
                }
            }
            // A retransmission has left the network too: one more than for any ACK.
            LossRecovery::Ns2Sack1 => self.ns2_pipe -= 1,
            LossRecovery::Sack6675 | LossRecovery::Rack => {}
        }
    }

    /// A duplicate acknowledgement. Answers whether it is one that may begin fast recovery.
    pub(super) fn duplicate(&mut self, terms: &Terms) -> bool {
        match self.phase {
            Phase::Fast => {
                // RFC 5681, section 3.2, step 4.
                if matches!(terms.recovery(), LossRecovery::Reno | LossRecovery::NewReno) {
                    self.inflation += terms.mss() as i64;
                }
                false
            }
            Phase::Loss if !self.answered => false,
            Phase::Open | Phase::Loss => {
                self.duplicates += 1;
                true
            }
        }
    }

    /// Fast recovery begins: `max` is the first sequence number never sent, `segments` how many are outstanding.
    pub(super) fn enter_fast(&mut self, terms: &Terms, max: u64, segments: usize) {
        let counted = self.duplicates.min(terms.config().duplicate_threshold);
        self.phase = Phase::Fast;
        self.point = Some(max);
        self.partials = 0;
        self.rescued = false;
        self.inflation = (u64::from(counted) * terms.mss()) as i64;
        self.ns2_entering = true;
        self.ns2_pipe = segments as i64 - i64::from(counted);
    }

    /// A timeout: `max` is the first sequence number never sent. Answers whether it came within fast recovery.
    pub(super) fn on_timeout(&mut self, max: u64) -> bool {
        let within = self.phase == Phase::Fast;
        self.phase = Phase::Loss;
        self.timeout_point = Some(max);
        self.point = Some(max);
        self.answered = false;
        self.duplicates = 0;
        self.limited = 0;
        self.inflation = 0;
        within
    }

    /// Everything outstanding at the timeout is acknowledged; the point stays, against a second reduction.
    pub(super) fn end_loss(&mut self) {
        self.phase = Phase::Open;
    }

    /// Fast recovery is over, or a reduction was needless.
    pub(super) fn end(&mut self) {
        self.phase = Phase::Open;
        self.point = None;
        self.inflation = 0;
        self.duplicates = 0;
        self.limited = 0;
    }

    /// The rescue retransmission left.
    pub(super) fn rescue_left(&mut self) {
        self.rescued = true;
    }

    /// A retransmission left that recovery itself chose.
    #[inline]
    pub(super) fn resent(&mut self) {
        if self.phase == Phase::Fast {
            self.ns2_pipe += 1;
        }
    }

    /// New data left.
    #[inline]
    pub(super) fn new_data_left(&mut self, len: u32) {
        if self.phase == Phase::Fast {
            self.ns2_pipe += 1;
        } else if self.duplicates > 0 {
            self.limited += u64::from(len);
        }
    }
}

#[cfg(test)]
mod tests;
