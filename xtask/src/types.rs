//! How wide each type with behaviour is: its fields, the methods that change it, the files of its `impl` blocks.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::crate_::Crate;

/// How wide a type is, or may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct Width {
    /// Fields of its own.
    pub(crate) fields: usize,
    /// Methods that take `&mut self`, those of traits too.
    pub(crate) changing: usize,
    /// Files with `impl` blocks of it.
    pub(crate) files: usize,
}

impl Width {
    /// The three numbers with their names.
    pub(crate) fn parts(self) -> [(&'static str, usize); 3] {
        [("fields", self.fields), ("changing methods", self.changing), ("files", self.files)]
    }

    /// Whether it is more than `most`. Fields count where a method changes them: a type that is only read is a record, however long.
    pub(crate) fn exceeds(self, most: Self) -> bool {
        let fields = self.changing > 0 && self.fields > most.fields;
        fields || self.changing > most.changing || self.files > most.files
    }
}

/// Every type of a crate that has methods, by its full name.
pub(crate) fn widths(found: &Crate) -> BTreeMap<String, Width> {
    let mut widths: BTreeMap<String, Width> = BTreeMap::new();
    for ((module, name), blocks) in found.implementations() {
        let Some(definition) = found.modules[module].types.iter().find(|each| each.name == name) else {
            continue; // A trait's object, or a type that a macro makes.
        };
        if blocks.iter().all(|(_, block)| block.methods.is_empty()) {
            continue;
        }
        let files: BTreeSet<_> = blocks.iter().map(|(number, _)| &found.modules[*number].file).collect();
        let width = Width {
            fields: definition.fields,
            changing: blocks.iter().map(|(_, block)| block.changing).sum(),
            files: files.len(),
        };
        let path = found.path_of(module);
        let separator = if path.is_empty() { "" } else { "::" };
        let full = format!("{}::{path}{separator}{name}", found.name);
        // Where each platform has a type of its own, the widest part of each.
        let widest = widths.entry(full).or_default();
        widest.fields = widest.fields.max(width.fields);
        widest.changing = widest.changing.max(width.changing);
        widest.files = widest.files.max(width.files);
    }
    widths
}
