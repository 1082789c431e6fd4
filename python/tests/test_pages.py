"""The pages of a report in a browser: axe-core, 400 px, the dark; and without one: links, headings, words."""

import csv
import html
import re
import shlex
import urllib.parse
from dataclasses import replace
from html.parser import HTMLParser

import browser
import pytest

from anabranch_lab import cli
from anabranch_lab.judge import claims, experiment, grades
from anabranch_lab.plan import catalogue, folders, new, plan
from anabranch_lab.show import bundle, forest, pdf, pictures, plots, report, serve, sources, to_see

EXPERIMENTS = folders.root() / "experiments"
STUDY = 'title = "A study of three"\nshort = "Nobody (2020)"\nstudy = "999"\nreference = "N. Nobody: Something (2020)."\n[about]\nquestion = "How much?"\nfindings = ["Much.", "More."]\n'


@pytest.fixture(scope="module")
def written(tmp_path_factory, made_up, analysed):
    """A report with a study of two experiments, one of them compared with a publication, and the satellite study."""
    place = tmp_path_factory.mktemp("pages")
    study = place / "three"
    study.mkdir()
    (study / "study.toml").write_text(STUDY)
    for name, says in (("one", 'where = "Fig. 1"'), ("two", 'counts_as = "own"')):
        new.make(study / name)
        claims, plan = study / name / "claims.toml", study / name / "plan.toml"
        claims.write_text(claims.read_text().replace("statement =", f"{says}\nstatement ="))
        # A window that holds the sender back: something is to be noted.
        uses = 'uses = { one = ["losses"] }\n' if name == "two" else ""
        plan.write_text(
            uses + plan.read_text() + 'set = { "flow.upload.options.receive_window" = "20000 B" }\n'
        )
    assert cli.main(["run", str(study), "--quick", "--jobs", "2"]) == 0
    assert cli.main(["report", str(study), "--quick", "--jobs", "1"]) == 0
    folder = study / "out" / "report"
    report.write_page(folder, made_up, analysed)
    pages = report.Pages(folder)
    pages.add(made_up, analysed)
    pages.finish()
    (folder / "index.html").rename(folder / "satellite-index.html")
    assert cli.main(["report", str(study), "--quick", "--jobs", "1"]) == 0
    return folder


NAMES = [
    "index.html",
    "satellite-index.html",
    "three.html",
    "three/one.html",
    "three/two.html",
    "satellite-2005.html",
]


def read(folder, name):
    return (folder / name).read_text(encoding="utf-8")


@browser.needed
@pytest.mark.parametrize("name", NAMES)
def test_nobody_is_kept_out(written, name):
    page = read(written, name)
    assert browser.violations(page) == []
    assert browser.violations(browser.dark(page)) == []


@browser.needed
@pytest.mark.parametrize("name", NAMES)
def test_what_is_seen_by_day_is_seen_in_the_dark(written, name):
    assert browser.lost_in_the_dark(read(written, name)) == []


@browser.needed
def test_a_marker_that_the_dark_swallows_is_found(tmp_path, monkeypatch):
    page = "<!doctype html><html><body><div class=picture><picture><source srcset='{}'><img src='{}' alt='x'></picture></div></body></html>"

    def drawn(name):
        figure, axes = plots.plt.subplots()
        axes.plot([1, 2, 3], [1, 3, 2], "x", color="black", markersize=12)
        axes.bar([1, 2], [1, 2], color="0.2")
        written = pictures.write(figure, tmp_path, name, "x")
        return page.format(written.dark, written.light)

    assert browser.lost_in_the_dark(drawn("good")) == []
    monkeypatch.setattr(pictures, "_seen", lambda colour: pictures.DARK["line"])
    assert len(browser.lost_in_the_dark(drawn("bad"))) == 1


def test_what_shows_data_stands_out_from_dark_paper(tmp_path):
    with plots.style():
        figure, axes = plots.plt.subplots()
        (crosses,) = axes.plot([1, 2], [1, 2], "x:", color="black", label="published")
        (hollow,) = axes.plot([1, 2], [2, 1], "o", color="navy", markerfacecolor="white")
        bars = axes.bar([1, 2], [1, 2], color=["0.8", "#08306b"], label="bars")
        axes.legend()
        pictures.darken(figure)
    paper = pictures.DARK["paper"]
    shown = [crosses.get_color(), crosses.get_markeredgecolor(), hollow.get_markeredgecolor()]
    shown += [bar.get_facecolor() for bar in bars]
    shown += [axes.get_legend().legend_handles[0].get_markeredgecolor()]
    assert [pictures.contrast(each, paper) >= pictures.CONTRAST for each in shown] == [True] * 6
    assert pictures.contrast(hollow.get_markerfacecolor(), paper) == 1
    plots.plt.close(figure)


