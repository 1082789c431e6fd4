"""Made-up results of the study of 2007 in which every claim holds."""

import functools
import math

from anabranch_lab.models import renewal

PHI = {"1": 0, "n": 1, "n^2": 2, "2n^2": 3}
SHARES = {"cbr": {1: 48.1, 2: 49.0, 4: 50.3}, "square": {1: 40.0, 2: 55.0, 4: 60.0}}
SHARES["exponential"] = {1: 39.0, 2: 54.0, 4: 60.0}
SHARES["pareto"] = {1: 25.4, 2: 40.0, 4: 55.9}


def thesis(at):
    return at.get("engine") != "rfc9260"


def root(p, rtt):
    return math.sqrt(1.5 / p) / rtt


def exp_01(sweep, measure, at):
    a, base = float(at["marked"]), 1e6
    return {
        "original": base,
        "shared": base,
        "sf": base * (2 + 10 * (a - 0.3) if a >= 0.3 else 2 * a / 0.3),
        "sf_be": base * (1 - a),
        "sf_non_be": base * (0.5 + a),
        "shared_non_be": base * 0.5,
        "p_be": 0.1 * a,
        "p_non_be": 0.03,
    }[measure.removeprefix("model_")]


def two_paths(first, second, shared, fr, measure):
    """Flows on two paths with a loss and a round trip each; `shared`: packets a second of the association with one window."""
    sf1, sf2 = (1.05 * root(*path) for path in (first, second))
    if measure.startswith("luck of"):
        return 0.0
    return {
        "original": sf1,
        "sf1": sf1,
        "sf2": sf2,
        "sf": sf1 + sf2,
        "shared": shared,
        "fr_shared": fr,
        "timeouts": 0.2,
    }[measure]


def exp_02(sweep, measure, at):
    p2 = at["p2"]
    mean = (1e-3 + p2) / 2
    return two_paths((1e-3, 0.5), (p2, 0.5), 1.05 * root(mean, 0.5), mean, measure)


def exp_03(sweep, measure, at):
    trip = (at["delay"] + 252) / 1000
    shared = 0.3 * root(1e-4, (trip + 0.5) / 2)
    return two_paths((1e-4, trip), (1e-4, 0.5), shared, 1e-3 if at["delay"] > 248 else 1e-4, measure)


def periods(cycle, measure):
    if measure.endswith("period"):
        return cycle
    return 0.9 if measure.endswith("height") else None


def exp_04(sweep, measure, at):
    n = at.get("n", 4)
    used = 92 + 3.4 * (n - 1) / 11 if thesis(at) else 98.0
    return {
        "utilisation": used,
        "user_data": used,
        "drop_rate": 1e-4 * n**2,
        "peak": 150.0,
        "rate": 9.0,
        "QBU": 4.0 / n,
        "QSD": 4.0 / n,
        "least": 0.1,
        "index": 0.1 if sweep == "sampled-red" else 0.9,
        **dict.fromkeys(("falls", "halved", "drains", "emptied"), 20.0),
    }[measure]


def background_on(measure):
    """The made-up effects of an on-edge."""
    return {"timeouts": 0.5, "retransmits": 30.0, "cuts": 3.0, "several": 0.4, "least": 0.5}.get(measure)


def exp_05(sweep, measure, at):
    queue = at["queue"]
    return {
        "user_data": 80 + queue / 10 + at.get("n", 0),
        "drop_rate": 1e-2 / queue * (1 + at.get("n", 0)),
        "peak": 116.7 * queue / 50,
        "rate": 7.0,
        "single_rate": 7.0,
        "QBU": queue / 10,
        "cycle": queue / 10,
        "QSD": 10 - queue / 50,
    }.get(measure, periods(6.5, measure))


def exp_06(sweep, measure, at):
    rate = at["rate"]
    return {
        "user_data": (100 - rate) * rate / 10,
        "drop_rate": 1e-2 / rate,
        "QSD": float(rate),
        "cycle": float(rate),
    }.get(measure, periods(13.0, measure))


def exp_07(sweep, measure, at):
    delay = at["delay"]
    least = 0.06 + 2 * delay / 1000
    return {
        "user_data": 100 - delay / 10,
        "drop_rate": 1e-2 / delay,
        "least": least,
        "most": least + 0.08,
        "QBU": float(delay),
        "QSD": float(delay),
    }.get(measure, periods(26.0, measure))


def exp_08(sweep, measure, at):
    n, plain = at.get("n", 4), sweep in ("droptail", "sampled-droptail", "closely-droptail")
    used = 92 + 3.4 * (n - 1) / 11 if plain else 73.3 + 21.8 * (n - 1) / 11
    return {
        "utilisation": used,
        "user_data": used,
        "drop_rate": 0.01 if plain else 0.001,
        "queue_max": 80.0,
        "regrown": 0.01 if plain else 3.0,
        "regrown by 20": 0.5,
        "partial": 0.01 if plain else 10.0,
        "drains": 20.0,
        "emptied": 19.9 if plain else 15.0,
        **dict.fromkeys(("height", "rate height", "queue height"), 0.9 if plain else 0.7),
        **dict.fromkeys(("period", "rate period", "queue period"), 10.17),
    }[measure]


def background(sweep, measure, at):
    n = at["n"]
    if sweep.startswith("edges") and measure != "background_drops":
        if measure == "timeouts" and not thesis(at):
            return 0.05
        return background_on(measure)
    return {
        "share": SHARES[at["background"]][n],
        "drop_rate": 1e-3 * n,
        "timeouts": 18.0 if thesis(at) else 1.0,
        "background_drops": 0.01,
        "height": 0.9 if at["background"] == "cbr" else 0.2,
    }[measure]


