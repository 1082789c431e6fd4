"""Writes pages of the reference from the documentation in the code, so that it is one text in one place.

python tools/keys.py        prints them; tools/site.py puts them at reference/keys.md and reference/events.md
"""

import re
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SUMMARY, SNAPSHOT = "crates/sim/src/summary.rs", "crates/sim/src/snapshot.rs"
STATS = "crates/sctp/src/stats"
SECTIONS = (
    ("top", "crates/cli/src/results.rs", "Printed"),
    ("run", SUMMARY, "Summary"),
    ("flow", SUMMARY, "FlowSummary"),
    ("measures", SUMMARY, "Measures"),
    ("subflow", SUMMARY, "SubflowSummary"),
    ("group", SUMMARY, "GroupSummary"),
    ("object", SUMMARY, "ObjectSummary"),
    ("source", SUMMARY, "SourceSummary"),
    ("link", SUMMARY, "LinkSummary"),
    ("class", SUMMARY, "ClassSummary"),
    ("share", SUMMARY, "ShareSummary"),
    ("association", SNAPSHOT, "AssociationSummary"),
    ("end", SNAPSHOT, "EndSummary"),
    ("negotiated", SNAPSHOT, "NegotiatedSummary"),
    ("stats", f"{STATS}/mod.rs", "Stats"),
    ("control", SNAPSHOT, "ControlSummary"),
    ("control chunks", f"{STATS}/control.rs", "ControlChunks"),
    ("path", SNAPSHOT, "PathSummary"),
    ("subflow of a snapshot", SNAPSHOT, "SubflowSnapshot"),
    ("stream", SNAPSHOT, "StreamSummary"),
)
"""Heading, file and structure of each section, in the order of the page."""
REPORT = "crates/trace/src/report.rs"
CAPTURED = (
    ("captured packet", REPORT, "PacketLine"),
    ("captured flow", REPORT, "FlowReport"),
    ("direction", REPORT, "DirectionReport"),
    ("purposes", "crates/trace/src/analysis.rs", "Purposes"),
    ("round trips", REPORT, "RttReport"),
    ("retransmission", REPORT, "Retransmission"),
    ("bottleneck", REPORT, "BottleneckReport"),
    ("occupancy", "crates/trace/src/bottleneck.rs", "Occupancy"),
    ("passage", "crates/trace/src/bottleneck.rs", "Passage"),
    ("interface", "crates/trace/src/capture/contents.rs", "Interface"),
)
"""The sections of `anabranch decode --json`."""
NUMBERS = {
    ("EndSummary", "stats"): (f"{STATS}/mod.rs", "Stats"),
    ("ControlSummary", "sent"): (f"{STATS}/control.rs", "ControlChunks"),
    ("ControlSummary", "received"): (f"{STATS}/control.rs", "ControlChunks"),
    ("PathSummary", "stats"): (f"{STATS}/snapshot.rs", "PathStats"),
    ("SubflowSnapshot", "stats"): (f"{STATS}/mod.rs", "SubflowStats"),
    ("StreamSummary", "stats"): (f"{STATS}/streams.rs", "StreamStats"),
}
"""The structures that document the numbers of a field of the type `Named`, which have the names of the stack."""
UNITS = {"_s": "s", "_ns": "ns", "_us": "µs", "_bps": "bit/s", "_packets": "packets"}
WORDS = {"bool": "truth"} | dict.fromkeys(
    ("String", "&'static str", "SocketAddr", "Ending", "Reason", "Evidence"), "text"
)
FIELD = re.compile(
    r"((?: *///[^\n]*\n)*)((?: *#\[[^\n]*\]\n)*) *(?:pub(?:\([a-z]+\))? )?([a-z_0-9]+): ([^\n]+),\n"
)


@dataclass
class Field:
    """A field of a structure."""

    name: str
    kind: str
    text: str
    flat: bool
    """Whether its own fields stand in its place."""


def text(comment: str) -> str:
    """The words of a comment, as a page has them."""
    words = " ".join(
        line.strip().removeprefix("///").strip() for line in comment.splitlines() if line.strip()
    )
    words = re.sub(r"([Aa]s in|which) \[`Stats`\](?:\([^)]*\))?", r"\1 [stats](#stats)", words)
    words = re.sub(
        r"([Aa]s in) \[`SubflowStats`\](?:\([^)]*\))?", r"\1 [its subflows](#subflow-of-a-snapshot)", words
    )
    words = re.sub(r"\[(`[^`]+`)\](?:\([^)]*\))?", r"\1", words)
    version = re.search(r"SCHEMA: u32 = (\d+);", (ROOT / SUMMARY).read_text(encoding="utf-8"))[1]
    words = words.replace("`Summary::SCHEMA`", version)
    return words.replace("`None`", "`null`").replace("|", "\\|").replace("<", "&lt;")


def structure(file: str, name: str) -> tuple[str, list[Field]]:
    """The comment of a structure, and its fields."""
    source = (ROOT / file).read_text(encoding="utf-8")
    found = re.search(
        rf"((?:///[^\n]*\n)+)(?:#\[[^\n]*\]\n)*pub(?:\([a-z]+\))? struct {name}\b[^{{]*{{\n(.*?)\n}}\n",
        source,
        re.DOTALL,
    )
    if not found:
        raise SystemExit(f"{file}: no structure {name} with a comment in front of it")
    fields = [
        Field(field, kind, text(comment), "flatten" in marks)
        for comment, marks, field, kind in FIELD.findall(found[2] + "\n")
    ]
    return text(found[1]), fields


def headings() -> dict[str, str]:
    """Headings by the structure that they show."""
    return {name: heading for heading, _, name in SECTIONS + CAPTURED}


