//! Slow start, congestion avoidance and the two cuts of RFC 9260, section 7.2, and of RFC 2960 before it.

use anabranch_base::cold_path;

use super::event::{Acked, Base, Congestion};
use super::growth::{FccClock, FccRounding, FccStep, Growth};
use super::window::Window;

/// The parameters of the controller of RFC 9260.
#[derive(Clone, Copy, Debug)]
pub struct ChunkRules {
    /// The unit of the window, bytes: PMDCS, or the MTU.
    pub unit: u64,
    /// The first window, bytes.
    pub initial_window: u64,
    /// The first threshold, bytes.
    pub initial_ssthresh: u64,
    /// The least threshold that a loss leaves, bytes.
    pub floor: u64,
    /// Most growth in slow start for one SACK, bytes (L PMDCS).
    pub slow_start_limit: u64,
    /// The window halves for every RTO without a transmission, down to so many bytes.
    pub idle_floor: Option<u64>,
    /// A further timeout at a window of one unit leaves ssthresh alone (ns-2, RFC 5681).
    pub backoff_keeps_ssthresh: bool,
    /// A window equal to ssthresh is in slow start (RFC 9260, 7.2.1).
    pub slow_start_at_ssthresh: bool,
    /// The window grows only with SACKs that move the cumulative point.
    pub needs_advance: bool,
    /// partial_bytes_acked counts cumulatively acknowledged bytes only while the window is full (ns-2 since 3.5).
    pub pba_needs_full_window: bool,
    /// partial_bytes_acked is brought back to cwnd while the window is not full (RFC 9260, 7.2.2).
    pub pba_clamp: bool,
    /// Bytes gap-acked earlier count again when the cumulative point passes them (ns-2 before 3.3).
    pub pba_counts_twice: bool,
    /// Fractional congestion control: the size of a step.
    pub fcc_step: FccStep,
    /// The event that counts as a round trip.
    pub fcc_clock: FccClock,
    /// The rounding of a Phi that is no whole number.
    pub fcc_rounding: FccRounding,
    /// Phi divides the growth of slow start too.
    pub fcc_slow_start: bool,
}

/// Fractional congestion control (Zou 2007, 3.4): the state for a Phi above 1.
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

/// The controller of RFC 9260, but for its window.
#[derive(Clone, Debug)]
pub struct Chunks {
    partial_bytes_acked: u64,
    /// Growth in congestion avoidance; Phi is rounded already.
    growth: Growth,
    fcc: Fcc,
    /// Nothing sent since the last decay: ssthresh was set already.
    idle: bool,
    /// The unit of windows, bytes: PMDCS, or the MTU.
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

impl Chunks {
    pub(super) fn new(rules: &ChunkRules) -> Self {
        Self {
            partial_bytes_acked: 0,
            growth: Growth::Phi(1.0),
            fcc: Fcc {
                step: rules.fcc_step,
                clock: rules.fcc_clock,
                rounding: rules.fcc_rounding,
                slow_start: rules.fcc_slow_start,
                owed: 0.0,
                rounds: 0.0,
                was_full: false,
            },
            idle: false,
            unit: rules.unit,
            floor: rules.floor,
            slow_start_limit: rules.slow_start_limit,
            idle_floor: rules.idle_floor,
            backoff_keeps_ssthresh: rules.backoff_keeps_ssthresh,
            slow_start_at_ssthresh: rules.slow_start_at_ssthresh,
            pba_needs_full_window: rules.pba_needs_full_window,
            pba_clamp: rules.pba_clamp,
            pba_counts_twice: rules.pba_counts_twice,
            needs_advance: rules.needs_advance,
        }
    }

