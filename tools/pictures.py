"""Copies figures of the report, small, to docs/pictures, and checks that the page there names each of them.

    python tools/pictures.py [out/report/figures]

They are those of docs/figures.md: the page is the list.
"""

import re
import sys
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "figures.md"
WIDTH = 760
"""The width, in pixels, that a page shows without shrinking it again."""
WIDE = 1400
"""Pixels of a figure that is more than three times as wide as high: its numbers could not be read in fewer."""
COLOURS = 256
"""The colours of a picture: with fewer, some lines have the colour of others."""


def stems(page: str) -> list[str]:
    """The figures that a page shows, in its order."""
    return re.findall(r"!\[[^\]]*\]\(pictures/([^)]+)\.png\)", page)


def shrink(source: Path, target: Path) -> int:
    """Writes one picture; returns its bytes."""
    with Image.open(source) as image:
        plain = Image.new("RGB", image.size, "white")
        plain.paste(image, mask=image.getchannel("A") if image.mode == "RGBA" else None)
    width = WIDE if plain.width > 3 * plain.height else WIDTH
    height = round(plain.height * width / plain.width)
    small = plain.resize((width, height), Image.Resampling.LANCZOS).quantize(
        # By the largest spread, so that a colour of few pixels, such as a bar's, stays as it is.
        COLOURS,
        method=Image.Quantize.MAXCOVERAGE,
        dither=Image.Dither.NONE,
    )
    small.save(target, optimize=True)
    return target.stat().st_size


def main() -> int:
    """Writes every picture of the page; 1 when the report has one of them not."""
    figures = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "out" / "report" / "figures"
    missing = 0
    for stem in stems(PAGE.read_text(encoding="utf-8")):
        source = figures / f"{stem}.png"
        if not source.is_file():
            print(f"{source}: no such figure; `make studies` draws it", file=sys.stderr)
            missing += 1
            continue
        target = PAGE.parent / "pictures" / source.name
        print(f"{target.relative_to(ROOT)}: {shrink(source, target)} bytes")
    return int(missing > 0)


if __name__ == "__main__":
    raise SystemExit(main())
