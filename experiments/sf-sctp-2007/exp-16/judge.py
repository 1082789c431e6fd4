"""The claims of experiments XVI and XVII."""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

from anabranch_lab.judge.claims import Claim, ClaimBuilder
from anabranch_lab.judge.comparison import Measured
from anabranch_lab.models.deterministic import p_low
from anabranch_lab.run.grid import Grid
from anabranch_lab.stats import Estimate, estimate, exponent

from ..common import phi, readings
from ..common.deterministic import Runs, growths, network, rate_bounds, several


@dataclass(frozen=True)
class Seen:
    """The measured runs with one reading of how often a window is cut."""

    single: Runs
    """The cycles of one subflow."""
    alone: Runs
    """The fast retransmits of one subflow."""
    runs: Runs
    """One subflow and more, with each simulated Phi."""
    cut: Grid
    """The aggregate of four and of twelve in XVI."""


def claims(builder: ClaimBuilder, text: Seen, by_window: Seen) -> list[Claim]:
    """The claims of the catalogue that name this experiment; `by_window` is the second reading."""

    def claim(identifier: str, measure: Callable[[Seen], dict[str, Measured]], note: str = "") -> Claim:
        return builder.claim(
            identifier, measure(text), readings={readings.WINDOW: measure(by_window)}, note=note
        )

    return [
        claim("Z-XVI-1", lambda seen: window(seen.single)),
        claim(
            "Z-XVI-2",
            lambda seen: cycle(seen.single, seen.alone),
            "Each SACK that marks packets counts, as every lost packet is said to be recovered by a fast retransmit.",
        ),
        claim("Z-XVI-3", lambda seen: empty(seen.single)),
        claim("Z-XVI-4", lambda seen: cuts(seen.cut)),
        claim(
            "Z-XVI-5",
            lambda seen: changes(seen.runs),
            "From one subflow to 25, as a share of the mean. Less than 1 % is no effect.",
        ),
        claim(
            "Z-XVI-6",
            lambda seen: {**goodput_bounds(seen.runs), **rate_bounds(seen.runs, growths(seen.runs["XVI"]))},
        ),
        claim(
            "Z-XVI-7",
            lambda seen: {f"{told}: exponent": growth(runs) for told, runs in seen.runs.items()},
        ),
    ]


def window(single: Runs) -> dict[str, Measured]:
    """The window of one subflow against the model's."""
    parts: dict[str, Measured] = {}
    for told, seen in single.items():
        parts[f"{told}: RMS difference over a cycle, of W_Q"] = seen.at("rms", n=1)
        parts[f"{told}: peak above W_Q, of W_Q"] = seen.sample("peak", n=1) - 1.0
    return parts


def cycle(single: Runs, rates: Runs) -> dict[str, Measured]:
    """The cycle and the fast retransmits of one subflow, one for each cycle in the model (Eq. 4.55)."""
    parts: dict[str, Measured] = {}
    for told, seen in single.items():
        parts[f"{told}: cycle / model"] = seen.sample("cycle", n=1) / network(told).low().length
        rate = rates[told].sample("fr", n=1) / p_low(network(told))
        parts[f"{told}: fast retransmits a packet / model"] = rate
    return parts


def empty(single: Runs) -> dict[str, Measured]:
    """Whether the queue runs empty."""
    return {
        "XVI: least queue, packets": single["XVI"].at("queue_least", n=1),
        "XVII: share of the steady phase": single["XVII"].at("steady", n=1),
    }


def cuts(cut: Grid) -> dict[str, Measured]:
    """The part of the aggregate window that remains after an overflow of the queue, and how smooth that window is."""
    parts: dict[str, Measured] = {}
    for n in (4, 12):
        for name in ("1", "n"):
            parts[f"n = {n}: median cut, Phi = {name}"] = cut.at("cut", n=n, phi=name)
        for small, large in itertools.pairwise(growths(cut)):
            smoother = cut.sample("variation", n=n, phi=small) - cut.sample("variation", n=n, phi=large)
            parts[f"n = {n}: coefficient of variation, Phi = {small} minus {large}"] = smoother
    return parts


def changes(runs: Runs) -> dict[str, Measured]:
    """The change of goodput with the number of subflows."""
    return {
        f"{told}, Phi = {name}: change of the goodput": grid.curve("goodput", over="n", phi=name).change()
        for told, grid in runs.items()
        for name in growths(grid)
    }


def goodput_bounds(runs: Runs) -> dict[str, Measured]:
    """Goodput over its bounds."""
    parts: dict[str, Measured] = {}
    for told, grid in runs.items():
        for n, name in itertools.product(several(grid), growths(grid)):
            got, model = grid.sample("goodput", n=n, phi=name) * 1e6, network(told, n, name)
            for bound, cycle_ in (("B_low", model.low()), ("B_up", model.up())):
                parts[f"{told}, n = {n}, Phi = {name}: goodput / {bound}"] = got / (8 * cycle_.throughput)
    return parts


def growth(runs: Grid) -> Estimate:
    """The power of n^2 / Phi with which fast retransmits grow, seed by seed, from four subflows on."""
    places = [(n, name) for n in several(runs) if n > 2 for name in growths(runs)]
    x = [n * n / phi.value(name, n) for n, name in places]
    samples = [runs.sample("fr", n=n, phi=name) for n, name in places]
    # The sweeps may have stopped after different numbers of seeds.
    seeds = [seed for seed in samples[0].seeds if all(seed in sample.seeds for sample in samples)]
    found = []
    for seed in seeds:
        row = [sample.values[sample.seeds.index(seed)] for sample in samples]
        # A short run may have none at all with a large Phi.
        seen = [(at, rate) for at, rate in zip(x, row, strict=True) if rate > 0]
        found.append(exponent(*zip(*seen, strict=True)) if len(seen) > 2 else math.nan)
    return estimate(found, max(sample.least for sample in samples))
