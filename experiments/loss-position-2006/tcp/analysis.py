"""TCP: from runs to verdicts, figures and a finding."""

from anabranch_lab.judge.experiment import Analysis, claim_builder
from anabranch_lab.run.results import Results

from ..common import flows, pictures
from . import figures, judge


def analyse(results: Results) -> Analysis:
    """What the lab asks an experiment for."""
    runs = flows.Table(results, "freebsd")
    some = flows.Table(results, "some-mistakes")
    linux = flows.Table(results, "linux")
    counted, at_once = (flows.Table(results, name) for name in ("bytes-counted", "no-delayed-acks"))
    records = {
        point.at["place"]: pictures.recorded(results, "recorded", 1448, **point.at)
        for point, _ in results.points(results.plan.sweep("recorded"))
    }
    rules = flows.Table(results, "freebsd-rules")
    tried_records = {
        (sweep, point.at["rule"]): pictures.recorded(results, sweep, 1448, **point.at)
        for sweep in ("freebsd-values-recorded", "freebsd-rules-recorded")
        for point, _ in results.points(results.plan.sweep(sweep))
    }

    def opened(sweep: str) -> dict[str, pictures.Record]:
        return {
            point.at["place"]: pictures.recorded(results, sweep, 1448, **point.at)
            for point, _ in results.points(results.plan.sweep(sweep))
        }

    medium = runs.at(stack="as it was", case="baseline", set="medium")
    clean = runs.at(stack="without mistakes", case="baseline", set="medium")
    low = {case: runs.at(stack="as it was", case=case, set="low") for case in judge.CASES}
    return Analysis(
        claims=judge.claims(
            claim_builder(results),
            runs,
            some,
            linux,
            counted,
            at_once,
            records,
            races(results, "race"),
            rules,
            races(results, "one-segment"),
            tried_records,
            (opened("handshake"), opened("handshake-at-once")),
        ),
        figures=figures.all_figures(runs, records),
        tables=[
            pictures.ours(
                runs,
                {case: {"stack": "as it was", "case": case} for case in judge.CASES},
                "Our own transmission times: FreeBSD 6.0 as it was",
            ),
            pictures.ours(
                linux,
                {f"Linux, {case}": {"case": case} for case in ("baseline", "vegas", "no FACK")},
                "Our own transmission times: Linux 2.6.15",
            ),
        ],
        findings=[
            f"At medium FreeBSD 6.0 needs a timeout when one of the packets {flows.text(medium.timed_out())} is lost, "
            f"without its mistakes only {flows.text(clean.timed_out())}. A lost SYN-ACK costs {medium.extra(1):.0f} ms, the "
            f"last packet {medium.extra(20):.0f} ms.",
            f"At low the first timeout comes before the first acknowledgement: {low['baseline'][0].again} segments are sent "
            f"twice although nothing is lost, and a flow without a loss takes {low['baseline'][0].time:.0f} ms. With a minimum RTO "
            f"of 1 s it takes {low['minimum RTO 1 s'][0].time:.0f} ms.",
        ],
    )


def races(results: Results, sweep: str) -> dict[str, judge.Races]:
    """What a lost SYN-ACK costs at high when the hosts' timing varies."""
    runs = results.grid(sweep, {name: flows.MEASURES[name] for name in ("time", "packets")})
    found = {}
    for case in ("baseline", "inflight"):
        lost, whole = (runs.sample("time", case=case, position=k) for k in (1, 0))
        packets = runs.sample("packets", case=case, position=1).values
        found[case] = judge.Races((lost - whole).values, [count > 21 for count in packets])
    return found
