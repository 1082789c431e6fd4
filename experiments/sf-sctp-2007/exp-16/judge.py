"""The claims of experiments XVI and XVII."""

from collections.abc import Sequence
from dataclasses import dataclass

from anabranch_lab.catalogue import ClaimBuilder
from anabranch_lab.claims import Claim, Explanation, Part, above, below, condition, number, within
from anabranch_lab.grid import Grid
from anabranch_lab.models.deterministic import p_low
from anabranch_lab.stats import Estimate, estimate, exponent

from ..common import phi
from ..common.deterministic import between, network

Runs = dict[str, Grid]
THESIS = "ns2-2.28"
"""The engine that the thesis ran."""


@dataclass(frozen=True)
class Variants:
    """What the explanations run."""

    recovery: Runs
    """With a recovery point, XVI and XVII."""
    once: Runs
    """With a recovery point, one subflow, over time."""
    timeouts: Grid
    """XVI without fast retransmit."""
    plain: Runs
    """Phi = n without slow start after a fast retransmit, XVI and XVII."""
    cuts: Grid
    """XVI, four subflows, Phi = 1, with a recovery point."""


MANY = (4, 12, 25)


def claims(builder: ClaimBuilder, runs: Runs, single: Runs, cut: Grid, variants: Variants) -> list[Claim]:
    """The claims of the catalogue that name this experiment."""
    return [
        window(builder, single, variants),
        cycle(builder, runs, single, variants),
        queue(builder, single, variants),
        cuts(builder, cut, variants),
        goodput(builder, runs, variants),
        bounds(builder, runs, variants),
        growth(builder, runs),
    ]


def window(builder: ClaimBuilder, single: Runs, variants: Variants) -> Claim:
    """Z-XVI-1."""

    def judge(engine: str, single: Runs = single) -> list[Part]:
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

    return builder.claim(
        "Z-XVI-1",
        judge,
        explanation=Explanation(
            "In XVII an overflow costs one packet or two. The engine of the thesis has no recovery point: two packets that two SACKs report "
            "cut the window twice, to a quarter.",
            runs=("single-recovery", "exp-17/single-recovery"),
            parts=tuple(judge(THESIS, variants.once)),
        ),
    )


def cycle(builder: ClaimBuilder, runs: Runs, single: Runs, variants: Variants) -> Claim:
    """Z-XVI-2."""

    def judge(engine: str, runs: Runs = runs, single: Runs = single) -> list[Part]:
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
    return builder.claim(
        "Z-XVI-2",
        judge,
        note=f"Evidence against the profile: in XVII a cycle of {THESIS} lasts {length.text(2)} s, that of the thesis's model "
        f"{network('XVII').low().length:.2f} s and that of ns-2.35 9.65 s, and the thesis says that its simulation matches its model almost "
        "perfectly. ns-2.35's own runs of XVII with one association have 44 fast retransmits in 413,000 packets, 1.39 times the model's rate.",
        explanation=Explanation(
            "In XVII an overflow costs one packet or two, and each is a fast retransmit; two cut the window twice, as there is no recovery point.",
            runs=("recovery", "single-recovery", "exp-17/recovery", "exp-17/single-recovery"),
            parts=tuple(judge(THESIS, variants.recovery, variants.once)),
        ),
    )


def queue(builder: ClaimBuilder, single: Runs, variants: Variants) -> Claim:
    """Z-XVI-3."""

    def judge(engine: str, single: Runs = single) -> list[Part]:
        least = single["XVI"].sample("queue_least", engine=engine, n=1).values
        emptied = sum(not value > 0 for value in least)
        return [
            condition(
                "XVI: runs in which the queue ran empty", "0", str(emptied), emptied == 0, seeds=len(least)
            ),
            above("XVII: share of the steady phase", 0.0, single["XVII"].at("steady", engine=engine, n=1)),
        ]

    return builder.claim(
        "Z-XVI-3",
        judge,
        explanation=Explanation(
            "A queue of 100 packets outlasts a window cut to half, not one cut to a quarter: without a recovery point an overflow of two packets "
            "does that now and then.",
            runs=("single-recovery", "exp-17/single-recovery"),
            parts=tuple(judge(THESIS, variants.once)),
        ),
    )


def cuts(builder: ClaimBuilder, cut: Grid, variants: Variants) -> Claim:
    """Z-XVI-4."""

    def halved(engine: str, n: int, cut: Grid) -> Part:
        return number(f"n = {n}: median cut, Phi = 1", 0.50, cut.at("cut", engine=engine, n=n, phi="1"), 0.05)

    def judge(engine: str) -> list[Part]:
        return [part for n in (4, 12) for part in several(engine, n)]

    def several(engine: str, n: int) -> list[Part]:
        def at(measure: str, name: str):
            return cut.sample(measure, engine=engine, n=n, phi=name)

        parts = [
            halved(engine, n, cut),
            above(f"n = {n}: median cut, Phi = n", 0.55, at("cut", "n").estimate),
        ]
        for small, large in (("1", "n"), ("n", "n^2"), ("n^2", "2n^2")):
            smoother = (at("variation", small) - at("variation", large)).estimate
            parts.append(
                above(f"n = {n}: coefficient of variation: Phi = {small} minus {large}", 0.0, smoother)
            )
        return parts

    return builder.claim(
        "Z-XVI-4",
        judge,
        explanation=Explanation(
            "Without a recovery point an overflow may cut a window twice, and less than half is left of the aggregate.",
            runs=("cuts-recovery",),
            parts=(halved(THESIS, 4, variants.cuts),),
        ),
    )


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
                "Several halvings for each overflow, and the timeouts behind them.",
                runs=("recovery", "exp-17/recovery"),
                parts=tuple(
                    part
                    for name in ("1", "n")
                    for part in (
                        falls(variants.recovery["XVI"], THESIS, name),
                        rises(variants.recovery["XVII"], THESIS, name),
                    )
                ),
            ),
            Explanation(
                "Every loss is a timeout.",
                runs=("timeouts",),
                parts=tuple(falls(variants.timeouts, THESIS, name) for name in ("1", "n")),
            ),
        ],
    )


def bounds(builder: ClaimBuilder, runs: Runs, variants: Variants) -> Claim:
    """Z-XVI-6."""

    def throughput(source: Grid, told: str, n: int, value: str, engine: str) -> Part:
        model = network(told, n, value)
        low, high = (model.low().throughput * 8e-6, model.up().throughput * 8e-6)
        slack = 0.03 * high if told == "XVI" else 0.0
        # Packets are counted whole: a full link carries up to one more than its rate in the time that counts (1 in 8300 at least).
        got = source.at("goodput", engine=engine, n=n, phi=value)
        return within(f"{told}, n = {n}, Phi = {value}: goodput, Mbit/s", low - slack, high * 1.0005, got)

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
            Explanation(
                "The model has one loss for each subflow and cycle. Two packets of one overflow cut a window twice, as the engine of the thesis "
                "has no recovery point.",
                runs=("recovery", "exp-17/recovery"),
                parts=tuple(judge(THESIS, variants.recovery, ("1", "n"))),
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
