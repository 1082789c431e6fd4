"""Figures 10 to 16 and 20 to 23."""

from collections.abc import Mapping

from matplotlib.figure import Figure

from anabranch_lab.judge.experiment import Figure as Entry
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


PRINTED_BURSTS = {"KAME, high, 10 lost": 4, "KAME, high, 9 lost": 5}
"""Figs. 22 and 23: how many bursts the report counts."""
BURST = 0.3
"""Seconds, half of a round trip at high: what leaves within them is a burst."""


def all_figures(stacks: Mapping[str, Table], records: Mapping[str, Record]) -> list[Entry]:
    """In the order of the report."""
    entries = [
        Entry(
            "figure-10",
            "Fig. 10: additional time that KAME needs, nothing lost",
            "Both stacks as they were, baseline. A line for each bandwidth.",
            lambda: comparison(stacks),
        )
    ]
    for (stack, case), (name, title) in TITLES.items():

        def rows(display: str, stack: str = stack, case: str = case) -> Mapping[str, Row]:
            lines = {
                "as it was": stacks[stack].at(stack="as it was", case=case, set=display),
                "without its mistakes": stacks[stack].at(stack="without mistakes", case=case, set=display),
            }
            if case != "baseline":
                lines["baseline, as it was"] = stacks[stack].at(
                    stack="as it was", case="baseline", set=display
                )
            return lines

        entries.append(pictures.by_position(name, title, rows))
    for place, (name, title) in SEQUENCES.items():
        record = records[place]
        printed = PRINTED_BURSTS.get(place)
        caption = (
            f"{len(record.bursts(BURST))} bursts, where the report counts {printed}."
            if printed is not None
            else ""
        )
        entries.append(pictures.sequence(name, title, lambda record=record: record, caption=caption))
    return entries


def surplus(stacks: Mapping[str, Table]) -> dict[int, dict[int, float]]:
    """Per cent that KAME needs more than LKSCTP, by bandwidth and delay."""
    found: dict[int, dict[int, float]] = {}
    for place, kame in stacks["KAME"].where(stack="as it was", case="baseline"):
        lksctp = stacks["LKSCTP"].at(**place)
        cell = found.setdefault(place["bandwidth"], {})
        cell[place["delay"]] = 100 * (kame[0].time / lksctp[0].time - 1)
    return found


def comparison(stacks: Mapping[str, Table]) -> Figure:
    """Figure 10."""
    figure, (axes,) = plots.panels(1, height=4.2)
    figure.set_figwidth(7.2)
    for index, (bandwidth, cells) in enumerate(surplus(stacks).items()):
        colour = (*plots.CYCLE, plots.OTHER)[index % 7]
        axes.plot(
            list(cells),
            list(cells.values()),
            marker="o",
            markersize=4,
            color=colour,
            label=f"{bandwidth} kbit/s",
        )
    plots.label(axes, "Fig. 10: KAME against LKSCTP", "link delay, ms", "additional time, %")
    axes.legend()
    return figure
