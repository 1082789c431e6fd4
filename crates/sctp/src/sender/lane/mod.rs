//! A lane: one subflow on one path. What it has in flight, its T3-rtx timer, losses, congestion controller and pacer.

pub(super) mod loss;
pub(super) mod marked;
mod pacing;
pub(super) mod rack;
mod recovery;

use anabranch_base::{Duration, Instant, rare};
use anabranch_transport::congestion::Controller;
use anabranch_transport::pacer::Pacer;
use anabranch_transport::reduction::Reducing;
use anabranch_transport::rtt::RttEstimator;

use super::flight::{Counted, LaneAck};
use crate::config::{Config, LossDetection, MaxBurst, Reduction};
use crate::context::Context;
use crate::encoding::Encoding;
use crate::ids::{PathId, SpaceId, SubflowId};
use crate::path::{Path, Paths};
use loss::Loss;
use marked::{Circumstances, Marked, Report};
use rack::Rack;

pub(super) use recovery::{Doubt, Recovery};

/// Doublings of an interval that reach any RTO.Max.
const MOST_DOUBLINGS: u8 = 20;

/// No RTO counts as shorter than this where a pause is measured in RTOs.
const SHORTEST_RTO: Duration = Duration::from_millis(1);

/// The chunk being timed when one measurement is made per round trip (RFC 9260, 6.3.1, C4).
#[derive(Clone, Copy, Debug)]
pub(super) struct TimedChunk {
    pub(super) seq: u64,
    pub(super) sent_at: Instant,
}

/// From where a window comes down.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fall {
    /// In flight before the loss was found, bytes (RecoverFS of RFC 9937).
    pub(super) prior: u64,
    /// What a window had let leave of that, or the window itself where that was more, bytes.
    pub(super) most: u64,
}

/// What a lane's timer of losses is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LossTimer {
    /// Chunks that may only be late are lost by then (RFC 8985, 6.3).
    Reordering,
    /// The tail may be lost: a probe is due (RFC 8985, 7.3).
    Probe,
    /// KAME's early fast retransmit.
    EarlyRetransmit,
    /// KAME: packets that leave without a SACK.
    Burst,
}

/// What every packet asks for stands first.
#[derive(Debug)]
pub(super) struct Lane {
    /// Bytes in flight, as windows count them: DATA chunk headers included, or not.
    pub(super) flight: u64,
    /// Chunks in flight.
    pub(super) flight_chunks: u32,
    /// What of the flight is headers and padding, bytes.
    flight_overhead: u32,
    /// Chunks neither cumulatively nor gap acknowledged: in flight or marked lost.
    pub(super) unacked: u32,
    burst: Burst,
    /// Max.Burst as a clamp: what windows are counted in, bytes, and no new data once so much is in flight.
    burst_unit: u32,
    burst_window: u64,
    /// The sequence space under which it sends.
    pub(super) space: SpaceId,
    pub(super) path: PathId,
    /// The subflow that it carries; the first of them where several share it.
    pub(super) subflow: SubflowId,
    /// Bytes of header that count for each chunk.
    pub(super) chunk_header: u8,
    /// Padding that counts for each chunk: 3, or 0 for none.
    padding: u8,
    /// So many packets of new data may leave whatever cwnd says.
    pub(super) cwnd_exempt_new: u8,
    /// One packet of marked chunks may leave whatever cwnd says (7.2.4, step 3).
    pub(super) cwnd_exempt_packet: bool,
    /// Marked chunks wait for the next SACK.
    pub(super) awaiting_sack: bool,
    /// After T3-rtx expired: "no more than one SCTP packet will be in flight ... until the endpoint receives
    /// acknowledgement" (7.2.3).
    pub(super) single_packet: bool,
    /// The chunk being timed was still unacknowledged before the SACK that is being read.
    pub(super) timed_open: bool,
    /// T3-rtx.
    pub(super) t3: Option<Instant>,
    /// Time of the last DATA sent that was no window probe.
    pub(super) last_sent: Option<Instant>,
    /// The chunk being timed.
    pub(super) timed: Option<TimedChunk>,
    pub(super) controller: Controller,
    /// Which of its chunks are lost.
    pub(super) loss: Loss,
    /// What RACK knows, where it finds losses.
    pub(super) rack: Option<Box<Rack>>,
    /// When packets leave, where they are paced.
    pub(super) pacer: Option<Box<Pacer>>,
    /// Its round trips, where it is not the first subflow on its path: that one goes by the path's.
    own_rtt: Option<Box<RttEstimator>>,
    /// A timer besides T3-rtx, and what it is for.
    pub(super) loss_timer: Option<(Instant, LossTimer)>,
    /// The Fast Recovery exit point, or the last one.
    pub(super) recovery_exit: Option<u64>,
    /// That point is what had been sent when T3-rtx expired: the window grows, but what is lost below it was known to be.
    pub(super) after_timeout: bool,
    /// What a recovery has besides, where more is asked for than RFC 9260 has.
    pub(super) recovery: Option<Box<Recovery>>,
    /// What the next round trip must acknowledge to have ended.
    pub(super) round_end: u64,
    /// The lane's earliest unacknowledged chunk, kept where lanes share a space.
    pub(super) earliest: u64,
    /// Shortest round trip so far.
    pub(super) min_rtt: Option<Duration>,
    /// The last sample of the round trip, where there is a shortest.
    pub(super) newest_rtt: Duration,
    /// Chunks that were taken for lost.
    pub(super) chunks_lost: u32,
    /// The last one-way delay that the peer's timestamps gave (level 1), in microseconds less the difference of the clocks.
    pub(super) one_way_delay_us: Option<i32>,
    pub(super) cwnd_peak: u64,
}

