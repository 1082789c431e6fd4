"""Deadlines: from runs to grades, a figure and a finding."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from anabranch_lab.judge.claims import Claim, ClaimBuilder
from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.judge.experiment import Figure as Entry
from anabranch_lab.run import grid
from anabranch_lab.run.grid import Grid, Sample
from anabranch_lab.run.results import Results
from anabranch_lab.show import plots

from ..common import drawing
from ..common.comparing import LOSSY

MEASURES = {
    # Per cent of the frames made.
    "in_time": f"100.0 * {grid.of_source('both', 'video', 'in_time')} / {grid.of_source('both', 'video', 'made')}",
    "delivered": f"100.0 * {grid.of_source('both', 'video', 'delivered')} / {grid.of_source('both', 'video', 'made')}",
    # Mbit/s, from the end of the warm-up to the end of the sources: 50 s less 10 s; the other flow goes on to the end.
    "bulk": f"{grid.of_source('both', 'bulk', 'delivered_bytes')} * 8 / 40e6",
    "other": f"{grid.of_flow('other', 'goodput_payload_run_bps')} / 1e6",
}


def analyse(results: Results) -> Analysis:
    """Analyses the runs for the laboratory: claims, findings, tables and figures."""
    runs = results.grid("frames", MEASURES)
    return Analysis(
        claims=claims(claim_builder(results), runs),
        figures=[
            Entry(
                "figure-deadlines",
                "Frames that arrive in time, and what the rest pays",
                "Means and 95 % intervals. Frames with (a) one subflow for video and bulk, (b) two; what is left for (c) the bulk "
                "transfer beside the video and (d) the other flow on the link, solid with one subflow, dashed with two. "
                "Curves of one dash lie on each other where the rest has the same whatever becomes of late frames.",
                lambda: figure(runs),
            )
        ],
        findings=[
            f"{100 * loss:g} % lost: frames in time, %: "
            + "; ".join(
                f"{reliability} {at(runs, 'in_time', reliability, 'one', loss).text(1)} with one subflow and "
                f"{at(runs, 'in_time', reliability, 'two', loss).text(1)} with two"
                for reliability in runs.values("reliability")
            )
            + "."
            for loss in runs.values("loss")
        ]
        + [paid(runs, loss) for loss in runs.values("loss")],
    )


def paid(runs: Grid, loss: float) -> str:
    """A sentence on the rates of the association's bulk transfer and of the other flow on the link, beside the frames."""
    told = "; ".join(
        f"{reliability}: "
        + " and ".join(
            f"{at(runs, 'bulk', reliability, subflows, loss).text(2)} + {at(runs, 'other', reliability, subflows, loss).text(2)}"
            for subflows in ("one", "two")
        )
        for reliability in runs.values("reliability")
    )
    return (
        f"{100 * loss:g} % lost: bulk transfer + other flow, Mbit/s, with one subflow and with two: {told}."
    )


def at(runs: Grid, measure: str, reliability: str, subflows: str, loss: float):
    """A mean with its interval."""
    return runs.at(measure, loss=loss, reliability=reliability, subflows=subflows)


def claims(builder: ClaimBuilder, runs: Grid) -> list[Claim]:
    """The hypotheses of claims.toml that name this experiment."""
    lossy = [loss for loss in runs.values("loss") if loss >= LOSSY]

    def sample(measure: str, reliability: str, subflows: str, loss: float) -> Sample:
        return runs.sample(measure, loss=loss, reliability=reliability, subflows=subflows)

    def more(one: tuple[str, str], other: tuple[str, str]) -> dict[str, Sample]:
        return {
            f"loss {loss:g}: {one[0]}, {one[1]} minus {other[0]}, {other[1]}, % in time": sample(
                "in_time", *one, loss
            )
            - sample("in_time", *other, loss)
            for loss in lossy
        }

    paid = {
        f"loss {loss:g}, {subflows}, goodput of {flow}: timed over full": sample(
            flow, "timed", subflows, loss
        ).over(sample(flow, "full", subflows, loss))
        for loss in lossy
        for subflows in ("one", "two")
        for flow in ("bulk", "other")
    }
    return [
        builder.claim("M-8", more(("timed", "one"), ("full", "one"))),
        builder.claim("M-9", more(("timed", "two"), ("timed", "one"))),
        builder.claim("M-10", paid),
    ]


def figure(runs: Grid) -> Figure:
    """Frames in time for one and two subflows, the bulk transfer, and the other flow."""
    drawn, ((one, two), (bulk, other)) = plots.table(2, 2, width=5.2, height=3.4)
    looks = list(zip(runs.values("reliability"), plots.CYCLE, "osv^", strict=False))

    def draw(axes: Axes, measure: str, subflows: str, style: str = "-", note: str = "") -> None:
        for reliability, colour, marker in looks:
            curve = {loss: at(runs, measure, reliability, subflows, loss) for loss in runs.values("loss")}
            drawing.over_loss(axes, curve, reliability + note, colour, marker, style)

    for axes, subflows, title in ((one, "one", "(a) one subflow"), (two, "two", "(b) two subflows")):
        draw(axes, "in_time", subflows)
        plots.label(axes, title, "packets lost, %", "frames in time, %")
        axes.set_ylim(35, 102)
    for axes, measure, title in ((bulk, "bulk", "(c) bulk transfer"), (other, "other", "(d) other flow")):
        draw(axes, measure, "one", "-", ", one subflow")
        draw(axes, measure, "two", "--", ", two subflows")
        plots.label(axes, title, "packets lost, %", "Mbit/s")
        # The same axis for both: a gain of one flow is seen beside the loss of the other.
        axes.set_ylim(0, 6.5)
        lines = [Line2D([], [], color="black", linestyle=style) for style in ("-", "--")]
        axes.legend(lines, ["one subflow", "two subflows"], fontsize="small")
    plots.legend_below(one)
    return drawn
