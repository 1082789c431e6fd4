//! The SYN, or the SYN-ACK: whether it must leave, how often it has, and when it leaves again (RFC 9293, section 3.5).

use anabranch_base::{Duration, Instant};
use anabranch_transport::clock::Clock;

/// The SYN or SYN-ACK of one end.
#[derive(Debug)]
pub(super) struct Syn {
    /// We were called, not calling.
    passive: bool,
    /// The SYN or SYN-ACK must leave.
    due: bool,
    /// Set when the SYN-ACK that is due answers a repeated SYN: it leaves the retransmission timer alone.
    beside: bool,
    sent_at: Instant,
    sends: u32,
    clock: Clock,
    /// Time at which it is sent again.
    timer: Option<Instant>,
}

impl Syn {
    pub(super) fn new(passive: bool, clock: Clock) -> Self {
        Self { passive, due: true, beside: false, sent_at: Instant::ZERO, sends: 0, clock, timer: None }
    }

    /// We were called, not calling.
    pub(super) fn is_passive(&self) -> bool {
        self.passive
    }

    pub(super) fn timer(&self) -> Option<Instant> {
        self.timer
    }

    /// Time at which it left last.
    pub(super) fn sent_at(&self) -> Instant {
        self.sent_at
    }

    pub(super) fn left_once(&self) -> bool {
        self.sends == 1
    }

    /// Number of retransmissions.
    pub(super) fn repetitions(&self) -> u32 {
        self.sends.saturating_sub(1)
    }

    /// Both have sent a SYN: ours leaves again, with an acknowledgement.
    pub(super) fn answer(&mut self) {
        self.due = true;
    }

    /// The peer's SYN came again; `beside` the answer leaves the timer alone.
    pub(super) fn answer_again(&mut self, beside: bool) {
        self.due = true;
        self.beside = beside;
    }

    /// Takes the order to send it, where there is one.
    pub(super) fn take_due(&mut self) -> bool {
        std::mem::take(&mut self.due)
    }

    /// The SYN leaves, and is repeated after `rto`.
    pub(super) fn leaves(&mut self, now: Instant, rto: Duration) {
        if std::mem::take(&mut self.beside) {
            return;
        }
        self.sent_at = now;
        self.sends += 1;
        self.timer = Some(self.clock.after(now, rto));
    }

    /// Nothing came for the whole of the timeout: the SYN leaves again. Returns false when it has been sent again `most` times.
    pub(super) fn expired(&mut self, most: u32) -> bool {
        let goes_on = self.sends <= most;
        if goes_on {
            self.timer = None;
            self.beside = false;
            self.due = true;
        }
        goes_on
    }

    /// The handshake is over, or the connection.
    pub(super) fn stop(&mut self) {
        self.timer = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_repeated_so_often_and_an_answer_beside_does_not_count() {
        let (second, now) = (Duration::from_secs(1), Instant::ZERO);
        let mut syn = Syn::new(true, Clock::new(Duration::ZERO, false, true));
        assert!(syn.take_due() && !syn.take_due());
        syn.leaves(now, second);
        assert_eq!((syn.timer(), syn.left_once()), (Some(now + second), true));
        syn.answer_again(true);
        assert!(syn.take_due());
        syn.leaves(now + second / 2, second);
        assert_eq!((syn.timer(), syn.repetitions()), (Some(now + second), 0), "beside the timer");
        assert!(syn.expired(1) && syn.take_due());
        syn.leaves(now + second, second);
        assert_eq!(syn.repetitions(), 1);
        assert!(!syn.expired(1) && !syn.take_due());
    }
}
