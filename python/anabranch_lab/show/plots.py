"""The look of every figure of the project."""

import base64
import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ..judge.claims import Claim
from ..run.grid import Curve

# Okabe and Ito's colours: told apart by everybody, on white and on grey paper.
SCTP = "#0072B2"
TCP = "#D55E00"
PUBLISHED = "#000000"
NS2 = "#009E73"
LINUX = "#CC79A7"
OTHER = "#7a7a7a"

_STYLE = {
    "figure.figsize": (7.2, 4.2),
    "figure.constrained_layout.use": True,
    "savefig.facecolor": "white",
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.7,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "lines.linewidth": 1.4,
    "svg.fonttype": "path",
    # A figure is the same file whenever it is drawn from the same runs.
    "svg.hashsalt": "anabranch",
}


@contextmanager
def style() -> Iterator[None]:
    """The project's style, for as long as a figure is drawn."""
    with matplotlib.rc_context(_STYLE):
        yield


def lay_out(figure: Figure) -> None:
    """Finds the places of panels and titles once, instead of for each file: a third of the time of drawing."""
    with style():
        figure.draw_without_rendering()
    figure.set_layout_engine("none")


def save(figure: Figure, folder: Path, name: str, *, close: bool = True) -> str:
    """Writes NAME.png and NAME.svg; returns the SVG as a data URI for a self-contained page."""
    folder.mkdir(parents=True, exist_ok=True)
    with style():
        figure.savefig(folder / f"{name}.png", dpi=160, metadata={"Software": None})
        buffer = io.BytesIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    if close:
        plt.close(figure)
    svg = buffer.getvalue()
    (folder / f"{name}.svg").write_bytes(svg)
    return uri(svg)


def uri(svg: bytes) -> str:
    """A picture as an address that needs no file."""
    return "data:image/svg+xml;base64," + base64.b64encode(svg).decode()


ENGINES = {
    "ns2-2.28": {"color": SCTP, "marker": "o", "linestyle": "-"},
    "ns2-2.35": {"color": NS2, "marker": "s", "linestyle": "-."},
    "rfc9260": {"color": TCP, "marker": "^", "linestyle": "--"},
}
"""The look of each engine in every figure."""
ENGINE_NAMES = {"ns2-2.28": "SCTP of ns-2.28", "ns2-2.35": "SCTP of ns-2.35", "rfc9260": "RFC 9260"}
"""Names of engines for readers of figures."""
MODEL = {"color": PUBLISHED, "linestyle": ":", "linewidth": 1.2}
CYCLE = (SCTP, TCP, NS2, LINUX, "#E69F00", "#56B4E9")
"""Colours of the curves of one engine, such as those of several Phi."""


def panels(count: int = 2, *, height: float = 3.6, share_x: bool = False) -> tuple[Figure, list[Axes]]:
    """A figure with panels (a), (b), ... side by side, as the thesis has them."""
    figure, axes = plt.subplots(
        1, count, figsize=(4.6 * count, height), sharex=share_x, squeeze=False, constrained_layout=True
    )
    return figure, list(axes[0])


def rows(count: int, *, width: float = 7.2, height: float = 1.9) -> tuple[Figure, list[Axes]]:
    """A figure with panels above each other that share their time axis."""
    figure, axes = plt.subplots(
        count, 1, figsize=(width, height * count), sharex=True, squeeze=False, constrained_layout=True
    )
    return figure, list(axes[:, 0])


def table(
    down: int, across: int, *, width: float = 4.6, height: float = 1.9, share_x: bool = False
) -> tuple[Figure, list[list[Axes]]]:
    """A figure with panels in rows and columns."""
    figure, axes = plt.subplots(
        down,
        across,
        figsize=(width * across, height * down),
        sharex=share_x,
        squeeze=False,
        constrained_layout=True,
    )
    return figure, [list(row) for row in axes]


_NAMES: ContextVar[Mapping[str, str]] = ContextVar("names of engines", default=ENGINE_NAMES)


@contextmanager
def engine_names(names: Mapping[str, str]) -> Iterator[None]:
    """Names engines differently in figures drawn within the context: a study may run one in a configuration of its own."""
    token = _NAMES.set({**ENGINE_NAMES, **names})
    try:
        yield
    finally:
        _NAMES.reset(token)


