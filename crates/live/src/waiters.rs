//! Tasks that wait for something to happen.

use std::task::Waker;

/// Tasks that wait for one kind of thing. Each has a number under which it is removed when it does not wait any more, so a future
/// that is dropped leaves nothing behind.
#[derive(Debug, Default)]
pub(crate) struct Waiters {
    waiting: Vec<(u64, Waker)>,
    next: u64,
}

impl Waiters {
    /// Waits, or goes on waiting with another waker. Answers the number.
    pub(crate) fn wait(&mut self, number: Option<u64>, waker: &Waker) -> u64 {
        if let Some(number) = number {
            if let Some((_, known)) = self.waiting.iter_mut().find(|(known, _)| *known == number) {
                known.clone_from(waker);
                return number;
            }
        }
        self.next += 1;
        if self.waiting.capacity() == 0 {
            // One reads, mostly, and an idle association keeps this room: the library begins with four.
            self.waiting.reserve_exact(1);
        }
        self.waiting.push((self.next, waker.clone()));
        self.next
    }

    pub(crate) fn remove(&mut self, number: u64) {
        self.waiting.retain(|(known, _)| *known != number);
    }

    /// Moves all of them to `woken`: they look again.
    #[inline]
    pub(crate) fn wake(&mut self, woken: &mut Vec<Waker>) {
        woken.extend(self.waiting.drain(..).map(|(_, waker)| waker));
    }
}
