"""`anabranch-lab new NAME`: a folder with a small experiment that runs at once, to be changed into one's own."""

import argparse
import re
from importlib import resources
from pathlib import Path
from typing import Any

from rich.console import Console

from ..verbs import VERBS
from . import configuration
from .plan import PlanError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
FIRST = "losses"
"""The first experiment of a new study."""
STUDY = """# What the plans of this study need not say themselves.
title = "NAME"
# Where it judges a publication, whose claims are then published ones and no hypotheses of yours:
# study = "001"
# reference = "Who, where, when"
"""


def add(commands: Any) -> None:
    """The verb and its options."""
    command = commands.add_parser(
        "new",
        help=VERBS["new"],
        description="Makes a folder with a scenario, a plan with a sweep, a claim and a README. It runs as it is. In the folder of a study "
        "it makes one more experiment of it.",
    )
    command.set_defaults(command=run)
    command.add_argument("name", type=Path, metavar="NAME", help="the folder; it must not be there yet")
    command.add_argument(
        "--study", action="store_true", help=f"a study, with `{FIRST}` as its first experiment"
    )


def run(options: argparse.Namespace, console: Console) -> int:
    """Makes the folder and prints the next steps."""
    files = make(options.name, study=options.study)
    console.print(f"{options.name}: {', '.join(files)}")
    console.print(f"next: cd {options.name}; anabranch-lab run; anabranch-lab report", highlight=False)
    return 0


def make(folder: Path, *, study: bool = False) -> list[str]:
    """Writes the files of a small experiment, or of a study that has it; returns their names."""
    name = folder.resolve().name
    if not _NAME.fullmatch(name):
        raise PlanError(f"new {name}: letters, digits, `-`, `_` and `.` make a name")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise PlanError(f"{folder} is there already, and not empty: nothing was written")
    if study and (folder.parent / configuration.STUDY).is_file():
        raise PlanError(f"{folder.parent} is a study: there is none in a study; leave out --study")
    folder.mkdir(parents=True, exist_ok=True)
    if study:
        (folder / configuration.STUDY).write_text(STUDY.replace("NAME", name), encoding="utf-8")
        return [configuration.STUDY, *(f"{FIRST}/{each}" for each in make(folder / FIRST))]
    written = []
    for source in sorted(resources.files(__package__).joinpath("template").iterdir(), key=lambda s: s.name):
        if source.is_file():
            text = source.read_text(encoding="utf-8").replace("NAME", name)
            (folder / source.name).write_text(text, encoding="utf-8")
            written.append(source.name)
    return written
