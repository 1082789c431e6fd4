"""No number of a publication stands in code: a judge that knows the expected values can be made to find them."""

import ast
import re

import pytest

from anabranch_lab.plan import catalogue, folders

STUDIES = [
    study for study in folders.studies(folders.root() / "experiments") if study.claims and not study.own
]
PLACE = re.compile(r"(?:Figs?\.|Tables?|[Ss]ections?) \d+(?:\.\d+)*")
"""A number of a figure, a table, a section."""
NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:e-?\d+)?(?![\w.])")


def telling(value, figures=3):
    """Whether a number can be known again: three figures at least, such as 95.4 and not 10."""
    digits = f"{abs(value):.6g}".split("e")[0].replace(".", "").strip("0")
    return len(digits) >= figures


def published(study):
    """The source of each telling number of a study's claims."""
    found = {}
    for entry in study.claims.values():
        if entry.counts_as not in (catalogue.PUBLISHED, catalogue.DERIVED):
            continue
        for part in entry.parts:
            for value in (part.value, *(part.range or ()), part.more_than, part.less_than):
                # A value with a decimal point, such as 92.0, is no count.
                if value is not None and telling(value, 2 if value is part.value else 3):
                    found[float(value)] = f"{entry.id}, {part.at}"
    return found


def numbers(tree):
    """Every number of a module, those in its texts too, with its line; not those of documentation."""
    told = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or id(node) in told or isinstance(node.value, bool):
            continue
        if isinstance(node.value, float) or (isinstance(node.value, int) and telling(node.value)):
            yield node.lineno, float(node.value)
        elif isinstance(node.value, str):
            for text in NUMBER.findall(PLACE.sub("", node.value)):
                if "." in text or telling(float(text)):
                    yield node.lineno, float(text)


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.name)
def test_code_knows_no_published_number(study):
    values = published(study)
    wrong = [
        f"{file.relative_to(study.folder)}:{line}: {number:g} is published ({values[number]}); take it from the claim"
        for file in sorted(study.folder.rglob("*.py"))
        for line, number in numbers(ast.parse(file.read_text(encoding="utf-8")))
        if number in values
    ]
    assert not wrong, "\n".join(wrong)


LISTS = {"_entries", "catalogue", "folders", "study_of", "claims_of"}
"""Names by which code could read the expected values of claims.toml."""


@pytest.mark.parametrize(
    "study", list(folders.studies(folders.root() / "experiments")), ids=lambda study: study.name
)
def test_code_does_not_read_the_list_of_claims(study):
    wrong = [
        f"{file.relative_to(study.folder)}:{node.lineno}: {name} leads to the expected values, which only the comparison may see"
        for file in sorted(study.folder.rglob("*.py"))
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        for name in names(node)
        if name in LISTS or name.endswith("claims.toml")
    ]
    assert not wrong, "\n".join(wrong)


def names(node):
    """The names that a node of a module uses or imports, and its texts where they are those of a file."""
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.Attribute):
        return [node.attr]
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [part for alias in node.names for part in alias.name.split(".")] + (
            getattr(node, "module", None) or ""
        ).split(".")
    if (
        isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and "\n" not in node.value
        and " " not in node.value
    ):
        return [node.value]
    return []


def test_the_check_sees_numbers_and_texts():
    found = [
        number for _, number in numbers(ast.parse('"""95.4"""\nx = 92.0\ny = f"prints {x} and 95.4 %"\n'))
    ]
    assert found == [92.0, 95.4]
    assert telling(92.1)
    assert telling(0.00321)
    assert not telling(0.05)
