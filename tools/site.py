"""Gathers the pages of the site in out/docs, and has MkDocs make out/site/VERSION of them; a link that leads nowhere is an error.

    python tools/site.py [--program PATH] [--pages-only]

Pages written by hand are those of docs/ and PROJECT. Links to other files become links to the repository. Generated are the options of every engine (`anabranch engines --json`), the command line (`--help` of every verb), keys of JSON and
events (tools/keys.py), and where each sentence of the RFCs is (tools/rfc.py).

VERSION is that of Cargo.toml. Other versions in out/site stay: out/site/versions.json lists all, for the selector of each page, as mike does it;
out/site/index.html leads to the newest.
"""

import argparse
import json
import os
import posixpath
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from packaging.version import Version

sys.path.insert(0, str(Path(__file__).resolve().parent))

import keys
from docs_check import program

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "out" / "docs"
SITE = ROOT / "out" / "site"
VERSION = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["version"]
REPOSITORY = os.environ.get("ANABRANCH_REPOSITORY", "")
"""Address of this commit's files, such as https://forge.example/anabranch/blob/v0.2.0; without it they are copied beside the pages."""
PROJECT = ("CHANGELOG.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "SUPPORT.md")
"""Pages of the root that are part of the site, in its folder project/."""
LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\]]*\])*\]\()([^)\s]+)(\))")
CODE = re.compile(r"(^```.*?^```[^\n]*$|`[^`\n]*`)", re.MULTILINE | re.DOTALL)
CSS = """/* Contrast of 4.5 to 1 at least, by day and in the dark. */
:root { --md-primary-fg-color: #00695c; --md-primary-fg-color--light: #00897b; --md-primary-fg-color--dark: #004d40; --md-primary-bg-color: #fff; --md-primary-bg-color--light: #ffffffcc }
[data-md-color-scheme="default"] { --md-typeset-a-color: #00695c; --md-accent-fg-color: #00897b }
[data-md-color-scheme="slate"] { --md-typeset-a-color: #4db6ac; --md-accent-fg-color: #80cbc4 }
.md-typeset h1 { color: inherit; font-weight: 400 }
.md-nav__link--active { color: var(--md-typeset-a-color) }
/* Tables of many columns move by themselves, not the page. Numbers stand under each other. */
.md-typeset table:not([class]) { font-size: .68rem; font-variant-numeric: tabular-nums }
.md-typeset table:not([class]) td, .md-typeset table:not([class]) th { padding: .5em .8em; min-width: 0 }
.md-typeset :not(pre) > code { overflow-wrap: anywhere }
.md-typeset table code { overflow-wrap: normal }
[data-md-color-scheme="slate"] .md-typeset img { background: #fff; border-radius: 4px; padding: 4px }
.md-typeset .language-text code { white-space: pre-wrap }
.md-grid { max-width: 66rem }
/* The name of the site stands in the bar already; here it would lie on the first entry. */
@media screen and (min-width: 76.25em) { .md-nav--primary > .md-nav__title { display: none } }
"""
SECTIONS = (
    (
        "Start",
        (
            "start/move-a-file.md",
            "start/simulate.md",
            "start/decode-a-capture.md",
            "start/experiment.md",
            "start/rust.md",
            "start/python.md",
            "start/c.md",
        ),
    ),
    (
        "How-to",
        (
            "how-to/live.md",
            "how-to/interop.md",
            "how-to/decode.md",
            "how-to/experiments.md",
            "how-to/python.md",
        ),
    ),
    (
        "Reference",
        (
            "reference/command-line.md",
            "reference/commands.md",
            "reference/options.md",
            "reference/scenario.md",
            "reference/results.md",
            "reference/keys.md",
            "reference/api.md",
            "reference/events.md",
        ),
    ),
    (
        "Explanation",
        (
            "explanation/which-sctp.md",
            "explanation/security.md",
            "explanation/platforms.md",
            "explanation/versions.md",
            "explanation/engines.md",
        ),
    ),
    ("Project", tuple(f"project/{each}" for each in PROJECT)),
)
"""The first pages of each section, in their order; the other pages of its folder follow by name."""


