"""What is to be seen of a claim on the page of its experiment: links to its figures, its parts, its runs."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ..judge.claims import Claim
from . import forest


@dataclass(frozen=True)
class Link:
    """A link to another page."""

    name: str
    address: str


def of(claim: Claim, titles: Mapping[str, str]) -> list[Link]:
    """What is to be seen of a claim on the page of its experiment, whose figures have these titles: its own figure, or those that it is
    printed in; its parts beside their bands; its runs.
    """
    if not claim.parts:
        return []
    if (own := f"claim-{claim.id}") in titles:
        found = [Link("figure", own)]
    else:
        printed = _printed(claim.entry.where)
        # Of several drawings of one figure the first is shown.
        named: dict[str, str] = {}
        for name, title in titles.items():
            if any(_one(this, that) for this in _printed(title) for that in printed):
                named.setdefault(title.partition(":")[0], name)
        found = [Link(*each) for each in named.items()]
        if any(forest.strips(claim.parts)):
            found.append(Link("parts", f"parts-{claim.id}"))
    if not found and titles:
        found.append(Link("figure", *titles) if len(titles) == 1 else Link("figures", "figures"))
    # A claim that needs no Python names its sweep where there are several.
    sweeps = {part.sweep for part in claim.entry.parts if part.sweep}
    return [*found, Link("runs", place_of(*sweeps) if len(sweeps) == 1 else "sweeps")]


_FIGURE = r"\d+(?:\.\d+)*(?:\(?[a-z]\)?)?(?![\w(])"
_FIGURES = re.compile(rf"\bFigs?\. *({_FIGURE}(?:(?:, | and | to ){_FIGURE})*)")
_RANGE = re.compile(r"((?:\d+\.)*)(\d+)\(?([a-z]?)\)?(?: to (?:\d+\.)*(\d+))?")


def _printed(words: str) -> list[tuple[str, int, str]]:
    """The figures of a publication that a text names: the chapter, the number and the letter of each. `Figs. 5.9 to 5.12` are four."""
    return [
        (chapter, number, letter)
        for listed in _FIGURES.findall(words)
        for chapter, first, letter, last in _RANGE.findall(listed)
        for number in range(int(first), int(last or first) + 1)
    ]


def _one(this: tuple[str, int, str], that: tuple[str, int, str]) -> bool:
    """Whether two names can be those of one figure: one without a letter has every panel."""
    return this[:2] == that[:2] and (this[2] == that[2] or not (this[2] and that[2]))


def place_of(sweep: str) -> str:
    """The place of a sweep in the table of what was run."""
    return "sweep-" + re.sub(r"\W+", "-", sweep)
