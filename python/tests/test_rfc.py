"""The page about the RFCs: markers and quotes are found, and their faults are reported."""

import importlib.util
import re
import sys

import pytest

from anabranch_lab.plan import folders

ROOT = folders.root()

LIST = """id\tlevel\tbinds\tsentence\tverdict
6.1-1\tMUST\tendpoint\tThe following rules MUST be applied:\tsee: 6.1-2
6.1-2\tMUST\tsender\tThe sender MUST NOT send more than the window allows, and it MUST wait.\t
6.1-3\tSHOULD\tendpoint\tAn endpoint SHOULD tell its user.\t
7-1\tMUST\treceiver\tThe receiver MUST have a bell.\tnot: no bell in the machine
8-1\tMUST\tendpoint\tThe endpoint MUST count what it has lost.\topen: it counts to three
"""

CODE = """
#[cfg(test)]
mod apart;

/// Sends.
// rfc9999:6.1-2
#[inline]
pub(crate) const fn send() {
    // RFC 9999, 8: "the Endpoint must
    // count what ... it has lost".
    // "An endpoint SHOULD tell its user" (RFC 9999, 6.1): here, too.
    let x = 1;
}

#[cfg(test)]
mod tests {
    // rfc9999:6.1-3
    #[test]
    fn tells() {}
}
"""

SCRIPT = '// RFC 9999, 6.1: "more than the window\n// allows, and it MUST wait"\n\n+0.0 send(3)\n'


def load(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def rfc():
    return load("rfc")


@pytest.fixture
def checkout(tmp_path):
    """Writes a checkout with one list, one file and one script; returns its folder."""

    def write(sentences=LIST, code=CODE, script=SCRIPT):
        for name, text in {
            "docs/rfc/rfc9999.tsv": sentences,
            "crates/one/src/lib.rs": code,
            "tests/scripts/6/one.pkt": script,
        }.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        return tmp_path

    return write


def by_key(rfc, root):
    lists, faults = rfc.gather(root)
    return {s.key: s for s in lists["rfc9999"]}, faults


def test_markers_and_quotes_are_found_where_they_stand(rfc, checkout):
    found, faults = by_key(rfc, checkout())
    assert faults == []
    assert {(p.name, p.test) for p in found["6.1-2"].places} == {("send", False), ("", True)}
    assert {(p.name, p.test) for p in found["6.1-3"].places} == {("send", False), ("tells", True)}
    assert {(p.name, p.test) for p in found["8-1"].places} == {("send", False)}
    states = {key: rfc.state(s, found) for key, s in found.items()}
    assert states == {
        "6.1-1": "implemented and tested",
        "6.1-2": "implemented and tested",
        "6.1-3": "implemented and tested",
        "7-1": "not",
        "8-1": "open",
    }


def test_the_page_is_written_and_states_are_kept(rfc, checkout, capsys):
    root = checkout()
    assert rfc.run(root, check=True, unanswered=False) == 1
    assert "docs/rfc/states.txt is stale" in capsys.readouterr().out
    assert not (root / "out").exists()
    assert rfc.run(root, check=False, unanswered=False) == 0
    assert rfc.run(root, check=True, unanswered=False) == 0
    page = root / "out" / "docs" / "rfc.md"
    states = (root / "docs" / "rfc" / "states.txt").read_text()
    total = "| 9999 | MUST | 4 | 2 | 0 | 0 | 1 | 1 |"
    assert total in page.read_text()
    assert total in states
    assert "MUST, implemented and tested: 6.1-1, 6.1-2\n" in states
    for text, link in [
        ("one/lib::send", "../../crates/one/src/lib.rs"),
        ("6/one.pkt", "../../tests/scripts/6/one.pkt"),
    ]:
        assert f"[{text}]({link})" in page.read_text()
        assert (page.parent / link).is_file()
    # Lines that move and functions that get another name change no state, and the page has the new name.
    checkout(code="\n\n\n" + CODE.replace("fn send", "fn sends"))
    assert rfc.run(root, check=True, unanswered=False) == 0
    assert rfc.run(root, check=False, unanswered=False) == 0
    assert "[one/lib::sends]" in page.read_text()


def test_a_state_that_changes_is_stale(rfc, checkout, capsys):
    root = checkout()
    assert rfc.run(root, check=False, unanswered=False) == 0
    # A test is left, so nothing else is wrong; but the sentence is not marked in the code any more.
    checkout(code=CODE.replace("// rfc9999:6.1-2", ""))
    assert rfc.run(root, check=True, unanswered=False) == 1
    said = capsys.readouterr().out
    assert said.count("\n") == 1
    assert "docs/rfc/states.txt is stale" in said


def test_a_script_that_is_expected_to_fail_shows_what_is_open(rfc, checkout):
    root = checkout()
    list_of_failures = root / "tests" / "scripts" / "expected-failures.txt"
    list_of_failures.write_text("# why\n6/one.pkt: it waits too short\n")
    found, faults = by_key(rfc, root)
    assert faults == []
    assert rfc.state(found["6.1-2"], found) == rfc.state(found["6.1-1"], found) == "open"
    assert "**open**: it waits too short; [one/lib::send]" in rfc.row(found["6.1-2"], found)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"code": CODE.replace("6.1-2", "6.1-9")}, "rfc9999:6.1-9 names no sentence"),
        ({"code": CODE.replace("rfc9999:6.1-2", "rfc9998:6.1-2")}, "rfc9998:6.1-2 names no sentence"),
        (
            {"code": CODE.replace("6.1-3", "6.1-2").replace("tell", "ask")},
            "rfc9999:6.1-3: a SHOULD without marker or verdict",
        ),
        ({"code": CODE.replace("6.1-2", "6.1-2 rfc9999:7-1")}, "rfc9999:7-1: the list says that it is not"),
        ({"sentences": LIST.replace("see: 6.1-2", "see: 6.1-7")}, "see 6.1-7, which is no sentence"),
        ({"sentences": LIST.replace("not: no bell", "no bell")}, "a verdict begins with"),
        ({"sentences": LIST.replace("7-1\t", "6.1-2\t")}, "6.1-2 is there twice"),
        ({"sentences": LIST.replace("\topen: it", " open: it")}, "4 fields instead of 5"),
    ],
)
def test_what_is_wrong_is_said(rfc, checkout, change, fault):
    _, faults = rfc.gather(checkout(**change))
    assert any(fault in said for said in faults), faults


