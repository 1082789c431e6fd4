//! State Cookies that were made before the end of an association with the same peer: they are good for nothing.

use std::collections::{BTreeMap, VecDeque};

use anabranch_base::{Duration, Instant};

use super::registry::Peer;
use crate::cookie::Cookie;

/// Ends that are remembered. Beyond so many within the life of a cookie, those forgotten count for every peer.
const MOST: usize = 1 << 16;

/// The worth of a cookie that would make a new association.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Worth {
    /// An association.
    Association,
    /// Nothing: the cookie made an association, which has ended.
    Nothing,
    /// Nothing: an association with its peer has ended since the cookie was made. A peer that echoes it in good faith may ask
    /// again.
    Outlived,
}

#[derive(Clone, Copy, Debug)]
struct End {
    at: Instant,
    /// Our tag and the peer's.
    tags: (u32, u32),
}

/// Ends of associations, remembered against COOKIE ECHOs that arrive once more, late or replayed. Such a chunk would
/// set the association up again: the DATA behind it would be delivered twice, and the peer knows nothing of that
/// association. Cookies are not remembered, as answering an INIT keeps no state, and there are more of them than made
/// an association: those of incarnations before a restart, of both sides of a collision, of an INIT that came twice.
/// So the end of an association is remembered, until every cookie made before it is stale: none of them, of that
/// peer, is good any more. That is one entry for each address of a peer and one life of a cookie, some 100 bytes, and
/// at most [`MOST`]: when more associations end, cookies made before the oldest end that is remembered are no good
/// for any peer, and a peer in the middle of a handshake then begins it anew.
#[derive(Debug, Default)]
pub(super) struct SpentCookies {
    ends: BTreeMap<Peer, End>,
    /// In the order of time; an entry that was followed by another of the same peer stands here still.
    order: VecDeque<(Instant, Peer)>,
    /// The last end of all.
    last: Option<Instant>,
    /// Time of creation that the newest cookie carries.
    newest: Instant,
    /// The last end that was forgotten before its time.
    forgotten: Option<Instant>,
    /// The longest life of a cookie, and the time at which the last one becomes stale.
    life: Duration,
    good_until: Instant,
}

impl SpentCookies {
    /// A cookie is made: when it is made, as it must say. Never at the time of an end: it was made before or after.
    pub(super) fn made(&mut self, now: Instant, life: Duration) -> Instant {
        let made = match self.last {
            Some(last) if now <= last => last + Duration::from_nanos(1),
            _ => now,
        };
        self.life = self.life.max(life);
        self.newest = self.newest.max(made);
        self.good_until = self.good_until.max(made + life);
        made
    }

    /// The association with those tags, ours and the peer's, has ended; its peer had those confirmed addresses.
    pub(super) fn ended(&mut self, now: Instant, tags: (u32, u32), peers: impl Iterator<Item = Peer>) {
        self.prune(now);
        // An endpoint that has made no cookie within a cookie's life, as one that only connects, has nothing to
        // remember.
        if now > self.good_until {
            return;
        }
        // Behind every cookie so far and every other end, also where the clock has gone back since.
        let at = now.max(self.newest).max(self.last.unwrap_or(now));
        self.last = Some(at);
        for peer in peers {
            if self.order.len() >= MOST {
                self.forget_first();
            }
            self.ends.insert(peer, End { at, tags });
            self.order.push_back((at, peer));
        }
    }

    /// The worth of a cookie that is not stale, when there is no association with its peer.
    pub(super) fn worth(&mut self, now: Instant, cookie: &Cookie) -> Worth {
        self.prune(now);
        let ends = cookie.addresses.iter().filter_map(|address| self.ends.get(&(*address, cookie.ports())));
        let mut worth = match self.forgotten {
            Some(at) if cookie.created <= at => Worth::Outlived,
            _ => Worth::Association,
        };
        for end in ends {
            // Both tags are compared: in COOKIE-WAIT every INIT ACK to the peer had the same tag of ours (5.2.1).
            if end.tags == (cookie.local_tag, cookie.peer_tag) {
                return Worth::Nothing;
            }
            if cookie.created <= end.at {
                worth = Worth::Outlived;
            }
        }
        worth
    }

    /// Forgets ends for which no cookie is left.
    fn prune(&mut self, now: Instant) {
        while self.order.front().is_some_and(|(at, _)| *at + self.life < now) {
            self.take_first();
        }
        if self.forgotten.is_some_and(|at| at + self.life < now) {
            self.forgotten = None;
        }
    }

