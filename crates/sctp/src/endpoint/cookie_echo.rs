//! COOKIE ECHO: what a State Cookie that comes back is good for (RFC 9260, 5.1.5, 5.2.4).

use std::net::SocketAddr;

use anabranch_base::{Instant, Meta};
use anabranch_wire::Packet;

use super::Endpoint;
use super::spent::Worth;
use crate::causes;
use crate::cookie::Cookie;
use crate::state::State;

impl Endpoint {
    // rfc9260:3.3.10.3-1 rfc9260:5.1.5-2 rfc9260:5.1.5-3 rfc9260:5.1.5-4 rfc9260:5.1-15 rfc9260:5.2.4-1
    // rfc9260:5.2.4-2
    pub(super) fn on_cookie_echo(&mut self, now: Instant, meta: &Meta, packet: &Packet<'_>) {
        let header = packet.header();
        let mut chunks = packet.chunks();
        let Some(Ok(raw)) = chunks.next() else { return };
        // 5.1.5, steps 1 to 3: MAC, ports, tag; and an address that the INIT came from or listed.
        // The encoding of 2007 has parameters behind the cookie.
        let (opaque, setup) = self.split_setup(raw.value);
        let cookie = self.keys.open(now, opaque).filter(|c| {
            c.local_port == header.destination_port
                && c.peer_port == header.source_port
                && c.local_tag == header.verification_tag
                && c.addresses.contains(&meta.source.ip())
        });
        let Some((cookie, shown)) = cookie.and_then(|c| c.shown().map(|at| (c, at))) else {
            self.stats.bad_cookies += 1;
            return;
        };
        let existing =
            cookie.addresses.iter().find_map(|address| self.registry.by_peer(*address, cookie.ports()));
        // Whoever got our INIT ACK somewhere else has no say in an association, whatever it lists; nor has its cookie from
        // a time when there was none. Where the COOKIE ECHO comes from proves nothing: the cookie says who was asked.
        if existing.is_some_and(|index| !self.is_confirmed(index, shown.ip())) {
            self.stats.bad_cookies += 1;
            return;
        }
        let tags_match = existing
            .and_then(|i| self.registry.at(i))
            .is_some_and(|a| a.tags() == (cookie.local_tag, cookie.peer_tag));
        // Step 4, and 5.2.4 step 3: an old cookie is good only for the association that it made.
        let age = now - cookie.created;
        if age > cookie.life && !tags_match {
            self.stats.stale_cookies += 1;
            let staleness = u32::try_from((age - cookie.life).as_nanos() / 1000).unwrap_or(u32::MAX);
            self.answer_cookie(meta, packet, &cookie, shown, |out| {
                causes::write_error(out, &causes::stale_cookie_cause(staleness));
            });
            return;
        }
        let index = match existing {
            Some(index)
                if self.is_late_restart(index, &cookie) || self.is_of_another_time(index, &cookie) =>
            {
                self.answer_outlived(meta, packet, &cookie, shown);
                return;
            }
            Some(index) => match self.on_duplicate_cookie(now, index, &cookie, meta.source) {
                Some(index) => index,
                None => return,
            },
            None => {
                let spent = self.spent.as_mut();
                match spent.map_or(Worth::Association, |spent| spent.worth(now, &cookie)) {
                    Worth::Association => {}
                    Worth::Nothing => {
                        self.stats.bad_cookies += 1;
                        return;
                    }
                    Worth::Outlived => {
                        self.answer_outlived(meta, packet, &cookie, shown);
                        return;
                    }
                }
                let listening = self.listening_at(cookie.local_port).cloned();
                if self.config.accept.ask && listening.is_some() {
                    self.hold(now, meta, packet, cookie, shown);
                    return;
                }
                let room = self.has_room(shown.ip(), cookie.ports());
                let Some(config) = listening.filter(|_| room) else {
                    // "decides not to establish the new association due to ... lack of local resources, it MUST respond with
                    // an ABORT chunk" (5.1).
                    self.stats.out_of_the_blue += 1;
                    self.stats.refused += 1;
                    let cause = if room { Vec::new() } else { causes::out_of_resource() };
                    self.answer_cookie(meta, packet, &cookie, shown, |out| {
                        causes::write_abort(out, false, &cause);
                    });
                    return;
                };
                self.admit(now, meta.source, config, &cookie).index
            }
        };
        self.read_behind_cookie(now, index, meta, chunks, packet.bytes().len(), setup);
    }

