//! Room in collections that most associations hardly use. The library's collections begin with room for four; an association
//! as a rule uses one stream, and an idle one must be small.

use std::collections::VecDeque;

/// Makes a list at least `len` long. The first time there is room for just as many.
#[inline]
pub(crate) fn grow<T: Default>(list: &mut Vec<T>, len: usize) {
    if len > list.len() {
        grow_slowly(list, len);
    }
}

#[cold]
fn grow_slowly<T: Default>(list: &mut Vec<T>, len: usize) {
    if list.capacity() == 0 {
        list.reserve_exact(len);
    }
    list.resize_with(len, T::default);
}

/// Queues up to this length have room for just as many, or twice as many.
const SHORT: usize = 4;

/// Longer queues have room for a quarter more: the charge of each value must cover that room, too.
const LONG: usize = 256;

/// Appends to a queue, which has room for one at first, then for two, and so on.
#[allow(clippy::inline_always, reason = "what is appended is not moved twice; measured")]
#[inline(always)]
pub(crate) fn push<T>(queue: &mut VecDeque<T>, value: T) {
    if queue.len() == queue.capacity() {
        make_room(queue);
    }
    queue.push_back(value);
}

#[cold]
fn make_room<T>(queue: &mut VecDeque<T>) {
    if queue.len() < SHORT {
        queue.reserve_exact(queue.len().max(1));
    } else if queue.len() > LONG {
        queue.reserve_exact(queue.len() / 4);
    }
}
