//! First come, first served: streams in the order in which their messages came.

use std::collections::VecDeque;

/// Messages in the order in which they came, by their streams. Messages of one stream that follow each other are one entry: a bulk
/// transfer, or an association that uses one stream, keeps a count and no list.
#[derive(Debug, Default)]
pub(crate) struct InOrder {
    /// The stream whose turn it is.
    stream: u16,
    /// Number of its messages that come one after the other; 0 only where nothing waits.
    messages: usize,
    /// Messages behind them: streams, each with its number of messages in a row.
    later: VecDeque<(u16, usize)>,
}

impl InOrder {
    /// A message has come.
    #[inline]
    pub(super) fn push(&mut self, stream: u16) {
        if self.messages == 0 {
            (self.stream, self.messages) = (stream, 1);
        } else if self.stream == stream && self.later.is_empty() {
            self.messages += 1;
        } else {
            self.push_later(stream);
        }
    }

    #[inline(never)]
    fn push_later(&mut self, stream: u16) {
        match self.later.back_mut() {
            Some((last, messages)) if *last == stream => *messages += 1,
            _ => self.later.push_back((stream, 1)),
        }
    }

    /// The stream of the message that came first.
    #[inline]
    pub(super) fn first(&self) -> Option<u16> {
        (self.messages > 0).then_some(self.stream)
    }

    /// The message that came first has left.
    #[inline]
    pub(super) fn pop(&mut self) {
        self.messages = self.messages.saturating_sub(1);
        if self.messages == 0 {
            self.go_on();
        }
    }

    #[inline(never)]
    fn go_on(&mut self) {
        if let Some((stream, messages)) = self.later.pop_front() {
            (self.stream, self.messages) = (stream, messages);
        }
    }

    /// The message at a `place` among those of its stream was taken out.
    pub(super) fn remove(&mut self, stream: u16, place: usize) {
        let mut before = place;
        if self.stream == stream {
            if before < self.messages {
                return self.pop();
            }
            before -= self.messages;
        }
        for (at, (other, messages)) in self.later.iter_mut().enumerate() {
            if *other != stream {
                continue;
            }
            if before < *messages {
                *messages -= 1;
                if *messages == 0 {
                    self.later.remove(at);
                }
                return;
            }
            before -= *messages;
        }
    }

    /// Keeps only the messages of streams that `keep` wants.
    pub(super) fn retain(&mut self, keep: impl Fn(u16) -> bool) {
        self.later.retain(|(stream, _)| keep(*stream));
        if self.messages > 0 && !keep(self.stream) {
            self.messages = 0;
            self.go_on();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_base::Rng;

    /// Against a list with an entry for each message.
    #[test]
    fn it_is_a_list_of_messages() {
        let mut rng = Rng::stream(5, "in order", "test");
        for _ in 0..300 {
            let (mut order, mut list) = (InOrder::default(), Vec::new());
            let streams = 1 + rng.below(4);
            for _ in 0..200 {
                let stream = rng.below(streams) as u16;
                match rng.below(20) {
                    0 => {
                        order.retain(|other| other != stream);
                        list.retain(|other| *other != stream);
                    }
                    1..=3 => {
                        let mine: Vec<usize> = (0..list.len()).filter(|at| list[*at] == stream).collect();
                        if !mine.is_empty() {
                            let place = rng.below(mine.len() as u64) as usize;
                            order.remove(stream, place);
                            list.remove(mine[place]);
                        }
                    }
                    4..=9 if !list.is_empty() => {
                        order.pop();
                        list.remove(0);
                    }
                    _ => {
                        order.push(stream);
                        list.push(stream);
                    }
                }
                assert_eq!(order.first(), list.first().copied());
            }
            for stream in list {
                assert_eq!(order.first(), Some(stream));
                order.pop();
            }
            assert_eq!(order.first(), None);
        }
    }
}
