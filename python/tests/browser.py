"""A headless Chromium: loads a page and says what came of it. axe-core looks for what keeps people out."""

import functools
import json
import os
import re
import shutil
import subprocess
import tempfile
from importlib import resources
from pathlib import Path

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PROGRAM = next(filter(None, map(shutil.which, NAMES)), None)

needed = pytest.mark.skipif(
    PROGRAM is None and "ANABRANCH_BROWSER" not in os.environ, reason="no Chromium here; CI has one"
)
"""For tests that need a browser: without one they are skipped, and fail where ANABRANCH_BROWSER is set."""

MARK = "result-of-the-test"


@functools.cache
def axe():
    """The text of axe-core."""
    return resources.files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")


def evaluate(page: str, expression: str, *, width: int = 1200, folder: Path | None = None):
    """Loads a page (its text) and returns the value of an expression, a promise or not, as JSON has it."""
    assert PROGRAM is not None, "chromium is missing"
    script = f"""
    <script>
    window.addEventListener("load", async () => {{
      let told;
      try {{ told = {{ value: await ({expression}) }}; }} catch (error) {{ told = {{ error: String(error) }}; }}
      const text = JSON.stringify(told);
      document.documentElement.innerHTML = "<body><pre id='{MARK}'></pre></body>";
      document.getElementById("{MARK}").textContent = text;
    }});
    </script>
    """
    with tempfile.TemporaryDirectory() as room:
        file = Path(folder or room) / "under-test.html"
        file.write_text(page.replace("</body>", script + "</body>"), encoding="utf-8")
        done = subprocess.run(
            [
                PROGRAM,
                *FLAGS,
                f"--user-data-dir={room}/profile",
                f"--window-size={width},900",
                "--virtual-time-budget=60000",
                "--dump-dom",
                file.as_uri(),
            ],
            capture_output=True,
            text=True,
            timeout=180,
        )
        if folder is not None:
            file.unlink()
    found = re.search(rf"id=.{MARK}.>(.*?)</pre>", done.stdout, re.DOTALL)
    assert found, done.stdout[-2000:] + done.stderr[-2000:]
    told = json.loads(found[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
    assert "error" not in told, told
    return told["value"]


def violations(page: str) -> list[str]:
    """What axe-core finds wrong with a page, a line for each rule with its first place."""
    looked = page.replace("</head>", f"<script>{axe()}</script></head>")
    found = evaluate(
        looked,
        "axe.run(document, {resultTypes: ['violations']}).then(r => r.violations.map("
        "v => v.id + ': ' + v.help + ' [' + v.nodes.length + '] ' + v.nodes[0].html.slice(0, 200) + ' ' + v.nodes[0].failureSummary))",
    )
    return list(found)


def dark(page: str) -> str:
    """The page as it looks in the dark."""
    assert "(prefers-color-scheme: dark)" in page
    return page.replace("(prefers-color-scheme: dark)", "all")


def narrow(page: str, width: int = 400) -> list[str]:
    """What makes a page wider than a telephone: elements that stick out, and texts in pictures that are too small to be read."""
    # A window cannot be that narrow: the page is shown in a frame.
    frame = (
        "<!doctype html><html><body style='margin:0'><iframe id=f style='border:0;width:"
        f"{width}px;height:900px' srcdoc='{page.replace('&', '&amp;').replace(chr(39), '&#39;')}'></iframe></body></html>"
    )
    return evaluate(
        frame,
        f"""(() => {{
          const d = document.getElementById("f").contentDocument, told = [];
          const over = d.documentElement.scrollWidth;
          if (over > {width}) told.push("the page is " + over + " px wide");
          for (const e of d.querySelectorAll("main *")) {{
            if (e.closest(".scroll, .picture")) continue;
            const box = e.getBoundingClientRect();
            if (box.width && box.right > {width} + 1) told.push(e.tagName + " ends at " + Math.round(box.right));
          }}
          for (const i of d.querySelectorAll(".picture img")) {{
            const inches = parseFloat(i.parentElement.style.getPropertyValue("--inches"));
            const letter = i.getBoundingClientRect().width / inches * 9 / 72;
            if (letter < 9) told.push("letters of " + letter.toFixed(1) + " px in " + i.alt.slice(0, 40));
          }}
          for (const t of d.querySelectorAll(".stack")) {{
            if (t.scrollWidth > t.clientWidth + 1) told.push("a table of claims is moved sideways: " + t.textContent.slice(0, 60));
          }}
          return told;
        }})()""",
    )
