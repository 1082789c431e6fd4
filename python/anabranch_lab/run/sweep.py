"""`anabranch-lab sweep scenario.toml --axis KEY=VALUES ...`: a grid over one scenario, without a folder."""

import argparse
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from ..plan import plan
from ..plan.plan import Axis, PlanError
from ..show import overview, plots, tables
from ..verbs import VERBS
from . import campaign, executors
from .progress import PROGRESS, Recorded
from .results import Results
from .schedule import Schedule

EXAMPLE = "anabranch-lab sweep wan.toml --axis link.bottleneck.rate='1..100 log 5 Mbit/s' --axis flow.up.engine=rfc9260,linux-6.1"
_RANGE = re.compile(
    r"\s*(?P<low>-?[\d.eE+-]*?\d)\s*\.\.\s*(?P<high>-?[\d.eE+-]*\d)(?P<how>\s+(?P<word>step|in|log)\s+(?P<n>\S+))?\s*"
)
_NUMBER = re.compile(r"\s*(-?\d*\.?\d+(?:[eE][-+]?\d+)?)\s*")
_QUANTITY = re.compile(r"\s*(-?\d*\.?\d+(?:[eE][-+]?\d+)?)\s*([A-Za-z/]+)\s*")
MANY = 1000
"""The most values of an axis; more are a typing error."""


def add(commands: Any) -> None:
    """The verb and its options."""
    command = commands.add_parser(
        "sweep",
        help=VERBS["sweep"],
        description="Runs a scenario at every combination of the values of some axes, and prints means with 95 % intervals. "
        "What is on disk is not run again.",
        epilog="VALUES: `1,2,5`, `1..12`, `0..100 step 20`, `0..1 in 5` (evenly spaced), `1..100 log 5`; numbers take the unit behind "
        f"them, or else that of the scenario. Texts (`rfc9260,linux-6.1`) are values too. Example: {EXAMPLE}",
    )
    command.set_defaults(command=run)
    command.add_argument(
        "scenario", type=Path, metavar="SCENARIO", help="a scenario file (docs/reference/scenario.md)"
    )
    command.add_argument(
        "--axis",
        action="append",
        default=[],
        metavar="KEY=VALUES",
        help="a dimension of the grid; KEY is one of `--set`, or several with commas between them that get the same value",
    )
    command.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="a value for the whole grid"
    )
    command.add_argument(
        "--measure",
        action="append",
        default=[],
        metavar="flow.NAME.COLUMN",
        help="what to look at (default: goodput or duration of every flow, and how busy the first queue's link is)",
    )
    executors.add(command)
    command.add_argument("--seeds", default="1..10", help="runs of each point (default 1..10)")
    command.add_argument("--out", type=Path, default=Path("out"), help="folder for results (default: out)")
    command.add_argument(
        "--plot", type=Path, metavar="FILE", help="FILE.png or FILE.svg (default: under --out)"
    )


def run(options: argparse.Namespace, console: Console) -> int:
    """Makes the runs, prints the table, writes the figure and the values of every run."""
    if options.plot is not None and options.plot.suffix not in (".png", ".svg"):
        raise PlanError(f"--plot {options.plot}: a name that ends in .png or .svg is needed")
    results = Results(
        planned(options.scenario, options.axis, options.set, options.seeds), options.out / "results"
    )
    (sweep,) = results.plan.sweeps
    measures = [overview.measure(each) for each in options.measure]
    schedule = Schedule(results)
    where = executors.executor(options, options.out)
    with Recorded(results.plan.name, console, where.width, options.out / PROGRESS) as bar:
        campaign.run([schedule], where, bar)
    found = overview.look(results, sweep, measures)
    console.print(tables.headline(found.table()))
    folder = options.out / "sweep"
    folder.mkdir(parents=True, exist_ok=True)
    values = folder / f"{results.plan.name}.csv"
    values.write_text(found.csv(), encoding="utf-8")
    console.print(f"every run: {values}")
    if any(len(axis.values) > 1 for axis in sweep.axes):
        path = options.plot or folder / f"{results.plan.name}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        with plots.style():
            drawn = found.figure()
            drawn.savefig(path, dpi=160)
            plots.plt.close(drawn)
        console.print(f"drawn: {path}")
    return 0


