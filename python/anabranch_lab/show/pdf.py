"""The text of a report as one PDF, for a reviewer: the questions, the findings, every claim with its grade, and how to run it again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import matplotlib
from fpdf import FPDF
from fpdf.enums import XPos, YPos
from fpdf.fonts import FontFace

from ..judge import claims, grades
from . import sources

FONTS = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
COLOURS = {
    grades.A: (23, 111, 66),
    grades.B: (125, 88, 0),
    grades.C: (60, 90, 160),
    grades.D: (179, 56, 44),
    grades.N: (86, 95, 103),
    grades.NOT_JUDGED: (86, 95, 103),
}
AGAIN = (
    "Functional, in 15 minutes: `make demo` builds everything, runs the satellite study with five seeds and writes out/report/index.html. "
    "Reusable: `anabranch-lab new NAME --study` makes a study of one's own; `anabranch-lab bundle STUDY STUDY.tar.gz` packs one with its "
    f"results. Results reproduced: `make studies` runs every experiment; `{sources.again('ID')}` runs that of one claim, in a folder of its own. "
    "Runs depend on the build of the simulator, the scenario and the seed alone."
)


@dataclass(frozen=True)
class Chapter:
    """The part of the report about one study."""

    title: str
    reference: str
    about: Mapping[str, str]
    findings: Sequence[str]
    claims: Sequence[claims.Claim]


@dataclass(frozen=True)
class Front:
    """What stands before the chapters: the question of the report, and its main findings (study, text, lacks)."""

    asked: str
    findings: Sequence[Mapping[str, str]]


def write(path: Path, front: Front, chapters: Sequence[Chapter], facts: Sequence[tuple[str, str]]) -> Path:
    """Writes the PDF; the same text and facts give the same file."""
    pdf = FPDF(format="A4")
    pdf.set_creation_date(datetime(2007, 1, 1, tzinfo=UTC))
    pdf.set_title("anabranch: what was published, and what was measured")
    for style, file in (("", "DejaVuSans.ttf"), ("B", "DejaVuSans-Bold.ttf")):
        pdf.add_font("text", style, FONTS / file)
    pdf.set_auto_page_break(auto=True, margin=18)
    pdf.add_page()
    _heading(pdf, "anabranch: what was published, and what was measured", 16)
    if front.asked:
        _heading(pdf, "What was asked", 12)
        _paragraph(pdf, front.asked)
    if front.findings:
        _heading(pdf, "What matters most", 12)
    for number, each in enumerate(front.findings, start=1):
        _paragraph(pdf, f"{number}. {each['study']}: {each['text']} What it lacks: {each['lacks']}.")
    _heading(pdf, "How the claims came out", 12)
    own = [f"{grade} {word}" for grade, word in grades.OWN_WORDS.items() if word != grades.WORDS[grade]]
    _paragraph(
        pdf,
        "Grades: "
        + "; ".join(f"{grade} {word}" for grade, word in grades.WORDS.items())
        + f". Of hypotheses of our own, which nobody has published: {'; '.join(own)}. The rule is in docs/explanation/grades.md.",
    )
    everything = [claim for chapter in chapters for claim in chapter.claims]
    _counts(pdf, everything)
    _heading(pdf, "To run it again", 12)
    _paragraph(pdf, AGAIN.replace("`", ""))
    for name, value in facts:
        _paragraph(pdf, f"{name}: {value}", size=8)
    for chapter in chapters:
        _chapter(pdf, chapter)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    pdf.output(str(part))
    part.replace(path)
    return path


def _chapter(pdf: FPDF, chapter: Chapter) -> None:
    pdf.add_page()
    _heading(pdf, chapter.title, 14)
    if chapter.reference:
        _paragraph(pdf, chapter.reference, size=8)
    for name, told in chapter.about.items():
        _paragraph(pdf, f"{name.capitalize()}. {told}")
    for finding in chapter.findings:
        _paragraph(pdf, f"• {finding}")
    _counts(pdf, chapter.claims)
    pdf.set_font("text", size=7)
    with pdf.table(
        col_widths=(16, 74, 20, 60),
        line_height=4,
        headings_style=FontFace(emphasis="BOLD"),
        text_align="LEFT",
    ) as table:
        table.row(("grade", "claim", "parts", "parts without an A"))
        for claim in chapter.claims:
            row = table.row()
            row.cell(f"{claim.grade}  {claim.id}", style=FontFace(color=COLOURS[claim.grade]))
            row.cell(claim.entry.statement)
            row.cell(claim.held_text)
            row.cell(_short(claim))


def _short(claim: claims.Claim, most: int = 3) -> str:
    """The first parts that are not reproduced, with their measured values."""
    told = [
        f"{part.grade} {part.at}: {_number(part.measured)}{f' ± {part.half:.2g}' if part.half else ''} ({part.expected})"
        for part in claim.short[:most]
    ]
    more = len(claim.short) - most
    return "; ".join(told) + (f"; and {more} more" if more > 0 else "")


def _number(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"


def _counts(pdf: FPDF, found: Sequence[claims.Claim]) -> None:
    pdf.set_font("text", size=8)
    with pdf.table(
        col_widths=(70, *[14] * len(grades.WORDS)), line_height=5, headings_style=FontFace(emphasis="BOLD")
    ) as table:
        table.row(("claims", *grades.WORDS))
        for line in claims.counts(found):
            table.row((line.label, *(str(number or "") for number in line.grades.values())))
    pdf.ln(3)


def _heading(pdf: FPDF, words: str, size: int) -> None:
    pdf.set_font("text", "B", size)
    pdf.multi_cell(0, size * 0.5, words, new_x=XPos.LMARGIN, new_y=YPos.NEXT)
    pdf.ln(2)


def _paragraph(pdf: FPDF, words: str, size: int = 9) -> None:
    pdf.set_font("text", size=size)
    pdf.multi_cell(0, size * 0.5, words, new_x=XPos.LMARGIN, new_y=YPos.NEXT)
    pdf.ln(1)
