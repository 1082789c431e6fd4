"""The claims about what the two stacks need a timer for, and how long it takes."""

from collections.abc import Mapping

from anabranch_lab.judge.claims import Claim, ClaimBuilder, Explanation, Part, certain, condition, exact

from ..common.flows import SETS, Row, Table, text
from .figures import surplus

CASES = ("baseline", "initial RTO 1 s", "minimum RTO 200 ms", "minimum RTO 3 ms")
KAME = ("kame-2006-bugs",)
LKSCTP = ("lksctp-2006-bugs",)


OPEN = (
    "any acknowledgement opens the window",
    "the first SACK waits",
    "a clock of 50 ms",
)
"""Rules of KAME of which the report says nothing: sweep kame-rules."""
VALUES = ("two packets at first", "any acknowledgement opens the window, SACKs wait 20 ms")
"""What the report prints otherwise: sweep kame-values."""


def claims(
    builder: ClaimBuilder,
    stacks: Mapping[str, Table],
    mistakes: Mapping[str, Table],
    tried: Mapping[str, Table],
) -> list[Claim]:
    """The claims of the catalogue that name this experiment, but for those about spurious retransmissions.

    `tried` are the variants, by the name of their sweep.
    """
    kame, lksctp = stacks["KAME"], stacks["LKSCTP"]
    return [
        faster(builder, stacks),
        kame_baseline(builder, kame, mistakes["KAME"]),
        dip(builder, kame, tried),
        lksctp_baseline(builder, lksctp),
        kame_initial(builder, kame),
        lksctp_initial(builder, lksctp, mistakes["LKSCTP"], tried["client-initial"]),
        *tables(builder),
    ]


def was(table: Table, case: str, display: str) -> Row:
    """A stack with its mistakes."""
    return table.at(stack="as it was", case=case, set=display)


def trip(display: str) -> float:
    """Milliseconds that a full packet and its SACK take: 1500 and 48 bytes."""
    rate, delay = SETS[display]
    return 2 * delay + (1500 + 48) * 8 / rate


def dips(row: Row, least: float) -> list[int]:
    """Positions whose flow is faster by `least` than those of both neighbours, or of a pair's two."""
    found = []
    for k in range(4, 15):
        for width in (1, 2):
            inside = range(k, k + width)
            sides = (row[k - 1].time, row[k + width].time)
            if all(row[each].time + least <= side for each in inside for side in sides):
                found += [each for each in inside if each not in found]
    return sorted(found)


def faster(builder: ClaimBuilder, stacks: Mapping[str, Table]) -> Claim:
    """H-S-1."""
    more = surplus(stacks)
    cells = {(b, d): value for b, row in more.items() for d, value in row.items()}
    most = max(cells, key=lambda cell: cells[cell])
    return builder.claim(
        "H-S-1",
        [
            certain("10000 kbit/s, 5 ms: per cent more", 400.0, cells[10000, 5], 80.0),
            exact("where most", (10000, 5), most),
            condition("all 56 cells", "> 0", f"least {min(cells.values()):.1f} %", min(cells.values()) > 0),
        ],
        engines=(*KAME, *LKSCTP),
    )


def kame_baseline(builder: ClaimBuilder, kame: Table, one: Table) -> Claim:
    """H-S-2."""
    rows = {display: was(kame, "baseline", display) for display in SETS}
    wanted = {"low": 1000.0, "medium": 1000.0, "high": 2000.0}
    parts = [
        certain(
            f"{display}, 3: extra time, ms", wanted[display], rows[display].extra(3), 0.15 * wanted[display]
        )
        for display in SETS
    ]
    parts += [
        exact("medium: a timer needed behind 3", "16-19", text([k for k in rows["medium"].waits() if k > 3])),
        condition(
            "medium, 2: extra time, ms",
            "none",
            f"{rows['medium'].extra(2):.1f}",
            abs(rows["medium"].extra(2)) < 1,
        ),
    ]
    clean = {display: kame.at(stack="without mistakes", case="baseline", set=display) for display in SETS}
    return builder.claim(
        "H-S-2",
        parts,
        engines=KAME,
        note="Without the mistakes: "
        + "; ".join(f"{display}, 3: {row.extra(3):+.0f} ms" for display, row in clean.items())
        + f"; medium, 2: {clean['medium'].extra(2):+.0f} ms.",
        evidence=("kame-mistakes",),
    )


