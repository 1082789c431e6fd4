//! Circles of files: by names, and by methods of one type.

use super::{Files, Workspace, check, with};

const CLEAN: Files<'static> = &[
    ("lib.rs", "mod a; mod b; pub use a::A;"),
    ("a.rs", "use crate::b::B; pub struct A(B);"),
    ("b.rs", "pub struct B;"),
];

fn clean_but(b: &str) -> Vec<String> {
    check(&with(CLEAN, &[("b.rs", b)]))
}

#[test]
fn a_chain_is_no_circle() {
    assert!(check(CLEAN).is_empty());
}

#[test]
fn two_files_that_need_each_other() {
    for b in [
        "use crate::a::A; pub struct B(A);",
        "use super::a::{self, A}; pub struct B(A);",
        "pub struct B(crate::a::A);",
        "use super::a; pub struct B(a::A);",
        "use crate::A; pub struct B(A);", // handed on by lib.rs
        "use super::*; pub struct B(A);",
        "mod inner { use super::super::a::A; } pub struct B;",
        "pub struct B; fn f() { crate::a::A::new(); }",
        "pub struct B; fn f() { use crate::a::A; }",
        "pub struct B; fn f() { println!(\"{}\", crate::a::A::NAME); }",
        "pub struct B; macro_rules! m { () => { crate::a::A } }",
        "pub struct B; impl Drop for crate::a::A { fn drop(&mut self) {} }",
        "use crate::a as other; pub struct B(other::A);",
        "pub struct B; fn f(x: u8) { match x { _ if crate::a::A::is(x) => {} _ => {} } }",
        "#[derive(crate::a::A)] pub struct B;",
    ] {
        let wrong = clean_but(b);
        let expected = "one: circle of 2 files:\n  a.rs\n      from b.rs: B\n  b.rs\n      from a.rs: A";
        assert_eq!(wrong, [expected], "{b}");
    }
}

#[test]
fn comments_texts_and_tests_are_no_needs() {
    for b in [
        "pub struct B; // use crate::a::A;",
        "/* use crate::a::A; /* nested */ */ pub struct B; const T: &str = \"crate::a::A\";",
        "pub struct B; const T: &str = r#\"use crate::a::A; \" \"#;",
        "pub struct B; #[cfg(test)] mod tests { use super::*; use crate::a::A; }",
        "pub struct B; #[cfg(test)] use crate::a::A;",
        "pub struct B; #[cfg(all(test, unix))] use crate::a::A;",
        "pub enum B { One, #[cfg(test)] Two(crate::a::A), Three }",
        "pub struct B { #[cfg(test)] a: crate::a::A }",
        "pub struct B; fn f() { #[cfg(test)] let x = crate::a::A; }",
        "pub struct B; impl B { #[cfg(test)] fn f() { crate::a::A::new(); } }",
        "pub struct B; fn f<'a>(c: &'a char) -> impl Fn() + use<'a> { let _ = 'a'; move || () }",
        "use std::collections::a::A; pub struct B;",
        "pub struct B; fn f() { m!('a: 1, ::a::A); }",
    ] {
        assert!(clean_but(b).is_empty(), "{b}");
    }
}

#[test]
fn what_is_compiled_outside_of_tests_too_is_a_need() {
    for b in [
        "#[cfg(any(test, unix))] use crate::a::A; pub struct B;",
        "#[cfg(not(test))] use crate::a::A; pub struct B;",
    ] {
        assert_eq!(clean_but(b).len(), 1, "{b}");
    }
}

#[test]
fn a_module_that_hands_on_needs_nothing_and_one_that_defines_does() {
    let mut files = vec![
        ("lib.rs", "mod m;"),
        ("m/mod.rs", "mod child; mod shape; pub use child::Child; pub use shape::Shape;"),
        ("m/child.rs", "use super::Shape; pub struct Child(Shape);"),
        ("m/shape.rs", "pub struct Shape;"),
    ];
    assert!(check(&files).is_empty());
    let defines =
        "mod child; mod shape; pub use child::Child; pub use shape::Shape; pub(crate) struct Whole(Child);";
    files.push(("m/mod.rs", defines));
    assert!(check(&files).is_empty());
    files.push(("m/child.rs", "use super::{Shape, Whole}; pub struct Child(Shape, Whole);"));
    let [text] = check(&files).try_into().unwrap();
    assert!(text.contains("from m/mod.rs: Whole") && text.contains("from m/child.rs: Child"), "{text}");
}

