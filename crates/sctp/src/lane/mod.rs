//! A lane: one subflow on one path. Its round-trip estimate, T3-rtx timer, congestion controller and pacer.

use anabranch_base::{Duration, Instant};
use anabranch_transport::clock::Clock;
use anabranch_transport::congestion::Controller;
use anabranch_transport::pacer::{Pacer, Rate};
use anabranch_transport::rtt::RttEstimator;

use crate::config::{Config, LossDetection, MaxBurst};
use crate::subflow::flight::LaneAck;
use crate::subflow::loss::Loss;
use crate::subflow::rack::Rack;

/// What a lane's second timer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SecondTimer {
    /// Chunks that may only be late are lost by then (RFC 8985, 6.3).
    Reordering,
    /// The tail may be lost: a probe is due (RFC 8985, 7.3).
    Probe,
    /// KAME's early fast retransmit.
    EarlyRetransmit,
    /// KAME: packets that leave without a SACK.
    Burst,
}

/// The chunk being timed when one measurement is made per round trip (RFC 9260, 6.3.1, C4).
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimedChunk {
    pub(crate) seq: u64,
    pub(crate) sent_at: Instant,
}

#[derive(Debug)]
pub(crate) struct Lane {
    pub(crate) path: u8,
    /// The sequence space under which it sends.
    pub(crate) space: u8,
    /// The subflow that it carries; the first of them where several share it.
    pub(crate) subflow: u8,
    /// Which of its chunks are lost.
    pub(crate) loss: Loss,
    /// What RACK knows, where it finds losses.
    pub(crate) rack: Option<Box<Rack>>,
    /// A timer besides T3-rtx, and what it is for.
    pub(crate) second: Option<(Instant, SecondTimer)>,
    /// So many packets of new data may leave whatever cwnd says.
    pub(crate) free_new: u8,
    pub(crate) controller: Controller,
    /// When packets leave, where they are paced.
    pub(crate) pacer: Option<Box<Pacer>>,
    pub(crate) rtt: RttEstimator,
    /// What timers follow.
    pub(crate) clock: Clock,
    /// T3-rtx.
    pub(crate) t3: Option<Instant>,
    /// Bytes in flight, as windows count them: DATA chunk headers included, or not.
    pub(crate) flight: u64,
    /// Bytes of header that count for each chunk.
    pub(crate) chunk_header: u8,
    /// Chunks in flight.
    pub(crate) flight_chunks: u32,
    /// Chunks neither cumulatively nor gap acknowledged: in flight or marked lost.
    pub(crate) unacked: u32,
    /// The Fast Recovery exit point, or the last one.
    pub(crate) recovery_exit: Option<u64>,
    /// The chunk being timed was still unacknowledged before the SACK that is being read.
    pub(crate) timed_open: bool,
    /// The lane's earliest unacknowledged chunk, kept where lanes share a space.
    pub(crate) earliest: u64,
    /// Shortest round trip so far.
    pub(crate) min_rtt: Option<Duration>,
    /// The last one-way delay that the peer's timestamps gave (level 1), in microseconds less the difference of the clocks,
    /// and when it was learnt.
    pub(crate) one_way_delay: Option<(Instant, i64)>,
    /// What the next round trip must acknowledge to have ended.
    pub(crate) round_end: u64,
    /// The chunk being timed.
    pub(crate) timed: Option<TimedChunk>,
    /// One packet of marked chunks may leave whatever cwnd says (7.2.4, step 3).
    pub(crate) free_packet: bool,
    /// Marked chunks wait for the next SACK.
    pub(crate) held: bool,
    /// After T3-rtx expired: "no more than one SCTP packet will be in flight ... until the endpoint receives
    /// acknowledgement" (7.2.3).
    pub(crate) single_packet: bool,
    /// Time of the last DATA sent.
    pub(crate) last_sent: Option<Instant>,
    burst: Burst,
    pub(crate) cwnd_peak: u64,
}

/// What Max.Burst still allows before the next SACK.
#[derive(Debug)]
struct Burst {
    rule: MaxBurst,
    /// What windows are counted in, bytes.
    unit: u64,
    /// Clamp: no new data once this much is in flight.
    window: u64,
    /// After recovery: the limit applies; packets sent since the last SACK.
    limited: bool,
    packets: u16,
    blocked: bool,
}

