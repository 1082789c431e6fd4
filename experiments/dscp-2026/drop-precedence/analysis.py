"""Several drop precedences of one class: from runs to grades, figures and findings."""

from anabranch_lab.judge.claims import Claim, ClaimBuilder
from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.judge.experiment import Figure as Entry
from anabranch_lab.run.grid import Grid
from anabranch_lab.run.results import Results
from anabranch_lab.stats import Estimate

from ..common import drawing, measures

FIRST, THIRD = "AF41 for all", "AF43 for all"
PLAIN = "three precedences, plain"
BY_TIME = "rfc9260-rack"


def analyse(results: Results) -> Analysis:
    """Analyses the runs for the laboratory: claims, findings, tables and figures."""
    alone = results.grid("alone", measures.CROWD)
    crowd = results.grid("crowd", measures.CROWD).joined(results.grid("crowd-apart", measures.CROWD))
    rivals = "Means and 95 % intervals; RACK-TLP; ten connections of TCP (CUBIC, Reno and BBR, three round trips), all of them AF43."
    return Analysis(
        claims=claims(claim_builder(results), alone, crowd),
        tables=[
            measures.table("Nobody else", alone, measures.CALL_TABLE, shown=False),
            measures.table("Beside ten rivals", crowd, measures.CALL_BESIDE),
        ],
        figures=[
            Entry(
                "figure-dscp-precedence-video",
                "Video with several drop precedences: 99th percentile",
                f"{rivals} In (a) nobody else.",
                lambda: drawing.over_places(
                    [("nobody else", alone.only(rules=BY_TIME)), ("beside ten rivals", crowd)],
                    "video_p99",
                    "queue",
                    "queue of the class",
                    log=True,
                ),
            ),
            Entry(
                "figure-dscp-precedence-rivals",
                "What is left for the ten rivals",
                rivals,
                lambda: drawing.over_places([("ten rivals", crowd)], "rivals", "queue", "queue"),
            ),
        ],
        findings=[
            *(
                measures.finding(alone, "queue", queue, "nobody else", rules=BY_TIME)
                for queue in alone.values("queue")
            ),
            *(
                measures.finding(crowd, "queue", queue, "beside ten rivals")
                for queue in crowd.values("queue")
            ),
        ],
    )


def claims(builder: ClaimBuilder, alone: Grid, crowd: Grid) -> list[Claim]:
    """The hypotheses of claims.toml that name this experiment."""
    places = [(queue, rules) for queue in alone.values("queue") for rules in alone.values("rules")]
    queues = crowd.values("queue")

    def place(queue: str, rules: str, how: str) -> dict[str, str]:
        return {"queue": queue, "rules": rules, "how": how}

    def beside(measure: str, ones: tuple[str, ...], others: tuple[str, ...]) -> list[dict[str, Estimate]]:
        return [
            measures.over(
                crowd,
                measure,
                {"queue": queue, "how": one},
                {"queue": queue, "how": other},
                f"{queue}: {one} over {other}",
            )
            for queue in queues
            for one, other in zip(ones, others, strict=True)
        ]

    found = {
        "DS-31": [
            part
            for queue, rules in places
            for part in (
                measures.at(alone, "spurious", place(queue, rules, PLAIN), f"{queue}, {rules}: {PLAIN}"),
                measures.over(
                    alone,
                    "total",
                    place(queue, rules, PLAIN),
                    place(queue, rules, THIRD),
                    f"{queue}, {rules}: {PLAIN} over {THIRD}",
                ),
            )
        ],
        "DS-32": beside("audio_p99", (PLAIN,), (THIRD,)),
        "DS-33": beside("video_p99", measures.INDEPENDENT, (PLAIN, PLAIN)),
        "DS-34": beside("video_p99", measures.INDEPENDENT, measures.COUPLED),
        "DS-35": beside("rivals", measures.COUPLED, (THIRD, THIRD)),
        "DS-36": beside("rivals", (FIRST,), (PLAIN,)),
    }
    return [builder.claim(each, measures.merged(parts)) for each, parts in found.items()]
