//! Made-up workspaces, and the findings of the checks in them.

mod circles;
mod folders;
mod limits;

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crate::check;

/// Files of the crate `one`, by their names under `src`.
type Files<'a> = &'a [(&'a str, &'a str)];

/// Only the limits.
const STRUCTURE: &str = "rows = [['one']]\n";

/// A workspace with a crate.
struct Workspace(TempDir);

impl Workspace {
    fn new(files: Files<'_>) -> Self {
        let workspace = Self(TempDir::new().unwrap());
        workspace.write("Cargo.toml", "[workspace]\nmembers = ['crates/one']\n");
        workspace.write("crates/one/Cargo.toml", "[package]\nname = 'the-one'\n");
        workspace.write(check::FILE, STRUCTURE);
        for (name, text) in files {
            workspace.write(&format!("crates/one/src/{name}"), text);
        }
        workspace
    }

    fn write(&self, name: &str, text: &str) {
        let file = self.0.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    fn root(&self) -> &Path {
        self.0.path()
    }

    fn check(&self) -> Vec<String> {
        check::check(self.root()).unwrap()
    }
}

/// Some of the files of `before` replaced, others added.
fn with<'a>(before: Files<'a>, files: Files<'a>) -> Vec<(&'a str, &'a str)> {
    [before, files].concat()
}

fn check(files: Files<'_>) -> Vec<String> {
    Workspace::new(files).check()
}

#[test]
fn what_cannot_be_read_is_said_with_its_file() {
    let workspace = Workspace::new(&[("lib.rs", "mod a;"), ("a.rs", "fn (")]);
    let said = check::check(workspace.root()).unwrap_err().to_string();
    assert!(said.contains("crates/one/src/a.rs: not Rust: "), "{said}");
    let workspace = Workspace::new(&[("lib.rs", "mod missing;")]);
    let said = check::check(workspace.root()).unwrap_err().to_string();
    assert!(said.contains("crates/one/src/missing.rs: "), "{said}");
    let workspace = Workspace::new(&[]);
    let said = check::check(workspace.root()).unwrap_err().to_string();
    assert!(said.ends_with("crates/one: neither src/lib.rs nor src/main.rs"), "{said}");
    let workspace = Workspace::new(&[("lib.rs", "")]);
    workspace.write(check::FILE, "rows = [['one']]\n[[kind]]\n");
    let said = check::check(workspace.root()).unwrap_err().to_string();
    assert!(said.contains("unknown field `kind`"), "{said}");
}

/// The workspace that this is a part of.
#[test]
fn nothing_is_wrong_here() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    assert_eq!(check::check(root).unwrap(), Vec::<String>::new());
}
