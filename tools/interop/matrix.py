"""The matrix: on the terminal, as HTML and as JSON."""

from __future__ import annotations

import html
import json
from pathlib import Path

from . import peers
from .cases import Case
from .run import Cell

SIGNS = {"pass": "ok", "fail": "FAIL", "cannot": "-"}

_STYLE = """
body { font: 15px/1.4 system-ui, sans-serif; margin: 2rem; color: #1a1a1a; background: #fff; }
table { border-collapse: collapse; }
th, td { border: 1px solid #ccc; padding: .3rem .6rem; text-align: left; vertical-align: top; }
td.pass { background: #e2f3e2; } td.fail { background: #f8d7d7; } td.cannot { background: #eee; color: #555; }
small { color: #555; display: block; max-width: 22rem; }
"""


def _sign(cell: Cell | None) -> str:
    """The text of a cell: whether it passed, and its figure (Mbit/s), if it has one."""
    if cell is None:
        return ""
    return SIGNS[cell.state] + (f" {cell.mbits:.0f}" if cell.state == "pass" and cell.mbits else "")


def _peers(cells: list[Cell]) -> list[str]:
    return list(dict.fromkeys(cell.peer for cell in cells))


def _lookup(cells: list[Cell]) -> dict[tuple[str, str, str], Cell]:
    return {(cell.case, cell.peer, cell.role): cell for cell in cells}


def as_text(cases: list[Case], cells: list[Cell]) -> str:
    """For the terminal: a row a case, a pair of columns a peer (it listens, it connects)."""
    peers, found = _peers(cells), _lookup(cells)
    width = max([len(case.name) for case in cases] + [4])
    lines = [" " * width + "".join(f"  {peer:>13}" for peer in peers)]
    for case in cases:
        row = ""
        for peer in peers:
            pair = [found.get((case.name, peer, role)) for role in ("listen", "connect")]
            signs = "/".join(_sign(cell) for cell in pair)
            row += f"  {signs:>13}"
        lines.append(f"{case.name:<{width}}{row}")
    return "\n".join(lines)


def as_markdown(cases: list[Case], cells: list[Cell]) -> str:
    """A table of the cells, and below it the reasons why a peer cannot play a case."""
    peers, found = _peers(cells), _lookup(cells)
    lines = ["| case | " + " | ".join(peers) + " |", "|---|" + "---|" * len(peers)]
    reasons: dict[str, list[str]] = {}
    for case in cases:
        row = []
        for peer in peers:
            pair = [found.get((case.name, peer, role)) for role in ("listen", "connect")]
            row.append(" / ".join(_sign(cell) for cell in pair))
            for cell in pair:
                if cell and cell.state == "cannot":
                    where = f"{peer}, {case.name}" + (
                        ""
                        if all(c and c.state == "cannot" and c.why == cell.why for c in pair)
                        else f" ({cell.role}s)"
                    )
                    reasons.setdefault(cell.why[0], [])
                    if where not in reasons[cell.why[0]]:
                        reasons[cell.why[0]].append(where)
        lines.append(f"| {case.name} | " + " | ".join(row) + " |")
    lines += ["", "| why not | where |", "|---|---|"]
    lines += [f"| {why} | {'; '.join(where)} |" for why, where in reasons.items()]
    return "\n".join(lines) + "\n"


def as_html(cases: list[Case], cells: list[Cell], about: dict[str, str], head: str) -> str:
    """A page of its own."""
    peers, found = _peers(cells), _lookup(cells)
    rows = []
    for case in cases:
        row = [f"<th>{html.escape(case.name)}<small>{html.escape(case.about)}</small></th>"]
        for peer in peers:
            for role in ("listen", "connect"):
                cell = found.get((case.name, peer, role))
                if cell is None:
                    row.append("<td></td>")
                    continue
                why = "".join(f"<small>{html.escape(line)}</small>" for line in cell.why)
                sign = {"pass": "ok", "fail": "fail", "cannot": "cannot"}[cell.state]
                if cell.mbits:
                    with_own_kind = ", ".join(f"{name} {rate:.0f}" for name, rate in cell.alike.items())
                    why += (
                        f"<small>{cell.mbits:.0f} Mbit/s; two of a kind: {html.escape(with_own_kind)}</small>"
                    )
                link = f'<a href="{html.escape(cell.capture)}">{sign}</a>' if cell.capture else sign
                row.append(f'<td class="{cell.state}">{link} <small>{cell.seconds:.1f} s</small>{why}</td>')
        rows.append("<tr>" + "".join(row) + "</tr>")
    names = "".join(
        f'<th colspan="2">{html.escape(p)}<small>{html.escape(about.get(p, ""))}</small></th>' for p in peers
    )
    roles = "<th>listens</th><th>connects</th>" * len(peers)
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Interoperability</title>'
        f"<style>{_STYLE}</style><h1>Interoperability of anabranch</h1><p>{html.escape(head)}</p>"
        "<p>Each peer in both roles; anabranch has the other. The links are captures of what reached the relay.</p>"
        f"<table><thead><tr><th></th>{names}</tr><tr><th></th>{roles}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></html>"
    )


def merged(out: Path, cells: list[Cell]) -> list[Cell]:
    """Returns these cells, and those of the last run that they do not replace, in the order of the peers."""
    last = out / "matrix.json"
    found = _lookup([Cell(**cell) for cell in json.loads(last.read_text())["cells"]] if last.exists() else [])
    found.update(_lookup(cells))
    order = [peer.name for peer in peers.ALL]
    return sorted(found.values(), key=lambda cell: order.index(cell.peer))


def save(out: Path, cases: list[Case], cells: list[Cell], about: dict[str, str], head: str) -> None:
    """Writes matrix.html and matrix.json."""
    (out / "matrix.html").write_text(as_html(cases, cells, about, head))
    (out / "matrix.md").write_text(as_markdown(cases, cells))
    content = {"head": head, "peers": about, "cells": [cell.as_json() for cell in cells]}
    (out / "matrix.json").write_text(json.dumps(content, indent=1) + "\n")