impl Lane {
    pub(crate) fn new(config: &Config, path: u8, ipv6: bool, peer_rwnd: u32) -> Self {
        let controller = config.controller(ipv6, peer_rwnd);
        let unit = u64::from(config.window_unit());
        let mut lane = Self {
            path,
            space: 0,
            subflow: 0,
            loss: Loss::new(config.fast_retransmit_threshold, config.quirks.first_chunk_by_timeout),
            rack: (config.loss_detection == LossDetection::Rack).then(|| Box::new(Rack::new())),
            second: None,
            free_new: 0,
            timed_open: false,
            earliest: 0,
            min_rtt: None,
            one_way_delay: None,
            round_end: 0,
            cwnd_peak: controller.window(),
            controller,
            pacer: config.pacing.then(|| Box::new(Pacer::new(&config.pacer_rules()))),
            rtt: RttEstimator::new(&config.rtt_rules()),
            clock: config.clock(),
            t3: None,
            flight: 0,
            chunk_header: if config.flight_counts_headers { 16 } else { 0 },
            flight_chunks: 0,
            unacked: 0,
            recovery_exit: None,
            timed: None,
            free_packet: false,
            held: false,
            single_packet: false,
            last_sent: None,
            burst: Burst {
                rule: config.max_burst,
                unit,
                window: u64::MAX,
                limited: false,
                packets: 0,
                blocked: false,
            },
        };
        lane.open_burst();
        lane
    }

    /// Whether one more new chunk may enter the flight: "if the flightsize does not currently reach cwnd" (6.1 B),
    /// and Max.Burst (6.1 D).
    pub(crate) fn may_send_new(&self) -> bool {
        !self.single_packet
            && self.flight < self.controller.window()
            && self.flight < self.burst.window
            && !self.burst.blocked
            || self.free_new > 0
    }

    /// Whether a marked chunk may be sent again now (6.1 C).
    pub(crate) fn may_retransmit(&self) -> bool {
        self.free_packet || (!self.held && !self.single_packet && self.flight < self.controller.window())
    }

    /// How fast packets leave; `None` where they are not paced, or no round trip is known.
    fn pacing_rate(&self) -> Option<Rate> {
        let pacer = self.pacer.as_ref()?;
        pacer.rate(self.controller.window(), self.controller.ssthresh(), self.rtt.srtt())
    }

    /// Whether the pacer keeps the next packet back; then its timer is set. The packet that T3-rtx owes and probes never wait.
    #[inline(never)]
    pub(crate) fn must_wait(&mut self, now: Instant) -> bool {
        let Some(rate) = self.pacing_rate() else { return false };
        let free = self.single_packet || self.free_new > 0;
        !free && self.pacer.as_mut().is_some_and(|pacer| !pacer.lets(now, rate))
    }

    /// A packet left, with what has entered the flight since it had `flight_before` bytes.
    #[inline(never)]
    pub(crate) fn count_paced(&mut self, now: Instant, flight_before: u64) {
        let Some(rate) = self.pacing_rate() else { return };
        let bytes = self.flight.saturating_sub(flight_before);
        if let Some(pacer) = &mut self.pacer {
            pacer.sent(now, rate, bytes);
        }
        // "Senders MUST either use pacing or limit such bursts" (RFC 9002, 7.7): the bucket stands for Max.Burst.
        self.open_burst();
    }

    /// Whether data waits for the pacer and for nothing else.
    #[inline]
    pub(crate) fn is_held_back(&self) -> bool {
        self.pacer.as_ref().is_some_and(|pacer| pacer.at.is_some())
    }

    /// A new occasion to send: what Max.Burst allows begins anew.
    pub(crate) fn open_burst(&mut self) {
        self.burst.packets = 0;
        self.burst.blocked = false;
        if let MaxBurst::Clamp(n) = self.burst.rule {
            self.burst.window = self.flight + u64::from(n) * self.burst.unit;
        }
    }

    /// A packet with new data was begun.
    pub(crate) fn count_new_packet(&mut self) {
        self.free_new = self.free_new.saturating_sub(1);
        if let MaxBurst::AfterRecovery(n) = self.burst.rule {
            self.burst.packets += 1;
            if self.burst.limited && self.burst.packets >= n {
                self.burst.limited = false;
                self.burst.blocked = true;
            }
        }
    }

    /// The cumulative TSN passed a fast retransmitted chunk: the rule [`MaxBurst::AfterRecovery`] applies next.
    pub(crate) fn limit_next_burst(&mut self) {
        self.burst.limited = true;
    }

    /// A chunk enters the flight.
    pub(crate) fn on_sent(&mut self, now: Instant, size: u64) {
        self.flight += size;
        self.flight_chunks += 1;
        self.last_sent = Some(now);
    }

