//! A lane: one subflow on one path, with its flight, T3-rtx timer, losses, congestion controller and pacer.
//!
//! It is made of parts, one for each reason to change; code that concerns several of them is a method of the lane. The
//! flight itself lies in the sequence space, which lanes may share.

mod burst;
mod in_flight;
pub(super) mod loss;
pub(super) mod mark_response;
mod pacing;
mod permits;
pub(super) mod rack;
mod rack_tlp;
mod recovery;
mod round_trip;
mod window;

use anabranch_base::{Duration, Instant};
use anabranch_transport::pacer::Pacer;
use anabranch_transport::rtt::RttEstimator;

use super::flight::{ChunkState, Counted, LaneAck};
use crate::config::Config;
use crate::context::Context;
use crate::ids::{PathId, SpaceId, SubflowId};
use crate::path::{Path, Paths};
use burst::Burst;
use in_flight::{HandedOver, InFlight};
use loss::Loss;
use mark_response::{Circumstances, Marked, Report};
use permits::Permits;
use recovery::Recovery;
use round_trip::RoundTrip;
use window::Window;

pub(super) use in_flight::counted_header;
pub(super) use rack_tlp::{LossTimer, RackTlp};
pub(super) use recovery::Fall;

/// Doublings after which any interval has reached any RTO.Max.
const MOST_DOUBLINGS: u8 = 20;

/// No RTO counts as shorter than this where a pause is measured in RTOs.
const SHORTEST_RTO: Duration = Duration::from_millis(1);

/// Fields that every packet needs stand first.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) in_flight: InFlight,
    burst: Burst,
    pub(super) permits: Permits,
    /// The sequence space under which the lane sends.
    space: SpaceId,
    path: PathId,
    /// The subflow that the lane carries; the first of them where several share it.
    subflow: SubflowId,
    /// Time at which T3-rtx expires.
    t3: Option<Instant>,
    pub(super) window: Window,
    /// Loss detection by missing reports, and the chunks marked for retransmission.
    pub(super) loss: Loss,
    pub(super) rack_tlp: RackTlp,
    pub(super) recovery: Recovery,
    pub(super) round_trip: RoundTrip,
    /// Pacer, which sets the times at which packets leave; `None` where they are not paced.
    pacer: Option<Box<Pacer>>,
}

impl Lane {
    /// A lane of a subflow on a path; `peer_rwnd` is the peer's first a_rwnd where it is known. `None` where there is no such path.
    pub(super) fn new(cx: &Context, subflow: SubflowId, path: PathId, peer_rwnd: u32) -> Option<Self> {
        let config: &Config = cx.env.config();
        let on = cx.paths.get(path)?;
        let unit = on.size().window_unit(config);
        Some(Self {
            in_flight: InFlight::new(config, cx.env.agreed().encoding()),
            burst: Burst::new(config.congestion.max_burst, unit),
            permits: Permits::default(),
            space: SpaceId::FIRST,
            path,
            subflow,
            t3: None,
            window: Window::new(config.controller(unit, on.remote().is_ipv6(), peer_rwnd)),
            loss: Loss::new(
                config.congestion.fast_retransmit_threshold,
                config.emulation.quirks.first_chunk_by_timeout,
            ),
            rack_tlp: RackTlp::new(config),
            recovery: Recovery::default(),
            round_trip: RoundTrip::new(config, subflow != SubflowId::FIRST),
            pacer: config.paces().then(|| Box::new(Pacer::new(&config.pacer_rules(on.pmdcs())))),
        })
    }

    /// The sequence space under which the lane sends.
    #[inline]
    pub(super) fn space(&self) -> SpaceId {
        self.space
    }

    /// The path of the lane.
    #[inline]
    pub(super) fn path(&self) -> PathId {
        self.path
    }

    /// The subflow that the lane carries; the first of them where several share it.
    #[inline]
    pub(super) fn subflow(&self) -> SubflowId {
        self.subflow
    }

    /// The user has changed Max.Burst or the bounds of the RTO.
    pub(super) fn follow(&mut self, config: &Config) {
        self.burst.follow(config.congestion.max_burst, self.in_flight.bytes());
        self.round_trip.follow(config);
    }