/// What Max.Burst still allows before the next SACK.
#[derive(Debug)]
struct Burst {
    rule: MaxBurst,
    /// Bytes that have left the flight since new data left last.
    freed: u32,
    /// After recovery: the limit applies; packets sent since the last SACK.
    limited: bool,
    packets: u16,
    blocked: bool,
}

impl Lane {
    /// A lane of a subflow on a path; `peer_rwnd` is the peer's first a_rwnd where it is known. `None` where there is no such path.
    pub(super) fn new(
        cx: &Context,
        encoding: Encoding,
        subflow: SubflowId,
        path: PathId,
        peer_rwnd: u32,
    ) -> Option<Self> {
        let config = &*cx.config;
        let on = cx.paths.get(path)?;
        let unit = on.size().window_unit(config);
        let controller = config.controller(unit, on.remote().is_ipv6(), peer_rwnd);
        let own_rtt = subflow != SubflowId::FIRST;
        let mut lane = Self {
            flight: 0,
            flight_chunks: 0,
            flight_overhead: 0,
            unacked: 0,
            burst: Burst {
                rule: config.congestion.max_burst,
                freed: 0,
                limited: false,
                packets: 0,
                blocked: false,
            },
            burst_unit: unit,
            burst_window: u64::MAX,
            space: SpaceId::FIRST,
            path,
            subflow,
            chunk_header: counted_header(config, encoding),
            padding: if config.emulation.flight_counts_padding { 3 } else { 0 },
            cwnd_exempt_new: 0,
            cwnd_exempt_packet: false,
            awaiting_sack: false,
            single_packet: false,
            timed_open: false,
            t3: None,
            last_sent: None,
            timed: None,
            cwnd_peak: controller.window(),
            controller,
            loss: Loss::new(
                config.congestion.fast_retransmit_threshold,
                config.emulation.quirks.first_chunk_by_timeout,
            ),
            rack: (config.congestion.loss_detection == LossDetection::Rack).then(|| Box::new(Rack::new())),
            pacer: config.paces().then(|| Box::new(Pacer::new(&config.pacer_rules(on.pmdcs())))),
            own_rtt: own_rtt.then(|| Box::new(RttEstimator::new(&config.rtt_rules()))),
            loss_timer: None,
            recovery_exit: None,
            after_timeout: false,
            recovery: None,
            round_end: 0,
            earliest: 0,
            min_rtt: None,
            newest_rtt: Duration::ZERO,
            chunks_lost: 0,
            one_way_delay_us: None,
        };
        lane.open_burst();
        Some(lane)
    }