    /// Chunks were marked lost: "marked for retransmission" is not in flight any more.
    pub(crate) fn on_lost(&mut self, bytes: u64, chunks: u32) {
        self.flight = self.flight.saturating_sub(bytes);
        self.flight_chunks = self.flight_chunks.saturating_sub(chunks);
    }

    /// What the peer's window is charged for chunks that windows of ours count with `bytes`.
    pub(crate) fn charged(&self, bytes: u64, chunks: u32, with_headers: bool) -> u64 {
        let header = if with_headers { 16 } else { 0 };
        bytes + header * u64::from(chunks) - u64::from(self.chunk_header) * u64::from(chunks)
    }

    /// Applies what a SACK took out of the flight, or put back.
    pub(crate) fn on_acked(&mut self, ack: &LaneAck) {
        self.flight = (self.flight + ack.reneged).saturating_sub(ack.left_flight);
        self.flight_chunks = (self.flight_chunks + ack.reneged_chunks).saturating_sub(ack.left_chunks);
        self.unacked = (self.unacked + ack.reneged_chunks).saturating_sub(ack.acked_chunks);
    }

    /// Timers stop, and what losses have allowed or forbidden is over: its chunks go elsewhere, or get other numbers.
    pub(crate) fn forget_recovery(&mut self) {
        self.t3 = None;
        self.second = None;
        if let Some(pacer) = &mut self.pacer {
            pacer.at = None;
        }
        if let Some(rack) = &mut self.rack {
            rack.forget();
        }
        self.timed = None;
        self.recovery_exit = None;
        self.free_packet = false;
        self.held = false;
        self.single_packet = false;
        self.open_burst();
    }

    /// Everything leaves for another lane: what was in flight, in bytes and chunks, and unacknowledged.
    pub(crate) fn hand_over(&mut self) -> (u64, u32, u32) {
        self.forget_recovery();
        let all = (self.flight, self.flight_chunks, self.unacked);
        (self.flight, self.flight_chunks, self.unacked) = (0, 0, 0);
        self.open_burst();
        all
    }

    /// What another lane handed over.
    pub(crate) fn take_over(&mut self, (flight, chunks, unacked): &(u64, u32, u32)) {
        self.flight += flight;
        self.flight_chunks += chunks;
        self.unacked += unacked;
        self.open_burst();
    }

    /// Whether `cumulative` (the earliest sequence number not acknowledged) is still at or below the exit point.
    pub(crate) fn in_recovery(&self, cumulative: u64) -> bool {
        self.recovery_exit.is_some_and(|exit| cumulative <= exit)
    }

    pub(crate) fn arm_t3(&mut self, now: Instant) {
        self.t3 = Some(self.clock.after(now, self.rtt.rto()));
    }

    /// Halves cwnd for every RTO that passed without a transmission (7.2.1), before the next one.
    pub(crate) fn decay_if_idle(&mut self, now: Instant) {
        let Some(last) = self.last_sent else { return };
        if self.unacked > 0 {
            return;
        }
        let rto = self.rtt.rto().max(Duration::from_millis(1));
        let mut idle = (now - last).as_nanos() / rto.as_nanos();
        // Thirty halvings reach any floor.
        idle = idle.min(30);
        for _ in 0..idle {
            self.controller.on_idle();
        }
        if idle > 0 {
            self.last_sent = Some(now);
            self.open_burst();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With an empty bucket.
    #[test]
    fn what_the_pacer_keeps_back_and_what_never_waits() {
        let config = Config { pacing: true, ..Config::rfc9260() };
        let mut lane = Lane::new(&config, 0, false, 1 << 20);
        let now = Instant::from_nanos(5_000_000_000);
        let send = |lane: &mut Lane| {
            let before = lane.flight;
            lane.on_sent(now, 4 * 1468);
            lane.count_paced(now, before);
        };
        send(&mut lane);
        assert!(!lane.must_wait(now), "no round trip is known");
        lane.rtt.sample(Duration::from_millis(100));
        assert!(!lane.must_wait(now) && !lane.is_held_back(), "the bucket is full");
        send(&mut lane);
        assert!(lane.must_wait(now) && lane.is_held_back());
        lane.free_new = 1;
        assert!(!lane.must_wait(now), "a probe");
        lane.free_new = 0;
        lane.single_packet = true;
        assert!(!lane.must_wait(now), "what T3-rtx owes");
        lane.single_packet = false;
        assert!(lane.must_wait(now));
        lane.hand_over();
        assert!(!lane.is_held_back(), "no timer is left behind");
        let mut off = Lane::new(&Config::rfc9260(), 0, false, 1 << 20);
        off.rtt.sample(Duration::from_millis(100));
        send(&mut off);
        assert!(!off.must_wait(now));
    }
}
