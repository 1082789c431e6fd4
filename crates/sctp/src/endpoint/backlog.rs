//! Associations that wait for the user's word: their cookies have come back, and nothing else of them exists.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use super::registry::{Peer, peers_at};
use anabranch_base::{Instant, Meta};

use crate::config::Config;
use crate::cookie::Cookie;
use crate::incoming::{Incoming, IncomingId, Withdrawn};

/// Verdicts that are remembered. When a cookie comes again whose verdict was forgotten, the user decides again.
const MOST_VERDICTS: usize = 1024;
/// Bytes that are kept of the packet that a cookie came in. Of a longer one the cookie alone is kept, and the peer sends its data again.
const MOST_KEPT: usize = 4096;

/// A cookie that was found good.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) cookie: Cookie,
    /// Addresses and marks of the last packet that it came in.
    pub(super) meta: Meta,
    /// The SCTP packet, or as much of it as is kept.
    pub(super) packet: Vec<u8>,
    /// The user has been told of the request.
    announced: bool,
    until: Instant,
    peer: Peer,
    /// The configuration that `listen` had been given when it came.
    pub(super) told: Arc<Config>,
}

/// The decision of the user, or of a limit.
#[derive(Clone, Debug)]
struct Verdict {
    /// Our tag: the verdict is on one cookie, not on the peer.
    tag: u32,
    until: Instant,
    /// Causes of the ABORT; `None`: silence.
    answer: Option<Vec<u8>>,
}

/// The outcome of a cookie that comes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The cookie waits for the user.
    Held,
    /// The cookie waits already, or a later one of the same peer does.
    Known,
    /// The cookie was refused before: the causes of the ABORT.
    Refused(Vec<u8>),
    /// The cookie is ignored.
    Ignored,
    /// There is no place for another cookie.
    Full,
}

/// The number of peers that may wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    pub(super) in_all: usize,
    pub(super) per_source: usize,
}

#[derive(Debug, Default)]
pub(super) struct Backlog {
    /// In the order of arrival.
    held: BTreeMap<u64, Held>,
    peers: BTreeMap<Peer, u64>,
    ends: BTreeSet<(Instant, u64)>,
    verdicts: BTreeMap<Peer, Verdict>,
    /// In the order of time.
    judged: VecDeque<(Instant, Peer)>,
    /// Requests that were announced and do not wait any more, with the reason.
    gone: VecDeque<(IncomingId, Withdrawn)>,
    /// The first that may not have been announced.
    next: u64,
    last: u64,
}

impl Backlog {
    /// A good cookie came in `packet`. `free`: there may be one more association.
    #[allow(clippy::too_many_arguments, reason = "all of it is kept or looked at")]
    pub(super) fn offer(
        &mut self,
        now: Instant,
        cookie: Cookie,
        shown: SocketAddr,
        meta: Meta,
        packet: &[u8],
        room: Room,
        free: bool,
        told: &Arc<Config>,
    ) -> Place {
        self.prune(now);
        // The address that the INIT ACK went to.
        let peer = (shown.ip(), cookie.ports());
        if let Some(verdict) = self.verdicts.get(&peer).filter(|verdict| verdict.tag == cookie.local_tag) {
            return verdict.answer.clone().map_or(Place::Ignored, Place::Refused);
        }
        if let Some(id) = self.peers.get(&peer).copied() {
            let Some(held) = self.held.get_mut(&id) else { return Place::Known };
            if held.cookie.local_tag == cookie.local_tag {
                // The same cookie again: answers go to the source of the last one.
                held.meta = meta;
                return Place::Known;
            }
            if held.cookie.created >= cookie.created {
                return Place::Known;
            }
            // The peer has begun anew, so it does not wait for an answer to the first one.
            self.withdraw(id, Withdrawn::BegunAnew);
        } else if !free || !self.has_room(peer.0, room) {
            return Place::Full;
        }
        let id = self.last;
        self.last += 1;
        let until = cookie.created + cookie.life;
        let mut packet = packet.to_vec();
        if packet.len() > MOST_KEPT {
            packet.truncate(first_chunk(&packet));
        }
        self.peers.insert(peer, id);
        self.ends.insert((until, id));
        self.held
            .insert(id, Held { cookie, meta, packet, announced: false, until, peer, told: Arc::clone(told) });
        Place::Held
    }

    /// The configuration of `listen` when a waiting peer came: the INIT ACK has announced it, even if `listen` has another by now.
    pub(super) fn told(&self, id: IncomingId) -> Option<&Config> {
        self.held.get(&id.0).map(|held| &*held.told)
    }

    /// True if a request of this source with these ports waits.
    pub(super) fn has(&self, source: IpAddr, ports: (u16, u16)) -> bool {
        self.peers.contains_key(&(source, ports))
    }

