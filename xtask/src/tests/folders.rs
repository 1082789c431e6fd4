//! Circles of folders, arrows between crates, and those that `structure.toml` allows.

use super::{Files, Workspace, check, with};
use crate::check::FILE;

/// `a` needs `b`; no two files need each other, also where `b/two.rs` takes an item of `a/two.rs`.
const FOLDERS: Files<'static> = &[
    ("lib.rs", "mod a; mod b;"),
    ("a/mod.rs", "pub mod one; pub mod two;"),
    ("a/one.rs", "use crate::b::one::One;"),
    ("a/two.rs", "pub struct Two; pub fn free() {}"),
    ("b/mod.rs", "pub mod one; pub mod two;"),
    ("b/one.rs", "pub struct One;"),
    ("b/two.rs", "pub struct Two;"),
];

const CIRCLE: (&str, &str) = ("b/two.rs", "use crate::a::two::Two;");

#[test]
fn folders_in_a_row_are_no_circle() {
    assert!(check(FOLDERS).is_empty());
}

#[test]
fn two_folders_whose_files_need_each_other_by_turns() {
    for two in [
        "use crate::a::two::Two;",
        "pub fn f() -> crate::a::two::Two { todo!() }",
        "use crate::a::two::*; pub fn f() -> Two { todo!() }",
    ] {
        let wrong = check(&with(FOLDERS, &[("b/two.rs", two)]));
        let expected =
            "one: circle of 2 folders:\n  a\n      from b: a/one.rs: One\n  b\n      from a: b/two.rs: Two";
        assert_eq!(wrong, [expected], "{two}");
    }
}

#[test]
fn a_name_that_is_handed_on_is_an_arrow() {
    for hands_on in [
        "pub mod one; pub mod two; pub use crate::a::two::Two;",
        "pub mod one; pub mod two; pub(crate) use crate::a::two::Two as Other;",
        "pub mod one; pub mod two; pub use crate::a::two::*;",
    ] {
        let [text] = check(&with(FOLDERS, &[("b/mod.rs", hands_on)])).try_into().unwrap();
        assert!(
            text.starts_with(
                "one: circle of 2 folders:\n  a\n      from b: a/one.rs: One\n  b\n      from a: b/mod.rs: "
            ),
            "{text}"
        );
    }
    // Taken from the folder that hands it on: an arrow to that one.
    let files = [
        ("lib.rs", "mod a; mod b; mod c;"),
        ("c/mod.rs", "mod one; pub use crate::a::two::Two;"),
        ("c/one.rs", "use crate::b::one::One;"),
        ("b/two.rs", "use crate::c::Two;"),
    ];
    let [text] = check(&with(FOLDERS, &files)).try_into().unwrap();
    assert!(text.contains("from c: b/two.rs: Two") && text.contains("from b: c/one.rs: One"), "{text}");
}

#[test]
fn the_root_of_a_crate_hands_on_to_others_and_is_passed_through_inside() {
    assert!(
        check(&with(FOLDERS, &[("lib.rs", "mod a; mod b; pub use a::two::Two; pub use b::one::One;")]))
            .is_empty()
    );
    let files = [("lib.rs", "mod a; mod b; pub use a::two::Two;"), ("b/two.rs", "use crate::Two;")];
    let [text] = check(&with(FOLDERS, &files)).try_into().unwrap();
    assert!(text.ends_with("  b\n      from a: b/two.rs: Two"), "{text}");
}

#[test]
fn an_impl_block_needs_the_folder_of_its_type() {
    let files = [("b/two.rs", "impl crate::a::two::Two { pub fn new() -> Self { Self } }")];
    let [text] = check(&with(FOLDERS, &files)).try_into().unwrap();
    assert!(text.contains("from a: b/two.rs: Two, b/two.rs: impl Two"), "{text}");
}

