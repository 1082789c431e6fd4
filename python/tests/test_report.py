import contextlib
import io
import json
import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from rich.console import Console

from anabranch_lab import cli
from anabranch_lab.judge import claims, experiment, grades
from anabranch_lab.plan import catalogue
from anabranch_lab.run import campaign
from anabranch_lab.show import forest, pdf, pictures, plots, report, tables


class Page(HTMLParser):
    """Counts the elements of a page and collects its links."""

    def __init__(self):
        super().__init__()
        self.open, self.images, self.links, self.articles = [], [], [], []

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if tag not in ("meta", "link", "img", "source", "br", "html"):
            self.open.append(tag)
        if tag == "img":
            self.images.append(values)
        if tag == "article":
            self.articles.append(values["id"])
        self.links += [values[name] for name in ("href", "src") if name in values]

    def handle_endtag(self, tag):
        if tag != "html":
            assert self.open.pop() == tag


@pytest.fixture(scope="module")
def written(made_up, analysed, tmp_path_factory):
    """The folder of a report, with the page of the satellite study."""
    folder = tmp_path_factory.mktemp("report")
    report.write_page(folder, made_up, analysed)
    return folder


def test_a_report_is_one_file_with_everything_in_it(written, analysed):
    analysis = analysed
    text = (written / "satellite-2005.html").read_text(encoding="utf-8")
    page = Page()
    page.feed(text)
    assert page.open == []
    assert len(page.images) == len(analysis.figures) + 1 >= 9
    assert all(
        image["alt"] and image["src"].startswith("data:image/svg+xml;base64,") for image in page.images
    )
    # The visible figure is in the page; its files and other pages are links.
    files = {
        f"figures/satellite-2005-{each}{end}"
        for each in (*(figure.name for figure in analysis.figures), "claims")
        for end in (".svg", ".png", ".csv")
    }
    others = {link for link in page.links if not link.startswith(("data:", "#"))}
    assert others == files | {"index.html"}
    assert all((written / link).is_file() for link in files)
    assert page.articles == [claim.id for claim in analysis.claims]
    for needed in ("published", "30", "ns2-2.28", "study-2005", "Linux 6.1", "commit", "reproduced"):
        assert needed in text or needed.capitalize() in text
    assert not re.search(r"\{\{|\}\}|nan\b", text)
    for figure in analysis.figures:
        png = written / "figures" / f"satellite-2005-{figure.name}.png"
        assert png.read_bytes().startswith(b"\x89PNG")


def test_the_overview_leads_to_every_page(written, made_up, analysed):
    pages = report.Pages(written)
    pages.add(made_up, analysed)
    page = Page()
    page.feed(pages.finish().read_text(encoding="utf-8"))
    pages = {link.partition("#")[0] for link in page.links if link.partition("#")[0].endswith(".html")}
    assert pages == {"satellite-2005.html"}
    links = [link.partition("#")[0] for link in page.links if not link.startswith("data:")]
    assert all((written / link).is_file() for link in links if link)


def test_what_is_not_on_disk_is_asked_for(results):
    with pytest.raises(FileNotFoundError, match="run the experiment first"):
        experiment.analyse(results)


def test_text_from_a_claim_cannot_break_the_page(results, tmp_path):
    entry = catalogue.Entry("X", "x", "<b>", "a < b & c", "T", (catalogue.Expected("<script>", equals=1),))
    analysis = experiment.Analysis(
        claims=[claims.ClaimBuilder("0", "", {"X": entry}).claim("X", {"<script>": 1})],
        tables=[],
        figures=[],
    )
    html = report.write_page(tmp_path, results, analysis).read_text(encoding="utf-8")
    assert "<script>" not in html
    assert "a &lt; b &amp; c" in html


def command(*arguments):
    return cli.main([str(argument) for argument in arguments])


