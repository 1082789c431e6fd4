"""The claims of experiments XVI and XVII."""

from dataclasses import dataclass

from anabranch_lab.catalogue import ClaimBuilder
from anabranch_lab.claims import Claim, Explanation, Part, above, below, exact, number, within
from anabranch_lab.grid import Grid
from anabranch_lab.models.deterministic import p_low
from anabranch_lab.stats import Estimate, estimate, exponent

from ..common import phi
from ..common.deterministic import between, network, no_slow_start

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

    once = variants.once["XVII"]
    return builder.claim(
        "Z-XVI-1",
        judge,
        explanation=Explanation(
            "In XVII an overflow costs one packet or two. The engine of the thesis has no recovery point: two packets that two SACKs report "
            "cut the window twice, to a quarter. With a recovery point the window follows the model in XVII too.",
            runs=("exp-17/single-recovery",),
            parts=(
                within(
                    "XVII, with a recovery point: RMS difference, of W_Q",
                    0.0,
                    0.03,
                    once.at("rms", engine=THESIS, n=1),
                ),
                within(
                    "XVII, with a recovery point: peak / W_Q", 1.0, 1.03, once.at("peak", engine=THESIS, n=1)
                ),
            ),
        ),
    )


def cycle(builder: ClaimBuilder, runs: Runs, single: Runs, variants: Variants) -> Claim:
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

    length = variants.once["XVII"].sample("cycle", engine=THESIS, n=1)
    got = variants.recovery["XVII"].sample("goodput", engine=THESIS, n=1, phi="1")
    longer = (length / network("XVII").low().length).estimate
    # One cut for each cycle of so many packets of 1500 bytes.
    packets = length * got * (1e6 / 12_000.0)
    cuts_a_packet = estimate(
        [1.0 / value / p_low(network("XVII")) for value in packets.values], packets.least
    )
    return builder.claim(
        "Z-XVI-2",
        judge,
        note="ns-2.35's own runs of XVII with one association have 44 fast retransmits in 413,000 packets, 1.39 times the model's rate.",
        explanation=Explanation(
            "In XVII an overflow costs one packet or two, and each is a fast retransmit; two cut the window twice, as there is no recovery point. "
            "With one the cycle is as long as claimed, and the cuts (not the retransmits) are as rare.",
            runs=("exp-17/single-recovery", "exp-17/recovery"),
            parts=(
                within("XVII, with a recovery point: cycle / model", 1.0, 1.08, longer),
                within("XVII, with a recovery point: cuts a packet / model", 0.92, 1.0, cuts_a_packet),
            ),
        ),
    )


def queue(builder: ClaimBuilder, single: Runs, variants: Variants) -> Claim:
    """Z-XVI-3."""

    def emptied(engine: str, source: Grid = single["XVI"]) -> int:
        least = source.sample("queue_least", engine=engine, n=1).values
        return sum(not value > 0 for value in least)

    def judge(engine: str) -> list[Part]:
        return [
            exact("XVI: runs in which the queue ran empty", 0, emptied(engine)),
            above("XVII: share of the steady phase", 0.0, single["XVII"].at("steady", engine=engine, n=1)),
        ]

    return builder.claim(
        "Z-XVI-3",
        judge,
        explanation=Explanation(
            "A queue of 100 packets outlasts a window cut to half, not one cut to a quarter: without a recovery point an overflow of two packets "
            "does that now and then. With one it never happens.",
            runs=("single-recovery",),
            parts=(
                exact(
                    "XVI, with a recovery point: runs in which the queue ran empty",
                    0,
                    emptied(THESIS, variants.once["XVI"]),
                ),
            ),
        ),
    )


def cuts(builder: ClaimBuilder, cut: Grid, variants: Variants) -> Claim:
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

    return builder.claim(
        "Z-XVI-4",
        judge,
        explanation=Explanation(
            "Without a recovery point an overflow may cut a window twice, and less than half is left of the aggregate. With one it is one half.",
            runs=("cuts-recovery",),
            parts=(
                number(
                    "n = 4, Phi = 1, with a recovery point: median cut",
                    0.50,
                    variants.cuts.at("cut", engine=THESIS, n=4, phi="1"),
                    0.05,
                ),
            ),
        ),
    )


