//! When to acknowledge (RFC 1122, section 4.2.3.2; RFC 5681, section 4.2).

use crate::config::Config;
use crate::receiver::Arrival;
use anabranch_base::Instant;

#[derive(Debug, Default)]
pub(crate) struct Acks {
    /// An acknowledgement must leave.
    now: bool,
    /// Data segments since the last acknowledgement left.
    waiting: u32,
    timer: Option<Instant>,
    /// Data segments that were acknowledged at once because the connection was young.
    quick: u32,
}

impl Acks {
    pub(crate) fn due(&self) -> bool {
        self.now
    }

    pub(crate) fn timer(&self) -> Option<Instant> {
        self.timer
    }

    pub(crate) fn demand(&mut self) {
        self.now = true;
    }

    /// A segment with data arrived.
    pub(crate) fn on_data(&mut self, now: Instant, config: &Config, arrival: Arrival) {
        self.waiting += 1;
        let young = self.quick < config.quick_acks;
        self.quick = self.quick.saturating_add(u32::from(young));
        // "A TCP receiver SHOULD send an immediate ACK when the incoming segment fills in all or part of a gap",
        // and out-of-order segments "SHOULD be acknowledged immediately".
        let at_once = !config.delayed_ack
            || young
            || arrival.out_of_order
            || arrival.duplicate
            || (arrival.filled && config.ack_gap_fill)
            || self.waiting >= config.ack_every;
        if at_once {
            self.now = true;
        } else if self.timer.is_none() {
            self.timer = Some(config.clock().after(now, config.ack_delay));
        }
    }

    pub(crate) fn on_timer(&mut self) {
        self.timer = None;
        self.now = true;
    }

    /// A segment with the ACK bit left.
    pub(crate) fn sent(&mut self) {
        self.now = false;
        self.waiting = 0;
        self.timer = None;
    }
}
