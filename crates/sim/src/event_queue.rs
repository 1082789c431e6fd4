//! The queue of events: one place for each entity, because an entity has at most one thing to wait for.
//!
//! Two tournaments: the leaves are the entities with the time at which each wants to be woken, every inner node is the
//! earlier of its two children, and the root is the next event. So the queue never grows with the packets in flight, and
//! moving one entity's time costs a walk from its leaf upwards until nothing changes. Links move their time with every
//! packet and hosts seldom, so the links have a small tournament for themselves.
//!
//! The order is total: earlier time first, then lower entity number. The actions of one entity at one time keep their
//! order.

use anabranch_base::Instant;

/// An entity's number in the queue.
pub(crate) type Entity = u32;

/// The queue of a world with a fixed number of entities.
#[derive(Clone, Debug)]
pub(crate) struct EventQueue {
    busy: Tournament,
    quiet: Tournament,
    /// The first entity of the quiet tournament.
    first_quiet: Entity,
}

impl EventQueue {
    /// `busy + quiet` entities, none of which waits for anything. The first `busy` ones move their times often.
    pub(crate) fn new(busy: usize, quiet: usize) -> Self {
        Self {
            busy: Tournament::new(busy, 0),
            quiet: Tournament::new(quiet, busy as Entity),
            first_quiet: busy as Entity,
        }
    }

    /// Wakes `entity` at `at`, and no longer at the time set before; `None` for never.
    #[inline]
    pub(crate) fn set(&mut self, entity: Entity, at: Option<Instant>) {
        let at = at.map_or(u64::MAX, Instant::as_nanos);
        if entity < self.first_quiet {
            self.busy.set(entity, at);
        } else {
            self.quiet.set(entity - self.first_quiet, at);
        }
    }

    /// As [`EventQueue::set`] if that is earlier than the time set before; otherwise `entity` is woken at the earlier time, finds
    /// nothing to do, and sets it again. For times that mostly move on.
    #[inline]
    pub(crate) fn set_if_earlier(&mut self, entity: Entity, at: Option<Instant>) {
        if let Some(at) = at {
            if self.at(entity).is_none_or(|set| at < set) {
                self.set(entity, Some(at));
            }
        }
    }

    /// The time at which `entity` is to be woken.
    #[inline]
    pub(crate) fn at(&self, entity: Entity) -> Option<Instant> {
        let at = if entity < self.first_quiet {
            self.busy.at(entity)
        } else {
            self.quiet.at(entity - self.first_quiet)
        };
        (at != u64::MAX).then(|| Instant::from_nanos(at))
    }

    /// The time of the first event of a quiet entity.
    #[inline]
    pub(crate) fn next_quiet_at(&self) -> Instant {
        Instant::from_nanos(self.quiet.first().at)
    }

    /// The next event; it stays until it is set to something else.
    #[inline]
    pub(crate) fn next(&self) -> Option<(Instant, Entity)> {
        let (busy, quiet) = (self.busy.first(), self.quiet.first());
        // Ties go to the lower number.
        let Node { at, entity } = if quiet.at < busy.at { quiet } else { busy };
        (at != u64::MAX).then(|| (Instant::from_nanos(at), entity))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Node {
    at: u64,
    entity: Entity,
}

#[derive(Clone, Debug)]
struct Tournament {
    /// A heap-shaped tree: the root is node 1, the children of node `i` are the nodes `2 i` and `2 i + 1`, which stand here
    /// together at `i`; the leaves are the second half.
    pairs: Vec<[Node; 2]>,
    /// As many as there are pairs.
    leaves: usize,
    /// Node 1, once more.
    first: Node,
}

impl Tournament {
    /// The entities are numbered from `first` on.
    fn new(entities: usize, first: Entity) -> Self {
        let leaves = entities.next_power_of_two().max(2);
        let never = Node { at: u64::MAX, entity: first };
        let mut pairs = vec![[never; 2]; leaves];
        for (i, leaf) in pairs[leaves / 2..].iter_mut().flatten().enumerate() {
            leaf.entity = first + i as Entity;
        }
        Self { pairs, leaves, first: never }
    }

    #[inline]
    fn set(&mut self, index: u32, at: u64) {
        let leaf = self.leaves + index as usize;
        let place = &mut self.pairs[leaf / 2][leaf % 2].at;
        if *place != at {
            *place = at;
            self.play(leaf / 2);
        }
    }

    /// Plays the matches from the pair `i` upwards again.
    fn play(&mut self, mut i: usize) {
        let mut winner = self.first;
        while i > 0 {
            // Ties go to the left: the lower number. An index and no branch: the outcome cannot be predicted.
            let pair = &self.pairs[i];
            winner = pair[usize::from(pair[1].at < pair[0].at)];
            self.pairs[i / 2][i % 2] = winner;
            i /= 2;
        }
        self.first = winner;
    }

    #[inline]
    fn at(&self, index: u32) -> u64 {
        let leaf = self.leaves + index as usize;
        self.pairs[leaf / 2][leaf % 2].at
    }

    #[inline]
    fn first(&self) -> Node {
        self.first
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_base::Rng;

    fn at(nanos: u64) -> Option<Instant> {
        Some(Instant::from_nanos(nanos))
    }

    #[test]
    fn the_order_is_time_then_entity() {
        let mut queue = EventQueue::new(2, 3);
        assert_eq!(queue.next(), None);
        queue.set(4, at(10));
        queue.set(1, at(10));
        queue.set(3, at(9));
        let mut order = Vec::new();
        while let Some((now, entity)) = queue.next() {
            order.push((now.as_nanos(), entity));
            queue.set(entity, None);
        }
        assert_eq!(order, [(9, 3), (10, 1), (10, 4)]);
    }

    #[test]
    fn a_time_that_moves_on_is_left_alone() {
        let mut queue = EventQueue::new(2, 1);
        for (time, set) in [(10, 10), (12, 10), (9, 9)] {
            queue.set_if_earlier(1, at(time));
            assert_eq!(queue.at(1), at(set));
        }
        queue.set_if_earlier(1, None);
        assert_eq!(queue.next(), Some((Instant::from_nanos(9), 1)));
    }

    #[test]
    fn it_agrees_with_a_search_through_all_entities() {
        let mut rng = Rng::stream(2, "test", "queue");
        for (busy, quiet) in [(1, 0), (1, 1), (2, 1), (3, 4), (7, 40), (40, 7)] {
            let entities = busy + quiet;
            let mut queue = EventQueue::new(busy, quiet);
            let mut plain = vec![u64::MAX; entities];
            for _ in 0..2000 {
                let entity = rng.below(entities as u64) as usize;
                let time = if rng.chance(0.2) { u64::MAX } else { rng.below(50) };
                plain[entity] = time;
                queue.set(entity as Entity, (time != u64::MAX).then(|| Instant::from_nanos(time)));
                let first = (0..entities).min_by_key(|&i| (plain[i], i)).filter(|&i| plain[i] != u64::MAX);
                let expected = first.map(|i| (Instant::from_nanos(plain[i]), i as Entity));
                assert_eq!(queue.next(), expected);
                assert_eq!(
                    queue.at(entity as Entity).map(Instant::as_nanos),
                    (time != u64::MAX).then_some(time)
                );
            }
        }
    }
}
