"""Tables 5.1, 5.2, 5.3 and 5.4, with ours beside the printed."""

from collections.abc import Mapping

from anabranch_lab.judge.experiment import Table
from anabranch_lab.run.grid import Grid

from ..common.packets import CAPTURE_HEADER, FIN, SYN, Log, sheet
from ..common.pages import NETWORKS, OBJECTS
from . import judge, printed


def all_tables(runs: Grid, seen: Grid, logs: dict[int, Log]) -> list[Table]:
    """In the order of the thesis."""
    return [
        table_5_1(next(iter(logs.values()))),
        table_5_2(),
        table_5_3(),
        table_5_4(runs, seen),
        counts(seen),
    ]


def table_5_1(log: Log) -> Table:
    """The first rows of MS 6 over B1, beside the thesis's."""
    rows = sheet(log, NETWORKS["B1"].down)
    lines = []
    for row, (time, size, start, end, idle) in enumerate(printed.rows_5_1()):
        kind = int(log.kind[row])
        info = "SYN" if kind & SYN else "FIN" if kind & FIN else "ACK"
        mine = (rows.time[row], rows.start[row], rows.end[row], rows.idle[row])
        lines.append(
            (
                str(row + 1),
                info,
                str(int(log.flow[row]) + 1),
                str(int(log.size[row]) + CAPTURE_HEADER),
                str(size),
                *(
                    f"{value:.3f}"
                    for pair in zip(mine, (time, start, end, idle), strict=True)
                    for value in pair
                ),
            )
        )
    head = ("row", "info", "connection", "size", "printed")
    names = [text for name in ("time", "start", "end", "idle") for text in (f"{name}, s", "printed")]
    return Table(
        "Table 5.1: idle times of MS 6 over B1, server to client",
        (*head, *names),
        lines,
        note="One run; sizes with the 16 bytes that a Linux capture adds.",
    )


def table_5_2() -> Table:
    """Computed again; the printed value in brackets where it differs."""
    lines = []
    names = (
        "bandwidth-delay product, B",
        "one data packet, s",
        "two data packets, s",
        "three data packets, s",
        "data and ACK, s",
    )
    for row, text in enumerate(names):
        cells = []
        for name, values in printed.TABLE_5_2.items():
            network = NETWORKS[name]
            up = printed.MODEM_UP if name == "Modem" else network.up
            lasts = 1468 * 8 / network.down
            ours = (
                (network.down + up) * network.delay / 8,
                lasts,
                2 * lasts,
                3 * lasts,
                lasts + 68 * 8 / up + 2 * network.delay,
            )[row]
            digits = 1 if row == 0 else 3
            same = abs(ours - values[row]) <= 0.000501 if row else abs(ours - values[row]) <= 0.05
            cells.append(f"{ours:.{digits}f}" + ("" if same else f" (printed {values[row]})"))
        lines.append((text, *cells))
    return Table("Table 5.2: buffer calculations", ("", *printed.TABLE_5_2), lines)


def table_5_3() -> Table:
    """Arithmetic."""
    lines = [
        (str(chunks), f"{tcp} B", f"{sctp} B", f"+{percent} %")
        for chunks, (tcp, sctp, percent) in printed.TABLE_5_3.items()
    ]
    return Table("Table 5.3: header overhead", ("chunks", "TCP", "SCTP", "difference"), lines)


def table_5_4(runs: Grid, seen: Grid) -> Table:
    """Measured and printed."""
    lines = []
    for scenario, values in printed.IDLE.items():
        lines.append((scenario, *(judge.idle(runs, seen, network, scenario).text(1) for network in NETWORKS)))
        lines.append((f"{scenario}, printed", *(f"{values[network]:.0f}" for network in NETWORKS)))
    return Table("Table 5.4: idle time of the line with TCP, percent", ("", *NETWORKS), lines)


def counts(seen: Grid) -> Table:
    """Overhead, SYN-ACKs and the buffer: section 5.3.4."""
    lines = []
    for scenario in OBJECTS:
        for network in NETWORKS:
            at = {"network": network, "scenario": scenario}
            lines.append(
                (
                    scenario,
                    network,
                    seen.at("counted", **at).text(0),
                    seen.at("overhead", **at).text(0),
                    seen.at("synacks", **at).text(2) if scenario != "MS 1" else "",
                    seen.at("waiting", **at).text(0),
                )
            )
    head = (
        "scenario",
        "network",
        "overhead, B",
        "without FINs that ride with data, B",
        "SYN-ACKs each",
        "most waiting",
    )
    return Table(
        "Section 5.3.4: bytes that are no user data, SYN-ACKs, packets in the buffer", head, lines, open=False
    )


def habits(runs: Grid, seen: Grid, variants: Mapping[str, tuple[Grid, Grid]]) -> Table:
    """Table 5.4 again without each of the two habits that the log shows."""
    names = {
        "strict-window": "a last segment waits for the window",
        "closes-in-turn": "the client closes in turn",
    }
    lines = []
    for scenario in ("MS 7", "MS 8"):
        values = printed.IDLE[scenario]
        lines.append((f"{scenario}, printed", *(f"{values[network]:.0f}" for network in NETWORKS)))
        rows = [("both habits", (runs, seen)), *((names[name], grids) for name, grids in variants.items())]
        for text, (times, packets) in rows:
            cells = (judge.idle(times, packets, network, scenario).text(1) for network in NETWORKS)
            lines.append((f"{scenario}, {text}", *cells))
    return Table(
        "Table 5.4 without the habits of Linux 2.4 and of the client, percent idle", ("", *NETWORKS), lines
    )
