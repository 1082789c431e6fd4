#!/usr/bin/env python3
"""Finds circles: files of one crate, or of the Python code, that need each other, directly or through others.

Prints each circle with its files and the names that tie them, and exits with 1 when there is one. Needs nothing but Python.

Rust: a file needs the file in which a name is defined that it takes by `use` or by a path such as `crate::a::b`. A name that
a `mod.rs` or `lib.rs` only hands on (`pub use`) belongs to the file that defines it, and handing on is no need.

Methods of one type may stand in several files, and call each other without any import: where an `impl` block of a type says
`self.name()`, `Self::name` or `Type::name`, its file needs the file with that method of the type; and so with a variable that plainly
is of the type (`let new = Self ...`, `other: &Self`).

What is compiled for tests only does not count.

Python: a file needs the file that it imports from, wherever in the file the import stands; TYPE_CHECKING changes nothing.
"""

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

ALLOWED_CRATES: frozenset[str] = frozenset()
"""Crates whose circles are not reported yet. A crate whose circles are gone is taken out."""

Needs = dict[Path, dict[Path, set[str]]]
"""For each file the files that it needs, and the names that it takes from them."""

# --- Rust: from text to tokens --------------------------------------------------------------------------------------------

TOKEN = re.compile(
    r"""
    (?P<skip> \s+ | //[^\n]* | \d\w*(?:\.\d\w*)?
        | b?r(?P<hashes>\#*)"(?:.|\n)*?"(?P=hashes) | b?c?"(?:\\(?:.|\n)|[^"\\])*"
        | b?'(?:\\(?:x[0-9a-fA-F]{2}|u\{[^}]*\}|.)|[^\\'\n])' | '[A-Za-z_]\w* )
    | (?P<block> /\* )
    | (?P<token> (?:r\#)?[A-Za-z_]\w* | :: | . )
    """,
    re.VERBOSE,
)
COMMENT_EDGE = re.compile(r"/\*|\*/")
NAME = re.compile(r"[A-Za-z_]\w*\Z")
CLOSING = {"(": ")", "[": "]", "{": "}"}
ITEMS = {"struct", "enum", "union", "trait", "type", "fn", "const", "static"}
"""Words that begin an item whose name comes next."""
BEGINNINGS = ITEMS | {"pub", "use", "mod", "impl", "let", "unsafe", "extern", "async", "macro_rules"}


def tokens(text: str) -> list[str]:
    """Names and signs of Rust code, without comments, strings, numbers and lifetimes."""
    found = []
    at = 0
    while match := TOKEN.match(text, at):
        at = match.end()
        if match["block"]:
            depth = 1
            while depth and (edge := COMMENT_EDGE.search(text, at)):
                depth += 1 if edge.group() == "/*" else -1
                at = edge.end()
        elif match["token"]:
            found.append(match["token"].removeprefix("r#"))
    return found


def end_of_group(code: list[str], at: int) -> int:
    """Behind the bracket that closes the one at `at`."""
    depth = 0
    for place in range(at, len(code)):
        if code[place] in CLOSING:
            depth += 1
        elif code[place] in CLOSING.values():
            depth -= 1
            if depth == 0:
                return place + 1
    return len(code)


def end_of_item(code: list[str], at: int) -> int:
    """Behind the item, the variant or the arm of a match that begins at `at`."""
    is_item = code[at : at + 1] and code[at] in BEGINNINGS
    while at < len(code):
        if code[at] in CLOSING:
            is_block = code[at] == "{"
            at = end_of_group(code, at)
            if is_block:
                return at + 1 if code[at : at + 1] in ([","], [";"]) else at
        elif code[at] in CLOSING.values():
            return at
        elif code[at] == ";" or (code[at] == "," and not is_item):
            return at + 1
        else:
            at += 1
    return at


def without_tests(code: list[str]) -> tuple[list[str], set[str]]:
    """The code without what `#[cfg(test)]` stands before, and the modules of their own files among that."""
    kept: list[str] = []
    modules: set[str] = set()
    at = 0
    while at < len(code):
        if code[at] == "#" and code[at + 1 : at + 2] == ["["]:
            end = end_of_group(code, at + 1)
            attribute = code[at + 2 : end - 1]
            if attribute[:1] == ["cfg"] and attribute[2:3] in (["test"], ["all"]) and "test" in attribute:
                # Other attributes of the same item.
                while code[end : end + 2] == ["#", "["]:
                    end = end_of_group(code, end + 1)
                after = end_of_item(code, end)
                item = code[end:after]
                if "mod" in item[:5] and item[-1:] == [";"]:
                    modules.add(item[-2])
                at = after
                continue
        kept.append(code[at])
        at += 1
    return kept, modules


# --- Rust: from tokens to modules -----------------------------------------------------------------------------------------