@pytest.mark.parametrize(
    "quote",
    [
        '// RFC 9999, 7: "The receiver MUST have a bell"',  # another section
        '// RFC 9998, 6.1: "more than the window allows"',  # another RFC
        '// RFC 9999, 6.1: "it MUST wait"',  # too short to be sure
        '// "more than the window allows, and it MUST wait"',  # nobody says whose
    ],
)
def test_what_is_no_quote_of_a_sentence_counts_nowhere(rfc, checkout, quote):
    found, _ = by_key(rfc, checkout(script=quote + "\n"))
    assert all(not p.test for p in found["6.1-2"].places)


def test_sentences_are_cut_out_of_a_text():
    sentences = load("rfc_sentences")
    text = (
        "1.  Begin\n\n   It MUST NOT end.  The rest MAY\n   go on, e.g. here.\n\n"
        "Tuexen         Standards Track                   [Page 1]\n\f\n"
        "RFC 9999               A Test              November 2017\n\n\n"
        "1.1.  More\n\n   *  A list SHOULD have\n      items; (1)\n      MUST be one.\n\n     | a MUST in a diagram |\n"
    )
    found = [(section, words) for section, words in sentences.sentences(text) if sentences.WORD.search(words)]
    assert found == [
        ("1", "It MUST NOT end."),
        ("1.1", "* A list SHOULD have items; (1) MUST be one."),
    ]
    assert sentences.level(found[1][1]) == "MUST"
    assert len(sentences.shortened("word " * 100 + "MUST stop " + "word " * 100)) <= sentences.LONGEST + 4


def test_the_states_of_this_checkout_are_up_to_date(rfc):
    assert rfc.run(ROOT, check=True, unanswered=False) == 0


def test_readme_and_the_page_for_reviewers_count_as_the_states_do():
    rows = re.findall(
        r"^\| (\d+) \| (?:MUST|SHOULD) \|((?: \d+ \|){6})$", (ROOT / "docs/rfc/states.txt").read_text(), re.M
    )
    counts = {}
    for number, cells in rows:
        row = [int(cell) for cell in cells.replace("|", " ").split()]
        counts[number] = [a + b for a, b in zip(counts.get(number, [0] * 6), row, strict=True)]
    page = re.findall(
        r"^\| ([^|\n]+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$",
        (ROOT / "docs/reviewers.md").read_text(),
        re.M,
    )
    assert len(page) > 5
    for name, *told in page:
        of_row = [counts[number] for number in re.findall(r"\b\d{4}\b", name)]
        sentences, both, code, test, unanswered, without = (
            sum(column) for column in zip(*of_row, strict=True)
        )
        assert [int(cell) for cell in told] == [sentences, both, test, without], name
        assert (code, unanswered) == (0, 0), name
    sentences, both, *_ = counts["9260"]
    said = f"of {sentences} sentences with MUST or SHOULD in RFC 9260, {both} are implemented and tested"
    assert said in (ROOT / "README.md").read_text()
