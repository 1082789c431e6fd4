"""Fig. 4.2, from equations."""

from matplotlib.figure import Figure

from anabranch_lab.judge.experiment import Figure as Entry
from anabranch_lab.models import renewal, shared
from anabranch_lab.show import plots

from .judge import P1, P2, PHI, RTT, one_window, ratio, with_fcc


def all_figures() -> list[Entry]:
    """The only figure."""
    return [
        Entry(
            "figure-4-2",
            "Fig. 4.2: SF-SCTP with FCC (Case 4) and SF-SCTP-shared (Case 2)",
            "p1 = 1e-3, RTT 1 s, Φ = 4, packets of one MTU. Lines are (4.14) and (4.27); dashed the renewal model, engine ns2-2.28.",
            figure_4_2,
        )
    ]


def figure_4_2() -> Figure:
    """Throughput (a), and how many times as much windows of their own are (b)."""
    figure, (a, b) = plots.panels(2)
    bits = 8 / 1e6
    own = renewal.throughput(P1, RTT, phi=PHI) + renewal.throughput(P2, RTT, phi=PHI)
    common = renewal.throughput([shared.mean_loss([P1, p2]) for p2 in P2], RTT)
    for values, better, name, colour in (
        ([with_fcc(p2) for p2 in P2], own, "SF-SCTP with FCC", plots.SCTP),
        ([one_window(p2) for p2 in P2], common, "SF-SCTP-shared", plots.TCP),
    ):
        plots.model(a, P2, [bits * value for value in values], name, color=colour, linestyle="-")
        plots.model(a, P2, bits * better, f"{name}, renewal model", color=colour, linestyle="--")
    plots.model(b, P2, [ratio(p2) for p2 in P2], "(4.14) / (4.27)", color=plots.SCTP, linestyle="-")
    plots.model(b, P2, own / common, "renewal model", color=plots.SCTP, linestyle="--")
    plots.label(a, "(a) throughput", "loss probability p2", "throughput, Mbit/s", log_x=True)
    plots.label(b, "(b) ratio", "loss probability p2", "with FCC / shared", log_x=True)
    a.legend()
    b.legend()
    return figure
