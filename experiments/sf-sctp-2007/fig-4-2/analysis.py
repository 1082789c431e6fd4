"""Fig. 4.2 and the audit of chapter 4: from equations to verdicts, a figure and a finding."""

from anabranch_lab.judge.experiment import Analysis, Table, claim_builder
from anabranch_lab.models import audit
from anabranch_lab.run.results import Results

from . import figures, judge


def analyse(results: Results) -> Analysis:
    """Analyses the runs for the laboratory: claims, findings, tables and figures."""
    wrong = [row for row in audit.ROWS if row.verdict in (audit.WRONG, audit.MISPRINT)]
    return Analysis(
        claims=judge.claims(claim_builder(results)),
        tables=[_equations(), _overestimates()],
        figures=figures.all_figures(),
        findings=[
            f"With windows of their own two subflows get {judge.ratio(judge.P2_LOW):.3f} times what they get with a common one when "
            f"one path loses 1e-5 and the other 1e-3: {judge.ratio(judge.P2_LOW) - 1:.2f} times more. With equal losses they get the same.",
            f"Of {len(audit.ROWS)} equations {len(wrong)} are not right as printed: {', '.join(row.equation for row in wrong)}. "
            f"(4.12) is {100 * audit.overestimate(1e-3, 4):.1f} % too high at p = 1e-3 and Φ = 4; no figure of chapter 4 uses it.",
        ],
    )


def _equations() -> Table:
    return Table(
        "Chapter 4, equation by equation",
        ["equation", "what", "verdict", "note"],
        [[row.equation, row.says, row.verdict, row.note] for row in audit.ROWS],
        note="Each is derived again by computer algebra in python/tests/test_models_equations.py.",
        open=False,
    )


def _overestimates() -> Table:
    return Table(
        "How much too high (4.12) is as printed",
        ["p", "Φ", "%"],
        [[f"{p:g}", f"{phi}", f"{100 * audit.overestimate(p, phi):.1f}"] for p, phi in audit.OVERESTIMATES],
        note="Packets of one MTU.",
    )
