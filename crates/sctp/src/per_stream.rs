//! A table with a value for each stream, in room that follows the streams that are used: of 65,535 streams most stay
//! silent, and a peer that sends on the last one only must not cost a table of all.

use std::collections::BTreeMap;

/// Streams below this number have a place in the list at once.
const LOW: usize = 16;
/// A stream that is so many beyond the end of the list still gets a place in it: data channels use every second number.
const STEP: usize = 4;

/// A value for each stream that was used.
#[derive(Debug)]
pub(crate) enum PerStream<T> {
    /// All in a list: the streams in use follow each other, nearly.
    Listed(Vec<T>),
    /// Some are far from the others.
    Scattered(Box<Scattered<T>>),
}

#[derive(Debug)]
pub(crate) struct Scattered<T> {
    /// The first streams; the list grows no more.
    listed: Vec<T>,
    /// Streams beyond the list.
    others: BTreeMap<u16, T>,
}

impl<T> Default for PerStream<T> {
    fn default() -> Self {
        Self::Listed(Vec::new())
    }
}

impl<T: Default> PerStream<T> {
    /// The value of a stream; `None` when it was not used and has no place by chance.
    #[inline]
    pub(crate) fn get(&self, stream: u16) -> Option<&T> {
        match self {
            Self::Listed(list) => list.get(usize::from(stream)),
            Self::Scattered(all) => all.get(stream),
        }
    }

    /// The value of a stream, to be changed.
    #[inline]
    pub(crate) fn get_mut(&mut self, stream: u16) -> Option<&mut T> {
        match self {
            Self::Listed(list) => list.get_mut(usize::from(stream)),
            Self::Scattered(all) => all.get_mut(stream),
        }
    }

    /// The value of a stream; it gets a place, if it has none.
    #[inline]
    pub(crate) fn at(&mut self, stream: u16) -> &mut T {
        self.make(stream);
        match self {
            Self::Listed(list) => &mut list[usize::from(stream)],
            Self::Scattered(all) => match all.listed.get_mut(usize::from(stream)) {
                Some(value) => value,
                None => all.others.entry(stream).or_default(),
            },
        }
    }

    /// Makes a place for a stream, if it has none.
    #[inline]
    pub(crate) fn make(&mut self, stream: u16) {
        match self {
            Self::Listed(list) if usize::from(stream) < list.len() => {}
            _ => self.make_slowly(stream),
        }
    }

    #[cold]
    fn make_slowly(&mut self, stream: u16) {
        let id = usize::from(stream);
        match self {
            Self::Listed(list) if id < LOW.max(list.len() + STEP) => {
                // Nearly every association uses one stream, and an idle one must be small.
                if list.capacity() == 0 {
                    list.reserve_exact(id + 1);
                }
                list.resize_with(id + 1, T::default);
            }
            Self::Listed(list) => {
                let (listed, others) = (std::mem::take(list), BTreeMap::from([(stream, T::default())]));
                *self = Self::Scattered(Box::new(Scattered { listed, others }));
            }
            Self::Scattered(all) if id >= all.listed.len() => {
                all.others.entry(stream).or_default();
            }
            Self::Scattered(_) => {}
        }
    }

    /// Forgets all streams.
    pub(crate) fn clear(&mut self) {
        match self {
            Self::Listed(list) => list.clear(),
            Self::Scattered(_) => *self = Self::default(),
        }
    }

    /// All values, with the number of the stream, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u16, &T)> {
        let (listed, others) = match self {
            Self::Listed(list) => (list, None),
            Self::Scattered(all) => (&all.listed, Some(&all.others)),
        };
        let others = others.into_iter().flatten().map(|(stream, value)| (*stream, value));
        listed.iter().enumerate().map(|(stream, value)| (stream as u16, value)).chain(others)
    }

    /// Every stream that has a place, with its value, to be changed.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (u16, &mut T)> {
        let (listed, others) = match self {
            Self::Listed(list) => (list, None),
            Self::Scattered(all) => (&mut all.listed, Some(&mut all.others)),
        };
        let others = others.into_iter().flatten().map(|(stream, value)| (*stream, value));
        listed.iter_mut().enumerate().map(|(stream, value)| (stream as u16, value)).chain(others)
    }

    /// All values, stream by stream, ascending.
    pub(crate) fn values(&self) -> impl Iterator<Item = &T> {
        self.iter().map(|(_, value)| value)
    }
}

impl<T> Scattered<T> {
    #[inline(never)]
    fn get(&self, stream: u16) -> Option<&T> {
        self.listed.get(usize::from(stream)).or_else(|| self.others.get(&stream))
    }

    #[inline(never)]
    fn get_mut(&mut self, stream: u16) -> Option<&mut T> {
        match self.listed.get_mut(usize::from(stream)) {
            Some(value) => Some(value),
            None => self.others.get_mut(&stream),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_base::Rng;

    /// An association without streams, or with a few that follow each other, pays for no more than a list.
    #[test]
    fn a_table_is_as_small_as_a_list() {
        assert_eq!(size_of::<PerStream<u64>>(), size_of::<Vec<u64>>());
        let mut table = PerStream::<u64>::default();
        table.make(0);
        let PerStream::Listed(list) = &table else { panic!("scattered") };
        assert_eq!(list.capacity(), 1);
    }

    /// Places made for streams in any order: at most so many more than were asked for, and the far ones cost as much
    /// as the near ones.
    #[test]
    fn room_follows_the_streams_that_are_used() {
        let room = |order: &[u16]| {
            let mut table = PerStream::<u64>::default();
            order.iter().for_each(|stream| table.make(*stream));
            table.iter().count()
        };
        assert_eq!(room(&[0, 1, 60_000]), 3);
        assert_eq!(room(&[60_000, 1, 0]), 3);
        assert_eq!(room(&[15, 65_535]), 17);
        let every_second: Vec<u16> = (0..1000).map(|id| id * 2).collect();
        assert_eq!(room(&every_second), 1999);
        // An attacker's order of streams, which costs most: each time as far as the list still follows.
        let greedy: Vec<u16> = (0..65_536 / STEP).map(|n| (n * STEP + STEP - 1) as u16).collect();
        assert!(room(&greedy[..1000]) <= LOW + 1000 * STEP);
    }

    /// Against a map.
    #[test]
    fn it_is_a_map_in_the_order_of_streams() {
        let mut rng = Rng::stream(11, "streams", "test");
        for _ in 0..300 {
            let (mut table, mut map) = (PerStream::<u64>::default(), BTreeMap::new());
            let far = rng.below(2) == 0;
            for step in 1..200 {
                let stream = if far && rng.below(3) == 0 { rng.below(65_536) } else { rng.below(40) } as u16;
                match rng.below(50) {
                    0 => {
                        table.clear();
                        map.clear();
                    }
                    1..=30 => {
                        table.make(stream);
                        if let Some(value) = table.get_mut(stream) {
                            *value = step;
                        }
                        map.insert(stream, step);
                    }
                    _ => {}
                }
                assert_eq!(table.get(stream).copied().unwrap_or(0), map.get(&stream).copied().unwrap_or(0));
            }
            let kept: Vec<_> = table.iter().filter(|(_, value)| **value > 0).map(|(s, v)| (s, *v)).collect();
            assert_eq!(kept, map.into_iter().collect::<Vec<_>>());
            let ids: Vec<u16> = table.iter_mut().map(|(stream, _)| stream).collect();
            assert!(ids.windows(2).all(|pair| pair[0] < pair[1]));
        }
    }
}
