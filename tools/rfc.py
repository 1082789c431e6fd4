#!/usr/bin/env python3
"""Writes out/docs/rfc.md: each normative sentence of the RFCs of docs/rfc/, and where it is implemented and tested, or why not.

    python3 tools/rfc.py            writes out/docs/rfc.md, which is not committed, and docs/rfc/states.txt, which is
    python3 tools/rfc.py --check    fails when docs/rfc/states.txt is stale, a marker is wrong, or a sentence has no answer or no test
    python3 tools/rfc.py --open     prints the sentences that have no answer yet

A sentence has a name: its section and its number in it, as in `rfc9260:6.1-3`. That word in a comment is a marker: the code that the
comment stands at implements the sentence, or tests it where it is a test. A comment that quotes a sentence is a marker, too:

    // RFC 9260, 6.3.1: "RTT measurements MUST NOT be made using chunks that were retransmitted"

or `"RTT measurements MUST NOT ..." (RFC 9260, 6.3.1)`, where RFC 9260 may be left out. Its words are looked for in the sentences
of that RFC, without regard to case, signs and line breaks; `...` may stand for words that are left out.

`docs/rfc/rfcNNNN.tsv` has a line for each sentence: name, level, whom it binds, its words, and a verdict, which is empty where
markers say it all:

    not: REASON      not implemented on purpose, or nothing that an implementation could do
    open: WHAT       not done yet; markers show the implemented part
    see: ID, ID      says the same as other sentences of this RFC, or introduces them

A script that is expected to fail (`expected-failures.txt`) shows that its sentence is open, and why.

docs/rfc/states.txt has the state of every sentence. So an author who takes away the last test or the last marker of a sentence sees
`make lint` fail, and a reviewer sees in the difference which sentence it was.
"""

import argparse
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LISTS = Path("docs/rfc")
PAGE = Path("out/docs/rfc.md")
KEPT = Path("docs/rfc/states.txt")
SCRIPTS = Path("tests/scripts")
SCANNED = (("crates", ".rs"), ("benches", ".rs"), ("tests/scripts", ".pkt"))
SKIPPED = {"target", ".venv", "fuzz", "node_modules"}

TITLES = {
    "rfc9260": "Stream Control Transmission Protocol",
    "rfc8260": "Stream Schedulers and User Message Interleaving",
    "rfc6525": "Stream Reconfiguration",
    "rfc3758": "Partial Reliability Extension",
    "rfc7053": "SACK-IMMEDIATELY",
    "rfc9653": "Zero Checksum",
    "rfc8899": "Packetization Layer Path MTU Discovery for Datagram Transports",
    "rfc6951": "UDP Encapsulation",
}

MARKER = re.compile(r"\b(rfc\d{4}):([0-9A-Z][0-9A-Za-z.]*-\d+|\S*)")
QUOTING = re.compile(r"RFC (\d{4})(?:,? (?:section )?([0-9A-D](?:[0-9.]*[0-9])?))?")
QUOTED = re.compile(r'"([^"]+)"|“([^”]+)”')
QUOTED_BEFORE = re.compile(r'"([^"]{24,})"[,.;:]?\s*\((?:RFC (\d{4}),? )?(\d+(?:\.\d+)*)')
"""A quote with its section behind it; where no RFC is named it is the first one."""
FIRST = "rfc9260"
LEFT_OUT = re.compile(r"\[?(?:\.\.\.|…)\]?")
SENTENCE_END = re.compile(r"(?<=[a-z0-9)][.;])\s+(?=[A-Z])")
COMMENT = re.compile(r"^\s*//[/!]?\s?(.*)$")
ITEM = re.compile(r"\b(?:fn|struct|enum|trait|const(?!\s+fn)|static|mod|type|macro_rules!)\s+([A-Za-z_]\w*)")
FUNCTION = re.compile(
    r"^(\s*)(?:pub(?:\([^)]*\))?\s+)?(?:default\s+|const\s+|async\s+|unsafe\s+)*fn\s+([A-Za-z_]\w*)"
)
TEST_FILE = re.compile(r"#\[cfg\(test\)\]\s*(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+);")
SHORTEST_QUOTE = 24
"""Letters of a quote below which it may be anything."""

