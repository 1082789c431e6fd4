//! The sending half of a connection: what it holds, and what is asked of it from outside.

use super::doubt::Doubt;
use super::inflight::Inflight;
use super::rack::Rack;
use crate::config::{Config, LossRecovery, RttSampling, SsthreshBase};
use crate::event::Timer;
use crate::flight::Flight;
use crate::host_cache::Learnt;
use crate::send_queue::SendQueue;
use crate::stats::{HeldBack, Stats};
use anabranch_base::{Duration, Instant, RetransmitReason, Trace, TraceEvent, TraceRecord};
use anabranch_transport::congestion::{Base, Controller};
use anabranch_transport::pacer::Pacer;
use anabranch_transport::rack::Probe;
use anabranch_transport::reduction::Reducing;
use anabranch_transport::rtt::{MinRtt, RttEstimator};
use std::sync::Arc;

/// For so long the smallest round trip counts, as in Linux.
const MIN_RTT_WINDOW: Duration = Duration::from_secs(300);

/// What every handler needs beside its own state.
pub(crate) struct Context<'a> {
    pub(crate) now: Instant,
    pub(crate) id: u32,
    pub(crate) stats: &'a mut Stats,
    pub(crate) trace: &'a mut Trace,
}

impl Context<'_> {
    pub(crate) fn record(&mut self, build: impl FnOnce() -> TraceEvent) {
        let (at, association) = (self.now, self.id);
        self.trace.record(|| TraceRecord { at, association, subflow: 0, path: 0, event: build() });
    }
}

/// Where loss recovery stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Open,
    /// Fast recovery.
    Fast,
    /// After a timeout, until everything outstanding then is acknowledged.
    Loss,
}

/// What the one timer is for; the persist timer is a timeout with a shut window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Alarm {
    Timeout,
    /// Tail loss probe.
    Probe,
    /// RACK's reordering timer.
    Reordering,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fin {
    No,
    /// The user has closed; the FIN leaves with or after the last byte.
    Queued,
    /// With this sequence number.
    Sent(u64),
}

#[derive(Debug)]
pub(crate) struct Sender {
    pub(super) config: Arc<Config>,
    /// The recovery in force: without the peer's SACK the SACK kinds become NewReno.
    pub(super) recovery: LossRecovery,
    pub(super) sack: bool,
    /// Payload of a full segment.
    pub(super) mss: u64,
    pub(super) queue: SendQueue,
    pub(super) fin: Fin,
    /// First sequence number not acknowledged (SND.UNA).
    pub(super) una: u64,
    /// First sequence number never sent (the largest SND.NXT so far).
    pub(super) max: u64,
    pub(super) flight: Flight,
    pub(super) congestion: Controller,
    /// With `pacing`, and where the controller follows a model.
    pub(super) pacer: Option<Box<Pacer>>,
    pub(super) rtt: RttEstimator,
    pub(super) min_rtt: MinRtt,
    /// Retransmission or persist timer; never both.
    pub(super) timer: Option<Instant>,
    pub(super) alarm: Alarm,
    /// When the retransmission timer would expire, were it not for a probe.
    pub(super) timeout_at: Instant,
    /// Timeouts in a row without an acknowledgement of new data.
    pub(super) failures: u32,
    /// The peer's window from `una`, bytes, and the segment that brought it (SND.WL1, SND.WL2).
    pub(super) window: u64,
    pub(super) window_from: (u64, u64),
    pub(super) probing: bool,
    /// A zero-window probe with one byte of new data leaves next.
    pub(super) probe_byte: bool,
    pub(super) phase: Phase,
    /// No new fast retransmit before this is acknowledged; the end of the phase.
    pub(super) recover: Option<u64>,
    pub(super) duplicates: u32,
    /// Sent by limited transmit since the last new acknowledgement: not part of RFC 5681's FlightSize.
    pub(super) limited: u64,
    /// Reno and NewReno: what duplicate acknowledgements add to cwnd during fast recovery.
    pub(super) inflation: i64,
    /// ns-2's pipe, packets.
    pub(super) ns2_pipe: i64,
    /// ns-2 sends nothing but the fast retransmission on the duplicate that starts it, even when pipe < cwnd.
    pub(super) ns2_entering: bool,
    /// Partial acknowledgements in this recovery.
    pub(super) partials: u32,
    pub(super) rescued: bool,
    /// In `Loss`: an acknowledgement of new data has come since the timeout.
    pub(super) answered: bool,
    /// This segment leaves next, whatever the window says.
    pub(super) forced: Option<(u64, RetransmitReason)>,
    /// The segment being timed: its end and when it left.
    pub(super) timed: Option<(u64, Instant)>,
    pub(super) last_sent: Option<Instant>,
    /// cwnd was what held us back for everything sent before this sequence number.
    pub(super) cwnd_limited_to: u64,
    /// Data segments sent since the last acknowledgement came.
    pub(super) burst: u32,
    /// The window while it comes down by and by.
    pub(super) reducing: Option<Reducing>,
    pub(super) inflight: Option<Inflight>,
    pub(super) doubt: Option<Doubt>,
    pub(super) rack: Option<Rack>,
    /// A tail loss probe is out.
    pub(super) probe: Option<Probe>,
    /// One with new data leaves next, whatever cwnd says.
    pub(super) probing_new: bool,
    /// How many samples there were at the last probe.
    pub(super) probed_at_sample: Option<u32>,
    /// F-RTO looks whether the timeout was spurious; only new data may leave at the moment.
    pub(super) frto: bool,
    pub(super) frto_new: bool,
    /// What was first never sent at the last timeout.
    pub(super) timeout_recover: Option<u64>,
    /// Round-trip samples of data.
    pub(super) samples: u32,
}

