"""Figures of the flavours, and figure 24."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from anabranch_lab.judge.experiment import Figure as Entry
from anabranch_lab.show import plots

from ..common import pictures
from ..common.flows import Table


def all_figures(
    runs: Mapping[str, Table], names: Mapping[str, Mapping[str, str]], events: Sequence[Mapping[str, Any]]
) -> list[Entry]:
    """Two figures of our own, and one of the report."""
    entries = []
    for protocol, flavours in names.items():

        def rows(
            display: str, protocol: str = protocol, flavours: Mapping[str, str] = flavours
        ) -> Mapping[str, Any]:
            return {
                name: runs[protocol].at(flavour=flavour, display=display)
                for flavour, name in flavours.items()
            }

        title = f"Beyond the report: {protocol.upper()} by the rules, then and now"
        entries.append(pictures.by_position(f"{protocol}-flavours", title, rows))
    entries.append(
        Entry(
            "figure-24",
            "Fig. 24: congestion control summary",
            "A recorded flow: the third window is lost whole, one packet later. Time is in round trips of 100 ms.",
            lambda: window(events),
        )
    )
    return entries


def window(events: Sequence[Mapping[str, Any]]) -> Figure:
    """The window and its threshold over round trips."""
    figure, (axes,) = plots.panels(1, height=3.8)
    figure.set_figwidth(7.2)
    seen = [event for event in events if event["kind"] == "window"]
    rounds = [event["time_ns"] / 1e8 for event in seen]
    axes.step(
        rounds,
        [event["a"] / 1448 for event in seen],
        where="post",
        color=plots.SCTP,
        label="congestion window",
    )
    # Before the first loss the threshold is beyond every window.
    low = [(time, event["b"] / 1448) for time, event in zip(rounds, seen, strict=True) if event["b"] < 1e6]
    axes.step(
        [x for x, _ in low],
        [y for _, y in low],
        where="post",
        color=plots.OTHER,
        linestyle="--",
        label="threshold",
    )
    top = max(event["a"] / 1448 for event in seen)
    for kind, name, colour in (
        ("timeout", "timeout", plots.TCP),
        ("fast-retransmit", "fast retransmit", plots.NS2),
    ):
        for index, event in enumerate(event for event in events if event["kind"] == kind):
            axes.axvline(
                event["time_ns"] / 1e8, color=colour, linestyle=":", label=name if index == 0 else None
            )
    plots.label(axes, "Fig. 24: congestion control summary", "time, round trips", "segments")
    axes.set_ylim(0, 1.1 * top)
    axes.legend()
    return figure
