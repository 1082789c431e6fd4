"""`anabranch-lab completions SHELL` and `anabranch-lab man DIR`: completions and manual pages for installation."""

import argparse
from pathlib import Path
from typing import Any

import shtab
from argparse_manpage.manpage import Manpage
from rich.console import Console

from ..verbs import VERBS


def add(commands: Any) -> None:
    """The two commands."""
    shells = commands.add_parser("completions", help=VERBS["completions"])
    shells.set_defaults(command=_completions)
    shells.add_argument("shell", choices=shtab.SUPPORTED_SHELLS, help="the shell")
    pages = commands.add_parser("man", help=VERBS["man"])
    pages.set_defaults(command=_man)
    pages.add_argument("directory", type=Path, metavar="DIR", help="such as ~/.local/share/man/man1")


def describe(parser: argparse.ArgumentParser, commands: Any) -> None:
    """Tells both commands the finished parser; arguments that are files and folders are completed as such."""
    for command in commands.choices.values():
        for action in command._actions:
            if action.type is Path:
                action.complete = shtab.DIRECTORY if action.dest in ("out", "directory") else shtab.FILE
            elif action.dest == "name" and not action.option_strings:
                action.complete = shtab.DIRECTORY
    for name in ("completions", "man"):
        commands.choices[name].set_defaults(parser=parser)


def _completions(options: argparse.Namespace, console: Console) -> int:
    print(shtab.complete(options.parser, shell=options.shell))
    return 0


def _man(options: argparse.Namespace, console: Console) -> int:
    options.directory.mkdir(parents=True, exist_ok=True)
    options.parser.man_short_description = "runs experiments and judges claims"
    page = Manpage(options.parser, {"manual_title": "anabranch"}, format="single-commands-section")
    # The page is the same on every day.
    page.date = ""
    (options.directory / "anabranch-lab.1").write_text(str(page))
    return 0