#[test]
fn a_type_that_a_macro_makes_belongs_to_the_file_with_the_macro_call() {
    let files = [
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "use crate::b::b; id!(A); fn f() { b() }"),
        ("b.rs", "use crate::a::A; pub fn b() {}"),
    ];
    let [text] = check(&files).try_into().unwrap();
    assert!(text.contains("from a.rs: A"), "{text}");
}

#[test]
fn a_file_of_another_name_is_read() {
    let files = [
        (
            "lib.rs",
            "#[cfg(unix)] #[path = \"unix.rs\"] mod system; #[cfg(not(unix))] #[path = \"other.rs\"] mod system; mod b;",
        ),
        ("unix.rs", "pub struct System;"),
        ("other.rs", "use crate::b::B; pub struct System(B);"),
        ("b.rs", "use crate::system::System; pub struct B(System);"),
    ];
    let [text] = check(&files).try_into().unwrap();
    assert!(text.starts_with("one: circle of 2 files:\n  b.rs\n      from other.rs: System"), "{text}");
}

const METHODS: Files<'static> = &[
    ("lib.rs", "mod one;"),
    ("one/mod.rs", "mod above; mod below; pub struct One<T>(T); impl One { fn basic(&self) {} }"),
    ("one/above.rs", "use super::One; impl One { fn top(&self) { self.low(); self.basic(); } }"),
    ("one/below.rs", "use super::One; impl One { pub(super) fn low(&self) {} }"),
];

#[test]
fn methods_that_call_down_are_no_circle() {
    assert!(check(METHODS).is_empty());
}

#[test]
fn methods_of_one_type_in_two_files_that_call_each_other() {
    for below in [
        "impl One { fn low(&self) { self.top(); } }",
        "impl One { fn low(&self) { let f = |x: &Self| { Self::top(x) }; f(self) } }",
        "impl One { fn low(&self) { [1].map(One::top); } }",
        "impl One { fn low(&self) { self.top::<u8>(); } }",
        "impl One { fn low(&self) { self.0 } fn other() -> impl Fn() { || Self::top() } }",
        "impl<'a, T: Fn() -> u8> One<T> where T: for<'b> Fn(&'b u8) { fn low(&self) { self.top() } }",
        "impl One { fn low(&self) {} } impl Drop for One { fn drop(&mut self) { self.top() } }",
        "impl super::One { fn low(&self) { self.top(); } }",
        "impl One { fn low(&self) {} fn new() -> Self { let mut new = Self { a: 1 }; new.top(); new } }",
        "impl One { fn low(&self) {} fn new() -> Self { let new = Self::default(); new.top(); new } }",
        "impl One { fn low(&self) {} fn new() -> Self { let new: Self = make(); new.top(); new } }",
        "impl One { fn low(&self) {} fn same(&self, other: &Self) { other.top(); } }",
        "impl One { fn low(&self) {} fn give(other: &mut One) { other.top(); } }",
        "impl One { fn low(&self) { assert!(self.top()); } }",
        "impl One { fn low(&self) { assert!([1].map(Self::top)); } }",
        "impl One { fn low(&self) { (&*self).top(); } }",
    ] {
        let text = format!("use super::One; {below}");
        let wrong = check(&with(METHODS, &[("one/below.rs", &text)]));
        let expected = "one: circle of 2 files:\n  one/above.rs\n      from one/below.rs: low\n  one/below.rs\n      from one/above.rs: top";
        assert_eq!(wrong, [expected], "{below}");
    }
}

