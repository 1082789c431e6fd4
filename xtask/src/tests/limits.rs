//! Wide types, and those that `structure.toml` allows.

use super::Workspace;
use crate::check::FILE;
use crate::crate_::Crate;
use crate::types::{self, Width};

/// The width of the one type with methods.
fn width(code: &str) -> Width {
    let workspace = Workspace::new(&[("lib.rs", code)]);
    let found = Crate::read(&workspace.root().join("crates/one")).unwrap();
    let widths = types::widths(&found);
    assert_eq!(widths.keys().collect::<Vec<_>>(), ["one::T"], "{code}");
    widths["one::T"]
}

#[test]
fn fields_and_changing_methods_are_counted() {
    for (code, fields, changing) in [
        ("struct T { a: u8, b: u8 } impl T { fn f(&self) {} }", 2, 0),
        ("struct T(u8, u8, u8); impl T { fn f(&mut self) {} fn g(self) {} fn h(mut self) {} }", 3, 1),
        (
            "struct T; impl T { fn f<'a>(&'a mut self) {} fn g(self: &mut Self) {} fn h(self: Box<Self>) {} }",
            0,
            2,
        ),
        (
            "enum T { A { x: u8 }, B } impl T { fn f(&mut self, other: &mut Self) {} fn g(other: &mut Self) {} }",
            0,
            1,
        ),
        (
            "struct T<X> { a: X } impl<X> Iterator for T<X> { type Item = X; fn next(&mut self) -> Option<X> { None } }",
            1,
            1,
        ),
        (
            "struct T { a: u8, #[cfg(test)] b: u8 } impl T { fn f(&self) {} #[cfg(test)] fn g(&mut self) {} }",
            1,
            0,
        ),
        (
            "struct T { a: u8 } impl T { fn f(&self) {} } #[cfg(test)] mod tests { impl super::T { fn g(&mut self) {} } }",
            1,
            0,
        ),
        (
            "struct T { a: u8 } impl T { fn f(&self) {} } struct Plain { b: u8 } trait Q { fn q(&mut self); }",
            1,
            0,
        ),
    ] {
        assert_eq!(width(code), Width { fields, changing, files: 1 }, "{code}");
    }
}

const HEAD: &str = "mod a; mod b; mod c; mod d; mod e; mod f; mod g; mod h; pub struct T { x: u8 }";

#[test]
fn a_let_in_a_chain_of_conditions_is_too_new() {
    let code = "fn f(a: Option<u8>) {\n    if let Some(b) = a && b > 1 {}\n    while a.is_some() && let Some(_) = a {}\n}\n";
    let nested = "fn g(a: Option<u8>) { if let Some(b) = a { if b > 1 || b < 9 && b > 3 {} } }\n";
    let tests = "#[cfg(test)] mod tests { fn f(a: Option<u8>) { if let Some(b) = a && b > 1 {} } }\n";
    let workspace = Workspace::new(&[("lib.rs", &format!("{code}{nested}{tests}"))]);
    let wrong = workspace.check();
    let places: Vec<&str> = wrong.iter().map(|line| line.split(": ").next().unwrap()).collect();
    assert_eq!(places, ["crates/one/src/lib.rs:2", "crates/one/src/lib.rs:3"]);
}

/// A type whose methods stand in so many files.
fn in_files(files: usize) -> Workspace {
    let workspace = Workspace::new(&[("lib.rs", HEAD)]);
    for (number, name) in ["a", "b", "c", "d", "e", "f", "g", "h"].into_iter().enumerate() {
        let code = if number < files { "use crate::T; impl T { fn f(&self) {} }" } else { "" };
        workspace.write(&format!("crates/one/src/{name}.rs"), code);
    }
    workspace
}

#[test]
fn up_to_the_limits_nothing_is_wrong() {
    let workspace = in_files(8);
    assert!(workspace.check().is_empty());
    workspace.write("crates/one/src/lib.rs", &format!("{HEAD} impl T {{ fn g(&self) {{}} }}"));
    let expected = "one::T has 1 fields, 0 changing methods and 9 files; at most 20 fields, 40 changing methods and 8 files are allowed: it has a second owner inside";
    assert_eq!(workspace.check(), [expected]);
}

/// A type with so many fields and changing methods.
fn wide(fields: usize, changing: usize) -> String {
    let fields: String = (0..fields).map(|number| format!("x{number}: u8, ")).collect();
    let methods: String = (0..changing).map(|number| format!("fn f{number}(&mut self) {{}} ")).collect();
    format!("struct T {{ {fields} }} impl T {{ {methods} fn g(&self) {{}} }}")
}

#[test]
fn a_record_without_methods_that_change_it_may_have_more_fields() {
    let workspace = Workspace::new(&[("lib.rs", &wide(50, 0))]);
    assert!(workspace.check().is_empty());
    workspace.write("crates/one/src/lib.rs", &wide(50, 1));
    assert_eq!(workspace.check().len(), 1);
}

#[test]
fn a_wide_type_is_allowed_with_a_reason_and_may_only_get_narrower() {
    let workspace = Workspace::new(&[]);
    let code = |fields, changing| workspace.write("crates/one/src/lib.rs", &wide(fields, changing));
    code(20, 40);
    assert!(workspace.check().is_empty());
    code(21, 40);
    assert_eq!(workspace.check().len(), 1);
    code(20, 41);
    assert_eq!(workspace.check().len(), 1);
    let allow = |name: &str, reason: &str| {
        let line =
            format!("[[type]]\nname = '{name}'\nfields = 23\nchanging = 7\nfiles = 1\nreason = '{reason}'\n");
        workspace.write(FILE, &format!("rows = [['one']]\n{line}"));
    };
    allow("one::T", "a model");
    code(23, 7);
    assert!(workspace.check().is_empty());
    // The type may not grow beyond its entry, in either measure.
    code(24, 7);
    assert_eq!(
        workspace.check(),
        ["one::T has 24 fields; its entry in xtask/structure.toml allows 23, and it may not grow"]
    );
    code(23, 8);
    assert_eq!(
        workspace.check(),
        ["one::T has 8 changing methods; its entry in xtask/structure.toml allows 7, and it may not grow"]
    );
    // Where the type gets narrower, its entry must be lowered.
    code(22, 7);
    assert_eq!(
        workspace.check(),
        ["xtask/structure.toml: one::T has 22 fields now, fewer than the 23 of its entry; lower it to 22"]
    );
    code(20, 7);
    assert_eq!(workspace.check(), ["xtask/structure.toml: one::T keeps to the limits now; remove its entry"]);
    code(23, 7);
    allow("one::T", " ");
    assert_eq!(
        workspace.check(),
        ["xtask/structure.toml: the entry of one::T has no reason; say why it is allowed"]
    );
    allow("one::U", "a model");
    assert_eq!(workspace.check().len(), 2, "no U, and T is too wide");
}
