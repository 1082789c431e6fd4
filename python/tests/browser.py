"""A headless Chromium: loads a page and returns the value of an expression in it. axe-core looks for faults of accessibility."""

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
    """The faults that axe-core finds in a page, a line for each rule with its first place."""
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
    """The reasons why a page is wider than a telephone: elements that stick out, and texts in pictures that are too small to be read."""
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


def lost_in_the_dark(page: str) -> list[str]:
    """Pictures of which something is seen by day and not in the dark: markers, bars, lines, letters.

    Both versions of each picture are drawn; a pixel that stands out from the paper of one by 3 to 1 must stand out from the other's, edges excepted.
    """
    return evaluate(
        page,
        """(async () => {
          const luminance = (d, i) => [0, 1, 2].map(k => d[i + k] / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
            .reduce((sum, v, k) => sum + v * [0.2126, 0.7152, 0.0722][k], 0);
          const contrast = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
          const drawn = async (address) => {
            const image = new Image();
            image.src = address;
            await image.decode();
            const canvas = document.createElement("canvas");
            [canvas.width, canvas.height] = [image.naturalWidth * 2, image.naturalHeight * 2];
            const context = canvas.getContext("2d");
            context.drawImage(image, 0, 0, canvas.width, canvas.height);
            return context.getImageData(0, 0, canvas.width, canvas.height).data;
          };
          const told = [];
          for (const picture of document.querySelectorAll(".picture picture")) {
            const light = await drawn(picture.querySelector("img").src);
            const dark = await drawn(picture.querySelector("source").srcset);
            const [white, paper] = [luminance(light, 0), luminance(dark, 0)];
            let seen = 0, lost = 0;
            for (let i = 0; i < light.length; i += 4) {
              if (contrast(luminance(light, i), white) < 3) continue;
              seen += 1;
              if (contrast(luminance(dark, i), paper) < 2) lost += 1;
            }
            if (!seen || lost > seen * 0.002) told.push(lost + " of " + seen + " pixels: " + picture.querySelector("img").alt.slice(0, 60));
          }
          return told;
        })()""",
    )
