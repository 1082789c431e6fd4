"""Experiment V: from runs to grades, figures and a finding."""

from anabranch_lab.judge.comparison import Measured
from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.run import series
from anabranch_lab.run.grid import Grid
from anabranch_lab.run.results import Results

from ..common import bottleneck, pictures, readings

MEASURED = ("user_data", "drop_rate")


def analyse(results: Results) -> Analysis:
    """Analyses the runs for the laboratory: claims, findings, tables and figures."""
    engine = results.plan.engines[0]
    both = results.grid("queues", bottleneck.MEASURES)
    runs = both.only(engine=engine)
    seen, seen_spread = (
        series.measure(results, name, bottleneck.look).only(engine=engine)
        for name in ("sampled", "sampled-spread")
    )
    spread = results.grid("spread", bottleneck.MEASURES).only(engine=engine)
    claims = claim_builder(results)
    used, used_spread = (each.curve("user_data", over="queue", n=1) for each in (runs, spread))
    rate = seen.at("single_rate", queue=50)
    return Analysis(
        claims=[
            claims.claim(
                "Z-V-1",
                shorter(seen),
                readings={readings.SPREAD: shorter(seen_spread)},
                note="The steady phase's first interval of 0.1 s holds the pause behind the cut: in the second interval behind a single cut the rate "
                f"is {rate.text(2)} Mbit/s.",
            ),
            claims.claim("Z-V-2", lengths(runs), readings={readings.SPREAD: ranks(spread)}),
        ],
        figures=[
            pictures.over_time(results, "figure-5-10", "Fig. 5.10: a queue of 50 packets", 1170.0, 1200.0),
            pictures.over_axis(
                both,
                "queue",
                "queue, packets",
                "figure-5-15",
                "Fig. 5.15: utilisation and drop rate over the queue",
            ),
        ],
        findings=[
            f"With one subflow user data takes {used.at(10).text()} % of the link with a queue of 10 packets and "
            f"{used.at(150).text()} % with 150.",
            f"One subflow falls into step with the queue: it uses {used.at(60).text()} % with 60 packets, {used.at(70).text()} with 70 and "
            f"{used.at(80).text()} with 80. Where the receiving host takes up to 1 ms for a packet these are {used_spread.at(60).text()}, "
            f"{used_spread.at(70).text()} and {used_spread.at(80).text()}, and utilisation rises with the queue.",
        ],
    )


def shorter(seen: Grid) -> dict[str, Measured]:
    """A queue of 50 packets beside one of 100."""

    def more(name: str) -> Measured:
        return seen.sample(name, queue=100) - seen.sample(name, queue=50)

    peak = seen.at("peak", queue=50)
    return {
        "peak of the window, MTU": peak,
        "peak of the window, MTU, as printed": peak,
        "rate when the steady phase begins, Mbit/s": seen.at("rate", queue=50),
        **{f"{phase}: 100 packets minus 50, s": more(phase) for phase in ("QBU", "cycle", "QSD")},
    }


def lengths(runs: Grid) -> dict[str, Measured]:
    """Utilisation and drop rate over the queue, of one subflow, of four, and of four minus one."""
    parts = ranks(runs)
    for measure in MEASURED:
        one, four = (runs.curve(measure, over="queue", n=n) for n in (1, 4))
        more = four - one
        parts |= {f"{measure}, n = 4 minus n = 1, queue {queue:g}": more.at(queue) for queue in more.x}
    return parts


def ranks(runs: Grid) -> dict[str, Measured]:
    """The rank correlation of both measures with the queue, for each number of subflows."""
    return {
        f"{measure} over the queue, n = {n}": runs.curve(measure, over="queue", n=n).ranked()
        for measure in MEASURED
        for n in runs.values("n")
    }
