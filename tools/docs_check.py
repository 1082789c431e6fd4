"""Runs every command that README.md and docs/ print, in fresh clones, in order, as printed; prints the outcome of each.

    python tools/docs_check.py [PAGE ...] [--program PATH]

A page begins in the root of a clone of the last commit. Commands are:

- a fence with `sh` (or `bash`, `shell`): a script that must end with 0. The next one begins in the folder where it ended.
- a fence with `console`: lines with `$ ` are commands, and the lines below each its output. `...` stands for any text of a line, and on a
  line of its own for any lines.
- a fence with `python`, in the pages of PROGRAMS: it is run behind the earlier ones of the page.
- a block without a language whose lines begin with a program of WORDS: as `sh`, line by line.
- a fence with `title="FILE"` is a file that the reader makes: it is written.
- in tables of README.md, where the ways to install are, text in backquotes that begins with a program of WORDS.

A comment right above a block changes that:

    <!-- not run: REASON -->            it is not run, and REASON is in the report
    <!-- background -->                 it goes on while the next block runs, and must then end with 0 within seconds
    <!-- background until the page ends -->

Commands of docs-elsewhere.toml are not run here either; it says where they are. `anabranch` is the program that was built last in target/, whichever profile
it has, so that nothing is compiled for it.

There are tools of this kind (byexample, mktestdocs, pytest-markdown-docs, cram). None has commands in the background with blocks that reasons are
given for, and the pages of a network program need them.
"""

import argparse
import atexit
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).resolve().parent.parent
# A folder of this run, outside of the checkout: cargo and the laboratory would find it from within. Nothing of an earlier run is in it.
WORK = Path(tempfile.mkdtemp(prefix="anabranch-docs-check-"))
atexit.register(shutil.rmtree, WORK, ignore_errors=True)
ELSEWHERE = ROOT / "tools" / "docs-elsewhere.toml"
SHELLS = {"sh", "bash", "shell"}
PROGRAMS = ("docs/start/", "docs/how-to/python.md")
WORDS = re.compile(
    r"(?:sudo |[A-Z_]+=\S+ )*(?:anabranch|anabranch-lab|make|cargo|pip|python3?|bash|git|tshark|tar|apt|podman|target/\S+|\.venv/\S+)(?: |$)"
)
MARK = re.compile(r"\s*<!--\s*(not run:.*?|background(?: until the page ends)?)\s*-->\s*", re.DOTALL)
TITLE = re.compile(r'title="([^"]+)"')
PATIENCE = 600
"""Seconds for a block: a fresh clone compiles in some of them, and the machine may do other work."""
FAREWELL = 15
"""Seconds for a command in the background to end by itself."""


@dataclass
class Block:
    """Something of a page that is run, written or left out."""

    line: int
    kind: str
    """sh, console, python or file."""
    text: str
    mark: str = ""
    title: str = ""


@dataclass
class Outcome:
    """The result of a command."""

    page: str
    line: int
    command: str
    state: str
    """ok, skipped or FAILED."""
    detail: str

    def __str__(self) -> str:
        """A line of the report."""
        return f"{self.state:7}  {self.page}:{self.line}  {self.command}  [{self.detail}]"


def blocks(text: str, page: str) -> Iterator[Block]:
    """The blocks of a page that are run, in its order."""
    mark, row = "", 0
    for token in MarkdownIt().enable("table").parse(text):
        if token.type == "tr_open":
            row = token.map[0] + 1
        elif token.type == "table_close":
            row = 0
        elif token.type == "inline" and row and page == "README.md":
            for each in token.children:
                if each.type == "code_inline" and WORDS.match(each.content):
                    yield Block(row, "sh", each.content)
        if token.type == "html_block":
            found = MARK.fullmatch(token.content)
            mark = " ".join(found[1].split()) if found else ""
            continue
        if token.type not in ("fence", "code_block"):
            if token.type == "inline":
                mark = ""
            continue
        language, _, rest = token.info.strip().partition(" ")
        title = TITLE.search(rest)
        line = token.map[0] + (2 if token.type == "fence" else 1)
        if title:
            yield Block(line, "file", token.content, mark, title[1])
        elif language in SHELLS:
            yield Block(line, "sh", token.content, mark)
        elif language == "console":
            yield Block(line, "console", token.content, mark)
        elif language == "python" and page.startswith(PROGRAMS):
            yield Block(line, "python", token.content, mark)
        elif not language and all(
            WORDS.match(each) or each[:1] in "# " for each in token.content.splitlines() if each
        ):
            yield Block(line, "sh", token.content, mark)
        mark = ""