#[test]
fn what_is_no_call_of_a_method_of_the_type() {
    for below in [
        "impl One { fn low(&self) { self.top } }",      // a field
        "impl One { fn low(&self) { self.0.top(); } }", // of something else
        "impl One { fn low(&self, other: &Two) { other.top(); } }",
        "impl One { fn low(&self) {} } struct Two; impl Two { fn two(&self) { self.top(); } }",
        "impl One { fn low(&self) { /* self.top() */ } #[cfg(test)] fn checked(&self) { self.top(); } }",
        "impl One { fn low(&self) {} } #[cfg(test)] mod tests { use super::One; impl One { fn t(&self) { self.top() } } }",
        "impl One { fn low(&self) {} } trait Top { fn top(&self); fn twice(&self) { self.top(); } }",
    ] {
        let text = format!("use super::One; {below}");
        assert!(check(&with(METHODS, &[("one/below.rs", &text)])).is_empty(), "{below}");
    }
}

#[test]
fn a_method_that_is_needed_and_a_name_that_is_imported_back() {
    let files = [
        ("one/above.rs", "use super::One; pub struct Said; impl One { fn top(&self) { self.low(); } }"),
        ("one/below.rs", "use super::{One, above::Said}; impl One { fn low(&self) -> Said { Said } }"),
    ];
    let [text] = check(&with(METHODS, &files)).try_into().unwrap();
    assert!(text.contains("from one/below.rs: low") && text.contains("from one/above.rs: Said"), "{text}");
}

#[test]
fn the_file_of_a_type_that_calls_methods_of_other_files() {
    let files = [
        (
            "one/mod.rs",
            "mod above; mod below; pub struct One(u8); impl One { fn basic(&self) { self.top(); } }",
        ),
        ("one/above.rs", "use super::One; impl One { fn top(&self) { self.basic(); } }"),
    ];
    let [text] = check(&with(METHODS, &files)).try_into().unwrap();
    assert!(text.starts_with("one: circle of 2 files:"), "{text}");
    assert!(text.contains("  one/above.rs\n      from one/mod.rs: One, basic"), "{text}");
}

#[test]
fn files_of_tests_are_left_out() {
    let files = [
        ("b.rs", "#[cfg(test)] mod checks; #[cfg(test)] mod tests; pub struct B;"),
        ("b/checks.rs", "use crate::a::A; use super::B;"),
        ("b/tests.rs", "use crate::a::A;"),
    ];
    assert!(check(&with(CLEAN, &files)).is_empty());
}

#[test]
fn a_circle_of_files_can_have_an_entry_too() {
    let workspace = Workspace::new(&with(CLEAN, &[("b.rs", "use crate::a::A; pub struct B(A);")]));
    let allow = |nodes: &str| {
        let circle = format!("[[circle]]\ncrate = 'one'\n{nodes}\nreason = 'two halves'\n");
        workspace.write(crate::check::FILE, &format!("rows = [['one']]\n{circle}"));
    };
    allow("files = ['a.rs', 'b.rs']");
    assert!(workspace.check().is_empty());
    allow("folders = ['a.rs', 'b.rs']");
    assert_eq!(workspace.check().len(), 2, "another kind of circle");
}

#[test]
fn each_platform_has_its_own_methods() {
    let files = [
        ("lib.rs", "#[cfg(unix)] mod system; #[cfg(not(unix))] #[path = \"other.rs\"] mod system;"),
        ("system.rs", "pub struct S; impl S { fn a(&self) { self.b() } fn b(&self) {} }"),
        ("other.rs", "pub struct S; impl S { fn a(&self) { self.b() } fn b(&self) {} }"),
    ];
    assert!(check(&files).is_empty());
}

#[test]
fn a_program_is_read_from_its_own_root() {
    let workspace = Workspace::new(&with(&CLEAN[1..], &[("main.rs", "mod a; mod b;")]));
    assert!(workspace.check().is_empty());
    workspace.write("crates/one/src/b.rs", "use crate::a::A; pub struct B(A);");
    assert_eq!(workspace.check().len(), 1);
}
