"""The grades of several claims if no more than one wrong decision in twenty is to be among all of them.

A claim by itself is wrong in at most 5 % (`grades.py`). Where many hypotheses are judged, a few are decided wrongly by chance. Holm's
procedure over all their parts together keeps that below 5 %, at a price: narrow decisions become open.
"""

from collections.abc import Sequence

from . import grades
from .claims import Claim


def grade(claims: Sequence[Claim]) -> dict[str, str]:
    """The grade of each claim by Holm's procedure over the parts of all; a claim that is not judged, or has no parts, keeps its own."""
    error = min((claim.error for claim in claims), default=grades.ERROR)
    every = grades.grade([each for claim in claims for each in claim.compared], error)
    found, place = {}, 0
    for claim in claims:
        mine = every[place : place + len(claim.compared)]
        place += len(claim.compared)
        decided = claim.grade not in (grades.N, grades.NOT_JUDGED)
        found[claim.id] = grades.overall(mine) if decided and mine else claim.grade
    return found