@pytest.mark.parametrize(
    ("values", "log"),
    [
        ([1, 2, 4, 8], True),
        ([0.001, 0.003, 0.01, 0.03], True),
        ([1, 10], False),
        ([1, 40], True),
        ([8, 9, 10, 15, 20, 25, 30], False),
        ([1, 2, 3, 4, 5, 6, 7, 8], False),
        ([0, 1, 2, 4, 8], False),
    ],
)
def test_values_that_are_spaced_by_factors_have_a_log_axis(values, log):
    assert plots.by_factors(values) is log


@browser.needed
@pytest.mark.parametrize("name", NAMES)
def test_it_can_be_read_on_a_telephone(written, name):
    assert browser.narrow(read(written, name)) == []


@browser.needed
def test_the_page_that_is_served_keeps_nobody_out():
    page = report.environment().get_template("waiting.html.j2").render()
    assert browser.violations(serve.with_progress(page).replace("hidden>", ">")) == []


@browser.needed
def test_axe_finds_what_is_wrong():
    page = '<!doctype html><html lang="en"><head><title>x</title></head><body><main><h1>x</h1><img src="x.png"></main></body></html>'
    assert [each.split(":")[0] for each in browser.violations(page)] == ["image-alt"]


class Structure(HTMLParser):
    """Headings, links, images, table heads of a page."""

    def __init__(self, text):
        super().__init__()
        self.levels, self.links, self.ids, self.alts, self.landmarks = [], [], [], [], []
        self.bare, self.inside, self.words = 0, "", ""
        self.feed(text)

    def handle_endtag(self, tag):
        # A head of a table without a word says nothing to users of a screen reader.
        if tag == "th" and self.inside == "th" and not self.words:
            self.bare += 1

    def handle_data(self, data):
        self.words = data.strip()

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.words = ""
        if re.fullmatch("h[1-6]", tag):
            self.levels.append(int(tag[1]))
        if tag == "th" and "scope" not in values:
            self.bare += 1
        self.inside = tag
        if tag in ("main", "header"):
            self.landmarks.append(tag)
        if tag == "img":
            self.alts.append(values["alt"])
        if "id" in values:
            self.ids.append(values["id"])
        if "href" in values:
            self.links.append(values["href"])


@pytest.mark.parametrize("name", NAMES)
def test_structure(written, name):
    page = Structure(read(written, name))
    assert page.levels[0] == 1
    assert page.levels.count(1) == 1
    assert all(after - before <= 1 for before, after in zip(page.levels, page.levels[1:], strict=False))
    assert page.bare == 0
    assert page.landmarks == ["header", "main"]
    assert len(set(page.ids)) == len(page.ids)


@pytest.mark.parametrize("name", NAMES)
def test_every_link_leads_somewhere(written, name):
    page = Structure(read(written, name))
    for link in page.links:
        address, _, place = urllib.parse.unquote(link).partition("#")
        target = (written / name).parent / address if address else written / name
        assert target.is_file(), link
        if place:
            assert place in Structure(target.read_text(encoding="utf-8")).ids, link


def test_the_way_from_page_to_page(written):
    one, two, study = (read(written, name) for name in ("three/one.html", "three/two.html", "three.html"))
    assert '<a rel="next" href="../three/two.html">Next: two</a>' in one
    assert "Previous:" not in one
    assert '<a rel="prev" href="../three/one.html">Previous: one</a>' in two
    assert '<a href="../three.html">Nobody (2020)</a>' in one
    assert "Nobody (2020)" in read(written, "index.html")
    assert 'href="three/one.html"' in study


def test_our_own_hypotheses_are_counted_apart(written):
    page = html.unescape(re.sub(r"<[^>]+>|\s+", " ", read(written, "three.html")))
    page = re.sub(r"\s+", " ", page)
    # In a quick look nothing is judged.
    assert "Published and printed 1 - not judged Our own hypotheses 1 - not judged" in page
    assert "A quick look." in page