    /// The user has changed Max.Burst or the bounds of the RTO.
    pub(super) fn follow(&mut self, config: &Config) {
        if self.burst.rule != config.congestion.max_burst {
            self.burst.rule = config.congestion.max_burst;
            (self.burst_window, self.burst.limited) = (u64::MAX, false);
            self.open_burst();
        }
        if let Some(own) = &mut self.own_rtt {
            own.set_bounds(config.timers.rto_min, config.timers.rto_max);
        }
    }

    /// Its round-trip estimate: the path's, or its own.
    #[inline]
    pub(super) fn rtt<'a>(&'a self, paths: &'a Paths) -> Option<&'a RttEstimator> {
        match &self.own_rtt {
            None => paths.get(self.path).map(Path::rtt),
            Some(own) => Some(own),
        }
    }

    #[inline]
    pub(super) fn rtt_mut<'a>(&'a mut self, paths: &'a mut Paths) -> Option<&'a mut RttEstimator> {
        match &mut self.own_rtt {
            None => paths.get_mut(self.path).map(Path::rtt_mut),
            Some(own) => Some(own),
        }
    }

    #[inline]
    pub(super) fn srtt(&self, cx: &Context) -> Option<Duration> {
        self.rtt(&cx.paths).and_then(RttEstimator::srtt)
    }

    /// The last sample of the round trip.
    pub(super) fn last_rtt(&self) -> Option<Duration> {
        self.min_rtt.map(|_| self.newest_rtt)
    }

    /// RTTVAR, once there is a sample.
    pub(super) fn rttvar(&self, cx: &Context) -> Option<Duration> {
        self.rtt(&cx.paths).filter(|rtt| rtt.srtt().is_some()).map(RttEstimator::rttvar)
    }

    #[inline]
    pub(super) fn rto(&self, cx: &Context) -> Duration {
        self.rtt(&cx.paths).map_or(cx.config.timers.rto_initial, RttEstimator::rto)
    }

    /// The window was set to what no acknowledgement has made it: it may be the largest.
    pub(super) fn note_window(&mut self) {
        self.cwnd_peak = self.cwnd_peak.max(self.controller.window());
    }

    /// Packets have another size: windows are counted in `unit` bytes, full packets hold `pmdcs` bytes of chunks.
    pub(super) fn resize(&mut self, unit: u32, pmdcs: u32) {
        self.burst_unit = unit;
        self.controller.resize(u64::from(unit));
        self.note_window();
        if let Some(pacer) = &mut self.pacer {
            pacer.resize(pmdcs);
        }
    }

    /// Keeps of the lane whose place it takes its round-trip estimate and what it has sent.
    pub(super) fn inherit(&mut self, old: &mut Self) {
        self.own_rtt = old.own_rtt.take();
        self.space = old.space;
        self.loss = std::mem::take(&mut old.loss);
        self.earliest = old.earliest;
    }

    /// Whether one more new chunk may enter the flight: "if the flightsize does not currently reach cwnd" (6.1 B),
    /// and Max.Burst (6.1 D).
    // rfc9260:6.1-10 rfc9260:6.1-11 rfc9260:6.1-12
    #[inline]
    pub(super) fn may_send_new(&self) -> bool {
        !self.single_packet
            && self.flight < self.window()
            && self.flight < self.burst_window
            && !self.burst.blocked
            || self.cwnd_exempt_new > 0
    }

    /// Whether a marked chunk may be sent again now (6.1 C).
    pub(super) fn may_retransmit(&self) -> bool {
        self.cwnd_exempt_packet || (!self.awaiting_sack && !self.single_packet && self.flight < self.window())
    }

    /// A new occasion to send: what Max.Burst allows begins anew.
    // rfc9260:6.1-14 rfc9260:6.1-15
    pub(super) fn open_burst(&mut self) {
        self.burst.freed = 0;
        self.open_burst_after_sack();
    }

