"""The claims of experiment IV."""

from collections.abc import Mapping

from anabranch_lab.catalogue import ClaimBuilder
from anabranch_lab.claims import Claim, Explanation, Part, above, number, share_above
from anabranch_lab.grid import Grid
from anabranch_lab.stats import Estimate

THESIS = "ns2-2.28"
"""The engine that the thesis ran."""


def claims(
    builder: ClaimBuilder,
    runs: Grid,
    spread: Grid,
    seen: Grid,
    trips: Grid,
    together: Mapping[str, Grid],
    closely: tuple[Grid, Grid],
) -> list[Claim]:
    """The claims of the catalogue that name this experiment; `spread` is the sweep of that name."""
    return [
        utilisation(builder, runs, spread),
        drops(builder, runs),
        cycle(builder, seen, trips),
        phases(builder, seen),
        synchronous(builder, together["sampled"], together["sampled-red"], *closely),
    ]


def utilisation(builder: ClaimBuilder, runs: Grid, spread: Grid) -> Claim:
    """Z-IV-1."""

    def judge(engine: str, runs: Grid = runs, of: str = "utilisation") -> list[Part]:
        measured = runs.curve(of, over="n", engine=engine)
        return [
            number("n = 1, %", 92.0, measured.at(1), 2.0),
            number("n = 12, %", 95.4, measured.at(12), 2.0),
            number("rise, pp", 3.4, measured.rise(1, 12), 1.5),
        ]

    used = judge(THESIS, runs, "user_data")
    holds = " and ".join(part.at.removesuffix(", %").removesuffix(", pp") for part in used if part.holds)
    comes_out = f"{sum(part.holds for part in used)} of its {len(used)} numbers come out ({holds or 'none'})"
    return builder.claim(
        "Z-IV-1",
        judge,
        note="User data (948 of 1000 bytes) take "
        + " and ".join(f"{part.measured:.2f} % with {part.at.removesuffix(', %')}" for part in used[:2])
        + f": if that is what the thesis calls utilisation, {comes_out}.",
        explanation=Explanation(
            "The receiving host takes no time for a packet, as hosts in ns-2 do by themselves: nothing is random then, and flows fall into step with the queue.",
            runs=("spread",),
            parts=tuple(judge(THESIS, spread)),
        ),
    )


def drops(builder: ClaimBuilder, runs: Grid) -> Claim:
    """Z-IV-2."""

    def judge(engine: str) -> list[Part]:
        measured = runs.curve("drop_rate", over="n", engine=engine)
        return [number("log-log slope", 2.0, measured.exponent(), 0.4)]

    return builder.claim("Z-IV-2", judge)


def cycle(builder: ClaimBuilder, seen: Grid, trips: Grid) -> Claim:
    """Z-IV-3."""

    def judge(engine: str) -> list[Part]:
        peak, rate = (seen.at(name, engine=engine, n=1) for name in ("peak", "rate"))
        # Measured round trips, not their smoothed mean, which has no time to come down.
        trip = trips.at("least", engine=engine, n=1)
        return [
            number("peak of the window, MTU", 150.0, peak, 0.03 * 150.0, above=0.05 * 150.0),
            number("round trip when nothing waits, s", 0.100, trip, 0.002),
            number("rate when the steady phase begins, Mbit/s", 9.0, rate, 0.03 * 9.0),
        ]

    return builder.claim("Z-IV-3", judge)


def phases(builder: ClaimBuilder, seen: Grid) -> Claim:
    """Z-IV-4."""

    def judge(engine: str) -> list[Part]:
        return [
            number(
                f"{state}, n = 1 / n = 4",
                4.0,
                seen.sample(state, engine=engine, n=1).over(seen.sample(state, engine=engine, n=4)),
                0.6,
            )
            for state in ("QBU", "QSD")
        ]

    return builder.claim("Z-IV-4", judge, note="Mean lengths of single phases.")


def synchronous(builder: ClaimBuilder, droptail: Grid, red: Grid, closely: Grid, closely_red: Grid) -> Claim:
    """Z-IV-5, for experiments IV to VII."""

    def difference(engine: str) -> Estimate:
        index, other = (grid.sample("index", engine=engine, n=4) for grid in (droptail, red))
        return (index - other).estimate

    def emptied(engine: str) -> Estimate:
        """The same instrument on a queue that is said to grow again: it must tell the two apart."""
        here = closely.sample("emptied", engine=engine, place="IV") / closely.sample(
            "drains", engine=engine, place="IV"
        )
        there = closely_red.sample("emptied", engine=engine) / closely_red.sample("drains", engine=engine)
        return (here - there).estimate

    def judge(engine: str) -> list[Part]:
        def total(name: str, place: str) -> int:
            return round(sum(closely.sample(name, engine=engine, place=place).values))

        def seeds(place: str) -> int:
            return len(closely.sample("falls", engine=engine, place=place).values)

        return [
            *(
                part
                for place in closely.values("place")
                for part in (
                    share_above(
                        f"{place}: falls of the aggregate whose subflows fall to one half or less in sum, n = 4",
                        0.95,
                        total("halved", place),
                        total("falls", place),
                        seeds(place),
                    ),
                    share_above(
                        f"{place}: draining queues that run empty before they grow, n = 4",
                        0.95,
                        total("emptied", place),
                        total("drains", place),
                        seeds(place),
                    ),
                )
            ),
            above("synchronisation, n = 4: Drop-Tail minus RED", 0.0, difference(engine)),
            above("draining queues that run empty, n = 4: Drop-Tail minus RED", 0.0, emptied(engine)),
        ]

    return builder.claim(
        "Z-IV-5",
        judge,
        note="Synchronisation is the mean correlation of two windows of one association. A fall of the aggregate is that of its "
        "subflows: they are cut a few tenths of a second apart and grow meanwhile. What a cut leaves is read from ssthresh. Falls by a tenth of the "
        "highest aggregate count, and drains by ten packets, as in Z-VIII-3. Shares take the falls of one run for independent of one another.",
    )