Where = tuple[str, ...]
"""A path from the root of the crate: module after module, at last perhaps an item."""


@dataclass
class Import:
    """One name of a `use`, or of everything a module has (`*`, then the name is empty)."""

    path: Where
    name: str
    handed_on: bool
    """Whether it is public: `pub use`, `pub(crate) use`."""


@dataclass
class Implementation:
    """An `impl` block: the type as the block names it, and the code within the braces."""

    type: Where
    body: list[str]

    def methods(self) -> Iterator[str]:
        """The functions that it defines."""
        at = 0
        while at < len(self.body):
            if self.body[at] == "fn" and NAME.match(self.body[at + 1]):
                yield self.body[at + 1]
            at = end_of_group(self.body, at) if self.body[at] == "{" else at + 1

    def called(self) -> Iterator[str]:
        """What it takes from its type by `self.name()`, `Self::name` or `Type::name`, or of a variable of the type."""
        own = {"Self", self.type[-1]}
        variables = {"self"}
        for at in range(2, len(self.body)):
            owner, sign, name = self.body[at - 2 : at + 1]
            if (sign == "=" or sign == ":") and name in own and NAME.match(owner):
                variables.add(owner)  # let new = Self ..., other: Self
            if sign == ":" and name == "&" and own & set(self.body[at + 1 : at + 3]):
                variables.add(owner)  # other: &mut Self
            following = self.body[at + 1] if at + 1 < len(self.body) else ""
            by_value = sign == "." and owner in variables and following in ("(", "::")
            if by_value or (sign == "::" and owner in own):
                yield name


@dataclass
class Module:
    """A module, with a file of its own or within one."""

    where: Where
    file: Path
    defined: set[str] = field(default_factory=set)
    imports: list[Import] = field(default_factory=list)
    paths: list[Where] = field(default_factory=list)
    """Every path `a::b` in its code."""
    names: set[str] = field(default_factory=set)
    """Every name in its code, those in `use` left out."""
    implementations: list[Implementation] = field(default_factory=list)


def use_tree(code: list[str], at: int, head: Where) -> tuple[list[tuple[Where, str]], int]:
    """What one `use` names, from `at` on: paths as they are written, with the name they get here."""
    found: list[tuple[Where, str]] = []
    path = head
    while at < len(code) and code[at] not in (";", ",", "}"):
        if code[at] == "{":
            at += 1
            while at < len(code) and code[at] != "}":
                inner, at = use_tree(code, at, path)
                found += inner
                at += code[at : at + 1] == [","]
            return found, at + 1
        if code[at] == "*":
            return [(path, "")], at + 1
        if code[at] == "as":
            return [(path, code[at + 1])], at + 2
        if code[at] != "::":
            # `a::{self}` is `a`.
            path = path if code[at] == "self" and path else (*path, code[at])
        at += 1
    return [(path, path[-1])] if path else [], at


def read_implementation(code: list[str], at: int) -> Implementation | None:
    """The `impl` block that begins at `at`, of a trait or not; nothing where a macro names the type."""
    angles = 0
    path: list[str] = []
    is_path = True
    for place in range(at + 1, len(code)):
        token = code[place]
        if token in ("<", ">"):
            # Not the arrow of `Fn() -> T`.
            angles += 1 if token == "<" else -(code[place - 1] != "-")
        elif token == "{" and angles == 0:
            body = code[place + 1 : end_of_group(code, place) - 1]
            return Implementation(tuple(path), body) if path else None
        elif token == "for" and angles == 0 and is_path:
            path = []  # What came before is a trait.
        elif token == "where" and angles == 0:
            is_path = False
        elif NAME.match(token) and angles == 0 and is_path and token not in ("dyn", "mut"):
            path.append(token)
    return None


def read_module(code: list[str], module: Module, modules: dict[Where, Module]) -> None:
    """Fills a module from its code, and adds those that are written within it."""
    depth = 0
    at = 0
    while at < len(code):
        token = code[at]
        following = code[at + 1] if at + 1 < len(code) else ""
        if token == "use" and following != "<":
            before = at - 1
            if code[before : before + 1] == [")"]:
                # pub(crate), pub(super), pub(in path)
                before -= code[before::-1].index("(") + 1
            handed_on = before >= 0 and code[before] == "pub"
            found, at = use_tree(code, at + 1 + (following == "::"), ())
            module.imports += [Import(path, name, handed_on) for path, name in found]
            continue
        if token == "mod" and NAME.match(following):
            if code[at + 2 : at + 3] == ["{"]:
                end = end_of_group(code, at + 2)
                inner = Module((*module.where, following), module.file)
                modules[inner.where] = inner
                read_module(code[at + 3 : end - 1], inner, modules)
                at = end
            else:
                at += 2
            continue
        if depth == 0 and token in ITEMS and NAME.match(following) and following not in BEGINNINGS:
            module.defined.add(following)
        if depth == 0 and token == "macro_rules" and at + 2 < len(code):
            module.defined.add(code[at + 2])
        if depth == 0 and token == "impl" and code[at - 1 : at] != [">"]:  # not `-> impl Trait`
            block = read_implementation(code, at)
            module.implementations += [block] if block else []
        if token in CLOSING:
            depth += 1
        elif token in CLOSING.values():
            depth -= 1
        if NAME.match(token):
            if following == "::":
                path = [token]
                while code[at + 1 : at + 2] == ["::"] and at + 2 < len(code) and NAME.match(code[at + 2]):
                    at += 2
                    path.append(code[at])
                module.paths.append(tuple(path))
                module.names.add(path[0])
            else:
                module.names.add(token)
        at += 1