    /// The round-trip estimate of the lane: the path's, or its own.
    #[inline]
    pub(super) fn rtt<'a>(&'a self, paths: &'a Paths) -> Option<&'a RttEstimator> {
        match self.round_trip.own() {
            None => paths.get(self.path).map(Path::rtt),
            own => own,
        }
    }

    #[inline]
    pub(super) fn rtt_mut<'a>(&'a mut self, paths: &'a mut Paths) -> Option<&'a mut RttEstimator> {
        match self.round_trip.own_mut() {
            None => paths.get_mut(self.path).map(Path::rtt_mut),
            own => own,
        }
    }

    #[inline]
    pub(super) fn srtt(&self, cx: &Context) -> Option<Duration> {
        self.rtt(&cx.paths).and_then(RttEstimator::srtt)
    }

    /// RTTVAR, once there is a sample.
    pub(super) fn rttvar(&self, cx: &Context) -> Option<Duration> {
        self.rtt(&cx.paths).filter(|rtt| rtt.srtt().is_some()).map(RttEstimator::rttvar)
    }

    #[inline]
    pub(super) fn rto(&self, cx: &Context) -> Duration {
        self.rtt(&cx.paths).map_or(cx.env.config().timers.rto_initial, RttEstimator::rto)
    }

    /// Packets have another size: windows are counted in `unit` bytes, full packets hold `pmdcs` bytes of chunks.
    pub(super) fn resize(&mut self, unit: u32, pmdcs: u32) {
        self.burst.resize(unit);
        self.window.resize(u64::from(unit));
        if let Some(pacer) = &mut self.pacer {
            pacer.resize(pmdcs);
        }
    }

    /// Takes over the round-trip estimate, the space and the sent chunks of the old lane whose place this one takes.
    pub(super) fn inherit(&mut self, old: &mut Self) {
        self.round_trip.inherit(&mut old.round_trip);
        self.space = old.space;
        self.loss.inherit(&mut old.loss);
    }

    /// True if one more new chunk may enter the flight: "if the flightsize does not currently reach cwnd" (6.1 B),
    /// and Max.Burst (6.1 D).
    // rfc9260:6.1-10 rfc9260:6.1-11 rfc9260:6.1-12
    #[inline]
    pub(super) fn may_send_new(&self) -> bool {
        let flight = self.in_flight.bytes();
        !self.permits.is_single_packet() && flight < self.allowed() && self.burst.lets(flight)
            || self.permits.lets_new()
    }

    /// True if a marked chunk may be sent again now (6.1 C).
    pub(super) fn may_retransmit(&self) -> bool {
        self.permits.lets_marked()
            || (!self.permits.holds_marked() && self.in_flight.bytes() < self.allowed())
    }

    /// A new occasion to send: the allowance of Max.Burst begins anew.
    // rfc9260:6.1-14 rfc9260:6.1-15
    pub(super) fn open_burst(&mut self) {
        self.burst.open(self.in_flight.bytes());
    }

    /// Max.Burst begins anew with a SACK: the bytes that it has taken out of the flight may count.
    pub(super) fn open_burst_after_sack(&mut self) {
        self.burst.open_after_sack(self.in_flight.bytes());
    }

    /// A packet with new data was begun.
    pub(super) fn count_new_packet(&mut self) {
        self.permits.new_packet_begun();
        self.burst.packet_begun();
    }

    /// A chunk leaves for the first time, of `size` bytes with so much overhead.
    #[inline]
    pub(super) fn sent(&mut self, now: Instant, seq: u64, size: u64, overhead: u8) {
        self.in_flight.sent_first(size, overhead);
        self.window.sent(now);
        self.recovery.sent(size, None);
        self.loss.sent(seq);
        self.round_trip.sent(seq, now);
    }

    /// A chunk leaves again. `eligible`: it may be fast retransmitted; `through`: round trips are measured across retransmissions.
    #[inline]
    pub(super) fn sent_again(
        &mut self,
        now: Instant,
        seq: u64,
        (size, overhead): (u64, u8),
        eligible: bool,
        through: bool,
    ) {
        match self.rack_tlp.rack_mut() {
            None => self.loss.retransmitted(seq, eligible),
            Some(rack) => {
                rack.resent(now, seq);
                self.loss.retransmitted(seq, false);
            }
        }
        self.in_flight.sent(size, overhead);
        self.window.sent(now);
        self.recovery.sent(size, Some(seq));
        self.round_trip.sent_again(seq, through);
    }

