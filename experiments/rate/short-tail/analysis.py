"""The tail of short flows: from runs to grades, figures and a finding."""

import math

import numpy as np
from matplotlib.figure import Figure

from anabranch_lab.judge.claims import Claim, ClaimBuilder
from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.judge.experiment import Figure as Entry
from anabranch_lab.judge.figures import Table
from anabranch_lab.run import grid
from anabranch_lab.run.grid import Grid, Sample
from anabranch_lab.run.results import Results
from anabranch_lab.show import plots

MEASURES = {
    "close": "1000 * " + grid.of_flow("flow", "close_s"),
    "sent": grid.of_link("down", "arrivals"),
    "answered": grid.of_link("up", "arrivals"),
}
"""The time at which the sender has closed in good order, ms from the opening; packets of the server and of the client, lost ones too."""

LETTER, PLAIN, PROBED, TCP = (
    "SCTP, RFC 9260",
    "SCTP modern, no control probe",
    "SCTP modern",
    "TCP, Linux 6.1",
)
COLOURS = {LETTER: plots.OTHER, PLAIN: plots.CYCLE[4], PROBED: plots.SCTP, TCP: plots.TCP}
SHUTDOWN = 19
"""Position among the packets of the server: INIT ACK, COOKIE ACK, 16 of data."""
FAR = (
    "At 300 ms a probe comes after 600 ms and an RTO after 1000: what is saved is less than half, and two losses, or one of the "
    "COOKIE ACK with a window of data behind it, make a flow 900 ms late with the probe, too."
)
LATE = 900.0
"""Milliseconds later than a flow that loses nothing: a flow so late has waited for a timer of a second."""


def analyse(results: Results) -> Analysis:
    """Analyses the runs for the laboratory: claims, findings, tables and figures."""
    server, client = (results.grid(name, MEASURES) for name in ("server", "client"))
    single = Single(server, client)
    chance = Chance(results.grid("random", MEASURES), single)
    return Analysis(
        claims=claims(claim_builder(results), single, chance),
        tables=[costs(single), tails(chance)],
        headline=costs(single),
        figures=[
            *(
                Entry(
                    f"figure-{trip}",
                    f"When the sender has closed, by the packet that is lost: round trip {trip} ms",
                    "Server: 19 is SHUTDOWN. Client: 2 is COOKIE ECHO, the last is SHUTDOWN ACK. 0: nothing is lost. TCP's are others: its 2 to 18 "
                    "of the server are data, the last with FIN.",
                    lambda trip=trip: by_position(single, trip),
                )
                for trip in single.trips
            ),
            *(
                Entry(
                    f"figure-random-{loss}",
                    f"Share of flows that have not closed by then: {loss} % lost at random",
                    "Both ways lose packets, the same ones by number for all.",
                    lambda loss=loss: by_chance(chance, loss),
                )
                for loss in chance.losses
            ),
        ],
        findings=findings(single, chance),
    )


class Single:
    """Flows of which one packet is lost."""

    def __init__(self, server: Grid, client: Grid):
        self._grids = {"down": server, "up": client}
        self.trips = sorted(server.values("trip"), key=float)

    def positions(self, way: str) -> list[int]:
        """The numbers of packets, 0 for none."""
        return [int(each) for each in self._grids[way].values(way)]

    def value(self, measure: str, who: str, trip: str, way: str = "down", position: int = 0) -> float:
        """A measure of one flow: nothing is drawn."""
        values = self._grids[way].sample(measure, who=who, trip=trip, **{way: position}).values
        return float("inf") if values[0] is None else float(values[0])

    def extra(self, who: str, trip: str, way: str, position: int) -> float:
        """How much later the sender has closed than without a loss, ms."""
        return self.value("close", who, trip, way, position) - self.value("close", who, trip, way)

    def last(self, who: str, trip: str) -> int:
        """The position of SHUTDOWN ACK: the client sends nothing after it."""
        last = round(self.value("answered", who, trip, "up"))
        if last not in self.positions("up"):
            raise ValueError(f"the client sends {last} packets; the plan loses none beyond them")
        return last

    def chunks(self, who: str, trip: str) -> dict[str, tuple[str, int]]:
        """The direction and position of the control chunks that have an answer, or are one."""
        return {
            "COOKIE ECHO": ("up", 2),
            "COOKIE ACK": ("down", 2),
            "SHUTDOWN": ("down", SHUTDOWN),
            "SHUTDOWN ACK": ("up", self.last(who, trip)),
        }


