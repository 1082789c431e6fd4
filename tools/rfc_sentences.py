#!/usr/bin/env python3
"""Reads the text of an RFC and writes the list of its normative sentences, for docs/rfc/.

    python3 tools/rfc_sentences.py rfc9260.txt > docs/rfc/rfc9260.tsv

The text of an RFC is not part of the repository, so this runs once for each RFC. A verdict that the list has already is kept.
A sentence counts when it has one of the words of RFC 2119 in capitals; one that has only MAY or OPTIONAL binds nobody and is
left out. Its name is the section and its number in it: 6.1-3. Short lists stay in the sentence that introduces them.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORD = re.compile(
    r"\b(MUST NOT|MUST|SHALL NOT|SHALL|REQUIRED|SHOULD NOT|SHOULD|NOT RECOMMENDED|RECOMMENDED)\b"
)
SECTION = re.compile(r"^(?:Appendix )?(\d+(?:\.\d+)*|[A-D](?:\.\d+)*)\.\s{1,3}(?=\S)")
PAGE = re.compile(r"^(RFC \d{4}\s{2,}.*\d{4}|\S.*\[Page \d+\])$")
END = re.compile(r"(?<=[a-z0-9)\]\"'’”*A-Z][.?!])\s+(?=[\"'(\[]?[A-Z0-9*])")
NO_END = re.compile(r"(?:\be\.g|\bi\.e|\bcf|\bvs|\bSect|\betc|\bFig)\.$")
"""A point behind which a sentence does not end."""

LONGEST = 320
"""Characters of a sentence that the list holds; of longer ones the part around the word."""


def paragraphs(text: str):
    """Gives (section, paragraph) without page breaks and diagrams."""
    section, lines, blank_before_break = "0", [], False
    body = text.replace("\f", "").splitlines()
    kept = []
    for line in body:
        if PAGE.match(line):
            # The lines around a page break are blank; it may be in the middle of a paragraph.
            while kept and not kept[-1].strip():
                kept.pop()
            blank_before_break = True
            continue
        if blank_before_break and not line.strip():
            continue
        if blank_before_break:
            blank_before_break = False
            last = kept[-1].rstrip() if kept else ""
            if last.endswith((".", ":", ";")) or not line.startswith(" "):
                kept.append("")
        kept.append(line)
    started = False
    for line in [*kept, ""]:
        heading = SECTION.match(line)
        # The table of contents has the headings, too, but indented or with dots.
        if heading and "...." not in line:
            if lines:
                yield section, " ".join(lines)
            lines, section, started = [], heading.group(1), True
            continue
        if not line.strip():
            if lines and started:
                yield section, " ".join(lines)
            lines = []
        elif re.match(r"^\s+([+|/\\]|0 1 2 3|[-=]{6})", line):
            lines = []
        else:
            lines.append(line.strip())


def sentences(text: str):
    """Gives (section, sentence) in order."""
    for section, paragraph in paragraphs(text):
        paragraph = re.sub(r"\s+", " ", paragraph)
        pending = ""
        for part in END.split(paragraph):
            pending = f"{pending} {part}".strip()
            if NO_END.search(pending):
                continue
            yield section, pending
            pending = ""
        if pending:
            yield section, pending


def shortened(sentence: str) -> str:
    """At most LONGEST characters, with the words that bind in the middle."""
    if len(sentence) <= LONGEST:
        return sentence
    found = list(WORD.finditer(sentence))
    middle = (found[0].start() + found[-1].end()) // 2
    if found[-1].end() - found[0].start() > LONGEST - 60:
        middle = found[0].start() + LONGEST // 3
    first = max(0, min(middle - LONGEST // 2, len(sentence) - LONGEST))
    last = min(len(sentence), first + LONGEST)
    cut = sentence[first:last]
    if first:
        cut = "… " + cut.split(" ", 1)[1]
    if last < len(sentence):
        cut = cut.rsplit(" ", 1)[0] + " …"
    return cut


def level(sentence: str) -> str:
    """The strongest word of a sentence: MUST (with SHALL and REQUIRED) or SHOULD (with RECOMMENDED)."""
    words = WORD.findall(sentence)
    return "MUST" if any(w.split()[0] in ("MUST", "SHALL", "REQUIRED") for w in words) else "SHOULD"


def bound(section: str, sentence: str) -> str:
    """The role that has to obey, as far as the words before the word that binds tell."""
    before = sentence[: WORD.search(sentence).start()].lower().replace("this document", "")
    if section.startswith("15"):
        return "document"
    last = None
    for found in re.finditer(
        r"sender|transmitter|receiver|receiving endpoint|implementation|upper layer|application|user\b|endpoint|document",
        before,
    ):
        last = found.group()
    return {
        "sender": "sender",
        "transmitter": "sender",
        "receiver": "receiver",
        "receiving endpoint": "receiver",
        "implementation": "implementation",
        "upper layer": "user",
        "application": "user",
        "user": "user",
        "document": "document",
    }.get(last or "", "endpoint")


def main() -> int:
    """The command line: the text of an RFC."""
    path = Path(sys.argv[1])
    name = "rfc" + re.findall(r"\d{4}", path.stem)[0]
    kept = {}
    old = ROOT / "docs" / "rfc" / f"{name}.tsv"
    if old.exists():
        for row in old.read_text().splitlines()[1:]:
            key, _, _, _, verdict = row.split("\t")
            kept[key] = verdict
    rows, count = ["id\tlevel\tbinds\tsentence\tverdict"], {}
    for section, sentence in sentences(path.read_text()):
        if (
            not WORD.search(sentence)
            or "RFC 2119" in sentence
            or "[RFC2119]" in sentence
            or "BCP 14" in sentence
        ):
            continue
        sentence = re.sub(r"^\* ", "", sentence)
        count[section] = count.get(section, 0) + 1
        key = f"{section}-{count[section]}"
        rows.append(
            f"{key}\t{level(sentence)}\t{bound(section, sentence)}\t{shortened(sentence)}\t{kept.get(key, '')}"
        )
    print("\n".join(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
