//! Handles: the names of objects that programs hold. A handle that was freed, or never made, is recognised.

use std::sync::{Arc, RwLock};

use crate::status::{Failure, Status};

/// Number of the lowest bits of a name, which hold the number of its table.
const KIND_BITS: u32 = 2;
/// Number of the next bits, which hold the place in the table. The bits above hold the generation: the number of uses of the place.
const PLACE_BITS: u32 = if usize::BITS == 64 { 30 } else { 16 };

struct Slot<T> {
    generation: usize,
    held: Option<Arc<T>>,
}

struct Slots<T> {
    all: Vec<Slot<T>>,
    /// Places that hold nothing and have names left.
    free: Vec<usize>,
}

/// All things of one kind that programs hold.
pub(crate) struct Table<T> {
    kind: usize,
    what: &'static str,
    slots: RwLock<Slots<T>>,
}

impl<T> Table<T> {
    /// `kind` is the number of the table, 0 to 3; each table has its own. Generations begin with 1, so that no name is 0.
    pub(crate) const fn new(kind: usize, what: &'static str) -> Self {
        Self { kind, what, slots: RwLock::new(Slots { all: Vec::new(), free: Vec::new() }) }
    }

    fn name(&self, place: usize, generation: usize) -> usize {
        generation << (KIND_BITS + PLACE_BITS) | place << KIND_BITS | self.kind
    }

    /// Stores `thing`, and returns its name, which is never 0.
    pub(crate) fn keep(&self, thing: T) -> Result<usize, Failure> {
        let mut slots = self.slots.write().map_err(|_| Failure::internal())?;
        let place = slots.free.pop().unwrap_or(slots.all.len());
        if place >> PLACE_BITS != 0 {
            return Err(Failure::new(Status::ErrorRefused, format!("there are too many: {}", self.what)));
        }
        if place == slots.all.len() {
            slots.all.push(Slot { generation: 0, held: None });
        }
        let slot = slots.all.get_mut(place).ok_or_else(Failure::internal)?;
        slot.generation += 1;
        slot.held = Some(Arc::new(thing));
        Ok(self.name(place, slot.generation))
    }

    fn wrong(&self, name: usize) -> Failure {
        let what = self.what;
        if name == 0 {
            return Failure::new(Status::ErrorNull, format!("the pointer to {what} must not be null"));
        }
        Failure::new(
            Status::ErrorHandle,
            format!("this is not {what}: it was freed, or it is something else"),
        )
    }

    fn place(name: usize) -> usize {
        (name >> KIND_BITS) & ((1 << PLACE_BITS) - 1)
    }

    /// The object with that name.
    pub(crate) fn get(&self, name: usize) -> Result<Arc<T>, Failure> {
        let slots = self.slots.read().map_err(|_| Failure::internal())?;
        let place = Self::place(name);
        let slot = slots.all.get(place).filter(|slot| self.name(place, slot.generation) == name);
        slot.and_then(|slot| slot.held.clone()).ok_or_else(|| self.wrong(name))
    }

    /// Takes the object with that name out of the table: the name is invalid from now on.
    pub(crate) fn take(&self, name: usize) -> Result<Arc<T>, Failure> {
        let mut slots = self.slots.write().map_err(|_| Failure::internal())?;
        let place = Self::place(name);
        let slot = slots.all.get_mut(place);
        let slot =
            slot.filter(|slot| self.name(place, slot.generation) == name).ok_or_else(|| self.wrong(name))?;
        let (held, generation) = (slot.held.take(), slot.generation);
        // A place whose names are used up is not given out again.
        if held.is_some() && generation < usize::MAX >> (KIND_BITS + PLACE_BITS) {
            slots.free.push(place);
        }
        held.ok_or_else(|| self.wrong(name))
    }
}
