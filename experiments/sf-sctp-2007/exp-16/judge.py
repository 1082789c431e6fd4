"""The claims of experiments XVI and XVII."""

from collections.abc import Sequence
from dataclasses import dataclass

from anabranch_lab.judge.claims import (
    Claim,
    ClaimBuilder,
    Explanation,
    Part,
    above,
    below,
    condition,
    number,
    within,
)
from anabranch_lab.models.deterministic import p_low
from anabranch_lab.run.grid import Grid
from anabranch_lab.stats import Estimate, estimate, exponent

from ..common import phi
from ..common.deterministic import between, network

Runs = dict[str, Grid]
THESIS = "ns2-2.28"
"""The engine that the thesis ran."""


@dataclass(frozen=True)
class Variants:
    """What the explanations run."""

    timeouts: Grid
    """XVI without fast retransmit."""
    plain: Runs
    """Phi = n without slow start after a fast retransmit, XVI and XVII."""


MANY = (4, 12, 25)


def claims(builder: ClaimBuilder, runs: Runs, single: Runs, cut: Grid, variants: Variants) -> list[Claim]:
    """The claims of the catalogue that name this experiment."""
    return [
        window(builder, single),
        cycle(builder, runs, single),
        queue(builder, single),
        cuts(builder, cut),
        goodput(builder, runs, variants),
        bounds(builder, runs, variants),
        growth(builder, runs),
    ]


def window(builder: ClaimBuilder, single: Runs) -> Claim:
    """Z-XVI-1."""

    def judge(engine: str) -> list[Part]:
        parts: list[Part] = []
        for told in single:
            parts += [
                within(
                    f"{told}: RMS difference over a cycle, of W_Q",
                    0.0,
                    0.03,
                    single[told].at("rms", engine=engine, n=1),
                ),
                within(f"{told}: peak / W_Q", 1.0, 1.03, single[told].at("peak", engine=engine, n=1)),
            ]
        return parts

    return builder.claim("Z-XVI-1", judge)


def cycle(builder: ClaimBuilder, runs: Runs, single: Runs) -> Claim:
    """Z-XVI-2."""

    def judge(engine: str) -> list[Part]:
        parts: list[Part] = []
        for told in runs:
            model = network(told).low()
            longer = (single[told].sample("cycle", engine=engine, n=1) / model.length).estimate
            # Eq. 4.55: one for each cycle.
            rate = runs[told].sample("fr", engine=engine, n=1, phi="1") / p_low(network(told))
            parts.append(within(f"{told}: cycle / model", 1.0, 1.08, longer))
            parts.append(within(f"{told}: fast retransmits a packet / model", 0.92, 1.0, rate.estimate))
        return parts

    length = single["XVII"].at("cycle", engine=THESIS, n=1)
    cuts = ", ".join(
        f"{(network(told).low().length / single[told].at('cycle', engine=THESIS, n=1).mean):.2f} in {told}"
        for told in runs
    )
    return builder.claim(
        "Z-XVI-2",
        judge,
        note=f"In XVII a cycle lasts {length.text(2)} s, that of the thesis's model {network('XVII').low().length:.2f} s and that of ns-2.35 "
        "9.65 s, and the thesis says that its simulation matches its model almost perfectly: with the module's own rule, a cut for each loss "
        "instead of one for each window, a cycle takes 12.39 s. ns-2.35's own runs of XVII with one association have 44 fast "
        "retransmits in 413,000 packets, 1.39 times the model's rate. Each SACK that marks packets counts, as the thesis says that every lost packet is "
        f"recovered by a fast retransmit; the window is cut once a cycle: in a second {cuts} times as often as in the model.",
    )


def queue(builder: ClaimBuilder, single: Runs) -> Claim:
    """Z-XVI-3."""

    def judge(engine: str) -> list[Part]:
        least = single["XVI"].sample("queue_least", engine=engine, n=1).values
        emptied = sum(not value > 0 for value in least)
        return [
            condition(
                "XVI: runs in which the queue ran empty", "0", str(emptied), emptied == 0, seeds=len(least)
            ),
            above("XVII: share of the steady phase", 0.0, single["XVII"].at("steady", engine=engine, n=1)),
        ]

    return builder.claim("Z-XVI-3", judge)


def cuts(builder: ClaimBuilder, cut: Grid) -> Claim:
    """Z-XVI-4."""

    def judge(engine: str) -> list[Part]:
        return [part for n in (4, 12) for part in several(engine, n)]

    def several(engine: str, n: int) -> list[Part]:
        def at(measure: str, name: str):
            return cut.sample(measure, engine=engine, n=n, phi=name)

        parts = [
            number(f"n = {n}: median cut, Phi = 1", 0.50, at("cut", "1").estimate, 0.05),
            above(f"n = {n}: median cut, Phi = n", 0.55, at("cut", "n").estimate),
        ]
        for small, large in (("1", "n"), ("n", "n^2"), ("n^2", "2n^2")):
            smoother = (at("variation", small) - at("variation", large)).estimate
            parts.append(
                above(f"n = {n}: coefficient of variation: Phi = {small} minus {large}", 0.0, smoother)
            )
        return parts

    return builder.claim("Z-XVI-4", judge)


