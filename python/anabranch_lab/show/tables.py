"""Tables that the commands print on a terminal."""

from collections.abc import Mapping, Sequence

from rich.markup import escape
from rich.table import Table as RichTable

from ..judge import claims as judged
from ..judge import experiment, grades
from ..run.progress import duration
from ..run.results import Results
from ..run.schedule import Schedule

MOST_FINDINGS = 4
"""Sentences of one experiment that a command prints; its page has all."""
STYLE = {
    grades.A: "green",
    grades.B: "yellow",
    grades.C: "blue",
    grades.D: "red",
    grades.N: "dim",
    grades.NOT_JUDGED: "dim",
}


def sweeps(schedule: Schedule) -> RichTable:
    """Every sweep, and how many of its runs are on disk."""
    table = RichTable("sweep", "runs", "on disk", "what", title=_title(schedule.results))
    for sweep in schedule.results.plan.sweeps:
        jobs = schedule.jobs([sweep])
        done = sum(job.runs for job in jobs if schedule.results.store.has(job.key, job.seed, job.kinds))
        table.add_row(sweep.name, str(sum(job.runs for job in jobs)), str(done), escape(sweep.about))
    return table


def costs(schedule: Schedule) -> RichTable:
    """Every sweep, and the processor time of its runs."""
    table = RichTable(title=_title(schedule.results))
    for name in ("sweep", "points", "seeds", "runs", "on disk", "a run", "longest", "all runs", "known from"):
        table.add_column(name, justify="left" if name == "sweep" else "right")
    for sweep in schedule.results.plan.sweeps:
        points = schedule.results.points(sweep)
        jobs = schedule.jobs([sweep])
        runs = sum(job.runs for job in jobs)
        each = [schedule.cost(job) for job in jobs]
        known = sum(job.runs for job in jobs if schedule.costs.known(job.key))
        done = sum(job.runs for job in jobs if schedule.results.store.has(job.key, job.seed, job.kinds))
        table.add_row(
            sweep.name,
            str(len(points)),
            schedule.results.seed_counts(sweep),
            str(runs),
            str(done),
            f"{sum(each) / max(1, runs):.2g} s",
            f"{max((cost / job.runs for job, cost in zip(jobs, each, strict=True)), default=0):.2g} s",
            duration(sum(each)),
            f"{known} of {runs} runs" if known else "a guess",
        )
    return table


def claims(title: str, found: Sequence[judged.Claim]) -> RichTable:
    """One line for every part of every claim."""
    table = RichTable(title=f"Claims: {escape(title)}", show_lines=False)
    for name in ("claim", "at", "expected", "measured", "± 95 %", "part", "grade"):
        table.add_column(name, overflow="fold")
    for claim in found:
        for index, part in enumerate(claim.parts):
            first = index == 0
            table.add_row(
                claim.id if first else "",
                escape(part.at),
                escape(part.expected),
                escape(_text(part.measured)),
                "" if part.half is None else f"{part.half:.3g}",
                f"[{STYLE[part.grade]}]{part.grade}[/]",
                f"[{STYLE[claim.grade]}]{claim.grade} {claim.word}, {claim.held_text}[/]" if first else "",
            )
        for name, parts in claim.readings.items():
            held = sum(part.grade == grades.A for part in parts)
            table.add_row("", f"[dim]{escape(name)}[/]", "", "", "", f"[dim]{held} of {len(parts)}[/]", "")
        table.add_section()
    return table


def totals(found: Sequence[judged.Claim], names: Mapping[str, str]) -> RichTable:
    """How many claims have which grade, by study and by kind of claim.

    `names`: the names of the studies, by their numbers.
    """
    table = RichTable(title="Claims by kind")
    for name in ("study", "kind", *grades.WORDS):
        table.add_column(name, justify="left" if name in ("study", "kind") else "right")
    studies = list(dict.fromkeys(claim.study for claim in found))
    for study in (*studies, *(["all"] if len(studies) > 1 else [])):
        mine = [claim for claim in found if study in ("all", claim.study)]
        for line in judged.counts(mine):
            cells = [str(number) if number else "" for number in line.grades.values()]
            table.add_row(escape(names.get(study, study)), line.label, *cells)
        table.add_section()
    return table


def found(results: Results, analysis: experiment.Analysis, *, alone: bool) -> list[str]:
    """The finding of an experiment in a sentence; where it is `alone`, with its further findings."""
    sentence = analysis.sentence or next(iter(analysis.findings), "judged and drawn")
    lines = [f"{results.plan.name}: {sentence}"]
    if alone:
        lines += [f"- {each}" for each in analysis.findings if each != sentence]
    return [escape(line) for line in lines[:MOST_FINDINGS]]


def in_a_line(claims: Sequence[judged.Claim]) -> str:
    """How many claims have which grade, in a line; our own hypotheses hold or do not, and are counted apart."""
    told = []
    for own, words in ((False, grades.WORDS), (True, grades.OWN_WORDS)):
        mine = [claim.grade for claim in claims if claim.own == own]
        each = [f"{mine.count(grade)} {word}" for grade, word in words.items() if grade in mine]
        kind = ("own claim" if own else "claim") + ("" if len(mine) == 1 else "s")
        if mine:
            told.append(f"{len(mine)} {kind}: {'; '.join(each)}")
    return ". ".join(told) + " (anabranch-lab claims says of each why)" if told else "0 claims"


def grades_again(then: Mapping[str, str], now: Mapping[str, str]) -> RichTable:
    """The grades of a bundle, and those of its rerun."""
    table = RichTable("claim", "bundle", "rerun", title="Grades")
    for claim, grade in then.items():
        cells = [f"[{STYLE.get(each, 'red')}]{each}[/]" for each in (grade, now.get(claim, "none"))]
        table.add_row(escape(claim), *cells)
    return table


def headline(table: experiment.Table) -> RichTable:
    """The experiment's own table."""
    rich = RichTable(
        *[escape(name) for name in table.head], title=escape(table.title), caption=escape(table.note)
    )
    for row in table.rows:
        rich.add_row(*[escape(cell) for cell in row])
    return rich


def _title(results: Results) -> str:
    return escape(f"{results.plan.name}: {results.plan.title}")


def _text(value: float | str) -> str:
    return value if isinstance(value, str) else report_number(value)


def report_number(value: float) -> str:
    """Two decimals, or three figures where two decimals would not show them."""
    return f"{value:.2f}" if value == 0 or abs(value) >= 1 else f"{value:.3g}"
