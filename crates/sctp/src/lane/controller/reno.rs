//! Slow start, congestion avoidance and the two cuts of RFC 9260, section 7.2, and of RFC 2960 before it.

use super::{Acked, Congestion, Controller};
use crate::config::{Config, InitialWindow};

#[derive(Clone, Debug)]
pub(crate) struct Reno {
    cwnd: u64,
    ssthresh: u64,
    partial_bytes_acked: u64,
    /// Windows to be acknowledged before cwnd grows by a packet (fractional congestion control, study 004, 3.4).
    phi: f64,
    /// Nothing sent since the last decay: ssthresh was set already.
    idle: bool,
    pmdcs: u64,
    floor: u64,
    slow_start_limit: u64,
    idle_floor: Option<u64>,
    backoff_keeps_ssthresh: bool,
    pba_needs_full_window: bool,
    pba_clamp: bool,
    pba_counts_twice: bool,
}

impl Reno {
    pub(crate) fn new(config: &Config, ipv6: bool, peer_rwnd: u32) -> Self {
        let pmdcs = u64::from(config.pmdcs());
        let cwnd = match config.initial_window {
            InitialWindow::Packets(n) => pmdcs * u64::from(n),
            // "min(4 * PMDCS, max(2 * PMDCS, 4404)) bytes if the peer address is an IPv4 address", 4344 for IPv6.
            InitialWindow::Rfc9260 => (4 * pmdcs).min((2 * pmdcs).max(if ipv6 { 4344 } else { 4404 })),
        };
        Self {
            cwnd,
            ssthresh: config.initial_ssthresh.unwrap_or(u64::from(peer_rwnd)),
            partial_bytes_acked: 0,
            phi: 1.0,
            idle: false,
            pmdcs,
            floor: pmdcs * u64::from(config.ssthresh_floor),
            slow_start_limit: pmdcs * u64::from(config.slow_start_limit),
            idle_floor: config.idle_decay_floor.map(|n| pmdcs * u64::from(n)),
            backoff_keeps_ssthresh: config.backoff_keeps_ssthresh,
            pba_needs_full_window: config.pba_needs_full_window,
            pba_clamp: config.pba_clamp,
            pba_counts_twice: config.pba_counts_twice,
        }
    }

    /// "When cwnd is less than or equal to ssthresh, an SCTP endpoint MUST use the slow-start algorithm" (7.2.1).
    fn in_slow_start(&self) -> bool {
        self.cwnd <= self.ssthresh
    }

    /// Bytes to be acknowledged before cwnd grows: "whenever partial_bytes_acked is equal to or greater than cwnd", and
    /// under fractional congestion control Phi times that.
    fn growth_threshold(&self) -> u64 {
        if self.phi > 1.0 { (self.cwnd as f64 * self.phi) as u64 } else { self.cwnd }
    }

    fn count_partial_bytes(&mut self, acked: &Acked, full: bool) {
        if self.pba_needs_full_window {
            // ns-2: cumulatively acknowledged bytes while the window is full, gap-acked ones when the point moves.
            if full {
                self.partial_bytes_acked += acked.cumulative;
            }
            if acked.cumulative_advanced {
                self.partial_bytes_acked += acked.gap;
            }
        } else {
            // "increase partial_bytes_acked by the total number of bytes of all new DATA chunks acknowledged".
            self.partial_bytes_acked += acked.cumulative + acked.gap;
        }
        if self.pba_counts_twice {
            self.partial_bytes_acked += acked.earlier_gap;
        }
    }
}

impl Controller for Reno {
    fn on_ack(&mut self, acked: &Acked) {
        self.idle = false;
        let full = acked.flight_before >= self.cwnd;
        if !self.in_slow_start() {
            self.count_partial_bytes(acked, full);
        }
        let newly = acked.cumulative + acked.gap;
        // "only if the current congestion window is being fully utilized and the data sender is not in Fast
        // Recovery"; the cumulative point must move, as every version of the rule has it.
        if acked.cumulative_advanced && newly > 0 && !acked.in_recovery {
            if self.in_slow_start() {
                if full {
                    self.cwnd += newly.min(self.slow_start_limit);
                }
            } else if self.partial_bytes_acked >= self.growth_threshold() && full {
                self.partial_bytes_acked -= self.growth_threshold();
                self.cwnd += self.pmdcs;
            }
        }
        if self.pba_clamp && !full {
            self.partial_bytes_acked = self.partial_bytes_acked.min(self.growth_threshold());
        }
        if acked.all_acked {
            self.partial_bytes_acked = 0;
        }
    }

    fn on_congestion(&mut self, event: Congestion) {
        match event {
            Congestion::FastRetransmit => {
                self.ssthresh = (self.cwnd / 2).max(self.floor);
                self.cwnd = self.ssthresh;
            }
            Congestion::Timeout => {
                if self.cwnd > self.pmdcs || !self.backoff_keeps_ssthresh {
                    self.ssthresh = (self.cwnd / 2).max(self.floor);
                }
                self.cwnd = self.pmdcs;
            }
        }
        self.partial_bytes_acked = 0;
    }

    fn on_idle(&mut self) {
        let Some(floor) = self.idle_floor else { return };
        if !self.idle {
            // "Before the first cwnd adjustment, the ssthresh SHOULD be set to the cwnd."
            self.ssthresh = self.ssthresh.max(self.cwnd);
            self.idle = true;
        }
        // "SHOULD be adjusted to max(cwnd / 2, 4 * PMDCS) once per RTO"; never a raise.
        self.cwnd = self.cwnd.min((self.cwnd / 2).max(floor));
    }

    fn set_phi(&mut self, phi: f64) {
        self.phi = phi;
    }

    fn absorb(&mut self, window: u64, ssthresh: u64) {
        self.cwnd = self.cwnd.saturating_add(window);
        self.ssthresh = self.ssthresh.saturating_add(ssthresh);
    }

    fn window(&self) -> u64 {
        self.cwnd
    }

    fn ssthresh(&self) -> u64 {
        self.ssthresh
    }
}

#[cfg(test)]
mod tests;