STATES = ("implemented and tested", "implemented", "tested", "open", "not")


@dataclass(frozen=True, order=True)
class Place:
    """The place of a marker: a file, and the function or item that it stands at."""

    path: str
    name: str
    test: bool

    def link(self) -> str:
        """The place in Markdown, seen from the folder of PAGE."""
        short = re.sub(r"^(?:crates|tests/scripts)/", "", self.path).replace("/src/", "/")
        text = f"{short.removesuffix('.rs')}::{self.name}" if self.name else short
        return f"[{text}]({'../' * (len(PAGE.parts) - 1)}{self.path})"


@dataclass
class Sentence:
    """A line of a list, and the places that name it."""

    rfc: str
    key: str
    level: str
    binds: str
    words: str
    verdict: str
    places: set[Place] = field(default_factory=set)
    failing: str = ""
    """The reason why a script about the sentence fails, where one is expected to."""
    plain: str = ""

    @property
    def section(self) -> str:
        """The section of the RFC."""
        return self.key.rsplit("-", 1)[0]


def plain(text: str) -> str:
    """The words of a text alone, to compare quotes."""
    return re.sub(r"[^a-z0-9^]+", " ", text.lower()).strip()


def read_list(path: Path) -> list[Sentence]:
    """The sentences of an RFC, in order. ValueError names the line that is wrong."""
    found, seen = [], set()
    for number, row in enumerate(path.read_text().splitlines(), 1):
        if number == 1:
            continue
        cells = row.split("\t")
        where = f"{path.name}:{number}"
        if len(cells) != 5:
            raise ValueError(f"{where}: {len(cells)} fields instead of 5")
        key, level, binds, words, verdict = cells
        if key in seen:
            raise ValueError(f"{where}: {key} is there twice")
        if level not in ("MUST", "SHOULD"):
            raise ValueError(f"{where}: level is {level}; allowed are MUST and SHOULD")
        if verdict and not re.match(r"(not|open|see): \S", verdict):
            raise ValueError(f"{where}: a verdict begins with not:, open: or see:")
        seen.add(key)
        found.append(Sentence(path.stem, key, level, binds, words, verdict, plain=plain(words)))
    return found


def files(root: Path) -> Iterator[Path]:
    """The files that may hold markers."""
    for folder, suffix in SCANNED:
        for base, folders, names in os.walk(root / folder):
            folders[:] = sorted(f for f in folders if f not in SKIPPED)
            for name in sorted(names):
                if name.endswith(suffix):
                    yield Path(base) / name


def is_test(path: str) -> bool:
    """Whether all of a file is a test."""
    return "/tests/" in f"/{path}" or path.endswith("/tests.rs")


def declared_for_tests(texts: dict[Path, str]) -> Iterator[Path]:
    """The files that a `mod.rs` or `lib.rs` declares behind `#[cfg(test)]`."""
    for path, text in texts.items():
        if path.name in ("mod.rs", "lib.rs"):
            for name in TEST_FILE.findall(text):
                yield path.parent / f"{name}.rs"


def item_at(lines: list[str], first: int, last: int) -> str:
    """The function that a comment stands at (lines first to last) or in; else the item behind it."""
    behind = last + 1
    while behind < len(lines) and re.match(r"\s*(#\[|#!\[|//)", lines[behind]):
        behind += 1
    if behind < len(lines):
        found = ITEM.search(lines[behind])
        if found and not lines[behind].strip().startswith(("let ", "use ")):
            return found.group(1)
    indent = len(lines[first]) - len(lines[first].lstrip())
    for line in reversed(lines[:first]):
        found = FUNCTION.match(line)
        if found and len(found.group(1)) < indent:
            return found.group(2)
    return ""