def exp_13(sweep, measure, at):
    if measure == "luck":
        return 0.0
    p = float(sweep.removeprefix("p-"))
    both = 1.0 if at["phi"] == "single" else 2 / math.sqrt(float(at["phi"]))
    return both * math.sqrt(1e-4 / p)


def exp_14(sweep, measure, at):
    n, phi = at["n"], at["phi"]
    if measure == "luck":
        return 0.0
    if phi in ("1", "n"):
        return n ** {"1": 1.0, "n": 0.5}[phi]
    return 3.0 if thesis(at) else 3.0 * n**0.2


def exp_15(sweep, measure, at):
    n = at["n"]
    if measure == "utilisation":
        return min(95.0, 90.0 * n / (27 if sweep.startswith("root") else 7))
    if measure == "mbps":
        return 3.0 if sweep.startswith("flat") else 18 - 0.1 * abs(n - 9)
    if sweep.startswith(("flat", "plain")):
        return 1e-4
    return 1e-4 * (1 + 0.5 * max(0, n - 5) ** 2)


def deterministic(told):
    def world(sweep, measure, at):
        from anabranch_lab.models import deterministic as model

        n, name = at["n"], at.get("phi", "1")
        rate, queue = {"XVI": (10e6, 100), "XVII": (20e6, 20)}[told]
        value = float({"1": 1, "n": n, "n^2": n**2, "2n^2": 2 * n**2}[name])
        place = model.Bottleneck(rate / 8, 0.1, queue, n=n, phi=value)
        low, up = (bound.throughput * 8e-6 for bound in (place.low(), place.up()))
        return {
            "goodput": 10 - 0.006 * n if told == "XVI" else low + (up - low) * 0.5 + 1e-4 * n * (n > 1),
            # Above P_rr, and with many subflows below P_up, which is no bound.
            "fr": 0.96 * model.p_low(place) if n == 1 else 1.05 * model.p_rr(place),
            "timeouts": 0.0,
            "rms": 0.01,
            "peak": 1.01,
            "cycle": 1.04 * place.low().length,
            "queue_least": 5.0,
            "steady": 0.3,
            "cut": 0.5 if name == "1" else 0.7,
            "variation": 0.4 - 0.1 * PHI[name],
        }[measure]

    return world


def fair(kept):
    """Experiments XVIII, XIX and XXI; `kept`: which part of its goodput SF-SCTP keeps with each Phi beside one SCTP."""

    def world(sweep, measure, at):
        phi = PHI[at.get("phi", "1")]
        if sweep.startswith("equal"):
            return 5.0
        if sweep.startswith("b") or "p" in at:
            singles, sf = 5.0, 5.0 if phi == 0 else 4.0
            single = singles
        else:
            single = (2.0, 3.0, 4.0, 4.0)[phi]
            singles, sf = single, kept[phi] * (3.0, 2.0, 1.5, 1.5)[phi] * single
        return {
            "sf": sf,
            "single": single,
            "singles": singles,
            "fr_sf": (4e-3, 2e-3, 1e-3, 1e-3)[phi],
            "fr_single": (5e-3, 3e-3, 2e-3, 2e-3)[phi],
            "timeouts": 0.0,
        }[measure]

    return world


def exp_20(sweep, measure, at):
    p = at["p"]
    if sweep == "b":
        return 5.0
    over = p / 4e-4
    beyond = 3 * over**-0.5
    if measure == "single":
        return beyond if over >= 1 else 3 * over**0.2
    return beyond if over >= 1 else 3 * over**-0.05


def adaptive(sweep, measure, at):
    adapts = at["coupling"] == "adaptive"
    return {"utilisation": 95.0 if adapts else 80.0, "sf": 4.0 if adapts else 6.0, "single": 4.0}.get(
        measure, 1e-3
    )


def rfc_9260_rules(sweep, measure, at):
    return {"utilisation": 98.3, "timeouts": 0.05, "goodput": 1.5 if at.get("n") == 27 else 1.0}[measure]


def receive_credit(sweep, measure, at):
    return {"fast": 5.0 + 3.0 * at["level"], "slow": 1.0}[measure]


def sender_only(sweep, measure, at):
    return {"sf": 100.0, "shared": 50.0}[measure]


@functools.cache
def steady(*place, phi, engine):
    return STEADY(*place, phi=phi, engine=engine)


STEADY = renewal.steady


def stochastic(sweep, measure, at):
    p, n = {"p-1e-3": (1e-3, 2), "p-1e-4": (1e-4, 1), "p-1e-4-slow": (1e-4, 2), "nine": (1e-4, 9)}[sweep]
    return 8 * n * steady(p, 0.5, phi=float(at["phi"]), engine=at["engine"]).throughput


WORLDS = {
    f"sf-sctp-2007/{name}": world
    for name, world in {
        "exp-01": exp_01, "exp-02": exp_02, "exp-03": exp_03, "exp-04": exp_04, "exp-05": exp_05, "exp-06": exp_06, "exp-07": exp_07,
        "exp-08": exp_08, **{f"exp-{n:02}": background for n in (9, 10, 11, 12)}, "exp-13": exp_13, "exp-14": exp_14, "exp-15": exp_15,
        "exp-16": deterministic("XVI"), "exp-17": deterministic("XVII"), "exp-18": fair((1.0, 1.0, 1.0, 1.0)),
        "exp-19": fair((0.9, 0.8, 0.7, 0.6)), "exp-20": exp_20, "exp-21": fair((0.9, 0.8, 0.7, 0.6)), "adaptive-coupling": adaptive,
        "receive-credit": receive_credit, "sender-only-subflows": sender_only, "stochastic-model": stochastic,
        "rfc-9260-rules": rfc_9260_rules,
        "loss-rate-bound": None,
    }.items()
}  # fmt: skip