def rows(file: str, name: str) -> list[tuple[str, str, str]]:
    """Key, unit and meaning of each field; those of flattened structures included, but for the measures, which have a section."""
    found = []
    for field in structure(file, name)[1]:
        numbers = NUMBERS.get((name, field.name))
        if field.flat and numbers:
            own = {key for key, _, _ in found}
            found += [row for row in rows(*numbers) if row[0] not in own]
        elif not field.flat:
            found.append((key(field), unit(field, numbers), field.text))
    return found


def key(field: Field) -> str:
    """The name of the field in JSON: a time of the stack has its unit behind it."""
    return field.name + ("_ns" if "Duration" in field.kind else "")


def unit(field: Field, numbers: tuple[str, str] | None) -> str:
    """The unit of a number; for another value its kind."""
    kind = re.sub(r"^Option<(.*)>$", r"\1", field.kind)
    inner = re.search(r"(\w+)[\]>]*$", kind)
    of = numbers[1] if numbers else {"Measures": "Measures"}.get(kind, inner[1] if inner else "")
    if of in headings():
        link = f"[{headings()[of]}](#{headings()[of].replace(' ', '-')})"
        return f"list: {link}" if kind.startswith(("Vec<", "&'r [")) else link
    if kind.startswith(("Vec<", "&'r [")):
        return "list"
    if kind == "Value" or kind.startswith("BTreeMap<"):
        return "object"
    if kind in WORDS:
        return WORDS[kind]
    if "Duration" in kind:
        return "ns"
    if "bytes" in field.name or re.search(r"\bbytes\b", field.text, re.IGNORECASE):
        return "bytes"
    return next((each for end, each in UNITS.items() if field.name.endswith(end)), "number")


def flat(file: str, name: str) -> list[str]:
    """Headings of the sections whose keys stand among those of a structure."""
    return [
        headings()[field.kind]
        for field in structure(file, name)[1]
        if field.flat and field.kind in headings()
    ]


def keys() -> dict[str, set[str]]:
    """The keys of each section, with those of others that stand among them."""
    sections = SECTIONS + CAPTURED
    own = {heading: {key for key, _, _ in rows(file, name)} for heading, file, name in sections}
    return {
        heading: own[heading].union(*(own[other] for other in flat(file, name)))
        for heading, file, name in sections
    }


def notes() -> list[tuple[str, str]]:
    """The notes on a flow, as JSON has them, and their meanings."""
    source = (ROOT / SUMMARY).read_text(encoding="utf-8")
    body = source.split("pub enum Note {\n", 1)[1].split("\n}\n", 1)[0]
    found = re.findall(r"((?: *///[^\n]*\n)+) *([A-Z]\w+),", body)
    return [(re.sub(r"(?<!^)([A-Z])", r"-\1", name).lower(), text(comment)) for comment, name in found]


def section(heading: str, file: str, name: str) -> list[str]:
    """The lines of a section."""
    lines = [f"## {heading}", "", structure(file, name)[0], ""]
    others = flat(file, name)
    if others:
        lines += [f"With the keys of {', '.join(f'[{other}](#{other})' for other in others)}.", ""]
    lines += ["| key | unit | meaning |", "|---|---|---|"]
    lines += [f"| `{each}` | {of} | {meaning} |" for each, of, meaning in rows(file, name)]
    return [*lines, ""]


def page() -> str:
    """The page."""
    lines = [
        "# Keys of JSON",
        "",
        "Written from the code: first what `anabranch simulate --json` prints ([results](results.md) says what holds for all of it), then what",
        "`anabranch decode --json` does, from [captured packet](#captured-packet) on.",
        "",
    ]
    for each in SECTIONS:
        lines += section(*each)
    lines += ["## notes", "", "| note | meaning |", "|---|---|"]
    lines += [f"| `{note}` | {meaning} |" for note, meaning in notes()]
    lines.append("")
    for each in CAPTURED:
        lines += section(*each)
    return "\n".join(lines)


VARIANT = re.compile(
    r"((?:    ///[^\n]*\n)+)(?:    #\[[^\n]*\]\n)*    ([A-Z]\w+)( \{\n.*?\n    \})?", re.DOTALL
)
EVENTS = (
    ("Of an association", "crates/sctp/src/event.rs", "Event", "`Endpoint::poll_event`"),
    ("Of an endpoint", "crates/sctp/src/incoming.rs", "EndpointEvent", "`Endpoint::poll_endpoint_event`"),
)
"""Heading, file and name of each enumeration of events, and the call that returns them."""


def variants(file: str, name: str) -> list[tuple[str, list[str], str]]:
    """The variants of an enumeration, each with its fields and its comment."""
    source = (ROOT / file).read_text(encoding="utf-8")
    body = source.split(f"pub enum {name} {{\n", 1)[1].split("\n}\n", 1)[0] + "\n"
    found = []
    for comment, variant, fields in VARIANT.findall(body):
        # Behind the first paragraph there are examples, and where links lead.
        first = comment.split("    ///\n", 1)[0]
        found.append((variant, re.findall(r"^        (\w+):", fields, re.MULTILINE), text(first)))
    return found


def events() -> str:
    """The page of events."""
    lines = ["# Events", "", "Written from the code. [The interface](api.md) has the calls.", ""]
    for heading, file, name, source in EVENTS:
        lines += [
            f"## {heading}",
            "",
            f"`{name}`, from {source}.",
            "",
            "| event | when | with |",
            "|---|---|---|",
        ]
        for variant, fields, meaning in variants(file, name):
            lines.append(f"| `{variant}` | {meaning} | {', '.join(f'`{each}`' for each in fields)} |")
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(page() + events())