def comments(name: str, text: str, test: bool) -> Iterator[tuple[Place, str]]:
    """Each block of comment lines of a file: its place and its words."""
    lines = text.splitlines()
    script = name.endswith(".pkt")
    number = 0
    while number < len(lines):
        # The rest of the file is tests, unless it is a file of its own that is named here.
        named_only = TEST_FILE.match("\n".join(lines[number : number + 2]))
        if lines[number].startswith(("#[cfg(test)]", "mod tests {")) and not named_only:
            test = True
        found = COMMENT.match(lines[number])
        if not found:
            trailing = re.search(r"\s//\s(.*rfc\d{4}:.*)$", lines[number])
            if trailing:
                yield Place(name, "" if script else item_at(lines, number, number), test), trailing.group(1)
            number += 1
            continue
        first, words = number, []
        while found:
            words.append(found.group(1))
            number += 1
            found = COMMENT.match(lines[number]) if number < len(lines) else None
        block = " ".join(words)
        if "RFC" in block or "rfc" in block or '" (' in block or '", (' in block:
            yield Place(name, "" if script else item_at(lines, first, number - 1), test or script), block


def quotes(block: str) -> Iterator[tuple[str, str, str, bool]]:
    """(rfc, section, words, whether they may be of several sentences) of each quote of a comment that names its section."""
    named = list(QUOTING.finditer(block))
    ends = [*(m.start() for m in named[1:]), len(block)]
    for mention, end in zip(named, ends, strict=False):
        for quote in QUOTED.finditer(block, mention.end(), end):
            for part in LEFT_OUT.split(quote.group(1) or quote.group(2)):
                for sentence in SENTENCE_END.split(part):
                    yield f"rfc{mention.group(1)}", mention.group(2) or "", plain(sentence), True
    for quote in QUOTED_BEFORE.finditer(block):
        rfc = f"rfc{quote.group(2)}" if quote.group(2) else FIRST
        for part in LEFT_OUT.split(quote.group(1)):
            for sentence in SENTENCE_END.split(part):
                yield rfc, quote.group(3), plain(sentence), False


def expected_failures(root: Path) -> dict[str, str]:
    """The scripts that are expected to fail, by their paths, with the reasons."""
    found = {}
    for path in sorted((root / SCRIPTS).rglob("expected-failures.txt")):
        for line in path.read_text().splitlines():
            name, colon, reason = line.partition(".pkt: ")
            if colon and not line.startswith("#"):
                script = path.parent / f"{name}.pkt"
                found[script.relative_to(root).as_posix()] = reason.strip()
    return found


def match(sentences: list[Sentence], section: str, words: str) -> list[Sentence]:
    """The sentences that a quote is of; those of the section it names, if any of them has the words."""
    if len(words) < SHORTEST_QUOTE:
        return []
    found = [
        s for s in sentences if words in s.plain or (len(s.plain) >= SHORTEST_QUOTE and s.plain in words)
    ]
    near = [s for s in found if s.section == section]
    below = [s for s in found if section and s.section.startswith(section + ".")]
    return near or below or (found if len(found) == 1 else [])


