//! The rules for the structure of the source code, and the exceptions allowed by `structure.toml`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;

use crate::crate_::Crate;
use crate::error::Error;
use crate::graph::{self, Needs};
use crate::types::{self, Width};
use crate::workspace::{self, Member};

/// How wide a type with behaviour may be: past that there is a second owner inside it.
pub(crate) const LIMITS: Width = Width { fields: 20, changing: 40, files: 8 };

/// The file with exceptions, from the folder of the workspace on.
pub(crate) const FILE: &str = "xtask/structure.toml";

/// `structure.toml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Structure {
    /// The crates in rows: one may depend on crates of rows above its own only.
    rows: Vec<Vec<String>>,
    /// Types that are wider than they may be.
    #[serde(default, rename = "type")]
    types: Vec<WideType>,
    /// Circles of folders or files.
    #[serde(default, rename = "circle")]
    circles: Vec<Circle>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WideType {
    name: String,
    fields: usize,
    changing: usize,
    files: usize,
    reason: String,
}

#[derive(Debug, Deserialize)]
struct Circle {
    #[serde(rename = "crate")]
    name: String,
    #[serde(flatten)]
    nodes: Nodes,
    reason: String,
}

/// The nodes of a circle.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Nodes {
    /// Folders, and files right under the root.
    Folders(BTreeSet<String>),
    /// Files, wherever they are.
    Files(BTreeSet<String>),
}

impl Nodes {
    fn names(&self) -> &BTreeSet<String> {
        let (Self::Folders(names) | Self::Files(names)) = self;
        names
    }

    fn is_like(&self, other: &Self) -> bool {
        matches!((self, other), (Self::Folders(_), Self::Folders(_)) | (Self::Files(_), Self::Files(_)))
    }

    /// How many there are.
    fn count(&self) -> String {
        match self {
            Self::Files(names) => format!("{} files", names.len()),
            Self::Folders(names) => count_rooms(names),
        }
    }
}

/// How many folders, and files right under the root, are among some rooms.
pub(crate) fn count_rooms<'a>(rooms: impl IntoIterator<Item = &'a String>) -> String {
    let (files, folders): (Vec<_>, Vec<_>) = rooms.into_iter().partition(|room| is_file(room));
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    let text = format!("{} folder{}", folders.len(), plural(folders.len()));
    match files.len() {
        0 => text,
        count => format!("{text} and {count} file{} at the root", plural(count)),
    }
}

/// A circle that there is.
struct Found {
    /// The crate.
    name: String,
    nodes: Nodes,
    /// The needs that tie it.
    words: String,
}

/// Everything that is wrong with the structure of a workspace, in words.
pub(crate) fn check(root: &Path) -> Result<Vec<String>, Error> {
    let structure: Structure = workspace::toml(&root.join(FILE))?;
    let members = workspace::members(root)?;
    let mut wrong = arrows(&structure, &members);
    let mut widths = BTreeMap::new();
    let mut circles = Vec::new();
    for member in &members {
        let found = Crate::read(&member.folder)?;
        wrong.extend(newer_syntax(root, &found));
        widths.extend(types::widths(&found));
        let files = graph::files(&found);
        let folders = graph::folders(&found);
        let of_files = graph::circles(&files).into_iter().map(|circle| {
            let words = graph::describe(&circle, &files);
            Found { name: member.name.clone(), nodes: Nodes::Files(circle.into_iter().collect()), words }
        });
        circles.extend(of_files);
        let of_folders = folder_circles(&folders).into_iter().map(|circle| {
            let words = graph::describe(&circle, &folders);
            Found { name: member.name.clone(), nodes: Nodes::Folders(circle.into_iter().collect()), words }
        });
        circles.extend(of_folders);
    }
    wrong.extend(wide(&structure, &widths));
    wrong.extend(knots(&structure, &circles));
    Ok(wrong)
}

/// Chains of conditions with a `let`, which the oldest compiler that is promised does not know.
fn newer_syntax(root: &Path, found: &Crate) -> Vec<String> {
    let mut wrong = Vec::new();
    for module in &found.modules {
        let file = module.file.strip_prefix(root).unwrap_or(&module.file).display();
        for line in &module.let_chains {
            wrong.push(format!(
                "{file}:{line}: a `let` in a chain of conditions needs Rust 1.88; `rust-version` promises an older one (nest it, or match a pair)"
            ));
        }
    }
    wrong
}

/// Circles with a folder in them; those of files alone are seen where files are.
pub(crate) fn folder_circles(needs: &Needs) -> Vec<Vec<String>> {
    let is_folder = |room: &String| !is_file(room);
    graph::circles(needs).into_iter().filter(|circle| circle.iter().any(is_folder)).collect()
}

