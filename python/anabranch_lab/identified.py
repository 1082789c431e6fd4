"""What a search among configurations found: how well each agrees with a study's claims, the way to the best, and the file it is kept in."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .claims import Answer, Search
from .configurations import Configuration, Space

FILE = "identified.json"
"""In the folder of a study: what `identify --keep` found."""


@dataclass(frozen=True)
class Score:
    """How many claims hold under a configuration, and which parts of them."""

    configuration: Configuration
    parts: Mapping[str, tuple[int, int]]
    """By claim: parts that hold, and parts that were judged."""

    @property
    def judged(self) -> int:
        """Claims that were judged at all."""
        return sum(1 for _, judged in self.parts.values() if judged)

    @property
    def whole(self) -> int:
        """Claims of which every part holds."""
        return sum(1 for holds, judged in self.parts.values() if judged and holds == judged)

    @property
    def share(self) -> float:
        """The parts that hold, as a mean over the claims: it tells those apart that have as many whole ones."""
        shares = [holds / judged for holds, judged in self.parts.values() if judged]
        return sum(shares) / len(shares) if shares else 0.0

    @property
    def rank(self) -> tuple[int, int, float]:
        """The larger the better: claims; where they tie, choices that the publication names; where these tie, parts."""
        return self.whole, self.configuration.named, self.share


def climb(space: Space, looked: Sequence[Score], only: Collection[str] = ()) -> list[Configuration]:
    """What to look at next: the neighbours of the best so far that nobody has looked at; none when it has no better one.

    `only`: factors that are varied; all that are not printed when there are none.
    """
    known = {score.configuration.name for score in looked}
    if not looked:
        return [space.chosen]
    best = ranked(searched(space, looked))[0]
    mine = best.configuration.choices
    return [
        each
        for each in space.beside(best.configuration)
        if each.name not in known
        and (not only or any(choice != mine[name] for name, choice in each.choices.items() if name in only))
    ]


def beside(space: Space, looked: Sequence[Score], names: Collection[str]) -> list[Configuration]:
    """The best so far with the other choices of these printed factors, one at a time: for comparison, no search goes on from there."""
    best = ranked(searched(space, looked))[0].configuration
    return [
        best.instead(factor, choice)
        for factor, chosen in best.chosen
        if factor.name in names
        for choice in factor.choices
        if choice.name != chosen.name
    ]


def searched(space: Space, looked: Sequence[Score]) -> list[Score]:
    """Those that have what the publication prints."""
    judged = space.chosen.choices
    return [
        one
        for one in looked
        if all(
            choice.name == judged[factor.name]
            for factor, choice in one.configuration.chosen
            if factor.printed
        )
    ]


def ranked(looked: Sequence[Score]) -> list[Score]:
    """The best first; those that agree equally in the order in which they were looked at."""
    return sorted(looked, key=lambda one: one.rank, reverse=True)


def never_judged(looked: Sequence[Score]) -> list[str]:
    """Claims of which no part was judged under any configuration: they speak for none of them."""
    names = dict.fromkeys(claim for one in looked for claim in one.parts)
    return sorted(name for name in names if not any(one.parts.get(name, (0, 0))[1] for one in looked))


def varied(looked: Sequence[Score]) -> dict[str, str]:
    """What the first of them has for each factor that differs among them."""
    every = [one.configuration.choices for one in looked]
    return {
        factor: choice
        for factor, choice in (every[0] if every else {}).items()
        if any(choices[factor] != choice for choices in every)
    }


def labels(looked: Sequence[Score]) -> list[str]:
    """A name for each that says only in what it differs from the first, with the factor: `closing: each at once, hosts: 1 ms`."""
    first = varied(looked)
    return [
        ", ".join(
            f"{factor}: {one.configuration.choices[factor]}"
            for factor, choice in first.items()
            if one.configuration.choices[factor] != choice
        )
        or "first row"
        for one in looked
    ]


def told(space: Space, looked: Sequence[Score]) -> str:
    """The best, those that agree as well, the next one, and the claims that tell it from the best; what was looked at for comparison."""
    text = _told(searched(space, looked) or looked)
    compared = [one for one in ranked(looked) if one not in searched(space, looked)]
    if not compared or len(compared) == len(looked):
        return text
    names = (f"{_against(space, one)}: {one.whole}" for one in compared)
    return f"{text} For comparison, against what the publication prints: {'; '.join(names)}."


def _against(space: Space, one: Score) -> str:
    """What a configuration has instead of what is printed."""
    judged = space.chosen.choices
    return ", ".join(
        f"{factor.name} {choice.name}"
        for factor, choice in one.configuration.chosen
        if factor.printed and choice.name != judged[factor.name]
    )


def _told(looked: Sequence[Score]) -> str:
    best, *others = ranked(looked)
    text = f"Best: {best.configuration.name}: {best.whole} claims hold."
    equals = [one for one in others if one.rank == best.rank]
    if equals:
        text += (
            f" As good, and told from it by no claim: {'; '.join(one.configuration.name for one in equals)}."
        )
    others = others[len(equals) :]
    if not others:
        return text
    second = others[0]
    parted = [
        f"{claim} ({holds} of {judged} parts instead of {best.parts[claim][0]})"
        for claim, (holds, judged) in second.parts.items()
        if claim in best.parts and (holds, judged) != best.parts[claim]
    ]
    return f"{text} Second: {second.configuration.name}: {second.whole}. What separates them: {', '.join(parted)}."


def write(space: Space, looked: Sequence[Score], seeds: Sequence[int], file: Path) -> None:
    """Writes what was found, the best first."""
    document = {
        "engines": list(space.engines),
        "seeds": list(seeds),
        "factors": [
            {"name": each.name, "about": each.about, "choices": [choice.name for choice in each.choices]}
            for each in space.factors
        ],
        "configurations": [
            {
                "choices": one.configuration.choices,
                "claims_hold": one.whole,
                "parts_share": round(one.share, 6),
                "claims": {claim: list(parts) for claim, parts in one.parts.items()},
            }
            for one in ranked(looked)
        ],
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(file.name + ".part")
    part.write_text(_compact(document) + "\n", encoding="utf-8")
    part.replace(file)


def read(space: Space, file: Path) -> tuple[list[int], list[Score]]:
    """The seeds and what was found with them; configurations whose choices are there no more are left out. Nothing without the file."""
    if not file.is_file():
        return [], []
    document = json.loads(file.read_text(encoding="utf-8"))
    known = {one.name: one for one in space.every()}
    found = []
    for entry in document["configurations"]:
        name = ", ".join(entry["choices"].get(factor.name, "") for factor in space.factors)
        if name in known:
            parts = {claim: (holds, judged) for claim, (holds, judged) in entry["claims"].items()}
            found.append(Score(known[name], parts))
    return document["seeds"], found


def by_claim(space: Space, file: Path) -> dict[str, Search]:
    """What each configuration that was looked at makes of each claim, the judged one first."""
    seeds, looked = read(space, file)
    judged = space.chosen.choices
    first = sorted(ranked(looked), key=lambda one: one.configuration.name != space.chosen.name)
    found: dict[str, list[Answer]] = {}
    for one in first:
        differs = {
            factor: choice for factor, choice in one.configuration.choices.items() if choice != judged[factor]
        }
        for claim, (holds, parts) in one.parts.items():
            found.setdefault(claim, []).append(Answer(differs, holds, parts))
    return {claim: Search(tuple(seeds), tuple(answers)) for claim, answers in found.items()}


def _compact(document: Mapping[str, Any]) -> str:
    """JSON with a line for each element of a list of tables."""
    lines = []
    for key, value in document.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            rows = ",\n  ".join(json.dumps(each, ensure_ascii=False) for each in value)
            lines.append(f" {json.dumps(key)}: [\n  {rows}\n ]")
        else:
            lines.append(f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}")
    return "{\n" + ",\n".join(lines) + "\n}"