    /// The chunk that has left was a window probe. Probes do not end the idleness of cwnd: it counts from `last_sent`, as before.
    pub(super) fn sent_probe(&mut self, last_sent: Option<Instant>) {
        self.window.sent_probe(last_sent);
    }

    /// Applies a SACK's changes to the flight. `paced`: marked chunks wait for the pacer.
    #[inline]
    pub(super) fn acknowledged(&mut self, ack: &LaneAck, paced: bool) {
        self.in_flight.acknowledged(ack);
        self.burst.acknowledged(ack.left_flight);
        self.permits.acknowledged(ack.acked_chunks > 0, paced);
        if ack.fast_retransmitted_acked {
            // The rule `MaxBurst::AfterRecovery` applies next.
            self.burst.limit_next();
        }
    }

    /// The peer has answered, though not to data: its SACK passes abandoned chunks.
    pub(super) fn heard(&mut self) {
        self.permits.heard();
        self.open_burst();
    }

    /// A chunk that was in `state` is given up.
    pub(super) fn given_up(&mut self, seq: u64, state: ChunkState, one: Counted) {
        self.in_flight.given_up(state, one);
        self.round_trip.given_up(seq);
    }

    /// Numbers begin anew, and nothing is in flight.
    pub(super) fn forget_numbers(&mut self) {
        self.round_trip.stop_timing();
        self.recovery.end();
        self.window.forget_numbers();
        self.rack_tlp.forget_numbers();
        self.loss.forget_numbers();
    }

    /// Timers stop, and permits and bans because of losses end: the chunks of the lane go elsewhere, or get other numbers.
    fn forget_recovery(&mut self) {
        self.t3 = None;
        self.rack_tlp.forget();
        self.stop_pacing();
        self.round_trip.stop_timing();
        self.recovery.end();
        self.permits.forget_losses();
        self.open_burst();
    }

    /// The association has ended: no timer is left, and no chunk is in flight.
    pub(super) fn stop(&mut self) {
        self.in_flight.clear();
        self.t3 = None;
        self.rack_tlp.stop();
        self.stop_pacing();
        self.loss.restart();
    }

    /// The lane sends in another space from now on; it has nothing in flight.
    pub(super) fn move_to(&mut self, space: SpaceId) {
        self.space = space;
        self.loss.restart();
    }

    /// The lane sends in a space of its own from now on: measurements from before have no meaning there.
    pub(super) fn settle_in(&mut self, space: SpaceId) {
        self.round_trip.stop_timing();
        self.recovery.end();
        self.move_to(space);
    }

    /// The lane sends in the space into which all are folded. Its permits and timers were for numbers that are gone: it
    /// begins as after a merger.
    pub(super) fn fold_into(&mut self, space: SpaceId) {
        self.forget_recovery();
        self.window.forget_numbers();
        self.move_to(space);
    }

    /// All chunks go over to another lane.
    pub(super) fn hand_over(&mut self) -> HandedOver {
        self.forget_recovery();
        let all = self.in_flight.hand_over();
        self.open_burst();
        all
    }

    /// Counts that another lane hands over.
    pub(super) fn take_over(&mut self, all: HandedOver) {
        self.in_flight.take_over(all);
        self.open_burst();
    }

    /// Packets were marked, as `report` says. True when the window has come down for it.
    pub(super) fn on_marked(
        &mut self,
        marked: &mut Marked,
        around: &Circumstances<'_>,
        report: &Report,
    ) -> bool {
        let known = self.recovery.is_below_exit(report.seq);
        self.window.packets_marked(marked, around, report, self.burst.unit(), known)
    }

    /// Recovery begins, or without `fall` T3-rtx has expired; `exit` is the last number sent so far.
    #[cold]
    pub(super) fn begin_recovery(&mut self, cx: &Context, exit: u64, fall: Option<Fall>) {
        let counted = (self.window.is_model(), self.burst.unit());
        self.recovery.begin(cx.env.now(), &cx.env.config().congestion, exit, fall, counted);
    }

