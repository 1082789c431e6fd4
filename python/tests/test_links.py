"""Links between the pages of the project lead somewhere: to a file, and to a heading of it."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"\]\(([^)\s]+)\)")
MADE = {f"docs/reference/{name}.md" for name in ("options", "commands", "keys", "events", "rfc")}
"""Pages that `make site` writes (tools/site.py): they are in no checkout."""


def pages() -> list[str]:
    """The pages that the repository keeps."""
    listed = subprocess.run(
        ["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.split()
    return sorted(listed)


def headings(text: str) -> set[str]:
    """The anchors of a page, as forges make them from headings."""
    found: set[str] = set()
    for heading in re.findall(
        r"^#+ +(.+?) *#*$", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE), re.MULTILINE
    ):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").replace("*", "")
        slug = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
        found.add(next(each for each in (slug, *(f"{slug}-{n}" for n in range(1, 99))) if each not in found))
    return found | set(re.findall(r'<a (?:id|name)="([^"]+)"', text))


def test_anchors_are_those_of_a_forge():
    page = "# A `b` *c*\n## A, b: [c](d) (RFC 1)\n## Same\n## Same\n```\n# not one\n```\n"
    assert headings(page) == {"a-b-c", "a-b-c-rfc-1", "same", "same-1"}


@pytest.mark.skipif(not pages(), reason="not a checkout: without git nobody says which pages are kept")
def test_what_pages_link_to_is_there():
    missing = []
    for page in pages():
        text = re.sub(r"```.*?```|`[^`\n]*`", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.DOTALL)
        for target in LINK.findall(text):
            if re.match(r"[a-z]+:", target):
                continue
            file, _, anchor = target.partition("#")
            path = (ROOT / page).parent.joinpath(file).resolve() if file else ROOT / page
            if path.is_relative_to(ROOT) and path.relative_to(ROOT).as_posix() in MADE:
                continue
            heading = path.suffix != ".md" or not anchor or not path.is_file()
            if not path.exists() or not (heading or anchor in headings(path.read_text(encoding="utf-8"))):
                missing.append(f"{page}: {target}")
    assert not missing


def words(text: str) -> int:
    """Words as `wc -w` counts them, bars of tables and marks of code included."""
    return len(text.split())


def test_pages_stay_short_enough_to_be_read():
    written = [page.read_text(encoding="utf-8") for page in (ROOT / "docs").rglob("*.md")]
    assert sum(map(words, written)) <= 45_000
    assert words((ROOT / "README.md").read_text(encoding="utf-8")) <= 600
    assert len((ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()) <= 300
