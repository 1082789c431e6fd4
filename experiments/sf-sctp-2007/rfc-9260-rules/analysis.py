"""X-8: the claims of all experiments with both engines, side by side."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from anabranch_lab.judge.claims import Claim, Part
from anabranch_lab.judge.experiment import Analysis, Table, claim_builder, other_analyses
from anabranch_lab.plan.folders import find, select
from anabranch_lab.run.results import Results
from anabranch_lab.show.tables import report_number

PREDICTIONS = (
    ("Z-IV-1", "n = 1, %", "97 to 99.6 %: one halving for each overflow", 97.0, 99.6),
    ("Z-XII-4", "timeouts per on-edge", "below 0.2: they vanish", -math.inf, 0.2),
    (
        "Z-XIV-2",
        "Phi = n^2: n = 27",
        "above 1.25: it rises, as no window falls below four packets",
        1.25,
        math.inf,
    ),
)
"""Claim, part, and what RFC 9260 was expected to make of it (claims of Zou 2007, pitfalls of IV, XII and XIV)."""
BESIDE = 10
"""Seeds of what stands beside a judged engine."""


def analyse(results: Results) -> Analysis:
    """What the lab asks an experiment for."""
    thesis, today = results.plan.engines
    every = [claim for analysis in other_analyses(results).values() for claim in analysis.claims]
    # Arithmetic and models know no engine; the project's own claims are about today's rules anyway.
    simulated = [claim for claim in every if claim.seeds and claim.id.startswith("Z-")]
    compared = [claim for claim in simulated if today in claim.beside]
    both = [claim for claim in compared if _holds(claim.parts) and _holds(claim.beside[today])]
    apart = [claim for claim in compared if _holds(claim.parts) != _holds(claim.beside[today])]
    # Most that stands beside has ten seeds: where every mean would do, that a claim fails is no finding.
    unclear = [claim for claim in apart if _undecided(claim.parts) or _undecided(claim.beside[today])]
    lost = [claim for claim in apart if _holds(claim.parts) and claim not in unclear]
    won = [claim for claim in apart if _holds(claim.beside[today]) and claim not in unclear]
    claim = claim_builder(results).claim(
        "X-8",
        predictions({claim.id: claim for claim in every}, today),
        engines=(today,),
        note=f"{len(compared)} of {len(simulated)} simulated claims were judged with both engines; which differ is in the tables above. Runs of "
        f"the study in which an association ended before its time: {gave_up(results)}.",
    )
    return Analysis(
        claims=[claim],
        tables=[_claims(compared, thesis, today), _parts(compared, thesis, today)],
        findings=[
            f"Of {len(compared)} claims that are simulated, {len(both)} hold with both engines, {len(lost)} only with {thesis} "
            f"({_names(lost)}), {len(won)} only with {today} ({_names(won)}). {len(unclear)} hold with one and are undecided with the other, where all means "
            f"would do ({_names(unclear)}); most have ten seeds with {today}. {len(compared) - len(both) - len(apart)} hold with neither.",
        ],
    )


def predictions(every: Mapping[str, Claim], today: str) -> list[Part]:
    """What was expected of today's rules before anything was run, from parts that were judged with them."""

    def parts(identifier: str, start: str) -> list[Part]:
        beside = every[identifier].beside.get(today, []) if identifier in every else []
        return [part for part in beside if part.at.startswith(start)]

    found: list[Part] = []
    for identifier, start, expected, low, high in PREDICTIONS:
        chosen = parts(identifier, start)
        if not chosen:
            # Its experiment could not be analysed.
            found.append(
                Part(f"{identifier}: {start}", expected, "nothing", None, False, "not measured", judged=False)
            )
        for part in chosen:
            at = f"{identifier}, {part.at}"
            if not isinstance(part.measured, float) or part.ci95 is None or (part.seeds or 0) < BESIDE:
                found.append(
                    replace(part, at=at, expected=expected, holds=False, judged=False, contrary=False)
                )
                continue
            holds = part.measured - part.ci95 > low and part.measured + part.ci95 < high
            found.append(
                replace(
                    part,
                    at=at,
                    expected=expected,
                    holds=holds,
                    judged=True,
                    detail="",
                    rule=expected,
                    by_mean=holds,
                )
            )
    return found


def gave_up(results: Results) -> str:
    """The sweeps with runs in which a flow failed, and how many; `none` if there are none."""
    found = []
    for name in select(results.plan.folder.parents[1], results.plan.folder.parent.name):
        other = results.of(find(results.plan.folder.parents[1], name))
        for sweep in other.plan.sweeps:
            failed = other.grid(sweep.name, {"failed": "count(failed) FILTER (kind = 'flow')"})
            runs = sum(value > 0 for cell in failed.cells.values() for value in cell["failed"])
            if runs:
                found.append(f"{name}, {sweep.name}: {runs}")
    return "; ".join(found) or "none"


def _holds(parts: Sequence[Part]) -> bool:
    return all(part.holds for part in parts)


def _undecided(parts: Sequence[Part]) -> bool:
    """Whether some parts do not hold, and all of these would if their means were exact."""
    failing = [part for part in parts if not part.holds]
    return bool(failing) and all(part.by_mean for part in failing)


def _names(found: Sequence[Claim]) -> str:
    return ", ".join(claim.id for claim in found) or "none"


def _claims(compared: Sequence[Claim], thesis: str, today: str) -> Table:
    rows = []
    for claim in compared:
        mine, yours = claim.parts, claim.beside[today]
        rows.append(
            [
                claim.id,
                claim.where,
                f"{sum(part.holds for part in mine)} of {len(mine)}",
                f"{sum(part.holds for part in yours)} of {len(yours)}",
                ""
                if _holds(mine) == _holds(yours)
                else "undecided"
                if _undecided(yours) or _undecided(mine)
                else "differs",
            ]
        )
    return Table("Parts of each claim that hold", ["claim", "where", thesis, today, ""], rows)


def _parts(compared: Sequence[Claim], thesis: str, today: str) -> Table:
    """Every part whose verdict depends on the engine."""
    rows = []
    for claim in compared:
        yours = {part.at: part for part in claim.beside[today]}
        for part in claim.parts:
            other = yours.get(part.at)
            if other is not None and other.holds != part.holds:
                rows.append([claim.id, part.at, _text(part.expected), _measured(part), _measured(other)])
    return Table(
        "Parts that one engine shows and the other does not",
        ["claim", "at", "expected", thesis, today],
        rows,
        note="Means over the seeds, ± 95 %; undecided where the mean would do and its interval does not, or is wider than the tolerance.",
    )


def _measured(part: Part) -> str:
    half = "" if part.ci95 is None else f" ± {report_number(part.ci95)}"
    return (
        f"{_text(part.measured)}{half}: {'holds' if part.holds else 'undecided' if part.by_mean else 'fails'}"
    )


def _text(value: float | str) -> str:
    return value if isinstance(value, str) else report_number(value)
