//! When to acknowledge (RFC 9260, 6.2): for each sequence space on its own.

use anabranch_base::{Duration, Instant};
use anabranch_wire::Tsn;

use anabranch_transport::clock::Clock;

use crate::config::Config;

/// Most duplicates listed in one SACK: they are information, not state, and a flood of them must not grow memory.
const MAX_DUPLICATES: usize = 16;

/// Decides when the next SACK leaves.
#[derive(Debug, Default)]
pub(in crate::receiver::arrivals) struct AckTiming {
    /// Packets with DATA since the last SACK.
    packets: u16,
    /// A SACK must leave now.
    now: bool,
    /// The delayed SACK's time.
    due: Option<Instant>,
    pub(in crate::receiver::arrivals) duplicates: Vec<Tsn>,
    /// a_rwnd of the last SACK.
    pub(in crate::receiver::arrivals) last_advertised: u32,
    /// Something was ever received: the first DATA chunk is acknowledged at once.
    started: bool,
}

/// When a SACK may wait, and for how long.
#[derive(Clone, Copy, Debug)]
pub(in crate::receiver::arrivals) struct AckPolicy {
    /// A SACK for so many packets with DATA.
    pub(in crate::receiver::arrivals) every: u16,
    /// SACK.Delay.
    pub(in crate::receiver::arrivals) delay: Duration,
    /// The clock that its timer follows.
    pub(in crate::receiver::arrivals) clock: Clock,
    /// The first DATA of all is acknowledged at once.
    pub(in crate::receiver::arrivals) first_at_once: bool,
}

impl AckPolicy {
    /// The policy of a configuration.
    #[inline]
    pub(in crate::receiver::arrivals) fn of(config: &Config) -> Self {
        Self {
            every: config.sack.every,
            delay: config.sack.delay,
            clock: config.clock(),
            first_at_once: config.sack.first_at_once,
        }
    }
}

/// The data of a packet, as acknowledgements go by it.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::receiver::arrivals) struct PacketSummary {
    /// At least one DATA chunk was in it.
    pub(in crate::receiver::arrivals) has_data: bool,
    /// At least one was new.
    pub(in crate::receiver::arrivals) new: bool,
    /// At least one was a duplicate.
    pub(in crate::receiver::arrivals) duplicate: bool,
    /// A hole exists, or existed before the packet.
    pub(in crate::receiver::arrivals) hole: bool,
    /// The I bit was set, or a chunk was dropped for lack of buffer.
    pub(in crate::receiver::arrivals) immediate: bool,
}

impl AckTiming {
    /// A packet has been read to its end.
    // rfc8260:2.1-2 rfc7053:5.2-1
    // rfc9260:5.1.5-6 rfc9260:5.1-18 rfc9260:5.1-19 rfc9260:6.2-8 rfc9260:6.2-9 rfc9260:6.2-19 rfc9260:6.2-20
    // rfc9260:6.7-1 rfc9260:7.2.4-1
    #[inline]
    pub(in crate::receiver::arrivals) fn on_packet(
        &mut self,
        now: Instant,
        packet: PacketSummary,
        policy: AckPolicy,
    ) {
        if !packet.has_data {
            return;
        }
        self.packets = self.packets.saturating_add(1);
        // "whenever an endpoint notices a hole ... it SHOULD start sending a SACK chunk back every time a packet
        // arrives" (7.2.4); "duplicate DATA chunk(s) and with no new DATA chunk(s), the endpoint MUST immediately
        // send a SACK chunk" (6.2); so is the first DATA chunk of an association (5.1).
        if packet.hole
            || packet.immediate
            || (packet.duplicate && !packet.new)
            || (!self.started && policy.first_at_once)
            || self.packets >= policy.every
            || policy.delay == Duration::ZERO
        {
            self.now = true;
        } else if self.due.is_none() {
            self.due = Some(policy.clock.after(now, policy.delay));
        }
        self.started = true;
    }

    /// A duplicate arrived: "The duplicate TSN number(s) SHOULD be reported in the SACK chunk".
    // rfc9260:6.2-21
    pub(in crate::receiver::arrivals) fn on_duplicate(&mut self, tsn: Tsn) {
        if self.duplicates.len() < MAX_DUPLICATES {
            self.duplicates.push(tsn);
        }
    }

