"""The places of the sources of one claim: its text, its judge, its plan, and the command that runs it again."""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from ..judge import toml_claims
from ..judge.claims import Claim
from ..plan import folders


@dataclass(frozen=True)
class Sources:
    """Paths as they are seen from the checkout, or from beside a study that lies elsewhere; with the line where it is one place."""

    text: str
    judge: str
    plan: str
    again: str
    """The command."""


def of(study: folders.Study, claim: Claim) -> Sources:
    """The sources of a claim of a study."""
    entry = claim.entry
    folder = study.folder if study.single else study.folder / entry.experiment
    start = folders.checkout(study.folder) or study.folder.parent
    text = Path(entry.file) if entry.file else study.folder / folders.CLAIMS
    said = _line(text, re.compile(rf'^id *= *"{re.escape(entry.id)}"', re.MULTILINE))
    return Sources(
        _place(text, said, start),
        f"{_place(text, said, start)} (`measure`)"
        if toml_claims.is_one(entry)
        else _judge(folder, entry.id, start),
        _place(folder / folders.PLAN, 0, start),
        again(entry.id),
    )


def again(claim: str) -> str:
    """The command that makes the runs of a claim again. It has a folder of its own: in that of the report nothing would be run, and the
    report of one experiment would take the place of this one.
    """
    folder = re.sub(r"[^\w-]", "-", claim)
    return f"anabranch-lab studies --claim {shlex.quote(claim)} --out out/{folder}"


def _judge(folder: Path, identifier: str, start: Path) -> str:
    """The module of an experiment that names the claim; its analysis.py where none does."""
    named = re.compile(rf"""["']{re.escape(identifier)}["']""")
    for file in sorted(folder.glob("*.py"), key=lambda file: (file.name != "judge.py", file.name)):
        if line := _line(file, named):
            return _place(file, line, start)
    return _place(folder / "analysis.py", 0, start)


def _line(file: Path, pattern: re.Pattern[str]) -> int:
    """The line of the first match; 0 where there is none."""
    if not file.is_file():
        return 0
    text = file.read_text(encoding="utf-8")
    found = pattern.search(text)
    return text.count("\n", 0, found.start()) + 1 if found else 0


def _place(file: Path, line: int, start: Path) -> str:
    file, start = file.resolve(), start.resolve()
    shown = (file.relative_to(start) if file.is_relative_to(start) else file).as_posix()
    return f"{shown}:{line}" if line else shown