def main() -> int:
    """Makes the pages, then the site."""
    parser = argparse.ArgumentParser(prog="site", description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=Path, help="this program as `anabranch`")
    parser.add_argument("--pages-only", action="store_true", help="out/docs, not the site")
    arguments = parser.parse_args()
    shutil.rmtree(OUT, ignore_errors=True)
    shutil.copytree(ROOT / "docs", OUT, ignore=shutil.ignore_patterns("rfc"))
    for each in PROJECT:
        write(f"project/{each}", (ROOT / each).read_text(encoding="utf-8"))
    executable = program(arguments.program)
    write("reference/options.md", options(executable))
    write("reference/commands.md", commands(executable))
    write("reference/keys.md", keys.page())
    write("reference/events.md", keys.events())
    rfc = rfc_map()
    if rfc:
        write("reference/rfc.md", rfc)
    (OUT / "site.css").write_text(CSS)
    missing = [each for page in sorted(OUT.rglob("*.md")) for each in mend(page)]
    for each in missing:
        print(each, file=sys.stderr)
    config = configuration()
    if arguments.pages_only or missing:
        return int(bool(missing))
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--config-file", str(config)],
        cwd=ROOT,
        check=False,
    )
    if built.returncode == 0:
        versions(SITE)
    return built.returncode


def versions(site: Path) -> None:
    """Writes which versions of the site there are, the newest first, and a page that leads there."""
    there = sorted((path.parent.name for path in site.glob("[0-9]*/index.html")), key=Version, reverse=True)
    entries = [
        {"version": name, "title": name, "aliases": ["latest"] if name == there[0] else []} for name in there
    ]
    (site / "versions.json").write_text(json.dumps(entries, indent=1) + "\n", encoding="utf-8")
    (site / "index.html").write_text(
        f'<!doctype html>\n<meta charset="utf-8">\n<title>anabranch</title>\n<meta http-equiv="refresh" content="0; url={there[0]}/index.html">\n'
        f'<a href="{there[0]}/index.html">anabranch {there[0]}</a>\n',
        encoding="utf-8",
    )