def test_the_abstract_says_what_the_study_says_it_found(written):
    page = re.sub(r"\s+", " ", read(written, "three.html"))
    assert "<p><b>Question.</b> How much?</p>" in page
    assert "<p><b>Findings.</b></p> <ul><li>Much.</li><li>More.</li></ul>" in page


def test_what_was_noted_of_the_runs_stands_before_their_figures(written):
    page = read(written, "three/one.html")
    told = page.index("To know before tables and figures are read: upload receiver-limited in")
    assert told < page.index('<h2 id="figures">')
    table = page[page.index('<h2 id="notes">') :]
    assert '<td data-name="flow">upload</td><td data-name="">receiver-limited</td>' in table
    # A claim that is not judged is neither good nor bad.
    assert '<td class="unjudged" data-name="grade">-</td>' in page
    assert '<td class="no"' not in page


def test_the_first_page_says_what_was_found(written):
    page = read(written, "satellite-index.html")
    assert page.count('<a href="satellite-2005.html">') >= 2
    # Its own figure, and all of its claims in one.
    assert page.count("<figure") == 2
    assert "Beside a TCP on a lossy satellite link SCTP gets" in page


def test_the_claims_of_every_study_stand_before_counts_and_figures(written):
    page = read(written, "satellite-index.html")
    order = ['id="studies"', "<figure", 'id="totals"', 'id="found"', "Fig. 3"]
    assert [page.index(each) for each in order] == sorted(page.index(each) for each in order)
    # A reader who has not read the papers needs the question, and how a picture is read.
    assert "When TCP and SCTP share a satellite link" in page
    assert page.count("How to read the pictures") == 1
    # Counts are one table.
    assert 'class="tally"' not in page


SEEN = {
    "L-T2-util": ["parts-L-T2-util"],
    "L-T2-gam": ["parts-L-T2-gam"],
    "L-T2-del": ["parts-L-T2-del"],
    "L-F3": ["figure-3"],
    "L-F4": ["figure-4"],
    "L-F5": ["figure-5"],
    "L-F67": ["figure-6", "figure-7", "parts-L-F67"],
    "L-F8": ["figure-8", "parts-L-F8"],
    "L-F9": ["figure-9", "parts-L-F9"],
    "L-C1": ["figures"],
}
"""What is to be seen of the claims of a study whose figures have the numbers of the publication."""


def test_sweeps_of_other_experiments_are_listed(written):
    one, two = (read(written, f"three/{name}.html").split('id="sweeps"')[1] for name in ("one", "two"))
    assert "<summary>1 sweep</summary>" in one
    assert "<summary>1 sweep, and 1 of other experiments</summary>" in two
    row = '<tr id="sweep-{}"><th scope="row">{}</th><td data-name="seeds">2</td><td data-name="points">3</td>'
    assert row.format("losses", "losses") in two
    link = '<a href="../three/one.html#sweeps">one: losses</a>'
    assert row.format("one-losses", link) in two


@pytest.mark.parametrize(
    ("where", "title", "same"),
    [
        ("Fig. 5.14a", "Fig. 5.14: use", True),
        ("Fig. 5.14a", "Fig. 5.14(b): use", False),
        ("Fig. 5.1", "Fig. 5.14: use", False),
        ("Figs. 5.37 to 5.40, 5.43", "Fig. 5.39(a): rates", True),
        ("Figs. 5.37 to 5.40, 5.43", "Fig. 5.43: rates", True),
        ("Figs. 5.37 to 5.40, 5.43", "Fig. 5.41: rates", False),
        ("Fig. 5, 5.1, 7.1", "Fig. 5: baseline", True),
        ("Fig. 5, 5.1, 7.1", "Fig. 7: another", False),
        ("section 5.2", "Fig. 5.2: bytes", False),
        ("Figs. 6 and 7", "Figs. 7, 8: windows", True),
    ],
)
def test_a_claim_leads_to_the_figure_that_it_is_printed_in(where, title, same):
    part = claims.Part("x", "1", 1.0, None, None, grades.A)
    entry = catalogue.Entry("X", "x", where, "", "", ())
    found = to_see.of(claims.Claim(entry, "", "", (part,), grades.A), {"one": title, "two": "Another"})
    first = to_see.Link(title.partition(":")[0], "one") if same else to_see.Link("figures", "figures")
    assert found == [first, to_see.Link("runs", "sweeps")]


