//! The sending half of a connection: its parts, and the calls from outside.

use super::buffer::SendBuffer;
use super::context::Context;
use super::peer_window::PeerWindow;
use super::phase::Phase;
use super::rack::Rack;
use super::recovery::Recovery;
use super::round_trips::RoundTrips;
use super::spurious::Spurious;
use super::tail_probe::TailProbe;
use super::terms::Terms;
use super::timer::{Alarm, SendTimer};
use super::window::Window;
use crate::config::{Config, LossRecovery, SsthreshBase};
use crate::event::Timer;
use crate::flight::Flight;
use crate::host_cache::Learnt;
use crate::stats::{HeldBack, Stats};
use anabranch_base::{Instant, RetransmitReason, TraceEvent};
use anabranch_transport::congestion::Base;
use std::sync::Arc;

/// Start values of data transfer, from the handshake.
pub(crate) struct Established<'a> {
    /// Payload of a full segment.
    pub(crate) mss: u64,
    /// True if SACK may be used.
    pub(crate) sack: bool,
    /// SYNs, or SYN-ACKs, sent more than once.
    pub(crate) handshake_losses: u32,
    /// Path metrics that earlier connections to this host left.
    pub(crate) learnt: Option<&'a Learnt>,
    /// The window of the segment that ended the handshake.
    pub(crate) window: u64,
}

/// The sending half of a connection. It keeps the order in which its owners are asked.
#[derive(Debug)]
pub(crate) struct Sender {
    pub(super) terms: Terms,
    pub(super) buffer: SendBuffer,
    /// First sequence number not acknowledged (SND.UNA).
    pub(super) una: u64,
    /// First sequence number never sent (the largest SND.NXT so far).
    pub(super) max: u64,
    pub(super) flight: Flight,
    pub(super) window: Window,
    pub(super) trips: RoundTrips,
    pub(super) timer: SendTimer,
    pub(super) peer: PeerWindow,
    pub(super) recovery: Recovery,
    pub(super) spurious: Spurious,
    /// With [`LossRecovery::Rack`].
    pub(super) rack: Option<Rack>,
    pub(super) tail: TailProbe,
    /// This segment leaves next, whatever the window says.
    pub(super) forced: Option<(u64, RetransmitReason)>,
    /// Data segments sent since the last acknowledgement came.
    pub(super) burst: u32,
}

impl Sender {
    pub(crate) fn new(config: &Arc<Config>) -> Self {
        let terms = Terms::new(Arc::clone(config));
        Self {
            buffer: SendBuffer::new(config.send_buffer),
            una: 0,
            max: 1,
            flight: Flight::default(),
            window: Window::new(&terms),
            trips: RoundTrips::new(config),
            timer: SendTimer::new(config.clock()),
            peer: PeerWindow::default(),
            recovery: Recovery::new(),
            spurious: Spurious::default(),
            rack: None,
            tail: TailProbe::default(),
            forced: None,
            burst: 0,
            terms,
        }
    }

    /// The handshake is over.
    pub(crate) fn establish(&mut self, begun: &Established<'_>) {
        self.terms.agree(begun.mss, begun.sack);
        let rack = self.terms.recovery() == LossRecovery::Rack;
        self.rack = rack.then(Rack::new);
        self.window.establish(&self.terms);
        let model = self.window.is_model();
        self.flight.track(self.terms.wants_news(model), rack);
        self.flight.track_losses(model);
        self.una = 1;
        if begun.handshake_losses > 0 {
            let config = self.terms.config();
            self.trips.restart_at(config.rto_after_handshake_loss.max(config.rto_initial));
            let forgiven = begun.handshake_losses <= config.handshake_losses_forgiven;
            if config.one_segment_after_handshake_loss && !forgiven {
                self.window.restart(self.terms.mss());
            }
        }
        if let Some(learnt) = begun.learnt {
            self.trips.seed(learnt);
            if let Some(ssthresh) = learnt.ssthresh {
                self.window.seed(ssthresh);
            }
        }
        self.peer.begin(begun.window);
    }

    /// An acknowledgement of nothing but our SYN grew the window (a quirk).
    pub(crate) fn grow_by_syn(&mut self) {
        self.window.set(self.window.size() + self.terms.mss());
    }

    /// Path metrics for later connections: `None` before enough samples; ssthresh only when a loss has set it.
    pub(crate) fn learnt(&self) -> Option<Learnt> {
        self.trips.learnt(Some(self.window.ssthresh()).filter(|s| *s != u64::MAX))
    }

    /// Data of the user that the peer has not acknowledged.
    pub(crate) fn buffer(&self) -> &SendBuffer {
        &self.buffer
    }

    /// The same, to be filled or finished.
    pub(crate) fn buffer_mut(&mut self) -> &mut SendBuffer {
        &mut self.buffer
    }

