"""The runner of the commands in pages: the text that it takes for a command, and that it notices errors."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

FILE = Path(__file__).resolve().parents[2] / "tools" / "docs_check.py"
SPEC = importlib.util.spec_from_file_location("docs_check", FILE)
docs_check = sys.modules["docs_check"] = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(docs_check)

PAGE = """# A page

```sh
echo one > file
cd /tmp
```

<!-- not run: needs a moon -->
```sh
fly
```

    make studies     # long
    anabranch engines

A word.

    a drawing --> of something

<!-- background -->
```sh
serve
```

A word.

```console
$ pwd
/t...
$ printf 'a\\nb\\n'
a
...
```

```toml title="mine.toml"
x = 1
```

```toml
y = 1
```
"""


def test_what_is_a_command():
    found = list(docs_check.blocks(PAGE, "docs/x.md"))
    assert [(each.kind, each.mark) for each in found] == [
        ("sh", ""),
        ("sh", "not run: needs a moon"),
        ("sh", ""),
        ("sh", "background"),
        ("console", ""),
        ("file", ""),
    ]
    assert found[0].line == 4
    assert PAGE.splitlines()[found[0].line - 1] == "echo one > file"
    assert [command for _, command, _ in docs_check.prompts(found[4].text)] == ["pwd", "printf 'a\\nb\\n'"]


@pytest.mark.parametrize(
    ("expected", "output", "same"),
    [
        ("", "anything\n", True),
        ("a\nb", "a\nb\n", True),
        ("a", "a\nb\n", False),
        ("a\n...", "a\nb\nc\n", True),
        ("...\nc", "a\nb\nc\n", True),
        ("| sctp | ...", "| sctp | 5 |\n", True),
        ("| sctp | ...", "| tcp | 5 |\n", False),
        ("a.b", "axb\n", False),
    ],
)
def test_what_is_printed(expected, output, same):
    assert docs_check.prints(expected, output) is same


def test_the_ways_to_install_are_commands():
    text = (FILE.parents[1] / "README.md").read_text(encoding="utf-8")
    found = [each.text for each in docs_check.blocks(text, "README.md")]
    assert "cargo install --locked --path crates/cli" in found
    assert "target/release/anabranch --help" in found
    assert len([each for each in found if "out/dist/" in each]) == 4
    # Only there: elsewhere tables name options and calls.
    assert not list(docs_check.blocks("| | |\n|---|---|\n| x | `make demo` |\n", "docs/x.md"))


def ran(tmp_path, monkeypatch, text):
    """The outcomes of a page in a checkout of its own."""
    checkout = tmp_path / "checkout"
    (checkout / "docs").mkdir(parents=True)
    (checkout / "python" / "anabranch").mkdir(parents=True)
    (checkout / "python" / "anabranch" / "x").write_text("")
    (checkout / "docs" / "x.md").write_text(text)
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org", "-C", str(checkout)]
    for each in (["init", "--quiet"], ["add", "-A"], ["commit", "--quiet", "-m", "x"]):
        subprocess.run([*git, *each], check=True)
    monkeypatch.setattr(docs_check, "ROOT", checkout)
    monkeypatch.setattr(docs_check, "WORK", tmp_path / "work")
    monkeypatch.setattr(docs_check, "FAREWELL", 1)
    program = tmp_path / "anabranch"
    program.write_text("#!/bin/sh\necho ours\n")
    program.chmod(0o755)
    return docs_check.Page("docs/x.md", program, docs_check.elsewhere()).run()


def test_a_page_is_run_in_order(tmp_path, monkeypatch):
    text = """
```sh
mkdir sub
cd sub
```

```text title="made.txt"
made
```

```console
$ cat made.txt; anabranch
made
ours
$ target/release/anabranch 2>&1 || ../target/release/anabranch
...
ours
```

    make studies
    A=1 make studies
    git --version
"""
    found = ran(tmp_path, monkeypatch, text)
    assert [(each.state, each.command) for each in found] == [
        ("ok", "mkdir sub; cd sub"),
        ("ok", "cat made.txt; anabranch"),
        ("ok", "target/release/anabranch 2>&1 || ../target/release/anabranch"),
        ("skipped", "make studies"),
        ("skipped", "A=1 make studies"),
        ("ok", "git --version"),
    ]


def test_what_is_wrong_is_noticed(tmp_path, monkeypatch):
    text = """
```sh
false
true
```

```console
$ echo a
b
```

<!-- background -->
```sh
python3 -c 'import socket, time; s = socket.socket(); time.sleep(60)'
```

Then:

```sh
true
```

<!-- background until the page ends -->
```sh
exit 3
```
"""
    found = ran(tmp_path, monkeypatch, text)
    assert [each.state for each in found] == ["FAILED", "FAILED", "FAILED", "ok", "FAILED"]
    assert "exit code 1" in found[0].detail
    assert "prints otherwise: a" in found[1].detail
    assert "did not end within 1 s" in found[2].detail
    assert "ended before the page, with 3" in found[4].detail