def slope(runs: Grid, engine: str, name: str) -> Estimate:
    """Mbit/s for each further subflow."""
    return runs.curve("goodput", over="n", engine=engine, phi=name).slope()


def goodput(builder: ClaimBuilder, runs: Runs, variants: Variants) -> Claim:
    """Z-XVI-5."""

    def judge(engine: str) -> list[Part]:
        return [
            part
            for name in phi.NAMES
            for part in (
                below(f"XVI, Phi = {name}: slope of the goodput", 0.0, slope(runs["XVI"], engine, name)),
                above(f"XVII, Phi = {name}: slope of the goodput", 0.0, slope(runs["XVII"], engine, name)),
            )
        ]

    gained = (
        variants.recovery["XVI"].sample("goodput", engine=THESIS, n=25, phi="1")
        - runs["XVI"].sample("goodput", engine=THESIS, n=25, phi="1")
    ).estimate
    late = variants.timeouts
    return builder.claim(
        "Z-XVI-5",
        judge,
        note=f"A recovery point changes the goodput of 25 subflows (XVI, Phi = 1) by {gained.text(3)} Mbit/s. ns-2.35's own runs of XVI with "
        "1 to 25 associations all have 10.000 Mbit/s: what arrives behind a bottleneck that never idles is as much as it carries.",
        explanation=Explanation(
            "In XVI the bottleneck never idles, whatever is lost in front of it, and nothing that it carries was there before: goodput stays "
            "where it is. The thesis blames timeouts; there are next to none here. Without fast retransmit, so that every loss is a timeout, "
            "goodput with Phi = 1 falls with the number of subflows.",
            runs=("subflows", "slow", "slow-many", "timeouts"),
            parts=(
                *(
                    within(
                        f"XVI, n = 25, Phi = {name}: goodput, Mbit/s",
                        9.98,
                        10.01,
                        runs["XVI"].at("goodput", engine=THESIS, n=25, phi=name),
                    )
                    for name in phi.NAMES
                ),
                below("XVI, Phi = 1, timeouts only: slope of the goodput", 0.0, slope(late, THESIS, "1")),
            ),
        ),
    )


def bounds(builder: ClaimBuilder, runs: Runs, variants: Variants) -> Claim:
    """Z-XVI-6."""

    def throughput(source: Grid, told: str, n: int, value: str, engine: str, what: str = "") -> Part:
        model = network(told, n, value)
        low, high = (model.low().throughput * 8e-6, model.up().throughput * 8e-6)
        slack = 0.03 * high if told == "XVI" else 0.0
        # Packets are counted whole: a full link carries up to one more than its rate in the time that counts (1 in 8300 at least).
        got = source.at("goodput", engine=engine, n=n, phi=value)
        return within(
            f"{told}, n = {n}, Phi = {value}{what}: goodput, Mbit/s", low - slack, high * 1.0005, got
        )

    def judge(engine: str) -> list[Part]:
        return [
            part
            for told in runs
            for n in (2, *MANY)
            for value in phi.NAMES
            for part in (
                throughput(runs[told], told, n, value, engine),
                between(told, runs[told], n, value, engine),
            )
        ]

    return builder.claim(
        "Z-XVI-6",
        judge,
        note="Without slow start after a fast retransmit: sweeps `no-slow-start`.",
        explanation=Explanation(
            "The model has one loss for each subflow and cycle, and growth by a packet in Phi round trips. After a fast retransmit cwnd equals "
            "ssthresh, which is slow start: the next SACK adds a whole packet, as much as Phi round trips do, and the cycle is so much shorter. "
            "And in XVII two packets of one overflow cut a window of one or two subflows twice, as the engine of the thesis has no recovery point.",
            runs=("no-slow-start", "exp-17/no-slow-start", "exp-17/recovery"),
            parts=(
                *no_slow_start(variants.plain),
                throughput(variants.recovery["XVII"], "XVII", 2, "1", THESIS, ", with a recovery point"),
            ),
        ),
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
