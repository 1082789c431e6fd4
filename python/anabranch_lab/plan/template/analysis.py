"""From runs to a table, a figure, verdicts and a finding."""

from anabranch_lab.judge.experiment import Analysis, Figure, Table, claim_builder
from anabranch_lab.run import grid
from anabranch_lab.run.results import Results
from anabranch_lab.show import plots

MEASURES = {"goodput": "1e-6 * " + grid.of_flow("upload", "goodput_payload_bps")}
"""For each run: SQL over its rows. Mbit/s of payload."""


def analyse(results: Results) -> Analysis:
    """What `anabranch-lab claims` and `anabranch-lab report` ask for."""
    runs = results.grid("losses", MEASURES)
    table = Table(
        "Goodput, Mbit/s",
        ["loss probability", *runs.values("engine")],
        [
            [f"{p:g}", *(runs.at("goodput", engine=engine, p=p).text(2) for engine in runs.values("engine"))]
            for p in runs.values("p")
        ],
        "Means and 95 % intervals.",
    )
    figure = Figure(
        "goodput",
        "Goodput over the loss probability",
        "Means and 95 % intervals; dotted: the square-root law.",
        lambda: draw(runs),
        alt="Goodput of both profiles falls along the dotted square-root law, from several Mbit/s at a loss of 0.3 % to about one at 3 %.",
    )
    p = runs.values("p")[-1]
    finding = (
        f"With {100 * p:g} % of the packets lost, an upload gets {runs.at('goodput', engine='rfc9260', p=p).text(2)} "
        "Mbit/s of a path of 100 Mbit/s."
    )
    return Analysis(
        claims=judge.claims(claim_builder(results), runs),
        tables=[table],
        figures=[figure],
        findings=[finding],
        headline=table,
    )


def draw(runs: grid.Grid):
    """One curve for each profile, and the model."""
    drawn, (axes,) = plots.panels(1)
    for engine in runs.values("engine"):
        plots.curve(axes, runs.curve("goodput", over="p", engine=engine), engine)
    x = runs.values("p")
    plots.model(axes, x, [judge.square_root(p) for p in x], "square-root law")
    plots.label(axes, "Goodput", "loss probability", "Mbit/s", log_x=True, log_y=True)
    axes.set_xticks(x, [f"{100 * p:g} %" for p in x])
    axes.minorticks_off()
    axes.legend()
    return drawn
