"""Experiment VIII: from runs to grades, figures and a finding."""

from anabranch_lab.judge.comparison import Measured
from anabranch_lab.judge.experiment import Analysis, claim_builder, results_of
from anabranch_lab.judge.experiment import Figure as Entry
from anabranch_lab.models import deterministic
from anabranch_lab.run import cycles, series
from anabranch_lab.run.grid import Grid
from anabranch_lab.run.results import Results

from ..common import bottleneck, pictures

PLACES = {
    "IV": ("exp-08", "sampled-droptail", {"n": 1}, (100, 10e6, 0.1)),
    "V": ("exp-05", "sampled", {"queue": 50}, (50, 10e6, 0.1)),
    "VI": ("exp-06", "sampled", {"rate": 20}, (100, 20e6, 0.1)),
    "VII": ("exp-07", "sampled", {"delay": 70}, (100, 10e6, 0.2)),
}
"""Sampled runs under Drop-Tail: experiment, sweep and point; packets of the queue, bits per second, round trip without a queue."""
PACKET = 1000
"""Bytes of a packet, as the arithmetic of section 5.2.2 has it (K)."""
PERIODS = {"window": "period", "rate": "rate period", "queue": "queue period"}
HEIGHTS = {"window": "height", "rate": "rate height", "queue": "queue height"}


def analyse(results: Results) -> Analysis:
    """Analyses the runs for the laboratory: claims, findings, tables and figures."""
    engine = results.plan.engines[0]
    both = results.grid("subflows", bottleneck.MEASURES)
    runs = both.only(engine=engine)
    droptail = results.grid("droptail", bottleneck.MEASURES).only(engine=engine)
    red = series.measure(results, "sampled", look).only(engine=engine)
    seen = {
        place: (series.measure(results_of(results, folder), sweep, look).only(engine=engine), at, network)
        for place, (folder, sweep, at, network) in PLACES.items()
    }
    watched, watched_droptail = (
        series.measure(results, name, closely).only(engine=engine) for name in ("closely", "closely-droptail")
    )
    claims = claim_builder(results)
    used = runs.curve("user_data", over="n")
    published = claims.claim(
        "Z-VIII-1", {"n = 1, %": used.at(1), "n = 12, %": used.at(12), "rise, pp": used.rise(1, 12)}
    )
    lost, lost_droptail = (grid.sample("drop_rate", n=12) for grid in (runs, droptail))
    return Analysis(
        claims=[
            published,
            claims.claim(
                "Z-VIII-2",
                {"Drop-Tail / RED, n = 12": lost_droptail.over(lost)},
                note="It can hardly be the loss rate of packets: windows grow as 1 / sqrt(p) (Eq. 4.18), and at a tenth of Drop-Tail's rate twelve "
                "subflows need room for several times the packets that link and queue hold. All drops of RED are early ones here.",
            ),
            claims.claim(
                "Z-VIII-3",
                queue(runs, watched, watched_droptail),
                note="A queue drains when it gets shorter by ten packets, here and in Z-IV-5, which is a fifth of what RED's ever holds; of drains by "
                f"twenty, a fifth of its room, {watched.at('regrown by 20').text(2)} end before the queue was empty under RED.",
            ),
            claims.claim("Z-VIII-4", {"rise under RED minus rise under Drop-Tail, pp": gain(runs, droptail)}),
            claims.claim("Z-5x-1", periodic(red, seen)),
        ],
        figures=[
            pictures.over_time(results, "figure-5-13", "Fig. 5.13: RED instead of Drop-Tail", 1170.0, 1200.0),
            Entry(
                "figure-5-18",
                "Fig. 5.18: utilisation and drop rate over the number of subflows under RED",
                "Means and 95 % intervals; crosses are published values with their tolerance.",
                lambda: pictures.use_and_drops(both, published),
            ),
        ],
        findings=[
            f"Under RED user data takes {used.at(1).text()} % of the link with one subflow and {used.at(12).text(2)} % with 12.",
        ],
    )


def look(samples: series.Samples) -> dict[str, float]:
    """Measures how periodic window, rate and queue are, beside the measures of every such experiment (`bottleneck.look`)."""
    sender, link = samples.sender("sf"), samples.link(bottleneck.LINK)
    found: dict[str, float] = {}
    for name, values in (("", sender.cwnd), ("rate ", sender.rate), ("queue ", link.queue)):
        period, height = cycles.period([float(v) for v in values], sender.interval, 5.0, 40.0)
        found |= {f"{name}period": period, f"{name}height": height}
    return {**bottleneck.look(samples), **found}


def closely(samples: series.Samples) -> dict[str, float]:
    """Queue and window of four subflows every 20 ms, as experiment IV has them; beside it drains by twenty packets, a fifth of the room."""
    return {
        **bottleneck.closely(samples),
        "regrown by 20": bottleneck.closely(samples, drain=2 * bottleneck.DRAIN)["regrown"],
    }


def queue(runs: Grid, red: Grid, droptail: Grid) -> dict[str, Measured]:
    """RED, and Drop-Tail by the same measure, where claim Z-IV-5 says that there is no such thing."""
    parts: dict[str, Measured] = {"longest queue of a run, n = 4, packets": runs.sample("queue_max", n=4)}
    for measure, told in (
        ("regrown", "queues that grow before they were empty, in 30 s, n = 4"),
        ("partial", "falls of the aggregate to about three quarters (0.65 to 0.85), in 30 s, n = 4"),
    ):
        mine, other = (grid.sample(measure) for grid in (red, droptail))
        parts |= {told: mine, f"{told}: RED minus Drop-Tail": mine - other}
    return parts


def gain(runs: Grid, droptail: Grid) -> Measured:
    """The gain in used rate of twelve subflows over one, under RED minus under Drop-Tail."""
    rise, other = (
        grid.sample("user_data", n=12) - grid.sample("user_data", n=1) for grid in (runs, droptail)
    )
    return rise - other


def periodic(
    red: Grid, seen: dict[str, tuple[Grid, dict[str, int], tuple[int, float, float]]]
) -> dict[str, Measured]:
    """Periods of window, rate and queue over the cycle of the model; how high their autocorrelation is under RED and under Drop-Tail."""
    parts: dict[str, Measured] = {}
    for place, (grid, at, network) in seen.items():
        packets, rate, trip = network
        cycle = deterministic.Bottleneck(rate / 8, trip, packets, PACKET, bottleneck.MTU, 1, 1).low().length
        for what, measure in PERIODS.items():
            parts[f"{place}, Drop-Tail: period of the {what} over the model's cycle"] = (
                grid.sample(measure, **at) / cycle
            )
    fourth = seen["IV"][0]
    for what, measure in HEIGHTS.items():
        mine = red.sample(measure, n=1)
        parts[f"autocorrelation of the {what} under RED"] = mine
        parts[f"autocorrelation of the {what}: Drop-Tail minus RED"] = fourth.sample(measure, n=1) - mine
    return parts