#[test]
fn a_folder_and_a_file_at_the_root_or_a_folder_within_it_make_a_circle() {
    let files = [
        ("lib.rs", "mod a; mod b; mod c;"),
        ("c.rs", "use crate::a::two::Two; pub struct C;"),
        ("a/one.rs", "use crate::c::C;"),
    ];
    let [text] = check(&with(FOLDERS, &files)).try_into().unwrap();
    assert!(
        text.starts_with(
            "one: circle of 1 folder and 1 file at the root:\n  a\n      from c.rs: a/one.rs: C\n  c.rs\n"
        ),
        "{text}"
    );
    let files = [
        ("a/mod.rs", "pub mod one; pub mod two; mod deep;"),
        ("a/deep/mod.rs", "mod inner; pub struct Deep;"),
        ("a/deep/inner.rs", "use crate::a::two::Two;"),
        ("a/one.rs", "use super::deep::Deep;"),
    ];
    let [text] = check(&with(FOLDERS, &files)).try_into().unwrap();
    assert!(
        text.starts_with("one: circle of 2 folders:\n  a\n      from a/deep: a/one.rs: Deep\n  a/deep\n"),
        "{text}"
    );
}

#[test]
fn a_circle_is_allowed_with_a_reason_and_may_only_shrink() {
    let workspace = Workspace::new(&with(FOLDERS, &[CIRCLE]));
    let allow = |folders: &str, reason: &str| {
        let circle = format!("[[circle]]\ncrate = 'one'\nfolders = {folders}\nreason = '{reason}'\n");
        workspace.write(FILE, &format!("rows = [['one']]\n{circle}"));
    };
    allow("['a', 'b']", "both know of Two");
    assert!(workspace.check().is_empty());
    allow("['a', 'b']", "");
    assert_eq!(
        workspace.check(),
        ["xtask/structure.toml: the entry of a circle of one has no reason; say why it is allowed"]
    );
    allow("['a']", "grew");
    let [text] = workspace.check().try_into().unwrap();
    assert!(
        text.starts_with(
            "one: b came into a circle, whose entry in xtask/structure.toml may not grow:\n  a\n"
        ),
        "{text}"
    );
    allow("['a', 'b', 'c']", "shrank");
    let [text] = workspace.check().try_into().unwrap();
    assert!(text.starts_with("xtask/structure.toml: c left a circle of one; "), "{text}");
    workspace.write("crates/one/src/b/two.rs", "");
    allow("['a', 'b']", "is gone");
    assert_eq!(
        workspace.check(),
        ["xtask/structure.toml: one has no circle of a, b any more; remove its entry"]
    );
}

fn two_crates(manifest: &str) -> Workspace {
    let workspace = Workspace::new(&[("lib.rs", "")]);
    workspace.write("Cargo.toml", "[workspace]\nmembers = ['crates/one', 'other/two']\n");
    workspace.write("crates/one/Cargo.toml", &format!("[package]\nname = 'the-one'\n{manifest}"));
    workspace.write("other/two/Cargo.toml", "[package]\nname = 'the-two'\n[dependencies]\nserde = '1'\n");
    workspace.write("other/two/src/lib.rs", "");
    workspace
}

#[test]
fn a_crate_depends_on_crates_above_it_only() {
    for manifest in [
        "[dependencies]\nthe-two = { workspace = true }\n",
        "[dev-dependencies]\nthe-two.workspace = true\n",
        "[build-dependencies]\nthe-two = '1'\n",
        "[target.'cfg(unix)'.dependencies]\nthe-two = { path = '../../other/two' }\n",
    ] {
        let workspace = two_crates(manifest);
        workspace.write(FILE, "rows = [['two'], ['one']]\n");
        assert!(workspace.check().is_empty(), "{manifest}");
        for rows in ["[['one'], ['two']]", "[['one', 'two']]"] {
            workspace.write(FILE, &format!("rows = {rows}\n"));
            let expected = "the crate one depends on two, which stands beside or below it in `rows` of xtask/structure.toml; only crates above are allowed";
            assert_eq!(workspace.check(), [expected], "{manifest}");
        }
    }
}

#[test]
fn every_crate_has_one_place_in_the_rows() {
    let workspace = two_crates("");
    workspace.write(FILE, "rows = [['one'], ['three', 'one']]\n");
    let expected = [
        "xtask/structure.toml: `rows` names three, which is no crate of the workspace; remove it",
        "xtask/structure.toml: the crate one stands in `rows` twice; once is enough",
        "xtask/structure.toml: the crate two is in no row of `rows`; put it below every crate it needs",
    ];
    assert_eq!(workspace.check(), expected);
}
