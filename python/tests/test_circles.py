"""The check for circles of imports and of methods finds them, and nothing else."""

import importlib.util
import sys

import pytest

from anabranch_lab.plan import folders

ROOT = folders.root()


@pytest.fixture(scope="module")
def circles():
    spec = importlib.util.spec_from_file_location("check_circles", ROOT / "tools" / "check_circles.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["check_circles"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def checkout(tmp_path):
    """Writes files into a checkout with one crate; returns its folder."""

    def write(files):
        (tmp_path / "crates" / "one" / "src").mkdir(parents=True)
        (tmp_path / "crates" / "one" / "Cargo.toml").touch()
        for name, text in files.items():
            path = tmp_path / ("crates/one/src" if name.endswith(".rs") else ".") / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    return write


CLEAN = {
    "lib.rs": "mod a; mod b; pub use a::A;",
    "a.rs": "use crate::b::B; pub struct A(B);",
    "b.rs": "pub struct B;",
}


def test_a_chain_is_no_circle(circles, checkout):
    assert circles.check(checkout(CLEAN)) == []


@pytest.mark.parametrize(
    "b",
    [
        "use crate::a::A; pub struct B(A);",
        "use super::a::{self, A}; pub struct B(A);",
        "pub struct B(crate::a::A);",
        "use super::a; pub struct B(a::A);",
        "use crate::A; pub struct B(A);",  # handed on by lib.rs
        "use super::*; pub struct B(A);",
        "mod inner { use super::super::a::A; } pub struct B;",
        "pub struct B; fn f() { crate::a::A::new(); }",
    ],
)
def test_two_files_that_need_each_other(circles, checkout, b):
    (text,) = circles.check(checkout({**CLEAN, "b.rs": b}))
    assert text.splitlines() == [
        "circle of 2 files:",
        "  crates/one/src/a.rs",
        "      from crates/one/src/b.rs: B",
        "  crates/one/src/b.rs",
        "      from crates/one/src/a.rs: A",
    ]


@pytest.mark.parametrize(
    "b",
    [
        "pub struct B; // use crate::a::A;",
        '/* use crate::a::A; /* nested */ */ pub struct B; const T: &str = "crate::a::A";',
        'pub struct B; const T: &str = r#"use crate::a::A; " "#;',
        "pub struct B; #[cfg(test)] mod tests { use super::*; use crate::a::A; }",
        "pub struct B; #[cfg(test)] use crate::a::A;",
        "pub enum B { One, #[cfg(test)] Two(crate::a::A), Three }",
        "pub struct B; fn f<'a>(c: &'a char) -> impl Fn() + use<'a> { let _ = 'a'; move || () }",
        "use std::collections::a::A; pub struct B;",
    ],
)
def test_comments_texts_and_tests_are_no_imports(circles, checkout, b):
    assert circles.check(checkout({**CLEAN, "b.rs": b})) == []


def test_a_module_that_hands_on_needs_nothing_and_one_that_defines_does(circles, checkout):
    files = {
        "lib.rs": "mod m;",
        "m/mod.rs": "mod child; mod shape; pub use child::Child; pub use shape::Shape;",
        "m/child.rs": "use super::Shape; pub struct Child(Shape);",
        "m/shape.rs": "pub struct Shape;",
    }
    folder = checkout(files)
    assert circles.check(folder) == []
    source = folder / "crates" / "one" / "src" / "m"
    (source / "mod.rs").write_text(files["m/mod.rs"] + " pub(crate) struct Whole(Child);")
    assert circles.check(folder) == []
    (source / "child.rs").write_text("use super::{Shape, Whole}; pub struct Child(Shape, Whole);")
    (text,) = circles.check(folder)
    assert "from crates/one/src/m/mod.rs: Whole" in text
    assert "from crates/one/src/m/child.rs: Child" in text


METHODS = {
    "lib.rs": "mod one;",
    "one/mod.rs": "mod above; mod below; pub struct One<T>(T); impl One { fn basic(&self) {} }",
    "one/above.rs": "use super::One; impl One { fn top(&self) { self.low(); self.basic(); } }",
    "one/below.rs": "use super::One; impl One { pub(super) fn low(&self) {} }",
}


def test_methods_that_call_down_are_no_circle(circles, checkout):
    assert circles.check(checkout(METHODS)) == []


@pytest.mark.parametrize(
    "below",
    [
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
        "impl One { fn low(&self) {} fn same(&self, other: &Self) { other.top(); } }",
        "impl One { fn low(&self) {} fn give(other: &mut One) { other.top(); } }",
    ],
)
def test_methods_of_one_type_in_two_files_that_call_each_other(circles, checkout, below):
    (text,) = circles.check(checkout({**METHODS, "one/below.rs": f"use super::One; {below}"}))
    assert text.splitlines() == [
        "circle of 2 files:",
        "  crates/one/src/one/above.rs",
        "      from crates/one/src/one/below.rs: low",
        "  crates/one/src/one/below.rs",
        "      from crates/one/src/one/above.rs: top",
    ]


@pytest.mark.parametrize(
    "below",
    [
        "impl One { fn low(&self) { self.top } }",  # a field
        "impl One { fn low(&self) { self.0.top(); } }",  # of something else
        "impl One { fn low(&self, other: &Two) { other.top(); } }",
        "impl One { fn low(&self) {} } struct Two; impl Two { fn two(&self) { self.top(); } }",
        "impl One { fn low(&self) { /* self.top() */ } #[cfg(test)] fn checked(&self) { self.top(); } }",
        "impl One { fn low(&self) {} } #[cfg(test)] mod tests { use super::One; impl One { fn t(&self) { self.top() } } }",
        "impl One { fn low(&self) {} } trait Top { fn top(&self); fn twice(&self) { self.top(); } }",
    ],
)
def test_what_is_no_call_of_a_method_of_the_type(circles, checkout, below):
    assert circles.check(checkout({**METHODS, "one/below.rs": f"use super::One; {below}"})) == []


def test_a_method_that_needs_one_and_a_name_that_is_imported_back(circles, checkout):
    files = {
        **METHODS,
        "one/above.rs": "use super::One; pub struct Said; impl One { fn top(&self) { self.low(); } }",
        "one/below.rs": "use super::{One, above::Said}; impl One { fn low(&self) -> Said { Said } }",
    }
    (text,) = circles.check(checkout(files))
    assert "from crates/one/src/one/below.rs: low" in text
    assert "from crates/one/src/one/above.rs: Said" in text


def test_the_file_of_a_type_that_calls_methods_of_other_files(circles, checkout):
    files = {
        **METHODS,
        "one/mod.rs": "mod above; mod below; pub struct One(u8); impl One { fn basic(&self) { self.top(); } }",
        "one/above.rs": "use super::One; impl One { fn top(&self) { self.basic(); } }",
    }
    (text,) = circles.check(checkout(files))
    assert text.splitlines()[0] == "circle of 2 files:"
    assert "  crates/one/src/one/above.rs\n      from crates/one/src/one/mod.rs: One, basic" in text


def test_files_of_tests_are_left_out(circles, checkout):
    files = {
        **CLEAN,
        "b.rs": "#[cfg(test)] mod checks; #[cfg(test)] mod tests; pub struct B;",
        "b/checks.rs": "use crate::a::A; use super::B;",
        "b/tests.rs": "use crate::a::A;",
    }
    assert circles.check(checkout(files)) == []


def test_circles_of_a_crate_can_be_allowed_for_a_while(circles, checkout):
    folder = checkout({**CLEAN, "b.rs": "use crate::a::A; pub struct B(A);"})
    assert circles.check(folder, frozenset({"one"})) == []
    assert len(circles.check(folder, frozenset({"two"}))) == 1


def test_python_files_too(circles, checkout):
    folder = checkout(
        {
            **CLEAN,
            "python/lab/__init__.py": "",
            "python/lab/a.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .b import B\n",
            "python/lab/b.py": "def f():\n    from lab import c\n",
            "python/lab/c.py": "from . import a\nimport json\n",
            "experiments/study/one/analysis.py": "from ..common import shared\nfrom . import judge\n",
            "experiments/study/one/judge.py": "from .analysis import Point\n",
            "experiments/study/common/shared.py": "import math\n",
        }
    )
    study, package = circles.check(folder)
    assert study.splitlines()[0] == "circle of 2 files:"
    assert "from experiments/study/one/analysis.py: Point" in study
    assert package.splitlines()[0] == "circle of 3 files:"
    assert "  python/lab/a.py\n      from python/lab/b.py: B" in package


def test_there_are_none_here(circles):
    assert circles.check(ROOT) == []


def test_the_command_prints_them_and_fails(circles, checkout, capsys, monkeypatch):
    folder = checkout({**CLEAN, "b.rs": "use crate::a::A; pub struct B(A);"})
    monkeypatch.setattr(sys, "argv", ["check_circles.py", str(folder)])
    assert circles.main() == 1
    assert capsys.readouterr().out.startswith("circle of 2 files:")
    (folder / "crates" / "one" / "src" / "b.rs").write_text(CLEAN["b.rs"])
    assert circles.main() == 0
    assert capsys.readouterr().out == ""
