//! The end of an association by SHUTDOWN (RFC 9260, 9.2): its stages and timers.

use anabranch_base::Instant;

use super::control_probe::control_probe;
use crate::context::Context;
use crate::control::Kind;
use crate::ids::PathId;
use crate::scope::Scope;
use crate::state::State;

/// Stages of a shutdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Our user asked for it; outstanding data comes first.
    Pending,
    /// SHUTDOWN sent.
    Sent,
    /// SHUTDOWN received; outstanding data comes first.
    Received,
    /// SHUTDOWN ACK sent.
    AckSent,
}

/// A shutdown that is under way. [`Shutdown::state`] gives the state that belongs to its stage.
#[derive(Debug)]
pub(super) struct Shutdown {
    stage: Stage,
    /// T2-shutdown.
    t2: Option<Instant>,
    /// T5-shutdown-guard.
    t5: Option<Instant>,
    /// Time at which SHUTDOWN or SHUTDOWN ACK is sent once more.
    probe: Option<Instant>,
    /// The chunk has been sent once more, or T2-shutdown has expired.
    probed: bool,
    /// Progress of the cumulative points when T5-shutdown-guard was started.
    progress: u64,
    /// Our user has closed, be it before the peer or besides.
    closed_by_user: bool,
}

impl Shutdown {
    /// Our user asks for it.
    pub(super) fn of_user(scope: &Scope<'_>) -> Self {
        Self::begin(scope, Stage::Pending, true)
    }

    /// The peer has sent SHUTDOWN.
    pub(super) fn of_peer(scope: &Scope<'_>, closed_by_user: bool) -> Self {
        Self::begin(scope, Stage::Received, closed_by_user)
    }

    fn begin(scope: &Scope<'_>, stage: Stage, closed_by_user: bool) -> Self {
        let (t5, progress) = (t5_from_now(scope.cx), scope.sender.progress());
        Self { stage, t2: None, t5, probe: None, probed: false, progress, closed_by_user }
    }

    /// The state of the association.
    pub(super) fn state(&self) -> State {
        match self.stage {
            Stage::Pending => State::ShutdownPending,
            Stage::Sent => State::ShutdownSent,
            Stage::Received => State::ShutdownReceived,
            Stage::AckSent => State::ShutdownAckSent,
        }
    }

    /// T2-shutdown, T5-shutdown-guard and the time of the probe.
    pub(super) fn timers(&self) -> (Option<Instant>, Option<Instant>, Option<Instant>) {
        (self.t2, self.t5, self.probe)
    }

    /// Our user asks for the end. "it MUST ignore ULP shutdown requests": the peer's is under way, and only if that peer is gone ours is
    /// needed. If ours is under way it runs already.
    // rfc9260:9.2-7
    pub(super) fn user_closes(&mut self) {
        self.closed_by_user |= self.stage == Stage::Received;
    }

    /// True if our user has asked for the end: that outlives a restart of the peer.
    pub(super) fn is_closed_by_user(&self) -> bool {
        // Behind SHUTDOWN ACK both sides are done.
        self.stage != Stage::AckSent && self.closed_by_user
    }

    /// Goes on once everything outstanding has been acknowledged.
    // rfc9260:3.3.8-1 rfc9260:9.2-1 rfc9260:9.2-8 rfc9260:9.2-13 rfc9260:9.2-20
    #[cold]
    pub(super) fn advance(&mut self, scope: &mut Scope<'_>) {
        let waits = matches!(self.stage, Stage::Pending | Stage::Received);
        if !waits || !scope.sender.has_nothing_outstanding() {
            return;
        }
        self.t2 = Some(t2_from_now(scope.cx));
        if self.stage == Stage::Pending {
            self.t5 = t5_from_now(scope.cx);
            scope.control.ask(Kind::Shutdown, scope.cx.paths.for_control());
            self.stage = Stage::Sent;
            self.arm_probe(scope);
        } else {
            self.t5 = None;
            self.answer(scope);
        }
    }

