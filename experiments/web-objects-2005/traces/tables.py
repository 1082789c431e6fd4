"""Tables 5.1, 5.2, 5.3 and 5.4, with ours beside the printed."""

from collections.abc import Mapping
from pathlib import Path

from anabranch_lab.judge.claims import Claim
from anabranch_lab.judge.experiment import Table
from anabranch_lab.run.grid import Grid

from ..common.packets import CAPTURE_HEADER, FIN, SYN, Log, sheet
from ..common.pages import NETWORKS, OBJECTS, idle


def all_tables(runs: Grid, seen: Grid, log: Log, claims: Mapping[str, Claim]) -> list[Table]:
    """Every table, in the order of the thesis."""
    return [
        table_5_1(log),
        *(again(claims[each]) for each in ("A-T52", "A-T53")),
        table_5_4(runs, seen, claims),
        counts(seen),
    ]


def printed_5_1() -> list[tuple[float, int, float, float, float]]:
    """Table 5.1 as time, size, start, end and idle time."""
    lines = (Path(__file__).parent / "table-5-1.txt").read_text(encoding="utf-8").splitlines()
    rows = [line.split() for line in lines if line and not line.startswith("#")]
    return [
        (float(time), int(size), float(start), float(end), float(idle))
        for _, time, size, _, start, end, idle in rows
    ]


def table_5_1(log: Log) -> Table:
    """The first rows of MS 6 over B1, beside the thesis's."""
    # The acknowledgement of a client's FIN is in no row of the thesis.
    rows = sheet(log, NETWORKS["B1"].down)
    lines = []
    for row, (time, size, start, end, idle_time) in enumerate(printed_5_1()):
        kind = int(log.kind[row])
        info = "SYN" if kind & SYN else "FIN" if kind & FIN else "ACK"
        ours = (rows.time[row], rows.start[row], rows.end[row], rows.idle[row])
        pairs = zip(ours, (time, start, end, idle_time), strict=True)
        lines.append(
            (
                str(row + 1),
                info,
                str(int(log.flow[row]) + 1),
                str(int(log.size[row]) + CAPTURE_HEADER),
                str(size),
                *(f"{value:.3f}" for pair in pairs for value in pair),
            )
        )
    head = ("row", "info", "connection", "size", "printed")
    names = [text for name in ("time", "start", "end", "idle") for text in (f"{name}, s", "printed")]
    return Table(
        "Table 5.1: idle times of MS 6 over B1, server to client",
        (*head, *names),
        lines,
        note="One run where the client leaves its sides of finished connections open, as in the printed log; sizes with the 16 bytes that a "
        "Linux capture adds.",
    )


def again(claim: Claim) -> Table:
    """A table that is computed again, part by part."""
    lines = [
        (part.at, part.expected, part.measured if isinstance(part.measured, str) else f"{part.measured:.4g}")
        for part in claim.parts
    ]
    return Table(f"{claim.entry.where}, computed again", ("", "printed", "computed"), lines, open=False)


def table_5_4(runs: Grid, seen: Grid, claims: Mapping[str, Claim]) -> Table:
    """Measured and printed."""
    lines = []
    for scenario, identifier in (("MS 7", "A-MS7"), ("MS 8", "A-MS8")):
        printed = {part.at: part.value for part in claims[identifier].parts}
        measured = [idle(runs, seen, network, scenario).estimate.text(1) for network in NETWORKS]
        lines.append((scenario, *measured))
        lines.append(
            (f"{scenario}, printed", *(f"{printed[f'{network}, % idle']:.0f}" for network in NETWORKS))
        )
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
                    seen.at("overhead", **at).text(0),
                    seen.at("counted", **at).text(0),
                    seen.at("synacks", **at).text(2) if scenario != "MS 1" else "",
                    seen.at("waiting", **at).text(0),
                )
            )
    head = (
        "scenario",
        "network",
        "packets without user data, B",
        "with FINs that ride with data, B",
        "SYN-ACKs each",
        "most waiting",
    )
    title = "Section 5.3.4: bytes that are no user data, SYN-ACKs, packets in the buffer"
    return Table(title, head, lines, open=False)