    fn forget_first(&mut self) {
        if let Some(at) = self.take_first() {
            self.forgotten = Some(at);
        }
    }

    /// Takes the first of the order; its time, if it was the last of its peer.
    fn take_first(&mut self) -> Option<Instant> {
        let (at, peer) = self.order.pop_front()?;
        let last = self.ends.get(&peer).is_some_and(|end| end.at == at);
        if last {
            self.ends.remove(&peer);
        }
        last.then_some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::negotiation::offer::Extensions;
    use anabranch_wire::Tsn;

    const LIFE: Duration = Duration::from_secs(60);

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    fn peer(number: u32) -> Peer {
        (std::net::IpAddr::from(number.to_be_bytes()), (9, 9))
    }

    fn cookie(created: Instant, tag: u32, peer: Peer) -> Cookie {
        Cookie {
            created,
            life: LIFE,
            local_tag: tag,
            peer_tag: 1,
            local_tie: 0,
            peer_tie: 0,
            local_initial_tsn: Tsn::new(1),
            peer_initial_tsn: Tsn::new(1),
            peer_rwnd: 9999,
            outbound_streams: 1,
            inbound_streams: 1,
            local_port: peer.1.1,
            peer_port: peer.1.0,
            addresses: vec![peer.0],
            udp_port: 0,
            extensions: Extensions::default(),
        }
    }

    #[test]
    fn an_end_counts_for_what_was_made_before_it_and_for_its_peer() {
        let mut spent = SpentCookies::default();
        assert_eq!(spent.made(at(1), LIFE), at(1));
        spent.ended(at(10), (5, 1), std::iter::once(peer(1)));
        assert_eq!(spent.worth(at(20), &cookie(at(1), 5, peer(1))), Worth::Nothing);
        assert_eq!(spent.worth(at(20), &cookie(at(1), 6, peer(1))), Worth::Outlived);
        let of_another = Cookie { peer_tag: 2, ..cookie(at(1), 5, peer(1)) };
        assert_eq!(spent.worth(at(20), &of_another), Worth::Outlived);
        assert_eq!(spent.worth(at(20), &cookie(at(1), 6, peer(2))), Worth::Association);
        assert_eq!(spent.worth(at(20), &cookie(at(11), 6, peer(1))), Worth::Association);
        // In the moment of the end: after it.
        let later = spent.made(at(10), LIFE);
        assert!(later > at(10));
        assert_eq!(spent.worth(at(20), &cookie(later, 6, peer(1))), Worth::Association);
        // A stale cookie needs no entry: it is not accepted any more.
        assert_eq!(spent.worth(at(70), &cookie(at(10), 6, peer(1))), Worth::Outlived);
        spent.prune(at(71));
        assert!(spent.ends.is_empty() && spent.order.is_empty());
    }

    #[test]
    fn who_made_no_cookie_remembers_nothing() {
        let mut spent = SpentCookies::default();
        spent.ended(at(10), (5, 1), std::iter::once(peer(1)));
        assert!(spent.ends.is_empty());
        spent.made(at(11), LIFE);
        spent.ended(at(72), (5, 1), std::iter::once(peer(1)));
        assert!(spent.ends.is_empty());
    }

    #[test]
    fn never_more_than_so_many_and_nothing_is_revived() {
        let mut spent = SpentCookies::default();
        spent.made(at(1), LIFE);
        let moment = |n: u32| at(2) + Duration::from_micros(u64::from(n));
        let count = 3 * MOST as u32;
        for n in 0..count {
            spent.ended(moment(n), (n, 1), std::iter::once(peer(n)));
            // One peer that comes and goes all the time takes no other peer's place for good.
            spent.ended(moment(n), (n, 1), std::iter::once(peer(count)));
        }
        assert!(spent.order.len() <= MOST && spent.ends.len() <= MOST);
        let now = moment(count);
        for n in [0, 1, count / 2, count - 1] {
            assert_ne!(spent.worth(now, &cookie(at(1), n, peer(n))), Worth::Association, "{n}");
            assert_eq!(spent.worth(now, &cookie(now, n + 1, peer(n))), Worth::Association, "{n}");
        }
        // Everything is forgotten in the end, and a cookie made in time is good.
        let now = at(500);
        assert_eq!(spent.worth(now, &cookie(at(499), 1, peer(1))), Worth::Association);
        assert!(spent.order.is_empty() && spent.ends.is_empty() && spent.forgotten.is_none());
    }
}
