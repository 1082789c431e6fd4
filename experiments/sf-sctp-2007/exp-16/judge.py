"""The claims of experiments XVI and XVII."""

import itertools
import math

from anabranch_lab.judge.claims import Claim, ClaimBuilder
from anabranch_lab.judge.comparison import Measured
from anabranch_lab.models.deterministic import p_low
from anabranch_lab.run.grid import Grid
from anabranch_lab.stats import Estimate, estimate, exponent

from ..common import phi
from ..common.deterministic import Runs, network, rate_bounds, several

WINDOW = "one cut each window"


def claims(
    builder: ClaimBuilder, runs: Runs, single: Runs, cut: Grid, by_window: Runs, rates: Runs
) -> list[Claim]:
    """The claims of the catalogue that name this experiment; `by_window` and `rates` are the second reading."""
    alone = {told: runs[told].only(phi="1") for told in runs}
    return [
        builder.claim("Z-XVI-1", window(single), readings={WINDOW: window(by_window)}),
        builder.claim(
            "Z-XVI-2",
            cycle(single, alone),
            readings={WINDOW: cycle(by_window, rates)},
            note="Each SACK that marks packets counts, as every lost packet is said to be recovered by a fast retransmit.",
        ),
        builder.claim(
            "Z-XVI-3",
            {
                "XVI: least queue, packets": single["XVI"].at("queue_least", n=1),
                "XVII: share of the steady phase": single["XVII"].at("steady", n=1),
            },
        ),
        builder.claim("Z-XVI-4", cuts(cut)),
        builder.claim(
            "Z-XVI-5",
            {
                f"{told}, Phi = {name}: change of the goodput": runs[told]
                .curve("goodput", over="n", phi=name)
                .change()
                for told in runs
                for name in phi.NAMES
            },
            note="From one subflow to 25, as a share of the mean. Less than 1 % is no effect.",
        ),
        builder.claim("Z-XVI-6", {**goodput_bounds(runs), **rate_bounds(runs, phi.NAMES)}),
        builder.claim("Z-XVI-7", {f"{told}: exponent": growth(runs[told]) for told in runs}),
    ]


def window(single: Runs) -> dict[str, Measured]:
    """The window of one subflow against the model's."""
    parts: dict[str, Measured] = {}
    for told, seen in single.items():
        parts[f"{told}: RMS difference over a cycle, of W_Q"] = seen.at("rms", n=1)
        parts[f"{told}: peak above W_Q, of W_Q"] = seen.sample("peak", n=1) - 1.0
    return parts


def cycle(single: Runs, rates: Runs) -> dict[str, Measured]:
    """Its cycle and its fast retransmits, one for each cycle in the model (Eq. 4.55)."""
    parts: dict[str, Measured] = {}
    for told, seen in single.items():
        parts[f"{told}: cycle / model"] = seen.sample("cycle", n=1) / network(told).low().length
        rate = rates[told].sample("fr", n=1) / p_low(network(told))
        parts[f"{told}: fast retransmits a packet / model"] = rate
    return parts


def cuts(cut: Grid) -> dict[str, Measured]:
    """The part of the aggregate window that remains after an overflow of the queue, and how smooth that window is."""
    parts: dict[str, Measured] = {}
    for n in (4, 12):
        for name in ("1", "n"):
            parts[f"n = {n}: median cut, Phi = {name}"] = cut.at("cut", n=n, phi=name)
        for small, large in itertools.pairwise(phi.NAMES):
            smoother = cut.sample("variation", n=n, phi=small) - cut.sample("variation", n=n, phi=large)
            parts[f"n = {n}: coefficient of variation, Phi = {small} minus {large}"] = smoother
    return parts


def goodput_bounds(runs: Runs) -> dict[str, Measured]:
    """Goodput over its bounds."""
    parts: dict[str, Measured] = {}
    for told, grid in runs.items():
        for n, name in itertools.product(several(grid), phi.NAMES):
            got, model = grid.sample("goodput", n=n, phi=name) * 1e6, network(told, n, name)
            for bound, cycle_ in (("B_low", model.low()), ("B_up", model.up())):
                parts[f"{told}, n = {n}, Phi = {name}: goodput / {bound}"] = got / (8 * cycle_.throughput)
    return parts


def growth(runs: Grid) -> Estimate:
    """With which power of n^2 / Phi fast retransmits grow, seed by seed, from four subflows on."""
    places = [(n, name) for n in several(runs) if n > 2 for name in phi.NAMES]
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
