"""Remarks that a reader needs before the figures of a sweep: flows that a receiver or an application held back, that did not end, that failed,
and those in which nothing was random.

`anabranch simulate` marks them run by run (`notes` in docs/reference/results.md); here they are gathered over the runs of a sweep.
"""

import contextlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..plan.plan import Sweep
from ..run.results import Results

WORDS = {
    "failed": "failed",
    "never-started": "never started",
    "not-finished": "not finished",
    "outside-window": "over before the statistics",
    "receiver-limited": "receiver-limited",
    "application-limited": "application-limited",
    "same-for-every-seed": "the same for every seed",
}
"""Notes in words, the gravest first."""
SHOWN = 8
"""The most values of an axis that are written out."""


@dataclass(frozen=True)
class Remark:
    """Something that was noted of a flow in some of the runs of a sweep."""

    sweep: str
    flow: str
    word: str
    runs: int
    """Runs in which it was noted."""
    of: int
    """Runs of the sweep that have the flow."""
    where: str
    """The values of the axes at which it was noted; empty where it was noted at all of them."""


@dataclass(frozen=True)
class _Cell:
    """A flow at a point: its number of runs, and for each note the number of runs that have it."""

    place: tuple[Any, ...]
    flow: str
    runs: int
    notes: Mapping[str, int]


def of_sweep(results: Results, sweep: Sweep) -> list[Remark]:
    """Every remark on the runs of a sweep."""
    cells = _cells(results, sweep)
    totals: Counter[str] = Counter()
    noted: dict[tuple[str, str], list[tuple[tuple[Any, ...], int]]] = {}
    for cell in cells:
        totals[cell.flow] += cell.runs
        for note, runs in cell.notes.items():
            noted.setdefault((cell.flow, note), []).append((cell.place, runs))
    found = []
    for (flow, note), places in noted.items():
        everywhere = [cell.place for cell in cells if cell.flow == flow]
        where = _where(sweep, [place for place, _ in places], everywhere)
        runs = sum(runs for _, runs in places)
        found.append(Remark(sweep.name, flow, WORDS.get(note, note), runs, totals[flow], where))
    order = {word: place for place, word in enumerate(WORDS.values())}
    return sorted(found, key=lambda each: (order.get(each.word, len(order)), each.flow))


def of_all(results: Results) -> list[Remark]:
    """Every remark on the runs of an experiment; a sweep that is not on disk has none."""
    found = []
    for sweep in results.plan.sweeps:
        # An analysis that needs the sweep has reported its absence before.
        with contextlib.suppress(FileNotFoundError):
            found += of_sweep(results, sweep)
    return found


def by_point(results: Results, sweep: Sweep) -> dict[tuple[Any, ...], str]:
    """For points with remarks: all of them in words, by the values of the axes."""
    flows: Counter[tuple[Any, ...]] = Counter()
    found: dict[tuple[Any, ...], dict[str, list[str]]] = {}
    for cell in _cells(results, sweep):
        flows[cell.place] += 1
        for note, runs in cell.notes.items():
            part = "" if runs == cell.runs else f" in {runs} of {cell.runs}"
            found.setdefault(cell.place, {}).setdefault(f"{WORDS.get(note, note)}{part}", []).append(
                cell.flow
            )
    # A remark that holds for every one of several flows is given once.
    return {
        place: "; ".join(
            f"{'all' if 1 < len(names) == flows[place] else ', '.join(names)} {word}"
            for word, names in words.items()
        )
        for place, words in found.items()
    }


def in_a_sentence(remarks: Sequence[Remark]) -> str:
    """All remarks in a sentence, `upload not finished in 12 runs; ...`, for readers of a figure; empty without remarks."""
    told = []
    for word in dict.fromkeys(remark.word for remark in remarks):
        mine = [remark for remark in remarks if remark.word == word]
        flows = sorted({remark.flow for remark in mine})
        names = ", ".join(flows[:SHOWN]) + (", ..." if len(flows) > SHOWN else "")
        runs = sum(remark.runs for remark in mine)
        told.append(f"{names} {word} in {runs} {'run' if runs == 1 else 'runs'}")
    return "; ".join(told)


def _cells(results: Results, sweep: Sweep) -> list[_Cell]:
    axes = [axis.name for axis in sweep.axes]
    columns = "".join(f', "{axis}"' for axis in axes)
    rows = results.rows(
        sweep.name,
        f"SELECT kind, name, notes, count(*) AS runs{columns} FROM runs WHERE kind IN ('flow', 'group') "
        f"GROUP BY kind, name, notes{columns} ORDER BY ALL",
    )
    groups = {row["name"] for row in rows if row["kind"] == "group"}
    cells: dict[tuple[tuple[Any, ...], str], tuple[int, Counter[str]]] = {}
    for row in rows:
        if row["kind"] != "flow":
            continue
        # The flows of one `count` are NAME-1, NAME-2 and so on: one line stands for all.
        base = re.sub(r"-\d+$", "", row["name"])
        flow = base if base in groups else row["name"]
        place = (tuple(row[axis] for axis in axes), flow)
        runs, notes = cells.setdefault(place, (0, Counter()))
        cells[place] = (runs + row["runs"], notes)
        for note in (row["notes"] or "").split():
            notes[note] += row["runs"]
    for row in _repeated(results, sweep, columns):
        base = re.sub(r"-\d+$", "", row["name"])
        flow = base if base in groups else row["name"]
        cells[tuple(row[axis] for axis in axes), flow][1]["same-for-every-seed"] += row["seeds"]
    return [_Cell(place, flow, runs, notes) for (place, flow), (runs, notes) in cells.items()]


def _repeated(results: Results, sweep: Sweep, columns: str) -> list[dict[str, Any]]:
    """Flows of which several seeds measured exactly the same: an interval over them says nothing."""
    return results.rows(
        sweep.name,
        "WITH flows AS (SELECT * FROM runs WHERE kind = 'flow'), "
        f"different AS (SELECT name{columns}, count(*) AS runs FROM (SELECT DISTINCT * EXCLUDE (seed) FROM flows) "
        f"GROUP BY name{columns}), "
        f"seeds AS (SELECT name{columns}, count(DISTINCT seed) AS seeds FROM flows GROUP BY name{columns}) "
        f"SELECT name{columns}, seeds FROM seeds JOIN different USING (name{columns}) "
        "WHERE seeds > 1 AND runs = 1 ORDER BY ALL",
    )


def _where(sweep: Sweep, places: Sequence[tuple[Any, ...]], everywhere: Sequence[tuple[Any, ...]]) -> str:
    """The values of each axis that the places have, for axes of which they do not have all."""
    told = []
    for index, axis in enumerate(sweep.axes):
        mine = {place[index] for place in places}
        values = [value for value in axis.values if value in mine]
        if len(values) == len({place[index] for place in everywhere}):
            continue
        some = ", ".join(f"{value:g}" if isinstance(value, float) else str(value) for value in values[:SHOWN])
        told.append(f"{axis.label} = {some}" + (", ..." if len(values) > SHOWN else ""))
    return "; ".join(told)