def slope(runs: Grid, engine: str, name: str) -> Estimate:
    """Mbit/s for each further subflow."""
    return runs.curve("goodput", over="n", engine=engine, phi=name).slope()


def goodput(builder: ClaimBuilder, runs: Runs, variants: Variants) -> Claim:
    """Z-XVI-5."""

    def falls(source: Grid, engine: str, name: str) -> Part:
        return below(f"XVI, Phi = {name}: slope of the goodput", 0.0, slope(source, engine, name))

    def rises(source: Grid, engine: str, name: str) -> Part:
        return above(f"XVII, Phi = {name}: slope of the goodput", 0.0, slope(source, engine, name))

    def judge(engine: str) -> list[Part]:
        return [
            part
            for name in phi.NAMES
            for part in (falls(runs["XVI"], engine, name), rises(runs["XVII"], engine, name))
        ]

    kept = ", ".join(
        f"{runs['XVI'].at('goodput', engine=THESIS, n=25, phi=name).text(3)} ({phi.LABELS[name]})"
        for name in phi.NAMES
    )
    return builder.claim(
        "Z-XVI-5",
        judge,
        note=f"In XVI 25 subflows have {kept} Mbit/s: the bottleneck never idles, whatever is lost in front of it. ns-2.35's own runs of XVI "
        "with 1 to 25 associations all have 10.000 Mbit/s. The thesis blames timeouts; there are next to none here.",
        explanation=[
            Explanation(
                "Every loss is a timeout.",
                runs=("timeouts",),
                parts=tuple(falls(variants.timeouts, THESIS, name) for name in ("1", "n")),
            ),
        ],
    )


def bounds(builder: ClaimBuilder, runs: Runs, variants: Variants) -> Claim:
    """Z-XVI-6. With one subflow both bounds are one number (Z-XVI-2 judges that), so the smallest number here is two."""

    def throughput(source: Grid, told: str, n: int, value: str, engine: str) -> Part:
        model = network(told, n, value)
        low, high = (model.low().throughput * 8e-6, model.up().throughput * 8e-6)
        slack = 0.03 * high if told == "XVI" else 0.0
        # Packets are counted whole: a full link carries up to one more than its rate in the time that counts, of 33 000 at least.
        got = source.at("goodput", engine=engine, n=n, phi=value)
        return within(
            f"{told}, n = {n}, Phi = {value}: goodput, Mbit/s", low - slack, high * (1 + 1 / 33_000), got
        )

    def judge(engine: str, runs: Runs = runs, names: Sequence[str] = phi.NAMES, first: int = 2) -> list[Part]:
        return [
            part
            for told in runs
            for n in (first, *MANY)
            for value in names
            for part in (
                throughput(runs[told], told, n, value, engine),
                between(told, runs[told], n, value, engine),
            )
        ]

    return builder.claim(
        "Z-XVI-6",
        judge,
        explanation=[
            Explanation(
                "The model has growth by a packet in Phi round trips. After a fast retransmit cwnd equals ssthresh, which is slow start: the next "
                "SACK adds a whole packet, as much as Phi round trips do, and the cycle is so much shorter.",
                runs=("no-slow-start", "exp-17/no-slow-start"),
                parts=tuple(judge(THESIS, variants.plain, ("n",))),
            ),
        ],
    )


def growth(builder: ClaimBuilder, runs: Runs) -> Claim:
    """Z-XVI-7."""

    def judge(engine: str) -> list[Part]:
        parts = []
        for told in runs:
            places = [(n, value) for n in MANY for value in phi.NAMES]
            x = [n * n / phi.value(value, n) for n, value in places]
            samples = [runs[told].sample("fr", engine=engine, n=n, phi=value) for n, value in places]
            # The sweeps may have stopped after different numbers of seeds.
            seeds = [seed for seed in samples[0].seeds if all(seed in sample.seeds for sample in samples)]
            found = []
            for seed in seeds:
                row = [sample.values[sample.seeds.index(seed)] for sample in samples]
                # A short run may have none at all with a large Phi.
                seen = [(n, rate) for n, rate in zip(x, row, strict=True) if rate > 0]
                found.append(exponent(*zip(*seen, strict=True)) if len(seen) > 2 else float("nan"))
            parts.append(
                number(f"{told}: exponent", 1.0, estimate(found, max(s.least for s in samples)), 0.3)
            )
        return parts

    return builder.claim("Z-XVI-7", judge)