def test_the_commands_from_run_to_report(tmp_path, capsys, monkeypatch, satellite):
    """Real runs, one seed: everything works, and nothing is judged by one seed."""
    short = tmp_path / "checkout"
    folder = short / "experiments" / "satellite-2005"
    shutil.copytree(satellite.folder, folder)
    (short / "pyproject.toml").touch()
    plan = (folder / "scenario.toml").read_text().replace('duration = "1000 s"', 'duration = "60 s"')
    (folder / "scenario.toml").write_text(plan)
    monkeypatch.chdir(short)
    out = ("--out", tmp_path / "out", "--seeds", "1..2")
    assert command("list", *out) == 0
    assert command("claims", *out) == 1
    assert "run the experiment first" in capsys.readouterr().err
    assert command("run", "satellite-2005", "--jobs", 2, *out) == 0
    assert command("claims", "--study", "satellite-2005", "--table", *out) == 0
    assert command("report", *out) == 0
    found = {claim["id"]: claim for claim in json.loads((tmp_path / "out" / "claims.json").read_text())}
    assert found["L-T2-util"]["grade"] == grades.NOT_JUDGED
    assert "2 seeds" in found["L-T2-util"]["parts"][0]["why"]
    assert found["L-F8"]["grade"] == "A"
    assert found["L-F9"]["grade"] == "A"
    assert (tmp_path / "out" / "report" / "satellite-2005.html").stat().st_size > 100_000
    assert "satellite-2005.html" in (tmp_path / "out" / "report" / "index.html").read_text()
    assert "runs are on disk already" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "no-such"), "no experiment `no-such`; there are"),
        (("run", "satellite-2005", "--seeds", "x"), "seeds `x`"),
        (("run", "satellite-2005", "--jobs", "0"), "at least 1"),
    ],
)
def test_wrong_commands_say_what_is_wrong_in_one_line(arguments, message, capsys):
    assert command(*arguments) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_an_interrupt_is_not_an_error_message(monkeypatch, capsys, tmp_path):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(campaign, "run", interrupted)
    assert command("run", "satellite-2005", "--out", tmp_path) == 130
    assert "every finished run is on disk" in capsys.readouterr().out


def test_a_legend_below_is_no_wider_than_its_figure():
    with plots.style():
        for panels in (1, 3):
            drawn, axes = plots.panels(panels)
            for number in range(8):
                axes[0].plot([0, 1], [0, number], label=f"a curve with a long name, the {number}th")
            plots.legend_below(axes[0], 4)
            (legend,) = drawn.legends
            assert legend.get_window_extent().width <= drawn.bbox.width


def test_a_flat_panel_looks_flat_and_others_are_left_alone():
    for values, widened in (([10.0, 10.00001], True), ([10.0, 20.0], False)):
        _, (axes,) = plots.panels(1)
        axes.plot([1, 2], values)
        before = axes.get_ylim()
        plots.widen_if_flat(axes)
        low, high = axes.get_ylim()
        assert (low < 9.6 and high > 10.4) if widened else (low, high) == before


def test_engines_have_their_names_in_words_in_titles_and_legends():
    assert plots.named("ns2-2.28") == "SCTP of ns-2.28"
    assert plots.named("Φ = 1, rfc9260") == "Φ = 1, RFC 9260"
    assert plots.named("(a) goodput, all rfc9260 flows") == "(a) goodput, all rfc9260 flows"
    with plots.engine_names({"ns2-2.28": "ns-2.28, one cut for each recovery"}):
        assert plots.named("Φ = 1, ns2-2.28") == "Φ = 1, ns-2.28, one cut for each recovery"
        assert plots.named("rfc9260") == "RFC 9260"
    assert plots.named("ns2-2.28") == "SCTP of ns-2.28"


def made(sort=catalogue.OWN, engine="", measured=1):
    """A claim that holds, or not."""
    entry = catalogue.Entry("X", "x", "", "", "", (catalogue.Expected("x", equals=1),), counts_as=sort)
    return claims.ClaimBuilder("own", engine, {"X": entry}).claim("X", {"x": measured})


def test_totals_have_a_row_for_each_study_of_ours(tmp_path):
    page = tmp_path / "reviewers.md"
    page.write_text("<!-- totals -->\n<!-- /totals -->\n")
    assert report.write_totals(page, [(name, [made()]) for name in ("rate", "messages")])
    rows = page.read_text().splitlines()
    assert [row.split(" | ")[0] for row in rows if "hypotheses" in row] == ["| rate", "| messages"]


