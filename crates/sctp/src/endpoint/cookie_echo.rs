//! COOKIE ECHO: effects of a State Cookie that comes back (RFC 9260, 5.1.5, 5.2.4).

use anabranch_wire::sf2007::SetupParams;

use super::admission::{Admission, Asking, admit, split_setup};
use super::spent::Worth;
use crate::causes;
use crate::cookie::Cookie;
use crate::event::AssociationId;
use crate::state::State;

/// The outcome of a COOKIE ECHO.
#[derive(Debug)]
pub(super) enum CookieOutcome<'p> {
    /// No association changed.
    Nothing,
    /// An association has something to send.
    Touched(u32),
    /// The rest of the packet, and `setup` behind the cookie, are for an association that existed.
    Known { index: u32, setup: SetupParams<'p> },
    /// The rest of the packet, and `setup` behind the cookie, are for an association that was made.
    New { id: AssociationId, setup: SetupParams<'p> },
}

impl Admission {
    /// A COOKIE ECHO.
    // rfc9260:3.3.10.3-1 rfc9260:5.1.5-2 rfc9260:5.1.5-3 rfc9260:5.1.5-4 rfc9260:5.1-15 rfc9260:5.2.4-1
    // rfc9260:5.2.4-2
    pub(super) fn on_cookie_echo<'p>(&mut self, asks: &mut Asking<'_, 'p>) -> CookieOutcome<'p> {
        let (now, meta, packet) = (asks.now, asks.meta, asks.packet);
        let header = packet.header();
        let mut chunks = packet.chunks();
        let Some(Ok(raw)) = chunks.next() else { return CookieOutcome::Nothing };
        // 5.1.5, steps 1 to 3: MAC, ports, tag; and an address that the INIT came from or listed.
        // The encoding of 2007 has parameters behind the cookie.
        let (opaque, setup) = split_setup(asks.config, raw.value);
        let cookie = self.open_cookie(now, opaque).filter(|c| {
            c.local_port == header.destination_port
                && c.peer_port == header.source_port
                && c.local_tag == header.verification_tag
                && c.addresses.contains(&meta.source.ip())
        });
        let Some((cookie, shown)) = cookie.and_then(|c| c.shown().map(|at| (c, at))) else {
            asks.stateless.count().bad_cookies += 1;
            return CookieOutcome::Nothing;
        };
        let existing =
            cookie.addresses.iter().find_map(|address| asks.registry.by_peer(*address, cookie.ports()));
        // A peer whose INIT ACK went to an address that an association has not confirmed cannot change that
        // association, whatever addresses it lists; nor can its cookie from a time before the association. The source
        // of the COOKIE ECHO proves nothing: the cookie holds the address that was confirmed.
        if existing.is_some_and(|index| !asks.registry.is_confirmed(index, shown.ip())) {
            asks.stateless.count().bad_cookies += 1;
            return CookieOutcome::Nothing;
        }
        let tags_match = existing
            .and_then(|i| asks.registry.at(i))
            .is_some_and(|a| a.tags() == (cookie.local_tag, cookie.peer_tag));
        // Step 4, and 5.2.4 step 3: an old cookie is good only for the association that it made.
        let age = now - cookie.created;
        if age > cookie.life && !tags_match {
            asks.stateless.count().stale_cookies += 1;
            let staleness = u32::try_from((age - cookie.life).as_nanos() / 1000).unwrap_or(u32::MAX);
            asks.stateless.answer_cookie(meta, packet, &cookie, shown, |out| {
                causes::write_error(out, &causes::stale_cookie_cause(staleness));
            });
            return CookieOutcome::Nothing;
        }
        match existing {
            Some(index)
                if is_late_restart(asks, index, &cookie) || self.is_of_another_time(asks, index, &cookie) =>
            {
                asks.stateless.answer_outlived(meta, packet, &cookie, shown);
                CookieOutcome::Nothing
            }
            Some(index) => self.on_duplicate_cookie(asks, index, &cookie, setup),
            None => {
                match self.worth(now, &cookie) {
                    Worth::Association => {}
                    Worth::Nothing => {
                        asks.stateless.count().bad_cookies += 1;
                        return CookieOutcome::Nothing;
                    }
                    Worth::Outlived => {
                        asks.stateless.answer_outlived(meta, packet, &cookie, shown);
                        return CookieOutcome::Nothing;
                    }
                }
                let listening = asks.listening.at(cookie.local_port).cloned();
                if asks.config.accept.ask && listening.is_some() {
                    self.hold(asks, cookie, shown);
                    return CookieOutcome::Nothing;
                }
                let room = self.has_room(asks, shown.ip(), cookie.ports());
                let Some(config) = listening.filter(|_| room) else {
                    // "decides not to establish the new association due to ... lack of local resources, it MUST respond with
                    // an ABORT chunk" (5.1).
                    asks.stateless.count().out_of_the_blue += 1;
                    asks.stateless.count().refused += 1;
                    let cause = if room { Vec::new() } else { causes::out_of_resource() };
                    asks.stateless.answer_cookie(meta, packet, &cookie, shown, |out| {
                        causes::write_abort(out, false, &cause);
                    });
                    return CookieOutcome::Nothing;
                };
                let id = admit(asks.registry, asks.identities, now, meta.source, config, &cookie);
                CookieOutcome::New { id, setup }
            }
        }
    }

    /// True if no tag of a cookie is that of the association, which is up: the peer has restarted, and the COOKIE
    /// ECHO of an earlier incarnation, which came first, has made or restarted the association that exists; therefore
    /// the cookie has no Tie-Tags, or those of an association that is gone. "For any case not shown in Table 12, the
    /// cookie SHOULD be silently discarded": the peer would repeat it in vain until it is stale, and get a Stale
    /// Cookie error then. It gets that error at once, sends another INIT, and restarts. If the sender is the
    /// incarnation that is gone, the error finds no association, as it has the tag of that one. False while our own handshake
    /// runs, which decides then.
    fn is_of_another_time(&self, asks: &Asking<'_, '_>, index: u32, cookie: &Cookie) -> bool {
        asks.registry.at(index).is_some_and(|a| {
            let (local, peer) = a.tags();
            cookie.local_tag != local
                && cookie.peer_tag != peer
                && (cookie.local_tie, cookie.peer_tie) != self.tie_tags((local, peer))
                && !a.is_in_handshake()
        })
    }

    /// Table 12 of 5.2.4.
    // rfc9260:1.3-1 rfc9260:5.1.5-8 rfc9260:5.2.4-3 rfc9260:5.2.4-8 rfc9260:5.2.4-9
    fn on_duplicate_cookie<'p>(
        &self,
        asks: &mut Asking<'_, 'p>,
        index: u32,
        cookie: &Cookie,
        setup: SetupParams<'p>,
    ) -> CookieOutcome<'p> {
        let (now, source) = (asks.now, asks.meta.source);
        let Some(assoc) = asks.registry.at(index) else { return CookieOutcome::Nothing };
        let (local, peer) = assoc.tags();
        let (local_matches, peer_matches) = (cookie.local_tag == local, cookie.peer_tag == peer);
        let ties_match = (cookie.local_tie, cookie.peer_tie) == self.tie_tags((local, peer));
        // (B) both asked at the same time, or (D) the same cookie again. A cookie that the peer obtained before the
        // one that we have echoed belongs to an earlier incarnation of the peer: it is a copy that comes late, or
        // comes again.
        if local_matches && !peer_matches && assoc.echoed_newer(cookie) {
            asks.stateless.count().bad_cookies += 1;
            return CookieOutcome::Nothing;
        }
        if !local_matches && ties_match {
            // (A) the peer restarted. If it has the same tag it begins anew after a Stale Cookie error (5.2.6), and
            // another cookie from before made this association: an end that is up echoes no cookie. The INIT was
            // checked for new addresses (5.2.2); the association may have others now.
            if cookie.addresses.iter().any(|address| !assoc.knows_address(*address)) {
                asks.stateless.count().bad_cookies += 1;
                return CookieOutcome::Nothing;
            }
            if assoc.state() == State::ShutdownAckSent {
                if let Some(assoc) = asks.registry.at_mut(index) {
                    assoc.repeat_shutdown_ack(Some(causes::cookie_while_shutting_down()));
                }
                return CookieOutcome::Touched(index);
            }
            asks.registry.remap(index, |assoc| assoc.restart(now, cookie, source));
            return CookieOutcome::Known { index, setup };
        }
        if local_matches {
            asks.registry.remap(index, |assoc| assoc.confirm(now, cookie, source));
            return CookieOutcome::Known { index, setup };
        }
        // (C) our cookie arrived late, or a case that the table does not show: "silently discarded".
        asks.stateless.count().bad_cookies += 1;
        CookieOutcome::Nothing
    }
}

/// True if the peer has restarted in mid-handshake, and its INIT came before the COOKIE ACK of its former
/// incarnation: its cookie has our tag, which 5.2.1 repeats, but we are up with the incarnation that is gone. A new
/// tag of the peer alone (5.2.4 B) would join two sequence spaces; and under our old tag and TSNs, SACKs for the
/// former incarnation would count as those of the new. The peer has to ask again, and restarts then as any other (A).
/// A copy that comes late looks alike, and its sender is gone.
fn is_late_restart(asks: &Asking<'_, '_>, index: u32, cookie: &Cookie) -> bool {
    asks.registry.at(index).is_some_and(|a| {
        let (local, peer) = a.tags();
        cookie.local_tag == local && cookie.peer_tag != peer && !a.is_in_handshake()
    })
}
