"""What packets say: from recorded runs to Tables 5.1 to 5.4 and their claims."""

from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.run.results import Results

from ..common import packets, pages
from . import figures, judge, tables


def analyse(results: Results) -> Analysis:
    """What the lab asks an experiment for."""
    runs = results.grid("ms", pages.MEASURES)
    seen = packets.measure(results, "packets")
    variants = {"patient": packets.measure(results, "patient")}
    habits = {
        sweep: (results.grid(sweep, pages.MEASURES), packets.measure(results, sweep))
        for sweep in ("strict-window", "closes-in-turn")
    }
    fifty = {"network": "B1", "scenario": "MS 6"}
    logs = {sweep: packets.logs(results, sweep, fifty) for sweep in ("packets", "slow-server", "slow-line")}
    idle = {n: judge.idle(runs, seen, n, "MS 8").text(0) for n in pages.NETWORKS}
    return Analysis(
        claims=judge.claims(claim_builder(results), runs, seen, variants, logs),
        figures=figures.all_figures(results),
        tables=[*tables.all_tables(runs, seen, logs["packets"]), tables.habits(runs, seen, habits)],
        findings=[
            "Opening connections one after the other leaves the line without work: with 300 of them for "
            + ", ".join(f"{found} % ({network})" for network, found in idle.items())
            + " of the time. The thesis prints 35, 27, 69, 48 and 51 %.",
            "Its log (Table 5.1) shows two habits of its Linux 2.4 that decide the numbers: a last segment leaves with its FIN "
            "although the window is full, and the client left its side of finished connections open.",
        ],
    )
