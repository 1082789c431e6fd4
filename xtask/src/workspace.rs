//! The crates of the workspace, and which of them needs which.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use crate::error::Error;

/// A crate of the workspace.
#[derive(Debug)]
pub(crate) struct Member {
    /// The name of its folder.
    pub(crate) name: String,
    pub(crate) folder: PathBuf,
    /// The members that it depends on, also for tests and on one platform only.
    pub(crate) needs: BTreeSet<String>,
}

#[derive(Deserialize)]
struct Root {
    workspace: Workspace,
}

#[derive(Deserialize)]
struct Workspace {
    members: Vec<String>,
}

type Dependencies = BTreeMap<String, IgnoredAny>;

#[derive(Deserialize)]
struct Manifest {
    package: Package,
    #[serde(flatten)]
    always: Tables,
    #[serde(default)]
    target: BTreeMap<String, Tables>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Tables {
    #[serde(default)]
    dependencies: Dependencies,
    #[serde(default)]
    dev_dependencies: Dependencies,
    #[serde(default)]
    build_dependencies: Dependencies,
}

impl Tables {
    fn names(&self) -> impl Iterator<Item = &String> {
        let Self { dependencies, dev_dependencies, build_dependencies } = self;
        [dependencies, dev_dependencies, build_dependencies].into_iter().flat_map(BTreeMap::keys)
    }
}

/// Reads a TOML file.
pub(crate) fn toml<T: DeserializeOwned>(file: &Path) -> Result<T, Error> {
    let text = fs::read_to_string(file).map_err(|why| Error::unreadable(file, why))?;
    toml::from_str(&text).map_err(|why| Error::Toml { file: file.to_owned(), why })
}

/// The crates of the workspace in a folder.
pub(crate) fn members(root: &Path) -> Result<Vec<Member>, Error> {
    let Root { workspace } = toml(&root.join("Cargo.toml"))?;
    let mut found = Vec::new();
    for member in workspace.members {
        let folder = root.join(&member);
        let manifest: Manifest = toml(&folder.join("Cargo.toml"))?;
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        found.push((manifest, name, folder));
    }
    let folders: BTreeMap<String, String> =
        found.iter().map(|(manifest, name, _)| (manifest.package.name.clone(), name.clone())).collect();
    let member = |(manifest, name, folder): (Manifest, String, PathBuf)| {
        let targets = manifest.target.values().flat_map(Tables::names);
        let needs = manifest.always.names().chain(targets).filter_map(|name| folders.get(name).cloned());
        Member { needs: needs.collect(), name, folder }
    };
    Ok(found.into_iter().map(member).collect())
}