def test_a_claim_that_names_its_sweep_leads_to_it():
    part = claims.Part("x", "1", 1.0, None, None, grades.A)
    wanted = (catalogue.Expected("x", sweep="two losses"), catalogue.Expected("y", sweep="two losses"))
    claim = claims.Claim(catalogue.Entry("X", "x", "", "", "", wanted), "", "", (part,), grades.A)
    assert to_see.of(claim, {})[-1] == to_see.Link("runs", "sweep-two-losses")
    assert to_see.of(replace(claim, parts=()), {}) == []


def test_a_part_is_drawn_in_its_band():
    def strip(measured, half=0.5, value=10.0):
        return forest.strip(claims.Part("x", "", measured, half, 30, grades.A, value=value, band=(8.0, 12.0)))

    assert strip(11.0) == forest.Strip(0.5, 0.25, 0.75, 0, 0.0)
    assert strip(11.0, None, 9.0) == forest.Strip(0.5, 0.5, 0.5, 0, -0.5)
    assert strip(1.0).far == -1
    assert strip("no figure") is None


def test_the_table_of_a_claim_has_a_strip_for_each_band(written):
    page = read(written, "satellite-2005.html")
    table = page[page.index('id="parts-L-F9"') :].split("</table>")[0]
    assert '<th scope="col">in its band</th>' in table
    assert 1 <= table.count("<svg") < table.count('data-name="in its band"')
    # A claim without a band has no such column.
    assert "in its band" not in page[page.index('id="parts-L-C1"') :].split("</table>")[0]
    assert page.count("In its band: the shaded band is the tolerance") == 1


@pytest.mark.parametrize(
    ("name", "up"), [("three.html", "three/{}.html"), ("satellite-2005.html", "")], ids=["several", "one"]
)
def test_every_study_has_one_table_of_its_claims(written, name, up):
    """Each row leads to the claim, what is to be seen of it and its runs, and has the command that makes these again."""
    page = read(written, name)
    assert "<figure" in page[page.index('id="claims-at-a-glance"') :]
    table = page[page.index('<h2 id="every-claim">') :].split("</section>")[0]
    rows = re.findall(r'<tr><th scope="row">.*?</tr>', table, re.DOTALL)
    assert len(rows) == (2 if up else len(folders.study_at(EXPERIMENTS / "satellite-2005").claims))
    for row in rows:
        identifier = re.search(r'#([^"]+)">\1</a>', row)[1]
        address = up.format(identifier.rpartition("-")[0])
        links = re.findall(r'href="([^"]+)"', row)
        figures = [f"claim-{identifier}"] if up else SEEN[identifier]
        assert links == [f"{address}#{place}" for place in (identifier, *figures, "sweeps")]
        command = f"anabranch-lab studies --claim {identifier} --out out/{identifier}"
        assert f"<code>{command}</code>" in row


def test_a_claim_names_its_files_and_its_command(written):
    page = read(written, "satellite-2005.html")
    claim = page[page.index('<article class="claim" id="L-C1">') :].split("</article>")[0]
    assert "<code>anabranch-lab studies --claim L-C1 --out out/L-C1</code>" in claim
    found = dict(re.findall(r"<code>(experiments/satellite-2005/([a-z.]+)[:\d]*)</code>", claim))
    places = {name: place for place, name in found.items()}
    assert list(places) == ["claims.toml", "judge.py", "plan.toml"]
    for name in ("claims.toml", "judge.py"):
        file, line = places[name].split(":")
        assert "L-C1" in (folders.root() / file).read_text().splitlines()[int(line) - 1]
    # Outside a checkout they are seen from beside the study.
    claim = read(written, "three/one.html")
    assert re.search(r"<code>three/one/claims.toml:\d+</code>", claim)
    assert re.search(r"judged by <code>three/one/claims.toml:\d+ \(`measure`\)</code>", claim)
    assert "<code>three/one/plan.toml</code>" in claim


def accepted(command):
    """The first word of a command that the command line takes, with words in capitals for names of one's own."""
    program, *words = shlex.split(html.unescape(command))
    assert program == "anabranch-lab"
    options = cli._parser().parse_args(words)
    if options.command is cli._bundle:
        # The parser takes any name of the file.
        bundle.check(options.file, [])
        assert options.name
    return words[0]