    /// What Max.Burst allows begins anew with a SACK: what that has taken out of the flight may count.
    pub(super) fn open_burst_after_sack(&mut self) {
        self.burst.packets = 0;
        self.burst.blocked = false;
        let unit = u64::from(self.burst_unit);
        match self.burst.rule {
            MaxBurst::Clamp(n) => self.burst_window = self.flight + u64::from(n) * unit,
            MaxBurst::Acknowledged(n) => {
                let most = (u64::from(n) * unit).max(2 * u64::from(self.burst.freed));
                self.burst_window = self.flight + most;
            }
            MaxBurst::Off | MaxBurst::AfterRecovery(_) => {}
        }
    }

    /// A packet with new data was begun.
    pub(super) fn count_new_packet(&mut self) {
        self.cwnd_exempt_new = self.cwnd_exempt_new.saturating_sub(1);
        self.burst.freed = 0;
        if let MaxBurst::AfterRecovery(n) = self.burst.rule {
            rare();
            self.burst.packets += 1;
            if self.burst.limited && self.burst.packets >= n {
                self.burst.limited = false;
                self.burst.blocked = true;
            }
        }
    }

    /// The cumulative TSN passed a fast retransmitted chunk: the rule [`MaxBurst::AfterRecovery`] applies next.
    pub(super) fn limit_next_burst(&mut self) {
        self.burst.limited = true;
    }

    /// A chunk enters the flight.
    pub(super) fn on_sent(&mut self, now: Instant, size: u64, overhead: u8) {
        self.flight += size;
        self.flight_chunks += 1;
        self.flight_overhead += u32::from(overhead);
        self.last_sent = Some(now);
    }

    /// Chunks were given up, or are to be sent again: "marked for retransmission" is not in flight any more.
    pub(super) fn leave_flight(&mut self, chunks: Counted) {
        self.flight = self.flight.saturating_sub(chunks.bytes);
        self.flight_chunks = self.flight_chunks.saturating_sub(chunks.chunks);
        self.flight_overhead = self.flight_overhead.saturating_sub(chunks.overhead);
    }

    /// What is in flight.
    pub(super) fn in_flight(&self) -> Counted {
        Counted { bytes: self.flight, chunks: self.flight_chunks, overhead: self.flight_overhead }
    }

    /// The chunk goes on with another overhead.
    pub(super) fn recount(&mut self, before: Counted, after: Counted) {
        self.flight = (self.flight + after.bytes).saturating_sub(before.bytes);
        self.flight_overhead = (self.flight_overhead + after.overhead).saturating_sub(before.overhead);
    }

    /// Applies what a SACK took out of the flight, or put back.
    pub(super) fn on_acked(&mut self, ack: &LaneAck) {
        self.flight = (self.flight + ack.reneged).saturating_sub(ack.left_flight);
        // No more is in flight than fits the peer's window of 32 bits.
        self.burst.freed = self.burst.freed.wrapping_add(ack.left_flight as u32);
        self.flight_chunks = (self.flight_chunks + ack.reneged_chunks).saturating_sub(ack.left_chunks);
        self.flight_overhead =
            (self.flight_overhead + ack.reneged_overhead).saturating_sub(ack.left_overhead);
        self.unacked = (self.unacked + ack.reneged_chunks).saturating_sub(ack.acked_chunks);
    }

    /// Numbers begin anew, and nothing is in flight.
    pub(super) fn forget_numbers(&mut self) {
        self.timed = None;
        self.end_recovery();
        (self.earliest, self.round_end) = (0, 0);
        self.controller.end_round();
        if let Some(rack) = &mut self.rack {
            rack.forget_numbers();
        }
    }

    /// Timers stop, and what losses have allowed or forbidden is over: its chunks go elsewhere, or get other numbers.
    pub(super) fn forget_recovery(&mut self) {
        self.t3 = None;
        self.loss_timer = None;
        if let Some(pacer) = &mut self.pacer {
            pacer.at = None;
        }
        if let Some(rack) = &mut self.rack {
            rack.forget();
        }
        self.timed = None;
        self.end_recovery();
        self.cwnd_exempt_packet = false;
        self.awaiting_sack = false;
        self.single_packet = false;
        self.open_burst();
    }