def planned(scenario: Path, axes: Sequence[str], settings: Sequence[str], seeds: str) -> plan.Plan:
    """The plan that the options stand for."""
    document = plan.read(scenario)
    fixed = {}
    for text in settings:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise PlanError(f"--set {text}: write KEY=VALUE, such as duration='60 s'")
        fixed[key.strip()] = _value(value.strip())
        plan.put(document, key.strip(), fixed[key.strip()])
    found = tuple(axis(text, document) for text in axes)
    for each in found:
        if [other.name for other in found].count(each.name) > 1:
            raise PlanError(f"--axis {each.name}: it stands there twice")
    runs = plan.parse_seeds(seeds)
    over = " and ".join(each.name for each in found) or "one point"
    name = re.sub(r"\W+", "-", scenario.stem)
    one = plan.Sweep(
        name="sweep",
        about=f"{scenario.name} over {over}",
        scenario=scenario,
        set=fixed,
        axes=found,
        seeds=runs,
        quick_seeds=runs,
    )
    return plan.Plan(
        name=name, folder=scenario.parent, title=name, study=plan.OWN, reference="", sweeps=(one,)
    )


def axis(text: str, scenario: Mapping[str, Any]) -> Axis:
    """An axis as the command line has it: `link.bottleneck.rate=1..100 log 5 Mbit/s`."""
    left, equals, right = text.partition("=")
    keys = [key.strip() for key in left.split(",")]
    if not equals or not all(keys) or not right.strip():
        raise PlanError(f"--axis {text}: write KEY=VALUES, such as link.bottleneck.rate='1..10 Mbit/s'")
    before = present(scenario, keys[0])
    values, unit = parse(right, f"--axis {keys[0]}")
    if unit == "" and all(isinstance(value, int | float) for value in values) and isinstance(before, str):
        known = _QUANTITY.fullmatch(before)
        unit = known[2] if known else ""
    name = keys[0]
    if name.rpartition(".")[2] in plan.RESERVED and "." not in name:
        raise PlanError(f"--axis {name}: no axis can be called so")
    settings = tuple(dict.fromkeys(keys, f"{value:.12g} {unit}" if unit else value) for value in values)
    return Axis(name, tuple(values), settings, f"{name}, {unit}" if unit else name)


def parse(text: str, where: str) -> tuple[list[Any], str]:
    """Values and the unit behind them: `1, 2, 5 Mbit/s`, `1..100 log 5 ms`, `red, blue`."""
    body, unit = _unit(text)
    values: list[Any] = []
    for part in body.split(","):
        known = _RANGE.fullmatch(part)
        if known:
            values += _range(known, part, where)
        elif _NUMBER.fullmatch(part):
            values.append(_number(part))
        else:
            # Texts, or quantities with a unit each: nothing that a unit at the end belongs to.
            return _texts(text, where), ""
    if len(set(values)) != len(values):
        raise PlanError(f"{where}: a value stands there twice")
    return values, unit


def _unit(text: str) -> tuple[str, str]:
    found = re.fullmatch(r"(.*\d)\s*([A-Za-z/]*)\s*", text.strip())
    return (found[1], found[2]) if found else (text, "")


def _texts(text: str, where: str) -> list[Any]:
    values = [_value(part.strip()) for part in text.split(",")]
    if "" in values or len(set(map(str, values))) != len(values):
        raise PlanError(f"{where}: `{text}`: an empty value, or one that stands there twice")
    return values


def _range(known: re.Match[str], part: str, where: str) -> list[Any]:
    low, high = _number(known["low"]), _number(known["high"])
    if high < low:
        raise PlanError(f"{where}: `{part.strip()}` is empty")
    word = known["word"]
    if word is None or word == "step":
        step = _number(known["n"]) if word else 1
        if step <= 0 or (high - low) / step > MANY:
            raise PlanError(f"{where}: `{part.strip()}`: from 1 to {MANY} values are possible")
        count = int((high - low) / step + 1e-9) + 1
        return [_tidy(low + index * step) for index in range(count)]
    try:
        count = int(known["n"])
    except ValueError:
        count = 0
    if not 2 <= count <= MANY or (word == "log" and low <= 0):
        raise PlanError(
            f"{where}: `{part.strip()}`: 2 to {MANY} values are possible, and `log` begins above 0"
        )
    spaced = np.geomspace(low, high, count) if word == "log" else np.linspace(low, high, count)
    # Three digits: 3.16, not 3.1622776601683795; a quantity has to be a whole number of bits or nanoseconds.
    return [_tidy(float(f"{each:.3g}")) for each in spaced]


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        try:
            return _tidy(float(text))
        except ValueError:
            raise PlanError(f"`{text.strip()}` is not a number") from None


def _tidy(value: float) -> int | float:
    rounded = float(f"{value:.12g}")
    return int(rounded) if rounded == int(rounded) else rounded


def _value(text: str) -> Any:
    """A value as `--set` takes it: TOML, or a text without quotes."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def present(scenario: Mapping[str, Any], key: str) -> Any:
    """The value of a scenario for a key of `--set`, or nothing."""
    at: Any = scenario
    for step in plan.split(key):
        if isinstance(at, list):
            at = next((entry for entry in at if plan.alike(str(entry.get("name")), step)), None)
        elif isinstance(at, Mapping):
            at = at.get(step)
        else:
            return None
    return at