def prompts(text: str) -> Iterator[tuple[int, str, str]]:
    """The commands of a console, each with its line in the block and its expected output."""
    found: list[tuple[int, str, list[str]]] = []
    for number, line in enumerate(text.splitlines()):
        if line.startswith("$ "):
            found.append((number, line[2:], []))
        elif line.startswith("> ") and found and not found[-1][2]:
            before = found[-1]
            found[-1] = (before[0], f"{before[1]}\n{line[2:]}", [])
        elif found:
            found[-1][2].append(line)
    return ((number, command, "\n".join(lines)) for number, command, lines in found)


def prints(expected: str, output: str) -> bool:
    """Whether the output of a command is as the page has it."""
    if not expected.strip():
        return True
    pattern = ""
    for line in expected.strip().splitlines():
        if line.strip() == "...":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += ".*?".join(re.escape(part) for part in line.rstrip().split("...")) + r"[ ]*\n"
    return re.fullmatch(pattern, output.strip("\n") + "\n") is not None


def elsewhere() -> list[tuple[re.Pattern[str], str]]:
    """Commands that are not run here, and where they are."""
    return [
        (re.compile(each["match"]), each["why"]) for each in tomllib.loads(ELSEWHERE.read_text())["command"]
    ]


def program(given: Path | None) -> Path:
    """The program `anabranch` that was built last."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    built = [given] if given else sorted(target.glob("*/anabranch"), key=lambda path: path.stat().st_mtime)
    if not built or not built[-1].is_file():
        sys.exit(
            "no program `anabranch` in target/: `cargo build -p anabranch-cli` makes one, or name another with --program"
        )
    return built[-1].resolve()


def members(group: int) -> list[Path]:
    """The processes of a group, in /proc."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(stat.read_text().rpartition(")")[2].split()[2]) == group:
                found.append(stat.parent)
        except OSError:  # The process has just ended.
            continue
    return found


def has_socket(group: int) -> bool:
    """Whether a process of the group holds a socket."""
    for process in members(group):
        for entry in process.glob("fd/*"):
            try:
                if os.readlink(entry).startswith("socket:"):
                    return True
            except OSError:
                continue
    return False


@dataclass
class Running:
    """A command in the background."""

    process: subprocess.Popen[bytes]
    outcome: Outcome
    log: Path
    stays: bool

    def end(self) -> None:
        """Waits for its end, or ends it where the page says that it goes on until then."""
        with self.process:
            self.wait()

    def wait(self) -> None:
        """As `end`, within its pipes."""
        if self.stays:
            early = self.process.poll()
            stop(self.process)
            if early is not None:
                self.fail(f"ended before the page, with {early}")
            return
        try:
            code = self.process.wait(FAREWELL)
        except subprocess.TimeoutExpired:
            stop(self.process)
            self.fail(f"did not end within {FAREWELL} s")
            return
        if code:
            self.fail(f"exit code {code}")

    def fail(self, why: str) -> None:
        """Notes why the command failed, with the last lines of its output."""
        self.outcome.state = "FAILED"
        self.outcome.detail = f"{why}: {tail(self.log.read_text(errors='replace'))}"


def stop(process: subprocess.Popen[bytes]) -> None:
    """Ends a command and all that it has begun."""
    for kind in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, kind)
        except ProcessLookupError:
            break
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            continue
    process.wait()


def tail(text: str) -> str:
    """The last lines, on one."""
    return " / ".join(text.strip().splitlines()[-4:])


