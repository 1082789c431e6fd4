"""Two losses: from runs to a grade, figures and a finding."""

from statistics import median

from matplotlib.figure import Figure

from anabranch_lab.judge.claims import Claim
from anabranch_lab.judge.experiment import Analysis, Table, claim_builder
from anabranch_lab.judge.experiment import Figure as Entry
from anabranch_lab.run.results import Results
from anabranch_lab.show import plots

from ..common import flows

PROTOCOLS = ("sctp", "tcp")


class Pairs:
    """Both sweeps of a protocol: extra times of pairs and of single losses."""

    def __init__(self, results: Results, protocol: str):
        self.pairs = flows.Table(results, f"{protocol}-pairs", over="pair")
        self.single = flows.Table(results, f"{protocol}-single")
        self.flavours = list(dict.fromkeys(place["flavour"] for place, _ in self.pairs.where()))

    def extra(self, flavour: str, display: str) -> dict[tuple[int, int], float]:
        """The extra time over a flow without a loss, ms, by the two positions."""
        base = self.single.at(flavour=flavour, display=display)[0].time
        row = self.pairs.at(flavour=flavour, display=display)
        found = {}
        for pair in row:
            first, second = (int(each) for each in pair.split("+"))
            found[first, second] = row[pair].time - base
        return found

    def worse(self, flavour: str, display: str) -> dict[tuple[int, int], float]:
        """The larger of the extra times of two losses, each by itself, ms."""
        row = self.single.at(flavour=flavour, display=display)
        return {(a, b): max(row.extra(a), row.extra(b)) for a, b in self.extra(flavour, display)}

    def ratios(self, flavour: str, display: str) -> list[float]:
        """Transmission time of a pair over that of its dearer loss alone; whole times, because the extra time of a loss can be 0."""
        base = self.single.at(flavour=flavour, display=display)[0].time
        worse = self.worse(flavour, display)
        return [(base + extra) / (base + worse[pair]) for pair, extra in self.extra(flavour, display).items()]


def analyse(results: Results) -> Analysis:
    """Analyses the runs for the laboratory: claims, findings, tables and figures."""
    found = {protocol: Pairs(results, protocol) for protocol in PROTOCOLS}
    middle = {
        (protocol, flavour, display): median(pairs.ratios(flavour, display))
        for protocol, pairs in found.items()
        for flavour in pairs.flavours
        for display in flows.SETS
    }
    worst = {
        (protocol, flavour): max(pairs.extra(flavour, "medium").items(), key=lambda item: item[1])
        for protocol, pairs in found.items()
        for flavour in pairs.flavours
    }
    return Analysis(
        claims=[claim(results, middle)],
        figures=[
            Entry(
                f"{protocol}-pairs",
                f"Beyond the report: two losses, {protocol.upper()}, medium",
                "Extra time for every pair of positions; on the diagonal a single loss.",
                lambda pairs=pairs: maps(pairs),
            )
            for protocol, pairs in found.items()
        ],
        tables=[summary(found, middle)],
        findings=[
            "At medium the dearest pair is "
            + "; ".join(
                f"{pair[0]} and {pair[1]} for {protocol.upper()} {flavour} (+{extra:.0f} ms)"
                for (protocol, flavour), (pair, extra) in worst.items()
            )
            + ".",
        ],
    )


def claim(results: Results, middle: dict[tuple[str, str, str], float]) -> Claim:
    """H-X-2."""
    return claim_builder(results).claim(
        "H-X-2",
        {
            f"{protocol.upper()} {flavour}, {display}: median of t(pair) over t(dearer one), less 1": value
            - 1
            for (protocol, flavour, display), value in middle.items()
        },
        note="It may be below 0: positions count everything that the server sends, so behind a loss that is repaired early the "
        "second one strikes an earlier packet of data.",
    )


def summary(found: dict[str, Pairs], middle: dict[tuple[str, str, str], float]) -> Table:
    """A sentence on pairs beside single losses."""
    rows = []
    for (protocol, flavour, display), value in middle.items():
        dear = sum(ratio > 1.5 for ratio in found[protocol].ratios(flavour, display))
        extra = found[protocol].extra(flavour, display).values()
        shown = [f"{median(extra):.0f}", f"{max(extra):.0f}", f"{value:.3f}", str(dear)]
        rows.append([f"{protocol.upper()} {flavour}", display, *shown])
    head = [
        "flavour",
        "place",
        "extra time, median, ms",
        "most, ms",
        "pair / dearer, median",
        "pairs above 1.5",
    ]
    return Table("Two losses against the dearer one of them, 190 pairs each", head, rows)


def maps(pairs: Pairs) -> Figure:
    """Extra time over both positions, a panel for each flavour."""
    figure, axes = plots.panels(len(pairs.flavours), height=4.2)
    drawn = {}
    for flavour in pairs.flavours:
        grid = [[float("nan")] * 20 for _ in range(20)]
        for (first, second), extra in pairs.extra(flavour, "medium").items():
            grid[second - 1][first - 1] = extra
        row = pairs.single.at(flavour=flavour, display="medium")
        for k in row.positions:
            grid[k - 1][k - 1] = row.extra(k)
        drawn[flavour] = grid
    top = 4000.0
    for panel, (flavour, grid) in zip(axes, drawn.items(), strict=True):
        image = panel.imshow(
            grid,
            origin="lower",
            extent=(0.5, 20.5, 0.5, 20.5),
            vmin=0,
            vmax=top,
            cmap="viridis",
            aspect="equal",
        )
        plots.label(panel, flavour, "first lost packet", "second lost packet")
        panel.grid(visible=False)
        panel.set_xticks(range(5, 21, 5))
        panel.set_yticks(range(5, 21, 5))
    figure.colorbar(image, ax=axes, label="extra time, ms (4000 and more alike)", shrink=0.8)
    return figure