class Crate:
    """The modules of one crate."""

    def __init__(self, source: Path):
        self.modules: dict[Where, Module] = {}
        tests: set[Where] = set()
        for file in sorted(source.rglob("*.rs")):
            parts = file.relative_to(source).with_suffix("").parts
            where = parts[:-1] if parts[-1] in ("mod", "lib", "main") else parts
            if parts[-1] == "tests" or "tests" in parts or parts[0] == "bin":
                continue
            code, modules = without_tests(tokens(file.read_text(encoding="utf-8")))
            tests |= {(*where, name) for name in modules}
            module = Module(where, file)
            # A crate with lib.rs and main.rs: two roots; the second one is read into the first.
            module = self.modules.setdefault(where, module)
            read_module(code, module, self.modules)
        for where in [where for where in self.modules if any(where[: len(test)] == test for test in tests)]:
            del self.modules[where]

    def needs(self) -> Needs:
        """Which file needs which others."""
        found: Needs = {}
        for file, other, name in (*self._imported(), *self._called()):
            if file != other:
                found.setdefault(file, {}).setdefault(other, set()).add(name)
        return found

    def _imported(self) -> Iterator[tuple[Path, Path, str]]:
        """Each name that a file takes: the file, the one that defines it, the name."""
        for module in self.modules.values():
            for path in self._taken(module):
                for file, name in self._places(module, path):
                    yield module.file, file, name

    def _called(self) -> Iterator[tuple[Path, Path, str]]:
        """Each method that a file takes of a type whose `impl` blocks it has: the file, the one with the method, its name."""
        blocks: dict[tuple[Path, str], list[tuple[Path, Implementation]]] = {}
        for module in self.modules.values():
            for block in module.implementations:
                for owner in self._places(module, block.type):
                    blocks.setdefault(owner, []).append((module.file, block))
        for parts in blocks.values():
            defined: dict[str, set[Path]] = {}
            for file, block in parts:
                for name in block.methods():
                    defined.setdefault(name, set()).add(file)
            for file, block in parts:
                for name in block.called():
                    for other in defined.get(name, ()):
                        yield file, other, name

    def _taken(self, module: Module) -> Iterator[Where]:
        """Every path that its code needs."""
        for taken in module.imports:
            if not taken.name:
                # Of everything, what is named.
                yield from ((*taken.path, name) for name in module.names if not taken.handed_on)
            elif not taken.handed_on or taken.name in module.names:
                yield taken.path
        yield from module.paths

    def _places(self, module: Module, path: Where) -> Iterable[tuple[Path, str]]:
        """The files that define what a path in a module leads to, and the name there."""
        found: set[tuple[Path, str]] = set()
        for start in self._absolute(module, path, set()):
            found |= self._follow(start, set())
        return sorted(found)

    def _absolute(self, module: Module, path: Where, seen: set[tuple[Where, str]]) -> Iterator[Where]:
        """The same path from the root of the crate; nothing for a path into another crate."""
        first, rest = path[0], path[1:]
        if first == "crate":
            yield rest
        elif first == "self":
            yield (*module.where, *rest)
        elif first == "super":
            above = self._above(module.where)
            while rest[:1] == ("super",):
                above, rest = self._above(above), rest[1:]
            yield (*above, *rest)
        elif (*module.where, first) in self.modules or first in module.defined:
            yield (*module.where, *path)
        elif (module.where, first) not in seen:
            seen.add((module.where, first))
            for taken in module.imports:
                if taken.name == first and taken.path != path[:1]:
                    for start in self._absolute(module, taken.path, seen):
                        yield (*start, *rest)

    def _above(self, where: Where) -> Where:
        return where[:-1]

    def _follow(self, path: Where, seen: set[Where]) -> set[tuple[Path, str]]:
        """From an absolute path to the file that defines the item; nothing for a module."""
        if path in seen:
            return set()
        seen.add(path)
        depth = 0
        while depth < len(path) and path[: depth + 1] in self.modules:
            depth += 1
        found: set[tuple[Path, str]] = set()
        # A module and a function may share a name: the longer way first, then the item of the shorter.
        for length in (depth, depth - 1):
            module = self.modules.get(path[:length]) if length >= 0 else None
            if module is None or length == len(path):
                continue
            name, rest = path[length], path[length + 1 :]
            if name in module.defined:
                found.add((module.file, name))
            else:
                for taken in module.imports:
                    if taken.name == name or not taken.name:
                        tail = rest if taken.name else (name, *rest)
                        for start in self._absolute(module, (*taken.path, *tail), set()):
                            found |= self._follow(start, seen)
            if found:
                break
        return found