def dip(builder: ClaimBuilder, kame: Table, tried: Mapping[str, Table]) -> Claim:
    """H-S-3."""
    row = was(kame, "baseline", "high")

    def parts(row: Row) -> list[Part]:
        return [
            certain(f"t({k}) - t(10), ms", trip("high"), row[k].time - row[10].time, 0.05 * trip("high"))
            for k in (9, 11)
        ]

    def found(row: Row) -> str:
        return text(dips(row, trip("high") / 2))

    def explanation(rule: str, sweep: str) -> Explanation:
        varied = tried[sweep].at(rule=rule, case="baseline", display="high")
        said = f"KAME, {rule}. Dips of at least half a round trip: {found(varied)}."
        return Explanation(said, runs=(sweep,), parts=tuple(parts(varied)))

    opened = tried["kame-rules"].at(rule=OPEN[0], case="baseline", display="high")
    left = trip("high") - (opened[11].time - opened[10].time)
    return builder.claim(
        "H-S-3",
        parts(row),
        engines=KAME,
        note=f"Dips of at least half a round trip: {found(row)}. Which position fills the last window depends on "
        "which SACKs wait for the delay timer; here they split the bursts. Where any new acknowledgement opens the window, not only one that "
        f"moves the cumulative point, the dips are at {found(opened)}, and 11 costs {left:.0f} ms less than the report has: a SACK waits 200 ms.",
        explanation=[
            explanation(OPEN[0], "kame-rules"),
            explanation(VALUES[1], "kame-values"),
            explanation(OPEN[1], "kame-rules"),
            explanation(VALUES[0], "kame-values"),
        ],
        evidence=("kame-mistakes",),
    )


def lksctp_baseline(builder: ClaimBuilder, lksctp: Table) -> Claim:
    """H-S-4."""
    medium, high, low = (was(lksctp, "baseline", display) for display in ("medium", "high", "low"))
    slow = [k for k in range(4, 15) if low.extra(k) > 1000]
    return builder.claim(
        "H-S-4",
        [
            exact("medium: a timer needed", "1-3, 15-19", text(medium.waits())),
            certain("medium, 2: extra time, ms", 3000.0, medium.extra(2), 450.0),
            exact("high: dips", "8-9", text(dips(high, trip("high") / 2))),
            condition(
                "low: more than 1 s slower, before the tail",
                "5-8 or 4-7, the report says both",
                text(slow),
                text(slow) in ("5-8", "4-7"),
            ),
        ],
        engines=LKSCTP,
        evidence=("lksctp-mistakes",),
        note="7.2.1 of the report says 4 to 7, 6.2.2 says 5 to 8.",
    )


def kame_initial(builder: ClaimBuilder, kame: Table) -> Claim:
    """H-S-5."""
    parts = []
    for display in SETS:
        plain, short = (was(kame, case, display) for case in ("baseline", "initial RTO 1 s"))
        parts.append(certain(f"{display}, 1: ms less", 2000.0, plain[1].time - short[1].time, 100.0))
        changed = [k for k in plain if k != 1 and abs(short[k].time / plain[k].time - 1) > 0.02]
        parts.append(exact(f"{display}: others that change by more than 2 %", "none", text(changed)))
    return builder.claim("H-S-5", parts, engines=KAME)


def lksctp_initial(builder: ClaimBuilder, lksctp: Table, one: Table, client: Table) -> Claim:
    """H-S-6."""
    case = "initial RTO 1 s"
    plain = {display: was(lksctp, "baseline", display) for display in SETS}

    def parts(plain: Mapping[str, Row], short: Mapping[str, Row]) -> list[Part]:
        found: list[Part] = [
            certain(f"{display}, 1: ms less", 2000.0, plain[display][1].time - short[display][1].time, 100.0)
            for display in SETS
        ]
        extra = short["medium"].extra(3)
        return [*found, condition("medium, 3: extra time, ms", "> 1000", f"{extra:.0f}", extra > 1050)]

    def with_one(stack: str) -> Explanation:
        rows = [
            {display: one.at(stack=stack, case=which, display=display) for display in SETS}
            for which in ("baseline", case)
        ]
        return Explanation(
            f"LKSCTP with one of its mistakes only: {stack}.",
            runs=("lksctp-mistakes",),
            parts=tuple(parts(*rows)),
        )

    clean = lksctp.at(stack="without mistakes", case=case, set="medium")
    return builder.claim(
        "H-S-6",
        parts(plain, {display: was(lksctp, case, display) for display in SETS}),
        engines=LKSCTP,
        explanation=[
            Explanation(
                "The initial RTO was set where the connection is opened: the client's INIT is repeated after 1 s, and the server still waits 3 s "
                "for its first DATA.",
                runs=("client-initial",),
                parts=tuple(parts(plain, {display: client.at(display=display) for display in SETS})),
            ),
            with_one("first DATA by timeout"),
            with_one("what is in flight again"),
        ],
        evidence=("lksctp-mistakes",),
        note=f"Without its mistakes 3 is fast retransmitted and costs {clean.extra(3):.0f} ms.",
    )


def tables(builder: ClaimBuilder) -> list[Claim]:
    """H-TAB5 and H-TAB6: printed against computed."""
    return [
        builder.claim(
            identifier,
            [exact("7 x 8 x 21 x 3", 3527, 7 * 8 * 21 * 3)],
            note="An erratum of the table: one too few.",
        )
        for identifier in ("H-TAB5", "H-TAB6")
    ]
