//! The modules of one crate, and where the names that they use are defined.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::names::Where;
use crate::source::{self, Implementation, Module};

/// The modules of one crate.
#[derive(Debug)]
pub(crate) struct Crate {
    /// The name of its folder.
    pub(crate) name: String,
    /// The folder of its root file.
    pub(crate) source: PathBuf,
    pub(crate) modules: Vec<Module>,
    /// The modules of each path: several where each platform has its own.
    by_path: BTreeMap<Where, Vec<usize>>,
}

/// An item: the module that defines it, and its name.
pub(crate) type Item = (usize, String);

impl Crate {
    /// Reads the crate in a folder.
    pub(crate) fn read(folder: &Path) -> Result<Self, Error> {
        let source = folder.join("src");
        let roots = ["lib.rs", "main.rs"].map(|name| source.join(name));
        let mut modules = Vec::new();
        // A library and a program of one crate are read as one.
        for root in roots.iter().filter(|root| root.is_file()) {
            modules.extend(source::read(root)?);
        }
        if modules.is_empty() {
            return Err(Error::NoRoot { folder: folder.to_owned() });
        }
        let mut by_path: BTreeMap<Where, Vec<usize>> = BTreeMap::new();
        for (number, module) in modules.iter().enumerate() {
            by_path.entry(module.path.clone()).or_default().push(number);
        }
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self { name, source, modules, by_path })
    }

    fn at(&self, path: &[String]) -> impl Iterator<Item = usize> {
        self.by_path.get(path).into_iter().flatten().copied()
    }

    /// Every path that the code of a module needs: those it names, and those it imports. An item that it only hands on (`pub use`) is left
    /// out, as its users need the module that defines it.
    pub(crate) fn taken(&self, module: usize) -> Vec<Where> {
        let names = &self.modules[module].names;
        let mut found: Vec<Where> = names.paths.iter().cloned().collect();
        for import in &names.imports {
            match &import.name {
                // Of an import of all items (`*`), those that the code names.
                None if !import.handed_on => {
                    found.extend(names.names.iter().map(|name| joined(&import.path, name)));
                }
                Some(name) if !import.handed_on || names.names.contains(name) => {
                    found.push(import.path.clone());
                }
                _ => {}
            }
        }
        found
    }

    /// The items that a path in a module leads to, through every module that hands them on.
    pub(crate) fn definitions(&self, module: usize, path: &[String]) -> BTreeSet<Item> {
        let mut found = BTreeSet::new();
        for start in self.absolute(module, path, &mut BTreeSet::new()) {
            found.extend(self.follow(&start, &mut BTreeSet::new()));
        }
        // Where each platform has a module of its own, each has its own items.
        if found.iter().any(|(owner, _)| *owner == module) {
            found.retain(|(owner, _)| {
                *owner == module || self.modules[*owner].path != self.modules[module].path
            });
        }
        found
    }

    /// The items that a path in a module names, in the modules that it names: one that hands an item on counts as the item's. The root of
    /// a crate is no such module: the items that it hands on are the face of the crate, and are taken from where the root has them.
    pub(crate) fn named(&self, module: usize, path: &[String]) -> BTreeSet<Item> {
        let mut found = BTreeSet::new();
        for start in self.absolute(module, path, &mut BTreeSet::new()) {
            // A module and a function may share a name: the longer way first, then the item of the shorter.
            for length in self.lengths(&start) {
                let Some(name) = start.get(length) else { continue };
                let before = found.len();
                for number in self.at(&start[..length]).filter(|number| self.has(*number, name)) {
                    if length > 0 || self.modules[number].defined.contains(name) {
                        found.insert((number, name.clone()));
                    } else {
                        found.extend(self.follow(&start, &mut BTreeSet::new()));
                    }
                }
                if found.len() > before {
                    break;
                }
            }
        }
        found
    }

    /// Whether a module defines a name or imports it.
    fn has(&self, module: usize, name: &str) -> bool {
        let found = &self.modules[module];
        let imports = &found.names.imports;
        found.defined.contains(name)
            || imports.iter().any(|import| import.name.as_deref() == Some(name))
            || found.made_by_macros.contains(name)
            || imports
                .iter()
                .filter(|import| import.name.is_none())
                .any(|import| !self.definitions(module, &joined(&import.path, name)).is_empty())
    }

    /// How many names of an absolute path may be modules: the most, then one less.
    fn lengths(&self, path: &[String]) -> impl Iterator<Item = usize> + use<> {
        let most = (1..=path.len()).take_while(|length| self.by_path.contains_key(&path[..*length])).count();
        [Some(most), most.checked_sub(1)].into_iter().flatten()
    }

    /// The same path from the root of the crate; nothing for a path into another crate.
    fn absolute(&self, module: usize, path: &[String], seen: &mut BTreeSet<Item>) -> Vec<Where> {
        let Some((first, rest)) = path.split_first() else { return Vec::new() };
        let here = &self.modules[module];
        let inside = |path: &[String]| [here.path.as_slice(), path].concat();
        match first.as_str() {
            "crate" => vec![rest.to_vec()],
            "self" => vec![inside(rest)],
            "super" => {
                let more = rest.iter().take_while(|name| *name == "super").count();
                let above = here.path.len().saturating_sub(1 + more);
                vec![[&here.path[..above], &rest[more..]].concat()]
            }
            _ if here.defined.contains(first) || self.by_path.contains_key(&inside(&path[..1])) => {
                vec![inside(path)]
            }
            _ if !seen.insert((module, first.clone())) => Vec::new(),
            _ => {
                let mut found = Vec::new();
                for import in &here.names.imports {
                    if import.name.as_ref() == Some(first) && import.path != path[..1] {
                        for start in self.absolute(module, &import.path, seen) {
                            found.push([start.as_slice(), rest].concat());
                        }
                    }
                }
                found
            }
        }
    }

    /// From an absolute path to the items that it means; nothing for a module.
    fn follow(&self, path: &[String], seen: &mut BTreeSet<Where>) -> BTreeSet<Item> {
        let mut found = BTreeSet::new();
        if !seen.insert(path.to_vec()) {
            return found;
        }
        for length in self.lengths(path) {
            let Some((name, rest)) = path[length..].split_first() else { continue };
            for number in self.at(&path[..length]) {
                let module = &self.modules[number];
                if module.defined.contains(name) {
                    found.insert((number, name.clone()));
                    continue;
                }
                let mut handed_on = BTreeSet::new();
                for import in &module.names.imports {
                    let target = match &import.name {
                        Some(own) if own == name => [import.path.as_slice(), rest].concat(),
                        Some(_) => continue,
                        None => [import.path.as_slice(), &path[length..]].concat(),
                    };
                    for start in self.absolute(number, &target, &mut BTreeSet::new()) {
                        handed_on.extend(self.follow(&start, seen));
                    }
                }
                let is_imported =
                    module.names.imports.iter().any(|import| import.name.as_ref() == Some(name));
                if !is_imported && handed_on.is_empty() && module.made_by_macros.contains(name) {
                    handed_on.insert((number, name.clone()));
                }
                found.extend(handed_on);
            }
            if !found.is_empty() {
                break;
            }
        }
        found
    }

    /// The `impl` blocks of each type of the crate, with the modules in which they stand.
    pub(crate) fn implementations(&self) -> BTreeMap<Item, Vec<(usize, &Implementation)>> {
        let mut found: BTreeMap<Item, Vec<(usize, &Implementation)>> = BTreeMap::new();
        for (number, module) in self.modules.iter().enumerate() {
            for block in &module.implementations {
                for owner in self.owners(number, block) {
                    found.entry(owner).or_default().push((number, block));
                }
            }
        }
        found
    }

    /// The types that an `impl` block is of: one, but for types of which each platform has its own.
    fn owners(&self, module: usize, block: &Implementation) -> BTreeSet<Item> {
        let mut found = self.definitions(module, &block.owner);
        let [name] = block.owner.as_slice() else { return found };
        // A name that came with everything of another module.
        for import in &self.modules[module].names.imports {
            if found.is_empty() && import.name.is_none() {
                found = self.definitions(module, &joined(&import.path, name));
            }
        }
        if found.is_empty() && self.modules[module].made_by_macros.contains(name) {
            found.insert((module, name.clone()));
        }
        found
    }

    /// A module's path as text.
    pub(crate) fn path_of(&self, module: usize) -> String {
        self.modules[module].path.join("::")
    }
}

fn joined(path: &[String], name: &str) -> Where {
    [path, &[name.to_owned()]].concat()
}
