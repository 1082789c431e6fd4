"""Basic 1 to 3: from runs to grades and Fig. 5.1."""

from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.run import work
from anabranch_lab.run.results import Results

from ..common import pages
from ..common.packets import CAPTURE_HEADER
from . import figures, judge

BYTES = f"""
SELECT protocol, sum(size + {CAPTURE_HEADER}) FILTER (a > 0) AS data,
       sum(size + {CAPTURE_HEADER}) FILTER (a = 0 AND seq < opened) AS opening
FROM (SELECT *, min(seq) FILTER (a > 0) OVER (PARTITION BY protocol) AS opened FROM runs WHERE kind = 'offered')
GROUP BY protocol
"""
"""Bytes of packets with user data, and of those before them: the handshake."""


def analyse(results: Results) -> Analysis:
    """Analyses the runs for the laboratory: claims, findings, tables and figures."""
    runs = results.grid("basic", pages.MEASURES)
    wire = {row["protocol"]: row for row in results.rows("bytes", BYTES, kind=work.TRACE)}
    share = {s: [pages.share(runs, n, s).estimate.mean for n in pages.NETWORKS] for s in pages.BASIC}
    return Analysis(
        claims=judge.claims(claim_builder(results), runs, wire),
        figures=figures.all_figures(runs),
        sentence=f"A web page of objects of 1 kB takes {longer(share['Basic 1'])} over one SCTP association than over TCP; with objects of 300 kB it "
        f"takes {longer(share['Basic 3'])}.",
        findings=[
            "SCTP takes "
            + "; ".join(
                f"{min(v) - 100:+.1f} to {max(v) - 100:+.1f} % longer in {s}" for s, v in share.items()
            )
            + ".",
        ],
    )


def longer(shares: list[float]) -> str:
    """The extra time, in percent of TCP's time, in words for a sentence."""
    low, high = min(shares) - 100, max(shares) - 100
    if low >= 0:
        return f"{low:.1f} to {high:.1f} % longer"
    if high <= 0:
        return f"{-high:.1f} to {-low:.1f} % less time"
    return f"from {-low:.1f} % less to {high:.1f} % more time"
