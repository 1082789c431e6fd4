//! Purpose of the one timer when it is armed: timeout, probe or reordering (RFC 8985, sections 7.2 and 8; RFC 6298,
//! section 5).

use super::state::Sender;
use super::timer::Alarm;
use anabranch_base::{Duration, Instant};

impl Sender {
    /// RFC 6298, 5.2 and 5.3: off when nothing is outstanding, else restarted; as a probe timer where one may be sent.
    pub(super) fn restart_timer(&mut self, now: Instant) {
        self.timer.stop();
        if !self.flight.is_empty() {
            let rto = self.trips.rto();
            self.timer.timeout_in(now, rto);
            if !self.schedule_probe(now, rto) {
                self.timer.arm(now, rto, Alarm::Timeout);
            }
        }
    }

    /// Time left until the retransmission timeout.
    fn timeout_left(&self, now: Instant) -> Duration {
        let at = match self.flight.front() {
            Some(front) if self.terms.config().rto_from_head => front.sent_at + self.trips.rto(),
            _ => self.timer.timeout_at(),
        };
        at - now
    }

    /// The retransmission timer runs on where it was.
    pub(super) fn resume_timeout(&mut self, now: Instant) {
        if !self.flight.is_empty() {
            let left = self.timeout_left(now).max(Duration::from_micros(1));
            self.timer.arm(now, left, Alarm::Timeout);
        }
    }

    /// RFC 8985, section 7.2: TLP_calc_PTO, for a timeout that is `left` away. Answers whether a probe may be sent at all.
    fn schedule_probe(&mut self, now: Instant, left: Duration) -> bool {
        let config = self.terms.config();
        // "The connection supports SACK", it is "not in loss recovery", and "has no SACKed sequences in the scoreboard".
        let may = config.tlp
            && self.terms.sack()
            && self.terms.recovery().has_scoreboard()
            && self.recovery.is_open()
            && self.flight.sacked_segments() == 0
            && !self.flight.is_empty();
        if may {
            let span = self.trips.srtt().map_or(Duration::from_secs(1), |srtt| {
                let single = self.flight.segments() == 1;
                srtt * 2 + if single { config.tlp_ack_delay } else { config.probe_margin }
            });
            let span = if left > Duration::ZERO { span.min(left) } else { span };
            self.timer.arm(now, span, Alarm::Probe);
        }
        may
    }

    /// A segment with something new left.
    pub(super) fn timer_after_new(&mut self, now: Instant, first: bool) {
        if first {
            self.timer.timeout_in(now, self.trips.rto());
        }
        if self.terms.config().tlp && !self.tail.wants_new_data() {
            let probing = self.timer.is_running() && self.timer.alarm() == Alarm::Probe;
            let left = self.timeout_left(now);
            if !self.schedule_probe(now, left) && probing {
                self.resume_timeout(now);
            }
        }
        if !self.timer.is_running() {
            // RFC 6298, 5.1.
            self.timer.arm(now, self.trips.rto(), Alarm::Timeout);
        }
    }
}