@dataclass
class Page:
    """A page that is run in a clone of its own."""

    name: str
    program: Path
    skipped: list[tuple[re.Pattern[str], str]]
    outcomes: list[Outcome] = field(default_factory=list)
    running: list[Running] = field(default_factory=list)
    earlier: str = ""

    def __post_init__(self) -> None:
        """Makes the clone."""
        self.clone = WORK / "clone"
        # The page before may have made folders beside its clone.
        shutil.rmtree(WORK, ignore_errors=True)
        WORK.mkdir(parents=True)
        subprocess.run(["git", "clone", "--quiet", "--shared", str(ROOT), str(self.clone)], check=True)
        self.folder = self.clone
        tools = WORK / "bin"
        tools.mkdir(exist_ok=True)
        for place in (tools, self.clone / "target" / "debug", self.clone / "target" / "release"):
            place.mkdir(parents=True, exist_ok=True)
            (place / "anabranch").unlink(missing_ok=True)
            (place / "anabranch").symlink_to(self.program)
        lab = tools / "anabranch-lab"
        # Its workers import the file that began them.
        lab.write_text(
            f"#!{ROOT / '.venv' / 'bin' / 'python'}\nimport sys\n\nif __name__ == '__main__':\n"
            "    from anabranch_lab.cli import main\n\n    sys.exit(main())\n"
        )
        lab.chmod(0o755)
        # The module was compiled for the checkout; the clone's own sources use it.
        for module in (ROOT / "python" / "anabranch").glob("_core*.so"):
            shutil.copy2(module, self.clone / "python" / "anabranch")
        if (ROOT / ".venv").exists():
            (self.clone / ".venv").symlink_to(ROOT / ".venv")
        self.environment = {
            **os.environ,
            "PATH": f"{tools}:{self.clone / '.venv' / 'bin'}:{os.environ['PATH']}",
            "PYTHONPATH": str(self.clone / "python"),
            "CARGO_TARGET_DIR": str(ROOT / "target" / "docs-check"),
            "COLUMNS": "200",
            "NO_COLOR": "1",
        }

    def run(self) -> list[Outcome]:
        """Runs all of it."""
        for block in blocks((self.clone / self.name).read_text(encoding="utf-8"), self.name):
            try:
                self.block(block)
            except BaseException:
                for each in self.running:
                    stop(each.process)
                raise
        self.settle(all_of_them=True)
        return self.outcomes

    def settle(self, all_of_them: bool = False) -> None:
        """Waits for the background commands of the last block; with `all_of_them` it also ends those that stay."""
        for each in [each for each in self.running if all_of_them or not each.stays]:
            each.end()
            self.running.remove(each)

    def block(self, block: Block) -> None:
        """Runs, writes or leaves out one block."""
        if block.mark.startswith("not run:"):
            for command in first_words(block):
                self.note(block.line, command, "skipped", block.mark.removeprefix("not run:").strip())
        elif block.kind == "file":
            path = self.folder / block.title
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
        elif block.mark.startswith("background"):
            self.begin(block)
        elif block.kind == "console":
            for number, command, expected in prompts(block.text):
                self.command(block.line + number, command, expected)
            self.settle()
        elif block.kind == "python":
            script = WORK / "block.py"
            quiet = (
                "import contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()):\n    exec(EARLIER)\n"
            )
            script.write_text(f"EARLIER = {self.earlier!r}\n{quiet if self.earlier else ''}{block.text}")
            self.command(
                block.line, f"python {script}", "", shown=f"python: {block.text.strip().splitlines()[0]}"
            )
            self.earlier += block.text
            self.settle()
        else:
            self.script(block)
            self.settle()

    def script(self, block: Block) -> None:
        """A block of commands: all in one shell, unless some are run elsewhere."""
        lines = [line for line in block.text.splitlines() if line.strip() and not line.startswith("#")]
        kept = []
        for line in lines:
            why = self.elsewhere(line)
            if why:
                self.note(block.line, line, "skipped", why)
            else:
                kept.append(line)
        if kept:
            self.command(block.line, "\n".join(kept), "")

    def elsewhere(self, command: str) -> str | None:
        """The reason why a command is not run here, if there is one. Variables in front of it say nothing about that."""
        bare = re.sub(r"^(?:[A-Z_]+=\S+ +)+", "", command)
        return next((why for pattern, why in self.skipped if pattern.match(bare)), None)

    def begin(self, block: Block) -> None:
        """Begins a block in the background; waits until it holds a socket."""
        log = WORK / f"background-{len(self.outcomes)}.log"
        with log.open("wb") as file:
            process = subprocess.Popen(
                ["bash", "-euo", "pipefail", "-c", block.text],
                cwd=self.folder, env=self.environment, stdin=subprocess.PIPE, stdout=file, stderr=file, start_new_session=True,
            )  # fmt: skip
        self.note(block.line, block.text.strip(), "ok", "in the background")
        self.running.append(Running(process, self.outcomes[-1], log, "until" in block.mark))
        deadline = time.monotonic() + 60
        while process.poll() is None and not has_socket(process.pid) and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(0.1)

    def command(self, line: int, command: str, expected: str, shown: str = "") -> None:
        """Runs commands in a shell, and checks their exit code and their output."""
        why = self.elsewhere(command)
        if why:
            self.note(line, shown or command, "skipped", why)
            return
        where = WORK / "folder"
        script = f"trap 'pwd >\"{where}\"' EXIT\n{command}\n"
        begun = time.monotonic()
        process = subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True, text=True, errors="replace",
        )  # fmt: skip
        try:
            output, errors = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            stop(process)
            self.note(line, shown or command, "FAILED", f"not done after {PATIENCE} s")
            return
        except BaseException:
            # Processes begun here end here, and write into no other clone.
            stop(process)
            raise
        seconds = time.monotonic() - begun
        if where.is_file():
            self.folder = Path(where.read_text().strip())
            where.unlink()
        if process.returncode:
            self.note(
                line, shown or command, "FAILED", f"exit code {process.returncode}: {tail(errors or output)}"
            )
        elif not prints(expected, output):
            self.note(line, shown or command, "FAILED", f"prints otherwise: {output.strip()[:2000]}")
        else:
            self.note(line, shown or command, "ok", f"{seconds:.1f} s")

    def note(self, line: int, command: str, state: str, detail: str) -> None:
        """Keeps an outcome."""
        self.outcomes.append(Outcome(self.name, line, "; ".join(command.splitlines()), state, detail))


