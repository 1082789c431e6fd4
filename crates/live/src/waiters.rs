//! Tasks that wait for something to happen.

use std::task::Waker;

/// The reason for which a task waits, where one list is for several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitReason {
    /// There is something to read.
    Readable,
    /// There is room to write.
    Writable,
    /// The beginning, the end, or an event.
    Other,
}

/// Tasks that wait. Each has a number under which it is removed when it does not wait any more, so a future that is dropped leaves
/// nothing behind. An association has one list for all that its users wait for: most are idle, and have one reader.
#[derive(Debug, Default)]
pub(crate) struct Waiters {
    waiting: Vec<Waiting>,
    next: u32,
}

#[derive(Debug)]
struct Waiting {
    number: u32,
    reason: WaitReason,
    waker: Waker,
}

impl Waiters {
    /// Waits, or goes on waiting with another waker. Answers the number.
    pub(crate) fn wait(&mut self, number: Option<u32>, reason: WaitReason, waker: &Waker) -> u32 {
        if let Some(number) = number {
            if let Some(known) = self.waiting.iter_mut().find(|known| known.number == number) {
                known.waker.clone_from(waker);
                return number;
            }
        }
        loop {
            self.next = self.next.wrapping_add(1);
            // The number wraps: a task that still waits under it keeps it.
            if !self.waiting.iter().any(|known| known.number == self.next) {
                break;
            }
        }
        if self.waiting.capacity() == 0 {
            // One reads, mostly, and an idle association keeps this room: the library begins with four.
            self.waiting.reserve_exact(1);
        }
        self.waiting.push(Waiting { number: self.next, reason, waker: waker.clone() });
        self.next
    }

    pub(crate) fn remove(&mut self, number: u32) {
        self.waiting.retain(|known| known.number != number);
    }

    /// Moves the tasks that wait for this to `woken`: they look again.
    #[inline]
    pub(crate) fn wake(&mut self, reason: WaitReason, woken: &mut Vec<Waker>) {
        if !self.waiting.is_empty() {
            self.waiting.retain_mut(|known| {
                if known.reason == reason {
                    woken.push(std::mem::replace(&mut known.waker, Waker::noop().clone()));
                }
                known.reason != reason
            });
        }
    }

    /// Moves all of them to `woken`.
    pub(crate) fn wake_all(&mut self, woken: &mut Vec<Waker>) {
        woken.extend(self.waiting.drain(..).map(|known| known.waker));
    }
}

#[cfg(test)]
mod tests {
    use super::{WaitReason, Waiters, Waker};

    #[test]
    fn who_waits_for_one_thing_is_not_woken_by_another() {
        let (mut waiters, mut woken) = (Waiters::default(), Vec::new());
        let waker = Waker::noop();
        let numbers = [WaitReason::Readable, WaitReason::Writable, WaitReason::Other, WaitReason::Readable]
            .map(|reason| waiters.wait(None, reason, waker));
        assert_eq!(waiters.wait(Some(numbers[0]), WaitReason::Readable, waker), numbers[0]);
        waiters.wake(WaitReason::Writable, &mut woken);
        assert_eq!(woken.len(), 1);
        waiters.remove(numbers[3]);
        waiters.wake(WaitReason::Readable, &mut woken);
        assert_eq!(woken.len(), 2);
        waiters.wake_all(&mut woken);
        assert_eq!((woken.len(), waiters.waiting.len()), (3, 0));
    }

    #[test]
    fn a_number_that_somebody_still_has_is_not_given_twice() {
        let mut waiters = Waiters::default();
        let first = waiters.wait(None, WaitReason::Readable, Waker::noop());
        waiters.next = u32::MAX;
        let numbers = [(); 2].map(|()| waiters.wait(None, WaitReason::Readable, Waker::noop()));
        assert_eq!((first, numbers), (1, [0, 2]));
    }
}