    /// The association has ended: no timer is left, and nothing is under way.
    pub(super) fn stop(&mut self) {
        (self.flight, self.flight_chunks, self.flight_overhead, self.unacked) = (0, 0, 0, 0);
        self.t3 = None;
        self.loss_timer = None;
        if let Some(pacer) = &mut self.pacer {
            pacer.at = None;
        }
        self.loss.restart();
    }

    /// Everything leaves for another lane: what was in flight, and chunks unacknowledged.
    pub(super) fn hand_over(&mut self) -> (Counted, u32) {
        self.forget_recovery();
        let all = (self.in_flight(), self.unacked);
        (self.flight, self.flight_chunks, self.flight_overhead, self.unacked) = (0, 0, 0, 0);
        self.open_burst();
        all
    }

    /// What another lane handed over.
    pub(super) fn take_over(&mut self, (flight, unacked): &(Counted, u32)) {
        self.flight += flight.bytes;
        self.flight_chunks += flight.chunks;
        self.flight_overhead += flight.overhead;
        self.unacked += unacked;
        self.open_burst();
    }

    /// Whether `cumulative` (the earliest sequence number not acknowledged) is still at or below the exit point.
    pub(super) fn in_recovery(&self, cumulative: u64) -> bool {
        !self.after_timeout && self.is_below_exit(cumulative)
    }

    /// Whether it is at or below the exit point, or what had been sent when T3-rtx expired: a loss there is no news.
    #[inline]
    pub(super) fn is_below_exit(&self, cumulative: u64) -> bool {
        self.recovery_exit.is_some_and(|exit| cumulative <= exit)
    }

    /// Packets were marked, as `marked` is told. True when the window has come down for it.
    pub(super) fn on_marked(
        &mut self,
        marked: &mut Marked,
        around: &Circumstances<'_>,
        report: &Report,
    ) -> bool {
        let known = self.is_below_exit(report.seq);
        marked.on_report(&mut self.controller, around, report, self.burst_unit.into(), known)
    }

    /// Nothing of a recovery is left.
    pub(super) fn end_recovery(&mut self) {
        self.recovery_exit = None;
        self.after_timeout = false;
        self.recovery = None;
    }

    /// Recovery begins, or without `fall` T3-rtx has expired: what had been sent is below `exit`.
    #[cold]
    pub(super) fn begin_recovery(&mut self, cx: &Context, exit: u64, fall: Option<Fall>) {
        let config = &cx.config;
        let by_timeout = fall.is_none();
        // A model says what may be in flight during recovery, too.
        let prr =
            fall.filter(|_| !self.controller.is_model() && config.congestion.reduction == Reduction::Prr);
        let mss = u64::from(self.burst_unit);
        self.recovery_exit = Some(exit);
        self.after_timeout = by_timeout;
        let remembers = prr.is_some() || config.congestion.undo || config.congestion.lost_again_cuts;
        self.recovery = remembers.then(|| {
            Box::new(Recovery {
                since: cx.now,
                reducing: prr.map(|fall| Reducing::proportional(fall.prior, fall.most, mss, 1)),
                doubt: config.congestion.undo.then(|| Doubt::new(exit)),
            })
        });
    }

    /// A SACK in a recovery; `first` is the first number not acknowledged, `next` the first not sent. `safe`: the cumulative point moved,
    /// nothing more was found lost, and nothing taken back.
    #[inline(never)]
    pub(super) fn step_recovery(&mut self, ack: &LaneAck, safe: bool, first: u64, next: u64) {
        let (delivered, taken_back) = (ack.delivered(), ack.reneged);
        let below = self.is_below_exit(first);
        let (pipe, ssthresh) = (self.flight, self.controller.ssthresh());
        let Some(recovery) = &mut self.recovery else { return };
        if !below {
            if recovery.over(first, next) {
                self.recovery = None;
            }
        } else if let Some(reducing) = recovery.reducing.as_mut().filter(|_| delivered + taken_back > 0) {
            reducing.on_ack(delivered, taken_back, safe, pipe, ssthresh);
        }
    }

