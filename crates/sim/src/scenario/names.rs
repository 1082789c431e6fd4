//! Names of hosts, links or flows with their places in the scenario: names are looked up once, when the file is read.

use std::collections::BTreeMap;

/// The names of one list of the scenario.
pub(super) struct Names<'n> {
    names: Vec<&'n str>,
    places: BTreeMap<&'n str, usize>,
}

impl<'n> Names<'n> {
    /// Names in the order of their list. Of two equal names the first counts.
    pub(super) fn new(names: impl IntoIterator<Item = &'n str>) -> Self {
        let names: Vec<&str> = names.into_iter().collect();
        let mut places = BTreeMap::new();
        for (place, name) in names.iter().enumerate() {
            places.entry(*name).or_insert(place);
        }
        Self { names, places }
    }

    /// Where in the list the name stands.
    pub(super) fn place(&self, name: &str) -> Option<usize> {
        self.places.get(name).copied()
    }

    /// Every name, in the order of the list.
    pub(super) fn iter(&self) -> impl Iterator<Item = &'n str> {
        self.names.iter().copied()
    }
}
