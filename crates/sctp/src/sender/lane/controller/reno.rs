//! Slow start, congestion avoidance and the two cuts of RFC 9260, section 7.2, and of RFC 2960 before it.

use super::{Acked, Congestion, Controller, Growth};
use crate::config::{Config, FccClock, FccRounding, FccStep, InitialWindow};

/// Fractional congestion control (study 004, 3.4): what a Phi above 1 needs.
#[derive(Clone, Debug)]
struct Fcc {
    step: FccStep,
    clock: FccClock,
    rounding: FccRounding,
    slow_start: bool,
    /// Growth not yet given, less than a byte.
    owed: f64,
    /// Round trips since the last step.
    rounds: f64,
    /// The window was full at some time of this round trip.
    was_full: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Reno {
    cwnd: u64,
    ssthresh: u64,
    partial_bytes_acked: u64,
    /// Growth in congestion avoidance; Phi is rounded already.
    growth: Growth,
    fcc: Fcc,
    /// Nothing sent since the last decay: ssthresh was set already.
    idle: bool,
    /// What windows are counted in: PMDCS, or the MTU.
    unit: u64,
    floor: u64,
    slow_start_limit: u64,
    idle_floor: Option<u64>,
    backoff_keeps_ssthresh: bool,
    slow_start_at_ssthresh: bool,
    pba_needs_full_window: bool,
    pba_clamp: bool,
    pba_counts_twice: bool,
    needs_advance: bool,
}

impl Reno {
    pub(crate) fn new(config: &Config, unit: u32, ipv6: bool, peer_rwnd: u32) -> Self {
        let unit = u64::from(unit);
        let cwnd = match config.initial_window {
            InitialWindow::Packets(n) => unit * u64::from(n),
            InitialWindow::Rfc4960 => (4 * unit).min((2 * unit).max(4380)),
            // "min(4 * PMDCS, max(2 * PMDCS, 4404)) bytes if the peer address is an IPv4 address", 4344 for IPv6.
            InitialWindow::Rfc9260 => (4 * unit).min((2 * unit).max(if ipv6 { 4344 } else { 4404 })),
        };
        Self {
            cwnd,
            ssthresh: config.initial_ssthresh.unwrap_or(u64::from(peer_rwnd)),
            partial_bytes_acked: 0,
            growth: Growth::Phi(1.0),
            fcc: Fcc {
                step: config.fcc_step,
                clock: config.fcc_clock,
                rounding: config.fcc_rounding,
                slow_start: config.fcc_slow_start,
                owed: 0.0,
                rounds: 0.0,
                was_full: false,
            },
            idle: false,
            unit,
            floor: unit * u64::from(config.ssthresh_floor),
            slow_start_limit: unit * u64::from(config.slow_start_limit),
            idle_floor: config.idle_decay_floor.map(|n| unit * u64::from(n)),
            backoff_keeps_ssthresh: config.backoff_keeps_ssthresh,
            slow_start_at_ssthresh: config.slow_start_at_ssthresh,
            pba_needs_full_window: config.pba_needs_full_window,
            pba_clamp: config.pba_clamp,
            pba_counts_twice: config.pba_counts_twice,
            needs_advance: config.growth_needs_advance,
        }
    }

    /// "When cwnd is less than or equal to ssthresh, an SCTP endpoint MUST use the slow-start algorithm" (7.2.1).
    fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh || (self.slow_start_at_ssthresh && self.cwnd == self.ssthresh)
    }

    /// Phi; 1 where another rule decides.
    fn phi(&self) -> f64 {
        match self.growth {
            Growth::Phi(phi) => phi,
            Growth::Linked(_) => 1.0,
        }
    }

    /// Bytes to be acknowledged before cwnd grows: "whenever partial_bytes_acked is equal to or greater than cwnd", and
    /// in the staircase of fractional congestion control Phi times that.
    fn growth_threshold(&self) -> u64 {
        let phi = self.phi();
        if phi > 1.0 && self.fcc.step == FccStep::Packet {
            (self.cwnd as f64 * phi) as u64
        } else {
            self.cwnd
        }
    }

