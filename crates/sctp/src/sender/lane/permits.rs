//! Permissions that losses and timers give a lane, or take from it, besides its window.

/// Permits that packets use up, and bans that end when an acknowledgement or another packet arrives.
#[derive(Debug, Default)]
pub(in crate::sender) struct Permits {
    /// So many packets of new data may leave even if cwnd is full.
    new_packets: u8,
    /// One packet of marked chunks may leave even if cwnd is full (7.2.4, step 3).
    marked_packet: bool,
    /// Marked chunks wait for the next SACK.
    awaiting_sack: bool,
    /// After T3-rtx expired: "no more than one SCTP packet will be in flight ... until the endpoint receives
    /// acknowledgement" (7.2.3).
    single_packet: bool,
}

impl Permits {
    /// True if new data may leave even if cwnd is full.
    #[inline]
    pub(in crate::sender) fn lets_new(&self) -> bool {
        self.new_packets > 0
    }

    /// True if a packet of marked chunks may leave even if cwnd is full.
    #[inline]
    pub(in crate::sender) fn lets_marked(&self) -> bool {
        self.marked_packet
    }

    /// True if T3-rtx has expired, and nothing was acknowledged since.
    #[inline]
    pub(in crate::sender) fn is_single_packet(&self) -> bool {
        self.single_packet
    }

    /// True if marked chunks without a permit must wait.
    #[inline]
    pub(super) fn holds_marked(&self) -> bool {
        self.awaiting_sack || self.single_packet
    }

    /// A timer permits so many packets of new data.
    pub(in crate::sender) fn probe_with_new(&mut self, packets: u8) {
        self.new_packets = packets;
    }

    /// A packet of new data may be filled, or begun, even if cwnd is full.
    pub(in crate::sender) fn add_new(&mut self) {
        self.new_packets = self.new_packets.max(1);
    }

    /// A packet with new data was begun.
    #[inline]
    pub(super) fn new_packet_begun(&mut self) {
        self.new_packets = self.new_packets.saturating_sub(1);
    }

    /// A chunk is marked to probe the tail: it leaves at once.
    pub(in crate::sender) fn probe_with_marked(&mut self) {
        self.marked_packet = true;
    }

    /// A packet of marked chunks was written.
    pub(in crate::sender) fn marked_left(&mut self) {
        self.marked_packet = false;
    }

    /// Chunks were found lost. `packet`: one packet of them leaves even if cwnd is full; `waits`: the others wait for
    /// the next SACK.
    pub(in crate::sender) fn found_lost(&mut self, packet: bool, waits: bool) {
        self.marked_packet = packet;
        self.awaiting_sack = waits;
    }

    /// T3-rtx has expired: one packet may leave, with no other permit, until something is acknowledged.
    pub(in crate::sender) fn timed_out(&mut self) {
        *self = Self { new_packets: 0, marked_packet: true, awaiting_sack: false, single_packet: true };
    }

    /// A SACK has come, with `news` of chunks acknowledged for the first time. The packet that T3-rtx owes may still have to leave: a SACK
    /// without news does not take that permit away. Nor does it for a packet that waits for the pacer (`paced`).
    #[inline]
    pub(in crate::sender) fn acknowledged(&mut self, news: bool, paced: bool) {
        self.awaiting_sack = false;
        if news {
            self.single_packet = false;
        }
        if !self.single_packet && !paced {
            self.marked_packet = false;
        }
    }

    /// A packet of the peer counts as an acknowledgement: the ban after T3-rtx ends.
    #[inline]
    pub(in crate::sender) fn heard(&mut self) {
        self.single_packet = false;
    }

    /// The peer's window is open again: the probe leaves again, with as many chunks as fit.
    pub(in crate::sender) fn window_opened(&mut self) {
        self.single_packet = false;
        self.awaiting_sack = false;
    }

    /// All unacknowledged chunks were given up.
    pub(in crate::sender) fn given_up(&mut self) {
        self.marked_packet = false;
        // The packet that T3-rtx permits can carry only new data now.
        if self.single_packet {
            self.add_new();
        }
    }

    /// Permissions and bans because of losses are over.
    pub(super) fn forget_losses(&mut self) {
        self.marked_packet = false;
        self.awaiting_sack = false;
        self.single_packet = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_packet_that_t3_owes_stays_until_there_is_news() {
        let mut permits = Permits::default();
        permits.timed_out();
        assert!(permits.lets_marked() && permits.holds_marked());
        permits.acknowledged(false, false);
        assert!(permits.lets_marked() && permits.is_single_packet());
        permits.acknowledged(true, true);
        assert!(permits.lets_marked() && !permits.is_single_packet(), "the pacer keeps it back");
        permits.acknowledged(false, false);
        assert!(!permits.lets_marked() && !permits.holds_marked());
    }

    #[test]
    fn where_all_is_given_up_new_data_takes_the_packet() {
        let mut permits = Permits::default();
        permits.given_up();
        assert!(!permits.lets_new());
        permits.timed_out();
        permits.given_up();
        assert!(permits.lets_new() && !permits.lets_marked());
        permits.new_packet_begun();
        assert!(!permits.lets_new());
    }
}
