"""One HTML file with everything in it: verdicts, tables, figures, and what they were made with."""

import platform
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import metadata, resources
from pathlib import Path

import jinja2

from . import _core, claims, plots
from .experiment import Analysis, root
from .sweep import Runner

CLASSES = {claims.REPRODUCED: "yes", claims.NOT_REPRODUCED: "no", claims.EXPLAINED: "differs"}


def write(sections: Sequence[tuple[Runner, Analysis]], folder: Path) -> Path:
    """Draws every figure and writes FOLDER/index.html; returns its path."""
    folder.mkdir(parents=True, exist_ok=True)
    parts = []
    for runner, analysis in sections:
        figures = []
        for figure in analysis.figures:
            with plots.style():
                drawn = figure.draw()
            uri = plots.save(drawn, folder / "figures", f"{runner.plan.name}-{figure.name}")
            figures.append((figure, uri))
        parts.append({"plan": runner.plan, "runner": runner, "analysis": analysis, "figures": figures})
    page = template().render(
        parts=parts,
        classes=CLASSES,
        count=claims.count([claim for _, analysis in sections for claim in analysis.claims]),
        facts=facts(sections),
        text=text,
    )
    path = folder / "index.html"
    part = path.with_suffix(".part")
    part.write_text(page, encoding="utf-8")
    part.replace(path)
    return path


def template() -> jinja2.Template:
    """The page."""
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    source = resources.files(__package__).joinpath("report.html.j2").read_text(encoding="utf-8")
    return environment.from_string(source)


def text(value: float | str | None, digits: int = 2) -> str:
    """A cell of the claims table."""
    if value is None:
        return ""
    return value if isinstance(value, str) else f"{value:.{digits}f}"


def facts(sections: Sequence[tuple[Runner, Analysis]]) -> list[tuple[str, str]]:
    """What the report was made with."""
    runs = sum(len(runner.jobs()) for runner, _ in sections)
    quick = any(runner.quick for runner, _ in sections)
    return [
        ("runs", f"{runs:,}" + (" (quick: too few to judge a number)" if quick else "")),
        ("commit", _commit()),
        ("simulator", f"anabranch {_core.__version__}, build {sections[0][0].code if sections else 'none'}"),
        (
            "lab",
            f"Python {platform.python_version()}, "
            + ", ".join(f"{name} {metadata.version(name)}" for name in ("pyarrow", "duckdb", "matplotlib")),
        ),
        ("made", datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")),
    ]


def _commit() -> str:
    try:
        return subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=12"],
            cwd=root(),
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "not a git checkout"