# --- Python ---------------------------------------------------------------------------------------------------------------


def python_needs(folders: Iterable[Path], roots: Iterable[Path]) -> Needs:
    """Which Python file in the folders needs which; absolute imports begin in the roots."""
    roots = list(roots)
    found: Needs = {}
    for folder in folders:
        for file in sorted(folder.rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"), str(file))):
                for other, name in _imported(node, file, roots):
                    if other != file:
                        found.setdefault(file, {}).setdefault(other, set()).add(name)
    return found


def _imported(node: ast.AST, file: Path, roots: list[Path]) -> Iterator[tuple[Path, str]]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            for root in roots:
                if (other := _file(root.joinpath(*alias.name.split(".")))) is not None:
                    yield other, alias.name
    elif isinstance(node, ast.ImportFrom):
        starts = roots if node.level == 0 else [file.parents[node.level - 1]]
        for start in starts:
            place = start.joinpath(*(node.module or "").split("."))
            for alias in node.names:
                yield from _named(place, alias.name, set())


def _named(place: Path, name: str, seen: set[Path]) -> Iterator[tuple[Path, str]]:
    """Where `from place import name` takes the name from: a module of the package, or the file that defines it."""
    if (module := _file(place / name)) is not None and place.is_dir():
        yield module, name
        return
    if (place / f"{name}.pyi").is_file():
        return  # a compiled module: it needs no file of ours
    file = _file(place)
    if file is None or file in seen:
        return
    seen.add(file)
    if file.name == "__init__.py":
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.level:
                for alias in node.names:
                    if (alias.asname or alias.name) == name:
                        start = file.parents[node.level - 1].joinpath(*(node.module or "").split("."))
                        yield from _named(start, alias.name, seen)
                        return
    yield file, name


def _file(place: Path) -> Path | None:
    for file in (place.with_name(place.name + ".py"), place / "__init__.py"):
        if file.is_file():
            return file
    return None


# --- Circles --------------------------------------------------------------------------------------------------------------


def circles(needs: Needs) -> list[list[Path]]:
    """Sets of files each of which leads to each other (Tarjan's strongly connected components), sorted."""
    number: dict[Path, int] = {}
    lowest: dict[Path, int] = {}
    stack: list[Path] = []
    found: list[list[Path]] = []

    def visit(file: Path) -> None:
        number[file] = lowest[file] = len(number)
        stack.append(file)
        for other in sorted(needs.get(file, ())):
            if other not in number:
                visit(other)
                lowest[file] = min(lowest[file], lowest[other])
            elif other in stack:
                lowest[file] = min(lowest[file], number[other])
        if lowest[file] == number[file]:
            at = stack.index(file)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for file in sorted(needs):
        if file not in number:
            visit(file)
    return sorted(found)


def describe(circle: list[Path], needs: Needs, root: Path) -> str:
    """A circle in words: each file, and the names that it takes from the others."""
    lines = [f"circle of {len(circle)} files:"]
    for file in circle:
        lines.append(f"  {file.relative_to(root)}")
        for other in circle:
            names = needs.get(file, {}).get(other)
            if names:
                lines.append(f"      from {other.relative_to(root)}: {', '.join(sorted(names))}")
    return "\n".join(lines)


def check(root: Path, allowed: frozenset[str] = ALLOWED_CRATES) -> list[str]:
    """Every circle in a checkout that is not allowed, in words."""
    graphs = [
        Crate(manifest.parent / "src").needs()
        for manifest in sorted([*root.glob("crates/*/Cargo.toml"), *root.glob("benches/Cargo.toml")])
        if manifest.parent.name not in allowed
    ]
    code = [folder for folder in (root / "python", root / "experiments") if folder.is_dir()]
    graphs.append(python_needs(code, [root / "python", root / "python" / "tests", root / "experiments"]))
    return [describe(circle, needs, root) for needs in graphs for circle in circles(needs)]


def main() -> int:
    """Prints what there is."""
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent).resolve()
    found = check(root)
    for text in found:
        print(text)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
