"""All claims of a study in one picture: where our intervals lie in the bands of the published values, and the grade of each claim.

The parts of one claim are drawn in the same way in the table of the claim, a strip for each.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import matplotlib.colors
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ..judge import grades
from ..judge.claims import Claim, Part, words
from . import pictures, plots

COLOURS = {
    grades.A: plots.NS2,
    grades.B: "#E69F00",
    grades.C: "#56B4E9",
    grades.D: plots.TCP,
    grades.N: plots.OTHER,
    grades.NOT_JUDGED: plots.OTHER,
}
"""Each grade by its colour; its letter stands beside it."""
LEGIBLE = 4.5
"""The contrast that letters need beside their ground."""
MOST = 4.0
"""Values farther from the middle of the band than so many of its halves are drawn as arrows."""
ROW = 0.19
"""The height of the row of a claim, inches."""
READ = (
    "A row is a claim: its grade, its name, and how many of its parts have the grade A. A dot is a part with a published number (in studies of our own an expected "
    "one): where our value lies beside it (the line), with our 95 % interval. The shaded band is the tolerance, drawn equally wide for every claim; a dot in it "
    "agrees, an arrow lies farther off than the picture shows. Claims without a dot say a direction only, such as which of two is larger."
)
"""The caption: how to read the picture."""

STRIP = (
    "the shaded band is the tolerance, drawn equally wide for every part, the thin line in it the published or expected value. The dot is our value with its "
    "95 % interval; a triangle lies farther off than a strip shows."
)
"""The caption of the strips."""


def caption(found: Sequence[Claim]) -> str:
    """The caption of the picture of these claims, with their grades in words."""
    told = words(found)
    return f"{READ} {', '.join(f'{grade} {word}' for grade, word in told.items() if grade != grades.NOT_JUDGED)}."


def draw(found: Sequence[Claim], column: int = 22) -> Figure:
    """The claims from top to bottom, at most `column` of them in a column, in columns of one length."""
    across = max(1, math.ceil(len(found) / column))
    down = math.ceil(len(found) / across)
    figure, panels = plots.panels(across, height=0.9 + ROW * down)
    figure.set_figwidth(3.7 * across + 0.4)
    for number, axes in enumerate(panels):
        _panel(axes, found[number * down : (number + 1) * down], down, _value(found))
    return figure


def _value(found: Sequence[Claim]) -> str:
    """The word for the values in the middle of the bands: `expected` for our own hypotheses, which nobody has published."""
    return "expected" if all(claim.own for claim in found) else "published"


def _legible(colour: str) -> tuple[float, ...]:
    """A colour of letters: darker, where it must be, until it can be read on white paper (WCAG 2.2, 1.4.3)."""
    rgb = matplotlib.colors.to_rgb(colour)
    while pictures.contrast(rgb, "white") < LEGIBLE:
        rgb = tuple(0.95 * value for value in rgb)
    return rgb


def _panel(axes: Axes, rows: Sequence[Claim], down: int, value: str) -> None:
    axes.add_patch(Rectangle((-1, -0.7), 2, down + 0.4, color="#e4e4e4", linewidth=0, zorder=0))
    axes.axvline(0, color=plots.OTHER, linewidth=0.6, zorder=1)
    for row, claim in enumerate(rows):
        colour = COLOURS[claim.grade]
        axes.text(
            -MOST - 0.25,
            row,
            f"{claim.grade}  {claim.id}",
            ha="right",
            va="center",
            fontsize=8,
            color=_legible(colour),
            weight="bold",
        )
        axes.text(
            MOST + 0.25,
            row,
            "{} of {}".format(*claim.held),
            ha="left",
            va="center",
            fontsize=7,
            color=_legible(plots.OTHER),
        )
        sized = [part for part in claim.parts if _place(part) is not None]
        for number, part in enumerate(sized):
            # Several parts of a claim lie above one another within its row.
            lift = (number - (len(sized) - 1) / 2) * 0.6 / max(len(sized), 1)
            _dot(axes, part, row + lift)
    axes.set(xlim=(-MOST - 0.2, MOST + 0.2), ylim=(down - 0.3, -0.7), yticks=[])
    axes.set_xticks([-1, 0, 1], ["", value, ""], fontsize=7)
    axes.set_xlabel(f"shaded: what counts as the {value} value", fontsize=8)
    axes.grid(visible=False)
    for side in ("left", "right", "top"):
        axes.spines[side].set_visible(False)


def _place(part: Part) -> tuple[float, float] | None:
    """Where a part lies in its band, and half of its interval, in halves of the band; None for a part that has no band or is not measured."""
    if part.band is None or not isinstance(part.measured, float) or part.grade == grades.N:
        return None
    low, high = part.band
    half = (high - low) / 2
    if not (math.isfinite(half) and half > 0):
        return None
    return (part.measured - (low + high) / 2) / half, (part.half or 0.0) / half


def _dot(axes: Axes, part: Part, row: float) -> None:
    place, half = _place(part) or (0.0, 0.0)
    colour = COLOURS[part.grade]
    if abs(place) > MOST:
        axes.plot(
            [math.copysign(MOST, place)], [row], marker=">" if place > 0 else "<", color=colour, markersize=4
        )
        return
    low, high = max(-MOST, place - half), min(MOST, place + half)
    axes.plot([low, high], [row, row], color=colour, linewidth=1.2)
    axes.plot([place], [row], marker="o", color=colour, markersize=3)


@dataclass(frozen=True)
class Strip:
    """Where a part lies in its band, in halves of the band from its middle; a page draws it."""

    middle: float
    low: float
    high: float
    """The ends of the interval."""
    far: int
    """1 or -1 where the part lies farther off than a strip shows, on that side."""
    value: float | None
    """The published value."""


def strip(part: Part) -> Strip | None:
    """The strip of a part; None where a picture of all claims has no dot for it."""
    found = _place(part)
    if found is None or part.band is None:
        return None
    middle, half = found
    low, high = part.band
    value = None if part.value is None else (2 * part.value - low - high) / (high - low)
    far = 0 if abs(middle) <= MOST else 1 if middle > 0 else -1
    return Strip(middle, max(-MOST, middle - half), min(MOST, middle + half), far, value)


def strips(parts: Sequence[Part]) -> list[Strip | None]:
    """The strips of the parts of a claim."""
    return [strip(part) for part in parts]


def alt(found: Sequence[Claim]) -> str:
    """The description of the picture in words."""
    told = words(found)
    counted = [
        f"{number} {grade} ({told[grade]})"
        for grade in grades.WORDS
        if (number := sum(claim.grade == grade for claim in found))
    ]
    return f"{len(found)} claims: {', '.join(counted)}."