    /// True if one more request of this source may wait.
    pub(super) fn has_room(&self, source: IpAddr, room: Room) -> bool {
        self.held.len() < room.in_all && self.count_of(network_of(source)) < room.per_source
    }

    /// Number of requests that wait from addresses between the first and the last of `network`.
    pub(super) fn count_of(&self, network: (IpAddr, IpAddr)) -> usize {
        self.peers.range(peers_at(network)).count()
    }

    pub(super) fn len(&self) -> usize {
        self.held.len()
    }

    /// The next request that the user was not told of.
    pub(super) fn announce(&mut self) -> Option<Incoming> {
        let (id, held) = self.held.range_mut(self.next..).find(|(_, held)| !held.announced)?;
        held.announced = true;
        self.next = id + 1;
        Some(Incoming::new(IncomingId(*id), &held.cookie, &held.meta, held.until))
    }

    /// The next request that the user was told of and that is gone.
    pub(super) fn pop_gone(&mut self) -> Option<(IncomingId, Withdrawn)> {
        self.gone.pop_front()
    }

    /// Takes one that the user has decided on.
    pub(super) fn take(&mut self, now: Instant, id: IncomingId) -> Option<Held> {
        self.prune(now);
        self.remove(id.0)
    }

    /// Takes the first.
    pub(super) fn take_first(&mut self) -> Option<Held> {
        let id = *self.held.keys().next()?;
        let held = self.remove(id)?;
        if held.announced {
            self.gone.push_back((IncomingId(id), Withdrawn::Refused));
        }
        Some(held)
    }

    /// Further copies of a cookie get this answer until it is stale; `None`: none.
    pub(super) fn judge(&mut self, held: &Held, answer: Option<Vec<u8>>) {
        if self.judged.len() >= MOST_VERDICTS {
            self.forget_verdict();
        }
        self.verdicts.insert(held.peer, Verdict { tag: held.cookie.local_tag, until: held.until, answer });
        self.judged.push_back((held.until, held.peer));
    }

    fn forget_verdict(&mut self) {
        let Some((until, peer)) = self.judged.pop_front() else { return };
        if self.verdicts.get(&peer).is_some_and(|verdict| verdict.until == until) {
            self.verdicts.remove(&peer);
        }
    }

    /// A packet came that is no COOKIE ECHO: true if it is from a peer that waits. `aborts`: it withdraws the peer's
    /// request.
    pub(super) fn hears(&mut self, peer: Peer, tag: u32, aborts: Option<bool>) -> bool {
        let Some((id, held)) = self.peers.get(&peer).and_then(|id| Some((*id, self.held.get(id)?))) else {
            return false;
        };
        let right = if aborts == Some(true) { held.cookie.peer_tag } else { held.cookie.local_tag };
        if tag != right {
            return false;
        }
        if aborts.is_some() {
            self.withdraw(id, Withdrawn::Aborted);
        }
        true
    }

    /// Time at which the next cookie becomes stale.
    pub(super) fn next_end(&self) -> Option<Instant> {
        // At its last moment it is good still.
        self.ends.first().map(|(at, _)| *at + anabranch_base::Duration::from_nanos(1))
    }

    /// Forgets stale entries.
    pub(super) fn prune(&mut self, now: Instant) {
        while let Some((_, id)) = self.ends.first().copied().filter(|(until, _)| *until < now) {
            self.withdraw(id, Withdrawn::TooLate);
        }
        while self.judged.front().is_some_and(|(until, _)| *until < now) {
            self.forget_verdict();
        }
    }

    fn withdraw(&mut self, id: u64, why: Withdrawn) {
        if self.remove(id).is_some_and(|held| held.announced) {
            self.gone.push_back((IncomingId(id), why));
        }
    }

    fn remove(&mut self, id: u64) -> Option<Held> {
        let held = self.held.remove(&id)?;
        self.peers.remove(&held.peer);
        self.ends.remove(&(held.until, id));
        Some(held)
    }
}

/// Bytes of the common header and the first chunk.
fn first_chunk(packet: &[u8]) -> usize {
    let length = packet.get(14..16).and_then(|bytes| bytes.try_into().ok()).map_or(0, u16::from_be_bytes);
    anabranch_wire::CommonHeader::LEN + usize::from(length).next_multiple_of(4)
}

/// The addresses that count as one source: an IPv4 address, or the 64 bits of a network that one host of IPv6 has addresses of at will.
pub(super) fn network_of(address: IpAddr) -> (IpAddr, IpAddr) {
    match address {
        IpAddr::V4(_) => (address, address),
        IpAddr::V6(v6) => {
            let host = u128::from(u64::MAX);
            let network = v6.to_bits() & !host;
            (Ipv6Addr::from_bits(network).into(), Ipv6Addr::from_bits(network | host).into())
        }
    }
}
