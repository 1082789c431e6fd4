//! Numbers of the rows in an association's tables, each of a type of its own: a path is never taken for a subflow.

use std::marker::PhantomData;

use anabranch_base::cold_path;

/// The number of a row.
pub(crate) trait Id: Copy + Eq {
    /// The row in a table.
    fn at(row: usize) -> Self;
    /// The number of the row.
    fn row(self) -> usize;
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($number:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub(crate) struct $name($number);

        impl $name {
            /// As events, traces and the wire have it.
            pub(crate) const fn get(self) -> $number {
                self.0
            }
        }

        impl Id for $name {
            #[inline]
            fn at(row: usize) -> Self {
                // Subflows, paths and FIDs are numbered in 8 bits, so lanes, of which there is one for a subflow on a path, in 16.
                Self(row as $number)
            }

            #[inline]
            fn row(self) -> usize {
                usize::from(self.0)
            }
        }
    };
}

id! {
    /// One address of the peer. [`Paths`](crate::path::Paths) chooses the path for each purpose: none is the first by
    /// nature.
    PathId(u8)
}
id! {
    /// A set of streams with one code point.
    #[derive(Default)]
    SubflowId(u8)
}
impl PathId {
    /// From an event or the wire.
    pub(crate) const fn new(number: u8) -> Self {
        Self(number)
    }
}

impl SubflowId {
    /// From a command or the wire.
    pub(crate) const fn new(number: u8) -> Self {
        Self(number)
    }
}

id! {
    /// A numbering of chunks, in both directions.
    #[derive(Default)]
    SpaceId(u8)
}
id! {
    /// A subflow on a path.
    #[derive(Default)]
    LaneId(u16)
}

impl SubflowId {
    /// The first row: there always is one.
    pub(crate) const FIRST: Self = Self(0);
}

impl SpaceId {
    /// The first row: there always is one.
    pub(crate) const FIRST: Self = Self(0);
}

impl LaneId {
    /// The first row: there always is one.
    pub(crate) const FIRST: Self = Self(0);
}

/// Rows with numbers of the type `I`. As a rule there is one row, so room is made for just as many as there are.
#[derive(Debug)]
pub(crate) struct Table<I, T> {
    rows: Vec<T>,
    id: PhantomData<fn() -> I>,
}

impl<I, T> Default for Table<I, T> {
    fn default() -> Self {
        Self { rows: Vec::new(), id: PhantomData }
    }
}

impl<I: Id, T> Table<I, T> {
    /// A table with one row.
    pub(crate) fn of(first: T) -> Self {
        let mut table = Self::default();
        table.push(first);
        table
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    #[inline]
    pub(crate) fn get(&self, id: I) -> Option<&T> {
        self.rows.get(id.row())
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, id: I) -> Option<&mut T> {
        self.rows.get_mut(id.row())
    }

    #[inline]
    pub(crate) fn first(&self) -> Option<&T> {
        self.rows.first()
    }

    #[inline]
    pub(crate) fn first_mut(&mut self) -> Option<&mut T> {
        self.rows.first_mut()
    }

    /// All rows, in the order of their numbers.
    #[inline]
    pub(crate) fn rows(&self) -> &[T] {
        &self.rows
    }

    #[inline]
    pub(crate) fn rows_mut(&mut self) -> &mut [T] {
        &mut self.rows
    }

    /// Every number that has a row. It borrows nothing: rows may change meanwhile.
    #[inline]
    pub(crate) fn ids(&self) -> impl Iterator<Item = I> + use<I, T> {
        (0..self.rows.len()).map(I::at)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (I, &T)> {
        self.rows.iter().enumerate().map(|(row, value)| (I::at(row), value))
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (I, &mut T)> {
        self.rows.iter_mut().enumerate().map(|(row, value)| (I::at(row), value))
    }

    pub(crate) fn push(&mut self, value: T) -> I {
        self.rows.reserve_exact(1);
        self.rows.push(value);
        I::at(self.rows.len() - 1)
    }

    /// Puts a row in the place of another, or behind the last.
    pub(crate) fn set(&mut self, id: I, value: T) {
        match self.rows.get_mut(id.row()) {
            Some(slot) => *slot = value,
            None => {
                self.push(value);
            }
        }
    }

    /// Takes every row but the first away.
    pub(crate) fn split_off_first(&mut self) -> Vec<T> {
        if self.rows.len() > 1 { self.rows.split_off(1) } else { Vec::new() }
    }
}

impl<I: Id, T> Table<I, T> {
    /// Shows every row: as a rule there is only one, and then there is no loop.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "what is done for a row is small; measured")]
    pub(crate) fn for_each(&self, mut see: impl FnMut(I, &T)) {
        match self.rows.as_slice() {
            [one] => see(I::at(0), one),
            all => {
                cold_path();
                all.iter().enumerate().for_each(|(row, value)| see(I::at(row), value));
            }
        }
    }
}

/// True if something `holds` for one of all: as a rule there is only one, and then there is no loop.
#[inline]
pub(crate) fn any_of<T>(all: &[T], holds: impl Fn(&T) -> bool) -> bool {
    match all {
        [one] => holds(one),
        all => {
            cold_path();
            all.iter().any(holds)
        }
    }
}
