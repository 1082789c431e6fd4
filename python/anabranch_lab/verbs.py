"""The commands of `anabranch-lab` in a line each: enough for `--help` and `--version`, which load nothing else."""

import argparse

from anabranch import __version__

VERBS = {
    "list": "every experiment, its sweeps and how many runs are on disk",
    "plan": "what would be run, and with --cost how long it takes",
    "run": "make the runs that are not on disk yet",
    "claims": "judge the claims of the studies, write claims.json",
    "report": "judge, draw and write the pages of the report",
    "studies": "run, judge and report: every experiment of every study",
    "bundle": "a study in one file: scenarios, judges, results, grades, versions, a Dockerfile",
    "rerun": "make the runs of a bundle again and compare the grades",
    "prune": "remove the results of other builds of the simulator",
    "new": "make the folder of an experiment or of a study of one's own",
    "sweep": "run one scenario over a grid of values: a table and a plot",
    "serve": "show the report in a browser, with the progress of a running sweep",
    "model": "what an association gets on a network, by the models",
    "completions": "print the completions of a shell",
    "man": "write the manual page",
}


def top() -> tuple[argparse.ArgumentParser, "argparse._SubParsersAction[argparse.ArgumentParser]"]:
    """The parser of the whole command line, and that to which commands are added."""
    parser = argparse.ArgumentParser(prog="anabranch-lab", description="Runs experiments and judges claims.")
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    return parser, parser.add_subparsers(required=True, metavar="COMMAND")


def short() -> argparse.ArgumentParser:
    """A parser whose help is whole; its commands have no options."""
    parser, commands = top()
    for name, line in VERBS.items():
        commands.add_parser(name, help=line)
    return parser
