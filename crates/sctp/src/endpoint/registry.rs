//! The associations of an endpoint: slots, the two maps that find them, the heap of their timers, and the queues of those that have something for
//! the driver.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};
use std::net::IpAddr;
use std::ops::RangeInclusive;

use anabranch_base::Instant;

use crate::association::Association;
use crate::event::{AssociationId, Event, Timer};
use crate::state::State;

/// Hash of a verification tag: the tag itself, spread. Tags are drawn by us, so no peer can make them collide; the
/// map is only looked up, never iterated.
#[derive(Debug, Default)]
pub(super) struct TagHasher(u64);

impl Hasher for TagHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 << 8) | u64::from(*byte);
        }
    }

    fn write_u32(&mut self, tag: u32) {
        self.0 = u64::from(tag).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

/// The place of a peer: an address of it, and both SCTP ports, its own first. No two associations have the same (RFC 9260, 1.3).
pub(super) type Peer = (IpAddr, (u16, u16));

/// All peers at addresses from the first to the last.
pub(super) fn peers_at((first, last): (IpAddr, IpAddr)) -> RangeInclusive<Peer> {
    (first, (0, 0))..=(last, (u16::MAX, u16::MAX))
}

#[derive(Debug)]
struct Slot {
    generation: u32,
    assoc: Option<Box<Association>>,
    ready: bool,
    eventful: bool,
    mapped: bool,
    /// Earliest entry of the heap that stands for this slot; the end of time: there is none.
    armed: Instant,
}

impl Default for Slot {
    fn default() -> Self {
        let (ready, eventful, mapped) = (false, false, false);
        Self { generation: 0, assoc: None, ready, eventful, mapped, armed: Instant::FAR_FUTURE }
    }
}

#[derive(Debug, Default)]
pub(super) struct Registry {
    slots: Vec<Slot>,
    free: Vec<u32>,
    by_tag: HashMap<u32, u32, BuildHasherDefault<TagHasher>>,
    /// The tag of the last packet, and the slot that `by_tag` has for it; 0: none, as no tag is 0.
    last_tag: (u32, u32),
    by_peer: BTreeMap<Peer, u32>,
    /// (time, slot): an entry is never later than its slot's next timeout; earlier ones are corrected when they
    /// come up. So restarting a timer, which happens with every SACK, costs nothing here.
    timers: BinaryHeap<Reverse<(Instant, u32, Timer)>>,
    /// Associations that may have something to send, each once.
    ready: VecDeque<u32>,
    /// Associations that have events, each once.
    eventful: VecDeque<u32>,
    open: usize,
    /// Associations that have closed and are not freed yet, where they are freed once they were read: they count as if they were
    /// open, or a peer that comes and goes could fill our memory behind a slow reader. By source.
    lingering: BTreeSet<(IpAddr, u32)>,
    /// Entries pushed into the heap so far, for the test that timers cost O(1) a packet.
    #[cfg(test)]
    pub(super) pushes: u64,
}

impl Registry {
    pub(super) fn insert(&mut self, make: impl FnOnce(AssociationId) -> Association) -> AssociationId {
        let index = self.free.pop().unwrap_or_else(|| {
            if self.slots.capacity() == 0 {
                // A client's endpoint has one association.
                self.slots.reserve_exact(1);
            }
            self.slots.push(Slot::default());
            self.slots.len() as u32 - 1
        });
        let generation = self.slots.get(index as usize).map_or(0, |s| s.generation);
        let id = AssociationId { index, generation };
        let assoc = make(id);
        if let Some(slot) = self.slots.get_mut(index as usize) {
            slot.assoc = Some(Box::new(assoc));
            slot.armed = Instant::FAR_FUTURE;
        }
        self.open += 1;
        self.map(index);
        id
    }

    /// Enters an association's tag and addresses into the maps.
    pub(super) fn map(&mut self, index: u32) {
        let Some(slot) = self.slots.get_mut(index as usize) else { return };
        let Some(assoc) = &slot.assoc else { return };
        slot.mapped = true;
        // Tags of INIT ACKs are drawn without keeping state, so two associations may have the same one. The second
        // is found by its peer's address.
        self.by_tag.entry(assoc.tags().0).or_insert(index);
        for address in assoc.confirmed_addresses() {
            self.by_peer.entry((address, assoc.ports())).or_insert(index);
        }
    }

    /// Takes it out of the maps; before its tag or addresses change, and when it has closed.
    pub(super) fn unmap(&mut self, index: u32) {
        let Some(slot) = self.slots.get_mut(index as usize) else { return };
        let Some(assoc) = &slot.assoc else { return };
        if !std::mem::take(&mut slot.mapped) {
            return;
        }
        if self.by_tag.get(&assoc.tags().0) == Some(&index) {
            self.by_tag.remove(&assoc.tags().0);
            self.last_tag = (0, 0);
        }
        for address in assoc.confirmed_addresses() {
            let key = (address, assoc.ports());
            if self.by_peer.get(&key) == Some(&index) {
                self.by_peer.remove(&key);
            }
        }
    }

    /// Changes the tag or the addresses of an association.
    pub(super) fn remap(&mut self, index: u32, change: impl FnOnce(&mut Association)) {
        self.unmap(index);
        if let Some(assoc) = self.at_mut(index) {
            change(assoc);
        }
        self.map(index);
    }

    /// Looks at a slot whose association was touched, and queues it where it has something new. True when the association has closed, and
    /// is still in the maps.
    pub(super) fn look(&mut self, index: u32) -> bool {
        let Some(slot) = self.slots.get_mut(index as usize) else { return false };
        let Some(assoc) = slot.assoc.as_deref() else { return false };
        if !slot.eventful && assoc.has_events() {
            slot.eventful = true;
            self.eventful.push_back(index);
        }
        let ended = slot.mapped && assoc.state() == State::Closed;
        if !assoc.wants_to_transmit() {
            self.reschedule(index);
        } else if !slot.ready {
            // Packets that leave may start timers: they are looked at when nothing is left to send.
            slot.ready = true;
            self.ready.push_back(index);
        }
        ended
    }

    /// Takes an association that has closed out of the maps. Its last packets are the next to leave. `lingers`: it is freed once it
    /// was read.
    // rfc9260:14.2-1
    #[cold]
    pub(super) fn unmap_closed(&mut self, index: u32, lingers: bool) {
        self.unmap(index);
        if self.slots.get(index as usize).is_some_and(|slot| slot.ready) {
            // As a rule it has just been put at the end of the queue, so it is found at once.
            if let Some(place) = self.ready.iter().rposition(|other| *other == index) {
                self.ready.remove(place);
                self.ready.push_front(index);
            }
        }
        self.open = self.open.saturating_sub(1);
        let source = self.at(index).and_then(Association::remote).filter(|_| lingers);
        self.lingering.extend(source.map(|source| (source.ip(), index)));
    }

    pub(super) fn release(&mut self, id: AssociationId) -> bool {
        let Some(slot) = self.slots.get_mut(id.index as usize) else { return false };
        if slot.generation != id.generation {
            return false;
        }
        let done = slot.assoc.as_ref().is_some_and(|a| a.state() == State::Closed && !a.wants_to_transmit());
        if done {
            if let Some(source) = slot.assoc.take().as_deref().and_then(Association::remote) {
                self.lingering.remove(&(source.ip(), id.index));
            }
            slot.generation = slot.generation.wrapping_add(1);
            slot.armed = Instant::FAR_FUTURE;
            self.free.push(id.index);
        }
        done
    }

    /// A closed association takes no place any more, though it is still there.
    pub(super) fn give_place_up(&mut self, id: AssociationId) {
        if let Some(source) = self.get(id).and_then(Association::remote) {
            self.lingering.remove(&(source.ip(), id.index));
        }
    }

    pub(super) fn open(&self) -> usize {
        self.open
    }

    /// Number of associations that take a place: open, or closed and not read yet.
    pub(super) fn places(&self) -> usize {
        self.open + self.lingering.len()
    }

    pub(super) fn by_tag(&self, tag: u32) -> Option<u32> {
        self.by_tag.get(&tag).copied()
    }

    /// As [`Registry::by_tag`], for a packet: the next one mostly has the same tag.
    #[inline]
    pub(super) fn by_tag_of_packet(&mut self, tag: u32) -> Option<u32> {
        if self.last_tag.0 == tag && tag != 0 {
            return Some(self.last_tag.1);
        }
        self.look_up_tag(tag)
    }

    #[inline(never)]
    fn look_up_tag(&mut self, tag: u32) -> Option<u32> {
        let index = self.by_tag(tag)?;
        self.last_tag = (tag, index);
        Some(index)
    }

    /// `ports`: the peer's and ours.
    pub(super) fn by_peer(&self, address: IpAddr, ports: (u16, u16)) -> Option<u32> {
        self.by_peer.get(&(address, ports)).copied()
    }

    /// Associations whose peers are at addresses from the first to the last, and that take a place.
    pub(super) fn count_of(&self, network: (IpAddr, IpAddr)) -> usize {
        let found = self.by_peer.range(peers_at(network));
        // A peer with several addresses counts once.
        let is_first = |address: IpAddr, index: u32| {
            self.at(index).and_then(Association::remote).is_some_and(|remote| remote.ip() == address)
        };
        let open = found.filter(|((address, _), index)| is_first(*address, **index)).count();
        open + self.lingering.range((network.0, 0)..=(network.1, u32::MAX)).count()
    }

    pub(super) fn at(&self, index: u32) -> Option<&Association> {
        self.slots.get(index as usize)?.assoc.as_deref()
    }

    /// True if an association has confirmed that address: only packets from there, or answered there, may touch it.
    pub(super) fn is_confirmed(&self, index: u32, address: IpAddr) -> bool {
        self.at(index).is_some_and(|a| a.confirmed_addresses().any(|confirmed| confirmed == address))
    }

    pub(super) fn at_mut(&mut self, index: u32) -> Option<&mut Association> {
        self.slots.get_mut(index as usize)?.assoc.as_deref_mut()
    }

    pub(super) fn get(&self, id: AssociationId) -> Option<&Association> {
        let slot = self.slots.get(id.index as usize)?;
        if slot.generation == id.generation { slot.assoc.as_deref() } else { None }
    }

    pub(super) fn get_mut(&mut self, id: AssociationId) -> Option<&mut Association> {
        let slot = self.slots.get_mut(id.index as usize)?;
        if slot.generation == id.generation { slot.assoc.as_deref_mut() } else { None }
    }

    /// As [`Registry::get`], for an association that a handle has found before.
    #[inline]
    #[allow(
        clippy::expect_used,
        reason = "a handle borrows the endpoint, so nothing releases its association"
    )]
    pub(super) fn known(&self, id: AssociationId) -> &Association {
        self.get(id).expect("the association of a handle")
    }

    /// As [`Registry::get_mut`], for an association that a handle has found before.
    #[inline]
    #[allow(
        clippy::expect_used,
        reason = "a handle borrows the endpoint, so nothing releases its association"
    )]
    pub(super) fn known_mut(&mut self, id: AssociationId) -> &mut Association {
        self.get_mut(id).expect("the association of a handle")
    }

    /// The places of all associations.
    pub(super) fn indices(&self) -> Vec<u32> {
        (0..self.slots.len() as u32).filter(|index| self.at(*index).is_some()).collect()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Association> {
        self.slots.iter_mut().filter_map(|s| s.assoc.as_deref_mut())
    }

    /// An association may have something to send.
    #[inline]
    pub(super) fn queue(&mut self, index: u32) {
        if let Some(slot) = self.slots.get_mut(index as usize).filter(|slot| !slot.ready) {
            slot.ready = true;
            self.ready.push_back(index);
        }
    }

    /// The first association that may have something to send.
    #[inline]
    pub(super) fn first_ready(&self) -> Option<u32> {
        self.ready.front().copied()
    }

    /// True if an association has closed, and may have last packets that have not left.
    #[cold]
    pub(super) fn has_last_packets(&self) -> bool {
        self.first_ready()
            .and_then(|index| self.at(index))
            .is_some_and(|assoc| assoc.state() == State::Closed)
    }

    /// True if some association may have something to send.
    #[inline]
    pub(super) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// The first of those that may have something to send has nothing more.
    #[inline]
    pub(super) fn rest(&mut self, index: u32) {
        self.ready.pop_front();
        if let Some(slot) = self.slots.get_mut(index as usize) {
            slot.ready = false;
        }
        self.note_events(index);
        self.reschedule(index);
    }

    /// Queues an association for its events, where it has some and is not queued yet.
    #[inline]
    pub(super) fn note_events(&mut self, index: u32) {
        let Some(slot) = self.slots.get_mut(index as usize) else { return };
        if !slot.eventful && slot.assoc.as_ref().is_some_and(|assoc| assoc.has_events()) {
            slot.eventful = true;
            self.eventful.push_back(index);
        }
    }

    /// True if some association may have events.
    #[inline]
    pub(super) fn has_events(&self) -> bool {
        !self.eventful.is_empty()
    }

    /// The next event of any association.
    #[inline]
    pub(super) fn pop_event(&mut self) -> Option<(AssociationId, Event)> {
        while let Some(&index) = self.eventful.front() {
            if let Some(slot) = self.slots.get_mut(index as usize) {
                if let Some(assoc) = &mut slot.assoc {
                    if let Some(event) = assoc.pop_event() {
                        slot.eventful = assoc.has_events();
                        if !slot.eventful {
                            self.eventful.pop_front();
                        }
                        return Some((AssociationId { index, generation: slot.generation }, event));
                    }
                }
                slot.eventful = false;
            }
            self.eventful.pop_front();
        }
        None
    }

    /// The heap will come up in time for those that may have something to send, too.
    #[inline]
    pub(super) fn reschedule_ready(&mut self) {
        for place in 0..self.ready.len() {
            if let Some(index) = self.ready.get(place).copied() {
                self.reschedule(index);
            }
        }
    }

    /// Makes sure that the heap will come up in time for a slot.
    pub(super) fn reschedule(&mut self, index: u32) {
        let Some(slot) = self.slots.get_mut(index as usize) else { return };
        let Some(assoc) = slot.assoc.as_deref() else { return };
        // Timers mostly move on: as a rule none has become earlier.
        if assoc.has_timer_before(slot.armed) {
            self.arm(index);
        }
    }

    #[inline(never)]
    fn arm(&mut self, index: u32) {
        let Some(slot) = self.slots.get_mut(index as usize) else { return };
        let Some((at, timer)) = slot.assoc.as_ref().and_then(|a| a.next_timeout()) else { return };
        slot.armed = at;
        #[cfg(test)]
        {
            self.pushes += 1;
        }
        if self.timers.capacity() == 0 {
            self.timers.reserve_exact(2);
        }
        self.timers.push(Reverse((at, index, timer)));
        self.drop_stale_entries();
    }

    /// A timer that comes and goes (SACK.Delay) before a late one (HEARTBEAT) leaves an entry for the late one behind
    /// each time. When most entries are such, they are thrown out: every slot has one that counts, so the work is
    /// spread over at least as many insertions.
    fn drop_stale_entries(&mut self) {
        if self.timers.len() > 4 * self.slots.len() + 64 {
            let slots = &self.slots;
            let mut seen = vec![false; slots.len()];
            self.timers.retain(|Reverse((at, index, _))| {
                let i = *index as usize;
                let counts = slots.get(i).is_some_and(|s| s.armed == *at);
                seen.get_mut(i).is_some_and(|seen| counts && !std::mem::replace(seen, true))
            });
        }
    }

    /// The earliest entry: a lower bound of every timeout.
    pub(super) fn next_timeout(&self) -> Option<(Instant, Timer)> {
        self.timers.peek().map(|Reverse((at, _, timer))| (*at, *timer))
    }

    /// Takes a slot whose timeout is due; corrects entries that have become too early on the way.
    pub(super) fn pop_due(&mut self, now: Instant) -> Option<u32> {
        loop {
            let &Reverse((at, index, _)) = self.timers.peek()?;
            if at > now {
                return None;
            }
            self.timers.pop();
            let Some(slot) = self.slots.get_mut(index as usize) else { continue };
            if slot.armed != at {
                continue; // a duplicate: the entry that counts is still in the heap
            }
            slot.armed = Instant::FAR_FUTURE;
            let next = slot.assoc.as_ref().and_then(|a| a.next_timeout());
            if next.is_some_and(|(due, _)| due <= now) {
                return Some(index);
            }
            self.reschedule(index);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use anabranch_base::{Duration, Rng};

    use super::*;
    use crate::Config;

    #[test]
    fn timers_that_come_and_go_leave_no_pile_behind() {
        let mut registry = Registry::default();
        let remote = ([10, 0, 0, 1], 0).into();
        let config = Arc::new(Config::rfc9260());
        for tag in 1..=3 {
            let rng = Rng::stream(1, "test", "registry").secret();
            registry.insert(|id| {
                Association::connect(id, Instant::ZERO, Arc::clone(&config), (1, 2), remote, tag, rng)
            });
        }
        for index in 0..3 {
            registry.reschedule(index);
        }
        // As if an earlier timer had come and gone.
        for _ in 0..100_000 {
            for index in 0..3 {
                registry.slots[index as usize].armed = Instant::FAR_FUTURE;
                registry.reschedule(index);
                assert!(registry.timers.len() <= 4 * 3 + 64);
            }
        }
        let mut due = Vec::new();
        while let Some(index) = registry.pop_due(Instant::ZERO + Duration::from_secs(1)) {
            due.push(index);
        }
        due.sort_unstable();
        assert_eq!(due, [0, 1, 2], "each once");
    }

    #[test]
    fn the_tag_of_the_last_packet_is_forgotten_with_its_association() {
        let mut registry = Registry::default();
        let config = Arc::new(Config::rfc9260());
        let rng = Rng::stream(1, "test", "registry").secret();
        let remote = ([10, 0, 0, 1], 0).into();
        registry.insert(|id| Association::connect(id, Instant::ZERO, config, (1, 2), remote, 7, rng));
        assert_eq!(registry.by_tag_of_packet(7), Some(0));
        assert_eq!(registry.by_tag_of_packet(0), None, "no tag is 0");
        registry.unmap(0);
        assert_eq!(registry.by_tag_of_packet(7), None);
    }
}