    /// "When cwnd is less than or equal to ssthresh, an SCTP endpoint MUST use the slow-start algorithm" (7.2.1).
    fn in_slow_start(&self, window: &Window) -> bool {
        window.cwnd < window.ssthresh || (self.slow_start_at_ssthresh && window.cwnd == window.ssthresh)
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
    fn growth_threshold(&self, window: &Window) -> u64 {
        let phi = self.phi();
        if phi > 1.0 && self.fcc.step == FccStep::Packet {
            cold_path();
            (window.cwnd as f64 * phi) as u64
        } else {
            window.cwnd
        }
    }

    /// Adds a part of a packet, or takes it away; at least one packet remains.
    #[inline(never)]
    fn add_packets(&mut self, window: &mut Window, packets: f64) {
        let bytes = self.fcc.owed + packets * self.unit as f64;
        let whole = bytes.floor();
        self.fcc.owed = bytes - whole;
        let cwnd = window.cwnd.saturating_add_signed(whole as i64);
        window.cwnd = if whole < 0.0 { cwnd.max(self.unit.min(window.cwnd)) } else { cwnd };
    }

    /// A SACK that lets the window grow, in congestion avoidance.
    #[inline]
    fn grow(&mut self, window: &mut Window, newly: u64, full: bool) {
        if let Growth::Linked(packets) = self.growth {
            cold_path();
            if full {
                self.add_packets(window, packets * newly as f64 / window.cwnd as f64);
            }
            return;
        }
        if self.phi() > 1.0 && self.fcc.clock == FccClock::RoundTrips {
            return; // by `count_round_trip`
        }
        if self.partial_bytes_acked >= self.growth_threshold(window) && full {
            self.partial_bytes_acked -= self.growth_threshold(window);
            if self.phi() > 1.0 && self.fcc.step == FccStep::Fraction {
                cold_path();
                self.add_packets(window, 1.0 / self.phi());
            } else {
                window.cwnd += self.unit;
            }
        }
    }

    /// Steps that are counted in round trips; one counts when the window was full in it.
    fn count_round_trip(&mut self, window: &mut Window, acked: &Acked, full: bool) {
        self.fcc.was_full |= full;
        if !acked.round_trip {
            return;
        }
        let was_full = std::mem::take(&mut self.fcc.was_full);
        if !was_full || acked.in_recovery || self.in_slow_start(window) {
            return;
        }
        let phi = self.phi();
        match self.fcc.step {
            FccStep::Fraction => self.add_packets(window, 1.0 / phi),
            FccStep::Packet => {
                self.fcc.rounds += 1.0;
                if self.fcc.rounds >= phi {
                    self.fcc.rounds -= phi;
                    window.cwnd += self.unit;
                }
            }
        }
    }

    // rfc9260:7.2.1-7
    #[inline]
    fn slow_start(&mut self, window: &mut Window, newly: u64) {
        let bytes = newly.min(self.slow_start_limit);
        let phi = self.phi();
        if self.fcc.slow_start && phi > 1.0 {
            cold_path();
            self.add_packets(window, bytes as f64 / self.unit as f64 / phi);
        } else {
            window.cwnd += bytes;
        }
    }

    // rfc9260:7.2.2-2 rfc9260:7.2.2-3
    #[inline]
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

    // rfc9260:7.2-1 rfc9260:7.2.1-5 rfc9260:7.2.1-6 rfc9260:7.2-2
    #[inline]
    pub(super) fn on_ack(&mut self, window: &mut Window, acked: &Acked) {
        self.idle = false;
        let full = acked.flight_before >= window.cwnd;
        if !self.in_slow_start(window) {
            self.count_partial_bytes(acked, full);
        }
        let newly = acked.cumulative + acked.gap;
        // "only if the current congestion window is being fully utilized and the data sender is not in Fast
        // Recovery"; the cumulative point must move, as every version of the rule has it.
        if (acked.cumulative_advanced || !self.needs_advance)
            && newly + acked.given_up > 0
            && !acked.in_recovery
        {
            if !self.in_slow_start(window) {
                if newly > 0 {
                    self.grow(window, newly, full);
                }
            } else if full {
                self.slow_start(window, newly + acked.given_up);
            }
        }
        if self.phi() > 1.0 && self.fcc.clock == FccClock::RoundTrips {
            cold_path();
            self.count_round_trip(window, acked, full);
        }
        if self.pba_clamp && !full {
            self.partial_bytes_acked = self.partial_bytes_acked.min(self.growth_threshold(window));
        }
        if acked.all_acked {
            self.partial_bytes_acked = 0;
        }
    }

    /// "ssthresh = max(cwnd / 2, 4 * PMDCS)" (7.2.3), or with another floor.
    fn half(&self, window: &Window, of: Base) -> u64 {
        let bytes = match of {
            Base::Flight(bytes) => bytes,
            Base::Window(limit) => window.cwnd.min(limit),
        };
        (bytes / 2).max(self.floor)
    }

    // rfc9260:7.2.3-1
    pub(super) fn on_congestion(&mut self, window: &mut Window, event: Congestion) {
        match event {
            Congestion::FastRetransmit(of) | Congestion::Ecn(of) => {
                window.ssthresh = self.half(window, of);
                window.cwnd = window.ssthresh;
            }
            Congestion::LostAgain(of) => {
                window.ssthresh = self.half(window, of);
                window.cwnd = window.cwnd.min(window.ssthresh);
            }
            Congestion::EcnKeep(kept) => {
                window.ssthresh = part_of(window.cwnd, kept).max(self.floor);
                // A mark never raises a window that is below the floor.
                window.cwnd = window.cwnd.min(window.ssthresh);
            }
            Congestion::OtherLane => {
                window.cwnd = (window.cwnd / 2).max(self.floor).min(window.cwnd);
                // Congestion avoidance: nothing of this lane was lost, and each lane would gain a packet at once.
                window.ssthresh = window.cwnd - 1;
            }
            Congestion::Timeout(of) => {
                let held = window.cwnd <= self.unit && self.backoff_keeps_ssthresh;
                if let Some(of) = of.filter(|_| !held) {
                    window.ssthresh = self.half(window, of);
                }
                window.cwnd = self.unit;
            }
        }
        self.partial_bytes_acked = 0;
        self.fcc.owed = 0.0;
        self.fcc.rounds = 0.0;
        self.fcc.was_full = false;
    }

    // rfc9260:7.2.1-11
    pub(super) fn on_idle(&mut self, window: &mut Window) {
        let Some(floor) = self.idle_floor else { return };
        if !self.idle {
            // "Before the first cwnd adjustment, the ssthresh SHOULD be set to the cwnd."
            window.ssthresh = window.ssthresh.max(window.cwnd);
            self.idle = true;
        }
        // "SHOULD be adjusted to max(cwnd / 2, 4 * PMDCS) once per RTO"; never a raise.
        window.cwnd = window.cwnd.min((window.cwnd / 2).max(floor));
    }

    pub(super) fn set_growth(&mut self, window: &Window, growth: Growth) {
        let growth = match growth {
            Growth::Phi(phi) => Growth::Phi(self.fcc.rounding.apply(phi)),
            linked @ Growth::Linked(_) => linked,
        };
        if growth == self.growth {
            return;
        }
        // The part of a step that was waited for is kept, not the bytes: a Phi that falls must not pay out many at once.
        let before = self.growth_threshold(window);
        let rounds = self.fcc.rounds / self.phi();
        self.growth = growth;
        let after = self.growth_threshold(window);
        if after != before && before > 0 {
            let part = self.partial_bytes_acked as f64 / before as f64;
            self.partial_bytes_acked = (part * after as f64) as u64;
        }
        self.fcc.rounds = rounds * self.phi();
    }

    /// Changes the unit of windows, bytes. Windows keep their size in units.
    pub(super) fn resize(&mut self, unit: u64) {
        let old = self.unit.max(1);
        let scaled = |bytes: u64| bytes / old * unit;
        self.floor = scaled(self.floor);
        self.slow_start_limit = scaled(self.slow_start_limit);
        self.idle_floor = self.idle_floor.map(scaled);
        self.unit = unit;
    }

    /// Sets the threshold that an earlier connection left, but no less than the floor.
    pub(super) fn seed_ssthresh(&self, window: &mut Window, bytes: u64) {
        window.ssthresh = bytes.max(self.floor);
    }
}

/// So many millionths of a window.
fn part_of(window: u64, millionths: u32) -> u64 {
    let part = u128::from(window) * u128::from(millionths) / 1_000_000;
    u64::try_from(part).unwrap_or(window)
}

#[cfg(test)]
mod tests;
