//! The formal properties of an association's life, as a table of the states that may follow each other and of the
//! timers that must run while an end waits.
//!
//! They are P1 to P10 and the demands on a client of an evil server, ES1 to ES4, of "A Formal Analysis of SCTP: Attack Synthesis
//! and Patch Verification" (USENIX Security 2024), in their intended forms, those about liveness with a bound. `docs/reference/properties.md`
//! lists them, and three about FORWARD-TSN, which the paper does not have. With debug assertions, or the feature `watched`, every association watches itself: each change
//! of its state, each moment in which it has nothing more to send, and each FORWARD-TSN that it writes. Tests look from outside, too, and at both ends together.

use anabranch_base::{Duration, Instant};

use crate::state::State;

/// True if associations check themselves in this build.
pub const WATCHED: bool = cfg!(any(debug_assertions, feature = "watched"));

/// State and timers of an association at a moment in which it has nothing more to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sight {
    /// Its state.
    pub state: State,
    /// Time at which it entered that state.
    pub since: Instant,
    /// The latest time that it has been: a timer may have been set then, if the clock was set back since.
    pub latest: Instant,
    /// Time at which T1-init or T1-cookie expires.
    pub t1: Option<Instant>,
    /// Time at which T2-shutdown expires.
    pub t2: Option<Instant>,
    /// Time at which T5-shutdown-guard expires.
    pub t5: Option<Instant>,
    /// Time at which the first timer expires that may send something.
    pub next: Option<Instant>,
    /// True if data waits, or is not acknowledged cumulatively.
    pub owes: bool,
    /// True if data waits with nothing before it, or not even a gap block acknowledges it. Gap blocks that cover all,
    /// the first chunk included, are false: a peer that sends them may wait for ever.
    pub waits: bool,
}

/// Longest allowed times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Longest time to the next timer of an end that waits.
    pub timer: Duration,
    /// The whole handshake: every attempt at its longest.
    pub handshake: Duration,
    /// T5-shutdown-guard; zero: there is none.
    pub guard: Duration,
}

/// Numbers of a FORWARD-TSN (RFC 3758; I-FORWARD-TSN and SF-FORWARD likewise) that leaves. They belong to a sequence
/// space and are unwrapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForwardSight {
    /// One past the last number that the previous FORWARD-TSN named; 0: this is the first.
    pub before: u64,
    /// One past the last number that it names.
    pub point: u64,
    /// True if the chunk has a packet to itself, and names as much as that holds.
    pub alone: bool,
    /// One past the last number acknowledged cumulatively.
    pub acknowledged: u64,
    /// One past the last number that was given to a chunk.
    pub sent: u64,
    /// The first number that it names, and not acknowledged, of a message that is not given up.
    pub kept: Option<u64>,
}

/// Checks the numbers of a FORWARD-TSN.
///
/// # Errors
/// Names the property that is broken.
pub fn forward(sight: &ForwardSight) -> Result<(), &'static str> {
    if sight.kept.is_some() {
        return Err("F1: FORWARD-TSN moves the peer past a message that is not given up");
    }
    if sight.point > sight.sent {
        return Err("F2: FORWARD-TSN names what was not sent");
    }
    // "SHOULD lower the Advanced.Peer.Ack.Point to the last TSN that will fit" (RFC 3758, 3.5, C4).
    if sight.point < sight.before && !sight.alone {
        return Err("F3: FORWARD-TSN goes back");
    }
    if sight.point <= sight.acknowledged {
        return Err("F3: FORWARD-TSN names nothing but what is acknowledged");
    }
    Ok(())
}

/// Checks that a state may follow another, `None` being no association. `restart`: the peer has restarted, so that a
/// new association takes the place of the old one (RFC 9260, 5.2.4 A).
///
/// # Errors
/// Names the property that is broken.
pub fn transition(from: Option<State>, to: State, restart: bool) -> Result<(), &'static str> {
    use State::{
        Closed, CookieEchoed, CookieWait, Established, ShutdownAckSent, ShutdownPending, ShutdownReceived,
        ShutdownSent,
    };
    let (fine, property) = match from {
        None => {
            (matches!(to, CookieWait | Established), "P1: from CLOSED only to COOKIE-WAIT or ESTABLISHED")
        }
        Some(Closed) => (false, "P1: a closed association came back"),
        Some(ShutdownAckSent) => (to == Closed, "P8: from SHUTDOWN-ACK-SENT only to CLOSED"),
        Some(from) if restart => {
            let up = !matches!(from, CookieWait | CookieEchoed);
            (up && to == Established, "RFC 9260, 5.2.4 A: a restart leads to ESTABLISHED")
        }
        Some(ShutdownReceived) => (
            matches!(to, ShutdownAckSent | Closed),
            "P9: from SHUTDOWN-RECEIVED only to SHUTDOWN-ACK-SENT or CLOSED",
        ),
        Some(ShutdownSent) => {
            (matches!(to, ShutdownAckSent | Closed), "P10: a shutdown that was sent goes on to its end")
        }
        Some(ShutdownPending) => (
            matches!(to, ShutdownSent | ShutdownReceived | Closed),
            "P10: a shutdown that was asked for goes on to its end",
        ),
        Some(Established) => (
            matches!(to, ShutdownPending | ShutdownReceived | Closed),
            "RFC 9260, 4: ESTABLISHED is left for the shutdown only",
        ),
        Some(CookieEchoed) => (
            matches!(to, Established | CookieWait | Closed),
            "RFC 9260, 4: COOKIE-ECHOED is left by COOKIE ACK, COOKIE ECHO, Stale Cookie or the end",
        ),
        Some(CookieWait) => (
            matches!(to, CookieEchoed | Established | Closed),
            "RFC 9260, 4: COOKIE-WAIT is left by INIT ACK, COOKIE ECHO or the end",
        ),
    };
    if fine { Ok(()) } else { Err(property) }
}