def first_words(block: Block) -> list[str]:
    """The commands of a block that is left out."""
    if block.kind == "console":
        return [command for _, command, _ in prompts(block.text)]
    if block.kind in ("python", "file"):
        return [f"{block.kind}: {block.text.strip().splitlines()[0]}"]
    return [line for line in block.text.splitlines() if line.strip() and not line.startswith("#")]


def pages() -> list[str]:
    """README.md, then docs/: the way in first."""
    listed = subprocess.run(
        ["git", "ls-files", "README.md", "docs/*.md"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    order = ("README.md", "docs/index.md", "docs/start/", "docs/how-to/", "docs/")
    return sorted(
        listed, key=lambda page: (next(i for i, each in enumerate(order) if page.startswith(each)), page)
    )


def main() -> int:
    """Runs the pages, prints the report."""
    parser = argparse.ArgumentParser(prog="docs-check", description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="*", metavar="PAGE", help="only these, such as docs/start/rust.md")
    parser.add_argument("--program", type=Path, help="this program as `anabranch`")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    begun, found = time.monotonic(), []
    executable, skipped = program(arguments.program), elsewhere()
    for name in arguments.pages or pages():
        for outcome in Page(name, executable, skipped).run():
            found.append(outcome)
            print(outcome, flush=True)
    counted = {state: sum(each.state == state for each in found) for state in ("ok", "skipped", "FAILED")}
    print(
        ", ".join(f"{number} {state}" for state, number in counted.items()),
        f"in {time.monotonic() - begun:.0f} s",
    )
    return int(counted["FAILED"] > 0)


if __name__ == "__main__":
    sys.exit(main())
