//! The handshake: the attempt of the side that asks, its timer, and agreements that take effect when the association is up.

use anabranch_base::{Duration, Instant};

use super::control_probe::control_probe;
use crate::context::Context;
use crate::negotiation::offer::Extensions;
use crate::receiver::Receiver;

/// Cookie life that may be asked for beyond the round trip when a cookie was stale: "no more than 1 second" (5.2.6).
const MAX_INCREMENT_MS: u32 = 1000;

/// A handshake that is under way.
#[derive(Debug, Default)]
pub(super) struct Handshake {
    /// T1-init or T1-cookie.
    t1: Option<Instant>,
    rto: Duration,
    retransmits: u32,
    /// Counter that selects one of the subflows' code points for the handshake's packets: the next one at each expiry
    /// of T1.
    code_point: u32,
    /// Stale Cookie errors so far: each begins the handshake anew, and that must end, too.
    stale: u32,
    /// The next INIT begins another attempt, and has no tag of its own yet.
    wants_tag: bool,
    /// Time at which the INIT ACK came.
    answered: Option<Instant>,
    /// Time at which the COOKIE ECHO is sent once more.
    probe: Option<Instant>,
    /// The State Cookie to echo.
    cookie: Vec<u8>,
    /// "Suggested Cookie Life-Span Increment" to ask for after a Stale Cookie error, ms.
    preservative: Option<u32>,
    /// The user has asked for a shutdown.
    shutdown_wanted: bool,
    /// Packets leave with a checksum of zero once the association is up (RFC 9653).
    sends_zero_checksum: bool,
    /// The code point of the layer above the peer (RFC 5061).
    adaptation: Option<u32>,
}

impl Handshake {
    /// INIT leaves now.
    pub(super) fn begin(cx: &Context) -> Self {
        let config = cx.env.config();
        let rto = config.timers.rto_initial.min(config.timers.longest_init_rto());
        Self { t1: Some(config.clock().after(cx.env.now(), rto)), rto, ..Self::default() }
    }

    /// An INIT ACK has come, and its cookie is echoed now. If the peer says that cookies are stale the handshake begins anew, but without a second
    /// probe.
    pub(super) fn echo(
        self,
        cx: &Context,
        receiver: &Receiver,
        cookie: Vec<u8>,
        agreed: &Extensions,
    ) -> Self {
        let mut next = Self {
            stale: self.stale,
            // The code point of the INIT that was answered.
            code_point: self.code_point,
            shutdown_wanted: self.shutdown_wanted,
            answered: Some(cx.env.now()),
            cookie,
            ..Self::begin(cx)
        };
        next.note(agreed);
        next.probe = if next.stale > 0 { None } else { control_probe(cx, receiver, next.t1) };
        next
    }

    /// Agreements that take effect when the association is up.
    pub(super) fn note(&mut self, agreed: &Extensions) {
        self.sends_zero_checksum = agreed.sends_zero_checksum;
        self.adaptation = agreed.adaptation;
    }

    /// T1-init or T1-cookie.
    pub(super) fn t1(&self) -> Option<Instant> {
        self.t1
    }

    /// Time at which the COOKIE ECHO is sent once more.
    pub(super) fn probe(&self) -> Option<Instant> {
        self.probe
    }

    /// Counter that selects one of the subflows' code points: 0 is that of the first.
    pub(super) fn code_point(&self) -> u32 {
        self.code_point
    }

    /// The State Cookie to echo.
    pub(super) fn cookie(&self) -> &[u8] {
        &self.cookie
    }

    /// Cookie life to ask for beyond the peer's, ms.
    pub(super) fn preservative(&self) -> Option<u32> {
        self.preservative
    }

    /// True if packets leave with a checksum of zero once the association is up.
    pub(super) fn sends_zero_checksum(&self) -> bool {
        self.sends_zero_checksum
    }

    /// The code point of the layer above the peer.
    pub(super) fn adaptation(&self) -> Option<u32> {
        self.adaptation
    }

    /// Time at which the INIT ACK came whose cookie was echoed, as long as T1-cookie has not expired.
    pub(super) fn answered(&self) -> Option<Instant> {
        self.answered.filter(|_| self.retransmits == 0)
    }

    /// Time at which the packet left that is answered now. `None` where it was sent again: it is not known then to which the answer belongs.
    pub(super) fn sent_once(&self) -> Option<Instant> {
        self.t1.filter(|_| self.retransmits == 0).map(|t1| t1 - self.rto)
    }