impl Sender {
    pub(crate) fn new(config: Arc<Config>) -> Self {
        let mss = u64::from(config.mss.max(1));
        Self {
            recovery: config.recovery,
            sack: false,
            mss,
            queue: SendQueue::new(1),
            fin: Fin::No,
            una: 0,
            max: 1,
            flight: Flight::default(),
            congestion: config.congestion(mss, config.recovery.has_scoreboard()),
            pacer: None,
            rtt: RttEstimator::new(&config.rtt_rules()),
            min_rtt: MinRtt::new(MIN_RTT_WINDOW),
            timer: None,
            alarm: Alarm::Timeout,
            timeout_at: Instant::ZERO,
            failures: 0,
            window: 0,
            window_from: (0, 0),
            probing: false,
            probe_byte: false,
            phase: Phase::Open,
            recover: None,
            duplicates: 0,
            limited: 0,
            inflation: 0,
            ns2_pipe: 0,
            ns2_entering: false,
            partials: 0,
            rescued: false,
            answered: false,
            forced: None,
            timed: None,
            last_sent: None,
            cwnd_limited_to: 0,
            burst: 0,
            reducing: None,
            doubt: None,
            inflight: config.inflight_limit.then(Inflight::default),
            rack: None,
            probe: None,
            probing_new: false,
            probed_at_sample: None,
            frto: false,
            frto_new: false,
            samples: 0,
            timeout_recover: None,
            config,
        }
    }

    /// The handshake is over: payload of a full segment, whether SACK may be used, SYNs sent more than once.
    pub(crate) fn establish(&mut self, mss: u64, sack: bool, handshake_losses: u32) {
        self.mss = mss.max(1);
        self.sack = sack;
        if !sack && (self.recovery.has_scoreboard() || self.recovery == LossRecovery::Ns2Sack1) {
            self.recovery = LossRecovery::NewReno;
        }
        let rack = self.recovery == LossRecovery::Rack;
        self.rack = rack.then(Rack::new);
        self.congestion = self.config.congestion(self.mss, self.recovery.has_scoreboard());
        let model = self.congestion.is_model();
        self.pacer = self.config.pacer(self.mss, model);
        let news = rack || model || self.config.frto || self.config.rtt_sampling == RttSampling::Segments;
        self.flight.track(news, rack);
        self.flight.track_losses(model);
        self.una = 1;
        self.timer = None;
        if handshake_losses > 0 {
            self.rtt.restart_at(self.config.rto_after_handshake_loss.max(self.config.rto_initial));
            let forgiven = handshake_losses <= self.config.handshake_losses_forgiven;
            if self.config.one_segment_after_handshake_loss && !forgiven {
                self.congestion.restart(self.mss);
            }
        }
    }

    /// An acknowledgement of nothing but our SYN grew the window (a quirk).
    pub(crate) fn grow_by_syn(&mut self) {
        self.congestion.set_window(self.congestion.window() + self.mss);
    }

    /// What earlier connections to this host left.
    pub(crate) fn seed(&mut self, learnt: &Learnt) {
        self.rtt.seed(learnt.srtt, learnt.rttvar);
        if let Some(ssthresh) = learnt.ssthresh {
            self.congestion.seed_ssthresh(ssthresh);
        }
    }

    /// What this connection has to say to later ones: enough samples, and ssthresh when a loss has set it.
    pub(crate) fn learnt(&self) -> Option<Learnt> {
        let srtt = self.rtt.srtt().filter(|_| self.samples >= 4)?;
        let ssthresh = Some(self.congestion.ssthresh()).filter(|s| *s != u64::MAX);
        Some(Learnt { srtt, rttvar: self.rtt.rttvar(), ssthresh })
    }

    /// The window of the segment that ended the handshake.
    pub(crate) fn first_window(&mut self, window: u64) {
        self.window = window;
    }

    /// Queues what fits into the send buffer; answers how many bytes those are.
    pub(crate) fn push(&mut self, mut data: bytes::Bytes) -> usize {
        let room = self.config.send_buffer.saturating_sub(self.queue.len());
        let taken = data.len().min(usize::try_from(room).unwrap_or(usize::MAX));
        data.truncate(taken);
        self.queue.push(data);
        taken
    }