    /// A cookie that a change since it was made has outlived is as good as stale: who waits for a COOKIE ACK asks again, anybody else
    /// "silently" discards the ERROR (5.2.6). A staleness of zero says nothing of how long (3.3.10.3).
    fn answer_outlived(&mut self, meta: &Meta, packet: &Packet<'_>, cookie: &Cookie, shown: SocketAddr) {
        self.stats.stale_cookies += 1;
        self.answer_cookie(meta, packet, cookie, shown, |out| {
            causes::write_error(out, &causes::stale_cookie_cause(0));
        });
    }

    /// Whether the peer has restarted in mid-handshake, and its INIT came before the COOKIE ACK of before: its cookie has our tag, which
    /// 5.2.1 repeats, but we are up with the peer that is gone. A new tag of the peer alone (5.2.4 B) would join two sequence spaces; and
    /// under our old tag and TSNs, SACKs for the one that is gone would count as those of the new. It is to ask again, and
    /// restarts then as any other (A). A copy that comes late looks alike, and its sender is gone.
    fn is_late_restart(&self, index: u32, cookie: &Cookie) -> bool {
        self.registry.at(index).is_some_and(|a| {
            let (local, peer) = a.tags();
            cookie.local_tag == local && cookie.peer_tag != peer && !a.is_in_handshake()
        })
    }

    /// Whether none of the tags of a cookie are those of an association that is up: the peer has restarted, and before its COOKIE ECHO came one of an
    /// earlier incarnation had made the association that there is, or had restarted it, so the Tie-Tags are none, or of one that
    /// is gone. "For any case not shown in Table 12, the cookie SHOULD be silently discarded": the peer would repeat it in vain until
    /// it is stale, and be told so then. It is told at once, asks again, and restarts. If the sender is the incarnation that is gone, the error
    /// finds nobody, as it has that one's tag. While we ask ourselves, our own handshake decides.
    fn is_of_another_time(&self, index: u32, cookie: &Cookie) -> bool {
        self.registry.at(index).is_some_and(|a| {
            let (local, peer) = a.tags();
            cookie.local_tag != local
                && cookie.peer_tag != peer
                && (cookie.local_tie, cookie.peer_tie) != self.ties.tie_tags((local, peer))
                && !a.is_in_handshake()
        })
    }

    /// Table 12 of 5.2.4. The association whose rest of the packet is to be read, if any.
    // rfc9260:1.3-1 rfc9260:5.1.5-8 rfc9260:5.2.4-3 rfc9260:5.2.4-8 rfc9260:5.2.4-9
    fn on_duplicate_cookie(
        &mut self,
        now: Instant,
        index: u32,
        cookie: &Cookie,
        source: SocketAddr,
    ) -> Option<u32> {
        let assoc = self.registry.at(index)?;
        let (local, peer) = assoc.tags();
        let (local_matches, peer_matches) = (cookie.local_tag == local, cookie.peer_tag == peer);
        let ties_match = (cookie.local_tie, cookie.peer_tie) == self.ties.tie_tags((local, peer));
        // (B) both asked at the same time, or (D) the same cookie again. What an incarnation of the peer echoes that asked before the one
        // whose cookie we have echoed is a copy that comes late, or comes again.
        if local_matches && !peer_matches && assoc.echoed_newer(cookie) {
            self.stats.bad_cookies += 1;
            return None;
        }
        if !local_matches && ties_match {
            // (A) the peer restarted. If it has the same tag it begins anew after a Stale Cookie error (5.2.6), and another cookie of before made
            // this association: who is up echoes nothing. The INIT was checked for new addresses (5.2.2); the association may have others now.
            if cookie.addresses.iter().any(|address| !assoc.knows_address(*address)) {
                self.stats.bad_cookies += 1;
                return None;
            }
            if assoc.state() == State::ShutdownAckSent {
                self.registry.at_mut(index)?.refuse_restart();
                self.settle(now, index);
                return None;
            }
            self.registry.unmap(index);
            self.registry.at_mut(index)?.restart(now, cookie, source);
            self.registry.map(index);
            return Some(index);
        }
        if local_matches {
            self.registry.unmap(index);
            self.registry.at_mut(index)?.confirm(now, cookie, source);
            self.registry.map(index);
            return Some(index);
        }
        // (C) our cookie arrived late, or a case that the table does not show: "silently discarded".
        self.stats.bad_cookies += 1;
        None
    }
}
