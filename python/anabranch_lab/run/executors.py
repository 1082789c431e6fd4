"""The executor of a command's runs: this process, a Dask cluster or a Slurm cluster."""

import argparse
import os
from pathlib import Path
from typing import Any

from . import campaign


def add_jobs(command: Any) -> None:
    """Adds the option for the number of runs at the same time."""
    command.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="so much at the same time (default: all cores)"
    )


def add(command: Any) -> None:
    """The options of every command that makes runs."""
    add_jobs(command)
    command.add_argument("--dask", metavar="ADDRESS", help="make the runs on this Dask.distributed cluster")
    command.add_argument(
        "--slurm",
        metavar="SETTINGS",
        help="make the runs in jobs of Slurm, such as jobs=4,cores=8,memory=16GB,walltime=02:00:00,queue=short; with `stand-in` in "
        "processes of this machine instead",
    )


def check(options: argparse.Namespace) -> None:
    """Refuses options that cannot work, before anything is begun."""
    if options.jobs < 1:
        raise ValueError(f"--jobs {options.jobs}: at least 1")


def executor(options: argparse.Namespace, out: Path) -> campaign.Executor:
    """The executor that the options ask for; logs of a cluster's jobs go into a folder of `out`."""
    check(options)
    if options.dask and options.slurm:
        raise ValueError("--dask and --slurm: give one of them")
    if options.slurm:
        from . import slurm

        return slurm.Slurm(slurm.settings(options.slurm), out / "slurm")
    if options.dask:
        from . import cluster

        return cluster.Cluster(options.dask)
    return campaign.Threads(options.jobs)