    /// Both sides have nothing left to send.
    fn answer(&mut self, scope: &mut Scope<'_>) {
        scope.control.ask(Kind::ShutdownAck, scope.cx.paths.for_control());
        self.stage = Stage::AckSent;
        self.arm_probe(scope);
        scope.receiver.arrivals_mut().acknowledge_no_more();
    }

    /// SHUTDOWN chunk, behind one of ours or another one of the peer's.
    pub(super) fn on_shutdown(&mut self, scope: &mut Scope<'_>) {
        match self.stage {
            Stage::Sent => {
                // "SHOULD respond immediately with a SHUTDOWN ACK chunk to its peer and move into the
                // SHUTDOWN-ACK-SENT state, restarting its T2-shutdown timer."
                self.probed = false;
                scope.control.cancel(Kind::Shutdown);
                self.answer(scope);
                self.restart_t2(scope);
            }
            Stage::AckSent => {
                scope.control.ask(Kind::ShutdownAck, scope.cx.paths.for_control());
                self.arm_probe(scope);
            }
            Stage::Pending | Stage::Received => {}
        }
    }

    /// A packet arrived in SHUTDOWN-SENT: "SHOULD clear the endpoint's retransmission count and restart the
    /// T2-shutdown timer".
    // rfc9260:6.2-15 rfc9260:9.2-6 rfc9260:9.2-9
    pub(super) fn heard(&mut self, scope: &mut Scope<'_>, had_data: bool) {
        scope.cx.paths.clear_errors();
        self.restart_t2(scope);
        if had_data {
            // "MUST immediately respond to each received packet containing one or more DATA chunks with a SHUTDOWN
            // chunk", and a SACK where gaps or duplicates exist.
            scope.control.ask(Kind::Shutdown, scope.cx.paths.for_control());
            scope.receiver.demand_unsaid(scope.cx);
        }
    }

    /// T2-shutdown expired: the path that has not answered.
    // rfc9260:9.2-2 rfc9260:9.2-4 rfc9260:9.2-14 rfc9260:9.2-15
    pub(super) fn on_t2(&mut self, scope: &mut Scope<'_>) -> PathId {
        (self.t2, self.probe, self.probed) = (None, None, true);
        if let Some(path) = scope.cx.paths.primary_mut() {
            path.back_off();
        }
        scope.cx.paths.for_control()
    }

    /// SHUTDOWN or SHUTDOWN ACK leaves again, after T2-shutdown has expired, if the association has outlived that error.
    pub(super) fn repeat(&mut self, scope: &mut Scope<'_>) {
        if let Some(kind) = self.repeated() {
            scope.control.ask(kind, scope.cx.paths.for_control());
            self.restart_t2(scope);
        }
    }

    /// The chunk that is sent until it is answered.
    fn repeated(&self) -> Option<Kind> {
        match self.stage {
            Stage::Sent => Some(Kind::Shutdown),
            Stage::AckSent => Some(Kind::ShutdownAck),
            Stage::Pending | Stage::Received => None,
        }
    }

    /// T5-shutdown-guard expired: "the sender SHOULD abort the association" (9.2), and then this is true. The RFC starts it with the SHUTDOWN
    /// chunk, and so leaves it to a peer that never opens its window how long an association lasts that our user has closed. So it runs as
    /// long as data is outstanding, too, and there a peer that reads slowly is not at fault: it begins anew if the cumulative point
    /// has moved.
    // rfc9260:9.2-11
    pub(super) fn on_t5(&mut self, scope: &Scope<'_>) -> bool {
        let progress = scope.sender.progress();
        let goes_on = matches!(self.stage, Stage::Pending | Stage::Received) && self.progress != progress;
        if goes_on {
            (self.t5, self.progress) = (t5_from_now(scope.cx), progress);
        }
        !goes_on
    }