def gather(root: Path) -> tuple[dict[str, list[Sentence]], list[str]]:
    """The sentences of all RFCs with the places that name them, and the faults of the markers."""
    lists, faults = {}, []
    order = list(TITLES)
    paths = (root / LISTS).glob("rfc*.tsv")
    for path in sorted(paths, key=lambda p: (order.index(p.stem) if p.stem in order else len(order), p.stem)):
        try:
            lists[path.stem] = read_list(path)
        except ValueError as fault:
            faults.append(str(fault))
    known = {(s.rfc, s.key): s for sentences in lists.values() for s in sentences}
    texts = {path: path.read_text() for path in files(root)}
    tests = set(declared_for_tests(texts))
    for path, text in texts.items():
        name = path.relative_to(root).as_posix()
        for place, block in comments(name, text, is_test(name) or path in tests):
            for marker in MARKER.finditer(block):
                sentence = known.get((marker.group(1), marker.group(2)))
                if sentence:
                    sentence.places.add(place)
                else:
                    faults.append(f"{place.path}: {marker.group()} names no sentence of {LISTS}/")
            for rfc, section, words, several in quotes(block):
                matched = match(lists.get(rfc, []), section, words)
                for sentence in matched if several or len(matched) == 1 else []:
                    sentence.places.add(place)
    failing = expected_failures(root)
    for sentence in known.values():
        reasons = {failing[p.path] for p in sentence.places if p.path in failing}
        sentence.failing = "; ".join(sorted(reasons))
        sentence.places = {p for p in sentence.places if p.path not in failing}
        name = f"{sentence.rfc}:{sentence.key}"
        kind, _, rest = sentence.verdict.partition(": ")
        if kind == "see":
            faults += [
                f"{name}: see {key}, which is no sentence of {sentence.rfc} or has a see: of its own"
                for key in rest.split(", ")
                if (sentence.rfc, key) not in known or known[sentence.rfc, key].verdict.startswith("see: ")
            ]
        if kind == "not" and any(not p.test for p in sentence.places):
            where = min(p for p in sentence.places if not p.test).path
            faults.append(f"{name}: the list says that it is not implemented, and {where} has a marker")
        if not sentence.verdict and not sentence.places and not sentence.failing:
            faults.append(f"{name}: a {sentence.level} without marker or verdict: {sentence.words}")
        reasoned = sentence.verdict or sentence.failing
        if not reasoned and sentence.places and not any(p.test for p in sentence.places):
            where = min(sentence.places).path
            faults.append(
                f"{name}: a {sentence.level} that {where} implements, without a test or a reason: {sentence.words}"
            )
    return lists, faults


def state(sentence: Sentence, others: dict[str, Sentence]) -> str:
    """One of STATES; "" where nobody has said anything."""
    kind, _, rest = sentence.verdict.partition(": ")
    if kind in ("not", "open"):
        return kind
    if sentence.failing:
        return "open"
    if kind == "see":
        states = [state(others[key], others) for key in rest.split(", ") if key in others]
        weakest = [
            s for s in ("open", "", "implemented", "tested", "implemented and tested", "not") if s in states
        ]
        return weakest[0] if weakest else ""
    code = any(not p.test for p in sentence.places)
    test = any(p.test for p in sentence.places)
    return "implemented and tested" if code and test else "implemented" if code else "tested" if test else ""


def in_order(sentences: list[Sentence]) -> dict[str, list[Sentence]]:
    """By section, in the order of the RFC."""
    found: dict[str, list[Sentence]] = {}
    for sentence in sentences:
        found.setdefault(sentence.section, []).append(sentence)
    return found


def cell(text: str) -> str:
    """Text that means nothing to a table of Markdown."""
    return re.sub(r"([|*_<>\[\]`])", r"\\\1", text)


def totals(lists: dict[str, list[Sentence]]) -> list[str]:
    """The table at the top."""
    rows = [
        "| RFC | level | sentences | " + " | ".join(STATES) + " |",
        "|---|---|---:|" + "---:|" * len(STATES),
    ]
    for rfc, sentences in lists.items():
        others = {s.key: s for s in sentences}
        for level in ("MUST", "SHOULD"):
            states = [state(s, others) for s in sentences if s.level == level]
            if states:
                counts = " | ".join(str(sum(1 for s in states if s == wanted)) for wanted in STATES)
                rows.append(f"| {rfc[3:]} | {level} | {len(states)} | {counts} |")
    return rows