/// Whether a room is one file right under the root.
pub(crate) fn is_file(room: &str) -> bool {
    Path::new(room).extension().is_some()
}

fn arrows(structure: &Structure, members: &[Member]) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut row = BTreeMap::new();
    for (number, names) in structure.rows.iter().enumerate() {
        for name in names {
            if row.insert(name.as_str(), number).is_some() {
                wrong.push(format!("{FILE}: the crate {name} stands in `rows` twice; once is enough"));
            }
            if !members.iter().any(|member| member.name == *name) {
                wrong.push(format!(
                    "{FILE}: `rows` names {name}, which is no crate of the workspace; remove it"
                ));
            }
        }
    }
    for Member { name, needs, .. } in members {
        let Some(own) = row.get(name.as_str()) else {
            wrong.push(format!(
                "{FILE}: the crate {name} is in no row of `rows`; put it below every crate it needs"
            ));
            continue;
        };
        // A crate that its own examples ask for with more features is no arrow.
        for other in needs
            .iter()
            .filter(|other| *other != name && row.get(other.as_str()).is_some_and(|row| row >= own))
        {
            wrong.push(format!(
                "the crate {name} depends on {other}, which stands beside or below it in `rows` of {FILE}; only crates above are allowed"
            ));
        }
    }
    wrong
}

fn wide(structure: &Structure, widths: &BTreeMap<String, Width>) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut allowed = BTreeMap::new();
    for line in &structure.types {
        wrong.extend(without_reason(&line.name, &line.reason));
        if allowed.insert(line.name.as_str(), line).is_some() {
            wrong.push(format!("{FILE}: the type {} has two entries; keep one", line.name));
        }
        if !widths.contains_key(&line.name) {
            wrong.push(format!("{FILE}: no type with methods is called {}; remove its entry", line.name));
        }
    }
    for (name, width) in widths {
        let is_wide = width.exceeds(LIMITS);
        let Some(line) = allowed.get(name.as_str()) else {
            if is_wide {
                wrong.push(format!(
                    "{name} has {}; at most {} are allowed: it has a second owner inside",
                    words(*width),
                    words(LIMITS)
                ));
            }
            continue;
        };
        if !is_wide {
            wrong.push(format!("{FILE}: {name} keeps to the limits now; remove its entry"));
            continue;
        }
        let may = Width { fields: line.fields, changing: line.changing, files: line.files };
        for ((what, is), (_, most)) in width.parts().into_iter().zip(may.parts()) {
            if is > most {
                wrong.push(format!(
                    "{name} has {is} {what}; its entry in {FILE} allows {most}, and it may not grow"
                ));
            } else if is < most {
                wrong.push(format!(
                    "{FILE}: {name} has {is} {what} now, fewer than the {most} of its entry; lower it to {is}"
                ));
            }
        }
    }
    wrong
}

fn words(width: Width) -> String {
    let [fields, changing, files] = width.parts().map(|(what, count)| format!("{count} {what}"));
    format!("{fields}, {changing} and {files}")
}

fn without_reason(name: &str, reason: &str) -> Option<String> {
    reason
        .trim()
        .is_empty()
        .then(|| format!("{FILE}: the entry of {name} has no reason; say why it is allowed"))
}

fn knots(structure: &Structure, circles: &[Found]) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut used = BTreeSet::new();
    for Found { name, nodes, words } in circles {
        let entry = structure.circles.iter().enumerate().find(|(_, line)| {
            line.name == *name && line.nodes.is_like(nodes) && !line.nodes.names().is_disjoint(nodes.names())
        });
        let Some((number, line)) = entry else {
            wrong.push(format!("{name}: circle of {}:{words}", nodes.count()));
            continue;
        };
        used.insert(number);
        let list = |names: Vec<&String>| names.into_iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        let more = list(nodes.names().difference(line.nodes.names()).collect());
        if !more.is_empty() {
            wrong.push(format!(
                "{name}: {more} came into a circle, whose entry in {FILE} may not grow:{words}"
            ));
        }
        let left = list(line.nodes.names().difference(nodes.names()).collect());
        if !left.is_empty() {
            wrong.push(format!(
                "{FILE}: {left} left a circle of {name}; remove from its entry what is in no circle, and give each circle its own"
            ));
        }
    }
    for (number, line) in structure.circles.iter().enumerate() {
        wrong.extend(without_reason(&format!("a circle of {}", line.name), &line.reason));
        if !used.contains(&number) {
            let names: Vec<&str> = line.nodes.names().iter().map(String::as_str).collect();
            wrong.push(format!(
                "{FILE}: {} has no circle of {} any more; remove its entry",
                line.name,
                names.join(", ")
            ));
        }
    }
    wrong
}
