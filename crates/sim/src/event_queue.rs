//! What happens next: one place for each entity, because an entity has at most one thing to wait for.
//!
//! A tournament: the leaves are the entities with the time at which each wants to be woken, every inner node is the
//! earlier of its two children, and the root is the next event of the world. So the queue never grows with what is in
//! flight, and moving one entity's time costs a walk from its leaf upwards until nothing changes.
//!
//! The order is total: earlier time first, then lower entity number. What one entity does at one time is in the order
//! in which it does it.

use anabranch_base::Instant;

/// An entity's number in the queue.
pub(crate) type Entity = u32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Node {
    at: u64,
    entity: Entity,
}

/// The queue of a world with a fixed number of entities.
#[derive(Clone, Debug)]
pub(crate) struct EventQueue {
    /// A heap-shaped tree: the root at 1, the children of `i` at `2 i` and `2 i + 1`, the leaves in the second half.
    nodes: Vec<Node>,
    leaves: usize,
}

impl EventQueue {
    /// `entities` entities, none of which waits for anything.
    pub(crate) fn new(entities: usize) -> Self {
        let leaves = entities.next_power_of_two().max(2);
        let mut nodes = vec![Node { at: u64::MAX, entity: 0 }; 2 * leaves];
        for (i, leaf) in nodes[leaves..].iter_mut().enumerate() {
            leaf.entity = i as Entity;
        }
        for i in (1..leaves).rev() {
            nodes[i] = nodes[2 * i];
        }
        Self { nodes, leaves }
    }

    /// Wakes `entity` at `at`, and no longer at whatever was set before; `None` for never.
    #[inline]
    pub(crate) fn set(&mut self, entity: Entity, at: Option<Instant>) {
        let at = at.map_or(u64::MAX, Instant::as_nanos);
        let mut i = self.leaves + entity as usize;
        if self.nodes[i].at == at {
            return;
        }
        self.nodes[i].at = at;
        while i > 1 {
            i /= 2;
            let (left, right) = (self.nodes[2 * i], self.nodes[2 * i + 1]);
            // Ties go to the left: the lower number.
            let winner = if left.at <= right.at { left } else { right };
            if self.nodes[i] == winner {
                break;
            }
            self.nodes[i] = winner;
        }
    }

    /// When `entity` is to be woken.
    #[inline]
    pub(crate) fn at(&self, entity: Entity) -> Option<Instant> {
        let at = self.nodes[self.leaves + entity as usize].at;
        (at != u64::MAX).then(|| Instant::from_nanos(at))
    }

    /// The next event; it stays until it is set to something else.
    #[inline]
    pub(crate) fn next(&self) -> Option<(Instant, Entity)> {
        let Node { at, entity } = self.nodes[1];
        (at != u64::MAX).then(|| (Instant::from_nanos(at), entity))
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
        let mut queue = EventQueue::new(5);
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
    fn it_agrees_with_a_search_through_all_entities() {
        let mut rng = Rng::stream(2, "test", "queue");
        for entities in [1, 2, 3, 7, 46] {
            let mut queue = EventQueue::new(entities);
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