/// Checks that a timer runs for each answer or acknowledgement awaited, and that none is awaited for too long.
///
/// # Errors
/// Names the property that is broken.
pub fn at_rest(now: Instant, sight: &Sight, bounds: &Bounds) -> Result<(), &'static str> {
    let soon =
        |at: Option<Instant>, within: Duration| at.is_some_and(|at| at <= now.max(sight.latest) + within);
    let waited = now.saturating_since(sight.since);
    match sight.state {
        State::CookieWait if !soon(sight.t1, bounds.timer) => return Err("ES2: COOKIE-WAIT without T1-init"),
        State::CookieEchoed if !soon(sight.t1, bounds.timer) => {
            return Err("P2: COOKIE-ECHOED without T1-cookie");
        }
        State::CookieWait | State::CookieEchoed if waited > bounds.handshake => {
            return Err("ES3: a handshake that does not end");
        }
        State::ShutdownSent | State::ShutdownAckSent if !soon(sight.t2, bounds.timer) => {
            return Err("P10: a shutdown without T2-shutdown");
        }
        State::ShutdownSent if bounds.guard > Duration::ZERO && waited > bounds.guard + bounds.timer => {
            return Err("P10: a shutdown that T5-shutdown-guard does not end");
        }
        State::ShutdownPending | State::ShutdownSent | State::ShutdownReceived
            if bounds.guard > Duration::ZERO && !soon(sight.t5, bounds.guard + bounds.timer) =>
        {
            return Err("ES4: a shutdown without T5-shutdown-guard");
        }
        State::ShutdownPending | State::ShutdownReceived if !sight.owes => {
            return Err("P5: everything is acknowledged, and the shutdown does not go on");
        }
        _ => {}
    }
    let sends = matches!(sight.state, State::Established | State::ShutdownPending | State::ShutdownReceived);
    if sends && sight.waits && !soon(sight.next, bounds.timer) {
        return Err("P5: data waits, and no timer runs");
    }
    Ok(())
}

/// True if [`both`] has a rule for an end in this state; otherwise the state of the other end need not be looked up.
#[must_use]
pub fn depends_on_peer(state: State) -> bool {
    matches!(state, State::ShutdownReceived | State::CookieEchoed)
}

