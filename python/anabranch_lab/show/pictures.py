"""Figures as files: SVG and PNG, the same on dark paper, the numbers behind them, and a description in words."""

import csv
import io
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import matplotlib.colors
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import Collection, PathCollection
from matplotlib.container import BarContainer, ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text

from . import plots

DARK = {"paper": "#1d2125", "ink": "#e6e8ea", "line": "#3a4147", "soft": "#9aa4ac"}
"""The colours of a page in the dark (pages/base.html.j2)."""
CONTRAST = 3.0
"""The contrast that graphical objects need at least beside their ground (WCAG 2.2, 1.4.11)."""
SPOKEN = 6
"""Curves of a panel that are put into words; the others are counted."""


@dataclass(frozen=True)
class Series:
    """One curve, one set of bars or points."""

    panel: str
    name: str
    x: Sequence[float]
    y: Sequence[float]
    half: Sequence[float] = field(default=())
    """Half widths of the intervals, where there are error bars."""


@dataclass(frozen=True)
class Picture:
    """A figure that was written."""

    stem: str
    """Names of its files without their ends: .svg, .png, .csv, .dark.svg."""
    light: str
    """The SVG as a data URI."""
    dark: str
    """The SVG for a dark page as a data URI."""
    alt: str
    inches: float
    """The width of the drawing, with letters of ten points, so that a page shows it large enough to be read."""


def write(figure: Figure, folder: Path, stem: str, alt: str = "") -> Picture:
    """Writes STEM.svg, STEM.png, STEM.dark.svg and STEM.csv; closes the figure."""
    folder.mkdir(parents=True, exist_ok=True)
    found = list(series(figure))
    words = alt or describe(figure, found)
    width = figure.get_figwidth()
    plots.lay_out(figure)
    light = plots.save(figure, folder, stem, close=False)
    (folder / f"{stem}.csv").write_text(table(found), encoding="utf-8")
    darken(figure)
    buffer = io.BytesIO()
    with plots.style():
        figure.savefig(buffer, format="svg", metadata={"Date": None}, facecolor=DARK["paper"])
    plots.plt.close(figure)
    svg = buffer.getvalue()
    (folder / f"{stem}.dark.svg").write_bytes(svg)
    return Picture(stem, light, plots.uri(svg), words, round(width, 2))


def series(figure: Figure) -> Iterator[Series]:
    """The numbers that a figure shows, panel by panel."""
    for number, axes in enumerate(figure.axes):
        panel = _title(axes) or (f"panel {number + 1}" if len(figure.axes) > 1 else "")
        taken: set[int] = set()
        for container in axes.containers:
            if isinstance(container, ErrorbarContainer):
                yield from _error_bars(container, panel, taken)
            elif isinstance(container, BarContainer):
                bars = [
                    (bar.get_x() + bar.get_width() / 2, bar.get_y() + bar.get_height()) for bar in container
                ]
                yield Series(panel, _name(container), [x for x, _ in bars], [y for _, y in bars])
        for line in axes.lines:
            # A line in the coordinates of the panel (across it) shows no data.
            if id(line) in taken or line.get_transform() != axes.transData:
                continue
            x, y = np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float)
            yield Series(panel, _name(line), x.tolist(), y.tolist())
        for points in axes.collections:
            if isinstance(points, PathCollection):
                places = np.ma.filled(np.ma.asarray(points.get_offsets(), float), np.nan)
                yield Series(panel, _name(points), places[:, 0].tolist(), places[:, 1].tolist())