    /// Adds a part of a packet, or takes it away; at least one packet remains.
    fn add_packets(&mut self, packets: f64) {
        let bytes = self.fcc.owed + packets * self.unit as f64;
        let whole = bytes.floor();
        self.fcc.owed = bytes - whole;
        let cwnd = self.cwnd.saturating_add_signed(whole as i64);
        self.cwnd = if whole < 0.0 { cwnd.max(self.unit.min(self.cwnd)) } else { cwnd };
    }

    /// A SACK that lets the window grow, in congestion avoidance.
    fn grow(&mut self, newly: u64, full: bool) {
        if let Growth::Linked(packets) = self.growth {
            if full {
                self.add_packets(packets * newly as f64 / self.cwnd as f64);
            }
            return;
        }
        if self.phi() > 1.0 && self.fcc.clock == FccClock::RoundTrips {
            return; // by `count_round_trip`
        }
        if self.partial_bytes_acked >= self.growth_threshold() && full {
            self.partial_bytes_acked -= self.growth_threshold();
            if self.phi() > 1.0 && self.fcc.step == FccStep::Fraction {
                self.add_packets(1.0 / self.phi());
            } else {
                self.cwnd += self.unit;
            }
        }
    }

    /// Steps that are counted in round trips; one counts when the window was full in it.
    fn count_round_trip(&mut self, acked: &Acked, full: bool) {
        self.fcc.was_full |= full;
        if !acked.round_trip {
            return;
        }
        let was_full = std::mem::take(&mut self.fcc.was_full);
        if !was_full || acked.in_recovery || self.in_slow_start() {
            return;
        }
        let phi = self.phi();
        match self.fcc.step {
            FccStep::Fraction => self.add_packets(1.0 / phi),
            FccStep::Packet => {
                self.fcc.rounds += 1.0;
                if self.fcc.rounds >= phi {
                    self.fcc.rounds -= phi;
                    self.cwnd += self.unit;
                }
            }
        }
    }

    fn slow_start(&mut self, newly: u64) {
        let bytes = newly.min(self.slow_start_limit);
        let phi = self.phi();
        if self.fcc.slow_start && phi > 1.0 {
            self.add_packets(bytes as f64 / self.unit as f64 / phi);
        } else {
            self.cwnd += bytes;
        }
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
        if (acked.cumulative_advanced || !self.needs_advance) && newly > 0 && !acked.in_recovery {
            if !self.in_slow_start() {
                self.grow(newly, full);
            } else if full {
                self.slow_start(newly);
            }
        }
        if self.phi() > 1.0 && self.fcc.clock == FccClock::RoundTrips {
            self.count_round_trip(acked, full);
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
            Congestion::OtherLane => {
                self.cwnd = (self.cwnd / 2).max(self.floor).min(self.cwnd);
                // Congestion avoidance: nothing of this lane was lost, and each lane would gain a packet at once.
                self.ssthresh = self.cwnd - 1;
            }
            Congestion::Timeout => {
                if self.cwnd > self.unit || !self.backoff_keeps_ssthresh {
                    self.ssthresh = (self.cwnd / 2).max(self.floor);
                }
                self.cwnd = self.unit;
            }
        }
        self.partial_bytes_acked = 0;
        self.fcc.owed = 0.0;
        self.fcc.rounds = 0.0;
        self.fcc.was_full = false;
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

    fn set_growth(&mut self, growth: Growth) {
        let growth = match growth {
            Growth::Phi(phi) => Growth::Phi(self.fcc.rounding.apply(phi)),
            linked @ Growth::Linked(_) => linked,
        };
        if growth == self.growth {
            return;
        }
        // The part of a step that was waited for is kept, not the bytes: a Phi that falls must not pay out many at once.
        let before = self.growth_threshold();
        let rounds = self.fcc.rounds / self.phi();
        self.growth = growth;
        let after = self.growth_threshold();
        if after != before && before > 0 {
            let part = self.partial_bytes_acked as f64 / before as f64;
            self.partial_bytes_acked = (part * after as f64) as u64;
        }
        self.fcc.rounds = rounds * self.phi();
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