def row(sentence: Sentence, others: dict[str, Sentence]) -> str:
    """A sentence as a row of its section's table."""
    kind, _, rest = sentence.verdict.partition(": ")
    code = ", ".join(p.link() for p in sorted(sentence.places) if not p.test)
    test = ", ".join(p.link() for p in sorted(sentence.places) if p.test)
    if kind == "see":
        rest = "as " + ", ".join(f"`{key}`" for key in rest.split(", "))
        code = f"{rest}; {code}" if code else rest
    elif sentence.failing and not kind:
        rest = f"**open**: {cell(sentence.failing)}"
        code = f"{rest}; {code}" if code else rest
    elif kind in ("not", "open"):
        rest = f"**{kind}**: {cell(rest)}"
        code = f"{rest}; {code}" if code else rest
    # Text in brackets in an RFC is a reference to a document.
    return f"| `{sentence.key}` | {sentence.level} | {sentence.binds} | {cell(sentence.words)} | {code} | {test} |"


def page(lists: dict[str, list[Sentence]]) -> str:
    """The text of PAGE."""
    out = [
        "# What the RFCs demand, and where it is",
        "",
        "Written by `make rfc-doc` from the lists in `docs/rfc/` and markers in code, tests and scripts.",
        "`tools/rfc.py` tells what a marker is. Every sentence with MUST, SHALL, REQUIRED, SHOULD or RECOMMENDED (and their negations)",
        "is here; those with MAY and OPTIONAL alone are not. A sentence with several of these words counts once, as the strongest. Long",
        "sentences are cut around that word; the words are those of the RFCs, © IETF Trust and their authors.",
        "",
        "- *implemented and tested*, *implemented*, *tested*: markers name it in code, in a test or script, or in both",
        "- *open*: it should be done and is not, or not wholly; the row says what is missing",
        "- *not*: not implemented on purpose, or nothing that this stack could do; the row says why",
        "",
        *totals(lists),
    ]
    for rfc, sentences in lists.items():
        others = {s.key: s for s in sentences}
        title = f": {TITLES[rfc]}" if rfc in TITLES else ""
        out += ["", f"## RFC {rfc[3:]}{title}"]
        for section, rows in in_order(sentences).items():
            out += ["", f"### {rfc[3:]}, {section}", ""]
            out += [
                "| | level | binds | sentence | implemented in, or why not | tested by |",
                "|---|---|---|---|---|---|",
            ]
            out += [row(s, others) for s in rows]
    return "\n".join(out) + "\n"


def kept(lists: dict[str, list[Sentence]]) -> str:
    """The text of KEPT: how many sentences are in each state, and which."""
    out = [
        "# States of the sentences of the RFCs",
        "",
        "Written by `make rfc-doc`; `make lint` fails when it is stale. The sentences themselves, with links to code and tests, are in the",
        "page that `make rfc-doc` writes to `out/docs/rfc.md`, which the site has. Numbers are sections and sentences in them.",
        "",
        *totals(lists),
    ]
    for rfc, sentences in lists.items():
        others = {s.key: s for s in sentences}
        out += ["", f"## RFC {rfc[3:]}"]
        for wanted in STATES:
            for level in ("MUST", "SHOULD"):
                keys = [s.key for s in sentences if s.level == level and state(s, others) == wanted]
                if keys:
                    out += ["", f"{level}, {wanted}: {', '.join(keys)}"]
    return "\n".join(out) + "\n"


def run(root: Path, check: bool, unanswered: bool) -> int:
    """Runs the command; returns its exit code."""
    lists, faults = gather(root)
    if unanswered:
        for sentences in lists.values():
            for s in sentences:
                if not s.verdict and not s.places:
                    print(f"{s.rfc}:{s.key} {s.level} {s.words}")
        return 0
    states = root / KEPT
    if not check:
        (root / PAGE).parent.mkdir(parents=True, exist_ok=True)
        (root / PAGE).write_text(page(lists))
        states.write_text(kept(lists))
    elif not states.exists() or states.read_text() != kept(lists):
        faults.append(f"{KEPT} is stale: run `make rfc-doc`, and look at what it changes there")
    for fault in faults:
        print(fault)
    return 1 if faults else 0


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit code 1 when something is stale or missing"
    )
    parser.add_argument("--open", action="store_true", help="print the sentences without marker or verdict")
    options = parser.parse_args()
    return run(ROOT, options.check, options.open)


if __name__ == "__main__":
    sys.exit(main())