def named(text: str) -> str:
    """A title or a legend with the names of engines in words, where they stand by themselves between commas."""
    names = _NAMES.get()
    return ", ".join(names.get(part, part) for part in text.split(", "))


WIDE = 20
"""The ratio of values from which a logarithmic axis is used: on a linear one they would lie on each other at its left end."""


def by_factors(values: Sequence[float]) -> bool:
    """Whether values want a logarithmic axis: each is about as many times the one before, or they go over more than a decade."""
    places = sorted(set(values))
    if len(places) < 2 or places[0] <= 0:
        return False
    spread = places[-1] / places[0]
    if len(places) == 2 or spread >= WIDE:
        return spread >= WIDE
    steps, factors = np.diff(places), np.diff(np.log(places))
    # Three and more values over a factor of four: more even in factors than in steps.
    return bool(spread >= 4 and np.std(factors) / np.mean(factors) < np.std(steps) / np.mean(steps) / 2)


def label(axes: Axes, title: str, x: str, y: str, *, log_x: bool = False, log_y: bool = False) -> None:
    """Title and names of the axes of a panel, with their units. An engine has its name in words in the title."""
    axes.set(title=named(title), xlabel=x, ylabel=y)
    if log_x:
        axes.set_xscale("log")
    elif x.startswith("number of"):
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    if log_y:
        axes.set_yscale("log")


def widen_if_flat(axes: Axes, part: float = 0.05) -> None:
    """Widens a linear axis whose values differ by less than `part` of them to that part above and below, so that equal values look equal."""
    low, high = axes.get_ylim()
    middle = abs(low + high) / 2
    if high - low < part * middle:
        axes.set_ylim(min(low, middle * (1 - part)), max(high, middle * (1 + part)))


def legend_below(axes: Axes, columns: int = 4) -> None:
    """A legend of a panel's curves, below all panels of its figure, where it covers none of them; in fewer columns where so many would
    be wider than the figure, as of one panel.
    """
    handles, names = axes.get_legend_handles_labels()
    figure = axes.get_figure(root=True)
    if figure is None or not names:
        return
    for count in range(columns, 0, -1):
        legend = figure.legend(handles, names, loc="outside lower center", ncols=count, fontsize=8)
        if count == 1 or legend.get_window_extent().width <= figure.bbox.width:
            return
        legend.remove()


def curve(axes: Axes, data: Curve, name: str, *, scale: float = 1.0, shift: float = 0.0, **look: Any) -> None:
    """Means with their 95 % intervals; the look is that of the engine when the name is an engine's."""
    style = {
        "markersize": 4.5,
        "capsize": 2.5,
        "elinewidth": 1.0,
        **ENGINES.get(name, {"marker": "o"}),
        **look,
    }
    axes.errorbar(
        [x + shift for x in data.x], scale * data.means, yerr=scale * data.halves, label=named(name), **style
    )


def model(axes: Axes, x: Sequence[float], y: Sequence[float], name: str = "model", **look: Any) -> None:
    """Draws a curve of an equation: a line without points."""
    axes.plot(x, y, label=name, **{**MODEL, **look})


def published(
    axes: Axes, claim: Claim, places: Mapping[str, float], name: str = "published", **look: Any
) -> None:
    """The published values of parts of a claim, each at its x: crosses, with a line as long as the tolerance is."""
    parts = {part.at: part for part in claim.parts}
    shown = [(x, parts[at]) for at, x in places.items() if at in parts and parts[at].value is not None]
    if not shown:
        return
    values = [part.value for _, part in shown]
    bands = [part.band or (part.value, part.value) for _, part in shown]
    axes.errorbar(
        [x for x, _ in shown],
        values,
        yerr=[
            [value - low for value, (low, _) in zip(values, bands, strict=True)],
            [high - value for value, (_, high) in zip(values, bands, strict=True)],
        ],
        label=name,
        **{
            "color": PUBLISHED,
            "marker": "x",
            "linestyle": "none",
            "markersize": 7,
            "elinewidth": 0.8,
            **look,
        },
    )
