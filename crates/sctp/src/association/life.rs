//! The phases of an association's life, and the transitions from one to the next.

use anabranch_base::Instant;

use super::end::End;
use super::handshake::Handshake;
use super::phase::Phase;
use super::shutdown::Shutdown;
use super::watch::Watch;
use crate::context::Context;
use crate::control::Kind;
use crate::event::{CloseReason, Event};
use crate::scope::Scope;
use crate::state::State;

/// Fields that hardly any association has a value for.
#[derive(Debug, Default)]
struct SeldomSet {
    /// Time by which our user wants the association to have ended.
    deadline: Option<Instant>,
    /// Adaptation Layer Indication of the peer (RFC 5061).
    adaptation: Option<u32>,
}

/// The phase of an association, with the handshake or the shutdown that is under way. Nothing else changes the state. Where a
/// transition ends the association the [`End`] is given back, and the caller carries it out.
#[derive(Debug)]
pub(super) struct Life {
    phase: Phase,
    watch: Watch,
    seldom: Option<Box<SeldomSet>>,
}

impl Life {
    /// Nothing has left or come yet.
    pub(super) fn new() -> Self {
        Self { phase: Phase::CookieWait(Box::default()), watch: Watch::default(), seldom: None }
    }

    /// The phase that it is in.
    #[inline]
    pub(super) fn phase(&self) -> &Phase {
        &self.phase
    }

    /// The handshake that is under way.
    pub(super) fn handshake(&self) -> Option<&Handshake> {
        self.phase.handshake()
    }

    /// The handshake, to go on with it.
    pub(super) fn handshake_mut(&mut self) -> Option<&mut Handshake> {
        self.phase.handshake_mut()
    }

    /// The shutdown that is under way.
    pub(super) fn shutdown(&self) -> Option<&Shutdown> {
        self.phase.shutdown()
    }

    /// The shutdown, to change its fields but not its stage.
    pub(super) fn shutdown_mut(&mut self) -> Option<&mut Shutdown> {
        self.phase.shutdown_mut()
    }

