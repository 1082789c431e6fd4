"""The grades of several claims if no more than one wrong decision in twenty is to be among all of them.

A claim by itself is wrong in at most 5 % (`grades.py`). Where many hypotheses are judged, a few are decided wrongly by chance. Holm's
procedure over all their parts together keeps that below 5 %, at a price: what is decided narrowly becomes open.
"""

from collections.abc import Sequence

from .. import stats
from ..plan.plan import PlanError
from . import grades
from .claims import Claim, Part
from .comparison import Comparison, Measured, Share, compare
from .grades import ERROR


def grade(claims: Sequence[Claim], error: float = ERROR) -> dict[str, str]:
    """The grade of each claim by Holm's procedure over the parts of all; what has no runs keeps its own."""
    places = [(claim, part) for claim in claims for part in claim.parts]
    graded = grades.grade([_compared(claim, part) for claim, part in places], error)
    found = {}
    for claim in claims:
        mine = [each for (of, _), each in zip(places, graded, strict=True) if of is claim]
        decided = claim.grade not in (grades.N, grades.NOT_JUDGED)
        found[claim.id] = grades.overall(mine) if decided and mine else claim.grade
    return found


def _compared(claim: Claim, part: Part) -> Comparison:
    """The comparison that a part comes from."""
    return compare(claim.entry.expected(part.at), part.at, _measured(part), claim.entry.one_run)


def _measured(part: Part) -> Measured:
    if isinstance(part.measured, float):
        if part.seeds is None or part.half is None:
            return part.measured
        if part.half == 0:
            return stats.Estimate(part.measured, 0.0, part.seeds, 0.0)
        spread = part.half * part.seeds**0.5 / stats.t_quantile((1 + stats.LEVEL) / 2, part.seeds - 1)
        return stats.Estimate(part.measured, part.half, part.seeds, spread)
    if " of " in part.measured and part.measured.endswith("seeds"):
        raise PlanError(f"{part.at}: a sign test cannot be judged again")
    if " of " in part.measured:
        successes, n = (int(each) for each in part.measured.split(" of "))
        return Share(successes, n, part.seeds)
    return part.measured
