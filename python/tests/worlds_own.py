"""Made-up results of two studies of this project (many code points, fairness) in which every hypothesis holds."""

COUNTING = ("rfc9260", "linux-6.1")


def reordering(sweep, measure, at):
    plain = at["how"].endswith("plain") and at["rules"] in COUNTING and at["later"] > 20
    return {"spurious": 10.0 if plain else 0.0, "total": 5.0 if plain else 10.0}.get(measure, 30.0)


def queues(sweep, measure, at):
    served = at["queue"] in ("priority", "WFQ", "NQB", "L4S-like")
    plain = at["how"].endswith("plain") and at["rules"] in COUNTING and served
    if measure == "spurious":
        return 10.0 if plain else 0.0
    if measure == "total":
        return 7.0 if plain else 10.0
    if "level" in at["how"]:
        return 20.0
    return 25.0 if at["how"].startswith("two ") else 80.0


def harm(sweep, measure, at):
    if measure == "many":
        return 10.0
    return 5.0 if at["how"].endswith("independent") else 10.0


def code_points(sweep, measure, at):
    stops = at["network"] in ("drops EF", "polices EF to 32 kbit/s") and not at["how"].endswith("level 1")
    if measure in ("video_in_time", "audio_in_time"):
        return 0.0 if stops else 100.0
    return 10.0 if measure == "total" else 50.0


def window(sweep, measure, at):
    return 30.0


def fairness(sweep, measure, at):
    one, other = at["pair"].split(" and ")
    if measure == "sum":
        return 19.0
    if measure == "jain":
        return 0.99
    bbr = {"0.25": 0.8, "1": 0.6, "2": 0.4, "4": 0.3}[at["queue"]]
    if one != other and "SCTP BBR" in (one, other):
        return bbr if one == "SCTP BBR" else 1 - bbr
    return 0.5 if at["rtt"] == "40 ms" else 0.7


WORLDS = {
    "dscp-2026/reordering": reordering, "dscp-2026/queues": queues, "dscp-2026/harm": harm,
    "dscp-2026/code-points": code_points, "dscp-2026/window": window, "rate/fairness": fairness,
}  # fmt: skip