    /// Time by which our user wants the association to have ended.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.seldom.as_ref().and_then(|seldom| seldom.deadline)
    }

    /// Our user wants the association to have ended by then.
    pub(super) fn set_deadline(&mut self, deadline: Instant) {
        self.seldom.get_or_insert_default().deadline = Some(deadline);
    }

    /// Adaptation Layer Indication of the peer (RFC 5061).
    pub(super) fn adaptation(&self) -> Option<u32> {
        self.seldom.as_ref().and_then(|seldom| seldom.adaptation)
    }

    /// The code point of the layer above the peer, for the user.
    pub(super) fn tell_adaptation(&mut self, cx: &mut Context, adaptation: Option<u32>) {
        if let Some(code_point) = adaptation {
            self.seldom.get_or_insert_default().adaptation = adaptation;
            cx.tell(Event::AdaptationIndication { code_point });
        }
    }

    /// The states that it has had, as the formal properties see them.
    pub(super) fn watch(&self) -> &Watch {
        &self.watch
    }

    /// The states that it has had, to check them or to change the bounds.
    pub(super) fn watch_mut(&mut self) -> &mut Watch {
        &mut self.watch
    }

    /// INIT leaves: the handshake begins.
    pub(super) fn begin(&mut self, cx: &mut Context) {
        let handshake = Box::new(Handshake::begin(cx));
        self.enter(cx, Phase::CookieWait(handshake));
    }

    /// The handshake, taken out when an INIT ACK has come, which is answered with [`Life::echo`]. 5.2.3: in any other state "the endpoint
    /// SHOULD discard the INIT ACK chunk".
    // rfc9260:5.2.3-1
    pub(super) fn take_asking(&mut self) -> Option<Handshake> {
        match &mut self.phase {
            Phase::CookieWait(handshake) => Some(std::mem::take(&mut **handshake)),
            _ => None,
        }
    }

    /// COOKIE ECHO leaves.
    pub(super) fn echo(&mut self, cx: &mut Context, handshake: Handshake) {
        self.enter(cx, Phase::CookieEchoed(Box::new(handshake)));
    }

    /// The handshake has succeeded.
    pub(super) fn establish(&mut self, cx: &mut Context) {
        self.enter(cx, Phase::Established);
    }

    /// The association has ended.
    pub(super) fn close(&mut self, cx: &mut Context) {
        self.enter(cx, Phase::Closed);
        if let Some(seldom) = &mut self.seldom {
            seldom.deadline = None;
        }
    }

    fn enter(&mut self, cx: &mut Context, phase: Phase) {
        cx.env.enter(phase.state());
        self.watch.enter(cx.env.now(), cx.env.state());
        self.phase = phase;
    }

    /// T1-init or T1-cookie expired. The association ends where that has happened too often.
    // rfc9260:4-3 rfc9260:4-4 rfc9260:4-5 rfc9260:4-7 rfc9260:4-8 rfc9260:5.1.4-3 rfc9260:5.1.6-1
    // rfc9260:5.1-12
    pub(super) fn on_t1(&mut self, scope: &mut Scope<'_>) -> Option<End> {
        let handshake = self.phase.handshake_mut()?;
        if !handshake.on_t1(scope.cx) {
            return Some(End::unreachable("Max.Init.Retransmits"));
        }
        if scope.cx.env.state() == State::CookieWait {
            scope.control.ask(Kind::Init, scope.cx.paths.for_control());
        } else {
            scope.control.ask(Kind::CookieEcho, scope.cx.paths.for_control());
            // DATA that rode with the first COOKIE ECHO rides again.
            scope.sender.losses().mark_every_lane_lost(scope.cx);
        }
        None
    }

    /// A Stale Cookie error in COOKIE-ECHOED (5.2.6): try again with a new INIT that asks for a longer life. The association ends where that
    /// has happened too often.
    // rfc9260:5.2.6-1 rfc9260:5.2.6-2 rfc9260:5.2.6-3
    pub(super) fn on_stale_cookie(&mut self, scope: &mut Scope<'_>) -> Option<End> {
        let Phase::CookieEchoed(handshake) = &mut self.phase else { return None };
        let mut handshake = std::mem::take(handshake);
        if !handshake.cookie_was_stale(scope.cx) {
            return Some(End::silent(CloseReason::Unreachable { limit: "Max.Init.Retransmits" }));
        }
        self.enter(scope.cx, Phase::CookieWait(handshake));
        scope.control.cancel(Kind::CookieEcho);
        scope.control.ask(Kind::Init, scope.cx.paths.for_control());
        // The packet was thrown away with its DATA: that rides with the next COOKIE ECHO.
        scope.sender.losses().mark_every_lane_lost(scope.cx);
        None
    }

    /// True if the cookie of the last attempt was stale, and the next one has no tag yet.
    pub(super) fn wants_new_tag(&self) -> bool {
        self.phase.handshake().is_some_and(Handshake::wants_tag)
    }

    /// No answer in two round trips: the chunk leaves once more. It is no error of the path, and no reason to back
    /// off; T1-cookie or T2-shutdown expires when it would have.
    pub(super) fn on_control_probe(&mut self, scope: &mut Scope<'_>) {
        if let Phase::CookieEchoed(handshake) = &mut self.phase {
            handshake.probed();
            scope.control.ask(Kind::CookieEcho, scope.cx.paths.for_control());
            // DATA that rode with the first is not taken for lost: as in any probe, new data rides, or the last chunk once more.
            scope.sender.losses().probe_every_lane(scope.cx);
        }
        self.in_shutdown(scope, Shutdown::on_probe);
    }

    /// Our user asks for the end, which may come at once.
    // rfc9260:9.2-7
    pub(super) fn begin_shutdown(&mut self, scope: &mut Scope<'_>) -> Option<End> {
        match &mut self.phase {
            Phase::Established => {
                let shutdown = Shutdown::of_user(scope);
                self.enter(scope.cx, Phase::Ending(Box::new(shutdown)));
                scope.sender.note_shutdown(scope.cx);
                self.advance_shutdown(scope);
            }
            // The peer knows nothing of us yet, and no message was accepted for it.
            Phase::CookieWait(_) if scope.sender.has_nothing_outstanding() => {
                return Some(End::silent(CloseReason::AbortedLocally));
            }
            // Accepted messages are delivered first, and the peer may be up already: it must hear of the end. A
            // handshake that fails ends it, too.
            Phase::CookieWait(handshake) | Phase::CookieEchoed(handshake) => handshake.want_shutdown(),
            Phase::Ending(shutdown) => shutdown.user_closes(),
            Phase::Closed => {}
        }
        None
    }

    /// Goes on with a shutdown once everything outstanding has been acknowledged.
    pub(super) fn advance_shutdown(&mut self, scope: &mut Scope<'_>) {
        if matches!(scope.cx.env.state(), State::ShutdownPending | State::ShutdownReceived) {
            self.in_shutdown(scope, Shutdown::advance);
        }
    }

    /// Goes on with a shutdown that is under way: its stage, and with it the state, may be another afterwards.
    pub(super) fn in_shutdown(
        &mut self,
        scope: &mut Scope<'_>,
        run: impl FnOnce(&mut Shutdown, &mut Scope<'_>),
    ) {
        let Some(shutdown) = self.phase.shutdown_mut() else { return };
        run(shutdown, scope);
        let state = shutdown.state();
        if state != scope.cx.env.state() {
            scope.cx.env.enter(state);
            self.watch.enter(scope.cx.env.now(), state);
        }
    }

    /// True if our user has asked for the end: that outlives a restart of the peer.
    pub(super) fn is_closed_by_user(&self) -> bool {
        self.phase.shutdown().is_some_and(Shutdown::is_closed_by_user)
    }

    /// SHUTDOWN chunk. False in a state in which it says nothing.
    // rfc9260:3.3.8-2 rfc9260:9.2-7 rfc9260:9.2-24 rfc9260:9.2-25
    pub(super) fn on_shutdown(&mut self, scope: &mut Scope<'_>) -> bool {
        match scope.cx.env.state() {
            // "If a SHUTDOWN chunk is received in the COOKIE-WAIT or COOKIE ECHOED state, the SHUTDOWN chunk SHOULD
            // be silently discarded."
            State::CookieWait | State::CookieEchoed | State::Closed => return false,
            State::Established | State::ShutdownPending => {
                let shutdown = Shutdown::of_peer(scope, self.is_closed_by_user());
                self.enter(scope.cx, Phase::Ending(Box::new(shutdown)));
                scope.cx.tell(Event::PeerShutdown);
            }
            State::ShutdownSent | State::ShutdownReceived | State::ShutdownAckSent => {
                self.in_shutdown(scope, Shutdown::on_shutdown);
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::association::end::Notice;
    use crate::association::test_owners::Owners;

    #[test]
    fn a_shutdown_before_anything_was_accepted_ends_at_once_and_says_nothing() {
        let mut owners = Owners::new();
        let mut life = Life::new();
        life.begin(&mut owners.cx);
        let end = life.begin_shutdown(&mut owners.scope()).expect("the peer knows nothing of us");
        let (reason, notice) = end.into_parts();
        assert_eq!(reason, CloseReason::AbortedLocally);
        assert!(matches!(notice, Notice::None), "{notice:?}");
    }

    #[test]
    fn a_shutdown_during_the_handshake_is_remembered() {
        let mut owners = Owners::new();
        let mut life = Life::new();
        life.begin(&mut owners.cx);
        let handshake = life.take_asking().unwrap();
        life.echo(&mut owners.cx, handshake);
        assert!(life.begin_shutdown(&mut owners.scope()).is_none());
        assert!(life.handshake().is_some_and(Handshake::is_shutdown_wanted));
        assert_eq!(owners.cx.env.state(), State::CookieEchoed);
        assert!(life.take_asking().is_none(), "another INIT ACK is discarded");
    }

    #[test]
    fn a_shutdown_with_nothing_outstanding_leaves_at_once_and_the_state_follows_its_stage() {
        let mut owners = Owners::new();
        let mut life = Life::new();
        life.establish(&mut owners.cx);
        assert!(life.begin_shutdown(&mut owners.scope()).is_none());
        assert_eq!(owners.cx.env.state(), State::ShutdownSent);
        assert!(owners.scope().control.is_due(Kind::Shutdown));
        assert!(life.on_shutdown(&mut owners.scope()), "the peer closes, too");
        assert_eq!((owners.cx.env.state(), life.is_closed_by_user()), (State::ShutdownAckSent, false));
        life.set_deadline(owners.cx.env.now());
        life.close(&mut owners.cx);
        assert_eq!((owners.cx.env.state(), life.deadline()), (State::Closed, None));
        assert!(!life.on_shutdown(&mut owners.scope()), "it says nothing any more");
    }

    #[test]
    fn init_is_repeated_until_the_limit_and_then_nobody_has_to_be_told_who_knows_nothing() {
        let mut owners = Owners::new();
        let mut life = Life::new();
        life.begin(&mut owners.cx);
        let limit = owners.cx.env.config().limits.max_init_retransmits;
        for _ in 0..limit {
            assert!(life.on_t1(&mut owners.scope()).is_none());
            assert!(owners.scope().control.is_due(Kind::Init));
        }
        let (reason, notice) = life.on_t1(&mut owners.scope()).expect("the limit").into_parts();
        assert_eq!(reason, CloseReason::Unreachable { limit: "Max.Init.Retransmits" });
        assert!(matches!(notice, Notice::AbortIfKnown(causes) if causes.is_empty()));
    }
}