    /// A SACK in a recovery; `first` is the first number not acknowledged, `next` the first not sent. `safe`: the cumulative point moved,
    /// nothing more was found lost, and nothing taken back.
    #[inline(never)]
    pub(super) fn step_recovery(&mut self, ack: &LaneAck, safe: bool, first: u64, next: u64) {
        let now = (self.in_flight.bytes(), self.window.ssthresh());
        self.recovery.step(ack, safe, (first, next), now);
    }

    /// Recovery begins at a timer, without a SACK: PRR lets the retransmission leave, and no more until a SACK comes.
    #[cold]
    pub(super) fn begin_reduction(&mut self) {
        self.recovery.begin_reduction(self.in_flight.bytes(), self.window.ssthresh());
    }

    /// Bytes that may be in flight: cwnd, or less while it comes down.
    ///
    /// A reduction in progress leaves no less than four packets, or ssthresh if that is less (RFC 9260, 7.2.3:
    /// "max(cwnd / 2, 4 * PMDCS)"): in proportion, a window of a few packets would fall to none as soon as a
    /// retransmission is lost as well, and only T3-rtx would go on.
    #[inline]
    fn allowed(&self) -> u64 {
        let Some(reducing) = self.recovery.reducing() else { return self.window.cwnd() };
        reducing.window().max(self.window.ssthresh().min(4 * self.burst.unit()))
    }

    /// All retransmitted chunks had arrived before: the cut was needless (RFC 3708, 3; RFC 9438, 4.9).
    #[cold]
    pub(super) fn undo(&mut self) {
        self.window.undo();
        self.recovery.end();
        self.open_burst();
    }

    /// Time at which T3-rtx expires.
    #[inline]
    pub(super) fn t3(&self) -> Option<Instant> {
        self.t3
    }

    /// Stops T3-rtx: the lane has nothing outstanding.
    #[inline]
    pub(super) fn stop_t3(&mut self) {
        self.t3 = None;
    }

    /// T3-rtx has expired: RACK and the timer of losses begin anew.
    pub(super) fn t3_expired(&mut self) {
        self.t3 = None;
        self.rack_tlp.forget();
    }

    /// The pacer keeps no packet back any more, or its time has come.
    pub(super) fn stop_pacing(&mut self) {
        if let Some(pacer) = &mut self.pacer {
            pacer.at = None;
        }
    }

    // rfc9260:6.1-21 rfc9260:6.3.3-1
    #[inline]
    pub(super) fn arm_t3(&mut self, cx: &Context) {
        self.t3 = Some(cx.env.config().clock().after(cx.env.now(), self.rto(cx)));
    }

    /// T3-rtx of a window probe: its interval has doubled so many times (6.1 A).
    pub(super) fn stretch_t3(&mut self, cx: &Context, doublings: u8) {
        let interval = self.rto(cx) * (1 << doublings.min(MOST_DOUBLINGS));
        self.t3 =
            Some(cx.env.config().clock().after(cx.env.now(), interval.min(cx.env.config().timers.rto_max)));
    }

    /// Halves cwnd for every RTO that passed without a transmission (7.2.1), before the next one. For a lane with nothing
    /// unacknowledged, or no more than a window probe: "the cwnd SHOULD be adjusted according to Section 7.2.1. Zero window probing does
    /// not affect the calculation of cwnd" (6.1 A). True when an RTO has passed.
    // rfc9260:7.2.1-10
    #[inline]
    pub(super) fn decay(&mut self, cx: &Context) -> bool {
        // One of many messages handed in together: no RTO has passed.
        self.window.last_sent().is_some_and(|last| cx.env.now().saturating_since(last) >= SHORTEST_RTO)
            && self.decay_after_pause(cx)
    }

    #[inline(never)]
    fn decay_after_pause(&mut self, cx: &Context) -> bool {
        let Some(last) = self.window.last_sent() else { return false };
        self.window.paused(cx.env.now().saturating_since(last));
        let rto = self.rto(cx).max(SHORTEST_RTO);
        // Thirty halvings reach the minimum of any window.
        let idle = ((cx.env.now() - last).as_nanos() / rto.as_nanos()).min(30);
        self.window.idled(cx.env.now(), idle);
        if idle > 0 {
            self.open_burst();
        }
        idle > 0
    }
}
