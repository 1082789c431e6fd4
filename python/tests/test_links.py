"""Links between the pages of the project lead somewhere."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"\]\(([^)\s]+)\)")


def pages() -> list[str]:
    """Those that are kept."""
    listed = subprocess.run(
        ["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.split()
    return sorted(listed)


@pytest.mark.skipif(not pages(), reason="not a checkout: without git nobody says which pages are kept")
def test_what_pages_link_to_is_there():
    missing = []
    for page in pages():
        text = re.sub(r"```.*?```|`[^`\n]*`", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.DOTALL)
        for target in LINK.findall(text):
            file = target.split("#")[0]
            if not file or re.match(r"[a-z]+:", file):
                continue
            if not (ROOT / page).parent.joinpath(file).exists():
                missing.append(f"{page}: {target}")
    assert not missing