class Chance:
    """Flows that lose packets at random: some hundred with each seed."""

    def __init__(self, runs: Grid, single: Single):
        self.runs, self._single = runs, single
        self.trips, self.losses = single.trips, runs.values("loss")
        self._known: dict[tuple[str, str, str], tuple[tuple[int, ...], np.ndarray]] = {}

    def _flows(self, who: str, trip: str, loss: str) -> tuple[tuple[int, ...], np.ndarray]:
        """Seeds, and closing times in ms, a row for each seed. A flow that never closed has infinity."""
        place = (who, trip, loss)
        if place not in self._known:
            self._known[place] = self._read(who, trip, loss)
        return self._known[place]

    def _read(self, who: str, trip: str, loss: str) -> tuple[tuple[int, ...], np.ndarray]:
        samples = [
            self.runs.sample("close", who=who, trip=trip, loss=loss, again=again)
            for again in self.runs.values("again")
        ]
        values = [[math.inf if v is None else v for v in sample.values] for sample in samples]
        return samples[0].seeds, np.array(values, dtype=float).T

    def all(self, who: str, trip: str, loss: str) -> np.ndarray:
        """All closing times, ascending, ms."""
        return np.sort(self._flows(who, trip, loss)[1], axis=None)

    def percentile(self, part: float, who: str, trip: str, loss: str) -> Sample:
        """Nearest rank, seed by seed, ms."""
        seeds, flows = self._flows(who, trip, loss)
        rank = max(1, math.ceil(part * flows.shape[1])) - 1
        return self._sample(seeds, np.sort(flows, axis=1)[:, rank])

    def late(self, who: str, trip: str, loss: str) -> Sample:
        """Share of flows that have waited for a timer, seed by seed."""
        seeds, flows = self._flows(who, trip, loss)
        least = self._single.value("close", who, trip) + LATE
        return self._sample(seeds, (flows >= least).mean(axis=1))

    @staticmethod
    def _sample(seeds: tuple[int, ...], values: np.ndarray) -> Sample:
        return Sample(seeds, tuple(float(value) for value in values))


def claims(builder: ClaimBuilder, single: Single, chance: Chance) -> list[Claim]:
    """The hypotheses of claims.toml that name this experiment."""
    cost, acked, same, sooner, rarer = {}, {}, {}, {}, {}
    for trip in single.trips:
        chunks = single.chunks(PROBED, trip)
        for name, (way, position) in chunks.items():
            before, after = (single.extra(who, trip, way, position) for who in (PLAIN, PROBED))
            if name == "COOKIE ACK":
                acked[f"{trip} ms: with over without"] = after / before
                continue
            cost[f"{trip} ms, {name}: ms more, without"] = before
            cost[f"{trip} ms, {name}: ms more, with"] = after
        names = {place: name for name, place in chunks.items()}
        for way, end, counted in (("down", "server", "sent"), ("up", "client", "answered")):
            for k in single.positions(way):
                before, after = (single.value("close", who, trip, way, k) for who in (PLAIN, PROBED))
                told = names.get((way, k), f"packet {k}")
                same[f"{trip} ms, {end}: {told}, ms later with the probe"] = after - before
            packets = [single.value(counted, who, trip) for who in (PLAIN, PROBED)]
            same[f"{trip} ms, {end}: packets more without a loss"] = packets[1] - packets[0]
    for trip in chance.trips:
        first, second = (chance.percentile(0.95, who, trip, "1") for who in (PLAIN, PROBED))
        sooner[f"{trip} ms: ms sooner"] = first - second
        for loss in chance.losses:
            probed, plain = (chance.late(who, trip, loss) for who in (PROBED, PLAIN))
            rarer[f"{trip} ms, {loss} % lost: with over without"] = probed.over(plain)
    return [
        builder.claim("R-10", cost),
        builder.claim("R-11", same),
        builder.claim("R-12", sooner, note=FAR),
        builder.claim("R-13", rarer, note=FAR),
        builder.claim("R-14", acked),
    ]