def test_every_command_that_pages_and_the_pdf_print_is_accepted(written):
    pages = [read(written, name) for name in NAMES]
    pages.append(report.environment().get_template("waiting.html.j2").render())
    printed = {each for page in pages for each in re.findall(r"<code>(anabranch-lab .*?)</code>", page)}
    assert {accepted(each) for each in printed} == {"studies", "report"}
    # No command stands in a page in another way.
    assert not re.search(r"(?<!<code>)anabranch-lab [a-z]", " ".join(pages))
    quoted = re.findall(r"`(.*?)`", pdf.AGAIN)
    assert [accepted(each) for each in quoted if each.startswith("ana")] == ["new", "bundle", "studies"]
    # A study, not an experiment.
    assert "`anabranch-lab new NAME --study` makes a study" in pdf.AGAIN
    targets = re.findall(r"^([\w-]+):", (folders.root() / "Makefile").read_text(), re.MULTILINE)
    made = [each.removeprefix("make ") for each in quoted if each.startswith("make ")]
    assert made == ["demo", "studies"]
    assert set(made) <= set(targets)
    packed = re.findall(r"^ +(anabranch-lab .*)", bundle.README, re.MULTILINE)
    assert [accepted(each) for each in packed] == ["rerun"]


def test_the_pdf_begins_with_the_question_and_the_findings(made_up, analysed, tmp_path, monkeypatch):
    told = []
    write = pdf._paragraph

    def paragraph(document, words, **look):
        told.append((document.page, words))
        write(document, words, **look)

    monkeypatch.setattr(pdf, "_paragraph", paragraph)
    monkeypatch.setattr(report, "_at_a_glance", lambda *_: None)
    pages = report.Pages(tmp_path)
    pages.add(made_up, analysed)
    first = html.unescape(pages.finish().read_text(encoding="utf-8"))
    front = plan.read(EXPERIMENTS / report.FRONT_MATTER)
    # Findings of studies that are not in the report are not told.
    (mine,) = (each for each in front["finding"] if each["study"] == "satellite-2005")
    short = folders.study_at(EXPERIMENTS / "satellite-2005").short
    wanted = [
        front["asked"],
        f"1. {short}: {mine['text']} What it lacks: {mine['lacks']}.",
        pdf.AGAIN.replace("`", ""),
    ]
    found = [(page, text) for page, text in told if text in wanted or "What it lacks" in text]
    assert found == [(1, each) for each in wanted]
    assert all(each in first for each in (front["asked"], mine["text"], mine["lacks"]))


@pytest.mark.parametrize(
    ("claim", "folder"),
    [("Z-II/III-6", "Z-II-III-6"), ("A-MS1..4", "A-MS1--4"), ("..", "--"), ("a b", "a-b")],
)
def test_the_folder_of_a_claim_is_one_folder_below_out(claim, folder):
    words = shlex.split(sources.again(claim))
    assert words == ["anabranch-lab", "studies", "--claim", claim, "--out", f"out/{folder}"]
    options = cli._parser().parse_args(words[1:])
    assert (options.claim, str(options.out)) == (claim, f"out/{folder}")


def test_the_command_of_a_claim_makes_its_runs_again_and_leaves_the_report(tmp_path, monkeypatch, capsys):
    study = tmp_path / "mine"
    new.make(study, study=True)
    new.make(study / "second")
    claims, plan = study / "second" / "claims.toml", study / "second" / "plan.toml"
    claims.write_text(claims.read_text().replace('"second-1"', '"II/III-1"'))
    for each in (plan, study / "losses" / "plan.toml"):
        each.write_text('seeds = "1..2"\n' + each.read_text())
    monkeypatch.chdir(study)
    # Two seeds judge nothing, which is said with a 1.
    assert cli.main(["studies", "--jobs", "1"]) == 1
    files = {path: path.read_bytes() for path in (study / "out").rglob("*") if path.is_file()}
    assert {"index.html", "report.pdf", "mine.html", "claims.json"} <= {path.name for path in files}
    capsys.readouterr()
    page = html.unescape(read(study / "out" / "report", "mine/second.html"))
    (command,) = re.findall(r"<code>anabranch-lab (studies .*?)</code>", page)
    assert cli.main([*shlex.split(command), "--jobs", "1"]) == 1
    # All are made, none is found on disk.
    assert "6 runs made, all 6 on disk" in capsys.readouterr().out
    assert {path: path.read_bytes() for path in files} == files
    assert (study / "out" / "II-III-1" / "report" / "mine" / "second.html").is_file()


