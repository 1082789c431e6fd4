#!/usr/bin/env python3
"""Finds circles: Python files that need each other, directly or through others.

Prints each circle with its files and the names that tie them, and exits with 1 when there is one. Needs nothing but Python. A file
needs the file that it imports from, wherever in the file the import stands; TYPE_CHECKING changes nothing.

The crates are looked at by `cargo run -p xtask -- check`.
"""

import ast
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

Needs = dict[Path, dict[Path, set[str]]]
"""For each file the files that it needs, and the names that it takes from them."""


def python_needs(folders: Iterable[Path], roots: Iterable[Path]) -> Needs:
    """The Python files that each Python file in the folders needs; absolute imports begin in the roots."""
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
    """The file from which `from place import name` takes the name: a module of the package, or the file that defines it."""
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


def check(root: Path) -> list[str]:
    """Every circle in a checkout, in words."""
    code = [folder for folder in (root / "python", root / "experiments") if folder.is_dir()]
    needs = python_needs(code, [root / "python", root / "python" / "tests", root / "experiments"])
    return [describe(circle, needs, root) for circle in circles(needs)]


def main() -> int:
    """Prints the circles; returns 1 when there are any."""
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent).resolve()
    found = check(root)
    for text in found:
        print(text)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