    /// Asks for a SACK at once (window update, SHUTDOWN-SENT).
    pub(in crate::receiver::arrivals) fn demand(&mut self) {
        self.now = true;
    }

    /// A SHUTDOWN chunk has acknowledged everything: the SACK, which also tells the window, waits for its timer, unless the peer may
    /// have used a quarter of the window that it was told of, with packets of at most `packet` bytes.
    pub(in crate::receiver::arrivals) fn leave_to_shutdown(
        &mut self,
        now: Instant,
        packet: u32,
        policy: AckPolicy,
    ) {
        let used = u64::from(self.packets) * u64::from(packet);
        if !self.now || policy.delay == Duration::ZERO || used > u64::from(self.last_advertised / 4) {
            return;
        }
        self.now = false;
        if self.due.is_none() {
            self.due = Some(policy.clock.after(now, policy.delay));
        }
    }

    /// The delayed SACK's timer ran out.
    pub(in crate::receiver::arrivals) fn on_timeout(&mut self, now: Instant) {
        if self.due.is_some_and(|due| due <= now) {
            self.due = None;
            self.now = true;
        }
    }

    /// True if any data has ever come.
    pub(in crate::receiver::arrivals) fn has_started(&self) -> bool {
        self.started
    }

    pub(in crate::receiver::arrivals) fn is_due_now(&self) -> bool {
        self.now
    }

    /// True if received data waits for its acknowledgement: a SACK rides with any packet that leaves.
    pub(in crate::receiver::arrivals) fn is_pending(&self) -> bool {
        self.now || self.packets > 0
    }

    pub(in crate::receiver::arrivals) fn timer(&self) -> Option<Instant> {
        self.due
    }

    /// A SACK has been written.
    pub(in crate::receiver::arrivals) fn sent(&mut self, advertised: u32) {
        self.packets = 0;
        self.now = false;
        self.due = None;
        self.duplicates.clear();
        self.last_advertised = advertised;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DELAY: Duration = Duration::from_millis(200);

    fn policy() -> AckPolicy {
        AckPolicy::of(&Config::rfc9260())
    }

    fn data() -> PacketSummary {
        PacketSummary { has_data: true, new: true, ..PacketSummary::default() }
    }

    fn started() -> AckTiming {
        let mut s = AckTiming::default();
        s.on_packet(Instant::ZERO, data(), policy());
        assert!(s.is_due_now(), "the first DATA chunk is acknowledged at once");
        s.sent(1000);
        s
    }

    // rfc9260:6.2-8
    #[test]
    fn every_second_packet_or_200_ms() {
        let mut s = started();
        s.on_packet(Instant::from_nanos(5), data(), policy());
        assert!(!s.is_due_now() && s.is_pending());
        assert_eq!(s.timer(), Some(Instant::from_nanos(5) + DELAY));
        s.on_packet(Instant::from_nanos(6), data(), policy());
        assert!(s.is_due_now());
        s.sent(0);
        assert!(!s.is_pending() && s.timer().is_none());
        s.on_packet(Instant::ZERO, data(), policy());
        s.on_timeout(Instant::ZERO + DELAY);
        assert!(s.is_due_now());
    }

    // rfc8260:2.1-2 rfc7053:5.2-1
    // rfc9260:7.2.4-1
    #[test]
    fn holes_duplicates_and_the_i_bit_do_not_wait() {
        for packet in [
            PacketSummary { hole: true, ..data() },
            PacketSummary { immediate: true, ..data() },
            PacketSummary { duplicate: true, new: false, ..data() },
        ] {
            let mut s = started();
            s.on_packet(Instant::ZERO, packet, policy());
            assert!(s.is_due_now(), "{packet:?}");
        }
        let mut s = started();
        s.on_packet(Instant::ZERO, PacketSummary { duplicate: true, ..data() }, policy());
        assert!(!s.is_due_now(), "a duplicate beside new data may wait");
        let mut s = started();
        s.on_packet(Instant::ZERO, PacketSummary::default(), policy());
        assert!(!s.is_pending());
        for _ in 0..100 {
            s.on_duplicate(Tsn::new(1));
        }
        assert_eq!(s.duplicates.len(), MAX_DUPLICATES);
    }
}