@pytest.mark.parametrize("name", NAMES)
def test_words(written, name):
    text = re.sub(r"<style>.*?</style>", "", read(written, name), flags=re.DOTALL)
    text = html.unescape(re.sub(r"<[^>]+>", "", text))
    assert not re.search(r"\b1 (seeds|sweeps)\b", text)
    assert not re.search(r"seeds?\.\S", text)
    assert not re.search(r"\w\.(Tested|Engine|Kind)\b", text)
    assert "None" not in text


def test_pictures_say_what_one_sees_and_have_their_numbers(written):
    page = Structure(read(written, "satellite-2005.html"))
    title = "Fig. 3: share of SCTP in the throughput"
    (alt,) = (alt for alt in page.alts if alt.startswith(title))
    assert "share of SCTP, % over loss probability p" in alt
    assert (
        "published (one run per point) falls from" in alt or "published (one run per point) rises from" in alt
    )
    rows = list(csv.DictReader(read(written, "figures/satellite-2005-figure-3.csv").splitlines()))
    published = [float(row["y"]) for row in rows if row["curve"].startswith("published")]
    assert len(published) == 7
    measured = [row for row in rows if row["curve"] == "SCTP ns2-2.28, TCP study-2005"]
    assert len(measured) == 7
    assert all(float(row["half_95"]) > 0 for row in measured)
    for kind, begin in ((".svg", b"<?xml"), (".dark.svg", b"<?xml"), (".png", b"\x89PNG")):
        assert (written / f"figures/satellite-2005-figure-3{kind}").read_bytes().startswith(begin)


def test_what_one_sees_in_words(tmp_path):
    with plots.style():
        figure, (left, right) = plots.panels(2)
        left.errorbar([1, 2, 3], [1.0, 5.0, 2.0], yerr=[0.1, 0.2, 0.1], label="one")
        left.plot([1, 3], [4.0, 4.0], label="two")
        plots.label(left, "(a) First", "time, s", "Mbit/s")
        right.bar([1, 2], [3.0, 1.0], label="three")
        right.axhline(2)
        plots.label(right, "(b) Second", "packets", "")
        picture = pictures.write(figure, tmp_path, "x")
    assert picture.alt == (
        "(a) First. Mbit/s over time, s: one rises from 1 at 1 to 2 at 3, highest with 5 at 2; two stays at 4 from 1 to 3. "
        "(b) Second. packets: three falls from 3 at 1 to 1 at 2."
    )
    rows = list(csv.reader((tmp_path / "x.csv").read_text(encoding="utf-8").splitlines()))
    assert rows[0] == ["panel", "curve", "x", "y", "half_95"]
    assert rows[2] == ["(a) First", "one", "2", "5", "0.2"]
    assert len(rows) == 1 + 3 + 2 + 2
    dark = (tmp_path / "x.dark.svg").read_text()
    assert pictures.DARK["paper"] in dark
    assert "#ffffff" not in dark


def test_a_head_without_words_is_no_head(results, tmp_path):
    table = experiment.Table("A table", ["", "value"], [["", "1"], ["x", "2"]])
    page = report.write_page(tmp_path, results, experiment.Analysis(claims=[], tables=[table]))
    text = page.read_text(encoding="utf-8")
    assert '<tr><td></td><th scope="col">value</th></tr>' in text
    assert '<tr><td></td><td>1</td></tr><tr><th scope="row">x</th><td>2</td></tr>' in text
    assert Structure(text).bare == 0


def test_words_of_an_author_stand():
    assert folders.study_at(folders.root() / "experiments" / "satellite-2005").short.startswith("Alamgir")
    assert not any(study.short == study.title for study in folders.studies(folders.root() / "experiments"))


def test_the_first_page_has_five_sentences():
    """The first page has five sentences on all studies together, for a reader with two minutes."""
    experiments = folders.root() / "experiments"
    found = [path for path in experiments.glob("*/**/analysis.py") if "sentence=" in path.read_text()]
    assert len(found) == 5, found
