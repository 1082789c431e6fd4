"""How many seeds a point needs: a rule that is fixed in the plan, before anything is run.

Points begin with `first` seeds and are looked at after these and after each `step` more. A group of points stops at the first
look at which the interval of each figure that it is judged by is narrower than the plan says, else when all seeds of the
plan are used. Only the widths of intervals are asked, never where they lie, so the rule cannot know whether a claim holds: it
is that of fixed width (Chow and Robbins 1965) with a least number of seeds. Looks are paid for: with k of them the interval that
is asked is that of level 1 - 0.05 / k (Bonferroni). Points that stop early had little spread by chance all the same, so grades ask for
fewer wrong decisions (`BY_RULE` of `judge/grades.py`).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .. import stats


@dataclass(frozen=True)
class Figure:
    """A quantity that must be known to a precision."""

    name: str
    of: str
    """SQL aggregate over the rows of one run."""
    half: float
    """Half width that is narrow enough: in the unit of the figure, or as a share of its mean."""
    relative: bool = False

    def enough(self, mean: float) -> float:
        """The half width that is narrow enough for a mean."""
        return self.half * abs(mean) if self.relative else self.half

    def text(self) -> str:
        """The half width as the plan has it: `0.5` or `1 %`."""
        return f"{100 * self.half:g} %" if self.relative else f"{self.half:g}"


@dataclass(frozen=True)
class Rule:
    """The rule by which the points of a sweep have enough seeds."""

    first: int
    """Seeds of every point."""
    step: int
    """Seeds that are added from look to look."""
    figures: tuple[Figure, ...]
    together: tuple[str, ...] | None = None
    """Points that differ only in these axes stop together, because they are compared seed by seed; None: in all but the engine."""
    beside: int | None = None
    """Seeds of an engine that only stands beside the one that is judged; None: as the judged one."""

    def looks(self, most: int) -> tuple[int, ...]:
        """Numbers of seeds after which it is looked whether these are enough, of at most so many."""
        return tuple(range(self.first, most, self.step))

    def level(self, most: int) -> float:
        """The level of the interval that is asked at each look."""
        return 1 - (1 - stats.LEVEL) / max(1, len(self.looks(most)))

    def wide(self, values: Mapping[str, Sequence[float | None]], most: int) -> list[str]:
        """The figures of one point whose interval is too wide, each with its half width; none: it has enough seeds."""
        found = []
        there = 0
        for figure in self.figures:
            column = values[figure.name]
            if all(value is None for value in column):
                # These runs have no such flow or link.
                continue
            there += 1
            if any(value is None or not math.isfinite(value) for value in column):
                found.append(f"{figure.name} is not there in every run")
                continue
            numbers = [float(value) for value in column if value is not None]
            half = stats.estimate(numbers).half_at(self.level(most))
            if half > figure.enough(math.fsum(numbers) / len(numbers)):
                found.append(f"{figure.name} ± {half:.3g}")
        if not there:
            raise ValueError(
                f"none of {', '.join(figure.name for figure in self.figures)} is there in these runs"
            )
        return found

    def text(self, most: int) -> str:
        """The rule in a sentence, for a report."""
        last = f"; {self.beside} seeds of an engine that is not judged" if self.beside is not None else ""
        if not self.looks(most):
            return f"All {most} seeds{last}."
        wanted = ", ".join(f"{figure.name} ± {figure.text()}" for figure in self.figures)
        looks = " and ".join(str(look) for look in self.looks(most))
        return (
            f"Seeds are added until the intervals are narrow enough ({wanted}), whatever they say: looked at after {looks} seeds "
            f"with {100 * self.level(most):g} % intervals, at most {most} seeds{last}."
        )


@dataclass(frozen=True)
class Stop:
    """How many seeds a point has, and why no more."""

    seeds: tuple[int, ...]
    reason: str
    """`fixed`, `beside`, `precise`, `most`, or `open` while runs are missing that decide."""
    wide: tuple[str, ...] = ()
    """The quantities that were too wide at the last look."""


FIXED, BESIDE, PRECISE, MOST, OPEN = "fixed", "beside", "precise", "most", "open"

TOLD = {
    PRECISE: "narrow enough",
    MOST: "with all seeds of the plan",
    BESIDE: "beside what is judged",
    FIXED: "fixed",
    OPEN: "not finished",
}
"""Each reason in words."""


def parse(entry: Mapping[str, Any]) -> Rule:
    """A rule from its table in a plan; ValueError names the fault."""
    allowed = {"first", "step", "together", "beside", "precise"}
    unknown = [key for key in entry if key not in allowed]
    if unknown:
        raise ValueError(f"sequential: no `{unknown[0]}`; there are {', '.join(sorted(allowed))}")
    precise = entry.get("precise", {})
    first, step = int(entry.get("first", 10)), int(entry.get("step", 10))
    beside = entry.get("beside")
    if not precise and beside is None:
        raise ValueError("sequential: `precise` is missing: what must be known how precisely")
    if first < LEAST or step < 1 or (beside is not None and int(beside) < LEAST):
        raise ValueError(f"sequential: at least {LEAST} seeds, and steps of 1 or more")
    return Rule(
        first,
        step,
        tuple(_figure(name, table) for name, table in precise.items()),
        tuple(entry["together"]) if "together" in entry else None,
        None if beside is None else int(beside),
    )


LEAST = stats.LEAST
"""Fewer seeds than this say little of how wide an interval is."""


def _figure(name: str, table: Mapping[str, Any]) -> Figure:
    if set(table) != {"of", "half"}:
        raise ValueError(f'sequential: `{name}` needs `of` (SQL) and `half` (a number or "1 %")')
    half = str(table["half"])
    relative = half.endswith("%")
    try:
        number = float(half.removesuffix("%")) / (100 if relative else 1)
    except ValueError:
        raise ValueError(f'sequential: the half of `{name}` is a number or "1 %", not `{half}`') from None
    if not number > 0:
        raise ValueError(f"sequential: the half of `{name}` is more than 0")
    return Figure(name, str(table["of"]), number, relative)
