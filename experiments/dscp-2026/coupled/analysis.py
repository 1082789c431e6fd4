"""The delay of a call whose sender couples its windows: from runs to grades, figures and findings."""

from collections.abc import Iterable

from anabranch_lab.judge.claims import Claim, ClaimBuilder
from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.judge.experiment import Figure as Entry
from anabranch_lab.run.grid import Grid
from anabranch_lab.run.results import Results
from anabranch_lab.stats import Estimate

from ..common import drawing, measures

ONE, APART = "one code point", "two associations"
ALONE, CROWD = "alone", "beside ten rivals"
UNMARKED, MARKS = "none", ("classic", "L4S")
OLD = "CoDel"
"""The queue that marks ECT(1) as it marks ECT(0)."""


def analyse(results: Results) -> Analysis:
    """Analyses the runs for the laboratory: claims, findings, tables and figures."""
    grids = {
        told: results.grid(name, measures.CROWD).joined(results.grid(f"{name}-apart", measures.CROWD))
        for told, name in ((ALONE, "alone"), (CROWD, "crowd"))
    }
    marks = {ALONE: results.grid("marks", measures.CROWD), CROWD: results.grid("marks-crowd", measures.CROWD)}
    every = "Means and 95 % intervals; RACK-TLP in the association."
    return Analysis(
        claims=claims(claim_builder(results), grids, marks),
        tables=[
            measures.table("Nobody else", grids[ALONE], measures.CALL_TABLE),
            measures.table("Beside ten rivals", grids[CROWD], measures.CALL_BESIDE),
            measures.table("Queues that mark, nobody else", marks[ALONE], measures.CALL_TABLE, shown=False),
            measures.table(
                "Queues that mark, beside ten rivals", marks[CROWD], measures.CALL_BESIDE, shown=False
            ),
        ],
        figures=[
            Entry(
                f"figure-dscp-coupled-{name}",
                f"{title}: one code point, subflows with independent and with coupled windows",
                every,
                lambda measure=measure, log=log: drawing.over_places(
                    list(grids.items()), measure, "where", "bottleneck", log=log
                ),
            )
            for name, title, measure, log in (
                ("audio", "Audio, 99th percentile", "audio_p99", True),
                ("video", "Video, 99th percentile", "video_p99", True),
                ("total", "What call and file have together", "total", False),
            )
        ]
        + [
            Entry(
                "figure-dscp-coupled-marks",
                "Audio where queues mark, 99th percentile, beside ten rivals",
                f"{every} (a) without ECN, (b) RFC 3168, (c) L4S.",
                lambda: drawing.over_places(
                    [(f"ECN: {ecn}", marks[CROWD].only(ecn=ecn)) for ecn in (UNMARKED, *MARKS)],
                    "audio_p99",
                    "where",
                    "bottleneck",
                ),
            )
        ],
        findings=[
            *(
                measures.finding(grid, "where", where, beside)
                for beside, grid in grids.items()
                for where in grid.values("where")
            ),
            *(
                measures.finding(grid, "where", where, f"ECN {ecn}, {beside}", ecn=ecn)
                for beside, grid in marks.items()
                for where in grid.values("where")
                for ecn in grid.values("ecn")
            ),
        ],
    )


def claims(builder: ClaimBuilder, grids: dict[str, Grid], marks: dict[str, Grid]) -> list[Claim]:
    """The hypotheses of claims.toml that name this experiment."""
    where = grids[ALONE].values("where")
    shared = [each for each in where if each.endswith("one queue")]
    served = [each for each in where if each not in shared]
    both, crowd, alone = tuple(grids), (CROWD,), (ALONE,)

    def over(
        measure: str, pairs: Iterable[tuple[str, str]], places: list[str], besides: Iterable[str]
    ) -> list[dict[str, Estimate]]:
        return [
            measures.over(
                grids[beside],
                measure,
                {"where": place, "how": one},
                {"where": place, "how": other},
                f"{place}, {beside}: {one} over {other}",
            )
            for one, other in pairs
            for place in places
            for beside in besides
        ]

    def against(other: str) -> list[tuple[str, str]]:
        return [(how, other) for how in measures.COUPLED]

    def marked(measure: str, how: str, place: str, ecn: str, beside: str) -> dict[str, Estimate]:
        """A measure with ECN over the same without."""
        places = ({"where": place, "how": how, "ecn": each} for each in (ecn, UNMARKED))
        return measures.over(
            marks[beside], measure, *places, f"{place}, {beside}: {how}, ECN {ecn} over none"
        )

    queues = marks[ALONE].values("where")
    everywhere = [(place, ecn, beside) for place in queues for ecn in MARKS for beside in marks]

    def levels(place: str, ecn: str, beside: str) -> dict[str, Estimate]:
        zero, one = ({"where": place, "how": how, "ecn": ecn} for how in measures.COUPLED)
        grid, told = marks[beside], f"{place}, {beside}, ECN {ecn}: level 0 over level 1"
        total = (grid.sample("total", **zero) / grid.sample("total", **one) - 1).estimate
        return {f"{told}, less 1: all user data": total} | measures.over(grid, "audio_p99", zero, one, told)

    found = {
        "DS-37": over("audio_p99", zip(measures.COUPLED, measures.INDEPENDENT, strict=True), served, both),
        "DS-38": over("total", against(ONE), where, alone),
        "DS-39": over("audio_p99", against(ONE), served, crowd),
        "DS-40": over("rivals", against(ONE), shared, crowd),
        "DS-41": [
            marked(measure, how, place, ecn, beside)
            for how in measures.COUPLED
            for place, ecn, beside in everywhere
            for measure in ("audio_p99", "total")
        ],
        "DS-42": [levels(*each) for each in everywhere],
        "DS-43": [
            marked("rivals", how, OLD, "L4S", CROWD) for how in (ONE, *measures.COUPLED) if OLD in queues
        ],
        "DS-44": over("audio_p99", against(APART), served, both),
    }
    return [builder.claim(each, measures.merged(parts)) for each, parts in found.items()]
