//! Which files and which folders of a crate need each other, and the circles among them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use petgraph::algo::tarjan_scc;
use petgraph::graph::DiGraph;

use crate::crate_::Crate;
use crate::names::{Import, Where};
use crate::source::Module;

/// For each node the nodes that it needs, and the names that it takes from them, with the file that takes them where the node is a
/// folder.
pub(crate) type Needs = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

fn add(needs: &mut Needs, from: &str, to: &str, name: String) {
    if from != to {
        let names = needs.entry(from.to_owned()).or_default().entry(to.to_owned()).or_default();
        names.insert(name);
    }
}

/// Which file of a crate needs which: by a name that the other defines, or by a method of one type of which both have `impl` blocks.
/// A module that only hands a name on is not needed for it, and needs nothing for it.
pub(crate) fn files(found: &Crate) -> Needs {
    let mut needs = Needs::new();
    for (number, module) in found.modules.iter().enumerate() {
        for path in found.taken(number) {
            for (other, name) in found.definitions(number, &path) {
                add(&mut needs, &file(found, module), &file(found, &found.modules[other]), name);
            }
        }
    }
    for (from, to, name) in methods(found) {
        add(&mut needs, &file(found, &found.modules[from]), &file(found, &found.modules[to]), name);
    }
    needs
}

/// Which folder of a crate needs which. A folder is a module with files of its own beneath it; a file belongs to the innermost one, and
/// one right under the root is a room of its own, named as its file is. An arrow leads to the folder that is named, and on from one that
/// only hands a name on (`pub use`) to the folder that it has it from, but for the root of the crate, whose `pub use` are the face of all.
/// An `impl` block needs the folder of its type.
pub(crate) fn folders(found: &Crate) -> Needs {
    let rooms = rooms(found);
    let mut needs = Needs::new();
    for (number, module) in found.modules.iter().enumerate() {
        let here = file(found, module);
        let mut taken = found.taken(number);
        if !module.path.is_empty() {
            taken.extend(module.names.imports.iter().flat_map(|import| handed_on(found, import)));
        }
        for path in taken {
            for (other, name) in found.named(number, &path) {
                add(&mut needs, &rooms[number], &rooms[other], format!("{here}: {name}"));
            }
        }
    }
    for ((owner, name), blocks) in found.implementations() {
        for (number, _) in blocks {
            let here = file(found, &found.modules[number]);
            add(&mut needs, &rooms[number], &rooms[owner], format!("{here}: impl {name}"));
        }
    }
    for (from, to, name) in methods(found) {
        let here = file(found, &found.modules[from]);
        add(&mut needs, &rooms[from], &rooms[to], format!("{here}: {name}()"));
    }
    needs
}

/// The paths that a module hands on by one import: one, or everything that the other module has.
fn handed_on(found: &Crate, import: &Import) -> Vec<Where> {
    match &import.name {
        _ if !import.handed_on => Vec::new(),
        Some(_) => vec![import.path.clone()],
        None => {
            let all: BTreeSet<&String> = found.modules.iter().flat_map(|module| &module.defined).collect();
            all.into_iter()
                .map(|name| [import.path.as_slice(), std::slice::from_ref(name)].concat())
                .collect()
        }
    }
}

/// Each method that a module calls of a type of which it has an `impl` block: the module, the one with the method, its name.
fn methods(found: &Crate) -> Vec<(usize, usize, String)> {
    let mut calls = Vec::new();
    for blocks in found.implementations().values() {
        let mut defined: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
        for (number, block) in blocks {
            for name in &block.methods {
                defined.entry(name).or_default().insert(*number);
            }
        }
        for (number, block) in blocks {
            for name in &block.called {
                let others = defined.get(name.as_str()).into_iter().flatten();
                calls.extend(others.map(|other| (*number, *other, name.clone())));
            }
        }
    }
    calls
}

/// A module's file, from the folder of the crate's sources on.
fn file(found: &Crate, module: &Module) -> String {
    module.file.strip_prefix(&found.source).unwrap_or(&module.file).to_string_lossy().into_owned()
}

/// The room of each module.
fn rooms(found: &Crate) -> Vec<String> {
    let with_files: BTreeSet<&[String]> = found
        .modules
        .iter()
        .filter(|module| !module.is_inline && !module.path.is_empty())
        .map(|module| &module.path[..module.path.len() - 1])
        .collect();
    let room = |module: &Module| {
        let innermost =
            (1..=module.path.len()).rev().find(|length| with_files.contains(&module.path[..*length]));
        innermost.map_or_else(|| file(found, module), |length| module.path[..length].join("/"))
    };
    found.modules.iter().map(room).collect()
}

/// Sets of nodes each of which leads to each other, sorted.
pub(crate) fn circles(needs: &Needs) -> Vec<Vec<String>> {
    let mut graph = DiGraph::<&str, ()>::new();
    let mut numbers = BTreeMap::new();
    for name in needs.iter().flat_map(|(from, others)| others.keys().chain([from])) {
        numbers.entry(name.as_str()).or_insert_with(|| graph.add_node(name));
    }
    for (from, others) in needs {
        for to in others.keys() {
            graph.add_edge(numbers[from.as_str()], numbers[to.as_str()], ());
        }
    }
    let mut found: Vec<Vec<String>> = tarjan_scc(&graph)
        .into_iter()
        .filter(|circle| circle.len() > 1)
        .map(|circle| {
            let mut names: Vec<String> = circle.into_iter().map(|number| graph[number].to_owned()).collect();
            names.sort();
            names
        })
        .collect();
    found.sort();
    found
}

/// A circle in words: each node, and the names that it takes from the others.
pub(crate) fn describe(circle: &[String], needs: &Needs) -> String {
    let mut text = String::new();
    for node in circle {
        let _ = write!(text, "\n  {node}");
        for other in circle {
            if let Some(names) = needs.get(node).and_then(|others| others.get(other)) {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                let _ = write!(text, "\n      from {other}: {}", names.join(", "));
            }
        }
    }
    text
}
