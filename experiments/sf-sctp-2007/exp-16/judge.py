"""The claims of experiments XVI and XVII."""

from anabranch_lab.catalogue import Book
from anabranch_lab.claims import Claim, Explanation, Part, above, below, exact, number, within
from anabranch_lab.grid import Grid
from anabranch_lab.models.deterministic import p_low, p_rr
from anabranch_lab.stats import Estimate, estimate, exponent

from ..common import phi
from ..common.deterministic import network

Runs = dict[str, Grid]
MANY = (4, 12, 25)


def claims(book: Book, runs: Runs, single: Runs, cut: Grid, recovery: Grid) -> list[Claim]:
    """The claims of the catalogue that name this experiment."""
    return [
        window(book, single),
        cycle(book, runs, single),
        queue(book, single),
        cuts(book, cut),
        goodput(book, runs, recovery),
        bounds(book, runs, recovery),
        growth(book, runs),
    ]


def window(book: Book, single: Runs) -> Claim:
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

    return book.claim("Z-XVI-1", judge)


def cycle(book: Book, runs: Runs, single: Runs) -> Claim:
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

    return book.claim("Z-XVI-2", judge)


def queue(book: Book, single: Runs) -> Claim:
    """Z-XVI-3."""

    def emptied(engine: str) -> int:
        least = single["XVI"].sample("queue_least", engine=engine, n=1).values
        return sum(not value > 0 for value in least)

    def judge(engine: str) -> list[Part]:
        return [
            exact("XVI: runs in which the queue ran empty", 0, emptied(engine)),
            above("XVII: share of the steady phase", 0.0, single["XVII"].at("steady", engine=engine, n=1)),
        ]

    return book.claim("Z-XVI-3", judge)


def cuts(book: Book, cut: Grid) -> Claim:
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

    return book.claim("Z-XVI-4", judge)


def slope(runs: Grid, engine: str, name: str) -> Estimate:
    """Mbit/s for each further subflow."""
    return runs.curve("goodput", over="n", engine=engine, phi=name).slope()


def goodput(book: Book, runs: Runs, recovery: Grid) -> Claim:
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
        recovery.sample("goodput", engine="ns2-2.28", n=25, phi="1")
        - runs["XVI"].sample("goodput", engine="ns2-2.28", n=25, phi="1")
    ).estimate
    return book.claim(
        "Z-XVI-5",
        judge,
        note=f"A recovery point changes the goodput of 25 subflows (XVI, Phi = 1) by {gained.text(3)} Mbit/s.",
        evidence=("recovery",),
    )


def bounds(book: Book, runs: Runs, recovery: Grid) -> Claim:
    """Z-XVI-6."""

    def parts_of(source: Grid, told: str, engine: str) -> list[Part]:
        parts: list[Part] = []
        for n in (2, *MANY):
            for value in phi.NAMES:
                model = network(told, n, value)
                low, high = (model.low().throughput * 8e-6, model.up().throughput * 8e-6)
                slack = 0.03 * high if told == "XVI" else 0.0
                got = source.at("goodput", engine=engine, n=n, phi=value)
                rate = source.at("fr", engine=engine, n=n, phi=value)
                at = f"{told}, n = {n}, Phi = {value}"
                parts += [
                    within(f"{at}: goodput, Mbit/s", low - slack, high * 1.0005, got),
                    within(f"{at}: fast retransmits", p_rr(model), p_low(model), rate),
                ]
        return parts

    def judge(engine: str) -> list[Part]:
        return parts_of(runs["XVI"], "XVI", engine) + parts_of(runs["XVII"], "XVII", engine)

    fewer = (
        runs["XVI"].sample("fr", engine="ns2-2.28", n=12, phi="n")
        - recovery.sample("fr", engine="ns2-2.28", n=12, phi="n")
    ).estimate
    return book.claim(
        "Z-XVI-6",
        judge,
        note=f"A recovery point takes {1e6 * fewer.mean:.0f}e-6 fast retransmits a packet away (XVI, n = 12, Phi = n).",
        explanation=Explanation(
            "The model has one fast retransmit for each subflow and cycle; without a recovery point there are several.",
            runs=("recovery",),
            parts=(above("fast retransmits that a recovery point takes away, n = 12, Phi = n", 0.0, fewer),),
        ),
    )


def growth(book: Book, runs: Runs) -> Claim:
    """Z-XVI-7."""

    def judge(engine: str) -> list[Part]:
        parts = []
        for told in runs:
            places = [(n, value) for n in MANY for value in phi.NAMES]
            x = [n * n / phi.value(value, n) for n, value in places]
            samples = [runs[told].sample("fr", engine=engine, n=n, phi=value).values for n, value in places]
            found = []
            for row in zip(*samples, strict=True):
                # A short run may have none at all with a large Phi.
                seen = [(n, rate) for n, rate in zip(x, row, strict=True) if rate > 0]
                found.append(exponent(*zip(*seen, strict=True)) if len(seen) > 2 else float("nan"))
            parts.append(number(f"{told}: exponent", 1.0, estimate(found), 0.3))
        return parts

    return book.claim("Z-XVI-7", judge)