    /// The user asks for the end: once the association is up.
    pub(super) fn want_shutdown(&mut self) {
        self.shutdown_wanted = true;
    }

    /// True if the user has asked for the end.
    pub(super) fn is_shutdown_wanted(&self) -> bool {
        self.shutdown_wanted
    }

    /// True if the cookie of the last attempt was stale, and the next one has no tag yet.
    pub(super) fn wants_tag(&self) -> bool {
        self.wants_tag
    }

    /// The next attempt has a tag.
    pub(super) fn has_tag(&mut self) {
        self.wants_tag = false;
    }

    /// The cookie was stale: INIT leaves again, and asks for a longer life. False when that has happened too often.
    pub(super) fn cookie_was_stale(&mut self, cx: &Context) -> bool {
        self.probe = None;
        self.stale += 1;
        self.wants_tag = true;
        if self.stale > cx.env.config().limits.max_init_retransmits {
            return false;
        }
        // "SHOULD use the RTT information measured based on the previous COOKIE ECHO/ERROR chunk exchange and SHOULD add no
        // more than 1 second beyond the measured RTT" (5.2.6). The round trip is that of the last COOKIE ECHO; where it is
        // longer than the timer, which stays backed off, that of a later attempt will be right.
        let sent = self.t1.map_or(cx.env.now(), |t1| t1 - self.rto);
        let round_trip = (cx.env.now() - sent).min(self.rto);
        self.preservative = Some(u32::try_from(round_trip.as_millis()).unwrap_or(0) + MAX_INCREMENT_MS);
        self.t1 = Some(cx.env.config().clock().after(cx.env.now(), self.rto));
        true
    }

    /// T1-init or T1-cookie expired. False when that has happened too often.
    pub(super) fn on_t1(&mut self, cx: &Context) -> bool {
        let config = cx.env.config();
        self.retransmits += 1;
        self.probe = None;
        self.code_point = self.code_point.wrapping_add(1);
        if self.retransmits > config.limits.max_init_retransmits {
            return false;
        }
        self.rto = (self.rto * 2).min(config.timers.longest_init_rto());
        self.t1 = Some(config.clock().after(cx.env.now(), self.rto));
        true
    }

    /// The COOKIE ECHO is sent once more.
    pub(super) fn probed(&mut self) {
        self.probe = None;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::config::Config;
    use crate::path::Path;

    fn context(config: Config) -> Context {
        let path = Path::new(&config, ([10, 0, 0, 1], 0).into());
        let rng = anabranch_base::Rng::stream(1, "test", "handshake").secret();
        Context::new(0, Arc::new(config), path, rng)
    }

    fn two_attempts() -> Context {
        context(Config::rfc9260().with(|c| c.limits.max_init_retransmits = 2))
    }

    #[test]
    fn each_expiry_doubles_the_timer_and_takes_the_next_code_point() {
        let mut cx = two_attempts();
        let mut handshake = Handshake::begin(&cx);
        let first = handshake.t1().unwrap() - cx.env.now();
        assert_eq!(handshake.sent_once(), Some(cx.env.now()));
        for doubled in [first * 2, first * 4] {
            cx.env.set_now(handshake.t1().unwrap());
            assert!(handshake.on_t1(&cx));
            assert_eq!(handshake.t1(), Some(cx.env.now() + doubled));
            assert_eq!(handshake.sent_once(), None, "whose answer comes is not known any more");
        }
        assert_eq!(handshake.code_point(), 2);
        assert!(!handshake.on_t1(&cx), "Max.Init.Retransmits");
    }

    #[test]
    fn a_stale_cookie_asks_for_a_longer_life_and_another_tag_but_not_for_ever() {
        let mut cx = two_attempts();
        let receiver = Receiver::new(&Config::rfc9260());
        let agreed = Extensions { adaptation: Some(7), ..Extensions::default() };
        let begun = Handshake::begin(&cx);
        let mut handshake = begun.echo(&cx, &receiver, vec![1, 2, 3], &agreed);
        assert_eq!((handshake.cookie(), handshake.adaptation()), (&[1, 2, 3][..], Some(7)));
        cx.env.set_now(cx.env.now() + Duration::from_millis(300));
        assert!(handshake.cookie_was_stale(&cx));
        assert_eq!(handshake.preservative(), Some(300 + MAX_INCREMENT_MS));
        assert!(handshake.wants_tag());
        handshake.has_tag();
        assert!(!handshake.wants_tag());
        assert!(handshake.cookie_was_stale(&cx));
        assert!(!handshake.cookie_was_stale(&cx), "Max.Init.Retransmits");
    }
}
