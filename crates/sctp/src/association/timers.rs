//! The timers of an association, with those of its owners. A timer is a line in [`Association::timers`] and one in
//! [`Association::on_timer`]: all else follows.

use anabranch_base::{Instant, cold_path};

use super::Association;
use super::end::End;
use super::phase::Phase;
use super::shutdown::Shutdown;
use crate::event::{CloseReason, Timer};
use crate::ids::{PathId, SpaceId};
use crate::scope::scope_of;
use crate::sender::SenderTimer;

/// A timer that has expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expired {
    /// T1-init or T1-cookie.
    T1,
    Sender(SenderTimer),
    Sack(SpaceId),
    Reconfiguration,
    T2,
    T5,
    ControlProbe,
    ShutdownDeadline,
    Heartbeat(PathId),
    PathMtu(PathId),
}

impl Association {
    /// Calls `visit` for each timer with its time, its name for the user, and its internal kind.
    #[inline]
    pub(super) fn timers(&self, mut visit: impl FnMut(Option<Instant>, Timer, Expired)) {
        match self.life.phase() {
            Phase::CookieWait(handshake) => {
                cold_path();
                visit(handshake.t1(), Timer::T1Init, Expired::T1);
            }
            Phase::CookieEchoed(handshake) => {
                cold_path();
                visit(handshake.t1(), Timer::T1Cookie, Expired::T1);
                visit(handshake.probe(), Timer::ControlProbe, Expired::ControlProbe);
            }
            _ => {}
        }
        self.sender.timers(|at, timer, which| visit(at, timer, Expired::Sender(which)));
        self.receiver.arrivals().timers(|at, timer, space| visit(at, timer, Expired::Sack(space)));
        if let Some(reconfig) = &self.reconfig {
            cold_path();
            visit(reconfig.timer(), Timer::Reconfiguration, Expired::Reconfiguration);
        }
        if !matches!(self.life.phase(), Phase::Established) {
            cold_path();
            let (t2, t5, probe) = self.life.shutdown().map(Shutdown::timers).unwrap_or_default();
            visit(t2, Timer::T2Shutdown, Expired::T2);
            visit(t5, Timer::T5ShutdownGuard, Expired::T5);
            visit(probe, Timer::ControlProbe, Expired::ControlProbe);
        }
        if let Some(deadline) = self.life.deadline() {
            cold_path();
            visit(Some(deadline), Timer::ShutdownDeadline, Expired::ShutdownDeadline);
        }
        self.cx.paths.for_each(|id, path| {
            visit(path.heartbeat_timer(self.cx.env.config()), Timer::Heartbeat, Expired::Heartbeat(id));
            visit(path.size().search_timer(), Timer::PathMtu, Expired::PathMtu(id));
        });
    }

    fn on_timer(&mut self, expired: Expired) {
        match expired {
            Expired::T1 => {
                if let Some(end) = self.life.on_t1(&mut scope_of!(self)) {
                    self.end(end);
                }
            }
            Expired::Sender(timer) => {
                if let Some(path) = self.sender.losses().on_timer(&mut self.cx, timer) {
                    self.count_error(path);
                }
                if self.sender.special().is_any() {
                    self.after_abandonment();
                }
            }
            Expired::Sack(space) => self.receiver.arrivals_mut().on_sack_timer(&self.cx, space),
            Expired::Reconfiguration => {
                let silent =
                    self.reconfiguring().and_then(|(reconfig, mut scope)| reconfig.on_timer(&mut scope));
                if let Some(path) = silent {
                    self.count_error(path);
                }
            }
            Expired::T2 => {
                let silent = self.life.shutdown_mut().map(|shutdown| shutdown.on_t2(&mut scope_of!(self)));
                if let Some(path) = silent {
                    self.count_error(path);
                    self.life.in_shutdown(&mut scope_of!(self), Shutdown::repeat);
                }
            }
            Expired::T5 => {
                if self.life.shutdown_mut().is_some_and(|shutdown| shutdown.on_t5(&scope_of!(self))) {
                    self.end(End::aborting(CloseReason::ShutdownGuard, Vec::new()));
                }
            }
            Expired::ControlProbe => {
                self.life.on_control_probe(&mut scope_of!(self));
                if self.life.shutdown().is_some() {
                    // A peer whose SHUTDOWN COMPLETE was lost has forgotten the association, and takes no packet without a checksum (RFC 9653,
                    // 5.3).
                    self.writer.settle_checksum(self.cx.env.config(), false);
                }
            }
            Expired::ShutdownDeadline => self.end(End::shutdown_deadline()),
            Expired::Heartbeat(path) => {
                if self.path_manager().on_heartbeat_timer(path) {
                    self.count_error(path);
                }
                self.path_manager().begin_heartbeat_period(path);
            }
            Expired::PathMtu(path) => self.path_manager().on_mtu_timer(path),
        }
    }

    /// True if something is due before `then`.
    pub(crate) fn has_timer_before(&self, then: Instant) -> bool {
        let mut found = false;
        self.timers(|at, _, _| found |= at.is_some_and(|at| at < then));
        found
    }

    /// The timer that expires next, with its time.
    pub(crate) fn next_timeout(&self) -> Option<(Instant, Timer)> {
        // No timer is set to the end of time, so one comparison tells.
        let (mut first, mut which) = (Instant::FAR_FUTURE, Timer::Heartbeat);
        self.timers(|at, timer, _| {
            if let Some(at) = at.filter(|at| *at < first) {
                (first, which) = (at, timer);
            }
        });
        // An answer is overdue an RTO after the question, and the RTO may have become shorter since.
        (first < Instant::FAR_FUTURE).then_some((first.max(self.cx.env.now()), which))
    }

    /// Runs the timers that are due at `now`, each once.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.cx.env.set_now(now);
        // One timer may stop or start another: those that follow are looked at when it is their turn.
        let mut done = 0;
        while let Some((place, expired)) = self.first_due(done) {
            self.on_timer(expired);
            done = place + 1;
        }
        // A reset of streams does not wait any more for messages that were given up by now.
        if let Some((reconfig, mut scope)) = self.reconfiguring() {
            reconfig.advance(&mut scope);
        }
    }

    /// The first timer from the place `from` of the table on that is due.
    fn first_due(&self, from: usize) -> Option<(usize, Expired)> {
        let (mut place, mut due) = (0, None);
        let now = self.cx.env.now();
        self.timers(|at, _, expired| {
            if due.is_none() && place >= from && at.is_some_and(|at| at <= now) {
                due = Some((place, expired));
            }
            place += 1;
        });
        due
    }
}