def table(found: Sequence[Series]) -> str:
    """The numbers as CSV: panel, curve, x, y, and the half width of the 95 % interval."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["panel", "curve", "x", "y", "half_95"])
    for each in found:
        halves: Sequence[Any] = each.half if each.half else [""] * len(each.x)
        for x, y, half in zip(each.x, each.y, halves, strict=True):
            writer.writerow([each.panel, each.name, f"{x:.10g}", f"{y:.10g}", half and f"{half:.6g}"])
    return out.getvalue()


def describe(figure: Figure, found: Sequence[Series]) -> str:
    """A description in words: the axes of each panel, and how its curves run."""
    told = []
    for number, axes in enumerate(figure.axes):
        panel = _title(axes) or (f"panel {number + 1}" if len(figure.axes) > 1 else "")
        mine = [each for each in found if each.panel == panel]
        named = [each for each in mine if each.name] or mine
        if not named:
            continue
        what = " over ".join(part for part in (axes.get_ylabel(), axes.get_xlabel()) if part)
        head = ". ".join(part for part in (panel, what) if part)
        curves = [_course(each) for each in named[:SPOKEN]]
        more = len(named) - SPOKEN
        if more > 0:
            curves.append(f"{more} more")
        told.append(f"{head}: {'; '.join(curves)}." if head else f"{'; '.join(curves)}.")
    return " ".join(told) or "A drawing without data."


def darken(figure: Figure) -> None:
    """Recolours a figure for dark paper: black becomes light, white becomes the colour of the paper, and data stay visible on it."""
    figure.patch.set_facecolor(DARK["paper"])
    data = {id(artist) for artist in _data(figure)}
    for artist in figure.findobj():
        recolour = _seen if id(artist) in data else _dark
        if isinstance(artist, Line2D):
            # All are read before one is set: a marker that follows its line would change twice.
            line = artist.get_color()
            face, edge = artist.get_markerfacecolor(), artist.get_markeredgecolor()
            artist.set_color(recolour(line))
            artist.set_markerfacecolor(recolour(face))
            artist.set_markeredgecolor(recolour(edge))
        elif isinstance(artist, Text):
            artist.set_color(_dark(artist.get_color()))
        elif isinstance(artist, Patch):
            face, edge = artist.get_facecolor(), artist.get_edgecolor()
            artist.set_facecolor(recolour(face))
            artist.set_edgecolor(recolour(edge))
        elif isinstance(artist, Collection):
            faces, edges = artist.get_facecolor(), artist.get_edgecolor()
            artist.set_facecolor([recolour(colour) for colour in faces])
            artist.set_edgecolor([recolour(colour) for colour in edges])


def _data(figure: Figure) -> Iterator[Artist]:
    """The artists that show numbers, and those that stand for them in a legend: not the grid, not the frame."""
    for axes in figure.axes:
        yield from axes.lines
        yield from axes.collections
        yield from axes.patches
        legend = axes.get_legend()
        if legend is not None:
            yield from (
                each for handle in legend.legend_handles if handle is not None for each in handle.findobj()
            )
    for legend in figure.legends:
        yield from (
            each for handle in legend.legend_handles if handle is not None for each in handle.findobj()
        )


def contrast(one: Any, other: Any) -> float:
    """The ratio of two colours' luminances, 1 to 21 (WCAG 2.2)."""
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: Any) -> float:
    linear = [
        v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in matplotlib.colors.to_rgb(colour)
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _dark(colour: Any) -> Any:
    try:
        red, green, blue, alpha = matplotlib.colors.to_rgba(colour)
    except ValueError:
        return colour
    low, high = min(red, green, blue), max(red, green, blue)
    if high - low < 0.06:
        # Greys: ink, lines of the grid, paper.
        name = "paper" if low > 0.97 else "line" if low > 0.75 else "soft" if low > 0.3 else "ink"
        return (*matplotlib.colors.to_rgb(DARK[name]), alpha)
    # Colours: a little lighter, so that the dark ones keep their contrast.
    return (*(value + 0.25 * (1 - value) for value in (red, green, blue)), alpha)


def _seen(colour: Any) -> Any:
    """As `_dark`, and lighter until it stands out from the paper. White, the hollow of a marker, becomes paper; transparent stays transparent."""
    dark = _dark(colour)
    paper = matplotlib.colors.to_rgb(DARK["paper"])
    if isinstance(dark, str) or dark[3] == 0 or tuple(dark[:3]) == paper:
        return dark
    rgb = np.asarray(dark[:3])
    while contrast(rgb, paper) < CONTRAST:
        rgb = rgb + 0.1 * (1 - rgb)
    return (*(float(value) for value in rgb), dark[3])


def _error_bars(container: ErrorbarContainer, panel: str, taken: set[int]) -> Iterator[Series]:
    line, caps, bars = container.lines
    taken.update(id(each) for each in caps)
    if line is None:
        return
    taken.add(id(line))
    x, y = np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float)
    halves: list[float] = []
    if bars:
        segments = bars[-1].get_segments()
        if len(segments) == len(x):
            halves = [float(abs(s[-1][1] - s[0][1]) / 2) if len(s) else 0.0 for s in segments]
    yield Series(panel, _name(container), x.tolist(), y.tolist(), halves)


def _course(each: Series) -> str:
    """`rfc9260 falls from 7.1 at 0.003 to 2 at 0.03`."""
    name = each.name or "the curve"
    points = [(x, y) for x, y in zip(each.x, each.y, strict=True) if np.isfinite(x) and np.isfinite(y)]
    if not points:
        return f"{name} has no values"
    if len(points) == 1:
        return f"{name} is {points[0][1]:.3g} at {points[0][0]:.3g}"
    if any(b[0] < a[0] for a, b in itertools.pairwise(points)):
        low, high = min(y for _, y in points), max(y for _, y in points)
        return f"{name}: {len(points)} points between {low:.3g} and {high:.3g}"
    (first_x, first), (last_x, last) = points[0], points[-1]
    values = [y for _, y in points]
    span = max(values) - min(values)
    if span <= 0.02 * max(map(abs, values)):
        return f"{name} stays at {first:.3g} from {first_x:.3g} to {last_x:.3g}"
    way = "rises" if last > first else "falls"
    told = f"{name} {way} from {first:.3g} at {first_x:.3g} to {last:.3g} at {last_x:.3g}"
    top, bottom = (points[values.index(pick(values))] for pick in (max, min))
    if top[1] > max(first, last) + 0.1 * span:
        told += f", highest with {top[1]:.3g} at {top[0]:.3g}"
    if bottom[1] < min(first, last) - 0.1 * span:
        told += f", lowest with {bottom[1]:.3g} at {bottom[0]:.3g}"
    return told


def _title(axes: Axes) -> str:
    return next(
        (text for text in (axes.get_title(loc=loc) for loc in ("left", "center", "right")) if text), ""
    )


def _name(artist: Any) -> str:
    label = str(artist.get_label() or "")
    return "" if label.startswith("_") else label
