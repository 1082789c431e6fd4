"""How every figure of the project looks."""

import base64
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.figure import Figure

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


def save(figure: Figure, folder: Path, name: str) -> str:
    """Writes NAME.png and NAME.svg; returns the SVG as a data URI for a self-contained page."""
    folder.mkdir(parents=True, exist_ok=True)
    with style():
        figure.savefig(folder / f"{name}.png", dpi=160, metadata={"Software": None})
        buffer = io.BytesIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    plt.close(figure)
    svg = buffer.getvalue()
    (folder / f"{name}.svg").write_bytes(svg)
    return "data:image/svg+xml;base64," + base64.b64encode(svg).decode()