def write(name: str, text: str) -> None:
    """A page that was made."""
    path = OUT / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def said(*command: str | Path) -> str:
    """Runs a command; returns its output."""
    environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "100"}
    return subprocess.run(
        [str(each) for each in command], env=environment, cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout


def options(executable: Path) -> str:
    """Every option of both protocols, and its value in the engines that differ."""
    lines = [
        "# Options",
        "",
        "Written from `anabranch engines`. An option stands in a scenario under `[flow.options]`, and behind `--set`.",
        "",
    ]
    lines += [
        "[Engines](../explanation/engines.md) says why they differ; `anabranch engines NAME` prints every value of one.",
        "",
    ]
    told = json.loads(said(executable, "engines", "--json"))
    for protocol in ("sctp", "tcp"):
        has = told[protocol]
        lines += [f"## {protocol.upper()}", "", f"### Engines of {protocol.upper()}", ""]
        about = has.get("about", {})
        lines += [f"- `{name}`" + (f": {about[name]}" if name in about else "") for name in has["engines"]]
        lines += ["", f"### Options of {protocol.upper()}", ""]
        lines += [
            "| option | what it is | takes | default | while it lives | source |",
            "|---|---|---|---|---|---|",
        ]
        for option in has["options"]:
            changes = {True: "changes", False: "stays"}.get(option.get("changeable"), "")
            cells = [
                f"`{option['name']}`",
                cell(option["meaning"]),
                cell(option["allowed"]),
                f"`{option['default']}`" if option["default"] else "",
            ]
            lines.append(f"| {' | '.join([*cells, changes, option.get('source', '')])} |")
        lines.append("")
    lines += ["## Without a transport", "", "Protocols, and keys of their traffic.", ""]
    lines += [f"- `{name}`: {', '.join(keys)}" for name, keys in told["without_transport"].items()]
    return "\n".join(lines) + "\n"


def cell(text: str) -> str:
    """A text within a table."""
    return text.replace("|", "\\|").replace("<", "&lt;")


def commands(executable: Path) -> str:
    """The help of each verb, and of those below it."""
    lines = [
        "# Commands",
        "",
        "What `--help` prints. Exit codes, and what `-` means: [command line](command-line.md).",
        "",
    ]

    def add(path: tuple[str, ...]) -> None:
        text = said(executable, *path, "--help").replace(executable.name, "anabranch")
        lines.extend(
            [
                f"{'#' * min(len(path) + 2, 4)} `anabranch{''.join(' ' + each for each in path)}`",
                "",
                "```text",
                text.rstrip(),
                "```",
                "",
            ]
        )
        below = re.search(r"^Commands:\n((?:  .*\n)+)", text, re.MULTILINE)
        for each in re.findall(r"^  (\S+)", below[1], re.MULTILINE) if below else []:
            if each != "help":
                add((*path, each))

    add(())
    return "\n".join(lines)


def rfc_map() -> str:
    """The output of tools/rfc.py, out/docs/rfc.md: as far from the root as reference/rfc.md is, so its links hold."""
    subprocess.run(
        [sys.executable, str(ROOT / "tools" / "rfc.py")], cwd=ROOT, check=True, stdout=subprocess.DEVNULL
    )
    page = OUT / "rfc.md"
    if not page.is_file():
        return ""
    text = page.read_text(encoding="utf-8")
    page.unlink()
    return text


def mend(page: Path) -> list[str]:
    """Makes links to files outside of docs/ work on the site; returns those that lead nowhere."""
    missing = []
    here = page.relative_to(OUT).parent.as_posix()
    # The folder of the page's source, relative to the root.
    written = "." if here == "project" else posixpath.join("docs", here)

    def link(match: re.Match[str]) -> str:
        target, _, anchor = match[2].partition("#")
        if not target or re.match(r"[a-z]+:", target):
            return match[0]
        path = posixpath.normpath(posixpath.join(written, target))
        suffix = f"#{anchor}" if anchor else ""
        place = f"project/{path}" if path in PROJECT else path.removeprefix("docs/")
        if (path in PROJECT or path.startswith("docs/")) and (OUT / place).is_file():
            return f"{match[1]}{posixpath.relpath(place, here)}{suffix}{match[3]}"
        if path.startswith("..") or not (ROOT / path).exists():
            missing.append(f"{page.relative_to(OUT)}: {match[2]} leads nowhere")
            return match[0]
        if REPOSITORY:
            return f"{match[1]}{REPOSITORY}/{path}{suffix}{match[3]}"
        # Without the address of a forge a link outside of the site would be a dead one: its text stays, and the place.
        text = match[1].lstrip("!").removeprefix("[").removesuffix("](")
        return text if text.strip("`") == path else f"{text}, `{path}`"

    parts = CODE.split(page.read_text(encoding="utf-8"))
    page.write_text(
        "".join(part if at % 2 else LINK.sub(link, part) for at, part in enumerate(parts)), encoding="utf-8"
    )
    return missing


def configuration() -> Path:
    """mkdocs.yml with the list of pages that there are."""
    listed = ["- Three doors: index.md"]
    seen = {"index.md"}

    def entry(page: str) -> str:
        seen.add(page)
        return f"      - {page}"

    for title, first in SECTIONS:
        folder = title.lower()
        there = (
            {path.relative_to(OUT).as_posix() for path in (OUT / folder).glob("*.md")}
            if (OUT / folder).is_dir()
            else set()
        )
        pages = [each for each in first if each in there] + sorted(there - set(first))
        if pages:
            listed += [f"- {title}:", *map(entry, pages)]
    rest = sorted({path.relative_to(OUT).as_posix() for path in OUT.rglob("*.md")} - seen)
    if rest:
        listed += ["- More:", *map(entry, rest)]
    path = ROOT / "out" / "mkdocs.yml"
    nav = "\nnav:\n" + "\n".join("  " + line for line in listed) + "\n"
    path.write_text(
        f"INHERIT: {json.dumps(str(ROOT / 'mkdocs.yml'))}\ndocs_dir: docs\nsite_dir: {json.dumps(f'site/{VERSION}')}\n{nav}",
        encoding="utf-8",
    )
    return path


if __name__ == "__main__":
    sys.exit(main())