def test_claims_that_are_not_counted_again_are_told_everywhere(tmp_path, results, monkeypatch):
    """The numbers of a line, and what it says in words, are all of its claims."""

    def claim(name, **more):
        wanted = (catalogue.Expected("x", equals=1),)
        entry = catalogue.Entry(name, "x", "Fig. 1", "It is so.", "S", wanted, **more)
        return claims.ClaimBuilder("999", "", {name: entry}).claim(name, {"x": 2})

    found = [claim("P-1"), *(claim(f"P-{number}", counted_with="P-1") for number in (2, 3, 4))]
    told = "(and 3 for a cause that is counted)"
    label = f"published and printed {told}"
    assert report.tallies(found) == [(label, [("D contradicted", 1, "no")])]
    page = tmp_path / "reviewers.md"
    page.write_text("<!-- totals -->\n<!-- /totals -->\n")
    report.write_totals(page, [("Nobody (2020)", found)])
    assert f"| Nobody (2020) | {label} |  |  |  | 1 |" in page.read_text()
    analysis = experiment.Analysis(claims=found)
    report.write_page(tmp_path, results, analysis)
    pages = report.Pages(tmp_path)
    pages.add(results, analysis)
    cells = []
    monkeypatch.setattr(pdf.FPDF, "table", lambda *_, **__: contextlib.nullcontext(Rows(cells)))
    assert f'<td class="wide" data-name="kind">{label}</td>' in pages.finish().read_text()
    assert label in cells
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(tables.totals(found, {"999": "Nobody"}))
    assert label in console.export_text()


class Rows:
    """A table of a PDF that keeps its cells."""

    def __init__(self, cells):
        self.cells = cells

    def row(self, cells=()):
        self.cells += cells
        return self

    def cell(self, text, **_):
        self.cells.append(text)


def test_what_nobody_has_published_holds_and_is_not_reproduced():
    ours, published = [made(), made(measured=2)], [made(catalogue.PUBLISHED)] * 3
    why = " (anabranch-lab claims says of each why)"
    assert tables.in_a_line(ours[:1]) == f"1 own claim: 1 holds{why}"
    assert tables.in_a_line(published) == f"3 claims: 3 reproduced{why}"
    assert tables.in_a_line(ours + published) == (
        f"3 claims: 3 reproduced. 2 own claims: 1 holds; 1 does not hold{why}"
    )
    assert tables.in_a_line([]) == "0 claims"
    assert "A holds" in forest.caption(ours)
    assert "A reproduced" in forest.caption(ours + published)


def test_letters_of_the_picture_of_all_claims_can_be_read():
    figure = forest.draw([replace(made(), grade=grade) for grade in forest.COLOURS])
    for dark in (False, True):
        paper = pictures.DARK["paper"] if dark else "white"
        if dark:
            pictures.darken(figure)
        for text in figure.axes[0].texts:
            assert pictures.contrast(text.get_color()[:3], paper) >= forest.LEGIBLE, (text.get_text(), dark)
    plots.plt.close(figure)


def test_grades_are_counted_with_their_letters():
    ((_, told),) = report.tallies([made(), made(), made(measured=2)])
    assert told == [("A holds", 2, "yes"), ("D does not hold", 1, "no")]


def test_the_abstract_says_which_engines_are_judged_and_begins_with_what_was_published():
    class Run:
        def __init__(self, *engines):
            self.plan = self
            self.every_engine = lambda: engines

    def claim(engine, sort=catalogue.PUBLISHED):
        return made(sort, engine)

    runs = [Run("rfc9260", "freebsd-6.0"), Run("linux-2.6.15")]
    assert report._engines(runs, [claim("freebsd-6.0"), claim("")]) == (
        "judged: freebsd-6.0; beside: rfc9260, linux-2.6.15"
    )
    assert report._engines(runs, [claim("TCP freebsd-6.0 and rfc9260 and linux-2.6.15")]) == (
        "judged: rfc9260, freebsd-6.0, linux-2.6.15"
    )
    assert report._engines(runs, [claim("")]) == "rfc9260, freebsd-6.0, linux-2.6.15"
    assert report._mostly_ours([claim("e", claims.OWN), claim("e")])
    assert not report._mostly_ours([claim("e", claims.OWN), claim("e"), claim("e")])
