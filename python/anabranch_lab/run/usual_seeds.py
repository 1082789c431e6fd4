"""How many seeds the points of a sweep took in the last whole run: the number that a rule will ask for cannot be known before, but guessed from that.

Estimates of time use it, results never. `report --readme` of everything writes the file.
"""

import functools
import tomllib
from collections.abc import Iterable
from pathlib import Path

import tomli_w

from ..plan import folders, sequential
from . import costs
from .results import Results

FILE = "usual-seeds.toml"
"""The file in the folder of the checkout's studies: for each sweep with a rule for its seeds their mean number, each point as heavy as its time."""


def of(plan: str, sweep: str) -> float | None:
    """The usual number of seeds of a point; None where none is known."""
    checkout = folders.checkout() or folders.checkout(Path(__file__).parent)
    return None if checkout is None else _read(checkout / "experiments" / FILE).get(plan, {}).get(sweep)


@functools.cache
def _read(path: Path) -> dict[str, dict[str, float]]:
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def write(every: Iterable[Results], path: Path) -> None:
    """Writes the numbers of these results, which are whole."""
    found: dict[str, dict[str, float]] = {}
    for results in every:
        known = costs.Costs(results.folder / "costs.json")
        for sweep in results.plan.sweeps:
            if results.rule(sweep) is None:
                continue
            seeds = cost = 0.0
            for point, key in results.points(sweep):
                stop = results.stop_of(sweep, point)
                if stop.reason != sequential.BESIDE:
                    one = known.of(key, point.scenario, sweep=sweep.name)
                    seeds, cost = seeds + one * len(stop.seeds), cost + one
            if cost:
                found.setdefault(results.plan.name, {})[sweep.name] = round(seeds / cost, 1)
    head = "# Mean numbers of seeds of the last whole run, for estimates of time alone: `anabranch-lab report --readme` writes them.\n\n"
    path.write_text(head + tomli_w.dumps(dict(sorted(found.items()))), encoding="utf-8")