    pub(crate) fn fin_acknowledged(&self) -> bool {
        self.buffer.fin_acknowledged(self.una)
    }

    pub(crate) fn una(&self) -> u64 {
        self.una
    }

    pub(crate) fn max(&self) -> u64 {
        self.max
    }

    pub(crate) fn mss(&self) -> u64 {
        self.terms.mss()
    }

    /// Round trips, which the handshake measures too.
    pub(crate) fn round_trips(&mut self) -> &mut RoundTrips {
        &mut self.trips
    }

    pub(crate) fn timer(&self) -> Option<Instant> {
        self.timer.at()
    }

    /// Purpose of the timer.
    pub(crate) fn timer_kind(&self) -> Timer {
        match self.timer.alarm() {
            _ if self.is_persisting() => Timer::Persist,
            Alarm::Timeout => Timer::Retransmission,
            Alarm::Probe => Timer::TailProbe,
            Alarm::Reordering => Timer::Reordering,
        }
    }

    /// True if the timer is for a zero-window probe.
    pub(super) fn is_persisting(&self) -> bool {
        self.peer.bytes() == 0 || self.flight.is_empty()
    }

    /// Time at which the next segment that waits for the pacer may leave.
    pub(crate) fn pacing_timer(&self) -> Option<Instant> {
        self.window.pacing_timer()
    }

    /// Clears the pacing timer once it has fired.
    pub(crate) fn clear_pacing_timer(&mut self) {
        self.window.clear_pacing_timer();
    }

    /// Most bytes the connection may have outstanding, apart from cwnd.
    #[inline]
    pub(super) fn limit(&self) -> u64 {
        match self.terms.config().send_limit {
            0 => self.peer.bytes(),
            limit => self.peer.bytes().min(limit),
        }
    }

    /// Bytes of new data that the peer's window lets out.
    #[inline]
    pub(super) fn peer_room(&self) -> u64 {
        (self.una + self.limit()).saturating_sub(self.max)
    }

    /// Amount from which the window shrinks after a loss.
    pub(super) fn loss_base(&self) -> Base {
        match self.terms.config().ssthresh_base {
            // RFC 5681, section 3.2: data sent by limited transmit "MUST NOT be included in this calculation".
            SsthreshBase::Flight => {
                Base::Flight(self.flight.outstanding().saturating_sub(self.recovery.limited()))
            }
            SsthreshBase::Cwnd => Base::Window(self.limit()),
        }
    }

    /// Limit on new data besides the congestion window.
    pub(crate) fn held_back(&self) -> HeldBack {
        if self.buffer.unsent(self.max) == 0 {
            return HeldBack::Application;
        }
        let own = self.cwnd().saturating_sub(self.flight.outstanding());
        if self.peer_room() < self.terms.mss() && own >= self.terms.mss() {
            return HeldBack::Receiver;
        }
        HeldBack::No
    }

    /// Bytes that may be outstanding by the congestion window, as reduced or limited at the moment.
    #[inline]
    pub(super) fn cwnd(&self) -> u64 {
        self.window.allowed(self.recovery.phase())
    }

    /// Nothing waits to be sent, new or again.
    pub(super) fn is_starved(&self) -> bool {
        self.buffer.unsent(self.max) == 0 && !self.flight.owes() && self.forced.is_none()
    }

    /// Bytes that loss recovery counts as outstanding.
    pub(crate) fn in_flight(&self) -> u64 {
        match (self.recovery.phase(), self.terms.recovery()) {
            (Phase::Fast, LossRecovery::Ns2Sack1) => {
                self.recovery.ns2_pipe().max(0) as u64 * self.terms.mss()
            }
            (Phase::Loss, _) | (_, LossRecovery::Sack6675 | LossRecovery::Rack) => self.flight.pipe(),
            _ => self.flight.outstanding(),
        }
    }

    pub(crate) fn write_gauges(&self, stats: &mut Stats) {
        stats.srtt = self.trips.srtt();
        stats.rto = self.trips.rto();
        stats.cwnd = self.window.size();
        stats.cwnd_peak = stats.cwnd_peak.max(stats.cwnd);
        stats.ssthresh = self.window.ssthresh();
        stats.flight = self.in_flight();
    }

    pub(super) fn record_window(&self, cx: &mut Context<'_>) {
        cx.record(|| TraceEvent::Window {
            cwnd: self.window.size(),
            ssthresh: self.window.ssthresh(),
            flight: self.in_flight(),
        });
    }

    /// Nothing will be sent any more: gives the memory back.
    pub(crate) fn clear(&mut self) {
        self.buffer.clear(self.max);
        self.flight = Flight::default();
        self.timer.stop();
        self.window.clear();
        self.forced = None;
    }
}