    /// No answer in two round trips: the chunk leaves once more. It is no error of the path, and no reason to back
    /// off; T2-shutdown expires when it would have.
    pub(super) fn on_probe(&mut self, scope: &mut Scope<'_>) {
        (self.probe, self.probed) = (None, true);
        if let Some(kind) = self.repeated() {
            scope.control.ask(kind, scope.cx.paths.for_control());
        }
    }

    fn restart_t2(&mut self, scope: &Scope<'_>) {
        self.t2 = Some(t2_from_now(scope.cx));
        self.arm_probe(scope);
    }

    /// SHUTDOWN or SHUTDOWN ACK leaves: the first time, or in answer to something, and then the wait begins anew. Once it has been probed for
    /// T2-shutdown alone repeats it.
    fn arm_probe(&mut self, scope: &Scope<'_>) {
        if !self.probed {
            self.probe = control_probe(scope.cx, scope.receiver, self.t2);
        }
    }
}

/// Expiry of T2-shutdown, if it is started now.
// rfc9260:9.2-3
fn t2_from_now(cx: &Context) -> Instant {
    cx.env.config().clock().after(cx.env.now(), cx.paths.rto(cx.env.config(), cx.paths.for_control()))
}

/// Expiry of T5-shutdown-guard, if it is started now.
// rfc9260:9.2-12
fn t5_from_now(cx: &Context) -> Option<Instant> {
    let config = cx.env.config();
    let guard = config.timers.rto_max * u64::from(config.timers.shutdown_guard_rto_max);
    (config.timers.shutdown_guard_rto_max > 0).then(|| cx.env.now() + guard)
}

#[cfg(test)]
mod tests {
    use anabranch_base::Duration;

    use super::*;
    use crate::association::test_owners::Owners;

    #[test]
    fn who_closes_first_sends_shutdown_until_it_is_answered() {
        let mut owners = Owners::up();
        let mut scope = owners.scope();
        let mut shutdown = Shutdown::of_user(&scope);
        assert!(shutdown.is_closed_by_user() && shutdown.state() == State::ShutdownPending);
        shutdown.advance(&mut scope);
        assert_eq!(shutdown.state(), State::ShutdownSent);
        assert!(scope.control.is_due(Kind::Shutdown));
        // A packet of the peer begins the wait anew; its data is answered with another SHUTDOWN.
        scope.control.cancel(Kind::Shutdown);
        scope.cx.env.set_now(scope.cx.env.now() + Duration::from_millis(500));
        let before = shutdown.timers().0;
        shutdown.heard(&mut scope, true);
        assert!(
            scope.cx.paths.errors() == 0
                && shutdown.timers().0 > before
                && scope.control.is_due(Kind::Shutdown)
        );
        let (silent, rto) =
            (shutdown.on_t2(&mut scope), scope.cx.paths.rto(scope.cx.env.config(), PathId::new(0)));
        assert_eq!((silent, rto), (PathId::new(0), Duration::from_secs(2)), "it is backed off");
        shutdown.repeat(&mut scope);
        assert_eq!(shutdown.timers().0, Some(scope.cx.env.now() + rto));
        // Both have closed at the same time.
        shutdown.on_shutdown(&mut scope);
        assert_eq!(shutdown.state(), State::ShutdownAckSent);
        assert!(scope.control.is_due(Kind::ShutdownAck) && !scope.control.is_due(Kind::Shutdown));
        assert!(shutdown.on_t5(&scope), "nothing moves any more: the guard ends it");
    }

    #[test]
    fn who_is_closed_has_no_guard_behind_shutdown_ack() {
        let mut owners = Owners::up();
        let mut scope = owners.scope();
        let mut shutdown = Shutdown::of_peer(&scope, false);
        assert!(shutdown.timers().1.is_some() && !shutdown.is_closed_by_user());
        shutdown.user_closes();
        assert!(shutdown.is_closed_by_user());
        shutdown.advance(&mut scope);
        assert_eq!((shutdown.state(), shutdown.timers().1), (State::ShutdownAckSent, None));
        assert!(!shutdown.is_closed_by_user(), "it is no matter any more");
    }
}
