"""Grades of parts and of claims, by one rule (docs/explanation/grades.md).

A reproduced: the direction holds, and the interval lies wholly inside the band. B same finding, other size: the direction holds, and the interval lies
wholly outside the band. C open: the runs decide neither, or one published run says too little. D contradicted: the opposite direction, or no
effect where one is claimed. N not testable. Of a claim no more than 5 % of such decisions are wrong together, by Holm's procedure over all of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from .comparison import Comparison

A, B, C, D, N = "A", "B", "C", "D", "N"
NOT_JUDGED = "-"
"""Too few seeds, a quick look, or runs that are missing: neither good nor bad news."""
WORDS = {
    A: "reproduced",
    B: "same finding, other size",
    C: "open",
    D: "contradicted",
    N: "not testable",
    NOT_JUDGED: "not judged",
}
OWN_WORDS = {**WORDS, A: "holds", B: "holds, other size", D: "does not hold"}
"""Words for the grades of our own hypotheses, which nobody has published."""
ERROR = 0.05
"""The greatest probability of a wrong decision in a claim."""
BY_RULE = 0.03
"""What is asked instead where seeds follow a rule (`plan/sequential.py`): points that stop early had little spread by chance, so their intervals are
too narrow. With 5 % asked 6.9 % of simulated claims were wrong at worst, with 3 % fewer than 5 % (test_grades.py)."""


@dataclass(frozen=True)
class Graded:
    """The grade of one part, its reason, and the decision on its direction."""

    grade: str
    why: str = ""
    direction: bool | None = None
    """Whether the direction holds; None while it is open, or where none is asked for."""


def holm(chances: Sequence[float], error: float = ERROR) -> list[bool]:
    """Which of several decisions stand so that all together are wrong with at most this probability (Holm 1979)."""
    order = sorted(range(len(chances)), key=lambda index: chances[index])
    stands = [False] * len(chances)
    for place, index in enumerate(order):
        if chances[index] > error / (len(chances) - place):
            break
        stands[index] = True
    return stands


def grade(compared: Sequence[Comparison], error: float = ERROR) -> list[Graded]:
    """The grade of each part of one claim."""
    asked = [
        (index, name, test)
        for index, each in enumerate(compared)
        if each.judged and not each.expected.not_testable
        for name in ("direction", "size")
        if (test := getattr(each, name)) is not None
    ]
    stands = holm([min(test.holds, test.fails) for _, _, test in asked], error)
    known: dict[tuple[int, str], bool | None] = {
        (index, name): (test.holds <= test.fails if decided else None)
        for (index, name, test), decided in zip(asked, stands, strict=True)
    }
    return [_part(each, index, known) for index, each in enumerate(compared)]


def _part(each: Comparison, index: int, known: dict[tuple[int, str], bool | None]) -> Graded:
    if each.expected.not_testable:
        return Graded(N, each.expected.not_testable)
    if not each.judged:
        return Graded(NOT_JUDGED, f"{each.seeds} seeds are too few")
    direction = known.get((index, "direction")) if each.direction is not None else True
    if each.spread > 2 * each.expected.width and not each.expected.explicit:
        return Graded(C, f"one published run says it within ±{each.spread:.3g} only")
    if direction is False:
        return Graded(D, "the opposite, or no effect", False)
    if each.size is None:
        return Graded(A, direction=True) if direction else Graded(C, f"{each.crosses} the threshold")
    size = known.get((index, "size"))
    told = None if each.direction is None else direction
    if each.expected.same is not None and size is False:
        return Graded(D, "they differ by more than what counts as the same", False)
    if each.spread > 2 * each.expected.width:
        return Graded(C, f"one published run says it within ±{each.spread:.3g} only", told)
    if direction is None:
        return Graded(C, f"{each.crosses} the threshold")
    if size is None:
        return Graded(C, f"{each.crosses} an edge of the band", told)
    if size:
        return Graded(A, direction=told)
    factor = each.factor
    if factor is None:
        return Graded(B, "outside the band", told)
    of = "published value" if each.expected.nothing is None else "bound"
    return Graded(B, f"{factor[0]:.3g} times the {of} ({factor[1]:.3g} to {factor[2]:.3g})", told)


def overall(graded: Sequence[Graded]) -> str:
    """The grade of a claim: one part that is contradicted contradicts it; one whose direction is open leaves it open."""
    found = [each for each in graded if each.grade != N]
    if graded and not found:
        return N
    if any(each.grade == D for each in found):
        return D
    if not graded or any(each.grade == NOT_JUDGED for each in found):
        return NOT_JUDGED
    if any(each.grade == C and each.direction is None for each in found):
        return C
    if any(each.grade == B for each in found):
        return B
    return C if any(each.grade == C for each in found) else A