    /// Time has shown the loss, and no SACK tells what may leave: the retransmission may, and no more until one comes.
    #[cold]
    pub(super) fn begin_reduction(&mut self) {
        let (pipe, ssthresh) = (self.flight, self.controller.ssthresh());
        if let Some(reducing) = self.recovery.as_mut().and_then(|recovery| recovery.reducing.as_mut()) {
            reducing.on_ack(0, 0, false, pipe, ssthresh);
        }
    }

    /// What may be in flight: cwnd, or what it is while it comes down.
    ///
    /// That is never less than four packets, where the loss leaves so many (RFC 9260, 7.2.3: "max(cwnd / 2, 4 * PMDCS)"): in proportion a window of a few packets
    /// is one of none as soon as a retransmission is lost as well, and only T3-rtx goes on.
    #[inline]
    fn window(&self) -> u64 {
        let reducing = self.recovery.as_ref().and_then(|recovery| recovery.reducing.as_ref());
        let Some(reducing) = reducing else { return self.controller.window() };
        reducing.window().max(self.controller.ssthresh().min(4 * u64::from(self.burst_unit)))
    }

    /// Everything that was sent again had arrived: the cut was needless (RFC 3708, 3; RFC 9438, 4.9).
    #[cold]
    pub(super) fn undo(&mut self) {
        self.controller.undo();
        self.end_recovery();
        self.open_burst();
    }

    // rfc9260:6.1-21 rfc9260:6.3.3-1
    #[inline]
    pub(super) fn arm_t3(&mut self, cx: &Context) {
        self.t3 = Some(cx.config.clock().after(cx.now, self.rto(cx)));
    }

    /// T3-rtx of a window probe: its interval has doubled so many times (6.1 A).
    pub(super) fn stretch_t3(&mut self, cx: &Context, doublings: u8) {
        let interval = self.rto(cx) * (1 << doublings.min(MOST_DOUBLINGS));
        self.t3 = Some(cx.config.clock().after(cx.now, interval.min(cx.config.timers.rto_max)));
    }

    /// Halves cwnd for every RTO that passed without a transmission (7.2.1), before the next one. For a lane with nothing
    /// unacknowledged, or no more than a window probe: "the cwnd SHOULD be adjusted according to Section 7.2.1. Zero window probing does
    /// not affect the calculation of cwnd" (6.1 A). True when an RTO has passed.
    // rfc9260:7.2.1-10
    #[inline]
    pub(super) fn decay(&mut self, cx: &Context) -> bool {
        // One of many messages that are handed in at once: no RTO has passed.
        self.last_sent.is_some_and(|last| cx.now.saturating_since(last) >= SHORTEST_RTO)
            && self.decay_after_pause(cx)
    }

    #[inline(never)]
    fn decay_after_pause(&mut self, cx: &Context) -> bool {
        let Some(last) = self.last_sent else { return false };
        self.controller.on_pause(cx.now.saturating_since(last));
        let rto = self.rto(cx).max(SHORTEST_RTO);
        let mut idle = (cx.now - last).as_nanos() / rto.as_nanos();
        // Thirty halvings reach any floor.
        idle = idle.min(30);
        for _ in 0..idle {
            self.controller.on_idle();
        }
        if idle > 0 {
            self.last_sent = Some(cx.now);
            self.open_burst();
        }
        idle > 0
    }
}

impl Lane {
    /// What windows count of a chunk with `len` bytes of user data besides these: header, and padding to four bytes. "the length of the
    /// DATA chunk, including the padding, SHOULD be used" (RFC 9260, 7.2).
    // rfc9260:7.2-4
    #[inline]
    pub(super) fn overhead_of(&self, len: u64) -> u8 {
        self.chunk_header + ((len as u8).wrapping_neg() & self.padding)
    }
}

/// Bytes of header that windows count for a data chunk, as many as are sent: outstanding data is "the total size of the DATA
/// chunks associated with outstanding TSNs" (RFC 9260, 2.3).
pub(super) fn counted_header(config: &Config, encoding: Encoding) -> u8 {
    if config.emulation.flight_counts_headers { encoding.header_len() as u8 } else { 0 }
}
