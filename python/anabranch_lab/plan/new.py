"""`anabranch-lab init NAME`: a folder with a small experiment that runs at once, to be changed into one's own."""

import argparse
import re
from importlib import resources
from pathlib import Path
from typing import Any

from rich.console import Console

from .plan import PlanError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


def add(commands: Any) -> None:
    """The verb and its options."""
    command = commands.add_parser(
        "init",
        help="make the folder of an experiment of one's own",
        description="Makes a folder with a scenario, a plan, an analysis, a judge and a README. It runs as it is.",
    )
    command.set_defaults(command=run)
    command.add_argument("name", type=Path, metavar="NAME", help="the folder; it must not be there yet")


def run(options: argparse.Namespace, console: Console) -> int:
    """Makes the folder and says what comes next."""
    files = make(options.name)
    console.print(f"{options.name}: {', '.join(files)}")
    console.print(f"next: cd {options.name}; anabranch-lab run; anabranch-lab report", highlight=False)
    return 0


def make(folder: Path) -> list[str]:
    """Writes the files of a small experiment; returns their names."""
    name = folder.resolve().name
    if not _NAME.fullmatch(name):
        raise PlanError(f"init {name}: letters, digits, `-`, `_` and `.` make a name")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise PlanError(f"{folder} is there already, and not empty: nothing was written")
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for source in sorted(resources.files(__package__).joinpath("template").iterdir(), key=lambda s: s.name):
        if source.is_file():
            text = source.read_text(encoding="utf-8").replace("NAME", name)
            (folder / source.name).write_text(text, encoding="utf-8")
            written.append(source.name)
    return written
