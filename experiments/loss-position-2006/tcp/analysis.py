"""TCP: from runs to grades, figures and a finding."""

from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.run.results import Results

from ..common import flows, pictures
from . import figures, judge


def analyse(results: Results) -> Analysis:
    """Analyses the runs for the laboratory: claims, findings, tables and figures."""
    runs, linux = flows.Table(results, "freebsd"), flows.Table(results, "linux")
    ruled = flows.Table(results, "by-the-rules").at()
    records = pictures.all_recorded(results, "recorded", 1448)
    medium, clean = (
        runs.at(stack=stack, case="baseline", display="medium") for stack in ("as it was", "without mistakes")
    )
    low, raised = (
        runs.at(stack="as it was", case=case, display="low") for case in ("baseline", "minimum RTO 1 s")
    )
    return Analysis(
        claims=judge.claims(claim_builder(results), runs, ruled, linux, records),
        figures=figures.all_figures(runs, records),
        tables=[
            pictures.ours(
                runs,
                {case: {"stack": "as it was", "case": case} for case in judge.CASES},
                "Our own transmission times: FreeBSD 6.0 as it was",
            ),
            pictures.ours(
                linux,
                {f"Linux, {case}": {"case": case} for case in ("baseline", "vegas", "no FACK")},
                "Our own transmission times: Linux 2.6.15",
            ),
        ],
        findings=[
            f"At medium FreeBSD 6.0 needs a timeout when one of the packets {flows.text(medium.timed_out())} is lost, "
            f"without its mistakes only {flows.text(clean.timed_out())}. A lost SYN-ACK costs {medium.extra(1):.0f} ms, the "
            f"last packet {medium.extra(20):.0f} ms.",
            f"At low the first timeout comes before the first acknowledgement: {low[0].again} segments are sent "
            f"twice although nothing is lost, and a flow without a loss takes {low[0].time:.0f} ms. With a minimum RTO "
            f"of 1 s it takes {raised[0].time:.0f} ms.",
        ],
    )
