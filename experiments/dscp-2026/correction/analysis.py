"""All hypotheses of the study together: the grades that remain when the probability of any wrong decision in the whole study is at most 5 %."""

from anabranch_lab.judge import correction, grades
from anabranch_lab.judge.claims import word
from anabranch_lab.judge.experiment import Analysis, Table, other_analyses
from anabranch_lab.run.results import Results


def analyse(results: Results) -> Analysis:
    """Analyses the runs for the laboratory: claims, findings, tables and figures."""
    every = [claim for analysis in other_analyses(results).values() for claim in analysis.claims]
    every.sort(key=lambda claim: int(claim.id.removeprefix("DS-")))
    corrected = correction.grade(every)
    parts = sum(len(claim.parts) for claim in every)
    rows = [
        [
            claim.id,
            claim.entry.experiment,
            f"{claim.grade} {claim.word}",
            f"{corrected[claim.id]} {word(corrected[claim.id], claim.counts_as)}",
            claim.held_text,
            "yes" if claim.entry.seen else "no",
        ]
        for claim in every
    ]
    changed = [claim.id for claim in every if corrected[claim.id] != claim.grade]
    count = {grade: sum(1 for each in corrected.values() if each == grade) for grade in grades.WORDS}
    told = ", ".join(f"{n} {word(grade, 'own')}" for grade, n in count.items() if n)
    table = Table(
        "Every hypothesis, by itself and corrected for all of the study",
        ["hypothesis", "experiment", "by itself", "all together", "parts", "numbers known before"],
        rows,
        f"Holm's procedure over the {parts} parts of all {len(every)} hypotheses: one wrong decision in the whole study in at most one of twenty cases.",
    )
    return Analysis(
        claims=[],
        tables=[table],
        headline=table,
        findings=[
            f"Of {len(every)} hypotheses, corrected for all together: {told}.",
            f"The correction changes {', '.join(changed) if changed else 'none'}.",
        ],
    )