def costs(single: Single) -> Table:
    """The cost of each lost control chunk."""
    rows = []
    for who in (LETTER, PLAIN, PROBED):
        for trip in single.trips:
            found = single.chunks(who, trip).values()
            rows.append(
                [
                    who,
                    trip,
                    f"{single.value('close', who, trip):.0f}",
                    f"{single.extra(who, trip, 'up', 1):.0f}",
                    *(f"{single.extra(who, trip, way, k):.0f}" for way, k in found),
                ]
            )
    return Table(
        "When the sender has closed, and how much later one lost control chunk makes it, ms",
        ["who", "round trip, ms", "no loss", "INIT", *single.chunks(PROBED, single.trips[0])],
        rows,
    )


def tails(chance: Chance) -> Table:
    """Percentiles with their intervals."""
    rows = [
        [
            who,
            trip,
            loss,
            *(chance.percentile(part, who, trip, loss).estimate.text(0) for part in (0.5, 0.9, 0.95, 0.99)),
            (chance.late(who, trip, loss) * 100.0).estimate.text(1),
        ]
        for trip in chance.trips
        for loss in chance.losses
        for who in COLOURS
    ]
    return Table(
        "When the sender has closed, with losses at random, ms",
        ["who", "round trip, ms", "lost, %", "median", "90 %", "95 %", "99 %", "later by 900 ms, %"],
        rows,
        "Percentiles of the flows of a seed; means and 95 % intervals over the seeds.",
    )


def findings(single: Single, chance: Chance) -> list[str]:
    """Sentences on the costs of lost control chunks, and on closing times, with and without the probe."""

    def cost(who: str, trip: str) -> str:
        found = single.chunks(who, trip).items()
        return ", ".join(f"{name} {single.extra(who, trip, way, k):.0f}" for name, (way, k) in found)

    def tail(part: float, trip: str, loss: str) -> str:
        return "; ".join(
            f"{who} {chance.percentile(part, who, trip, loss).estimate.text(0)}" for who in COLOURS
        )

    def late(trip: str, loss: str) -> str:
        return "; ".join(
            f"{who} {(chance.late(who, trip, loss) * 100.0).estimate.text(1)}" for who in COLOURS
        )

    told = [
        f"Round trip {trip} ms: one lost chunk makes the sender close later by, ms: without the probe {cost(PLAIN, trip)}; with it "
        f"{cost(PROBED, trip)}. A lost INIT costs {single.extra(PROBED, trip, 'up', 1):.0f} either way: nothing is known of the path yet."
        for trip in single.trips
    ]
    told += [
        f"Round trip {trip} ms, {loss} % lost both ways: 95 % of flows have closed after, ms: {tail(0.95, trip, loss)}; 99 %: "
        f"{tail(0.99, trip, loss)}. Later by 900 ms and more, %: {late(trip, loss)}."
        for trip in chance.trips
        for loss in chance.losses
    ]
    return told


def by_position(single: Single, trip: str) -> Figure:
    """Packets of the server, packets of the client."""
    drawn, axes = plots.panels(2, height=3.4)
    for panel, way, name in zip(axes, ("down", "up"), ("(a) server", "(b) client"), strict=True):
        for who, colour in COLOURS.items():
            places = [k for k in single.positions(way) if way == "down" or k <= single.last(who, trip)]
            values = [single.value("close", who, trip, way, k) / 1000 for k in places]
            line = "--" if who == PLAIN else "-"
            panel.plot(places, values, line, marker=".", color=colour, label=who, linewidth=1.0)
        panel.set_ylim(bottom=0)
        panel.set_xticks(range(0, 21, 5))
        plots.label(panel, f"{name}, {trip} ms", "lost packet", "closed after, s")
    plots.legend_below(axes[0], 4)
    return drawn


def by_chance(chance: Chance, loss: str) -> Figure:
    """A panel for each round trip."""
    drawn, axes = plots.panels(len(chance.trips), height=3.4)
    for panel, trip in zip(axes, chance.trips, strict=True):
        for who, colour in COLOURS.items():
            times = chance.all(who, trip, loss) / 1000
            left = 1 - np.arange(1, len(times) + 1) / len(times)
            line = "--" if who == PLAIN else "-"
            panel.step(times, left, line, where="post", color=colour, label=who, linewidth=1.0)
        panel.set_xlim(0, 4)
        panel.set_ylim(1e-3, 1)
        plots.label(
            panel, f"{trip} ms, {loss} % lost", "time, s", "share of flows not closed yet", log_y=True
        )
    plots.legend_below(axes[0], 4)
    return drawn
