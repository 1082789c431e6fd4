"""Figures 10 to 16 and 20 to 23."""

from collections.abc import Mapping

from matplotlib.figure import Figure

from anabranch_lab.judge.claims import Claim
from anabranch_lab.judge.experiment import Figure as Entry
from anabranch_lab.run.grid import Grid
from anabranch_lab.show import plots

from ..common import pictures
from ..common.flows import Row, Table
from ..common.pictures import Record

TITLES = {
    ("KAME", "baseline"): ("figure-11", "Fig. 11: experimental baseline (KAME)"),
    ("LKSCTP", "baseline"): ("figure-12", "Fig. 12: experimental baseline (LKSCTP)"),
    ("KAME", "initial RTO 1 s"): ("figure-13", "Fig. 13: initial RTO 1 s (KAME)"),
    ("LKSCTP", "initial RTO 1 s"): ("figure-14", "Fig. 14: initial RTO 1 s (LKSCTP)"),
    ("KAME", "minimum RTO 200 ms"): ("figure-15", "Fig. 15: minimum RTO 200 ms (KAME)"),
    ("LKSCTP", "minimum RTO 200 ms"): ("figure-16", "Fig. 16: minimum RTO 200 ms (LKSCTP)"),
}

SEQUENCES = {
    "LKSCTP, low, 5 lost": (
        "figure-20",
        "Fig. 20: retransmission bug, fifth packet lost (LKSCTP, server side)",
    ),
    "LKSCTP, low, 8 lost": (
        "figure-21",
        "Fig. 21: retransmission bug, eighth packet lost (LKSCTP, server side)",
    ),
    "KAME, high, 10 lost": (
        "figure-22",
        "Fig. 22: the tenth packet lost (KAME, server side)",
    ),
    "KAME, high, 9 lost": ("figure-23", "Fig. 23: the ninth packet lost (KAME, server side)"),
}


FIGURES_22_23 = ("KAME, high, 10 lost", "KAME, high, 9 lost")
"""The flows whose bursts are counted."""
BURST = 0.3
"""Seconds, half of a round trip at high: packets that leave within them are a burst."""


def all_figures(
    stacks: Mapping[str, Table], whole: Grid, records: Mapping[str, Record], claims: Mapping[str, Claim]
) -> list[Entry]:
    """Every figure, in the order of the report."""
    bursts = {part.at: part for part in claims["H-F22"].parts}
    entries = [
        Entry(
            "figure-10",
            "Fig. 10: additional time that KAME needs, nothing lost",
            "Both stacks as they were, baseline. A line for each bandwidth.",
            lambda: comparison(whole, claims["H-S-1"]),
        )
    ]
    for (stack, case), (name, title) in TITLES.items():

        def rows(display: str, stack: str = stack, case: str = case) -> Mapping[str, Row]:
            lines = {
                "as it was": stacks[stack].at(stack="as it was", case=case, display=display),
                "without its mistakes": stacks[stack].at(
                    stack="without mistakes", case=case, display=display
                ),
            }
            if case != "baseline":
                lines["baseline, as it was"] = stacks[stack].at(
                    stack="as it was", case="baseline", display=display
                )
            return lines

        entries.append(pictures.by_position(name, title, rows))
    for place, (name, title) in SEQUENCES.items():
        record = records[place]
        part = bursts.get(f"{place.split(', ')[-1]}: bursts") if place in FIGURES_22_23 else None
        caption = "" if part is None else f"Bursts: {part.measured}; expected {part.expected}."
        entries.append(pictures.sequence(name, title, lambda record=record: record, caption=caption))
    return entries


def surplus(whole: Grid) -> dict[int, dict[int, float]]:
    """Per cent that KAME needs more than LKSCTP, by bandwidth and delay."""

    def time(stack: str, bandwidth: int, delay: int) -> float:
        return whole.sample("time", stack=stack, bandwidth=bandwidth, delay=delay).values[0]

    return {
        bandwidth: {
            delay: 100 * (time("KAME", bandwidth, delay) / time("LKSCTP", bandwidth, delay) - 1)
            for delay in whole.values("delay")
        }
        for bandwidth in whole.values("bandwidth")
    }


def comparison(whole: Grid, claim: Claim) -> Figure:
    """Figure 10."""
    figure, (axes,) = plots.panels(1, height=4.2)
    figure.set_figwidth(7.2)
    for index, (bandwidth, cells) in enumerate(surplus(whole).items()):
        colour = (*plots.CYCLE, plots.OTHER)[index % 7]
        axes.plot(
            list(cells),
            list(cells.values()),
            marker="o",
            markersize=4,
            color=colour,
            label=f"{bandwidth} kbit/s",
        )
    plots.published(axes, claim, {"10 Mbit/s, 5 ms: % more": 5})
    plots.label(axes, "Fig. 10: KAME against LKSCTP", "link delay, ms", "additional time, %")
    axes.legend()
    return figure