/// Checks that the two ends of one association may have these states at the same time, if no other host knows their
/// tags. Ends of two associations may have any: an end that has aborted the first and begun a second one meets a peer
/// that knows of the first only (RFC 9260, 5.2.2).
///
/// # Errors
/// Names the property that is broken.
pub fn both(a: State, z: State) -> Result<(), &'static str> {
    match (a, z) {
        (State::ShutdownReceived, State::ShutdownReceived) => Err("P6: both ends are in SHUTDOWN-RECEIVED"),
        (State::CookieEchoed, State::ShutdownReceived) | (State::ShutdownReceived, State::CookieEchoed) => {
            Err("P7: COOKIE-ECHOED at one end, SHUTDOWN-RECEIVED at the other")
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use State::{
        Closed, CookieEchoed, CookieWait, Established, ShutdownAckSent, ShutdownPending, ShutdownReceived,
        ShutdownSent,
    };

    const ALL: [State; 8] = [
        CookieWait,
        CookieEchoed,
        Established,
        ShutdownPending,
        ShutdownSent,
        ShutdownReceived,
        ShutdownAckSent,
        Closed,
    ];

    fn trace(states: &[State]) -> Result<(), &'static str> {
        let before = std::iter::once(None).chain(states.iter().copied().map(Some));
        before.zip(states).try_for_each(|(from, to)| transition(from, *to, false))
    }

    #[test]
    fn a_changed_trace_is_noticed() {
        let client = [CookieWait, CookieEchoed, Established, ShutdownPending, ShutdownSent, Closed];
        let server = [Established, ShutdownReceived, ShutdownAckSent, Closed];
        assert_eq!((trace(&client), trace(&server)), (Ok(()), Ok(())));
        for (from, to, property) in [
            (Closed, Established, "P1"),
            (Closed, CookieWait, "P1"),
            (ShutdownAckSent, Established, "P8"),
            (ShutdownReceived, Established, "P9"),
            (ShutdownReceived, ShutdownSent, "P9"),
            (ShutdownSent, Established, "P10"),
            (ShutdownPending, Established, "P10"),
            (Established, CookieWait, "RFC 9260"),
        ] {
            let said = transition(Some(from), to, false);
            assert!(said.is_err_and(|what| what.starts_with(property)), "{from:?} {to:?}: {said:?}");
        }
        assert!(trace(&[ShutdownSent]).is_err_and(|what| what.starts_with("P1")));
        let allowed = |restart| {
            let pairs = ALL.iter().flat_map(|from| ALL.map(|to| (*from, to)));
            pairs.filter(|(from, to)| transition(Some(*from), *to, restart).is_ok()).count()
        };
        assert_eq!((allowed(false), allowed(true)), (17, 5));
    }

    #[test]
    fn who_waits_without_a_timer_is_noticed() {
        let second = Duration::from_secs(1);
        let bounds = Bounds { timer: second, handshake: second * 4, guard: second * 5 };
        let now = Instant::ZERO + second * 10;
        let soon = Some(now + second);
        let rest = |state, change: fn(&mut Sight)| {
            let mut sight = Sight {
                state,
                since: now,
                latest: now,
                t1: soon,
                t2: soon,
                t5: soon,
                next: soon,
                owes: true,
                waits: true,
            };
            assert_eq!(at_rest(now, &sight, &bounds), Ok(()));
            change(&mut sight);
            at_rest(now, &sight, &bounds).err().map_or("", |what| what.split(':').next().unwrap_or(what))
        };
        assert_eq!(rest(CookieWait, |s| s.t1 = None), "ES2");
        assert_eq!(rest(CookieEchoed, |s| s.t1 = None), "P2");
        assert_eq!(rest(CookieEchoed, |s| s.t1 = s.t1.map(|at| at + Duration::from_millis(1))), "P2");
        assert_eq!(rest(CookieEchoed, |s| s.since = Instant::ZERO), "ES3");
        assert_eq!(rest(ShutdownSent, |s| s.t2 = None), "P10");
        assert_eq!(rest(ShutdownSent, |s| s.since = Instant::ZERO), "P10");
        assert_eq!(rest(ShutdownAckSent, |s| s.t2 = None), "P10");
        assert_eq!(rest(ShutdownReceived, |s| s.t5 = None), "ES4");
        assert_eq!(rest(ShutdownPending, |s| s.t5 = None), "ES4");
        assert_eq!(rest(ShutdownReceived, |s| s.owes = false), "P5");
        assert_eq!(rest(Established, |s| s.next = None), "P5");
        assert_eq!(rest(Established, |s| (s.next, s.waits) = (None, false)), "");
        // A clock that was set back: a timer set before waits for the earlier time, and no longer.
        fn set_back(s: &mut Sight, wait: u64) {
            s.latest += Duration::from_secs(3600);
            s.next = Some(s.latest + Duration::from_secs(wait));
        }
        assert_eq!(rest(Established, |s| s.next = s.next.map(|at| at + Duration::from_secs(3600))), "P5");
        assert_eq!(rest(Established, |s| set_back(s, 1)), "");
        assert_eq!(rest(Established, |s| set_back(s, 2)), "P5");
    }

    #[test]
    fn a_forward_tsn_that_lies_is_noticed() {
        let said = |change: fn(&mut ForwardSight)| {
            let mut sight =
                ForwardSight { before: 7, point: 9, alone: false, acknowledged: 5, sent: 9, kept: None };
            assert_eq!(forward(&sight), Ok(()));
            change(&mut sight);
            forward(&sight).err().map_or("", |what| what.split(':').next().unwrap_or(what))
        };
        assert_eq!(said(|s| s.kept = Some(6)), "F1");
        assert_eq!(said(|s| s.sent = 8), "F2");
        assert_eq!(said(|s| s.point = 6), "F3");
        assert_eq!(said(|s| (s.point, s.alone) = (6, true)), "");
        assert_eq!(said(|s| (s.before, s.point) = (5, 5)), "F3");
        assert_eq!(said(|s| (s.before, s.point) = (7, 7)), "", "the same again");
    }

    #[test]
    fn two_ends_that_cannot_stand_so_are_noticed() {
        assert!(both(ShutdownReceived, ShutdownReceived).is_err_and(|what| what.starts_with("P6")));
        assert!(both(CookieEchoed, ShutdownReceived).is_err_and(|what| what.starts_with("P7")));
        assert!(both(ShutdownReceived, CookieEchoed).is_err_and(|what| what.starts_with("P7")));
        let fine = ALL.iter().flat_map(|a| ALL.map(|z| both(*a, z))).filter(Result::is_ok).count();
        assert_eq!(fine, 61);
        let silent = ALL.iter().filter(|a| !depends_on_peer(**a));
        assert!(
            silent.flat_map(|a| ALL.map(|z| [both(*a, z), both(z, *a)])).flatten().all(|said| said.is_ok())
        );
    }
}