    pub(crate) fn has_room(&self) -> bool {
        self.queue.len() < self.config.send_buffer
    }

    /// The user sends nothing more.
    pub(crate) fn finish(&mut self) {
        if self.fin == Fin::No {
            self.fin = Fin::Queued;
        }
    }

    pub(crate) fn is_finishing(&self) -> bool {
        self.fin != Fin::No
    }

    pub(crate) fn fin_sent(&self) -> bool {
        matches!(self.fin, Fin::Sent(_))
    }

    pub(crate) fn fin_acknowledged(&self) -> bool {
        matches!(self.fin, Fin::Sent(seq) if self.una > seq)
    }

    pub(crate) fn una(&self) -> u64 {
        self.una
    }

    pub(crate) fn max(&self) -> u64 {
        self.max
    }

    pub(crate) fn mss(&self) -> u64 {
        self.mss
    }

    pub(crate) fn queue(&self) -> &SendQueue {
        &self.queue
    }

    pub(crate) fn rtt(&mut self) -> &mut RttEstimator {
        &mut self.rtt
    }

    /// A round trip was measured.
    pub(crate) fn note_round_trip(&mut self, sample: Duration, now: Instant) {
        self.min_rtt.note(sample, now);
    }

    pub(crate) fn timer(&self) -> Option<Instant> {
        self.timer
    }

    pub(crate) fn set_timer(&mut self, at: Option<Instant>) {
        self.timer = at;
    }

    /// What the timer is for.
    pub(crate) fn timer_kind(&self) -> Timer {
        match self.alarm {
            _ if self.is_persisting() => Timer::Persist,
            Alarm::Timeout => Timer::Retransmission,
            Alarm::Probe => Timer::TailProbe,
            Alarm::Reordering => Timer::Reordering,
        }
    }

    /// Whether the timer is for a zero-window probe.
    pub(crate) fn is_persisting(&self) -> bool {
        self.window == 0 || self.flight.is_empty()
    }

    /// What the connection may have outstanding at most, apart from cwnd.
    pub(super) fn limit(&self) -> u64 {
        match self.config.send_limit {
            0 => self.window,
            limit => self.window.min(limit),
        }
    }

    /// What the window shrinks from after a loss.
    pub(super) fn loss_base(&self) -> Base {
        match self.config.ssthresh_base {
            // RFC 5681, section 3.2: data sent by limited transmit "MUST NOT be included in this calculation".
            SsthreshBase::Flight => Base::Flight(self.flight.outstanding().saturating_sub(self.limited)),
            SsthreshBase::Cwnd => Base::Window(self.limit()),
        }
    }

    /// What holds new data back besides the congestion window.
    pub(crate) fn held_back(&self) -> HeldBack {
        if self.queue.end() <= self.max {
            return HeldBack::Application;
        }
        let peer = (self.una + self.limit()).saturating_sub(self.max);
        let own = self.cwnd().saturating_sub(self.flight.outstanding());
        if peer < self.mss && own >= self.mss {
            return HeldBack::Receiver;
        }
        HeldBack::No
    }

    /// What may be outstanding by the congestion window, as reduced or limited at the moment.
    pub(super) fn cwnd(&self) -> u64 {
        let window = match &self.reducing {
            Some(reducing) if self.phase == Phase::Fast => reducing.window(),
            _ => self.congestion.window(),
        };
        self.inflight.as_ref().and_then(Inflight::window).map_or(window, |limit| window.min(limit))
    }

    /// What loss recovery takes for outstanding.
    pub(crate) fn in_flight(&self) -> u64 {
        match (self.phase, self.recovery) {
            (Phase::Fast, LossRecovery::Ns2Sack1) => self.ns2_pipe.max(0) as u64 * self.mss,
            (Phase::Loss, _) | (_, LossRecovery::Sack6675 | LossRecovery::Rack) => self.flight.pipe(),
            _ => self.flight.outstanding(),
        }
    }

    pub(crate) fn write_gauges(&self, stats: &mut Stats) {
        stats.srtt = self.rtt.srtt();
        stats.rto = self.rtt.rto();
        stats.cwnd = self.congestion.window();
        stats.cwnd_peak = stats.cwnd_peak.max(stats.cwnd);
        stats.ssthresh = self.congestion.ssthresh();
        stats.flight = self.in_flight();
    }

    pub(super) fn record_window(&self, cx: &mut Context<'_>) {
        cx.record(|| TraceEvent::Window {
            cwnd: self.congestion.window(),
            ssthresh: self.congestion.ssthresh(),
            flight: self.in_flight(),
        });
    }

    /// Nothing will be sent any more: gives the memory back.
    pub(crate) fn clear(&mut self) {
        self.queue = SendQueue::new(self.max);
        self.flight = Flight::default();
        self.timer = None;
        self.pacer = None;
        self.forced = None;
    }
}
